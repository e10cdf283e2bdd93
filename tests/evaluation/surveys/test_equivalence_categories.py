"""Categories that only some of raters, others and predictions know, items that are not used, and scores without a value."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError, survey_equivalence
from raterzoo.papers import rater_equivalence

from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.survey_enumeration import counts_of, ragged_items, score_of_rows
from tests.support.survey_parts import calibrated, survey_power_curve

SCORERS = (
    "cross_entropy", "brier", "agreement", "precision", "recall", "f1", "mcc", "dmi", "soft_dmi", "pearson", "spearman", "auc",
)  # fmt: skip


def array(values, categories=("0", "1"), items=None):
    items = [f"i{i}" for i in range(len(values))] if items is None else items
    return xr.DataArray(values, {"item": items, "category": list(categories)}, ("item", "category"))


def raters_of(items):
    cells = [[str(label) for label in own] + [""] * (6 - len(own)) for own in items]
    ids = [f"i{i}" for i in range(len(items))]
    return xr.DataArray(cells, {"item": ids}, ("item", "rater"))


class TestOnlyInPredictions:
    """Nobody gave label 2, but a classifier knows it."""

    items = ragged_items(np.random.default_rng(seed_of("only in predictions")), 2) * 2
    law = np.random.default_rng(seed_of("their law")).dirichlet(np.ones(3), len(items))

    def found(self, scorer, categories=("0", "1", "2"), **how):
        order = ["0", "1", "2"].index
        law = self.law[:, [order(name) for name in categories]]
        how = {"learn": "in-sample", "bootstrap": 4, "draws": True, **how}
        return survey_equivalence(raters_of(self.items), array(law, categories), "abc", scorer, **how)  # fmt: skip

    @pytest.mark.parametrize("combiner", ["plurality", "frequency", "abc"])
    @pytest.mark.parametrize("scorer", SCORERS)
    @pytest.mark.parametrize("no_labels", ["data", "uniform"])
    def test_raters_have_the_same_curve(self, scorer, combiner, no_labels):
        how = {"learn": "in-sample", "no_labels": no_labels, "bootstrap": 4}
        curve = survey_power_curve(raters_of(self.items), combiner, scorer, **how)
        found = survey_equivalence(
            raters_of(self.items), array(self.law, ("0", "1", "2")), combiner, scorer, **how
        )
        for name in curve.data_vars:
            xr.testing.assert_allclose(found[name], curve[name], rtol=1e-12, atol=1e-12)

    def test_baseline_of_plurality_is_one_half(self):
        law = array(self.law, ("0", "1", "2"))
        given = (law, "plurality", "agreement")
        assert float(survey_equivalence(raters_of(self.items), *given)["baseline"]) == 0.5
        # declared by the caller, it is one that raters can give
        declared = counts_of(self.items, 3)
        found = survey_equivalence(declared, *given)
        assert float(found["baseline"]) == pytest.approx(1 / 3)

    @pytest.mark.parametrize("scorer", SCORERS)
    def test_score_of_the_classifier_is_that_of_its_definition(self, scorer):
        rows = [(self.law[i], label, 1 / len(own)) for i, own in enumerate(self.items) for label in own]  # fmt: skip
        p, label, weight = (np.array(part) for part in zip(*rows, strict=True))
        if scorer in ("dmi", "soft_dmi"):
            # the joint law of the two labels that can be given
            weight = weight / weight.sum()
            said = p if scorer == "soft_dmi" else np.eye(3)[p.argmax(axis=1)]
            joint = said[:, :2].T @ (weight[:, None] * np.eye(2)[label])
            expected = abs(np.linalg.det(joint))
        else:
            expected = score_of_rows(scorer, p, label, weight)
        assert float(self.found(scorer)["score"]) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize("scorer", SCORERS)
    def test_order_of_categories_does_not_matter(self, scorer):
        one, other = self.found(scorer), self.found(scorer, ("2", "1", "0"))
        xr.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)

    def test_leave_one_out_and_folds_take_it(self):
        for learn in ("leave-one-out", 2):
            found = self.found("cross_entropy", learn=learn, relearn=True)
            assert np.isfinite(found["power_curve_draw"]).all()

    def test_sampled_answers_take_it(self):
        found = self.found("f1", estimand="mean", samples=3)
        assert np.isfinite(found["score"]) and float(found["baseline"]) <= 1

    def test_calibration_takes_it(self):
        found = calibrated(array(self.law, ("2", "0", "1")), raters_of(self.items), folds=3)
        assert found["category"].to_numpy().tolist() == ["0", "1", "2"]
        np.testing.assert_allclose(found.sum("category"), 1)
        assert not found.isel(classifier=1).sel(category="2").any()


class TestOnlyInOthers:
    """Experts gave a label that no amateur did."""

    amateurs = [[0, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0]]  # noqa: RUF012
    experts = [[0, 2], [1, 1], [2, 2], [0, 0]]  # noqa: RUF012

    @pytest.mark.parametrize("against", [raters_of(experts), counts_of(experts, 3)])
    @pytest.mark.parametrize("counts", [raters_of(amateurs), counts_of(amateurs, 2)])
    def test_predictions_must_have_it(self, counts, against, golden):
        with golden.raises(EvaluationError):
            survey_equivalence(counts, array(np.full((4, 2), 0.5)), against=against)

    @pytest.mark.parametrize("counts", [raters_of(amateurs), counts_of(amateurs, 2)])
    def test_predictions_that_have_it_are_scored(self, counts):
        law = array(np.full((4, 3), 1 / 3), ("2", "0", "1"))
        how = {"against": counts_of(self.experts, 3), "bootstrap": 0}
        found = survey_equivalence(counts, law, "plurality", "agreement", **how)
        assert float(found["score"]) == pytest.approx(1 / 3)
        curve = survey_power_curve(counts, "plurality", "agreement", **how)
        xr.testing.assert_identical(found["power_curve"], curve["power_curve"])

    def test_predictions_with_one_that_nobody_has(self, golden):
        law = array(np.full((4, 4), 1 / 4), ("0", "1", "2", "3"))
        with golden.raises(EvaluationError):
            survey_equivalence(counts_of(self.amateurs, 2), law, against=counts_of(self.experts, 3))
        found = survey_equivalence(
            raters_of(self.amateurs), law, "plurality", "agreement", against=raters_of(self.experts)
        )
        assert float(found["score"]) == pytest.approx(1 / 4)
        assert float(found["baseline"]) == pytest.approx(1 / 3)


def test_groups_tell_the_items_that_are_not_used(golden):
    experts = [[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0], []]
    amateurs = [[0, 0], [1, 1], [1], [0, 1], [0, 0], [1, 1]]
    given = counts_of(amateurs, 2), counts_of(experts, 2)
    found = rater_equivalence(*given, max_experts=2, max_amateurs=2, bootstrap=0)
    # the third item has one amateur, the fifth one expert, the last none
    assert found["items"].to_numpy().tolist() == [3, 3, 3]
    assert found.attrs["left_out"] == 3
    assert found.attrs["left_out_without_label"] == found.attrs["left_out_with_one_label"] == 1
    with golden.raises(EvaluationError):
        rater_equivalence(*given, max_experts=3)
    with golden.raises(EvaluationError):
        rater_equivalence(*given, max_amateurs=9)
    with golden.raises(EvaluationError):
        rater_equivalence(given[0], given[0] // 2)
    with golden.raises(EvaluationError):
        experts = counts_of([[0, 1], [0, 1, 1, 1]], 2)
        most = {"max_experts": 2, "max_amateurs": 1, "reference": 2}
        rater_equivalence(counts_of([[1], []], 2), experts, **most)
    with golden.raises(EvaluationError):
        rater_equivalence(*given, foo=2)
    every = rater_equivalence(given[0][:2], given[1][:2], bootstrap=0)
    assert every.attrs["left_out"] == 0


class TestWithoutValue:
    counts = counts_of(ragged_items(np.random.default_rng(seed_of("without value")), 2), 2)

    @pytest.mark.parametrize("number", [0, 0.0, -3, 1e300])
    @pytest.mark.parametrize("pair", [("mean", "pearson"), ("frequency", "spearman"), ("mean", "auc")])  # fmt: skip
    def test_values_that_are_all_the_same_are_refused(self, pair, number, golden):
        values = {"0": number, "1": number}
        with golden.raises(EvaluationError):
            survey_power_curve(self.counts, *pair, values=values)

    @pytest.mark.parametrize("scorer", ["pearson", "spearman", "auc"])
    @pytest.mark.parametrize("unit", [1e-300, 1e-5, 1e300])
    def test_unit_of_values_does_not_matter(self, scorer, unit):
        one, other = (
            survey_power_curve(self.counts, "mean", scorer, values=values, bootstrap=0)
            for values in ({"0": 0, "1": 1}, {"0": 0.0, "1": unit})
        )
        xr.testing.assert_allclose(one, other, rtol=1e-12)

    @pytest.mark.parametrize("scorer", ["pearson", "spearman"])
    @pytest.mark.parametrize("name", ["0", "7"])
    def test_one_kind_of_label_has_no_correlation(self, scorer, name):
        found = survey_power_curve(array([[3], [2], [4]], (name,)), "mean", scorer, clip=0)
        assert found["power_curve"].isnull().all()

    @pytest.mark.parametrize("scorer", ["cross_entropy", "function"])
    def test_without_clip_zero_is_impossible_or_nothing(self, scorer):
        def log_two(p, label):
            with np.errstate(divide="ignore"):
                return np.log2(p[np.arange(len(p)), label])

        how = {"clip": 0, "bootstrap": 20, "max_raters": 1}
        scorer = log_two if scorer == "function" else scorer
        counts = counts_of([[0, 0], [1, 1], [0, 0], [1, 1]], 2)
        right = np.eye(2)[[0, 1, 0, 1]]
        laws = np.stack([right, right[::-1]])
        predictions = xr.concat([array(law) for law in laws], "classifier")
        predictions = predictions.assign_coords(classifier=["right", "wrong"])
        found = survey_equivalence(counts, predictions, "frequency", scorer, **how)
        # certain and right: 0; certain and wrong: -inf, and no NaN where the two meet
        assert found["score"].to_numpy().tolist() == [0, -np.inf]
        assert found["power_curve"].to_numpy().tolist() == [-1, 0]
        assert found["censored"].to_numpy().tolist() == ["above", "below"]
        assert_rejects_twin(np.testing.assert_array_equal, found["score"], [np.nan, -np.inf])

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_functions_must_return_scores(self, value):
        with pytest.raises(EvaluationError, match=f"scorer: it returned {value}; expected numbers"):
            survey_power_curve(self.counts, "frequency", lambda p, label: np.full(len(p), value))

    @pytest.mark.parametrize("names", [("1", "2", "inf"), ("1", "2", "nan"), ("1", "-inf", "3")])
    def test_categories_are_finite_numbers_or_none(self, names, golden):
        counts = array([[2, 1, 1], [1, 0, 2], [0, 2, 2]], names)
        with golden.raises(EvaluationError):
            survey_power_curve(counts, "mean", "pearson")

    def test_label_that_only_predictions_name_is_not_offered_as_positive(self, golden):
        law = array(np.full((3, 3), 1 / 3), ("0", "1", "2"))
        given = raters_of([[0, 1, 1], [1, 1, 0], [0, 0, 1]]), law, "mean", "auc"
        with golden.raises(EvaluationError):
            survey_equivalence(*given, positive="1")
        with golden.raises(EvaluationError):
            survey_equivalence(*given, positive="0", values={"0": 0, "1": 2, "2": 1})
