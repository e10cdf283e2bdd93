"""Shared parts of the models of comparisons: documentation, coordinates, counts of answers, observed winners."""

from functools import partial
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.shape import specify_shape
from pytensor.tensor.variable import TensorVariable

from ..._messages import warn_user
from ...posterior.links import Link
from .._hierarchy import annotation_model
from ..data.coded_rows import ANONYMOUS
from ..data.comparisons import ENOUGH, Comparisons, components_in_words, connected_components
from ..data.container import require_container
from ..data.errors import DataWarning
from ..data.reading.comparison_tables import OUTCOMES, TIE
from ..distributions.graded_votes import GradedVotes
from ..distributions.paired_comparisons import PairedVotes
from .priors import StrengthPrior
from .taste import Taste
from .votes import vote_covariates


class PairCounts(NamedTuple):
    """Votes counted by ordered pair and rater; one annotation each."""

    left: np.ndarray  # int64 (annotation,)
    right: np.ndarray  # int64 (annotation,)
    rater: np.ndarray  # int64 (annotation,); -1 if anonymous
    counts: (
        np.ndarray
    )  # int64 (annotation, outcome): left, right, tie; of graded votes the strongest for the left item first


def require_votes(pairs: Comparisons) -> Comparisons:
    """Return the comparisons, or raise if there are fewer than two items or no vote.

    Warns (DataWarning) if the comparisons do not connect all items.
    """
    require_container(pairs, Comparisons)
    if len(pairs.items) < 2 or not len(pairs):
        raise ValueError(
            f"these comparisons have {len(pairs.items)} items and {len(pairs)} votes; a model needs a vote between two items"
        )
    component = connected_components(len(pairs.items), pairs.left, pairs.right)
    if component.any():
        warn_user(
            f"no chain of comparisons joins the {component.max() + 1:,} components of the items: "
            f"{components_in_words(pairs.items, component)}; the prior alone places them relative to each other. "
            "pairs.largest_component() keeps what was compared",
            DataWarning,
        )
    return pairs


def pair_counts(pairs: Comparisons, ties: bool, graded: bool = False) -> PairCounts:
    """Count the outcomes, or the levels of `graded` votes, by ordered pair and rater; rows ascend by left, right, then rater."""
    key = np.stack([pairs.left, pairs.right, pairs.annotation_rater]).astype(np.int64)
    new = np.r_[True, (key[:, 1:] != key[:, :-1]).any(axis=0)]  # the votes are sorted by this key
    annotation = np.cumsum(new) - 1
    level = _level_of(pairs, ties) if graded else pairs.outcome
    counts = np.zeros((new.sum(), len(_outcomes(pairs, ties, graded))), np.int64)
    np.add.at(counts, (annotation, level), pairs.count)
    left, right, rater = key[:, new]
    return PairCounts(left, right, rater, counts)


def _outcomes(pairs: Comparisons, ties: bool, graded: bool) -> list[str]:
    """Return the outcomes of the model; of graded votes the levels, the strongest for the left item first."""
    if graded:
        return [level for level in pairs.levels if ties or level != OUTCOMES[TIE]]
    return list(OUTCOMES[: 3 if ties else 2])


def _level_of(pairs: Comparisons, ties: bool) -> np.ndarray:
    """Return the place of each vote in the levels."""
    weakest, n = pairs.strengths - 1, 2 * pairs.strengths + ties
    from_end = weakest - pairs.strength
    return np.choose(pairs.outcome, [from_end, n - 1 - from_end, np.full(len(from_end), pairs.strengths)])


Strength = Literal["auto", "weighted", "cut_points", "ignored"]


