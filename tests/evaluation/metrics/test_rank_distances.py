"""Distances of rankings with ties: against SciPy, scikit-learn, brute force over pairs and positions."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.uncertainty import adjusted as scoring
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score

from tests.support.evaluation_trees import Case, as_dense, as_flat, random_case

N = 6
METRICS = [evaluation.kendall_tau, evaluation.spearman_footrule, evaluation.ndcg]


def cut(values, k):
    """Tie all but the k best: what has at least k others at or above it is among the last."""
    at_or_above = (values[None, :] >= values[:, None]).sum(axis=1)
    return values if k is None else np.where(at_or_above <= k, values, values.min() - 1)


def positions(values):
    """Return mean positions, 1 = the best, of the places that a tie fills."""
    above, tied = (values[None] > values[:, None]).sum(1), (values[None] == values[:, None]).sum(1)
    return above + (tied + 1) / 2


def slow_kendall_tau(truth, scores, k):
    x, y = cut(truth, k), cut(scores, k)
    pairs = list(combinations(range(len(x)), 2))
    concordance = sum(np.sign(x[a] - x[b]) * np.sign(y[a] - y[b]) for a, b in pairs)
    untied = [sum(v[a] != v[b] for a, b in pairs) for v in (x, y)]
    return concordance / np.sqrt(untied[0] * untied[1]) if all(untied) else 0.0


def slow_footrule(truth, scores, k):
    x, y = positions(cut(truth, k)), positions(cut(scores, k))
    strict = np.arange(len(x), 0, -1.0)
    ends = positions(cut(strict, k))
    return abs(x - y).sum() / abs(ends - ends[::-1]).sum()


def slow_ndcg(truth, scores, k):
    return ndcg_score(truth[None], scores[None], k=k)


SLOW = [slow_kendall_tau, slow_footrule, slow_ndcg]


@pytest.fixture(scope="module")
def case():
    """Draws in which plausibilities are often tied."""
    rng = np.random.default_rng(51)
    named = [[0, 2], [4], [0, 1, 3, 5], [1, 2, 3], [5, 0], [2]]
    draws = []
    for labels in named:
        counts = rng.multinomial(5, np.full(len(labels) + 1, 1 / (len(labels) + 1)), (2, 8))
        shares = np.array([1.0] * len(labels) + [N - len(labels)])
        weights = (counts + 1) * shares
        draws.append(weights / weights.sum(axis=-1, keepdims=True))
    return Case(named, draws, N, 0.5)


@pytest.fixture(scope="module")
def scores(case):
    values = np.random.default_rng(52).integers(0, 4, (3, 6, N)).astype(float)
    values[0, 1] = 2.0  # all tied
    values[1, :, 3:] = -np.inf  # not predicted
    coords = {"classifier": list("ABC"), "item": case.items, "category": case.categories}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


def shared_out(case, other):
    dense = as_dense(case)["posterior"]["plausibility"].copy()
    for i, (named, draws) in enumerate(zip(case.named, case.draws, strict=True)):
        rest = np.setdiff1d(np.arange(case.n_categories), named)
        if other == "split":
            dense[..., i, rest] = draws[..., -1:] / len(rest)
    return dense


def by_loop(slow, truth, scores, k):
    draws, values = truth.to_numpy(), np.maximum(scores.to_numpy(), -1e6)  # not predicted: last
    return np.array(
        [
            [[[slow(p, s, k) for p, s in zip(draw, one, strict=True)] for one in values] for draw in chain]
            for chain in draws
        ]
    )


@pytest.mark.parametrize("k", [None, 1, 2, 3, 5, 6, 9])
@pytest.mark.parametrize(("metric", "slow"), list(zip(METRICS, SLOW, strict=True)))
@pytest.mark.parametrize("other", ["split", "exclude"])
def test_is_a_loop_over_draws_in_both_layouts(case, scores, metric, slow, k, other):
    dense = shared_out(case, other)
    expected = by_loop(slow, dense, scores, k)
    for tree in (dense, as_flat(case)):
        kept = evaluation.uncertainty_adjusted(
            metric(k), tree, scores, reduce=None, other=other if tree is not dense else None
        )
        assert kept.dims == ("chain", "draw", "classifier", "item")
        np.testing.assert_allclose(kept, expected, rtol=1e-6, atol=1e-12)
    reduced = evaluation.uncertainty_adjusted(metric(k), as_flat(case), scores, other=other)
    np.testing.assert_allclose(reduced, expected.mean(axis=-1), rtol=1e-6, atol=1e-12)


def test_kendall_tau_is_scipys():
    rng = np.random.default_rng(53)
    case = random_case(rng, 5, 8, (1, 20))
    values = rng.integers(0, 5, (5, 8)).astype(float)
    values[:, 0] = 9
    predictions = xr.DataArray(
        values, {"item": case.items, "category": case.categories}, ("item", "category")
    )
    tree = as_dense(case, rng)
    found = evaluation.uncertainty_adjusted(evaluation.kendall_tau(), tree, predictions, reduce=None)
    draws = tree["posterior"]["plausibility"].to_numpy()[0]
    expected = [[kendalltau(p, s)[0] for p, s in zip(draw, values, strict=True)] for draw in draws]
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)


@pytest.mark.parametrize("k", [None, 1, 2, 4])
def test_lists_rank_what_they_name(case, scores, k):
    """Lists are scores that fall with the position, and -inf for the rest."""
    order = np.random.default_rng(54).permuted(np.tile(np.arange(N), (6, 1)), axis=1)[:, :3]
    labels = np.array(case.categories)[order]
    labels[2, 1:], labels[3] = "", ""  # shorter ones
    lists = xr.DataArray(labels, {"item": case.items}, ("item", "position"))
    values = np.full((6, N), -np.inf)
    for i, row in enumerate(labels.tolist()):
        for position, label in enumerate(filter(None, row)):
            values[i, case.categories.index(label)] = -position
    same = xr.DataArray(values, scores[0].coords, ("item", "category"))
    for metric in METRICS:
        found, expected = (
            evaluation.uncertainty_adjusted(metric(k), as_flat(case), p, reduce=None) for p in (lists, same)
        )
        np.testing.assert_array_equal(found, expected)


def test_sets_are_two_groups_of_ties(case, scores):
    member = scores[2] > 1
    for metric in METRICS:
        found, expected = (
            evaluation.uncertainty_adjusted(metric(), as_flat(case), p)
            for p in (member, member.astype(float))
        )
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("truth", ["label", "sampled"])
@pytest.mark.parametrize("metric", METRICS)
def test_one_label_is_above_all_others(case, scores, metric, truth):
    seen = evaluation.Metric("seen", truth, lambda codes, p: codes)
    options = {"truth": truth, "reduce": None, "random_seed": 7}
    codes = evaluation.uncertainty_adjusted(seen, as_dense(case), scores, reduce=None, random_seed=7)
    one_hot = xr.DataArray(
        np.eye(N)[codes.isel(classifier=0).astype(int)],
        shared_out(case, "exclude").coords,
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    found = evaluation.uncertainty_adjusted(metric(2), as_dense(case), scores, **options)
    expected = evaluation.uncertainty_adjusted(metric(2), one_hot, scores, reduce=None)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_posterior_of_one_category_is_ranked_by_its_label(scores, case):
    tree = shared_out(case, "split").assign_attrs(truth="category")
    found, expected = (
        evaluation.uncertainty_adjusted(evaluation.kendall_tau(), tree, scores, truth=truth, random_seed=1)
        for truth in (None, "label")
    )
    np.testing.assert_array_equal(found, expected)


def test_agreement_and_its_opposite():
    p = np.array([0.4, 0.3, 0.2, 0.1])
    truth = xr.DataArray(p[None], {"item": [0], "category": list("dbca")}, ("item", "category"))
    values = {
        evaluation.kendall_tau(): (1, -1),
        evaluation.kendall_tau(2): (1, slow_kendall_tau(p, -p, 2)),
        evaluation.spearman_footrule(): (0, 1),
        evaluation.spearman_footrule(2): (0, 1),
        evaluation.ndcg(): (1, slow_ndcg(p, -p, None)),
    }
    for metric, expected in values.items():
        found = [float(evaluation.uncertainty_adjusted(metric, truth, s * truth)) for s in (1, -1)]
        assert found == pytest.approx(expected, rel=1e-6), metric.name


def test_constant_rankings():
    equal = xr.DataArray(np.full((1, 4), 0.25), {"item": [0], "category": list("abcd")}, ("item", "category"))
    strict = equal.copy(data=[[4.0, 3, 2, 1]])
    for truth, predictions in ((equal, strict), (strict / 10, equal), (equal, equal)):
        for k in (None, 2):
            tau = evaluation.uncertainty_adjusted(evaluation.kendall_tau(k), truth, predictions)
            assert float(tau) == 0
    one = equal.isel(category=[0])
    assert float(evaluation.uncertainty_adjusted(evaluation.spearman_footrule(), one, one)) == 0
    assert float(evaluation.uncertainty_adjusted(evaluation.kendall_tau(), one, one)) == 0
    assert float(evaluation.uncertainty_adjusted(evaluation.ndcg(), one, one)) == 1
    assert float(evaluation.uncertainty_adjusted(evaluation.ndcg(), 0 * equal, strict)) == 0


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_footrule_never_exceeds_its_largest_value(n):
    """All pairs of bucket orders of few categories: the largest value is attained."""
    grid = np.stack(np.meshgrid(*[np.arange(n)] * n), axis=-1).reshape(-1, n).astype(float)
    orders = np.unique([positions(row) for row in grid[:: 1 if n < 5 else 7]], axis=0)
    strict = -np.arange(n)[None]
    rows = np.concatenate([-orders, strict, strict[:, ::-1]])
    truth = xr.DataArray(
        (rows + n) / (2 * n),
        {"draw": np.arange(len(rows)), "category": [f"c{i}" for i in range(n)]},
        ("draw", "category"),
        attrs={"truth": "distribution"},
    ).expand_dims(item=[0])
    for k in (None, *range(1, n + 1)):
        largest = 0.0
        for row in (*rows[:: max(len(rows) // 40, 1)], rows[-1]):
            predictions = truth.isel(draw=0, drop=True).copy(data=row[None])
            found = evaluation.uncertainty_adjusted(evaluation.spearman_footrule(k), truth, predictions)
            assert float(found.min()) >= 0
            largest = max(largest, float(found.max()))
        assert largest == pytest.approx(1, abs=1e-6)


def test_the_declared_categories_count_although_nobody_names_them():
    """Of 40 categories six are named: the others are tied last, in lists as in scores."""
    case = Case([[0, 1]], [np.array([[[0.5, 0.3, 0.2]]])], 40, 0.5)
    lists = xr.DataArray([["label 1", "label 5"]], {"item": ["case 0"]}, ("item", "position"))
    p, s = np.full(40, 0.2 / 38), np.full(40, -9.0)
    p[:2], s[[1, 5]] = (0.5, 0.3), (2, 1)
    for metric, slow in zip(METRICS, SLOW, strict=True):
        for k in (None, 2, 4):
            found = evaluation.uncertainty_adjusted(metric(k), as_flat(case), lists)
            assert float(found[0, 0]) == pytest.approx(slow(p, s, k), rel=1e-6)


def test_without_a_declared_number_those_that_are_named_count():
    array = as_flat(Case([[0, 1]], [np.array([[[0.5, 0.3, 0.2]]])], 40, 0.5))
    array = array["posterior"]["plausibility"]
    lists = xr.DataArray([["label 1", "label 5"]], {"item": ["case 0"]}, ("item", "position"))
    found = evaluation.uncertainty_adjusted(evaluation.kendall_tau(), array, lists, other="exclude")
    p, s = np.array([0.5, 0.3, 0]), np.array([-9.0, 2, 1])
    assert float(found[0, 0]) == pytest.approx(slow_kendall_tau(p, s, None))


def test_the_cost_is_that_of_the_named_labels(scores, case, monkeypatch):
    def refuse(*_):
        raise AssertionError("made dense")

    monkeypatch.setattr(scoring.drawn_truth, "dense_plausibility", refuse)
    for metric in METRICS:
        evaluation.uncertainty_adjusted(metric(), as_flat(case), scores)


@pytest.mark.parametrize("metric", METRICS)
def test_weights_of_groups_are_those_of_the_items(case, scores, metric):
    group = xr.DataArray(list("aabbab"), {"item": case.items}, ("item",))
    drawn = evaluation.metric_draws(metric(3), as_flat(case), scores, by=group, resamples=50, random_seed=3)
    kept = evaluation.uncertainty_adjusted(metric(3), as_flat(case), scores, reduce=None)
    for name in "ab":
        own = kept.isel(item=(group == name).to_numpy()).mean("item")
        np.testing.assert_allclose(drawn["raters"].sel(group=name), own, rtol=1e-6)
    assert float(drawn["both"].std()) > float(drawn["raters"].std())


def rbo_by_definition(a, b, p, depth):
    """Sum the series far beyond the depth, where the overlap stays as it is."""
    total = 0.0
    for d in range(1, 4000):
        cut = min(d, depth)
        agreement = len(set(a[:cut]) & set(b[:cut])) / cut
        total += (1 - p) * p ** (d - 1) * agreement
    return total


@pytest.mark.parametrize("p", [0.1, 0.9, 0.98])
@pytest.mark.parametrize("depth", [1, 3, 6])
def test_rank_biased_overlap_is_its_series(p, depth):
    rng = np.random.default_rng(55)
    case = random_case(rng, 6, 6, (1, 10))
    tree = as_dense(case, rng)
    values = rng.random((6, 6))
    predictions = xr.DataArray(
        values, {"item": case.items, "category": case.categories}, ("item", "category")
    )
    metric = evaluation.rank_biased_overlap(p, depth)
    assert metric.name == f"rank_biased_overlap_{depth}"
    found = evaluation.uncertainty_adjusted(metric, tree, predictions, reduce=None)[0]
    truth = np.argsort(-tree["posterior"]["plausibility"].to_numpy()[0], axis=-1)
    predicted = np.argsort(-values, axis=-1)
    for d, i in np.ndindex(10, 6):
        expected = rbo_by_definition(truth[d, i].tolist(), predicted[i].tolist(), p, depth)
        assert float(found[d, i]) == pytest.approx(expected, rel=1e-5)


def test_shorter_lists_share_nothing_where_they_are_empty():
    score = evaluation.rank_biased_overlap(0.5, 3).score
    truth, lists = np.array([[[0, 1, 2]]]), np.array([[0, -2, -2]])
    # overlaps 1, 1/2, 1/3, and 1/3 beyond
    assert score(truth, lists)[0, 0] == pytest.approx(1 / 2 + 1 / 8 + 1 / 3 * (1 / 8 + 1 / 8))


@pytest.mark.parametrize(
    "make",
    [
        lambda: evaluation.kendall_tau(0),
        lambda: evaluation.ndcg(2.5),
        lambda: evaluation.spearman_footrule(True),
        lambda: evaluation.rank_biased_overlap(1.0),
        lambda: evaluation.rank_biased_overlap(depth=0),
    ],
)
def test_refused(make, golden):
    with golden.raises(evaluation.EvaluationError):
        make()


def test_refused_with_these_predictions(case, scores):
    tree, tau = as_flat(case), evaluation.kendall_tau()
    nan = scores.copy()
    nan[1, 2, 3] = np.nan
    other = xr.DataArray(np.full((6, 1), "OTHER"), {"item": case.items}, ("item", "position"))
    refusals = [
        (scores, {"other": "label"}, 'other="label": kendall_tau compares categories'),
        (nan, {}, "score of item case 2, category label 3 is NaN"),
        (other, {}, "predictions name OTHER"),
        (scores, {"truth": "set"}, "kendall_tau compares with truth='plausibility'"),
        (scores.isel(category=[0, 1, 1]), {}, "category 'label 1' is duplicated"),
        (scores.isel(item=slice(5)), {}, "no prediction for item 'case 5'"),
        (scores.assign_coords(category=[*"abcdef"]), {}, "6 declared|were declared"),
    ]
    for predictions, options, message in refusals:
        with pytest.raises(evaluation.EvaluationError, match=message):
            evaluation.uncertainty_adjusted(tau, tree, predictions, **options)
    with pytest.raises(evaluation.EvaluationError, match="compares single items"):
        evaluation.Metric("mine", "plausibility", tau.score, response="ranks", over="items")
