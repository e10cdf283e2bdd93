"""Outcome of a vote: a word, or the id of the winner."""

from typing import Any

import numpy as np

from .cells import first_place, kinds_of, refused_cell
from .columns import code_ids
from .errors import shown
from .matching import match_ids
from .tables import Column
from .votes import LEFT, OUTCOMES, RIGHT

__all__ = ["code_outcomes"]

NOT_READ = -1

_CODE = {word: code for code, word in enumerate(OUTCOMES)}
_WORDS = ", ".join(map(shown, OUTCOMES))


def code_outcomes(
    column: Column, items: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Code outcomes as places in `OUTCOMES`, shape (row,).

    Cells are "left", "right", "tie", or the id of one of the row's two items; words may occur among integer
    ids. Refuses missing cells, and cells that name neither an outcome nor one of the two items.

    Shapes: left, right (row,); items (item,), none of them one of the words.
    """
    kinds_of(column)  # refuses missing cells
    said = np.fromiter((_word_code(cell) for cell in column.values), np.int32, len(left))
    if (said >= 0).all():
        return said
    if items.dtype.kind != "U":
        column = _ids_for_words(column, items, said)
    used, code = code_ids(column)
    place = match_ids(used, items, "items", row=int((said < 0).argmax()) + 1, column=column.name)
    winner = place[code]
    outcome = np.select([said >= 0, winner == left, winner == right], [said, LEFT, RIGHT], NOT_READ)
    if (unread := outcome == NOT_READ).any():
        row = int(unread.argmax())
        pair = " or ".join(shown(items[side[row]].item()) for side in (left, right))
        raise refused_cell(
            column,
            row,
            "names neither an outcome nor one of the two items",
            allowed=f"{_WORDS}, or the item that won: {pair}",
            remedy="correct the cell",
        )
    return outcome.astype(np.int32)


def _word_code(cell: Any) -> int:
    """Code of a word for an outcome, else `NOT_READ`."""
    return _CODE.get(cell, NOT_READ) if isinstance(cell, str) else NOT_READ


def _ids_for_words(column: Column, items: np.ndarray, said: np.ndarray) -> Column:
    """Replace each word by an arbitrary id, so that a column of integers with the same rows remains."""
    stand_in = items[0].item()
    cells = [v if s < 0 else stand_in for v, s in zip(column.values, said.tolist(), strict=True)]
    numbers = Column(column.name, cells)
    if any(issubclass(kind, str) for kind in kinds_of(numbers)):
        raise refused_cell(
            numbers,
            first_place(numbers, lambda value: isinstance(value, str)),
            f"is text, but the items are integers such as {stand_in}",
            allowed=f"{_WORDS}, or the id of the item that won",
            remedy="write ids as text in all columns, or as integers in all",
        )
    return numbers
