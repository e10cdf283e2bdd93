"""The exact survey power curve against brute force over raters, and where classifiers stand on it."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError, survey_equivalence

from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.survey_enumeration import brute_curve, counts_of, ragged_items, score_of_rows
from tests.support.survey_parts import AnonymousBayesian, Patterns, subsets_of, survey_power_curve

ADDITIVE = ("cross_entropy", "brier", "agreement")
JOINT = ("precision", "recall", "f1", "mcc", "dmi", "soft_dmi")
NUMBERS = ("pearson", "spearman", "auc")
POSITIVE = {"positive": "1"}


def items_of(name, n_categories):
    return ragged_items(np.random.default_rng(seed_of(name)), n_categories)


def curve_of(counts, combiner, scorer, **how):
    how = {"bootstrap": 0, "max_raters": 4, **POSITIVE, **how}
    return survey_power_curve(counts, combiner, scorer, **how)["power_curve"].to_numpy()


def hard(labels, categories=("0", "1"), items=None):
    law = np.eye(len(categories))[labels]
    items = [f"i{i}" for i in range(len(labels))] if items is None else items
    return xr.DataArray(law, {"item": items, "category": list(categories)}, ("item", "category"))


@pytest.mark.parametrize("n_categories", [2, 3, 4])
@pytest.mark.parametrize("combiner", ["plurality", "frequency", "abc"])
@pytest.mark.parametrize("scorer", ADDITIVE)
def test_additive_scores_equal_enumeration(scorer, combiner, n_categories):
    items = items_of("additive", n_categories)
    found = curve_of(counts_of(items, n_categories), combiner, scorer)
    expected = brute_curve(items, n_categories, combiner, scorer, largest=4)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("n_categories", [2, 3, 4])
@pytest.mark.parametrize("combiner", ["plurality", "frequency", "abc"])
@pytest.mark.parametrize("scorer", (*JOINT, *NUMBERS))
def test_other_scores_equal_enumeration(scorer, combiner, n_categories):
    items = items_of("other", n_categories)
    found = curve_of(counts_of(items, n_categories), combiner, scorer, learn="in-sample")
    expected = brute_curve(items, n_categories, combiner, scorer, learn="in-sample", largest=4)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("scorer", NUMBERS)
def test_mean_equals_enumeration(scorer):
    items = items_of("mean", 3)
    found = curve_of(counts_of(items, 3), "mean", scorer, positive="2")
    how = {"positive": 2, "values": np.arange(3)}
    expected = brute_curve(items, 3, "mean", scorer, largest=4, **how)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)
    if scorer == "auc":
        # twin: the order of the shares of the label
        twin = brute_curve(items, 3, "mean", scorer, largest=4, positive=2)
        assert_rejects_twin(np.testing.assert_allclose, found, twin)


def test_values_order_means(golden):
    items = items_of("values", 3)
    values = {"0": 5.0, "1": -1.0, "2": 2.0}
    found = curve_of(counts_of(items, 3), "mean", "auc", positive="0", values=values)
    how = {"positive": 0, "values": np.array([5.0, -1.0, 2.0])}
    expected = brute_curve(items, 3, "mean", "auc", largest=4, **how)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)
    with golden.raises(EvaluationError):
        curve_of(counts_of(items, 3), "mean", "auc", positive="2", values=values)


@pytest.mark.parametrize("scorer", ["cross_entropy", "f1", "auc"])
def test_folds_equal_enumeration(scorer):
    items = items_of("folds", 2) * 3
    counts = counts_of(items, 2)
    folds = np.random.default_rng([1, 1]).permutation(len(items)) % 3
    found = curve_of(counts, "abc", scorer, learn=3, max_raters=2)
    expected = brute_curve(items, 2, "abc", scorer, learn=folds, largest=2)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("reference", [2, 3])
@pytest.mark.parametrize("n_categories", [2, 3])
@pytest.mark.parametrize(
    ("combiner", "scorer"), [("abc", "cross_entropy"), ("plurality", "agreement"), ("frequency", "mcc")]
)
def test_plurality_of_further_raters_equals_enumeration(combiner, scorer, n_categories, reference):
    items = items_of("reference", n_categories)
    largest = 5 - reference
    found = curve_of(counts_of(items, n_categories), combiner, scorer, reference=reference, max_raters=largest)  # fmt: skip
    expected = brute_curve(items, n_categories, combiner, scorer, largest=largest, reference=reference)
    items = [labels for labels in items if len(labels) > reference]
    expected = brute_curve(items, n_categories, combiner, scorer, largest=largest, reference=reference)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("combiner", "scorer", "learn"),
    [
        ("abc", "cross_entropy", "leave-one-out"),
        ("plurality", "agreement", "in-sample"),
        ("frequency", "brier", "in-sample"),
        ("abc", "soft_dmi", "in-sample"),
    ],
)
def test_against_other_raters_equals_enumeration(combiner, scorer, learn):
    amateurs, experts = items_of("amateurs", 3), items_of("experts", 3)[::-1]
    found = curve_of(counts_of(amateurs, 3), combiner, scorer, against=counts_of(experts, 3), learn=learn)
    expected = brute_curve(amateurs, 3, combiner, scorer, against=experts, learn=learn, largest=4)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


def test_no_labels_can_be_uniform():
    items = items_of("uniform", 3)
    found = curve_of(counts_of(items, 3), "frequency", "brier", no_labels="uniform")
    expected = brute_curve(items, 3, "uniform", "brier", largest=4)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


def test_log_base_and_clip_are_those_given():
    items = items_of("base", 2)
    found = curve_of(counts_of(items, 2), "frequency", "cross_entropy", base=np.e, clip=0.1)
    expected = brute_curve(items, 2, "frequency", "cross_entropy", base=np.e, clip=0.1, largest=4)
    np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


def test_functions_score_and_combine_as_the_named_ones():
    counts = counts_of(items_of("functions", 3), 3)

    def smoothed(drawn):
        return (drawn + 1) / (drawn + 1).sum(axis=1, keepdims=True)

    def log_two(p, label):
        return np.log2(p[np.arange(len(p)), label])

    found = curve_of(counts, "frequency", log_two)
    np.testing.assert_allclose(found, curve_of(counts, "frequency", "cross_entropy"), atol=1e-14, rtol=0)
    uniform = curve_of(counts, smoothed, "cross_entropy", clip=0)
    assert uniform[0] == pytest.approx(-np.log2(3), abs=1e-14)


def test_common_items_are_those_with_labels_for_the_largest_k():
    items = items_of("common", 2)
    how = {"items": "common", "max_raters": 3, "bootstrap": 0}
    found = survey_power_curve(counts_of(items, 2), "plurality", "agreement", **how)
    kept = [labels for labels in items if len(labels) >= 4]
    expected = brute_curve(kept, 2, "plurality", "agreement", largest=3)
    np.testing.assert_allclose(found["power_curve"], expected, atol=1e-14, rtol=0)
    assert found["items"].to_numpy().tolist() == [len(kept)] * 4


def test_classifier_is_scored_on_the_items_of_each_k():
    items = items_of("same items", 2)
    counts = counts_of(items, 2)
    said = np.arange(len(items)) % 2
    found = survey_equivalence(counts, hard(said), "plurality", "agreement", max_raters=4, bootstrap=0)  # fmt: skip
    share = np.array([np.mean(np.array(labels) == s) for labels, s in zip(items, said, strict=True)])
    size = np.array([len(labels) for labels in items])
    expected = [share[size > k].mean() for k in range(5)]
    np.testing.assert_allclose(found["score_of_same_items"], expected, atol=1e-14, rtol=0)
    assert found["score"] == pytest.approx(expected[0])
    assert found["items"].to_numpy().tolist() == [(size > k).sum() for k in range(5)]
    # twin: one score for all k
    assert_rejects_twin(np.testing.assert_allclose, found["score_of_same_items"], [expected[0]] * 5)


@pytest.mark.parametrize("scorer", (*ADDITIVE, *JOINT, *NUMBERS))
def test_classifier_score_equals_its_definition(scorer):
    rng = np.random.default_rng(seed_of("classifier score"))
    items = items_of("classifier score", 3)
    law = rng.dirichlet(np.ones(3), len(items))
    counts = counts_of(items, 3)
    predictions = counts.copy(data=law)
    found = survey_equivalence(counts, predictions, "frequency", scorer, bootstrap=0, **POSITIVE)
    rows = [(law[i], label, 1 / len(own)) for i, own in enumerate(items) for label in own]
    p, label, weight = (np.array(part) for part in zip(*rows, strict=True))
    assert float(found["score"]) == pytest.approx(score_of_rows(scorer, p, label, weight), abs=1e-12)


def test_order_of_items_and_categories_does_not_matter():
    items = items_of("order", 3)
    counts = counts_of(items, 3)
    law = np.random.default_rng(1).dirichlet(np.ones(3), len(items))
    predictions = counts.copy(data=law)
    one = survey_equivalence(counts, predictions, bootstrap=0)
    other = survey_equivalence(counts, predictions[::-1, [2, 0, 1]], bootstrap=0)
    xr.testing.assert_identical(one, other)


def test_table_of_raters_gives_the_same_curve():
    items = items_of("raters", 3)
    table = np.full((len(items), 6), "", object)
    for i, labels in enumerate(items):
        table[i, np.random.default_rng(i).permutation(6)[: len(labels)]] = [str(c) for c in labels]
    ids = {"item": counts_of(items, 3)["item"]}
    text = xr.DataArray(table.astype(str), ids, ("item", "rater"))
    cells = [[float(cell) if cell else np.nan for cell in row] for row in table.tolist()]
    number = xr.DataArray(cells, ids, ("item", "rater"))
    expected = survey_power_curve(counts_of(items, 3), bootstrap=20)
    for given in (text, number, number.transpose("rater", "item")):
        xr.testing.assert_identical(survey_power_curve(given, bootstrap=20), expected)


class TestTraps:
    def test_leave_one_out_predictions_have_no_ranks(self):
        rng = np.random.default_rng(seed_of("leave one out"))
        positive = rng.binomial(10, rng.choice([0.8, 0.5, 0.1], 300, p=[0.7, 0.1, 0.2]))
        counts = np.stack([10 - positive, positive], axis=1)
        array = xr.DataArray(counts, {"item": np.arange(300), "category": ["0", "1"]}, ("item", "category"))  # fmt: skip
        with pytest.raises(EvaluationError, match="leave-one-out"):
            survey_power_curve(array, "abc", "auc")
        for learn in ("in-sample", 5):
            assert curve_of(array, "abc", "auc", learn=learn)[0] == pytest.approx(0.5, abs=1e-12)
        # what it would be: predictions that fall as the item's own labels rise
        left = positive.sum() - positive
        items = [[0] * (10 - p) + [1] * p for p in positive.tolist()]
        shares = (left / left.max() / 2).tolist()
        rows = [([1 - x, x], label) for own, x in zip(items, shares, strict=True) for label in own]
        p, label = (np.array(part) for part in zip(*rows, strict=True))
        assert score_of_rows("auc", p, label, np.ones(len(p))) < 0.25

    def test_ties_are_averaged(self):
        # of two raters who disagree either is taken: as good as one rater
        counts = counts_of([*items_of("ties", 2), [0, 1, 0, 1, 1, 0]], 2)
        curve = curve_of(counts, "plurality", "agreement", items="common")
        assert curve[1] == pytest.approx(curve[2], abs=1e-14) and curve[0] == pytest.approx(0.5)

    def test_item_does_not_teach_its_own_prediction(self):
        items = [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
        # after label 0 nobody else has said 0: all are as probable; in sample, certain
        assert curve_of(counts_of(items, 3), "abc", "agreement", max_raters=2)[1] == pytest.approx(1 / 3)
        own = curve_of(counts_of(items, 3), "abc", "agreement", max_raters=2, learn="in-sample")
        assert own[1] == pytest.approx(1)

    def test_nothing_cancels_where_an_item_outweighs_the_others(self):
        # 18 times the first label: certain of the first item, one in 10^8 of the others
        counts = np.array([[30, 0], [19, 11], [18, 12]])
        subsets = subsets_of(Patterns.of(counts), 18, 1)
        told = AnonymousBayesian().predicted(subsets, np.ones(3))

        def chance(a, b):
            return Fraction(comb(a, 18), comb(a + b, 18))

        expected = chance(19, 11) * Fraction(1, 12) / (chance(19, 11) + chance(18, 12))
        own = (subsets.pattern == 2) & (subsets.drawn[subsets.state, 0] == 18)
        law = told.probability[told.bin[own]]
        np.testing.assert_allclose(law, [[float(expected), float(1 - expected)]], rtol=1e-12)
        # twin: the total less what is the item's own
        joint = (subsets.chance[:, None] * subsets.reference)[subsets.drawn[subsets.state, 0] == 18]
        left = joint.sum(axis=0) - joint[-1]
        assert abs(left[0] / left.sum() / float(expected) - 1) > 1e-12

    def test_no_clip_gives_no_score_to_what_was_called_impossible(self):
        found = curve_of(counts_of([[0, 0, 1], [1, 1, 0]], 2), "frequency", "cross_entropy", clip=0, max_raters=2)  # fmt: skip
        assert found[1] == -np.inf and not np.isnan(found).any()
