"""Intervals of survey equivalence: what is drawn, whether they cover, answers that are sampled, groups of raters, calibration."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError, survey_equivalence
from raterzoo.evaluation.surveys import resampling, results
from raterzoo.papers import rater_equivalence
from scipy.stats import binom
from sklearn.metrics import accuracy_score, f1_score

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from tests.support.survey_enumeration import brute_curve, counts_of, ragged_items
from tests.support.survey_parts import calibrated, survey_power_curve
from tests.support.survey_urns import PROBABILITY, WEIGHT, binary_counts, binary_law, drawn_states, urn_curve


def items_of(name, n_categories):
    return ragged_items(np.random.default_rng(seed_of(name)), n_categories)


@pytest.mark.parametrize(
    ("combiner", "scorer"), [("abc", "cross_entropy"), ("frequency", "f1"), ("frequency", "auc")]
)
def test_resamples_are_the_curve_of_resampled_items(combiner, scorer):
    items = items_of("resamples", 2) * 2
    how = {"bootstrap": 6, "draws": True, "max_raters": 2, "relearn": True}
    found = survey_power_curve(counts_of(items, 2), combiner, scorer, **how)
    for drawn, weights in enumerate(resampling.Resampling(6, 1).weights(np.arange(len(items)))):
        item = np.repeat(np.arange(len(items)), weights)
        resampled = [items[i] for i in item]
        # all copies of an item are left out together
        how = {"learn": item} if combiner == "abc" else {}
        expected = brute_curve(resampled, 2, combiner, scorer, largest=2, **how)
        curve = found["power_curve_draw"].isel(resample=drawn)
        np.testing.assert_allclose(curve, expected, atol=1e-12, rtol=0)


def test_copies_in_clusters_are_resampled_as_the_items_that_they_copy():
    items = items_of("clusters", 2)
    counts = counts_of(items, 2)
    copies = xr.concat([counts, counts], "item").assign_coords(item=np.arange(2 * len(items)))
    cluster = xr.DataArray(np.tile(np.arange(len(items)), 2), {"item": copies["item"]})
    how = {"bootstrap": 40, "draws": True, "max_raters": 2}
    one = survey_power_curve(counts, "frequency", "brier", **how)
    two = survey_power_curve(copies, "frequency", "brier", clusters=cluster, **how)
    np.testing.assert_allclose(two["power_curve_draw"], one["power_curve_draw"], atol=1e-12)
    loose = survey_power_curve(copies, "frequency", "brier", **how)["power_curve_draw"]
    assert (loose.std("resample") < 0.9 * one["power_curve_draw"].std("resample")).all()


def test_copies_in_clusters_are_resampled_together_for_two_groups_of_raters():
    amateurs, experts = counts_of(items_of("clusters", 2), 2), counts_of(items_of("experts", 2), 2)
    cluster = xr.DataArray(np.tile(np.arange(amateurs.sizes["item"]), 2), dims="item")

    def twice(counts):
        copies = xr.concat([counts, counts], "item")
        return copies.assign_coords(item=np.arange(copies.sizes["item"]))

    cluster = cluster.assign_coords(item=twice(amateurs)["item"])
    how = {"bootstrap": 20, "draws": True, "max_amateurs": 2, "max_experts": 1}
    how |= {"combiner": "frequency", "scorer": "brier"}
    one = rater_equivalence(amateurs, experts, **how)
    two = rater_equivalence(twice(amateurs), twice(experts), clusters=cluster, **how)
    np.testing.assert_allclose(two["score_draw"], one["score_draw"], atol=1e-12)


def test_every_item_is_drawn_as_often_as_any_other():
    """Counts of a bootstrap are multinomial; the twin never draws the last item."""

    def check(weights):
        assert (weights.sum(axis=1) == 3).all()
        z = (weights.mean(axis=0) - 1) / np.sqrt(3 * (1 / 3) * (2 / 3) / len(weights))
        assert np.abs(z).max() < bonferroni_threshold(3)

    check(resampling.Resampling(2000, seed_of("multinomial")).weights(np.arange(3)))
    two = resampling.Resampling(2000, seed_of("multinomial")).weights(np.arange(2)) * 3 // 2
    assert_rejects_twin(check, np.hstack([two, 0 * two[:, :1]]))


def test_resamples_of_few_samples_are_centred_on_all():
    """Resampled at the first samples only, the scores are moved to the mean over all samples of the labels."""
    values = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 2.0]])
    samples = [SimpleNamespace(mean=lambda w, own=own: w @ own / w.sum(axis=1)) for own in values]
    rules, labels = SimpleNamespace(samples=2), SimpleNamespace(items=np.arange(3))
    survey: Any = SimpleNamespace(score=None, rules=rules, labels=labels)
    weights = np.array([[1, 1, 1], [2, 0, 1], [0, 1, 2]])
    mean, error, drawn = resampling._averaged(samples, weights, survey)
    means = values.mean(axis=1)
    assert mean == pytest.approx(means.mean())
    assert error == pytest.approx(means.std(ddof=1) / 2)
    few = (values[:2] @ weights.T / 3).mean(axis=0)
    np.testing.assert_allclose(drawn, few - means[:2].mean() + means.mean())


def test_weights_do_not_depend_on_the_cells():
    cell = np.array([0, 2, 1, 1, 0, 2, 2])
    by_item = resampling.Resampling(5, 3).weights(np.arange(7))
    expected = [np.bincount(cell, row, 3) for row in by_item]
    np.testing.assert_array_equal(resampling.Resampling(5, 3).weights(cell), expected)


def test_classifier_and_curve_share_the_items():
    rng = np.random.default_rng(seed_of("share"))
    _, positive = drawn_states(300, 6, rng)
    found = survey_equivalence(binary_counts(positive, 6), binary_law(positive / 6), draws=True)
    together = np.corrcoef(found["score_draw"], found["power_curve_draw"].isel(k=4))[0, 1]
    assert together > 0.8


class TestCoverage:
    """Intervals of 95 % over 500 data sets of the running example's model."""

    said = np.array([0.79, 0.51, 0.14])

    def classifier(self, state, rng):
        """Return a noisy view of the item's kind; its expected score is known."""
        seen = np.where(rng.random(len(state)) < 0.9, state, rng.choice(3, len(state)))
        return self.said[seen]

    def truth(self, largest):
        chance = 0.9 * np.eye(3) + 0.1 / 3
        said, law = self.said, PROBABILITY
        score = np.outer(law, np.log2(said)) + np.outer(1 - law, np.log2(1 - said))
        score = WEIGHT @ (chance * score).sum(axis=1)
        return float(
            results.crossing(urn_curve("abc", "cross_entropy", largest), np.full(largest + 1, score))
        )

    def covered(self):
        """Return how often the interval of resamples together covers, and of resamples apart."""
        true = self.truth(7)
        assert 3.5 < true < 4.5
        together, apart = [], []
        for run in range(500):
            rng = np.random.default_rng([seed_of("coverage"), run])
            state, positive = drawn_states(1000, 8, rng)
            law = binary_law(self.classifier(state, rng))
            found = survey_equivalence(binary_counts(positive, 8), law, draws=True, random_seed=run)
            low, high = found["equivalence_interval"].to_numpy()
            together.append(low <= true <= high)
            curve, score = found["power_curve_draw"].to_numpy().T, found["score_draw"].to_numpy()
            low, high = results.interval_of(results.crossing(curve, rng.permutation(score)[:, None]), 0.95)
            apart.append(low <= true <= high)
        return sum(together), sum(apart)

    @pytest.mark.slow
    def test_intervals_cover(self):
        def check(covered):
            assert binom.cdf(covered, 500, 0.95) > 0.005 and binom.sf(covered - 1, 500, 0.95) > 0.005

        together, apart = self.covered()
        check(together)
        # twin: curve and classifier resampled apart
        assert_rejects_twin(check, apart)


