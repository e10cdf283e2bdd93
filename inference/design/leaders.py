"""Top-1 label of an item in every draw, where OTHER is a set of labels.

The members of OTHER share its mass by a symmetric Dirichlet distribution, independent of the rest. The
largest member leads if its share of the mass exceeds the best named label; that probability is estimated by
draws of the largest share.

References
----------
Pitman (1996), Random discrete distributions invariant under size-biased permutation, Advances in Applied
Probability 28, doi:10.2307/1428070.
"""

import numpy as np

__all__ = ["largest_shares", "leaders"]


def largest_shares(
    size: int, concentration: float, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the largest share of a symmetric Dirichlet distribution, sorted in ascending order.

    By stick breaking in size-biased order, V_i ~ Beta(1 + a, (M - i) a), with M = `size` members of
    `concentration` a; it stops once the remaining stick is shorter than the largest share. Shapes: returns
    (draw,), in (0, 1].
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
    """Probability of every label of an item to be the most plausible one in each draw; ties go to the first label.

    Shapes: p (label, draw); shares, draws of the largest share of OTHER, which is then the last label,
    ascending (draw,): None without OTHER, empty if OTHER is not split and cannot lead; returns (label, draw),
    which sums to 1 over labels.
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
