"""The law inside PyTensor: three backends, one gradient, replicates."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from raterzoo.models.distributions import PartialRanking, partial_ranking_logp
from raterzoo.models.distributions.partial_ranking import RankedCandidates

from tests.support.monte_carlo import bonferroni_threshold, rejects, seed_of
from tests.support.partial_rankings import all_partial_rankings, random_block

PLACES = 7
SPREADS = (0.3, 1.0, 3.0, 9.0)
"""Of the log worths; the last spans twelve orders of magnitude."""


def random_rankings(rng, n):
    """Block numbers, padded, of rankings of two to seven candidates."""
    block = np.full((n, PLACES), -1, np.int8)
    for row in block:
        size = rng.integers(2, PLACES + 1)
        row[:size] = random_block(rng, size)
    return block


def compiled(block, mode):
    """Compile log p and the gradient of its sum."""
    log_worth = pt.matrix("log_worth", shape=block.shape)
    log_p = partial_ranking_logp(log_worth, pt.constant(block))
    return pytensor.function(
        [log_worth], [log_p, pt.grad(log_p.sum(), log_worth)], mode=mode, on_unused_input="ignore"
    )


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(seed_of("backends"))
    block = random_rankings(rng, 1000)
    spread = np.resize(SPREADS, len(block))[:, None]
    return block, rng.normal(0, spread, block.shape)


@pytest.fixture(scope="module")
def reference(problem):
    block, log_worth = problem
    return compiled(block, "NUMBA")(log_worth)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "JAX"])
def test_backends_agree(problem, reference, mode):
    block, log_worth = problem
    log_p, gradient = compiled(block, mode)(log_worth)
    np.testing.assert_allclose(log_p, reference[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, reference[1], rtol=0, atol=1e-11)


def log_p_of_complex_worths(log_worth, block):
    """The subset recursion in complex numbers, one ranking."""
    worth = np.exp(log_worth)
    rest, total = worth[block == block.max()].sum(), 0.0
    for b in range(block.max() - 1, -1, -1):
        members = worth[block == b]
        p = [1.0 + 0j]
        for subset in range(1, 2 ** len(members)):
            inside = [j for j in range(len(members)) if subset >> j & 1]
            mass = rest + members[inside].sum()
            p.append(sum(members[j] * p[subset ^ 1 << j] for j in inside) / mass)
        total += np.log(p[-1])
        rest += members.sum()
    return total


def test_gradient_equals_complex_steps_at_a_thousand_points(problem, reference):
    step = 1e-30
    for row, (block, log_worth) in enumerate(zip(*problem, strict=True)):
        n = (block >= 0).sum()
        for k in range(n):
            shifted = log_worth[:n].astype(complex)
            shifted[k] += 1j * step
            slope = log_p_of_complex_worths(shifted, block[:n]).imag / step
            assert reference[1][row, k] == pytest.approx(slope, rel=1e-8, abs=1e-14)
        np.testing.assert_array_equal(reference[1][row, n:], 0)


@pytest.mark.slow
def test_cotangents_are_those_of_each_row(problem, reference):
    block, log_worth = problem
    x, weight = pt.matrix("x"), np.linspace(-2, 2, len(block))
    gradient = pt.grad((partial_ranking_logp(x, pt.constant(block)) * weight).sum(), x)
    np.testing.assert_allclose(gradient.eval({x: log_worth}), weight[:, None] * reference[1], atol=1e-12)


@pytest.mark.parametrize("law", [PartialRanking, RankedCandidates])
def test_logp_is_the_law_to_the_power_of_the_reliability(law):
    rng = np.random.default_rng(seed_of("power"))
    block = random_rankings(rng, 12).reshape(3, 4, PLACES)
    log_worth, power = rng.normal(size=block.shape), rng.gamma(2.0, size=(3, 4))
    sizes = np.stack([(block == b).sum(axis=-1) for b in range(PLACES)], axis=-1)
    log_p = pm.logp(law.dist(log_worth, sizes, power), block).eval()
    once = partial_ranking_logp(pt.constant(log_worth), pt.constant(block)).eval()
    assert log_p.shape == (3, 4)
    np.testing.assert_allclose(log_p, power * once, rtol=1e-12)


def test_block_numbers_have_to_be_integers(golden):
    with golden.raises(TypeError):
        partial_ranking_logp(pt.zeros((2, 3)), pt.zeros((2, 3)))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_replicates_follow_the_law_in_a_graph(mode):
    log_worth, sizes, n = np.array([0.0, 1.0, -1.0, 0.5]), np.array([2, 1, 1]), 20_000
    rng = pt.random.shared_rng(np.random.default_rng(seed_of(f"replicates {mode}")))
    rankings = PartialRanking.dist(log_worth, sizes, 5.0, size=n, rng=rng)  # at power one
    draws = pytensor.function([], rankings, mode=mode)()
    outcomes = [b for b in all_partial_rankings(4) if tuple(np.bincount(b)) == tuple(sizes)]
    found = np.array([(draws == b).all(axis=1).sum() for b in outcomes])
    assert found.sum() == n

    def check(log_worth):
        log_p = partial_ranking_logp(np.tile(log_worth, (len(outcomes), 1)), np.array(outcomes))
        p = np.exp(log_p.eval())
        z = (found - n * p) / np.sqrt(n * p * (1 - p))
        assert np.abs(z).max() < bonferroni_threshold(len(outcomes))

    check(log_worth)
    assert rejects(check, 5 * log_worth) and rejects(check, 0.9 * log_worth)


def test_ranked_candidates_refuse_replicates():
    with pytest.raises(ValueError, match="candidates='all'"):
        pm.draw(RankedCandidates.dist(np.zeros(3), [1, 2]))
