"""Many Gamma variables at once are those of the stream one by one, to the last bit, and leave the stream where they do."""

import numba as nb
import numpy as np
import pytest
from raterzoo.inference.kernels import gamma_variables

from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.random_streams import standard_exponential, standard_gamma, stream

ROUNDS = 2000


@nb.njit(error_model="numpy")
def at_once(rng, shape, rounds):
    gamma, log_boost = np.empty((rounds, len(shape))), np.empty((rounds, len(shape)))
    ahead = gamma_variables.words_ahead(len(shape))
    for i in range(rounds):
        gamma_variables.draw_gammas(rng, shape, gamma[i], log_boost[i], ahead)
    return gamma, log_boost


@nb.njit(error_model="numpy")
def one_by_one(rng, shape, rounds, boost_first):
    gamma, log_boost = np.empty((rounds, len(shape))), np.zeros((rounds, len(shape)))
    for i in range(rounds):
        for k in range(len(shape)):
            small = not shape[k] > 1.0
            if small and boost_first:
                log_boost[i, k] = standard_exponential(rng) / shape[k]
            gamma[i, k] = standard_gamma(rng, shape[k] + 1.0 if small else shape[k])
            if small and not boost_first:
                log_boost[i, k] = standard_exponential(rng) / shape[k]
    return gamma, log_boost


SHAPES = {
    "one": np.array([0.5]),
    "few": np.full(gamma_variables.FEW - 1, 1.002),
    "no longer few": np.full(gamma_variables.FEW, 2.0),
    "candidates of an item": np.concatenate([np.full(24, 1.002), [0.3]]),
    "never ranked": np.full(40, 1 / 419),
    "many": np.linspace(0.01, 50, 419),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_many_at_once_are_those_one_by_one(kind):
    shape, name = SHAPES[kind], seed_of(f"gamma variables, {kind}")
    ours, theirs = (stream(np.random.SeedSequence(name)) for _ in range(2))
    expected = one_by_one(theirs, shape, ROUNDS, False)
    for found, own in zip(at_once(ours, shape, ROUNDS), expected, strict=True):
        np.testing.assert_array_equal(found, own)
    np.testing.assert_array_equal(ours, theirs)


def test_another_order_of_the_words_is_told_apart():
    shape = SHAPES["candidates of an item"]
    ours, theirs = (stream(np.random.SeedSequence(seed_of("order of words"))) for _ in range(2))
    found = at_once(ours, shape, 1)[0]

    def equals(gamma):
        np.testing.assert_array_equal(found, gamma)

    assert_rejects_twin(equals, one_by_one(theirs, shape, 1, True)[0])