def law_of_strength(pairs: Comparisons, strength: Strength, others: Any = None) -> Strength:
    """Return the law of the levels of graded votes: for "auto", "weighted" if votes are of several strengths, else "ignored".

    Warns (DataWarning) where all are of one. `others` are covariates of votes, which a law of levels does not have: ValueError.
    """
    if strength not in get_args(Strength):
        raise ValueError(f"strength={strength!r} is not one of {', '.join(map(repr, get_args(Strength)))}")
    if strength == "ignored" or (strength == "auto" and pairs.strengths == 1):
        return "ignored"
    if pairs.strengths == 1:
        raise ValueError(
            f"strength={strength!r}, but the votes say no strength; read a scale with Comparisons.from_table(..., levels=[...]), "
            "or leave strength out"
        )
    if not pairs.graded:
        warn_user(
            f"the votes have a scale of {pairs.strengths} strengths, and all that name a winner are of one: strength says "
            "nothing here, and the law of who won is used; strength='ignored' says so without this warning",
            DataWarning,
        )
        return "ignored"
    if others is not None:
        raise ValueError(
            "vote_covariates: graded votes have no covariates yet; pass strength='ignored', which keeps who won, or leave "
            "vote_covariates out"
        )
    return "weighted" if strength == "auto" else strength


def ties_are_modelled(pairs: Comparisons, ties: str, name: str) -> bool:
    """Return whether a tie is an outcome of the model: for "auto", whether the votes contain one.

    ``ties`` is "auto", "none" or `name`, the model's word for its ties; else, or for "none" despite ties in
    the votes, raises ValueError.
    """
    if ties not in ("auto", name, "none"):
        raise ValueError(f"ties={ties!r} is not one of 'auto', {name!r}, 'none'")
    if ties == "none" and pairs.has_ties:
        tied = int(pairs.count[pairs.outcome == TIE].sum())
        raise ValueError(
            f"ties='none', but {tied:,} of the {len(pairs):,} votes are ties; use ties={name!r} or 'auto', "
            "or leave the rows out of the table"
        )
    return pairs.has_ties if ties == "auto" else ties == name


LeftSide = Literal["shared", "rater"]


def side_effect(pairs: Comparisons, left_side: LeftSide | None, left_bias: bool) -> LeftSide | None:
    """Return who has an advantage of the left side, or raise ValueError if the arguments or the raters contradict it."""
    if left_side is not None and left_side not in get_args(LeftSide):
        raise ValueError(
            f"left_side={left_side!r} is not one of None, {', '.join(map(repr, get_args(LeftSide)))}"
        )
    if left_bias and left_side == "rater":
        raise ValueError(
            "left_bias=True says that all raters share one advantage of the left side, and left_side='rater' that each has "
            "their own; leave out left_bias"
        )
    if left_side == "rater" and len(pairs.raters) < 2:
        found = "anonymous" if pairs.anonymous else "all of one rater"
        raise ValueError(
            f"left_side='rater' estimates differences of raters, but these votes are {found}; use left_side='shared'"
        )
    side = "shared" if left_bias else left_side
    left, right, _ = np.bincount(pairs.outcome, pairs.count, len(OUTCOMES))
    if side is not None and min(left, right) == 0 and max(left, right) >= ENOUGH and len(pairs.raters) != 1:
        won = "left" if left else "right"
        warn_user(
            f"the winner of all {int(left + right):,} votes is on the {won}: an advantage of that side explains every vote, and "
            "qualities none; leave out left_side (--left-side)",
            DataWarning,
        )
    return side


def coords_of(
    pairs: Comparisons, ties: bool, taste: Taste | None, graded: bool = False
) -> dict[str, np.ndarray]:
    """Return the coordinates of a model of comparisons; rater attributes are named ``rater_...``."""
    of_groups = {} if taste is None else taste.coords
    if graded:
        of_groups = of_groups | {"strength": np.arange(1, pairs.strengths)}
    return (
        of_groups
        | {f"rater_{name}": values for name, values in pairs.rater_attributes.items()}
        | {
            "item": pairs.items,
            "rater": pairs.raters,
            "annotation": np.arange(len(pair_counts(pairs, ties).counts)),
            "outcome": np.array(_outcomes(pairs, ties, graded)),
        }
    )


class Outcomes(NamedTuple):
    """Options of the outcomes of votes: arguments of the models, not yet checked."""

    ties: str
    word_for_ties: str  # the model's
    strength: Strength
    left_side: LeftSide | None
    left_bias: bool
    vote_covariates: Any


