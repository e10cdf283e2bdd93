"""Normal scores: the conjugate answer against quadrature, its draws, the empirical prior, calibration, and the wrong twins."""

from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models, papers
from raterzoo.inference.nuts.drawing import finished_groups
from raterzoo.inference.scores.empirical_bayes import log_marginal_gradient
from raterzoo.inference.scores.kernels import normal
from raterzoo.inference.scores.normal import continue_normal_posterior
from raterzoo.models import DataWarning
from scipy.optimize import approx_fprime
from scipy.stats import invgamma, kstest, norm

from tests.support.densities import add_densities
from tests.support.monte_carlo import (
    assert_rejects_twin,
    bonferroni_threshold,
    mc_z,
    sbc_ranks,
    seed_of,
    within_sbc_band,
)
from tests.support.runs import Draws, streams_of_items
from tests.support.score_designs import PRIOR, marginal_by_quadrature, tiny_scores
from tests.support.source_twins import altered

SCORES = tiny_scores()
QUIET = {"progressbar": False}


def test_the_likelihood_of_another_sampler_is_named_by_item():
    model = models.normal_scores(SCORES)
    name, items = str(model.observed_RVs[0].name), list(model.coords["item"])
    values = np.arange(4.0 * len(items)).reshape(2, 2, len(items))
    own = xr.Dataset({name: (("chain", "draw", f"{name}_dim_0"), values)})
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset(), "log_likelihood": own})
    found = finished_groups(model, tree, SimpleNamespace(densities=False))["log_likelihood"][name]
    assert found.dims == ("chain", "draw", "item") and found["item"].to_numpy().tolist() == items
    np.testing.assert_array_equal(found, values)


def own_scores(i):
    mine = SCORES.annotation_item == i
    return np.repeat(SCORES.score[mine], SCORES.count[mine])


def plan_of(seed, chains=1, draws=20_000, cores=1):
    return Draws(draws, None, chains, cores, seed, False, 1, "float64", True)


def test_closed_form_equals_quadrature():
    exact = papers.normal_scores_posterior(models.normal_scores(SCORES, **PRIOR))
    assert exact["item"].to_numpy().tolist() == ["a", "b", "c", "d", "e"]
    for i in range(4):
        total, variance = marginal_by_quadrature(own_scores(i), **PRIOR)
        own = exact.isel(item=i)
        np.testing.assert_allclose(own["log_marginal"], np.log(total), rtol=1e-9)
        np.testing.assert_allclose(own["rate"] / (own["shape"] - 1), variance, rtol=1e-7)
        n = len(own_scores(i))
        mean = (0.4 * 1.5 + own_scores(i).sum()) / (0.4 + n)
        np.testing.assert_allclose(own["mean"], mean, rtol=1e-14)
    alone = exact.isel(item=4)
    assert (alone["mean"], alone["shape"], alone["rate"], alone["log_marginal"]) == (1.5, 1.7, 0.9, 0)  # fmt: skip


def check_law(draws, post):
    """Kolmogorov-Smirnov of variance and standardised location, and no dependence between these."""
    location, variance = (x[0] for x in (draws.location, draws.variance))
    z = (location - post.mean) / np.sqrt(variance / post.mean_weight)
    p = [
        kstest(x[:, i], law)[1]
        for i in range(len(post.mean))
        for x, law in ((variance, invgamma(post.shape[i], scale=post.rate[i]).cdf), (z, norm.cdf))
    ]
    assert min(p) > 1e-4 / len(p)
    power = post.rate / variance - post.shape
    corr = (z * power).mean(0) / np.sqrt(post.shape) * np.sqrt(len(z))
    assert np.abs(corr).max() < bonferroni_threshold(corr.size)


PROBLEM = (
    normal.NormalItems(*(np.array(x) for x in ([0.0, 1, 2, 0], [0.5, 2, 1, 1], [2.0, 0.4, 0.3, 1], [1.0, 3, 1, 2]))),
    normal.ScoreMoments(np.array([3.0, 1, 0, 0]), np.array([1.0, 4, 0, 0]), np.array([2.0, 0, 0, 0])),
    np.arange(4, dtype=np.uint64),
)  # fmt: skip


