"""Gibbs of label models: enumeration, calibration, two samplers, what the tree carries, and the wrong twins."""

import dataclasses
import warnings
from dataclasses import dataclass
from functools import cache
from itertools import product

import arviz as az
import numba
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference.labels.kernels import gibbs
from raterzoo.inference.labels.kernels import gibbs as kernels_gibbs

from tests.support.densities import add_densities
from tests.support.label_designs import exact_means, favoured, tiny_labels
from tests.support.label_samplers import constant_prior, draw_labels_model, read_labels
from tests.support.laws import Answers, CountedLabels, answer_codes, answer_sweeps
from tests.support.monte_carlo import (
    assert_rejects_twin,
    bonferroni_threshold,
    check_means,
    mc_z,
    sbc_ranks,
    seed_of,
    within_sbc_band,
)
from tests.support.random_streams import stream
from tests.support.runs import ChainPlan

LABELS = tiny_labels()
QUIET = {"progressbar": False}
NAMES = ["class_conditional", "dawid_skene", "multinomial", "one_coin"]


def drawn(labels, alpha, beta, collapsed):
    model = models.dawid_skene(labels, prevalence_concentration=alpha, confusion_concentration=beta)
    read = read_labels(model)
    plan = ChainPlan(4, 20_000, 200, seed_of(f"drawn {collapsed}"), dtype="float64", thin=3)
    found = draw_labels_model(read.answers, constant_prior(model, read), plan, collapsed)
    confusion = found.table.reshape(4, -1, *beta.shape).swapaxes(-1, -2)
    return {"prevalence": found.prevalence, "confusion": confusion, "plausibility": found.plausibility}


@pytest.mark.parametrize("collapsed", [True, False], ids=["collapsed", "plain"])
def test_both_sweeps_draw_the_exact_posterior(collapsed):
    rng = np.random.default_rng(seed_of("priors"))
    alpha, beta = rng.gamma(2.0, size=2), favoured(2) / 4 + rng.gamma(0.3, size=(3, 2, 2))
    exact = exact_means(LABELS, alpha, beta)
    check_means(drawn(LABELS, alpha, beta, collapsed), exact)
    assert_rejects_twin(check_means, drawn(LABELS, alpha, beta + 0.1, collapsed), exact)
    fewer = LABELS.to_table()
    kept = fewer["rater"] != "r"
    fewer = models.Labels.from_table(
        {k: v[kept] for k, v in fewer.items()}, count="count", gold="gold", categories=["x", "y"]
    )
    twin = drawn(fewer, alpha, beta[1:], collapsed)
    exact = exact_means(LABELS, alpha, beta)
    own = {"prevalence": exact["prevalence"], "confusion": exact["confusion"][1:]}
    assert_rejects_twin(check_means, {name: twin[name] for name in own}, own)


def test_collapsed_sweep_keeps_every_category_in_play():
    """Two opposed raters who answer one item 2,000 times each leave it as open as the prior does."""
    many = 2000
    rater, label = np.repeat([0, 1], many), np.repeat([0, 1], many)
    answers = Answers(np.array([0, 2 * many]), answer_codes(rater, label, 2), np.array([-1]))
    # rows of huge concentration: the confusion matrices are all but known
    beta = 1e12 * np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.8, 0.2], [0.1, 0.9]]])
    table = np.ascontiguousarray(beta.swapaxes(1, 2)).reshape(-1, 2)
    prior = kernels_gibbs.ConfusionPrior(np.full(2, 50.0), table, kernels_gibbs.FREE_ROWS)
    for collapsed in (True, False):
        plan = ChainPlan(4, 1000, 10, seed_of("odds"), dtype="float64")
        draws = draw_labels_model(answers, prior, plan, collapsed)
        z = mc_z(draws.prevalence[..., 0], 0.5)
        assert abs(z) < bonferroni_threshold(1)
        assert draws.prevalence[..., 0].std() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("distinct", [False, True])
