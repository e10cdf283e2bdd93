"""Concordance of proposed rankings with the posterior of comparisons."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats

from .. import evaluation
from .metric_names import CONCORDANCE
from .reading import read_scores

__all__ = ["concordances", "order_pairs", "read_orders"]

BEST_GUESS = "(posterior mean)"
ENDS = (0.05, 0.95)
MOST_DRAWS = 1000  # more would hardly change the intervals, and the cost is linear


def read_orders(path: Path, columns: Sequence[str], items: np.ndarray) -> xr.DataArray:
    """Read scores or ranks of the items, aligned to the items of the votes, dims (classifier, item).

    Larger scores are better. Raises ValueError if an item has no votes, or no score.
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
    """Return Kendall's tau-b of proposed rankings (classifier, item) with every draw of the qualities.

    A row per classifier: mean, 90 % interval, standard deviation, Monte-Carlo error; the last row is the
    posterior mean order of the votes themselves.
    """
    some = _some_draws(tree)
    guess = some.mean(("chain", "draw")).expand_dims(classifier=[BEST_GUESS])
    rows = []
    for classifier, found in {**_by_order(some, orders), **_by_order(some, guess)}.items():
        lower, upper = np.quantile(found, ENDS).tolist()
        rows.append(
            {
                "metric": CONCORDANCE,
                "classifier": classifier,
                "mean": float(found.mean()),
                "lower": lower,
                "upper": upper,
                "sd": float(found.std()),
                "mcse": _mcse(found),
            }
        )
    return rows


def order_pairs(tree: xr.DataTree, orders: xr.DataArray) -> list[dict[str, Any]]:
    """Compare proposed rankings (classifier, item) pairwise, on the same draws.

    A row per pair, the one with the better mean first: difference, 90 % interval, probability of being
    better.
    """
    found = _by_order(_some_draws(tree), orders)
    names = sorted(found, key=lambda name: -found[name].mean())
    rows = []
    for better, worse in combinations(names, 2):
        apart = found[better] - found[worse]
        lower, upper = np.quantile(apart, ENDS).tolist()
        ahead = float((apart > 0).mean() + 0.5 * (apart == 0).mean())
        rows.append(
            {
                "metric": CONCORDANCE,
                "classifier": better,
                "other": worse,
                "difference": float(apart.mean()),
                "lower": lower,
                "upper": upper,
                "probability_better": ahead,
                "mcse": _mcse(apart),
            }
        )
    return rows


def _some_draws(tree: xr.DataTree) -> xr.DataArray:
    """Return the qualities, thinned evenly."""
    quality = tree["posterior"].to_dataset()["quality"]
    step = -(-quality.sizes["chain"] * quality.sizes["draw"] // MOST_DRAWS)
    return quality.isel(draw=slice(None, None, step))


def _by_order(quality: xr.DataArray, orders: xr.DataArray) -> dict[str, np.ndarray]:
    """Return the concordance of each ranking with each draw, shape (chain, draw)."""
    return {
        str(name): evaluation.quality_concordance(quality, orders.isel(classifier=i, drop=True))
        .transpose("chain", "draw")
        .to_numpy()
        for i, name in enumerate(orders["classifier"].to_numpy())
    }


def _mcse(values: np.ndarray) -> float:
    """Return the Monte-Carlo error of the mean of draws (chain, draw); 0 if all are equal."""
    error: Any = array_stats.mcse(values) if np.ptp(values) > 0 else 0.0
    return float(error)


def _more(items: Sequence[object]) -> str:
    return f" and {len(items) - 1:,} more" if len(items) > 1 else ""
