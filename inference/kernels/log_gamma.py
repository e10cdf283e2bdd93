"""Log Gamma draws of any shape, and sums of exponentials: arithmetic that cannot underflow."""

import math

import numba as nb
import numpy as np

__all__ = ["log_add", "log_standard_gamma"]


@nb.njit(cache=True)
def log_standard_gamma(rng: np.random.Generator, shape: float) -> float:
    """Draw the log of a Gamma(shape, 1) variable.

    Below shape one the draw is log Gamma(shape + 1) + log(U) / shape: at shape 1/419 every sixth
    Gamma variable is smaller than any positive double, its log never.
    """
    if shape > 1.0:
        return math.log(rng.standard_gamma(shape))
    return math.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential() / shape


@nb.njit(cache=True)
def log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b)); either may be -inf."""
    high, low = (a, b) if a > b else (b, a)
    if low == -np.inf:
        return high
    return high + math.log1p(math.exp(low - high))