def test_two_categories_are_drawn_to_the_bit_as_any_number_of_them(distinct):
    """The sweeps in scalars and the one for any number of categories, with repeated answers, long products and underflow."""

    def compiled(sweep):
        @numba.njit(error_model="numpy")
        def run(rng, answers, prior, truth, row_total):
            gibbs.recount(answers, truth)
            sweep(rng, answers, prior, truth, row_total)

        return run

    @numba.njit(error_model="numpy")
    def run_pairs(rng, answers, prior, truth, row_total):
        gibbs.recount(answers, truth)
        gibbs.draw_collapsed_pair(rng, answers, prior, truth, (row_total, (0, 60)))

    rng, raters = np.random.default_rng(1), 400 if distinct else 4
    number = rng.integers(0, 400, 60)
    rater = [rng.permutation(raters)[:n] if distinct else rng.integers(0, raters, n) for n in number]
    rater, start = np.concatenate([np.sort(own) for own in rater]), np.concatenate([[0], np.cumsum(number)])
    answers = Answers(start, answer_codes(rater, rng.integers(0, 2, len(rater)), 2), rng.integers(-1, 2, 60))
    table = rng.gamma(2.0, size=(2 * raters, 2))
    sweeps = [compiled(gibbs.draw_collapsed), run_pairs]
    if distinct:
        sweeps.append(compiled(gibbs.draw_distinct_pair))
    # with concentrations of 1e-5 one taken from a sum would leave few digits
    for concentration in (table, table * 1e-5, table * 1e12):
        prior, drawn = (
            kernels_gibbs.ConfusionPrior(np.array([1.0, 2.0]), concentration, kernels_gibbs.FREE_ROWS),
            [],
        )
        for run in sweeps:
            category = np.where(answers.gold_category < 0, np.arange(60) % 2, answers.gold_category)
            counts = np.zeros(2, np.int64), np.zeros(table.shape, np.int64), np.zeros((raters, 2), np.int64)
            words, total = stream(np.random.SeedSequence(1)), concentration.reshape(raters, 2, 2).sum(axis=1)
            for _ in range(20):
                run(words, answers, prior, (category, *counts), total)
            drawn.append((category, words, *counts))
        for other in drawn[1:]:
            for one, own in zip(drawn[0], other, strict=True):
                np.testing.assert_array_equal(one, own)
    assert (answers.gold_category < 0).any()


@pytest.mark.parametrize("n", [2, 3])
def test_repeated_answers_are_found_in_any_item_and_not_across_items(n):
    start, rater = np.array([0, 2, 2, 4]), np.array([0, 1, 1, 2])  # rater 1 ends one item and begins the next
    for again, distinct in ((rater, True), (np.array([0, 1, 2, 2]), False), (np.array([1, 1, 1, 2]), False)):
        answers = Answers(start, answer_codes(again, np.array([0, 1, 0, 1]), n), np.full(3, -1))
        assert gibbs.are_distinct(answers, n) == distinct == gibbs.are_distinct.py_func(answers, n)