def closed_form(prior, moments):
    n = moments.count
    weight = prior.mean_weight + n
    mean = (prior.mean_weight * prior.mean + n * moments.mean) / weight
    between = prior.mean_weight * n / weight * (moments.mean - prior.mean) ** 2
    rate = prior.rate + (moments.squares + between) / 2
    return normal.NormalItems(mean, weight, prior.shape + n / 2, rate)


def draw_normal_posterior(prior, moments, keys, plan):
    """Draw items with these keys from fresh streams."""
    return continue_normal_posterior(prior, moments, streams_of_items(keys, plan.chains, plan.seed), plan)


@pytest.mark.slow
def test_draws_have_the_law():
    exact = closed_form(*PROBLEM[:2])
    check_law(draw_normal_posterior(*PROBLEM, plan_of(seed_of("law"))), exact)
    assert_rejects_twin(
        check_law,
        draw_normal_posterior(*PROBLEM, plan_of(seed_of("law"))),
        exact._replace(shape=exact.shape + 0.1),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "change"),
    [
        # none but those that are accepted at once
        pytest.param("_is_accepted", ("if y <= -1.0:", "if y <= np.inf:"), marks=pytest.mark.slow),
        ("_is_accepted", ("math.log(_uniform(word)) < q", "q < 1.0")),  # every proposal that is positive
        pytest.param("_to_items", ("* sigma * width[i]", "* sigma"), marks=pytest.mark.slow),  # 1 / k is missing
        pytest.param("draw_normal_items", ("gamma[i] *= _boost(streams, i, posterior.shape[i])", "pass"), marks=pytest.mark.slow),
        ("_to_items", ("sigma2 = posterior.rate[i] / variance[i]", "sigma2 = variance[i] / posterior.rate[i]")),  # the footnote's
    ],
    ids=["at once only", "all proposals", "no 1 / k", "no boost", "Gamma variance"],
)  # fmt: skip
def test_wrong_kernels_are_rejected(function, change, monkeypatch):
    twin = altered(function, change)
    monkeypatch.setattr("raterzoo.inference.scores.normal.draw_normal_items", twin.draw_normal_items)
    draws = draw_normal_posterior(*PROBLEM, plan_of(seed_of(change[1])))
    assert_rejects_twin(check_law, draws, closed_form(*PROBLEM[:2]))


def test_draws_depend_on_seed_and_item_alone():
    rng = np.random.default_rng(1)
    n = 1500
    prior = normal.NormalItems(*(rng.gamma(3, size=n) for _ in range(4)))
    moments = normal.ScoreMoments(np.ones(n), rng.normal(size=n), np.zeros(n))
    keys = rng.integers(0, 2**63, n).astype(np.uint64)
    whole = draw_normal_posterior(prior, moments, keys, plan_of(3, 2, 20))
    threads = draw_normal_posterior(prior, moments, keys, plan_of(3, 2, 20, cores=4))
    some = rng.permutation(n)[:333]
    laws = [type(law)(*(x[some] for x in law)) for law in (prior, moments)]
    part = draw_normal_posterior(*laws, keys[some], plan_of(3, 2, 20))
    for one, other, fewer in zip(whole, threads, part, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one[..., some], fewer)
    assert not np.array_equal(whole.location[0], whole.location[1])


