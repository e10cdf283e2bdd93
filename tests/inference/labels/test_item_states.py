"""Gibbs of item states: enumeration, calibration, two samplers, what the tree carries, wrong twins."""

import warnings
from functools import cache
from itertools import product

import numba as nb
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.evaluation.surveys.item_states import curves as item_states_curves
from raterzoo.inference.kernels.random_streams import draw_binomial
from raterzoo.inference.labels import item_states
from raterzoo.inference.labels.kernels import item_states as kernel
from raterzoo.inference.labels.kernels import item_states as kernels_item_states
from scipy.special import gammaln
from scipy.stats import binom, chisquare

from tests.support.densities import add_densities
from tests.support.monte_carlo import (
    assert_rejects_twin,
    check_means,
    mc_z,
    sbc_ranks,
    seed_of,
    within_sbc_band,
)
from tests.support.random_streams import stream
from tests.support.runs import ChainPlan
from tests.support.source_twins import altered

TINY = models.Labels.from_counts({"item": list("abcdef"), "x": [2, 0, 3, 1, 2, 0], "y": [1, 4, 0, 1, 1, 0]})
QUIET = {"progressbar": False}
BITS = item_states_curves.Score("cross_entropy")


@nb.njit
def binomials(rng, size, n, p):
    return np.array([draw_binomial(rng, n, p) for _ in range(size)])


def check_binomial(draws, n, p):
    low, high = binom.ppf([1e-3, 1 - 1e-3], n, p)
    edges = np.unique(np.linspace(low, high, 12).round())
    cdf = np.r_[0, binom.cdf(edges, n, p), 1]
    expected = np.diff(cdf) * len(draws)
    observed = np.bincount(np.searchsorted(edges, draws), minlength=len(expected))
    fine = expected > 5
    rest = [expected[~fine].sum(), observed[~fine].sum()]
    expected, observed = np.r_[expected[fine], rest[0]], np.r_[observed[fine], rest[1]]
    keep = expected > 0
    assert chisquare(observed[keep], expected[keep]).pvalue > 1e-4


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (12, 0.5), (13, 0.9), (100, 0.02), (200, 0.97), (5000, 0.37)])
def test_binomials_follow_their_law(n, p):
    rng = stream(np.random.SeedSequence(seed_of(f"binomial {n} {p}")))
    draws = binomials(rng, 50_000, n, p)
    check_binomial(draws, n, p)
    assert_rejects_twin(check_binomial, draws, n, p + 0.02)
    assert (binomials(rng, 10, n, 0.0) == 0).all() and (binomials(rng, 10, n, 1.0) == n).all()


def invariants(weight, probability):
    """What does not depend on the names of the states, along the last axis."""
    mean = (weight[..., None] * probability).sum(axis=-2)[..., 0]
    square = (weight * probability[..., 0] ** 2).sum(axis=-1)
    return np.stack([mean, square, (weight**2).sum(axis=-1)], axis=-1)


def exact_posterior(counts, alpha, beta):
    """Means of the invariants, by enumerating the states of all items."""
    n_states = len(beta)
    log_weight, found = [], []
    for state in product(range(n_states), repeat=len(counts)):
        state = np.array(state)
        a = alpha + np.bincount(state, minlength=n_states)
        b = beta.copy()
        np.add.at(b, state, counts)
        total = b.sum(axis=1)
        log_weight.append(
            gammaln(a).sum() - gammaln(a.sum()) + (gammaln(b).sum(axis=1) - gammaln(total)).sum()
        )
        w, p = a / a.sum(), b / total[:, None]
        square = b[:, 0] * (b[:, 0] + 1) / total / (total + 1)
        of_weight = (a * (a + 1)).sum() / a.sum() / (a.sum() + 1)
        found.append([w @ p[:, 0], w @ square, of_weight])
    share = np.exp(np.array(log_weight) - max(log_weight))
    return share @ np.array(found) / share.sum()


