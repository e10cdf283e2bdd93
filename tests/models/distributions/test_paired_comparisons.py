"""The law of comparisons against a hundred digits, enumeration and closed forms, on three backends; gradients, replicates."""

from itertools import product
from math import factorial

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from raterzoo.models.distributions import paired_comparisons, paired_comparisons_kernels
from scipy.stats import chi2, norm

from tests.support.monte_carlo import rejects, seed_of
from tests.support.sixty_digits import log_p_and_slopes

LAWS = [("bradley_terry", 2), ("bradley_terry", 3), ("thurstone", 2), ("thurstone", 3)]


def swept(link, x, tie, counts):
    """log p and slopes of counts at given distances: one item is x better than the other, one rater for each point."""
    n = len(x)
    strengths = paired_comparisons_kernels.Strengths(
        np.r_[x, 0.0], np.ones(n), np.zeros(n), np.broadcast_to(np.asarray(tie, float), n).copy()
    )
    codes = paired_comparisons_kernels.PairCodes(np.arange(n), np.full(n, n), np.arange(n))
    found = (np.empty(n), np.empty(n), np.empty(n))
    paired_comparisons_kernels.pair_sweeps(link, counts.shape[1]).log_p(strengths, codes, counts, found)
    return found


def points(rng, n):
    """Return distances and tie parameters: ordinary ones, 40 sigma and beyond, and next to every border."""
    x = np.r_[rng.normal(0, 2, n // 2), rng.uniform(-90, 90, n // 4), rng.normal(0, 2, n - n // 2 - n // 4)]
    x[:8] = [0.0, 40, -40, 1e-9, -1e-9, 40 * np.sqrt(2), -75, 37.5]
    tie = np.exp(rng.normal(-0.5, 1.5, n))
    tie[8:12] = [1e-6, 1e-3, 30, 0.1]
    near = slice(n - n // 8, n)
    tie[near] = np.abs(x[near]) * (1 + rng.normal(0, 1e-3, n // 8))  # where an interval ends at 0
    return x, tie


@pytest.mark.slow
@pytest.mark.parametrize(("link", "n_outcomes"), LAWS)
def test_equals_a_hundred_digits(link, n_outcomes):
    rng = np.random.default_rng(seed_of(f"digits {link} {n_outcomes}"))
    x, tie = points(rng, 1000)
    exact = np.array(
        [log_p_and_slopes(link, a, t if n_outcomes == 3 else None) for a, t in zip(x, tie, strict=True)]
    )
    parts = []
    for outcome in range(n_outcomes):
        one = np.zeros((len(x), n_outcomes), np.int64)
        one[:, outcome] = 1
        found = np.array(swept(link, x, tie, one))
        np.testing.assert_allclose(found[0], exact[:, 0, outcome], rtol=1e-12, atol=1e-15)
        # the slope of a tie crosses zero in the middle; far out 75 digits are left of that of what is nearly certain
        floor = np.where(np.abs(x) < 1, 2e-15, 1e-70)
        for slope, true in zip(found[1:], exact[:, 1:, outcome].T, strict=True):
            assert (np.abs(slope - true) <= 1e-8 * np.abs(true) + floor).all()
        parts.append(found)
    counts = rng.integers(0, 1000, (len(x), n_outcomes))
    together = np.array(swept(link, x, tie, counts))
    terms = np.stack(parts) * counts.T[:, None]
    assert (np.abs(together - terms.sum(0)) <= 1e-12 * np.abs(terms).sum(0) + 1e-12).all()


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_far_beyond_the_range_of_probabilities(link):
    x = np.array([1e3, -1e3, 1e5, -1e5])
    for counts in (np.array([[1, 0]] * 4), np.array([[0, 1]] * 4)):
        log_p, slope, _ = swept(link, x, 1.0, counts)
        lost = (counts[:, 0] == 0) == (x > 0)
        far = np.abs(x) if link == "bradley_terry" else x**2 / 2
        np.testing.assert_allclose(log_p, np.where(lost, -far, 0.0), rtol=1e-4, atol=1e-300)
        assert np.isfinite(slope).all()


@pytest.mark.parametrize(("link", "n_outcomes"), LAWS)
def test_what_was_not_answered_adds_nothing(link, n_outcomes):
    x = np.array([0.0, 0.3, 40.0, -40.0, 1e5])
    for found in swept(link, x, 0.7, np.zeros((5, n_outcomes), np.int64)):
        assert (found == 0).all()


def all_counts(n, n_outcomes):
    found = [c for c in product(range(n + 1), repeat=n_outcomes) if sum(c) == n]
    return np.array(found)


def plain_p(link, x, tie):
    if link == "thurstone":
        t = 0 if tie is None else tie
        p = [norm.cdf(x - t), norm.cdf(-x - t)]
        return np.array(p if tie is None else [*p, 1 - sum(p)])
    parts = np.exp([x / 2, -x / 2] if tie is None else [x / 2, -x / 2, np.log(tie)])
    return parts / parts.sum()


@pytest.mark.parametrize(("link", "n_outcomes"), LAWS)
def test_sums_to_one_and_equals_brute_force(link, n_outcomes):
    rng = np.random.default_rng(seed_of(f"sums {link} {n_outcomes}"))
    quality, reliability = rng.normal(0, 1, 3), np.array([0.4, 1.7])
    tie = 0.6 if n_outcomes == 3 else None
    counts, codes, exact = [], [], []
    for n in range(5):
        i, j, k = *rng.choice(3, 2, replace=False), rng.integers(2)
        p = plain_p(link, reliability[k] * (quality[i] - quality[j]) + 0.2, tie)
        for own in all_counts(n, n_outcomes):
            counts.append(own)
            codes.append((i, j, k))
            orders = factorial(n) / np.prod([factorial(c) for c in own])
            exact.append(orders * np.prod(p**own))
    counts, codes = np.array(counts), np.array(codes).T
    total = counts.sum(axis=1)
    law = paired_comparisons.PairedVotes.dist(
        quality, reliability, tuple(codes), total, left_bias=0.2, tie=tie, link=link
    )
    p = np.exp(pm.logp(law, counts).eval(mode="FAST_COMPILE"))
    np.testing.assert_allclose(p, exact, rtol=1e-12)
    np.testing.assert_allclose(np.bincount(total, p), 1, rtol=1e-12)


def test_davidson_closed_forms():
    """With worths pi = e^q a tie has nu sqrt(pi_i pi_j) beside pi_i and pi_j; one pair is fitted by a / b and c / sqrt(a b)."""
    rng = np.random.default_rng(seed_of("davidson"))
    quality, nu = rng.normal(0, 2, (2, 50)), rng.lognormal(0, 1, 50)
    worth = np.exp(quality)
    parts = np.stack([worth[0], worth[1], nu * np.sqrt(worth[0] * worth[1])])
    for outcome, p in enumerate(parts / parts.sum(axis=0)):
        one = np.eye(3, dtype=np.int64)[[outcome] * 50]
        log_p = swept("bradley_terry", quality[0] - quality[1], nu, one)[0]
        np.testing.assert_allclose(log_p, np.log(p), rtol=1e-12, atol=1e-14)
    counts = rng.integers(1, 1000, (50, 3))
    a, b, c = counts.T
    _, slope, tie_slope = swept("bradley_terry", np.log(a / b), c / np.sqrt(a * b), counts)
    assert np.abs(slope / counts.sum(axis=1)).max() < 1e-14
    assert np.abs(tie_slope / counts.sum(axis=1)).max() < 1e-13


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_without_ties_is_the_limit(link):
    x, counts = np.linspace(-5, 5, 21), np.array([[3, 2, 0]] * 21)
    limit = swept(link, x, 1.0, counts[:, :2].copy())[0]
    np.testing.assert_allclose(swept(link, x, 1e-12, counts)[0], limit, rtol=1e-10)


def random_law(rng, n_outcomes, annotations=300):
    quality = rng.normal(0, 8, 12)
    raters = (rng.normal(1, 1, 7), rng.normal(0, 0.3, 7), rng.lognormal(0, 1, 7))
    left = rng.integers(0, 12, annotations)
    right = (left + rng.integers(1, 12, annotations)) % 12
    codes = (left, right, rng.integers(0, 7, annotations))
    return (
        paired_comparisons_kernels.Strengths(quality, *raters),
        codes,
        rng.integers(0, 4, (annotations, n_outcomes)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("link", "n_outcomes"), LAWS)
def test_backends_agree(link, n_outcomes):
    """JAX has formulas and derivatives of its own: this is also a test of the gradient by item and rater."""
    rng = np.random.default_rng(seed_of(f"backends {link} {n_outcomes}"))
    strengths, codes, counts = random_law(rng, n_outcomes)
    inputs = [pt.vector(name, shape=(len(x),)) for name, x in strengths._asdict().items()]
    log_p = paired_comparisons.pair_logp(
        paired_comparisons_kernels.Strengths(*inputs),
        paired_comparisons_kernels.PairCodes(*codes),
        pt.as_tensor_variable(counts),
        (link, n_outcomes),
    )
    weight = np.linspace(-1, 2, len(counts))
    wanted = inputs if n_outcomes == 3 else inputs[:3]
    gradient = pt.grad((weight * log_p).sum(), wanted)
    found = {
        mode: pytensor.function(inputs, [log_p, *gradient], mode=mode, on_unused_input="ignore")(*strengths)
        for mode in ("NUMBA", "FAST_COMPILE", "JAX")
    }
    for mode in ("FAST_COMPILE", "JAX"):
        for one, other in zip(found[mode], found["NUMBA"], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(found[mode][0], found["NUMBA"][0], rtol=1e-12, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_jax_differentiates_far_out(link):
    jax = pytest.importorskip("jax")
    from raterzoo.models.distributions import jax_laws

    x, tie = points(np.random.default_rng(seed_of(f"jax {link}")), 200)
    for outcome in range(3):
        counts = np.eye(3)[[outcome] * 200]
        op = paired_comparisons.PairLogP(link, 3)
        log_p, pull = jax.vjp(lambda x, t, c=counts, op=op: jax_laws.log_p_of_pairs(op, x, t, c), x, tie)
        exact = swept(link, x, tie, counts.astype(np.int64))
        for one, other in zip((log_p, *pull(np.ones(200))), exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_impossible_counts(link):
    law = paired_comparisons.PairedVotes.dist(
        [0.3, 0.0], [1.0], ([0] * 4, [1] * 4, [0] * 4), [2] * 4, link=link
    )
    log_p = pm.logp(law, np.array([[1, 1], [3, -1], [1, 2], [0, 0]])).eval(mode="FAST_COMPILE")
    assert np.isfinite(log_p[0]) and (log_p[1:] == -np.inf).all()
    tied = paired_comparisons.PairedVotes.dist([0.3, 0.0], [1.0], ([0], [1], [0]), [1], tie=-1.0, link=link)
    with pytest.raises(pm.logprob.utils.ParameterValueError, match="tie > 0"):
        pm.logp(tied, np.array([[0, 0, 1]])).eval(mode="FAST_COMPILE")


def test_codes_that_are_not_there_are_refused_before_compiled_code_reads_them(golden):
    for codes, total in [
        (([2], [0], [0]), [1]),
        (([0], [-1], [0]), [1]),
        (([0], [1], [1]), [1]),
        (([0], [1], [0]), [-1]),
        (([0, 1], [1], [0]), [1]),
    ]:
        with golden.raises(ValueError):
            paired_comparisons.PairedVotes.dist([0.3, 0.0], [1.0], codes, total)
    with golden.raises(ValueError):
        paired_comparisons.PairedVotes.dist([0.3, 0.0], [1.0], ([0], [1], [0]), [1], link="probit")
    with golden.raises(ValueError):
        one = paired_comparisons_kernels.Strengths(*([1.0] for _ in range(4)))
        paired_comparisons.pair_logp(
            one, paired_comparisons_kernels.PairCodes([0], [0], [0]), pt.as_tensor([[1, 2]]), ("thurstone", 3)
        )


def test_compiled_ops_are_told_apart():
    keys = {paired_comparisons.PairLogP(link, n_outcomes).cache_key() for link, n_outcomes in LAWS}
    assert len(keys) == 4 and len({paired_comparisons.PairLogP(*law) for law in LAWS}) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "link", "n_outcomes"),
    # three outcomes of a law have all that two have
    [pytest.param("NUMBA", *law, marks=[pytest.mark.slow] * (law[1] == 2)) for law in LAWS]
    + [("FAST_COMPILE", *law) for law in LAWS],
)
def test_replicates_follow_the_law(mode, link, n_outcomes):
    n, total, tie = 20_000, 3, 0.8 if n_outcomes == 3 else None
    source = pt.random.shared_rng(np.random.default_rng(seed_of(f"replicates {mode} {link} {n_outcomes}")))
    law = paired_comparisons.PairedVotes.dist(
        [0.7, 0.0],
        [0.8, -0.5],
        ([0, 1], [1, 0], [1, 0]),
        [total, 5],
        left_bias=0.3,
        tie=tie,
        link=link,
        size=n,
        rng=source,
    )
    draws = pytensor.function([], law, mode=mode)()
    assert draws.shape == (n, 2, n_outcomes) and (draws.sum(axis=-1) == [total, 5]).all()
    patterns = all_counts(total, n_outcomes)
    seen = np.array([(draws[:, 0] == pattern).all(axis=1).sum() for pattern in patterns])

    def check(x):
        p = plain_p(link, x, tie)
        expected = [
            n * factorial(total) / np.prod([factorial(c) for c in own]) * np.prod(p**own) for own in patterns
        ]
        assert chi2.sf(((seen - expected) ** 2 / expected).sum(), len(patterns) - 1) > 1e-4

    check(-0.5 * 0.7 + 0.3)
    assert rejects(check, -0.5 * 0.7)  # without the bias
    assert rejects(check, 0.8 * 0.7 + 0.3)  # another rater