def test_tree_has_pymcs_densities_and_is_exact():
    model = models.normal_scores(SCORES, **PRIOR)
    tree = inference.sample(model, random_seed=2, draws=50, dtype="float64", **QUIET)
    assert tree.attrs["model"] == "normal_scores" and tree.attrs["method"] == "exact"
    assert inference.diagnose(tree).attrs["exact"] == 1
    posterior = tree["posterior"].to_dataset()
    np.testing.assert_allclose(posterior["scale"] ** 2, posterior["variance"], rtol=1e-14)
    free = xr.DataTree.from_dict({"posterior": posterior[["location", "variance"]]})
    add_densities(free, model)
    for group in ("log_likelihood", "log_prior"):
        for name, theirs in free[group].data_vars.items():
            ours = tree[group][name]
            assert ours.dims == ("chain", "draw", "item") and set(ours.coords) == set(ours.dims)
            np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=1e-9, atol=1e-9)
    score = np.array([1.0, 2.5, 2.0])
    own = posterior.isel(item=0)
    by_hand = sum(norm.logpdf(y, own["location"], own["scale"]) for y in score)
    np.testing.assert_allclose(tree["log_likelihood"]["observed_score"][..., 0], by_hand, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.long
def test_nuts_agrees():
    model = models.normal_scores(SCORES, **PRIOR)
    options = {"cores": 1, **QUIET}
    tree = inference.sample(model, method="nuts", random_seed=seed_of("nuts"), **options)
    assert tree["log_likelihood"]["observed_score"].dims == ("chain", "draw", "item")

    def check(prior):
        exact = papers.normal_scores_posterior(models.normal_scores(SCORES, **prior))
        posterior = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
        inverse = mc_z(1 / posterior["variance"].to_numpy(), (exact["shape"] / exact["rate"]).data)
        location = mc_z(posterior["location"].to_numpy(), exact["mean"].to_numpy())
        assert max(np.abs(inverse).max(), np.abs(location).max()) < bonferroni_threshold(10)

    check(PRIOR)
    assert_rejects_twin(check, PRIOR | {"shape": 2.7})


def test_marginal_gradient_and_its_maximum():
    rng = np.random.default_rng(seed_of("empirical"))
    n_items = 4000
    variance = 2.0 / rng.gamma(3.0, size=n_items)
    location = 5 + np.sqrt(variance / 0.5) * rng.standard_normal(n_items)
    item = np.repeat(np.arange(n_items), 1 + np.arange(n_items) % 8)
    score = location[item] + np.sqrt(variance[item]) * rng.standard_normal(len(item))
    few = item < 40
    moments = normal.score_moments(item[few], score[few], 40)
    theta = np.array([4.0, -0.3, 0.8, 0.5])
    _, gradient = log_marginal_gradient(theta, moments)
    numeric = approx_fprime(theta, lambda t: log_marginal_gradient(t, moments)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)
    table = {"item": item, "rater": np.zeros(len(item), int), "score": score}
    scores = models.Scores.from_table(table)
    found = papers.normal_scores_prior(scores)
    truth = {"mean": 5.0, "mean_weight": 0.5, "shape": 3.0, "rate": 2.0}
    # at the maximum the gradient is nothing beside its sampling error, and the truth is 4 errors away at most
    at = np.array([found["mean"], *np.log([found[k] for k in list(truth)[1:]])])
    all_moments = normal.score_moments(item, score, n_items)
    assert np.abs(log_marginal_gradient(at, all_moments)[1]).max() < 1e-2 * np.sqrt(n_items)
    for name, value in truth.items():
        assert abs(found[name] / value - 1) < 0.15, name
    moved = models.Scores.from_table(table | {"score": 100 * score - 7})
    again = papers.normal_scores_prior(moved)
    np.testing.assert_allclose(again["rate"], 1e4 * found["rate"], rtol=1e-3)
    np.testing.assert_allclose(again["mean"], 100 * found["mean"] - 7, rtol=1e-5)
    assert models.normal_scores(scores, **found).basic_RVs


def test_priors_that_scores_do_not_tell(golden):
    def scores(*rows):
        item = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        rater = np.concatenate([np.arange(len(r)) for r in rows])
        return models.Scores.from_table({"item": item, "rater": rater, "score": np.concatenate(rows).astype(float)})  # fmt: skip

    agreed = scores(*[[k] * 10 for k in (1, 2, 3, 4, 5, 1, 2)], [1, 2, 3, 2, 1, 2, 3, 1, 2, 3])
    with pytest.raises(ValueError, match=r"no maximum.*resolution="):
        papers.normal_scores_prior(agreed, resolution=0)
    assert papers.normal_scores_prior(agreed)["rate"] > 0.01
    with golden.raises(ValueError):
        papers.normal_scores_prior(scores([1], [2], [3]))
    with golden.raises(ValueError):
        papers.normal_scores_prior(scores([1, 1], [1, 1]))
    with pytest.raises(ValueError, match="resolution=-1 must be"):
        papers.normal_scores_prior(scores([1, 2]), resolution=-1)
    with pytest.warns(DataWarning, match="differ in location"):
        papers.normal_scores_prior(scores(*[[-1.0, 1.1, 2 + k, -2 - k] for k in range(9)]))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: pm.Normal("location", 0, 1, dims="item"), "not in proportion"),
        (lambda: pm.Laplace("location", 0, 1, dims="item"), "not a normal"),
    ],
)
def test_other_models_are_left_to_nuts(build, reason):
    from raterzoo.models.distributions.item_scores import ItemScores

    with pm.Model(coords={"item": ["a", "b"]}) as model:
        variance = pm.InverseGamma("variance", 2, 1, dims="item")
        ItemScores("y", build(), variance, np.array([0, 0, 1]), observed=[1.0, 2, 3])
    with pytest.raises(ValueError, match=reason):
        inference.sample(model, method="exact", **QUIET)
    with pytest.raises(ValueError, match=reason):
        papers.normal_scores_posterior(model)


