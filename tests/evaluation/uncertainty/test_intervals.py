"""The two uncertainties of a metric: against loops over draws, exact variances of weights, and coverage."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.uncertainty import intervals as resampling
from scipy.stats import beta, binom
from sklearn.metrics import accuracy_score, f1_score

from tests.support.evaluation_trees import Case, as_dense, as_flat, random_case
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of


@pytest.fixture(scope="module")
def case():
    return random_case(np.random.default_rng(21), 12, 5, shape=(2, 300))


@pytest.fixture(scope="module")
def scores(case):
    values = np.random.default_rng(22).dirichlet(np.ones(5), (3, 12))
    coords = {"classifier": list("ABC"), "item": case.items, "category": case.categories}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


@pytest.fixture(scope="module")
def truth(case):
    return as_dense(case)["posterior"]["plausibility"].argmax("category").to_numpy()


METRICS = [evaluation.top_k_accuracy(1), evaluation.overlap(2), evaluation.average_overlap(3)]


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
@pytest.mark.parametrize("layout", [as_dense, as_flat])
def test_the_raters_alone_are_the_plain_draws(case, scores, metric, layout):
    tree = layout(case)
    drawn = evaluation.metric_draws(metric, tree, scores, resamples=5, other="exclude", random_seed=3)
    plain = evaluation.uncertainty_adjusted(metric, tree, scores, other="exclude", random_seed=3)
    xr.testing.assert_allclose(drawn["raters"], plain.rename("raters"))
    assert drawn["both"].dims == ("chain", "draw", "classifier")
    assert drawn["items"].dims == ("resample", "classifier")
    assert drawn.attrs["metric"] == metric.name


@pytest.mark.slow
def test_a_callable_is_weighted_by_its_sample_weight(case, scores):
    options = {"resamples": 20, "other": "exclude", "random_seed": 3, "progressbar": False}
    few = as_dense(case).isel(draw=slice(100))
    called = evaluation.metric_draws(accuracy_score, few, scores, **options)
    ours = evaluation.metric_draws(evaluation.top_k_accuracy(1), few, scores, **options)
    xr.testing.assert_allclose(called["raters"], ours["raters"])
    apart = abs(called["both"] - called["raters"]).mean(("chain", "draw"))
    np.testing.assert_allclose(apart, abs(ours["both"] - ours["raters"]).mean(("chain", "draw")), rtol=0.2)


def test_a_callable_without_weights_says_so(case, scores, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.metric_draws(lambda a, b: 0.0, as_dense(case), scores)


def assert_exact_variance(tree, scores, items, factor):
    """Compare the variance of draws of both with its exact value."""
    metric, seed = evaluation.top_k_accuracy(1), seed_of("variance of weighted means")
    drawn = evaluation.metric_draws(
        metric, tree, scores, items=items, resamples=4000, other="exclude", random_seed=seed
    )
    score = evaluation.uncertainty_adjusted(metric, tree, scores, reduce=None, other="exclude")
    of_items = score.var("item").mean(("chain", "draw")) * factor
    exact = of_items + score.mean("item").var(("chain", "draw"))
    found = drawn["both"].stack(sample=("chain", "draw"))
    squares = (found - score.mean(("chain", "draw", "item"))) ** 2
    z = (squares.mean("sample") - exact) / (squares.std("sample") / np.sqrt(squares.sizes["sample"]))
    assert float(abs(z).max()) < bonferroni_threshold(3)


@pytest.mark.parametrize(("items", "factor"), [("bayesian", 1 / 13), ("counts", 1 / 12)])
def test_weights_have_the_variance_of_their_law(case, scores, items, factor, monkeypatch):
    assert_exact_variance(as_dense(case), scores, items, factor)

    def too_even(self, samples, items, rng):  # uniform weights vary too little
        return rng.random((samples.stop - samples.start, items.stop - items.start))

    monkeypatch.setattr(resampling._Weighing, "__call__", too_even)
    assert_rejects_twin(assert_exact_variance, as_dense(case), scores, items, factor)


def test_resamples_meet_all_draws_and_are_centred_on_them():
    """Six draws, three resamples, each met by two draws (by three at least, if there were more): means by hand."""
    met = np.array([[0], [1], [2], [0], [1], [2]])
    np.testing.assert_array_equal(resampling._met_resamples(60, 3), np.tile([[0], [1], [2]], (20, 1)))
    for n_samples, resamples in ((4000, 200), (4000, 1000), (30, 7), (20, 50), (1, 9), (3, 2)):
        numbers = resampling._met_resamples(n_samples, resamples)
        often = np.bincount(numbers.ravel(), minlength=resamples)
        assert len(numbers) == n_samples and often.min() >= min(20, n_samples)
        assert all(len({*row}) == len(row) for row in numbers.tolist())
    raters = np.array([0.1, 0.2, 0.6, 0.1, 0.2, 0.6])
    apart = np.array([0.3, -0.2, 0.0, 0.5, -0.2, 0.4])[:, None]
    assert met.shape == apart.shape
    means, within = np.array([0.4, -0.2, 0.2]), np.array([0.02, 0.0, 0.08])
    kept = 1 - (within / 2 * (1 - 2 / 6)).mean() / means.var(ddof=1)
    expected = 0.3 + means.mean() + np.sqrt(kept) * (means - means.mean())
    np.testing.assert_allclose(resampling._items_alone(apart, raters, 3), expected)


def assert_variance_of_items(found, exact):
    """Compare the variance between resamples with that of the average over all draws; their number gives its error."""
    ratio = found.var(ddof=1) / exact.var(ddof=1)
    assert abs(ratio - 1) < 3.5 * np.sqrt(
        4 / len(found)
    )  # two variances of as many resamples, kurtosis of a normal


def test_choice_of_draws_adds_nothing_to_the_variance_of_the_items_alone():
    """Items of uncertain truth: the draws that meet a resample differ more than the resamples do."""
    rng = np.random.default_rng(seed_of("items alone"))
    n_items, n_samples, resamples = 60, 2000, 400
    right = rng.random((n_samples, n_items)) < np.where(np.arange(n_items) % 2, 0.45, 0.65)
    weights = rng.standard_exponential((resamples, n_items))
    weights /= weights.sum(axis=1, keepdims=True)
    raters = right.mean(axis=1)
    met = resampling._met_resamples(n_samples, resamples)
    apart = np.stack([(right * weights[met[:, k]]).sum(axis=1) - raters for k in range(met.shape[1])], axis=1)
    exact = weights @ right.mean(axis=0)
    found = resampling._items_alone(apart, raters, resamples)
    assert_variance_of_items(found, exact)
    plain = np.array([apart[met == number].mean() for number in range(resamples)])
    assert_rejects_twin(assert_variance_of_items, plain, exact)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [evaluation.top_k_accuracy(1), evaluation.f1()])
def test_monte_carlo_errors_of_the_items_alone_are_the_spread_over_seeds(metric):
    probability = np.random.default_rng(seed_of("spread")).beta(20, 20, 100)
    names = {"item": np.arange(100), "category": ["a", "b"]}
    drawn = np.broadcast_to(np.stack([probability, 1 - probability], axis=-1), (2, 100, 100, 2))
    tree = xr.DataArray(
        drawn, names, ("chain", "draw", "item", "category"), attrs={"truth": "category"}
    )  # every seed draws other truths
    guess = np.where(probability > 0.5, "a", "b")[:, None]
    predicted = xr.DataArray(guess, {"item": names["item"]}, ("item", "position"))
    options = {"resamples": 100, "progressbar": False}
    found = [
        evaluation.metric_intervals(metric, tree, predicted, random_seed=seed, **options)
        for seed in range(40)
    ]
    found = xr.concat([own.sel(source="items") for own in found], "seed")
    spread, error = found["mean"].std("seed", ddof=1), found["mcse"].mean("seed")
    assert 0.6 < error / spread < 1.6
    ends = found["interval"].std("seed", ddof=1)
    assert (
        (0.6 < found["interval_mcse"].mean("seed") / ends) & (found["interval_mcse"].mean("seed") / ends < 2)
    ).all()
    assert found["sd"].mean() / 10 < spread / 2  # the twin: the error of the resamples alone


def test_all_draws_of_a_short_posterior_meet_all_resamples():
    rng = np.random.default_rng(3)
    apart, raters = rng.normal(size=(8, 5)), rng.normal(size=8)
    assert resampling._met_resamples(8, 5).shape == (8, 5)
    order = resampling._met_resamples(8, 5)
    expected = [raters.mean() + apart[order == number].mean() for number in range(5)]
    np.testing.assert_allclose(resampling._items_alone(apart, raters, 5), expected)


@pytest.mark.parametrize(
    "metric", [evaluation.f1(), evaluation.cross_entropy(), evaluation.roc_auc()], ids=lambda own: own.name
)
def test_groups_of_items_have_the_scores_of_their_items_alone(case, scores, metric):
    tree = as_dense(case)["posterior"]["plausibility"]
    part = xr.DataArray(np.arange(12) % 3, {"item": case.items}, ("item",))
    probabilities = scores / scores.sum("category")
    options = {"resamples": 3, "other": "exclude", "random_seed": 1}
    drawn = evaluation.metric_draws(metric, tree, probabilities, by=part, **options)["raters"]
    twin = evaluation.metric_draws(metric, tree, probabilities, **options)["raters"]
    for group in range(3):
        own = part.to_numpy() == group
        alone = evaluation.uncertainty_adjusted(
            metric, tree.isel(item=own), probabilities.isel(item=own), other="exclude"
        )
        found = drawn.sel(group=group)
        np.testing.assert_allclose(found.transpose(*alone.dims), alone, atol=1e-6)
        assert np.abs(twin.transpose(*alone.dims) - alone).max() > 1e-3


def test_the_items_alone_have_the_mean_score_of_all_draws_where_groups_are_fixed(case, scores):
    metric = evaluation.top_k_accuracy(1)
    half = xr.DataArray(np.arange(12) % 2, {"item": case.items}, ("item",))
    options = {"items": "counts", "resamples": 4, "other": "exclude", "random_seed": 3}
    drawn = evaluation.metric_draws(metric, as_dense(case), scores, by=half, **options)["items"]
    plain = evaluation.uncertainty_adjusted(metric, as_dense(case), scores, reduce=None, other="exclude")
    mean = plain.mean(("chain", "draw"))
    weighing = resampling._Weighing(resampling.BootstrapOptions("counts", 4, 3, False), 12, 0)
    for resample in range(4):
        weight = xr.DataArray(weighing.one(resample), {"item": case.items}, ("item",))
        for group in (0, 1):
            expected = mean.weighted(weight.where(half == group, 0)).mean("item")
            found = drawn.sel(group=group).isel(resample=resample)
            np.testing.assert_allclose(found, expected.transpose("classifier"), atol=1e-7)  # single precision


def test_every_item_is_drawn_as_often_as_any_other():
    """Counts are multinomial, and Bayesian weights exponential; the twin never draws the last item."""

    def check(weights, variance):
        z = (weights.mean(axis=0) - 1) / np.sqrt(variance / len(weights))
        assert np.abs(z).max() < bonferroni_threshold(3)

    for items, variance in (("counts", 3 * (1 / 3) * (2 / 3)), ("bayesian", 1.0)):
        how = resampling.BootstrapOptions(items, 1, seed_of(items), False)
        weighing, fewer = (resampling._Weighing(how, n, 0) for n in (3, 2))
        check(np.array([weighing.one(number) for number in range(1000)]), variance)
        without = np.array([[*fewer.one(number), 0] for number in range(1000)])
        assert_rejects_twin(check, without, variance)


@pytest.mark.parametrize("items", ["bayesian", "counts"])
@pytest.mark.parametrize("metric", [evaluation.top_k_accuracy(1), evaluation.f1()], ids=["mean", "of all"])
def test_copies_in_clusters_are_as_uncertain_as_the_items_that_they_copy(items, metric):
    said = np.where(np.random.default_rng(seed_of("copies")).random(60) < 0.7, "a", "b")

    def spread(times, **options):
        ids = np.arange(60 * times)
        coords = {"item": ids, "category": ["a", "b"]}
        truth = np.tile(said, times)
        tree = xr.DataArray((truth[:, None] == ["a", "b"]).astype(float), coords, ("item", "category"))
        predicted = xr.DataArray(np.full((60 * times, 1), "a"), {"item": ids}, ("item", "position"))
        if times > 1:
            options["clusters"] = xr.DataArray(ids % 60, {"item": ids})
        how = {"items": items, "resamples": 1000, "progressbar": False, "random_seed": 1}
        return evaluation.metric_draws(metric, tree, predicted, **how, **options)["items"].std().item()

    assert spread(5) == pytest.approx(spread(1), rel=0.1)


def test_with_certain_truth_only_the_items_are_uncertain(case, scores):
    certain = xr.zeros_like(as_dense(case)["posterior"]["plausibility"])
    certain[..., 0] = 1.0
    metric = evaluation.top_k_accuracy(2)
    found = evaluation.metric_intervals(metric, certain, scores, resamples=4000, random_seed=4)
    hit = evaluation.uncertainty_adjusted(metric, certain.isel(chain=0, draw=0), scores, reduce=None)
    np.testing.assert_allclose(found["sd"].sel(source="raters"), 0, atol=1e-12)
    for source in ("items", "both"):
        np.testing.assert_allclose(found["sd"].sel(source=source), np.sqrt(hit.var("item") / 13), rtol=0.1)
    np.testing.assert_allclose(found["mean"].sel(source="raters"), hit.mean("item"))


def test_a_point_estimate_has_the_uncertainty_of_its_items(case, scores):
    point = as_dense(case)["posterior"]["plausibility"].mean(("chain", "draw"))
    found = evaluation.metric_intervals(evaluation.top_k_accuracy(1), point, scores, random_seed=1)
    assert float(found["sd"].sel(source="items").min()) > 0
    np.testing.assert_array_equal(found["sd"].sel(source="raters"), 0)


def test_every_figure_has_an_interval_and_an_error(case, scores):
    found = evaluation.metric_intervals(
        evaluation.top_k_accuracy(1), as_dense(case), scores, probability=0.8, random_seed=1
    )
    assert found["interval"].dims == ("source", "classifier", "bound")
    assert bool((found["interval"].sel(bound="lower") <= found["mean"]).all())
    assert bool((found["mcse"] > 0).all())
    assert found["source"].to_numpy().tolist() == ["raters", "items", "both"]
    drawn = evaluation.metric_draws(evaluation.top_k_accuracy(1), as_dense(case), scores, random_seed=1)
    quantiles = drawn["raters"].quantile([0.1, 0.9], ("chain", "draw")).transpose("classifier", "quantile")
    np.testing.assert_allclose(found["interval"].sel(source="raters"), quantiles)


@pytest.mark.parametrize("right", [10, 9, 6])
def test_of_few_items_one_more_may_be_wrong(right):
    """Ten items of known truth: near Jeffreys' interval, Beta(k + 1/2, 10 - k + 1/2), also where all are right."""
    p = np.stack([np.arange(10) >= right, np.arange(10) < right], axis=-1).astype(float)
    names = {"item": np.arange(10), "category": ["wrong", "right"]}
    draws = np.broadcast_to(p, (1, 2000, 10, 2))
    tree = xr.DataArray(draws, names, ("chain", "draw", "item", "category"), attrs={"truth": "category"})
    said = xr.DataArray(np.full((10, 1), "right"), {"item": np.arange(10)}, ("item", "position"))
    found = evaluation.metric_intervals(evaluation.top_k_accuracy(1), tree, said, random_seed=1)
    expected = beta.ppf([0.05, 0.95], right + 0.5, 10.5 - right)
    for source in ("items", "both"):
        np.testing.assert_allclose(found["interval"].sel(source=source), expected, atol=0.04)
        assert float(found["mean"].sel(source=source)) == pytest.approx(right / 10, abs=0.02)
    assert np.ptp(found["interval"].sel(source="raters").to_numpy()) == 0


