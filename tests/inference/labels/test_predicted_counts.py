"""Label counts with predictions in the prior: against quadrature, densities against PyMC, items that tell nothing."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference.labels import predicted
from raterzoo.inference.labels.dirichlet import begin_counted_labels
from raterzoo.inference.runs.run import item_keys

from tests.support.densities import add_densities
from tests.support.dirichlet_multinomial import exact_strength
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, check_means, mc_z, seed_of
from tests.support.runs import ChainPlan, Draws, begin_run, route_of, streams_of_items

COUNTS = np.array([[4, 1, 0], [0, 3, 1], [1, 0, 0], [0, 0, 0], [2, 2, 2]])
PROBABILITY = np.array(
    [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.4, 0.6, 0.0], [0.1, 0.1, 0.8]]
)  # not of the last
BASE, SCALE = np.array([0.6, 0.9, 0.4]), 5.0


def labels(counts=COUNTS):
    table = {"item": [*"abcdefgh"][: len(counts)]} | dict(zip("xyz", counts.T.tolist(), strict=True))
    return models.Labels.from_counts(table)


def model_of(counts=COUNTS, values=PROBABILITY, **options):
    coords = {"item": [*"abcdefgh"][: len(values)], "category": [*"xyz"]}
    predictions = xr.DataArray(values, coords, ("item", "category"))
    options = {"concentration": BASE, "prediction_scale": SCALE} | options
    return models.dirichlet(labels(counts), prior_predictions=predictions, **options)


def is_exact(model, power=1.0):
    law = predicted.read_predicted_counts(model)
    plan = ChainPlan(4, 10_000, 200, seed_of("quadrature of counts"), dtype="float64")
    strength = predicted.continue_strength(law, plan, predicted.begin_strength(law, plan))
    streams = streams_of_items(item_keys(np.arange(5)), 4, plan.seed)
    shares = predicted.draw_items(law, streams, strength, plan).plausibility.reshape(4, 10_000, -1)
    slope = np.vstack([PROBABILITY, np.zeros(3)])
    mean, plausibility = exact_strength(BASE, slope, power * COUNTS, SCALE)
    check_means(np.concatenate([strength[..., None], shares], axis=-1), np.append(mean, plausibility))


@pytest.mark.parametrize("power", [1.0, 2.5])
def test_posterior_is_that_of_quadrature(power):
    is_exact(model_of(reliability=power), power)
    assert_rejects_twin(is_exact, model_of(reliability=power, values=PROBABILITY[::-1]), power)


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_densities_are_those_of_pymc():
    model = model_of(classifier="net")
    options = {"draws": 5, "chains": 2, "thin": 1, "tune": 5, "random_seed": 1, "progressbar": False}
    tree = inference.sample(model, dtype="float64", **options)
    assert (tree.attrs["method"], tree.attrs["model"]) == ("gibbs", "dirichlet")
    assert tree["posterior"].attrs["prior_predictions"] == "net"
    again = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()})
    add_densities(again, model)
    told = COUNTS.sum(axis=1) > 0  # an item without labels has no log likelihood
    for group, kept in (("log_likelihood", told), ("log_prior", slice(None))):
        assert {*tree[group].data_vars} == {*again[group].data_vars}
        for name, found in again[group].data_vars.items():
            expected = found.to_numpy()
            expected = expected[..., kept] if expected.ndim == 3 else expected
            np.testing.assert_allclose(tree[group][name], expected, rtol=1e-9, err_msg=str(name))


def test_items_without_labels_or_without_prediction_do_not_move_the_strength():
    plan = ChainPlan(2, 50, 20, 1, dtype="float64")
    more = np.vstack([COUNTS, [[7, 0, 0], [0, 9, 1]]])
    laws = [predicted.read_predicted_counts(model_of(counts)) for counts in (COUNTS, more)]
    strengths = [predicted.continue_strength(law, plan, predicted.begin_strength(law, plan)) for law in laws]
    np.testing.assert_array_equal(*strengths)
    changed = np.where(np.arange(5)[:, None] == 0, COUNTS + 1, COUNTS)
    law = predicted.read_predicted_counts(model_of(changed))
    assert (predicted.continue_strength(law, plan, predicted.begin_strength(law, plan)) != strengths[0]).any()


def test_many_labels_of_an_item_are_as_exact_as_few():
    many = np.array([[300, 100, 0], [1, 200, 40]])  # beyond the products of ratios
    law = predicted.read_predicted_counts(model_of(many, PROBABILITY[:2]))
    plan = ChainPlan(4, 4000, 200, 2, dtype="float64")
    strength = predicted.continue_strength(law, plan, predicted.begin_strength(law, plan))
    mean, _ = exact_strength(BASE, PROBABILITY[:2], many, SCALE)
    assert np.abs(mc_z(strength[..., None], np.array([mean]))).max() < bonferroni_threshold(1)


def test_the_parts_of_a_run_are_the_whole():
    plan = Draws(7, 20, 2, 1, 3, False, 2, "float64", densities=False)
    whole = begin_run(model_of(), plan).advance(7)["posterior"]
    parts = begin_run(model_of(), plan)
    found = xr.concat([parts.advance(n)["posterior"] for n in (3, 4)], "draw")
    for name in ("plausibility", "prediction_strength"):
        np.testing.assert_array_equal(whole[name], found[name])


def test_routes():
    route = route_of(model_of())
    assert route.method == "gibbs" and route.items_share
    assert route_of(model_of(prediction_scale=pm.HalfNormal.dist())).method == "nuts"
    without = route_of(models.dirichlet(labels(), concentration=BASE))
    assert (
        without.begin is not None and without.begin.func is begin_counted_labels and not without.items_share
    )
