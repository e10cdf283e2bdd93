"""Priors that are random variables, and models inside an outer model."""

import warnings
from inspect import signature

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from raterzoo import inference, models
from scipy.special import betaln
from scipy.stats import halfnorm, multivariate_t, norm

from tests.support.label_designs import tiny_tag_sets
from tests.support.label_samplers import read_labels
from tests.support.runs import route_of

simulators = models.simulators
DATA = {
    "rankings": simulators.rankings(items=4, raters=3, categories=4, random_seed=1).data,
    "labels": simulators.labels(items=8, raters=4, categories=3, answers=3, random_seed=1).data,
    "comparisons": simulators.comparisons(items=5, raters=4, degree=4, random_seed=1).data,
    "scores": simulators.scores(items=5, raters=4, random_seed=1).data,
}
LABELS = DATA["labels"]
TAG_SETS = tiny_tag_sets(LABELS)
PREVALENCE = {"prevalence_concentration": lambda a: a * np.ones(3)}
SPREADS = PREVALENCE | {"diagonal": lambda a: a, "spread": lambda a: 2.0 * a}
ABILITY = PREVALENCE | {"ability_concentration": lambda a: (1.0 + a, 2.0)}
PRIORS = {  # argument -> expression of one number; of other models all priors that are one number
    "bradley_terry": {"quality_scale": lambda a: a, "reliability_scale": lambda a: a**2},
    "class_conditional": ABILITY,
    "correlated_votes": PREVALENCE | {"vote_correlation": lambda a: (a, 2.0)},
    "cultural_consensus": {
        "ability_concentration": lambda a: (1.0 + a, 2.0),
        "share_concentration": lambda a: a,
    },
    "dawid_skene": PREVALENCE | {"confusion_concentration": lambda a: 0.5 + a * np.eye(3)},
    "dirichlet": {"concentration": lambda a: [a, 1.0, a]},
    "ebcc": PREVALENCE
    | {"subtype_concentration": lambda a: a, "confusion_concentration": lambda a: 0.5 + a * np.eye(3)},
    "glad": PREVALENCE | {"ability": lambda a: (a, 1.5)},
    "hierarchical_dawid_skene": SPREADS,
    "hierarchical_scores": {"mean": lambda a: a, "spread": lambda a: a / 2},
    "item_difficulty": SPREADS,
    "item_states": {"weight_concentration": lambda a: a, "probability_concentration": lambda a: [a, a, 1.0]},
    "hierarchical_plackett_luce": {"concentration": lambda a: a, "spread": lambda a: a},
    "logistic_random_effects": SPREADS | {"effect_spread": lambda a: a},
    "mace": PREVALENCE
    | {"competence_concentration": lambda a: (a, 1.0), "spam_concentration": lambda a: a * np.ones((4, 3))},
    "multi_label": {
        "skill_concentration": lambda a: (1.0 + a, 2.0),
        "log_odds_ratio": lambda a: (a, 1.0),
        "strength": lambda a: (1.0, a),
    },
    "multinomial": PREVALENCE | {"confusion_concentration": lambda a: 0.5 + a * np.eye(3)},
    "normal_scores": {
        "mean": lambda a: a * np.arange(5.0),
        "mean_weight": lambda a: a,
        "shape": lambda a: 1 + a,
        "rate": lambda a: a,
    },
    "one_coin": ABILITY,
    "ordinal": {"spread": lambda a: a},
    "plackett_luce": {"concentration": lambda a: a},
    "prirn": {"reliability": lambda a: 10 * a},
    "shared_guess": PREVALENCE
    | {"groups": lambda a: list("xxyy"), "shared_concentration": lambda a: (a, 2.0)},
    "taxonomic": ABILITY,
    "tempered_plackett_luce": {
        "concentration": lambda a: a,
        "reliability": lambda a: dict.fromkeys(DATA["rankings"].raters.tolist(), a),
    },
    "thurstone": {"quality_scale": lambda a: a, "reliability_scale": lambda a: a**2},
}
AT = 1.3


def built(name, a):
    build = getattr(models, name)
    arguments = {argument: of(a) for argument, of in (PRIORS.get(name) or positive_priors(build)).items()}
    return build(TAG_SETS if name == "multi_label" else DATA[models.catalog[name].data], **arguments)


def positive_priors(build):
    """Return the priors of a builder that are one positive number by default, each as one."""
    parameters = signature(build).parameters.values()
    own = [p.name for p in parameters if isinstance(p.default, float) and p.name != "reliability"]
    return dict.fromkeys(own, lambda a: a)


def log_density(model, point):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the mode is for one evaluation
        return float(model.compile_logp(mode="FAST_COMPILE")(point))


