"""Hierarchical scores: Geweke, calibration, two samplers, what the tree carries, and the wrong twins."""

from functools import cache

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference.scores.kernels import hierarchical
from raterzoo.inference.scores.kernels import hierarchical as score_chain
from scipy.special import gammaln
from scipy.stats import norm

from tests.support.densities import add_densities
from tests.support.monte_carlo import (
    assert_rejects_twin,
    bonferroni_threshold,
    geweke_z,
    mc_z,
    sbc_ranks,
    seed_of,
    within_sbc_band,
)
from tests.support.random_streams import stream
from tests.support.runs import ChainPlan
from tests.support.score_designs import hierarchy
from tests.support.score_samplers import draw_hierarchy, read_rater_scores
from tests.support.source_twins import altered

QUIET = {"progressbar": False}
N_DRAWS = 99
NAMES = [
    "location_mean", "location_spread", "location", "bias_spread", "rater_bias", "group_bias",
    "usual_variance", "variance_shape", "rater_variance",
]  # fmt: skip
SLOPES = ("rater_slope", "slope_spread")
SUMS = "for a in range(len(scores.score)):\n        k = scores.rater[a]\n"
TWINS = {
    "shape + 1": ("_gamma(rng, nu + 0.5 * count[k])", "_gamma(rng, nu + 1.0 + 0.5 * count[k])"),
    "locations stay": ("state.location[i] += shift", "state.location[i] += 0.0"),
    "biases do not follow": ("+ state.bias[k] - shift -", "+ state.bias[k] -"),
    "a dropped rater": (
        f"{SUMS}        seen",
        f"{SUMS}        if k == 0:\n            continue\n        seen",
    ),
}


SLOPE_TWINS = {"slopes about zero": ("own = 1.0 + _deviation", "own = _deviation")}


@cache
def design():
    return hierarchy(np.random.default_rng(seed_of("design")), 7, 5, 3, groups=2)


def build(**options):
    return models.hierarchical_scores(design(), **({"mean": 0.0, "spread": 1.0, "group": "kind"} | options))  # fmt: skip


@cache
def prior_draws(n, slopes=None):
    with build(slopes=slopes):
        tree = pm.sample_prior_predictive(n, random_seed=seed_of("prior"))
    return tree["prior"].to_dataset().isel(chain=0), tree["prior_predictive"]["observed_score"].to_numpy()[0]  # fmt: skip


def sampler_of(twin):
    if twin is None:
        return score_chain.sample_scores
    steps = ("draw_items", "draw_raters", "draw_slopes", "draw_populations")
    if twin in SLOPE_TWINS:
        module, steps = altered("draw_slopes", SLOPE_TWINS[twin]), ("draw_slopes",)
    else:
        module = altered("draw_raters", TWINS[twin])
    steps = {name: getattr(module, name) for name in steps}
    return altered("sample_scores", **steps).sample_scores


def first_of(values):
    """Return of each variable its first number, by draw."""
    return np.stack([np.asarray(values[n]).reshape(len(values["location"]), -1)[:, 0] for n in NAMES], axis=1)  # fmt: skip


def as_mapping(draws):
    mean, spread, bias_spread, shape = draws.population.T
    return dict(zip(NAMES, (mean, spread, draws.location, bias_spread, draws.bias, draws.group_bias,
                            draws.usual, shape, draws.variance), strict=True))  # fmt: skip


def state_of(prior, s):
    own = {name: prior[name].to_numpy()[s] for name in NAMES}
    population = [own[n] for n in ("location_mean", "location_spread", "bias_spread", "variance_shape")]  # fmt: skip
    arrays = (own[n] for n in ("location", "rater_bias", "rater_variance", "group_bias", "usual_variance"))  # fmt: skip
    slopes = [np.array(prior[n].to_numpy()[s : s + 1]).ravel() for n in SLOPES if n in prior]
    return hierarchical.ScoreState(
        *(np.array(x, np.float64) for x in arrays), np.array(population), *np.zeros((2, 0)), *slopes
    )


