"""Predictions with their chances and the law of the predicted label: the input of every score."""

from dataclasses import dataclass

import numpy as np

from .subsets import shared_top

__all__ = ["Predicted"]


@dataclass(frozen=True)
class Predicted:
    """Entries of predictions; each has a chance within its row and a law of the predicted label."""

    row: np.ndarray  # (entry,), pattern or item
    chance: np.ndarray  # (entry,), sums to one over the entries of a row
    reference: np.ndarray  # (entry, category), law of the label
    bin: np.ndarray  # (entry,), row of `probability`
    probability: np.ndarray  # (bin, category), distinct predictions

    @classmethod
    def of_items(
        cls, row: np.ndarray, probability: np.ndarray, reference: np.ndarray
    ) -> "Predicted":
        """Return one certain prediction for each row."""
        return cls(row, np.ones(len(row)), reference, np.arange(len(row)), probability)

    def decided(self) -> "Predicted":
        """Return the most probable label of each entry as its prediction; ties share the chance equally."""
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
        """Draw one entry and one label for every item; items whose row has no entry are dropped.

        Shapes: of_item (item,), row of each item.
        """
        n_rows = int(max(self.row.max(initial=-1), of_item.max(initial=-1))) + 1
        order = np.argsort(self.row, kind="stable")
        upto = np.cumsum(self.chance[order])
        last = np.cumsum(np.bincount(self.row, minlength=n_rows))
        first = np.r_[0, last[:-1]]
        item = np.flatnonzero(last[of_item] > first[of_item])
        row = of_item[item]
        # inverse transform within each row's segment of the cumulative chances
        # inverse transform within each row's segment of the cumulative chances
        before = np.where(first[row] > 0, upto[first[row] - 1], 0.0)
        target = before + rng.random(len(item)) * (upto[last[row] - 1] - before)
        entry = order[np.clip(np.searchsorted(upto, target, "right"), first[row], last[row] - 1)]
        law = np.cumsum(self.reference[entry], axis=1)
        label = (rng.random(len(item))[:, None] * law[:, -1:] >= law).sum(axis=1)
        label = np.eye(law.shape[1])[label]
        return Predicted(item, np.ones(len(item)), label, self.bin[entry], self.probability)