@pytest.mark.parametrize("name", models.catalog)
def test_joint_density_is_that_of_the_fixed_model_times_the_prior(name):
    fixed = built(name, AT)
    with pm.Model() as outer:
        inner = built(name, pm.HalfNormal("a"))
    point = fixed.initial_point(1)
    joint = log_density(outer, point | {"a_log__": np.log(AT)})
    prior = halfnorm.logpdf(AT) + np.log(AT)  # with the Jacobian of the log
    assert joint == pytest.approx(log_density(fixed, point) + prior, abs=1e-10)
    other = log_density(outer, point | {"a_log__": np.log(2 * AT)})
    assert other - halfnorm.logpdf(2 * AT) - np.log(2 * AT) != pytest.approx(joint - prior, abs=1e-3)

    route = route_of(outer)
    assert route.method == "nuts"
    if models.catalog[name].methods[0] != "nuts":
        assert "random variable 'a'" in route.reason
    with pytest.raises(ValueError, match="an outer model"):
        route_of(inner)


def test_expression_without_random_variables_is_read_as_its_number():
    with pm.Model() as outer:
        data = pm.Data("alpha", [1.0, 2.0, 3.0])
        models.dawid_skene(LABELS, prevalence_concentration=data)
    options = {"draws": 40, "chains": 2, "random_seed": 1, "progressbar": False, "log_likelihood": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        tree = inference.sample(outer, **options)
        numbers = inference.sample(models.dawid_skene(LABELS, prevalence_concentration=[1, 2, 3]), **options)
    assert tree.attrs["method"] == "gibbs"
    assert tree["posterior"]["prevalence"].equals(numbers["posterior"]["prevalence"])
    outer.set_data("alpha", [1.0, 2.0, -3.0])
    assert route_of(outer).method == "nuts"
    assert "not positive" in route_of(outer).reason
    with pm.Model(), pytest.raises(ValueError, match="prevalence_concentration holds -1"):
        models.dawid_skene(LABELS, prevalence_concentration=pm.Data("alpha", [1.0, -1.0, 1.0]))


def test_random_covariates_of_the_raters_are_not_conjugate(golden):
    with pm.Model(coords={"rater": LABELS.raters}) as outer:
        slope = pm.HalfNormal("slope")
        models.one_coin(LABELS, ability_concentration=(1 + slope * np.arange(4.0), 2.0))
    golden.says(route_of(outer).reason, "'ability' depends")
    assert len(read_labels(outer).concentrations) == 3  # ConfusionGibbs can still move it, beside NUTS


def test_one_scale_of_qualities_and_reliabilities_is_not_two():
    with pm.Model() as outer:
        scale = pm.LogNormal("scale")
        models.bradley_terry(DATA["comparisons"], quality_scale=scale, reliability_scale=scale)
    assert route_of(outer).method == "nuts"
    assert "two roles" in route_of(outer).reason
    with pm.Model() as outer:
        models.bradley_terry(DATA["comparisons"], quality_scale=pm.LogNormal("scale"))
    assert route_of(outer).method == "hmc"  # a prior of the form that the sampler has


def test_random_power_of_a_hand_made_likelihood_goes_to_nuts():
    from raterzoo.models.distributions.counted_labels import CountedLabels

    counts = LABELS.counts
    with pm.Model() as model:
        power = pm.HalfNormal("power")
        plausibility = pm.Dirichlet("plausibility", np.ones(counts.shape))
        CountedLabels("observed_label", plausibility, counts.sum(axis=1), power, observed=counts)
    assert route_of(model).method == "nuts"
    assert "'power'" in route_of(model).reason


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("dirichlet", "reliability"),
        ("plackett_luce", "reliability"),
        ("prirn", "smoothing"),
        ("glad", "easiness"),
        ("bradley_terry", "reliability_range"),
    ],
)
def test_arguments_that_cannot_be_random_say_why(name, argument, golden):
    with pm.Model():
        a = pm.HalfNormal("a")
        value = (a, 2.0) if argument in ("easiness", "reliability_range") else a
        with golden.raises(ValueError):
            getattr(models, name)(DATA[models.catalog[name].data], **{argument: value})


def test_shapes_of_random_variables_are_checked(golden):
    with pm.Model(coords={"two": range(2)}):
        vector = pm.HalfNormal("vector", dims="two")  # its length is known when it is asked for
        with golden.raises(ValueError):
            models.dawid_skene(LABELS, prevalence_concentration=vector)
        with golden.raises(ValueError):
            models.ordinal(LABELS, spread=vector)
        with golden.raises(ValueError):
            models.one_coin(LABELS, ability_concentration=vector[0])
        with pytest.raises(ValueError, match="ability_concentration holds -1"):
            models.one_coin(LABELS, ability_concentration=(vector[0], -1.0))
        with pytest.raises(ValueError, match="type bool"):
            models.ordinal(LABELS, spread=pt.eq(vector[0], 1))