GROUPS = {f"label {i}": "odd" if i % 2 else "even" for i in range(5)}


@pytest.mark.parametrize("layout", [as_dense, as_flat])
def test_members_of_a_group_are_those_of_the_draw(case, scores, truth, layout):
    metric = evaluation.top_k_accuracy(1)
    drawn = evaluation.metric_draws(metric, layout(case), scores, by=GROUPS, resamples=5, other="exclude")
    predicted = scores.argmax("category").to_numpy()
    for g, name in enumerate(["even", "odd"]):
        member = truth % 2 == g
        with np.errstate(invalid="ignore"):
            expected = [((truth == p) & member).sum(-1) / member.sum(-1) for p in predicted]
        found = drawn.sel(group=name)
        np.testing.assert_allclose(found["raters"].transpose("classifier", ...), expected)
        np.testing.assert_allclose(found["share"].isel(classifier=0), member.mean(-1))


def test_members_of_other_that_no_rater_ranked_are_in_their_groups():
    """Three members of OTHER share nine tenths; each is the label of a third of the draws, or nearly."""
    case = Case([[0]], [np.tile([0.1, 0.9], (1, 400, 1))], 4, 1.0)
    predicted = xr.DataArray([["label 0"]], {"item": case.items}, ("item", "position"))  # names no other
    drawn = evaluation.metric_draws(
        evaluation.top_k_accuracy(1), as_flat(case), predicted,
        by={name: f"group of {name}" for name in case.categories}, resamples=5, random_seed=1,
    )  # fmt: skip
    share = drawn["share"].mean(("chain", "draw")).to_numpy().ravel()
    off = (share[1:] - share[1:].mean()) / np.sqrt(share[1:].mean() * (1 - share[1:].mean()) / 400)
    np.testing.assert_allclose(share.sum(), 1, rtol=1e-12)
    assert share[0] < 0.1 and np.abs(off).max() < bonferroni_threshold(3)


