"""ArviZ and PyMC on every model's tree: what an analyst types after sampling, without an error or a warning."""

import dataclasses
import logging
import warnings

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models

from tests.support.label_designs import tiny_tag_sets

SIMULATED = {
    "rankings": lambda: models.simulators.rankings(items=4, raters=3, categories=4, random_seed=1),
    "labels": lambda: models.simulators.labels(items=8, raters=4, categories=3, answers=3, random_seed=1),
    "comparisons": lambda: models.simulators.comparisons(items=5, raters=4, degree=4, random_seed=1),
    "scores": lambda: models.simulators.scores(items=5, raters=4, random_seed=1),
}
# a flat prior has no power to scale
OPTIONS = {
    "dirichlet": {"concentration": 2.0},
    "ebcc": {"subtypes": 2},
    "shared_guess": {"groups": list("xxyy")},
    # with flat candidates az.summary takes var_names: xarray stacks no variables of which some lack a coordinate
    "hierarchical_plackett_luce": {"candidates": "all"},
}
LAYOUTS = [(name, OPTIONS.get(name, {})) for name in models.catalog]
LAYOUTS += [(name, {"candidates": "all"}) for name in ("plackett_luce", "tempered_plackett_luce")]
FUNCTIONS = {
    "summary": az.summary,
    "ess": az.ess,
    "rhat": az.rhat,
    "hdi": az.hdi,
    "mcse": az.mcse,
    "extract": az.extract,
    "plot_forest": az.plot_forest,
}
OF_ONE_VARIABLE = {
    "summary": az.summary,
    "psense_summary": az.psense_summary,
    "plot_trace_dist": az.plot_trace_dist,
    "plot_rank": az.plot_rank,
    "plot_forest": az.plot_forest,
}


# One kind of annotations, layout and sampler each; then dims that these lack. The trees of others have the dims of one of them.
FAST = {"dawid_skene", "plackett_luce", "bradley_terry"}
SLOW = {
    "dirichlet",
    "prirn",
    "normal_scores",
    "plackett_luce-all",
    "shared_guess",
    "item_states",
    "correlated_votes",
    "mace",
    "ebcc",
}


def cases():
    for name, options in LAYOUTS:
        case = "-".join([name, *options.get("candidates", "").split()])
        marks = [] if case in FAST else [pytest.mark.slow if case in SLOW else pytest.mark.long]
        yield pytest.param(name, options, marks=marks, id="-".join([name, *map(str, options.values())]))


@pytest.mark.parametrize(("name", "options"), [*cases()])
def test_tree_is_one_of_arviz(name, options, tmp_path):
    logging.getLogger("pymc").setLevel(logging.ERROR)
    data = SIMULATED[models.catalog[name].data]().data
    data = tiny_tag_sets(data) if name == "multi_label" else data
    if hasattr(data, "rater_attributes"):
        data = dataclasses.replace(data, rater_attributes={"kind": np.array(["person", "judge"] * 2)})
    model = getattr(models, name)(data, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        tree = inference.sample(model, draws=100, tune=100, random_seed=1, progressbar=False)
    free = next(str(rv.name) for rv in model.free_RVs if str(rv.name) in tree["posterior"])
    for function in FUNCTIONS.values():
        function(tree)
        plt.close("all")
    for what, function in OF_ONE_VARIABLE.items():
        if model.observed_RVs or what != "psense_summary":
            function(tree, var_names=[free])
        plt.close("all")
    round_trips(tree, tmp_path)
    if not model.observed_RVs:  # PrIRN has its annotations in the prior: no likelihood, nothing to predict
        with pytest.raises(ValueError, match="observes nothing"):
            inference.predict(tree, model)
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto")  # few draws of few items
        assert np.isfinite(az.loo(tree).elpd)
        assert len(az.compare({"one": tree, "other": tree})) == 2
    if "candidate" in tree["posterior"].dims:  # a replicate could name other categories
        with model, pytest.raises(ValueError, match="Build the model with candidates='all'"):
            pm.sample_prior_predictive(2, random_seed=1)
        with pytest.raises(ValueError, match="Build the model with candidates='all'"):
            inference.predict(tree, model)
        return
    predicted(model, tree, free)


def round_trips(tree, folder):
    tree.to_netcdf(folder / "tree.nc")
    with xr.open_datatree(folder / "tree.nc") as again:
        xr.testing.assert_equal(again["posterior"].to_dataset(), tree["posterior"].to_dataset())
    tree.to_zarr(folder / "tree.zarr", consolidated=False)
    with xr.open_datatree(folder / "tree.zarr", engine="zarr", consolidated=False) as again:
        xr.testing.assert_equal(again["posterior"].to_dataset(), tree["posterior"].to_dataset())


def predicted(model, tree, free):
    """Prior and posterior predictive have the ids of the posterior, and ArviZ draws both beside it."""
    with model:
        prior = pm.sample_prior_predictive(20, random_seed=1)
    predictive = inference.predict(tree, model, progressbar=False)
    for name, ids in prior["prior"].coords.items():
        if name in tree["posterior"].coords and name not in ("chain", "draw", "candidate"):
            kinds = ids.dtype.kind, tree["posterior"][name].dtype.kind
            assert kinds[0] == kinds[1] or set(kinds) <= set("OUT"), name  # text of either type
    both = tree.copy()
    both["prior"], both["posterior_predictive"] = prior["prior"], predictive["posterior_predictive"]
    az.plot_prior_posterior(both, var_names=[free])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Variables .* look (discrete|binary)")  # as annotations are
        az.plot_ppc_dist(both)
    plt.close("all")
    (name,) = predictive["observed_data"].data_vars
    pit = az.loo_pit(predictive)[name]
    assert pit.dims == predictive["observed_data"][name].dims
    assert ((pit >= 0) & (pit <= 1)).all()
    first = model.free_RVs[0]
    with pm.do(model, {first.name: first.eval()}):
        pm.sample_prior_predictive(2, random_seed=1)
