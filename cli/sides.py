"""Predictions of the side of a threshold: reading, metrics, and the mean score as a point estimate."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from .._legible import shown, some
from ..evaluation import predictions_from_table
from ..models.data.scores import Scores
from .metric_names import metric_named, natural_metrics
from .reading import as_numbers, read_columns
from .scales import mean_scores

__all__ = ["check_side_metrics", "mean_sides", "metrics_of_sides", "read_sides"]

WAYS = ("probability", "score", "label")


def _sides(threshold: float) -> list[str]:
    """Return the names of the two sides of a threshold, the lower first."""
    return [f"at most {threshold:g}", f"above {threshold:g}"]


def read_sides(path: Path, columns: Sequence[str], threshold: float) -> xr.DataArray:
    """Read predictions of the side of a threshold of each item.

    The table has a column item, optionally classifier, and one of: probability (that the score is above the
    threshold), score (on the scale of the raters), label ("above" or "at most"). The result has probabilities
    or scores (item, category), or labels (item, position), with a leading dim classifier if there are
    several. Its attribute ``way`` is the name of the column.
    """
    frame, names = read_columns(path, columns)
    way = _way_of(path, names, threshold)
    cells = np.asarray(frame[way])
    own = {name: np.asarray(frame[name]) for name in ("item", "classifier") if name in names}
    classifier = "classifier" if "classifier" in own else None
    if way == "label":
        own |= {"category": _named(path, cells, threshold), "rank": np.ones(len(cells))}
        found = predictions_from_table(own, rank="rank", classifier=classifier)
        return found.assign_attrs(way=way)
    above = _numbers(path, way, cells)
    below = 1 - above
    if way == "score":
        above, below = above - threshold, threshold - above
    lower, upper = _sides(threshold)
    both = {name: np.concatenate([column, column]) for name, column in own.items()}
    both["category"] = np.repeat([upper, lower], len(above))
    both["score"] = np.concatenate([above, below])
    found = predictions_from_table(both, score="score", classifier=classifier)
    # a score equal to the threshold is on the lower side
    in_order = found.sel(category=[lower, upper])
    return in_order.assign_attrs(way=way)


def _way_of(path: Path, names: Sequence[str], threshold: float) -> str:
    """Return the one column that holds the predictions."""
    ways = [way for way in WAYS if way in names]
    if len(ways) == 1:
        return ways[0]
    found = f"the columns {' and '.join(ways)}" if ways else f"columns {some(names)}"
    raise ValueError(
        f"{path}: found {found}; predictions of scores have item, perhaps classifier, and one of: probability (of a score "
        f"above {threshold:g}), score (on the scale of the raters), label (above or at most)"
    )


def _named(path: Path, cells: np.ndarray, threshold: float) -> np.ndarray:
    """Return the side named by each cell."""
    lower, upper = _sides(threshold)
    meant = {"at most": lower, lower: lower, "above": upper, upper: upper}
    for row, cell in enumerate(cells.tolist()):
        if cell not in meant:
            raise ValueError(
                f"{path}: row {row + 1}, column 'label': {shown(cell)} is neither 'above' nor 'at most' the threshold "
                f"{threshold:g}"
            )
    return np.array([meant[cell] for cell in cells.tolist()], np.str_)


def _numbers(path: Path, way: str, cells: np.ndarray) -> np.ndarray:
    """Return predicted scores or probabilities as numbers."""
    numbers = as_numbers(path, way, cells)
    fine, allowed = np.isfinite(numbers), "a finite number"
    if way == "probability":
        fine, allowed = (numbers >= 0) & (numbers <= 1), "a probability, from 0 to 1"
    if not fine.all():
        row = int(np.argmin(fine))
        raise ValueError(
            f"{path}: row {row + 1}, column {way!r}: {shown(cells[row])} is not {allowed}; correct the cell"
        )
    return numbers


def check_side_metrics(metrics: Sequence[str], predicted: xr.DataArray) -> None:
    """Raise if a metric needs a kind of prediction that is not given."""
    way = predicted.attrs["way"]
    enough = {"probabilities": ("probability",), "scores": ("probability", "score")}
    for name in metrics:
        needed = str(metric_named(name).response)
        if way not in enough.get(needed, WAYS):
            columns = " or ".join(map(repr, enough[needed]))
            raise ValueError(
                f"--metric {name} needs {needed}, and the predictions have a column {way!r}: give a column {columns} instead"
            )


def metrics_of_sides(tree: xr.DataTree, predicted: xr.DataArray) -> tuple[str, ...]:
    """Return the default metrics of a report; AUC also for scores that are not probabilities."""
    names = natural_metrics(tree, predicted)
    return names if "auc" in names or "category" not in predicted.dims else (*names, "auc")


def mean_sides(scores: Scores, threshold: float) -> xr.DataArray:
    """Return the plausibility (item, category) that takes the mean score of an item as certain.

    It is 1 for the side of the mean score, and 0 for both sides of items without scores.
    """
    mean = mean_scores(scores)
    values = np.stack([mean <= threshold, mean > threshold], axis=1).astype(float)
    return xr.DataArray(
        values, {"item": scores.items, "category": _sides(threshold)}, ("item", "category")
    )
