"""`raterzoo fit --predictions` and `evaluate --against`: which question is answered, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models, reports
from raterzoo.cli import reporting
from raterzoo.models import catalog
from raterzoo.reports import settings as reports_settings
from raterzoo.reports.sections.against_truth import without_section

from tests.support.cli_parts import read_predictions
from tests.support.command_line import read, run, said, write
from tests.support.label_designs import tiny_tag_sets

MODEL = ("--kind", "labels", "--model", "one_coin", "--draws", 50, "--chains", 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return tables of 20 items by three people and two classifiers, and the posteriors with and without the latter."""
    folder = tmp_path_factory.mktemp("against")
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 20)

    def answers(right):
        return np.array(["no", "yes"])[np.where(rng.random(20) < right, truth, 1 - truth)].tolist()

    items = [f"i{i}" for i in range(20)]
    votes = {"item": items * 3, "rater": np.repeat(["Ann", "Bob", "Cy"], 20).tolist()}
    rows = {
        "item": items * 2,
        "classifier": ["net"] * 20 + ["tree"] * 20,
        "category": answers(0.9) + answers(0.7),
    }
    tables = {
        "votes": write(folder / "votes.csv", votes | {"label": [*answers(0.8), *answers(0.8), *answers(0.8)]}),
        "both": write(folder / "both.csv", rows),
        "net": write(folder / "net.csv", {name: cells[:20] for name, cells in rows.items()}),
        "few": write(folder / "few.csv", {name: cells[:19] for name, cells in rows.items()}),
        "strange": write(folder / "strange.csv", {name: ["i99", *c[1:]] if name == "item" else c for name, c in rows.items()}),
        "ann": write(folder / "ann.csv", rows | {"classifier": ["Ann"] * 20 + ["tree"] * 20}),
    }  # fmt: skip
    for name, more in {"joint": ("--predictions", tables["net"]), "alone": ()}.items():
        tables[name] = folder / f"{name}.nc"
        result = run("fit", tables["votes"], "-o", tables[name], *MODEL, *more)
        assert result.exit_code == 0, result.output
    return tables


def evaluate(files, posterior, predictions="net", *options):
    return run("evaluate", files[posterior], files[predictions], "--metric", "accuracy", *options)


@pytest.mark.slow
def test_the_question_is_said_and_written(files, tmp_path, golden):
    alone, joint = evaluate(files, "alone"), evaluate(files, "joint", "net", "--out", tmp_path / "found.json")
    golden.says(alone.output, "question: agreement")
    assert "raterzoo fit --predictions" in said(alone) and "Labels.with" not in said(alone)
    golden.says(joint.output, "question: accuracy")
    assert "leans" not in said(alone)
    golden.says(joint.output, "model, one_coin,")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["metrics"]
    golden.says(found["question"], "accuracy against")
    assert evaluate(files, "alone", "net", "--out", tmp_path / "found.csv").exit_code == 0
    assert read(tmp_path / "found.csv")[0]["question"].startswith("agreement with")


def test_a_posterior_of_the_other_question_is_refused(files, golden):
    assert evaluate(files, "joint", "net", "--against", "truth").exit_code == 0
    assert evaluate(files, "alone", "net", "--against", "raters").exit_code == 0
    for posterior, against in (("alone", "truth"), ("joint", "raters"), ("joint", "gold")):
        result = evaluate(files, posterior, "net", "--against", against)
        assert result.exit_code == 2, said(result)
        golden.says(result.output.splitlines()[-1])


def test_a_classifier_that_the_posterior_has_not_seen_is_told_from_one_that_it_has(files, golden):
    result = evaluate(files, "joint", "both")
    golden.says(result.output, "accuracy against")
    golden.says(result.output, "the classifiers")
    assert evaluate(files, "joint", "both", "--against", "truth").exit_code == 2


def test_predictions_that_cannot_be_raters_are_refused_in_the_words_of_the_command_line(
    files, tmp_path, golden
):
    out = ("-o", tmp_path / "posterior.nc")
    for options in (
        ("--kind", "labels", "--model", "multinomial"),
        ("--kind", "scores"),
        ("--kind", "rankings"),
    ):
        result = run("fit", files["votes"], *out, *options, "--predictions", files["net"])
        assert result.exit_code == 2, said(result)
        golden.says(said(result))
    for name in ("strange", "ann"):
        result = run("fit", files["votes"], *out, *MODEL, "--predictions", files[name])
        assert result.exit_code == 2 and f"{name}.csv: " in said(result)
        golden.says(said(result))
        assert "new_items" not in said(result)