@pytest.mark.slow
def test_items_of_many_informative_answers_are_left_to_the_sweep_that_takes_logs(monkeypatch):
    """Their odds leave the range in which products without a division are fine; later items know of those that changed."""
    left, pair = [], gibbs.draw_collapsed_pair
    monkeypatch.setattr(gibbs, "draw_collapsed_pair", lambda *own: left.append(own[-1][1]) or pair(*own))
    rng, items, raters = np.random.default_rng(1), 60, 100
    right, wide = rng.integers(0, 2, items), np.arange(items) < 8
    number = np.where(wide, raters, 2)  # of answers: most items are open
    rater = np.concatenate([np.sort(rng.permutation(raters)[:n]) for n in number])
    label = np.repeat(right, number) ^ (rng.random(number.sum()) > 0.97)
    start = np.concatenate([[0], np.cumsum(number)])
    answers = Answers(start, answer_codes(rater, label, 2), np.full(items, -1))
    for concentration, seed in product((0.5, 0.02), range(10)):
        table, drawn = np.full((2 * raters, 2), concentration), []
        prior, total = (
            kernels_gibbs.ConfusionPrior(np.ones(2), table, kernels_gibbs.FREE_ROWS),
            np.full((raters, 2), 2 * concentration),
        )
        for sweep, own in ((gibbs.draw_distinct_pair.py_func, total), (pair, (total, (0, items)))):
            category = right ^ np.isin(np.arange(items), [2, 5])  # two wide items are wrong at first
            counts = np.zeros(2, np.int64), np.zeros(table.shape, np.int64), np.zeros((raters, 2), np.int64)
            words = stream(np.random.SeedSequence(seed))
            gibbs.recount(answers, (category, *counts))
            sweep(words, answers, prior, (category, *counts), own)
            drawn.append((category, words, *counts))
        for one, other in zip(*drawn, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(drawn[0][0][wide], right[wide])
    assert {(2, 3), (5, 6)} <= {*left} <= {(i, i + 1) for i in np.flatnonzero(wide).tolist()}


def test_plausibilities_of_two_categories_are_those_of_any_number_of_them():
    """Scalars and the pass over the answers, for items of few and of very many answers, and of known categories."""
    rng = np.random.default_rng(1)
    number = np.array([0, 1, 3, 9, 400, 900, 3000])
    start, rater = np.concatenate([[0], np.cumsum(number)]), rng.integers(0, 5, number.sum())
    known = np.array([-1, 0, 1, -1, -1, 1, -1])
    answers = Answers(start, answer_codes(rater, rng.integers(0, 2, len(rater)), 2), known)
    prevalence, table = rng.dirichlet([1, 1]), rng.dirichlet([1, 1], (5, 2)).swapaxes(1, 2).reshape(-1, 2)
    table = np.ascontiguousarray(table)
    log_p, plausibility = np.empty(7), np.empty((7, 2))
    answer_sweeps(2).log_p(prevalence, table, answers, log_p, plausibility)
    for every, n in ((1, 2), (2, 1), (0, 0)):
        found, own = np.full((n, 7), np.nan), np.empty((2, 7, 2))
        two = np.stack([prevalence] * 2), np.stack([table] * 2)
        gibbs.weigh_items(answers, two, (found, own), every)
        np.testing.assert_array_equal(found, np.broadcast_to(log_p, (n, 7)))
        np.testing.assert_array_equal(own, np.broadcast_to(plausibility, (2, 7, 2)))
    assert log_p.min() < -1000 and not np.isnan(plausibility).any()


def test_collapsed_sweeps_are_not_plain_ones():
    model = models.dawid_skene(LABELS)
    read = read_labels(model)

    def plausibility(collapsed, thin):
        plan = ChainPlan(1, 5, 0, 3, dtype="float64", thin=thin)
        return draw_labels_model(read.answers, constant_prior(model, read), plan, collapsed).plausibility

    plain = plausibility(False, 3)
    assert (plausibility(False, 3) == plain).all()
    for thin in (2, 3):
        assert (plausibility(True, thin) != plain).any()


@cache
def tree_of(name):
    return inference.sample(getattr(models, name)(LABELS), random_seed=3, dtype="float64", **QUIET)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [own if own == "dawid_skene" else pytest.param(own, marks=pytest.mark.long) for own in NAMES]
)
def test_nuts_agrees_with_gibbs(name):
    model = getattr(models, name)(LABELS)
    gibbs = tree_of(name)
    assert gibbs.attrs["model"] == name and gibbs.attrs["method"] == "gibbs"
    nuts = inference.sample(
        model, method="nuts", random_seed=seed_of(name), cores=1, nuts_sampler="pymc", **QUIET
    )
    for variable in gibbs["posterior"].data_vars:
        one, other = (
            t["posterior"][variable].transpose("chain", "draw", ...).to_numpy() for t in (gibbs, nuts)
        )
        free = np.abs(one - 0.5).max(axis=(0, 1)) < 0.5 - 1e-12  # gold items have no choice
        first, second = one.mean(axis=(0, 1)), other.mean(axis=(0, 1))
        z = np.stack([mc_z(one, second)[free], mc_z(other, first)[free]])
        combined = 1 / np.sqrt((1 / z**2).sum(axis=0))  # of both errors
        assert combined.max() < bonferroni_threshold(combined.size)


