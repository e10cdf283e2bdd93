"""Uncertainty split into inherent and of the annotation: a loop over draws, closed forms of Dirichlets, more annotations."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from scipy.special import digamma, entr

from tests.support.evaluation_trees import as_dense, as_flat, random_case
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold

SPREAD = {"entropy": entr, "variance": lambda p: p * (1 - p)}


@pytest.mark.parametrize("form", [as_dense, as_flat])
@pytest.mark.parametrize("measure", SPREAD)
def test_parts_are_those_of_a_loop_over_draws(measure, form):
    case, spread = random_case(np.random.default_rng(5)), SPREAD[measure]
    found = evaluation.uncertainty_sources(form(case), measure=measure)
    assert found["item"].to_numpy().tolist() == case.items
    for place, draws in enumerate(case.draws):  # the last label is OTHER, which only one form has
        own = draws.reshape(-1, draws.shape[-1])[:, : -1 if form is as_dense else None]
        total, inherent = spread(own.mean(axis=0)).sum(), np.mean([spread(p).sum() for p in own])
        parts = [float(found[name][place]) for name in ("total", "inherent", "annotation")]
        np.testing.assert_allclose(parts, [total, inherent, total - inherent], rtol=1e-12, atol=1e-12)


def posterior(counts, concentration):
    """The exact posterior of labels of anonymous raters: Dirichlet(counts + concentration) for each item."""
    coords = {"item": np.arange(len(counts)), "category": list("abc")}
    labels = models.Labels.from_counts(xr.DataArray(counts, coords, ("item", "category")))
    return inference.sample(
        models.dirichlet(labels, concentration=concentration), random_seed=3, progressbar=False
    )


@pytest.mark.parametrize("measure", SPREAD)
def test_parts_are_the_closed_forms_of_a_dirichlet(measure):
    counts = np.array([[0, 0, 1], [4, 0, 0], [3, 3, 3], [30, 20, 10]])
    tree = posterior(counts, 1.0)
    found = evaluation.uncertainty_sources(tree, measure=measure)
    drawn = SPREAD[measure](tree["posterior"]["plausibility"].to_numpy()).sum(axis=-1)
    error = drawn.reshape(-1, len(counts)).std(axis=0) / np.sqrt(drawn[..., 0].size)

    def check(a):
        of_all = a.sum(axis=1, keepdims=True)
        exact = {
            "entropy": digamma(of_all[:, 0] + 1) - (a / of_all * digamma(a + 1)).sum(axis=1),
            "variance": 1 - (a * (a + 1) / (of_all * (of_all + 1))).sum(axis=1),
        }[measure]
        assert (abs(found["inherent"] - exact) < bonferroni_threshold(len(a)) * error).all()

    check(counts + 1.0)
    assert_rejects_twin(check, counts + 1.3)
    mean = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found["total"], SPREAD[measure](mean).sum(axis=1), rtol=0.02)


def test_more_annotations_leave_what_is_inherent():
    """The truth of a coin is its entropy: of few labels much is of the annotation, of many next to nothing."""
    parts = {}
    for raters in (2, 100):
        drawn = models.simulators.ambiguous_items(items=400, raters=raters, categories=3, random_seed=7)
        found = evaluation.uncertainty_sources(posterior(drawn.data.counts, 0.3))
        true = entr(drawn.truth["plausibility"]).sum(axis=1).mean()
        parts[raters] = float(found["annotation"].mean()), abs(float(found["inherent"].mean()) - true)
    assert parts[2][0] > 0.15 and parts[100][0] < 0.02
    assert parts[100][1] < 0.02


def test_what_cannot_be_split_is_refused(golden):
    array = xr.DataArray(
        [[[[0.9, 0.1]], [[0.6, 0.4]]]], {"item": ["x1"], "category": ["no", "yes"]}, ("chain", "draw", "item", "category")
    )  # fmt: skip
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_sources(array.assign_attrs(truth="category"))
    with golden.raises(ValueError):
        evaluation.uncertainty_sources(array.assign_attrs(truth="distribution"), measure="nats")
    with golden.warns(UserWarning):
        found = evaluation.uncertainty_sources(array.isel(chain=0, draw=0))
    assert found["annotation"].item() == 0
