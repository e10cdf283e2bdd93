"""Simulated comparisons follow the law they are named for, on the design they are named for."""

from itertools import count

import networkx
import numpy as np
import pytest
from raterzoo.models import simulators
from raterzoo.models.data.comparisons import connected_components
from raterzoo.models.simulators import paired_comparisons
from scipy.special import expit
from scipy.stats import norm

from tests.support.comparison_samplers import pair_table
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of


def law(link, x, tie):
    """Return the probabilities of left, right and tie; shape (3, vote)."""
    if link == "bradley_terry":
        odds = np.array([np.exp(x / 2), np.exp(-x / 2), np.full(len(x), tie)])
        return odds / odds.sum(axis=0)
    neither = norm.cdf(tie - x) - norm.cdf(-tie - x)
    return np.array([norm.cdf(x - tie), norm.cdf(-x - tie), neither])


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
@pytest.mark.parametrize("tie", [None, 0.7])
@pytest.mark.parametrize("left_bias", [0.0, 0.8])
def test_votes_follow_the_law(link, tie, left_bias):
    drawn = simulators.comparisons(
        link=link, tie=tie, left_bias=left_bias, signed=0.3, items=60, raters=60, alpha=1.0,
        reliability_range=(1, 5), random_seed=seed_of(f"{link} {tie} {left_bias}"),
    )  # fmt: skip
    data, truth = drawn.data, drawn.truth
    assert (truth["tie"], truth["left_bias"]) == (tie or 0.0, left_bias)
    difference = truth["quality"][data.left] - truth["quality"][data.right]
    x = truth["reliability"][data.annotation_rater] * difference
    slices = np.digitize(x, [-2.5, -1.2, -0.5, 0.0, 0.5, 1.2, 2.5])

    def check(x, tie):
        p = law(link, x, tie)
        seen = data.outcome == np.arange(3)[:, None]
        for s in range(8):
            of = slices == s
            spread = np.sqrt((p * (1 - p))[:, of].sum(axis=1))
            error = np.abs((seen - p)[:, of].sum(axis=1))
            assert (error <= bonferroni_threshold(24) * spread).all()

    check(x + left_bias, tie or 0.0)
    assert_rejects_twin(check, x + left_bias + 0.15, tie or 0.0)  # another bias
    assert_rejects_twin(check, np.abs(x) + left_bias, tie or 0.0)  # signs forgotten
    assert_rejects_twin(check, 1.2 * x + left_bias, tie or 0.0)  # another scale
    if tie:
        assert_rejects_twin(check, x + left_bias, 0.8 * tie)
        assert data.has_ties
    else:
        assert not data.has_ties


def test_without_ties_bradley_terry_is_logistic():
    x = np.linspace(-9, 9, 50)
    np.testing.assert_allclose(law("bradley_terry", x, 0.0)[0], expit(x), rtol=1e-13)


def test_the_design_is_that_of_the_paper():
    drawn = simulators.comparisons(items=30, raters=25, degree=7, alpha=0.3, random_seed=1)
    data, truth = drawn.data, drawn.truth
    table = pair_table(data)
    assert data.items.tolist() == [*range(30)] and data.raters.tolist() == [*range(25)]
    assert (np.bincount(np.r_[table.first, table.second]) == 7).all()
    assert (np.diff(table.start) == 8).all()  # round(.3 * 25) different raters of each pair
    votes = np.bincount(data.annotation_rater)
    assert votes.sum() == 30 * 7 / 2 * 8 and np.ptp(votes) <= 1
    assert (data.count == 1).all() and data.connected
    assert 0 < truth["quality"].min() and truth["quality"].max() < 1
    assert 1 < truth["reliability"].min() and truth["reliability"].max() < 20
    assert truth["quality"].shape == (30,) and truth["reliability"].shape == (25,)


def test_the_laws_of_quality_reliability_and_sides():
    drawn = simulators.comparisons(
        items=3000, raters=3000, degree=4, alpha=0.002, signed=0.25, random_seed=seed_of("uniform")
    )
    quality, reliability = drawn.truth["quality"], drawn.truth["reliability"]
    n = len(reliability)
    z = [
        (quality.mean() - 0.5) / np.sqrt(1 / 12 / 3000),
        (np.abs(reliability).mean() - 10.5) / np.sqrt(19**2 / 12 / n),
        ((reliability < 0).mean() - 0.25) / np.sqrt(0.25 * 0.75 / n),
        ((drawn.data.left < drawn.data.right).mean() - 0.5) / np.sqrt(0.25 / len(drawn.data)),
    ]
    assert np.abs(z).max() < bonferroni_threshold(4)


def test_raters_without_a_pair_go():
    drawn = simulators.comparisons(items=4, raters=50, degree=3, alpha=0.02, random_seed=2)
    assert len(drawn.data.raters) == 6 == len(drawn.truth["reliability"])
    everyone = simulators.comparisons(items=4, raters=50, degree=3, alpha=1.0, random_seed=2)
    assert len(everyone.data.raters) == 50


