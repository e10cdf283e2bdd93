"""Numbers in files: one JSON file, or a CSV file for each table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..reports import page
from .terminal import print_text


def write_numbers(out: Path, sections: Sequence[page.Section], name: str) -> None:
    """Write sections to a .json file, or to CSV files: `out` for the table called `name`, and beside it those that begin so."""
    tables = {section.file.removeprefix(name): section.rows for section in sections if section.rows}
    write_rows(out, page.json_document({}, sections), tables)


def write_rows(out: Path, document: Mapping[str, Any], tables: Mapping[str, Sequence[page.Row]]) -> None:
    """Write a document to a .json file, or each table to a CSV file, whose name is that of `out` and the key of the table."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix.lower() == ".json":
        page.write_json(out, {"schema": page.SCHEMA, **document})
        print_text(f"wrote {out}")
        return
    for ending, rows in tables.items():
        path = out.with_name(f"{out.stem}{ending}{out.suffix}")
        page.write_table(path, rows)
        print_text(f"wrote {path}")