def test_groups_of_any_form_are_the_same_groups(case, scores, truth):
    tree, metric = as_dense(case), evaluation.overlap(2)
    dims, coords = ("chain", "draw", "item"), {"item": case.items}
    labels = xr.DataArray(np.where(truth % 2, "odd", "even"), coords, dims)
    weights = xr.concat(
        [labels == "even", labels == "odd"], xr.DataArray(["even", "odd"], dims="group", name="group")
    )
    options = {"resamples": 5, "other": "exclude", "random_seed": 6}
    of_labels = evaluation.metric_draws(
        metric, tree, scores, by=labels.isel(item=slice(None, None, -1)), **options
    )
    of_weights = evaluation.metric_draws(metric, tree, scores, by=weights, **options)
    of_truth = evaluation.metric_draws(metric, tree, scores, by=GROUPS, **options)
    xr.testing.assert_allclose(of_labels, of_weights)
    xr.testing.assert_allclose(of_labels, of_truth)


def test_each_classifier_has_its_own_predicted_classes(case, scores, truth):
    predicted = scores.argmax("category")
    by = predicted.drop_vars("category", errors="ignore")
    drawn = evaluation.metric_draws(
        evaluation.top_k_accuracy(1), as_dense(case), scores, by=by, resamples=5, other="exclude"
    )
    for classifier in "ABC":
        own = predicted.sel(classifier=classifier).to_numpy()
        for label in np.unique(own):
            expected = (truth == label)[..., own == label].mean(-1)
            found = drawn["raters"].sel(classifier=classifier, group=label)
            np.testing.assert_allclose(found, expected)


