"""report.json: what the page says, for machines; no NaN, text ids, stable keys."""

import json

import numpy as np
from raterzoo.reports import Section, write_report
from raterzoo.reports import page as reports_page

from tests.support.report_parts import SCHEMA


def test_what_json_does_not_know_becomes_null_or_text(tmp_path):
    given = {
        7: np.float32(0.5),
        "nan": np.nan,
        "infinite": [np.inf, -np.inf],
        "flag": np.bool_(True),
        "count": np.int64(3),
        "array": np.array([1.0, np.nan]),
        "path": tmp_path,
        "nothing": None,
    }
    assert reports_page.to_json(given) == {
        "7": 0.5,
        "nan": None,
        "infinite": [None, None],
        "flag": True,
        "count": 3,
        "array": [1.0, None],
        "path": str(tmp_path),
        "nothing": None,
    }


def test_sections_have_their_places():
    sections = [
        Section("A", "one", rows=[{"x": 1.0}], key="a", facts={"n": 2}),
        Section("Part", "two", key="a.part", part=True),
        Section("Pictures alone"),
    ]
    found = reports_page.json_document({"title": "t"}, sections)
    part = {"title": "Part", "text": "two", "rows": []}
    own = {"title": "A", "text": "one", "n": 2, "rows": [{"x": 1.0}], "part": part}
    assert found == {"schema": SCHEMA, "title": "t", "a": own}


def test_a_part_before_its_section_is_kept():
    found = reports_page.json_document({}, [Section("P", key="a.p"), Section("A", key="a")])
    assert set(found["a"]) == {"title", "text", "rows", "p"}


def test_page_and_json_are_written_together(tmp_path, golden):
    rows = [{"item": f"<i{i}>", "mean": i / 7} for i in range(12)]
    sections = [
        Section("Convergence", "NOT converged: all", key="convergence", alarm=True),
        Section("Table", rows=rows, file="table", key="table", most=10),
    ]
    page = write_report(tmp_path, "T", "s", sections, box=["<b>first"], facts={"kind": "labels"})
    text = page.read_text()
    assert text.count('class="alarm"') == 2  # on top and in its place
    assert "Do not rely" in text and text.index("Do not rely") < text.index("&lt;b&gt;first")
    assert "&lt;i9&gt;" in text and "&lt;i10&gt;" not in text
    golden.says(text, "The first 10")
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["kind"] == "labels" and found["summary"] == ["s", "<b>first"]
    assert found["table"]["rows"] == rows


def test_a_page_that_converged_has_no_alarm(tmp_path):
    page = write_report(tmp_path, "T", "s", [Section("Convergence", "converged")])
    assert 'class="alarm"' not in page.read_text()
