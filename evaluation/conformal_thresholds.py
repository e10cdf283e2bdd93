"""Thresholds of Monte Carlo conformal prediction.

n calibration items with m labels each have scores S_ij, larger = more conforming; N(s) counts the S_ij <= s.
A label of a new item with score s has m conformal p-values, one for each j, whose average is

    p(s) = (m + N(s)) / (m (n + 1)),                                                                       (1)

and it is in the set if p(s) > alpha. That is N(s) >= k, or s at least the k-th smallest of the n m scores,
with

    k = floor(alpha m (n + 1)) - m + 1.                                                                    (2)

Every label is in the set if k < 1, which is n < 1 / alpha - 1 for any m. For m = 1 this is split conformal
prediction.

**Coverage.** An average of p-values is a p-value up to a factor of two, hence the 1 - 2 alpha of the paper
for m > 1. Here a stronger statement holds: p(s) is at least the rank of s (ties: the largest) among the m (n
+ 1) scores of all items, the new one with m labels too, over m (n + 1). Items are exchangeable and so are the
labels within one; therefore s is each of these scores with the same probability, and P(p <= alpha) <= alpha.
Coverage is at least 1 - alpha for every m (the argument of Lee, Barber and Willett 2023 for repeated
measurements, with equally many for each item).

**ECDF correction.** The first half A of the items gives p of (1), the second half B, of n_B items with one
label each, its distribution:

    q(s) = (1 + number of i in B with p(S_i) <= p(s)) / (n_B + 1),    in the set if q(s) > alpha.            (3)

Given A, the p of B and of the new item are exchangeable, so that coverage is again at least 1 - alpha. As p
is a step function of s, this is split conformal prediction on B alone, its threshold rounded down to a score
of A: the sets are never smaller, and half of the items only determine the rounding.

References
----------
Stutz, Roy, Matejovicova, Strachan, Cemgil and Doucet (2023), Conformal prediction under ambiguous ground
truth, TMLR, arXiv:2307.09302. Lee, Barber and Willett (2023), Distribution-free inference with hierarchical
data, arXiv:2306.06342. Vovk and Wang (2020), Combining p-values via averaging, Biometrika 107,
doi:10.1093/biomet/asaa027 (the factor of two).
"""

from fractions import Fraction
from math import ceil, floor

import numpy as np

__all__ = ["corrected_threshold", "least_items", "miss_rate", "threshold_of"]


def miss_rate(coverage: float) -> Fraction:
    """Return alpha = 1 - coverage as an exact fraction of the decimal: 1 - .9 is 1/10."""
    return 1 - Fraction(str(float(coverage)))


def least_items(alpha: Fraction) -> int:
    """Return the number of calibration items below which every label is in the set."""
    return ceil(1 / alpha) - 1


def threshold_of(scores: np.ndarray, count: np.ndarray, alpha: Fraction) -> float:
    """Return the k-th smallest score of the drawn labels, k as in (2); -inf if there are too few items.

    Shapes: scores (item, category); count (item, category), number of the m labels of an item with this
    category.
    """
    n = len(count)
    m = int(count[0].sum())
    k = floor(alpha * m * (n + 1)) - m + 1  # (2)
    if k < 1:
        return -np.inf
    ordered, reached = _reached(scores, count)
    return float(ordered[np.searchsorted(reached, k)])


def corrected_threshold(
    scores: np.ndarray, count: np.ndarray, drawn: np.ndarray, alpha: Fraction
) -> float:
    """Return the threshold of the sets of (3); -inf if there are too few items.

    Shapes: scores and count (item, category) of the first half of the calibration items; drawn (item,),
    scores of one label for each item of the second half.
    """
    k = floor(alpha * (len(drawn) + 1))
    if k < 1:
        return -np.inf
    ordered, _ = _reached(scores, count)
    below = np.searchsorted(ordered, np.partition(drawn, k - 1)[k - 1], "right")
    return float(ordered[below - 1]) if below else -np.inf


def _reached(scores: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending scores of drawn labels, and the cumulative number of labels at each."""
    found = count > 0
    order = np.argsort(scores[found])
    return scores[found][order], np.cumsum(count[found][order])
