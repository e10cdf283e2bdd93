"""Simulated scores follow the law they are named for; the two rating scales have the features they are shaped after."""

import numpy as np
import pytest
from raterzoo.models import Scores, simulators
from raterzoo.models.data.reading import numbers
from raterzoo.models.simulators.rater_scores import different_raters
from scipy.stats import chisquare, gamma, kstest, norm

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of


def standard_normal(z, threshold=1e-4):
    """Assert that the values may be independent standard normal draws."""
    assert kstest(z, norm.cdf).pvalue > threshold


def test_scores_of_unequal_raters_follow_the_law():
    drawn = simulators.scores(items=2000, raters=30, answers=5, random_seed=seed_of("raters"))
    data, truth = drawn.data, drawn.truth
    assert len(data) == 10_000 and data.bounds is None and data.items.tolist() == list(range(2000))
    seen = truth["location"][data.annotation_item] + truth["rater_bias"][data.annotation_rater]
    standard_normal((data.score - seen) / truth["rater_scale"][data.annotation_rater])
    standard_normal(truth["location"])
    standard_normal(truth["rater_bias"] / 0.5)
    standard_normal(np.log(truth["rater_scale"] / 0.5) / 0.5)
    off = truth["location"][data.annotation_item] - truth["rater_bias"][data.annotation_rater]
    twin = (data.score - off) / truth["rater_scale"][data.annotation_rater]
    assert_rejects_twin(standard_normal, twin)


def test_scores_of_equal_raters_follow_the_law():
    drawn = simulators.scores(
        model="normal_scores", items=3000, answers=4, center=2, spread=1.5, scale=0.8,
        random_seed=seed_of("items"),
    )  # fmt: skip
    data, location, scale = drawn.data, drawn.truth["location"], drawn.truth["scale"]
    at = data.annotation_item
    standard_normal((data.score - location[at]) / scale[at])
    standard_normal((location - 2) / (1.5 * scale / 0.8))
    assert kstest(2 * (0.8 / scale) ** 2, gamma(3).cdf).pvalue > 1e-4
    assert_rejects_twin(standard_normal, (data.score - location[at]) / scale[at] ** 2)
    assert_rejects_twin(standard_normal, (location - 2) / (1.5 * scale))


