"""Majority vote: the share of each label among an item's answers."""

import numpy as np
import xarray as xr

from ...models.data.container import expect
from ...models.data.labels import Labels

__all__ = ["majority_vote"]


def majority_vote(labels: Labels) -> xr.Dataset:
    """Compute the share of each label among an item's answers, and the most frequent label.

    Parameters
    ----------
    labels : Labels
        Labels. Gold labels are not counted as votes.

    Returns
    -------
    Dataset
        ``plausibility`` (item, category), the share of each label, NaN for an item without answers; ``label``
        (item), the most frequent label, ties by the order of the categories, "" for an item without answers;
        ``tied`` (item), whether another label is as frequent.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> table = {"item": ["x", "x", "x", "y"], "rater": ["a", "b", "c", "a"], "label": ["p", "p", "q", "q"]}
    >>> vote = inference.majority_vote(models.Labels.from_table(table))
    >>> vote["plausibility"].to_numpy().round(2).tolist(), vote["label"].to_numpy().tolist()
    ([[0.67, 0.33], [0.0, 1.0]], ['p', 'q'])
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