class TestSampledAnswers:
    def counts(self):
        rng = np.random.default_rng(seed_of("sampled"))
        return binary_counts(drawn_states(400, 6, rng)[1], 6)

    @pytest.mark.parametrize("scorer", ["f1", "auc", "pearson", "soft_dmi"])
    def test_mean_of_samples_is_near_the_pooled_score(self, scorer):
        # a ratio of expectations against a mean of ratios: they differ by O(1/400)
        exact = survey_power_curve(self.counts(), "frequency", scorer, bootstrap=0)
        found = survey_power_curve(
            self.counts(), "frequency", scorer, estimand="mean", bootstrap=0, samples=60
        )
        error = found["monte_carlo_error"].to_numpy()
        assert (error[1:] > 0).all() and not exact["monte_carlo_error"].any()

        def check(curve):
            gap = abs(found["power_curve"].to_numpy() - curve)
            assert (gap < bonferroni_threshold(len(gap)) * error + 1 / 400).all()

        check(exact["power_curve"].to_numpy())
        # twin: the curve of one rater less
        assert_rejects_twin(check, np.roll(exact["power_curve"].to_numpy(), 1))

    def test_additive_scores_are_never_sampled(self):
        one, other = (
            survey_power_curve(self.counts(), estimand=estimand, bootstrap=0)["power_curve"]
            for estimand in ("pooled", "mean")
        )
        xr.testing.assert_identical(one, other)

    def test_function_of_all_items(self):
        def f1(p, label):
            return f1_score(label, p.argmax(axis=1))

        how = {"estimand": "mean", "samples": 20, "max_raters": 3, "bootstrap": 8}
        law = binary_law(np.linspace(0, 1, 400))
        counts = self.counts()

        # three raters never tie, so that argmax is the plurality
        named = survey_equivalence(counts, law, "plurality", "f1", **how)
        found = survey_equivalence(counts, law, "plurality", f1, **how)
        np.testing.assert_allclose(found["power_curve"], named["power_curve"], atol=1e-12, rtol=0)
        np.testing.assert_allclose(found["score"], named["score"], atol=1e-12, rtol=0)
        assert found["power_curve_interval"].notnull().all()

    def test_function_of_all_items_is_told_from_one_of_each(self):
        def accuracy(p, label):
            return accuracy_score(label, p.argmax(axis=1))

        with pytest.raises(EvaluationError, match='estimand="mean"'):
            survey_power_curve(self.counts(), "plurality", accuracy)
        with pytest.raises(EvaluationError, match='estimand="pooled"'):
            survey_power_curve(self.counts(), "plurality", lambda p, label: p[:, 0], estimand="mean")

    def test_relearning_of_samples_is_refused(self):
        with pytest.raises(EvaluationError, match="relearn"):
            survey_power_curve(self.counts(), "frequency", "f1", estimand="mean", relearn=True)


