"""Exact draws from a log-concave density on the line, by rejection.

A log-concave function lies below each of its tangents. The envelope consists of the tangents at one point on
either side of the mode, cut off at a cap; the draw is exact whatever the points are.
"""

import math
from collections.abc import Callable

import numpy as np

from ...models.distributions.compiling import inner_njit
from .random_streams import standard_exponential, uniform

# Slope below which x is a mode, and longest first step from the mode: a log density may have a plateau
# without curvature, as wide as the range of the worths.
FLAT, WIDEST = 1e-9, 64.0


def log_concave_sampler(density: Callable) -> Callable:
    """Compile the sampler of a family of smooth log-concave densities.

    ``density(x, parameters) -> (value, slope, curvature)``, compiled, is the log density up to a constant.
    The result is ``draw(rng, parameters, start) -> float``, compiled, which searches the mode from `start`.
    """

    @inner_njit(error_model="numpy")
    def near_mode(parameters, x):
        """Return a point within a tenth of a standard deviation of the mode, and the density."""
        low, high, reach = -np.inf, np.inf, 2.0
        value, slope, curvature = density(x, parameters)
        while slope * slope > -0.01 * curvature and abs(slope) > FLAT:
            if slope > 0.0:
                low = x
            else:
                high = x
            # In the straight tails a Newton step is too long, and where the curvature underflows it
            # is undefined: steps are limited to a reach that doubles until the mode is bracketed.
            leap = -slope / curvature if curvature < 0.0 else math.copysign(reach, slope)
            x += min(max(leap, -reach), reach)
            reach *= 2.0
            if not low < x < high:
                x = 0.5 * (low + high)
            value, slope, curvature = density(x, parameters)
        return x, value, slope, curvature

    @inner_njit(error_model="numpy")
    def contact(parameters, x, distance, ceiling):
        """Return a point on one side of x where the density is below the ceiling, and the density there."""
        value, slope, _ = density(x + distance, parameters)
        while value > ceiling:
            distance *= 2.0
            value, slope, _ = density(x + distance, parameters)
        return x + distance, value, slope

    @inner_njit(error_model="numpy")
    def draw(rng, parameters, start):
        """Draw one variable."""
        x, value, slope, curvature = near_mode(parameters, start)
        step = min(1.2 / math.sqrt(abs(curvature)), WIDEST)
        left, left_value, left_slope = contact(parameters, x, -step, value - 0.5)
        right, right_value, right_slope = contact(parameters, x, step, value - 0.5)

        # By concavity nothing between the two points is above the cap.
        cap = value + abs(slope) * max(x - left, right - x)
        rise = left + (cap - left_value) / left_slope
        fall = right + (cap - right_value) / right_slope
        if rise > fall:
            rise = fall = 0.5 * (rise + fall)
        while True:
            y, depth = _propose(rng, rise, fall, 1.0 / left_slope, -1.0 / right_slope)
            below = standard_exponential(rng)  # -log of a uniform height under the envelope
            if cap - depth - below <= density(y, parameters)[0]:
                return y

    return draw


@inner_njit(error_model="numpy")
def _propose(rng, rise, fall, left_mass, right_mass):
    """Draw from the envelope; return the point and the depth of the envelope below its cap there."""
    u = uniform(rng) * (left_mass + (fall - rise) + right_mass)
    depth = 0.0
    if u < left_mass:
        depth = standard_exponential(rng)
        y = rise - depth * left_mass
    elif u < left_mass + (fall - rise):
        y = rise + (u - left_mass)
    else:
        depth = standard_exponential(rng)
        y = fall + depth * right_mass
    return y, depth
