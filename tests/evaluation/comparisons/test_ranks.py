"""Ranks of draws against scipy, joint coverage against counting, and groups and votes against their definitions."""

import time

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.comparisons import qualities as quality_draws
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm, rankdata

from tests.support.monte_carlo import assert_rejects_twin, seed_of


def tree(draws, items=None, **others):
    draws = np.asarray(draws, float)
    items = [f"item {i}" for i in range(draws.shape[-1])] if items is None else items
    posterior = xr.Dataset({"quality": (("chain", "draw", "item"), draws)}, {"item": items})
    for name, values in others.items():
        dims = ("chain", "draw", "rater")[: np.ndim(values)]
        posterior[name] = (dims, values)
    return xr.DataTree.from_dict({"posterior": posterior})


def distinct(shape=(2, 300, 9), seed=1):
    rng = np.random.default_rng(seed)
    centre = np.linspace(0, 2, shape[-1])[rng.permutation(shape[-1])]
    return centre + rng.normal(scale=0.6, size=shape)


def ranks_of(draws, method="average"):
    flat = draws.reshape(-1, draws.shape[-1])
    ranks = rankdata(-flat, method=method, axis=1)
    return ranks if method == "average" else ranks.astype(int)


@pytest.fixture(params=["distinct", "tied"])
def draws(request):
    values = distinct()
    return values if request.param == "distinct" else np.round(values, 1)


@pytest.fixture(params=[10**7, 2_000])
def block_size(request, monkeypatch):
    monkeypatch.setattr(quality_draws, "BLOCK_SIZE", request.param)


@pytest.mark.usefixtures("block_size")
def test_distribution_counts_ranks(draws):
    found = evaluation.rank_distribution(tree(draws))
    best, worst = ranks_of(draws, "min"), ranks_of(draws, "max")
    expected = np.zeros((9, 9))
    for row_best, row_worst in zip(best, worst, strict=True):
        for i in range(9):
            expected[i, row_best[i] - 1 : row_worst[i]] += 1 / (row_worst[i] - row_best[i] + 1)
    np.testing.assert_allclose(found, expected / 600, atol=1e-14)
    np.testing.assert_allclose(found.sum("item"), 1, atol=1e-12)
    np.testing.assert_allclose(found.sum("rank"), 1, atol=1e-12)
    assert found["rank"].to_numpy().tolist() == list(range(1, 10))
    mean = (found * found["rank"]).sum("rank")
    np.testing.assert_allclose(mean, ranks_of(draws).mean(axis=0), rtol=1e-12)


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("simultaneous", [False, True])
def test_intervals_are_those_of_sorted_ranks(draws, simultaneous):
    found = evaluation.rank_intervals(tree(draws), 0.8, simultaneous=simultaneous)
    average = ranks_of(draws)
    np.testing.assert_allclose(found["mean_rank"], average.mean(axis=0))
    np.testing.assert_allclose(found["median_rank"], np.median(average, axis=0))
    distribution = evaluation.rank_distribution(tree(draws))
    np.testing.assert_allclose(found["best"], distribution.sel(rank=1), atol=1e-14)
    np.testing.assert_allclose(found["quality"], draws.mean(axis=(0, 1)))
    flat = np.sort(draws.reshape(-1, 9), axis=0)
    np.testing.assert_array_equal(found["quality_lower"], flat[60])
    np.testing.assert_array_equal(found["quality_upper"], flat[-61])
    assert found.attrs == {"prob": 0.8, "simultaneous": int(simultaneous)}
    if not simultaneous:
        best, worst = (np.sort(ranks_of(draws, how), axis=0) for how in ("min", "max"))
        np.testing.assert_array_equal(found["lower"], best[60])
        np.testing.assert_array_equal(found["upper"], worst[-61])


