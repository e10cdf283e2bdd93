"""Shared parts of the Plackett-Luce models: layout, Gamma prior of the worths, observed rankings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..._messages import warn_user
from .._hierarchy import Number, is_expression, prior_array, prior_number, refuse_expression
from .._prior_arguments import LIKELIHOOD_POWER, effective_power
from .._prior_predictions import PredictionPrior
from ..data.container import require_container
from ..data.rankings import PartialRankings
from ..distributions.partial_ranking import PartialRanking, RankedCandidates
from .named_sets import warn_of_named_sets

OTHER_CODE = -1


@dataclass(frozen=True, eq=False)
class Candidates:
    """Flat layout of the candidates of a set of partial rankings."""

    start: np.ndarray  # int64 (item + 1,): candidates of item i are start[i]:start[i + 1]
    item: np.ndarray  # int32 (candidate,)
    category: np.ndarray  # int32 (candidate,); OTHER_CODE for OTHER
    other_size: np.ndarray  # int64 (item,): number of categories in OTHER, 0 without it
    place: (
        np.ndarray
    )  # int32 (annotation, place): candidates of the item, of sets shown those shown, then zeros
    # int8 or int16 (annotation, place): block of each candidate, 0 = first, largest = unranked, -1 = padding
    block: np.ndarray


def ranked_candidates(rankings: PartialRankings, *, other: bool) -> Candidates:
    """Lay out the categories that some rater of the item ranked, or was shown, and, with `other`, OTHER for the rest."""
    n_items, n_categories = len(rankings.items), len(rankings.categories)
    pair = _entry_items(rankings) * n_categories + rankings.category_code
    shown = _shown_items(rankings) * n_categories + rankings.shown_code
    named = np.unique(np.append(pair, shown))
    item = named // n_categories
    never_ranked = n_categories - np.bincount(item, minlength=n_items)
    other_size = never_ranked if other else np.zeros(n_items, np.int64)
    rest = np.flatnonzero(other_size)

    # OTHER sorts after the last category of its item.
    key = np.concatenate([named + item, rest * (n_categories + 1) + n_categories])
    key.sort()
    item, category = np.divmod(key, n_categories + 1)
    start = np.searchsorted(item, np.arange(n_items + 1))
    entry, seen = (np.searchsorted(key, own + own // n_categories) for own in (pair, shown))
    place, block = _places(rankings, start, entry, seen)
    return Candidates(
        start=start,
        item=item.astype(np.int32),
        category=np.where(category == n_categories, OTHER_CODE, category).astype(np.int32),
        other_size=other_size,
        place=place,
        block=block,
    )


def every_candidate(rankings: PartialRankings) -> Candidates:
    """Lay out every category of every item, without OTHER: candidate = item * K + category."""
    n_items, n_categories = len(rankings.items), len(rankings.categories)
    start = np.arange(n_items + 1) * n_categories
    entry = _entry_items(rankings) * n_categories + rankings.category_code
    seen = _shown_items(rankings) * n_categories + rankings.shown_code
    place, block = _places(rankings, start, entry, seen)
    item, category = np.divmod(np.arange(n_items * n_categories, dtype=np.int32), n_categories)
    return Candidates(start, item, category, np.zeros(n_items, np.int64), place, block)


def _places(
    rankings: PartialRankings, start: np.ndarray, entry: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return place and block of every annotation; seen (shown entry,) is the candidate of every category shown."""
    if not rankings.has_shown_sets:
        return annotation_blocks(rankings, start, entry)
    size = np.diff(rankings.shown_start)
    inside = np.arange(size.max()) < size[:, None]
    place = np.zeros(inside.shape, np.int32)
    place[inside] = seen
    n_blocks = np.diff(rankings.annotation_start)
    block = np.where(inside, n_blocks[:, None], -1).astype(np.min_scalar_type(-n_blocks.max() - 1))
    annotation, number = _entry_annotations(rankings), _entry_blocks(rankings)
    # candidates ascend within an annotation, and so do those of annotations after each other
    after = annotation * np.int64(start[-1])
    column = np.searchsorted(
        seen + np.repeat(np.arange(len(size)), size) * np.int64(start[-1]), entry + after
    )
    block[annotation, column - rankings.shown_start[annotation]] = number
    return place, block


