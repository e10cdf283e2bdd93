"""Power scaling by item against Dirichlet laws, which stay Dirichlet, and against ArviZ on one item."""

import warnings

import arviz_stats
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation.sensitivity import densities as item_densities
from raterzoo.evaluation.sensitivity import prior
from scipy.special import xlogy
from scipy.stats import gamma

from tests.support.dermatology import dermatology
from tests.support.evaluation_parts import Plausibility
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from tests.support.source_twins import altered

CONCENTRATION = np.array([0.6, 1.5, 3.0])
POWERS = {"prior": (1, 0), "likelihood": (0, 1)}
N_ITEMS = 60


def dirichlet_tree(counts, reliability, seed, **options):
    frame = pd.DataFrame(counts, columns=list("xyz"))
    labels = models.Labels.from_counts(frame.assign(item=[f"case {i}" for i in frame.index]))
    model = models.dirichlet(labels, concentration=CONCENTRATION, reliability=reliability)
    return inference.sample(model, random_seed=seed, progressbar=False, **options)


def pooled(of_items):
    def over_items(*args):
        found = of_items(*args)
        each, *more = found if isinstance(found, tuple) else (found,)
        total = np.broadcast_to(each.sum(axis=0), each.shape).copy()
        return (total, *more) if more else total

    return over_items


def with_pooled(name):
    """Twin of `prior_sensitivity` in which every item has the sum of all items' densities."""
    twin = altered("ItemDensities", **{name: pooled(getattr(item_densities, name))}).ItemDensities
    return altered("prior_sensitivity", ItemDensities=twin).prior_sensitivity


# one weight by draw for all items; the likelihood without the power that the model gives it
POOLED_PRIOR, POOLED_LIKELIHOOD = with_pooled("prior_of_items"), with_pooled("likelihood_of_items")
UNPOWERED = altered("prior_sensitivity", reliability_of=lambda tree: None).prior_sensitivity


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(seed_of("counts")).multinomial(5, [0.5, 0.3, 0.2], N_ITEMS)


@pytest.fixture(scope="module")
def tree(counts):
    return dirichlet_tree(counts, 2, seed_of("power scaling"), draws=4000)


def scaled_law(counts, component, alpha):
    of_prior, of_likelihood = (alpha if power else 1 for power in POWERS[component])
    return 1 + of_prior * (CONCENTRATION - 1) + of_likelihood * 2 * counts


def share(law):
    return law[..., 0] / law.sum(axis=-1)


def errors(tree, counts, component, found):
    """Return z of the means and of the gradient of the plausibility of x, its errors those of weights by item."""
    p = tree["posterior"]["plausibility"].to_numpy().reshape(-1, N_ITEMS, 3).astype(float)
    density = xlogy((CONCENTRATION - 1 if component == "prior" else 2 * counts), p).sum(axis=-1)
    z = []
    for alpha in (0.8, 1.25):
        weight = np.exp((alpha - 1) * (density - density.max(axis=0)))
        weight /= weight.sum(axis=0)
        exact = share(scaled_law(counts, component, alpha))
        error = np.sqrt(((weight * (p[..., 0] - exact)) ** 2).sum(axis=0))
        z.append((found["mean"].sel(component=component, alpha=alpha) - exact) / error)
    law, change = scaled_law(counts, component, 1), 1e-6
    slope = (
        share(scaled_law(counts, component, 1 + change)) - share(scaled_law(counts, component, 1 - change))
    ) / (2 * change)
    influence = (p[..., 0] - share(law)) * (density - density.mean(axis=0))
    error = np.log(2) * influence.std(axis=0) / np.sqrt(len(p))
    z.append((found["gradient"].sel(component=component) - np.log(2) * slope) / error)
    total = found["total_gradient"].sel(component=component).item() - np.log(2) * slope.mean()
    z.append(np.array([total / np.sqrt((error**2).sum()) * N_ITEMS]))
    return np.concatenate(z)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("component", "twins"), [("prior", [POOLED_PRIOR]), ("likelihood", [POOLED_LIKELIHOOD, UNPOWERED])]
)
def test_means_and_gradients_are_those_of_dirichlet_laws(tree, counts, component, twins):
    quantity = tree["posterior"]["plausibility"].sel(category="x", drop=True)

    def check(how):
        z = errors(tree, counts, component, how(tree, quantity, distance="mean"))
        assert np.abs(z).max() < bonferroni_threshold(z.size)

    check(prior.prior_sensitivity)
    for twin in twins:
        assert_rejects_twin(check, twin)