def check_invariants(draws, exact):
    check_means(invariants(*draws), exact)


def patterns_of(counts):
    distinct, items = np.unique(counts, axis=0, return_counts=True)
    return kernels_item_states.CountPatterns(distinct.astype(float), items.astype(np.int64))


def test_sweeps_draw_the_exact_posterior():
    alpha, beta = np.full(3, 0.7), np.tile([0.8, 1.3], (3, 1))
    patterns, prior = patterns_of(TINY.counts), kernels_item_states.StatePrior(alpha, beta)
    plan = ChainPlan(4, 20_000, 200, seed_of("exact"), thin=3)
    exact = exact_posterior(TINY.counts, alpha, beta)
    check_invariants(item_states.draw_states(patterns, prior, plan), exact)
    other = kernels_item_states.StatePrior(alpha, beta + 0.1)
    assert_rejects_twin(check_invariants, item_states.draw_states(patterns, other, plan), exact)
    alone = kernels_item_states.CountPatterns(
        patterns.counts, np.ones_like(patterns.items)
    )  # multiplicities forgotten
    assert_rejects_twin(check_invariants, item_states.draw_states(alone, prior, plan), exact)


@cache
def tree_of(states=3, **options):
    model = models.item_states(TINY, states=states)
    return inference.sample(model, random_seed=3, dtype="float64", **QUIET, **options)


def curves(tree):
    states = item_states_curves.ItemStates.of(tree["posterior"].to_dataset())
    found = [item_states_curves.curve_at(states, k, BITS, "abc") for k in (0, 1, 5)] + [
        item_states_curves.asymptote(states, BITS)
    ]
    size = [tree["posterior"].sizes[d] for d in ("chain", "draw")]
    return np.stack(found, axis=-1).reshape(*size, -1)


@pytest.mark.long
def test_nuts_agrees_with_gibbs():
    gibbs, model = tree_of(), models.item_states(TINY, states=3)
    assert gibbs.attrs["model"] == "item_states" and gibbs.attrs["method"] == "gibbs"
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        run = {"draws": 500, "random_seed": 1, "cores": 1, "target_accept": 0.9} | QUIET
        nuts = inference.sample(model, method="nuts", **run)
    for view in (
        curves,
        lambda t: t["posterior"]["state_weight"].to_numpy(),  # in the same order
        lambda t: t["posterior"]["state_probability"].to_numpy(),
        lambda t: t["posterior"]["plausibility"].to_numpy(),
    ):
        one, other = view(gibbs), view(nuts)
        first, second = one.mean(axis=(0, 1)), other.mean(axis=(0, 1))
        combined = 1 / np.sqrt(1 / mc_z(one, second) ** 2 + 1 / mc_z(other, first) ** 2)
        assert combined.max() < 4
    last = nuts["posterior"]["state_probability"].isel(category=-1)
    assert (last.diff("state") >= 0).all()


@pytest.mark.slow
def test_densities_are_pymcs():
    tree, model = tree_of(), models.item_states(TINY, states=3)
    few = tree["posterior"].to_dataset()[["state_weight", "state_probability"]].isel(draw=slice(20))
    check = xr.DataTree.from_dict({"posterior": few})
    add_densities(check, model)
    for group in ("log_likelihood", "log_prior"):
        for name, theirs in check[group].data_vars.items():
            ours = tree[group][name].isel(draw=slice(20)).to_numpy()
            theirs = theirs[..., :5] if group == "log_likelihood" else theirs  # item f has no label
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_draws_do_not_depend_on_the_number_of_cores(cores):
    again = tree_of(cores=cores)["posterior"].to_dataset()
    xr.testing.assert_identical(again, tree_of()["posterior"].to_dataset())


def test_states_are_diagnosed_in_their_order():
    diagnosis = inference.diagnose(tree_of())
    assert diagnosis.attrs["converged"] == 1, diagnosis.attrs["verdict"]


