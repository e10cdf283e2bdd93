"""Experts against amateurs: how many experts k amateurs are worth, or how many people k language models.

Both are scored against a further expert: k experts by the experts' own power curve, k amateurs by the curve of their labels.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 7.
"""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import xarray as xr

from ..agreement import Labels
from ..errors import EvaluationError
from .described import Described
from .label_counts import LabelCounts
from .resamples import Resampling, SurveyScores, check_resampling, survey_scores
from .rules import Rules
from .survey import Survey

__all__ = ["rater_equivalence"]

FIXED = {"items", "max_raters"}  # rules that are the same for both groups


def rater_equivalence(
    amateurs: xr.DataArray | xr.DataTree | Labels,
    experts: xr.DataArray | xr.DataTree | Labels,
    *,
    max_experts: int | None = None,
    max_amateurs: int | None = None,
    bootstrap: int = 500,
    relearn: bool = False,
    probability: float = 0.95,
    draws: bool = False,
    random_seed: int = 1,
    **rules: Any,
) -> xr.Dataset:
    """Return how many experts any number of amateurs is worth.

    Parameters
    ----------
    amateurs, experts : DataArray, Labels or DataTree
        Labels of the two groups, as in `survey_power_curve`, of the same items and categories.
    max_experts, max_amateurs : int, optional
        Most of each that are combined; by default as many as half of the items have.
    bootstrap, relearn, probability, draws, random_seed
        As in `survey_power_curve`.
    **rules
        ``combiner``, ``scorer`` and the like, as in `survey_power_curve`, for both groups. All is over the items that have labels
        for the most experts and the most amateurs.

    Returns
    -------
    Dataset
        The power curve of the experts (k), and what `survey_equivalence` returns of a classifier for each number of ``amateurs``:
        their ``score`` against an expert, and the number of experts that they are worth. The attributes tell how many items of
        the amateurs were left out, and of how many of those the experts gave no label, or one.

    Raises
    ------
    EvaluationError
        As `survey_power_curve`, or if items or categories do not match.

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 7.
    """
    check_resampling(bootstrap, probability, random_seed)
    if fixed := sorted(FIXED & {*rules}):
        raise EvaluationError(
            f"{fixed[0]}: the items are those in common; pass max_experts and max_amateurs"
        )
    allowed = sorted({rule.name for rule in fields(Rules)} - FIXED)
    if unknown := [name for name in rules if name not in allowed]:
        raise EvaluationError(
            f"{unknown[0]}={rules[unknown[0]]!r}: no such rule; expected {', '.join(allowed)}"
        )
    ours, theirs = LabelCounts.of(amateurs, "amateurs"), LabelCounts.of(experts, "experts")
    names = sorted({*ours.categories.tolist(), *theirs.categories.tolist()})
    categories = theirs.categories if {*names} == {*theirs.categories.tolist()} else np.array(names)
    theirs = theirs.over(categories, "experts").matched(ours.items, ("amateurs", "experts"))
    ours = ours.over(categories, "amateurs")
    both = _both(rules, ours, theirs, (max_amateurs, max_experts), random_seed)
    how = Resampling(bootstrap, random_seed)
    nobody = np.empty((0, *both[0].labels.counts.shape))
    amateur, expert = (survey_scores(s, nobody, how, relearn=relearn) for s in both)
    shape = (len(amateur.curve), len(expert.curve))
    scores = SurveyScores(
        expert.curve,
        np.broadcast_to(amateur.curve[:, None], shape),
        expert.curve_error,
        np.broadcast_to(amateur.curve_error[:, None], shape),
        expert.curve_draws,
        np.broadcast_to(amateur.curve_draws[:, None], (*shape, bootstrap)),
    )
    return Described(both[1], scores, probability, draws).classifiers(
        np.arange(shape[0]), "amateurs"
    )


def _both(
    rules: dict[str, Any],
    amateurs: LabelCounts,
    experts: LabelCounts,
    most: tuple[int | None, int | None],
    seed: int,
) -> tuple[Survey, Survey]:
    """Return the surveys of amateurs against experts and of experts, over the items that have labels enough for both."""
    of_amateurs = _survey(rules, ("amateurs", most[0]), amateurs, experts, seed)
    of_experts = _survey(rules, ("experts", most[1]), experts, None, seed)
    n_amateurs, n_experts = of_amateurs.largest, of_experts.largest
    needed = n_experts + of_experts.rules.reference
    enough = (amateurs.size >= n_amateurs) & (experts.size >= needed)
    if not enough.any():
        raise EvaluationError(
            f"no item has labels of {n_amateurs} amateurs and {needed} experts; pass smaller max_amateurs or max_experts"
        )
    left_out = experts.taken(~enough)
    amateurs, experts = amateurs.taken(enough), experts.taken(enough)
    scored = _survey(rules, ("experts", n_experts), experts, None, seed)
    return (
        _survey(rules, ("amateurs", n_amateurs), amateurs, experts, seed),
        replace(scored, left_out=left_out),
    )


def _survey(
    rules: dict[str, Any],
    most: tuple[str, int | None],
    labels: LabelCounts,
    against: LabelCounts | None,
    seed: int,
) -> Survey:
    """Return the survey of a group; errors name the arguments of groups."""
    group, largest = most
    try:
        return Survey.of(Rules(**rules, max_raters=largest), labels, against, seed)
    except EvaluationError as error:
        message = str(error).replace("max_raters", f"max_{group}").replace("counts:", f"{group}:")
        raise EvaluationError(message) from None
