"""Draws that are written to files are rounded below their Monte-Carlo error, and nothing that is computed from them moves."""

import warnings

import numpy as np
import pytest
from raterzoo import evaluation, inference, models
from raterzoo.inference.storage import rounding

from tests.support.stores import read_posterior, write_posterior


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_draw_moves_by_a_hundredth_of_the_monte_carlo_error(dtype):
    rng = np.random.default_rng(1)
    scale, shift = np.array([1e-6, 1.0, 3.0, 1e5]), np.array([0.0, 1e3, -2.0, 1e6])
    draws = (shift + scale * rng.normal(size=(4, 250, 4))).astype(dtype)
    rounded = rounding.rounded_draws(draws)
    assert rounded.dtype == draws.dtype and rounded.shape == draws.shape
    error = np.abs(rounded.astype(float) - draws.astype(float))
    relative = error <= 2.0**-9 * np.abs(draws)  # of numbers near zero, which keep eight bits
    limit = 0.01 * draws.std(axis=(0, 1), ddof=1, dtype=float) / np.sqrt(1000)
    assert ((error <= limit) & relative | (error <= limit)).all()
    moved = error > 0
    assert moved[..., 2].mean() > 0.9  # bits are cleared
    integer, fraction, _ = rounding.LAYOUT[draws.dtype]
    cleared = (rounded[..., 2].view(integer) & ((1 << (fraction - 16)) - 1)) == 0
    assert cleared.all()
    np.testing.assert_array_equal(rounding.rounded_draws(rounded[..., :0]), rounded[..., :0])
    np.testing.assert_array_equal(rounding.rounded_draws(draws), rounded)  # the same bits again


def test_what_never_moves_is_tiny_or_not_finite_stays():
    draws = np.full((2, 50, 5), 0.1, np.float32)
    draws[..., 1] = np.random.default_rng(1).random((2, 50)) * 1e-3
    draws[0, 0, 1] = 1e-30
    draws[1, 3, 2], draws[1, 3, 3] = np.nan, np.inf
    draws[..., 4] = np.nextafter(np.float32(1), np.float32(0))
    rounded = rounding.rounded_draws(draws)
    for column in (0, 2, 3, 4):
        np.testing.assert_array_equal(rounded[..., column], draws[..., column])
    assert rounded[0, 0, 1] == pytest.approx(1e-30, rel=2**-9) and (rounded[..., 1] > 0).all()


def test_a_file_says_that_its_draws_are_rounded_and_answers_the_same(tmp_path):
    data = models.simulators.labels(items=40, raters=5, random_seed=1).data
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(models.dawid_skene(data), draws=500, random_seed=1, progressbar=False)
    sizes = {}
    for rounded in (False, True):
        write_posterior(tree, tmp_path / f"{rounded}.nc", rounded=rounded)
        sizes[rounded] = (tmp_path / f"{rounded}.nc").stat().st_size
    assert sizes[True] < 0.75 * sizes[False]
    exact, found = (read_posterior(tmp_path / f"{rounded}.nc") for rounded in (False, True))
    np.testing.assert_array_equal(exact["posterior"]["confusion"], tree["posterior"]["confusion"])
    assert "rounded" in found.attrs and "rounded" not in exact.attrs
    sure, whole = evaluation.truth_certainty(found), evaluation.truth_certainty(tree)
    assert (sure["label"] == whole["label"]).all()
    np.testing.assert_allclose(sure["certainty"], whole["certainty"], atol=1e-5)
    diagnosis, expected = inference.diagnose(found), inference.diagnose(tree)
    np.testing.assert_allclose(diagnosis["r_hat"], expected["r_hat"], atol=2e-4)
    np.testing.assert_allclose(diagnosis["ess_bulk"], expected["ess_bulk"], rtol=0.01)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_numbers_keep_eight_bits_of_their_own(dtype):
    draws = np.random.default_rng(1).normal(0, 1, (2, 50, 1)).astype(dtype)
    draws[0, :2, 0] = 2.0**-20 * (1 + 2.0**-9 + 2.0**-12), 2.0**-20 * (1 + 2.0**-9 - 2.0**-12)
    assert rounding.rounded_draws(draws)[0, :2, 0].tolist() == [2.0**-20 * (1 + 2.0**-8), 2.0**-20]


def test_whole_numbers_and_no_draws_stay_as_they_are():
    for draws in (np.arange(8).reshape(2, 4), np.zeros((2, 0, 3)), np.array([[True, False]])):
        assert rounding.rounded_draws(draws) is draws
