"""Conversion of scores from long tables and tables of counts, and back."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..._messages import short_repr
from .errors import DataError
from .label_tables import UNKNOWN, long_names
from .ranking_summary import range_of, second_looks
from .reading.columns import code_ids
from .reading.numbers import Bounds, read_counts, read_scores, split_counts
from .reading.tables import Column, Columns, column_names, named_columns

MANY_LEVELS = 20


class AnyScores(Protocol):
    """Structural type of `Scores`, for functions that `Scores` itself imports."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items, shape (item,)."""
        ...

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters, shape (rater,); empty if they are anonymous."""
        ...

    @property
    def annotation_item(self) -> np.ndarray:
        """Code of the item, shape (annotation,)."""
        ...

    @property
    def annotation_rater(self) -> np.ndarray:
        """Code of the rater, shape (annotation,)."""
        ...

    @property
    def score(self) -> np.ndarray:
        """Score, shape (annotation,)."""
        ...

    @property
    def count(self) -> np.ndarray:
        """Multiplicity of the score, shape (annotation,)."""
        ...

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest legal score, or None."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """Rater attributes, each of shape (rater,)."""
        ...


def scores_report(scores: AnyScores) -> str:
    """Report counts of scores, items and raters, and warnings about the data, one line each."""
    n_items, n_raters = len(scores.items), len(scores.raters)
    per_item = np.bincount(scores.annotation_item, scores.count, n_items).astype(int)
    low, high = (_by_item(scores, np.minimum, np.inf), _by_item(scores, np.maximum, -np.inf))
    several = per_item > 1
    lines = {
        "items": f"{n_items:,}",
        "raters": f"{n_raters:,}" if n_raters else "anonymous",
        "scores": f"{scores.count.sum():,}, {range_of(per_item)} an item",
        **_lines_on_values(scores),
        "items without a score": f"{(per_item == 0).sum():,}",
        "items with one score": f"{(per_item == 1).sum():,}",
        "items scored alike": f"{(several & (low == high)).sum():,} of {several.sum():,} with two scores or more",
    }
    if n_raters:
        lines |= _lines_on_raters(scores)
    if not several.any():
        lines["NOT IDENTIFIED"] = (
            "no item has two scores: only the prior says how far scores of an item spread"
        )
    lines |= second_looks({"items": scores.items, "raters": scores.raters})
    width = max(map(len, lines))
    return "\n".join(["scores", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def _by_item(scores: AnyScores, reduce: np.ufunc, start: float) -> np.ndarray:
    """Reduction of the scores of each item by minimum or maximum, shape (item,)."""
    found = np.full(len(scores.items), start)
    reduce.at(found, scores.annotation_item, scores.score)
    return found


def _lines_on_values(scores: AnyScores) -> dict[str, str]:
    """Report lines on the distribution of the scores."""
    declared = "not declared"
    if scores.bounds:
        at = [int(scores.count[scores.score == end].sum()) for end in scores.bounds]
        low, high = scores.bounds
        declared = f"{low:.12g} to {high:.12g}, {at[0]:,} scores at the lower and {at[1]:,} at the upper"
    lines = {"bounds": declared}
    level, place = np.unique(scores.score, return_inverse=True)
    if not len(level):
        return lines
    mean = np.average(scores.score, weights=scores.count)
    spread = np.sqrt(np.average((scores.score - mean) ** 2, weights=scores.count))
    lines["values"] = f"{level[0]:g} to {level[-1]:g}, mean {mean:.4g}, standard deviation {spread:.4g}"
    lines["distinct values"] = f"{len(level):,}"
    given = np.bincount(place, scores.count).astype(int)
    if len(level) <= MANY_LEVELS:
        counted = zip(level.tolist(), given.tolist(), strict=True)
        lines["scores by value"] = ", ".join(f"{value:g}: {n:,}" for value, n in counted)
    if len(level) == 1 and scores.count.sum() > 1:
        lines["CONSTANT"] = f"every score is {level[0]:g}: items cannot be distinguished"
    return lines


def _lines_on_raters(scores: AnyScores) -> dict[str, str]:
    """Report lines on scores by rater, raters of one value, and repeated scores."""
    n_raters = len(scores.raters)
    per_rater = np.bincount(scores.annotation_rater, scores.count, n_raters).astype(int)
    low, high = np.full(n_raters, np.inf), np.full(n_raters, -np.inf)
    np.minimum.at(low, scores.annotation_rater, scores.score)
    np.maximum.at(high, scores.annotation_rater, scores.score)
    pair = scores.annotation_item.astype(np.int64) * n_raters + scores.annotation_rater
    constant = (low == high) & (per_rater > 1)
    return {
        "scores by rater": range_of(per_rater),
        "raters of one value": f"{constant.sum():,} of {(per_rater > 1).sum():,} with two scores or more",
        "repeated scores": f"{scores.count.sum() - len(np.unique(pair)):,}",
    }


# --- Conversion of scores from long tables and tables of counts, and back ---


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Coded scores, one for each row of a table."""

    item: np.ndarray  # (row,) int32
    rater: np.ndarray  # (row,) int32, `UNKNOWN` if anonymous
    score: np.ndarray  # (row,) float64
    count: np.ndarray  # (row,) int64, from 0

    def where(self, kept: np.ndarray) -> Self:
        """Subset of the scores; `kept` is a mask or an array of row numbers."""
        return type(self)(self.item[kept], self.rater[kept], self.score[kept], self.count[kept])


