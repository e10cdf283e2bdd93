"""Door of Inspect: a panel of graders as a scorer, and metrics by the posterior of what is correct."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    metric,
    scorer,
    value_to_float,
)
from inspect_ai.solver import TaskState

from .. import evaluation, inference, models
from ..models._catalog import annotation_kinds

CATEGORIES = ("incorrect", "correct")
KIND = "kind"  # attribute of raters by which `effective_raters` groups them: all graders are of one
FEWEST = 3  # outputs; below, while an evaluation begins, metrics are NaN


@metric(scores="unreduced")
def posterior_truth(draws: int = 500, chains: int = 2, random_seed: int = 1) -> Metric:
    """Metric: the share of outputs that are correct, given graders who err, with a 90 % interval.

    The scores are those of `panel`. Each output is an item, each grader a rater, and the model that of labels by default. A value
    that Inspect maps to 1 is correct, any other incorrect.

    Parameters
    ----------
    draws, chains, random_seed : int
        As of `raterzoo.inference.sample`.

    Returns
    -------
    Metric
        With ``correct``, ``correct_low`` and ``correct_high``; NaN for fewer than three outputs.
    """

    def measure(scores: list[SampleScore]) -> Value:
        tree = _fit(scores, draws, chains, random_seed)
        if tree is None:
            return dict.fromkeys(("correct", "correct_low", "correct_high"), math.nan)
        plausible = (
            tree["posterior"]["plausibility"].sel(category=CATEGORIES[1]).transpose(..., "item").to_numpy()
        )
        share = np.random.default_rng(random_seed).binomial(1, plausible.clip(0, 1)).mean(axis=-1)
        low, high = np.quantile(share, (0.05, 0.95))
        return {"correct": float(plausible.mean()), "correct_low": float(low), "correct_high": float(high)}

    return measure


@metric(scores="unreduced")
def effective_raters(draws: int = 500, chains: int = 2, random_seed: int = 1) -> Metric:
    """Metric: as how many independent graders those of `panel` count, by `raterzoo.evaluation.effective_raters`.

    Parameters
    ----------
    draws, chains, random_seed : int
        As of `raterzoo.inference.sample`.

    Returns
    -------
    Metric
        Kish's number, between 1 and the number of graders; NaN for fewer than three outputs.
    """

    def measure(scores: list[SampleScore]) -> Value:
        tree = _fit(scores, draws, chains, random_seed)
        if tree is None:
            return math.nan
        return float(evaluation.effective_raters(tree, by=KIND)["effective"].mean())

    return measure


@scorer(metrics=[posterior_truth(), effective_raters()])
def panel(graders: Mapping[str, Scorer]) -> Scorer:
    """Scorer: the values of several graders of one output, by their names; its metrics learn whom to trust.

    Parameters
    ----------
    graders : mapping of str to Scorer
        Scorers of single values, such as `inspect_ai.scorer.model_graded_qa` of several models.

    Returns
    -------
    Scorer
        With a value for each grader; a grader without a score is left out.

    Examples
    --------
    >>> from inspect_ai.scorer import exact, includes
    >>> from raterzoo.reports.inspect_metrics import panel
    >>> callable(panel({"exact": exact(), "includes": includes()}))
    True
    """

    async def score(state: TaskState, target: Target) -> Score:
        given = {name: await grader(state, target) for name, grader in graders.items()}
        values: Any = {name: own.value for name, own in given.items() if own is not None}
        explained = {name: own.explanation for name, own in given.items() if own is not None}
        return Score(value=values, metadata=explained)

    return score


def _fit(scores: list[SampleScore], draws: int, chains: int, random_seed: int) -> xr.DataTree | None:
    """Return the posterior of what is correct, or None for fewer than three outputs or fewer than two graders."""
    to_float, rows = value_to_float(), list[tuple[int, str, str]]()
    for item, own in enumerate(scores):
        for grader, value in own.score.as_dict().items():
            if value is not None and not (isinstance(value, float) and math.isnan(value)):
                rows.append((item, grader, CATEGORIES[to_float(value) == 1]))
    if len({item for item, _, _ in rows}) < FEWEST or len({grader for _, grader, _ in rows}) < 2:
        return None
    return _posterior(tuple(rows), draws, chains, random_seed)


@lru_cache(maxsize=1)  # both metrics of a panel are given the same scores
def _posterior(
    rows: tuple[tuple[int, str, str], ...], draws: int, chains: int, random_seed: int
) -> xr.DataTree:
    """Return the posterior of what is correct, given rows of output, grader and category."""
    item, rater, label = (list(column) for column in zip(*rows, strict=True))
    table = {"item": item, "rater": rater, "label": label, KIND: ["grader"] * len(rows)}
    labels = models.Labels.from_table(table, categories=CATEGORIES, rater_attributes=(KIND,))
    model = getattr(models, annotation_kinds["labels"].default_model)(labels)
    return inference.sample(model, draws=draws, chains=chains, random_seed=random_seed, progressbar=False)