@pytest.mark.slow
def test_classifiers_are_raters_of_rankings(tmp_path, monkeypatch):
    rows = {"item": list("aabb"), "rater": ["Ann", "Bob"] * 2, "category": list("xyxx"), "rank": [1] * 4}
    lists = {"item": ["a", "a"], "classifier": ["net"] * 2, "category": ["y", "z"], "rank": [1, 2]}
    votes, predicted, out = (
        write(tmp_path / "v.csv", rows),
        write(tmp_path / "p.csv", lists),
        tmp_path / "joint.nc",
    )
    model = ("--kind", "rankings", "--model", "hierarchical_plackett_luce", "--draws", 50, "--chains", 2)
    result = run("fit", votes, "-o", out, *model, "--predictions", predicted)
    assert result.exit_code == 0 and "missing predictions: 1;" in said(result), said(result)
    with xr.open_datatree(out, engine="h5netcdf") as tree:
        assert tree["posterior"]["rater"].to_numpy().tolist() == ["Ann", "Bob", "net"]
        assert "z" in tree["posterior"]["category"].to_numpy()
    whole = write(
        tmp_path / "w.csv",
        {name: [*cells, cells[0]] for name, cells in lists.items()} | {"item": list("aab")},
    )
    result = run("evaluate", out, whole, "--metric", "top-1-accuracy")
    assert "the consensus where the posterior has seen the list, for 1 of 2, and" in said(result)
    seen = tmp_path / "seen.nc"
    result = run("fit", votes, "-o", seen, *model, "--predictions", whole)
    assert result.exit_code == 0, said(result)
    result = run("evaluate", seen, whole, "--metric", "top-1-accuracy", "--against", "truth")
    assert "question: accuracy against the consensus, the truth behind rankings" in said(result), said(result)
    result = run("evaluate", seen, whole, "--against", "raters")
    assert result.exit_code == 2 and "are accuracy against the consensus" in said(result), said(result)
    whole.write_text(whole.read_text().replace("net", "other"))
    result = run("evaluate", seen, whole, "--against", "truth")
    assert result.exit_code == 2 and "--kind rankings --model hierarchical_plackett_luce" in said(result)
    result = run("evaluate", seen, whole, "--metric", "top-1-accuracy")
    assert "needs raterzoo fit --model hierarchical_plackett_luce --predictions" in said(result)
    lists["item"] = ["a", "c"]
    result = run("fit", votes, "-o", out, *model, "--predictions", write(tmp_path / "q.csv", lists))
    assert result.exit_code == 2 and "q.csv: " in said(result) and "item 'c' is none" in said(result), said(
        result
    )


@pytest.mark.slow
def test_the_report_of_rankings_shows_both_estimates_side_by_side(tmp_path, golden):
    drawn = models.simulators.rankings(
        items=8, categories=4, reliability=[1, 1, 2], random_seed=1
    ).data.to_table()
    rows = [dict(zip(drawn, map(str, row), strict=True)) for row in zip(*drawn.values(), strict=True)]
    votes, lists = tmp_path / "v.csv", tmp_path / "p.csv"
    for path, own, name in ((votes, "01", "rater"), (lists, "2", "classifier")):
        kept = [row for row in rows if row["rater"] in own]
        write(
            path,
            {name: [f"r{row['rater']}" for row in kept]}
            | {n: [row[n] for row in kept] for n in ("item", "category", "rank")},
        )
    options = (
        "--kind",
        "rankings",
        "--draws",
        50,
        "--chains",
        2,
        "--metric",
        "top-1-accuracy",
        "--out",
        tmp_path / "out",
    )
    result = run("report", votes, lists, *options, "--model", "hierarchical_plackett_luce")
    golden.says(result.output, "the consensus")
    golden.says(result.output, "not converged")
    truth = json.loads((tmp_path / "out" / "report.json").read_text())["metrics"]["truth"]
    assert not truth["converged"]
    golden.says(truth["question"], "accuracy against")
    assert {"mean", "agreement_mean"} <= {*truth["rows"][0]}


