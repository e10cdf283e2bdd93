"""What to annotate once more: the last word of a report."""

from collections.abc import Mapping, Sequence
from typing import Any

from .page import Section
from .words import few

__all__ = ["question_section"]

NAMED = 5
ITEMS_SHOWN = 10
ABOUT = "about these first"


def question_section(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    whom: str = "",
    asked: str = ABOUT,
) -> Section:
    """Return what to ask next.

    Parameters
    ----------
    rows : sequence of mappings
        A row for each question, the most informative first, with ``bits``, the information expected in one more answer.
    names : sequence of str
        The questions in words.
    whom : str
        A sentence on whom to ask.
    asked : str
        What a rater is asked.

    Returns
    -------
    Section
        With the whole table.
    """
    worth = sum(row["bits"] > 0 for row in rows)
    first = few(names[:NAMED], joint=", " if asked == ABOUT else "; ")
    text = (
        f"Ask one more rater {asked}: {first}. They are ordered by how much one more answer is expected to tell; {worth:,} of "
        f"{len(rows):,} promise anything. One bit settles an even doubt between two answers. {whom}"
        if worth
        else f"One more answer is not expected to tell anything, of any of {len(rows):,} questions. {whom}"
    )
    return Section(
        "What to re-annotate" if asked == ABOUT else "What to ask next",
        text.strip(),
        rows=rows,
        file="ask_next",
        key="ask_next",
        shown=[_shown(row) for row in rows],
        most=ITEMS_SHOWN,
        facts={"first": list(names[:NAMED]) if worth else []},
    )


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {("bits expected" if name == "bits" else name): value for name, value in row.items()}
