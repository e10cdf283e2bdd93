"""The move to the mirror image: what is best becomes worst, and who is reliable becomes unreliable.

    q - mean q -> -(q - mean q),     r - mean r -> -(r - mean r)

leaves every prior as it is, and is its own inverse: it is accepted by the likelihood alone. Raters who contradict each other can
be read either way, as one who errs and one who does not; no small step leads from one reading to the other.
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
    """Write the mirror image of coordinates into `image`."""
    image[:] = theta
    for low, n in ((0, prior.n_items), (prior.n_items, prior.n_raters)):
        mean = theta[low : low + n].mean()
        for i in range(low, low + n):
            image[i] = 2.0 * mean - theta[i]


@nb.njit(**FAST)
def draw_mirrored(rng, cells, prior, theta, log_p, work):
    """Try the mirror image in place; return whether it was accepted, and log p.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    cells : PairCells
        The answers.
    prior : PairPrior
        Priors, LOG or SIGNED.
    theta : ndarray, shape (coordinate,)
        Coordinates, changed in place.
    log_p : float
        Log density there.
    work : tuple of two ndarray, shape (coordinate,)
        Coordinates and gradient that are tried.
    """
    image, gradient = work
    mirror(prior, theta, image)
    tried = anchored_log_p(image, cells, prior, gradient)
    if tried > -1e300 and math.log(uniform(rng)) < tried - log_p:  # a NaN is refused, too
        theta[:] = image
        return True, tried
    return False, log_p