@pytest.mark.parametrize("name", [*NAMES, "dirichlet"])
def test_densities_are_pymcs(name):
    tree, model = tree_of(name), getattr(models, name)(LABELS)
    free = [rv.name for rv in model.free_RVs]
    few = tree["posterior"].to_dataset()[free].isel(draw=slice(0, 20))
    check = xr.DataTree.from_dict({"posterior": few})
    add_densities(check, model)
    for group, rtol in (("log_likelihood", 1e-9), ("log_prior", 1e-8)):
        for variable, theirs in check[group].data_vars.items():
            ours = tree[group][variable].isel(draw=slice(0, 20))
            if group == "log_likelihood":
                assert (np.abs(theirs[..., 4]) < 1e-15).all()  # nobody answered item e: it is left out
                theirs = theirs[..., :4]
            np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=rtol, atol=1e-9)


def test_dirichlet_is_exact():
    model = models.dirichlet(LABELS, concentration=0.7, reliability=2.0)
    tree = inference.sample(model, random_seed=5, dtype="float64", **QUIET)
    assert tree.attrs["method"] == "exact"
    concentration = 0.7 + 2 * LABELS.counts
    exact = concentration / concentration.sum(axis=1, keepdims=True)
    check_means({"p": tree["posterior"]["plausibility"].to_numpy()}, {"p": exact})
    twin = (1 + concentration) / (1 + concentration).sum(axis=1, keepdims=True)
    assert_rejects_twin(check_means, {"p": tree["posterior"]["plausibility"].to_numpy()}, {"p": twin})


def test_tree_carries_what_evaluation_reads():
    tree = tree_of("dawid_skene")
    assert tree["posterior"]["plausibility"].dims == ("chain", "draw", "item", "category")
    assert tree["posterior"]["confusion"].dims[2:] == ("rater", "category", "answer")
    assert tree["log_likelihood"]["observed_label"].dims == ("chain", "draw", "item")
    assert {"annotation_item", "annotation_rater", "gold"} <= set(tree["constant_data"].data_vars)
    assert tree["posterior"]["rater"].values.tolist() == ["r", "s", "t"]
    for name in ("category", "answer"):
        assert tree["posterior"][name].values.tolist() == ["x", "y"]
    assert tree["log_likelihood"]["item"].values.tolist() == ["a", "b", "c", "d"]  # e has no answer
    assert np.isfinite(az.loo(tree).elpd)
    xr.testing.assert_identical(inference.label(tree, LABELS), tree)
    bare = xr.DataTree.from_dict({g: tree[g].to_dataset() for g in ("posterior", "observed_data")})
    assert inference.label(bare, LABELS)["posterior"]["item"].values.tolist() == list("abcde")


@pytest.mark.parametrize("method", ["gibbs", pytest.param("nuts", marks=pytest.mark.long)])
def test_log_likelihood_is_by_item_even_where_items_are_as_many_as_answers(method):
    table = {"item": [1, 1, 2, 3], "rater": list("abab"), "label": list("xyxy")}
    labels = models.Labels.from_table(table | {"count": [1, 1, 1, 0]}, count="count")
    tree = inference.sample(models.dawid_skene(labels), method=method, random_seed=1, **QUIET)
    assert tree["log_likelihood"]["observed_label"].dims == ("chain", "draw", "item")
    assert tree["log_likelihood"]["item"].values.tolist() == [1, 2]


@pytest.mark.slow
def test_attributes_of_raters_stand_along_them(golden):
    table = {"item": [1, 1, 2, 2], "rater": list("abab"), "label": list("xyxx")}
    table["kind"] = ["person", "model"] * 2
    labels = models.Labels.from_table(table, rater_attributes=["kind"])
    model = models.dawid_skene(labels)
    tree = inference.sample(model, random_seed=1, **QUIET)
    assert tree["constant_data"]["rater_kind"].values.tolist() == ["person", "model"]
    with model:  # no sampler is needed for trees of PyMC
        drawn = pm.sample_prior_predictive(20, random_seed=1)
    named = inference.label(drawn, labels)
    assert named["constant_data"]["rater_kind"].dims == ("rater",)
    assert "mean" in az.summary(tree)  # a coordinate that only some variables have ends it
    other = dataclasses.replace(labels, rater_attributes={"kind": np.array(["model", "person"])})
    with golden.raises(ValueError):
        inference.label(tree, other)


