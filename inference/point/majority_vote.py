"""The majority vote: the share of each label among an item's answers."""

import numpy as np
import xarray as xr

from ...models.data.container import expect
from ...models.data.labels import Labels

__all__ = ["majority_vote"]


def majority_vote(labels: Labels) -> xr.Dataset:
    """Count the votes.

    Parameters
    ----------
    labels : Labels
        The annotations; gold labels do not vote.

    Returns
    -------
    Dataset
        ``plausibility`` (item, category), the share of each label, NaN where nobody answered; ``label`` (item), the most frequent
        one, ties by the order of the categories, "" where nobody answered; ``tied`` (item), whether another is as frequent.
    """
    expect(labels, Labels)
    counts = labels.counts
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    names = labels.categories.astype(str)
    winner = np.where(total[:, 0] > 0, names[counts.argmax(axis=1)], "")
    tied = ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1) & (total[:, 0] > 0)
    return xr.Dataset(
        {
            "plausibility": (("item", "category"), share),
            "label": ("item", winner),
            "tied": ("item", tied),
        },
        {"item": labels.items, "category": names},
    )
