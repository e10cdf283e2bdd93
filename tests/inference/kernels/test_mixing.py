"""Every number of the convergence kernel, and of its twin for few quantities, is ArviZ's."""

import warnings

import numpy as np
import pytest
import scipy
from arviz_stats.base import array_stats
from packaging.version import Version
from raterzoo.inference.kernels import convergence

from tests.support.monte_carlo import assert_rejects_twin, seed_of

# Before 1.18, SciPy ranks in double precision what ArviZ gives it in single precision.
SINGLE = 1e-10 if Version(scipy.__version__) >= Version("1.18") else 1e-6
AXES = {"chain_axis": 0, "draw_axis": 1}
COEFFICIENTS = np.linspace(-0.9, 0.98, 24)


def autoregressive(name, n_chains, n_draws, coefficients=COEFFICIENTS):
    rng = np.random.default_rng(seed_of(name))
    noise = rng.standard_normal((n_chains, n_draws, len(coefficients)))
    draws = noise.copy()
    for t in range(1, n_draws):
        draws[:, t] = coefficients * draws[:, t - 1] + np.sqrt(1 - coefficients**2) * noise[:, t]
    return draws


def measured(draws):
    scores = convergence.normal_scores_of_ranks(*draws.shape[:2], draws.dtype)
    result = convergence.measure_mixing(np.ascontiguousarray(draws), scores, 0, draws.shape[2])
    np.testing.assert_allclose(convergence.measure_few(draws, scores), result, rtol=1e-9, atol=1e-15)
    sizes = convergence.measure_mixing(
        np.ascontiguousarray(draws), scores, 0, draws.shape[2], sizes_only=True
    )
    np.testing.assert_array_equal(sizes, result[1:3])
    return result


def of_arviz(draws):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it divides constant draws by zero
        return np.array(
            [
                array_stats.rhat(draws, **AXES, method="rank"),
                array_stats.ess(draws, **AXES, method="bulk"),
                array_stats.ess(draws, **AXES, method="tail", prob=convergence.TAIL),
                array_stats.mcse(draws, **AXES, method="mean"),
            ]
        )


def assert_equals_arviz(draws):
    np.testing.assert_allclose(measured(draws), of_arviz(draws), rtol=1e-10, atol=1e-15)


def draws_of(kind):
    draws = autoregressive(f"mixing of {kind}", 4, 500)
    if kind == "odd":
        return draws[:, 1:]
    if kind == "tied":
        return np.round(draws, 1)
    if kind == "two values":
        return (draws > 1).astype(float)
    if kind == "three values":
        return np.sign(np.round(draws))
    if kind == "apart":
        return draws + np.arange(4)[:, None, None] / 4
    if kind == "one chain of another scale":
        return draws * np.array([3, 1, 1, 1])[:, None, None]
    if kind == "one chain":
        return draws[:1]
    if kind == "heavy tails":
        return np.exp(20 * draws)
    if kind == "both zeros":
        return np.where(draws > 0.5, draws, np.copysign(0.0, draws))
    return draws


KINDS = (
    "plain", "odd", "tied", "two values", "three values", "apart", "one chain of another scale",
    "one chain", "heavy tails", "both zeros",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_double_precision(kind):
    assert_equals_arviz(draws_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision(kind):
    draws = draws_of(kind).clip(-1e9, 1e9).astype(np.float32)
    result, expected = measured(draws), of_arviz(draws)
    np.testing.assert_allclose(result[:3], expected[:3], rtol=SINGLE)
    # ArviZ sums in single precision for the standard deviation; the kernel does not.
    np.testing.assert_allclose(result[3], of_arviz(draws.astype(float))[3], rtol=1e-10)


def test_plausibilities_near_one_in_single_precision():
    # Where neighbours are a rounding error apart, quantile and median depend on how they round.
    draws = 1 - np.exp(-30 * autoregressive("near one", 4, 500) ** 2)
    single = draws.astype(np.float32)
    np.testing.assert_allclose(measured(single)[:3], of_arviz(single)[:3], rtol=SINGLE)


@pytest.mark.parametrize("n_draws", [1, 3, 4, 5, 6, 9, 107, 112, 113, 115, 128])
def test_few_draws(n_draws):
    assert_equals_arviz(autoregressive(f"{n_draws} draws", 3, n_draws))


def test_constant_draws_have_no_reduction_and_full_size():
    result = measured(np.full((4, 250, 2), 0.3))
    assert_equals_arviz(np.full((4, 250, 2), 0.3))
    assert np.isnan(result[0]).all()
    assert (result[1:3] == 1000).all()
    assert (result[3] == 0).all()


def test_draws_that_are_not_finite():
    draws = autoregressive("not finite", 4, 200)
    draws[0, 0, :6] = np.nan
    draws[1, 5, 6:12] = np.inf
    draws[2, 7, 9:15] = -np.inf
    draws[:3, :, 15] = np.inf
    assert_equals_arviz(draws)
    assert np.isnan(measured(draws)[:, :6]).all()


def test_stuck_chains_fail():
    stuck = np.broadcast_to(np.array([0.1, 0.2, 0.3, 0.7])[:, None, None], (4, 100, 1))
    r_hat, ess_bulk, ess_tail, _ = measured(stuck)[:, 0]
    assert r_hat == np.inf
    assert max(ess_bulk, ess_tail) < 10


def test_any_part_is_that_part_of_the_whole():
    draws = autoregressive("parts", 2, 100, np.linspace(0, 0.9, 37))
    scores = convergence.normal_scores_of_ranks(2, 100, draws.dtype)
    parts = [
        convergence.measure_mixing(draws, scores, a, b) for a, b in ((0, 5), (5, 22), (22, 22), (22, 37))
    ]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), measured(draws))


