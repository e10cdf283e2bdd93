"""Conversion of labels from long and wide tables and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ..._messages import short_repr
from .errors import DataError
from .ranking_summary import range_of, second_looks
from .reading.columns import FLOATS, code_ids, is_empty
from .reading.matching import distinct_ids, match_ids, nearest
from .reading.numbers import read_counts, split_counts
from .reading.tables import Column, column_names, named_columns

UNKNOWN = -1

"""Code of an unknown gold label, and of the rater of anonymous counts."""


@dataclass(frozen=True, eq=False)
class CodedAnswers:
    """Coded answers, one for each row of a table."""

    item: np.ndarray  # (row,) int32
    rater: np.ndarray  # (row,) int32, `UNKNOWN` if anonymous
    label: np.ndarray  # (row,) int32
    count: np.ndarray  # (row,) int64, from 0

    def where(self, kept: np.ndarray) -> Self:
        """Subset of the answers; `kept` is a mask or an array of row numbers."""
        return type(self)(self.item[kept], self.rater[kept], self.label[kept], self.count[kept])


def answer_layout(answers: CodedAnswers, n_raters: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Merge equal answers, drop counts of zero, and sort; return the raters and the arrays of `Labels`.

    `n_raters` is the number of rater codes, 0 if the raters are anonymous. Raters, shape (rater,), are old
    codes of those present, in order of first appearance item by item.
    """
    answers = answers.where(answers.count > 0)
    raters, number = _number_raters(answers, n_raters)
    if n_raters:
        rater = number[answers.rater]
        answers = CodedAnswers(answers.item, rater, answers.label, answers.count)
    n_labels = int(answers.label.max(initial=0)) + 1
    pair = answers.item.astype(np.int64) * (len(raters) + 1) + answers.rater + 1
    key = pair * n_labels + answers.label
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable")
        answers, key = answers.where(order), key[order]
    opens = np.flatnonzero(np.r_[True, key[1:] != key[:-1]][: len(key)])
    count = np.add.reduceat(answers.count, opens) if len(opens) else answers.count
    first = answers.where(opens)
    return raters, {
        "annotation_item": first.item.astype(np.int32),
        "annotation_rater": first.rater.astype(np.int32),
        "label_code": first.label.astype(np.int32),
        "count": count,
    }


def _number_raters(answers: CodedAnswers, n_raters: int) -> tuple[np.ndarray, np.ndarray]:
    """Renumber raters by first appearance item by item, an order that sorting the table keeps.

    Returns the old codes of the raters present, shape (rater,), and the new code of each old one, -1 if
    absent.
    """
    first_item = np.full(n_raters, np.iinfo(np.int64).max)
    if n_raters:
        np.minimum.at(first_item, answers.rater, answers.item)
    order = np.argsort(first_item, kind="stable")
    present = order[: np.count_nonzero(first_item < np.iinfo(np.int64).max)]
    number = np.full(n_raters, UNKNOWN, np.int32)
    number[present] = np.arange(len(present))
    return present, number


def read_gold(column: Column, items: np.ndarray, item: np.ndarray, categories: np.ndarray) -> Any:
    """Read the gold labels of the items; a missing or empty cell means unknown.

    Shapes: column and item (row,); returns category codes (item,), -1 where unknown. Refuses labels outside
    the categories, and rows of one item that disagree.
    """
    gold = np.full(len(items), UNKNOWN, np.int32)
    rows = np.array([r for r, v in enumerate(column.values) if not is_empty(v)], int)
    if not len(rows):
        return gold
    used, code = code_ids(Column(column.name, [_whole(column.values[r]) for r in rows]))
    place = match_ids(used, categories, "categories", row=int(rows[0]) + 1, column=column.name)
    known = place[code]
    if (known < 0).any():
        row = int(rows[(known < 0).argmax()])
        raise _refused_gold(
            column, row, "is not one of the categories", nearest(column.values[row], categories)
        )
    np.put(gold, item[rows][::-1], known[::-1])
    if (clash := gold[item[rows]] != known).any():
        row = int(rows[clash.argmax()])
        problem = (
            f"is the truth of item {short_repr(items[item[row]].item())}, but an earlier row says otherwise"
        )
        raise _refused_gold(column, row, problem, "one true category for each item")
    return gold


def _whole(value: Any) -> Any:
    """Undo the float that a missing cell elsewhere makes of an integer."""
    return int(value) if isinstance(value, float | np.floating) and value.is_integer() else value


