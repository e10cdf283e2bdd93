"""Simulation-based calibration rejects samplers of comparisons that are wrong in one line, or are told something wrong.

One twin is short, and more are in the evidence; the others by one command:
pytest -m long -n 0 tests/inference/comparisons/test_hmc_twins.py
"""

import pytest
from raterzoo.inference.comparisons.kernels import hmc as box_units
from raterzoo.inference.comparisons.kernels import posterior as anchored_posterior

from tests.support.comparison_calibration import built, calibrated, hmc_ranks
from tests.support.monte_carlo import seed_of
from tests.support.source_twins import altered

SIMULATIONS = 200


def twin_ranks(structure, sampler=None, spoil=None, simulations=SIMULATIONS):
    own = {} if sampler is None else {"sampler": sampler}
    return hmc_ranks(built(structure), simulations, seed_of(f"twin {structure}"), spoil=spoil, **own)


@pytest.mark.long
def test_a_sampler_that_forgets_the_momentum_when_it_accepts_is_not():
    twin = altered(
        "_transition",
        ("start = log_p - 0.5 * kinetic", "start = log_p"),
        ("change = log_p_new - 0.5 * kinetic - start", "change = log_p_new - start"),
    )
    assert not calibrated(twin_ranks("ties", twin))


@pytest.mark.long
def test_a_move_of_scales_that_forgets_how_much_it_stretches_is_not():
    scales = altered("draw_scales", ("change = tried - log_p + (n - 1) * log_c", "change = tried - log_p"))
    twin = altered("sample_pairs", draw_scales=scales.draw_scales)
    assert not calibrated(twin_ranks("ties", twin))


@pytest.mark.long
def test_a_sampler_that_accepts_whatever_it_tries_is_not():
    twin = altered(
        "_transition",
        ("if uniform(rng) < accept:", "if uniform(rng) < 2.0:"),
        ("h = QUARTER * (0.8 + 0.4 * uniform(rng)) / steps", "h = QUARTER"),
    )
    assert not calibrated(twin_ranks("ties", twin))


@pytest.mark.long
def test_a_prior_with_a_wrong_degree_of_freedom_is_not():
    prior = altered(
        "_zero_sum_prior",
        ("gradient[place] += squares * precision - (n - 1)", "gradient[place] += squares * precision - n"),
        ("- (n - 1) * log_scale", "- n * log_scale"),
    )
    twin = altered("sample_pairs", anchored_log_p=prior.anchored_log_p)
    assert not calibrated(twin_ranks("ties", twin, simulations=600))


@pytest.mark.long
def test_a_box_without_the_jacobian_of_its_coordinates_is_not():
    prior = altered(
        "_log_logistic_density", ("return -abs(x) - 2.0 * math.log1p(math.exp(-abs(x)))", "return 0.0")
    )
    twin = altered("sample_pairs", anchored_log_p=prior.anchored_log_p)
    assert not calibrated(twin_ranks("box", twin))


@pytest.mark.long
def test_a_box_whose_scale_is_drawn_from_another_power_is_not():
    units = altered("draw_units", ("(low, high), k - n)", "(low, high), k - n + 3)"))
    twin = altered("sample_pairs", draw_units=units.draw_units)
    assert not calibrated(twin_ranks("box", twin))


def test_a_sampler_that_is_told_another_winner_is_not():
    def turned(codes, counts):
        wrong = counts.copy()
        wrong[0] = counts[0][[1, 0, 2]]
        return codes, wrong

    assert not calibrated(twin_ranks("ties", spoil=turned))


@pytest.mark.long
def test_a_sampler_that_is_told_less_is_not():
    def dropped(codes, counts):
        return tuple(code[6:] for code in codes), counts[6:]

    assert not calibrated(twin_ranks("ties", spoil=dropped, simulations=600))


@pytest.mark.long
def test_the_unchanged_source_is_what_the_twins_differ_from():
    """The twins fail for what was changed, not for how they are made."""
    same = altered(
        "sample_pairs", anchored_log_p=anchored_posterior.anchored_log_p, draw_units=box_units.draw_units
    )
    assert calibrated(twin_ranks("box", same))
