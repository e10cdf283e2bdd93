"""Groups and values of categories against the expansion with OTHER shared out evenly."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

from tests.support.evaluation_trees import as_dense, as_flat, random_case

RISK = {f"label {c}": ("low", "medium", "high")[c % 3] for c in range(6)}
VALUE = {f"label {c}": float(c**2) for c in range(6)}


@pytest.fixture
def case():
    return random_case(np.random.default_rng(21))


def evenly(case):
    array = as_dense(case)["posterior"]["plausibility"].copy()
    for i, (named, draws) in enumerate(zip(case.named, case.draws, strict=True)):
        rest = np.setdiff1d(np.arange(6), named)
        array[..., i, rest] = draws[..., -1:] / len(rest)
    return array


def test_coarsen_sums_over_groups_and_splits_other_by_its_members(case):
    expected = evenly(case)
    groups = list(dict.fromkeys(RISK.values()))
    sums = [
        expected.sel(category=[c for c in case.categories if RISK[c] == group]).sum("category")
        for group in groups
    ]
    tree = evaluation.coarsen(as_flat(case), RISK)
    found = tree["posterior"]["plausibility"]
    assert found.dims == ("chain", "draw", "item", "category")
    assert found["category"].to_numpy().tolist() == groups
    np.testing.assert_allclose(found, np.stack(sums, -1), rtol=1e-12)
    np.testing.assert_allclose(found.sum("category"), 1, rtol=1e-12)
    xr.testing.assert_allclose(evaluation.coarsen(expected, RISK), found)


def test_metrics_take_what_coarsen_returns(case):
    tree = evaluation.coarsen(as_flat(case), RISK)
    predicted = xr.DataArray([["high"]] * 5, {"item": case.items}, ("item", "position"))
    found = evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), tree, predicted)
    top = tree["posterior"]["plausibility"].idxmax("category") == "high"
    np.testing.assert_allclose(found, top.mean("item"))
    assert (evaluation.annotation_certainty(tree) <= 1).all()


def test_expected_value(case):
    expected = (evenly(case) * list(VALUE.values())).sum("category")
    found = evaluation.expected_value(as_flat(case), VALUE)
    assert found.dims == ("chain", "draw", "item")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    risk = evaluation.coarsen(as_flat(case), RISK)
    levels = {"low": 0, "medium": 1, "high": 2}
    np.testing.assert_allclose(
        evaluation.expected_value(risk, levels),
        evaluation.expected_value(as_flat(case), {c: levels[g] for c, g in RISK.items()}),
    )


def test_mappings_must_be_complete(case, golden):
    first = case.named[0][0]
    without = {label: 1 for label in VALUE if label != f"label {first}"}
    with golden.raises(evaluation.EvaluationError):
        evaluation.expected_value(as_flat(case), without)
    more = {**RISK, "typo": "low"}
    with golden.raises(evaluation.EvaluationError):
        evaluation.coarsen(as_flat(case), more)
    flat = as_flat(random_case(np.random.default_rng(0), 1))
    ranked = [c for c in flat["posterior"]["category"].to_numpy().tolist() if c != "OTHER"]
    with golden.raises(evaluation.EvaluationError):
        evaluation.coarsen(flat, dict.fromkeys(ranked, "all"))
    with pytest.raises(evaluation.EvaluationError, match="no constant_data other_size"):
        evaluation.coarsen(flat["posterior"]["plausibility"], RISK)
