"""One door to every sampler: what it returns, what it promises, what it refuses."""

import json
from functools import cache

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models

from tests.support.densities import add_densities
from tests.support.monte_carlo import bonferroni_threshold, seed_of
from tests.support.runs import Draws, draw_with_nuts, route_of

CASES = models.published_ddx_cases()
SMALL = CASES.select(items=["fig3", "fig17a", "fig18c"])
QUIET = {"progressbar": False}


@cache
def gibbs_tree():
    return inference.sample(models.plackett_luce(CASES, reliability=3), random_seed=7, **QUIET)


def test_tree_carries_what_evaluation_reads():
    tree = gibbs_tree()
    assert set(tree.children) == {
        "posterior", "sample_stats", "observed_data", "constant_data", "log_likelihood", "log_prior",
    }  # fmt: skip
    plausibility = tree["posterior"]["plausibility"]
    assert plausibility.dims == ("chain", "draw", "candidate")
    assert plausibility.dtype == np.float32
    total = plausibility.groupby("item").sum()
    np.testing.assert_allclose(total, 1, atol=1e-6)
    other = plausibility.category == "OTHER"
    assert int(other.sum()) == len(CASES.items)
    constants = {"annotation_item", "annotation_rater", "other_size", "other_concentration", "reliability"}
    assert constants <= set(tree["constant_data"].data_vars)
    assert tree.attrs["model"] == "plackett_luce" and tree.attrs["method"] == "gibbs"
    assert json.loads(tree.attrs["versions"])["raterzoo"]
    assert tree["posterior"]["item"].values.tolist()[0] == "fig3"


def test_tree_survives_a_file(tmp_path):
    tree = gibbs_tree()
    tree.to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    read = xr.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf").load()
    read.close()
    xr.testing.assert_equal(read["posterior"].to_dataset(), tree["posterior"].to_dataset())
    assert read["posterior"]["category"].values.tolist() == tree["posterior"]["category"].values.tolist()
    assert read.attrs == tree.attrs


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_draws_do_not_depend_on_the_number_of_cores(cores):
    again = inference.sample(models.plackett_luce(CASES, reliability=3), random_seed=7, cores=cores, **QUIET)
    for group in ("posterior", "log_likelihood", "log_prior"):
        xr.testing.assert_identical(again[group].to_dataset(), gibbs_tree()[group].to_dataset())


