"""Orders of the items that others propose, such as an AI model's scores, against the order that the votes leave open."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .. import evaluation
from .reading import read_scores

__all__ = ["concordances", "read_orders"]

BEST_GUESS = "(posterior mean)"
MOST_DRAWS = 1000  # with more, intervals hardly change, and every draw is an order of its own


def read_orders(path: Path, columns: Sequence[str], items: np.ndarray) -> xr.DataArray:
    """Read scores or ranks of the items, and see that they are the items of the votes.

    Parameters
    ----------
    path : Path
        Table: item, score or rank, and perhaps classifier.
    columns : sequence of str
        Renamings.
    items : ndarray of str
        The items of the votes.

    Returns
    -------
    DataArray, dims (classifier, item)
        Scores, larger = better, in the order of the items.

    Raises
    ------
    ValueError
        If an item was not voted on, or is not scored.
    """
    orders = read_scores(path, columns)
    voted = items.tolist()
    if strange := [item for item in orders["item"].to_numpy().tolist() if item not in set(voted)]:
        raise ValueError(
            f"{path}: {strange[0]!r}{_more(strange)}: not among the {len(voted):,} items of the votes, such as {voted[0]!r}; "
            "correct the spelling, or leave it out"
        )
    orders = orders.reindex(item=voted)
    for classifier, own in zip(orders["classifier"].to_numpy(), orders.to_numpy(), strict=True):
        if absent := items[~np.isfinite(own)].tolist():
            whose = (
                f" of classifier {str(classifier)!r}" if str(classifier) != "predictions" else ""
            )
            raise ValueError(
                f"{path}: there is no row{whose} for the item {absent[0]!r}{_more(absent)}; order all items of the votes"
            )
    return orders


def concordances(tree: xr.DataTree, orders: xr.DataArray) -> list[dict[str, Any]]:
    """Compare orders with every draw of the qualities.

    Parameters
    ----------
    tree : DataTree
        Posterior of a model of comparisons.
    orders : DataArray, dims (classifier, item)
        Scores, larger = better.

    Returns
    -------
    list of dict
        Metric, classifier, mean and 95 % interval of Kendall's tau-b; last what the best guess of the votes themselves reaches.
    """
    quality = tree["posterior"].to_dataset()["quality"]
    guess = quality.mean(("chain", "draw")).expand_dims(classifier=[BEST_GUESS])
    step = -(-quality.sizes["chain"] * quality.sizes["draw"] // MOST_DRAWS)
    some = quality.isel(draw=slice(None, None, step))
    rows = []
    for classifier, own in (*orders.groupby("classifier"), *guess.groupby("classifier")):
        order = own.squeeze("classifier", drop=True)
        found = evaluation.quality_concordance(some, order).to_numpy().ravel()
        lower, upper = np.quantile(found, [0.025, 0.975])
        rows.append(
            {
                "metric": "concordance",
                "classifier": str(classifier),
                "mean": float(found.mean()),
                "2.5 %": float(lower),
                "97.5 %": float(upper),
            }
        )
    return rows


def _more(items: Sequence[object]) -> str:
    return f" and {len(items) - 1:,} more" if len(items) > 1 else ""
