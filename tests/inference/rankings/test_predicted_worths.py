"""Gibbs of Plackett-Luce with predictions in the prior: against quadrature, densities against PyMC, routes, parts of a run."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference.rankings import predicted
from raterzoo.inference.rankings.gibbs import plausibilities
from raterzoo.inference.rankings.recognition import gamma_parameters

from tests.support.densities import add_densities
from tests.support.dirichlet_multinomial import exact_strength
from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of
from tests.support.runs import ChainPlan, Draws, begin_run, route_of

ITEMS, CATEGORIES = ["a", "b", "c", "d"], ["x", "y", "z"]
FIRST = {
    "a": "xxxyx",
    "b": "yyx",
    "c": "y",
    "d": "xyyy",
}  # of each rater, who ranks nothing else; z is never ranked
PROBABILITY = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.5, 0.1, 0.4]])  # not of d
SHAPE, SCALE = 0.7, 4.0


def rankings():
    rows = [(i, rater, first, 1) for i, own in FIRST.items() for rater, first in enumerate(own)]
    names = ("item", "rater", "category", "rank")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return models.PartialRankings.from_table(table, categories=CATEGORIES)


def predictions(values=PROBABILITY):
    coords = {"item": ITEMS[: len(values)], "category": CATEGORIES}
    return xr.DataArray(values, coords, ("item", "category"), attrs={})


def model_of(data=None, values=PROBABILITY, **options):
    options = {"concentration": SHAPE, "prediction_scale": SCALE} | options
    return models.plackett_luce(data or rankings(), prior_predictions=predictions(values), **options)


def exact_means(counted=(0, 1, 2)):
    counts = np.array([[own.count(k) for k in CATEGORIES] for own in FIRST.values()])
    slope = np.vstack([PROBABILITY, np.zeros(3)])
    return exact_strength(np.full((4, 3), SHAPE), slope, counts, SCALE)


def is_exact(model):
    law = predicted.read_predicted_worths(model)
    plan = ChainPlan(4, 6000, 300, seed_of("quadrature of predictions"), dtype="float64", thin=2)
    drawn = predicted.draw_strengths(law, np.array([1, 2, 1, 1]), plan)
    shares = plausibilities(drawn.log_worth, predicted.posterior_of(law).candidate_start)
    strength, plausibility = exact_means()
    check_means(
        np.concatenate([drawn.strength[..., None], shares], axis=-1), np.append(strength, plausibility)
    )


def test_posterior_is_that_of_quadrature_in_both_layouts():
    everyone = {"a": "xy", "b": "xy", "c": "y", "d": "xy"}  # ranked of each item
    is_exact(model_of(candidates="all"))
    assert_rejects_twin(is_exact, model_of(candidates="all", values=PROBABILITY[::-1]))
    flat = model_of()
    law = predicted.read_predicted_worths(flat)
    sizes = [len(own) + 1 for own in everyone.values()]
    assert np.diff(predicted.posterior_of(law).candidate_start).tolist() == sizes
    expected = [0.8, 0.1, 0.1, 0.2, 0.7, 0.1, 0.1, 0.9, 0, 0, 0]  # OTHER has the probabilities of its members
    np.testing.assert_allclose(law.prior.slope, expected, atol=1e-12)
    np.testing.assert_allclose(law.prior.base, np.array([1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]) * SHAPE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_densities_are_those_of_pymc_and_the_tree_says_whom_its_prior_has_seen():
    model = model_of(classifier="net", reliability=2)
    options = {"draws": 5, "chains": 2, "thin": 1, "tune": 5, "random_seed": 1, "progressbar": False}
    tree = inference.sample(model, dtype="float64", **options)
    assert (tree.attrs["method"], tree.attrs["model"]) == ("gibbs", "plackett_luce")
    assert tree["posterior"].attrs["prior_predictions"] == "net"
    assert np.isnan(tree["constant_data"]["other_concentration"])
    again = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()})
    add_densities(again, model)
    powers = {"log_likelihood": 2.0, "log_prior": 1.0}
    for group, power in powers.items():
        assert {*tree[group].data_vars} == {*again[group].data_vars}
        for name, found in again[group].data_vars.items():
            np.testing.assert_allclose(power * tree[group][name], found, rtol=1e-9, err_msg=str(name))


def test_strength_zero_is_the_model_without_predictions():
    for options in ({}, {"candidates": "all"}, {"unranked": "single"}, {"unranked": "dropped"}):
        law = predicted.read_predicted_worths(model_of(**options))
        without = models.plackett_luce(rankings(), concentration=SHAPE, **options)
        shape, rate = gamma_parameters(without["worth"])
        np.testing.assert_array_equal(law.prior.base, shape)
        np.testing.assert_array_equal(law.rate, rate)
        assert route_of(without).items_share == "" and "prediction_strength" not in without.named_vars
    assert route_of(model_of()).items_share


def test_the_parts_of_a_run_are_the_whole():
    plan = Draws(7, 20, 2, 1, 3, False, 2, "float64", densities=False)
    whole = begin_run(model_of(), plan).advance(7)["posterior"]
    parts = begin_run(model_of(), plan)
    found = xr.concat([parts.advance(n)["posterior"] for n in (3, 4)], "draw")
    for name in ("worth", "plausibility", "prediction_strength"):
        np.testing.assert_array_equal(whole[name], found[name])


@pytest.mark.parametrize(
    "options",
    [
        {"prediction_scale": pm.HalfNormal.dist()},
        {"concentration": pm.HalfNormal.dist()},
        {"reliability": 1.5},
    ],
)
def test_other_priors_are_drawn_by_nuts(options, golden):
    route = route_of(model_of(**options))
    assert route.method == "nuts" and route.name == "plackett_luce"
    golden.says(route.reason)


def test_items_that_share_a_strength_are_not_drawn_apart(tmp_path, golden):
    with golden.raises(ValueError):
        inference.scatter(model_of, rankings(), store=tmp_path / "run", random_seed=1)


def test_arguments_that_say_nothing_are_refused(golden):
    with golden.raises(ValueError):
        models.plackett_luce(rankings(), classifier="net")
    with pytest.raises(ValueError, match="prediction_scale holds -1"):
        model_of(prediction_scale=-1.0)
    with pytest.raises(models.DataError, match="argument prior_predictions"):
        model_of(values=2 * PROBABILITY)
