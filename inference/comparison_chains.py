"""Chains of comparison models, one thread for each: the draws are the same for any number of threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from .kernels.anchored_posterior import PairPrior
from .kernels.laplace_centre import Centre
from .kernels.laplace_hmc import HmcSchedule, Laplace, PairState, begin_pairs, continue_pairs
from .kernels.pair_likelihood import PairCells
from .kernels.random_stream import stream

__all__ = [
    "PairPlan",
    "begin_comparisons",
    "continue_comparisons",
    "draw_comparisons",
    "tuned_steps",
]

WANTED_ACCEPTANCE = 0.85
PILOT_DRAWS, PILOT_TUNE = 60, 15
FEWEST_STEPS, MOST_STEPS = 2, 32
PATIENCE = 10  # transitions that a chain may stay where it is
DISPERSION = 2.0  # of the starts, in standard deviations of the normal approximation


@dataclass(frozen=True)
class PairPlan:
    """How long to run: chains, kept draws, transitions before the first and for each, seed, threads, stream of the seed."""

    chains: int
    draws: int
    tune: int
    thin: int
    seed: int
    threads: int | None = None
    stream: int = 0


def draw_comparisons(
    model: tuple[PairCells, PairPrior], centre: Centre, steps: int, plan: PairPlan
) -> tuple[np.ndarray, np.ndarray]:
    """Run all chains from dispersed starts, half of them about the rival centre if there is one.

    Parameters
    ----------
    model : tuple of PairCells and PairPrior
        Answers and priors.
    centre : Centre
        Centre and metric.
    steps : int
        Pushes in a transition.
    plan : PairPlan
        How long to run.

    Returns
    -------
    draws : ndarray, shape (chain, draw, coordinate)
        Coordinates.
    acceptance : ndarray, shape (chain,)
        Mean probability of accepting.
    """
    state = begin_comparisons(model, centre, plan)
    draws = continue_comparisons(model, centre, steps, plan, state)
    return draws, state["numbers"][:, 1] / (plan.draws * plan.thin)


def begin_comparisons(
    model: tuple[PairCells, PairPrior], centre: Centre, plan: PairPlan
) -> dict[str, np.ndarray]:
    """Start all chains from dispersed places, half of them about the rival centre if there is one.

    Parameters
    ----------
    model : tuple of PairCells and PairPrior
        Answers and priors.
    centre : Centre
        Centre and metric.
    plan : PairPlan
        Chains and seed.

    Returns
    -------
    dict of str to ndarray
        Where the chains stand: ``stream`` (chain, word), and what `PairState` has, of every chain.
    """
    n = len(centre.laplace.centre)
    state = {name: np.empty((plan.chains, n)) for name in PairState._fields}
    state["numbers"] = np.empty((plan.chains, 2))
    streams = np.empty((plan.chains, 4), np.uint64)
    for chain in range(plan.chains):
        laplace = _laplace_of(centre, chain)
        seed = np.random.SeedSequence(plan.seed, spawn_key=(plan.stream, chain))
        rng = np.random.default_rng(seed)
        z = DISPERSION * rng.standard_normal(n)
        away = (z[:, None] * laplace.inverse).sum(axis=0)  # the same on any number of cores
        state["theta"][chain] = laplace.centre + away
        streams[chain] = stream(rng)
        begin_pairs(model, laplace, _state_of(state, chain))
    return {"stream": streams} | state


def continue_comparisons(
    model: tuple[PairCells, PairPrior],
    centre: Centre,
    steps: int,
    plan: PairPlan,
    state: dict[str, np.ndarray],
) -> np.ndarray:
    """Run all chains on from where they stand.

    Parameters
    ----------
    model : tuple of PairCells and PairPrior
        Answers and priors.
    centre : Centre
        Centre and metric.
    steps : int
        Pushes in a transition.
    plan : PairPlan
        Draws, transitions before the first and for each, threads.
    state : dict of str to ndarray
        As of `begin_comparisons`, changed in place.

    Returns
    -------
    ndarray, shape (chain, draw, coordinate)
        Coordinates.
    """
    draws = np.empty((plan.chains, plan.draws * plan.thin, len(centre.laplace.centre)))
    schedule = HmcSchedule(plan.tune, steps, centre.open_scales, centre.rival is not None)

    def run(chain: int) -> None:
        place = (_state_of(state, chain), draws[chain])
        continue_pairs(state["stream"][chain], model, _laplace_of(centre, chain), schedule, place)

    with ThreadPoolExecutor(plan.threads or plan.chains) as pool:
        list(pool.map(run, range(plan.chains)))
    return draws[:, plan.thin - 1 :: plan.thin]


def _laplace_of(centre: Centre, chain: int) -> Laplace:
    """Return the centre of a chain: every second one has the rival, if there is one."""
    return centre.laplace if centre.rival is None or chain % 2 == 0 else centre.rival


def _state_of(state: dict[str, np.ndarray], chain: int) -> PairState:
    """Return where one chain stands."""
    return PairState(*(state[name][chain] for name in PairState._fields))


def tuned_steps(model: tuple[PairCells, PairPrior], centre: Centre, seed: int) -> int:
    """Ask pilot runs how many pushes a transition needs.

    The rule is fixed beforehand: the least number from 2 with which 60 transitions from near the centre are accepted with
    probability .85 on average, and with which a chain never stays where it is for more than ten.

    Parameters
    ----------
    model : tuple of PairCells and PairPrior
        Answers and priors.
    centre : Centre
        Centre and metric.
    seed : int
        Of the run that the pilot is for.

    Returns
    -------
    int
        Pushes, at most 32.
    """
    steps = FEWEST_STEPS
    while steps < MOST_STEPS:
        plan = PairPlan(2, PILOT_DRAWS, PILOT_TUNE, 1, seed, stream=1)
        draws, acceptance = draw_comparisons(model, centre, steps, plan)
        if acceptance.min() >= WANTED_ACCEPTANCE and _longest_stay(draws) <= PATIENCE:
            break
        steps = steps + 1 if acceptance.min() > 0.6 else 2 * steps
    return min(steps, MOST_STEPS)


def _longest_stay(draws: np.ndarray) -> int:
    """Return the most transitions in a row that left a chain where it was."""
    longest = 0
    for chain in draws[..., 0]:
        moved = np.flatnonzero(np.diff(chain))
        stays = np.diff(np.r_[-1, moved, len(chain) - 1])
        longest = max(longest, int(stays.max()) - 1)
    return longest
