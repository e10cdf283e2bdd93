"""An advantage of the left side by rater: the law against enumeration, its gradient, refusals, and raters who always say left."""

import warnings
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from raterzoo import inference, models
from raterzoo.models import Comparisons, bradley_terry, thurstone
from scipy.stats import kendalltau, norm

from tests.support.few_comparisons import all_pairs, from_rows, three_items
from tests.support.monte_carlo import seed_of
from tests.support.nuts_calibration import calibrated, nuts_ranks

BUILDERS = [bradley_terry, thurstone]
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def vote_probabilities(build, x, tie):
    """Return p(left), p(right), p(tie)."""
    if build is thurstone:
        won, lost = norm.cdf(x - tie), norm.cdf(-x - tie)
        return np.array([won, lost, 1 - won - lost])
    parts = np.array([np.exp(x / 2), np.exp(-x / 2), tie])
    return parts / parts.sum()


@pytest.mark.parametrize("build", BUILDERS)
def test_each_rater_has_a_side_and_the_outcomes_sum_to_one(build):
    votes = from_rows([("ann", "a", "b", "tie", 2), ("bob", "a", "b", "left", 2)])
    model = build(votes, left_side="rater")
    names = ("quality", "reliability", "left_bias", "tie")
    assert [model.named_vars_to_dims.get(name) for name in names] == [("item",), ("rater",), ("rater",), None]
    counts = pt.lmatrix("counts")
    graph = pm.logp(model["observed_winner"], counts)
    log_p = pytensor.function([*(model[name] for name in names), counts], graph, mode="FAST_COMPILE")
    quality, reliability, bias, tie = np.array([0.4, -0.4]), np.array([1.6, 0.7]), np.array([1.3, -0.6]), 0.4
    outcomes = [c for c in product(range(3), repeat=3) if sum(c) == 2]
    found = np.array([log_p(quality, reliability, bias, tie, [c, c]) for c in outcomes])  # (outcome, rater)
    np.testing.assert_allclose(np.exp(found).sum(axis=0), 1, rtol=1e-12)
    for k in range(2):
        p = vote_probabilities(build, reliability[k] * 0.8 + bias[k], tie)
        orders = [2 if max(c) == 1 else 1 for c in outcomes]
        np.testing.assert_allclose(np.exp(found[:, k]), orders * np.prod(p ** np.array(outcomes), axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDERS)
def test_the_gradient_is_that_of_the_density(build):
    model = build(three_items(), left_side="rater")
    start = model.initial_point()
    rng = np.random.default_rng(1)
    at = {name: value + 0.3 * rng.standard_normal(np.shape(value)) for name, value in start.items()}
    density, gradient = model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")(at)
    numeric, h = [], 1e-3
    for name in (value.name for value in model.continuous_value_vars):
        for place in np.ndindex(np.shape(at[name])):
            moved = []
            for step in (-2, -1, 1, 2):
                there = {key: np.array(value, float) for key, value in at.items()}
                there[name][place] += step * h
                moved.append(float(density(there)))
            # Richardson's extrapolation of central differences: the error is of order h^4
            numeric.append((8 * (moved[2] - moved[1]) - (moved[3] - moved[0])) / (12 * h))
    np.testing.assert_allclose(gradient, numeric, rtol=1e-8, atol=1e-8)


def test_biases_have_a_mean_and_a_spread():
    model = bradley_terry(three_items(), left_side="rater")
    extra = {rv.name for rv in model.free_RVs} - {rv.name for rv in bradley_terry(three_items()).free_RVs}
    assert extra == {"left_bias_mean", "left_bias_scale", "left_bias_deviation"}
    names = ("left_bias", "left_bias_mean", "left_bias_scale")
    bias, mean, scale = pm.draw([model[name] for name in names], 2000, random_seed=1)
    np.testing.assert_allclose(bias.mean(axis=1), mean, atol=1e-12)
    # two deviations d and -d with d ~ Normal(0, 1 / 2)
    z = (bias[:, 0] - mean) / scale * np.sqrt(2)
    assert abs(z.mean()) < 4 / np.sqrt(2000) and abs(z.std() - 1) < 4 / np.sqrt(4000)
    for options in ({"left_bias": True}, {"left_side": "shared"}):
        model = bradley_terry(three_items(), **options)
        assert {"left_bias"} == {rv.name for rv in model.free_RVs if "bias" in str(rv.name)}


@pytest.mark.parametrize(
    ("votes", "options"),
    [
        (three_items(), {"left_side": "each"}),
        (three_items(), {"left_side": "rater", "left_bias": True}),
        (Comparisons.from_pairs([("a", "b"), ("b", "a")]), {"left_side": "rater"}),
        (from_rows([("r", "a", "b", "left", 2)]), {"left_side": "rater", "reliability": "shared"}),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(votes, options, golden):
    for build in BUILDERS:
        with golden.raises(ValueError):
            build(votes, **options)


def one_sided_votes(seed, lefts=6, items=10, raters=10):
    """Return votes on all pairs, in one random order each, of raters of whom the first `lefts` always say left; and the truth."""
    rng = np.random.default_rng(seed)
    quality = rng.permutation(np.linspace(-1, 1, items))
    rows = []
    for i, j in combinations(range(items), 2):
        i, j = rng.permutation([i, j])
        for k in range(raters):
            left = k < lefts or rng.random() < 1 / (1 + np.exp(-1.5 * (quality[i] - quality[j])))
            rows.append((f"rater {k}", f"item {i}", f"item {j}", "left" if left else "right", 1))
    return from_rows(rows), quality


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_the_order_is_found_although_six_of_ten_always_say_left():
    votes, truth = one_sided_votes(seed=0)
    order, reliability, items = {}, {}, [f"item {i}" for i in range(len(truth))]
    for side in (None, "rater"):
        model = models.bradley_terry(votes, left_side=side)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
            tree = inference.sample(model, draws=300, chains=2, cores=1, random_seed=1, progressbar=False)
        means = tree["posterior"].to_dataset().mean(("chain", "draw"))
        order[side] = kendalltau(truth, means["quality"].sel(item=items))[0]
        reliability[side] = means["reliability"].to_numpy()
    assert "left_bias_deviation" in tree.attrs["method_reason"]
    assert order["rater"] > 0.7 and order[None] < 0.5
    # without the side the one-sided raters agree with each other: they are called the most reliable
    assert reliability[None][:6].min() > reliability[None][6:].max()
    assert reliability["rater"][:6].max() < reliability["rater"][6:].max()
    bias = means["left_bias"].to_numpy()
    assert bias[:6].min() > 2 and np.abs(bias[6:]).max() < 2


@pytest.mark.long
def test_nuts_is_calibrated():
    model = bradley_terry(all_pairs(), left_side="rater")
    assert calibrated(nuts_ranks(model, 60, seed_of("nuts left side")))


@pytest.mark.long
def test_a_side_of_the_wrong_rater_is_not():
    pairs = all_pairs()
    swapped = replace(pairs, annotation_rater=3 - pairs.annotation_rater)
    twin = bradley_terry(swapped, left_side="rater")
    assert not calibrated(nuts_ranks(bradley_terry(pairs, left_side="rater"), 40, seed_of("sides mixed up"), twin))  # fmt: skip
