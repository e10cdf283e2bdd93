"""Reading of wide tables, tables of counts, and gold labels."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...._messages import first_reprs, short_repr, warn_user
from ..coded_rows import ANONYMOUS
from ..container import MANY
from ..errors import DataError, DataWarning, refused_argument
from ..no_answers import NoAnswer, categories_of, matcher, tell_left_out, without_no_answer
from .coded_cells import CodedCells
from .columns import (
    POINT,
    cells_that,
    code_ids,
    distinct_ids,
    distinct_item_ids,
    first_repeat,
    is_empty,
    match_ids,
    nearest,
    whole_columns,
)
from .frames import Column, column_names, named_columns
from .numbers import Bounds, number_of, read_counts, read_scores

MAX_ITEMS = 10_000_000
UNKNOWN = -1  # code of an unknown gold label

_ANSWER_ROWS = (
    "if each row is one answer the table is long, not wide: read it by from_table, or --layout long"
)


def read_gold(column: Column, items: np.ndarray, item: np.ndarray, categories: np.ndarray) -> Any:
    """Read the gold labels of the items; a missing or empty cell means unknown.

    Shapes: column and item (row,); returns category codes (item,), -1 where unknown. Refuses labels outside
    the categories, and rows of one item that disagree.
    """
    gold = np.full(len(items), UNKNOWN, np.int32)
    rows = np.flatnonzero(~cells_that(column.values, is_empty))
    if not len(rows):
        return gold
    cells = column.values
    given = cells.kept(rows) if isinstance(cells, CodedCells) else [_whole(cells[r]) for r in rows.tolist()]
    used, code = code_ids(Column(column.name, given))
    used = written_as(used, categories)
    place = match_ids(used, categories, "categories", row=column.row(int(rows[0])), column=column.name)
    several = np.array(
        [own < 0 and _names_several(text, categories) for own, text in zip(place, used.tolist(), strict=True)]
    )
    if (out := several[code]).any():
        rows_of = rows[out]
        example = short_repr(cells[int(rows_of[0])])
        warn_user(
            f"{len(rows_of):,} gold labels accept several categories, such as {example}, and are taken as unknown",
            DataWarning,
        )
        rows, code = rows[~out], code[~out]
    known = place[code]
    if (known < 0).any():
        row = int(rows[(known < 0).argmax()])
        allowed = nearest(column.values[row], categories)
        raise _refused_gold(column, row, "is not one of the categories", allowed)
    np.put(gold, item[rows][::-1], known[::-1])
    if (clash := gold[item[rows]] != known).any():
        row = int(rows[clash.argmax()])
        name = short_repr(items[item[row]].item())
        problem = f"is the truth of item {name}, but an earlier row says otherwise"
        raise _refused_gold(column, row, problem, "one true category for each item")
    return gold


def _names_several(text: Any, categories: np.ndarray) -> bool:
    """Test for a gold label with several categories, each on a line of its own, as test questions of Figure Eight have."""
    names = text.splitlines() if isinstance(text, str) else []
    return len(names) > 1 and bool(np.isin(names, categories).all())


def _whole(value: Any) -> Any:
    """Undo the float that a missing cell elsewhere makes of an integer."""
    return int(value) if isinstance(value, float | np.floating) and value.is_integer() else value


def written_as(truths: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Write "1.0" as "1", (truth,), where only that is a category: gold has gaps, of which libraries make floats."""
    if truths.dtype.kind != "U" or categories.dtype.kind != "U":
        return truths
    known = {*categories.tolist()}
    short = [text.removesuffix(POINT) for text in truths.tolist()]
    return np.array(
        [
            own if own in known and text not in known else text
            for own, text in zip(short, truths.tolist(), strict=True)
        ],
        np.str_,
    )


def _refused_gold(column: Column, row: int, problem: str, allowed: str) -> DataError:
    value = column.values[row]
    problem = f"{short_repr(value)} {problem}"
    remedy = "correct the cell, or leave it empty where the truth is not known"
    return DataError(
        problem, row=column.row(row), column=column.name, value=value, allowed=allowed, remedy=remedy
    )


