"""Scores cut at a threshold: against closed forms, loops, and the metrics that read the result."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, papers
from raterzoo.evaluation import EvaluationError
from raterzoo.evaluation.certainty import thresholds as score_draws
from raterzoo.evaluation.certainty.thresholds import threshold_and_certainty
from scipy.stats import norm, t

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, mc_z, seed_of

ITEMS = ["a", "b", "c"]
DIMS = ("chain", "draw", "item")


def tree_of(draws, observed=None, bounds=None):
    """A tree of draws by item (chain, draw, item), and of what raters do (chain, draw, rater)."""
    by = {name: "rater" if name.startswith("rater") else "item" for name in draws}
    law = {name: ((*DIMS[:2], by[name]), values) for name, values in draws.items()}
    groups = {"posterior": xr.Dataset(law, {"item": ITEMS[: draws["location"].shape[-1]]})}
    if observed is not None:
        groups["observed_data"] = xr.Dataset({"observed_score": ("annotation", observed)})
    if bounds is not None:
        groups["constant_data"] = xr.Dataset({"score_bounds": ("bound", bounds)})
    return xr.DataTree.from_dict(groups)


def of_items(n=(2, 50), kind=float, **more):
    rng = np.random.default_rng(seed_of("of items"))
    draws = {"location": rng.normal(0, 1, (*n, 3)), "scale": rng.gamma(2, 1, (*n, 3))}
    return tree_of({k: v.astype(kind) for k, v in draws.items()}, **more)


def of_raters(n=(2, 50), raters=4):
    rng = np.random.default_rng(seed_of("of raters"))
    shape = (*n, raters)
    bias, scale = rng.normal(0, 1, shape), rng.gamma(2, 1, shape)
    location = rng.normal(0, 1, (*n, 3))
    return tree_of({"location": location, "rater_bias": bias, "rater_scale": scale})


# normal-inverse-gamma posteriors of three items: location m, k scores' worth of it, shape a, rate b
M, K, A, B = np.array([-0.4, 0.1, 2.0]), np.array([3.0, 11.0, 1.5]), np.array([2.0, 6.0, 4.0]), 3.0


def conjugate(shape=A, k=K):
    rng = np.random.default_rng(seed_of("conjugate"))
    variance = B / rng.gamma(shape, 1, (4, 5000, 3))
    location = rng.normal(M, np.sqrt(variance / k))
    return tree_of({"location": location, "scale": np.sqrt(variance)})


def test_of_conjugate_posteriors_the_closed_form():
    threshold = 0.3
    of_score = t.cdf((threshold - M) / np.sqrt(B * (1 + 1 / K) / A), 2 * A)
    of_side = t.cdf((threshold - M) / np.sqrt(B / K / A), 2 * A)

    def check(tree):
        score, side = (
            papers.thresholded(tree, threshold, of=of)["posterior"]["plausibility"][..., 0]
            for of in ("score", "location")
        )
        z = [mc_z(score.to_numpy(), of_score), mc_z(side.to_numpy().astype(float), of_side)]
        assert np.abs(z).max() < bonferroni_threshold(6)

    tree = conjugate()
    check(tree)
    assert_rejects_twin(check, conjugate(shape=A + 0.3))
    assert_rejects_twin(check, conjugate(k=K + 1))
    found = evaluation.threshold_certainty(tree, threshold)
    error = 5 / np.sqrt(20_000)
    np.testing.assert_allclose(found["threshold_probability"], np.maximum(of_score, 1 - of_score), atol=error)
    np.testing.assert_allclose(found["annotation_certainty"], np.maximum(of_side, 1 - of_side), atol=error)


def by_loops(tree, threshold):
    posterior = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    p = np.zeros(posterior["location"].shape)
    for c, d, i in np.ndindex(p.shape):
        own = posterior.isel(chain=c, draw=d)
        mu = float(own["location"][i])
        if "scale" in own:
            p[c, d, i] = norm.cdf(threshold, mu, float(own["scale"][i]))
        else:
            raters = zip(own["rater_bias"].to_numpy(), own["rater_scale"].to_numpy(), strict=True)
            p[c, d, i] = np.mean([norm.cdf(threshold, mu + b, s) for b, s in raters])
    return p


@pytest.mark.parametrize("build", [of_items, of_raters])
def test_plausibilities_are_probabilities_of_scores(build, monkeypatch):
    tree = build(n=(2, 5))
    found = papers.thresholded(tree, 0.25)["posterior"]["plausibility"]
    assert found.dims == (*DIMS, "category")
    assert found["category"].to_numpy().tolist() == ["at most 0.25", "above 0.25"]
    np.testing.assert_allclose(found[..., 0], by_loops(tree, 0.25), atol=1e-14)
    np.testing.assert_allclose(found.sum("category"), 1, atol=1e-15)
    other = papers.thresholded(tree, 0.25, of="location")["posterior"]["plausibility"]
    np.testing.assert_array_equal(other[..., 0], tree["posterior"]["location"] <= 0.25)
    np.testing.assert_array_equal(other.sum("category"), 1)
    monkeypatch.setattr(score_draws, "BLOCK_SIZE", 3)
    again = papers.thresholded(tree, 0.25)["posterior"]["plausibility"]
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("build", [of_items, of_raters])
@pytest.mark.parametrize("kind", [float, np.float32])
def test_certainty_is_that_of_the_metrics(build, kind):
    tree = build()
    tree = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset().astype(kind)})
    cut = papers.thresholded(tree, -0.5, names=("fine", "toxic"))
    found = evaluation.threshold_certainty(tree, -0.5)
    certainty = evaluation.annotation_certainty(cut)
    np.testing.assert_allclose(found["annotation_certainty"], certainty)
    mean = cut["posterior"]["plausibility"].mean(DIMS[:2], dtype=float)
    np.testing.assert_allclose(found["threshold_probability"], mean.max("category"), atol=1e-7)
    np.testing.assert_allclose(found["above"], mean.sel(category="toxic"), atol=1e-7)
    xr.testing.assert_equal(papers.threshold_probability(tree, -0.5), found["threshold_probability"])
    location = tree["posterior"]["location"].mean(DIMS[:2], dtype=float)
    np.testing.assert_allclose(found["location"], location)
    assert evaluation.plausible_labels(cut)["label"].isin(["fine", "toxic", ""]).all()
    predictions = xr.DataArray([["toxic"]] * 3, {"item": ITEMS}, ("item", "position"))
    metric = evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), cut, predictions)
    toxic = cut["posterior"]["plausibility"].sel(category="toxic") > 0.5
    np.testing.assert_allclose(metric, toxic.mean("item"))
    with pytest.raises(EvaluationError, match="use annotation_certainty"):
        evaluation.truth_certainty(cut)


@pytest.mark.parametrize("build", [of_items, of_raters])
def test_one_walk_gives_the_cut_and_its_certainty(build):
    tree = build()
    cut, certainty = threshold_and_certainty(tree, 0.2)
    xr.testing.assert_identical(cut, papers.thresholded(tree, 0.2))
    xr.testing.assert_identical(certainty, evaluation.threshold_certainty(tree, 0.2))


def test_the_side_of_a_symmetric_score_is_that_of_its_location():
    tree = of_items()
    score, location = (papers.thresholded(tree, 0.1, of=of) for of in ("score", "location"))
    certainty = evaluation.annotation_certainty(score)
    np.testing.assert_array_equal(certainty, evaluation.annotation_certainty(location))


def test_certainty_grows_with_the_scores_and_the_threshold_probability_does_not():
    rng = np.random.default_rng(seed_of("more scores"))
    found = []
    for n in (5, 500):
        location = rng.normal(0.5, 1 / np.sqrt(n), (2, 2000, 3))
        tree = tree_of({"location": location, "scale": np.ones((2, 2000, 3))})
        found.append(evaluation.threshold_certainty(tree, 0.0))
    assert (found[1]["annotation_certainty"] == 1).all()
    assert (found[0]["annotation_certainty"] < 0.95).all()
    limit = norm.cdf(0.5)
    np.testing.assert_allclose(found[1]["threshold_probability"], limit, atol=0.005)


SCORES = np.array([-2.0, 0.0, 1.5])


@pytest.mark.parametrize(
    ("threshold", "more"),
    [
        (np.nan, {}),
        (np.inf, {}),
        ("0", {}),
        (True, {}),
        (None, {}),
        pytest.param(10**400, {}, id="10**400"),
        (2, {"observed": SCORES}),
        (-2.1, {"observed": SCORES}),
        (11, {"observed": SCORES, "bounds": [1, 10]}),
        (10, {"observed": SCORES, "bounds": [1, 10]}),
    ],
)  # fmt: skip
def test_thresholds_that_cut_nothing_are_refused(threshold, more, golden):
    tree = of_items(**more)
    for function in (
        papers.thresholded, evaluation.threshold_certainty, papers.threshold_probability,
    ):  # fmt: skip
        with golden.raises(EvaluationError):
            function(tree, threshold)


def test_thresholds_within_the_bounds_may_be_beyond_the_scores():
    papers.thresholded(of_items(observed=SCORES, bounds=[-3, 3]), 2)
    papers.thresholded(of_items(observed=SCORES), 1.5)
    papers.thresholded(of_items(bounds=[-1e100, 1e100]), np.float32(1.5))


@pytest.mark.parametrize(
    "options",
    [
        {"of": "scores"},
        {"names": "toxic"},
        {"names": ("toxic", "toxic")},
        {"names": ["fine", "bad", "bad"]},
        {"names": {"fine": 0, "toxic": 1}},
        {"names": np.array("fine")},
        {"names": np.array([["fine", "toxic"]])},
        {"names": ["fine", ["toxic"]]},
        {"names": 5},
        {"names": iter(["fine", "toxic"])},
        {"names": [1, 2]},
    ],
)
def test_wrong_arguments_are_named(options, golden):
    with golden.raises(EvaluationError):
        papers.thresholded(of_items(), 0, **options)


def changed(tree, **values):
    posterior = tree["posterior"].to_dataset()
    for name, value in values.items():
        posterior[name][dict.fromkeys(posterior[name].dims[:2], 0) | {posterior[name].dims[2]: 1}] = value
    return xr.DataTree.from_dict({"posterior": posterior})


@pytest.mark.parametrize(
    "tree",
    [
        changed(of_items(), location=np.nan),
        changed(of_items(), scale=0),
        changed(of_raters(), rater_bias=np.inf),
        changed(of_raters(), rater_scale=-1),
        xr.DataTree(),
        tree_of({"location": np.zeros((1, 2, 3))}),
        xr.DataArray(0),
    ],
)  # fmt: skip
def test_other_trees_are_refused(tree, golden):
    with golden.raises(EvaluationError):
        papers.threshold_probability(tree, 0.0)
