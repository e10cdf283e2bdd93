"""One factor of a comparison given the other: the most probable distance of a pair, the most probable reliability of a rater.

An answer depends on a product x = z y alone, of a reliability and a distance. Votes are grouped by the unknown factor y, one for
each group; the known factor z belongs to the other side. Grouped by pair, y is the distance and z the reliability of each rater;
grouped by rater, y is the reliability and z the distance of each pair. Both maximise the same concave function on an interval,

    sum over the cells of the group of  a log F(z y) + b log F(-z y),   less  (w / 2) (y - m)^2

with a and b the votes of a cell for the first and for the second item. Newton's steps are kept within the points that are known
to lie on either side of the maximum: where the likelihood is nearly straight, a free step leaps past it.

References
----------
Nordio, Tarable and Leonardi (2023), Ranking a set of objects using heterogeneous workers: QUITE an easy problem,
arXiv:2310.02016, eq. 29 and 31-38.
"""

from typing import NamedTuple

import numba as nb
import numpy as np

from ...models.distributions.compiling import kept
from ...models.distributions.pair_links import logistic_score, normal_score
from ...models.distributions.vector_math import FAST

__all__ = ["GroupedVotes", "Prior", "Search", "next_point", "product_modes"]

MOST_STEPS = 200  # halving alone finds a double in 64 or so


class GroupedVotes(NamedTuple):
    """Votes, grouped by pair or by rater.

    Attributes
    ----------
    start : ndarray of int64, shape (group + 1,)
        Cells of group ``g`` are ``start[g]:start[g + 1]``.
    other : ndarray of int32 or int64, shape (cell,)
        Where the known factor of a cell is: the rater if grouped by pair, the pair if grouped by rater.
    wins, losses : ndarray of float64, shape (cell,)
        Votes a and b for the first and for the second item of the pair.
    """

    start: np.ndarray
    other: np.ndarray
    wins: np.ndarray
    losses: np.ndarray


class Prior(NamedTuple):
    """Gaussian priors of the unknown factors.

    Attributes
    ----------
    mean, precision : ndarray of float64, shape (group,)
        m and w; w = 0 is flat.
    """

    mean: np.ndarray
    precision: np.ndarray


class Search(NamedTuple):
    """Where to look.

    Attributes
    ----------
    start : ndarray of float64, shape (group,)
        First point; it stays where no vote says anything.
    low, high : float
        The interval.
    tolerance : float
        A step shorter than this is the last.
    """

    start: np.ndarray
    low: float
    high: float
    tolerance: float


@nb.njit(inline="always", error_model="numpy")
def next_point(y, slope, curvature, bracket, search):
    """Return Newton's next point, within the interval and the bracket, and the bracket with what the slope at y tells.

    Parameters
    ----------
    y, slope, curvature : float
        The point, the derivative there, minus the second derivative.
    bracket : tuple of float
        The closest points known to lie below and above the maximum; infinite if there is none.
    search : Search
        The interval.

    Returns
    -------
    y : float
        The next point; the same one at an end of the interval, where the function still rises outwards.
    bracket : tuple of float
        Narrower than before.
    """
    below, above = bracket
    if slope > 0.0:
        below = y
    else:
        above = y
    following = min(max(y + slope / curvature, search.low), search.high)
    if slope > 0.0 and following >= above:
        following = 0.5 * (y + above)
    if slope < 0.0 and following <= below:
        following = 0.5 * (y + below)
    return following, (below, above)


@kept(nogil=True, **FAST)
def product_modes(thurstone, votes, factor, prior, search):
    """Maximise every group.

    Parameters
    ----------
    thurstone : bool
        Whether F is the normal cdf; otherwise the logistic function.
    votes : GroupedVotes
        The votes.
    factor : ndarray of float64, shape (other,)
        The known factors z.
    prior : Prior
        Priors of the unknown factors.
    search : Search
        The interval and the first points.

    Returns
    -------
    mode : ndarray of float64, shape (group,)
        Where the maximum is.
    observed, expected : ndarray of float64, shape (group,)
        Observed and Fisher information in the votes about y, there; the prior adds its precision.
    """
    n_groups = len(votes.start) - 1
    mode, observed, expected = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups)
    own = np.empty(np.diff(votes.start).max())
    for g in range(n_groups):
        first, last = votes.start[g], votes.start[g + 1]
        z = own[: last - first]
        for c in range(last - first):
            z[c] = factor[votes.other[first + c]]
        a, b = votes.wins[first:last], votes.losses[first:last]
        y, bracket = min(max(search.start[g], search.low), search.high), (-np.inf, np.inf)
        for _ in range(MOST_STEPS):
            slope, observed[g], expected[g] = _slopes(thurstone, y, z, a, b)
            slope -= prior.precision[g] * (y - prior.mean[g])
            if slope == 0.0:
                break
            before = y
            curvature = observed[g] + prior.precision[g]
            y, bracket = next_point(before, slope, curvature, bracket, search)
            if abs(y - before) <= search.tolerance:
                break
        mode[g] = y
    return mode, observed, expected


@kept(**FAST)
def _slopes(thurstone, y, z, a, b):
    """Return the derivative of the log likelihood of one group, and both kinds of information."""
    slope = observed = expected = 0.0
    if thurstone:
        for c in range(len(z)):
            residual, seen, fisher = normal_score(z[c] * y, a[c], b[c])
            slope += z[c] * residual
            observed += z[c] * z[c] * seen
            expected += z[c] * z[c] * fisher
    else:
        for c in range(len(z)):
            residual, seen, _ = logistic_score(z[c] * y, a[c], b[c])
            slope += z[c] * residual
            observed += z[c] * z[c] * seen
        expected = observed
    return slope, observed, expected
