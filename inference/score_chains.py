"""Draws of score models, in threads: the same for any number of threads."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from .diagnostics import mixing_of
from .kernels.normal_draws import NormalDraws, draw_normal_items, item_streams
from .kernels.normal_items import NormalItems, ScoreMoments, posterior_items
from .kernels.random_stream import stream
from .kernels.score_chain import ScoreDraws, sample_scores
from .kernels.score_gibbs import RaterScores, ScoreHyper, ScoreState
from .plan import Draws
from .score_storage import holds

__all__ = ["ChainLength", "draw_hierarchy", "draw_normal_posterior", "score_pilot"]

BLOCK = 1024  # items that are drawn in step
PILOT_DRAWS, LARGEST_THINNING, WANTED_ESS = 300, 64, 1600


def draw_normal_posterior(
    prior: NormalItems, moments: ScoreMoments, keys: np.ndarray, plan: Draws
) -> NormalDraws:
    """Draw locations and variances of items from their posterior.

    The unit of work is a chain of a block of items. Each item has a stream of its own, so that its draws do not depend on what
    else is drawn.

    Parameters
    ----------
    prior : NormalItems
        Prior of each item.
    moments : ScoreMoments
        Its scores.
    keys : ndarray of uint64, shape (item,)
        Key of every item.
    plan : Draws
        Chains, draws, seed, threads and storage; whether densities are wanted.

    Returns
    -------
    NormalDraws
        Arrays with a leading dimension of chains; densities that are not wanted have no draws.
    """
    posterior = posterior_items(prior, moments)
    n_items = len(keys)
    shapes = [(plan.chains, plan.draws, n_items)] * 3
    shapes += [(plan.chains, plan.draws if plan.densities else 0, n_items)] * 3
    draws = NormalDraws(*(np.empty(shape, plan.dtype) for shape in shapes))
    words = [stream(np.random.SeedSequence(plan.seed, spawn_key=(c,))) for c in range(plan.chains)]

    def run(chain: int, first: int) -> None:
        own = slice(first, first + BLOCK)
        laws = (NormalItems(*(p[own] for p in law)) for law in (posterior, prior))
        draw_normal_items(
            item_streams(keys[own], words[chain]),
            *laws,
            ScoreMoments(*(m[own] for m in moments)),
            NormalDraws(*(array[chain, :, own] for array in draws)),
        )

    with ThreadPoolExecutor(plan.cores or os.cpu_count()) as pool:
        work = product(range(plan.chains), range(0, n_items, BLOCK))
        list(pool.map(lambda unit: run(*unit), work))
    return draws


@dataclass(frozen=True)
class ChainLength:
    """How long to run: chains, kept draws, sweeps before the first, sweeps for each, seed, threads, storage."""

    chains: int
    draws: int
    tune: int
    thin: int
    seed: int
    threads: int | None = None
    dtype: str = "float32"


def draw_hierarchy(scores: RaterScores, hyper: ScoreHyper, length: ChainLength) -> ScoreDraws:
    """Run chains of hierarchical scores, one thread for each.

    Parameters
    ----------
    scores : RaterScores
        The scores.
    hyper : ScoreHyper
        Constants of the priors.
    length : ChainLength
        How long to run.

    Returns
    -------
    ScoreDraws
        Arrays with a leading dimension of chains; in double precision where single precision would lose too much.

    Raises
    ------
    ValueError
        If the chains leave what double precision holds.
    """
    draws = _run_chains(scores, hyper, length)
    if holds(draws):
        return draws
    if length.dtype == "float64":
        raise ValueError(
            "the draws are beyond double precision: nearly all scores agree exactly, or the numbers of the prior are of another "
            "size than the scores; models.normal_scores takes scores that all agree"
        )
    del draws
    return draw_hierarchy(scores, hyper, replace(length, dtype="float64"))


def _run_chains(scores: RaterScores, hyper: ScoreHyper, length: ChainLength) -> ScoreDraws:
    """Run the chains, whatever becomes of them."""
    sizes = _sizes(scores)
    shapes = [(length.chains, length.draws, size) for size in (*sizes, 4)]
    draws = ScoreDraws(*(np.empty(shape, length.dtype) for shape in shapes))

    def run(chain: int) -> None:
        rng = np.random.default_rng(np.random.SeedSequence(length.seed, spawn_key=(chain,)))
        state = _start(scores, hyper, rng)
        own = ScoreDraws(*(array[chain] for array in draws))
        sample_scores(stream(rng), scores, hyper, (length.tune, length.thin), (state, own))

    with ThreadPoolExecutor(length.threads or length.chains) as pool:
        list(pool.map(run, range(length.chains)))
    return draws


def _sizes(scores: RaterScores) -> tuple[int, int, int, int, int]:
    """Return the lengths of locations, biases, variances, group biases and usual variances."""
    n_items, n_raters, n_groups = scores.n_items, len(scores.group), int(scores.group.max()) + 1
    return n_items, n_raters, n_raters, n_groups, n_groups


def _start(scores: RaterScores, hyper: ScoreHyper, rng: np.random.Generator) -> ScoreState:
    """Return a random place to start: the sweeps forget it in a few steps."""
    sizes = _sizes(scores)
    spread = hyper.bias_scale * np.exp(rng.uniform(-1.0, 1.0, 3))
    population = np.array([hyper.mean, spread[0], spread[1], rng.uniform(1.0, 8.0)])
    return ScoreState(
        hyper.mean + spread[0] * rng.standard_normal(sizes[0]),
        spread[1] * rng.standard_normal(sizes[1]),
        np.full(sizes[2], spread[2] ** 2),
        np.zeros(sizes[3]),
        np.full(sizes[4], spread[2] ** 2),
        population,
    )


def score_pilot(scores: RaterScores, hyper: ScoreHyper, length: ChainLength) -> int:
    """Ask a pilot run how many sweeps a kept draw needs.

    The rule is fixed beforehand: 4 chains of 300 draws after the warm-up of the plan; if the least effective quantity has bulk or
    tail ESS n, runs are thinned by the least whole number that makes the effective size of the planned run 1,600, or four fifths
    of its draws if that is less, at most 64.

    Parameters
    ----------
    scores : RaterScores
        The scores.
    hyper : ScoreHyper
        Constants of the priors.
    length : ChainLength
        The run that the pilot is for.

    Returns
    -------
    int
        Sweeps for each kept draw.
    """
    pilot = ChainLength(4, PILOT_DRAWS, length.tune, 1, length.seed + 1, length.threads, "float64")
    flat = np.concatenate(draw_hierarchy(scores, hyper, pilot), axis=2)
    _, bulk, tail, _ = mixing_of(flat, length.threads)
    kept = length.chains * length.draws
    per_draw = np.nanmin(np.fmin(bulk, tail)) / (4 * PILOT_DRAWS)
    wanted = min(WANTED_ESS, 0.8 * kept) / kept
    return int(np.clip(np.ceil(wanted / per_draw), 1, LARGEST_THINNING))
