"""What survey equivalence is given: other forms of labels, labels that are too few, and what cannot be scored."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.evaluation import EvaluationError, survey_equivalence
from raterzoo.evaluation.surveys import subsets
from raterzoo.evaluation.surveys.counts import Classifiers
from raterzoo.evaluation.surveys.rules import SurveyOptions

from tests.support.survey_parts import Patterns, subsets_of, survey_power_curve

ROWS = [[3, 1], [0, 4], [2, 2], [4, 0], [1, 3], [3, 1]]


def array(values, items=None, categories=("no", "yes")):
    items = [f"i{i}" for i in range(len(values))] if items is None else items
    return xr.DataArray(values, {"item": items, "category": list(categories)}, ("item", "category"))


def laws(values=None):
    positive = np.array([0.2, 0.9, 0.5, 0.1, 0.7, 0.3]) if values is None else np.asarray(values, float)
    return array(np.stack([1 - positive, positive], axis=1))


def worth(counts, predictions=None, *given, **how):
    return survey_equivalence(
        counts, laws() if predictions is None else predictions, *given, **{"bootstrap": 0, **how}
    )


class TestForms:
    expected = worth(array(ROWS))

    def test_labels(self):
        labels = models.Labels.from_counts(array(ROWS))
        xr.testing.assert_identical(worth(labels), self.expected)

    def test_tree_of_counts(self):
        labels = models.Labels.from_counts(array(ROWS))
        tree = inference.sample(models.dirichlet(labels), draws=10, chains=1, progressbar=False)
        xr.testing.assert_identical(worth(tree), self.expected)

    def test_tree_of_raters(self):
        rows = [
            (f"i{i}", f"r{r}", label)
            for i, (no, yes) in enumerate(ROWS)
            for r, label in enumerate(["no"] * no + ["yes"] * yes)
        ]
        frame = pd.DataFrame(rows, columns=["item", "rater", "label"])
        item, code = frame["item"].factorize()[0], (frame["label"] == "yes").astype(int)
        tree = xr.DataTree.from_dict(
            {
                "posterior": xr.Dataset({"plausibility": array(np.full((6, 2), 0.5))}),
                "observed_data": xr.Dataset({"observed_label": ("annotation", code.to_numpy())}),
                "constant_data": xr.Dataset({"annotation_item": ("annotation", item)}),
            }
        )
        xr.testing.assert_identical(worth(tree), self.expected)

    @pytest.mark.filterwarnings("ignore:NOT converged")
    def test_tree_of_item_states(self):
        labels = models.Labels.from_counts(array(ROWS))
        tree = inference.sample(models.item_states(labels), draws=20, chains=1, tune=20, progressbar=False)
        found = survey_power_curve(tree, max_raters=5)
        assert found["power_curve"].dims == ("chain", "draw", "k") and "asymptote" in found
        assert "performance_ratio" in survey_equivalence(tree, laws(), max_raters=5)

    def test_predictions_for_more_items_are_not_used(self):
        xr.testing.assert_identical(worth(array(ROWS[:5])), worth(array(ROWS[:5]), laws()[:5]))

    def test_raters_need_not_have_given_every_category(self):
        cells = [["no", "no"], ["yes", ""], ["no", "yes"]]
        table = xr.DataArray(cells, {"item": ["i0", "i1", "i2"]}, ("item", "rater"))
        predictions = array(np.full((3, 3), 1 / 3), categories=("maybe", "no", "yes"))
        assert np.isfinite(worth(table, predictions)["score"])

    def test_hard_predictions_can_be_of_bool(self):
        hard = laws([0, 1, 1, 0, 1, 0])
        xr.testing.assert_identical(worth(array(ROWS), hard.astype(bool)), worth(array(ROWS), hard))


class TestTooFew:
    def test_items_with_no_or_one_label_are_left_out_and_counted(self):
        rows = [*ROWS[:4], [0, 0], [1, 0]]
        found = worth(array(rows))
        kept = worth(array(ROWS[:4]), laws()[:4])
        assert (found.attrs["left_out"], found.attrs["left_out_without_label"]) == (2, 1)
        assert found.attrs["left_out_with_one_label"] == 1
        np.testing.assert_array_equal(found["power_curve"], kept["power_curve"])
        assert float(found["score"]) == float(kept["score"])

    def test_no_item_has_labels_enough(self, golden):
        with golden.raises(EvaluationError):
            worth(array([[0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]))
        with golden.raises(EvaluationError):
            worth(array(ROWS), reference=5)

    def test_unanimous_items_are_told(self, golden):
        found = worth(array([[3, 0], [0, 3], [3, 0], [0, 3], [0, 3], [3, 0]]), None, "frequency")
        golden.says(found.attrs["note"], "all labels")
        np.testing.assert_allclose(found["power_curve"][1:], found["power_curve"][1], atol=1e-15, rtol=0)
        assert worth(array(ROWS)).attrs["note"] == ""

    def test_one_kind_of_label(self):
        found = worth(array([[4, 0]] * 6), laws(np.zeros(6)), "plurality", "agreement")
        assert float(found["score"]) == 1 and str(found["censored"].item()) == "above"

    def test_k_defaults_to_what_half_of_the_items_have(self):
        rows = [[2, 1], [2, 0], [1, 2], [9, 9], [3, 9], [0, 9]]
        found = worth(array(rows))
        assert found.sizes["k"] == 3 and found["items"].to_numpy().tolist() == [6, 6, 5]

    def test_k_beyond_the_labels(self, golden):
        with golden.raises(EvaluationError):
            worth(array(ROWS), max_raters=4)

    def test_classifier_below_the_baseline(self):
        found = worth(array(ROWS), laws([1, 0, 1, 1, 0, 1]))
        assert str(found["censored"].item()) == "below" and np.isnan(found["equivalence"])
        assert str(found["words"].item()) == "no rater"


def nan_at(place):
    values = laws().copy()
    values[place] = np.nan
    return values


BAD_COUNTS = {
    "negative": array([[3, -1], *ROWS[1:]]),
    "fractional": array([[3, 0.5], *ROWS[1:]]),
    "nan": array([[3, np.nan], *ROWS[1:]]),
    "text": array([["a", "b"]] * 6),
    "items": array(ROWS, items=["i0", "i0", "i2", "i3", "i4", "i5"]),
    "categories": array(ROWS, categories=("a", "a")),
    "no coordinate": xr.DataArray(ROWS, dims=("item", "category")),
    "dims": xr.DataArray(ROWS, dims=("item", "label")),
    "type": np.array(ROWS),
    "empty": array(np.empty((0, 2), int)),
    "tree": xr.DataTree(),
    "blank": xr.DataArray([["", ""]], {"item": ["i0"]}, ("item", "rater")),
    "half": xr.DataArray([[1.5, 2.0]], {"item": ["i0"]}, ("item", "rater")),
}
BAD_PREDICTIONS = {
    "more categories": array(np.full((6, 3), 1 / 3), categories=("no", "yes", "maybe")),
    "fewer categories": array(np.ones((6, 1)), categories=("no",)),
    "sum": laws() * 0.9,
    "scores": laws() * 10,
    "negative": array([[1.2, -0.2]] * 6),
    "nan": nan_at((2, 1)),
    "missing item": laws()[1:],
    "kind of items": laws().assign_coords(item=np.arange(6)),
    "duplicate": laws().assign_coords(item=["i0"] * 6),
    "dims": laws().rename(category="label"),
    "type": laws().to_numpy(),
    "text": laws().astype(str),
    "names": xr.concat([laws(), laws()], "classifier").assign_coords(classifier=["a", "a"]),
}  # fmt: skip
BAD_ARGUMENTS = [
    {"combiner": "vote"},
    {"scorer": "accuracy"},
    {"items": "all"},
    {"estimand": "median"},
    {"learn": "others"},
    {"learn": 1},
    {"learn": True},
    {"learn": 7},
    {"learn": 10**9},
    {"base": 1},
    {"base": -2},
    {"clip": 0.5},
    {"clip": "none"},
    {"base": "e"},
    {"probability": "high"},
    {"combiner": "mean", "scorer": "pearson", "values": [0, 1]},
    {"combiner": "mean", "scorer": "pearson", "values": {"no": "a", "yes": 1}},
    {"combiner": "mean", "scorer": "auc", "positive": "no"},
    {"clip": -0.1},
    {"clip": np.nan},
    {"reference": 0},
    {"max_raters": 0},
    {"bootstrap": -1},
    {"bootstrap": 2.5},
    {"bootstrap": 1},
    {"random_seed": None},
    {"probability": 1},
    {"samples": 1},
    {"no_labels": "none"},
    {"raters": "known"},
    {"combiner": "mean"},
    {"combiner": "mean", "scorer": len},
    {"combiner": "frequency", "scorer": "f1", "positive": "maybe"},
    {"combiner": "frequency", "scorer": "pearson", "values": {"no": 1}},
    {"combiner": "frequency", "scorer": "pearson", "values": {"no": 1, "yes": np.nan}},
    {"combiner": lambda drawn: drawn[:, :1]},
    {"combiner": lambda drawn: drawn + 1.0},
    {"combiner": "frequency", "scorer": lambda p, label: 1.0},
    {"against": array(ROWS[:3])},
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_COUNTS)
def test_bad_counts(name, golden):
    counts = BAD_COUNTS[name]
    with golden.raises(EvaluationError):
        worth(counts)


@pytest.mark.parametrize("name", BAD_PREDICTIONS)
def test_bad_predictions(name, golden):
    predictions = BAD_PREDICTIONS[name]
    with golden.raises(EvaluationError):
        worth(array(ROWS), predictions)


@pytest.mark.parametrize("how", BAD_ARGUMENTS)
def test_bad_arguments(how, golden):
    with golden.raises(EvaluationError):
        worth(array(ROWS), **how)


def test_two_samples_are_the_fewest():
    assert SurveyOptions(samples=2).samples == 2


def test_several_categories_need_a_positive_one_and_numbers(golden):
    counts = array([[1, 2, 1], [0, 3, 1]], categories=("low", "middle", "high"))
    with pytest.raises(EvaluationError, match="positive=None"):
        survey_power_curve(counts, "frequency", "f1")
    with golden.raises(EvaluationError):
        survey_power_curve(counts, "mean", "pearson")
    values = {"low": 0, "middle": 1, "high": 2}
    assert survey_power_curve(counts, "mean", "pearson", values=values, bootstrap=0).sizes["k"] == 4


def test_too_many_ways_to_answer_are_refused(golden):
    counts = array(np.full((40, 8), 12), categories=list("abcdefgh"))
    with golden.raises(EvaluationError):
        survey_power_curve(counts + np.arange(40)[:, None], max_raters=30)


def test_blank_cells_are_no_labels():
    cells = np.array([["no", "", "yes", None], ["yes", "yes", np.nan, "no"]], object)
    table = xr.DataArray(cells, {"item": ["i0", "i1"]}, ("item", "rater"))
    counts = array([[1, 1], [1, 2]])
    xr.testing.assert_identical(
        survey_power_curve(table, bootstrap=0), survey_power_curve(counts, bootstrap=0)
    )


def test_ways_to_answer_are_counted(golden):
    counts = np.array([[3, 2, 0], [1, 1, 4], [0, 0, 5]])
    patterns = Patterns.of(counts)
    entries = [len(subsets_of(patterns, k, 1).pattern) for k in range(5)]
    subsets.check_number(patterns.counts, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsets, "MOST", sum(entries[:4]))
        subsets.check_number(patterns.counts, 3)
        with golden.raises(EvaluationError):
            subsets.check_number(patterns.counts, 4)


def test_probabilities_printed_with_few_digits_are_taken(golden):
    thirds = array(np.full((6, 3), 0.33333), categories=("no", "yes", "maybe"))
    assert Classifiers.of(thirds)[0].probability == pytest.approx(1 / 3)
    few = array(np.full((6, 3), 0.333), categories=("no", "yes", "maybe"))
    assert Classifiers.of(few)[0].probability == pytest.approx(1 / 3)
    with golden.raises(EvaluationError):
        Classifiers.of(array(np.full((6, 3), 0.323), categories=("no", "yes", "maybe")))
