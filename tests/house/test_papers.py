"""The pages of the papers are those that their command writes, name functions that exist, and quick numbers are as recorded."""

import importlib
import json
import math
import operator
import os
import re

import pandas as pd
import pytest
from raterzoo import evaluation, inference, models, papers

from benchmarks.papers import __main__ as command
from benchmarks.papers import quite_study
from benchmarks.papers.row import NoData

NAMED = re.compile(r"\b(?:evaluation|inference|models|papers)(?:\.[a-z_A-Z]+)+")
ROOTS = {"evaluation": evaluation, "inference": inference, "models": models, "papers": papers}


def paper(name):
    return importlib.import_module(f"benchmarks.papers.{name}").PAPER


def recorded():
    return json.loads(command.RECORD.read_text())


def from_record(name):
    """The page, as it is if nothing can be computed."""

    def absent():
        raise NoData

    own = paper(name)
    rows = [
        row._replace(ours=absent) if f"{name}: {row.where}: {row.what}" in recorded() else row
        for row in own.rows
    ]
    return command.page(name, own._replace(rows=rows), recorded(), long=False)


@pytest.mark.parametrize("name", command.NAMES)
def test_a_page_is_of_its_record_and_has_its_pictures(name):
    folder = command.ROOT / "docs" / "papers"
    page = (folder / f"{name}.md").read_text()
    assert page == from_record(name), f"`python -m benchmarks.papers {name}` writes it"
    for picture in paper(name).pictures:
        assert f"]({picture})" in page and (folder / picture).stat().st_size > 1000


@pytest.mark.parametrize("name", command.NAMES)
def test_calls_name_functions_that_exist(name):
    calls = " ".join(row.call for row in paper(name).rows)
    found = [dotted for dotted in NAMED.findall(calls) if not dotted.endswith("attrs")]
    assert found
    for dotted in found:
        root, _, rest = dotted.partition(".")
        operator.attrgetter(rest)(ROOTS[root])


def test_every_paper_is_on_the_index():
    index = (command.ROOT / "docs" / "papers" / "index.md").read_text()
    pages = {path.stem for path in (command.ROOT / "docs" / "papers").glob("*.md")} - {"index"}
    assert pages == set(command.NAMES) and all(f"({name}.md)" in index for name in pages)


@pytest.mark.parametrize("name", ["survey_equivalence", "quite"])
def test_quick_numbers_are_as_recorded(name):
    if name == "survey_equivalence" and "RATERZOO_DATA" not in os.environ:
        pytest.skip("RATERZOO_DATA does not name the folder of the data")
    quick = [row for row in paper(name).rows if not row.long]
    assert len(quick) > 3
    for row in quick:
        key = f"{name}: {row.where}: {row.what}"
        assert row.ours() == recorded()[key]["ours"], key


def test_sentences_on_the_study_of_quite_are_decided():
    cells = importlib.import_module("benchmarks.papers.quite").study()
    assert len(cells) == 32
    apart = {}
    for (link, items, alpha), methods in cells.items():
        share = {name: (own["misranked"], own["misranked se"]) for name, own in methods.items()}
        (own, own_se), (joint, joint_se) = share["QUITE"], share["joint ML"]
        steps, steps_se = share["AG as printed"]
        assert steps - own > 3 * math.hypot(steps_se, own_se)
        cell = link, items, alpha
        assert methods["QUITE"]["data sets"] >= (24 if cell in quite_study.SLOWEST else 200)
        assert methods["AG as printed"]["data sets"] >= (24 if cell in quite_study.SLOW else 200)
        apart[cell] = (joint - own) / math.hypot(joint_se, own_se)
        if items == 400:
            assert abs(joint - own) + 2 * math.hypot(joint_se, own_se) < 0.05 * own
            more = steps / own
            assert 1.4 < more < 2.15 if link == "bradley_terry" else 3.7 < more < 8
        if mean := share.get("posterior mean"):
            assert mean[0] - own < 2 * math.hypot(mean[1], own_se)
    assert {cell for cell, z in apart.items() if z > 2} == {
        ("bradley_terry", 40, 0.1), ("thurstone", 40, 0.1), ("thurstone", 40, 0.2), ("thurstone", 100, 0.1),
    }  # fmt: skip


def test_records_say_of_which_commit_they_are():
    for own in recorded().values():
        assert re.fullmatch("[0-9a-f]{7,40}", own["commit"]) and "raterzoo " in own["versions"]


def test_classifiers_are_those_of_the_fetched_table(monkeypatch):
    """A stand-in: the published predictions are fetched, and not kept here."""
    module = importlib.import_module("benchmarks.papers.dermatology")
    frame = pd.DataFrame(
        {"item": [0, 1, 0, 1], "classifier": [*"AABB"], "x": [0.9, 0.2, 0.1, 0.5], "y": [0.1, 0.8, 0.9, 0.5]}
    )
    monkeypatch.setattr(module, "table", {"dermatology_predictions": frame}.__getitem__)
    module.classifiers.cache_clear()
    try:
        found = module.classifiers()
    finally:
        module.classifiers.cache_clear()
    assert found.dims == ("classifier", "item", "category")
    for place, row in enumerate(frame.itertuples()):
        own = found.sel(classifier=row.classifier, item=row.item)
        assert own.sel(category=["x", "y"]).values.tolist() == [row.x, row.y], place