def test_missing_predictions_are_counted(files, tmp_path, monkeypatch):
    from raterzoo.cli import fitting

    def stop(*_, **__):
        raise ValueError("stop here")

    monkeypatch.setattr(fitting, "draw", stop)
    result = run("fit", files["votes"], "-o", tmp_path / "a.nc", *MODEL, "--predictions", files["few"])
    assert "missing predictions: 1;" in said(result) and "stop here" in said(result)


def test_the_catalog_says_whose_raters_are_alike():
    table = {"item": [*"aabbcc"], "rater": [*"xyxyxy"], "label": [*"nnnyyy"], "kind": [*"pqpqpq"]}
    labels = models.Labels.from_table(table, rater_attributes=["kind"])
    for name, entry in catalog.items():
        if entry.data != "labels" or entry.needs_groups:  # groups of raters, so that they are told apart
            assert not entry.raters_alike or entry.data in ("rankings", "scores")
            continue
        order = {"order": ["n", "y"]} if entry.needs_order else {}
        model = getattr(models, name)(tiny_tag_sets(labels) if name == "multi_label" else labels, **order)
        of_raters = any("rater" in dims for dims in model.named_vars_to_dims.values() if dims)
        assert of_raters != entry.raters_alike, name


@pytest.fixture(scope="module")
def reported(files, tmp_path_factory):
    """Return the machine-readable report of the votes with both classifiers, and what was printed."""
    out = tmp_path_factory.mktemp("reported") / "out"
    result = run("report", files["votes"], files["both"], *MODEL, "--out", out)
    assert result.exit_code == 0, result.output
    return out, json.loads((out / "report.json").read_text()), said(result)


@pytest.mark.slow
def test_the_report_shows_both_estimates_side_by_side(files, reported, golden):
    _, found, printed = reported
    truth = found["metrics"]["truth"]
    golden.says(truth["question"], "accuracy against")
    of_raters = {(row["metric"], row["classifier"]): row for row in found["metrics"]["rows"]}
    for row in truth["rows"]:
        assert row["agreement_mean"] == of_raters[row["metric"], row["classifier"]]["mean"]
    by_accuracy = {row["classifier"]: row for row in truth["rows"] if row["metric"] == "accuracy"}
    assert all(row["mean"] > row["agreement_mean"] for row in by_accuracy.values())  # as raters err
    best = max(by_accuracy, key=lambda name: by_accuracy[name]["mean"])
    assert truth["order"][0] == best
    assert f"{best} has accuracy {100 * by_accuracy[best]['mean']:.0f} %" in printed


def test_reports_from_python_take_the_joint_posterior(files, reported, golden):
    out, found, _ = reported
    votes = read(files["votes"])
    labels = models.Labels.from_table({name: [row[name] for row in votes] for name in votes[0]})
    predicted = evaluation.predictions_from_table(
        {name: [row[name] for row in read(files["net"])] for name in ("item", "classifier", "category")}
        | {"rank": [1] * 20},
        rank="rank",
        classifier="classifier",
    )
    with xr.open_datatree(out / "posterior.nc") as tree, xr.open_datatree(files["joint"]) as joint:
        sections = reports.make(
            tree, predicted, annotations=labels, joint=joint, metrics=("accuracy",)
        ).sections
        with golden.raises(ValueError):
            reports.make(tree, annotations=labels, joint=joint)
    (truth,) = (own for own in sections if own.key == "metrics.truth")
    of_both = found["metrics"]["truth"]["rows"][0]
    assert truth.rows[0]["agreement_mean"] == pytest.approx(of_both["agreement_mean"])
    assert truth.rows[0]["mean"] == pytest.approx(of_both["mean"], abs=0.1)  # without the other classifier


def test_reports_say_why_there_is_no_estimate_against_the_truth(files, golden):
    votes = read(files["votes"])
    labels = models.Labels.from_table({name: [row[name] for row in votes] for name in votes[0]})
    predicted = read_predictions(files["ann"], [], missing="error")
    settings = reports_settings.Settings("labels", "one_coin", (1.0,), 50, 2, 1)
    for model, words in {
        "one_coin": "'Ann' is a rater of these labels already",
        "dirichlet": "all raters are alike",
    }.items():
        joint = reporting.joint_of(
            labels, predicted, reports_settings.Sources(files["ann"]), replace(settings, model=model)
        )
        assert joint.tree is None and words in joint.why_not
    golden.says(without_section(joint.why_not).text, "accuracy against")
    golden.says(without_section("why", "consensus").text)
