"""The sampler against exact posteriors: quadrature over the simplex of three, closed forms beyond."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from monte_carlo import assert_rejects_twin, bonferroni_threshold, mc_z, seed_of
from scipy.special import betaln, digamma, logsumexp

from raterzoo.inference.kernels.annotations import distinct_annotations
from raterzoo.inference.kernels.posterior import worth_posterior
from raterzoo.inference.kernels.random_stream import stream
from raterzoo.inference.kernels.worth import Schedule, sample_item

# Blocks of three (or two) candidates by rater; the largest number is unranked.
RANKINGS = {
    "one rater": [[0, 1, 1]],
    "complete": [[0, 1, 2]],
    "tie": [[0, 0, 1]],
    "agreement": [[0, 1, 2], [0, 1, 2], [0, 1, 1]],
    "settled leader": [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 0, 1]],
    "ties and repetition": [[0, 0, 1], [0, 0, 1], [1, 0, 1]],
    "conflict": [[0, 1, 2], [2, 1, 0], [1, 0, 0], [0, 1, 0]],
    "two": [[0, 1], [0, 1], [1, 0]],
}
CONCENTRATIONS = (1 / 419, 0.4, 2.0)
CASES = list(product(RANKINGS, CONCENTRATIONS))
RELIABILITY = {"complete": 2, "agreement": 3}


def layout(name):
    block = np.array(RANKINGS[name])
    place = np.tile(np.arange(block.shape[1]), (len(block), 1))
    return block, place, RELIABILITY.get(name, 1)


def shapes(n, concentration):
    """Return prior shapes: like those of ranked candidates, and, last, of a pooled rest."""
    return np.append(np.full(n - 1, concentration), 3 * concentration)


def log_likelihood(log_p, block):
    """Sum over the orders of every tied block; log_p has the candidates first."""
    total = 0.0
    for b in range(block.max()):
        left = [k for k in range(len(block)) if block[k] >= b]
        orders = []
        for order in permutations(np.flatnonzero(block == b)):
            racing, terms = list(left), 0.0
            for k in order:
                terms = terms + log_p[k] - logsumexp(log_p[racing], axis=0)
                racing.remove(k)
            orders.append(terms)
        total = total + logsumexp(orders, axis=0)
    return total


def gap_nodes(smallest_shape):
    """Gauss-Legendre panels for a gap between log worths: smooth near 0, exponential far out."""
    edges = np.concatenate([[0, 1, 2, 4, 8], np.geomspace(16, 16 + 40 / smallest_shape, 10)])
    x, weight = np.polynomial.legendre.leggauss(16)
    nodes = [(a + b + (b - a) * x) / 2 for a, b in pairwise(edges)]
    weights = [(b - a) / 2 * weight for a, b in pairwise(edges)]
    return np.concatenate(nodes), np.concatenate(weights)


def exact_moments(name, concentration):
    """Return E[plausibility], E[plausibility ** 2] by quadrature in each order of the worths."""
    block, _, reliability = layout(name)
    n = block.shape[1]
    shape = shapes(n, concentration)
    nodes, weights = gap_nodes(shape.min())
    gaps = np.stack(np.meshgrid(*[nodes] * (n - 1), indexing="ij")).reshape(n - 1, -1)
    log_weight = sum(np.meshgrid(*[np.log(weights)] * (n - 1), indexing="ij")).ravel()
    falling = -np.concatenate([np.zeros((1, gaps.shape[1])), gaps.cumsum(axis=0)])
    log_mass, moments = [], []
    for order in permutations(range(n)):
        log_p = np.empty_like(falling)
        log_p[list(order)] = falling
        log_p -= logsumexp(log_p, axis=0)
        log_density = log_weight + shape @ log_p
        for row in block:
            log_density = log_density + reliability * log_likelihood(log_p, row)
        log_mass.append(log_density)
        moments.append(np.exp(log_p))
    log_mass, p = np.concatenate(log_mass), np.concatenate(moments, axis=1)
    mass = np.exp(log_mass - logsumexp(log_mass))
    return np.concatenate([p @ mass, p**2 @ mass])


def test_quadrature_is_a_beta_integral():
    """Two candidates and no ties: plausibility ~ Beta(a + 2, 3 a + 1)."""
    for a in CONCENTRATIONS:
        exact = exact_moments("two", a)
        b = 3 * a + 1
        second = np.exp(betaln(a + 4, b) - betaln(a + 2, b))
        np.testing.assert_allclose(exact[[0, 2]], [(a + 2) / (a + 2 + b), second], rtol=1e-9)


@pytest.fixture(scope="module")
def exact():
    return {case: exact_moments(*case) for case in CASES}


def gibbs(name, concentration, *, extra_shape=0.0, dropped=0):
    """Draw plausibilities, shape (chain, draw, candidate)."""
    block, place, reliability = layout(name)
    n = block.shape[1]
    if dropped:
        block, place = block[dropped:], place[dropped:]
    posterior = worth_posterior(
        distinct_annotations(block, place, reliability, n), shapes(n, concentration) + extra_shape
    )
    draws = np.empty((4, 4000, n))
    for chain in range(4):
        rng = stream(np.random.SeedSequence(seed_of(f"{name} {concentration} {chain}")))
        sample_item(rng, 0, posterior, Schedule(200, 2), draws[chain])
    draws = np.exp(draws - draws.max(axis=-1, keepdims=True))
    return draws / draws.sum(axis=-1, keepdims=True)


def race_sampler(name, concentration, full_race):
    """Another Gibbs sampler of untied rankings: many short chains in NumPy.

    The pair of wins and censored times is right; wins and the full race is the mix-up.
    """
    block, _, reliability = layout(name)
    n = block.shape[1]
    shape = shapes(n, concentration)
    rng = np.random.default_rng(seed_of(f"race {name} {concentration} {full_race}"))
    rows = np.repeat(block, reliability, axis=0)
    wins = (rows < rows.max(axis=1, keepdims=True)).sum(axis=0)
    worth = np.full((8000, n), 1.0)
    for _ in range(60):
        exposure = np.zeros_like(worth)
        for row in rows:
            order = np.argsort(row, kind="stable")
            elapsed = np.zeros(len(worth))
            for i in range((row < row.max()).sum()):
                racing = worth[:, order[i:]].sum(axis=1)
                elapsed = elapsed + rng.standard_exponential(len(worth)) / racing
                exposure[:, order[i]] += elapsed
            for k in np.flatnonzero(row == row.max()):
                later = rng.standard_exponential(len(worth)) / worth[:, k] if full_race else 0.0
                exposure[:, k] += elapsed + later
        worth = rng.standard_gamma(shape + wins, worth.shape) / (1 + exposure)
    return (worth / worth.sum(axis=1, keepdims=True)).reshape(4, -1, n)


def check_posteriors(draw, exact, cases):
    """Compare first and second moments of all cases at one false alarm."""
    z = []
    for case in cases:
        p = draw(*case)
        # Where a moment is within rounding of 0 or 1 it has no Monte-Carlo error to speak of.
        z.append(mc_z(np.concatenate([p, p**2], axis=-1), exact[case]))
    z = np.concatenate(z)
    assert np.abs(z).max() < bonferroni_threshold(z.size)


def test_gibbs_agrees_with_quadrature(exact):
    assert len(CASES) == 24
    check_posteriors(gibbs, exact, CASES)


def test_the_lead_move_takes_part():
    block, place, _ = layout("settled leader")
    assert distinct_annotations(block, place, 1, 3).settled.all()
    assert not distinct_annotations(*layout("conflict")[:2], 1, 3).settled.any()


@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_wrong_shape_is_rejected(exact, concentration):
    cases = [case for case in CASES if case[1] == concentration]
    check_posteriors(gibbs, exact, cases)
    assert_rejects_twin(check_posteriors, lambda *case: gibbs(*case, extra_shape=0.1), exact, cases)


def test_dropped_annotation_is_rejected(exact):
    cases = [case for case in CASES if len(RANKINGS[case[0]]) > 1]
    assert_rejects_twin(check_posteriors, lambda *case: gibbs(*case, dropped=1), exact, cases)


def test_wins_paired_with_the_full_race_are_rejected(exact):
    cases = [(name, 0.4) for name in ("one rater", "agreement", "two")]
    check_posteriors(lambda *case: race_sampler(*case, False), exact, cases)
    assert_rejects_twin(check_posteriors, lambda *case: race_sampler(*case, True), exact, cases)


def sampled_log_worths(name, block, shape, reliability, thin=1):
    block = np.atleast_2d(block)
    place = np.tile(np.arange(block.shape[1]), (len(block), 1))
    posterior = worth_posterior(
        distinct_annotations(block, place, reliability, block.shape[1]), shape
    )
    draws = np.empty((4, 2000, block.shape[1]))
    for chain in range(4):
        rng = stream(np.random.SeedSequence(seed_of(f"{name} {chain}")))
        sample_item(rng, 0, posterior, Schedule(500, thin), draws[chain])
    assert np.isfinite(draws).all()
    return draws


# n candidates in a row, all ranked, r times: the share of each in what is left by those before it
# is Beta(a + r, (n - 1 - j) a), independently. The tails shrink by about 1 / r at every step.
@pytest.mark.parametrize(
    "n, shape, reliability, decades",
    [(5, 1 / 419, 1, 100), (4, 0.5, 10_000, 12), (41, 0.5, 10**8, 300), (6, 2.0, 3, 0)],
)
def test_chains_of_rankings_over_hundreds_of_decades(n, shape, reliability, decades):
    draws = sampled_log_worths(f"chain {n}", np.arange(n), shape, reliability, thin=2)
    left = np.stack([logsumexp(draws[..., j:], axis=-1) for j in range(n)], axis=-1)
    log_tail = left[..., 1:] - left[..., :-1]  # log of one minus the share, for j = 0 ... n - 2
    others = (n - 1 - np.arange(n - 1)) * shape
    exact = digamma(others) - digamma(others + shape + reliability)

    def check(expected):
        z = mc_z(log_tail, expected)
        assert np.abs(z).max() < bonferroni_threshold(z.size)

    check(exact)
    assert_rejects_twin(
        check, digamma(1.2 * others) - digamma(1.2 * (others + shape) + reliability)
    )
    spread = (draws.max(axis=-1) - draws.min(axis=-1)).mean() / np.log(10)
    assert spread > decades


@pytest.mark.parametrize("concentration", [1 / 419, 1.0])
@pytest.mark.parametrize(
    "block",
    [
        np.array([0]),
        np.array([0, 0, 0]),
        np.array([0, 1]),
        np.array([[0] * 20 + [1] * 3]),
        np.array([[0, 1], [1, 0]]),
        np.array([[2] + [1] * 12 + [0]] * 2 + [[0] * 9 + [1] * 5]),
    ],
    ids=["one candidate", "uninformative", "one rater", "tie of 20", "split", "leader before 12"],
)
def test_legal_extremes_are_finite(block, concentration):
    for reliability in (1, 30):
        sampled_log_worths("extremes", block, concentration, reliability)


def test_uninformative_annotation_leaves_the_prior():
    draws = sampled_log_worths("prior", np.array([0, 0, 0]), np.array([0.5, 1 / 419, 3.0]), 7)
    z = mc_z(draws, digamma([0.5, 1 / 419, 3.0]))
    assert np.abs(z).max() < bonferroni_threshold(3)