def test_model_inside_an_outer_one_has_its_names_and_draws():
    alone = models.normal_scores(DATA["scores"])
    with pm.Model(coords={"item": DATA["scores"].items}) as outer:
        inner = models.normal_scores(DATA["scores"])
    options = {"draws": 20, "chains": 2, "random_seed": 1, "progressbar": False}
    trees = [inference.sample(model, **options) for model in (alone, outer, inner)]
    for tree in trees[1:]:
        assert tree.attrs["method"] == "exact"
        assert tree["posterior"].equals(trees[0]["posterior"])
    with pm.Model(name="study") as named:
        models.normal_scores(DATA["scores"])
    assert "study::location" in named.named_vars
    assert route_of(named).method == "nuts"


def test_two_models_inside_an_outer_one(golden):
    with pm.Model() as outer:
        a = pm.HalfNormal("a")
        with pm.Model(name="first"):
            models.normal_scores(DATA["scores"], shape=1 + a)
        with pm.Model(name="second"):
            models.normal_scores(DATA["scores"], shape=1 + a)
        assert {"a", "first::location", "second::location"} <= set(outer.named_vars)
        with pytest.raises(ValueError, match=r"'item'.*share their coordinates"):
            models.dawid_skene(LABELS)
    with pm.Model():
        models.normal_scores(DATA["scores"])
        with golden.raises(ValueError):
            models.normal_scores(DATA["scores"])


def drawn(model, **options):
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        return inference.sample(
            model, draws=1000, tune=500, random_seed=1, progressbar=False, nuts_sampler="pymc", **options
        )


def z_of_mean(tree, name, expected):
    summary = az.summary(tree, var_names=[name], round_to="none")
    return float((summary["mean"].iloc[0] - expected) / summary["mcse_mean"].iloc[0])


@pytest.mark.slow
def test_hyperprior_of_a_concentration_agrees_with_quadrature(golden):
    counts = np.array([[5, 0], [4, 1], [0, 6], [2, 3], [5, 1], [0, 4]])
    labels = models.Labels.from_counts({"item": list("abcdef"), "no": counts[:, 0], "yes": counts[:, 1]})
    with pm.Model() as model:
        a = pm.HalfNormal("a", 2.0)
        models.dirichlet(labels, concentration=a * np.ones(2))
    tree = drawn(model)
    assert tree.attrs["method"] == "nuts"
    golden.says(tree.attrs["method_reason"], "'plausibility' depends")

    grid = np.linspace(1e-4, 15, 20_000)
    log_p = halfnorm.logpdf(grid, scale=2.0)
    for no, yes in counts:
        log_p += betaln(grid + no, grid + yes) - betaln(grid, grid)
    weight = np.exp(log_p - log_p.max())
    assert abs(z_of_mean(tree, "a", np.average(grid, weights=weight))) < 4
    prior = np.exp(halfnorm.logpdf(grid, scale=2.0))
    assert abs(z_of_mean(tree, "a", np.average(grid, weights=prior))) > 8  # of the prior alone

    assert {"posterior", "sample_stats", "observed_data", "log_likelihood", "log_prior"} <= set(tree.children)
    assert {"a", "plausibility"} <= set(tree["log_prior"].data_vars)
    assert "a" in inference.diagnose(tree)["element"].values
    assert tree["posterior"]["plausibility"].dims == ("chain", "draw", "item", "category")


@pytest.mark.long  # as the one above, of another kind of annotations
def test_covariate_of_the_items_agrees_with_quadrature():
    scores = DATA["scores"]
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    with pm.Model() as model:
        slope = pm.Normal("slope")
        models.normal_scores(scores, mean=slope * x, mean_weight=1.0, shape=3.0, rate=2.0)
    tree = drawn(model)
    grid = np.linspace(-4, 4, 1001)
    log_p = norm.logpdf(grid)
    for k in range(len(x)):
        y = np.repeat(scores.score, scores.count)[np.repeat(scores.annotation_item, scores.count) == k]
        spread = 2.0 / 3.0 * (np.eye(len(y)) + 1.0)  # of scores of one item, location and variance summed out
        log_p += [multivariate_t.logpdf(y, np.full(len(y), s * x[k]), spread, df=6.0) for s in grid]
    weight = np.exp(log_p - log_p.max())
    assert abs(z_of_mean(tree, "slope", np.average(grid, weights=weight))) < 4
    assert abs(z_of_mean(tree, "slope", 0.0)) > 8  # of the prior
    assert tree["log_likelihood"]["observed_score"].dims == ("chain", "draw", "item")