@pytest.mark.parametrize(("items", "degree"), [(2, 1), (3, 2), (6, 2), (20, 3), (40, 20), (9, 20), (50, 2)])
def test_regular_graphs(items, degree):
    pairs = paired_comparisons.regular_graph(items, degree, random_seed=seed_of(f"{items} {degree}"))
    assert (np.bincount(pairs.ravel(), minlength=items) == min(degree, items - 1)).all()
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert (np.diff(pairs[:, 0] * items + pairs[:, 1]) > 0).all()
    assert not connected_components(items, *pairs.T).any()
    np.testing.assert_array_equal(
        pairs, paired_comparisons.regular_graph(items, degree, random_seed=seed_of(f"{items} {degree}"))
    )


@pytest.mark.parametrize(("items", "degree"), [(6, 3), (9, 2), (12, 9), (40, 20)])
def test_regular_graphs_are_those_of_networkx(items, degree):
    for seed in range(20):
        found = paired_comparisons.regular_graph(items, degree, random_seed=seed)
        rng = np.random.default_rng(seed)
        draws = (networkx.random_regular_graph(degree, items, seed=int(rng.integers(2**32))) for _ in count())
        expected = next(graph for graph in draws if networkx.is_connected(graph))
        np.testing.assert_array_equal(found, sorted(map(sorted, expected.edges)))


@pytest.mark.parametrize(
    ("n_pairs", "raters", "per_pair"), [(1, 5, 2), (7, 5, 3), (100, 40, 13), (10, 4, 4), (50, 30, 1)]
)
def test_allotment_is_balanced(n_pairs, raters, per_pair):
    allotted = paired_comparisons.allot_raters(n_pairs, raters, per_pair, np.random.default_rng(5))
    assert allotted.shape == (n_pairs, per_pair)
    assert (np.diff(allotted, axis=1) > 0).all() and allotted.min() >= 0 and allotted.max() < raters
    assert np.ptp(np.bincount(allotted.ravel(), minlength=raters)) <= 1


def test_every_rater_is_as_likely_on_every_pair():
    rng = np.random.default_rng(seed_of("allotment"))
    seen = np.zeros((7, 5))
    for _ in range(4000):
        drawn = paired_comparisons.allot_raters(7, 5, 2, rng)
        np.add.at(seen, (np.arange(7)[:, None], drawn), 1)

    def check(share):
        z = (seen - 4000 * share) / np.sqrt(4000 * share * (1 - share))
        assert np.abs(z).max() < bonferroni_threshold(35)

    check(2 / 5)
    assert_rejects_twin(check, 2 / 6)


def test_a_graph_of_ones_own():
    ring = networkx.cycle_graph(6)
    for graph in (ring, np.array(ring.edges), [*ring.edges]):
        data = simulators.comparisons(items=6, graph=graph, random_seed=3).data
        table = pair_table(data)
        assert {*zip(table.first.tolist(), table.second.tolist(), strict=True)} == {
            tuple(sorted(edge)) for edge in ring.edges
        }
    apart = simulators.comparisons(items=5, graph=[(0, 1), (2, 3)], random_seed=3).data
    assert len(apart.components) == 3 and len(apart.items) == 5


def test_the_seed_decides():
    one, same, other = (simulators.comparisons(tie=0.5, random_seed=seed).data for seed in (7, 7, 8))
    assert one == same and one != other


def test_extreme_reliability_is_finite():
    drawn = simulators.comparisons(reliability_range=(1e6, 1e7), tie=1e-3, random_seed=4)
    won = np.where(drawn.data.outcome == 0, drawn.data.left, drawn.data.right)
    lost = np.where(drawn.data.outcome == 0, drawn.data.right, drawn.data.left)
    quality = drawn.truth["quality"]
    assert (quality[won] > quality[lost])[drawn.data.outcome < 2].mean() > 0.999


@pytest.mark.parametrize(
    "options",
    [
        {"items": 1},
        {"items": 2.5},
        {"items": True},
        {"raters": 0},
        {"degree": 0},
        {"degree": 1},
        {"items": 41, "degree": 3},
        {"alpha": 0},
        {"alpha": 1.1},
        {"alpha": float("nan")},
        {"link": "probit"},
        {"tie": -1},
        {"tie": float("inf")},
        {"left_bias": float("nan")},
        {"signed": 2},
        {"quality_range": (1, 0)},
        {"reliability_range": (0, 1)},
        {"graph": [(0, 0)]},
        {"graph": [(0, 1), (1, 0)]},
        {"graph": [(0, 40)]},
        {"graph": [(-1, 3)]},
        {"graph": []},
        {"graph": networkx.Graph([("a", "b")])},
        {"graph": np.zeros((3, 2))},
    ],
)
def test_wrong_numbers_are_named(options, golden):
    with golden.raises(ValueError):
        simulators.comparisons(**options)
