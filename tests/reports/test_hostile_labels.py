"""Labels that would be markup, mathematics, a formula or a change of direction are text on the page and in its tables."""

import csv
import json
import re
from html.parser import HTMLParser

import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from raterzoo.evaluation.plots.style import plain
from raterzoo.models.data.reading import files
from raterzoo.reports import Section, write_report
from raterzoo.reports.page import write_table

from tests.support.cli_parts import read_container
from tests.support.pages import foreign_scripts

HOSTILE = (
    "<script>document.title='run'</script>",
    "</script><img src=x onerror=alert(1)>",
    "</svg><svg onload=alert(1)>",
    "\" onmouseover=alert(1) x=\"",
    "{{7*7}}{% raw",
    "]]><b>bold",
    "$\\frac{",
    "&lt;i&gt;",
)  # fmt: skip
FORMULAS = (
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "=1", "-", "+", " =1", "\n=1", "\xa0@A1", "\u200b=1",
    "\ufeff=1", "\uff1d1+1", "\uff0b1+1", "\uff0dA1", "\uff20A1", "-1_0", "-\u0661", "-inf", "\tflu",
)  # fmt: skip
HARMLESS = ("flu", "-1", "+2.5", "-1e3", "1=1", "a-b", "", "'flu", "'-1", "Crohn's", "-1,5")
GUARDED = ("'=1", "''=1", "' =1", "'\uff1d1")  # texts that look as if they had been guarded


class Tags(HTMLParser):
    """The elements of a page, its handlers, and its text."""

    def __init__(self):
        super().__init__()
        self.tags, self.handlers, self.texts = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.handlers += [
            name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")
        ]

    def handle_data(self, data):
        self.texts.append(data)


def page_of(folder, labels):
    figure = Figure()
    axes = figure.add_subplot()
    for k, label in enumerate(labels):
        axes.text(0.1, k / 10, plain(label))
        axes.set_title(plain(label))
    rows = [
        {"item": label, label: 1.0} if len(labels) == 1 else {"item": label, "n": 1.0} for label in labels
    ]
    sections = [Section(t, f"Of {t}.", [figure], rows, "t", key="part", facts={"label": t}) for t in labels]
    path = write_report(folder, "Title", labels[0], sections, box=list(labels))
    text = path.read_text("utf-8")
    assert not foreign_scripts(text)
    found = Tags()
    found.feed(text)
    return found


def test_markup_is_text(tmp_path):
    tame, found = page_of(tmp_path / "a", ["flu", "cold"]), page_of(tmp_path / "b", HOSTILE)
    assert found.tags == tame.tags
    assert not found.handlers
    text = "".join(found.texts)
    for label in HOSTILE:
        assert text.count(label) >= 4  # title, text, table, picture
    read = json.loads((tmp_path / "b" / "report.json").read_text("utf-8"))
    assert read["part"]["label"] == HOSTILE[-1]


def test_markup_would_be_seen(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<p>" + HOSTILE[2])
    found = Tags()
    found.feed(path.read_text())
    assert found.handlers == ["onload"]


def test_what_turns_the_text_around_is_shown(tmp_path):
    text = "".join(page_of(tmp_path, ["\u202egnp.exe", "\u2067x", "\u05d0\u200f"]).texts)
    assert "\u202e" not in text and "\u2067" not in text
    assert "\ufffdgnp.exe" in text
    assert "\u05d0\u200f" in text  # letters keep their own direction


@pytest.mark.parametrize("label", FORMULAS)
def test_formulas_are_text_in_tables(tmp_path, label):
    write_table(tmp_path / "t.csv", [{"item": label, label: 1.0, "n": -1.5}])
    with (tmp_path / "t.csv").open(newline="") as file:
        names, cells = csv.reader(file)
    written = "'" + re.sub(
        "(?<=[\t\r\n])=", "'=", label
    )  # what follows a mark that may divide cells is guarded, too
    assert names == ["item", written, "n"]
    assert cells == [written, "1.0", "-1.5"]


def test_numbers_and_other_text_stay(tmp_path):
    write_table(tmp_path / "t.csv", [{"item": label, "n": -0.5} for label in HARMLESS])
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row["item"] for row in csv.DictReader(file)] == [*HARMLESS]


def test_our_readers_restore_the_text(tmp_path):
    path = tmp_path / "t.csv"
    texts = [*FORMULAS, *HARMLESS[:6], *HARMLESS[7:], *GUARDED]
    write_table(path, [{text: text, "n": 1.5} for text in FORMULAS[:1]])
    assert files.read_names(path) == files.read_file(path).names == [FORMULAS[0], "n"]
    write_table(path, [{"=item": text, "n": -0.5} for text in texts])
    read = files.read_file(path).columns
    assert read["=item"] == texts and set(read["n"]) == {"-0.5"}
    with path.open(newline="") as file:
        first = [row["'=item"][:1] for row in csv.DictReader(file)]
    assert set(first[: len(FORMULAS)]) == {"'"}


def test_apostrophes_of_other_programs_stay(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,label\n'twas,'-1\nrock 'n' roll,''\n")
    assert files.read_file(path).columns == {"item": ["'twas", "rock 'n' roll"], "label": ["'-1", "''"]}


def test_an_apostrophe_that_is_taken_off_is_said(tmp_path, capsys, golden):
    """It may be the user's own: the column and its first such cell are named; `read_file` keeps them for the note."""
    path = tmp_path / "t.csv"
    path.write_text("item,rater,label\n'-ism,r,yes\n'@home',r,no\nb,'s,no\n")
    read = files.read_file(path)
    assert read.columns["item"] == ["-ism", "@home'", "b"] and read.guarded == {"item": "'-ism"}
    assert read_container(path, "labels", []).items.tolist() == ["-ism", "@home'", "b"]
    said = " ".join(capsys.readouterr().err.split())
    assert "'rater'" not in said
    golden.says(said, "first apostrophe")


def test_trees_show_labels_as_text():
    labels = [*HOSTILE]
    array = xr.DataArray([0.0] * len(labels), {"item": labels}, ("item",), name="<b>n", attrs={"<i>": "<u>"})
    tree = xr.DataTree.from_dict({"posterior": array.to_dataset()})
    for shown in (tree, tree["posterior"].to_dataset(), array):
        found = Tags()
        found.feed(shown._repr_html_())
        assert not {"script", "img", "b", "i", "u"} & found.tags
        assert not [name for name in found.handlers if name != "onclick"]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="a1=+-@'; \t\r\n,\"\uff1d\u200b.", max_size=8))
def test_no_part_of_a_cell_is_run_where_other_marks_divide_cells(text):
    """A spreadsheet that divides at semicolons would find a formula in "a;=1+1"; reading gives the text back."""
    written = files.guarded(text)
    assert not any(files.is_formula(part) for part in re.split("[;\t\r\n]", written))
    assert files.restored(written) == text
