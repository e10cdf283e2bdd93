"""One self-contained HTML page, its pictures inside, and the tables behind it as CSV."""

import csv
import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

__all__ = ["Section", "write_report"]

ROWS_SHOWN = 30


@dataclass(frozen=True)
class Section:
    """One part of a report.

    Attributes
    ----------
    title : str
        Heading.
    text : str
        One paragraph, plain text.
    figures : sequence of matplotlib.figure.Figure
        Pictures.
    rows : sequence of mappings of str to cell
        Table, a mapping for each row with the same keys; numbers, text or None.
    file : str
        Name of the CSV file with all rows, without suffix; the page shows the first thirty.
    """

    title: str
    text: str = ""
    figures: Sequence[Figure] = ()
    rows: Sequence[Mapping[str, object]] = field(default=())
    file: str = ""


def write_report(folder: Path, title: str, summary: str, sections: Sequence[Section]) -> Path:
    """Write ``report.html`` and the tables.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    title, summary : str
        Heading and the sentence below it, plain text.
    sections : sequence of Section
        In reading order.

    Returns
    -------
    Path
        The page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        if section.file:
            _write_csv(folder / f"{section.file}.csv", section.rows)
    loader = PackageLoader(__package__ or "raterzoo.reports", "")
    environment = Environment(loader=loader, autoescape=select_autoescape(), trim_blocks=True)
    environment.filters |= {"svg": _svg, "cell": _cell}
    page = environment.get_template("page.html").render(
        title=title, summary=summary, sections=sections, rows_shown=ROWS_SHOWN
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def _svg(figure: Figure) -> Markup:
    """Return a figure as an inline SVG; matplotlib escapes the labels in it."""
    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has more letters
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return Markup(text[text.index("<svg") :])


def _cell(value: object) -> str:
    """Return the text of a cell: small numbers to three decimals."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def _write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write a table; an empty one has no columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
