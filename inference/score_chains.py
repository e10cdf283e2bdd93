"""Multi-threaded draws of score models; they do not depend on the number of threads."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from .kernels.normal_draws import NormalDraws, draw_normal_items
from .kernels.normal_items import NormalItems, ScoreMoments, posterior_items
from .kernels.random_stream import stream
from .kernels.score_chain import ScoreDraws, sample_scores
from .kernels.score_gibbs import RaterScores, ScoreHyper, ScoreState
from .plan import Draws
from .prior_worths import streams_of_items
from .score_storage import holds
from .thinning import PILOT_CHAINS, PILOT_DRAWS, sweeps_for_each_draw

__all__ = [
    "BEYOND",
    "ChainLength",
    "begin_hierarchy",
    "continue_hierarchy",
    "continue_normal_posterior",
    "draw_hierarchy",
    "draw_normal_posterior",
    "score_pilot",
]

BLOCK = 1024  # items in one unit of work, drawn in lockstep
BEYOND = (
    "the draws are beyond double precision: nearly all scores agree exactly, or the numbers of the prior are of another size "
    "than the scores; models.normal_scores takes scores that all agree"
)


def draw_normal_posterior(
    prior: NormalItems, moments: ScoreMoments, keys: np.ndarray, plan: Draws
) -> NormalDraws:
    """Draw locations and variances of items from their normal-inverse-gamma posterior, from fresh streams.

    Shapes: keys uint64 (item,). Returns as `continue_normal_posterior`.
    """
    streams = streams_of_items(keys, plan.chains, plan.seed)
    return continue_normal_posterior(prior, moments, streams, plan)


def continue_normal_posterior(
    prior: NormalItems, moments: ScoreMoments, streams: np.ndarray, plan: Draws
) -> NormalDraws:
    """Draw locations and variances of items on from the state of their random streams.

    The unit of work is a chain of a block of items; each item has its own stream, so its draws do not depend
    on other items.
    Shapes: streams uint64 (chain, 4, item), advanced in place; returns `NormalDraws` with leading dims
    (chain, draw), of which the densities have no draws unless the plan asks for them.
    """
    posterior = posterior_items(prior, moments)
    n_items = streams.shape[-1]
    shapes = [(plan.chains, plan.draws, n_items)] * 3
    shapes += [(plan.chains, plan.draws if plan.densities else 0, n_items)] * 3
    draws = NormalDraws(*(np.empty(shape, plan.dtype) for shape in shapes))

    def run(chain: int, first: int) -> None:
        own = slice(first, first + BLOCK)
        laws = (NormalItems(*(p[own] for p in law)) for law in (posterior, prior))
        block = np.ascontiguousarray(streams[chain, :, own])  # layout of the kernel
        draw_normal_items(
            block,
            *laws,
            ScoreMoments(*(m[own] for m in moments)),
            NormalDraws(*(array[chain, :, own] for array in draws)),
        )
        streams[chain, :, own] = block

    with ThreadPoolExecutor(plan.cores or os.cpu_count()) as pool:
        work = product(range(plan.chains), range(0, n_items, BLOCK))
        list(pool.map(lambda unit: run(*unit), work))
    return draws


@dataclass(frozen=True)
class ChainLength:
    """Length, seed, threads and storage of the Gibbs chains of hierarchical scores."""

    chains: int
    draws: int  # kept draws of each chain
    tune: int  # sweeps before the first draw
    thin: int  # sweeps for each kept draw
    seed: int
    threads: int | None = None
    dtype: str = "float32"  # storage; the arithmetic is in double precision


def draw_hierarchy(scores: RaterScores, hyper: ScoreHyper, length: ChainLength) -> ScoreDraws:
    """Run all chains of hierarchical scores, one thread each.

    Repeated in double precision if single precision loses too much. Returns `ScoreDraws` with leading dims
    (chain, draw). Raises `ValueError` if the draws leave the range of double precision.
    """
    draws = continue_hierarchy(scores, hyper, length, begin_hierarchy(scores, hyper, length))
    if holds(draws):
        return draws
    if length.dtype == "float64":
        raise ValueError(BEYOND)
    del draws
    return draw_hierarchy(scores, hyper, replace(length, dtype="float64"))


def begin_hierarchy(
    scores: RaterScores, hyper: ScoreHyper, length: ChainLength
) -> dict[str, np.ndarray]:
    """Initialise every chain at random; the sweeps forget the start within a few steps.

    Shapes of the returned state: stream (chain, word); the fields of `ScoreState` with a leading dim chain.
    """
    streams, states = [], []
    for chain in range(length.chains):
        rng = np.random.default_rng(np.random.SeedSequence(length.seed, spawn_key=(chain,)))
        states.append(_start(scores, hyper, rng))
        streams.append(stream(rng))
    stacked = (np.stack(arrays) for arrays in zip(*states, strict=True))
    return {"stream": np.stack(streams)} | dict(zip(ScoreState._fields, stacked, strict=True))


def continue_hierarchy(
    scores: RaterScores, hyper: ScoreHyper, length: ChainLength, state: dict[str, np.ndarray]
) -> ScoreDraws:
    """Run all chains on from their state, which is overwritten in place; the range of the draws is not checked.

    Returns `ScoreDraws` with leading dims (chain, draw).
    """
    shapes = [(length.chains, length.draws, size) for size in (*_sizes(scores), 4)]
    draws = ScoreDraws(*(np.empty(shape, length.dtype) for shape in shapes))

    def run(chain: int) -> None:
        own = ScoreDraws(*(array[chain] for array in draws))
        place = ScoreState(*(state[name][chain] for name in ScoreState._fields))
        schedule = (length.tune, length.thin)
        sample_scores(state["stream"][chain], scores, hyper, schedule, (place, own))

    with ThreadPoolExecutor(length.threads or length.chains) as pool:
        list(pool.map(run, range(length.chains)))
    return draws


def _sizes(scores: RaterScores) -> tuple[int, int, int, int, int]:
    """Numbers of locations, biases, variances, group biases and usual variances."""
    n_items, n_raters, n_groups = scores.n_items, len(scores.group), int(scores.group.max()) + 1
    return n_items, n_raters, n_raters, n_groups, n_groups


def _start(scores: RaterScores, hyper: ScoreHyper, rng: np.random.Generator) -> ScoreState:
    """Random initial state of one chain."""
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


def score_pilot(scores: RaterScores, hyper: ScoreHyper, length: ChainLength) -> tuple[int, bool]:
    """Return the number of sweeps per kept draw, and whether single precision represents the draws, by a pilot run.

    4 chains of 300 draws after the warm-up of the plan; the smallest ESS decides, by the rule of
    `sweeps_for_each_draw`.
    """
    pilot = ChainLength(
        PILOT_CHAINS, PILOT_DRAWS, length.tune, 1, length.seed + 1, length.threads, "float64"
    )
    draws = draw_hierarchy(scores, hyper, pilot)
    flat, kept = np.concatenate(draws, axis=2), length.chains * length.draws
    thin = int(sweeps_for_each_draw(flat, kept, length.threads)[0])
    with np.errstate(over="ignore"):
        return thin, holds(ScoreDraws(*(array.astype(np.float32) for array in draws)))
