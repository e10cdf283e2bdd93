"""Checks of scores and comparisons: few false alarms for data of the law, and each misfit is found by its own check."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

STUDIES, REPLICATES = 12, 100
MOST_ALARMS = 3  # binomial of 12 studies at .05: more has the probability .002
KIND = np.array(["person"] * 3 + ["model"] * 4)


def tree_of(name, observed, replicates, codes, groups=True, **constants):
    """Tree of annotations and replicates (chain, draw, annotation), as the checks read it."""
    of_raters = {"rater": np.arange(len(KIND))} | ({"kind": ("rater", KIND)} if groups else {})
    dims = ("annotation", "outcome")[: observed.ndim]
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {"rater_effect": (("chain", "draw", "rater"), np.zeros((1, 1, len(KIND))))}, of_raters
            ),
            "observed_data": xr.Dataset({name: (dims, observed)}),
            "posterior_predictive": xr.Dataset({name: (("chain", "draw", *dims), replicates[None])}),
            "constant_data": xr.Dataset(
                {f"annotation_{n}": ("annotation", c) for n, c in codes.items()} | constants
            ),
        }
    )


def score_study(seed, shared=0.0, tail=0.0, own_bias=True, ends=np.inf, groups=True, items=80):
    """Tree of scores of 7 raters: normal about item and rater in the model, with other features in the data."""
    rng, raters = np.random.default_rng(seed), len(KIND)
    item, rater = np.repeat(np.arange(items), raters), np.tile(np.arange(raters), items)
    location, bias = rng.standard_normal(items), 0.5 * rng.standard_normal(raters)
    of_group = shared * rng.standard_normal((items, 2))
    error = 0.5 * rng.standard_normal(len(item)) * np.where(rng.random(len(item)) < tail, 4, 1)
    score = location[item] + bias[rater] + of_group[item, (KIND == "model")[rater].astype(int)] + error
    score = np.clip(score, -ends, ends)
    # the posterior of the two-way law with known spread, about least squares
    mean = score.reshape(items, raters).mean(axis=0) - score.mean() if own_bias else np.zeros(raters)
    residual = score - mean[rater]
    centre = residual.reshape(items, raters).mean(axis=1)
    spread = (residual - centre[item]).std() * np.sqrt(raters / (raters - 1))
    draws = centre + spread / np.sqrt(raters) * rng.standard_normal((REPLICATES, items))
    biases = mean + own_bias * spread / np.sqrt(items) * rng.standard_normal((REPLICATES, raters))
    replicates = draws[:, item] + biases[:, rater] + spread * rng.standard_normal((REPLICATES, len(item)))
    bounds = {} if np.isinf(ends) else {"score_bounds": ("score_bound", np.array([-ends, ends]))}
    return tree_of("observed_score", score, replicates, {"item": item, "rater": rater}, groups, **bounds)


def vote_study(seed, taste=0.0, side=0.0, cycle=0.0, groups=True, items=10, votes=1400):
    """Tree of votes of 7 raters by Bradley-Terry qualities in the model, with other features in the data."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, items, votes)
    right = (left + rng.integers(1, items, votes)) % items
    rater = np.sort(rng.integers(0, len(KIND), votes))
    quality = rng.standard_normal(items)
    liked = taste * rng.standard_normal((2, items))[(KIND == "model")[rater].astype(int)].T
    x = quality[left] - quality[right] + liked[left, np.arange(votes)] - liked[right, np.arange(votes)]
    x += (
        cycle * np.where((right - left) % items <= items // 2, 1, -1)
        + side * np.where(KIND == "model", 1, -1)[rater]
    )
    won = rng.random(votes) < 1 / (1 + np.exp(-x))
    draws = _posterior_of_qualities(rng, (left, right, won), items)
    again = rng.random((REPLICATES, votes)) < 1 / (1 + np.exp(draws[:, right] - draws[:, left]))
    counts, replicates = (np.stack([w, ~w], axis=-1).astype(np.int64) for w in (won, again))
    return tree_of(
        "observed_winner", counts, replicates, {"left": left, "right": right, "rater": rater}, groups
    )


def _posterior_of_qualities(rng, votes, items):
    """Draws of the Laplace approximation, with a standard normal prior."""
    left, right, won = votes
    design = np.eye(items)[left] - np.eye(items)[right]
    quality = np.zeros(items)
    for _ in range(6):
        p = 1 / (1 + np.exp(-design @ quality))
        precision = (design.T * (p * (1 - p))) @ design + np.eye(items)
        quality = quality + np.linalg.solve(precision, design.T @ (won - p) - quality)
    return rng.multivariate_normal(quality, np.linalg.inv(precision), REPLICATES)


def failed(study, seeds=range(STUDIES)):
    """Number of studies of which any check fails, and for each check the number of studies in which it does."""
    number, by_name = 0, {}
    for seed in seeds:
        checks = evaluation.model_checks(study(seed))
        number += not checks.attrs["fits"]
        for name in checks["check"].to_numpy()[checks["fails"].to_numpy()].tolist():
            by_name[name] = by_name.get(name, 0) + 1
    return number, by_name


@pytest.mark.parametrize("study", [score_study, vote_study])
def test_data_of_the_law_raise_few_alarms(study):
    assert failed(study)[0] <= MOST_ALARMS


@pytest.mark.parametrize(
    ("study", "name"),
    [
        (partial(score_study, shared=0.35), "residual correlation between groups"),
        (
            partial(score_study, shared=0.45, groups=False),
            "largest eigenvalue of the correlations of the raters",
        ),
        (partial(score_study, tail=0.05), "kurtosis of the residuals"),
        (partial(score_study, own_bias=False), "mean of each rater"),
        (partial(score_study, ends=0.7), "share of scores at the upper bound"),
        (partial(vote_study, taste=0.8), "residual correlation between groups"),
        (
            partial(vote_study, taste=1.0, groups=False),
            "largest eigenvalue of the residuals of the raters by item",
        ),
        (partial(vote_study, side=0.7), "left wins of each rater, beyond the qualities"),
        (partial(vote_study, cycle=0.8), "mean squared residual of a pair of items"),
    ],
)
def test_each_misfit_is_found_by_its_check(study, name):
    _, by_name = failed(study, range(2))
    assert by_name.get(name, 0) == 2, by_name


def test_sentences_name_the_groups_and_the_reference():
    checks = evaluation.model_checks(score_study(1, shared=0.5))
    text = " ".join(checks.attrs["sentences"])
    assert "where the model expects" in text
    assert "model: raters agree more than independent errors do: they share errors" in text.replace(
        "Model", "model"
    )
    again = evaluation.model_checks(score_study(1, shared=0.5), by="kind")
    xr.testing.assert_identical(checks, again)


def test_a_tree_without_replicates_or_with_few_says_how_to_draw_them():
    tree = score_study(1)
    with pytest.raises(
        evaluation.EvaluationError, match=r"no replicates of 'observed_score'; draw them: inference\.predict"
    ):
        evaluation.model_checks(tree.drop_nodes("posterior_predictive"))
    tree["posterior_predictive"] = tree["posterior_predictive"].to_dataset().isel(draw=slice(20))
    with pytest.raises(evaluation.EvaluationError, match="has 20 replicates; 99 are the fewest"):
        evaluation.model_checks(tree)


def test_anonymous_scores_are_checked_by_item_only():
    tree = score_study(1)
    tree["constant_data"] = tree["constant_data"].to_dataset().drop_vars("annotation_rater")
    assert "mean of each rater" not in evaluation.model_checks(tree)["check"]
