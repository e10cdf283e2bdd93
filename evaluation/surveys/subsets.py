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

from ...posterior.errors import EvaluationError

MOST = 10_000_000  # entries; each takes some 100 bytes
TABLED = 1_000_000  # largest count with a table of log factorials
ROUNDING = 1e-12


@dataclass(frozen=True)
class Patterns:
    """Distinct label counts of items, in the order of `numpy.unique`."""

    counts: np.ndarray  # (pattern, category), labels that are combined
    against: np.ndarray | None  # (pattern, category), labels of another reference group, if there is one
    fold: np.ndarray  # (pattern,), items of a fold are left out together when a combiner learns
    of_item: np.ndarray  # (item,), pattern of each item

    @classmethod
    def of(
        cls, counts: np.ndarray, against: np.ndarray | None = None, fold: np.ndarray | None = None
    ) -> "Patterns":
        """Return the patterns of items from counts (item, category), and optionally against and fold."""
        n_items, n_categories = counts.shape
        fold = np.zeros(n_items, np.int64) if fold is None else fold
        parts = [counts, fold[:, None]] if against is None else [counts, fold[:, None], against]
        rows, of_item = np.unique(np.hstack(parts), axis=0, return_inverse=True)
        other = None if against is None else rows[:, n_categories + 1 :]
        return cls(rows[:, :n_categories], other, rows[:, n_categories], of_item.ravel())

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def multiplicity(self) -> np.ndarray:
        """Number of items (pattern,) of each pattern."""
        return np.bincount(self.of_item, minlength=len(self)).astype(float)

    def eligible(self, k: int, reference: int) -> np.ndarray:
        """Return the mask (pattern,) of patterns with k labels and `reference` further ones to score against."""
        if self.against is None:
            return self.counts.sum(axis=1) >= k + reference
        return (self.counts.sum(axis=1) >= k) & (self.against.sum(axis=1) >= reference)


@dataclass(frozen=True)
class Subsets:
    """All label counts that k raters of a pattern can give, with their probabilities."""

    pattern: np.ndarray  # (entry,), ascending
    state: np.ndarray  # (entry,), row of `drawn`
    chance: np.ndarray  # (entry,), p(y | n)
    reference: np.ndarray  # (entry, category), law of the predicted label given pattern and state
    drawn: np.ndarray  # (state, category), counts y of the k labels
    fold: np.ndarray  # (entry,), fold of the pattern


def subsets_of(patterns: Patterns, k: int, reference: int) -> Subsets:
    """Enumerate the labels of k raters of every eligible pattern, against the plurality of `reference` further raters."""
    rows = np.flatnonzero(patterns.eligible(k, reference))
    row, state, chance, drawn = _draws(patterns.counts[rows], k)
    if patterns.against is None:
        law = further_label(patterns.counts[rows][row] - drawn[state], reference)
    else:
        law = further_label(patterns.against[rows], reference)[row]
    pattern = rows[row]
    return Subsets(pattern, state, chance, law, drawn, patterns.fold[pattern])


def further_label(counts: np.ndarray, reference: int = 1) -> np.ndarray:
    """Return the law (row, category) of the plurality of `reference` raters drawn from counts (row, category), ties averaged."""
    if reference == 1:
        return counts / counts.sum(axis=1, keepdims=True)
    rows, of_row = np.unique(counts, axis=0, return_inverse=True)
    row, state, chance, drawn = _draws(rows, reference)
    law = np.zeros(rows.shape)
    np.add.at(law, row, chance[:, None] * shared_top(drawn)[state])
    return law[of_row.ravel()]


def shared_top(values: np.ndarray) -> np.ndarray:
    """Return the indicator (row, category) of each row's largest value, none negative, shared by ties up to rounding."""
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


@dataclass(frozen=True)
class Predicted:
    """Predictions of k raters: entries, each with its probability within its row and the distribution of the label to predict."""

    row: np.ndarray  # (entry,), pattern or item
    chance: np.ndarray  # (entry,), sums to one over the entries of a row
    reference: np.ndarray  # (entry, category), law of the label
    bin: np.ndarray  # (entry,), row of `probability`
    probability: np.ndarray  # (bin, category), distinct predictions

    @classmethod
    def of_items(cls, row: np.ndarray, probability: np.ndarray, reference: np.ndarray) -> "Predicted":
        """Return one certain prediction for each row."""
        return cls(row, np.ones(len(row)), reference, np.arange(len(row)), probability)

    def top_label(self) -> "Predicted":
        """Return the most probable label of each entry as its prediction; ties share the chance equally."""
        share = shared_top(self.probability)[self.bin]
        entry, label = np.nonzero(share)
        chance = self.chance[entry] * share[entry, label]
        return Predicted(self.row[entry], chance, self.reference[entry], label, np.eye(share.shape[1]))

    def sampled(self, of_item: np.ndarray, rng: np.random.Generator) -> "Predicted":
        """Draw one entry and one label for every item, `of_item` (item,) its row; items whose row has no entry are dropped."""
        n_rows = int(max(self.row.max(initial=-1), of_item.max(initial=-1))) + 1
        order = np.argsort(self.row, kind="stable")
        upto = np.cumsum(self.chance[order])
        last = np.cumsum(np.bincount(self.row, minlength=n_rows))
        first = np.r_[0, last[:-1]]
        item = np.flatnonzero(last[of_item] > first[of_item])
        row = of_item[item]
        # inverse transform within each row's segment of the cumulative chances
        before = np.where(first[row] > 0, upto[first[row] - 1], 0.0)
        target = before + rng.random(len(item)) * (upto[last[row] - 1] - before)
        entry = order[np.clip(np.searchsorted(upto, target, "right"), first[row], last[row] - 1)]
        law = np.cumsum(self.reference[entry], axis=1)
        label = (rng.random(len(item))[:, None] * law[:, -1:] >= law).sum(axis=1)
        one_hot = np.eye(law.shape[1])[label]
        return Predicted(item, np.ones(len(item)), one_hot, self.bin[entry], self.probability)