@pytest.mark.parametrize("n_items", [1, 3])
def test_sensitivity_is_that_of_arviz_item_by_item(n_items):
    counts = np.array([[4, 1, 0], [0, 2, 1], [1, 1, 1]])[:n_items]
    tree = dirichlet_tree(counts, 1, 3, draws=500)
    found = prior.prior_sensitivity(tree, tree["posterior"]["plausibility"].sel(category="y", drop=True))
    assert found.attrs["distance"] == "cjs"
    for i in range(n_items):
        groups = {
            name: tree[name].to_dataset().isel(item=[i])
            for name in ("posterior", "log_likelihood", "log_prior")
        }
        alone = xr.DataTree.from_dict(groups)
        for component in POWERS:
            theirs = arviz_stats.psense(alone, group=component)["plausibility"].sel(category="y")
            np.testing.assert_allclose(found[component][i], theirs[0], rtol=1e-4)


def test_default_quantity_is_the_certainty(tree):
    found = prior.prior_sensitivity(tree)
    certainty = evaluation.annotation_certainty(tree)
    for component in POWERS:
        means = found["mean"].sel(component=component, alpha=1)
        np.testing.assert_allclose(means, certainty, rtol=1e-12)
        np.testing.assert_allclose(found[component], abs(found["gradient"].sel(component=component)))
    assert found.attrs["quantity"] == "annotation_certainty"
    assert (found.attrs["distance"], found.attrs["prior_of"]) == ("mean", "plausibility")
    assert found["diagnosis"].dims == ("item",) and found["pareto_k"].max() < 0.7
    np.testing.assert_array_equal(found["item"], tree["posterior"]["item"])


def test_slopes_need_no_weights(tree):
    whole, slopes = prior.prior_sensitivity(tree), prior.sensitivity_of(tree, weighted=("likelihood",))
    without = {"component": ["prior"]}
    for name in ("mean", "pareto_k"):
        xr.testing.assert_identical(
            whole[name].sel(component="likelihood"), slopes[name].sel(component="likelihood")
        )
    assert np.isnan(slopes["pareto_k"].sel(without)).all() and not np.isnan(whole["pareto_k"]).any()
    xr.testing.assert_identical(whole.drop_vars(["mean", "pareto_k"]), slopes.drop_vars(["mean", "pareto_k"]))


def test_gradient_errors_cover(tree, counts):
    quantity = tree["posterior"]["plausibility"].sel(category="x", drop=True)
    found = prior.prior_sensitivity(tree, quantity, distance="mean")
    slope = np.log(2) * (
        share(scaled_law(counts, "prior", 1 + 1e-6)) - share(scaled_law(counts, "prior", 1 - 1e-6))
    )
    one = found.sel(component="prior")
    z = (one["gradient"] - slope / 2e-6) / one["gradient_mcse"]
    assert np.abs(z).max() < bonferroni_threshold(N_ITEMS)
    assert 0.5 < float((z**2).mean()) < 2  # of 60 chi squares, 8 standard errors above


def test_diagnosis_in_the_words_of_arviz():
    # a strong prior against many votes; no votes; many votes
    counts = np.array([[12, 0, 0], [0, 0, 0], [0, 0, 40]])
    tree = dirichlet_tree(counts, 1, 1)
    quantity = tree["posterior"]["plausibility"].sel(category="x", drop=True)
    found = prior.prior_sensitivity(tree, quantity, threshold=0.01, distance="mean")
    assert found["diagnosis"].to_numpy().tolist() == [
        "potential prior-data conflict",
        "potential strong prior / weak likelihood",
        "✓",
    ]
    assert found["likelihood"][1] == 0 and found["pareto_k"].sel(component="likelihood")[1] == -np.inf


@pytest.mark.slow
def test_a_constant_quantity_is_insensitive(tree):
    constant = xr.ones_like(tree["posterior"]["plausibility"].isel(category=0, drop=True))
    for distance in ("mean", "cjs"):
        found = prior.prior_sensitivity(tree, constant, distance=distance)
        assert (found["prior"] == 0).all() and (found["likelihood"] == 0).all()
        assert (found["total_gradient_mcse"] == 0).all()


