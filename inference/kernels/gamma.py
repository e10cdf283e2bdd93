"""Gamma draws, their logs, and sums of exponentials, without underflow."""

import math

import numba as nb
import numpy as np

from .random_stream import standard_exponential, standard_normal, uniform

__all__ = ["log_add", "log_standard_gamma", "standard_gamma"]


@nb.njit(error_model="numpy", inline="always")
def standard_gamma(rng: np.ndarray, shape: float) -> float:
    """Draw a Gamma(shape, 1) variable, shape >= 1 (Marsaglia and Tsang 2000, doi:10.1145/358407.358414)."""
    if shape == 1.0:
        return standard_exponential(rng)
    centre = shape - 1.0 / 3.0
    spread = 1.0 / math.sqrt(9.0 * centre)
    while True:
        x = standard_normal(rng)
        root = 1.0 + spread * x
        if root > 0.0:
            ratio = root * root * root
            u = uniform(rng)
            x *= x
            if u < 1.0 - 0.0331 * x * x:  # squeeze
                break
            # full acceptance test
            if math.log(u) < 0.5 * x + centre * (1.0 - ratio + math.log(ratio)):
                break
    return centre * ratio


@nb.njit(error_model="numpy", inline="always")
def log_standard_gamma(rng: np.ndarray, shape: float) -> float:
    """Draw the log of a Gamma(shape, 1) variable, for any positive shape.

    Up to shape one the draw is log Gamma(shape + 1) + log(U) / shape: at shape 1/419 every sixth
    Gamma variable is smaller than any positive double, while its log is finite.
    """
    if shape > 1.0:
        log_draw = math.log(standard_gamma(rng, shape))
    else:
        log_boosted = math.log(standard_gamma(rng, shape + 1.0))
        log_draw = log_boosted - standard_exponential(rng) / shape
    return log_draw


@nb.njit(error_model="numpy", inline="always")
def log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b)); either may be -inf."""
    high, low = max(a, b), min(a, b)
    if low > -np.inf:
        high += math.log1p(math.exp(low - high))
    return high
