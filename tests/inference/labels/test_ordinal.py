"""Ordinal model drawn by Gibbs: against weighted draws of the prior, a wrong twin; densities, recognition, extremes."""

import warnings

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models
from scipy.special import expit, logsumexp
from scipy.stats import norm

from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of
from tests.support.runs import route_of

TABLE = {
    "item": ["a", "a", "a", "b", "b", "c", "c", "d"],
    "rater": list("rrsrsrts"),
    "label": ["mid", "low", "high", "mid", "mid", "low", "low", "high"],
    "gold": [""] * 5 + ["mid", "mid", ""],
}
ORDER = ["low", "mid", "high"]
LABELS = models.Labels.from_table(TABLE, gold="gold", categories=["high", "low", "mid"])
PLACE = [ORDER.index(name) for name in LABELS.categories.tolist()]
NAMES = ["centre", "log_increment", "log_scale", "shift_spread", "scale_spread", "rater_centre"]
OUTPUTS = ["rater_shift", "rater_scale", "threshold", "prevalence", "plausibility", "expected_location"]


def probability(centre, log_scale, increment, z):
    """Probability of each label, from lowest to highest, shape (draw, node, label)."""
    steps = np.stack([-increment / 2, increment / 2], axis=-1)
    reached = expit((centre[:, None, None] + steps[:, None] - z[:, None]) / np.exp(log_scale)[:, None, None])
    return np.maximum(np.diff(reached, axis=-1, prepend=0, append=1), 1e-30)


def weighted_means(draws=100_000, spread=0.5):
    """Posterior means by draws of the prior, weighted by the likelihood with the locations summed over a grid."""
    rng = np.random.default_rng(seed_of("ordinal by the prior"))
    z = np.linspace(-6, 6, 41)
    log_weight = norm.logpdf(z) - logsumexp(norm.logpdf(z))
    own = {"centre": rng.normal(size=draws), "log_scale": np.log(0.55) + 0.5 * rng.normal(size=draws)}
    thirds = norm.ppf([1 / 3, 2 / 3]) * np.hypot(1, 0.55 * np.pi / np.sqrt(3))
    own["log_increment"] = np.log(np.diff(thirds)) + 0.75 * rng.normal(size=(draws, 1))
    own |= {name: np.abs(spread * rng.normal(size=draws)) for name in ("shift_spread", "scale_spread")}
    shift = own["shift_spread"][:, None] * rng.normal(size=(draws, 3))
    wider = own["scale_spread"][:, None] * rng.normal(size=(draws, 3))
    own |= {"rater_shift": shift, "rater_centre": own["centre"][:, None] + shift}
    log_scale = own["log_scale"][:, None] + wider
    own["rater_scale"] = np.exp(log_scale)
    increment = np.exp(own["log_increment"][:, 0])
    own["threshold"] = own["centre"][:, None] + np.stack([-increment / 2, increment / 2], axis=1)
    typical = probability(own["centre"], own["log_scale"], increment, z)
    own["prevalence"] = (np.exp(log_weight) @ typical)[:, PLACE]
    by_rater = [probability(own["rater_centre"][:, k], log_scale[:, k], increment, z) for k in range(3)]
    joint = np.repeat((np.exp(log_weight) * np.ones((draws, 1)))[:, None], 4, axis=1)
    for i, k, label in zip(LABELS.annotation_item, LABELS.annotation_rater, LABELS.label_code, strict=True):
        joint[:, i] *= by_rater[k][..., PLACE[label]]
    joint[:, 2] *= typical[..., ORDER.index("mid")]
    each = joint.sum(axis=2)
    own["expected_location"] = joint @ z / each
    own["plausibility"] = np.einsum("din,dnl->dil", joint / each[..., None], typical)[..., PLACE]
    own["plausibility"][:, 2] = np.eye(3)[LABELS.categories.tolist().index("mid")]
    weight = each.prod(axis=1)
    return {name: np.tensordot(weight, x, (0, 0)) / weight.sum() for name, x in own.items()}


def sampled(model, **options):
    with warnings.catch_warnings(action="ignore"):
        return inference.sample(model, progressbar=False, dtype="float64", **options)