def _refused_gold(column: Column, row: int, problem: str, allowed: str) -> DataError:
    value = column.values[row]
    return DataError(
        f"{short_repr(value)} {problem}",
        row=row + 1,
        column=column.name,
        value=value,
        allowed=allowed,
        remedy="correct the cell, or leave it empty where the truth is not known",
    )


# --- Text of `Labels.report` ---


class AnyLabels(Protocol):
    """Structural type of `Labels`, for functions that `Labels` itself imports."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items, shape (item,)."""
        ...

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters, shape (rater,); empty if they are anonymous."""
        ...

    @property
    def categories(self) -> np.ndarray:
        """Ids of the categories, shape (category,)."""
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
    def label_code(self) -> np.ndarray:
        """Code of the label, shape (annotation,)."""
        ...

    @property
    def count(self) -> np.ndarray:
        """Multiplicity of the answer, shape (annotation,)."""
        ...

    @property
    def counts(self) -> np.ndarray:
        """Counts of labels, shape (item, category)."""
        ...

    @property
    def gold(self) -> np.ndarray:
        """Code of the true category or -1, shape (item,)."""
        ...

    @property
    def identified(self) -> bool:
        """Identifiability of errors apart from rare categories."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """Rater attributes, each of shape (rater,)."""
        ...


def labels_report(labels: AnyLabels) -> str:
    """Report counts of answers, items, raters and categories, and warnings about the data, one line each."""
    n_items, n_raters, n_categories = map(len, (labels.items, labels.raters, labels.categories))
    per_item = np.bincount(labels.annotation_item, labels.count, n_items).astype(int)
    given = np.bincount(labels.label_code, labels.count, n_categories).astype(int)
    lines = {
        "items": f"{n_items:,}, {(labels.gold >= 0).sum():,} with a known truth",
        "raters": f"{n_raters:,}" if n_raters else "anonymous",
        "answers": f"{labels.count.sum():,}, {range_of(per_item)} an item",
        "categories": f"{n_categories:,} declared, {(given > 0).sum():,} given",
        "answers by category": ", ".join(
            f"{short_repr(k)} {n:,}" for k, n in zip(labels.categories[:20].tolist(), given, strict=False)
        ),
        "items without an answer": f"{(per_item == 0).sum():,}",
        "items with one answer": f"{(per_item == 1).sum():,}",
    }
    if n_raters:
        per_rater = np.bincount(labels.annotation_rater, labels.count, n_raters).astype(int)
        lines["answers by rater"] = range_of(per_rater)
        lines["repeated answers"] = f"{_repeats(labels):,}"
    if not labels.identified:
        lines["NOT IDENTIFIED"] = "no item has two answers: only the prior says who errs, and how often"
    lines |= second_looks({"items": labels.items, "raters": labels.raters, "categories": labels.categories})
    width = max(map(len, lines))
    return "\n".join(["labels", *(f"  {k:<{width}}  {v}" for k, v in lines.items())])


def _repeats(labels: AnyLabels) -> int:
    """Count the answers that repeat an (item, rater) pair."""
    pair = labels.annotation_item.astype(np.int64) * len(labels.raters) + labels.annotation_rater
    return int(labels.count.sum() - len(np.unique(pair)))


# --- Conversion of labels from long and wide tables and back ---

MAX_ITEMS = 10_000_000

CROWD_KIT = {"item": "task", "rater": "worker"}


def long_names(frame: Any, roles: dict[str, str]) -> dict[str, str]:
    """Column names by role (argument name); crowd-kit's names serve where the default names are missing."""
    there = set(column_names(frame))
    found = dict(roles)
    for role, theirs in CROWD_KIT.items():
        if found[role] == role and role not in there and theirs in there:
            found[role] = theirs
    return found