@pytest.mark.slow
def test_subgroups_of_a_callable_are_those_of_its_sample_weight(case, scores, truth):
    few = as_dense(case).isel(draw=slice(60))
    certainty = evaluation.annotation_certainty(few)
    by = certainty > float(certainty.median())
    drawn = evaluation.metric_draws(
        f1_score, few, scores, by=by, resamples=2, average="micro", progressbar=False
    )
    predicted = scores.argmax("category").to_numpy()
    sure = by.to_numpy()
    expected = [(truth[:, :60] == p)[..., sure].mean(-1) for p in predicted]
    np.testing.assert_allclose(drawn["raters"].sel(group=True).transpose("classifier", ...), expected)


def test_a_group_without_members_has_no_value(case, scores):
    by = {**dict.fromkeys(case.categories, "all of them"), "label 0": "label 0"}
    tree = as_dense(case)["posterior"]["plausibility"].isel(draw=slice(60)).copy()
    tree[..., 0], tree[..., 1] = 0.0, tree[..., 1] + 0.01
    for metric in (evaluation.top_k_accuracy(1), accuracy_score):
        found = evaluation.metric_intervals(metric, tree, scores, by=by, resamples=5, progressbar=False)
        assert bool(found["mean"].sel(group="label 0").isnull().all())
        assert bool((found["undefined"].sel(group="label 0", source="raters") == 1).all())
        assert bool((found["share"].sel(group="label 0") == 0).all())


