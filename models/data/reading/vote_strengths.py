"""Votes that say by how much an item is better: marks such as "A>>B", and declared scales such as -2 to 2."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...._messages import short_repr
from ....posterior.table_text import folded
from ..errors import DataError, refused_argument
from .columns import FLOATS, code_ids, distinct_ids, match_ids, refused_cell
from .frames import Column
from .vote_shapes import SIDES

LEFT, RIGHT, TIE = range(3)
_MARK = re.compile(r"\[*\s*([^<>=\[\]]*?)\s*(>+|<+|=+)\s*([^<>=\[\]]*?)\s*\]*")
_FRACTION = re.compile(r"\s*-?[0-9]*[.,][0-9]*[1-9][0-9]*\s*")
_LEVELS = "all levels of the scale, the strongest for the left item first and that for the right one last"


class Strengths(NamedTuple):
    """Votes on a scale of preference."""

    outcome: np.ndarray  # int32 (vote,): left, right, tie
    strength: np.ndarray  # int32 (vote,): 0 = better, 1 = much better, ...; 0 for a tie
    strengths: int  # number of strengths of the scale; 1 = who won is all that it says


def vote_marks(texts: Iterable[str], ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """Outcome and strength of the marks among texts, such as "A>>B", ">" and "[[A=B]]"; `ids` are those of items, folded.

    The names beside the sign are words for the left and the right item that no item has.
    """
    pairs = [pair for pair in SIDES if set(pair).isdisjoint(ids)]
    order = {("", ""): 0} | {pair: 0 for pair in pairs} | {pair[::-1]: 1 for pair in pairs}
    found = {}
    for text in texts:
        if (mark := _MARK.fullmatch(text)) is None:
            continue
        turned = order.get((folded(mark[1]), folded(mark[3])))
        if turned is not None:
            sign = mark[2]
            won = TIE if sign[0] == "=" else int((sign[0] == "<") ^ bool(turned))
            found[text] = (won, 0 if won == TIE else len(sign) - 1)
    return found


def levels_in_words(strengths: int) -> list[str]:
    """Words for the levels of a scale with a tie, the strongest for the left item first, that `vote_marks` reads."""
    signs = [">" * n for n in range(strengths, 0, -1)]
    return [*(f"left{sign}right" for sign in signs), "tie", *(f"right{sign}left" for sign in reversed(signs))]


def strengths_of_marks(column: Column, outcome: np.ndarray, items: np.ndarray) -> Strengths:
    """Strengths of votes whose outcomes are known: those of marks, and 0 for other words."""
    texts = {cell for cell in column.values if isinstance(cell, str)}
    marks = vote_marks(texts, {folded(name) for name in items.tolist()})
    if all(strength == 0 for _, strength in marks.values()):
        return Strengths(outcome, np.zeros(len(outcome), np.int32), 1)
    own = (marks.get(cell, (0, 0))[1] if isinstance(cell, str) else 0 for cell in column.values)
    strength = np.fromiter(own, np.int32, len(outcome))
    return Strengths(outcome, strength, int(strength.max()) + 1)


def strengths_of_levels(
    column: Column, levels: Sequence[Any] | np.ndarray, items: np.ndarray, words: dict[str, int]
) -> Strengths:
    """Outcomes and strengths of votes on a declared scale, the strongest level for the left item first.

    `words` are those among the levels that name an outcome. Refuses a scale of which a word or mark is out of place, and cells
    that are none of the levels.
    """
    scale = distinct_ids("levels", levels)
    n, half = len(scale), len(scale) // 2
    if n < 2:
        raise _refused(f"{short_repr(scale[0].item())} is the only level", levels, "list all levels")
    outcome_of = np.r_[np.full(half, LEFT), np.full(n % 2, TIE), np.full(half, RIGHT)].astype(np.int32)
    strength_of = np.r_[np.arange(half)[::-1], np.zeros(n % 2, int), np.arange(half)].astype(np.int32)
    names = scale.tolist()
    marks = vote_marks(
        [name for name in names if isinstance(name, str)], {folded(own) for own in items.tolist()}
    )
    for place, name in enumerate(names):
        meant = marks[name][0] if name in marks else words.get(name)
        opposite = names[n - 1 - place]
        uneven = name in marks and opposite in marks and marks[name][1] != marks[opposite][1]
        if (meant is not None and meant != outcome_of[place]) or uneven:
            raise _refused(
                f"the levels are not symmetric: {short_repr(name)} is level {place + 1} of {n}, opposite "
                f"{short_repr(opposite)}",
                name,
                "list each level opposite its reverse, and a tie in the middle, also levels that nobody chose",
            )
    whole = [int(cell) if isinstance(cell, FLOATS) else cell for cell in column.values]
    used, code = code_ids(replace(column, values=whole))
    place = match_ids(used, scale, "levels", row=column.row(0), column=column.name)[code]
    if (place < 0).any():
        row = int((place < 0).argmax())
        allowed = ", ".join(map(short_repr, names))
        raise refused_cell(
            column,
            row,
            "is not one of the levels",
            allowed=allowed,
            remedy="correct it, or add it to levels=",
        )
    return Strengths(outcome_of[place], strength_of[place], max(half, 1))


def refuse_fractions(column: Column, known: Collection[Any] = ()) -> None:
    """Raise at a cell that is a fraction of a vote, such as 0.7, unless it is one of the known ids."""
    for row, cell in enumerate(column.values):
        text = isinstance(cell, str) and cell not in known and _FRACTION.fullmatch(cell) is not None
        if text or (isinstance(cell, FLOATS) and cell % 1 != 0):
            raise refused_cell(
                column,
                row,
                "is a fraction of a vote: a vote is won, lost or tied, and no law gives a part of one a probability",
                allowed="left, right, tie, the item that won, or a level of a declared scale",
                remedy="write a half as tie, shares of several votes as whole numbers of votes (count=), and strength of "
                "preference as levels of a scale (levels=)",
            )


def _refused(problem: str, value: Any, remedy: str) -> DataError:
    return refused_argument("levels", problem, value=value, allowed=_LEVELS, remedy=remedy)