@pytest.mark.slow
def test_gibbs_draws_the_exact_posterior():
    model = models.ordinal(LABELS, order=ORDER)
    assert (route_of(model).name, route_of(model).method) == ("ordinal", "gibbs")
    tree = sampled(model, draws=2000, thin=3, random_seed=seed_of("ordinal"))
    posterior = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    draws = {name: posterior[name].to_numpy() for name in NAMES + OUTPUTS}
    check_means(draws, weighted_means())
    assert_rejects_twin(check_means, draws, weighted_means(spread=0.6))


@pytest.mark.slow
def test_tree_has_the_variables_and_densities_of_the_model():
    design = models.simulators.labels(
        model="ordinal", categories=3, items=30, raters=5, answers=4, gold=0.2, random_seed=3
    )
    model = models.ordinal(design.data)
    tree = sampled(model, draws=20, chains=2, random_seed=1)
    assert (tree.attrs["model"], tree.attrs["method"]) == ("ordinal", "gibbs")
    free = [rv.name for rv in model.free_RVs]
    with model:
        derived = pm.compute_deterministics(
            tree["posterior"].to_dataset()[free], merge_dataset=False, progressbar=False
        )
    for name, expected in derived.data_vars.items():
        found = tree["posterior"][name].transpose(*expected.dims)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10, err_msg=name)
    for group, compute in {
        "log_prior": pm.stats.compute_log_prior,
        "log_likelihood": pm.compute_log_likelihood,
    }.items():
        own = tree.copy()
        del own[group]
        with model:
            expected = compute(own, progressbar=False)[group]
        for name, values in expected.data_vars.items():
            np.testing.assert_allclose(tree[group][name], values, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.long
def test_gibbs_of_raters_who_are_not_told_apart_is_that_of_nuts():
    rng = np.random.default_rng(seed_of("anonymous ordinal"))
    counts = {"item": np.arange(25)} | dict(
        zip(ORDER, rng.multinomial(4, [0.5, 0.3, 0.2], 25).T, strict=True)
    )
    model = models.ordinal(models.Labels.from_counts(counts), order=ORDER)
    assert route_of(model).method == "gibbs"
    exact = sampled(model, draws=3000, method="nuts", nuts_sampler="nutpie", random_seed=1)["posterior"]
    exact = {
        name: exact[name].transpose("chain", "draw", ...).to_numpy()
        for name in ("centre", "log_increment", "log_scale")
    }
    tree = sampled(model, draws=4000, thin=4, random_seed=2)["posterior"]
    draws = {name: tree[name].transpose("chain", "draw", ...).to_numpy() for name in exact}
    check_means(draws, {name: x.mean(axis=(0, 1)) for name, x in exact.items()})
    for name, x in exact.items():
        np.testing.assert_allclose(draws[name].std(axis=(0, 1)), x.std(axis=(0, 1)), rtol=0.08)


@pytest.mark.slow
def test_extreme_raters_have_finite_draws():
    """One rater always gives one label, one is at random, two agree always, and some items are gold."""
    rng = np.random.default_rng(seed_of("extreme ordinal"))
    truth = rng.integers(0, 3, 40)
    answer = np.stack([truth, truth, np.full(40, 2), rng.integers(0, 3, 40)], axis=1)
    gold = np.where(np.arange(40) < 5, truth.astype(object), None)
    table = {"item": np.repeat(np.arange(40), 4), "rater": np.tile(np.arange(4), 40), "label": answer.ravel()}
    labels = models.Labels.from_table(table | {"gold": np.repeat(gold, 4)}, gold="gold")
    tree = sampled(models.ordinal(labels), draws=300, random_seed=1)
    posterior = tree["posterior"].to_dataset().mean(("chain", "draw"))
    assert all(np.isfinite(x).all() for x in posterior.data_vars.values())
    assert (posterior["plausibility"].to_numpy().argmax(axis=1) == truth).mean() > 0.9
    assert posterior["rater_scale"].to_numpy()[:2].max() < posterior["rater_scale"].to_numpy()[3]


@pytest.mark.parametrize("change", ["nodes", "spread", "fixed"])
def test_another_law_goes_to_nuts(change, golden):
    if change == "nodes":
        model = models.ordinal(LABELS, order=ORDER, nodes=15)
    elif change == "spread":
        with pm.Model() as model:
            models.ordinal(LABELS, order=ORDER, spread=pm.HalfNormal("wide"))
    else:
        model = pm.do(models.ordinal(LABELS, order=ORDER), {"log_scale": np.array(-0.5)})
    route = route_of(model)
    assert (route.name, route.method) == ("ordinal", "nuts")
    golden.says(route.reason, "")