def test_other_models_are_drawn_by_nuts_and_say_why(golden):
    for options in ({"spread": True}, {"states": 1}):
        model = models.item_states(TINY, **{"states": 2, **options})
        with golden.raises(ValueError):
            inference.sample(model, method="gibbs", **QUIET)
    with models.item_states(TINY, states=2) as model:
        pm.Potential("more", model["state_weight"][0])
    with pytest.raises(ValueError, match="the potential 'more'"):
        inference.sample(model, method="gibbs", **QUIET)


N_DRAWS = 49


def ranks_of(module, seed, extra=0.0):
    rng, ranks = np.random.default_rng(seed), []
    alpha, beta = np.full(3, 1.0), np.tile([0.8, 1.0, 1.2], (3, 1))
    prior = kernels_item_states.StatePrior(alpha, beta + extra)
    for s in range(200):
        weight = rng.dirichlet(alpha)
        probability = np.stack([rng.dirichlet(b) for b in beta])
        counts = rng.multinomial(6, probability[rng.choice(3, 40, p=weight)])
        draws = kernel.StateDraws(np.empty((N_DRAWS, 3)), np.empty((N_DRAWS, 3, 3)))
        own = stream(np.random.SeedSequence([seed, s]))
        state = (np.empty(3), np.empty((3, 3)))
        module.begin_item_states(own, prior, state)
        module.continue_item_states(own, patterns_of(counts), prior, (300, 20), (state, draws))
        ranks.append(
            sbc_ranks(functionals(weight[None], probability[None]), functionals(*draws)[None], rng)[0]
        )
    return np.array(ranks)


def functionals(weight, probability):
    states = item_states_curves.ItemStates(weight, probability, np.zeros_like(weight))
    curve = [item_states_curves.curve_at(states, k, BITS, "abc") for k in (0, 3)]
    limit = item_states_curves.asymptote(states, BITS)
    order = np.argsort(probability[..., -1], axis=-1)
    first = np.take_along_axis(weight, order, -1)[:, 0]
    return np.column_stack([*curve, limit, first, invariants(weight, probability)])


@pytest.mark.slow
def test_truths_are_ranked_uniformly():
    seed, level = seed_of("item states"), 1 - 0.01 / 7
    assert within_sbc_band(ranks_of(kernel, seed), N_DRAWS, level).all()
    wrong_prior = ranks_of(kernel, seed, extra=1.0)
    assert not within_sbc_band(wrong_prior, N_DRAWS, level).all()


@pytest.mark.slow
def test_ranks_tell_that_multiplicities_are_forgotten():
    seed, level = seed_of("item states"), 1 - 0.01 / 7
    twin = altered(
        "_allocate",
        ("labels[j, c] += parts[j] * patterns.counts[p, c]", "labels[j, c] += patterns.counts[p, c] * min(parts[j], 1)"),
    )  # fmt: skip
    assert not within_sbc_band(ranks_of(twin, seed), N_DRAWS, level).all()


def test_states_are_sorted_by_their_last_category_with_all_that_is_theirs():
    dims = ("chain", "draw", "state")
    coords = {"state": [0, 1, 2], "category": ["no", "yes"]}
    yes = np.array([[[0.3, 0.1, 0.2], [0.1, 0.2, 0.3]]])
    posterior = xr.Dataset(
        {
            "state_probability": ((*dims, "category"), np.stack([1 - yes, yes], axis=-1)),
            "state_weight": (dims, yes + 1),
        },
        coords,
    )
    found = item_states.sort_states({"posterior": posterior, "log_prior": posterior[["state_weight"]]})
    for group in found.values():
        assert group["state_weight"].equals(posterior["state_weight"].copy(data=np.sort(yes) + 1))
    np.testing.assert_array_equal(found["posterior"]["state_probability"].sel(category="yes"), np.sort(yes))
