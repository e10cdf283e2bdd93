"""Regression of locations on features: its Gibbs conditional against dense algebra, ridge regression, densities, refusals."""

import numba as nb
import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference.scores.kernels import hierarchical as score_gibbs
from scipy import stats
from sklearn.linear_model import Ridge

from tests.inference.scores.test_score_gibbs import HYPER, SCORES, gaussian, state
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, check_means, mc_z, seed_of
from tests.support.random_streams import stream
from tests.support.runs import route_of
from tests.support.score_samplers import read_rater_scores
from tests.support.source_twins import altered

DRAWS = 20_000
FEATURES = 0.8 + np.array(
    [[1.0, 0.5], [-1.0, -1.2], [1.4, 0.3], [0.2, 0.7], [-1.6, -0.3]]
)  # item 3 has no scores
WITH = SCORES._replace(features=FEATURES)
QUIET = {"progressbar": False}
TWINS = {
    "the mean is not integrated out": ("gram[f, g] -= joint[f] * joint[g] / known", "gram[f, g] -= 0.0"),
    "the mean does not follow": ("pull -= joint[f] * state.effect[f]", "pull -= 0.0"),
    "the prior mean is left out": ("(total[i] - weight[i] * hyper.mean)", "total[i]"),
}


@nb.njit
def fill(out, now):
    out[:5] = now.location
    out[5:7] = now.effect
    out[7] = now.population[0]
    out[8] = now.population[1]
    out[9] = now.effect_scale[0]


def run(step, seed):
    @nb.njit
    def loop(rng, scores, hyper, now, out):
        for d in range(len(out)):
            step(rng, scores, hyper, now)
            fill(out[d], now)

    out = np.empty((DRAWS, 10))
    own = state()._replace(effect=np.zeros(2), effect_scale=np.ones(1))
    loop(stream(np.random.SeedSequence(seed_of(seed))), WITH, HYPER, own, out)
    return out[None]


def exact_items():
    """Means of locations, effects, mean, tau and s given biases and variances, by a grid of tau and s."""
    now, n = state(), len(SCORES.score)
    deviation = np.eye(5)[SCORES.item]
    noise = (SCORES.score - now.bias[SCORES.rater], now.variance[SCORES.rater])
    design = np.hstack([np.ones((n, 1)), FEATURES[SCORES.item], deviation])
    grid = np.linspace(-6.5, 2.2, 110)
    found, log_p = [], []
    for log_tau in grid:
        for log_s in grid:
            tau, s = np.exp(log_tau), np.exp(log_s)
            precision = np.diag([HYPER.mean_sd**-2, *[s**-2] * 2, *[tau**-2] * 5])
            mean, own = gaussian(design, np.r_[HYPER.mean, np.zeros(7)], precision, noise)
            found.append(np.r_[mean[0] + FEATURES @ mean[1:3] + mean[3:], mean[1:3], mean[0], tau, s])
            prior = stats.halfnorm.logpdf(tau, scale=HYPER.location_scale) + stats.halfnorm.logpdf(
                s, scale=HYPER.effect_scale
            )
            log_p.append(own + prior + log_tau + log_s)
    weight = np.exp(np.array(log_p) - np.max(log_p))
    return weight @ np.array(found) / weight.sum()


@pytest.mark.long
def test_locations_and_effects_given_raters():
    exact = exact_items()
    check_means(run(score_gibbs.draw_items, "regression"), exact)
    for name, change in TWINS.items():
        step = altered("draw_regression", change).draw_items
        assert_rejects_twin(check_means, run(step, f"regression {name}"), exact)


def simulated(items=40, raters=5, answers=2, features=3):
    return models.simulators.scores(
        items=items, raters=raters, answers=answers, features=features, random_seed=seed_of("simulated")
    )


@pytest.fixture(scope="module")
def fitted():
    drawn = simulated()
    model = models.hierarchical_scores(drawn.data, features=drawn.features)
    tree = inference.sample(model, draws=1000, chains=2, thin=2, dtype="float64", random_seed=1, **QUIET)
    return drawn, model, tree


