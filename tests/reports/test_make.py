"""Reports made from Python are those of the command line."""

import json

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models, reports

from tests.support.command_line import run, write

RNG = np.random.default_rng(5)
ITEMS = np.repeat([f"i{k}" for k in range(6)], 3)
RATERS = np.tile(["r", "s", "t"], 6)
TABLES = {
    "scores": {"item": ITEMS, "rater": RATERS, "score": RNG.normal(size=18).round(3)},
    "labels": {"item": ITEMS, "rater": RATERS, "label": RNG.choice(["a", "b"], 18)},
    "comparisons": {
        "rater": RATERS,
        "left": ITEMS,
        "right": [f"i{(int(item[1]) + k) % 6}" for item, k in zip(ITEMS, [1, 2, 3] * 6, strict=True)],
        "winner": RNG.choice(["left", "right"], 18),
    },
}
CONTAINERS = {"scores": models.Scores, "labels": models.Labels, "comparisons": models.Comparisons}
OPTIONS = {
    "scores": ("--threshold", "0", "--model", "normal_scores"),
    "labels": ("--model", "dirichlet"),
    "comparisons": ("--raters", "shared"),
}


@pytest.fixture(scope="module")
def scores():
    data = models.Scores.from_table(TABLES["scores"])
    return data, inference.sample(models.normal_scores(data), draws=50, random_seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_the_report_of_a_stored_posterior_is_that_of_the_command_line(kind, tmp_path):
    path, out = write(tmp_path / "t.csv", TABLES[kind]), tmp_path / "out"
    asked = ("--kind", kind, *OPTIONS[kind], "--draws", 100, "--chains", 2, "--out", out)
    result = run("report", path, *asked)
    assert result.exit_code == 0, result.output
    data = CONTAINERS[kind].from_table(TABLES[kind])
    further = {"thresholds": [0.0]} if kind == "scores" else {}
    with xr.open_datatree(out / "posterior.nc", engine="h5netcdf") as tree:
        reports.make(tree, annotations=data, out=tmp_path / "again", **further)
    first, again = (json.loads((folder / "report.json").read_text()) for folder in (out, tmp_path / "again"))
    assert "Priors not stated" in again["model"].pop("text")
    assert again["model"].pop("priors") is None
    for name in ("text", "priors"):
        del first["model"][name]
    for own in (first, again):  # a remedy names an option there, an argument here
        own["sensitivity"] = own.get("sensitivity", {}).get("unreliable_items")
    if kind != "labels":  # the fitted model is not in the file
        checked = first.pop("fit")
        assert checked["checks"]["rows"] and again.pop("fit")["fits"] is None
        for own in (first, again):
            own["summary"] = [text for text in own["summary"] if "rely on" not in text]
    assert again == first


@pytest.mark.slow
def test_predictions_and_title_are_reported(scores, tmp_path):
    data, tree = scores
    sides = {"item": data.items, "category": ["at most 0", "above 0"]}
    p = np.linspace(0, 1, len(data.items))
    predicted = xr.DataArray(np.stack([1 - p, p], axis=1), sides, ("item", "category"))
    report = reports.make(tree, predicted, annotations=data, thresholds=[0.0], title="<Own>", out=tmp_path)
    assert "Metrics" in [section.title for section in report.sections]
    assert (tmp_path / "metrics.csv").exists() and (tmp_path / "posterior.nc").exists()
    assert "&lt;Own&gt;" in (tmp_path / "report.html").read_text("utf-8")
    assert report._repr_html_().startswith("<iframe srcdoc=") and "<Own>" not in report._repr_html_()


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_a_report_of_few_draws_leaves_out_what_reweights_them(tmp_path, golden):
    data = models.Labels.from_table(TABLES["labels"])
    tree = inference.sample(models.dirichlet(data), draws=12, chains=2, random_seed=1, progressbar=False)
    reports.make(tree, annotations=data, out=tmp_path)
    found = json.loads((tmp_path / "report.json").read_text())["sensitivity"]
    assert "reliability" not in found
    golden.says(found["prior"]["text"], "draws are too")


@pytest.mark.parametrize(
    "arguments",
    [
        {"groups": {"a": "b"}},
        {"group": "kind"},
        {"predictions": xr.DataArray([0.0], dims="item")},
        {"annotations": [1]},
        {"annotations": models.Labels.from_table(TABLES["labels"])},
    ],
)
def test_what_does_not_fit_is_refused(scores, arguments, golden):
    data, tree = scores
    with golden.raises(ValueError):
        reports.make(tree, **{"annotations": data, **arguments})


def test_no_posterior_is_refused(scores):
    with pytest.raises(ValueError, match="empty mapping"):
        reports.make({}, annotations=scores[0])