def blank(draws, slopes=None):
    shapes = (7, 5, 5, 2, 2, 4, 0, 0, *([] if slopes is None else [5, 1]))
    return hierarchical.ScoreDraws(*(np.empty((draws, n)) for n in shapes))


def calibration(simulations, twin=None):
    """Rank truths, started from them: the chain is stationary if it is right."""
    law, sampler = read_rater_scores(build()), sampler_of(twin)
    prior, answers = prior_draws(simulations)
    rng, ranks = np.random.default_rng(seed_of("ranks")), []
    for s in range(simulations):
        scores, draws = law.scores._replace(score=answers[s].copy()), blank(N_DRAWS)
        sampler(stream(rng), scores, law.hyper, (100, 10), (state_of(prior, s), draws))
        truth = first_of({n: prior[n].to_numpy()[s : s + 1] for n in NAMES})
        drawn = first_of(as_mapping(draws))
        away = scores.score - draws.location[:, scores.item] - draws.bias[:, scores.rater]
        log_p = -(np.log(draws.variance)[:, scores.rater] + away**2 / draws.variance[:, scores.rater]).sum(1)  # fmt: skip
        own = state_of(prior, s)
        away = scores.score - own.location[scores.item] - own.bias[scores.rater]
        true_p = -(np.log(own.variance)[scores.rater] + away**2 / own.variance[scores.rater]).sum()
        drawn, truth = np.c_[drawn, log_p], np.c_[truth, true_p]
        ranks.append(sbc_ranks(truth, drawn[None], rng)[0])
    return np.array(ranks)


def check_calibration(ranks):
    assert within_sbc_band(ranks, N_DRAWS, 1 - 0.01 / ranks.shape[1]).all()


@pytest.mark.slow
def test_truths_are_ranked_uniformly():
    check_calibration(calibration(400))
    assert_rejects_twin(check_calibration, calibration(400, "shape + 1"))


@pytest.mark.long
def test_truths_are_ranked_uniformly_long():
    check_calibration(calibration(1000))
    for twin in TWINS:
        assert_rejects_twin(check_calibration, calibration(400, twin))


# a long run by one command: pytest -m long -n 0 tests/inference/scores/test_hierarchical_scores.py -k long
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_nuts_ranks_truths_uniformly_long():
    from tests.support.nuts_calibration import KEPT, nuts_ranks

    def check(ranks):
        assert within_sbc_band(ranks, KEPT, 1 - 0.01 / ranks.shape[1]).all()

    seed = seed_of("nuts hierarchical scores")
    check(nuts_ranks(build(), 300, seed))
    assert_rejects_twin(check, nuts_ranks(build(), 300, seed, build(spread=1.5)))


def successive(twin, sweeps=12_000, slopes=None):
    """Alternate a sweep with new scores, in four chains."""
    law, sampler = read_rater_scores(build(slopes=slopes)), sampler_of(twin)
    prior, _ = prior_draws(400, slopes)
    chains = []
    for chain in range(4):
        rng = np.random.default_rng(seed_of(f"geweke {chain}"))
        own, words, kept = state_of(prior, chain), stream(rng), []
        score, draws = np.empty(len(law.scores.score)), blank(1, slopes)
        scores = law.scores._replace(score=score)
        for _ in range(sweeps):
            noise = np.sqrt(own.variance[scores.rater]) * rng.standard_normal(len(score))
            slope = 1.0 if slopes is None else own.slope[scores.rater]
            score[:] = slope * own.location[scores.item] + own.bias[scores.rater] + noise  # about m0 = 0
            sampler(words, scores, law.hyper, (0, 1), (own, draws))
            kept.append([*(own.location[:1]), own.bias[0], *np.log(own.variance[:1]), own.group_bias[0],
                         np.log(own.usual[0]), own.population[0], *np.log(own.population[1:]),
                         *own.slope[:1], *np.log(own.slope_spread)])  # fmt: skip
        chains.append(kept)
    return np.array(chains)


