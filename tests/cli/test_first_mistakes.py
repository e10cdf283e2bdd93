"""Mistakes of a first hour: each has one message, which names the remedy in the words of where one is."""

import numpy as np
import pandas as pd
import pytest
import raterzoo as rz
from raterzoo import evaluation, inference, models

from tests.support.command_line import run, said, stderr_without_importing, write

LABELS = {
    "item": ["a", "a", "b", "b", "c", "c"],
    "rater": ["r", "s"] * 3,
    "label": ["x", "y", "x", "x", "y", "y"],
}
VOTES = {"left": ["a", "b", "a"], "right": ["b", "c", "c"]}
TABLES = {
    "labels.csv": LABELS,
    "typo.csv": {"itm": LABELS["item"], "ratr": LABELS["rater"], "label": LABELS["label"]},
    "missing.csv": {**LABELS, "label": ["x", "", "x", "x", "y", "y"]},
    "twice.csv": {name: [*cells, cells[0]] for name, cells in LABELS.items()},
    "spaces.csv": {**LABELS, "label": ["x", "y", "X ", "x", "y", "y"]},
    "votes.csv": VOTES | {"winner": ["left", "right", "lft"]},
    "scores.csv": {"item": ["a", "b"], "rater": ["r", "r"], "score": ["1", "two"]},
    "high.csv": {"item": ["a", "b"], "rater": ["r", "r"], "score": ["1", "11"]},
    "wide.csv": {"item": ["a", "b"], "Ann": ["1", "2"], "Bob": ["2", "2"]},
    "probabilities.csv": {"item": ["a", "b"], "probability": ["0.2", "0.7"]},
    "predictions.csv": {"item": ["a", "b"], "category": ["x", "y"], "rank": [1, 1]},
    "header.csv": {name: [] for name in LABELS},
}
FIT = ("fit", "labels.csv", "-o", "p.nc")
COMMANDS = {  # arguments
    "no such file": ("fit", "answers.csv", "--kind", "labels", "-o", "p.nc"),
    "a wrong kind": (*FIT, "--kind", "rankings"),
    "two columns mistyped": ("check", "typo.csv", "--kind", "labels"),
    "empty cells": ("fit", "missing.csv", "--kind", "labels", "-o", "p.nc"),
    "no output": ("fit", "labels.csv", "--kind", "labels"),
    "output of another kind": ("fit", "labels.csv", "--kind", "labels", "-o", "p.csv"),
    "model mistyped": (*FIT, "--kind", "labels", "--model", "dawid_skeen"),
    "model of another kind": (*FIT, "--kind", "labels", "--model", "thurstone"),
    "negative seed": (*FIT, "--kind", "labels", "--seed", "-1"),
    "no order": (*FIT, "--kind", "labels", "--model", "ordinal"),
    "winner mistyped": ("rank", "votes.csv"),
    "score in words": ("fit", "scores.csv", "--kind", "scores", "-o", "p.nc"),
    "score beyond bounds": ("fit", "high.csv", "--kind", "scores", "--bounds", "1,10", "-o", "p.nc"),
    "bounds of labels": (*FIT, "--kind", "labels", "--bounds", "1,5"),
    "no rows": ("check", "header.csv", "--kind", "labels"),
    "arguments of evaluate swapped": ("evaluate", "predictions.csv", "p.nc"),
    "option mistyped": (*FIT, "--sed", "3"),
    "command mistyped": ("fti", "labels.csv"),
    "kind mistyped": (*FIT, "--kind", "label"),
    "kind of other columns": ("fit", "labels.csv", "--kind", "rankings", "-o", "p.nc"),
    "wide scores": ("check", "wide.csv", "--kind", "scores"),
    "wide labels": ("check", "wide.csv", "--kind", "labels"),
    "probabilities of no category": ("report", "labels.csv", "probabilities.csv", "--kind", "labels"),
    "layout mistyped": (*FIT, "--kind", "labels", "--layout", "widee"),
    "kept part mistyped": (*FIT, "--kind", "labels", "--keep", "thined"),
    "resume with data": ("fit", "labels.csv", "--resume", "p.zarr"),
}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in TABLES.items():
        write(tmp_path / name, table)


@pytest.mark.parametrize("mistake", COMMANDS)
def test_a_command_names_the_remedy(mistake, tables, golden):
    result = run(*COMMANDS[mistake])
    assert result.exit_code == 2
    golden.says(said(result))


@pytest.mark.parametrize(
    ("table", "option"), [("twice", "--drop-duplicates"), ("spaces", "--merge-look-alikes")]
)
def test_what_is_no_error_is_said(table, option, tables):
    result = run("fit", f"{table}.csv", "--kind", "labels", "-o", "p.nc", "--draws", 10, "--chains", 2)
    assert result.exit_code == 0 and option in said(result)


def test_the_columns_tell_the_kind(tables):
    result = run(*FIT, "--draws", 10, "--chains", 2)
    assert result.exit_code == 0 and "read as labels" in said(result)


