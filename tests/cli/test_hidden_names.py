"""With --anonymize no byte that a command prints or writes has a part of a rater's name: all such commands and their paths."""

import io
import json
import re
from functools import partial

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from raterzoo.cli.reporting import joint_of
from raterzoo.reports.settings import Sources

from tests.support.cli_parts import app, read_annotations, read_predictions, settings_of
from tests.support.command_line import run, said, write
from tests.support.hidden_names import MARK, marked

NAMES = [f"Dr. {MARK} {own}" for own in ("Alma", "Bo", "Cy")]
ITEMS = [f"i{k}" for k in range(6)]
QUICK = ("--draws", 40, "--chains", 1)
READING = {"fit", "report", "rank", "equivalence", "check", "judge"}  # commands that read annotations
OTHERS = {"copy", "demo", "evaluate", "models", "list", "fetch", "plan", "results"}
pytestmark = pytest.mark.filterwarnings("always")  # warnings are printed, as for users
RNG = np.random.default_rng(5)


def long(**cells):
    """Return a long table of three raters of six items."""
    item, rater = map(list, zip(*((item, name) for item in ITEMS for name in NAMES), strict=True))
    kind = ["expert" if name == NAMES[0] else "novice" for name in rater]
    return {"item": item, "rater": rater, **cells, "kind": kind}


def some(words):
    return RNG.choice(words, 18).tolist()


