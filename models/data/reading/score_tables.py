"""Reading of scores from tables of counts."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from ...._messages import short_repr
from ..coded_rows import ANONYMOUS
from ..errors import DataError
from .columns import distinct_item_ids, first_repeat
from .frames import Column, column_names, named_columns
from .numbers import Bounds, read_counts, read_scores


def counted_scores(counts: Any, item: str, bounds: Bounds | None) -> tuple[np.ndarray, ...]:
    """Read counts by item and level from a DataArray, frame or mapping.

    Returns items (item,), and item, rater, score and count of the anonymous scores, each of shape (row,).
    Levels are numbers or their decimal text. Refuses levels that are no number, repeated or out of bounds,
    counts that are not integers from 0, and repeated items.
    """
    frame, names = _level_columns(counts, item)
    level = _levels(names, bounds)
    columns = named_columns(frame, {"item": item} | {f"level {name}": name for name in names})
    table = np.stack([read_counts(columns[f"level {name}"]) for name in names], axis=1)
    items = distinct_item_ids(columns["item"], "if each row is one score, read the table by from_table")
    at, place = np.nonzero(table)
    return items, at, np.full(len(at), ANONYMOUS), level[place], table[at, place]


def _level_columns(counts: Any, item: str) -> tuple[Any, list[Any]]:
    """Table of counts and the names of its levels; a DataArray becomes a table."""
    if not hasattr(counts, "dims"):
        return counts, [name for name in column_names(counts) if name != item]
    others = [dim for dim in counts.dims if dim != item]
    if len(counts.dims) != 2 or len(others) != 1 or not {*counts.dims} <= {*counts.coords}:
        problem = f"the array has dims {tuple(counts.dims)} with coords {tuple(counts.coords)}"
        allowed = f"dim {item!r} and one of the scores, each with its coordinate"
        remedy = "name the dims, and assign the ids of the items and the numbers of the scores"
        raise DataError(problem, value=tuple(counts.dims), allowed=allowed, remedy=remedy)
    names = counts[others[0]].values.tolist()
    if item in names:
        raise _no_level(item, "is the name of the dim of the items")
    if len({*names}) < len(names):
        raise _no_level(next(name for name in names if names.count(name) > 1), "stands twice")
    cells = counts.transpose(item, others[0]).values
    return {item: counts[item].values} | {name: cells[:, k] for k, name in enumerate(names)}, names


def _levels(names: list[Hashable], bounds: Bounds | None) -> np.ndarray:
    """Scores that the columns of counts stand for, shape (level,)."""
    if not names:
        raise DataError(
            "there is no column of counts",
            allowed="a column for each score that could be given, named by its number",
            remedy="give the counts, or read a long table by from_table",
        )
    try:
        level = read_scores(Column("counts", names), bounds)
    except DataError as error:
        raise error.moved(f"column {short_repr(error.value)} of the counts") from None
    if (place := first_repeat(level)) is not None:
        raise _no_level(names[place], f"is the score {level[place]:g}, as is an earlier column")
    return level


def _no_level(name: Any, problem: str) -> DataError:
    """Error about a column of counts whose name is not a level."""
    return DataError(
        f"{short_repr(name)} {problem}",
        value=name,
        allowed="a number for each column of counts, each of them once",
        remedy="rename it, or add its counts to the other's",
        where=f"column {short_repr(name)} of the counts",
    )
