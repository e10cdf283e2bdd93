"""Predictions in the prior on the command line: what reaches the model, what is refused, and what is said."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr
from raterzoo.cli import prior_predictions
from raterzoo.reports.sections import fit as sections_fit

from tests.support.cli_parts import build, read_annotations, settings_of
from tests.support.command_line import run, said, write

SAMPLER = {"draws": 10, "chains": 1, "seed": 1}
LABELS = {"item": [*"aabbcc"], "rater": [*"rsrsrs"], "label": ["no", "yes", "yes", "yes", "no", "no"]}
RANKINGS = {"item": [*"aabb"], "rater": [*"rrrr"], "category": [*"xyyx"], "rank": [1, 2, 1, 2]}
LONG = {
    "item": [*"aabbdd", *"aab"],
    "classifier": [*"AAAAAA", *"BBB"],
    "category": ["no", "yes"] * 3 + ["no", "yes", "other"],
    "score": [0.25, 0.75, 0.5, 0.5, 1, 0, 0.125, 0.875, 1],
}
WIDE = {"item": [*"ba"], "no": [0.5, 0.25], "yes": [0.5, 0.75]}


def built(folder, table, *, classifier=None, kind="labels", annotations=LABELS):
    model = "dirichlet" if kind == "labels" else None
    paths = write(folder / "annotations.csv", annotations), write(folder / "predicted.csv", table)
    own = {"prior_predictions": paths[1], "prior_classifier": classifier}
    settings = settings_of(kind, model, own, **SAMPLER)
    assert settings.priors == {} and settings.prior_predictions == paths[1]
    prior = prior_predictions.read_prior_predictions(settings)
    data = read_annotations(paths[0], settings, [], prior).data
    return build(data, settings, 1.0, prior_predictions.prior_tables(data, prior, settings))


def told(model):
    values = model["prior_predictions"].get_value()[0]
    names = [[*model.coords[dim]] for dim in ("item", "category")]
    return xr.DataArray(values, dict(zip(("item", "category"), names, strict=True)), ("item", "category"))


def test_long_and_wide_tables_hold_the_probabilities_of_one_classifier(tmp_path, capsys, golden):
    for table, classifier, name in ((LONG, "A", "A"), (WIDE, None, "predictions")):
        model = built(tmp_path, table, classifier=classifier)
        found = told(model).sel(item=[*"abc"], category=["no", "yes"])
        assert found.values.tolist() == [[0.25, 0.75], [0.5, 0.5], [0, 0]]
        assert model.coords["classifier"] == (name,)
    golden.says(capsys.readouterr().err, "predicted.csv: left")
    other = told(built(tmp_path, LONG, classifier="B"))  # a category that only the classifier names
    assert other.sel(item="b", category="other") == 1 and other.sel(item="c").sum() == 0


def test_two_categories_are_completed_and_rankings_take_predictions(tmp_path):
    one = {"item": [*"abc"], "category": ["yes"] * 3, "score": [0.75, 0.5, 0.125]}
    with pytest.warns(UserWarning, match="complement"):
        found = told(built(tmp_path, one)).sel(category="no")
    assert found.values.tolist() == [0.25, 0.5, 0.875]
    predicted = {"item": [*"aab"], "category": [*"xzy"], "score": [0.5, 0.5, 1]}
    ranked = built(tmp_path, predicted, kind="rankings", annotations=RANKINGS)
    candidates = ranked["prior_predictions"].get_value()[0].tolist()  # of a x, y, z and of b
    assert candidates == [0.5, 0, 0.5, 0, 1, 0]


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (LONG, []),
        (LONG, ["--prior-classifier", "C"]),
        (WIDE, ["--prior-classifier", "C"]),
        (WIDE | {"no": [0.5, 0.5]}, []),
        (WIDE | {"no": [-3, -2]}, []),
        ({"item": [*"ab"], "category": ["no", "yes"], "rank": [1, 1]}, []),
        ({"item": [*"ab"], "probability": [1, 1]}, []),
        (WIDE | {"item": [*"xy"]}, []),
        (WIDE, ["--model", "dawid_skene"]),
        (WIDE, ["--workers", 2]),
    ],
)  # fmt: skip
def test_other_tables_and_options_are_refused(tmp_path, table, options, golden):
    paths = write(tmp_path / "labels.csv", LABELS), write(tmp_path / "predicted.csv", table)
    model = [] if "--model" in options else ["--model", "dirichlet"]
    output = tmp_path / ("posterior.zarr" if "--workers" in options else "posterior.nc")
    command = ["fit", paths[0], "--kind", "labels", *model, "--prior-predictions", paths[1], "-o", output]
    result = run(*command, *options)
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    assert ".sel(" not in said(result) and not output.exists()


def test_a_classifier_without_its_table_is_refused(golden):
    with golden.raises(ValueError):
        settings_of("labels", "dirichlet", {"prior_classifier": "A"}, **SAMPLER)


@pytest.mark.slow
def test_the_strength_is_said_and_judging_the_classifier_is_warned_of(tmp_path, golden):
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 60)
    names = np.array(["no", "yes"])
    items = [f"i{k}" for k in range(60)]
    labels = {"item": items * 2, "rater": ["r"] * 60 + ["s"] * 60, "label": np.tile(names[truth], 2)}
    sure = np.where(truth == 1, 0.95, 0.05).round(3)
    paths = (
        write(tmp_path / "l.csv", labels),
        write(tmp_path / "p.csv", {"item": items, "no": 1 - sure, "yes": sure}),
    )
    prior, posterior = ["--prior-predictions", paths[1]], tmp_path / "p.nc"
    fit = [
        "fit",
        paths[0],
        "--kind",
        "labels",
        "--model",
        "dirichlet",
        *prior,
        "-o",
        posterior,
        "--draws",
        100,
        "--chains",
        2,
    ]
    result = run(*fit)
    assert result.exit_code == 0, result.output
    golden.says(result.output, "classifier 'predictions',")
    tree = xr.open_datatree(posterior, engine="h5netcdf")
    found = sections_fit.prediction_strength(tree)
    draws = tree["posterior"]["prediction_strength"].to_numpy()
    assert found["classifier"] == "predictions" and found["mean"] == draws.mean() > 2
    assert [found["lower"], found["upper"]] == np.quantile(draws, [0.05, 0.95]).tolist()
    with warnings.catch_warnings(action="always"):
        judged = run("evaluate", posterior, paths[1])
    assert judged.exit_code == 0, judged.output
    golden.says(judged.output, "whose prior")
    without = xr.DataTree.from_dict({"posterior": xr.Dataset({"plausibility": ("item", [1.0])})})
    assert sections_fit.strength_in_words(without) == ""


@pytest.mark.slow
def test_a_report_has_the_strength(tmp_path):
    paths = write(tmp_path / "l.csv", LABELS), write(tmp_path / "p.csv", WIDE)
    options = ["--kind", "labels", "--model", "dirichlet", "--prior-predictions", paths[1], "--draws", 300]
    result = run("report", paths[0], *options, "--out", tmp_path / "report")
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "report" / "report.json").read_text())["model"]
    assert 0 < found["prior_predictions"]["lower"] < found["prior_predictions"]["upper"]
    assert "The prior uses the classifier" in (tmp_path / "report" / "report.html").read_text()
