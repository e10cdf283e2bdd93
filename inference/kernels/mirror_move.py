"""Metropolis move to the mirror image: qualities and rater coordinates are reflected about their means.

    q - mean q -> -(q - mean q),     r - mean r -> -(r - mean r)

leaves every prior unchanged and is its own inverse, so that the acceptance ratio is the likelihood ratio.
Raters who contradict each other give two modes, according to who is taken to err; small steps do not lead
from one to the other.
"""

import math

import numba as nb

from ...models.distributions.compiling import kept
from ...models.distributions.vector_math import FAST
from .anchored_posterior import anchored_log_p
from .random_stream import uniform

__all__ = ["draw_mirrored", "mirror"]


@kept(**FAST)
def mirror(prior, theta, image):
    """Write the mirror image of the coordinates `theta` into `image`, both (coordinate,)."""
    image[:] = theta
    for low, n in ((0, prior.n_items), (prior.n_items, prior.n_raters)):
        mean = theta[low : low + n].mean()
        for i in range(low, low + n):
            image[i] = 2.0 * mean - theta[i]


@nb.njit(**FAST)
def draw_mirrored(rng, cells, prior, theta, log_p, work):
    """Propose the mirror image in place; return whether it was accepted, and log p.

    Shapes: theta (coordinate,), work: two arrays (coordinate,), overwritten. `log_p` is that of theta; the
    prior is LOG or SIGNED.
    """
    image, gradient = work
    mirror(prior, theta, image)
    tried = anchored_log_p(image, cells, prior, gradient)
    if tried > -1e300 and math.log(uniform(rng)) < tried - log_p:  # a NaN is rejected, too
        theta[:] = image
        return True, tried
    return False, log_p
