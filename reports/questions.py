"""Section of a report with the most informative further annotations."""

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
    """Section with the questions to ask next.

    `rows` has a row for each question, the most informative first, with ``bits``, the information expected
    from one more answer; `names` are the questions in words, `whom` a sentence on whom to ask, `asked` the
    task of the rater.
    """
    worth = sum(row["bits"] > 0 for row in rows)
    first = few(names[:NAMED], joint=", " if asked == ABOUT else "; ")
    text = (
        f"Ask one more rater {asked}: {first}. They are ordered by the information expected from one more answer; it is "
        f"positive for {worth:,} of {len(rows):,}. One bit decides between two equally probable answers. {whom}"
        if worth
        else f"No information is expected from one more answer to any of {len(rows):,} questions. {whom}"
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
