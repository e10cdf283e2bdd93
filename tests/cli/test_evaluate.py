"""`raterzoo evaluate`: every metric by its name, both uncertainties, groups, comparison, files, and what is refused."""

import json

import numpy as np
import pytest
from raterzoo import evaluation
from raterzoo.reports import metric_names

from tests.support.command_line import read, run, said, stderr_without_importing, write

OF_LISTS = ["top-2-accuracy", "accuracy", "balanced-accuracy", "precision", "recall", "f1"]
OF_LISTS += ["f1-weighted", "f1-micro", "kappa", "mcc", "kendall-tau", "footrule", "rbo", "ndcg@3"]
OF_PROBABILITIES = ["log-loss", "cross-entropy", "brier", "auc", "calibration-error"]
LABELS = ["1", "2", "3"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(6)
    item, rater = np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20)
    truth = rng.integers(0, 3, 20)
    label = np.where(rng.random(80) < 0.7, truth[item], rng.integers(0, 3, 80))
    votes = {"item": [f"i{i}" for i in item], "rater": [f"r{r}" for r in rater]}
    votes["label"] = [LABELS[code] for code in label]
    votes = write(folder / "votes.csv", votes)
    scores = {"item": [], "classifier": [], "category": [], "score": []}
    for name, sharpness in (("net", 3.0), ("coin", 0.0)):
        for i in range(20):
            p = np.exp(sharpness * (np.arange(3) == truth[i]) + rng.random(3))
            for code, q in enumerate(p / p.sum()):
                cells = (f"i{i}", name, LABELS[code], repr(float(q)))
                for column, cell in zip(scores.values(), cells, strict=True):
                    column.append(cell)
    ranks = {k: v for k, v in scores.items() if k != "score"} | {"rank": [1, 2, 3] * 40}
    half = {"item": [f"i{i}" for i in range(20)], "group": ["a", "b"] * 10}
    posterior = folder / "posterior.nc"
    quick = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--seed", 2)
    assert run("fit", votes, "-o", posterior, *quick).exit_code == 0
    return {
        "posterior": posterior,
        "scores": write(folder / "scores.csv", scores),
        "ranks": write(folder / "ranks.csv", ranks),
        "halves": write(folder / "halves.csv", half),
        "votes": votes,
    }


def test_every_name_is_a_metric():
    for name in (*metric_names.PLAIN, *(f"{name}@2" for name in metric_names.AT), "top-12-accuracy"):
        assert isinstance(metric_names.metric_named(name), evaluation.Metric), name
    for name in metric_names.AVERAGED:
        found = {metric_names.metric_named(f"{name}-{average}").name for average in metric_names.AVERAGES}
        assert found and metric_names.metric_named(name).score is not None
    assert len(set(metric_names.NAMES)) == len(metric_names.NAMES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("f2", "f1"),
        ("f1x", "f1"),
        ("kapa", "kappa"),
        ("top3-accuracy", "top-3-accuracy"),
        ("logloss", "log-loss"),
    ],
)
def test_an_unknown_name_is_told_the_nearest(name, meant):
    with pytest.raises(ValueError, match=f"did you mean {meant}\\?"):
        metric_names.metric_named(name)


@pytest.mark.parametrize("command", [["report", "--kind", "labels"], ["evaluate"]])
def test_an_unknown_name_is_refused_before_anything_slow_is_imported(tmp_path, command, golden):
    slow = {"pymc", "numba", "scipy.stats", "arviz", "matplotlib"}
    arguments = [*command, "posterior.nc", "predictions.csv", "--metric", "f1x"]
    errors = stderr_without_importing(slow, arguments, tmp_path)
    golden.says(errors)


@pytest.mark.parametrize(
    "name", ["overlap@0", "ndcg@x", "accuracy@3", "kappa-macro", "top-0-accuracy", "", "@", "f1-"]
)
def test_names_that_are_nearly_metrics_are_none(name, golden):
    with golden.raises(ValueError):
        metric_names.metric_named(name)


def test_a_category_that_the_posterior_does_not_know_is_named_with_its_file(files, tmp_path):
    ranks = {name: [row[name] for row in read(files["ranks"])] for name in read(files["ranks"])[0]}
    ranks["category"][0] = "nonsense"
    path = write(tmp_path / "ranks.csv", ranks)
    result = run("evaluate", files["posterior"], path)
    assert result.exit_code == 2
    assert f"{path}: category" in said(result) and "--categories" in said(result)