def test_one_answer_an_item_is_said_to_identify_nobody(golden):
    table = {"item": [1, 2, 3], "rater": list("aba"), "label": list("xyx")}
    with golden.warns(models.DataWarning):
        models.dawid_skene(models.Labels.from_table(table))
    assert "NOT IDENTIFIED" in models.Labels.from_table(table).report()
    known = models.Labels.from_table(table | {"gold": ["x", "", ""]}, gold="gold")
    models.one_coin(known)  # does not warn
    assert known.identified


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_draws_do_not_depend_on_the_number_of_cores(cores):
    again = inference.sample(models.dawid_skene(LABELS), random_seed=3, dtype="float64", cores=cores, **QUIET)
    xr.testing.assert_identical(
        again["posterior"].to_dataset(), tree_of("dawid_skene")["posterior"].to_dataset()
    )


def test_other_models_are_drawn_by_nuts_and_say_why(golden):
    hierarchical = models.hierarchical_dawid_skene(LABELS)
    with golden.raises(ValueError):
        inference.sample(hierarchical, method="gibbs", **QUIET)
    with models.dawid_skene(LABELS) as model:
        pm.Potential("more", model["prevalence"][0])
    with pytest.raises(ValueError, match="the potential 'more'"):
        inference.sample(model, method="gibbs", **QUIET)


N_DRAWS = 99


@dataclass(frozen=True)
class Design:
    """Each item is answered by some of the raters."""

    items: int = 40
    raters: int = 5
    answers: int = 3
    categories: int = 2


SPARSE = Design()


def simulated(rng, design, kind, alpha, beta):
    """Draw parameters from the prior, and answers of some raters to every item."""
    n = design.categories
    prevalence = rng.dirichlet(alpha)
    confusion = np.empty((design.raters, n, n))
    if kind == kernels_gibbs.FREE_ROWS:
        for r, j in np.ndindex(confusion.shape[:2]):
            confusion[r, j] = rng.dirichlet(beta[r, j])
    else:
        size = (design.raters, 1 if kind == kernels_gibbs.ONE_ABILITY else n)
        ability = np.broadcast_to(rng.beta(4.0, 2.0, size), (design.raters, n))[:, :, None]
        confusion = np.where(np.eye(n, dtype=bool), ability, (1 - ability) / (n - 1))
    truth = rng.choice(n, design.items, p=prevalence)
    rater = np.concatenate([np.sort(rng.permutation(design.raters)[: design.answers]) for _ in truth])
    item = np.repeat(np.arange(design.items), design.answers)
    row = confusion[rater, truth[item]].cumsum(axis=1)[:, :-1]
    label = (row < rng.random((len(item), 1))).sum(axis=1)
    start = np.arange(0, len(item) + 1, design.answers)
    answers = Answers(start, answer_codes(rater, label, n), np.full(design.items, -1))
    return prevalence, confusion, answers