def votes_model(
    pairs: Comparisons, prior: StrengthPrior, link: Link, taste: Taste | None, asked: Outcomes
) -> pm.Model:
    """Return the model whose ``observed_winner``, pointwise by annotation, follows the law `link` of the strength of items.

    If asked, it has tastes, ``tie``, ``left_bias`` and ``vote_effect``, and of graded votes ``step``, ``cut_point`` and
    ``strength_weight``.
    """
    ties = ties_are_modelled(pairs, asked.ties, asked.word_for_ties)
    left_side = side_effect(pairs, asked.left_side, asked.left_bias)
    law = law_of_strength(pairs, asked.strength, asked.vote_covariates)
    graded = law != "ignored"
    votes = vote_covariates(asked.vote_covariates, pairs)
    left, right, rater, counts = pair_counts(pairs, ties, graded)
    of_votes = {}
    if votes is not None:
        left, right, rater, counts = votes.left, votes.right, votes.rater, votes.counts(ties)
        of_votes = votes.coords
    with annotation_model(coords_of(pairs, ties, taste, graded) | prior.coords | of_votes) as model:
        strength = prior.register(pairs)
        for name, codes in (("left", left), ("right", right), ("rater", rater)):
            pm.Data(f"annotation_{name}", codes.astype(np.int32), dims="annotation")
        who = np.where(rater == ANONYMOUS, 0, rater)
        if taste is not None:
            first = taste.first_of(who, len(pairs.items))
            left, right = left + first, right + first
            strength = strength._replace(quality=taste.register(strength.quality))
        places = pt.as_tensor_variable(who)  # an index of NumPy is read entry by entry
        codes, bias = (left, right, who), _left_bias(left_side)
        if votes is not None:  # each vote has a side of its own, as if a rater had given no other
            of_side = bias[places] if left_side == "rater" else bias
            bias = pt.add(of_side, votes.register())
            strength = strength._replace(reliability=cast(TensorVariable, strength.reliability[places]))
            codes = (left, right, np.arange(len(who)))
        tie = pm.LogNormal("tie", 0.0, 1.0) if ties else None
        laws: dict[str, Any] = {"left_bias": bias, "link": link}
        laws |= {"observed": counts, "dims": ("annotation", "outcome")}
        if graded:
            laws |= {"cut_points": _cut_points(tie, pairs.strengths - 1), "ties": ties}
        if law == "weighted":
            laws |= {"weight": pm.Beta("strength_weight", 0.5, 0.5)}
        brick = GradedVotes if graded else partial(PairedVotes, tie=tie)
        brick("observed_winner", *strength, codes, counts.sum(axis=1), **laws)
    return model


def _cut_points(tie: TensorVariable | None, n: int) -> TensorVariable:
    """Register ``step`` and ``cut_point``, and return the cut points, that of the tie first."""
    step = pm.LogNormal("step", 0.0, 1.0, dims="strength")
    above: Any = pt.cumsum(cast(Any, step))
    cuts: Any = pm.Deterministic("cut_point", above if tie is None else tie + above, dims="strength")
    cuts = cuts if tie is None else pt.concatenate([cast(Any, tie)[None], cuts])
    return cast(TensorVariable, specify_shape(cuts, (n + (tie is not None),)))


def _left_bias(left_side: LeftSide | None) -> Any:
    """Register the advantage of the left side: none, a scalar, or one for each rater."""
    if left_side is None:
        return 0.0
    if left_side == "shared":
        return pm.Normal("left_bias", 0.0, 1.0)
    mean = pm.Normal("left_bias_mean", 0.0, 1.0)
    scale = pm.LogNormal("left_bias_scale", 0.0, 1.0)
    # not centred: most raters have too few votes to tell their own bias from the mean
    deviation: Any = pm.ZeroSumNormal("left_bias_deviation", dims="rater")
    return pm.Deterministic("left_bias", pt.add(mean, scale * deviation), dims="rater")
