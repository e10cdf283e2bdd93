"""Places that cannot be written are refused before anything is read or computed."""

import re

import pytest
from raterzoo.reports import Section, write_report

from tests.support.command_line import run, said, write


@pytest.mark.parametrize(
    "command",
    [
        ("demo", "--out"),
        ("report", "no.csv", "--out"),
        ("fit", "no.csv", "-o"),
        ("fit", "no.csv", "-o", "{file}/p.zarr"),
        ("rank", "no.csv", "--out"),
        ("evaluate", "no.nc", "no.csv", "--out"),
        ("equivalence", "no.csv", "no.csv", "--out"),
        ("equivalence", "no.csv", "no.csv", "--plot"),
    ],
    ids=" ".join,
)
def test_a_file_is_no_folder(tmp_path, command, golden):
    file = tmp_path / "kept.txt"
    file.write_text("kept")
    last = command[-1].format(file=file)
    place = () if last != command[-1] else (file if command[0] in ("demo", "report") else file / "x.nc",)
    if place and command[0] in ("rank", "evaluate", "equivalence"):
        place = (file / ("x.svg" if last == "--plot" else "x.csv"),)
    result = run(*command[:-1], last, *place)
    assert result.exit_code == 2
    golden.says(said(result))
    assert file.read_text() == "kept"


def test_a_folder_is_no_file(tmp_path, golden):
    (tmp_path / "p.nc").mkdir()
    result = run("fit", "no.csv", "-o", tmp_path / "p.nc")
    assert result.exit_code == 2
    golden.says(said(result))


STRANGE = ("../../x", "/x", "a/b", "..", ".", "..\\..\\x", "CON", "x" * 300, "<b>", "a|b:c*?")


@pytest.mark.slow
def test_names_in_tables_lead_no_file_out_of_the_folder(tmp_path):
    out = tmp_path / "a" / "b"
    answers = [
        (item, rater, STRANGE[k % 9 + (k + rater) % 2]) for k, item in enumerate(STRANGE) for rater in (0, 1)
    ]
    labels = dict(zip(("item", "rater", "label"), zip(*answers, strict=True), strict=True))
    predicted = {"item": STRANGE * 2, "category": STRANGE * 2, "classifier": ["../c"] * 10 + ["/d"] * 10}
    groups = {"category": STRANGE, "group": ["../../g", "/h"] * 5}
    tables = [write(tmp_path / f"{n}.csv", t) for n, t in enumerate((labels, predicted, groups))]
    before = {*tmp_path.rglob("*")}
    asked = ("--kind", "labels", "--model", "dirichlet", "--draws", 40, "--chains", 1, "--keep", "summary")
    result = run("report", *tables[:2], *asked, "--groups", tables[2], "--out", out)
    assert result.exit_code == 0, result.output
    made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert made and all(path.parent == out for path in made)
    assert all(re.fullmatch(r"[a-z_]+\.(csv|html|jsonl?|nc)", path.name) for path in made)


@pytest.mark.parametrize("name", ["../../x", "/x", "a/b", "..", ".x", "..\\x", "x" * 300, "a\nb"])
def test_attributes_that_no_store_can_name_are_refused_at_once(tmp_path, name, golden):
    table = {"item": ["i"] * 2, "rater": ["r", "s"], "label": ["a", "b"], name: ["k", "l"]}
    path = write(tmp_path / "t.csv", table)
    result = run("check", path, "--kind", "labels", "--rater-attribute", name)
    assert result.exit_code == 2
    golden.says(said(result))
    table["CON 1.5 %"] = table.pop(name)
    path = write(tmp_path / "t.csv", table)
    assert run("check", path, "--kind", "labels", "--rater-attribute", "CON 1.5 %").exit_code == 0


def test_links_out_of_the_folder_are_refused(tmp_path, golden):
    out, kept = tmp_path / "out", tmp_path / "kept.txt"
    out.mkdir()
    kept.write_text("kept")
    (out / "report.html").symlink_to(kept)
    (out / "gone.csv").symlink_to(tmp_path / "nowhere")
    for command in (("demo",), ("report", "no.csv"), ("equivalence", "no.csv", "no.csv")):
        result = run(*command, "--out", out)
        assert result.exit_code == 2
        golden.says(said(result))
    assert kept.read_text() == "kept"
    for own in out.iterdir():
        own.unlink()
    (out / "a.txt").write_text("")
    (out / "b.csv").symlink_to(out / "a.txt")
    assert "does not exist" in said(run("report", "no.csv", "--out", out))


def test_files_of_sections_are_in_the_folder(tmp_path, golden):
    for name in ("../x", "/x", "a/b"):
        with golden.raises(ValueError):
            write_report(tmp_path / "out", "T", "S", [Section("T", rows=[{"n": 1}], file=name)])
    assert not [*tmp_path.iterdir()]
