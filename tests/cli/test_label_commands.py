"""Labels on the command line: from a table of answers to a posterior and a report."""

import json

import numpy as np
import pytest

from tests.support.command_line import run, write


@pytest.fixture
def votes(tmp_path):
    rng = np.random.default_rng(5)
    truth, item = rng.integers(0, 2, 30), np.repeat(np.arange(30), 4)
    label = np.where(rng.random(120) < 0.8, truth[item], 1 - truth[item])
    table = {
        "item": [f"item {i}" for i in item],
        "rater": [f"rater {r}" for r in np.tile(np.arange(4), 30)],
        "label": np.array(["no", "yes"])[label],
        "gold": np.where(item < 3, np.array(["no", "yes"])[truth[item]], ""),
    }
    return write(tmp_path / "votes.csv", table)


@pytest.fixture
def predictions(tmp_path):
    items = {"item": [f"item {i}" for i in range(30)], "category": ["no"] * 30, "rank": [1] * 30}
    return write(tmp_path / "predictions.csv", items)


@pytest.mark.slow
def test_labels_from_table_to_metrics(votes, predictions, tmp_path, golden):
    result = run("check", votes, "--kind", "labels")
    assert result.exit_code == 0
    golden.says(result.output, "known truth")
    posterior = tmp_path / "posterior.nc"
    result = run("fit", votes, "--kind", "labels", "-o", posterior)
    assert result.exit_code == 0 and "converged" in result.output, result.output
    result = run("evaluate", posterior, predictions, "--metric", "top-1-accuracy")
    assert result.exit_code == 0 and "90 % interval" in result.output, result.output


@pytest.mark.parametrize(
    ("model", "files"),
    [
        (
            "correlated_votes",
            {
                "raters.csv",
                "confusion_matrices.csv",
                "worth.csv",
                "agreement.csv",
                "prevalence.csv",
                "model_checks.csv",
                "metrics_truth.csv",
            },
        ),
        pytest.param("multinomial", {"prevalence.csv", "model_checks.csv"}, marks=pytest.mark.slow),
        pytest.param("dirichlet", {"reliability.csv", "prior.csv"}, marks=pytest.mark.slow),
    ],
)
def test_labels_from_table_to_report(votes, predictions, tmp_path, model, files):
    out, asked = tmp_path / model, ("--kind", "labels", "--draws", 300, "--chains", 2)
    result = run("report", votes, predictions, *asked, "--model", model, "--out", out)
    assert result.exit_code == 0, result.output
    found = {p.name for p in out.iterdir()}
    assert (
        found
        == {
            "report.html",
            "report.json",
            "items.jsonl",
            "posterior.nc",
            "certainty.csv",
            "certainty_and_agreement.csv",
            "convergence.csv",
            "metrics.csv",
            "equivalence.csv",
            "equivalence_curve.csv",
            "ask_next.csv",
        }
        | files
    )
    page = (out / "report.html").read_text()
    assert ("<h2>Raters</h2>" in page) == ("raters.csv" in files)
    found = json.loads((out / "report.json").read_text())
    assert {f"{key}.csv" for key in ("prevalence", "raters", "worth", "agreement") if key in found} == (
        files
        - {"reliability.csv", "prior.csv", "confusion_matrices.csv", "model_checks.csv", "metrics_truth.csv"}
    )
    assert ("whom" in found["ask_next"]["rows"][0]) == (model == "correlated_votes")
    assert len(found["ask_next"]["rows"]) == len(found["certainty"]["rows"]) == 30


@pytest.mark.parametrize(
    "options",
    [
        ["--model", "plackett_luce"],
        ["--reliability", "2"],
        ["--concentration", "2"],
        ["--column", "label=nothing"],
    ],
)
def test_wrong_options_for_labels(votes, tmp_path, options, golden):
    result = run("fit", votes, *options, "--kind", "labels", "-o", tmp_path / "p.nc")
    assert result.exit_code == 2, result.output
    golden.says(" ".join(result.output.split()))


@pytest.mark.slow
def test_predictions_of_one_label_need_no_rank(tmp_path):
    table = {"item": list("aabb"), "rater": list("rsrs"), "label": list("xxyx")}
    votes = write(tmp_path / "votes.csv", table)
    hard = write(tmp_path / "hard.csv", {"item": ["a", "b"], "category": ["x", "y"]})
    posterior = tmp_path / "posterior.nc"
    assert run("fit", votes, "--kind", "labels", "-o", posterior).exit_code == 0
    assert run("evaluate", posterior, hard, "--metric", "top-1-accuracy").exit_code == 0
    both = {"item": ["a", "a"], "category": ["x", "y"]}
    twice = run("evaluate", posterior, write(tmp_path / "twice.csv", both))
    assert twice.exit_code == 2 and "is duplicated" in twice.output
