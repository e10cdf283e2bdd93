"""Items with the same counts of labels are one pattern: what is expected of random raters depends on nothing else."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Patterns"]


@dataclass(frozen=True)
class Patterns:
    """Unique counts of labels, in the order of `numpy.unique`.

    Attributes
    ----------
    counts : ndarray of int64, shape (pattern, category)
        Labels that are combined.
    against : ndarray of int64, shape (pattern, category), or None
        Labels of another group of raters, whom the combined labels are scored against; None where they are scored against the
        rest of the same raters.
    fold : ndarray of int, shape (pattern,)
        Which items are left out together when a combiner learns.
    of_item : ndarray of int, shape (item,)
        Pattern of each item.
    """

    counts: np.ndarray
    against: np.ndarray | None
    fold: np.ndarray
    of_item: np.ndarray

    @classmethod
    def of(
        cls, counts: np.ndarray, against: np.ndarray | None = None, fold: np.ndarray | None = None
    ) -> "Patterns":
        """Return the patterns of items."""
        n_items, n_categories = counts.shape
        if fold is None:
            fold = np.zeros(n_items, np.int64)
        parts = [counts, fold[:, None]] if against is None else [counts, fold[:, None], against]
        rows, of_item = np.unique(np.hstack(parts), axis=0, return_inverse=True)
        theirs = None if against is None else rows[:, n_categories + 1 :]
        return cls(rows[:, :n_categories], theirs, rows[:, n_categories], of_item.ravel())

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def multiplicity(self) -> np.ndarray:
        """Number of items of each pattern."""
        return np.bincount(self.of_item, minlength=len(self)).astype(float)

    def eligible(self, k: int, reference: int) -> np.ndarray:
        """Return which patterns have k labels to combine and enough further ones to score against."""
        if self.against is None:
            return self.counts.sum(axis=1) >= k + reference
        return (self.counts.sum(axis=1) >= k) & (self.against.sum(axis=1) >= reference)
