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


TWINS = {  # structure, function, changes of its source, and what `sample_pairs` takes from there if it is not that function
    "momentum is forgotten when it accepts": ("ties", "_transition", {
        "start = log_p - 0.5 * kinetic": "start = log_p",
        "change = log_p_new - 0.5 * kinetic - start": "change = log_p_new - start"}, ""),
    "a move of scales forgets how much it stretches": ("ties", "draw_scales", {
        "change = tried - log_p + (n - 1) * log_c": "change = tried - log_p"}, "draw_scales"),
    "it accepts whatever it tries": ("ties", "_transition", {
        "if uniform(rng) < accept:": "if uniform(rng) < 2.0:",
        "h = QUARTER * (0.8 + 0.4 * uniform(rng)) / steps": "h = QUARTER"}, ""),
    "a prior has a wrong degree of freedom": ("ties", "_zero_sum_prior", {
        "gradient[place] += squares * precision - (n - 1)": "gradient[place] += squares * precision - n",
        "- (n - 1) * log_scale": "- n * log_scale"}, "anchored_log_p"),
    "a box lacks the Jacobian of its coordinates": ("box", "_log_logistic_density", {
        "return -abs(x) - 2.0 * math.log1p(math.exp(-abs(x)))": "return 0.0"}, "anchored_log_p"),
    "the scale of a box is drawn from another power": ("box", "draw_units", {
        "(low, high), k - n)": "(low, high), k - n + 3)"}, "draw_units"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("wrong", TWINS)
def test_a_sampler_that_is_wrong_in_a_line_is_not(wrong):
    structure, function, changes, taken = TWINS[wrong]
    twin = altered(function, *changes.items())
    if taken:
        twin = altered("sample_pairs", **{taken: getattr(twin, taken)})
    simulations = 600 if function == "_zero_sum_prior" else SIMULATIONS
    assert not calibrated(twin_ranks(structure, twin, simulations=simulations))


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
