"""Without a seed, what is drawn derives from the posterior: the same call gives the same answer twice."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.posterior.plausibility import default_seed

from tests.support.evaluation_trees import as_dense, as_flat, random_case

CASE = random_case(np.random.default_rng(3), n_items=8, worth=0.3)
FIRST = xr.DataArray(
    [[f"label {i % 6}"] for i in range(8)], {"item": CASE.items}, ("item", "position"), name="predictions"
)


def sampled_accuracy(tree, **options):
    return evaluation.uncertainty_adjusted(
        evaluation.top_k_accuracy(1), tree, FIRST, truth="sampled", **options
    )


DRAWING = {
    "annotation_certainty": evaluation.annotation_certainty,
    "plausible_labels": evaluation.plausible_labels,
    "uncertainty_adjusted": sampled_accuracy,
    "metric_draws": lambda tree, **options: evaluation.metric_draws(
        evaluation.f1(), tree, FIRST, resamples=5, **options
    ),
    "reliability_sweep": lambda tree, **options: evaluation.reliability_sweep(
        {1: tree, 2: tree}, evaluation.top_k_accuracy(1), FIRST, **options
    ),
}


@pytest.mark.parametrize("name", DRAWING)
def test_no_seed_gives_the_same_answer_twice_and_a_generator_another(name):
    draw = DRAWING[name]
    first, again = draw(as_flat(CASE)), draw(as_flat(CASE))
    xr.testing.assert_identical(first, again)
    rng = np.random.default_rng(5)
    assert not draw(as_flat(CASE), random_seed=rng).equals(draw(as_flat(CASE), random_seed=rng))


def test_conformal_sets_and_agreement_without_a_seed():
    tree = as_dense(CASE, np.random.default_rng(1))
    scores = tree["posterior"]["plausibility"].mean(("chain", "draw"))
    first, again = (evaluation.conformal_sets(tree, scores, CASE.items[:5], 0.5) for _ in range(2))
    xr.testing.assert_identical(first, again)
    codes = xr.DataArray(
        np.random.default_rng(2).integers(0, 2, (12, 3)), {"rater": [*"abc"]}, ("item", "rater")
    )
    first, again = (evaluation.label_agreement(codes, bootstrap=20) for _ in range(2))
    xr.testing.assert_identical(first, again)


def test_the_seed_is_of_the_tree_and_not_the_samplers_own():
    tree = as_flat(CASE)
    by_values = default_seed(tree)
    tree.attrs["seed"] = 7
    assert default_seed(tree) != by_values
    other = as_flat(random_case(np.random.default_rng(4)))
    other.attrs["seed"] = 7
    assert default_seed(other) == default_seed(tree) != 7
    # the streams of chains are spawned from the seed itself
    ours, of_a_chain = np.random.default_rng(default_seed(tree)), np.random.default_rng(7)
    assert not np.array_equal(ours.spawn(1)[0].random(4), of_a_chain.spawn(1)[0].random(4))


def test_values_alone_give_a_seed_that_other_values_change():
    draws = as_flat(CASE)["posterior"]["plausibility"]
    assert default_seed(draws) == default_seed(draws.copy()) != default_seed(draws**2)