def ranks_of(design, kind, beta, collapsed, seed, extra=0.0):
    n, rng, ranks = design.categories, np.random.default_rng(seed), []
    alpha = np.full(n, 2.0)
    table = np.zeros((design.raters, n, n))
    table[:, 0], table[:, 1] = 4.0 + extra, 2.0
    if kind == kernels_gibbs.FREE_ROWS:
        table = beta.swapaxes(1, 2) + extra
    prior = kernels_gibbs.ConfusionPrior(alpha, np.ascontiguousarray(table).reshape(-1, n), kind)
    for s in range(300):
        prevalence, confusion, answers = simulated(rng, design, kind, alpha, beta)
        plan = ChainPlan(1, N_DRAWS, 100, seed + s, 1, "float64", thin=10)
        draws = draw_labels_model(answers, prior, plan, collapsed)
        own = draws.table[0].reshape(N_DRAWS, -1, n, n).swapaxes(-1, -2)
        right = np.arange(n)
        values = np.column_stack([
            draws.prevalence[0, :, 0], own[:, 0, 0, 0], own[:, 1, 1, 1],
            own[:, :, right, right].mean(axis=(1, 2)), draws.log_p[0].sum(axis=1),
        ])  # fmt: skip
        joint = prevalence * np.prod(
            confusion[answers.code // n, :, answers.code % n].reshape(design.items, -1, n), axis=1
        )
        true = np.array([
            prevalence[0], confusion[0, 0, 0], confusion[1, 1, 1],
            confusion[:, right, right].mean(), np.log(joint.sum(axis=1)).sum(),
        ])  # fmt: skip
        ranks.append(sbc_ranks(true[None], values[None], rng)[0])
    return np.array(ranks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "collapsed"),
    [
        (kernels_gibbs.FREE_ROWS, True),
        (kernels_gibbs.FREE_ROWS, False),
        (kernels_gibbs.ONE_ABILITY, False),
        (kernels_gibbs.ABILITIES, False),
    ],
    ids=["collapsed rows", "rows", "coin", "coins"],
)
def test_truths_are_ranked_uniformly(kind, collapsed):
    seed = seed_of(f"calibration {kind} {collapsed}")
    beta = np.broadcast_to(favoured(2), (SPARSE.raters, 2, 2))
    level = 1 - 0.01 / 5
    assert within_sbc_band(ranks_of(SPARSE, kind, beta, collapsed, seed), N_DRAWS, level).all()
    twin = ranks_of(SPARSE, kind, beta, collapsed, seed, extra=1.0)
    assert not within_sbc_band(twin, N_DRAWS, level).all()


@pytest.mark.slow
def test_a_flat_prior_fails_calibration_because_labels_switch():
    design = Design(items=60, raters=8, answers=8)
    flat = np.ones((design.raters, 2, 2))
    ranks = ranks_of(design, kernels_gibbs.FREE_ROWS, flat, collapsed=True, seed=seed_of("flat"))
    assert not within_sbc_band(ranks, N_DRAWS, 1 - 0.01 / 5).all()
    named = np.broadcast_to(favoured(2), flat.shape)
    ranks = ranks_of(design, kernels_gibbs.FREE_ROWS, named, collapsed=True, seed=seed_of("named"))
    assert within_sbc_band(ranks, N_DRAWS, 1 - 0.01 / 5).all()


@pytest.mark.parametrize("reliability", [2.0, np.arange(1.0, 4.0)])
def test_counts_of_the_users_own_model_are_drawn_exactly(reliability):
    counts = np.array([[3, 1], [0, 2], [5, 5]])
    coords = {"item": list("abc"), "category": ["x", "y"]}
    with pm.Model(coords=coords) as model:
        p = pm.Dirichlet("plausibility", [1.0, 2.0], dims=("item", "category"))
        CountedLabels("seen", p, counts.sum(axis=1), reliability, observed=counts)
    tree = inference.sample(model, draws=2000, dtype="float64", random_seed=1, **QUIET)
    assert tree.attrs["method"] == "exact" and "seen" in tree["log_likelihood"]
    concentration = [1.0, 2.0] + np.reshape(reliability, (-1, 1)) * counts
    exact = concentration / concentration.sum(axis=1, keepdims=True)
    check_means({"p": tree["posterior"]["plausibility"].to_numpy()}, {"p": exact})


def test_densities_are_finite_where_storage_rounds_to_zero():
    drawn = models.simulators.labels(items=60, raters=6, answers=3, random_seed=1).data
    model = models.dawid_skene(drawn, confusion_concentration=0.02)
    plan = {"draws": 500, "thin": 1, "random_seed": 1} | QUIET
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(model, **plan)
    assert (tree["posterior"]["confusion"] == 0).any()
    assert np.isfinite(tree["log_prior"]["confusion"]).all()