@pytest.mark.slow
def test_every_metric_is_scored_with_both_uncertainties(files, tmp_path):
    out = tmp_path / "metrics.csv"
    for names, predictions in ((OF_LISTS, "ranks"), (OF_LISTS + OF_PROBABILITIES, "scores")):
        options = [word for name in names for word in ("--metric", name)]
        result = run("evaluate", files["posterior"], files[predictions], *options, "--out", out)
        assert result.exit_code == 0, result.output
        assert "90 % interval" in result.output and "MCSE" in result.output
        rows = read(out)
        assert [row["metric"] for row in rows] == [name for name in names for _ in range(2)]
        for row in rows:
            numbers = {
                k: float(v) for k, v in row.items() if k not in ("metric", "classifier", "question") and v
            }
            assert numbers["lower"] <= numbers["upper"] and numbers["mcse"] >= 0
            between = numbers["raters_lower"] - 1e-12, numbers["raters_upper"] + 1e-12
            assert between[0] <= numbers["mean"] <= between[1], row
            if row["classifier"] == "net" and predictions == "scores":
                assert numbers["sd_items"] > 0 and numbers["sd_raters"] > 0, row


def test_log_loss_and_cross_entropy_are_one(files, tmp_path):
    out = tmp_path / "m.csv"
    metrics = ("--metric", "log-loss", "--metric", "cross-entropy")
    run("evaluate", files["posterior"], files["scores"], *metrics, "--out", out)
    means = [row["mean"] for row in read(out)]
    assert means[:2] == means[2:]


@pytest.mark.slow
def test_groups_of_categories_and_of_items(files, tmp_path):
    by = write(tmp_path / "by.csv", {"category": LABELS, "group": ["low", "low", "high"]})
    for table, groups in ((by, {"low", "high"}), (files["halves"], {"a", "b"})):
        out = tmp_path / "m.json"
        result = run("evaluate", files["posterior"], files["ranks"], "--by", table, "--out", out)
        assert result.exit_code == 0, result.output
        rows = json.loads(out.read_text())["metrics"]
        assert {row["group"] for row in rows} == groups
    halves = [row["share"] for row in rows]
    assert halves == [0.5] * len(rows)


def test_clusters_of_items_are_resampled_whole(files, tmp_path):
    """Of one cluster nothing varies, whatever its items."""
    items, found = [row["item"] for row in read(files["halves"])], []
    for n in (0, 1):
        table = write(tmp_path / "clusters.csv", {"item": items, "cluster": ["all"] * 20})
        options = ("--clusters", table) * n
        out = tmp_path / "m.csv"
        how = ("--metric", "accuracy", *options, "--out", out)
        assert run("evaluate", files["posterior"], files["ranks"], *how).exit_code == 0
        found.append([float(row["sd_items"]) for row in read(out)])
    assert min(found[0]) > 0.01 > max(found[1])


def test_compare_says_who_is_better(files, tmp_path, golden):
    options = ("--metric", "accuracy", "--metric", "auc", "--compare")
    for suffix in ("csv", "json"):
        out = tmp_path / f"m.{suffix}"
        result = run("evaluate", files["posterior"], files["scores"], *options, "--out", out)
        assert result.exit_code == 0
        golden.says(result.output, "better classifier")
    pairs = json.loads((tmp_path / "m.json").read_text())["comparison"]["rows"]
    assert [(row["metric"], row["classifier"]) for row in pairs] == [("accuracy", "net"), ("auc", "net")]
    for text, row in zip(read(tmp_path / "m-comparison.csv"), pairs, strict=True):
        assert float(text["probability_better"]) == row["probability_better"] > 0.9


@pytest.mark.parametrize(
    "arguments",
    [
        ["{ranks}", "--metric", "log-loss"],
        ["{ranks}", "--metric", "auc"],
        ["{ranks}", "--metric", "concordance"],
        ["{ranks}", "--out", "m.txt"],
        ["{ranks}", "--by", "{votes}"],
        ["{ranks}", "--by", "no.csv"],
        ["{posterior}"],
        ["{votes}"],
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(files, arguments, golden):
    result = run("evaluate", files["posterior"], *(a.format(**files) for a in arguments))
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    assert "Traceback" not in result.output


@pytest.mark.parametrize("change", [lambda p: p * 1.5, lambda p: -p, lambda p: p * float("nan")])
def test_scores_that_are_no_probabilities(files, tmp_path, change, golden):
    rows = read(files["scores"])
    table = {name: [row[name] for row in rows] for name in rows[0]}
    table["score"] = [repr(change(float(score))) for score in table["score"]]
    wrong = write(tmp_path / "wrong.csv", table)
    result = run("evaluate", files["posterior"], wrong, "--metric", "brier")
    assert result.exit_code == 2, result.output
    golden.says(said(result))


def test_one_classifier_is_compared_with_nobody(files, tmp_path, golden):
    one = write(tmp_path / "one.csv", {"item": [f"i{i}" for i in range(20)], "category": ["1"] * 20})
    assert run("evaluate", files["posterior"], one).exit_code == 0
    result = run("evaluate", files["posterior"], one, "--compare")
    assert result.exit_code == 2
    golden.says(said(result))
