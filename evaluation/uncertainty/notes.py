"""Notes on numbers that say little: of one item, or of scores that are tied everywhere."""

import numpy as np
import xarray as xr

from .adjusted import Scorer

ONE_ITEM = "of one item: nothing is known of the differences between items, and the interval leaves them out"
ALL_TIED = "all scores are tied in every item: the number is that of the rule for ties, not of the classifier"


def notes_on(scorer: Scorer, predictions: xr.DataArray, share: np.ndarray) -> np.ndarray:
    """Return what each number is worth (classifier, group), where that is little, else "".

    `share`: the mean share of the items in each group (classifier, group).
    """
    items = share * len(scorer.aligned.view.items)
    tied = np.broadcast_to(_all_tied(predictions) & _breaks_ties(scorer), len(share))
    notes = np.full(share.shape, "", object)
    for place in np.ndindex(share.shape):
        found = [ALL_TIED] * bool(tied[place[0]]) + [ONE_ITEM] * bool(0 < items[place] < 1.5)
        notes[place] = "; ".join(found)
    return notes.astype(str)


def _breaks_ties(scorer: Scorer) -> bool:
    """Whether equal scores are ordered by a rule, or count half; a loss of single probabilities takes them as they are."""
    metric = scorer.metric
    return metric.response != "probabilities" or (scorer.called is None and metric.over == "items")


def _all_tied(predictions: xr.DataArray) -> np.ndarray:
    """Whether the scores of all categories are the same in every item (classifier,); not of labels and sets."""
    if (
        "category" not in predictions.dims
        or predictions.sizes["category"] < 2
        or predictions.dtype.kind == "b"
    ):
        return np.zeros(1, bool)
    equal = predictions == predictions.isel(category=0, drop=True)
    return np.atleast_1d(equal.all([d for d in predictions.dims if d != "classifier"]).to_numpy())
