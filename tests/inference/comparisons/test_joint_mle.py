"""Joint maximum likelihood: a stationary point, the best of many starts, where the gradient steps end, and what is refused."""

import warnings

import numpy as np
import pytest
from raterzoo import inference, models, papers
from scipy.optimize import minimize
from scipy.special import log_expit, log_ndtr

from tests.support.comparison_designs import simulated, table_of

LOG_F = {"bradley_terry": log_expit, "thurstone": log_ndtr}
ROWS = [
    (0, "a", "b", "left", 6), (0, "a", "b", "right", 2), (0, "b", "c", "left", 5), (0, "b", "c", "right", 2),
    (0, "a", "c", "left", 7), (0, "a", "c", "right", 1), (1, "a", "b", "left", 3), (1, "a", "b", "right", 2),
    (1, "b", "c", "left", 4), (1, "b", "c", "right", 3), (1, "a", "c", "left", 4), (1, "a", "c", "right", 2),
]  # fmt: skip


def log_likelihood(data, link, quality, reliability):
    sign = np.where(data.outcome == 0, 1, -1)
    x = reliability[data.annotation_rater] * (quality[data.left] - quality[data.right])
    won = LOG_F[link](sign * x)
    return data.count @ np.where(data.outcome == 2, (LOG_F[link](x) + LOG_F[link](-x)) / 2, won)


@pytest.mark.parametrize("link", LOG_F)
@pytest.mark.parametrize("tie", [None, 0.4])
def test_nothing_nearby_or_from_other_starts_is_likelier(link, tie):
    data = simulated(items=6, degree=4, alpha=1.0, link=link, tie=tie).data
    estimate = papers.joint_mle(data, link=link)
    quality, rho = estimate["quality"].to_numpy(), estimate["reliability"].to_numpy()
    best = estimate.attrs["log_likelihood"]
    assert estimate.attrs["converged"] == 1 and abs(quality.sum()) < 1e-9
    assert best == pytest.approx(log_likelihood(data, link, quality, rho), rel=1e-9)
    assert rho.min() >= 1 - 1e-9 and rho.max() <= 20 + 1e-9
    rng, n = np.random.default_rng(1), len(quality)
    for _ in range(4):
        start = np.r_[rng.uniform(-0.5, 0.5, n), rng.uniform(1, 20, n)]
        other = minimize(
            lambda z: -log_likelihood(data, link, z[:n], z[n:]), start, method="L-BFGS-B",
            bounds=[(None, None)] * n + [(1, 20)] * n, options={"maxfun": 10**5},
        )  # fmt: skip
        assert best >= -other.fun - 1e-4


def test_gradient_steps_that_are_not_stopped_end_there():
    data = table_of(ROWS)
    best = papers.joint_mle(data)
    steps = papers.alternating_gradient(data, step=1, tolerance=0, random_seed=1)
    assert steps.attrs["converged"] == 1 and steps.attrs["gradient"] <= 0.01
    products = [
        np.multiply.outer(found["reliability"].to_numpy(), found["quality"].to_numpy())
        for found in (best, steps)
    ]
    np.testing.assert_allclose(products[0], products[1], atol=5e-3)


def test_only_ratios_of_reliabilities_are_bounded():
    data = simulated(items=20, degree=6).data
    one = papers.joint_mle(data)
    twice = papers.joint_mle(data, reliability_range=(2, 40))
    np.testing.assert_allclose(twice["quality"], one["quality"] / 2, atol=1e-3)
    assert twice.attrs["log_likelihood"] == pytest.approx(one.attrs["log_likelihood"], abs=1e-4)


def test_a_rater_without_contradiction_is_at_the_end_of_the_range():
    always = [(2, "a", "b", "left", 9), (2, "b", "c", "left", 9)]
    estimate = papers.joint_mle(table_of(ROWS + always))
    assert estimate.attrs["converged"] == 1
    assert float(estimate["reliability"].sel(rater=2)) == pytest.approx(20)


def test_too_few_steps_are_said(golden):
    with golden.warns(inference.EstimateWarning):
        estimate = papers.joint_mle(simulated().data, max_iterations=2)
    assert estimate.attrs["converged"] == 0 and estimate.attrs["iterations"] == 2


def test_the_truth_is_thousands_of_nats_likelier_than_where_the_printed_rule_stops():
    # N = 100, alpha = 1/2, on the design of section 6
    drawn = models.simulators.comparisons(items=100, raters=100, random_seed=1)
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        stopped = papers.alternating_gradient(drawn.data, random_seed=1)
    assert stopped.attrs["stopped"] == 1 and stopped.attrs["converged"] == 0
    assert stopped.attrs["gradient"] > 100
    best = papers.joint_mle(drawn.data)
    of_truth = log_likelihood(drawn.data, "bradley_terry", drawn.truth["quality"], drawn.truth["reliability"])
    there = [stopped[name].to_numpy() for name in ("quality", "reliability")]
    assert log_likelihood(drawn.data, "bradley_terry", *there) < of_truth - 3000
    assert of_truth < best.attrs["log_likelihood"] < of_truth + 200  # 198 free parameters


@pytest.mark.parametrize(
    "options",
    [
        {"link": "probit"}, {"reliability_range": (0, 1)}, {"reliability_range": (2, 1)},
        {"max_iterations": 0}, {"tolerance": 0},
    ],
)  # fmt: skip
def test_arguments_out_of_range(options, golden):
    with golden.raises(ValueError):
        papers.joint_mle(table_of(ROWS), **options)


@pytest.mark.parametrize(
    "rows", [[("r", "a", "b", "left", 1)], [("r", "a", "b", "left", 1), ("r", "c", "d", "left", 1)]]
)
def test_votes_without_a_maximum_are_refused(rows, golden):
    with golden.raises(models.DataError):
        papers.joint_mle(table_of(rows))
