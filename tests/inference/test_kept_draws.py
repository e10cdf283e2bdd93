"""Thinning and summaries of draws: summaries equal those of all draws, and kept draws are some of them."""

import warnings
from functools import cache
from types import SimpleNamespace

import arviz
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference import kept_draws
from raterzoo.inference.kept_draws import STATISTICS
from raterzoo.inference.runs.run import Draws
from raterzoo.posterior import plausibility

from tests.support.stores import read_posterior, write_posterior

QUIET = {"random_seed": 1, "progressbar": False, "draws": 400, "log_likelihood": True, "thin": 1}
LABELS = models.simulators.labels(items=30, raters=5, random_seed=1).data
RANKINGS = models.simulators.rankings(
    items=20, raters=4, categories=8, block_sizes=(1, 2), random_seed=1
).data
SCORES = models.simulators.scores(items=20, raters=4, random_seed=1).data
PAIRS = models.simulators.comparisons(items=6, raters=3, random_seed=1).data
BUILDERS = {
    "hierarchical_scores": lambda: models.hierarchical_scores(SCORES),
    "bradley_terry": lambda: models.bradley_terry(PAIRS),
    "normal_scores": lambda: models.normal_scores(SCORES),
    "dawid_skene": lambda: models.dawid_skene(LABELS),
    "correlated_votes": lambda: models.correlated_votes(LABELS),
    "mace": lambda: models.mace(LABELS),
    "plackett_luce": lambda: models.plackett_luce(RANKINGS),
    "dirichlet": lambda: models.dirichlet(LABELS),  # one of the samplers that make all draws in one piece
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of few items, so that there are many."""
    monkeypatch.setattr(plausibility, "BLOCK_SIZE", 20_000)


@cache
def tree_of(name, keep):
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        return inference.sample(BUILDERS[name](), keep=keep, **QUIET)


@pytest.mark.parametrize(
    "name",
    [
        "dawid_skene",
        "plackett_luce",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("correlated_votes", "mace", "dirichlet")),
    ],
)
@pytest.mark.parametrize("keep", ["thinned", "summary"])
def test_summaries_are_those_of_all_draws(name, keep):
    whole, tree = tree_of(name, "all"), tree_of(name, keep)
    diagnosis, stored = inference.diagnose(whole), inference.diagnose(tree)
    assert diagnosis.attrs == stored.attrs
    for statistic in diagnosis.data_vars:
        aligned = stored[statistic].reindex_like(diagnosis[statistic])
        np.testing.assert_allclose(aligned, diagnosis[statistic], rtol=1e-8, err_msg=str(statistic))
    of_items = tree["item_summary"].to_dataset()
    assert of_items["statistic"].values.tolist() == [*STATISTICS]
    drawn = whole["posterior"]["plausibility"]
    found = of_items["plausibility"]
    np.testing.assert_allclose(
        found.sel(statistic="mean"), drawn.mean(("chain", "draw"), dtype=float), rtol=1e-12
    )
    np.testing.assert_allclose(
        found.sel(statistic="95 %"), drawn.quantile(0.95, ("chain", "draw")), rtol=1e-5, atol=1e-9
    )
    for top in (1, 2, 3) if name in ("plackett_luce", "dirichlet") else (1,):
        certainty = evaluation.annotation_certainty(tree, top)
        xr.testing.assert_allclose(certainty, evaluation.annotation_certainty(whole, top), rtol=1e-12)
    labels, expected = evaluation.plausible_labels(tree), evaluation.plausible_labels(whole)
    xr.testing.assert_allclose(labels["probability"], expected["probability"], rtol=1e-12)
    xr.testing.assert_identical(labels["label"], expected["label"])
    if whole["posterior"]["plausibility"].attrs["truth"] == "category":
        certainty = evaluation.annotation_certainty(whole)
        xr.testing.assert_allclose(expected["probability"][:, 0], certainty, rtol=1e-12)


@pytest.mark.parametrize("keep", ["thinned", "summary"])
def test_deterministics_that_items_share_are_kept_and_diagnosed(keep):
    whole, tree = tree_of("hierarchical_scores", "all"), tree_of("hierarchical_scores", keep)
    shared = tree["shared_posterior" if keep == "thinned" else "posterior"]
    for name in ("rater_variance", "rater_scale"):
        np.testing.assert_array_equal(shared[name], whole["posterior"][name], err_msg=name)
    found, expected = inference.diagnose(tree), inference.diagnose(whole)
    assert {*found["element"].values} == {*expected["element"].values}
    assert "rater_scale[0]" in found["element"].values


@pytest.mark.parametrize("keep", ["thinned", "summary"])
def test_raters_are_judged_by_all_draws(keep, monkeypatch):
    monkeypatch.setattr(kept_draws, "MOST", 100)
    monkeypatch.setattr(kept_draws, "LEAST", 100)
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(BUILDERS["dawid_skene"](), keep=keep, **QUIET)
    whole = tree_of("dawid_skene", "all")
    for ask in (evaluation.rater_quality, evaluation.confusion_intervals, evaluation.rater_worth):
        xr.testing.assert_identical(ask(tree), ask(whole))


@pytest.mark.parametrize("name", ["dawid_skene", "plackett_luce", "normal_scores"])
def test_kept_draws_are_every_so_many_of_all(name, monkeypatch):
    monkeypatch.setattr(kept_draws, "MOST", 100)
    monkeypatch.setattr(kept_draws, "LEAST", 100)
    whole = tree_of(name, "all")
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(BUILDERS[name](), keep="thinned", **QUIET)
    step = tree.attrs["kept_every"]
    assert (tree.attrs["keep"], step) == ("thinned", 16)
    for group in ("posterior", "log_likelihood", "log_prior"):
        for variable, draws in whole[group].data_vars.items():
            expected = draws.isel(draw=slice(step - 1, None, step))
            np.testing.assert_array_equal(tree[group][variable], expected, err_msg=f"{group} {variable}")
    if name == "dawid_skene":
        shared = tree["shared_posterior"]
        np.testing.assert_array_equal(shared["confusion"], whole["posterior"]["confusion"])
    assert len(arviz.summary(tree)) > 0


def test_a_summary_says_what_it_cannot_answer(golden):
    tree = tree_of("plackett_luce", "summary")
    for ask in (
        lambda: evaluation.annotation_certainty(tree, 4),
        lambda: evaluation.plausible_labels(tree, 2),
        lambda: evaluation.expected_value(tree, {c: 0 for c in RANKINGS.categories.tolist()}),
    ):
        with pytest.raises(evaluation.DrawsNotKept, match='keep="thinned"'):
            ask()
    with golden.raises(ValueError):
        evaluation.truth_certainty(tree)
    with golden.raises(ValueError):
        inference.design.next_to_ask(tree)


@pytest.mark.parametrize("keep", ["all", "thinned", "summary"])
@pytest.mark.parametrize("ask", [evaluation.annotation_certainty, evaluation.plausible_labels])
def test_sets_of_labels_are_refused_for_one_reason_whatever_is_kept(ask, keep, golden):
    with golden.raises(evaluation.EvaluationError):
        ask(tree_of("dawid_skene", keep), 2)


def test_comparisons_without_draws_have_no_other_units_and_no_next_question(golden):
    tree = tree_of("bradley_terry", "summary")
    for ask in (lambda own: inference.in_units(own, "quality sd"), inference.design.next_to_ask):
        with golden.raises(ValueError):
            ask(tree)


def test_what_is_kept_by_default_depends_on_the_size_and_is_said(monkeypatch):
    assert "keep" not in tree_of("dirichlet", None).attrs
    monkeypatch.setattr(kept_draws, "LARGE", 10_000)
    with pytest.warns(inference.CostWarning, match=r"keep='thinned'.*keep='all' .*keeps all"):
        tree = inference.sample(BUILDERS["dirichlet"](), **QUIET)
    assert tree.attrs["keep"] == "thinned"
    assert tree["posterior"].sizes["draw"] == 25


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_raters_with_most_draws_get_fewer_by_default_which_is_said(monkeypatch):
    """Many raters of few answers: the default call ends, in the memory that it says; keep="all" makes what was asked for."""
    rows = {"item": [k // 4 for k in range(40)], "rater": [*range(40)], "label": [k % 3 for k in range(40)]}
    model = models.dawid_skene(models.Labels.from_table(rows))
    whole = (
        kept_draws.Costs(model, Draws(100, 10, 2, 1, 1, False, 1, "float32", densities=True))
        .of_run("gibbs")
        .memory
    )
    monkeypatch.setattr(kept_draws, "OF_RATERS", whole / 4)
    options = {"chains": 2, "draws": 100, "thin": 1, "tune": 10, "random_seed": 1, "progressbar": False}
    with pytest.warns(inference.CostWarning, match=r"keeps 25 draws in place of 100, one of 4 sweeps"):
        tree = inference.sample(model, **options)
    assert tree["posterior"].sizes["draw"] == 25
    assert int(tree["sample_stats"]["thinning"]) == 4
    assert inference.sample(model, keep="all", **options)["posterior"].sizes["draw"] == 100


def test_thinning_counts_the_densities_of_items(monkeypatch):
    model = models.dawid_skene(LABELS)
    numbers = len(LABELS.items) * len(LABELS.categories)  # plausibilities
    monkeypatch.setattr(
        kept_draws, "LARGE", 400 * 4 * (numbers + len(LABELS.label_code))
    )  # bytes of 400 draws
    plan = {"draws": 1000, "chains": 4, "dtype": "float32"}
    assert kept_draws.thinning_step(model, SimpleNamespace(**plan, densities=True)) == 10
    assert len(LABELS.label_code) == numbers  # so that without densities twice as many draws have room
    assert kept_draws.thinning_step(model, SimpleNamespace(**plan, densities=False)) == 5


def test_all_is_kept_of_a_model_without_items():
    with pm.Model() as model:
        pm.Normal("mu")
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(
            model, draws=20, tune=20, chains=2, random_seed=1, progressbar=False, keep="thinned"
        )
    assert tree["posterior"].sizes["draw"] == 20 and "keep" not in tree.attrs


@pytest.mark.parametrize(
    "options",
    [{"keep": "some"}, {"keep": "summary", "store": "run.zarr"}, {"keep": "summary", "predictive": True}],
)
def test_what_cannot_be_kept_is_refused(options, golden):
    with golden.raises(ValueError):
        inference.sample(BUILDERS["dawid_skene"](), **options)


def test_other_thresholds_and_variables_are_judged_from_the_stored_diagnosis():
    whole, tree = tree_of("dawid_skene", "all"), tree_of("dawid_skene", "summary")
    for asked in ({"ess": 1200, "r_hat": 1.003}, {"var_names": "confusion"}, {"var_names": ["plausibility"]}):
        expected, found = inference.diagnose(whole, **asked), inference.diagnose(tree, **asked)
        assert found.attrs["verdict"] == expected.attrs["verdict"]
    with pytest.raises(ValueError, match="var_names has 'worth'"):
        inference.diagnose(tree, var_names="worth")


def test_wrong_twin_blocks_that_are_not_those_of_evaluation_are_noticed(monkeypatch):
    """The members of OTHER of a block are drawn with the random numbers of that block."""
    whole = evaluation.annotation_certainty(tree_of("plackett_luce", "all"), 3)
    blocks = kept_draws.item_blocks
    monkeypatch.setattr(
        kept_draws, "item_blocks", lambda *known: [(n + 1, a, b) for n, a, b in blocks(*known)]
    )
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(BUILDERS["plackett_luce"](), keep="summary", **QUIET)
    assert (evaluation.annotation_certainty(tree, 3) != whole).any()


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_a_summary_of_items_that_share_nothing_is_read_from_its_file(suffix, tmp_path):
    tree = tree_of("plackett_luce", "summary")
    assert "posterior" not in tree.children
    write_posterior(tree, tmp_path / f"summary.{suffix}")
    found = read_posterior(tmp_path / f"summary.{suffix}")
    xr.testing.assert_identical(
        evaluation.annotation_certainty(found, 1), evaluation.annotation_certainty(tree, 1)
    )


@pytest.mark.parametrize(("keep", "draws"), [("thinned", 3), ("summary", 10), ("all", 10)])
def test_statistics_are_of_the_draws_that_are_kept(keep, draws):
    diverging = np.zeros((2, 10), bool)
    diverging[0, 3] = True
    dims = ("chain", "draw")
    stats = xr.Dataset({"diverging": (dims, diverging), "lp": (dims, np.arange(20.0).reshape(2, 10))})
    found = kept_draws._thinned_stats(stats, kept_draws.Kept(keep, 1 if keep == "all" else 3))
    assert found.sizes["draw"] == draws
    if keep == "thinned":
        assert found["lp"].values.tolist() == [[2, 5, 8], [12, 15, 18]]
        assert found["diverging"].values.tolist() == [[False, True, False], [False] * 3]
