"""Metrics of counts by label: against scikit-learn, draw by draw, with and without weights."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.metrics import classification
from raterzoo.evaluation.uncertainty import adjusted as scoring
from sklearn import metrics

from tests.support.evaluation_trees import as_dense, as_flat, random_case

AVERAGED = [
    (function(average), partial(peer, average=average, zero_division=0))
    for function, peer in (
        (evaluation.precision, metrics.precision_score),
        (evaluation.recall, metrics.recall_score),
        (evaluation.f1, metrics.f1_score),
    )
    for average in ("macro", "micro", "weighted")
]
PEERS = [
    *AVERAGED,
    (evaluation.cohen_kappa(), metrics.cohen_kappa_score),
    (evaluation.matthews_correlation(), metrics.matthews_corrcoef),
    (evaluation.balanced_accuracy(), metrics.balanced_accuracy_score),
]
# of a draw in which a label is absent
UNWARNED = pytest.mark.filterwarnings(
    "ignore:A single label was found", "ignore:y_pred contains classes not in y_true"
)
WITHOUT_LABELS = (metrics.matthews_corrcoef, metrics.balanced_accuracy_score)


def peer_of(peer, truth, predicted, labels, weight=None):
    fixed = {} if peer in WITHOUT_LABELS else {"labels": labels}
    if getattr(peer, "keywords", {}).get("average") == "macro":  # over the labels that occur in the draw
        counts = np.ones(len(truth), bool) if weight is None else weight > 0
        fixed = {"labels": np.union1d(truth[counts], predicted[counts])}
    return peer(truth, predicted, **fixed, sample_weight=weight)


@pytest.fixture(scope="module")
def case():
    return random_case(np.random.default_rng(31), 12, 5, shape=(2, 15))


@pytest.fixture(scope="module")
def scores(case):
    values = np.random.default_rng(32).dirichlet(np.ones(5), (3, 12))
    coords = {"classifier": list("ABC"), "item": case.items, "category": case.categories}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


@pytest.mark.parametrize(("metric", "peer"), PEERS, ids=[m.name for m, _ in PEERS])
@pytest.mark.parametrize("layout", [as_dense, as_flat])
@UNWARNED
def test_is_scikit_learns_of_every_draw(case, scores, metric, peer, layout):
    draws = as_dense(case)["posterior"]["plausibility"].to_numpy()
    truth, predicted = draws.argmax(-1), scores.to_numpy().argmax(-1)
    labels = np.unique([*truth.ravel(), *predicted.ravel()])
    expected = [[[peer_of(peer, true, p, labels) for p in predicted] for true in chain] for chain in truth]
    found = evaluation.uncertainty_adjusted(metric, layout(case), scores, other="exclude")
    assert found.dims == ("chain", "draw", "classifier")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("metric", "peer"), PEERS, ids=[m.name for m, _ in PEERS])
@pytest.mark.parametrize("n_labels", [2, 4])
@UNWARNED
def test_is_scikit_learns_with_weights(metric, peer, n_labels):
    rng = np.random.default_rng(33)
    truth, predicted = rng.integers(0, n_labels, (30, 9)), rng.integers(0, n_labels, (9, 1))
    weights = rng.exponential(size=(30, 9)) * (rng.random((30, 9)) < 0.7)
    weights[:, 0] = 1
    found = metric.score(truth, predicted, weights, n_labels)
    expected = [
        peer_of(peer, true, predicted[:, 0], np.arange(n_labels), weight)
        for true, weight in zip(truth, weights, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    alike = metric.score(truth, predicted, weights[0], n_labels)
    expected = [peer_of(peer, true, predicted[:, 0], np.arange(n_labels), weights[0]) for true in truth]
    np.testing.assert_allclose(alike, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("metric", [m for m, _ in PEERS], ids=lambda m: m.name)
def test_many_labels_are_counted_in_parts(metric, monkeypatch):
    rng = np.random.default_rng(34)
    truth, predicted = rng.integers(0, 6, (25, 9)), rng.integers(0, 6, (9, 1))
    weights = rng.exponential(size=(25, 9))
    whole = [metric.score(truth, predicted, w, 6) for w in (None, weights)]
    monkeypatch.setattr(classification, "MOST_COUNTS", 13)
    parts = [metric.score(truth, predicted, w, 6) for w in (None, weights)]
    np.testing.assert_array_equal(whole, parts)


def test_known_values():
    truth, predicted = np.array([[0, 0, 1, 2], [0, 0, 0, 0]]), np.array([[0], [1], [1], [0]])
    each = {m.name: m.score(truth, predicted, None, 3) for m, _ in PEERS}
    # of labels 0, 1, 2 in the first draw: hits 1, 1, 0, true 2, 1, 1, predicted 2, 2, 0
    np.testing.assert_allclose(each["macro_precision"], [(1 / 2 + 1 / 2) / 3, 1 / 2])
    np.testing.assert_allclose(each["macro_recall"], [(1 / 2 + 1) / 3, (1 / 2) / 2])
    np.testing.assert_allclose(each["balanced_accuracy"], [(1 / 2 + 1 + 0) / 3, 1 / 2])
    np.testing.assert_allclose(each["weighted_recall"], [1 / 2, 1 / 2])
    # chance agreement 2/4 * 2/4 + 1/4 * 2/4, then that of label 0 alone, 1/2
    np.testing.assert_allclose(each["cohen_kappa"], [(1 / 2 - 3 / 8) / (1 - 3 / 8), 0])
    np.testing.assert_allclose(each["matthews_correlation"][1], 0)


def test_a_category_that_never_occurs_does_not_lower_a_macro_average():
    """A perfect classifier has 1, by ours and by scikit-learn's function, and so it has in each subgroup and draw."""
    truth, predicted = np.array([[0, 0, 1, 0], [0, 0, 0, 0]]), np.array([[0], [0], [1], [0]])
    for metric in (evaluation.precision(), evaluation.recall(), evaluation.f1()):
        assert metric.score(truth, predicted, None, 3)[0] == 1
        assert metric.score(truth, predicted, np.array([[1, 1, 0, 1]]), 3).tolist() == [1, 1]
    tree = as_dense(random_case(np.random.default_rng(1), 6, 3, shape=(1, 4)))
    certain = tree["posterior"]["plausibility"].copy(
        data=np.tile(np.eye(3)[[0, 1, 0, 1, 1, 0]], (1, 4, 1, 1))
    )
    scores = certain.isel(chain=0, draw=0, drop=True)
    ours = evaluation.uncertainty_adjusted(evaluation.f1(), certain, scores)
    theirs = evaluation.uncertainty_adjusted(
        metrics.f1_score, certain, scores, average="macro", zero_division=0
    )
    assert (ours == 1).all() and (theirs == 1).all()


