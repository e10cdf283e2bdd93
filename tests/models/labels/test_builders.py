"""The builders of label models: laws, dims, priors, replicates, samplers, refusals."""

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models

from tests.support.label_designs import exact_means, favoured, tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of

NAMES = [
    "class_conditional",
    "dawid_skene",
    "dirichlet",
    "hierarchical_dawid_skene",
    "multinomial",
    "one_coin",
]
LABELS = tiny_labels()
OPTIONS = {"tune": 500, "chains": 4, "progressbar": False, "compute_convergence_checks": False}
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pymc.sampling.jax"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    # a prior draw of PyMC's mass matrix at the very start
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]


@pytest.mark.parametrize("name", NAMES)
def test_replicates_and_pointwise_likelihood(name):
    model = getattr(models, name)(LABELS)
    # a matrix of each rater is also compiled to machine code
    once = {"compile_kwargs": {} if name == "dawid_skene" else {"mode": "FAST_COMPILE"}}
    with model:
        tree = pm.sample_prior_predictive(30, random_seed=1, **once)
        tree["posterior"] = tree["prior"]
        pm.compute_log_likelihood(tree, progressbar=False, **once)
        posterior = pm.sample_posterior_predictive(tree, random_seed=1, progressbar=False, **once)
    for predictive in (tree["prior_predictive"], posterior["posterior_predictive"]):
        replicate, observed = predictive["observed_label"], tree["observed_data"]["observed_label"]
        assert replicate.shape[2:] == observed.shape and replicate.min() >= 0
    plausibility = tree["posterior"]["plausibility"]
    assert plausibility.dims == ("chain", "draw", "item", "category")
    np.testing.assert_allclose(plausibility.sum("category"), 1, rtol=1e-9)
    log_p = tree["log_likelihood"]["observed_label"]
    assert log_p.shape == (1, 30, len(LABELS.items))
    if name == "dawid_skene":
        gold = plausibility.sel(item="d", category="y")
        np.testing.assert_allclose(gold, 1, rtol=1e-15)


def means(tree):
    return {k: tree["posterior"][k].to_numpy() for k in ("prevalence", "confusion", "plausibility")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    ["pymc", *(pytest.param(name, marks=pytest.mark.long) for name in ("nutpie", "numpyro", "blackjax"))],
)
def test_every_sampler_draws_the_exact_posterior(sampler):
    beta = np.broadcast_to(favoured(2), (3, 2, 2)).copy()
    extra = {"cores": 1, "quiet": True} if sampler == "pymc" else {}
    if sampler in ("numpyro", "blackjax"):
        extra = {"nuts_sampler_kwargs": {"chain_method": "vectorized"}}
    with models.dawid_skene(LABELS, prevalence_concentration=2.0):
        tree = pm.sample(1000, nuts_sampler=sampler, random_seed=seed_of(sampler), **OPTIONS, **extra)

    def check(alpha, beta):
        check_means(means(tree), exact_means(LABELS, alpha, beta))

    check(np.full(2, 2.0), beta)
    assert_rejects_twin(check, np.full(2, 2.0), beta + np.array([2.0, 0.0]))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.parametrize("name", ["dawid_skene", "hierarchical_dawid_skene"])
def test_sample_takes_numpyro(name):
    model = getattr(models, name)(LABELS)
    few = {"draws": 20, "tune": 20, "chains": 2, "random_seed": 1, "progressbar": False}
    tree = inference.sample(model, method="nuts", nuts_sampler="numpyro", **few)
    assert tree["posterior"]["confusion"].sizes["draw"] == 20
    assert {"log_likelihood", "log_prior"} <= set(tree.children)


def test_concentrations_of_every_shape():
    n_raters, n = len(LABELS.raters), len(LABELS.categories)
    for shape in ((), (n, n), (n_raters, n, n)):
        model = models.dawid_skene(LABELS, confusion_concentration=np.full(shape, 1.5))
        beta = model["confusion"].owner.op.dist_params(model["confusion"].owner)[0].eval()
        np.testing.assert_array_equal(beta, np.full((n_raters, n, n), 1.5))
    beta = models.dawid_skene(LABELS)["confusion"].owner.inputs[2].eval()
    np.testing.assert_allclose(beta[0], [[4.8, 3.2], [3.2, 4.8]])


@pytest.mark.parametrize(
    "build",
    [
        lambda: models.dawid_skene(LABELS, confusion_concentration=0),
        lambda: models.dawid_skene(LABELS, confusion_concentration=np.ones(3)),
        lambda: models.dawid_skene(LABELS, prevalence_concentration=np.nan),
        lambda: models.one_coin(LABELS, ability_concentration=(1, -1)),
        lambda: models.one_coin(LABELS, ability_concentration="no"),
        lambda: models.class_conditional(LABELS, ability_concentration=3),
        lambda: models.hierarchical_dawid_skene(LABELS, diagonal="x"),
        lambda: models.dirichlet(LABELS, reliability=0),
        lambda: models.hierarchical_dawid_skene(LABELS, diagonal=np.inf),
        lambda: models.hierarchical_dawid_skene(LABELS, diagonal=True),
        lambda: models.hierarchical_dawid_skene(LABELS, diagonal=10**400),
        lambda: models.hierarchical_dawid_skene(LABELS, spread=-1),
        lambda: models.hierarchical_dawid_skene(LABELS, spread="2"),
    ],
)  # fmt: skip
def test_wrong_priors_are_named(build, golden):
    with golden.raises(ValueError):
        build()


def test_numbers_of_numpy_are_numbers():
    model = models.hierarchical_dawid_skene(LABELS, diagonal=np.float32(2), spread=np.float32(0.5))
    np.testing.assert_array_equal(model["population_mean"].owner.inputs[2].eval(), 2 * np.eye(2))


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"dirichlet", "multinomial"}))
def test_models_of_raters_refuse_anonymous_counts(name):
    counts = models.Labels.from_counts({"item": ["a", "b"], "x": [1, 2], "y": [0, 3]})
    with pytest.raises(ValueError, match=rf"{name} describes each rater.*anonymous"):
        getattr(models, name)(counts)
    models.multinomial(counts)
    models.dirichlet(counts)
