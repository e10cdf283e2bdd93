"""Patterns: items with the same label counts, which have the same expected scores."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Patterns"]


@dataclass(frozen=True)
class Patterns:
    """Distinct label counts of items, in the order of `numpy.unique`."""

    counts: np.ndarray  # (pattern, category), labels that are combined
    # (pattern, category), labels of another reference group; None for the same raters
    against: np.ndarray | None
    fold: np.ndarray  # (pattern,), items of a fold are left out together when a combiner learns
    of_item: np.ndarray  # (item,), pattern of each item

    @classmethod
    def of(
        cls, counts: np.ndarray, against: np.ndarray | None = None, fold: np.ndarray | None = None
    ) -> "Patterns":
        """Return the patterns of items from counts (item, category), and optionally against and fold."""
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
        """Number of items (pattern,) of each pattern."""
        return np.bincount(self.of_item, minlength=len(self)).astype(float)

    def eligible(self, k: int, reference: int) -> np.ndarray:
        """Return the mask (pattern,) of patterns with k labels and `reference` further ones to score against."""
        if self.against is None:
            return self.counts.sum(axis=1) >= k + reference
        return (self.counts.sum(axis=1) >= k) & (self.against.sum(axis=1) >= reference)
