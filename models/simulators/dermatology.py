"""Simulator of differential diagnoses: many conditions, of which each reader names few."""

import numpy as np

from ..data.rankings import PartialRankings
from .plackett_luce_rankings import draw_rankings, padded_sizes
from .race import log_gamma, normalised
from .simulated import Simulated

__all__ = ["differential_diagnoses"]

# Number of cases with 1, 2, ..., 10 readers.
_READERS = np.array([25, 132, 359, 434, 289, 374, 97, 85, 68, 84])

# Number of annotations by block structure; fifteen rarer structures are left out.
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
    """Simulate differential diagnoses: cases with few plausible conditions, and rankings by readers.

    Plausibility ~ Dirichlet(concentration * popularity) with popularity_k proportional to 1 / (k + 7)^2 (k =
    0, 1, ...); annotations are Plackett-Luce with ties, the same for all readers. Numbers of readers and
    block structures have the frequencies of the public dermatology annotations
    (google-deepmind/uncertain_ground_truth, CC-BY 4.0). Popularity and concentration were tuned to give about
    as many named conditions in all (274) and distinct ones per case (4).

    Parameters
    ----------
    items, categories : int
        Numbers of cases and conditions; ids are numbers from 0, popular conditions first.
    raters : int
        Largest number of readers of a case, up to 10.
    concentration : float
        Total concentration: the larger, the more conditions are plausible for a case.
    random_seed : int or numpy.random.Generator
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: PartialRankings; ``truth``: ``log_worth`` and ``plausibility`` (item, category), and
        ``popularity`` (category).

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.differential_diagnoses(items=20, random_seed=1)
    >>> len(simulated.data.items), len(simulated.data.categories)
    (20, 419)
    >>> simulated.truth["plausibility"].shape
    (20, 419)

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
    Image Analysis, arXiv:2307.02191.
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
    """Draw indices with probability proportional to counts."""
    return rng.choice(len(counts), size=size, p=counts / counts.sum())