def wide_columns(
    frame: Any,
    kind: str,
    raters: Sequence[str] | None,
    item: str | None,
    count: str | None,
    no_answer: NoAnswer = (),
) -> tuple[np.ndarray, dict[str, Column], np.ndarray, np.ndarray]:
    """Melt a wide table to one row for each answer, without those of `no_answer`, which is said.

    Where no raters are named, columns that may be none are said.

    Returns items; columns rater and label (answer,); row of each answer (answer,); and repeats (row,), the
    number of items that each row stands for. Raises if a column is missing, an item is repeated, or a count
    is wrong.
    """
    named = raters is not None
    if raters is None:
        columns = column_names(frame)
        item = "item" if item is None and "item" in columns else item
        raters = [name for name in columns if name not in (item, count)]
    names = distinct_ids("raters", raters).tolist()
    extra = {k: v for k, v in {"item": item, "count": count}.items() if v is not None}
    columns = named_columns(frame, {f"raters {name}": name for name in names} | extra)
    answers = [list(column.values) for column in whole_columns([columns[f"raters {n}"] for n in names])]
    if not named and (
        odd := odd_raters(dict(zip(names, answers, strict=True)), kind, lambda kept: f"raters={kept}")
    ):
        warn_user(odd, DataWarning)
    repeats = np.ones(len(answers[0]), np.int64)
    if count is not None:
        repeats = read_counts(columns["count"])
        if repeats.sum() > MAX_ITEMS:
            problem, allowed = f"the counts add up to {repeats.sum():,} items", f"{MAX_ITEMS:,} items"
            remedy = "split the table"
            raise DataError(problem, column=count, value=int(repeats.sum()), allowed=allowed, remedy=remedy)
    items = np.arange(len(repeats))
    if item is not None:
        items = distinct_item_ids(columns["item"], _ANSWER_ROWS)
    if count is not None:
        pairs = zip(items.tolist(), repeats.tolist(), strict=True)
        items = np.array([f"{name}.{k}" for name, n in pairs for k in range(1, n + 1)], np.str_)
    given = [
        (row, name, cells[row])
        for row in np.flatnonzero(repeats).tolist()
        for name, cells in zip(names, answers, strict=True)
        if not is_empty(cells[row])
    ]
    given = without_no_answer(given, no_answer)
    if not given:
        raise DataError("no cell of the raters' columns holds an answer", remedy="check the columns")
    row, rater, label = map(list, zip(*given, strict=True))
    long = {"rater": Column("rater", rater), "label": Column("label", label)}
    return items, long, np.array(row), repeats


def odd_raters(
    columns: Mapping[Any, Sequence[Any]], kind: str, repeated: Callable[[Sequence[Any]], str]
) -> str:
    """Say which columns, all taken as raters, may be none: a key of the rows, or nothing that the others hold.

    `repeated` names the columns of raters in words.
    """
    cells = {  # cells that are lists or objects are refused by the container
        name: [own for own in column if isinstance(own, Hashable) and not is_empty(own)]
        for name, column in columns.items()
    }
    numbers = {name: [n for n in map(number_of, {*own}) if n is not None] for name, own in cells.items()}
    found = (
        dict.fromkeys(_beyond(numbers), "has all values beyond those of the others")
        if kind == "scores"
        else dict.fromkeys(_apart(cells), "shares no label with the others")
    )
    found |= {name: "counts the rows" for name, own in cells.items() if _counts(numbers[name], len(own))}
    found = {name: found[name] for name in cells if name in found}
    if not 0 < len(found) < len(cells):
        return ""
    kept = [name for name in cells if name not in found]
    return (
        f"each column is a rater, {first_reprs(list(cells))}, and {first_reprs(found)} {next(iter(found.values()))}. "
        f"If that is no rater, name those who are: {repeated(kept)}"
    )


def _counts(numbers: Sequence[float], cells: int) -> bool:
    """Whether the distinct numbers of a column are whole, follow each other, and are as many as its cells, many."""
    follow = len(numbers) == cells >= MANY and max(numbers) - min(numbers) == len(numbers) - 1
    return follow and all(number.is_integer() for number in numbers)


def _beyond(numbers: Mapping[Any, Sequence[float]]) -> list[Any]:
    """Columns whose numbers are all above, or all below, those of all others."""
    ends = {name: (min(own), max(own)) for name, own in numbers.items() if own}
    rest = {name: [ends[other] for other in ends if other != name] for name in ends}
    return [
        name
        for name, (low, high) in ends.items()
        if rest[name]
        and (low > max(top for _, top in rest[name]) or high < min(end for end, _ in rest[name]))
    ]


def _apart(cells: Mapping[Any, Sequence[Any]]) -> list[Any]:
    """Columns that share no label with any other."""
    texts = {name: {str(value).removesuffix(POINT) for value in {*own}} for name, own in cells.items() if own}
    held = Counter(text for own in texts.values() for text in own)
    return [name for name, own in texts.items() if len(texts) > 1 and all(held[text] == 1 for text in own)]


@contextmanager
def at_wide_cells(rater: Column, row: np.ndarray) -> Iterator[None]:
    """Context manager: an error about an answer names the row, shape (answer,), and the column of a wide table."""
    try:
        yield
    except DataError as error:
        if error.row is None:
            raise
        place = error.row - 1
        raise error.moved(f"row {row[place] + 1:,}, column {short_repr(rater.values[place])}") from None