def test_draws_of_an_item_do_not_depend_on_the_other_items():
    # the candidates of an item are the same with or without the other items, and so is alpha = 1 / K
    part = inference.sample(models.plackett_luce(SMALL, reliability=3), random_seed=7, **QUIET)
    whole = gibbs_tree()["posterior"]["plausibility"]
    for item in SMALL.items:
        own = part["posterior"]["plausibility"]
        np.testing.assert_array_equal(
            own[..., (own["item"] == item).values], whole[..., (whole["item"] == item).values]
        )


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_another_seed_gives_other_draws_and_is_recorded():
    other = inference.sample(models.plackett_luce(SMALL), draws=10, thin=1, chains=1, random_seed=8, **QUIET)
    assert other.attrs["seed"] == 8
    assert not np.array_equal(
        other["posterior"]["worth"].values[0, :10, 0], gibbs_tree()["posterior"]["worth"].values[0, :10, 0]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_densities_are_pymcs_at_power_one():
    model = models.plackett_luce(SMALL, reliability=3)
    tree = inference.sample(model, draws=20, chains=1, thin=1, random_seed=1, dtype="float64", **QUIET)
    check = xr.DataTree.from_dict(
        {"posterior": tree["posterior"].to_dataset()[["worth"]].drop_vars(["item", "category"])}
    )
    add_densities(check, model)
    np.testing.assert_allclose(
        3 * tree["log_likelihood"]["observed_ranking"],
        check["log_likelihood"]["observed_ranking"],
        rtol=1e-10,
    )
    np.testing.assert_allclose(tree["log_prior"]["worth"], check["log_prior"]["worth"], rtol=1e-9, atol=1e-9)


def test_loo_reads_the_tree():
    loo = az.loo(gibbs_tree(), pointwise=True)
    assert np.isfinite(loo.elpd) and loo.elpd < 0


def largest_z(first, second):
    """Largest |z| of the means of two sets of draws with their Monte-Carlo errors."""
    a, b = (t["posterior"]["plausibility"].astype(float) for t in (first, second))
    difference = a.mean(("chain", "draw")).values - b.mean(("chain", "draw")).values
    error = np.hypot(*(az.mcse(draws.drop_vars(["item", "category"])).values for draws in (a, b)))
    return np.abs(difference / error).max(), error.size


@pytest.mark.slow
def test_nuts_agrees_with_gibbs_and_not_with_another_model():
    seed = seed_of("nuts agrees with gibbs")
    model = models.plackett_luce(SMALL, reliability=2, concentration=0.5)
    nuts = inference.sample(model, method="nuts", random_seed=seed, cores=1, nuts_sampler="pymc", **QUIET)
    assert nuts.attrs["method"] == "nuts"
    gibbs = inference.sample(model, random_seed=seed, **QUIET)
    z, n = largest_z(nuts, gibbs)
    assert z < bonferroni_threshold(n)
    np.testing.assert_allclose(
        nuts["log_likelihood"]["observed_ranking"].mean(),
        gibbs["log_likelihood"]["observed_ranking"].mean(),
        rtol=0.03,
    )
    twin = inference.sample(
        models.plackett_luce(SMALL, reliability=2, concentration=0.6), random_seed=seed, **QUIET
    )
    z, n = largest_z(nuts, twin)
    assert z > bonferroni_threshold(n)


def test_flat_and_dense_layouts_have_one_posterior():
    seed = seed_of("two layouts")
    flat = inference.sample(models.plackett_luce(SMALL), random_seed=seed, dtype="float64", **QUIET)
    dense = inference.sample(
        models.plackett_luce(SMALL, candidates="all"), random_seed=seed, dtype="float64", **QUIET
    )
    own, full = flat["posterior"]["plausibility"], dense["posterior"]["plausibility"]
    assert full.dims == ("chain", "draw", "item", "category")
    own = own[..., (own["category"] != "OTHER").values]
    picked = (
        xr.DataArray(own["item"].values, dims="candidate"),
        xr.DataArray(own["category"].values, dims="candidate"),
    )
    full = full.sel(item=picked[0], category=picked[1]).transpose(*own.dims)
    difference = own.mean(("chain", "draw")).values - full.mean(("chain", "draw")).values
    error = np.hypot(*(az.mcse(draws.drop_vars(["item", "category"])).values for draws in (own, full)))
    assert np.abs(difference / error).max() < bonferroni_threshold(len(difference))


def test_exact_draws_have_the_dirichlet_moments():
    tree = inference.sample(
        models.prirn(SMALL, reliability=5), random_seed=seed_of("dirichlet"), dtype="float64", **QUIET
    )
    assert tree.attrs["method"] == "exact" and "log_likelihood" not in tree.children
    mean = inference.irn(SMALL).to_numpy()
    draws = tree["posterior"]["plausibility"].stack(sample=("chain", "draw")).to_numpy()
    error = np.sqrt(mean * (1 - mean) / 6 / draws.shape[1])  # Dirichlet of total concentration 5
    z = (draws.mean(axis=1) - mean) / error
    assert np.abs(z).max() < bonferroni_threshold(len(z))
    assert np.abs((draws.var(axis=1) / (mean * (1 - mean) / 6)) - 1).max() < 0.15


@pytest.mark.parametrize(
    "build",
    [lambda: models.plackett_luce(SMALL, reliability=2.5), lambda: models.tempered_plackett_luce(SMALL)],
)
def test_gibbs_says_why_it_does_not_fit(build, golden):
    with golden.raises(ValueError):
        inference.sample(build(), method="gibbs", **QUIET)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "walk"},
        {"method": "exact"},
        {"draws": 0},
        {"chains": 1.5},
        {"thin": 0},
        {"tune": -1},
        {"dtype": "int"},
        {"random_seed": -5},
        {"target_accept": 0.9},
    ],
)
def test_wrong_options_are_named(options, golden):
    with golden.raises(ValueError):
        inference.sample(models.plackett_luce(SMALL), **QUIET, **options)


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("seed", "random_seed"),
        ("target_acept", "target_accept"),
        ("progress_bar", "progressbar"),
        ("drws", "draws"),
    ],
)
def test_misspelt_options_name_the_nearest(option, meant, golden):
    with golden.raises(TypeError):
        inference.sample(models.plackett_luce(SMALL), **QUIET, **{option: 1})
    built = []  # a sweep refuses it before the first model
    with golden.raises(TypeError):
        inference.sweep(built.append, [1, 2], **{option: 1})
    assert not built


def test_short_run_warns_which_items():
    with pytest.warns(inference.ConvergenceWarning, match="fig3"):
        inference.sample(models.plackett_luce(SMALL), draws=20, thin=1, random_seed=1, **QUIET)


@pytest.mark.long
def test_tempered_model_is_drawn_by_nuts():
    tree = inference.sample(
        models.tempered_plackett_luce(SMALL, reliability=2.0),
        random_seed=3,
        cores=1,
        draws=4000,
        nuts_sampler="pymc",
        target_accept=0.9,
        **QUIET,
    )
    assert tree.attrs["model"] == "tempered_plackett_luce" and tree.attrs["method"] == "nuts"
    np.testing.assert_allclose(tree["posterior"]["plausibility"].groupby("item").sum(), 1)