WIDE = {"item": ["a", "b"], "Ann": [1, 2], "Bob": [2, 2]}
LABELLED = models.Labels.from_table(LABELS)
CALLS = {
    "seed": lambda tree: inference.sample(models.dawid_skene(LABELLED), seed=1),
    "data for a model": lambda tree: inference.sample(LABELLED),
    "frame for data": lambda tree: models.dawid_skene(pd.DataFrame(LABELS)),
    "votes for labels": lambda tree: models.bradley_terry(LABELLED),
    "column": lambda tree: models.Labels.from_table({"task": ["a"], "who": ["r"], "label": ["x"]}),
    "wide scores": lambda tree: models.Scores.from_table(WIDE),
    "wide labels": lambda tree: models.Labels.from_table(WIDE),
    "path for a table": lambda tree: models.Labels.from_table("a.csv"),
    "name of a package": lambda tree: rz.dawid_skene,
    "metric as text": lambda tree: evaluation.compare("balanced accuracy", tree, PREDICTIONS),
    "arguments in another order": lambda tree: evaluation.metric_draws(tree, evaluation.f1(), PREDICTIONS),
    "prior": lambda tree: models.dawid_skene(LABELLED, prevalence_concentration=-1),
    "metric without parentheses": lambda tree: evaluation.uncertainty_adjusted(
        evaluation.f1, tree, PREDICTIONS
    ),
    "predictions in a frame": lambda tree: evaluation.uncertainty_adjusted(
        evaluation.f1(), tree, pd.DataFrame(LABELS)
    ),
}
PREDICTIONS = evaluation.predictions_from_table(
    {"item": ["a", "b", "c"], "category": ["x", "x", "y"], "rank": [1, 1, 1]}, rank="rank"
)


@pytest.mark.parametrize("mistake", CALLS)
def test_python_names_the_remedy(mistake, golden):
    rng = np.random.default_rng(1)
    counts = models.Labels.from_counts({"item": list("abc"), "x": rng.integers(1, 5, 3), "y": [1, 2, 3]})
    tree = inference.sample(models.dirichlet(counts), draws=20, chains=2, random_seed=1, progressbar=False)
    with golden.raises((ValueError, TypeError, AttributeError)):
        CALLS[mistake](tree)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("t.csv", "a,r1,x\nb,r1,y\n", ()),
        ("t.csv", "item,rater,label\na,r1\n", ()),
        ("t.csv", "item,rater,label\na,r1,\n", ()),
        ("t.csv.gz", "", ()),
        ("t.csv", "item,rater,label\na,r1,x\n", ("--kind", "scores", "--categories", "x,y")),
    ],
)
def test_files_that_are_odd(tmp_path, name, text, options, golden):
    (tmp_path / name).write_text(text)
    result = run("check", tmp_path / name, *(options or ("--kind", "labels")))
    assert result.exit_code == 2, result.output
    golden.says(said(result))


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
@pytest.mark.parametrize(("cells", "odd"), [(("1.0", "0.0"), False), (("one", "two"), True)])
def test_a_rater_with_floats_is_no_odd_one(tmp_path, cells, odd):
    """The remedy would leave the rater out."""
    (tmp_path / "w.csv").write_text(f"item,a,b,c\n1,1,{cells[0]},1\n2,0,{cells[1]},1\n3,1,,0\n")
    result = run("check", tmp_path / "w.csv", "--kind", "labels", "--layout", "wide")
    assert result.exit_code == 0 and ("shares no label" in said(result)) == odd


def test_check_takes_the_categories_that_its_remedy_names(tmp_path):
    (tmp_path / "t.csv").write_text("item,rater,label\na,r1,x\nb,r1,x\n")
    assert "--categories" in said(run("check", tmp_path / "t.csv", "--kind", "labels"))
    result = run("check", tmp_path / "t.csv", "--kind", "labels", "--categories", "x,y")
    assert result.exit_code == 0 and "2 declared, 1 given" in result.output, result.output


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_predictions_without_categories_are_refused_before_the_posterior_is_read(
    suffix, tables, monkeypatch, golden
):
    path = f"p.{suffix}"
    options = ("--kind", "labels", "--model", "dirichlet", "--draws", 10, "--chains", 2)
    assert run("fit", "labels.csv", "-o", path, *options).exit_code == 0
    monkeypatch.setattr("raterzoo.cli.evaluating.read_posterior", None)
    result = run("evaluate", path, "probabilities.csv")
    assert result.exit_code == 2
    golden.says(said(result))


WIDE = {"item": [1, 2, 3], "w0": ["a", "b", "a"], "w1": ["a", "b", "b"]}


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("labels", WIDE | {"text": ["one", "two", "three"]}),
        ("scores", {"item": [1, 2], "w0": [4, 5], "w1": [3, 5], "length": [120, 80]}),
    ],
)  # fmt: skip
def test_a_column_that_may_be_no_rater_is_named(tmp_path, kind, table, golden):
    path = write(tmp_path / "wide.csv", table)
    wide = ("check", path, "--kind", kind, "--layout", "wide")
    text = said(run(*wide))
    golden.says(text)
    assert "no rater" not in said(run(*wide, "--column", "rater=w0", "--column", "rater=w1"))
    without = {name: values for name, values in table.items() if name not in ("text", "length")}
    assert "no rater" not in said(run("check", write(path, without), *wide[2:]))


def test_a_missing_posterior_and_a_table_in_its_place_are_seen_at_once(tmp_path, golden):
    table = write(tmp_path / "answers.csv", WIDE)
    for name in (tmp_path / "p.nc", table):
        done = run("evaluate", name, table)
        assert done.exit_code == 2
        golden.says(said(done))
    errors = stderr_without_importing(
        {"numpy", "xarray", "pymc"}, ["evaluate", "nowhere.nc", "p.csv"], tmp_path
    )
    golden.says(errors)


def test_a_table_without_an_output_is_told_what_lacks(tmp_path, golden):
    done = run("fit", write(tmp_path / "answers.csv", WIDE), "--kind", "labels")
    assert done.exit_code == 2
    golden.says(said(done))
