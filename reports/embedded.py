"""Data inside the page, as JSON that its script reads: rows of long tables, and items; both of bounded size."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from markupsafe import Markup

from .items import Items

ITEM_BYTES = 2_000_000  # of all items
TABLE_BYTES = 500_000  # of the rows of one table
MOST_ROWS = 200  # of one table of one item
# what could end the element, or begin another
IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


class Embedded(NamedTuple):
    """Content of a data element, and the number of rows or items in it."""

    json: Markup
    count: int


def cell_text(value: object) -> str:
    """Text of a cell: numbers below 10 to three decimals, from 100 whole ones."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:z.3f}" if abs(value) < 10 else f"{value:,.{int(abs(value) < 100)}f}"


def embedded_rows(rows: Iterable[Mapping[str, Any]], most: int = TABLE_BYTES) -> Embedded:
    """Return the texts of the first rows of a table, as many as `most` bytes hold."""
    lines, size = [], 0
    for row in rows:
        line = _json([cell_text(value) for value in row.values()])
        size += len(line.encode()) + 1
        if size > most:
            break
        lines.append(line)
    return Embedded(Markup(f"[{','.join(lines)}]"), len(lines))


def embedded_items(items: Items, most: int = ITEM_BYTES) -> Embedded:
    """Return the first items, as many as `most` bytes hold; cells are places in one list of texts.

    An item is [id, places of its facts, places of the cells of each table row by row, and, if a table has more than
    `MOST_ROWS` rows, their numbers].
    """
    texts: dict[str, int] = {}
    listed: list[str] = []
    lines, size = [], 0

    def places(cells: Iterable[Any]) -> list[int]:
        return [texts.setdefault(cell_text(cell), len(texts)) for cell in cells]

    for item, facts, rows in items.records():
        known = len(texts)
        shown = [places(cell for cells in own[:MOST_ROWS] for cell in cells) for own in rows]
        record: list[Any] = [item, places(facts), shown]
        if any(len(own) > MOST_ROWS for own in rows):
            record.append([len(own) for own in rows])
        line = _json(record)
        added = [_json(text) for text in islice(reversed(texts), len(texts) - known)][::-1]
        size += sum(len(own.encode()) + 1 for own in (line, *added))
        if size > most:
            break
        lines.append(line)
        listed += added
    tables = [
        {"title": own.title, "columns": [*own.columns], "numbers": _are_numbers(own.columns), "bar": own.bar}
        for own in items.tables
    ]
    heading = _json({"facts": items.names, "tables": tables})
    content = f'{heading[:-1]},"texts":[{",".join(listed)}],"items":[{",".join(lines)}]}}'
    return Embedded(Markup(content), len(lines))


def _are_numbers(columns: Mapping[str, Sequence[Any]]) -> list[bool]:
    """Return which columns have numbers."""
    return [bool(cells) and isinstance(cells[0], int | float) for cells in columns.values()]


def _json(value: Any) -> str:
    """Compact JSON that can stand in an element of the page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(IN_SCRIPT)
