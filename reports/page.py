"""HTML page of a report with inline figures; its tables as CSV, its content as JSON, its items as JSON lines."""

import csv
import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..models.data.reading.files import guarded
from .analyses.analysis import Answer, printable
from .embedded import Embedded, cell_text, embedded_items, embedded_rows
from .figures import caption, figure_markup
from .items import FILE, Items

SCHEMA = 1
ROWS_SHOWN = 30
NAMING = {"metric", "coefficient", "estimate"}  # columns with terms
# bidirectional control characters, replaced by a visible sign
BIDI_CONTROLS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\N{REPLACEMENT CHARACTER}")
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
    alarm : bool or "amber"
        Whether the text is a warning: of numbers not to be relied on, or, if amber, to be read with care.
    most : int
        Number of rows of the table on the page, or 0 for no table; the file has all.

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
    alarm: bool | Literal["amber"] = False
    most: int = ROWS_SHOWN

    @property
    def table(self) -> Sequence[Row]:
        """Rows shown on the page."""
        return self.shown or self.rows


def table_rows(columns: Mapping[str, ArrayLike], order: ArrayLike | None = None) -> list[dict[str, Any]]:
    """Rows of a table from columns of the same length, as Python numbers and text; `order` picks the rows."""
    arrays = [np.asarray(column) for column in columns.values()]
    if order is not None:
        arrays = [array[np.asarray(order)] for array in arrays]
    rows = zip(*(array.tolist() for array in arrays), strict=True)
    return [dict(zip(columns, cells, strict=True)) for cells in rows]


def mean_with_ends(draws: np.ndarray) -> dict[str, float]:
    """Return mean and 90 % interval of draws."""
    lower, upper = np.quantile(draws, [0.05, 0.95]).tolist()
    return {"mean": float(draws.mean()), "lower": lower, "upper": upper}


def interval_columns(draws: xr.DataArray, name: str, whose: str = "") -> dict[str, np.ndarray]:
    """Posterior means and 5 % and 95 % quantiles of draws with one more dim; `whose` is a prefix of the columns of the ends."""
    low, high = draws.quantile((0.05, 0.95), ("chain", "draw")).to_numpy()
    return {name: draws.mean(("chain", "draw")).to_numpy(), f"{whose}5 %": low, f"{whose}95 %": high}


