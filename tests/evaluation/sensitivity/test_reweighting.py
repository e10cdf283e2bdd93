"""Draws weighed to another reliability against the exact posterior there, and against refits."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from raterzoo import evaluation, inference, models
from raterzoo.evaluation import ReweightingWarning
from raterzoo.evaluation.sensitivity import densities as item_densities
from raterzoo.evaluation.sensitivity import reweighting

from tests.support.dermatology import dermatology
from tests.support.evaluation_parts import Plausibility
from tests.support.evaluation_trees import as_dense, random_case
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from tests.support.source_twins import altered

COUNTS = np.array([[3, 1, 0], [0, 2, 5], [2, 2, 2], [1, 0, 0], [0, 0, 0]])
CONCENTRATION = 1.5
SUBSET = 150  # dermatology cases


def dirichlet_tree(reliability, seed, **options):
    frame = pd.DataFrame(COUNTS, columns=list("xyz"))
    labels = models.Labels.from_counts(frame.assign(item=[f"case {i}" for i in frame.index]))
    model = models.dirichlet(labels, concentration=CONCENTRATION, reliability=reliability)
    return inference.sample(model, random_seed=seed, progressbar=False, **options)


def pooled_over_items(tree, view, power):
    each = item_densities.likelihood_of_items(tree, view, power)
    return np.broadcast_to(each.sum(axis=0), each.shape).copy()


def at_own_power(tree, view, power):
    power = np.asarray(power) * item_densities.reliability_of(tree)
    return item_densities.likelihood_of_items(tree, view, power)


def quiet(how):
    def unwarned(*args, **options):
        with warnings.catch_warnings(action="ignore"):
            return how(*args, **options)

    return unwarned


def with_densities(**replaced):
    """Twin of `reweight` whose log densities of items are summed by other functions."""
    twin = altered("ItemDensities", **replaced).ItemDensities
    return quiet(altered("reweight", ItemDensities=twin).reweight)


# one weight by draw for all items: right in law, but of many items one draw takes it all
POOLED = with_densities(likelihood_of_items=pooled_over_items)
# the likelihood at the model's power, taken for that at power one
POWERED = with_densities(likelihood_of_items=at_own_power)
# items that stay in step
IN_STEP = quiet(altered("_resampled", ("rng.permutation(", "np.asarray(")).reweight)


def samples(tree, group="posterior", name="plausibility"):
    values = tree[group][name].to_numpy().astype(float)
    return values.reshape(-1, *values.shape[2:])


def moments_z(how, tree, reliability):
    """Return z of the first two moments of every plausibility against the exact Dirichlet law."""
    before, after = samples(tree), samples(how(tree, reliability, random_seed=1))
    log_weight = (reliability - 2) * (COUNTS * np.log(before)).sum(axis=-1)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    weight /= weight.sum(axis=0)
    law = CONCENTRATION + reliability * COUNTS
    total = law.sum(axis=1, keepdims=True)
    z = []
    for power, exact in ((1, law / total), (2, law * (law + 1) / (total * (total + 1)))):
        of_weights = ((weight[..., None] * (before**power - exact)) ** 2).sum(axis=0)
        of_steps = (after**power).var(axis=0) / len(after)  # at most that of independent picks
        z.append(((after**power).mean(axis=0) - exact) / np.sqrt(of_weights + of_steps))
    return np.array(z)


@pytest.mark.parametrize("reliability", [1.5, 3])
def test_moments_are_those_of_the_exact_posterior(reliability):
    tree = dirichlet_tree(2, seed_of("exact posterior"), draws=4000)

    def check(how):
        z = moments_z(how, tree, reliability)
        assert np.abs(z).max() < bonferroni_threshold(z.size)

    check(reweighting.reweight)
    assert_rejects_twin(check, POWERED)


def test_nothing_changes_at_the_same_reliability():
    tree = dirichlet_tree(2, 3, draws=100)
    same = reweighting.reweight(tree, 2, random_seed=4)
    np.testing.assert_array_equal(np.sort(samples(same), 0), np.sort(samples(tree), 0))
    assert (same["sample_stats"]["pareto_k"] == -np.inf).all()
    np.testing.assert_allclose(same["sample_stats"]["effective_draws"], 400)


def test_effective_draws_count_those_of_the_chains():
    """They are the effective size of the weights times that of the draws; draws kept twice are not twice as many."""
    tree = dirichlet_tree(2, 3, draws=200, chains=2).isel(draw=np.repeat(np.arange(200), 2))
    log_ratio = item_densities.likelihood_of_items(tree, Plausibility.of(tree), np.asarray(1.0))
    for i, found in enumerate(
        reweighting.reweight(tree, 3, random_seed=4)["sample_stats"]["effective_draws"].to_numpy()
    ):
        if not np.ptp(log_ratio[i]):  # nobody labelled the item
            assert found == pytest.approx(800)
            continue
        relative = array_stats.ess(log_ratio[i][None], method="tail", prob=0.05) / 800
        log_weight, _ = array_stats.psislw(-log_ratio[i], r_eff=relative)
        assert found == pytest.approx(relative / np.exp(2 * log_weight).sum())
        assert relative < 0.8


def test_densities_by_annotation_need_the_items_of_the_annotations():
    names = {"item": ["a"], "category": ["x", "y"]}
    law = xr.DataArray(
        [[[[0.4, 0.6]]]], names, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"}
    )
    tree = xr.DataTree.from_dict({"constant_data": xr.Dataset({"reliability": 1.0})})
    array = xr.DataArray(np.zeros((1, 1, 2)), dims=("chain", "draw", "annotation"), name="observed_label")
    message = r"observed_label is by annotation but .* no annotation_item"
    with pytest.raises(evaluation.EvaluationError, match=message):
        item_densities.owner_of_places(tree, array, Plausibility.of(law))


def test_items_are_reliable_up_to_the_published_pareto_k(golden):
    """Vehtari et al. (2024): k above .7 is not reliable; below half the power no item is."""
    law = xr.DataArray(np.full((1, 1, 2, 2), 0.5), {"item": ["a", "b"], "category": ["x", "y"]},
                       ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})  # fmt: skip
    view = Plausibility.of(law)
    with warnings.catch_warnings(action="error"):
        reweighting._warn_unreliable(view, np.array([0.7, 0.1]), 1.0, 2.0)
    with golden.warns(ReweightingWarning):
        reweighting._warn_unreliable(view, np.array([0.7, 0.71]), 1.0, 2.0)
    with golden.warns(ReweightingWarning):
        reweighting._warn_unreliable(view, np.array([0.1, 0.1]), 0.99, 2.0)


def test_what_a_draw_says_of_an_item_stays_together():
    tree = dirichlet_tree(2, 5, draws=100)
    found = reweighting.reweight(tree, 3, random_seed=6)
    densities = (COUNTS * np.log(samples(found))).sum(axis=-1)[:, :-1]  # nobody labelled the last
    stored = samples(found, "log_likelihood", "observed_label")
    np.testing.assert_allclose(stored, densities, rtol=1e-5, atol=1e-5)
    priors = ((CONCENTRATION - 1) * np.log(samples(found))).sum(axis=-1)
    offset = samples(found, "log_prior", "plausibility") - priors
    np.testing.assert_allclose(offset, offset[:1] * np.ones_like(offset), rtol=1e-4)
    assert found["posterior"]["plausibility"].dims == tree["posterior"]["plausibility"].dims
    assert found["constant_data"]["reliability"] == 3
    assert (found.attrs["reweighted_from"], found.attrs["reweighted_to"]) == (2, 3)
    again = reweighting.reweight(tree, 3, random_seed=6)
    assert again.equals(found) and not reweighting.reweight(tree, 3, random_seed=7).equals(found)


def test_items_stay_independent():
    tree = dirichlet_tree(2, seed_of("independent items"), draws=4000)

    def check(how):
        drawn = samples(how(tree, 3, random_seed=8))
        correlation = np.corrcoef(drawn[..., 1].T)[np.triu_indices(len(COUNTS), 1)]
        # kept draws repeat, which doubles the variance of a correlation at most
        z = correlation * np.sqrt(len(drawn) / 2)
        assert np.abs(z).max() < bonferroni_threshold(z.size)

    check(reweighting.reweight)
    assert_rejects_twin(check, IN_STEP)


def test_trees_go_on_but_not_to_a_third_reliability(golden):
    there = reweighting.reweight(dirichlet_tree(2, 9, draws=200), 3, random_seed=1)
    assert evaluation.annotation_certainty(there).sizes == {"item": len(COUNTS)}
    with golden.raises(evaluation.EvaluationError):
        reweighting.reweight(there, 4)


@pytest.fixture(scope="module")
def cases():
    rankings, _ = dermatology()
    chosen = np.random.default_rng(seed_of("cases")).choice(len(rankings.items), SUBSET, False)
    return rankings.select(items=rankings.items[np.sort(chosen)])


@pytest.fixture(scope="module")
def refits(cases):
    """Function that fits the cases at a reliability, once."""

    @cache
    def fitted(reliability):
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            model = models.plackett_luce(cases, reliability=reliability)
            return inference.sample(model, random_seed=seed_of(f"refit {reliability}"), progressbar=False)

    return fitted


def mean_error(how, refits, start, end):
    found = how(refits(start), end, random_seed=1)
    pairs = (evaluation.annotation_certainty(t, random_seed=2) for t in (found, refits(end)))
    difference = abs(next(pairs) - next(pairs))
    reliable = found["sample_stats"]["pareto_k"].to_numpy() < reweighting.MAX_PARETO_K
    assert reliable.any()
    return difference.to_numpy()[reliable].mean()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "end"),
    [pytest.param(3, 5, marks=pytest.mark.slow), (3, 2), pytest.param(1, 2, marks=pytest.mark.slow)],
)
def test_certainty_is_that_of_a_refit(refits, start, end):
    def check(how):
        assert mean_error(how, refits, start, end) < 0.01

    check(reweighting.reweight)
    assert_rejects_twin(check, POOLED)
    if start > 1:
        assert_rejects_twin(check, POWERED)


def test_a_step_too_far_says_so(refits, golden):
    with golden.warns(ReweightingWarning):
        found = reweighting.reweight(refits(3), 1, random_seed=1)
    stats = found["sample_stats"]
    assert (stats["pareto_k"] > reweighting.MAX_PARETO_K).mean() > 0.5
    assert (stats["effective_draws"] < 400).mean() > 0.5
    assert "thinning" in stats


@pytest.mark.slow
def test_threads_leave_the_filters_of_warnings_as_they_were(refits, monkeypatch):
    monkeypatch.setattr("raterzoo.posterior.plausibility.BLOCK_SIZE", 40_000)  # many blocks
    before = list(warnings.filters)
    for seed in range(5):
        with pytest.warns(ReweightingWarning, match="too far down"):
            reweighting.reweight(refits(3), 1, random_seed=seed)
        assert warnings.filters == before


def test_powers_by_rater(cases):
    few = cases.select(items=cases.items[:12])
    powers = {rater: 1 + i % 2 for i, rater in enumerate(few.raters)}
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(
            models.plackett_luce(few, reliability=powers), random_seed=3, progressbar=False
        )
        view = item_densities.Plausibility.of(tree)
        added = 2 - tree["constant_data"]["reliability"].to_numpy()
        pointwise = samples(tree, "log_likelihood", "observed_ranking")
        owner = tree["constant_data"]["annotation_item"].to_numpy()
        expected = [(pointwise * added)[:, owner == i].sum(axis=1) for i in range(12)]
        found = item_densities.likelihood_of_items(tree, view, added)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        assert reweighting.reweight(tree, 2, random_seed=1).attrs["reweighted_from"] == "by annotation"


def test_refused(golden):
    tree = dirichlet_tree(2, 1, draws=100)
    for wrong in (0, -1, np.inf, np.nan, True, "3"):
        with pytest.raises(evaluation.EvaluationError, match=r"reliability=.*positive finite"):
            reweighting.reweight(tree, wrong)
    with pytest.raises(evaluation.EvaluationError, match=r"log_likelihood=True"):
        reweighting.reweight(dirichlet_tree(2, 1, draws=50, log_likelihood=False), 3)
    with golden.raises(evaluation.EvaluationError):
        reweighting.reweight(dirichlet_tree(2, 1, draws=3), 3)
    with pytest.raises(evaluation.EvaluationError, match="pass the tree"):
        reweighting.reweight(tree["posterior"]["plausibility"], 3)
    for model in ("tempered_plackett_luce", None, "pm.Model"):
        other = tree.copy()
        other.attrs = {"model": model}
        with golden.raises(evaluation.EvaluationError):
            reweighting.reweight(other, 3)
    other.attrs = {"model": "prirn"}
    with golden.raises(evaluation.EvaluationError):
        reweighting.reweight(other, 3)
    shared = tree.copy()
    prevalence = xr.DataArray(np.ones((4, 100, 3)), dims=("chain", "draw", "category"))
    shared["posterior"] = tree["posterior"].to_dataset().assign(prevalence=prevalence)
    with golden.raises(evaluation.EvaluationError):
        reweighting.reweight(shared, 3)
    unknown = as_dense(random_case(np.random.default_rng(1)))
    unknown.attrs["model"] = "dirichlet"
    with golden.raises(evaluation.EvaluationError):
        reweighting.reweight(unknown, 3)


def test_variables_that_are_kept_and_densities_that_are_shared_are_those_of_the_whole():
    tree = dirichlet_tree(2.0, 5, draws=200, chains=2)
    densities = item_densities.ItemDensities.of(tree)
    for reliability in (1.5, 2.5):
        whole = quiet(reweighting.reweight)(tree, reliability, random_seed=3)
        given = {"densities": densities, "kept": ("plausibility",)}
        found = quiet(reweighting.reweighted)(tree, reliability, 3, **given)
        assert [*found["posterior"].data_vars] == ["plausibility"] and "log_likelihood" not in found.children
        xr.testing.assert_identical(found["posterior"]["plausibility"], whole["posterior"]["plausibility"])
        xr.testing.assert_identical(found["sample_stats"].to_dataset(), whole["sample_stats"].to_dataset())
        assert found.attrs == whole.attrs


def test_sums_of_items_do_not_depend_on_the_order_of_their_cells():
    values = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])  # (sample, cell)
    for owner, expected in (([0, 1, 2], values.T), ([2, 1, 0], values.T[::-1])):
        np.testing.assert_array_equal(item_densities._sums(values, np.array(owner), 3), expected)
    np.testing.assert_array_equal(
        item_densities._sums(values, np.array([1, 0, 1]), 3), [[2, 16], [5, 40], [0, 0]]
    )