@pytest.mark.parametrize(("raters", "answers"), [(5, 2), (4, 4), (3, 7)])
def test_raters_of_an_item_are_different_and_any_set_is_as_likely(raters, answers):
    rng = np.random.default_rng(seed_of(f"{raters}{answers}"))
    chosen = different_raters(rng, 6000, raters, answers)
    times = np.stack([(chosen == k).sum(axis=1) for k in range(raters)], axis=1)
    assert np.ptp(times, axis=1).max() <= 1 and (times.sum(axis=1) == answers).all()
    sets, found = np.unique(times, axis=0, return_counts=True)
    rest = answers % raters
    assert len(sets) == {0: 1, 1: raters, 2: raters * (raters - 1) // 2}[rest]
    assert chisquare(found).pvalue > 1e-4 or len(sets) == 1


def test_a_rater_gives_the_nearest_number_on_the_scale():
    grid = {"bounds": (1, 5), "step": 0.5, "spread": 2.0}
    rounded = simulators.scores(**grid, random_seed=3).data
    exact = simulators.scores(center=3.0, spread=2.0, random_seed=3).data
    assert rounded.bounds == (1.0, 5.0)
    mean = [np.bincount(d.annotation_item, d.count * d.score) / 5 for d in (rounded, exact)]
    nearest = np.clip(np.round(exact.score * 2) / 2, 1, 5)
    np.testing.assert_allclose(mean[0], np.bincount(exact.annotation_item, nearest) / 5)
    assert {*np.unique(rounded.score)} <= {*np.arange(1, 5.5, 0.5)}
    free = simulators.scores(step=0.25, random_seed=3).data
    assert free.bounds is None and (free.score % 0.25 == 0).all()


@pytest.mark.parametrize("name", ["toxicity_scores", "aesthetic_scores"])
def test_levels_follow_their_probabilities(name):
    drawn = getattr(simulators, name)(items=4000, random_seed=seed_of(name))
    data, truth = drawn.data, drawn.truth
    low, high = data.bounds
    assert truth["level"].tolist() == list(range(int(low), int(high) + 1)) and data.anonymous
    np.testing.assert_allclose(truth["probability"].sum(axis=1), 1, rtol=1e-12)
    z = (truth["level"][:-1] + 0.5 - truth["location"][:, None]) / truth["scale"][:, None]
    below = truth["probability"].cumsum(axis=1)[:, :-1]
    np.testing.assert_allclose(below, norm.cdf(z), rtol=0, atol=1e-12)
    counts = np.zeros_like(truth["probability"])
    counts[data.annotation_item, (data.score - low).astype(int)] = data.count
    number = counts.sum(axis=1, keepdims=True)

    def follows(p):
        error = np.sqrt((number * p * (1 - p)).sum(axis=0))
        z = (counts - number * p).sum(axis=0) / error
        assert np.abs(z).max() < bonferroni_threshold(p.shape[1])

    follows(truth["probability"])
    assert_rejects_twin(follows, truth["probability"][:, ::-1])
    again = getattr(simulators, name)(items=4000, random_seed=seed_of(name))
    assert again.data == data


def test_toxicity_has_the_features_it_is_shaped_after():
    data = simulators.toxicity_scores(items=40_000, random_seed=seed_of("toxicity")).data
    counts = np.zeros((40_000, 5))
    counts[data.annotation_item, (data.score + 2).astype(int)] = data.count
    assert (counts.sum(axis=1) == 10).all()
    toxic = (counts[:, :2].sum(axis=1) >= 5).mean()
    very = (counts[:, 0] >= 6).mean()
    assert 0.08 < toxic < 0.12 and 0.005 < very < 0.015
    none = simulators.toxicity_scores(items=200, toxic=0, random_seed=1)
    assert not none.truth["toxic"].any()


def test_aesthetics_have_the_features_they_are_shaped_after():
    data = simulators.aesthetic_scores(items=40_000, random_seed=seed_of("aesthetics")).data
    number = np.bincount(data.annotation_item, data.count)
    mean = np.bincount(data.annotation_item, data.count * data.score) / number
    square = np.bincount(data.annotation_item, data.count * data.score**2) / number
    assert number.min() >= 78 and number.max() <= 549 and 208 < number.mean() < 212
    assert 5.35 < mean.mean() < 5.45 and 0.68 < (mean > 5).mean() < 0.74
    assert 1.35 < np.sqrt(square - mean**2).mean() < 1.5
    few = simulators.aesthetic_scores(items=50, votes=2, random_seed=1).data
    assert np.bincount(few.annotation_item, few.count).min() >= 1


def test_fifty_million_votes_are_counts():
    data = simulators.aesthetic_scores(items=50_000, random_seed=1).data
    assert len(data) > 10_000_000 and len(data.score) <= 500_000
    assert Scores.from_table(
        data.select(items=range(50)).to_table(), rater=None, count="count", bounds=(1, 10)
    ) == (data.select(items=range(50)))


@pytest.mark.parametrize("model", ["hierarchical_scores", "normal_scores"])
@pytest.mark.parametrize("size", [1e-50, 1e50])
def test_the_largest_and_the_smallest_sizes_give_legal_scores(model, size):
    options = {"scale": size, "spread": size, "bias": size, "center": -size, "step": size}
    data = simulators.scores(model=model, unequal=10, random_seed=1, **options).data
    assert np.abs(data.score).max() <= numbers.MAX_SCORE
    exact = simulators.scores(model=model, scale=np.float32(0.5), step=np.int8(1), random_seed=1)
    assert (exact.data.score % 1 == 0).all()
    few = {"center": size, "spread": size, "scale": size, "votes": size if size < 1 else 1e8}
    data = simulators.aesthetic_scores(items=5, random_seed=1, **few).data
    assert data.count.max() <= numbers.MAX_COUNT and len(data) >= 5


@pytest.mark.parametrize(
    "options",
    [
        {"items": 0}, {"items": True}, {"raters": 1.5}, {"answers": 0}, {"spread": -1}, {"bias": np.nan},
        {"unequal": np.inf}, {"scale": 0}, {"scale": np.nan}, {"bounds": (2, 1)}, {"step": 0}, {"step": -1},
        {"step": 0.3, "bounds": (1, 5)}, {"model": "normal"},
        {"center": np.nan}, {"center": "a"}, {"center": 1e60}, {"unequal": 1e5}, {"scale": "a"}, {"spread": None}, {"step": "a"},
        {"bias": True}, {"answers": 10**20},
    ],
)  # fmt: skip
def test_wrong_numbers_are_named(options):
    with pytest.raises(ValueError, match=rf"^(argument )?{next(iter(options))}\b"):
        simulators.scores(**options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("toxicity_scores", {"items": 0}), ("toxicity_scores", {"raters": 2.5}), ("toxicity_scores", {"toxic": 1.1}),
        ("aesthetic_scores", {"items": True}), ("aesthetic_scores", {"votes": 0}), ("aesthetic_scores", {"scale": np.nan}),
        ("aesthetic_scores", {"spread": -1}), ("aesthetic_scores", {"center": np.inf}),
        ("toxicity_scores", {"toxic": "a"}), ("toxicity_scores", {"toxic": True}), ("toxicity_scores", {"raters": 10**20}),
        ("aesthetic_scores", {"votes": "a"}), ("aesthetic_scores", {"votes": 1e18}), ("aesthetic_scores", {"center": None}),
    ],
)  # fmt: skip
def test_wrong_numbers_of_rating_scales_are_named(name, options):
    with pytest.raises(ValueError, match=f"^{next(iter(options))}="):
        getattr(simulators, name)(**options)