@pytest.mark.parametrize("weights", [None, np.full((1, 7), 0.1), np.full((1, 7), 1 / 3)])
def test_one_label_everywhere(weights):
    truth, predicted = np.zeros((1, 7), int), np.zeros((7, 1), int)
    assert np.isnan(evaluation.cohen_kappa().score(truth, predicted, weights, 3))
    assert evaluation.matthews_correlation().score(truth, predicted, weights, 3) == 0
    assert evaluation.balanced_accuracy().score(truth, predicted, weights, 3) == pytest.approx(1)


def test_right_answers_are_perfect(case):
    certain = xr.zeros_like(as_dense(case)["posterior"]["plausibility"])
    certain[..., 0] = 1.0
    certain[:, :, :4] = certain[:, :, :4].roll(category=2)
    right = certain.isel(chain=0, draw=0, drop=True)
    for metric, _ in PEERS:
        np.testing.assert_allclose(evaluation.uncertainty_adjusted(metric, certain, right), 1.0, rtol=1e-15)


@pytest.mark.parametrize("by", ["items", "truth"])
def test_groups_and_resamples_weigh_the_counts(case, scores, by):
    tree = as_dense(case)
    truth = tree["posterior"]["plausibility"].argmax("category").to_numpy()
    if by == "items":
        group = xr.DataArray(["a", "b"] * 6, {"item": case.items}, ("item",))
        member = np.broadcast_to(group.to_numpy() == "a", truth.shape)
    else:
        group = {name: "ab"[i % 2] for i, name in enumerate(case.categories)}
        member = truth % 2 == 0
    drawn = evaluation.metric_draws(
        evaluation.f1("weighted"), tree, scores, by=group, resamples=10, random_seed=1
    )
    predicted = scores.to_numpy().argmax(-1)[0]
    for c, d in np.ndindex(truth.shape[:2]):
        own, found = member[c, d], float(drawn["raters"][c, d, 0].sel(group="a"))
        expected = np.nan
        if own.any():
            expected = metrics.f1_score(truth[c, d][own], predicted[own], average="weighted", zero_division=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert bool(np.isfinite(drawn["items"]).all())


@pytest.mark.parametrize("function", [evaluation.precision, evaluation.recall, evaluation.f1])
def test_unknown_averages_are_refused(function):
    with pytest.raises(evaluation.EvaluationError, match=r"average='binary'.*'macro', 'micro'"):
        function("binary")


@pytest.mark.parametrize("truth", ["label", "sampled"])
def test_labels_drawn_twice_or_kept_are_the_same(case, scores, truth, monkeypatch):
    def results():
        options = {"truth": truth, "random_seed": 5}
        plain = evaluation.uncertainty_adjusted(evaluation.f1(), as_flat(case), scores, **options)
        both = evaluation.metric_draws(evaluation.f1(), as_flat(case), scores, resamples=5, **options)
        return both.assign(plain=plain)

    kept = results()
    monkeypatch.setattr(scoring, "MOST_KEPT", 0)
    xr.testing.assert_identical(results(), kept)
