"""The steps of QUITE, each against an exact oracle: averaged link, most probable factors, least squares."""

import numpy as np
import pytest
from raterzoo.inference.comparisons import pair_graph
from raterzoo.inference.comparisons import vote_modes as comparisons_vote_modes
from raterzoo.inference.comparisons.kernels import modes as kernels_modes
from raterzoo.inference.comparisons.quite import averaged_link
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_ndtr, ndtr

from tests.support.comparison_designs import simulated, table_of
from tests.support.comparison_samplers import pair_table
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold

LINKS = ("bradley_terry", "thurstone")
LOG_F = {"bradley_terry": log_expit, "thurstone": log_ndtr}
F = {"bradley_terry": expit, "thurstone": ndtr}


def sparse(table, link):
    votes = comparisons_vote_modes.by_pair(table)
    return comparisons_vote_modes.SparseVotes(
        link == "thurstone", votes, comparisons_vote_modes.by_rater(votes, table.n_raters)
    )


def counted(seed=3):
    """Counts, ties, pairs judged by some raters, pairs and raters of one vote."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(150):
        left, right = rng.choice(8, 2, replace=False).tolist()
        winner = ("left", "right", "tie")[
            rng.choice(3, p=[0.6, 0.3, 0.1] if left < right else [0.3, 0.6, 0.1])
        ]
        rows.append((int(rng.integers(6)), left, right, winner, int(rng.integers(1, 5))))
    return table_of(rows)


# G, its inverse, and the variance (27)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("interval", [(1, 20), (0.2, 3), (1, 200)])
def test_averaged_link_is_the_mean_over_raters(link, interval):
    averaged, (low, high) = averaged_link(link, interval, 1.0), interval
    distances = np.array([-1.0, -0.3, -1e-3, 0.0, 0.07, 0.5, 1.0])
    exact = [
        quad(lambda r, d=d: F[link](r * d) / (high - low), low, high, epsabs=1e-13, limit=500)[0]
        for d in distances
    ]
    np.testing.assert_allclose(averaged.probability(distances), exact, atol=1e-12)
    h = 1e-5
    slope = (averaged.probability(distances + h) - averaged.probability(distances - h)) / (2 * h)
    np.testing.assert_allclose(averaged.slope(distances), slope, rtol=1e-5)
    np.testing.assert_allclose(averaged.inverse(averaged.probability(distances)), distances, atol=1e-9)
    assert averaged.inverse(np.array([1e-9, 1 - 1e-9])).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("link", LINKS)
def test_variance_27_is_that_of_simulated_shares(link):
    """Shares of many votes, through G^-1; the twin forgets the slope of G."""
    averaged, rng, votes, n = (averaged_link(link, (1, 20), 1.0), np.random.default_rng(5), 4000, 20_000)
    share = averaged.probability(np.array([0.08]))
    drawn = averaged.inverse(rng.binomial(votes, share, n) / votes)
    _, precision = averaged.from_shares(share, np.array([votes]))

    def check(variance):
        z = (drawn.var() / variance - 1) / np.sqrt(2 / n)
        assert abs(z) < 5

    check(1 / precision[0])
    assert_rejects_twin(check, float((share * (1 - share) / votes)[0]))


# Most probable distances and reliabilities


def brute_force(link, z, a, b, gaussian, interval):
    mean, precision = gaussian
    found = minimize_scalar(
        lambda y: 0.5 * precision * (y - mean) ** 2 - a @ LOG_F[link](z * y) - b @ LOG_F[link](-z * y),
        bounds=interval, method="bounded", options={"xatol": 1e-11},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize("link", LINKS)
def test_modes_are_those_of_a_bounded_search(link):
    table = pair_table(counted())
    modes, rng = comparisons_vote_modes.vote_modes(table, link), np.random.default_rng(1)
    rho, n = rng.uniform(1, 20, table.n_raters), len(table.first)
    prior = kernels_modes.Prior(
        rng.uniform(-1, 1, n), np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0, 900, n))
    )
    found = modes.distances(rho, prior, np.zeros(n), 1.0)
    a, b = table.wins + table.ties / 2, table.losses + table.ties / 2
    for e in range(n):
        own = slice(table.start[e], table.start[e + 1])
        gaussian = prior.mean[e], prior.precision[e]
        exact = brute_force(link, rho[table.rater[own]], a[own], b[own], gaussian, (-1, 1))
        assert found.value[e] == pytest.approx(exact, abs=2e-7)
    pair = np.repeat(np.arange(n), np.diff(table.start))
    rated = modes.reliabilities(found.value, np.full(table.n_raters, 10.5), (1.0, 20.0))
    for k in range(table.n_raters):
        own = table.rater == k
        exact = brute_force(link, found.value[pair[own]], a[own], b[own], (0, 0), (1, 20))
        assert rated.value[k] == pytest.approx(exact, abs=5e-6)
    assert (found.value == 1).any() or (found.value == -1).any()  # some pairs are unanimous


@pytest.mark.parametrize("start", [-1.0, -0.5, 0.0, 0.9])
@pytest.mark.parametrize("link", LINKS)
def test_newton_is_bracketed(link, start):
    """From far away a free step would leap to the other end: the answers are nearly certain there."""
    table = pair_table(table_of([(0, "a", "b", "left", 30), (0, "a", "b", "right", 20)]))
    flat = kernels_modes.Prior(np.zeros(1), np.zeros(1))
    found = sparse(table, link).distances(np.array([20.0]), flat, np.array([start]), 1.0)
    exact = {"bradley_terry": np.log(1.5), "thurstone": 0.2533471031357997}[link] / 20
    assert found.value[0] == pytest.approx(exact, abs=1e-12)
    x = 20 * exact
    bell = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    slope = 0.24 if link == "bradley_terry" else bell
    assert found.expected[0] == pytest.approx(50 * 400 * slope**2 / 0.24, rel=1e-6)


@pytest.mark.parametrize("ties", [None, 0.7])
def test_sufficient_statistic_finds_the_same(ties):
    table = pair_table(simulated(items=24, alpha=1.0, degree=6, tie=ties).data)
    short, long = comparisons_vote_modes.vote_modes(table, "bradley_terry"), sparse(table, "bradley_terry")
    assert not isinstance(short, comparisons_vote_modes.SparseVotes)
    rng, n = np.random.default_rng(2), len(table.first)
    rho, d = rng.uniform(1, 20, table.n_raters), rng.uniform(-1, 1, n)
    prior = kernels_modes.Prior(rng.uniform(-1, 1, n), rng.uniform(0, 500, n))
    for one, other in (
        (short.distances(rho, prior, d, 1.0), long.distances(rho, prior, d, 1.0)),
        (short.reliabilities(d, rho, (1.0, 20.0)), long.reliabilities(d, rho, (1.0, 20.0))),
    ):
        np.testing.assert_allclose(one.value, other.value, atol=2e-9)
        np.testing.assert_allclose(one.observed, other.observed, rtol=1e-6)
    assert isinstance(
        comparisons_vote_modes.vote_modes(table, "thurstone"), comparisons_vote_modes.SparseVotes
    )
    incomplete = pair_table(simulated(items=24, alpha=0.5, degree=6).data)
    assert isinstance(
        comparisons_vote_modes.vote_modes(incomplete, "bradley_terry"), comparisons_vote_modes.SparseVotes
    )


@pytest.mark.parametrize("reach", [0.3, 1.0, 12.0])
def test_series_are_the_sums(reach):
    z = np.random.default_rng(4).uniform(-20, 20, 300)
    shared, y = kernels_modes.shared_cosh(z, reach), np.linspace(-reach, reach, 101)
    t = 2 * (y / reach) ** 2 - 1
    slope = 0.5 * np.tanh(0.5 * np.multiply.outer(y, z)) @ z
    curvature = 0.25 * (1 - np.tanh(0.5 * np.multiply.outer(y, z)) ** 2) @ z**2
    values = np.polynomial.chebyshev.chebval
    np.testing.assert_allclose(y * values(t, shared.slope), slope, atol=1e-11 * np.abs(slope).max())
    np.testing.assert_allclose(values(t, shared.curvature), curvature, atol=1e-11 * curvature.max())


# Least squares on the graph


@pytest.mark.parametrize("dense", [True, False])
def test_least_squares_are_the_normal_equations(dense, monkeypatch):
    if not dense:
        monkeypatch.setattr("raterzoo.inference.comparisons.pair_graph.DENSE", 0)
    rng, n = np.random.default_rng(6), 30
    first = np.r_[np.arange(n - 1), rng.integers(0, 10, 40)]
    second = np.r_[np.arange(1, n), rng.integers(10, n, 40)]
    w, d = rng.uniform(0.1, 50, len(first)), rng.normal(size=len(first))
    b = np.zeros((n, len(first)))
    b[first, np.arange(len(first))], b[second, np.arange(len(first))] = 1, -1
    inverse = np.linalg.pinv(b * w @ b.T, rtol=1e-10)
    graph = pair_graph.PairGraph(first, second, n)
    np.testing.assert_allclose(graph.fit(d, w), inverse @ (b @ (w * d)), atol=1e-9)
    np.testing.assert_allclose(graph.laplacian(w).toarray(), b * w @ b.T, atol=1e-12)
    np.testing.assert_allclose(graph.variances(w, rng), np.diag(inverse), rtol=1e-9)


def test_a_long_chain_is_solved():
    """Conjugate gradients would take as many steps as there are items."""
    n = 5_000
    graph = pair_graph.PairGraph(np.arange(n - 1), np.arange(1, n), n)
    quality = np.cumsum(np.random.default_rng(7).normal(size=n))
    quality -= quality.mean()
    found = graph.fit(graph.differences(quality), np.ones(n - 1))
    np.testing.assert_allclose(found, quality, atol=1e-6)


def test_probes_estimate_the_variances(monkeypatch):
    """Signs v have Var(v_i (M v)_i) = sum of M_ij^2 over j != i; the twin leaves the known part of M out."""
    rng, n = np.random.default_rng(8), 300
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < 0.1
    graph, w = pair_graph.PairGraph(i[kept], j[kept], n), rng.uniform(1, 3, kept.sum())
    exact = graph.variances(w, rng)
    laplacian = graph.laplacian(w).toarray()
    degree = np.diag(laplacian)
    unexplained = np.linalg.pinv(laplacian, rtol=1e-10) - (np.diag(2 * degree) - laplacian) / np.outer(
        degree, degree
    )
    np.fill_diagonal(unexplained, 0)
    deviation = np.sqrt((unexplained**2).sum(axis=1) / pair_graph.PROBES)
    monkeypatch.setattr("raterzoo.inference.comparisons.pair_graph.EXACT", 0)
    found = graph.variances(w, rng)

    def check(variance):
        assert np.abs((variance - exact) / deviation).max() < bonferroni_threshold(n)

    check(found)
    assert_rejects_twin(check, found - 1 / degree)
    assert deviation.max() < 0.03 * exact.max()