def marginal(slopes=None):
    prior, _ = prior_draws(20_000, slopes)
    p = {name: prior[name].to_numpy() for name in NAMES}
    logs = [np.log(p[n]) for n in ("location_spread", "bias_spread", "variance_shape")]
    if slopes is not None:
        logs += [prior["rater_slope"].to_numpy()[:, 0], np.log(prior["slope_spread"].to_numpy())]
    return np.stack([p["location"][:, 0], p["rater_bias"][:, 0], np.log(p["rater_variance"][:, 0]),
                     p["group_bias"][:, 0], np.log(p["usual_variance"][:, 0]), p["location_mean"], *logs], axis=1)  # fmt: skip


def check_joint(chains, slopes=None):
    z = geweke_z(marginal(slopes), chains)
    assert np.abs(z).max() < bonferroni_threshold(z.size)


@pytest.mark.long
def test_joint_law_is_left_alone():
    check_joint(successive(None))
    assert_rejects_twin(check_joint, successive("shape + 1", 4000))


@pytest.mark.long
def test_joint_law_with_slopes_is_left_alone():
    check_joint(successive(None, slopes="rater"), "rater")
    assert_rejects_twin(check_joint, successive("slopes about zero", 4000, "rater"), "rater")


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.parametrize(("group", "slopes"), [(None, None), ("kind", None), (None, "rater")])
def test_tree_has_pymcs_densities(group, slopes):
    model = build(group=group, slopes=slopes, mean=0.5)
    tree = inference.sample(model, random_seed=2, draws=200, thin=3, dtype="float64", **QUIET)
    assert tree.attrs["model"] == "hierarchical_scores" and tree.attrs["method"] == "gibbs"
    posterior = tree["posterior"].to_dataset()
    np.testing.assert_allclose(posterior["rater_scale"] ** 2, posterior["rater_variance"])
    if group:
        assert abs(posterior["group_bias"].sum("group_of_raters")).max() < 1e-12
    if slopes:
        with pytest.raises(evaluation.EvaluationError, match="of='location'"):
            evaluation.threshold_certainty(tree, 0.0)
    few = posterior[[rv.name for rv in model.free_RVs]].isel(chain=[0], draw=slice(0, 5))
    theirs = xr.DataTree.from_dict({"posterior": few})
    add_densities(theirs, model)
    for name in ("log_likelihood", "log_prior"):
        assert set(theirs[name].data_vars) == set(tree[name].data_vars)
        for variable, values in theirs[name].data_vars.items():
            ours = tree[name][variable].isel(chain=[0], draw=slice(0, 5))
            assert ours.dims == values.dims
            # PyMC takes the log Gamma function of the number 2 in single precision
            np.testing.assert_allclose(ours.to_numpy(), values.to_numpy(), rtol=1e-7, atol=1e-7)


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.long
@pytest.mark.parametrize("slopes", [None, "rater"])
def test_nuts_agrees_with_gibbs(slopes):
    scores = hierarchy(np.random.default_rng(seed_of("nuts design")), 40, 8, 4, groups=2)
    model = models.hierarchical_scores(scores, group="kind", slopes=slopes)
    gibbs = inference.sample(model, random_seed=3, thin=10, dtype="float64", **QUIET)
    options = {"cores": 1, "target_accept": 0.95, **QUIET}
    nuts = inference.sample(model, method="nuts", random_seed=seed_of("nuts"), **options)
    names = ["location", "location_mean", "location_spread"]
    names += [] if slopes is None else SLOPES
    for variable in [*names, "rater_bias", "bias_spread", "group_bias", "rater_scale"]:
        one, other = (
            np.log(values) if "spread" in variable or "scale" in variable else values
            for values in (
                t["posterior"][variable].transpose("chain", "draw", ...).to_numpy() for t in (gibbs, nuts)
            )
        )
        z = np.stack([mc_z(one, other.mean((0, 1))), mc_z(other, one.mean((0, 1)))])
        combined = 1 / np.sqrt((1 / z**2).sum(axis=0))
        assert np.max(combined) < 4, variable


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_items_by_blocks_are_drawn_given_the_same_draws_of_what_they_share():
    """The draws that items share are those of the whole posterior to the bit, and the densities are those of the kept draws."""
    model, options = build(), {"random_seed": 2, "draws": 600, "thin": 2, "dtype": "float64", **QUIET}
    whole, thinned = inference.sample(model, **options), inference.sample(model, keep="thinned", **options)
    step = thinned.attrs["kept_every"]
    shared, kept = thinned["shared_posterior"], thinned["posterior"]
    for name, values in shared.data_vars.items():
        np.testing.assert_array_equal(values, whole["posterior"][name])
        np.testing.assert_array_equal(kept[name], values[:, step - 1 :: step])
    assert "location" in kept and "location" not in shared
    free = kept.to_dataset()[[rv.name for rv in model.free_RVs]]
    theirs = xr.DataTree.from_dict({"posterior": free.isel(chain=[0], draw=slice(0, 3))})
    add_densities(theirs, model)
    for group, name in (("log_likelihood", "observed_score"), ("log_prior", "location")):
        ours = thinned[group][name].isel(chain=[0], draw=slice(0, 3))
        np.testing.assert_allclose(ours, theirs[group][name], rtol=1e-7, atol=1e-7)
    drawn, mean = whole["posterior"]["location"], thinned["item_summary"]["location"].sel(statistic="mean")
    z = mc_z(drawn.transpose("chain", "draw", "item").to_numpy(), mean.to_numpy()) / np.sqrt(2)
    assert abs(z).max() < bonferroni_threshold(z.size)


