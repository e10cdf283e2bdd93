"""Random subsets of k raters: exact laws of their labels and of the reference label, from the label counts.

    p(y | n) = prod_l C(n_l, y_l) / C(N, k)             multivariate hypergeometric
    p(l | y, n) = (n_l - y_l) / (N - k)                 the reference rater

| symbol | meaning | name |
|---|---|---|
| n, N | counts of an item's labels, their sum | ``Patterns.counts`` |
| y, k | counts of the labels that were drawn, their sum | ``Subsets.drawn``, k |

Only the y that an item can show are enumerated, so that the cost is linear in the patterns.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), Survey equivalence: a procedure for measuring classifier
accuracy against human labels, arXiv:2106.01254, algorithms 1-3.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from ..errors import EvaluationError
from .patterns import Patterns

__all__ = ["Subsets", "check_number", "further_label", "shared_top", "subsets_of"]

MOST = 10_000_000  # entries; each takes some 100 bytes
TABLED = 1_000_000  # largest count with a table of log factorials
ROUNDING = 1e-12


@dataclass(frozen=True)
class Subsets:
    """All label counts that k raters of a pattern can give, with their probabilities."""

    pattern: np.ndarray  # (entry,), ascending
    state: np.ndarray  # (entry,), row of `drawn`
    chance: np.ndarray  # (entry,), p(y | n)
    reference: np.ndarray  # (entry, category), law of the predicted label given pattern and state
    drawn: np.ndarray  # (state, category), counts y of the k labels
    fold: np.ndarray  # (entry,), fold of the pattern


def subsets_of(patterns: Patterns, k: int, reference: int = 1) -> Subsets:
    """Enumerate the labels of k raters of every eligible pattern.

    The predicted label is the plurality of `reference` further raters.
    """
    rows = np.flatnonzero(patterns.eligible(k, reference))
    row, state, chance, drawn = _draws(patterns.counts[rows], k)
    if patterns.against is None:
        law = further_label(patterns.counts[rows][row] - drawn[state], reference)
    else:
        law = further_label(patterns.against[rows], reference)[row]
    pattern = rows[row]
    return Subsets(pattern, state, chance, law, drawn, patterns.fold[pattern])


def further_label(counts: np.ndarray, reference: int = 1) -> np.ndarray:
    """Return the law (row, category) of the plurality of `reference` raters, ties averaged.

    Shapes: counts (row, category), the raters are drawn from.
    """
    if reference == 1:
        return counts / counts.sum(axis=1, keepdims=True)
    rows, of_row = np.unique(counts, axis=0, return_inverse=True)
    row, state, chance, drawn = _draws(rows, reference)
    law = np.zeros(rows.shape)
    np.add.at(law, row, chance[:, None] * shared_top(drawn)[state])
    return law[of_row.ravel()]


def shared_top(values: np.ndarray) -> np.ndarray:
    """Return the indicator (row, category) of the largest value of each row, shared equally between ties.

    Values must not be negative. They tie if they agree up to rounding, as sums of chances in another order
    do.
    """
    top = values >= values.max(axis=1, keepdims=True) * (1 - ROUNDING)
    return top / top.sum(axis=1, keepdims=True)


def _draws(counts: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
    """Enumerate all draws of k from rows of counts (row, category).

    Category by category, each partial draw branches into the counts of the next label that can still be
    completed to k. Shapes: row, state and chance (entry,); states (state, category).
    """
    total = counts.sum(axis=1)
    log_choose = _LogChoose(int(total.max(initial=0)))
    later = total[:, None] - np.cumsum(counts, axis=1)
    row, left = np.arange(len(counts)), np.full(len(counts), k)
    log_chance = -log_choose(total, left)
    state, drawn = np.zeros(len(counts), np.int64), np.zeros((1, 0), np.int64)
    for category in range(counts.shape[1]):
        there = counts[row, category]
        fewest = np.maximum(0, left - later[row, category])
        branches = np.minimum(there, left) - fewest + 1
        parent = np.repeat(np.arange(len(row)), branches)
        first = np.cumsum(branches) - branches
        number = fewest[parent] + np.arange(len(parent)) - first[parent]
        log_chance = log_chance[parent] + log_choose(there[parent], number)
        row, left = row[parent], left[parent] - number
        key, state = np.unique(state[parent] * (k + 1) + number, return_inverse=True)
        drawn = np.hstack([drawn[key // (k + 1)], key[:, None] % (k + 1)])
    return row, state, np.exp(log_chance), drawn


class _LogChoose:
    """Function log C(n, y), from a table of log factorials, or the beta function for large counts."""

    def __init__(self, largest: int) -> None:
        self.log_factorial = gammaln(np.arange(1.0, largest + 2)) if largest <= TABLED else None

    def __call__(self, n: np.ndarray, y: np.ndarray) -> np.ndarray:
        f = self.log_factorial
        if f is None:
            return -np.log1p(n) - betaln(n - y + 1, y + 1)
        return f[n] - f[y] - f[n - y]


def check_number(counts: np.ndarray, largest: int) -> None:
    """Raise if up to `largest` raters of patterns (pattern, category) have too many label counts."""
    ways = np.zeros((len(counts), largest + 1))
    ways[:, 0] = 1
    for number in counts.T:
        # generating function: 0 ... number of the k labels are of this category
        upto = np.cumsum(ways, axis=1)
        before = np.arange(largest + 1) - number[:, None] - 1
        ways = upto - np.where(before >= 0, np.take_along_axis(upto, np.maximum(before, 0), 1), 0)
    upto = np.cumsum(ways.sum(axis=0))
    if upto[-1] > MOST:
        allowed = int((upto <= MOST).sum()) - 1
        raise EvaluationError(
            f"max_raters={largest}: their labels can have {upto[-1]:.2g} different counts, over all patterns of items; allowed "
            f'are {MOST:,}: pass {allowed} at the most, or sample, by a function of labels (item, rater) and raters="identified"'
        )
