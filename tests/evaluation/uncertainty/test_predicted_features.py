"""Probabilities of classifiers as features: exact values, refusals, recognition, and what they tell beside labels alone."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.uncertainty import questions

from benchmarks.against_truth import SOFT, estimates_of_soft, simulated_soft

ITEMS, CATEGORIES = ["a", "b", "c"], ["x", "y", "z"]
P = np.array([[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]], [[0.4, 0.4, 0.2]] * 3])


def probabilities(values=P, names=("net", "tree")):
    coords = {"classifier": list(names), "item": ITEMS, "category": CATEGORIES}
    return xr.DataArray(np.array(values), coords, ("classifier", "item", "category"))


def test_log_ratios_name_their_classifier_and_categories():
    features = evaluation.prediction_features(probabilities())
    names = [f"{who}: log {label} / x" for who in ("net", "tree") for label in ("y", "z")]
    assert features["feature"].values.tolist() == names and features["item"].values.tolist() == ITEMS
    expected = np.log(P[..., 1:] / P[..., :1]).swapaxes(0, 1).reshape(3, 4)
    np.testing.assert_allclose(features, expected, rtol=1e-14)
    alone = evaluation.prediction_features(probabilities().isel(classifier=0, drop=True))
    assert alone["feature"].values.tolist() == ["predictions: log y / x", "predictions: log z / x"]


def test_zeros_are_believed_only_as_a_floor(golden):
    sure = probabilities([[[0.0, 0.0, 1.0]] * 3], ["net"])
    with golden.raises(evaluation.EvaluationError):
        evaluation.prediction_features(sure)
    found = evaluation.prediction_features(sure, floor=0.01)
    np.testing.assert_allclose(found, [[0, np.log(100)]] * 3, rtol=1e-14)
    for floor in (0, 0.5, True, "low"):
        with golden.raises(evaluation.EvaluationError):
            evaluation.prediction_features(sure, floor=floor)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: xr.DataArray([["x"]], {"item": ["a"]}, ("item", "position")),
        lambda: {"item": ["a"]},
        lambda: probabilities().isel(category=[0]),
        lambda: probabilities(P * 2),
        lambda: probabilities(np.where(P == 0.1, -np.inf, P)),
        lambda: probabilities() > 0.5,
        lambda: probabilities().drop_vars("item"),
    ],
)
def test_what_is_no_probability_is_refused(wrong, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.prediction_features(wrong())


def posterior_with_features(features):
    """One rater, and standardised features as models keep them; a column of one value is set aside."""
    raw = features.to_numpy()
    varies = np.ptp(raw, axis=0) > 1e-9
    raw, names = raw[:, varies], features["feature"].to_numpy()[varies]
    mean, sd = raw.mean(axis=0), raw.std(axis=0)
    p = np.random.default_rng(1).dirichlet([1, 1, 1], (1, 5, 3))
    dims = ("chain", "draw", "item", "category")
    coords = {"item": ITEMS, "category": CATEGORIES, "rater": ["Ann"]}
    constant = xr.Dataset(
        {
            "features": (("item", "feature"), (raw - mean) / sd),
            "feature_mean": ("feature", mean),
            "feature_sd": ("feature", sd),
            "annotation_item": ("annotation", np.arange(3)),
            "annotation_rater": ("annotation", np.zeros(3, int)),
        },
        {"item": ITEMS, "feature": names},
    )
    groups = {
        "posterior": xr.Dataset({"plausibility": (dims, p, {"truth": "category"})}, coords),
        "constant_data": constant,
        "observed_data": xr.Dataset({"observed_label": ("annotation", np.array([0, 1, 0]))}),
    }
    return xr.DataTree.from_dict(groups)


def question_by(tree, predictions):
    options = {"random_seed": 1, "resamples": 2, "progressbar": False}
    found = evaluation.metric_draws(evaluation.top_k_accuracy(1), tree, predictions, **options)
    return found.attrs["question"]


def test_degenerate_predictions_are_recognised_among_features(golden):
    net = probabilities().sel(classifier="net")
    nameless = net.drop_vars("classifier")
    for given, asked in ((net, nameless), (nameless, net), (nameless, nameless)):  # known by their values
        assert (
            question_by(posterior_with_features(evaluation.prediction_features(given)), asked)
            == questions.TRUTH
        )
    sure = net.copy(data=[[0.0, 0.2, 0.8], [0.6, 0.3, 0.1], [0.001, 0.899, 0.1]])
    tree = posterior_with_features(evaluation.prediction_features(sure, floor=0.01))
    assert question_by(tree, sure) == question_by(tree, sure.drop_vars("classifier")) == questions.TRUTH
    other = sure.drop_vars("classifier").copy(data=[[0.0, 0.2, 0.8], [0.6, 0.3, 0.1], [0.001, 0.8, 0.199]])
    assert not questions.is_of_truth(question_by(tree, other))
    few = net.isel(category=[0, 1]) / net.isel(category=[0, 1]).sum("category")  # says nothing of z
    assert question_by(posterior_with_features(evaluation.prediction_features(few)), few) == questions.TRUTH
    # z is always twice x: its ratio is set aside
    twice = net.copy(data=[[0.1, 0.7, 0.2], [0.3, 0.1, 0.6], [0.25, 0.25, 0.5]])
    tree = posterior_with_features(evaluation.prediction_features(twice))
    assert tree["constant_data"]["feature"].values.tolist() == ["net: log y / x"]
    assert question_by(tree, twice) == questions.TRUTH
    golden.says(question_by(tree, twice.copy(data=twice.to_numpy()[[0, 1, 0]])), "which differ")


def test_a_posterior_whose_features_are_the_predictions_has_seen_them(golden):
    tree = posterior_with_features(evaluation.prediction_features(probabilities()))

    def question(predictions):
        return question_by(tree, predictions)

    net = probabilities().sel(classifier=["net"])
    assert question(net) == questions.TRUTH
    assert question(net.isel(item=[2, 0, 1])) == questions.TRUTH
    others = net.copy(data=net.to_numpy()[:, [1, 1, 2]])
    golden.says(question(others), "other predictions")
    assert not questions.is_of_truth(question(probabilities().sel(classifier=["tree"])))
    assert not questions.is_of_truth(question(net.assign_coords(classifier=["bert"])))


def test_items_that_were_predicted_from_a_classifier_do_not_judge_it_unsaid(golden):
    fitted = posterior_with_features(evaluation.prediction_features(probabilities().sel(classifier="net")))
    groups = {name: fitted[name].to_dataset() for name in ("posterior", "constant_data")}  # no rater answered
    tree = xr.DataTree.from_dict(groups)
    tree.attrs["predicted_from"] = "features"
    with golden.warns(UserWarning):
        assert question_by(tree, probabilities().sel(classifier=["net"])) == questions.BY_ITSELF
    assert question_by(tree, probabilities().sel(classifier=["tree"])) == questions.OF_FEATURES
    with pytest.warns(UserWarning, match="themselves"):
        both = question_by(tree, probabilities())
    assert both == f"Of 'net': {questions.BY_ITSELF}. Of 'tree': {questions.OF_FEATURES}"
    assert not questions.is_of_truth(questions.BY_ITSELF) and not questions.is_of_raters(
        questions.OF_FEATURES
    )


@pytest.mark.slow
def test_how_sure_a_classifier_is_tells_more_than_its_labels_and_another_items_certainty_less():
    truth, labels, predictions = simulated_soft(np.random.default_rng(1), items=1000)
    found = estimates_of_soft(truth, labels, predictions, seed=1)
    score = {name: own.log_score for name, own in zip(SOFT, found, strict=True)}
    gain, twin = (score[name] - score["labels"] for name in ("probabilities", "mixed"))
    assert gain.mean() > 3 * gain.std() / len(gain) ** 0.5
    assert twin.mean() < 0
    # an overconfident classifier says the same: its weight is learnt
    sharp = predictions**3 / (predictions**3).sum("category")
    again = estimates_of_soft(truth, labels, sharp, seed=1)[SOFT.index("probabilities")]
    np.testing.assert_allclose(again.log_score, score["probabilities"], atol=1e-4)