def write_report(
    folder: Path,
    title: str,
    summary: str,
    sections: Sequence[Section],
    *,
    box: Sequence[Answer | str] = (),
    facts: Mapping[str, object] | None = None,
    items: Items | None = None,
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
    box : sequence of str or Answer
        Key sentences or answers, shown on top.
    facts : mapping, optional
        Further keys of ``report.json``.
    items : Items, optional
        Items to look up, as of `Report.items`; all are written to ``items.jsonl``.

    Returns
    -------
    Path
        The HTML page.

    Raises
    ------
    ValueError
        If the file of a section is not the plain name of one, without a folder.

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
    for section in sections:
        if Path(section.file).name != section.file:
            raise ValueError(f"file={section.file!r} of a section: expected the name of a file in the folder")
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        if section.file:
            write_table(folder / f"{section.file}.csv", section.rows)
    path = folder / "report.html"
    path.write_text(page_text(title, summary, sections, box, items), encoding="utf-8")
    if items is not None:
        with (folder / FILE).open("w", encoding="utf-8") as file:
            file.writelines(_line(own) for own in items.documents())
    heading = {
        "title": title,
        "summary": [summary, *(own if isinstance(own, str) else printable(own) for own in box)],
    }
    write_json(folder / "report.json", json_document({**heading, **(facts or {})}, sections))
    return path


def page_text(
    title: str,
    summary: str,
    sections: Sequence[Section],
    box: Sequence[Answer | str],
    items: Items | None = None,
) -> str:
    """Return the HTML page of a report as text."""
    loader = PackageLoader(__package__ or "raterzoo.reports", "")
    environment = Environment(loader=loader, autoescape=select_autoescape(), trim_blocks=True)
    environment.filters |= {"linked": _linked, "cell": cell_text, "digest": _digest}
    alarms = [
        {"place": f"“{own.title}”" if own.part else "the numbers of this page", "text": own.text}
        for own in sections
        if own.alarm
    ]
    alarm = alarms[0] if alarms else None
    known: set[str] = set()
    answers = [Answer("", own) if isinstance(own, str) else own for own in box]
    box_terms = new_terms([summary, *(own.text for own in answers)], known)
    answers = [own for own in answers if alarm is None or own.text != alarm["text"]]  # it stands above
    if any(own.question for own in answers):
        alarm = None  # the answers say what may be relied on
    views = _views(sections, known)
    page = environment.get_template("page.html").render(
        title=title, summary=summary, views=views, box=answers, box_terms=box_terms,
        alarm=alarm, glossary=[term for term in terms() if term.name in known],
        items=items, found=items and embedded_items(items), file=FILE,
    )  # fmt: skip
    return page.translate(BIDI_CONTROLS)


def _digest(content: str) -> str:
    """Return the digest by which the content security policy of the page allows its style sheet, or its script."""
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


# --- Glossary: each term of ``glossary.tsv`` with the words that it is found by, and its meaning ---


class Term(NamedTuple):
    """Term of a report: name, regular expression that finds it, and meaning."""

    name: str
    found_by: str
    meaning: str

    @property
    def anchor(self) -> str:
        """Id of its entry in the glossary."""
        return "term-" + re.sub("[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def is_in(self, text: str) -> bool:
        """Return whether a text uses the term; a pattern without capitals finds these, too."""
        return bool(re.search(self.found_by, text, re.IGNORECASE if self.found_by.islower() else 0))


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms, in alphabetical order."""
    lines = Path(__file__).with_name("glossary.tsv").read_text(encoding="utf-8").splitlines()
    return tuple(Term(*line.split("\t")) for line in lines[1:])


def new_terms(texts: Iterable[str], known: set[str]) -> list[Term]:
    """Return the terms in texts that are not yet in `known`, and add them to it."""
    text = "\n".join(texts)
    found = [term for term in terms() if term.name not in known and term.is_in(text)]
    known.update(term.name for term in found)
    return found


# --- Sections on the page ---


class _View(NamedTuple):
    """Section as on the page: with its anchor, its figures, the terms that it is the first to use, and rows to sort."""

    section: Section
    anchor: str
    figures: Sequence[Mapping[str, Any]]
    terms: Sequence[Term]
    rows: Embedded | None  # of a table with more rows than the page shows


def _views(sections: Sequence[Section], known: set[str]) -> list[_View]:
    """Return the sections as on the page; terms in `known` have been explained."""
    views: list[_View] = []
    taken, number = {"glossary", "items"}, 0
    for section in sections:
        anchor = name = re.sub("[^a-z0-9]+", "-", section.title.lower()).strip("-") or "section"
        while anchor in taken:
            anchor = f"{name}-{len(taken)}"
        taken.add(anchor)
        figures = []
        for figure in section.figures:
            number += 1
            heading = f"Figure {number}. {section.title}"
            drawn, wide = figure_markup(figure, heading, number)
            figures.append({"name": heading, "caption": caption(figure), "svg": drawn, "wide": wide})
        columns = [str(name) for name in section.table[0]] if section.table else []
        named = {str(row[name]) for row in section.table for name in NAMING & row.keys()}
        texts = [section.title, section.text, *columns, *named, *(own["caption"] for own in figures)]
        rows = embedded_rows(section.table) if 0 < section.most < len(section.table) else None
        views.append(_View(section, anchor, figures, new_terms(texts, known), rows))
    return views


IDENTIFIER = re.compile(r"\b(doi:|https://doi\.org/|arXiv:)((?:10\.\d{4,9}/)?[\w./()-]*\w)")


OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
PERCENT = re.compile(r"(?<=\d) (?=%)")


def _linked(text: str) -> Markup:
    """Make the DOIs and arXiv numbers in a text links, and its options code; no line divides these, or a number from its %."""

    def link(found: re.Match[str]) -> str:
        site = "arxiv.org/abs" if found[1] == "arXiv:" else "doi.org"
        return f'<a href="https://{site}/{found[2]}">{found[0]}</a>'

    linked = IDENTIFIER.sub(link, str(escape(text)))
    return Markup(PERCENT.sub("&nbsp;", OPTION.sub(r"<code>\g<0></code>", linked)))


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write rows with the same keys as CSV, text that a spreadsheet would run as a formula after an apostrophe."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([_guarded(name) for name in rows[0]] if rows else [])
        writer.writerows([_guarded(row[name]) for name in rows[0]] for row in rows)


def _guarded(cell: object) -> object:
    """Guard a cell that a spreadsheet would run as a formula."""
    return guarded(cell) if isinstance(cell, str) else cell


# --- Content as JSON ---


def json_document(heading: Mapping[str, object], sections: Sequence[Section]) -> dict[str, Any]:
    """Nest the sections that have a key in one JSON object, below the heading; docs/report.md describes the keys."""
    found: dict[str, Any] = {"schema": SCHEMA, **heading}
    for section in sections:
        if not section.key:
            continue
        *inside, last = section.key.split(".")
        place = found
        for name in inside:
            place = place.setdefault(name, {})
        own = {"title": section.title, "text": section.text, **section.facts, "rows": section.rows}
        place[last] = {**place.get(last, {}), **own}
    return to_json(found)


def to_json(value: Any) -> Any:
    """Convert a value to JSON types: ids to text, non-finite numbers to None."""
    if isinstance(value, Mapping):
        return {str(name): to_json(own) for name, own in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_json(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | bool | int | float | None) else str(value)


def _line(document: Mapping[str, Any]) -> str:
    """Return a line of JSON lines, with null for NaN and infinity."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
    except ValueError:  # rare, and the conversion costs more than the rest
        return json.dumps(to_json(document), ensure_ascii=False, separators=(",", ":")) + "\n"


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, with null for NaN and infinity."""
    text = json.dumps(to_json(value), ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
