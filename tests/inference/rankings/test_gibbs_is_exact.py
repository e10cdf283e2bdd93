"""The Gibbs sampler against quadrature and simulation-based calibration, with its wrong twins."""

from itertools import permutations

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models

from tests.support.monte_carlo import (
    assert_rejects_twin,
    bonferroni_threshold,
    check_means,
    mc_z,
    sbc_ranks,
    seed_of,
    within_sbc_band,
)
from tests.support.partial_rankings import random_block

NAMES = ["x", "y", "z"]


def likelihood_on(plausibility, block):
    """Probability of one ranking of three candidates, over a grid of plausibilities (candidate, ...), by its orders."""
    total = 0.0
    for order in permutations(range(3)):
        if all(block[order[i]] <= block[order[i + 1]] for i in range(2)):
            first, second, _ = (plausibility[k] for k in order)
            total = total + first * second / (1 - first)
    return total


def exact_moments(blocks, alpha, reliability):
    """First and second moments of the plausibilities, by the trapezoid rule over two log ratios."""
    reach = 30 / min(alpha, 1)
    u, v = np.meshgrid(*2 * [np.arange(-reach, reach, 0.4)], indexing="ij")
    logits = np.stack([u, v, np.zeros_like(u)])
    logits -= logits.max(axis=0)
    plausibility = np.exp(logits) / np.exp(logits).sum(axis=0)
    # Kept off 1, where 1 - p cancels: the weight there is that of the tail beyond the grid.
    plausibility = np.minimum(plausibility, 1 - 1e-15)
    log_density = alpha * np.log(plausibility).sum(axis=0)
    for block in blocks:
        log_density = log_density + reliability * np.log(likelihood_on(plausibility, block))
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = (plausibility * weight).sum(axis=(1, 2))
    return np.concatenate([mean, (plausibility**2 * weight).sum(axis=(1, 2))])


def as_rankings(*problems):
    """Each problem, a list of block numbers by rater, is an item."""
    nested = {
        f"item {i}": {
            f"r{r}": [[NAMES[k] for k in np.flatnonzero(block == b)] for b in range(block.max())]
            for r, block in enumerate(blocks)
        }
        for i, blocks in enumerate(problems)
    }
    return models.PartialRankings.from_blocks(nested, categories=NAMES)


def moments_of(blocks, alpha, reliability, seed):
    model = models.plackett_luce(
        as_rankings(blocks), concentration=alpha, reliability=reliability, candidates="all"
    )
    tree = inference.sample(
        model, draws=4000, thin=2, random_seed=seed, dtype="float64", log_likelihood=False, progressbar=False
    )
    plausibility = tree["posterior"]["plausibility"].to_numpy()[:, :, 0]
    return np.concatenate([plausibility, plausibility**2], axis=2)


def random_problem(number):
    rng = np.random.default_rng(seed_of(f"posterior {number}"))
    blocks = [random_block(rng, 3) for _ in range(rng.integers(1, 5))]
    return blocks, (0.3, 1.0, 3.0)[number % 3], 1 + number % 2 * 2


@pytest.mark.parametrize("number", range(24))
def test_posterior_equals_quadrature(number):
    blocks, alpha, reliability = random_problem(number)
    exact = exact_moments(blocks, alpha, reliability)
    z = mc_z(moments_of(blocks, alpha, reliability, seed_of(f"draws {number}")), exact)
    assert np.abs(z).max() < bonferroni_threshold(24 * 6)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.3, 1.0, 3.0])
def test_step_draws_the_same_posteriors(alpha):
    problems = [random_problem(number)[0] for number in range(8)]
    model = models.plackett_luce(as_rankings(*problems), concentration=alpha, reliability=2, candidates="all")

    def check(alpha):
        exact = np.stack([exact_moments(blocks, alpha, 2) for blocks in problems])
        check_means(moments, exact)

    with model:
        tree = pm.sample(
            4000,
            tune=100,
            chains=4,
            cores=1,
            random_seed=seed_of(f"step {alpha}"),
            step=inference.WorthGibbs([model["worth"]]),
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )
    plausibility = tree["posterior"]["plausibility"].to_numpy()
    moments = np.concatenate([plausibility, plausibility**2], axis=3)
    check(alpha)
    assert_rejects_twin(check, alpha + 0.1)


@pytest.mark.parametrize(
    "twin",
    [lambda blocks, alpha: (blocks, alpha + 0.1), lambda blocks, alpha: (blocks[:-1], alpha)],
    ids=["shape + 0.1", "a dropped annotation"],
)
def test_quadrature_rejects_wrong_twins(twin):
    worst = 0.0
    for number in (3, 6, 9):
        blocks, alpha, reliability = random_problem(number)
        blocks = [np.array([0, 1, 1]), *blocks, np.array([1, 1, 0])]
        exact = exact_moments(blocks, alpha, reliability)
        z = mc_z(moments_of(*twin(blocks, alpha), reliability, seed_of(f"twin {number}")), exact)
        worst = max(worst, np.abs(z).max())
    assert worst > bonferroni_threshold(3 * 6)


