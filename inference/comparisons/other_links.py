"""Links that a user passes as a function and its inverse: posterior modes of distances and reliabilities by bisection."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...posterior.links import Link, require_link
from .kernels.modes import GroupedVotes, Prior
from .vote_modes import Modes, flat_prior

STEP = 1e-5  # of the differences that stand for derivatives
HALVINGS = 50
PROBES = np.array([-1.0, -0.3, -0.01, 0.02, 0.5, 1.0])  # in units of the largest argument

Function = Callable[[np.ndarray], np.ndarray]
AnyLink = Link | tuple[Function, Function]


class OtherLink(NamedTuple):
    """A link F with its inverse; F(-x) = 1 - F(x)."""

    probability: Function
    inverse: Function

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of F, by a central difference."""
        return (self.probability(x + STEP) - self.probability(x - STEP)) / (2 * STEP)

    def score(self, x: np.ndarray, wins: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Return the derivative of wins log F(x) + losses log F(-x)."""
        return self.density(x) * (wins / self.probability(x) - losses / self.probability(-x))


def require_any_link(link: AnyLink, reach: float) -> Link | OtherLink:
    """Return a link by name or by its functions; ValueError if they are no link on arguments up to `reach` and its inverse."""
    if not (isinstance(link, tuple) and len(link) == 2 and all(map(callable, link))):
        return require_link(link, remedy=", or a pair of functions: F and its inverse")
    found = OtherLink(*link)
    x = np.sort(np.r_[PROBES * reach, PROBES])
    p = np.asarray(found.probability(x))
    if not (p.shape == x.shape and (p > 0).all() and (np.diff(p) >= 0).all() and (p <= 1).all()):
        raise ValueError(
            f"link: F must rise from above 0 to 1 on arrays of arguments from {x[0]:g} to {x[-1]:g}, and is {p} at {x}"
        )
    if not np.allclose(p + found.probability(-x), 1, atol=1e-6):
        raise ValueError(f"link: F(x) + F(-x) must be 1, and is {p + found.probability(-x)} at {x}")
    x = x[abs(x) <= 1]
    if not np.allclose(back := found.inverse(found.probability(x)), x, atol=1e-6):
        raise ValueError(f"link: the second function must be the inverse of F, and gives {back} for {x}")
    return found


class OtherVotes(NamedTuple):
    """Votes in any design, for a link that a user passes."""

    link: OtherLink
    pairs: GroupedVotes
    raters: GroupedVotes

    def distances(self, reliability: np.ndarray, prior: Prior, start: np.ndarray, reach: float) -> Modes:
        """Return the posterior modes of the distances, as `SparseVotes.distances`."""
        return self._modes(self.pairs, reliability, prior, start, (-reach, reach))

    def reliabilities(self, distance: np.ndarray, start: np.ndarray, interval: tuple[float, float]) -> Modes:
        """Return the posterior modes of the reliabilities, as `SparseVotes.reliabilities`."""
        return self._modes(self.raters, distance, flat_prior(len(start)), start, interval)

    def _modes(
        self, votes: GroupedVotes, factor: np.ndarray, prior: Prior, start: np.ndarray, interval: tuple[float, float]
    ) -> Modes:  # fmt: skip
        """Halve brackets of all groups at once where the slope of the log posterior changes its sign; shapes (group,)."""
        z, size = factor[votes.other], np.diff(votes.start)
        asked = np.flatnonzero(size)

        def sums(cells: np.ndarray) -> np.ndarray:
            total = np.zeros(len(size))
            total[asked] = np.add.reduceat(cells, votes.start[asked])
            return total

        def slope(y: np.ndarray) -> np.ndarray:
            x = z * np.repeat(y, size)
            return sums(z * self.link.score(x, votes.wins, votes.losses)) - prior.precision * (y - prior.mean)

        low, high = (np.full(len(size), end) for end in interval)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            rises = slope(middle) > 0
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        y = np.where((size == 0) & (prior.precision == 0), start, 0.5 * (low + high))
        x = z * np.repeat(y, size)
        both = votes.wins, votes.losses
        bend = (self.link.score(x + STEP, *both) - self.link.score(x - STEP, *both)) / (2 * STEP)
        fisher = self.link.density(x) ** 2 / (self.link.probability(x) * self.link.probability(-x))
        return Modes(y, -sums(z * z * bend), sums(z * z * sum(both) * fisher))
