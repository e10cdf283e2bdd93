"""Layout of labels: coded rows are merged and sorted by item, then rater, then label."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .cells import is_empty
from .columns import code_ids
from .errors import DataError, shown
from .matching import match_ids, nearest
from .tables import Column

__all__ = ["UNKNOWN", "CodedAnswers", "answer_layout", "read_attributes", "read_gold"]

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
        problem = f"is the truth of item {shown(items[item[row]].item())}, but an earlier row says otherwise"
        raise _refused_gold(column, row, problem, "one true category for each item")
    return gold


def _whole(value: Any) -> Any:
    """Undo the float that a missing cell elsewhere makes of an integer."""
    return int(value) if isinstance(value, float | np.floating) and value.is_integer() else value


def _refused_gold(column: Column, row: int, problem: str, allowed: str) -> DataError:
    value = column.values[row]
    return DataError(
        f"{shown(value)} {problem}",
        row=row + 1,
        column=column.name,
        value=value,
        allowed=allowed,
        remedy="correct the cell, or leave it empty where the truth is not known",
    )


def read_attributes(
    columns: Mapping[str, Column], raters: np.ndarray, rater: np.ndarray
) -> dict[str, np.ndarray]:
    """Read rater attributes, such as their kind; returns an array (rater,) of text or integers for each name.

    Shapes: columns and rater (row,). Refuses missing cells, and rows of one rater that disagree.
    """
    found = {}
    for name, column in columns.items():
        values, code = code_ids(column)
        own = np.empty(len(raters), np.int32)
        np.put(own, rater[::-1], code[::-1])
        if (clash := own[rater] != code).any():
            row = int(clash.argmax())
            raise DataError(
                f"{shown(column.values[row])} is the {name} of rater {shown(raters[rater[row]].item())}, "
                f"who was {shown(values[own[rater[row]]].item())} in an earlier row",
                row=row + 1,
                column=column.name,
                value=column.values[row],
                allowed="one value for each rater",
                remedy="correct the cell, or give the two raters different ids",
            )
        found[name] = values[own]
    return found