@pytest.mark.parametrize("prob", [0.5, 0.8, 0.9, 0.99])
def test_simultaneous_intervals_are_the_narrowest_of_a_common_tail(draws, prob):
    best, worst = ranks_of(draws, "min"), ranks_of(draws, "max")
    found = evaluation.rank_intervals(tree(draws), prob, simultaneous=True)

    def coverage(lower, upper):
        return ((best >= lower) & (worst <= upper)).all(axis=1).mean()

    of_tail = [(np.sort(best, axis=0)[k - 1], np.sort(worst, axis=0)[-k]) for k in range(1, 301)]
    enough = [bounds for bounds in of_tail if coverage(*bounds) >= prob]
    np.testing.assert_array_equal(found["lower"], enough[-1][0])
    np.testing.assert_array_equal(found["upper"], enough[-1][1])
    alone = evaluation.rank_intervals(tree(draws), prob)
    assert coverage(alone["lower"].to_numpy(), alone["upper"].to_numpy()) < prob  # the twin
    assert (found["lower"] <= alone["lower"]).all() and (found["upper"] >= alone["upper"]).all()


def test_simultaneous_intervals_of_one_item_or_of_copies_are_pointwise():
    for values in (distinct((1, 50, 1)), distinct((1, 50, 2))):
        one = evaluation.rank_intervals(tree(values), 0.8)
        all_of_them = evaluation.rank_intervals(tree(values), 0.8, simultaneous=True)
        if values.shape[-1] == 1:
            xr.testing.assert_equal(one, all_of_them)
        else:  # the ranks of two mirror each other, but each has both of its tails
            assert (all_of_them["lower"] <= one["lower"]).all()


def test_preference_is_the_share_of_draws(draws):
    found = evaluation.preference_probability(tree(draws))
    flat = draws.reshape(-1, 9)
    above = (flat[:, :, None] > flat[:, None]) + 0.5 * (flat[:, :, None] == flat[:, None])
    np.testing.assert_allclose(found, above.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found + found.to_numpy().T, 1)
    picked = found.sel(item="item 2", other="item 5")
    assert float(picked) == pytest.approx(above[:, 2, 5].mean())


def groups_by_definition(draws, prob):
    flat = draws.reshape(-1, draws.shape[-1])
    ranks = rankdata(-flat, axis=1)
    median, mean = np.median(ranks, axis=0), ranks.mean(axis=0)
    order = sorted(range(flat.shape[1]), key=lambda i: (median[i], mean[i], i))
    group, leader = {order[0]: 1}, order[0]
    for i in order[1:]:
        opens = (flat[:, i] < flat[:, leader]).mean() >= prob
        group[i] = group[max(order[: order.index(i)], key=lambda j: group[j])] + opens
        leader = i if opens else leader
    return [group[i] for i in range(flat.shape[1])]


@pytest.mark.parametrize("prob", [0.6, 0.8, 0.95, 0.999])
def test_groups_are_their_definition(draws, prob):
    found = evaluation.tied_groups(tree(draws), prob)
    assert found.to_numpy().tolist() == groups_by_definition(draws, prob)
    assert found["item"].to_numpy().tolist() == [f"item {i}" for i in range(9)]
    if prob == 0.6:
        assert found.max() > 3


def test_a_group_opens_at_the_very_probability():
    below = tree([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])  # the second is below in 3 draws of 4
    assert evaluation.tied_groups(below, 0.75).to_numpy().tolist() == [1, 2]
    assert evaluation.tied_groups(below, np.nextafter(0.75, 1)).to_numpy().tolist() == [1, 1]


def test_groups_of_a_ladder_and_of_equals():
    ladder = np.arange(5.0) + np.random.default_rng(1).normal(scale=0.01, size=(1, 100, 5))
    assert evaluation.tied_groups(tree(ladder)).to_numpy().tolist() == [5, 4, 3, 2, 1]
    equal = tree(np.ones((1, 10, 3)))
    assert evaluation.tied_groups(equal).to_numpy().tolist() == [1, 1, 1]
    table = evaluation.rank_intervals(equal, simultaneous=True)
    assert (table["lower"] == 1).all() and (table["upper"] == 3).all()
    assert (table["median_rank"] == 2).all()
    np.testing.assert_allclose(table["best"], 1 / 3)
    np.testing.assert_allclose(evaluation.rank_distribution(equal), 1 / 3)


def test_one_item_one_draw():
    one = tree([[[0.3]]])
    table = evaluation.rank_intervals(one)
    assert (table[["lower", "upper", "median_rank", "best"]].to_array() == 1).all()
    assert evaluation.tied_groups(one).to_numpy().tolist() == [1]
    assert evaluation.preference_probability(one).to_numpy().tolist() == [[0.5]]
    assert evaluation.win_probability(one, link="thurstone")["win"].to_numpy().tolist() == [[0.5]]


