"""The alternating gradient: its gradient, where it settles, and what too long a step does."""

import warnings

import numpy as np
import pytest
from raterzoo import models
from raterzoo.inference import EstimateWarning
from raterzoo.inference.comparisons.alternating_gradient import alternating_gradient
from raterzoo.inference.comparisons.kernels.likelihood import joint_gradient
from raterzoo.inference.comparisons.vote_modes import by_pair
from scipy.special import log_expit, log_ndtr

from tests.support.comparison_designs import simulated, table_of
from tests.support.comparison_samplers import pair_table

LOG_F = {"bradley_terry": log_expit, "thurstone": log_ndtr}


@pytest.mark.slow
@pytest.mark.parametrize("link", LOG_F)
def test_gradient_is_that_of_the_log_likelihood(link):
    table = pair_table(simulated(items=12, degree=4, alpha=0.4, link=link, tie=0.4).data)
    votes, rng = by_pair(table), np.random.default_rng(1)
    pair = np.repeat(np.arange(len(table.first)), np.diff(table.start))
    d, rho = rng.uniform(-1, 1, len(table.first)), rng.uniform(-2, 20, table.n_raters)

    def log_likelihood(d, rho):
        x = rho[table.rater] * d[pair]
        return votes.wins @ LOG_F[link](x) + votes.losses @ LOG_F[link](-x)

    def slope(step, h=1e-5):
        return (
            log_likelihood(d + h * step[0], rho + h * step[1])
            - log_likelihood(d - h * step[0], rho - h * step[1])
        ) / (2 * h)

    found = joint_gradient(link == "thurstone", votes, d, rho)
    for e in range(len(d)):
        assert found[0][e] == pytest.approx(slope((np.eye(len(d))[e], 0)), rel=1e-5, abs=1e-5)
    for k in range(len(rho)):
        assert found[1][k] == pytest.approx(slope((0, np.eye(len(rho))[k])), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("link", LOG_F)
def test_the_printed_rule_stops_short_steps_before_the_maximum(link, golden):
    drawn = simulated(link=link)
    with golden.warns(EstimateWarning):
        estimate = alternating_gradient(drawn.data, link=link, random_seed=1)
    assert estimate.attrs["stopped"] == 1 and estimate.attrs["converged"] == 0
    assert estimate.attrs["gradient"] > 50 and estimate.attrs["step"] == 0.8
    assert estimate["change"][-1] < 1e-5 <= estimate["change"][:-1].min()
    assert abs(float(estimate["quality"].sum())) < 1e-9
    assert np.corrcoef(estimate["quality"], drawn.truth["quality"])[0, 1] > 0.95


def test_the_printed_step_oscillates_with_the_logistic_link(golden):
    with golden.warns(EstimateWarning):
        estimate = alternating_gradient(simulated().data, step=40 / 5, random_seed=1)
    assert all(estimate.attrs[name] == 0 for name in ("converged", "diverged", "stopped"))
    assert np.isfinite(estimate["quality"]).all() and estimate["change"][-100:].min() > 1e-3


def test_the_printed_step_diverges_with_the_normal_link(golden):
    with golden.warns(EstimateWarning):
        estimate = alternating_gradient(
            simulated(link="thurstone").data, link="thurstone", step=40 / 5, random_seed=1
        )
    assert estimate.attrs["converged"] == 0 and estimate.attrs["diverged"] == 1
    assert np.isfinite(estimate["quality"]).all() and np.isfinite(estimate["reliability"]).all()


def test_twice_the_votes_are_the_same_steps():
    """The likelihood is divided by the number of answers."""
    rows = [
        (0, "a", "b", "left", 6),
        (0, "b", "c", "left", 5),
        (1, "a", "c", "left", 3),
        (1, "a", "c", "right", 3),
    ]
    with warnings.catch_warnings(action="ignore", category=EstimateWarning):
        one = alternating_gradient(table_of(rows), random_seed=1)
        twice = alternating_gradient(table_of([(*row[:4], 2 * row[4]) for row in rows]), random_seed=1)
    np.testing.assert_allclose(one["quality"], twice["quality"], rtol=1e-10)


@pytest.mark.parametrize(
    "options", [{"link": "probit"}, {"step": 0}, {"max_iterations": 0}, {"max_iterations": 20.5}]
)
def test_arguments_out_of_range(options, golden):
    with golden.raises(ValueError):
        alternating_gradient(simulated(items=12, degree=4).data, **options)


def test_disconnected_comparisons_are_refused():
    with pytest.raises(models.DataError, match="2 components"):
        alternating_gradient(table_of([("r", "a", "b", "left", 1), ("r", "c", "d", "left", 1)]))
