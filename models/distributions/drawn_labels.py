"""Draw replicates of labels: true categories, and answers given them."""

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
    """Draw the true category of every item and overwrite `label` with its answers.

    Shapes: prevalence (category,); confusion (rater, category, label); `of_item` holds start (item + 1,),
    rater (answer,) and known category (item,), -1 without a gold label; label (answer,). With `nodes` > 1
    prevalence and confusion are over states, `nodes` adjacent ones for each category.
    """
    start, rater, known = of_item
    for i in range(len(known)):
        if known[i] < 0:
            truth = _draw(rng, prevalence)
        elif nodes == 1:
            truth = known[i]
        else:
            # gold item: a state of the known category
            block = prevalence[known[i] * nodes : (known[i] + 1) * nodes]
            truth = known[i] * nodes + _draw(rng, block / block.sum())
        for a in range(start[i], start[i + 1]):
            label[a] = _draw(rng, confusion[rater[a], truth])


@nb.njit(error_model="numpy")
def _draw(rng, p):
    """Draw from a categorical distribution."""
    left = rng.random()
    for k in range(len(p) - 1):
        left -= p[k]
        if left < 0.0:
            return k
    return len(p) - 1
