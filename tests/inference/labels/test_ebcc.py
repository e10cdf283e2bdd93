"""Gibbs sampler of EBCC against enumeration, with wrong twins; recognition and the names of changed models."""

import warnings
from itertools import product

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models, papers
from raterzoo.inference.labels import ebcc
from raterzoo.inference.labels.recognition import read_subtypes

from tests.support.label_designs import favoured, log_beta, tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of
from tests.support.runs import ChainPlan, route_of

LABELS = tiny_labels()
ALPHA, GAMMA = np.array([1.0, 2.0]), 0.7
OPTIONS = {"subtypes": 2, "prevalence_concentration": ALPHA, "subtype_concentration": GAMMA}
MODEL = models.ebcc(LABELS, **OPTIONS)


def exact_means():
    """Posterior means by the sum over the states of all items: given them all is conjugate."""
    gold = LABELS.gold.tolist()
    choices = [[2 * g, 2 * g + 1] if g >= 0 else range(4) for g in gold]
    found = []
    for states in product(*choices):
        state = np.array(states)
        items = np.bincount(state, minlength=4).reshape(2, 2)
        category, weight = ALPHA + items.sum(axis=1), GAMMA + items
        rows = np.broadcast_to(favoured(2)[:, None], (3, 2, 2, 2)).copy()
        of_answer = state[LABELS.annotation_item]
        at = (LABELS.annotation_rater, of_answer // 2, of_answer % 2, LABELS.label_code)
        np.add.at(rows, at, LABELS.count)
        log_weight = log_beta(category) + log_beta(weight).sum() + log_beta(rows).sum()
        share = weight / weight.sum(axis=1, keepdims=True)
        mean = rows / rows.sum(axis=3, keepdims=True)
        average = (share[:, :, None] * mean).sum(axis=2)
        found.append((log_weight, category / category.sum(), average, np.eye(2)[state // 2],
                      second_moment(weight)))  # fmt: skip
    total = np.array([f[0] for f in found])
    total = np.exp(total - total.max())
    total /= total.sum()
    names = ("prevalence", "confusion", "plausibility", "squares")
    return {
        name: sum(w * f[k + 1] for w, f in zip(total, found, strict=True)) for k, name in enumerate(names)
    }


def second_moment(concentration):
    """Mean of the sum of the squares of Dirichlet weights, by category."""
    total = concentration.sum(axis=1)
    return (concentration * (concentration + 1)).sum(axis=1) / (total * (total + 1))


def drawn(model, seed):
    law = read_subtypes(model)
    plan = ChainPlan(4, 20_000, 200, seed, dtype="float64", thin=3)
    found = ebcc.draw_subtypes(law.answers, law.prior, plan)
    confusion = np.einsum("cdjm,cdkjml->cdkjl", found.weight, law.by_subtype(found.table))
    squares = (found.weight**2).sum(axis=-1)
    values = (found.prevalence, confusion, found.plausibility, squares)
    return dict(zip(("prevalence", "confusion", "plausibility", "squares"), values, strict=True))


@pytest.mark.slow
def test_loop_draws_the_exact_posterior():
    exact, seed = exact_means(), seed_of("ebcc loop")
    check_means(drawn(MODEL, seed), exact)
    for change in (
        {"subtype_concentration": 1.0},
        {"prevalence_concentration": [1.1, 2.0]},
        {"confusion_concentration": favoured(2) + 0.2},
    ):
        twin = models.ebcc(LABELS, **OPTIONS | change)
        assert_rejects_twin(check_means, drawn(twin, seed), exact)


@pytest.mark.slow
def test_tree_has_sorted_subtypes_and_densities_of_the_model():
    options = {"draws": 100, "chains": 2, "thin": 1, "random_seed": 1, "progressbar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        tree = inference.sample(MODEL, dtype="float64", **options)
    assert (tree.attrs["model"], tree.attrs["method"]) == ("ebcc", "gibbs")
    posterior = tree["posterior"]
    assert (posterior["subtype_weight"].diff("subtype") <= 0).all()
    average = (posterior["subtype_weight"] * posterior["subtype_confusion"]).sum("subtype")
    np.testing.assert_allclose(average.transpose(*posterior["confusion"].dims), posterior["confusion"])
    names = ["prevalence", "subtype_weight", "subtype_confusion"]
    expected = {}
    for group, compute in (
        ("log_prior", pm.stats.compute_log_prior),
        ("log_likelihood", pm.compute_log_likelihood),
    ):
        own = tree.copy()
        del own[group]
        with MODEL:
            expected[group] = compute(own, progressbar=False)[group]
    for name in names:
        found = tree["log_prior"][name]
        np.testing.assert_allclose(found, expected["log_prior"][name].transpose(*found.dims), rtol=1e-9)
        for dim in found.dims[2:]:
            assert dim in found.coords, (name, dim)
            np.testing.assert_array_equal(found.coords[dim], posterior[dim])
    answered = tree["log_likelihood"]["observed_label"]
    whole = expected["log_likelihood"]["observed_label"]
    kept = [i for i, item in enumerate(LABELS.items) if item in answered["item"].values]
    np.testing.assert_allclose(answered, whole.to_numpy()[..., kept], rtol=1e-9)


def test_a_law_of_other_states_goes_to_nuts(golden):
    with pm.Model() as outer:
        scale = pm.HalfNormal("scale")
        models.ebcc(LABELS, subtype_concentration=scale)
    route = route_of(outer)
    assert (route.name, route.method) == ("ebcc", "nuts")
    golden.says(route.reason, "random variable")
    fixed = pm.do(MODEL, {"prevalence": np.array([0.5, 0.5])})
    assert route_of(fixed).method == "nuts"
    golden.says(route_of(fixed).reason, "prevalence, weights")
    golden.says(route_of(MODEL).reason, "the categories")


def test_label_combiner_refuses_dependent_answers(golden):
    dims = ("chain", "draw", "category")
    posterior = {"prevalence": (dims, np.full((1, 1, 2), 0.5)),
                 "subtype_weight": ((*dims, "subtype"), np.full((1, 1, 2, 2), 0.5)),
                 "confusion": ((*dims, "answer"), np.full((1, 1, 2, 2), 0.5))}  # fmt: skip
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset(posterior)})
    with golden.raises(ValueError):
        papers.label_combiner(tree)


def test_items_start_in_every_subtype():
    law = read_subtypes(MODEL)
    state = ebcc.begin_subtypes(law.answers, law.prior, ChainPlan(40, 1, 0, 3))["state"]
    assert {*state.ravel() % 2} == {0, 1} and {*state.ravel() // 2} == {0, 1}
