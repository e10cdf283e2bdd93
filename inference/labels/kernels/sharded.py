"""True categories drawn with one stream for each item, and their counts.

Items with equal answers form a pattern, for which p(true category) is computed once. Sums over items need
only the number of items of each pattern and category; the counts of labels follow by a pass over the patterns.
"""

import numpy as np

from ....models.distributions.compiling import cached_njit
from ....models.distributions.vector_math import copy_into
from ...kernels.random_streams import category_at, exp_normalise, load_stream, log_standard_gamma, uniform
from .em import VOTE_JITTER, VOTE_WEIGHT
from .gibbs import ConfusionPrior, draw_prevalence, draw_rows


@cached_njit(nogil=True, error_model="numpy")
def count_drawn_categories(
    streams: np.ndarray, pattern: np.ndarray, plausibility: np.ndarray, counts: np.ndarray
) -> None:
    """Add the drawn categories of items with pattern (item,) to counts (pattern, category); streams (4, item) advance."""
    rng = np.empty(4, np.uint64)
    for i in range(len(pattern)):
        load_stream(streams, i, rng)
        own = plausibility[pattern[i]]
        counts[pattern[i], category_at(own, uniform(rng))] += 1.0


@cached_njit(nogil=True, error_model="numpy")
def count_near_vote(
    streams: np.ndarray,
    pattern: np.ndarray,
    share: np.ndarray,
    known: np.ndarray,
    counts_and_kind: tuple[np.ndarray, bool],
) -> None:
    """Draw p(true category) of every item near its vote share, as `jittered_vote` does, and add to the counts.

    Shapes: streams uint64 (4, item), advanced in place; pattern int64 (item,); share, counts
    (pattern, category); known int64 (pattern,), gold category or -1. The flag beside the counts: add a
    category drawn from p, otherwise p itself.
    """
    counts, draws = counts_and_kind
    n = counts.shape[1]
    rng, p = np.empty(4, np.uint64), np.empty(n)
    for i in range(len(pattern)):
        load_stream(streams, i, rng)
        k = pattern[i]
        copy_into(p, share[k])
        if known[k] < 0:
            for j in range(n):
                # Dirichlet(20 share + .3)
                p[j] = log_standard_gamma(rng, VOTE_WEIGHT * share[k, j] + VOTE_JITTER)
            exp_normalise(p)
        if draws:
            counts[k, category_at(p, uniform(rng))] += 1.0
        else:
            for j in range(n):
                counts[k, j] += p[j]


@cached_njit(error_model="numpy")
def draw_parameters(
    rng: np.ndarray,
    prior: ConfusionPrior,
    items: np.ndarray,
    labels: np.ndarray,
    parameters: tuple[np.ndarray, np.ndarray],
) -> None:
    """Overwrite prevalence (category,) and table (rater * label, category) by draws given int64 counts, for FREE_ROWS."""
    draw_prevalence(rng, prior, items, parameters[0])
    draw_rows(rng, prior, labels, parameters[1])