def annotation_blocks(
    rankings: PartialRankings, start: np.ndarray, entry: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return place and block of every annotation, as in `Candidates`: a block number per candidate.

    Shapes: start (item + 1,), candidates of each item; entry (entry,), candidate of every ranked entry;
    results (annotation, place).
    """
    first = start[rankings.annotation_item]
    width = start[rankings.annotation_item + 1] - first
    n_blocks = np.diff(rankings.annotation_start)
    column = np.arange(width.max())
    inside = column < width[:, None]
    place = np.where(inside, first[:, None] + column, 0).astype(np.int32)
    block = np.where(inside, n_blocks[:, None], -1).astype(np.min_scalar_type(-n_blocks.max() - 1))
    annotation = _entry_annotations(rankings)
    block[annotation, entry - first[annotation]] = _entry_blocks(rankings)
    return place, block


def _entry_blocks(rankings: PartialRankings) -> np.ndarray:
    """Return the number, from 0, of the block of every ranked entry."""
    before = np.repeat(rankings.annotation_start[:-1], np.diff(rankings.annotation_start))
    number = np.arange(len(rankings.block_start) - 1) - before
    return np.repeat(number, np.diff(rankings.block_start))


def _entry_annotations(rankings: PartialRankings) -> np.ndarray:
    """Return the annotation of every ranked entry."""
    n_entries = np.diff(rankings.block_start[rankings.annotation_start])
    return np.repeat(np.arange(len(n_entries)), n_entries)


def _entry_items(rankings: PartialRankings) -> np.ndarray:
    """Return the item code of every ranked entry as int64, so that products do not overflow."""
    return rankings.annotation_item[_entry_annotations(rankings)].astype(np.int64)


def _shown_items(rankings: PartialRankings) -> np.ndarray:
    """Return the item code of every category shown, int64, none if all raters were shown all."""
    if not rankings.has_shown_sets:
        return np.array([], np.int64)
    return np.repeat(rankings.annotation_item.astype(np.int64), np.diff(rankings.shown_start))


Unranked = Literal["pooled", "single", "dropped", "ignored"]  # "ignored" is the former name of "dropped"


@dataclass(frozen=True, eq=False)
class CandidateLayout:
    """Candidates of a model, with the shape of their Gamma prior and the coordinates of its dims."""

    rankings: PartialRankings
    candidates: Candidates
    concentration: Any  # one number or scalar expression
    unranked: Unranked
    dense: bool

    @classmethod
    def of(
        cls,
        rankings: PartialRankings,
        concentration: Number | None,
        unranked: Unranked,
        candidates: Literal["ranked", "all"],
    ) -> "CandidateLayout":
        """Validate the arguments that builders share and lay out the candidates."""
        require_container(rankings, PartialRankings)
        if unranked == "ignored":
            unranked = "dropped"
            warn_user(
                "unranked='ignored' is deprecated: say 'dropped': it leaves out the categories that no rater of the item named",
                FutureWarning,
            )
        allowed("unranked", unranked, ("pooled", "single", "dropped"))
        allowed("candidates", candidates, ("ranked", "all"))
        dense = candidates == "all"
        if dense and unranked != "pooled":
            raise ValueError(
                f"unranked={unranked!r} treats the never-ranked categories of an item as one or none, but "
                "candidates='all' gives each its own worth; use unranked='pooled' (the same prior), or "
                "candidates='ranked'"
            )
        if concentration is None:
            concentration = 1.0 / len(rankings.categories)
        warn_of_named_sets(rankings)
        with_other = unranked != "dropped"
        lay_out = every_candidate(rankings) if dense else ranked_candidates(rankings, other=with_other)
        alpha = prior_number("concentration", concentration, positive)
        return cls(rankings, lay_out, alpha, unranked, dense)

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """Coordinates of the model's dims; ids for items, raters and categories, numbers elsewhere."""
        annotations, places = self.candidates.block.shape
        numbers = {"annotation": np.arange(annotations), "place": np.arange(places)}
        if not self.dense:
            numbers["candidate"] = np.arange(len(self.candidates.item))
        data = self.rankings
        return {"item": data.items, "rater": data.raters, "category": data.categories} | numbers

    @property
    def shape(self) -> Any:
        """Shape of the Gamma prior of each worth: alpha, and (K - m) alpha for an exact pool."""
        members = np.ones(len(self.candidates.item))
        if self.unranked == "pooled":
            other = self.candidates.category == OTHER_CODE
            members[other] = self.candidates.other_size[self.candidates.item[other]]
        return self.concentration * members


def worth_prior(layout: CandidateLayout, predicted: PredictionPrior | None = None) -> TensorVariable:
    """Register annotation data, ``worth`` and ``plausibility``, and the strength of predictions; return log worths by annotation.

    With the probabilities f of a classifier the worths have the shape alpha + kappa f.
    Shapes: result (annotation, place), the candidates of each annotation's item.
    """
    register_annotations(layout.rankings)
    pooled = predicted is None and layout.unranked == "pooled" and not is_expression(layout.concentration)
    register_other(layout.candidates, layout.concentration if pooled else np.nan)
    if not layout.dense:
        shape = layout.shape
        if predicted is not None:
            own = of_candidates(layout.candidates, predicted.predicted.probability)
            shape = shape + predicted.register(own, ("candidate",))
        worth = flat_worth(layout.candidates, shape)
        dims = ("annotation", "place")
        return _log(worth)[pm.Data("candidate_of_place", layout.candidates.place, dims=dims)]
    dims, shape = ("item", "category"), layout.concentration
    if predicted is not None:
        shape = shape + predicted.register(predicted.predicted.probability, dims)
    worth = pm.Gamma("worth", shape, 1.0, dims=dims)
    pm.Deterministic("plausibility", worth / worth.sum(-1, keepdims=True), dims=dims)
    item = layout.rankings.annotation_item
    if not layout.rankings.has_shown_sets:
        return _log(worth)[item]
    shown = layout.candidates.place % len(layout.rankings.categories)
    of_place = pm.Data("category_of_place", shown, dims=("annotation", "place"))
    return _log(worth)[item[:, None], of_place]


def _log(worth: TensorVariable) -> TensorVariable:
    """Return the log of the worths, typed as a tensor variable."""
    return cast(TensorVariable, pt.log(worth))


def of_candidates(candidates: Candidates, probability: np.ndarray) -> np.ndarray:
    """Return the probability of each candidate (candidate,), of OTHER that of all members; `probability` (item, category)."""
    item, category = candidates.item, candidates.category
    named = category != OTHER_CODE
    left = probability.copy()
    left[item[named], category[named]] = 0.0
    return np.where(named, probability[item, np.where(named, category, 0)], left.sum(axis=1)[item])


def flat_worth(candidates: Candidates, shape: Any) -> TensorVariable:
    """Register ``worth`` ~ Gamma(shape, 1) and the ``plausibility`` of flat candidates; return the worths.

    Shapes: shape and result (candidate,).
    """
    item = pm.Data("candidate_item", candidates.item, dims="candidate")
    pm.Data("candidate_category", candidates.category, dims="candidate")
    worth = pm.Gamma("worth", shape, 1.0, dims="candidate")
    total = pt.zeros(len(candidates.other_size))[item].inc(worth)
    pm.Deterministic("plausibility", worth / total[item], dims="candidate")
    return worth


def register_annotations(rankings: PartialRankings) -> None:
    """Register item and rater codes of the annotations: ``annotation_item``, ``annotation_rater``."""
    pm.Data("annotation_item", rankings.annotation_item, dims="annotation")
    pm.Data("annotation_rater", rankings.annotation_rater, dims="annotation")


def register_other(candidates: Candidates, concentration: float) -> None:
    """Register the size of OTHER (item,) and its members' concentration, NaN if OTHER is no exact pool or it is random."""
    pm.Data("other_size", candidates.other_size, dims="item")
    pm.Data("other_concentration", concentration)


def observe_rankings(
    layout: CandidateLayout, log_worth: TensorVariable, power: np.ndarray | None
) -> TensorVariable:
    """Register ``observed_ranking``, pointwise by annotation, and the power ``reliability`` if given.

    Shapes: log_worth and result (annotation, place); power () or (annotation,).
    """
    block = layout.candidates.block
    dims = ("annotation", "place")
    reliability = 1.0
    if power is not None:
        reliability = pm.Data("reliability", power, dims="annotation" if power.ndim else None)
    law = PartialRanking if layout.dense else RankedCandidates
    return law("observed_ranking", log_worth, block_sizes(block), reliability, observed=block, dims=dims)


def block_sizes(block: np.ndarray) -> np.ndarray:
    """Count the members of each block of each annotation, the unranked block last, zeros after it.

    Shapes: block (annotation, place), -1 = padding; result (annotation, block).
    """
    return np.stack([(block == b).sum(axis=1) for b in range(block.max() + 1)], axis=1)


def annotation_reliability(rankings: PartialRankings, reliability: Any, *, of_likelihood: bool = True) -> Any:
    """Return the power of all annotations, or of each if `reliability` maps raters to powers.

    Powers may be random, also in an array (rater,), unless they are of the likelihood. Shapes: result () or
    (annotation,).
    """
    raters, powers = rankings.raters, reliability
    if isinstance(reliability, Mapping):
        powers = _powers_of_raters(raters.tolist(), reliability)
        if not is_expression(powers):
            return np.array(powers)[rankings.annotation_rater]
    if not is_expression(powers):
        return np.asarray(positive("reliability", powers))
    if of_likelihood:
        refuse_expression("reliability", powers, LIKELIHOOD_POWER)
    if np.ndim(powers) == 0:
        return prior_number("reliability", powers, positive)
    return prior_array("reliability", powers, raters.shape)[rankings.annotation_rater]


def effective_reliability(rankings: PartialRankings, reliability: str, correlation: Any) -> np.ndarray:
    """Return the power of each annotation (annotation,) by which the rankings of its item count as their effective number."""
    if reliability != "effective":
        raise ValueError(
            f"reliability={reliability!r} must be a positive number, a mapping of raters to such, or 'effective'"
        )
    if not isinstance(correlation, int | float | np.number) or not 0 <= correlation <= 1:
        raise ValueError(f"vote_correlation={correlation!r} must be a number from 0 to 1")
    number = np.bincount(rankings.annotation_item, minlength=len(rankings.items))
    return effective_power(number, float(correlation))[rankings.annotation_item]


def _powers_of_raters(raters: list[Any], reliability: Mapping[Any, Any]) -> list[Any]:
    """Return the powers in the order of the raters; raise unless each has one."""
    if missing := [r for r in raters if r not in reliability]:
        raise ValueError(
            f"reliability names no power for rater {missing[0]!r} ({len(missing)} of {len(raters)} raters are missing); "
            "give every rater of the rankings one"
        )
    if unknown := [r for r in reliability if r not in raters]:
        raise ValueError(
            f"reliability names rater {unknown[0]!r}, who annotated nothing; the raters are such as {raters[0]!r}"
        )
    return [prior_number(f"reliability[{r!r}]", reliability[r], positive) for r in raters]


def positive(name: str, value: Any) -> float:
    """Return `value` as a float, or raise if it is not a positive finite number."""
    given = cast(object, value)
    if isinstance(given, bool) or not np.isscalar(given) or not np.isreal(value):
        raise ValueError(f"{name}={value!r} must be one positive number")
    if not 0 < value < np.inf:
        raise ValueError(f"{name}={value!r} must be a positive finite number")
    return float(value)


def allowed(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")
