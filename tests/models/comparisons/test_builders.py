"""The builders of comparison models: laws, dims, priors, replicates, warnings, refusals."""

import os
from pathlib import Path
from time import perf_counter

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference
from raterzoo.models import Comparisons, DataError, DataWarning, bradley_terry, thurstone
from raterzoo.models.distributions.paired_comparisons import PairedComparisonsRV

from tests.support.few_comparisons import from_rows, three_items

BUILDERS = [bradley_terry, thurstone]
PAIRS = three_items()
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning"),
    # a prior draw of PyMC's mass matrix at the very start
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]


def anonymous(winners=("left", "right", "left")):
    table = {"left": ["a", "b", "a"], "right": ["b", "c", "c"], "winner": list(winners)}
    return Comparisons.from_table(table, rater=None)


def free(model):
    return [rv.name for rv in model.free_RVs]


@pytest.mark.parametrize("build", BUILDERS)
def test_variables_and_dims(build):
    model = build(PAIRS, left_bias=True)
    names = ["quality_scale", "quality", "reliability_scale", "log_reliability", "left_bias", "tie"]
    assert sorted(free(model)) == sorted(names)
    assert model.named_vars_to_dims["observed_winner"] == ("annotation", "outcome")
    assert model.named_vars_to_dims["reliability"] == ("rater",)
    assert list(model.coords["outcome"]) == ["left", "right", "tie"]
    assert list(model.coords["rater_kind"]) == ["person", "model"]
    op = model["observed_winner"].owner.op
    assert isinstance(op, PairedComparisonsRV) and (op.link, op.n_outcomes) == (build.__name__, 3)
    counts = model.rvs_to_values[model["observed_winner"]].data
    assert counts.sum() == len(PAIRS) and (counts.sum(axis=0) == [14, 3, 3]).all()
    codes = [model[f"annotation_{name}"].get_value() for name in ("left", "right", "rater")]
    assert len({*zip(*map(np.ndarray.tolist, codes), strict=True)}) == len(counts) == 7
    draws = pm.draw([model["quality"], model["reliability"]], 200, random_seed=1)
    np.testing.assert_allclose(draws[0].sum(axis=1), 0, atol=1e-10)
    np.testing.assert_allclose(np.log(draws[1]).sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"reliability": "shared"}, ["quality", "quality_scale", "tie"]),
        ({"reliability": "per rater"}, ["log_reliability", "quality", "quality_scale", "tie"]),
        ({"quality_scale": 2, "reliability_scale": 0.5}, ["log_reliability", "quality", "tie"]),
        ({"reliability_range": (1, 20)}, ["quality", "reliability", "tie"]),
        (
            {"signed": True, "reliability": "per rater"},
            ["quality", "quality_scale", "reliability_deviation", "tie"],
        ),
        (
            {"covariates": {"item": ["c", "b", "a"], "size": [1, 2.5, 9]}, "reliability": "shared"},
            ["coefficient", "quality_scale", "residual", "tie"],
        ),
    ],
)
def test_options_choose_the_variables(options, names):
    model = bradley_terry(PAIRS, **options)
    assert sorted(free(model)) == names
    assert np.isfinite(model.compile_logp()(model.initial_point()))


def test_priors():
    model = bradley_terry(PAIRS)
    log_scales = np.log(
        pm.draw([model["quality_scale"], model["reliability_scale"], model["tie"]], 4000, random_seed=1)
    )
    for log_scale, mean, sd in zip(log_scales, np.log([2, 0.7, 1]), (1, 0.5, 1), strict=True):
        assert abs(log_scale.mean() - mean) < 4 * sd / np.sqrt(4000)
        assert abs(log_scale.std() - sd) < 4 * sd / np.sqrt(8000)
    boxed = bradley_terry(PAIRS, reliability_range=(1, 20))
    q, rho = pm.draw([boxed["quality"], boxed["reliability"]], 500, random_seed=1)
    assert q.min() >= 0 and q.max() <= 1 and 1 <= rho.min() < 1.5 and 19 < rho.max() <= 20
    signed = pm.draw(
        bradley_terry(PAIRS, signed=True, reliability_scale=2)["reliability"], 500, random_seed=1
    )
    np.testing.assert_allclose(signed.mean(axis=1), 1)
    assert (signed < 0).any()


def test_ties_are_modelled_if_there_are_any(golden):
    decided = from_rows([("r", "a", "b", "left", 2), ("s", "b", "a", "left", 1)])
    assert "tie" not in free(bradley_terry(decided)) and "tie" in free(thurstone(decided, ties="threshold"))
    assert list(bradley_terry(decided).coords["outcome"]) == ["left", "right"]
    with golden.raises(ValueError):
        bradley_terry(PAIRS, ties="none")
    with golden.raises(ValueError):
        thurstone(PAIRS, ties="half")


def test_anonymous_raters_share_a_reliability(golden):
    with golden.raises(ValueError):
        bradley_terry(anonymous(), reliability="per rater")
    with golden.raises(ValueError):
        bradley_terry(anonymous(), signed=True)
    model = bradley_terry(anonymous(), reliability="shared")
    assert free(bradley_terry(anonymous())) == free(model) == free(thurstone(anonymous()))
    assert (model["annotation_rater"].get_value() == -1).all() and "reliability" not in model.named_vars
    assert np.isfinite(model.compile_logp()(model.initial_point()))
    with golden.raises(ValueError):
        bradley_terry(from_rows([("r", "a", "b", "left", 2)]))


