"""Nordio, Tarable and Leonardi (2023) on their simulation, section 6: what their claims come to.

The coefficients of the bound are checked with the bound, the best reliability and the second stage with the design.
"""

import warnings
from functools import cache

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models, papers
from scipy.stats import binomtest

from benchmarks import quite
from benchmarks.papers import quite_scaling
from tests.support.monte_carlo import assert_rejects_twin

LINKS = ("bradley_terry", "thurstone")
RUNS = 24


def drawn(items, alpha, link, seed):
    simulated = models.simulators.comparisons(
        items=items, raters=items, alpha=alpha, link=link, random_seed=seed
    )
    truth = {"item": simulated.data.items}
    return simulated.data, xr.DataArray(simulated.truth["quality"], truth, ("item",))


def quietly(estimator, data, **options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return estimator(data, **options)


@cache
def against_the_bound(link, alpha):
    """Return what the errors of both readings are made of, in runs of forty items."""
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return [quite.against_bound(quite.Cell("bound", link, 40, alpha), seed) for seed in range(RUNS)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "link"),
    [
        (0.5, LINKS[0]),
        # elsewhere it is more, or undecided: benchmarks/quite.md
        pytest.param(0.2, LINKS[0], marks=pytest.mark.long),
        pytest.param(0.5, LINKS[1], marks=pytest.mark.long),
    ],
)
def test_error_is_below_ten_times_the_bound_and_above_it(link, alpha):
    # section 6.1.1: "less than 10 times the bound, typically 3 to 5", with one factor for all data sets
    found = against_the_bound(link, alpha)

    def check(times):
        for reading in ("default", "frozen"):
            ratio, error = quite.paper_ratio(found, reading)
            assert times * (ratio + 2 * error) < 10
            assert ratio - 2 * error > 1

    check(1)
    assert_rejects_twin(check, 10)


@pytest.mark.slow
@pytest.mark.parametrize("link", [LINKS[0], pytest.param(LINKS[1], marks=pytest.mark.slow)])
def test_a_factor_of_its_own_for_each_data_set_hides_the_error(link):
    """It needs the truth of the data set, and brings the error below a bound that holds without it."""
    found = against_the_bound(link, 1.0)
    common, error = quite.paper_ratio(found, "default")
    own = []
    for one in found:
        estimate, truth = (
            xr.DataArray(one[key], {"item": range(40)}, ("item",)) for key in ("default quality", "truth")
        )
        own.append(float(papers.mean_squared_error(estimate, truth, form="paper")) / one["bound"])
    assert np.mean(own) < 1 < common - 2 * error


def test_most_of_the_bound_is_the_shift():
    # N = 100, alpha = 1/2: 58 % of the bound is the mode that aligning at an item removes
    data, _ = drawn(100, 0.5, "bradley_terry", 1)
    bound = papers.bayesian_cramer_rao_bound(data)
    assert 1 - float(bound["centred"] / bound["quality"]) == pytest.approx(0.58, abs=0.005)


@cache
def at_one_hundred(name):
    """Return whether a pair that differs by more than .04 is misranked in each of 24 runs, and the iterations."""
    failed, iterations = [], []
    for seed in range(RUNS):
        data, truth = drawn(100, 0.5, "bradley_terry", seed)
        options = {"random_seed": seed} if name == "alternating_gradient" else {}
        estimate = quietly(inference.quite if name == "quite" else getattr(papers, name), data, **options)
        failed.append(bool(papers.epsilon_quality(estimate, truth, 0.04)))
        iterations.append(estimate.attrs["iterations"])
    return np.array(failed), np.array(iterations)


@pytest.mark.slow
@pytest.mark.parametrize("better", ["quite", "joint_mle"])
def test_the_gradient_as_printed_errs_more_than_the_maximum_it_climbs_to(better):
    # figure 5: N = 100, alpha = 1/2, epsilon = .04: of 200 data sets in benchmarks/quite.md
    worse = "alternating_gradient"

    def check(better, worse):
        wins = (at_one_hundred(worse)[0] & ~at_one_hundred(better)[0]).sum()
        losses = (at_one_hundred(better)[0] & ~at_one_hundred(worse)[0]).sum()
        assert wins > losses and binomtest(wins, wins + losses).pvalue < 0.01

    check(better, worse)
    assert_rejects_twin(check, worse, better)


def test_short_steps_of_the_gradient_stop_soon():
    # steps of N / 50: about 26 iterations, within two standard errors of a mean over as many runs
    _, iterations = at_one_hundred("alternating_gradient")
    assert abs(iterations.mean() - 26) < 2 * np.sqrt(2 / RUNS) * iterations.std(ddof=1)


@pytest.mark.slow
def test_estimated_qualities_are_drawn_together():
    """By the factor of the best scale: less with more answers, but seen at every alpha."""
    factors = []
    for alpha in (0.1, 0.5, 1.0):
        found = []
        for seed in range(8):
            data, truth = drawn(40, alpha, "bradley_terry", seed)
            x, q = quietly(inference.quite, data)["quality"], truth - truth.mean()
            found.append(float((x * q).sum() / (x * x).sum()))
        factors.append((np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))))
    for mean, error in factors:
        assert mean - 3 * error > 1
    (few, few_error), _, (many, many_error) = factors
    assert few - many > 3 * np.hypot(few_error, many_error)


@pytest.mark.slow
def test_answers_of_a_pair_grow_like_a_logarithm_of_the_items_and_like_a_square_of_precision():
    """Proposition 1 as we read it: unweighted least squares and equal workers need N / epsilon^2 log(N / delta) votes."""
    half = [0.1, 0.15, 0.2]
    few, more, many = (
        quite_scaling.answers_needed(n, half, 30, (4, 6, 8, 11, 16, 23, 32)) for n in (40, 80, 160)
    )

    def check(more, many):
        # each doubling adds as much, where votes N would double it
        assert 1.2 < many[1] / more[1] < 1.8
        assert 0.5 < (many - more)[1] / (more - few)[1] < 1.6

    check(more, many)
    assert_rejects_twin(check, 2 * few, 4 * few)
    assert 3 < more[0] / more[2] < 6  # half of epsilon, four times the answers; twice would be 1 / epsilon
