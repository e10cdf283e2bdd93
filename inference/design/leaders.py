"""Which label of an item is the most plausible in every draw, where OTHER is a set of labels.

The members of OTHER share its mass by a symmetric Dirichlet law, independent of all else. The largest of them leads where its
share of the mass exceeds the best label of the others; how probable that is, draws of the largest share tell.

References
----------
Pitman (1996), Random discrete distributions invariant under size-biased permutation, Advances in Applied Probability 28,
doi:10.2307/1428070.
"""

import numpy as np

__all__ = ["largest_shares", "leaders"]


def largest_shares(
    size: int, concentration: float, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the largest of the shares of OTHER's members, ascending.

    In size-biased order the shares are sticks, V_i ~ Beta(1 + a, (M - i) a); none is larger than what is left of the whole.

    Parameters
    ----------
    size : int
        Number M of members.
    concentration : float
        Concentration a of each.
    draws : int
        How many draws.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    ndarray, shape (draw,)
        In (0, 1].
    """
    left, largest = np.ones(draws), np.zeros(draws)
    for i in range(1, size):
        stick = left * rng.beta(1 + concentration, (size - i) * concentration, draws)
        left -= stick
        np.maximum(largest, stick, out=largest)
        if (left <= largest).all():
            break
    return np.sort(np.maximum(largest, left))


def leaders(p: np.ndarray, shares: np.ndarray | None) -> np.ndarray:
    """Return the probability of every label to be the most plausible one of each draw; ties by the order of the labels.

    Parameters
    ----------
    p : ndarray, shape (label, draw)
        Plausibilities of one item.
    shares : ndarray, shape (draw,), or None
        Of the members of OTHER, the last label, the largest, ascending; empty if OTHER is not to be split, and never leads; None
        if there is no OTHER.

    Returns
    -------
    ndarray, shape (label, draw)
        Sums to one in every draw.
    """
    named = p if shares is None else p[:-1]
    best = named.argmax(axis=0)
    leads = np.zeros(p.shape)
    leads[best, np.arange(p.shape[1])] = 1
    if shares is not None and len(shares):
        value = named.max(axis=0)
        may = np.flatnonzero(p[-1] > value)
        above = 1 - np.searchsorted(shares, value[may] / p[-1, may], "right") / len(shares)
        leads[:, may] *= 1 - above
        leads[-1, may] = above
    return leads
