"""Numbers of report sections in files: one JSON file, or a CSV file for each table."""

from collections.abc import Sequence
from pathlib import Path

from ..reports import page
from .terminal import print_text


def write_numbers(out: Path, sections: Sequence[page.Section], name: str) -> None:
    """Write sections to a .json file, or to CSV files: `out` for the table called `name`, and beside it those that begin so."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix.lower() == ".json":
        page.write_json(out, page.json_document({}, sections))
        print_text(f"wrote {out}")
        return
    for section in sections:
        if section.rows:
            path = out.with_name(f"{out.stem}{section.file.removeprefix(name)}{out.suffix}")
            page.write_table(path, section.rows)
            print_text(f"wrote {path}")
