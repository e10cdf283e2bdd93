"""Shared parts of the Plackett-Luce models: layout, Gamma prior of the worths, observed rankings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..data.container import expect
from ..data.rankings import PartialRankings
from ..distributions.partial_ranking import PartialRanking, RankedCandidates
from .candidates import OTHER_CODE, Candidates, every_candidate, ranked_candidates

__all__ = [
    "Layout",
    "Unranked",
    "allowed",
    "annotation_reliability",
    "flat_worth",
    "observe_rankings",
    "positive",
    "register_annotations",
    "register_other",
    "worth_prior",
]

Unranked = Literal["pooled", "single", "ignored"]


@dataclass(frozen=True, eq=False)
class Layout:
    """Candidates of a model, with the shape of their Gamma prior and the coordinates of its dims."""

    rankings: PartialRankings
    candidates: Candidates
    concentration: float
    unranked: Unranked
    dense: bool

    @classmethod
    def of(
        cls,
        rankings: PartialRankings,
        concentration: float | None,
        unranked: Unranked,
        candidates: Literal["ranked", "all"],
    ) -> "Layout":
        """Validate the arguments that builders share and lay out the candidates."""
        expect(rankings, PartialRankings)
        allowed("unranked", unranked, ("pooled", "single", "ignored"))
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
        lay_out = every_candidate(rankings) if dense else _ranked(rankings, unranked)
        return cls(rankings, lay_out, positive("concentration", concentration), unranked, dense)

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """Coordinates of the model's dims; ids for items, raters and categories, numbers elsewhere."""
        annotations, places = self.candidates.block.shape
        numbers = {"annotation": np.arange(annotations), "place": np.arange(places)}
        if not self.dense:
            numbers["candidate"] = np.arange(len(self.candidates.item))
        names = {
            "item": self.rankings.items,
            "rater": self.rankings.raters,
            "category": self.rankings.categories,
        }
        return names | numbers

    @property
    def shape(self) -> np.ndarray:
        """Shape of the Gamma prior of each worth: alpha, and (K - m) alpha for an exact pool."""
        alpha = np.full(len(self.candidates.item), self.concentration)
        if self.unranked == "pooled":
            other = self.candidates.category == OTHER_CODE
            alpha[other] *= self.candidates.other_size[self.candidates.item[other]]
        return alpha


def _ranked(rankings: PartialRankings, unranked: Unranked) -> Candidates:
    """Lay out the ranked candidates, with OTHER unless the unranked categories are ignored."""
    return ranked_candidates(rankings, other=unranked != "ignored")


def worth_prior(layout: Layout) -> TensorVariable:
    """Register annotation data, ``worth`` and ``plausibility``; return the log worths by annotation.

    Shapes: result (annotation, place), the candidates of each annotation's item.
    """
    register_annotations(layout.rankings)
    pooled = layout.unranked == "pooled"
    register_other(layout.candidates, layout.concentration if pooled else np.nan)
    if not layout.dense:
        worth = flat_worth(layout.candidates, layout.shape)
        dims = ("annotation", "place")
        return _log(worth)[pm.Data("candidate_of_place", layout.candidates.place, dims=dims)]
    worth = pm.Gamma("worth", layout.concentration, 1.0, dims=("item", "category"))
    pm.Deterministic(
        "plausibility", worth / worth.sum(-1, keepdims=True), dims=("item", "category")
    )
    return _log(worth)[layout.rankings.annotation_item]


def _log(worth: TensorVariable) -> TensorVariable:
    """Return the log of the worths, typed as a tensor variable."""
    return cast(TensorVariable, pt.log(worth))


def flat_worth(candidates: Candidates, shape: np.ndarray) -> TensorVariable:
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
    """Register the size of OTHER (item,) and its members' concentration, NaN if OTHER is no exact pool."""
    pm.Data("other_size", candidates.other_size, dims="item")
    pm.Data("other_concentration", concentration)


def observe_rankings(
    layout: Layout, log_worth: TensorVariable, power: np.ndarray | None
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
    return law(
        "observed_ranking", log_worth, block_sizes(block), reliability, observed=block, dims=dims
    )


def block_sizes(block: np.ndarray) -> np.ndarray:
    """Count the members of each block of each annotation, the unranked block last, zeros after it.

    Shapes: block (annotation, place), -1 = padding; result (annotation, block).
    """
    return np.stack([(block == b).sum(axis=1) for b in range(block.max() + 1)], axis=1)


def annotation_reliability(
    rankings: PartialRankings, reliability: float | Mapping[str | int, float]
) -> np.ndarray:
    """Return the likelihood power of all annotations, or of each if `reliability` maps raters to powers.

    Shapes: result () or (annotation,).
    """
    if not isinstance(reliability, Mapping):
        return np.asarray(positive("reliability", reliability))
    raters = rankings.raters.tolist()
    if missing := [r for r in raters if r not in reliability]:
        raise ValueError(
            f"reliability names no power for rater {missing[0]!r} ({len(missing)} of {len(raters)} raters are missing); "
            "give every rater of the rankings one"
        )
    if unknown := [r for r in reliability if r not in raters]:
        raise ValueError(
            f"reliability names rater {unknown[0]!r}, who annotated nothing; the raters are such as {raters[0]!r}"
        )
    power = [positive(f"reliability[{r!r}]", reliability[r]) for r in raters]
    return np.array(power)[rankings.annotation_rater]


def positive(name: str, value: float) -> float:
    """Return `value` as a float, or raise if it is not a positive finite number."""
    if isinstance(value, bool) or not np.isscalar(value) or not np.isreal(value):
        raise ValueError(f"{name}={value!r} must be one positive number")
    if not 0 < value < np.inf:
        raise ValueError(f"{name}={value!r} must be a positive finite number")
    return float(value)


def allowed(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")
