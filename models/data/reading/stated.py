"""Probabilities that raters state: a column of the confidence in the label given, or of the last of two categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...._messages import short_repr
from ....posterior.table_text import TRADE, folded
from ..errors import DataError
from .columns import code_values, is_blank, refused_cell, whole_cells
from .frames import Column, Columns, column_names
from .numbers import is_number, number_of

LABEL, PROBABILITY = "label", "probability"
STATED = "the label that the probability is for"  # name of the column that is made of the probabilities
CERTAIN = 1.0  # probability of a label given without one
_ALLOWED = "probabilities, from 0 to 1"


def label_beside(frame: Any, label: Any, probability: str | None) -> Any:
    """Return the column of labels, None if the probabilities stand alone: where the default one is not there."""
    if probability is None or label != LABEL:
        return label
    names = [name for name in column_names(frame) if name != probability]
    return label if any(folded(name) in TRADE[LABEL] for name in names) else None


def read_probabilities(column: Column, *, alone: bool) -> np.ndarray:
    """Read a column of probabilities (row,); a cell may be empty, for a label that is certain, unless they stand alone.

    Refuses cells that are missing, no numbers, or outside 0 to 1, and columns that say the same in every row.
    """
    column = whole_cells(column)
    values = [None if is_blank(cell) else cell for cell in column.values]
    if alone and None in values:
        raise refused_cell(column, values.index(None), "is a missing cell", remedy=column.fill_in)
    code, distinct = code_values(values)
    numbers = [CERTAIN if cell is None else number_of(cell) if is_number(cell) else None for cell in distinct]
    for place, number in enumerate(numbers):
        if number is None or not 0 <= number <= 1:
            row = int((code == place).argmax())
            problem = "is no number" if number is None else "is no probability"
            remedy = "write the probability as a number such as .87"
            if number is not None and 1 < number <= 100:
                remedy = "divide percentages by 100"
            elif number is not None:
                remedy = "turn log probabilities into probabilities by exp, and log odds by 1 / (1 + exp(-x))"
            raise refused_cell(column, row, problem, allowed=_ALLOWED, remedy=remedy)
    found = np.array(numbers, float)[code]
    if len(found) > 1 and (found == found[0]).all():
        problem = f"column {short_repr(column.name)} says {found[0]:g} in every row, which tells nothing"
        remedy = "name another column, or leave probability= out"
        raise DataError(problem, column=column.name, value=float(found[0]), remedy=remedy)
    return found


def categories_of_probabilities(columns: Columns, categories: Any) -> Sequence[Any]:
    """Return the two categories, of which the probabilities are those of the last: declared, those of gold, or 0 and 1."""
    if categories is None and "gold" in columns:
        known = {cell for cell in columns["gold"].values if not is_blank(cell)}
        numbers = next((own for own in ([0, 1], ["0", "1"]) if known <= set(own)), None)
        categories = numbers or sorted(known, key=lambda cell: (str(type(cell)), cell))
    categories = [0, 1] if categories is None else list(categories)
    if len(categories) != 2:
        raise DataError(
            f"{len(categories)} categories are given, and probabilities without labels are those of the last of two",
            value=categories,
            allowed='two categories, such as categories=["no", "yes"]',
            remedy="declare them, or name the column of labels: the probability is then that of the label given",
            where="argument categories",
        )
    return categories


def labelled(columns: Columns, stated: np.ndarray, categories: Sequence[Any]) -> Columns:
    """Columns with one of labels, the likelier of two categories; at .5 the last."""
    values = [categories[int(p >= 0.5)] for p in stated.tolist()]
    labels = Column(STATED, values, list(categories))

    def take(name: str) -> Column:
        return labels if name == STATED else columns.take(name)

    return Columns({**columns.names, LABEL: STATED}, take)


def refuse_unlikely(column: Column, stated: np.ndarray, n_categories: int) -> None:
    """Raise at a label of two categories that has less than half of the probability."""
    if n_categories != 2 or not (stated < 0.5).any():
        return
    raise refused_cell(
        column,
        int((stated < 0.5).argmax()),
        "is a probability below .5 of the label given, so that the other label is likelier",
        allowed="the probability of the label given, from .5 to 1 with two categories",
        remedy="if it is that of one category whatever the label, leave the labels out: label=None, categories=[other, that one]",
    )
