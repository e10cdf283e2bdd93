"""The kernel against exact posteriors down to a default concentration of 1/419."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from raterzoo.inference.rankings.kernels import gibbs as kernels_gibbs
from scipy.special import digamma, logsumexp

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, check_means, mc_z, seed_of
from tests.support.random_streams import stream
from tests.support.ranking_samplers import distinct_annotations, worth_posterior

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
# a wrong law is rejected at any of them
ONE_FAST = [a if a == 0.4 else pytest.param(a, marks=pytest.mark.slow) for a in CONCENTRATIONS]
RELIABILITY = {"complete": 2, "agreement": 3}


def posterior_of(block, shape, reliability):
    block = np.atleast_2d(block)
    n = block.shape[1]
    place = np.tile(np.arange(n), (len(block), 1))
    return worth_posterior(distinct_annotations(block, place, reliability, n), shape)


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


def statistics(log_p, concentration):
    """Where the log plausibilities lie, on their scale of 1 / concentration.

    The plausibilities themselves would be of no use: at 1/419 they are 0 or 1 but for rare draws.
    """
    centred = concentration * (log_p - log_p.mean(axis=-1, keepdims=True))
    return np.concatenate([centred, np.tanh(centred)], axis=-1)


def exact_statistics(name, concentration):
    """Return the expected statistics by quadrature in each order of the worths."""
    block = np.array(RANKINGS[name])
    n = block.shape[1]
    shape = shapes(n, concentration)
    nodes, weights = gap_nodes(shape.min())
    gaps = np.stack(np.meshgrid(*[nodes] * (n - 1), indexing="ij")).reshape(n - 1, -1)
    log_weight = sum(np.meshgrid(*[np.log(weights)] * (n - 1), indexing="ij")).ravel()
    falling = -np.concatenate([np.zeros((1, gaps.shape[1])), gaps.cumsum(axis=0)])
    log_mass, log_p = [], []
    for order in permutations(range(n)):
        one = np.empty_like(falling)
        one[list(order)] = falling
        one -= logsumexp(one, axis=0)
        likelihood = sum(log_likelihood(one, row) for row in block)
        log_mass.append(log_weight + shape @ one + RELIABILITY.get(name, 1) * likelihood)
        log_p.append(one)
    log_mass = np.concatenate(log_mass)
    mass = np.exp(log_mass - logsumexp(log_mass))
    return mass @ statistics(np.concatenate(log_p, axis=1).T, concentration)


@pytest.mark.parametrize("a", CONCENTRATIONS)
def test_quadrature_is_a_beta_integral(a):
    """Two candidates and no ties: plausibility ~ Beta(a + 2, 3 a + 1)."""
    expected = a * (digamma(a + 2) - digamma(3 * a + 1)) / 2
    exact = exact_statistics("two", a)
    np.testing.assert_allclose(exact[:2], [expected, -expected], rtol=1e-9)


@pytest.fixture(scope="module")
def exact():
    return {case: exact_statistics(*case) for case in CASES}


def sample_item(rng, item, posterior, schedule, draws):
    """Run one chain of one item from a draw of its prior."""
    log_worth = np.empty(draws.shape[1])
    kernels_gibbs.continue_item(rng, item, posterior, schedule._replace(fresh=True), (log_worth, draws))


def log_plausibilities(name, posterior, schedule, n_draws):
    """Draw four chains, shape (chain, draw, candidate)."""
    draws = np.empty((4, n_draws, len(posterior.shape)))
    for chain in range(4):
        rng = stream(np.random.SeedSequence(seed_of(f"{name} {chain}")))
        sample_item(rng, 0, posterior, schedule, draws[chain])
    assert np.isfinite(draws).all()
    return draws - logsumexp(draws, axis=-1, keepdims=True)


def gibbs(name, concentration, *, extra_shape=0.0, dropped=0):
    block = np.array(RANKINGS[name])[dropped:]
    posterior = posterior_of(
        block, shapes(block.shape[1], concentration) + extra_shape, RELIABILITY.get(name, 1)
    )
    return log_plausibilities(f"{name} {concentration}", posterior, kernels_gibbs.Schedule(5000, 50), 4000)


def race_sampler(name, concentration, full_race):
    """Another Gibbs sampler of untied rankings: many short chains in NumPy.

    The pair of wins and censored times is right; wins and the full race is the mix-up.
    """
    block = np.array(RANKINGS[name])
    n = block.shape[1]
    shape = shapes(n, concentration)
    rng = np.random.default_rng(seed_of(f"race {name} {concentration} {full_race}"))
    rows = np.repeat(block, RELIABILITY.get(name, 1), axis=0)
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
    return np.log(worth).reshape(4, -1, n)


def check_posteriors(draw, exact, cases):
    """Compare the statistics of all cases at one false alarm."""
    check_means(
        {case: statistics(draw(*case), case[1]) for case in cases}, {case: exact[case] for case in cases}
    )


@pytest.mark.slow
def test_gibbs_agrees_with_quadrature(exact):
    assert len(CASES) == 24
    check_posteriors(gibbs, exact, CASES)


def test_the_lead_move_takes_part():
    assert posterior_of(RANKINGS["settled leader"], 1.0, 1).settled.all()
    assert not posterior_of(RANKINGS["conflict"], 1.0, 1).settled.any()


@pytest.mark.slow
@pytest.mark.parametrize("concentration", ONE_FAST)
def test_wrong_shape_is_rejected(exact, concentration):
    cases = [case for case in CASES if case[1] == concentration]
    assert_rejects_twin(check_posteriors, lambda *case: gibbs(*case, extra_shape=0.1), exact, cases)


@pytest.mark.slow
@pytest.mark.parametrize("concentration", ONE_FAST)
def test_dropped_annotation_is_rejected(exact, concentration):
    cases = [(name, concentration) for name in RANKINGS if len(RANKINGS[name]) > 1]
    assert_rejects_twin(check_posteriors, lambda *case: gibbs(*case, dropped=1), exact, cases)


def test_wins_paired_with_the_full_race_are_rejected(exact):
    cases = [(name, 0.4) for name in ("one rater", "agreement", "two")]
    check_posteriors(lambda *case: race_sampler(*case, False), exact, cases)
    assert_rejects_twin(check_posteriors, lambda *case: race_sampler(*case, True), exact, cases)


# n candidates in a row, all ranked, r times: the share of each in what is left by those before it
# is Beta(a + r, (n - 1 - j) a), independently. The tails shrink by about 1 / r at every step.
@pytest.mark.slow
@pytest.mark.parametrize(
    "n, shape, reliability, decades",
    [
        (5, 1 / 419, 1, 100),
        pytest.param(4, 0.5, 10_000, 12, marks=pytest.mark.slow),
        pytest.param(6, 2.0, 3, 0, marks=pytest.mark.slow),
    ],
)
def test_chains_of_rankings_over_hundreds_of_decades(n, shape, reliability, decades):
    posterior = posterior_of(np.arange(n), shape, reliability)
    log_p = log_plausibilities(f"chain {n}", posterior, kernels_gibbs.Schedule(10_000, 500), 2000)
    left = np.stack([logsumexp(log_p[..., j:], axis=-1) for j in range(n)], axis=-1)
    log_tail = left[..., 1:] - left[..., :-1]  # log of one minus the share, for j = 0 ... n - 2
    others = (n - 1 - np.arange(n - 1)) * shape

    def check(others):
        check_means(log_tail, digamma(others) - digamma(others + shape + reliability))

    check(others)
    assert_rejects_twin(check, 1.2 * others)
    spread = (log_p.max(axis=-1) - log_p.min(axis=-1)).mean() / np.log(10)
    assert spread > decades


def test_uninformative_annotation_leaves_the_prior():
    shape = np.array([0.5, 1 / 419, 3.0])
    posterior = posterior_of([0, 0, 0], shape, 7)
    draws = np.empty((1, 20_000, 3))
    sample_item(stream(np.random.SeedSequence(7)), 0, posterior, kernels_gibbs.Schedule(10, 1), draws[0])
    z = mc_z(draws, digamma(shape))
    assert np.abs(z).max() < bonferroni_threshold(3)


@pytest.mark.parametrize("concentration", [1 / 419, 1.0])
@pytest.mark.parametrize("reliability", [1, 30])
@pytest.mark.parametrize(
    "block",
    [[0], [0, 1], [0] * 20 + [1] * 3, [[0, 1], [1, 0]], [[2] + [1] * 12 + [0]] * 2 + [[0] * 9 + [1] * 5]],
    ids=["one candidate", "one rater", "tie of 20", "split", "leader before 12"],
)
def test_legal_extremes_are_finite(block, concentration, reliability):
    posterior = posterior_of(block, concentration, reliability)
    log_plausibilities("extremes", posterior, kernels_gibbs.Schedule(500, 1), 500)