def wide_columns(
    frame: Any, raters: Sequence[str], item: str | None, count: str | None
) -> tuple[np.ndarray, dict[str, Column], np.ndarray, np.ndarray]:
    """Melt a wide table to one row for each answer.

    Returns items; columns rater and label (answer,); row of each answer (answer,); and repeats (row,), the
    number of items that each row stands for. Raises if a column is missing, an item is repeated, or a count
    is wrong.
    """
    names = distinct_ids("raters", raters).tolist()
    extra = {k: v for k, v in {"item": item, "count": count}.items() if v is not None}
    columns = named_columns(frame, {f"raters {name}": name for name in names} | extra)
    answers = [_whole_cells(columns[f"raters {name}"]) for name in names]
    repeats = np.ones(len(answers[0].values), np.int64)
    if count is not None:
        repeats = read_counts(columns["count"])
        if repeats.sum() > MAX_ITEMS:
            raise DataError(
                f"the counts add up to {repeats.sum():,} items",
                column=count,
                value=int(repeats.sum()),
                allowed=f"{MAX_ITEMS:,} items",
                remedy="split the table",
            )
    items = item_ids(columns.get("item"), repeats, count is not None)
    given = [
        (row, name, column.values[row])
        for row in np.flatnonzero(repeats).tolist()
        for name, column in zip(names, answers, strict=True)
        if not is_empty(column.values[row])
    ]
    if not given:
        raise DataError("no cell of the raters' columns holds an answer", remedy="check the columns")
    row, rater, label = map(list, zip(*given, strict=True))
    long = {"rater": Column("rater", rater), "label": Column("label", label)}
    return items, long, np.array(row), repeats


def items_of_rows(row: np.ndarray, repeats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the answers of each row for every item that the row stands for.

    Shapes: row (answer,); repeats (row,); returns item codes and answer numbers, both (repeated answer,).
    """
    first, times = np.cumsum(repeats) - repeats, repeats[row]
    answer = np.repeat(np.arange(len(row)), times)
    nth = np.arange(len(answer)) - np.repeat(np.cumsum(times) - times, times)
    return (first[row][answer] + nth).astype(np.int32), answer


def long_columns(labels: AnyLabels) -> dict[str, np.ndarray]:
    """Columns of the long table of `Labels.to_table`; anonymous labels become a table of counts.

    A row of count 0 stands for an item without an answer.
    """
    if not len(labels.raters):
        counts = {str(k): labels.counts[:, c] for c, k in enumerate(labels.categories.tolist())}
        return {"item": labels.items, **counts}
    silent = np.setdiff1d(np.arange(len(labels.items)), labels.annotation_item)
    nobody = np.zeros(len(silent), np.int64)
    item = np.r_[labels.annotation_item, silent]
    order = np.argsort(item, kind="stable")
    item, rater = item[order], np.r_[labels.annotation_rater, nobody][order]
    table = {
        "item": labels.items[item],
        "rater": labels.raters[rater],
        "label": labels.categories[np.r_[labels.label_code, nobody][order]],
        "count": np.r_[labels.count, nobody][order],
    }
    if (labels.gold >= 0).any():
        names = np.array([*labels.categories.tolist(), ""], object)
        table["gold"] = names[labels.gold[item]]
    attributes = {name: own[rater] for name, own in labels.rater_attributes.items()}
    return split_counts(table | attributes)


def _whole_cells(column: Column) -> Column:
    """Undo the floats that a missing cell makes of a column of integers."""
    floats = [v for v in column.values if isinstance(v, FLOATS) and v == v]
    if floats and len(floats) < len(column.values) and all(v.is_integer() for v in floats):
        values = [int(v) if isinstance(v, FLOATS) and v == v else v for v in column.values]
        return Column(column.name, values, column.declared)
    return column


def item_ids(column: Column | None, repeats: np.ndarray, are_patterns: bool) -> np.ndarray:
    """Ids of the items; None as column numbers the rows from 0.

    Shapes: column and repeats (row,), the number of items that a row stands for. With `are_patterns` the
    items of a row get the ids "row.1", "row.2"... Raises if an id is repeated.
    """
    ids = np.arange(len(repeats))
    if column is not None:
        ids, code = code_ids(column)
        if len(ids) < len(code):
            row = int(np.setdiff1d(np.arange(len(code)), np.unique(code, return_index=True)[1])[0])
            raise DataError(
                f"{short_repr(column.values[row])} stands in an earlier row too",
                row=row + 1,
                column=column.name,
                value=column.values[row],
                allowed="one row for each item",
                remedy="if each row is one answer the table is long, not wide: read it by from_table, or --layout long",
            )
    if not are_patterns:
        return ids
    numbered = [
        f"{name}.{k}" for name, n in zip(ids.tolist(), repeats.tolist(), strict=True) for k in range(1, n + 1)
    ]
    return np.array(numbered, np.str_)