def test_units_of_a_population_have_its_density():
    """Where NUTS moves, the density is that of the model times the spreads, and standard normal along each member."""
    model = build()
    rng, own = np.random.default_rng(seed_of("units")), model.initial_point()
    point = {name: value + rng.uniform(0.1, 0.9, value.shape) for name, value in own.items()}
    moved = [model.rvs_to_values[model[name]] for name in ("location", "rater_bias")]
    assert {v.name for v in moved} == {"location_standardised__", "rater_bias_standardised__"}
    members = [model["location"], model["rater_bias"]]
    expected = sum(norm.logpdf(point[str(v.name)]).sum() for v in moved)
    found = model.compile_logp(vars=members, jacobian=True)(point)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    spreads = 7 * point["location_spread_log__"] + 5 * point["bias_spread_log__"]
    plain = model.compile_logp(vars=members, jacobian=False)(point)
    np.testing.assert_allclose(found - plain, spreads, rtol=1e-12)


def agreeing(who):
    """Scores of four raters that are all 3; or all but one; or those of one rater."""
    rng = np.random.default_rng(seed_of(who))
    item, rater = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    score = np.full(200, 3.0)
    if who == "nearly all":
        score[77] = 4.0
    if who == "one rater":
        score = np.where(rater == 2, 3.0, np.round(rng.normal(3, 1, 200)))
    return models.Scores.from_table({"item": item, "rater": rater, "score": score}, bounds=(-20, 20))  # fmt: skip


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.parametrize("who", ["all", "nearly all", "one rater"])
def test_scores_that_agree(who):
    """The posterior is proper: variances are small beside their prior, but stay where they are."""

    def check(usual, variance):
        usual, variance = (np.asarray(x) * (6 / 40) ** 2 for x in (usual, variance))
        assert 1e-3 < usual.min() and np.median(usual) < 0.1 and 1e-4 < variance.min()
        first, last = (np.log(part).mean() for part in np.split(usual, 2, axis=1))
        assert abs(first - last) < 0.2  # on its way to nothing it would not be

    model = models.hierarchical_scores(agreeing(who))
    options = {"log_likelihood": False, "dtype": "float64", "thin": 8, **QUIET}
    tree = inference.sample(model, random_seed=seed_of(who), **options)
    posterior = tree["posterior"].to_dataset()
    assert all(np.isfinite(values).all() for values in posterior.data_vars.values())
    check(posterior["usual_variance"], posterior["rater_variance"])
    assert np.abs(posterior["location"].mean(("chain", "draw")) - 3).max() < (2 if who == "one rater" else 0.6)  # fmt: skip
    scales = posterior["rater_scale"].mean(("chain", "draw")).to_numpy()
    if who == "one rater":
        assert scales[2] < 0.8 * np.delete(scales, 2).min()
    if who == "all":
        law = read_rater_scores(model)
        free = law.hyper._replace(usual_rate=1e-30)  # nothing keeps the usual variance from zero
        twin = draw_hierarchy(law.scores, free, ChainPlan(4, 400, 200, 1, dtype="float64"))
        assert_rejects_twin(check, twin.usual[..., 0], twin.variance)


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.parametrize("items", [1500, 4000])
def test_items_that_do_not_differ(items):
    """The spread is then near zero, a draw all the same, and nothing runs for ever."""
    rng = np.random.default_rng(seed_of("no spread"))
    item, rater = np.repeat(np.arange(items), 5), rng.integers(0, 100, 5 * items)
    score = 0.5 * rng.standard_normal(100)[rater] + 0.7 * rng.standard_normal(5 * items)
    scores = models.Scores.from_table({"item": item, "rater": rater, "score": score})
    options = {"draws": 30, "tune": 50, "chains": 2, "thin": 2, "log_likelihood": False, **QUIET}
    tree = inference.sample(models.hierarchical_scores(scores), random_seed=1, **options)
    posterior = tree["posterior"].to_dataset()
    spread = posterior["location_spread"].to_numpy()
    assert 0 < spread.min() and spread.max() < 0.2 and len(np.unique(spread)) == 60
    assert all(np.isfinite(values).all() for values in posterior.data_vars.values())


