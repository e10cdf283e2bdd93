"""Metrics of probabilities and scores: against scikit-learn, loops, and the law of sampled labels."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.metrics.metric import OneHotScore
from raterzoo.evaluation.uncertainty import adjusted as scoring
from raterzoo.posterior.drawn_truth import Graded
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from tests.support.evaluation_trees import as_dense, as_flat, random_case, tree_of
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, mc_z, seed_of


@pytest.fixture(scope="module")
def case():
    return random_case(np.random.default_rng(41), 8, 5, shape=(2, 25))


@pytest.fixture(scope="module")
def probabilities(case):
    values = np.random.default_rng(42).dirichlet(np.ones(5), (2, 8))
    coords = {"classifier": list("AB"), "item": case.items, "category": case.categories}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


def shared_out(case):
    """Return the dense plausibilities, the mass of OTHER shared evenly."""
    dense = as_dense(case)["posterior"]["plausibility"].copy()
    for i, (named, draws) in enumerate(zip(case.named, case.draws, strict=True)):
        rest = np.setdiff1d(np.arange(case.n_categories), named)
        dense[..., i, rest] = draws[..., -1:] / len(rest)
    return dense


def log_loss_of(p, q):
    return -sum(a * np.log(b) for a, b in zip(p, q, strict=True))


def brier_of(p, q):
    one_hot = np.eye(len(q))
    return sum(a * ((q - one_hot[y]) ** 2).sum() for y, a in enumerate(p))


@pytest.mark.parametrize(
    ("metric", "slow"), [(evaluation.cross_entropy(), log_loss_of), (evaluation.brier_score(), brier_of)]
)
@pytest.mark.parametrize("other", ["split", "exclude"])
def test_is_the_expectation_over_a_label_drawn(case, probabilities, metric, slow, other):
    dense = shared_out(case) if other == "split" else as_dense(case)["posterior"]["plausibility"]
    truth = (dense / dense.sum("category")).to_numpy()
    q = probabilities.to_numpy()
    expected = np.array(
        [
            [[[slow(p, q[m, i]) for i, p in enumerate(draw)] for m in range(2)] for draw in chain]
            for chain in truth
        ]
    )
    found = evaluation.uncertainty_adjusted(metric, as_flat(case), probabilities, reduce=None, other=other)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not metric.larger_is_better


def certain_tree(truth, categories, items):
    draws = np.eye(len(categories))[truth]
    return xr.DataArray(
        draws,
        {"item": items, "category": categories},
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )


@pytest.mark.parametrize("n", [2, 4])
def test_certain_posteriors_give_scikit_learns(n):
    rng = np.random.default_rng(43)
    truth, q = rng.integers(0, n, (1, 20, 15)), rng.dirichlet(np.ones(n), 15)
    names, items = [f"c{i}" for i in range(n)], np.arange(15)
    predictions = xr.DataArray(q, {"item": items, "category": names}, ("item", "category"))
    labels = np.arange(n)
    for metric, peer in (
        (evaluation.cross_entropy(), lambda t: log_loss(t, q, labels=labels)),
        (evaluation.cross_entropy(2), lambda t: log_loss(t, q, labels=labels) / np.log(2)),
        (evaluation.brier_score(), lambda t: brier_score_loss(t, q, labels=labels)),
    ):
        expected = [[peer(t) for t in truth[0]]]
        for kind in (None, "label", "sampled"):
            found = evaluation.uncertainty_adjusted(
                metric, certain_tree(truth, names, items), predictions, truth=kind
            )
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_zero_probabilities():
    truth = np.array([[[1.0, 0.0], [0.5, 0.5]]])
    q = np.array([[1.0, 0.0], [1.0, 0.0]])
    metric = evaluation.cross_entropy()
    assert metric.score(truth, q).tolist() == [[0, np.inf]]
    assert metric.against("label").score(np.array([[0, 1]]), q).tolist() == [[0, np.inf]]
    assert evaluation.cross_entropy(0.5).score(truth, q).tolist() == [[0, -np.inf]]
    # by the grades of one item: infinite if an impossible category has any mass, however small
    graded = Graded(np.array([0, 1]), np.array([[0.3], [0.7], [0.0]]), np.array([1, 1, 1]))
    predicted = np.array([[0.0, 0.5, 0.5], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    found = metric.score.of_graded(graded, predicted)
    expected = [np.inf, np.log(2), -0.3 * np.log(0.2) - 0.7 * np.log(0.3)]
    np.testing.assert_allclose(found[:, 0], expected)


def test_losses_are_better_when_small():
    for metric in (evaluation.cross_entropy(), evaluation.brier_score(), evaluation.calibration_error()):
        assert not metric.larger_is_better


@pytest.mark.parametrize(
    "metric", [evaluation.cross_entropy(), evaluation.brier_score(), evaluation.calibration_error(4)]
)
def test_labels_are_the_certain_plausibilities(metric):
    rng = np.random.default_rng(44)
    truth, q = rng.integers(0, 4, (30, 9)), rng.dirichlet(np.ones(4), 9)
    further = (rng.exponential(size=(30, 9)), 4) if metric.over == "items" else ()
    by_labels, by_one_hot = metric.against("label").score, OneHotScore(metric.score)
    np.testing.assert_allclose(by_labels(truth, q, *further), by_one_hot(truth, q, *further), rtol=1e-12)


@pytest.mark.parametrize("metric", [evaluation.cross_entropy(), evaluation.brier_score()])
def test_the_plausibilities_themselves_are_the_best_probabilities(metric):
    rng = np.random.default_rng(45)
    p, q = rng.dirichlet(np.ones(4), (2, 200))
    best, other = metric.score(p[None], p), metric.score(p[None], q)
    assert (best < other).all()


def assert_mean_of_sampled(found, expected):
    assert (np.abs(mc_z(found, expected)) < bonferroni_threshold(found.shape[-1])).all()


@pytest.mark.parametrize("metric", [evaluation.cross_entropy(), evaluation.brier_score()])
def test_sampled_labels_score_so_on_average(metric):
    case = random_case(np.random.default_rng(seed_of("expected score")), 6, 5, (1, 1))
    draws = [np.tile(d, (4, 5000, 1)) for d in case.draws]
    tree = as_flat(type(case)(case.named, draws, 5, case.concentration))
    q = np.random.default_rng(46).dirichlet(np.ones(5), 6)
    predictions = xr.DataArray(q, {"item": case.items, "category": case.categories}, ("item", "category"))

    def scores(truth):
        found = evaluation.uncertainty_adjusted(
            metric, tree, predictions, truth=truth, reduce=None, random_seed=1
        )
        return found.to_numpy()

    exact = scores("plausibility")[0, 0]
    assert_mean_of_sampled(scores("sampled"), exact)
    assert_rejects_twin(assert_mean_of_sampled, scores("label"), exact)


def test_a_posterior_of_one_category_is_scored_by_its_label():
    p = xr.DataArray(
        np.tile([0.25, 0.75], (1, 4000, 3, 1)),
        {"item": [0, 1, 2], "category": ["a", "b"]},
        ("chain", "draw", "item", "category"),
        attrs={"truth": "category"},
    )
    q = xr.DataArray(
        [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]], p.isel(chain=0, draw=0).coords, ("item", "category")
    )
    found = evaluation.uncertainty_adjusted(evaluation.brier_score(), p, q, reduce=None, random_seed=1)
    assert np.unique(found).tolist() == [0, 0.25, 1]
    error = np.sqrt(0.25 * 0.75 / 4000) * bonferroni_threshold(2)
    np.testing.assert_allclose(found.mean(("chain", "draw")), [0.25, 0.75, 0.25], atol=error)


def sums_to_one(values):
    return values / values.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("ties", [False, True])
def test_roc_auc_is_scikit_learns(average, n, ties):
    rng = np.random.default_rng(47)
    q = rng.dirichlet(np.ones(n), 30)
    if ties:
        q = sums_to_one(np.ceil(3 * q))
    truth = np.concatenate([np.arange(n), rng.integers(0, n, 30 - n)])
    truth = rng.permuted(np.tile(truth, (20, 1)), axis=1)
    rows = rng.exponential(size=(20, 30))
    metric = evaluation.roc_auc(average)
    for weights in (None, rows[0], rows):
        each = [None] * 20 if weights is None else np.broadcast_to(weights, (20, 30))
        expected = [
            roc_auc_score(t, q if n > 2 else q[:, 1], multi_class="ovr", average=average, sample_weight=w)
            for t, w in zip(truth, each, strict=True)
        ]
        np.testing.assert_allclose(metric.score(truth, q, weights, n), expected, rtol=1e-12)


def test_roc_auc_where_a_category_is_absent_or_alone():
    q = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]])
    truth = np.array([[0, 1, 1], [2, 2, 2], [0, 1, 1]])
    weights = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.3]])
    for average in ("macro", "weighted"):
        metric = evaluation.roc_auc(average)
        np.testing.assert_array_equal(metric.score(truth[:2], q, None, 3), [1, np.nan])
        np.testing.assert_array_equal(metric.score(truth, q, weights, 3), [1, np.nan, np.nan])


def test_roc_auc_reads_scores_by_name(case, probabilities):
    # columns in another order than scikit-learn's, and scores instead of probabilities
    shuffled = probabilities.isel(category=[3, 0, 4, 1, 2])
    found = evaluation.uncertainty_adjusted(evaluation.roc_auc(), as_dense(case), shuffled)
    logs = evaluation.uncertainty_adjusted(evaluation.roc_auc(), as_dense(case), np.log(probabilities))
    xr.testing.assert_allclose(found, logs)
    truth = as_dense(case)["posterior"]["plausibility"].argmax("category").to_numpy()
    for c, d, m in np.ndindex(2, 5, 2):
        t, q = truth[c, d], probabilities.to_numpy()[m]
        areas = [roc_auc_score(t == k, q[:, k]) for k in np.unique(t)]
        assert float(found[c, d, m]) == pytest.approx(np.mean(areas), rel=1e-12)


def calibration_by_hand(right, confidence, weight, bins, norm):
    gaps, shares = [], []
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        own = [i for i, c in enumerate(confidence) if low < c <= high]
        share = sum(weight[i] for i in own)
        if share:
            accuracy = sum(weight[i] * right[i] for i in own) / share
            trust = sum(weight[i] * confidence[i] for i in own) / share
            gaps.append(abs(accuracy - trust))
            shares.append(share / sum(weight))
    gaps, shares = np.array(gaps), np.array(shares)
    of_norm = {"l1": (gaps * shares).sum(), "l2": np.sqrt((gaps**2 * shares).sum()), "max": gaps.max()}
    return of_norm[norm]


@pytest.mark.parametrize("bins", [1, 4, 15])
@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_calibration_error_is_that_of_a_loop(bins, norm):
    rng = np.random.default_rng(48)
    p, q = rng.dirichlet(np.ones(3), (10, 40)), rng.dirichlet(np.ones(3), 40)
    q[:4] = [[0.5, 0.25, 0.25], [0.75, 0.25, 0], [1, 0, 0], [0.5, 0.5, 0]]  # on the edges of bins
    weights = rng.exponential(size=(10, 40)) * (rng.random((10, 40)) < 0.8)
    metric = evaluation.calibration_error(bins, norm)
    label, confidence = q.argmax(-1), q.max(-1)
    drawn = rng.integers(0, 3, (10, 40))
    for weight in (np.ones((10, 40)), weights):
        given = None if weight is not weights else weights
        for truth, right, kind in (
            (p, np.take_along_axis(p, label[None, :, None], -1)[..., 0], "plausibility"),
            (drawn, drawn == label, "label"),
        ):
            found = metric.against(kind).score(truth, q, given, 3)
            expected = [
                calibration_by_hand(r, confidence, w, bins, norm) for r, w in zip(right, weight, strict=True)
            ]
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("other", ["split", "exclude"])
@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_calibration_needs_the_predicted_label_alone(case, probabilities, other, norm):
    metric = evaluation.calibration_error(4, norm)
    dense = shared_out(case) if other == "split" else as_dense(case)["posterior"]["plausibility"]
    truth, q = dense.to_numpy().reshape(50, 8, 5), probabilities.to_numpy()
    found = evaluation.uncertainty_adjusted(metric, as_flat(case), probabilities, other=other)
    expected = np.stack([metric.score(truth, one, None, 5) for one in q], axis=-1)
    np.testing.assert_allclose(found.to_numpy().reshape(50, 2), expected, rtol=1e-12)
    group = xr.DataArray(list("aabbabba"), {"item": case.items}, ("item",))
    drawn = evaluation.metric_draws(
        metric, as_flat(case), probabilities, by=group, other=other, resamples=3, random_seed=1
    )
    for name in "ab":
        own = (group == name).to_numpy()
        expected = np.stack([metric.score(truth[:, own], one[own], None, 5) for one in q], axis=-1)
        raters = drawn["raters"].sel(group=name).to_numpy().reshape(50, 2)
        np.testing.assert_allclose(raters, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "metric", [evaluation.cross_entropy(), evaluation.brier_score(), evaluation.calibration_error()]
)
def test_the_cost_is_that_of_the_named_labels(case, probabilities, metric, monkeypatch):
    def refuse(*_):
        raise AssertionError("made dense")

    monkeypatch.setattr(scoring.drawn_truth, "dense_plausibility", refuse)
    on_flat = evaluation.uncertainty_adjusted(metric, as_flat(case), probabilities)
    on_dense = evaluation.uncertainty_adjusted(metric, shared_out(case), probabilities)
    np.testing.assert_allclose(on_flat, on_dense, rtol=1e-12)


def test_probabilities_equal_to_the_plausibilities_are_calibrated(case):
    truth = shared_out(case).isel(chain=[0], draw=[0])
    metric = evaluation.calibration_error()
    found = evaluation.uncertainty_adjusted(metric, truth, truth[0, 0])
    assert float(found[0, 0]) == pytest.approx(0, abs=1e-15)
    # labels instead: chance differences remain
    assert float(evaluation.uncertainty_adjusted(metric, truth, truth[0, 0], truth="label")[0, 0]) > 0.1


def test_intervals_of_every_one(case, probabilities):
    for metric in (evaluation.cross_entropy(), evaluation.roc_auc(), evaluation.calibration_error()):
        plain = evaluation.uncertainty_adjusted(metric, as_flat(case), probabilities, random_seed=2)
        drawn = evaluation.metric_draws(metric, as_flat(case), probabilities, random_seed=2, resamples=20)
        np.testing.assert_allclose(drawn["raters"], plain)
        assert float(drawn["both"].std()) > float(drawn["raters"].std())


@pytest.mark.parametrize(
    "make",
    [
        lambda: evaluation.cross_entropy(1),
        lambda: evaluation.cross_entropy(-2),
        lambda: evaluation.roc_auc("micro"),
        lambda: evaluation.calibration_error(0),
        lambda: evaluation.calibration_error(True),
        lambda: evaluation.calibration_error(norm="l3"),
    ],
)
def test_refused(make, golden):
    with golden.raises(evaluation.EvaluationError):
        make()


def test_other_is_no_category(case, probabilities, golden):
    tree = as_flat(case)
    for metric in (evaluation.cross_entropy(), evaluation.roc_auc()):
        with golden.raises(evaluation.EvaluationError):
            evaluation.uncertainty_adjusted(metric, tree, probabilities, other="label")
    single = tree_of(tree["posterior"].to_dataset())
    evaluation.uncertainty_adjusted(evaluation.cross_entropy(), single, probabilities, other="exclude")
