"""Differential diagnoses as dermatologists give them: many conditions, of which few are named.

The counts of raters and of block structures are those of the public dermatology annotations
(Stutz et al. 2025, arXiv:2307.02191; google-deepmind/uncertain_ground_truth, CC-BY 4.0). Popularity
of the conditions and concentration were set so that about as many conditions are ever named (274)
and about as many distinct ones for each case (4).
"""

import numpy as np

from ..data.rankings import PartialRankings
from .plackett_luce_rankings import draw_rankings, padded_sizes
from .race import log_gamma, normalised
from .simulated import Simulated

__all__ = ["differential_diagnoses"]

# Cases with 1, 2, ..., 10 readers.
_READERS = np.array([25, 132, 359, 434, 289, 374, 97, 85, 68, 84])

# Annotations of each block structure; fifteen rarer ones are left out.
_STRUCTURES = {
    (1,): 5194,
    (1, 1): 2318,
    (1, 1, 1): 567,
    (2,): 542,
    (1, 2): 485,
    (2, 1): 236,
    (3,): 111,
    (1, 1, 2): 28,
    (1, 3): 24,
    (2, 2): 21,
    (1, 2, 1): 18,
    (4,): 8,
    (2, 1, 1): 8,
    (3, 1): 6,
    (5,): 2,
    (6,): 1,
}


def differential_diagnoses(
    *,
    items: int = 1947,
    categories: int = 419,
    raters: int = 10,
    concentration: float = 2.5,
    random_seed: int | np.random.Generator,
) -> Simulated[PartialRankings]:
    """Draw cases with a few plausible conditions each, and what their readers name.

    Plausibility ~ Dirichlet(concentration * popularity) with popularity_k proportional to
    1 / (k + 7)^2 (k = 0, 1, ...); annotations are Plackett-Luce with ties, whoever reads.

    Parameters
    ----------
    items, categories : int
        How many cases and conditions; ids are numbers from 0, popular conditions first.
    raters : int
        The most readers a case has, up to 10.
    concentration : float
        Total concentration: the larger, the more conditions are plausible for a case.
    random_seed : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Simulated
        ``truth``: ``log_worth`` and ``plausibility``, shape (item, category), and ``popularity``
        (category).
    """
    rng = np.random.default_rng(random_seed)
    popularity = 1.0 / (np.arange(categories) + 7.0) ** 2
    popularity /= popularity.sum()
    log_worth = log_gamma(np.tile(concentration * popularity, (items, 1)), rng)

    readers = 1 + _drawn(_READERS[:raters], items, rng)
    item = np.repeat(np.arange(items), readers)
    rater = np.arange(len(item)) - np.repeat(np.cumsum(readers) - readers, readers)
    known = {sizes: n for sizes, n in _STRUCTURES.items() if sum(sizes) <= categories}
    sizes = padded_sizes([*known])[_drawn(np.array([*known.values()]), len(item), rng)]
    data = draw_rankings(log_worth, item, rater, sizes, rng)
    truth = {
        "log_worth": log_worth,
        "plausibility": normalised(log_worth),
        "popularity": popularity,
    }
    return Simulated(data, truth)


def _drawn(counts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw places in proportion to counts."""
    return rng.choice(len(counts), size=size, p=counts / counts.sum())