def test_ranks_of_normal_qualities_are_those_of_the_integral():
    # P(best) of independent normals is an integral over one dimension; the twin forgets an item.
    mean, scale, samples = np.array([0.0, 0.5, 0.8, -1.0]), np.array([1.0, 0.4, 0.7, 2.0]), 40_000
    rng = np.random.default_rng(seed_of("P(best) of normals"))
    found = evaluation.rank_intervals(tree(mean + scale * rng.normal(size=(4, samples // 4, 4))))

    def best(i, others):
        law = [norm(mean[j], scale[j]) for j in range(4)]
        return quad(lambda q: law[i].pdf(q) * np.prod([law[j].cdf(q) for j in others]), -12, 12, limit=200)[0]

    exact = np.array([best(i, [j for j in range(4) if j != i]) for i in range(4)])
    assert exact.sum() == pytest.approx(1)
    z = (found["best"].to_numpy() - exact) / np.sqrt(exact * (1 - exact) / samples)
    twin = np.array([best(i, [j for j in range(4) if j not in (i, 3)]) for i in range(3)])
    z_twin = (found["best"].to_numpy()[:3] - twin) / np.sqrt(twin * (1 - twin) / samples)
    assert np.abs(z).max() < 4.1 < np.abs(z_twin).max()


def votes(x, tie, link):
    """The choice probabilities as printed."""
    if link == "thurstone":
        first, second = norm.cdf(x - tie), norm.cdf(-x - tie)
        return first, 1 - first - second
    weights = np.exp(x / 2), np.exp(-x / 2), tie * np.ones_like(x)
    return weights[0] / sum(weights), weights[2] / sum(weights)


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
@pytest.mark.parametrize("with_ties", [False, True])
@pytest.mark.parametrize("reliability", ["mean", 2.5])
def test_votes_are_the_mean_of_the_law(link, with_ties, reliability):
    rng = np.random.default_rng(6)
    values, rho = distinct((2, 20, 5)), rng.gamma(3.0, size=(2, 20, 4))
    tie = rng.gamma(2.0, size=(2, 20)) / 3
    extra = {"reliability": rho} | ({"tie": tie} if with_ties else {})
    found = evaluation.win_probability(tree(values, **extra), link=link, reliability=reliability)
    own = rho.mean(-1) if reliability == "mean" else np.full((2, 20), reliability)
    x = own[..., None, None] * (values[..., :, None] - values[..., None, :])
    win, tied = votes(x, tie[..., None, None] if with_ties else 0.0, link)
    np.testing.assert_allclose(found["win"], win.mean(axis=(0, 1)), rtol=1e-12)
    expected = tied.mean(axis=(0, 1)) if with_ties else np.zeros((5, 5))
    np.testing.assert_allclose(found["tie"], expected, rtol=1e-12, atol=1e-15)
    total = found["win"] + found["win"].to_numpy().T + found["tie"]
    np.testing.assert_allclose(total, 1, rtol=1e-12)
    xr.testing.assert_allclose(found["points"], found["win"] + found["tie"] / 2)


def test_votes_take_the_link_of_the_tree_and_stay_finite(golden):
    far = tree([[[0.0, 1e4]]], tie=[[0.5]])
    far.attrs["model"] = "bradley_terry"
    found = evaluation.win_probability(far)
    assert found["win"].to_numpy().tolist() == [[0.4, 0.0], [1.0, 0.4]]
    assert found.attrs["link"] == "bradley_terry"
    shared = tree([[[0.0, 1.0]]], reliability=[[2.0]])
    shared.attrs["model"] = "bradley_terry"
    assert float(evaluation.win_probability(shared)["win"][1, 0]) == pytest.approx(expit(2.0))
    shared.attrs["model"] = "plackett_luce"
    with golden.raises(evaluation.EvaluationError):
        evaluation.win_probability(shared)
    with pytest.raises(evaluation.EvaluationError, match="link='probit'"):
        evaluation.win_probability(shared, link="probit")
    for reliability in ("ideal", np.inf, None):
        with golden.raises(evaluation.EvaluationError):
            evaluation.win_probability(shared, link="thurstone", reliability=reliability)


def test_large_leaderboards_are_fast_and_matrices_refused(golden):
    rng = np.random.default_rng(8)
    large = tree(np.sort(rng.normal(size=6_000)) + 0.1 * rng.normal(size=(1, 200, 6_000)))
    start = time.process_time()
    table = evaluation.rank_intervals(large, simultaneous=True)
    evaluation.tied_groups(large)
    assert time.process_time() - start < 20
    assert table["mean_rank"].mean() == pytest.approx(3000.5)
    for function in (evaluation.preference_probability, evaluation.rank_distribution):
        with golden.raises(evaluation.EvaluationError):
            function(large)
    with golden.raises(evaluation.EvaluationError):
        evaluation.win_probability(large, link="thurstone")


def test_array_dataset_and_tree_are_the_same():
    whole = tree(distinct())
    posterior = whole["posterior"].to_dataset()
    for source in (posterior, posterior["quality"], posterior["quality"].transpose("item", ...)):
        xr.testing.assert_equal(evaluation.rank_intervals(source), evaluation.rank_intervals(whole))


@pytest.mark.parametrize(
    ("name", "dim"),
    [("location", "item"), ("accuracy", "classifier"), ("ability", "model"), ("ability", "rater")],
)
def test_locations_metrics_and_abilities_are_ranked_alike(name, dim):
    draws = distinct()
    ours = tree(draws)
    other = ours["posterior"]["quality"].rename(name)
    if dim != "item":
        other = other.rename(item=dim)
    if name != "accuracy":
        other = xr.DataTree.from_dict({"posterior": other.to_dataset()})

    def check(other):
        for ranked in (evaluation.rank_intervals, evaluation.rank_distribution, evaluation.tied_groups):
            found, expected = ranked(other), ranked(ours)
            assert dim in found.dims
            xr.testing.assert_allclose(found.rename({dim: "item"} if dim != "item" else {}), expected)

    check(other)
    minus = -other if name == "accuracy" else other.map_over_datasets(lambda own: -own)
    assert_rejects_twin(check, minus)


def test_abilities_of_categories_are_no_ranking(golden):
    ability = xr.DataArray(
        np.zeros((1, 2, 2, 3)), {"rater": list("abc")}, ("chain", "draw", "category", "rater")
    )
    with golden.raises(evaluation.EvaluationError):
        evaluation.rank_intervals(ability)


def test_error_of_tiers_is_the_share_of_draws_with_leaders_in_another_order():
    draws = distinct()
    found = evaluation.tied_groups(tree(draws), 0.8)
    ranks, group = ranks_of(draws), found.to_numpy()
    order = np.lexsort((ranks.mean(axis=0), np.median(ranks, axis=0)))
    leaders = [next(i for i in order if group[i] == g) for g in range(1, group.max() + 1)]
    assert len(leaders) > 2
    wrong = (np.diff(ranks[:, leaders], axis=1) <= 0).any(axis=1).mean()
    assert found.attrs["error"] == pytest.approx(wrong)
    assert wrong > 0


def test_refused(golden):
    bad = distinct((1, 4, 3))
    bad[0, 2, 1] = np.nan
    for function in (
        evaluation.rank_distribution,
        evaluation.rank_intervals,
        evaluation.preference_probability,
        evaluation.tied_groups,
        lambda t: evaluation.win_probability(t, link="thurstone"),
    ):
        with golden.raises(evaluation.EvaluationError):
            function(tree(bad))
        with pytest.raises(evaluation.EvaluationError, match="no variable 'quality'"):
            function(xr.DataTree.from_dict({"posterior": xr.Dataset()}))
    for function in (evaluation.rank_intervals, evaluation.tied_groups):
        for prob in (0, 1, 90):
            with golden.raises(evaluation.EvaluationError):
                function(tree(distinct()), prob)
    with golden.raises(evaluation.EvaluationError):
        broken = tree(distinct((1, 2, 3)), reliability=np.array([[[np.nan], [1.0]]]))
        evaluation.win_probability(broken, link="thurstone")