@pytest.mark.slow
def test_effects_are_those_of_ridge_regression(fitted):
    """E[w | locations, tau, s] is ridge regression of the locations with the penalty tau^2 / s^2, so that the means agree."""
    _, model, tree = fitted
    x, p = model["features"].get_value(), tree["posterior"].to_dataset().isel(draw=slice(None, None, 2))

    def away(power):
        """Effects less the coefficients of ridge regression (chain, draw, feature)."""
        found = np.empty(p["feature_effect"].shape)
        for at in np.ndindex(found.shape[:2]):
            penalty = (p["location_spread"].values[at] / p["feature_scale"].values[at]) ** power
            found[at] = Ridge(alpha=penalty).fit(x, p["location"].values[at]).coef_
        return p["feature_effect"].values - found

    def check_mean(differences):
        z = mc_z(differences, np.zeros(3))
        assert np.abs(z).max() < bonferroni_threshold(3)

    check_mean(away(2))
    assert_rejects_twin(check_mean, away(-2))


def test_log_densities_are_those_of_the_model(fitted):
    _, model, tree = fitted
    own = tree["log_prior"].to_dataset().isel(draw=slice(3))
    fewer = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset().isel(draw=slice(3))})
    with model:
        theirs = pm.stats.compute_log_prior(fewer, progressbar=False)["log_prior"].to_dataset()
    for name in own:
        np.testing.assert_allclose(own[name], theirs[name], rtol=1e-6, atol=1e-6, err_msg=str(name))
    assert {"feature_effect", "feature_scale"} <= {*own}


def laws_at(model, point):
    """Means and scales of locations and scores, at values of free variables by name."""
    laws = [
        p
        for name in ("location", "observed_score")
        for p in model[name].owner.op.dist_params(model[name].owner)
    ]
    own = {name: value for name, value in point.items() if name in model.named_vars}
    inputs = [model[name] for name in own]
    return pytensor.function(inputs, laws, mode="FAST_COMPILE", on_unused_input="ignore")(*own.values())


def test_at_effects_of_zero_the_law_is_that_without_features():
    drawn, rng = simulated(items=6, answers=3), np.random.default_rng(seed_of("point"))
    with_them = models.hierarchical_scores(drawn.data, features=drawn.features)
    plain = models.hierarchical_scores(drawn.data)
    sizes = {"location": 6, "rater_bias": 5, "rater_variance": 5}
    point = {name: rng.gamma(2.0, size=n) for name, n in sizes.items()}
    point |= {"location_mean": 0.3, "location_spread": 1.2, "feature_effect": np.zeros(3)}
    for found, expected in zip(laws_at(with_them, point), laws_at(plain, point), strict=True):
        np.testing.assert_array_equal(np.broadcast_to(expected, np.shape(found)), found)
    moved = laws_at(with_them, point | {"feature_effect": np.array([1.0, 0.0, -2.0])})[0]
    x = with_them["features"].get_value()
    np.testing.assert_allclose(moved, 0.3 + x[:, 0] - 2 * x[:, 2])


def test_the_sampler_reads_features_and_refuses_other_laws():
    drawn = simulated(items=6)
    model = models.hierarchical_scores(drawn.data, features=drawn.features)
    law = read_rater_scores(model)
    raw = np.stack([*drawn.features.values()][1:], axis=1)
    np.testing.assert_allclose(law.scores.features, (raw - raw.mean(axis=0)) / raw.std(axis=0))
    assert route_of(model).method == "gibbs"
    plain = read_rater_scores(models.hierarchical_scores(drawn.data))
    assert plain.scores.features.shape == (6, 0)
    model["features"].set_value(2 * law.scores.features)
    assert route_of(model).method == "gibbs"  # other numbers of the same law


def test_collinear_columns_are_drawn():
    drawn = simulated(items=8)
    twice = dict(drawn.features) | {"copy": drawn.features["feature 1"]}
    with pytest.warns(models.DataWarning, match="linearly dependent"):
        model = models.hierarchical_scores(drawn.data, features=twice)
    with pytest.warns(inference.ConvergenceWarning):
        tree = inference.sample(model, draws=50, tune=20, thin=1, chains=1, random_seed=1, **QUIET)
    effect = tree["posterior"]["feature_effect"]
    assert np.isfinite(effect).all() and (effect.sel(feature="copy") != effect.sel(feature="feature 1")).all()