ITEMS = [f"case {i}" for i in range(12)]


@pytest.mark.parametrize(
    "by",
    [
        "risk",
        {"label 0": "a"},
        xr.DataArray(np.zeros(12), dims="item"),
        xr.DataArray(np.zeros(12), dims="case"),
        xr.DataArray(np.zeros(2), {"item": ["case 0", "case 1"]}),
        xr.DataArray(np.full(12, np.nan), {"item": ITEMS}),
        xr.DataArray(np.zeros((12, 3, 2)), {"item": ITEMS}, ("item", "chain", "draw")),
    ],
)  # fmt: skip
def test_wrong_groups_are_named(case, scores, by, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.metric_draws(evaluation.top_k_accuracy(1), as_dense(case), scores, by=by)


@pytest.mark.parametrize("options", [{"items": "some"}, {"resamples": 0}, {"probability": 1.0}])
def test_wrong_arguments_are_named(case, scores, options, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.metric_intervals(evaluation.top_k_accuracy(1), as_dense(case), scores, **options)


N_ITEMS, N_RATERS, RIGHT = 150, 3, 0.8
GRID = np.linspace(0.0005, 0.9995, 1000)


def noisy_answers(rng):
    """Draw predictions, true labels whose law depends on them, and noisy answers on the labels."""
    predicted = rng.integers(0, 2, N_ITEMS)
    truth = rng.random(N_ITEMS) < np.where(predicted, 0.85, 0.25)
    said = truth[:, None] ^ (rng.random((N_ITEMS, N_RATERS)) > RIGHT)
    return predicted, said


def exact_draws(rng, predicted, said, draws=400):
    """Draw p(truth | draw) where the prevalence among items of one prediction is learned, exactly, on a grid."""
    odds = np.where(said, RIGHT / (1 - RIGHT), (1 - RIGHT) / RIGHT).prod(axis=1)
    probability = np.empty((draws, N_ITEMS))
    for label in (0, 1):
        own = odds[predicted == label]
        log_p = np.log(GRID[:, None] * own + 1 - GRID[:, None]).sum(axis=1)
        weight = np.exp(log_p - log_p.max())
        prevalence = rng.choice(GRID, draws, p=weight / weight.sum())[:, None]
        probability[:, predicted == label] = prevalence * own / (prevalence * own + 1 - prevalence)
    values = np.stack([1 - probability, probability], axis=-1)[None]
    coords = {"item": [str(i) for i in range(N_ITEMS)], "category": ["no", "yes"]}
    return xr.DataArray(values, coords, ("chain", "draw", "item", "category"), attrs={"truth": "category"})


@pytest.mark.slow
def test_joint_intervals_cover_the_population_and_single_ones_do_not():
    rng = np.random.default_rng(seed_of("joint coverage"))
    accuracy, n = 0.5 * (0.75 + 0.85), 200
    covered = dict.fromkeys(("raters", "items", "both"), 0)
    for _ in range(n):
        predicted, said = noisy_answers(rng)
        tree = exact_draws(rng, predicted, said)
        table = np.where(predicted, "yes", "no")[:, None]
        predictions = xr.DataArray(table, {"item": tree["item"]}, ("item", "position"))
        found = evaluation.metric_intervals(
            evaluation.top_k_accuracy(1), tree, predictions, resamples=200, random_seed=rng
        )
        for source in covered:
            lower, upper = found["interval"].sel(source=source).to_numpy()
            covered[source] += lower <= accuracy <= upper
    low, high = binom.ppf([0.005, 0.995], n, 0.9)
    assert low <= covered["both"] <= high, covered
    assert covered["raters"] < low and covered["items"] < low, covered