def test_cjs_of_an_indicator_is_the_relative_change_of_its_rarer_value():
    """A certainty that moves by less than .05 when the prior doubles is far above it by CJS."""
    tree = dirichlet_tree(np.array([[12, 0, 0]]), 1, seed_of("rare"))
    certain, distance = prior.prior_sensitivity(tree), prior.prior_sensitivity(tree, distance="cjs")
    assert certain["mean"].sel(component="prior", alpha=1).item() > 0.99
    assert certain["prior"].item() < 0.05 and distance["prior"].item() > 0.5
    assert certain["diagnosis"].item() == "✓" != distance["diagnosis"].item()


def test_a_prior_that_cannot_be_scaled_has_a_large_k():
    """Dirichlet(c) to the power 1.25 is improper for c < .2; the stored density of the smallest c is cut off."""
    counts = np.array([[3, 2, 0], [4, 0, 0]])
    frame = pd.DataFrame(counts, columns=list("xyz")).assign(item=["a", "b"])
    for concentration in (0.1, 0.002):
        model = models.dirichlet(models.Labels.from_counts(frame), concentration=concentration)
        tree = inference.sample(model, random_seed=1, progressbar=False)
        k = prior.prior_sensitivity(tree)["pareto_k"]
        assert (k.sel(component="prior") > 0.7).all(), concentration


def test_items_are_matched_by_name(tree):
    quantity = tree["posterior"]["plausibility"].sel(category="x", drop=True)
    shuffled = quantity.isel(item=np.random.default_rng(1).permutation(N_ITEMS))
    found = prior.prior_sensitivity(tree, shuffled.transpose("item", "draw", "chain"), distance="mean")
    assert found.identical(prior.prior_sensitivity(tree, quantity, distance="mean"))


def worth_tree(rng, concentration, n_items=3, n_draws=200, dense=False):
    """Return a tree of Gamma worths whose plausibilities and totals are known."""
    owner, shape = np.repeat(np.arange(n_items), 4), np.tile(concentration, n_items)
    worth = rng.gamma(shape + 2, size=(2, n_draws, len(shape)))
    total = np.add.reduceat(worth, np.arange(0, len(shape), 4), axis=-1)
    p = worth / np.repeat(total, 4, axis=-1)
    coords = {"item": ("candidate", owner), "category": ("candidate", list("abcd") * n_items)}
    dims, size = ("chain", "draw", "candidate"), (2, n_draws, -1)
    if dense:
        coords = {"item": np.arange(n_items), "category": list("abcd")}
        dims, size = ("chain", "draw", "item", "category"), (2, n_draws, n_items, 4)

    def group(**arrays):
        stored = {k: (dims, v.reshape(size).astype(np.float32)) for k, v in arrays.items()}
        group = xr.Dataset(stored, coords)
        for variable in group.values():
            variable.attrs["truth"] = "distribution"
        return group

    groups = {
        "posterior": group(worth=worth, plausibility=p),
        "log_prior": group(worth=gamma(shape).logpdf(worth)),
    }
    return xr.DataTree.from_dict(groups), p.reshape(2 * n_draws, n_items, 4)


@pytest.mark.parametrize("dense", [False, True])
def test_prior_of_worths_is_that_of_their_plausibilities(dense):
    concentration = np.array([0.002, 0.5, 1.0, 2.5])
    tree, p = worth_tree(np.random.default_rng(3), concentration, dense=dense)
    found, of_plausibility = item_densities.prior_of_items(tree, Plausibility.of(tree))
    exact = xlogy(concentration - 1, p).sum(axis=-1).T
    assert of_plausibility
    difference = found - exact
    np.testing.assert_allclose(difference, difference[:, :1] * np.ones(p.shape[0]), atol=1e-3)
    # with the total the weights would be of another law
    twin = altered("prior_of_items", _total_law=lambda *_: None)
    with_total, of_plausibility = twin.prior_of_items(tree, Plausibility.of(tree))
    assert not of_plausibility and np.ptp(with_total - exact, axis=1).min() > 1


