"""Exact transitions of any density on the line: slice sampling with stepping out and shrinkage.

References
----------
Neal (2003), Slice sampling, Annals of Statistics 31(3), 705-767, doi:10.1214/aos/1056562461, figures 3 and 5.
"""

from collections.abc import Callable

from ...models.distributions.compiling import inner_njit
from .random_streams import standard_exponential, uniform

MOST_STEPS = 16  # out of the first interval, to both sides together
PER_MOVE, FORGET = 2.5, 0.9  # width per distance moved, and share of the last width that is kept


def slice_sampler(density: Callable) -> Callable:
    """Compile the transition of a family of densities.

    ``density(x, parameters) -> float``, compiled, is the log density up to a constant. The result is
    ``move(rng, parameters, x, width) -> float``, compiled: the next point of a chain that leaves the density invariant,
    whatever the width. The width may depend on anything but x; two to three standard deviations cost least.
    """

    @inner_njit(error_model="numpy")
    def move(rng, parameters, x, width):
        """Return the next point."""
        level = density(x, parameters) - standard_exponential(rng)
        left = x - width * uniform(rng)
        right = left + width
        steps = int(MOST_STEPS * uniform(rng))
        for _ in range(steps):
            if not density(left, parameters) > level:
                break
            left -= width
        for _ in range(MOST_STEPS - 1 - steps):
            if not density(right, parameters) > level:
                break
            right += width
        while right - left > 1e-12 * (1.0 + abs(x)):  # else only x itself is left, up to rounding
            y = left + (right - left) * uniform(rng)
            if density(y, parameters) >= level:
                return y
            if y < x:
                left = y
            else:
                right = y
        return x

    return move


@inner_njit(error_model="numpy")
def adapted_width(width, moved, narrowest, widest):
    """Return the width of a slice after a move in the warm-up, within bounds: it follows the distances moved."""
    width = FORGET * width + (1.0 - FORGET) * PER_MOVE * abs(moved)
    return min(max(width, narrowest), widest)
