"""The statistical tests accept what is right at their stated level and reject what is wrong."""

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.support.monte_carlo import (
    assert_rejects_twin,
    bonferroni_threshold,
    ecdf_band,
    geweke_z,
    mc_z,
    rejects,
    sbc_ranks,
    seed_of,
    within_sbc_band,
)


def autoregressive(rng, shape, correlation):
    noise = rng.normal(size=shape) * np.sqrt(1 - correlation**2)
    draws = np.empty(shape)
    draws[:, 0] = rng.normal(size=draws[:, 0].shape)
    for t in range(1, shape[1]):
        draws[:, t] = correlation * draws[:, t - 1] + noise[:, t]
    return draws


def test_seed_is_stable_and_differs_by_name():
    assert 0 <= seed_of("a") == seed_of("a") < 2**32
    assert seed_of("a") != seed_of("b")


def test_bonferroni_threshold_is_the_normal_quantile():
    assert bonferroni_threshold(1, 0.05) == pytest.approx(1.959964, abs=1e-6)
    assert bonferroni_threshold(10, 0.5) == pytest.approx(bonferroni_threshold(1, 0.05))


def test_mc_z_is_standard_normal_for_autocorrelated_draws():
    rng = np.random.default_rng(seed_of("mc_z"))
    z = mc_z(autoregressive(rng, (4, 1000, 300), 0.6), 0.0)
    assert z.shape == (300,)
    assert abs(z.mean()) < bonferroni_threshold(1) / np.sqrt(300)
    # The variance of 300 squared normals has a relative error of sqrt(2 / 300).
    assert abs(z.var() - 1) < bonferroni_threshold(1) * np.sqrt(2 / 300)


def test_mc_z_rejects_a_shift_and_handles_constants():
    rng = np.random.default_rng(seed_of("mc_z shift"))
    assert abs(mc_z(rng.normal(0.2, 1, (4, 1000)), 0.0)) > bonferroni_threshold(1)
    assert mc_z(np.ones((2, 10)), 1.0) == 0
    assert mc_z(np.ones((2, 10)), 0.5) == np.inf


def check_joint(marginal, successive):
    z = geweke_z(marginal, successive)
    assert np.abs(z).max() < bonferroni_threshold(z.size)


def test_geweke_accepts_equal_laws_and_rejects_another_variance():
    rng = np.random.default_rng(seed_of("geweke"))
    marginal = np.exp(0.3 * rng.normal(size=(4000, 2)))
    successive = np.exp(0.3 * autoregressive(rng, (4, 2000, 2), 0.5))
    check_joint(marginal, successive)
    assert geweke_z(marginal, successive).shape == (2 + 3 + 2,)
    assert_rejects_twin(check_joint, marginal, successive**1.3)


@pytest.mark.parametrize("n_ranks, n_draws", [(200, 19), (1000, 99)])
def test_ecdf_band_covers_at_its_level(n_ranks, n_draws):
    rng = np.random.default_rng(seed_of(f"band {n_ranks} {n_draws}"))
    ranks = rng.integers(0, n_draws + 1, (n_ranks, 2000))
    inside = int(within_sbc_band(ranks, n_draws, 0.9).sum())
    interval = binomtest(inside, 2000).proportion_ci(0.9999)
    # Counts are whole numbers: the band covers at least its level, and hardly more.
    assert interval.low < 0.93
    assert interval.high > 0.9


def test_ecdf_band_is_nested_in_level():
    (low, high), (lower, higher) = ecdf_band(500, 50, 0.9), ecdf_band(500, 50, 0.99)
    assert (lower <= low).all()
    assert (high <= higher).all()


def check_calibrated(truth, draws, rng):
    ranks = sbc_ranks(truth, draws, rng)
    assert within_sbc_band(ranks, draws.shape[1]).all()


def test_sbc_accepts_the_posterior_and_rejects_a_narrow_one():
    rng = np.random.default_rng(seed_of("sbc"))
    truth = rng.normal(size=1000)
    data = truth + rng.normal(size=1000)
    noise = rng.normal(size=(1000, 99)) * np.sqrt(0.5)
    check_calibrated(truth, data[:, None] / 2 + noise, rng)
    assert_rejects_twin(check_calibrated, truth, data[:, None] / 2 + 0.85 * noise, rng)


def test_sbc_ranks_of_discrete_quantities_are_uniform():
    rng = np.random.default_rng(seed_of("sbc ties"))
    truth, draws = rng.integers(0, 3, 2000), rng.integers(0, 3, (2000, 19))
    assert within_sbc_band(sbc_ranks(truth, draws, rng), 19)


def test_rejects_catches_failed_assertions_only():
    def check(value):
        assert 1 / value > 0

    assert not rejects(check, 1)
    assert rejects(check, -1)
    with pytest.raises(ZeroDivisionError):
        rejects(check, 0)
    with pytest.raises(AssertionError, match="accepts a wrong twin"):
        assert_rejects_twin(check, 1)