def score_layout(given: GivenScores, n_raters: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Merge equal scores, drop counts of zero, and sort; return the raters and the arrays of `Scores`.

    `n_raters` is the number of rater codes, 0 if the raters are anonymous. Raters, shape (rater,), are old
    codes of those present, in order of first appearance item by item.
    """
    given = given.where(given.count > 0)
    first_item = np.full(n_raters, np.iinfo(np.int64).max)
    if n_raters:
        np.minimum.at(first_item, given.rater, given.item)
    gave = np.count_nonzero(first_item < np.iinfo(np.int64).max)
    present = np.argsort(first_item, kind="stable")[:gave]
    number = np.full(n_raters + 1, UNKNOWN)  # index -1 = last place: stays anonymous
    number[present] = np.arange(gave)
    pair = given.item.astype(np.int64) * (gave + 1) + number[given.rater] + 1
    order = np.lexsort((given.score, pair))
    pair, given = pair[order], given.where(order)
    is_new = (pair[1:] != pair[:-1]) | (given.score[1:] != given.score[:-1])
    opens = np.flatnonzero(np.r_[True, is_new][: len(pair)])
    count = np.add.reduceat(given.count, opens) if len(opens) else given.count
    return present, {
        "annotation_item": given.item[opens].astype(np.int32),
        "annotation_rater": number[given.rater[opens]].astype(np.int32),
        "score": given.score[opens],
        "count": count,
    }


def score_columns(frame: Any, rater: str | None, roles: dict[str, str]) -> Columns:
    """Columns of a long table by role (argument name); `rater` None means anonymous raters.

    Raises if a column is missing, or attributes are asked for without raters.
    """
    said = [name for role, name in roles.items() if role.startswith("rater_attributes")]
    if rater is None and said:
        raise DataError(
            f"column {short_repr(said[0])} describes raters who are not told apart",
            column=said[0],
            value=said,
            allowed="no rater_attributes with rater=None",
            remedy="name the column of the raters: rater=...",
            where="argument rater_attributes",
        )
    names = long_names(frame, roles | {"rater": "" if rater is None else rater})
    if rater is None:
        del names["rater"]
    return named_columns(frame, names)


def counted_scores(counts: Any, item: str, bounds: Bounds | None) -> tuple[np.ndarray, GivenScores]:
    """Read counts by item and level from a DataArray, frame or mapping; returns items and anonymous scores.

    Levels are numbers or their decimal text. Refuses levels that are no number, repeated or out of bounds,
    counts that are not integers from 0, and repeated items.
    """
    frame, names = _level_columns(counts, item)
    level = _levels(names, bounds)
    columns = named_columns(frame, {"item": item} | {f"level {name}": name for name in names})
    table = np.stack([read_counts(columns[f"level {name}"]) for name in names], axis=1)
    items, code = code_ids(columns["item"])
    if len(items) < len(code):
        raise _repeated_item(columns["item"], code)
    at, place = np.nonzero(table)
    nobody = np.full(len(at), UNKNOWN, np.int32)
    return items, GivenScores(at.astype(np.int32), nobody, level[place], table[at, place])


def long_scores(scores: AnyScores) -> dict[str, np.ndarray]:
    """Columns of the long table of `Scores.to_table`.

    A row of count 0 stands for an item without a score.
    """
    silent = np.setdiff1d(np.arange(len(scores.items)), scores.annotation_item)
    nobody = np.zeros(len(silent), np.int64)
    legal = scores.bounds[0] if scores.bounds else 0.0
    item = np.r_[scores.annotation_item, silent]
    order = np.argsort(item, kind="stable")
    table = {
        "item": scores.items[item[order]],
        "score": np.r_[scores.score, np.full(len(silent), legal)][order],
        "count": np.r_[scores.count, nobody][order],
    }
    if not len(scores.raters):
        return split_counts(table)
    rater = np.r_[scores.annotation_rater, nobody][order]
    table = {"item": table["item"], "rater": scores.raters[rater], **table}
    attributes = {name: own[rater] for name, own in scores.rater_attributes.items()}
    return split_counts(table | attributes)


def _level_columns(counts: Any, item: str) -> tuple[Any, list[Any]]:
    """Table of counts and the names of its levels; a DataArray becomes a table."""
    if not hasattr(counts, "dims"):
        return counts, [name for name in column_names(counts) if name != item]
    others = [dim for dim in counts.dims if dim != item]
    if len(counts.dims) != 2 or len(others) != 1 or not {*counts.dims} <= {*counts.coords}:
        raise DataError(
            f"the array has dims {tuple(counts.dims)} with coords {tuple(counts.coords)}",
            value=tuple(counts.dims),
            allowed=f"dim {item!r} and one of the scores, each with its coordinate",
            remedy="name the dims, and assign the ids of the items and the numbers of the scores",
        )
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
    _, first = np.unique(level, return_index=True)
    if len(first) < len(level):
        place = int(np.setdiff1d(np.arange(len(level)), first)[0])
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


def _repeated_item(column: Column, code: np.ndarray) -> DataError:
    """Error about the first row that repeats an item."""
    _, first = np.unique(code, return_index=True)
    row = int(np.setdiff1d(np.arange(len(code)), first)[0])
    return DataError(
        f"{short_repr(column.values[row])} stands in an earlier row too",
        row=row + 1,
        column=column.name,
        value=column.values[row],
        allowed="one row for each item",
        remedy="if each row is one score, read the table by from_table",
    )
