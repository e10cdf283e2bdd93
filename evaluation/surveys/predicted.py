"""What is predicted for whom, how often, and what the label is then: all that a score needs to know."""

from dataclasses import dataclass

import numpy as np

from .subsets import shared_top

__all__ = ["Predicted"]


@dataclass(frozen=True)
class Predicted:
    """Entries of predictions, each with its chance in its row and the law of the label that is predicted.

    Attributes
    ----------
    row : ndarray of int, shape (entry,)
        Pattern of counts, or item.
    chance : ndarray, shape (entry,)
        Sums to one over the entries of a row.
    reference : ndarray, shape (entry, category)
        Law of the label.
    bin : ndarray of int, shape (entry,)
        Row of `probability`.
    probability : ndarray, shape (bin, category)
        Distinct predictions.
    """

    row: np.ndarray
    chance: np.ndarray
    reference: np.ndarray
    bin: np.ndarray
    probability: np.ndarray

    @classmethod
    def of_items(
        cls, row: np.ndarray, probability: np.ndarray, reference: np.ndarray
    ) -> "Predicted":
        """Return one prediction for each row."""
        return cls(row, np.ones(len(row)), reference, np.arange(len(row)), probability)

    def decided(self) -> "Predicted":
        """Return the most probable label as the prediction; where several tie, each of them with the same chance."""
        share = shared_top(self.probability)[self.bin]
        entry, label = np.nonzero(share)
        return Predicted(
            self.row[entry],
            self.chance[entry] * share[entry, label],
            self.reference[entry],
            label,
            np.eye(share.shape[1]),
        )

    def sampled(self, of_item: np.ndarray, rng: np.random.Generator) -> "Predicted":
        """Draw an entry and a label for every item, given the rows of the items; those whose row has no entry are left out."""
        n_rows = int(max(self.row.max(initial=-1), of_item.max(initial=-1))) + 1
        order = np.argsort(self.row, kind="stable")
        upto = np.cumsum(self.chance[order])
        last = np.cumsum(np.bincount(self.row, minlength=n_rows))
        first = np.r_[0, last[:-1]]
        item = np.flatnonzero(last[of_item] > first[of_item])
        row = of_item[item]
        before = np.where(first[row] > 0, upto[first[row] - 1], 0.0)
        target = before + rng.random(len(item)) * (upto[last[row] - 1] - before)
        entry = order[np.clip(np.searchsorted(upto, target, "right"), first[row], last[row] - 1)]
        law = np.cumsum(self.reference[entry], axis=1)
        label = (rng.random(len(item))[:, None] * law[:, -1:] >= law).sum(axis=1)
        label = np.eye(law.shape[1])[label]
        return Predicted(item, np.ones(len(item)), label, self.bin[entry], self.probability)