def test_items_that_no_chain_joins_are_named(golden):
    pairs = from_rows([("r", "a", "b", "left", 2), ("s", "c", "d", "right", 1), ("s", "a", "b", "left", 1)])
    with golden.warns(DataWarning) as caught:
        bradley_terry(pairs)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "options",
    [
        {"reliability": "each"},
        {"reliability": "shared", "signed": True},
        {"reliability": "shared", "reliability_scale": 1},
        {"reliability_range": (1, 20), "signed": True},
        {"reliability_range": (1, 20), "quality_scale": 1},
        {"reliability_range": (1, 20), "reliability": "shared"},
        {"reliability_range": (20, 1)},
        {"reliability_range": 3},
        {"reliability_range": (-1, 3)},
        {"quality_scale": 0},
        {"reliability_scale": np.inf},
        {"reliability_scale": "x"},
        {"covariates": {"item": ["a", "b", "c"]}},
        {"covariates": {"item": ["a", "b"], "size": [1, 2]}},
        {"covariates": {"item": ["a", "b", "b"], "size": [1, 2, 3]}},
        {"covariates": {"item": ["a", "b", "c"], "size": [1, 2, np.nan]}},
        {"covariates": {"item": ["a", "b", "c"], "size": [1, 2, "x"]}},
        {"covariates": {"item": ["a", "b", "c"], "size": [1, 1, 1]}},
        {"covariates": xr.DataArray([1.0], dims="item")},
    ],
)
def test_what_cannot_be_is_said(options, golden):
    for build in BUILDERS:
        with golden.raises(ValueError):
            build(PAIRS, **options)


def test_other_data_are_refused(golden):
    with golden.raises(DataError):
        bradley_terry({})


def test_covariates_of_any_table_are_the_same():
    columns = {"item": ["d", "c", "b", "a"], "size": [4.0, 1, 2.5, 9], "age": [1, 0, 0, 1]}
    array = xr.DataArray(
        np.transpose([columns["age"], columns["size"]]),
        {"item": columns["item"], "covariate": ["age", "size"]},
        ("item", "covariate"),
    )
    for table in (columns, pd.DataFrame(columns), array, array.T):
        model = thurstone(PAIRS, covariates=table)
        names = list(model.coords["covariate"])
        found = pd.DataFrame(model["item_covariate"].get_value(), list(PAIRS.items), names)
        assert found.loc["a", "size"] == 9 - 12.5 / 3 and found.loc["c", "age"] == pytest.approx(-1 / 3)
    coefficient, quality = pm.draw([model["coefficient"], model["quality"]], 2000, random_seed=1)
    np.testing.assert_allclose(quality.sum(axis=1), 0, atol=1e-9)
    assert np.corrcoef(coefficient[:, 1], quality[:, 0])[0, 1] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDERS)
def test_draws_with_everything_a_tree_carries(build, golden):
    model = build(PAIRS, left_bias=True)
    with pytest.warns(inference.ConvergenceWarning):
        tree = inference.sample(
            model,
            method="nuts",
            draws=100,
            tune=200,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            nuts_sampler="pymc",
        )
    assert tree["constant_data"]["rater_kind"].values.tolist() == ["person", "model"]
    assert tree["posterior"]["quality"].coords["item"].values.tolist() == PAIRS.items.tolist()
    log_p = tree["log_likelihood"]["observed_winner"]
    assert log_p.dims == ("chain", "draw", "annotation") and (log_p < 0).all()
    assert np.isfinite(az.loo(tree).elpd)
    assert np.isfinite(az.psense(tree, var_names=["quality"])["quality"]).all()
    with model:
        prior = pm.sample_prior_predictive(20, random_seed=1)["prior_predictive"]
        replicates = pm.sample_posterior_predictive(tree, random_seed=1, progressbar=False)
    observed = tree["observed_data"]["observed_winner"]
    for replicate in (prior["observed_winner"], replicates["posterior_predictive"]["observed_winner"]):
        assert (replicate.sum("outcome") == observed.sum("outcome")).all() and replicate.min() >= 0
    relabelled = inference.label(tree, PAIRS)
    assert relabelled["posterior"].to_dataset().identical(tree["posterior"].to_dataset())
    with golden.raises(ValueError):
        inference.label(tree, PAIRS.select(items=["a", "b"]))


@pytest.mark.slow
def test_leaderboard_builds_fast():
    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        pytest.skip("RATERZOO_DATA does not name the folder of the data")
    crowd = pd.read_csv(Path(folder) / "llmfao_crowd_comparisons.csv", dtype={"worker": str})
    judges = [
        pd.read_csv(Path(folder) / f"llmfao_{name}_comparisons.csv").assign(worker=name)
        for name in ("gpt3", "gpt4")
    ]
    frame = pd.concat([crowd, *judges])
    frame["kind"] = np.where(frame["worker"].str.startswith("gpt"), "model", "person")
    pairs = Comparisons.from_table(frame, rater="worker", rater_attributes=["kind"])
    for build in BUILDERS:
        started = perf_counter()
        model = build(pairs, left_bias=True)
        assert perf_counter() - started < 5
        assert model.rvs_to_values[model["observed_winner"]].data.sum() == len(frame)
        assert np.isfinite(model.compile_logp()(model.initial_point()))
