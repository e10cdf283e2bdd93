"""Random streams for compiled code, which can be cached, copied and stored: xoshiro256++ and three draws.

A stream is its state, uint64 (4,), advanced in place by every draw. Compiled functions of a NumPy generator
hold addresses of the running process and cannot be cached, which costs every process ten seconds.

References
----------
Blackman and Vigna (2021), Scrambled linear pseudorandom number generators, ACM TOMS 47,
doi:10.1145/3460772. Leva (1992), A fast normal random number generator, ACM TOMS 18,
doi:10.1145/138351.138364.
"""

import math

import numba as nb
import numpy as np

__all__ = ["standard_exponential", "standard_normal", "stream", "uniform"]


def stream(seed: np.random.SeedSequence | np.random.Generator) -> np.ndarray:
    """Return the stream, uint64 (4,), of a seed sequence, or of the next four words of a generator."""
    if isinstance(seed, np.random.SeedSequence):
        return seed.generate_state(4, np.uint64)
    return seed.integers(0, 2**64, size=4, dtype=np.uint64)


@nb.njit(inline="always")
def _rotate(word, by):
    """Rotate the bits of a word to the left."""
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@nb.njit
def _next_word(state):
    """Advance the state and return a word (xoshiro256++)."""
    word = _rotate(state[0] + state[3], 23) + state[0]
    shifted = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = _rotate(state[3], 45)
    return word


@nb.njit
def uniform(rng: np.ndarray) -> float:
    """Draw from the odd multiples of 2**-54 in (0, 1): never 0, never 1."""
    return (np.float64(_next_word(rng) >> np.uint64(11)) + 0.5) * 2.0**-53


@nb.njit
def standard_exponential(rng: np.ndarray) -> float:
    """Draw an Exponential(1) variable; it is positive."""
    return -math.log(uniform(rng))


@nb.njit
def standard_normal(rng: np.ndarray) -> float:
    """Draw a Normal(0, 1) variable as a ratio of uniforms, between Leva's two quadratic bounds."""
    while True:
        u = uniform(rng)
        v = 1.7156 * (uniform(rng) - 0.5)  # 2 sqrt(2 / e) = 1.71553
        x = u - 0.449871
        y = abs(v) + 0.386595
        bound = x * x + y * (0.19600 * y - 0.25472 * x)
        if bound < 0.27597:  # inside the inner bound: accepted
            break
        # inside the outer bound: exact test
        if bound <= 0.27846 and v * v <= -4.0 * math.log(u) * u * u:
            break
    return v / u