def test_draws_depend_on_the_seed_alone():
    law = read_rater_scores(build())
    lengths = [ChainPlan(2, 20, 5, 9, threads, thin=2) for threads in (1, 4)]
    one, other = (draw_hierarchy(law.scores, law.hyper, length) for length in lengths)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(one.location[0], one.location[1])


def test_what_is_read_is_what_was_built(golden):
    law = read_rater_scores(build(mean=2.0, spread=3.0))
    assert law.hyper[:5] == (2.0, 12.0, 6.0, 3.0, 3.0)
    np.testing.assert_array_equal(law.scores.item, design().annotation_item)
    np.testing.assert_array_equal(law.scores.rater, design().annotation_rater)
    kind = design().rater_attributes["kind"]
    np.testing.assert_array_equal(law.scores.group, (kind != kind[0]).astype(int))
    with build() as other:
        pm.Potential("bound", -(other["rater_bias"] ** 2).sum())
    with pytest.raises(ValueError, match="potential 'bound'"):
        inference.sample(other, method="gibbs", **QUIET)
    for change in (
        ("(shape + 1.0) * usual", "shape * usual"),
        ("of_group = pm.InverseGamma(", "of_group = pm.Gamma("),
    ):
        module = altered("_raters", change)
        with golden.raises(ValueError):
            inference.sample(module.hierarchical_scores(design(), group="kind"), method="gibbs", **QUIET)  # fmt: skip
    with build() as other:
        pm.Normal("more")
    with golden.raises(ValueError):
        inference.sample(other, method="gibbs", **QUIET)


def test_density_of_a_shape_is_that_of_its_docstring():
    n, slope, power = 7.0, -9.0, 1.5

    def log_density(x):
        a = np.exp(x)
        return n * (a * np.log(a + 1) - gammaln(a)) + a * slope + power * x

    h = 1e-4
    for x in (-1.0, 0.3, 2.0):
        value, first, second = score_chain._shape_density.py_func(x, (n, slope, power))
        assert value == pytest.approx(log_density(x), rel=1e-12)
        assert first == pytest.approx((log_density(x + h) - log_density(x - h)) / (2 * h), abs=1e-5)
        curvature = (log_density(x + h) - 2 * log_density(x) + log_density(x - h)) / h**2
        assert second == pytest.approx(curvature, abs=1e-4)