def test_another_prior_of_worths_is_taken_as_it_is():
    tree, _ = worth_tree(np.random.default_rng(4), np.ones(4))
    worth = tree["posterior"]["worth"]
    tree["log_prior"] = (-0.5 * np.log(worth) ** 2).to_dataset(name="worth")
    found, of_plausibility = item_densities.prior_of_items(tree, Plausibility.of(tree))
    stored = tree["log_prior"]["worth"].to_numpy().reshape(400, 3, 4).sum(axis=-1).T
    assert not of_plausibility
    np.testing.assert_allclose(found, stored, rtol=1e-6)


def test_score_of_a_metric_on_rankings():
    rankings, _ = dermatology()
    few = rankings.select(items=rankings.items[:40])
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(models.plackett_luce(few, reliability=3), random_seed=1, progressbar=False)
    scores = xr.DataArray(
        np.random.default_rng(1).random((40, len(few.categories))),
        {"item": few.items, "category": few.categories},
        ("item", "category"),
    )
    top3 = evaluation.uncertainty_adjusted(
        evaluation.top_k_accuracy(3), tree, scores, reduce=None, random_seed=1
    )
    found = prior.prior_sensitivity(tree, top3)
    assert found.attrs == {
        "quantity": "top_3_accuracy",
        "distance": "mean",
        "threshold": 0.05,
        "prior_of": "plausibility",
    }
    means = found["mean"].sel(alpha=1).isel(component=0, drop=True)
    np.testing.assert_allclose(means, top3.mean(("chain", "draw")), atol=1e-6)
    assert set(found["total_gradient"].dims) == {"component"}


def test_refused(tree, golden):
    quantity = tree["posterior"]["plausibility"].sel(category="x", drop=True)
    by_classifier = quantity.expand_dims(classifier=["A", "B"])
    wrong = [
        by_classifier,
        quantity.mean("item"),
        quantity.isel(draw=slice(10)),
        quantity[..., 1:],
        quantity[..., 1:].drop_vars("item"),
        quantity.where(quantity["item"] != "case 7"),
        quantity.to_numpy(),
    ]
    for value in wrong:
        with golden.raises(evaluation.EvaluationError):
            prior.prior_sensitivity(tree, value)
    with pytest.raises(evaluation.EvaluationError, match="distance='tv'"):
        prior.prior_sensitivity(tree, distance="tv")
    with pytest.raises(evaluation.EvaluationError, match="threshold=0"):
        prior.prior_sensitivity(tree, threshold=0)
    for group in ("log_prior", "log_likelihood"):
        less = xr.DataTree.from_dict(
            {name: tree[name].to_dataset() for name in tree.children if name != group}
        )
        with golden.raises(evaluation.EvaluationError):
            prior.prior_sensitivity(less)
    less.attrs["model"] = "prirn"
    with golden.raises(evaluation.EvaluationError):
        prior.prior_sensitivity(less)


def test_a_quantity_has_the_items_of_the_posterior_each_once(golden):
    law = xr.DataArray(np.full((1, 2, 2, 2), 0.5), {"item": ["a", "b"], "category": ["x", "y"]},
                       ("chain", "draw", "item", "category"))  # fmt: skip
    view, quantity = Plausibility.of(law), law.isel(category=0, drop=True)
    prior._check_quantity(view, quantity)
    for items in (["a", "c"], ["a", "a"], ["a", "b", "b"]):
        other = xr.DataArray(np.ones((1, 2, len(items))), {"item": items}, ("chain", "draw", "item"))
        with golden.raises(evaluation.EvaluationError):
            prior._check_quantity(view, other)


def test_blocks_of_items_and_shared_densities_change_nothing(monkeypatch):
    counts = np.random.default_rng(7).integers(0, 6, (9, 3))
    tree = dirichlet_tree(counts, 2.0, 3, draws=150, chains=2)
    quantity = tree["posterior"]["plausibility"].isel(category=0, drop=True)
    densities = item_densities.ItemDensities.of(tree)
    for given in ({}, {"quantity": quantity}):
        whole = prior.prior_sensitivity(tree, **given, random_seed=1)
        with monkeypatch.context() as context:
            context.setattr("raterzoo.evaluation.sensitivity.prior.ITEMS", 2)
            context.setattr(item_densities, "SAMPLES", 7)
            context.setattr(item_densities, "CELLS", 4)
            blocks = prior.sensitivity_of(tree, **given, random_seed=1)
        xr.testing.assert_allclose(blocks, whole, rtol=1e-12)
        xr.testing.assert_identical(
            prior.sensitivity_of(tree, **given, random_seed=1, densities=densities), whole
        )
