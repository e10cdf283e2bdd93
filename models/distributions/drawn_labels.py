"""Replicates of labels: true categories, and answers given them."""

import numba as nb
import numpy as np

from .compiling import kept

__all__ = ["draw_labels"]


@kept(error_model="numpy")
def draw_labels(
    rng: np.random.Generator,
    prevalence: np.ndarray,
    confusion: np.ndarray,
    of_item: tuple[np.ndarray, np.ndarray, np.ndarray],
    label: np.ndarray,
    nodes: int = 1,
) -> None:
    """Draw the true category of every item, and every answer given it.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    prevalence : ndarray, shape (category,)
        Probability of each category.
    confusion : ndarray, shape (rater, category, label)
        Probability of each label.
    of_item : tuple of ndarray of int, shapes (item + 1,), (answer,) and (item,)
        First answer of every item, rater of every answer, and true category of gold items (-1 elsewhere).
    label : ndarray of int, shape (answer,)
        Overwritten with label codes.
    nodes : int, default 1
        States of each category: with several, `prevalence` and `confusion` are of states.
    """
    start, rater, known = of_item
    for i in range(len(known)):
        if known[i] < 0:
            truth = _draw(rng, prevalence)
        elif nodes == 1:
            truth = known[i]
        else:
            block = prevalence[known[i] * nodes : (known[i] + 1) * nodes]
            truth = known[i] * nodes + _draw(rng, block / block.sum())
        for a in range(start[i], start[i + 1]):
            label[a] = _draw(rng, confusion[rater[a], truth])


@nb.njit(error_model="numpy")
def _draw(rng, p):
    """Draw from a categorical law."""
    left = rng.random()
    for k in range(len(p) - 1):
        left -= p[k]
        if left < 0.0:
            return k
    return len(p) - 1
