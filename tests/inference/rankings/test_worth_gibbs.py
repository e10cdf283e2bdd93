"""The step: the same posterior as the loop, hierarchical priors, and loud refusals."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from raterzoo import inference, models
from raterzoo.inference.rankings import gibbs
from raterzoo.inference.rankings.gibbs import draw_prior_log_worths
from raterzoo.inference.rankings.kernels.gibbs import sweep_items
from raterzoo.models.distributions import PartialRanking

from tests.support.monte_carlo import bonferroni_threshold, geweke_z, mc_z, seed_of
from tests.support.random_streams import stream
from tests.support.ranking_samplers import distinct_annotations, worth_posterior
from tests.support.runs import ChainPlan, NotConjugate, streams_of_items

SMALL = models.published_ddx_cases().select(items=["fig3", "fig17a"])
QUIET = {"progressbar": False, "compute_convergence_checks": False, "quiet": True}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_worths_are_normalised_near_and_far_apart(dtype):
    """Of an item whose worths are near the fast exponential, of one beyond its range the exact one, which is zero there."""
    log_worth = np.array([[0, -3, 10, -800, -np.inf], [500, 500, -800, 5, 5]], dtype)
    found = gibbs.plausibilities(log_worth, np.array([0, 2, 5]))
    rest = 1 / (1 + np.exp(3.0))
    exact = np.array([[1 - rest, rest, 1, 0, 0], [0.5, 0.5, 0, 0.5, 0.5]])
    assert found.dtype == dtype
    np.testing.assert_allclose(found, exact.astype(dtype), rtol=1e-6 if dtype == "float32" else 1e-12)


def steps(model, draws, seed, **options):
    with model:
        return pm.sample(
            draws,
            tune=200,
            chains=4,
            random_seed=seed,
            step=inference.WorthGibbs([model["worth"]]),
            **{"cores": 1} | QUIET | options,
        )


@pytest.mark.slow
@pytest.mark.parametrize("candidates", ["ranked", "all"])
def test_step_and_loop_have_one_posterior(candidates):
    seed = seed_of(f"step and loop {candidates}")
    model = models.plackett_luce(SMALL, reliability=2, candidates=candidates)
    tree = inference.label(steps(model, 2000, seed), SMALL)
    loop = inference.sample(
        model, draws=20_000, dtype="float64", log_likelihood=False, random_seed=seed, progressbar=False
    )
    means = loop["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
    z = mc_z(tree["posterior"]["plausibility"].to_numpy(), means) / np.sqrt(
        1.1
    )  # the loop's error is a tenth of the step's variance
    assert np.abs(z).max() < bonferroni_threshold(z.size)


@pytest.mark.slow
def test_same_seed_same_draws_in_processes():
    model = models.plackett_luce(SMALL)
    one, two = (
        steps(model, 50, 3, cores=cores, mp_ctx="spawn")["posterior"]["worth"].to_numpy() for cores in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def hierarchical(block):
    """Four candidates, a random concentration, three rankings."""
    sizes = np.stack([(block == b).sum(axis=1) for b in range(block.max() + 1)], axis=1)
    with pm.Model(coords={"candidate": range(4), "annotation": range(len(block))}) as model:
        alpha = pm.Gamma("alpha", 4.0, 4.0)
        worth = pm.Gamma("worth", alpha, 1.0, dims="candidate")
        place = np.tile(np.arange(4), (len(block), 1))
        PartialRanking("observed_ranking", pt.log(worth)[place], sizes, observed=block)
    return model


BLOCK = np.array([[0, 1, 2, 2], [0, 0, 1, 1], [1, 0, 2, 2]], np.int8)


@pytest.mark.slow
def test_random_concentration_is_moved_by_another_step():
    seed = seed_of("hierarchical")
    model = hierarchical(BLOCK)
    with model:
        mixed = pm.sample(
            1000,
            tune=500,
            chains=4,
            cores=1,
            random_seed=seed,
            step=[inference.WorthGibbs([model["worth"]])],
            **QUIET,
        )
        nuts = pm.sample(1000, tune=500, chains=4, cores=1, random_seed=seed, nuts_sampler="pymc", **QUIET)
    for name in ("alpha", "worth"):
        pooled = nuts["posterior"][name].mean(("chain", "draw")).to_numpy()
        z = mc_z(mixed["posterior"][name].to_numpy(), pooled) / np.sqrt(2)
        assert np.abs(z).max() < bonferroni_threshold(5)


def test_refusals_say_what_is_not_conjugate(golden):
    def build(prior, power=1.0):
        with pm.Model() as model:
            worth = prior()
            PartialRanking(
                "observed_ranking",
                pt.log(worth)[np.tile(np.arange(4), (3, 1))],
                [[1, 1, 2]] * 3,
                power,
                observed=BLOCK[[0, 0, 2]],
            )
        return model

    gamma = lambda: pm.Gamma("worth", 1.0, 1.0, shape=4)  # noqa: E731
    for model in [
        build(lambda: pm.LogNormal("worth", 0.0, 1.0, shape=4)),
        build(gamma, 1.5),
        build(lambda: 2 * gamma()),
        models.tempered_plackett_luce(SMALL),
        models.prirn(SMALL),
    ]:
        with model, golden.raises(NotConjugate):
            inference.WorthGibbs([model["worth"]])


def test_step_does_not_change_the_point_it_is_given():
    model = models.plackett_luce(SMALL)
    step = inference.WorthGibbs([model["worth"]], model=model, rng=1)
    point = model.initial_point()
    before = point["worth_log__"].copy()
    after, (stats,) = step.step(point)
    np.testing.assert_array_equal(point["worth_log__"], before)
    assert not np.array_equal(after["worth_log__"], before) and np.isfinite(stats["log_total"])


def successive(alpha, annotations, seed):
    """Alternate the sweep with data from the law (Geweke 2004): a ranking of two, and a tie of two."""
    rng = np.random.default_rng(seed)
    sizes = [np.array([1, 1, 2]), np.array([2, 2])]
    log_worth = np.log(rng.standard_gamma(1.2, 4))
    state, out = stream(rng), np.empty((annotations, 4))
    place = np.tile(np.arange(4), (2, 1))
    for sweep in range(annotations):
        blocks = np.stack([PartialRanking.rv_op.rng_fn(rng, log_worth, n, 1.0) for n in sizes])
        posterior = worth_posterior(distinct_annotations(blocks, place, 1, 4), np.full(4, alpha), np.ones(4))
        sweep_items(state, posterior, log_worth)
        out[sweep] = np.exp(log_worth)
    return out


@pytest.mark.long
def test_geweke_passes_and_rejects_a_wrong_shape():
    seed = seed_of("geweke")
    rng = np.random.default_rng(seed)
    marginal = rng.standard_gamma(1.2, (40_000, 4))
    z = geweke_z(marginal, np.stack([successive(1.2, 5000, seed + c) for c in range(4)]))
    assert np.abs(z).max() < bonferroni_threshold(len(z))
    z = geweke_z(marginal, np.stack([successive(1.3, 5000, seed + c) for c in range(4)]))
    assert np.abs(z).max() > bonferroni_threshold(len(z))


def test_draws_from_the_prior_do_not_depend_on_how_items_are_divided(monkeypatch):
    start, keys = np.array([0, 2, 3, 6, 8, 9]), np.arange(5)
    law, plan = (np.linspace(0.3, 2, 9), np.linspace(1, 3, 9)), ChainPlan(2, 4, 0, 1, threads=1)

    def drawn():
        streams = streams_of_items(keys, 2, 1)
        return draw_prior_log_worths(law, start, streams, plan), streams

    whole, after = drawn()
    monkeypatch.setitem(draw_prior_log_worths.__globals__, "BLOCK", 2)
    parts, after_parts = drawn()
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_array_equal(after_parts, after)