@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_sweep_is_a_tree_for_each_reliability():
    trees = inference.sweep(
        lambda r: models.plackett_luce(SMALL, reliability=r), [1, 3], random_seed=1, draws=500, **QUIET
    )
    assert list(trees) == [1, 3]
    assert int(trees[3]["constant_data"]["reliability"]) == 3
    with pytest.raises(ValueError, match="each once"):
        inference.sweep(lambda r: models.plackett_luce(SMALL, reliability=r), [1, 1])


@pytest.mark.slow
def test_label_names_any_tree():
    model = models.plackett_luce(SMALL)
    with model:
        plain = pm.sample(
            50,
            tune=50,
            chains=2,
            cores=1,
            random_seed=1,
            nuts_sampler="pymc",
            compute_convergence_checks=False,
            **QUIET,
        )
    tree = inference.label(plain, SMALL)
    assert tree["posterior"]["category"].values[-1] == "OTHER"
    assert tree["constant_data"]["item"].values.tolist() == SMALL.items.tolist()
    with pytest.raises(ValueError, match="candidate_item"):
        inference.label(xr.DataTree.from_dict({"posterior": plain["posterior"].to_dataset()}), SMALL)


def test_label_does_not_rename_what_has_names(golden):
    one, other = (models.published_ddx_cases().select(items=i) for i in (["fig3"], ["fig17a"]))
    tree = inference.sample(models.prirn(one), draws=5, random_seed=1, **QUIET)
    xr.testing.assert_identical(inference.label(tree, one), tree)
    same_shape = models.PartialRankings.from_blocks({"another": {"r": [["a", "b"]]}})
    twin = models.PartialRankings.from_blocks({"another": {"r": [["a", "c"]]}})
    tree = inference.sample(models.prirn(same_shape), draws=5, random_seed=1, **QUIET)
    with golden.raises(ValueError):
        inference.label(tree, twin)
    with pytest.raises(ValueError, match="the data"):
        inference.label(tree, other)


def test_models_keep_their_names():
    real = route_of(models.plackett_luce(SMALL, reliability=1.5))
    assert (real.name, real.method) == ("plackett_luce", "nuts")
    assert route_of(models.tempered_plackett_luce(SMALL)).name == "tempered_plackett_luce"
    many = route_of(models.plackett_luce(SMALL, reliability=10**9))
    assert (many.name, many.method) == ("plackett_luce", "nuts") and "above 10,000" in many.reason
    with models.plackett_luce(SMALL) as other:
        pm.Normal("more")
    assert route_of(other).name == "pm.Model"


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
@pytest.mark.parametrize("method", ["gibbs", pytest.param("nuts", marks=pytest.mark.slow)])
def test_deterministics_of_the_user_are_drawn(method):
    with models.plackett_luce(SMALL) as model:
        pm.Deterministic("best", model["plausibility"].max())
    tree = inference.sample(model, method=method, dtype="float64", random_seed=1, **QUIET)
    best = tree["posterior"]["plausibility"].max("candidate")
    np.testing.assert_allclose(tree["posterior"]["best"], best)


@pytest.mark.parametrize("wrong", [{}, SMALL, None])
def test_what_is_no_model_or_tree_or_data_is_named(wrong, golden):
    kind = type(wrong).__name__
    with golden.raises(ValueError):
        inference.sample(wrong)
    with golden.raises(ValueError):
        inference.diagnose(wrong)
    for door in (
        models.dawid_skene,
        models.dirichlet,
        models.multinomial,
        inference.dawid_skene_em,
        inference.majority_vote,
    ):
        with pytest.raises(models.DataError, match=f"a {kind} is not Labels"):
            door(wrong)
    for door in (models.plackett_luce, models.prirn, inference.irn, inference.plackett_luce_mle):
        with golden.raises(models.DataError):
            door({})


def test_integer_categories_are_text_with_their_kind():
    rankings = models.PartialRankings.from_blocks([[[[3], [1]], [[1]]]], categories=[1, 2, 3])
    tree = inference.sample(models.plackett_luce(rankings), draws=400, random_seed=1, **QUIET)
    category = tree["posterior"]["category"]
    assert category.values.tolist() == ["1", "3", "OTHER"] and category.attrs["kind"] == "integer"


@pytest.mark.parametrize(("sampler", "constant"), [("numpyro", True), ("blackjax", True), ("pymc", False)])
def test_samplers_in_jax_get_a_model_of_constant_data(monkeypatch, sampler, constant):
    """The laws in JAX need shapes and codes that are known when they are compiled."""

    class Asked(Exception):
        pass

    def asked(model, **_):
        raise Asked(model)

    model = models.dirichlet(models.Labels.from_counts({"item": ["a", "b"], "x": [3, 0], "y": [1, 2]}))
    monkeypatch.setattr(pm, "sample", asked)
    with pytest.raises(Asked) as raised:
        draw_with_nuts(model, Draws(10, 10, 2, 1, 1, False, 1, "float32", False), {"nuts_sampler": sampler})
    given = raised.value.args[0]
    assert (given is model) == (not constant)
    assert any(hasattr(own, "get_value") for own in given.data_vars) == (not constant)