def sorted_draws(x):
    work = (
        *(np.empty(len(x), np.uint64) for _ in range(2)),
        np.empty((convergence.LEADING_DIGITS, 1 << convergence.DIGIT_BITS), np.int32),
    )
    ascending, order = np.empty(len(x)), np.empty(len(x), np.int32)
    convergence.sort_draws(x, ascending, order, work)
    np.testing.assert_array_equal(ascending, x[order])
    return order


def numbers_of(kind):
    rng = np.random.default_rng(seed_of(f"order of {kind}"))
    x = np.round(rng.standard_normal(3000) * 10.0 ** rng.integers(-300, 300, 3000), 3)
    if kind == "any":
        x[:4] = [np.inf, -np.inf, -0.0, 0.0]
    if kind == "smooth":
        x = rng.standard_normal(3000)
    if kind == "near one":
        x = 1 - np.exp(-15 * rng.random(3000) ** 2)
    if kind == "one far away":  # nearly all share their leading digits
        x = 1 + 1e-14 * rng.integers(0, 40, 3000)
        x[7] = -1e300
    if kind == "equal":
        x = np.full(3000, 0.3)
    return x


@pytest.mark.parametrize("kind", ["any", "smooth", "near one", "one far away", "equal"])
def test_order_is_that_of_a_stable_sort(kind):
    x = numbers_of(kind)
    with np.errstate(over="ignore"):
        single = x.astype(np.float32).astype(float)
    for own in (x, single, x[:1]):
        expected = np.argsort(own, kind="stable")
        np.testing.assert_array_equal(sorted_draws(own), expected)


def without_halves(draws):
    """R-hat without splitting, blind to chains that drift together."""
    return array_stats.rhat(draws, **AXES, method="identity")


def without_ranks(draws):
    """R-hat of the draws themselves, blind where variances are infinite."""
    return array_stats.rhat(draws, **AXES, method="split")


def without_folding(draws):
    """R-hat of the ranks alone, blind to chains that differ in scale."""
    return array_stats.rhat(draws, **AXES, method="z_scale")


def twin_cases():
    draws = autoregressive("twins", 4, 400)
    drift = np.linspace(-2, 2, 400)[None, :, None]
    yield without_halves, draws + drift
    heavy = autoregressive("heavy twins", 4, 400, np.zeros(8))
    heavy = np.tan(np.pi * (0.5 - 1 / (1 + np.exp(-1.7 * heavy))))
    heavy[0] += 1
    yield without_ranks, heavy
    yield without_folding, draws * np.array([4, 1, 1, 1])[:, None, None]


@pytest.mark.parametrize(("twin", "draws"), list(twin_cases()), ids=lambda x: getattr(x, "__name__", ""))
def test_a_lesser_reduction_is_told_apart(twin, draws):
    expected = of_arviz(draws)[0]

    def equals_arviz(r_hat):
        np.testing.assert_allclose(r_hat, expected, rtol=1e-3)

    equals_arviz(measured(draws)[0])
    assert_rejects_twin(equals_arviz, twin(draws))
    assert np.nanmax(expected) > 1.01  # and what the twin is blind to matters


def test_tails_of_the_reference_are_told_apart():
    draws = autoregressive("tails", 4, 1000)

    def equals_arviz(ess_tail):
        np.testing.assert_allclose(ess_tail, of_arviz(draws)[2], rtol=1e-3)

    assert_rejects_twin(equals_arviz, array_stats.ess(draws, **AXES, method="tail", prob=0.95))
    scores = convergence.normal_scores_of_ranks(4, 1000, draws.dtype)
    ess_tail = convergence.measure_mixing(draws, scores, 0, draws.shape[2], 0.95)[2]
    expected = array_stats.ess(draws, **AXES, method="tail", prob=0.95)
    np.testing.assert_allclose(ess_tail, expected, rtol=1e-10)
