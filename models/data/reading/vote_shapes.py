"""Tables of votes without a column of the outcome: a winner beside a loser, or a mark for each outcome."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ....posterior.table_text import TRADE, columns_alike, folded
from ..errors import DataError
from .frames import PREFERRED

SIDES = (  # words for the left and the right item, without case, spaces, hyphens and underscores
    ("left", "right"),
    ("a", "b"),
    *((f"{what}a", f"{what}b") for what in ("model", "item", "option", "response", "assistant")),
)
TIES = frozenset(
    ("tie", "ties", "tied", "draw", "equal", "same", "both", "neither", "tie(bothbad)", "bothbad", "bothgood")
)
ENDS = tuple(  # columns of what won and of what lost
    (f"{won}{what}", f"{lost}{what}")
    for won, lost in (("winner", "loser"), ("better", "worse"), PREFERRED)
    for what in ("", "id", "item", "model", "name")
)
MARK = "winner"  # begins the name of a column that marks one outcome: winner_model_a, winner_tie
PROMPTS = TRADE["item"] - {"id"} | {"conversation", "conversationid", "turn", "session", "sessionid"}
AND = ", "  # between the columns that a column of outcomes is derived from


def vote_roles(names: Sequence[str], roles: Mapping[str, str]) -> dict[str, str]:
    """Columns of votes by role, of which that of the winner may be derived: its name is those of its sources.

    Names that were asked for are kept. Raises DataError at a winner beside several losers, which is no vote on two items.
    """
    if not {"left", "right", "winner"} <= roles.keys():
        return dict(roles)
    if (ends := _ends(names, roles)) is not None:
        return {**roles, "left": ends[0], "right": ends[1], "winner": AND.join(ends)}
    if folded(roles["winner"]) in {lost for _, lost in ENDS}:
        raise DataError(
            "it names who lost",
            column=roles["winner"],
            allowed="a column of who won",
            remedy="write the other item of each row, which won, and name that column",
        )
    if (several := _losers(names)) and not {roles["left"], roles["right"]} & {*names}:
        raise DataError(
            "a winner beside several losers is a choice among all of them, no vote on two items",
            column=several,
            allowed="columns left, right and winner, or winner and loser",
            remedy="write columns item, rater, category (the winner), rank (1) and shown (all of the choice, as a|b|c), "
            "and read rankings; a vote for each loser would make standard errors too small",
        )
    if roles["winner"] == "winner" and not columns_alike("winner", names, ()) and (marks := _marks(names)):
        return {**roles, "winner": AND.join(marks)}
    return dict(roles)


def prompt_columns(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """Columns that say on which prompt, conversation or turn a vote was given."""
    return [name for name in names if name not in taken and folded(name) in PROMPTS]


def is_derived(name: str, names: Sequence[str]) -> bool:
    """Whether a column is none of a table, but derived from some of it."""
    return name not in names and AND in name and all(own in names for own in name.split(AND))


def derived_outcomes(name: str, columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Outcomes of the votes: "left" beside a loser, or what is marked; raises unless one mark is set in each row."""
    sources = name.split(AND)
    cells = [columns[own] for own in sources]
    if _outcome(sources[0]) is None:
        return ["left"] * len(cells[0])
    words = [_outcome(own) for own in sources]
    found = []
    for row, marks in enumerate(zip(*cells, strict=True), 1):
        won = [str(word) for word, mark in zip(words, marks, strict=True) if _is_set(mark)]
        if len(won) != 1:
            raise DataError(
                f"{len(won)} of {AND.join(sources)} are 1",
                row=row,
                column=sources[0],
                value=marks[0],
                allowed="one of them",
                remedy="correct the vote, or leave it out",
            )
        found += won
    return found


def _is_set(mark: Any) -> bool:
    """Whether a mark is 1 or true."""
    return str(mark).strip().casefold() in ("1", "1.0", "true")


def _ends(names: Sequence[str], roles: Mapping[str, str]) -> tuple[str, str] | None:
    """Columns of the winner and the loser, where nothing says where the items stood; None if there are none."""
    by_text = {folded(name): name for name in reversed(names)}
    for won, lost in ENDS:
        if not {won, lost} <= by_text.keys():
            continue
        ends = by_text[won], by_text[lost]
        free = roles["winner"] in ("winner", ends[0])
        asked = tuple(roles[side] for side in ("left", "right"))
        by_default = (
            (won, lost) != PREFERRED
            and asked == ("left", "right")
            and not any(side in names or columns_alike(side, names, ends) for side in asked)
        )
        if free and (asked == ends or by_default):
            return ends
    return None


def _losers(names: Sequence[str]) -> str | None:
    """Column of several losers of one winner; None if there is none."""
    by_text = {folded(name): name for name in names}
    return next((by_text[f"{lost}s"] for won, lost in ENDS if won in by_text and f"{lost}s" in by_text), None)


def _marks(names: Sequence[str]) -> list[str]:
    """Columns that mark the outcomes, both sides among them; empty if there are none."""
    found = {name: word for name in names if (word := _outcome(name)) is not None}
    words = [*found.values()]
    return list(found) if words.count("left") == words.count("right") == 1 else []


def _outcome(name: str) -> str | None:
    """Outcome that a column marks: winner_model_a, winner_tie; None for another column."""
    text = folded(name)
    if not text.startswith(MARK):
        return None
    text = text.removeprefix(MARK)
    side = next((pair.index(text) for pair in SIDES if text in pair), None)
    return "tie" if text in TIES else None if side is None else ("left", "right")[side]
