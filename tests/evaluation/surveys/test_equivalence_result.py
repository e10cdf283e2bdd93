"""Where classifiers stand on a survey power curve, and what the result says of it."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError, survey_equivalence
from raterzoo.evaluation.surveys import results
from raterzoo.papers import equivalence_summary

from tests.support.survey_enumeration import counts_of
from tests.support.survey_parts import survey_power_curve


class TestCrossing:
    def test_interpolates(self):
        assert results.crossing(np.array([0.0, 0.5, 0.7]), np.array([0.6] * 3)) == pytest.approx(1.5)

    def test_is_the_smallest_where_the_curve_falls_again(self):
        curve = np.array([0.5, 0.7, 0.65, 0.8])
        assert results.crossing(curve, np.full(4, 0.6)) == pytest.approx(0.5)
        assert results.crossing(curve, np.full(4, 0.7)) == pytest.approx(2 + 0.05 / 0.15)

    def test_is_strict(self):
        curve = np.array([0.5, 0.6875, 0.6875, 0.75])
        assert results.crossing(curve, np.full(4, 0.6875)) == 2  # not passed before k = 3
        assert results.crossing(curve, np.full(4, 0.5)) == 0
        assert results.crossing(curve, np.full(4, 0.75)) == np.inf

    def test_is_censored(self):
        curve = np.array([0.5, 0.6, 0.7])
        assert results.crossing(curve, np.full(3, 0.49)) == -np.inf
        assert results.crossing(curve, np.full(3, 0.71)) == np.inf

    def test_takes_infinite_scores(self):
        assert results.crossing(np.array([-1.0, -0.9]), np.full(2, -np.inf)) == -np.inf
        assert results.crossing(np.array([-np.inf, -0.9]), np.full(2, -1.0)) == 1
        assert results.crossing(np.full(2, -np.inf), np.full(2, -np.inf)) == np.inf

    def test_in_words(self):
        assert results.equivalence_in_words(3.42, 9, np.array([2.91, 4.12])) == "3.4 raters (2.9 to 4.1)"
        assert results.equivalence_in_words(np.inf, 9, np.array([np.inf, np.inf])) == "more than 9 raters"
        assert (
            results.equivalence_in_words(np.inf, 9, np.array([8.12, np.inf]))
            == "more than 9 raters (8.1 to more than 9)"
        )
        assert results.equivalence_in_words(-np.inf, 9, None) == "no rater"
        assert results.equivalence_in_words(0.8, 9, np.array([-np.inf, 2.0])) == "0.8 raters (none to 2.0)"
        assert results.equivalence_in_words(np.nan, 9, None) == "unknown"


class TestResult:
    counts = counts_of([[0, 0, 0, 1], [1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]] * 8, 2)

    def predictions(self):
        ideal = (self.counts / 4).to_numpy()
        laws = np.stack([ideal, 1 - ideal, ideal * 0.6 + 0.2])
        coords = {"classifier": ["ideal", "wrong", "timid"], **self.counts.coords}
        return xr.DataArray(laws, coords, ("classifier", *self.counts.dims))

    def test_says_what_is_censored(self):
        found = survey_equivalence(self.counts, self.predictions(), bootstrap=200)
        assert found["censored"].to_numpy().tolist() == ["above", "below", "above"]
        assert found["equivalence"].isnull().all() and found["integer_equivalence"].isnull().all()
        assert found["words"].to_numpy()[0].startswith("more than 3 raters")
        assert found["probability_above"].sel(classifier="ideal").min() > 0.9

    def test_differences_are_between_pairs(self):
        found = survey_equivalence(self.counts, self.predictions(), bootstrap=200)
        better = found["probability_better"].to_numpy()
        np.testing.assert_allclose(better + better.T, 1)
        assert better[0, 1] == 1 and better[0, 0] == 0.5
        score = found["score"].to_numpy()
        np.testing.assert_allclose(found["score_difference"], score[:, None] - score)

    def test_gain_starts_at_the_baseline(self):
        found = survey_equivalence(self.counts, self.predictions(), bootstrap=50, draws=True)
        np.testing.assert_allclose(found["information_gain"], found["power_curve"] - found["baseline"])
        assert (found["information_gain_draw"].sel(k=0) == 0).all()
        assert found["equivalence_draw"].shape == (3, 50)

    def test_one_classifier_has_no_dim(self):
        one = survey_equivalence(self.counts, self.predictions()[0].drop_vars("classifier"), bootstrap=20)
        several = survey_equivalence(self.counts, self.predictions()[:1], bootstrap=20)
        assert one["equivalence"].dims == () and several["equivalence"].dims == ("classifier",)
        assert float(one["score"]) == float(several["score"][0])

    def test_summary_is_a_table(self):
        found = survey_equivalence(self.counts, self.predictions(), bootstrap=50)
        table = equivalence_summary(found).to_dataframe()
        assert list(table.index) == ["ideal", "wrong", "timid"]
        assert {"score", "score_lower", "equivalence_upper", "words", "censored"} <= set(table)
        with pytest.raises(EvaluationError, match="survey_equivalence"):
            equivalence_summary(survey_power_curve(self.counts, bootstrap=0))
        with pytest.raises(EvaluationError, match="no equivalences"):
            equivalence_summary(None)

    def test_seed_decides(self):
        first, again, other = (
            survey_power_curve(self.counts, random_seed=seed)["power_curve_interval"] for seed in (3, 3, 4)
        )
        xr.testing.assert_identical(first, again)
        assert (first != other).any()