class TestIdentifiedRaters:
    """A function that knows who said what."""

    def table(self):
        rng = np.random.default_rng(seed_of("identified"))
        truth = rng.integers(0, 2, 300)
        right = rng.random((300, 5)) < np.array([0.95, 0.6, 0.6, 0.6, 0.6])
        labels = np.where(right, truth[:, None], 1 - truth[:, None]).astype(float)
        labels[rng.random(labels.shape) < 0.1] = np.nan
        coords = {"item": np.arange(300), "rater": list("abcde")}
        return xr.DataArray(labels, coords, ("item", "rater"))

    def vote(self, codes, weight=(1, 1, 1, 1, 1)):
        said = np.stack([((codes == c) * np.array(weight)).sum(axis=1) for c in (0, 1)], axis=1) + 1e-9
        return said / said.sum(axis=1, keepdims=True)

    how = {"raters": "identified", "samples": 100, "max_raters": 3, "bootstrap": 20}  # noqa: RUF012

    def test_who_ignores_names_has_the_exact_curve(self):
        table = self.table()
        exact = survey_power_curve(table, "frequency", "agreement", no_labels="uniform", max_raters=3)
        found = survey_power_curve(table, self.vote, "agreement", **self.how)

        def check(curve):
            off = abs(found["power_curve"].to_numpy() - curve)[1:]
            error = found["monte_carlo_error"].to_numpy()[1:]
            assert (off < bonferroni_threshold(3) * error).all()

        check(exact["power_curve"].to_numpy())
        # twin: the curve of one rater less
        assert_rejects_twin(check, np.roll(exact["power_curve"].to_numpy(), 1))

    def test_who_knows_the_good_rater_does_better(self):
        table = self.table()
        plain = survey_power_curve(table, self.vote, "agreement", **self.how)["power_curve"]
        knows = survey_power_curve(
            table, lambda codes: self.vote(codes, (9, 1, 1, 1, 1)), "agreement", **self.how
        )["power_curve"]
        assert (knows > plain)[2:].all()

    def test_needs_names(self):
        with pytest.raises(EvaluationError, match="item, rater"):
            survey_power_curve(counts_of([[0, 1, 1]] * 3, 2), self.vote, raters="identified")
        with pytest.raises(EvaluationError, match="function of labels"):
            survey_power_curve(self.table(), "abc", raters="identified")


