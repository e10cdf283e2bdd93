"""Raters of earlier studies on the command line and in `raterzoo.analyse`: a file of theirs, and what the page says."""

import json
import warnings

import numpy as np
import pytest
import raterzoo
import xarray as xr
from raterzoo import inference, models

from tests.support.command_line import run, said, write


@pytest.fixture(scope="module")
def studies():
    """Two studies of the same raters, as tables with text ids, and the file of a prior."""
    rows = models.simulators.labels(
        items=90, raters=6, answers=4, categories=2, random_seed=4
    ).data.to_table()
    rows = {
        name: np.array([f"{name[0]}{own}" for own in cells])
        for name, cells in rows.items()
        if name != "count"
    }
    late = np.array([int(own[1:]) >= 70 for own in rows["item"]])
    return [{name: cells[own] for name, cells in rows.items()} for own in (~late, late)]


@pytest.fixture(scope="module")
def prior(studies):
    labels = models.Labels.from_table(studies[0])
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(models.dawid_skene(labels), random_seed=1, draws=200, progressbar=False)
    return inference.rater_prior(tree)


def test_an_analysis_says_how_many_raters_are_known_and_whether_the_history_fits(studies, prior, tmp_path):
    prior.to_netcdf(tmp_path / "raters.nc")
    options = {"model": "dawid_skene", "draws": 200, "chains": 2, "progressbar": False}
    read, given = (
        raterzoo.analyse(studies[1], "labels", raters=own, **options)
        for own in (tmp_path / "raters.nc", prior)
    )
    assert read.facts.known == given.facts.known == 6
    weights = read.tree["posterior"]["history_weight"].mean(("chain", "draw"))
    assert read.facts.history == pytest.approx(
        dict(zip(weights["history"].values.tolist(), weights.values, strict=True))
    )
    (trust,) = (own for own in read.answers if own.question == "Who can be trusted?")
    assert "6 of 6 raters" in str(trust)
    stranger = prior.assign_coords(rater=["r0", *"abcde"])
    assert raterzoo.analyse(studies[1], "labels", raters=stranger, **options).facts.known == 1
    assert raterzoo.analyse(studies[1], "labels", **options).facts.known is None


def test_a_posterior_of_an_earlier_study_is_a_prior(studies, tmp_path):
    early, late = (
        write(tmp_path / f"{name}.csv", own) for name, own in zip(("early", "late"), studies, strict=True)
    )
    few = ["--kind", "labels", "--model", "dawid_skene", "--draws", "200", "--chains", "2"]
    fitted = run("fit", early, *few, "-o", tmp_path / "early.nc")
    assert fitted.exit_code == 0, fitted.output
    fitted = run("fit", late, *few, "--raters", tmp_path / "early.nc", "-o", tmp_path / "late.nc")
    assert fitted.exit_code == 0, fitted.output
    with xr.open_datatree(tmp_path / "late.nc") as tree:
        assert tree["constant_data"]["history_known"].values.tolist() == [1] * 6
        assert tree["posterior"].sizes["history"] == 4


@pytest.mark.slow
def test_a_report_names_the_file(studies, prior, tmp_path):
    prior.to_netcdf(tmp_path / "raters.nc")
    table = write(tmp_path / "late.csv", studies[1])
    few = ["--kind", "labels", "--draws", "200", "--chains", "2"]
    done = run("report", table, *few, "--raters", tmp_path / "raters.nc", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    facts = json.loads((tmp_path / "out" / "report.json").read_text())
    assert str(tmp_path / "raters.nc") in json.dumps(facts)


@pytest.mark.parametrize("wrong", ["missing", "table", "anonymize", "scores", "other categories"])
def test_what_is_no_prior_is_refused(wrong, studies, prior, tmp_path):
    table, file = write(tmp_path / "late.csv", studies[1]), tmp_path / "raters.nc"
    prior.assign_coords(category=["x", "y"], answer=["x", "y"]).to_netcdf(file)
    kind, further = "labels", []
    if wrong == "missing":
        file = tmp_path / "none.nc"
    elif wrong == "table":
        file = table
    elif wrong == "anonymize":
        further = ["--anonymize"]
    elif wrong == "scores":
        kind = "scores"
    done = run("fit", table, "--kind", kind, "--raters", file, *further, "-o", tmp_path / "late.nc")
    assert done.exit_code == 2 and "raters" in said(done) + str(file), done.output
    assert not (tmp_path / "late.nc").exists()


def test_only_labels_have_raters_of_earlier_studies(prior):
    votes = {"rater": ["a", "b"], "left": ["x", "y"], "right": ["y", "z"], "winner": ["left", "right"]}
    with pytest.raises(ValueError, match="labels"):
        raterzoo.analyse(votes, "comparisons", raters=prior, progressbar=False)
