"""Numbers of tables of answers given in a known order: agreement with the first answer, labels and skill late in a queue.

All are compared with replicates of the same raters in the same order, so that raters who are better, or who come first, count
for nothing. Items that all find hard raise agreement with the first answer and among later ones alike; items that are
sorted change what all raters say, and each rater is compared with the others on the same items.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

FEWEST_OF_ITEM = 3  # ordered answers: with fewer there is no pair of later ones
FEWEST_OF_QUEUE = 20  # ordered answers of a rater, to items with other answers
TINY = 1e-12


class Ordered:
    """Answers with a known place in time; numbers are of tables of labels (table, answer)."""

    def __init__(self, answers: Any, order: np.ndarray) -> None:
        self._answers, self._order = answers, order
        self._known = (order > 0) & ~np.isin(answers.rater, answers.classifiers)

    @cached_property
    def _firsts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ordered answers, item of each, and the first answer of each item, of items with enough and one that is first."""
        answers = self._answers
        own = np.flatnonzero(self._known)
        own = own[np.lexsort((self._order[own], answers.item[own]))]
        _, begins, number = np.unique(answers.item[own], return_index=True, return_counts=True)
        second = np.append(self._order[own], 0)[begins + 1]
        tied = (number > 1) & (second == self._order[own[begins]])
        good = (number >= FEWEST_OF_ITEM) & ~tied
        kept = own[np.repeat(good, number)]
        return kept, np.repeat(np.arange(good.sum()), number[good]), own[begins[good]]

    def with_first(self, label: np.ndarray) -> np.ndarray:
        """Return the agreement of later answers with the first one to an item, less that among them; NaN without (table,)."""
        kept, item, first = self._firsts
        if not len(first):
            return np.full(len(label), np.nan)
        n, number = self._answers.shape[2], np.bincount(item)
        code = label[:, kept] + item * n + np.arange(len(label))[:, None] * (len(first) * n)
        counts = np.bincount(code.ravel(), minlength=len(label) * len(first) * n).reshape(len(label), -1, n)
        counts -= label[:, first, None] == np.arange(n)  # of later answers
        with_it = np.take_along_axis(counts, label[:, first, None], axis=2)[..., 0] / (number - 1)
        among = (counts * (counts - 1)).sum(axis=2) / ((number - 1) * (number - 2))
        return (with_it - among).mean(axis=1)

    @cached_property
    def _halves(self) -> tuple[np.ndarray, np.ndarray, csr_array, csr_array]:
        """Answers to items with others, raters with a queue, and whether an answer is of a rater's late or early half."""
        answers = self._answers
        own = np.flatnonzero(self._known & answers.several[answers.item])
        own = own[np.lexsort((self._order[own], answers.rater[own]))]
        rater, begins, number = np.unique(answers.rater[own], return_index=True, return_counts=True)
        place = np.arange(len(own)) - np.repeat(begins, number)
        differs = np.append(True, np.diff(self._order[own]) != 0) | (place == 0)
        distinct = np.bincount(np.repeat(np.arange(len(rater)), number), differs, len(rater))
        good = (number >= FEWEST_OF_QUEUE) & (distinct > number / 2)  # a place among few is none in a queue
        kept = np.repeat(good, number)
        row, half = np.repeat(np.arange(good.sum()), number[good]), np.repeat(number[good] // 2, number[good])
        late = place[kept] >= half
        shape = int(good.sum()), int(kept.sum())
        columns = np.arange(shape[1])
        second = csr_array((late.astype(float), (row, columns)), shape)
        first = csr_array(((~late).astype(float), (row, columns)), shape)
        return own[kept], rater[good], second, first

    @property
    def queued(self) -> np.ndarray:
        """Codes of the raters with a queue (queue,)."""
        return self._halves[1]

    def late_labels(self, label: np.ndarray) -> np.ndarray:
        """Return by how many standard errors the label that rises most is more frequent late in each queue (table, queue).

        Beyond the share of it among other answers to the same items.
        """
        kept, raters, late, early = self._halves
        if not len(raters):
            return np.zeros((len(label), 0))
        answers, n = self._answers, self._answers.shape[2]
        number = np.diff(answers.start)[answers.item[kept]]
        found = []
        for own in label:
            counts = np.bincount(answers.item * n + own, minlength=answers.shape[0] * n).reshape(-1, n)
            said = own[kept, None] == np.arange(n)
            beyond = said - (counts[answers.item[kept]] - said) / (number - 1)[:, None]
            (after, error), (before, other) = (_mean_and_error(half, beyond) for half in (late, early))
            found.append(((after - before) / np.sqrt(error + other + TINY)).max(axis=1))
        return np.array(found)

    def later_skill(self, label: np.ndarray, weight: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return by how many standard errors right answers rise with their place in each queue (table, queue).

        Of each answer it takes the probability that it is right, given all answers, less that of its rater for the item: its
        correlation with the place, times the root of the number of answers. Shapes: weight, p(true category)
        (table, item, category); table, p(label) (table, rater, label, category).
        """
        kept, raters, late, early = self._halves
        if not len(raters):
            return np.zeros((len(label), 0))
        item, rater = self._answers.item[kept], self._answers.rater[kept]
        begins = (late + early).indptr[:-1]
        number = np.diff(np.append(begins, len(kept)))
        trend = np.arange(len(kept)) - np.repeat(begins + (number - 1) / 2, number)
        length = np.sqrt(np.add.reduceat(trend**2, begins) / number)
        found = []
        for own, share, law in zip(label, weight, table, strict=True):
            right = np.einsum("kjj->kj", law)
            beyond = share[item, own[kept]] - (share[item] * right[rater]).sum(axis=1)
            beyond -= np.repeat(np.add.reduceat(beyond, begins) / number, number)
            size = np.sqrt(np.add.reduceat(beyond**2, begins) + TINY)
            found.append(np.add.reduceat(trend * beyond, begins) / (length * size))
        return np.array(found)


def _mean_and_error(half: csr_array, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of values (answer, ...) over half of each queue, and the square of its standard error."""
    size = half.sum(axis=1).reshape(-1, *(1,) * (values.ndim - 1))
    mean = half @ values / size
    return mean, (half @ values**2 / size - mean**2) / size