def race(blocks, alpha, seed, full, sweeps=8000):
    """A plain sampler of untied rankings; `full` pairs the number of ranked annotations with the full race, which is wrong."""
    rng = np.random.default_rng(seed)
    worth, out = np.ones(3), np.empty((1, sweeps, 3))
    wins = sum((block < block.max()).astype(float) for block in blocks)
    for sweep in range(sweeps):
        exposure = np.zeros(3)
        for block in blocks:
            clock, left = 0.0, worth.sum()
            for k in np.argsort(block)[: block.max()]:
                clock += rng.standard_exponential() / left
                exposure[k] += clock
                left -= worth[k]
            for k in np.flatnonzero(block == block.max()):
                exposure[k] += clock + (rng.standard_exponential() / worth[k] if full else 0.0)
        worth = rng.standard_gamma(alpha + wins) / (1 + exposure)
        out[0, sweep] = worth / worth.sum()
    return np.concatenate([out, out**2], axis=2)


def test_quadrature_tells_the_censored_from_the_full_race():
    blocks, seed = ([np.array([0, 1, 1]), np.array([0, 1, 1]), np.array([1, 0, 1])], seed_of("full race"))
    exact = exact_moments(blocks, 3.0, 1)
    assert np.abs(mc_z(race(blocks, 3.0, seed, full=False), exact)).max() < bonferroni_threshold(6)
    assert np.abs(mc_z(race(blocks, 3.0, seed, full=True), exact)).max() > bonferroni_threshold(6)
    assert np.abs(mc_z(moments_of(blocks, 3.0, 1, seed), exact)).max() < bonferroni_threshold(6)


N_DRAWS = 199


def calibration_ranks(seed, alpha=0.3):
    """Ranks of each item's truth: 1,000 items are 1,000 independent simulations, sampled at once."""
    simulated = models.simulators.rankings(
        items=1000, categories=5, raters=4, block_sizes=(1, 2), concentration=0.3, random_seed=seed
    )
    table = simulated.data.to_table()
    rankings = models.PartialRankings.from_table(table, categories=simulated.data.categories)
    model = models.plackett_luce(rankings, concentration=alpha, candidates="all")
    tree = inference.sample(
        model,
        draws=N_DRAWS,
        chains=2,
        thin=10,
        random_seed=seed,
        dtype="float64",
        log_likelihood=False,
        progressbar=False,
    )
    draws = tree["posterior"]["plausibility"].sel(chain=0).transpose("item", "draw", "category").to_numpy()
    truth = np.asarray(simulated.truth["plausibility"])
    derived = [draws[..., 0], draws[..., 1], draws.max(axis=-1), (draws**2).sum(axis=-1)]
    true = [truth[:, 0], truth[:, 1], truth.max(axis=-1), (truth**2).sum(axis=-1)]
    rng = np.random.default_rng(seed)
    return np.stack([sbc_ranks(t, d, rng) for t, d in zip(true, derived, strict=True)], axis=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_truths_are_ranked_uniformly_unless_the_shape_is_wrong():
    seed = seed_of("calibration")
    assert np.all(within_sbc_band(calibration_ranks(seed), N_DRAWS, level=1 - 0.01 / 4))
    assert not np.all(within_sbc_band(calibration_ranks(seed, alpha=0.4), N_DRAWS, level=1 - 0.01 / 4))


@pytest.mark.parametrize(
    ("blocks", "concentration", "reliability"),
    [
        ([[["x"], ["y"], ["z"]]], 1 / 419, 1),
        ([[["x"], ["y"], ["z"]]] * 5, 1 / 419, 100),
        ([[["x", "y", "z"]]], 1 / 419, 10),
        ([[["x"]], [["y"]], [["z"]]], 1 / 419, 1),
    ],
)
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_legal_extremes_are_finite(blocks, concentration, reliability):
    rankings = models.PartialRankings.from_blocks([blocks], categories=["w", *NAMES])
    tree = inference.sample(
        models.plackett_luce(rankings, concentration=concentration, reliability=reliability),
        random_seed=1,
        progressbar=False,
    )
    for group in ("posterior", "log_likelihood"):
        for name, values in tree[group].data_vars.items():
            assert np.isfinite(values).all(), (group, name)


def test_block_of_twenty_ties():
    names = [f"c{k:02d}" for k in range(22)]
    rankings = models.PartialRankings.from_blocks(
        [[[names[:20]], [[names[21]], names[:5]]]], categories=names
    )
    tree = inference.sample(
        models.plackett_luce(rankings, concentration=1.0), random_seed=1, progressbar=False
    )
    mean = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
    assert mean[:5].min() > mean[5:20].max()  # ranked twice
    np.testing.assert_allclose(mean[5:20], mean[5:20].mean(), rtol=0.1)  # exchangeable
