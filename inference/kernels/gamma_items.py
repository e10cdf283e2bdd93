"""Independent log Gamma variables of items, each item with its own stream."""

import numpy as np

from ...models.distributions.compiling import kept
from .gamma import log_standard_gamma

__all__ = ["draw_log_gammas"]


@kept(nogil=True, error_model="numpy")
def draw_log_gammas(
    streams: np.ndarray,
    start: np.ndarray,
    shape: np.ndarray,
    log_rate: np.ndarray,
    draws: np.ndarray,
) -> None:
    """Draw the logs of Gamma(shape, rate) variables.

    Shapes: streams uint64 (4, item), advanced in place; start (item + 1,), variables of each item, relative
    to start[0]; shape, log_rate (variable,); draws (draw, variable), overwritten.
    """
    rng = np.empty(4, np.uint64)
    for i in range(len(start) - 1):
        rng[:] = streams[:, i]
        for d in range(len(draws)):
            for k in range(start[i] - start[0], start[i + 1] - start[0]):
                draws[d, k] = log_standard_gamma(rng, shape[k]) - log_rate[k]
        streams[:, i] = rng