def calibration(items, seed, shape=0.0):
    """Each item is one simulation; its scores are replicates of the model."""
    rng = np.random.default_rng(seed)
    table = {
        "item": np.repeat(np.arange(items), 1 + np.arange(items) % 4),
        "rater": np.zeros((1 + np.arange(items) % 4).sum(), int),
    }
    blank = models.Scores.from_table(table | {"score": np.arange(len(table["item"]))})
    with models.normal_scores(blank, **PRIOR):
        tree = pm.sample_prior_predictive(1, random_seed=seed)
    truth, score = tree["prior"], tree["prior_predictive"]["observed_score"].to_numpy()[0, 0]
    scores = models.Scores.from_table(table | {"score": score})
    model = models.normal_scores(scores, **(PRIOR | {"shape": PRIOR["shape"] + shape}))
    drawn = inference.sample(model, draws=199, chains=1, random_seed=seed, dtype="float64", **QUIET)
    ranks = []
    for name in ("location", "variance"):
        own = drawn["posterior"][name].to_numpy()[0].T
        ranks.append(sbc_ranks(truth[name].to_numpy()[0, 0], own, rng))
    log_p = norm.logpdf(score, *(truth[n].to_numpy()[0, 0][table["item"]] for n in ("location", "scale")))  # fmt: skip
    own = drawn["log_likelihood"]["observed_score"].to_numpy()[0].T
    return np.stack([*ranks, sbc_ranks(np.bincount(table["item"], log_p), own, rng)], axis=1)


def check_calibration(ranks):
    assert within_sbc_band(ranks, 199, 1 - 0.01 / 3).all()


@pytest.mark.slow
def test_truths_are_ranked_uniformly():
    seed = seed_of("normal scores")
    check_calibration(calibration(1500, seed))
    assert_rejects_twin(check_calibration, calibration(1500, seed, shape=0.4))


@pytest.mark.long
def test_truths_are_ranked_uniformly_long():
    check_calibration(calibration(50_000, seed_of("normal scores, long")))
    assert_rejects_twin(check_calibration, calibration(50_000, seed_of("long"), shape=0.1))


# one command: pytest -m long -n 0 tests/inference/scores/test_normal_scores.py -k ranks_truths
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_nuts_ranks_truths_uniformly_long():
    from tests.support.nuts_calibration import KEPT, nuts_ranks

    def check(prior):
        twin = models.normal_scores(SCORES, **prior)
        ranks = nuts_ranks(models.normal_scores(SCORES, **PRIOR), 300, seed_of("nuts ranks"), twin)
        assert within_sbc_band(ranks, KEPT, 1 - 0.01 / ranks.shape[1]).all()

    check(PRIOR)
    assert_rejects_twin(check, PRIOR | {"shape": 2.7})


def test_points_of_the_circle_are_on_it():
    """Sine and cosine are those of the angle in the upper bits, to the last digits."""
    words = np.random.default_rng(1).integers(0, 2**64, 200, dtype=np.uint64)
    points = np.array([normal._on_circle.py_func(word) for word in words])
    np.testing.assert_allclose((points**2).sum(axis=1), 1, rtol=1e-13)
    angle = (normal._uniform.py_func(words) - 0.5) * np.pi / 2
    expected = np.sort(np.abs([np.sin(angle), np.cos(angle)]), axis=0)
    np.testing.assert_allclose(np.sort(np.abs(points.T), axis=0), expected, rtol=0, atol=1e-13)
