"""The sweep over reliabilities summarises what the metric returns for each tree."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

from tests.support.evaluation_trees import as_flat, random_case

CASES = {r: random_case(np.random.default_rng(7), worth=r) for r in (3, 1)}
TREES = {r: as_flat(case) for r, case in CASES.items()}
SCORES = xr.DataArray(
    np.random.default_rng(8).random((2, 5, 6)),
    {"classifier": ["A", "B"], "item": CASES[1].items, "category": CASES[1].categories},
    ("classifier", "item", "category"),
)


def test_summaries_by_reliability():
    metric = evaluation.overlap(2)
    found = evaluation.reliability_sweep(TREES, metric, SCORES, random_seed=1, probability=0.8)
    assert found["reliability"].to_numpy().tolist() == [1, 3]
    question = found.attrs.pop("question")
    assert found.attrs == {"metric": "overlap_2", "probability": 0.8} and question.startswith(
        "agreement with"
    )
    for reliability, tree in TREES.items():
        draws = evaluation.uncertainty_adjusted(metric, tree, SCORES, random_seed=1)
        row = found.sel(reliability=reliability)
        values = draws.transpose(..., "classifier").to_numpy().reshape(-1, 2)
        np.testing.assert_allclose(row["mean"], values.mean(axis=0))
        np.testing.assert_allclose(row["sd"], values.std(axis=0))
        np.testing.assert_allclose(row["interval"], np.quantile(values, [0.1, 0.9], axis=0).T)
        wins = (values[:, 0] > values[:, 1]) + 0.5 * (values[:, 0] == values[:, 1])
        np.testing.assert_allclose(row["probability_best"][0], wins.mean())
    np.testing.assert_allclose(found["probability_best"].sum("classifier"), 1)


def test_one_classifier_is_not_compared():
    one = SCORES.isel(classifier=0, drop=True)
    found = evaluation.reliability_sweep(TREES, evaluation.overlap(2), one)
    assert "probability_best" not in found
    assert found["interval"].dims == ("reliability", "bound")


def test_refused():
    with pytest.raises(evaluation.EvaluationError, match="trees is empty"):
        evaluation.reliability_sweep({}, evaluation.overlap(2), SCORES)
    with pytest.raises(evaluation.EvaluationError, match="probability=95"):
        evaluation.reliability_sweep(TREES, evaluation.overlap(2), SCORES, probability=95)
