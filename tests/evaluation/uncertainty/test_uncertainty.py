"""Uncertainty-adjusted metrics against a loop over draws, in every form of predictions."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

from tests.support.evaluation_trees import as_dense, as_flat, random_case, tree_of
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of


def best(row, k):
    order = sorted(range(len(row)), key=lambda place: (-row[place], place))
    return [place for place in order[:k] if row[place] > 0]


def top_k(truth, predicted, k):
    return bool(set(truth[:1]) & set(predicted[:k]))


def sets_equal(truth, predicted, k):
    return set(truth[:k]) == set(predicted[:k])


def overlap(truth, predicted, k):
    return len(set(truth[:k]) & set(predicted[:k])) / k


def average_overlap(truth, predicted, k):
    return sum(overlap(truth, predicted, d) for d in range(1, k + 1)) / k


METRICS = [
    (evaluation.top_k_accuracy, top_k),
    (evaluation.set_accuracy, sets_equal),
    (evaluation.overlap, overlap),
    (evaluation.average_overlap, average_overlap),
]


@pytest.fixture(scope="module")
def case():
    return random_case(np.random.default_rng(11), 5, 6)


@pytest.fixture(scope="module")
def scores(case):
    rng = np.random.default_rng(12)
    values = rng.dirichlet(np.ones(6), (3, 5))
    coords = {"classifier": list("ABC"), "item": case.items, "category": case.categories}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


def positions(scores, k=6):
    order = np.argsort(-scores.to_numpy(), axis=-1, kind="stable")[..., :k]
    labels = scores["category"].to_numpy()[order]
    coords = {"classifier": scores["classifier"], "item": scores["item"]}
    return xr.DataArray(labels, coords, ("classifier", "item", "position"))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("metric", "slow"), METRICS)
def test_metrics_are_those_of_a_loop_over_draws(case, scores, metric, slow, k):
    draws = as_dense(case)["posterior"]["plausibility"].to_numpy()
    ranked = np.argsort(-scores.to_numpy(), axis=-1)
    expected = np.array([
        [
            [[slow(best(row, 6), ranked[c, i].tolist(), k) for i, row in enumerate(draw)] for c in range(3)]
            for draw in chain
        ]
        for chain in draws
    ])  # fmt: skip
    trees = {"dense": as_dense(case), "flat": as_flat(case)}
    for layout, tree in trees.items():
        for predictions in (scores, positions(scores), positions(scores, 3)):
            shuffled = predictions.isel(item=[3, 0, 4, 1, 2])
            kept = evaluation.uncertainty_adjusted(metric(k), tree, shuffled, reduce=None, other="exclude")
            assert kept.dims == ("chain", "draw", "classifier", "item"), layout
            np.testing.assert_allclose(kept, expected, rtol=1e-6)
            found = evaluation.uncertainty_adjusted(metric(k), tree, predictions, other="exclude")
            assert found.name == metric(k).name
            assert found.dims == ("chain", "draw", "classifier")
            assert found["classifier"].to_numpy().tolist() == list("ABC")
            np.testing.assert_allclose(found, expected.mean(axis=-1), rtol=1e-6)


def test_one_classifier_has_no_such_dim(case, scores):
    found = evaluation.uncertainty_adjusted(
        evaluation.top_k_accuracy(3), as_dense(case), scores.sel(classifier="B", drop=True)
    )
    assert found.dims == ("chain", "draw")
    all_three = evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(3), as_dense(case), scores)
    np.testing.assert_array_equal(found, all_three.sel(classifier="B"))


def test_point_estimate_has_no_sample_dims(case, scores):
    point = as_dense(case)["posterior"]["plausibility"].mean(["chain", "draw"])
    found = evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(2), point, scores)
    assert found.dims == ("classifier",)


def test_sets_are_predictions(case, scores, golden):
    chosen = positions(scores, 2)
    mask = (scores["category"] == chosen).any("position")
    for metric in (evaluation.set_accuracy(2), evaluation.overlap(2), evaluation.top_k_accuracy(2)):
        xr.testing.assert_allclose(
            evaluation.uncertainty_adjusted(metric, as_dense(case), mask),
            evaluation.uncertainty_adjusted(metric, as_dense(case), chosen),
        )
    for metric in (evaluation.average_overlap(2), evaluation.top_k_accuracy(1)):
        with golden.raises(evaluation.EvaluationError):
            evaluation.uncertainty_adjusted(metric, as_dense(case), mask)


def test_tied_scores_go_by_the_order_of_the_categories(case):
    equal = xr.DataArray(
        np.ones((5, 6)), {"item": case.items, "category": case.categories}, ("item", "category")
    )
    first = xr.full_like(equal.isel(category=[0]), "label 0", object).rename(category="position")
    found, expected = (
        evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), as_dense(case), p)
        for p in (equal, first.drop_vars("position"))
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(accuracy_score, {}), (f1_score, {"average": "macro", "zero_division": 0}), (cohen_kappa_score, {})],
)
def test_callables_see_the_top_labels_of_every_draw(case, scores, function, arguments):
    draws = as_dense(case)["posterior"]["plausibility"].to_numpy()
    names = np.array(case.categories)
    truth = names[draws.argmax(axis=-1)]
    predicted = names[scores.to_numpy().argmax(axis=-1)]
    labels = {"labels": np.unique(np.r_[truth.ravel(), predicted.ravel()])}
    fixed = labels if function is cohen_kappa_score else {}  # a macro average is over the labels of the draw
    for tree in (as_dense(case), as_flat(case)):
        found = evaluation.uncertainty_adjusted(function, tree, scores, other="exclude", **arguments)
        assert found.name == function.__name__
        for chain in range(2):
            for draw in range(0, 30, 7):
                for c in range(3):
                    value = function(truth[chain, draw], predicted[c], **arguments, **fixed)
                    assert found.to_numpy()[chain, draw, c] == pytest.approx(value, rel=1e-12)


def test_callables_that_cannot_be_called(case, scores, golden):
    tree = as_dense(case)
    with pytest.raises(evaluation.EvaluationError, match="expected one number"):
        evaluation.uncertainty_adjusted(f1_score, tree, scores, average=None, zero_division=0)
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(accuracy_score, tree, scores, reduce=None)
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), tree, scores, average="macro")
    empty = xr.where(scores["item"] == "case 2", "", positions(scores))
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(accuracy_score, tree, empty)


def test_plausibility_reaches_the_score_over_all_categories(case, scores, golden):
    def mass(truth, predictions):
        return (truth * predictions).sum(axis=-1)

    metric = evaluation.Metric("mass", "plausibility", mass)
    split = as_dense(case)["posterior"]["plausibility"].copy()
    for i, (named, draws) in enumerate(zip(case.named, case.draws, strict=True)):
        rest = np.setdiff1d(np.arange(6), named)
        split[..., i, rest] = draws[..., -1:] / len(rest)
    expected = (split.to_numpy()[:, :, None] * scores.to_numpy()).sum(axis=-1)
    found = evaluation.uncertainty_adjusted(metric, as_flat(case), scores, reduce=None)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(metric, as_flat(case), scores.isel(category=slice(5)))
    with pytest.raises(evaluation.EvaluationError, match="score returned shape"):
        broken = evaluation.Metric("broken", "plausibility", lambda truth, p: truth)
        evaluation.uncertainty_adjusted(broken, as_flat(case), scores)


def assert_sampled(found, probability):
    n = found.shape[0]
    error = np.sqrt(probability * (1 - probability) / n)
    assert (np.abs(found.mean(axis=0) - probability) <= bonferroni_threshold(30) * error).all()


def test_sampled_labels_have_the_probability_of_the_plausibility():
    case = random_case(np.random.default_rng(seed_of("sampled")), 5, 6, (1, 1))
    draws = [np.repeat(d, 20_000, axis=1) for d in case.draws]
    case = type(case)(case.named, draws, 6, case.concentration)
    each = xr.DataArray(
        np.eye(6)[:, None].repeat(5, axis=1),
        {"item": case.items, "category": case.categories},
        ("classifier", "item", "category"),
    )
    metric = evaluation.Metric("drawn", "sampled", lambda truth, p: truth == p[:, 0])
    probability = np.zeros((6, 5))
    for i, (named, draw) in enumerate(zip(case.named, case.draws, strict=True)):
        probability[:, i] = draw[0, 0, -1] / (6 - len(named))
        probability[named, i] = draw[0, 0, :-1]
    found = evaluation.uncertainty_adjusted(
        metric, as_flat(case), each, reduce=None, random_seed=1
    ).to_numpy()[0]
    assert_sampled(found, probability)
    top = evaluation.uncertainty_adjusted(
        evaluation.top_k_accuracy(1), as_flat(case), each, reduce=None, random_seed=1
    ).to_numpy()[0]
    assert_rejects_twin(assert_sampled, top, probability)


def test_other_as_label_matches_what_no_rater_ranked():
    draws = np.array([[[0.4, 0.6], [0.7, 0.3]]])
    case = type(random_case(np.random.default_rng(0)))([[1]], [draws], 9, 0.1)
    for label in ("label 5", "OTHER", "never heard of"):
        predicted = xr.DataArray([[label]], {"item": ["case 0"]}, ("item", "position"))
        found = evaluation.uncertainty_adjusted(
            evaluation.top_k_accuracy(1), as_flat(case), predicted, other="label"
        )
        assert found.to_numpy().tolist() == [[1, 0]]
    two = xr.DataArray([["label 5", "label 6"]], {"item": ["case 0"]}, ("item", "position"))
    found = evaluation.uncertainty_adjusted(evaluation.overlap(2), as_flat(case), two, other="label")
    assert found.to_numpy().tolist() == [[0.5, 0.5]]


def test_tree_read_back_from_disk(case, scores, tmp_path):
    for name, tree in {"flat": as_flat(case), "dense": as_dense(case)}.items():
        path = tmp_path / f"{name}.nc"
        tree.to_netcdf(path, engine="h5netcdf")
        with xr.open_datatree(path, engine="h5netcdf") as back:
            for metric in (evaluation.top_k_accuracy(2), evaluation.average_overlap(3)):
                xr.testing.assert_identical(
                    evaluation.uncertainty_adjusted(metric, back, scores, random_seed=1),
                    evaluation.uncertainty_adjusted(metric, tree, scores, random_seed=1),
                )


def test_integer_categories_are_compared_as_integers(case, scores):
    tree = as_flat(case, integers=True)
    text = scores.assign_coords(category=[str(c) for c in range(6)])
    integers = scores.assign_coords(category=np.arange(6))
    expected = evaluation.uncertainty_adjusted(evaluation.overlap(2), as_flat(case), scores, random_seed=1)
    for predictions in (text, integers, positions(text), positions(integers)):
        found = evaluation.uncertainty_adjusted(evaluation.overlap(2), tree, predictions, random_seed=1)
        np.testing.assert_array_equal(found, expected)

    def kinds(y_true, y_pred):
        return float(y_true.dtype.kind == "i" and y_pred.dtype.kind == "i")

    found = evaluation.uncertainty_adjusted(kinds, tree, integers, other="exclude")
    assert found.to_numpy().all()


def test_infinite_and_missing_plausibility_is_refused(case, scores, golden):
    array = as_dense(case)["posterior"]["plausibility"].copy()
    array[0, 3, 2, 1] = np.nan
    with golden.raises(evaluation.EvaluationError):
        evaluation.uncertainty_adjusted(evaluation.overlap(2), array, scores)


def test_trees_that_lack_something(case, scores):
    posterior = as_flat(case)["posterior"].to_dataset()

    def score(tree):
        return evaluation.uncertainty_adjusted(evaluation.overlap(2), tree, scores)

    refusals = {
        "has no group posterior": xr.DataTree(),
        "has no variable plausibility": tree_of(posterior.drop_vars("plausibility")),
        "has no coord item": tree_of(posterior.drop_vars("item")),
        "has no coord category": posterior["plausibility"].drop_vars("category"),
        "no constant_data other_size": tree_of(posterior),
        "candidates of an item must be contiguous": tree_of(posterior.isel(candidate=[0, -1, 1])),
        "must be the last candidate": tree_of(posterior.isel(candidate=slice(None, None, -1))),
        "dim category of plausibility has no labels": as_dense(case)["posterior"]["plausibility"].drop_vars(
            "category"
        ),
    }
    for message, tree in refusals.items():
        with pytest.raises(evaluation.EvaluationError, match=rf"(?s){message}.*inference\.label"):
            score(tree)
    with pytest.raises(evaluation.EvaluationError, match="expected a DataTree"):
        score(scores.to_numpy())
    with pytest.raises(evaluation.EvaluationError, match="one pseudo-category"):
        evaluation.annotation_certainty(as_flat(case, concentration=np.nan), other="split")
    with pytest.raises(evaluation.EvaluationError, match="other='all'"):
        evaluation.annotation_certainty(as_flat(case), other="all")
