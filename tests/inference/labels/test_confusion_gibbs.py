"""The step: the posterior of enumeration for every structure, random concentrations, and loud refusals."""

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models
from raterzoo.inference.labels import gibbs
from raterzoo.models.labels.observed import observe_labels
from scipy.stats import beta, dirichlet

from tests.support.label_designs import exact_means, favoured, tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, check_means, mc_z, seed_of
from tests.support.runs import NotConjugate

LABELS = tiny_labels()
QUIET = {"progressbar": False, "compute_convergence_checks": False, "quiet": True}
SKILL = {"one_coin": "ability", "class_conditional": "ability"}


def steps(model, draws, seed, skill="confusion", **options):
    with model:
        step = inference.ConfusionGibbs([model["prevalence"], model[skill]])
        settings = {"tune": 100, "chains": 4, "cores": 1, "random_seed": seed, "step": step}
        return pm.sample(draws, **settings | QUIET | options)


def check(tree, exact):
    check_means(tree["posterior"], exact)


@pytest.mark.long
def test_step_draws_the_exact_posterior():
    alpha, beta = np.array([1.0, 2.0]), np.broadcast_to(favoured(2), (3, 2, 2))
    model = models.dawid_skene(LABELS, prevalence_concentration=alpha)
    tree = steps(model, 3000, seed_of("step of labels"))
    check(tree, exact_means(LABELS, alpha, beta))
    assert_rejects_twin(check, tree, exact_means(LABELS, alpha, beta + 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["class_conditional", "multinomial", "one_coin"])
def test_step_and_loop_have_one_posterior(name):
    seed = seed_of(f"step and loop {name}")
    model = getattr(models, name)(LABELS)
    tree = steps(model, 2000, seed, SKILL.get(name, "confusion"))
    loop = inference.sample(
        model, draws=20_000, dtype="float64", log_likelihood=False, random_seed=seed, **{"progressbar": False}
    )
    names = ("prevalence", SKILL.get(name, "confusion"))
    means = {v: loop["posterior"][v].mean(("chain", "draw")).to_numpy() for v in names}
    z = np.concatenate([mc_z(tree["posterior"][v].to_numpy(), means[v]).ravel() for v in names])
    assert np.abs(z).max() < bonferroni_threshold(z.size) * np.sqrt(
        1.1
    )  # the loop has a tenth of the variance


def population(labels):
    """Raters whose matrices gather around the diagonal as closely as the data say."""
    coords = {"rater": labels.raters, "category": labels.categories, "answer": labels.categories}
    coords |= {"item": labels.items, "annotation": range(len(labels))}
    with pm.Model(coords=coords) as model:
        strength = pm.Gamma("strength", 4.0, 4.0)
        prevalence = pm.Dirichlet("prevalence", np.ones(2), dims="category")
        beta = strength * np.broadcast_to(favoured(2), (3, 2, 2))
        confusion = pm.Dirichlet("confusion", beta, dims=("rater", "category", "answer"))
        observe_labels(labels, prevalence, confusion)
    return model


@pytest.mark.long
def test_random_concentration_is_moved_by_another_step():
    seed = seed_of("population")
    model = population(LABELS)
    mixed = steps(model, 2000, seed, tune=500)
    with model:
        options = {"tune": 1000, "chains": 4, "cores": 1, "random_seed": seed} | QUIET
        nuts = pm.sample(2000, **options)
    for name in ("strength", "prevalence", "confusion"):
        one, other = (t["posterior"][name].to_numpy() for t in (mixed, nuts))
        z = np.stack([mc_z(one, other.mean((0, 1))), mc_z(other, one.mean((0, 1)))])
        combined = 1 / np.sqrt((1 / z**2).sum(axis=0))  # of both errors
        assert combined.max() < bonferroni_threshold(15)
    with pytest.raises(ValueError, match="use ConfusionGibbs as a step"):
        inference.sample(model, method="gibbs", progressbar=False)


@pytest.mark.long  # processes compile the step of PyMC anew
def test_same_seed_same_draws_in_processes():
    model = models.dawid_skene(LABELS)
    one, two = (
        steps(model, 50, 3, cores=cores, mp_ctx="spawn")["posterior"]["confusion"].to_numpy()
        for cores in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_refusals_say_what_is_not_conjugate(golden):
    hierarchical = models.hierarchical_dawid_skene(LABELS)
    with hierarchical, golden.raises(NotConjugate):
        inference.ConfusionGibbs()
    with models.dirichlet(LABELS), pytest.raises(NotConjugate, match="one observed RaterLabels"):
        inference.ConfusionGibbs()
    model = models.dawid_skene(LABELS)
    with model, golden.raises(NotConjugate):
        inference.ConfusionGibbs([model["prevalence"]])
    with models.dawid_skene(LABELS) as model:
        pm.Normal("score", model["prevalence"][0], 1.0)
        with golden.raises(NotConjugate):
            inference.ConfusionGibbs()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probabilities_that_storage_has_rounded_to_0_or_1_keep_a_log_density(dtype):
    kind = np.finfo(dtype)
    p, within = (
        np.array([0, 0.3, 1], dtype),
        np.array([kind.tiny, np.array(0.3, dtype), 1 - kind.epsneg], float),
    )
    found = gibbs.beta_log_density(p, np.array(0.5), np.array(2.5))
    np.testing.assert_allclose(found, beta.logpdf(within, 0.5, 2.5), rtol=1e-5)
    alpha, rows = np.array([0.5, 2.0, 3.0]), np.array([[0.2, 0.3, 0.5], [0, 0.4, 0.6]], dtype)
    found = gibbs.dirichlet_log_density(rows, alpha)
    assert found[0] == pytest.approx(
        dirichlet.logpdf(rows[0].astype(float) / rows[0].sum(dtype=float), alpha), rel=1e-5
    )
    assert found[1] == pytest.approx(dirichlet.logpdf([kind.tiny, 0.4, 0.6], alpha), rel=1e-5)


@pytest.mark.slow
def test_tiny_concentrations_stay_finite():
    model = models.dawid_skene(LABELS, confusion_concentration=1e-3, prevalence_concentration=1e-3)
    step = inference.ConfusionGibbs(model=model, rng=1)
    point = model.initial_point()
    before = {name: value.copy() for name, value in point.items()}
    moved = point
    for _ in range(200):
        moved, (stats,) = step.step(moved)
        assert all(np.isfinite(value).all() for value in moved.values()) and stats["tune"]
    for name, value in point.items():
        np.testing.assert_array_equal(value, before[name])