def items_of_rows(row: np.ndarray, repeats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the answers of each row for every item that the row stands for.

    Shapes: row (answer,); repeats (row,); returns item codes and answer numbers, both (repeated answer,).
    """
    first, times = np.cumsum(repeats) - repeats, repeats[row]
    answer = np.repeat(np.arange(len(row)), times)
    nth = np.arange(len(answer)) - np.repeat(np.cumsum(times) - times, times)
    return (first[row][answer] + nth).astype(np.int32), answer


def counted_columns(
    counts: Any, item: str, categories: Sequence[Any] | np.ndarray | None, no_answer: NoAnswer = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read counts from a DataArray, frame or mapping; returns items, categories, and counts (item, category).

    `item` names the column or dim of the items; `categories` chooses and orders the others, without those of `no_answer`,
    which is said. Refuses counts that are not integers from 0, repeated items, and fewer than two categories.
    """
    if hasattr(counts, "dims"):
        frame, labels = _array_columns(counts, item)
    else:
        frame, labels = counts, [name for name in column_names(counts) if name != item]
    there = distinct_ids("categories", labels)
    categories = categories_of(labels if categories is None else categories, no_answer)
    names = there if categories is None else distinct_ids("categories", categories)
    place = match_ids(names, there, "categories")
    if (place < 0).any():
        unknown = names[(place < 0).argmax()].item()
        problem, allowed = f"{short_repr(unknown)} has no counts", nearest(unknown, there)
        remedy = "choose among the columns, or labels, that have counts"
        raise refused_argument("categories", problem, value=unknown, allowed=allowed, remedy=remedy)
    if len(names) < 2:
        problem = f"{short_repr(names[0].item())} is the only category: there is nothing to choose from"
        allowed, remedy = "a closed set of two or more categories", "give counts of the others as well"
        raise DataError(problem, value=names[0].item(), allowed=allowed, remedy=remedy)
    if item != "item" and "item" in names.tolist():
        problem = "a category is called 'item', as is the column of ids"
        raise DataError(problem, column="item", value="item", remedy="give the category another name")
    keys = [labels[k] for k in place]
    columns = named_columns(frame, {"item": item} | {f"categories {k}": k for k in keys})
    table = np.stack([read_counts(columns[f"categories {k}"]) for k in keys], axis=1)
    _tell_counts_left_out(frame, labels, no_answer, int(table.sum()))
    return distinct_item_ids(columns["item"], _ANSWER_ROWS), names, table


def _tell_counts_left_out(frame: Any, names: Sequence[Any], no_answer: NoAnswer, kept: int) -> None:
    """Say how many counts of columns that stand for no answer are left out beside those that are kept."""
    if out := [name for name in names if matcher(no_answer)(name)]:
        columns = named_columns(frame, {f"counts {name}": name for name in out})
        left = {name: int(read_counts(columns[f"counts {name}"]).sum()) for name in out}
        tell_left_out(sum(left.values()), sum(left.values()) + kept, left)


def _array_columns(counts: Any, item: str) -> tuple[dict[str, Any], list[Any]]:
    """Columns of a DataArray of counts, and the labels of its categories, which may be integers."""
    if set(counts.dims) != {item, "category"} or not {item, "category"} <= set(counts.coords):
        problem = f"the array has dims {tuple(counts.dims)} with coords {tuple(counts.coords)}"
        allowed = f"dims ({item!r}, 'category'), each with its coordinate"
        remedy = "name the dims, and assign the ids of items and categories"
        raise DataError(problem, value=tuple(counts.dims), allowed=allowed, remedy=remedy)
    labels = counts["category"].values.tolist()
    cells = counts.transpose(item, "category").values
    return {item: counts[item].values} | {k: cells[:, c] for c, k in enumerate(labels)}, labels


# --- Counts of scores ---


def counted_scores(
    counts: Any, item: str, bounds: Bounds | None, no_answer: NoAnswer = ()
) -> tuple[np.ndarray, ...]:
    """Read counts by item and level from a DataArray, frame or mapping, without the levels of `no_answer`, which is said.

    Returns items (item,), and item, rater, score and count of the anonymous scores, each of shape (row,).
    Levels are numbers or their decimal text. Refuses levels that are no number, repeated or out of bounds,
    counts that are not integers from 0, and repeated items.
    """
    frame, given = _level_columns(counts, item)
    names = categories_of(given, no_answer)
    level = _levels(names, bounds)
    columns = named_columns(frame, {"item": item} | {f"level {name}": name for name in names})
    table = np.stack([read_counts(columns[f"level {name}"]) for name in names], axis=1)
    _tell_counts_left_out(frame, given, no_answer, int(table.sum()))
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
