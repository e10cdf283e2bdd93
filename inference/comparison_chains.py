"""Multi-threaded HMC chains of comparison models; the draws do not depend on the number of threads."""

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
PATIENCE = 10  # most successive rejections in a pilot run
DISPERSION = 2.0  # standard deviation of the starts, in units of that of the Laplace approximation


@dataclass(frozen=True)
class PairPlan:
    """Length, seed and threads of the HMC chains of a comparison model."""

    chains: int
    draws: int  # kept draws of each chain
    tune: int  # transitions before the first draw
    thin: int  # transitions for each kept draw
    seed: int
    threads: int | None = None
    stream: int = 0  # first spawn key: 0 for the run, 1 for its pilot runs


def draw_comparisons(
    model: tuple[PairCells, PairPrior], centre: Centre, steps: int, plan: PairPlan
) -> tuple[np.ndarray, np.ndarray]:
    """Run all chains from overdispersed starts; of a bimodal posterior, half of them start about the second mode.

    `steps` is the number of leapfrog steps of a transition.
    Shapes: returns draws (chain, draw, coordinate) and mean acceptance probability (chain,).
    """
    state = begin_comparisons(model, centre, plan)
    draws = continue_comparisons(model, centre, steps, plan, state)
    return draws, state["numbers"][:, 1] / (plan.draws * plan.thin)


def begin_comparisons(
    model: tuple[PairCells, PairPrior], centre: Centre, plan: PairPlan
) -> dict[str, np.ndarray]:
    """Initialise all chains at overdispersed starts; of a bimodal posterior, half of them about the second mode.

    Shapes of the returned state: stream (chain, word); the fields of `PairState` with a leading dim chain.
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
        away = (z[:, None] * laplace.inverse).sum(axis=0)  # no BLAS: reproducible
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
    """Run all chains on from their state, which is overwritten in place.

    `steps` is the number of leapfrog steps of a transition. Shapes: returns (chain, draw, coordinate).
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
    """Laplace approximation of a chain: that of the second mode, if there is one, for every second chain."""
    return centre.laplace if centre.rival is None or chain % 2 == 0 else centre.rival


def _state_of(state: dict[str, np.ndarray], chain: int) -> PairState:
    """View of the state of one chain."""
    return PairState(*(state[name][chain] for name in PairState._fields))


def tuned_steps(model: tuple[PairCells, PairPrior], centre: Centre, seed: int) -> int:
    """Return the number of leapfrog steps of a transition, tuned by pilot runs: from 2 to 32.

    The rule is fixed in advance: the least number with which 60 transitions from near the centre have mean
    acceptance probability 0.85, and no chain stays in place for more than 10 transitions.
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
    """Largest number of successive rejections in any chain. Shapes: draws (chain, draw, coordinate)."""
    longest = 0
    for chain in draws[..., 0]:
        moved = np.flatnonzero(np.diff(chain))
        stays = np.diff(np.r_[-1, moved, len(chain) - 1])
        longest = max(longest, int(stays.max()) - 1)
    return longest