TABLES = {
    "labels": long(label=some(["a", "b"]), gold=["a"] * 18),
    "rankings": long(category=some(["a", "b"]), rank=[1] * 18),
    "scores": long(score=RNG.normal(size=18).round(2).tolist()),
    "votes": {
        "left": [item for item in ITEMS for _ in NAMES],
        "right": [item for item in [*ITEMS[1:], ITEMS[0]] for _ in NAMES],
        "rater": NAMES * 6,
        "winner": some(["left", "right"]),
        "longer": RNG.normal(size=18).round(2).tolist(),
    },
    "wide": {"item": ITEMS} | {name: RNG.choice(["1", "2"], 6).tolist() for name in NAMES},
    "predicted": {"item": ITEMS, "category": ["a", "b", "unseen"] * 2},
    "groups": {"category": ["a", "b", "unseen"], "group": ["x", "y", "y"]},
    "sides": {"item": ITEMS, "probability": [0.5] * 6},
    "fair": {"item": ITEMS, "category": ["a", "b"] * 3},
    "known": {"item": ITEMS, "category": ["a", "b"] * 3, "classifier": NAMES[:1] * 6},
    "features": {
        "item": ITEMS,
        "length": RNG.normal(size=6).round(2).tolist(),
        "net": [0.1, 0.8, 0.3, 0.6, 0.2, 0.9],
    },
    "law": {"item": ITEMS * 2, "category": ["a"] * 6 + ["b"] * 6, "score": [0.5] * 12},
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    return {name: write(folder / f"{name}.csv", table) for name, table in TABLES.items()}


def test_every_command_that_reads_annotations_takes_the_option():
    group = typer.main.get_command(app)
    commands = {**group.commands, **group.commands["data"].commands}
    del commands["data"]
    taking = {name for name, own in commands.items() if "anonymize" in {option.name for option in own.params}}
    assert taking == READING
    assert set(commands) == READING | OTHERS  # which of these does a new command belong to?


def test_every_command_that_writes_takes_o():
    group = typer.main.get_command(app)
    options = [
        own for c in (*group.commands.values(), *group.commands["data"].commands.values()) for own in c.params
    ]
    writing = [own for own in options if own.name in ("out", "output") and own.param_type_name == "option"]
    assert len(writing) > 8 and all("-o" in own.opts for own in writing)


def fits(tables, out):
    """Return commands that write files, without pictures."""
    labels = ("--kind", "labels", *QUICK)
    return {
        "long": ("fit", tables["labels"], *labels, "-o", out / "p.nc", "--rater-attribute", "kind"),
        "wide": ("fit", tables["wide"], *labels, "--layout", "wide", "-o", out / "p.nc"),
        "store": ("fit", tables["labels"], *labels, "-o", out / "p.zarr"),
        "survey": ("equivalence", tables["labels"], tables["law"], "--bootstrap", 0, "--out", out / "e.csv"),
        "judge": (
            "judge",
            tables["labels"],
            tables["fair"],
            *QUICK,
            "--people-column",
            "kind=expert",
            "--out",
            out / "j.json",
        ),
    }


def reports(tables, out):
    """Return commands that draw pictures, or compile a gradient."""
    labels = (tables["labels"], tables["predicted"], "--kind", "labels", "--model", "dirichlet")
    of_raters = ("--rater-attribute", "kind", "--groups", tables["groups"], "--metric", "accuracy")
    scores = (tables["scores"], tables["sides"], "--kind", "scores", "--threshold", "0")
    return {
        "labels": ("report", *labels, *QUICK, *of_raters, "--out", out),
        "rankings": ("report", tables["rankings"], tables["predicted"], "--model", "prirn", *QUICK, "--out", out),
        "scores": ("report", *scores, *QUICK, "--out", out),
        "board": ("rank", tables["votes"], *QUICK, "--out", out / "board.csv"),
        "features": ("report", tables["labels"], "--kind", "labels", "--model", "dawid_skene", *QUICK,
                     "--features", tables["features"], "--out", out),
        "covariates": ("fit", tables["votes"], "--kind", "comparisons", *QUICK,
                       "--vote-covariate", "longer", "-o", out / "p.nc"),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["long", "wide", "store", "survey", "judge"])
def test_fits_have_no_names(tables, tmp_path, caplog, name):
    caplog.set_level(0)
    result = run(*fits(tables, tmp_path)[name], "--anonymize")
    assert result.exit_code == (name == "judge"), result.output  # so few draws have not converged
    assert any(tmp_path.iterdir())
    assert marked(tmp_path, result, caplog) == []
    if name == "store":
        again = run("fit", "--resume", tmp_path / "p.zarr")
        assert again.exit_code == 0 and marked(tmp_path, again, caplog) == []


COMPILED = [
    pytest.param(name, marks=pytest.mark.long) for name in ("features", "covariates")
]  # their own reports are searched, too


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels", "rankings", "scores", "board", *COMPILED])
def test_reports_have_no_names(tables, tmp_path, caplog, name):
    caplog.set_level(0)
    result = run(*reports(tables, tmp_path)[name], "--anonymize")
    assert result.exit_code == 0, result.output
    assert any(tmp_path.iterdir())
    assert marked(tmp_path, result, caplog) == []


@pytest.mark.parametrize("option", ["--features", "--prior-predictions", "--predictions"])
def test_the_annotations_are_no_other_table(tables, tmp_path, caplog, option, golden):
    """A wide table is full of names, which would be features or categories."""
    model = ("--model", "dirichlet" if "prior" in option else "dawid_skene")
    fit = ("fit", tables["wide"], "--kind", "labels", "--layout", "wide", *model, "-o", tmp_path / "p.nc")
    result = run(*fit, "--anonymize", option, tables["wide"])
    assert result.exit_code == 2
    golden.says(said(result))
    assert marked(tmp_path, result, caplog) == []


@pytest.mark.parametrize(
    "command", ["equivalence", "judge", "groups", "sample", "categories", "categories of check"]
)
def test_every_command_refuses_the_annotations_in_another_place(tables, tmp_path, caplog, command, golden):
    """Also by another name of the same file, which a link is."""
    again = tmp_path / "again.csv"
    again.hardlink_to(tables["wide"])
    labels, fair = (tables["wide"], "--layout", "wide"), tables["fair"]
    arguments = {
        "equivalence": ("equivalence", *labels, again),
        "judge": ("judge", *labels, again),
        "groups": ("report", *labels, "--kind", "labels", fair, "--groups", again, "--out", tmp_path / "out"),
        "sample": ("judge", *labels, fair, "--sample", again),
        "categories": ("fit", *labels, "--kind", "labels", "--categories", again, "-o", tmp_path / "p.nc"),
        "categories of check": ("check", *labels, "--kind", "labels", "--categories", again),
    }[command]
    result = run(*arguments, "--anonymize")
    assert result.exit_code == 2
    golden.says(said(result))
    again.unlink()
    assert marked(tmp_path, result, caplog) == []


def test_paths_are_printed_as_they_are_typed(tmp_path, monkeypatch, golden):
    monkeypatch.chdir(tmp_path)
    for path in ("none.csv", "."):
        for command in (("check", path, "--kind", "labels"), ("rank", path)):
            result = run(*command, "--anonymize")
            assert result.exit_code == 2
            golden.says(said(result))


def test_cells_of_features_are_not_quoted(tables, tmp_path, caplog, golden):
    """A copy of the annotations in place of the features has the names in a column of text."""
    copy = write(tmp_path / "copy.csv", {"item": ITEMS, "x": [1] * 6, "rater": NAMES * 2})
    fit = ("fit", tables["labels"], "--kind", "labels", "--model", "dawid_skene", "-o", tmp_path / "p.nc")
    result = run(*fit, "--features", copy, "--anonymize")
    assert result.exit_code == 2
    golden.says(said(result))
    copy.unlink()
    assert marked(tmp_path, result, caplog) == []


def test_a_classifier_with_the_name_of_a_rater_is_told_all_the_same(tables, tmp_path, golden):
    fit = ("fit", tables["labels"], "--kind", "labels", *QUICK, "-o", tmp_path / "p.nc", "--predictions")
    judge = ("judge", tables["labels"])
    for command in (fit, judge):
        for hidden in ((), ("--anonymize",)):
            result = run(*command, tables["known"], *hidden)
            assert result.exit_code == 2
            golden.says(said(result))
    table, columns = tables["labels"], []
    read = partial(settings_of, "labels", None, draws=10, chains=1, seed=1)
    predicted = read_predictions(tables["known"], [])
    found = read_annotations(table, read({"anonymize": True}), columns, predicted)
    sources = Sources(tables["known"], None, ())
    joint = joint_of(found.data, predicted, sources, read({"anonymize": True}), found.also_raters)
    assert joint.tree is None
    golden.says(joint.why_not, "classifier counts")
    assert not read_annotations(table, read({"anonymize": True}), columns, None).also_raters
    wide = read({"anonymize": True}, layout="wide")
    assert read_annotations(tables["wide"], wide, columns, predicted).also_raters == NAMES[:1]


@pytest.mark.parametrize(("name", "where"), [("long", "p.nc"), ("store", "p.zarr")])
def test_the_same_search_finds_names_without_the_option(tables, tmp_path, caplog, name, where):
    result = run(*fits(tables, tmp_path)[name])
    assert result.exit_code == 0 and where in marked(tmp_path, result, caplog)


# --- Tables that are refused, or of which something is said: nothing is fitted ---

LABELS, WIDE = TABLES["labels"], TABLES["wide"]
A, B, C = NAMES


def changed(table, **columns):
    return {**table, **columns}


def first_is(cell, cells):
    return [cell, *cells[1:]]


def renamed(table, **names):
    return {names.get(name, name): cells for name, cells in table.items()}


ODD_TABLES = {
    "look-alike raters": (changed(LABELS, rater=[f"{A} ", *LABELS["rater"][1:]]), "labels"),
    "repeated answers": ({name: cells * 2 for name, cells in LABELS.items()}, "labels"),
    "two kinds of a rater": (changed(LABELS, kind=first_is("novice", LABELS["kind"])), "labels --rater-attribute kind"),
    "no label": (changed(LABELS, label=first_is("", LABELS["label"])), "labels"),
    "no rater": (changed(LABELS, rater=first_is(" ", LABELS["rater"])), "labels"),
    "rows left out": (changed(LABELS, rater=first_is("", LABELS["rater"])), "labels --drop-missing"),
    "a long name": (changed(LABELS, rater=first_is(MARK * 3_000, LABELS["rater"])), "labels"),
    "other categories": (LABELS, "labels --categories x,y"),
    "ranked twice": ({n: [c[0], *c] for n, c in TABLES["rankings"].items()}, "rankings"),
    "no rank": (changed(TABLES["rankings"], rank=first_is("x", [1] * 18)), "rankings"),
    "no number": (changed(TABLES["scores"], score=first_is("x", TABLES["scores"]["score"])), "scores"),
    "out of bounds": (TABLES["scores"], "scores --bounds 0,1"),
    "an item against itself": (changed(TABLES["votes"], right=TABLES["votes"]["left"]), "comparisons"),
    "a strange winner": (changed(TABLES["votes"], winner=["x"] * 18), "comparisons"),
    "wide as long": (WIDE, "labels"),
    "wide as comparisons": (WIDE, "comparisons"),
    "wide as counts": (WIDE, "scores --layout counts"),
    "wide look-alikes": ({**WIDE, f"{A} ": ["1"] * 6}, "labels --layout wide"),
    "wide with a strange cell": ({**WIDE, A: ["x", *WIDE[A][1:]]}, "scores --layout wide"),
    "wide without numbers": ({**WIDE, A: ["x"] * 6}, "scores --layout wide"),
    "wide with commas": ({**WIDE, A: ["1,5"] * 6}, "scores --layout wide"),
    "wide of one category": ({"item": ITEMS, A: ["1"] * 6, B: ["1"] * 6}, "labels --layout wide"),
    "wide with chosen raters": (WIDE, f"labels --layout wide --column|rater={A} --column|rater={B}"),
    "wide without that rater": (WIDE, f"labels --layout wide --column|rater={MARK}"),
    "wide with an item twice": ({**WIDE, "item": ["i"] * 6}, "labels --layout wide"),
    "no header": ({name: [name] for name in (A, "i1", "a")}, "labels"),
    "names near a role": (renamed(LABELS, label=f"{MARK} labels", rater=f"{MARK} raters"), "labels"),
    "two columns of raters": ({**LABELS, f"{MARK}-rater": ["x"] * 18, "annotator": ["y"] * 18}, "labels"),
    "no such attribute": ({**LABELS, MARK: ["x"] * 18}, "labels --rater-attribute age"),
    "no such column": ({**LABELS, MARK: ["x"] * 18}, "labels --column item=case"),
    "raters as an attribute": (LABELS, "labels --column kind=rater --rater-attribute kind"),
    "raters twice": (LABELS, "labels --rater-attribute rater"),
}  # fmt: skip


def arguments_of(asked):
    """Split options at spaces, but for values after | that may have some."""
    first, *others = asked.split(" --column|")
    return [*first.split(), *(part for own in others for part in ("--column", own))]


@pytest.mark.parametrize("name", ODD_TABLES)
def test_messages_about_tables_have_no_names(tmp_path, caplog, name):
    table, asked = ODD_TABLES[name]
    path = write(tmp_path / "t.csv", table)
    (tmp_path / "out").mkdir()
    result = run("check", path, "--kind", *arguments_of(asked), "--anonymize")
    assert result.exit_code in (0, 2), result.exception
    assert marked(tmp_path / "out", result, caplog) == []
    assert len(result.output.split()) > 8  # something is said


def test_the_same_tables_name_raters_without_the_option(tmp_path, caplog):
    (tmp_path / "out").mkdir()
    found = set()
    for name, (table, asked) in ODD_TABLES.items():
        result = run("check", write(tmp_path / "t.csv", table), "--kind", *arguments_of(asked))
        found |= {name} if marked(tmp_path / "out", result, caplog) else set()
    assert {"look-alike raters", "two kinds of a rater", "ranked twice", "wide as long", "no header"} <= found
    assert {"wide with a strange cell", "wide with commas", "no such attribute", "names near a role"} <= found
    assert len(found) >= 15


def as_bytes(kind):
    """Return a file of labels that is no plain table, with its suffix."""
    rows = [dict(zip(LABELS, own, strict=True)) for own in zip(*LABELS.values(), strict=True)]
    lines = [json.dumps(row) for row in rows]
    file = io.BytesIO()
    if kind == "sheets of raters":
        book = openpyxl.Workbook()
        book.worksheets[0].title = A
        book.create_sheet(B)
        for row in [[*LABELS], *zip(*LABELS.values(), strict=True)]:
            book.worksheets[0].append(row)
        book.save(file)
        return ".xlsx", file.getvalue()
    if kind in ("parquet", "parquet of lists", "cut parquet"):
        own = pa.table(LABELS | ({"rater": [[name] for name in LABELS["rater"]]} if "lists" in kind else {}))
        pq.write_table(own, file)
        return ".parquet", file.getvalue()[: -9 if kind == "cut parquet" else None]
    return {
        "a name alone": (".jsonl", f'{lines[0]}\n"{A}"\n'.encode()),
        "lists": (".json", json.dumps([[A, "i1", "a"]]).encode()),
        "a text": (".json", json.dumps(A).encode()),
        "a list of names in a cell": (".json", json.dumps([*rows, {**rows[0], "rater": [A, B]}]).encode()),
        "half a pair": (".jsonl", f'{{"item": "i", "rater": "{MARK}\\ud800", "label": "a"}}\n'.encode()),
        "a key with half a pair": (
            ".jsonl",
            f'{{"item": "i", "{MARK}\\ud800": "x", "label": "a"}}\n'.encode(),
        ),
        "numbers and names": (".json", json.dumps([*rows, {**rows[0], "rater": 1.5}]).encode()),
        "no delimiter": (".csv", f"{A}\n{B}\n".encode()),
        "an open quote": (".csv", f'item,rater,label\ni1,"{A},a\ni2,{B},b\n'.encode()),
        "too many cells": (".csv", f"item,rater,label\ni1,{A},a,{B}\n".encode()),
        "a column twice": (".csv", f"item,{A},{A}\ni1,a,b\n".encode()),
        "latin-1": (".csv", f"item,rater,label\ni1,{A}\xe9,a\n".encode("latin-1")),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["sheets of raters", "parquet", "parquet of lists", "cut parquet", "a name alone", "lists", "a text",
     "a list of names in a cell", "half a pair", "a key with half a pair", "numbers and names", "no delimiter", "an open quote",
     "too many cells", "a column twice", "latin-1"],
)  # fmt: skip
def test_messages_about_files_have_no_names(tmp_path, caplog, kind):
    suffix, content = as_bytes(kind)
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    (tmp_path / "out").mkdir()
    in_header = ("no delimiter", "a column twice", "sheets of raters", "a key with half a pair")
    for layout in ("long", "wide") if kind in in_header else ("long",):
        result = run("check", path, "--kind", "labels", "--layout", layout, "--anonymize")
        assert result.exit_code in (0, 2), result.exception
        assert marked(tmp_path / "out", result, caplog) == []


def without_numbers(text):
    """Return a text without the numbers of raters, which are shuffled."""
    return re.sub(r"'rater \d+'", "'rater #'", text)


def test_messages_have_the_number_and_the_row(tmp_path, golden):
    table, _ = ODD_TABLES["two kinds of a rater"]
    path = write(tmp_path / "t.csv", table)
    result = run("check", path, "--kind", "labels", "--rater-attribute", "kind", "--anonymize")
    golden.says(without_numbers(result.output), "column 'kind':")
    path = write(tmp_path / "t.csv", ODD_TABLES["look-alike raters"][0])
    result = run("fit", path, "--kind", "labels", *QUICK, "-o", tmp_path / "p.txt", "--anonymize")
    assert result.exit_code == 2
    result = run("check", path, "--kind", "labels", "--anonymize")
    golden.says(without_numbers(result.output), "(first in row")
