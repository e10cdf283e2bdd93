"""Gibbs draw of the common scale and shift of qualities and reliabilities under a box prior.

With g the geometric mean of the reliabilities, x = g q and eta = rho / g, the answers depend on differences
of x and on eta only. Given these, under q ~ U(0, 1) and rho ~ U(low, high),

    p(g) ~ g^(K - N) (1 - range(x) / g)     from max(range x, low / min eta) to high / max eta,
    shift ~ U(0, 1 - range(x) / g).
"""

import math

import numba as nb
import numpy as np

from ...models.distributions.vector_math import FAST
from .random_stream import uniform

__all__ = ["draw_units"]

BISECTIONS = 60
ROOM = 1e-12  # margin, as a share of the box: closer to the walls coordinates lose digits; no move


@nb.njit(**FAST)
def _mass(g, reach, power, unit):
    """Return the antiderivative of g^power (1 - reach / g), over unit^power."""
    ratio = math.log(g / unit)
    if power == 0:
        return g - reach * ratio
    if power == -1:
        return unit * ratio + unit * reach / g
    return g * math.exp(power * ratio) / (power + 1) - reach * math.exp(power * ratio) / power


@nb.njit(**FAST)
def draw_scale(rng, reach, span, power):
    """Draw g from the density g^power (1 - reach / g) on `span`, by bisection of its distribution function."""
    low, high = span
    unit = high if power > 0 else low
    least = _mass(low, reach, power, unit)
    target = least + uniform(rng) * (_mass(high, reach, power, unit) - least)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if _mass(middle, reach, power, unit) < target:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@nb.njit(**FAST)
def draw_units(rng, prior, theta):
    """Redraw scale and shift under a BOX prior, in place; return whether the coordinates have changed.

    Shapes: theta (coordinate,).
    """
    n, k = prior.n_items, prior.n_raters
    width = prior.high - prior.low
    quality = 1.0 / (1.0 + np.exp(-theta[:n]))
    rho = prior.low + width / (1.0 + np.exp(-theta[n : n + k]))
    unit = math.exp(np.log(rho).mean())  # g before the move
    x, eta = quality * unit, rho / unit
    reach = x.max() - x.min()
    # support of p(g)
    low, high = max(reach, prior.low / eta.min()), prior.high / eta.max()
    if not low < high:
        return False
    g = draw_scale(rng, reach, (low, high), k - n)  # p(g) ~ g^(K - N) (1 - range(x) / g)
    # shift ~ U(0, 1 - range(x) / g)
    quality = (x - x.min()) / g + uniform(rng) * (1.0 - reach / g)
    share = (eta * g - prior.low) / width
    least, most = min(quality.min(), share.min()), max(quality.max(), share.max())
    if least < ROOM or most > 1.0 - ROOM:
        return False
    theta[:n] = np.log(quality / (1.0 - quality))
    theta[n : n + k] = np.log(share / (1.0 - share))
    return True
