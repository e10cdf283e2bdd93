"""Rater equivalence of two groups: the number of experts, or people, that k amateurs or models are worth."""

from dataclasses import fields, replace
from inspect import signature
from typing import Any

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ..argument_checks import refuse_unknown
from .counts import LabelCounts, LabelSource
from .resampling import Resampling, SurveyScores, check_resampling, survey_scores
from .results import SurveyDataset
from .rules import SurveyOptions
from .survey import Survey

FIXED = {"items", "max_raters"}  # rules that the caller cannot choose


def rater_equivalence(
    amateurs: LabelSource,
    experts: LabelSource,
    *,
    max_experts: int | None = None,
    max_amateurs: int | None = None,
    bootstrap: int = 500,
    clusters: xr.DataArray | None = None,
    relearn: bool = False,
    probability: float = 0.95,
    draws: bool = False,
    random_seed: int = 1,
    **rules: Any,
) -> xr.Dataset:
    """Return the number of experts that any number of amateurs is worth.

    Both groups are scored against one more expert: each by the power curve of its own labels.

    Parameters
    ----------
    amateurs, experts : DataArray, Labels or DataTree
        Labels of the two groups, as in `survey_power_curve`, for the same items and categories.
    max_experts, max_amateurs : int, optional
        Largest number of each to combine; by default as many as half of the items have.
    bootstrap, clusters, relearn, probability, draws, random_seed
        As in `survey_power_curve`.
    **rules
        Other options of `survey_power_curve`. Only items with labels for `max_experts` and `max_amateurs`
        enter.

    Returns
    -------
    Dataset
        Power curve of the experts (k), and for each number of ``amateurs`` the variables that
        `survey_equivalence` returns for a classifier: their ``score`` against an expert, and the number of
        experts that they are worth. Attributes count the items of the amateurs that were left out, and among
        these the items with no or one label of an expert.

    Raises
    ------
    EvaluationError
        As `survey_power_curve`, or if items or categories do not match.

    Examples
    --------
    >>> from raterzoo import models, papers
    >>> experts = models.simulators.urn_items(items=50, raters=4, random_seed=1).data
    >>> amateurs = models.simulators.urn_items(items=50, raters=3, random_seed=2).data
    >>> found = papers.rater_equivalence(amateurs, experts, bootstrap=0)
    >>> found["score"].dims, found["k"].values.tolist()
    (('amateurs',), [0, 1, 2, 3])

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 7.
    """
    check_resampling(bootstrap, probability, random_seed)
    if fixed := sorted(FIXED & {*rules}):
        raise EvaluationError(
            f"{fixed[0]}: not an option here, as all scores are over the same items; pass max_experts and max_amateurs"
        )
    allowed = sorted({rule.name for rule in fields(SurveyOptions)} - FIXED)
    own = {*signature(rater_equivalence).parameters} - {"rules"}
    refuse_unknown("rater_equivalence", set(rules) - {*allowed}, own | {*allowed})
    if unknown := [name for name in rules if name not in allowed]:
        raise EvaluationError(
            f"{unknown[0]}={rules[unknown[0]]!r}: no such option; expected {', '.join(allowed)}"
        )
    of_amateurs, of_experts = LabelCounts.of(amateurs, "amateurs"), LabelCounts.of(experts, "experts")
    known = {*of_experts.categories.tolist()}
    names = known.union(of_amateurs.categories.tolist())
    categories = of_experts.categories if names == known else np.array(sorted(names))
    of_experts = of_experts.with_categories(categories, "experts")
    of_experts = of_experts.aligned_to(of_amateurs.items, ("amateurs", "experts"))
    of_amateurs = of_amateurs.with_categories(categories, "amateurs")
    both = _surveys(rules, of_amateurs, of_experts, (max_amateurs, max_experts), random_seed)
    how = Resampling.of(bootstrap, random_seed, clusters, (of_amateurs.items, both[0].labels.items))
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
    return SurveyDataset(both[1], scores, probability, draws).classifiers(np.arange(shape[0]), "amateurs")


def _surveys(
    rules: dict, amateurs: LabelCounts, experts: LabelCounts, most: tuple[int | None, int | None], seed: int
) -> tuple[Survey, Survey]:
    """Return the surveys of amateurs against experts and of experts, on items with enough labels of both."""
    of_amateurs = _survey(rules, ("amateurs", most[0]), amateurs, experts, seed)
    of_experts = _survey(rules, ("experts", most[1]), experts, None, seed)
    n_amateurs, n_experts = of_amateurs.largest, of_experts.largest
    needed = n_experts + of_experts.rules.reference
    enough = (amateurs.size >= n_amateurs) & (experts.size >= needed)
    if not enough.any():
        raise EvaluationError(
            f"no item has labels of {n_amateurs} amateurs and {needed} experts; pass smaller max_amateurs or max_experts"
        )
    left_out = experts.select(~enough)
    amateurs, experts = amateurs.select(enough), experts.select(enough)
    of_experts = replace(_survey(rules, ("experts", n_experts), experts, None, seed), left_out=left_out)
    return _survey(rules, ("amateurs", n_amateurs), amateurs, experts, seed), of_experts


def _survey(
    rules: dict, most: tuple[str, int | None], labels: LabelCounts, against: LabelCounts | None, seed: int
) -> Survey:
    """Return the survey of a group; errors name the arguments of `rater_equivalence`."""
    group, largest = most
    try:
        return Survey.of(SurveyOptions(**rules, max_raters=largest), labels, against, seed)
    except EvaluationError as error:
        message = str(error).replace("max_raters", f"max_{group}").replace("counts:", f"{group}:")
        raise EvaluationError(message) from None
