"""`raterzoo evaluate` on a posterior of each kind: what it lacks is said in the words of the command line."""

import warnings

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models

from tests.support.command_line import run, said, write
from tests.support.stores import write_posterior

RATERS = {"item": [*"aabbcc"], "rater": [*"rsrsrs"]}
TABLES = {
    "labels": RATERS | {"label": [*"xyxxyy"]},
    "scores": RATERS | {"score": [1.0, 2.0, 4.0, 5.0, 2.0, 4.0]},
    "rankings": RATERS | {"category": [*"xyxxyz"], "rank": [1] * 6},
    "comparisons": {"left": [*"abcabc"], "right": [*"bcacab"], "winner": ["left"] * 6, "rater": [*"rsrsrs"]},
}
MODELS = {
    "labels": lambda: models.dirichlet(models.Labels.from_table(TABLES["labels"])),
    "scores": lambda: models.normal_scores(models.Scores.from_table(TABLES["scores"])),
    "rankings": lambda: models.plackett_luce(models.PartialRankings.from_table(TABLES["rankings"])),
    "comparisons": lambda: models.bradley_terry(models.Comparisons.from_table(TABLES["comparisons"])),
    "states": lambda: models.item_states(models.Labels.from_table(TABLES["labels"]), plausibility=False),
}
CASES = [
    ("scores", ()),
    ("labels", ("--threshold", "0")),
    ("rankings", ("--threshold", "0")),
    ("comparisons", ("--threshold", "0")),
    ("comparisons", ("--metric", "accuracy")),
    ("labels", ("--metric", "concordance")),
    ("rankings", ("--metric", "concordance")),
    ("states", ()),
]


@pytest.fixture(scope="module")
def posteriors(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("kinds"), {}
    for kind, build in MODELS.items():
        found[kind] = folder / f"{kind}.nc"
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            tree = inference.sample(build(), draws=50, chains=2, random_seed=1, progressbar=False)
        write_posterior(tree, found[kind])
    return found


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_what_a_posterior_lacks_is_said(posteriors, tmp_path, kind, options, golden):
    ranks = write(tmp_path / "p.csv", {"item": [*"abc"], "category": [*"xxx"], "rank": [1, 1, 1]})
    result = run("evaluate", posteriors[kind], ranks, *options)
    assert result.exit_code == 2, result.output
    golden.says(said(result))
    if kind == "states":  # it is no posterior of scores: no threshold helps
        assert "--threshold" not in said(result) and "state_weight" in said(result)


@pytest.mark.parametrize("kind", ["labels", "rankings"])
def test_predictions_are_scored_without_a_threshold_or_a_metric(posteriors, tmp_path, kind):
    ranks = write(tmp_path / "p.csv", {"item": [*"abc"], "category": [*"xxy"], "rank": [1, 1, 1]})
    result = run("evaluate", posteriors[kind], ranks)
    assert result.exit_code == 0 and "accuracy" in result.output, result.output
    assert "top-3-accuracy" not in result.output  # of two and of three categories it is 1


class TestIntegerItems:
    """A posterior made in Python may have integer items, and a file has text."""

    def posterior(self, kind, folder):
        number = {"a": 10, "b": 9, "c": 11}
        table = {
            name: [number[cell] for cell in cells] if name in ("item", "left", "right") else cells
            for name, cells in TABLES[kind].items()
        }
        build = {
            "labels": lambda: models.dirichlet(models.Labels.from_table(table)),
            "scores": lambda: models.normal_scores(models.Scores.from_table(table)),
            "rankings": lambda: models.plackett_luce(models.PartialRankings.from_table(table)),
            "comparisons": lambda: models.bradley_terry(models.Comparisons.from_table(table)),
        }[kind]
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            tree = inference.sample(build(), draws=50, chains=2, random_seed=1, progressbar=False)
        write_posterior(tree, folder / "p.nc")
        return folder / "p.nc"

    @pytest.mark.parametrize("kind", ["labels", "rankings", "scores", "comparisons"])
    def test_their_numbers_are_found(self, tmp_path, kind):
        table = {"item": [9, 10, 11], "category": [*"xxy"], "rank": [1, 1, 1]}
        options = ()
        if kind == "scores":
            table, options = {"item": [9, 10, 11], "score": [2.5, 1.5, 3.5]}, ("--threshold", 2)
        elif kind == "comparisons":
            table = {"item": [9, 10, 11], "score": [0.5, 0.1, 0.9]}
        else:
            groups = write(tmp_path / "groups.csv", {"item": [9, 10, 11], "group": [*"uuv"]})
            options = ("--by", groups)
        result = run("evaluate", self.posterior(kind, tmp_path), write(tmp_path / "t.csv", table), *options)
        assert result.exit_code == 0, result.output

    def test_a_name_is_refused_with_a_remedy(self, tmp_path):
        posterior = self.posterior("labels", tmp_path)
        for name in ("b", "\u0661\u0661", "011", "1_1", "+11", f"1{'0' * 30}"):  # Arabic digits of 11
            table = {"item": [9, 10, name], "category": [*"xxy"], "rank": [1, 1, 1]}
            result = run("evaluate", posterior, write(tmp_path / "t.csv", table))
            assert result.exit_code == 2, name
            assert f"are integers, and {name!r} is none;" in said(result)


def test_annotations_in_place_of_predictions_are_noticed(posteriors, tmp_path, golden):
    answers = write(tmp_path / "answers.csv", TABLES["labels"])
    result = run("evaluate", posteriors["labels"], answers)
    assert result.exit_code == 2
    golden.says(result.output, "--column classifier=rater")


def test_gold_that_no_rater_gave_is_said(tmp_path, golden):
    law = np.random.default_rng(1).dirichlet([1, 1], (2, 20, 2))
    groups = {
        "posterior": xr.Dataset(
            {"plausibility": (("chain", "draw", "item", "category"), law, {"truth": "category"})},
            {"item": ["a", "b"], "category": ["x", "y"]},
        ),
        "constant_data": xr.Dataset({"gold": ("item", [1, -1]), "annotation_item": ("annotation", [0, 1])}),
        "observed_data": xr.Dataset({"observed_label": ("annotation", [0, 0])}),
    }
    write_posterior(xr.DataTree.from_dict(groups), tmp_path / "p.nc")
    predicted = write(tmp_path / "p.csv", {"item": ["a", "b"], "category": ["x", "y"]})
    result = run("evaluate", tmp_path / "p.nc", predicted, "--metric", "accuracy")
    assert result.exit_code == 0, result.output
    golden.says(result.output, "gold label")


def test_a_sampler_that_has_not_converged_is_told_beside_its_numbers(posteriors, tmp_path):
    ranks = write(tmp_path / "p.csv", {"item": [*"abc"], "category": [*"xxx"], "rank": [1, 1, 1]})
    short = run("evaluate", posteriors["rankings"], ranks)
    assert short.exit_code == 0, short.output
    assert f"numbers of {posteriors['rankings']}: NOT converged: " in said(short)
    exact = run("evaluate", posteriors["labels"], ranks)
    assert exact.exit_code == 0 and "do not rely" not in said(exact)
