"""HTML page of a report with inline figures; its tables as CSV, its content as JSON."""

import csv
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from .machine import document, write_json

__all__ = ["Section", "write_report", "write_table"]

ROWS_SHOWN = 30
# bidirectional control characters, replaced by a visible sign
STEERS = dict.fromkeys(
    [*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\N{REPLACEMENT CHARACTER}"
)
FORMULA = tuple("=+-@\t\r")  # first characters of a formula in a spreadsheet

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """Section of a report.

    Attributes
    ----------
    title : str
        Heading.
    text : str
        One paragraph, plain text.
    figures : sequence of matplotlib.figure.Figure
        Figures below the text.
    rows : sequence of mappings of str to cell
        Table, a mapping for each row with the same keys; numbers, text or None.
    file : str
        Name of the CSV file with all rows, without suffix.
    key : str
        Place in ``report.json``; a dot leads into another section. If empty the section is not in that file.
    facts : mapping
        Numbers in the text, for ``report.json``.
    shown : sequence of mappings of str to cell
        Table on the page, where it differs from `rows`.
    part : bool
        Whether it is a subsection of the section before it.
    alarm : bool
        Whether the text is a warning to be highlighted.
    most : int
        Number of rows of the table on the page; the file has all.

    Examples
    --------
    >>> from raterzoo import reports
    >>> rows = [{"classifier": "A", "accuracy": 0.9}]
    >>> section = reports.Section("Accuracy", "One classifier.", rows=rows, file="accuracy")
    >>> section.table == rows
    True
    """

    title: str
    text: str = ""
    figures: Sequence[Figure] = ()
    rows: Sequence[Row] = field(default=())
    file: str = ""
    key: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    shown: Sequence[Row] = field(default=())
    part: bool = False
    alarm: bool = False
    most: int = ROWS_SHOWN

    @property
    def table(self) -> Sequence[Row]:
        """Rows shown on the page."""
        return self.shown or self.rows


def write_report(
    folder: Path,
    title: str,
    summary: str,
    sections: Sequence[Section],
    *,
    box: Sequence[str] = (),
    facts: Mapping[str, object] | None = None,
) -> Path:
    """Write ``report.html``, ``report.json`` and a CSV file for each table.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    title, summary : str
        Heading and the sentence below it, plain text.
    sections : sequence of Section
        In reading order.
    box : sequence of str
        Key sentences, shown on top.
    facts : mapping, optional
        Further keys of ``report.json``.

    Returns
    -------
    Path
        The HTML page.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from raterzoo import reports
    >>> section = reports.Section("Accuracy", rows=[{"classifier": "A", "accuracy": 0.9}], file="accuracy")
    >>> with TemporaryDirectory() as folder:
    ...     page = reports.write_report(Path(folder), "A report", "One classifier.", [section])
    ...     sorted(path.name for path in page.parent.iterdir())
    ['accuracy.csv', 'report.html', 'report.json']
    """
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        if section.file:
            write_table(folder / f"{section.file}.csv", section.rows)
    loader = PackageLoader(__package__ or "raterzoo.reports", "")
    environment = Environment(loader=loader, autoescape=select_autoescape(), trim_blocks=True)
    environment.filters |= {"svg": _svg, "cell": _cell}
    alarms = [
        {"place": f"“{own.title}”" if own.part else "the numbers of this page", "text": own.text}
        for own in sections
        if own.alarm
    ]
    page = environment.get_template("page.html").render(
        title=title,
        summary=summary,
        sections=sections,
        box=box,
        alarm=alarms[0] if alarms else None,
    )
    path = folder / "report.html"
    path.write_text(page.translate(STEERS), encoding="utf-8")
    heading = {"title": title, "summary": [summary, *box]}
    write_json(folder / "report.json", document({**heading, **(facts or {})}, sections))
    return path


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write rows with the same keys as CSV; an empty table has no columns.

    Text that a spreadsheet would run as a formula gets a leading apostrophe; numbers do not.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([_harmless(name) for name in rows[0]] if rows else [])
        writer.writerows([_harmless(row[name]) for name in rows[0]] for row in rows)


def _harmless(cell: object) -> object:
    """Escape a cell that a spreadsheet would run as a formula."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _svg(figure: Figure) -> Markup:
    """Inline SVG of a figure; matplotlib escapes the labels in it."""
    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has more glyphs
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return Markup(text[text.index("<svg") :])


def _cell(value: object) -> str:
    """Text of a cell: small numbers to three decimals."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:z.3f}" if abs(value) < 10 else f"{value:,.1f}"