class TestGroups:
    """Experts against amateurs, section 7."""

    def labels(self, rng, n_items, n_raters, right, truth):
        positive = rng.binomial(n_raters, np.where(truth == 1, right, 1 - right))
        return binary_counts(positive, n_raters)

    def both(self):
        rng = np.random.default_rng(seed_of("groups"))
        truth = rng.integers(0, 2, 2000)
        return self.labels(rng, 2000, 7, 0.65, truth), self.labels(rng, 2000, 4, 0.85, truth)

    def test_curve_is_that_against_experts(self):
        amateurs, experts = self.both()
        found = rater_equivalence(amateurs, experts, bootstrap=0)
        xr.testing.assert_allclose(
            found["power_curve"], survey_power_curve(experts, bootstrap=0)["power_curve"]
        )
        against = survey_power_curve(amateurs, against=experts, bootstrap=0)["power_curve"]
        np.testing.assert_allclose(found["score"], against)

    def test_amateurs_are_worth_fewer_experts(self):
        found = rater_equivalence(*self.both())
        worth = found["equivalence"].to_numpy()
        assert found.sizes["amateurs"] == 8 and found.sizes["k"] == 4
        assert (np.diff(worth[1:]) > 0).all() and (worth[1:] < np.arange(1, 8)).all()
        assert 0 < worth[1] < 0.5

    def test_experts_are_worth_as_many_as_they_are(self):
        _, experts = self.both()
        again = rater_equivalence(experts, experts, bootstrap=0, learn="in-sample")
        # the same raters, drawn with replacement: the amateur can be the expert
        assert float(again["score"][1]) > float(again["power_curve"][1])

    def test_items_must_match(self):
        amateurs, experts = self.both()
        with pytest.raises(EvaluationError, match="not in experts"):
            rater_equivalence(amateurs, experts[:10])
        with pytest.raises(EvaluationError, match="max_experts"):
            rater_equivalence(amateurs, experts, items="common")


class TestCalibrated:
    def data(self):
        rng = np.random.default_rng(seed_of("calibrated"))
        state, positive = drawn_states(800, 8, rng)
        seen = np.clip(np.array([0.8, 0.5, 0.1])[state] + rng.normal(0, 0.1, 800), 0.01, 0.99)
        return binary_counts(positive, 8), binary_law(seen**4 / (seen**4 + (1 - seen) ** 4))

    def test_both_scores_are_shown(self):
        counts, law = self.data()
        found = survey_equivalence(counts, calibrated(law, counts), bootstrap=200)
        assert found["classifier"].to_numpy().tolist() == ["classifier", "classifier, calibrated"]
        raw, better = found["score"].to_numpy()
        assert better > raw + 0.05 and found["probability_better"].to_numpy()[1, 0] == 1

    def test_no_item_calibrates_itself(self):
        counts, law = self.data()
        one = calibrated(law, counts)
        flipped = counts.copy()
        flipped[0] = flipped[0].to_numpy()[::-1]
        other = calibrated(law, flipped)
        np.testing.assert_array_equal(one.isel(item=0), other.isel(item=0))
        assert (one != other).any()

    def test_several_categories_sum_to_one(self):
        rng = np.random.default_rng(1)
        items = ragged_items(rng, 3, (4,) * 60)
        counts = counts_of(items, 3)
        law = counts.copy(data=rng.dirichlet(np.ones(3), 60)).astype(float)
        found = calibrated(xr.concat([law, law], "classifier").assign_coords(classifier=["a", "b"]), counts)
        np.testing.assert_allclose(found.sum("category"), 1)
        assert found["classifier"].to_numpy().tolist() == ["a", "b", "a, calibrated", "b, calibrated"]

    def test_folds_are_checked(self):
        counts, law = self.data()
        with pytest.raises(EvaluationError, match="folds"):
            calibrated(law, counts, folds=1)
