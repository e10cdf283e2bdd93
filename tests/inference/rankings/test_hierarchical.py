"""Gibbs of hierarchical Plackett-Luce: its posterior against quadrature, its densities against PyMC, models that it refuses."""

from functools import partial

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference.rankings import hierarchical
from raterzoo.inference.rankings.kernels import hierarchical as kernels
from scipy.special import betaln, expit

from tests.support.densities import add_densities
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, mc_z, seed_of
from tests.support.random_streams import stream
from tests.support.runs import ChainPlan, Draws, NotConjugate, begin_run, route_of

# the first of two categories, by item; the other is not ranked, and Bob has not seen the last item
FIRST = {"Ann": "xxxyx", "Bob": "xxyx"}
SHAPE, SCALE = 0.8, 1.0


def two_raters():
    rows = [(i, rater, first[i], 1) for rater, first in FIRST.items() for i in range(len(first))]
    table = dict(zip(("item", "rater", "category", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    return models.PartialRankings.from_table(table, categories=["x", "y"])


def tied():
    """Three raters with ties, unranked categories and a rater of one item."""
    nested = {
        "a": {"Ann": [["x"], ["y", "z"]], "Bob": [["y", "x"]], "Cy": [["x", "y", "z", "w"]]},
        "b": {"Ann": [["w"], ["x"], ["y"]], "Bob": [["w", "z"], ["x"]]},
    }
    return models.PartialRankings.from_blocks(nested)


def model_of(rankings, **options):
    return models.hierarchical_plackett_luce(rankings, concentration=SHAPE, candidates="all", **options)


def exact_means():
    """Posterior means of log gamma of Ann, sigma, and p(x first) of each item: log gamma = (u, -u), l_x - l_y = d."""
    d, u, sigma = np.linspace(-60, 60, 4001), np.linspace(-7, 7, 561), np.exp(np.linspace(-9, 1.6, 300))
    # two Gamma(a, 1) worths: x / (x + y) ~ Beta(a, a), in d with its Jacobian
    prior = np.exp(SHAPE * (np.log(expit(d)) + np.log(expit(-d))) - betaln(SHAPE, SHAPE))
    mass, share = [], []
    for i in range(5):
        law = np.broadcast_to(prior, (len(u), len(d)))
        for reliability, first in zip((np.exp(u), np.exp(-u)), FIRST.values(), strict=True):
            if first[i : i + 1]:
                law = law * expit((1.0 if first[i] == "x" else -1.0) * reliability[:, None] * d)
        mass.append(law.sum(axis=1))
        share.append((law * expit(d)).sum(axis=1) / law.sum(axis=1))
    likelihood = np.prod(mass, axis=0)
    # z = u / sigma has the density exp(-z^2), of one degree of freedom; sigma is on a grid of its log
    z = np.linspace(-5, 5, 401)
    at = sigma[:, None] * z
    of_both = np.exp(-(z**2)) * (sigma * np.exp(-0.5 * (sigma / SCALE) ** 2))[:, None]
    of_both *= np.interp(at, u, likelihood)
    of_both /= of_both.sum()
    shares = [(of_both * np.interp(at, u, own)).sum() for own in share]
    return np.array([(of_both * at).sum(), of_both.sum(axis=1) @ sigma, *shares])


def z_of_gibbs(model):
    """Standardised errors of the sampler's means."""
    layout = hierarchical.rater_rankings(hierarchical.read_rater_reliabilities(model))
    plan = ChainPlan(4, 8000, 300, seed_of("quadrature"), dtype="float64", thin=4)
    drawn = hierarchical.draw_raters(layout, plan)
    shares = expit(drawn.log_worth[..., ::2] - drawn.log_worth[..., 1::2])
    both = [drawn.log_reliability[..., :1], drawn.spread[..., None], shares]
    return mc_z(np.concatenate(both, axis=-1), exact_means())


def is_exact(model):
    z = z_of_gibbs(model)
    assert np.abs(z).max() < bonferroni_threshold(z.size)


@pytest.mark.slow
def test_posterior_is_that_of_quadrature():
    is_exact(model_of(two_raters()))
    assert_rejects_twin(is_exact, model_of(two_raters(), spread=1.6))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_densities_are_those_of_pymc():
    model = models.hierarchical_plackett_luce(tied(), spread=0.7)
    tree = inference.sample(
        model, draws=66, chains=1, thin=1, tune=5, dtype="float64", random_seed=1, progressbar=False
    )  # more than are computed at a time
    assert tree.attrs["method"] == "gibbs" and tree.attrs["model"] == "hierarchical_plackett_luce"
    reliability = tree["posterior"]["reliability"]
    np.testing.assert_allclose(np.log(reliability).sum("rater"), 0, atol=1e-12)
    again = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()})
    add_densities(again, model)
    for group in ("log_likelihood", "log_prior"):
        assert {*tree[group].data_vars} == {*again[group].data_vars}
        for name, found in again[group].data_vars.items():
            np.testing.assert_allclose(tree[group][name], found, rtol=1e-9, err_msg=str(name))
    checks = evaluation.model_checks(tree, random_seed=1)
    assert np.isfinite(checks["observed"]).any()


def test_draws_are_the_same_in_pieces_of_any_length():
    run = partial(
        begin_run,
        models.hierarchical_plackett_luce(tied()),
        Draws(130, 5, 1, 1, 3, False, 1, "float64", False),
    )
    whole, parts = run(), run()
    one = whole.advance(130)["posterior"]
    pieces = [parts.advance(n)["posterior"] for n in (50, 80)]
    for name, found in one.data_vars.items():
        np.testing.assert_array_equal(
            np.concatenate([own[name] for own in pieces], axis=1), found, err_msg=name
        )


def spread_given(log_reliability, scale):
    """Mean of log sigma given the log reliabilities, by quadrature; of R of sum zero R - 1 are free."""
    x = np.linspace(-6, 6, 4001)
    log_p = x - 0.5 * (np.exp(x) / scale) ** 2 - (len(log_reliability) - 1) * x
    p = np.exp(log_p - 0.5 * (log_reliability**2).sum() / np.exp(2 * x))
    return (p * x).sum() / p.sum()


def test_the_spread_is_drawn_from_its_conditional():
    rankings, _ = hierarchical.rater_rankings(
        hierarchical.read_rater_reliabilities(model_of(tied(), spread=0.7))
    )
    log_reliability = np.array([0.9, -0.4, -0.5])
    state = kernels.RaterState(np.zeros(8), log_reliability, np.ones(1), np.ones(4), np.ones(8))
    rng, drawn = stream(np.random.SeedSequence(seed_of("spread"))), np.empty((4, 500, 1))
    for place in np.ndindex(drawn.shape[:2]):
        kernels.draw_spread(rng, rankings, state)
        drawn[place] = np.log(state.spread[0])
    z = mc_z(drawn, [spread_given(log_reliability, 0.7)])
    assert np.abs(z).max() < bonferroni_threshold(1)
    for wrong in (spread_given(log_reliability, 1.0), spread_given(np.abs(log_reliability), 7.0), 0.0):
        assert np.abs(mc_z(drawn, [wrong])).max() > bonferroni_threshold(1)


def test_a_change_of_the_likelihood_shows_in_its_log():
    law = hierarchical.read_rater_reliabilities(models.hierarchical_plackett_luce(tied()))
    rng = np.random.default_rng(seed_of("likelihood"))
    log_worth, reliability = rng.normal(size=(1, 1, len(law.shape))), np.ones((1, 1, 3))
    alike = hierarchical.rater_log_likelihood(law, log_worth, reliability)
    reliability[..., 0] = 2.0
    changed = hierarchical.rater_log_likelihood(law, log_worth, reliability)
    assert ((alike != changed)[0, 0] == (law.rater == 0)).all()
    assert hierarchical.zero_sum_log_density(np.zeros((1, 3))) == pytest.approx(-np.log(2 * np.pi))


@pytest.mark.parametrize(
    "change", [{"concentration": pm.HalfNormal.dist()}, {"spread": pm.HalfNormal.dist()}]
)
def test_random_priors_are_drawn_by_nuts(change, golden):
    route = route_of(models.hierarchical_plackett_luce(tied(), **change))
    assert route.method == "nuts" and route.name == "hierarchical_plackett_luce"
    golden.says(route.reason)


def test_other_laws_are_refused(golden):
    with pm.Model() as outer:
        models.hierarchical_plackett_luce(tied())
        pm.Normal("further")
    with pytest.raises(NotConjugate, match="further"):
        hierarchical.read_rater_reliabilities(outer)
    with golden.raises(ValueError):
        models.hierarchical_plackett_luce(models.PartialRankings.from_blocks({"a": {"Ann": [["x"], ["y"]]}}))
