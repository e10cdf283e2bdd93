"""Scores that a normal model cannot have: piled up at a bound, or with locations beyond it."""

import json

import numpy as np
import pytest
from raterzoo import evaluation, inference, models
from raterzoo.evaluation.certainty.scale_ends import scale_ends
from raterzoo.reports.sections.scores import misfit_in_words

from tests.support.command_line import run, said, write

QUICK = ("--kind", "scores", "--bounds", "1,5", "--draws", 150, "--chains", 2, "--seed", 3)


def table(piled):
    """Return six scores of each of 20 items, from 1 to 5, most of them 5 if `piled`."""
    rng = np.random.default_rng(2)
    score = rng.choice(
        [1, 2, 3, 4, 5], 120, p=[0.02, 0.03, 0.05, 0.1, 0.8] if piled else [0.05, 0.2, 0.5, 0.2, 0.05]
    )
    item, rater = np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20)
    return {"item": [f"i{i}" for i in item], "rater": [f"r{k}" for k in rater], "score": score.tolist()}


@pytest.fixture(scope="module")
def trees():
    found = {}
    for piled in (True, False):
        scores = models.Scores.from_table(table(piled), bounds=(1, 5))
        model = models.normal_scores(scores)
        found[piled] = inference.sample(model, draws=150, chains=2, random_seed=3, progressbar=False)
    return found


@pytest.mark.slow
def test_the_share_at_the_bound_and_the_items_beyond_are_counted(trees, golden):
    found = scale_ends(trees[True])
    score = np.array(table(True)["score"])
    assert found.share == pytest.approx((score == 5).mean()) and found.fullest == 5 and found.misfits
    ends = trees[True]["posterior"]["location"].quantile([0.05, 0.95], ("chain", "draw"))
    beyond = ((ends < 1) | (ends > 5)).any("quantile")
    assert found.outside == ends["item"].to_numpy()[beyond.to_numpy()].tolist() != []
    text = misfit_in_words(found)
    assert text.startswith("MISFIT: ")
    golden.says(text, "ordinal")
    # a twin: scores in the middle of the scale are no misfit
    assert misfit_in_words(scale_ends(trees[False])) == ""
    unbounded = models.normal_scores(models.Scores.from_table(table(True)))
    tree = inference.sample(unbounded, draws=50, chains=1, random_seed=1, progressbar=False)
    assert scale_ends(tree) is None and evaluation.threshold_certainty(tree, 3).sizes["item"] == 20


@pytest.mark.long
def test_fit_and_report_say_it_and_the_command_that_they_offer_runs(tmp_path):
    path = write(tmp_path / "stars.csv", table(True))
    result = run("fit", path, *QUICK, "-o", tmp_path / "p.nc")
    assert result.exit_code == 0 and "MISFIT: 78 % of the scores are 5, a bound" in said(result), said(result)
    out = tmp_path / "page"
    result = run("report", path, *QUICK, "--out", out)
    assert result.exit_code == 0, result.output
    assert "MISFIT" in (out / "report.html").read_text()
    facts = json.loads((out / "report.json").read_text())["locations"]
    assert facts["share_at_bound"] > 0.5 and facts["items_outside"] > 0
    offered = (
        "--kind",
        "labels",
        "--model",
        "ordinal",
        "--categories",
        "1,2,3,4,5",
        "--column",
        "label=score",
    )
    result = run("fit", path, *offered, "--draws", 30, "--chains", 2, "-o", tmp_path / "o.nc")
    assert result.exit_code == 0, result.output
