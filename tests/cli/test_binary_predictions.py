"""Commands on two categories: one probability for each item, the default metrics, and top-3 accuracy."""

import numpy as np
import pytest

from tests.support.command_line import read, run, said, write

# the command prints warnings
pytestmark = pytest.mark.filterwarnings("default:.*(complement|says nothing)")
NOTE = "of no and yes, is taken to be its complement"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("binary")
    rng = np.random.default_rng(4)
    truth = rng.random(30) < 0.4
    said_yes = np.where(rng.random((30, 4)) < 0.75, truth[:, None], ~truth[:, None])
    labels = {
        "item": [f"i{i}" for i in range(30) for _ in range(4)],
        "rater": [f"r{k}" for _ in range(30) for k in range(4)],
        "label": ["yes" if cell else "no" for cell in said_yes.ravel()],
    }
    p = np.clip(np.where(truth, 0.7, 0.3) + rng.normal(0, 0.15, 30), 0.02, 0.98)
    item, yes = [f"i{i}" for i in range(30)], [repr(float(q)) for q in p]
    alone = {"item": item, "category": ["yes"] * 30, "score": yes}
    both = {"item": item * 2, "category": ["yes"] * 30 + ["no"] * 30}
    both["score"] = yes + [repr(float(1 - q)) for q in p]
    votes, posterior = write(folder / "votes.csv", labels), folder / "posterior.nc"
    quick = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--seed", 2)
    assert run("fit", votes, "-o", posterior, *quick).exit_code == 0
    return {
        "votes": votes,
        "posterior": posterior,
        "alone": write(folder / "alone.csv", alone),
        "both": write(folder / "both.csv", both),
    }


def numbers(rows):
    return {row["metric"]: float(row["mean"]) for row in rows}


@pytest.mark.slow
def test_one_probability_an_item_is_that_of_both_and_is_said(files, tmp_path):
    found = {}
    for name in ("alone", "both"):
        out = tmp_path / f"{name}.csv"
        result = run("evaluate", files["posterior"], files[name], "--out", out)
        assert result.exit_code == 0, result.output
        assert (NOTE in said(result)) == (name == "alone")
        assert said(result).count(NOTE) <= 1
        found[name] = numbers(read(out))
    assert found["alone"] == pytest.approx(found["both"], abs=1e-9)
    # the default metrics of a report, none of which is 1 by construction
    assert list(found["both"])[:2] == ["accuracy", "balanced-accuracy"] and "log-loss" in found["both"]
    assert not any(name.startswith("top") for name in found["both"])


def test_top_3_of_two_categories_is_said_to_say_nothing(files, golden):
    result = run("evaluate", files["posterior"], files["both"], "--metric", "top-3-accuracy")
    assert result.exit_code == 0, said(result)
    golden.says(result.output, "says nothing")
    assert "says nothing" not in said(
        run("evaluate", files["posterior"], files["both"], "--metric", "top-1-accuracy")
    )


@pytest.mark.slow
def test_equivalence_and_report_of_one_probability_an_item(files, tmp_path):
    rows = {}
    for name in ("alone", "both"):
        out = tmp_path / f"{name}-worth.csv"
        result = run("equivalence", files["votes"], files[name], "--bootstrap", 0, "--out", out)
        assert result.exit_code == 0 and (NOTE in said(result)) == (name == "alone"), said(result)
        rows[name] = [float(row["score"]) for row in read(out)]
    assert rows["alone"] == pytest.approx(rows["both"], abs=1e-9)
    quick = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--seed", 2)
    result = run("report", files["votes"], files["alone"], *quick, "--out", tmp_path / "page")
    assert result.exit_code == 0 and said(result).count(NOTE) == 1, said(result)
    assert NOTE in (tmp_path / "page" / "report.html").read_text()
