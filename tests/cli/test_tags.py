"""Answers that are sets of tags: one table by every door, to a posterior and to lines that say who is bad at which tag."""

import numpy as np
import pytest
import raterzoo
import xarray as xr
from raterzoo import models

from tests.support.command_line import run, said, write

TAGS = ["wet", "cold", "dark"]


@pytest.fixture(scope="module")
def table():
    """60 items, 5 raters: "misser" hardly ever finds the second tag, and "inventor" gives the third everywhere."""
    rng = np.random.default_rng(6)
    truth = rng.random((60, 3)) < np.where(rng.random((60, 1)) < 0.5, 0.8, 0.1)
    rows = []
    for i, own in enumerate(truth):
        for rater in ("Ann", "Bob", "Cem", "misser", "inventor"):
            given = np.where(rng.random(3) < 0.92, own, ~own)
            given[1] &= rater != "misser" or rng.random() < 0.1
            given[2] |= rater == "inventor" and rng.random() < 0.9
            rows.append((f"item {i}", rater, *given.astype(int)))
    return dict(zip(("item", "rater", *TAGS), map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture(scope="module")
def as_text(table):
    cells = ["|".join(t for t in TAGS if table[t][row]) or "none" for row in range(len(table["item"]))]
    return {name: table[name] for name in ("item", "rater")} | {"label": cells}


def test_files_are_read_in_both_forms(table, as_text, tmp_path):
    data = models.Labels.from_table(table, tags=TAGS)
    for name, own in {"columns": table, "cells": as_text}.items():
        assert raterzoo.read(write(tmp_path / f"{name}.csv", own), tags=TAGS) == data


def test_the_command_line_reads_them(table, as_text, tmp_path):
    path = write(tmp_path / "answers.csv", table)
    checked = run("check", path, "--tags", ",".join(TAGS))
    assert checked.exit_code == 0 and "8 declared, 8 given" in checked.output, checked.output
    assert "may be missing" not in checked.output
    out = tmp_path / "fit.nc"
    result = run("fit", path, "--tags", ",".join(TAGS), "-o", out, "--draws", 60, "--chains", 2)
    assert result.exit_code == 0, result.output
    with xr.open_datatree(out) as tree:
        assert tree.attrs["model"] == "multi_label"
        assert tree["posterior"]["tag_plausibility"]["tag"].to_numpy().tolist() == TAGS


@pytest.mark.parametrize(
    "options",
    [["--tags", "wet"], ["--tags", "wet,cold,loud"], ["--tags", "wet,cold", "--kind", "scores"]],
    ids=["one tag", "no such column", "of scores"],
)
def test_mistakes_end_with_a_remedy(options, table, tmp_path, golden):
    result = run("check", write(tmp_path / "answers.csv", table), *options)
    assert result.exit_code == 2
    golden.says(said(result))


@pytest.mark.slow
def test_the_analysis_says_which_tags_and_who_is_bad_at_which(table, golden):
    analysis = raterzoo.analyse(table, tags=TAGS, draws=150, chains=2, progressbar=False)
    facts = analysis.facts
    assert facts.model == "multi_label"
    assert facts.misses[:2] == ("misser", "cold") and facts.misses[2] < 0.4
    assert facts.invents[:2] == ("inventor", "dark") and facts.invents[2] < 0.4
    truth = analysis.tree["posterior"]["tag_plausibility"].mean(("chain", "draw", "item"))
    assert facts.tags == pytest.approx(truth.to_series().to_dict(), abs=1e-5)
    golden.says(
        [own.text for own in analysis.answers if own.question in ("What is true?", "Who can be trusted?")]
    )
