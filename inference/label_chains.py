"""Multi-threaded Gibbs chains of label models; the draws do not depend on the number of threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..models.distributions.answer_sweep import Answers
from .kernels.confusion import SPAM, ConfusionPrior
from .kernels.label_chain import (
    LabelDraws,
    LabelSchedule,
    LabelState,
    begin_table,
    sample_labels,
)
from .kernels.random_stream import stream
from .kernels.vote import jittered_vote
from .thinning import PILOT_CHAINS, PILOT_DRAWS, sweeps_for_each_draw

__all__ = ["LabelPlan", "begin_labels", "continue_labels", "draw_labels_model", "label_pilot"]


@dataclass(frozen=True)
class LabelPlan:
    """Length, seed, threads and storage of the Gibbs chains of a label model."""

    chains: int
    draws: int  # kept draws of each chain
    tune: int  # sweeps before the first draw
    seed: int
    threads: int | None = None
    dtype: str = "float32"  # storage; the arithmetic is in double precision
    collapsed: bool = True  # whether sweeps integrate the confusion tables out


def draw_labels_model(
    answers: Answers, prior: ConfusionPrior, thin: int, plan: LabelPlan
) -> LabelDraws:
    """Run all chains from their start, with `thin` sweeps per kept draw; `LabelDraws` with a leading dim chain."""
    return continue_labels(answers, prior, thin, plan, begin_labels(answers, prior, plan))


def begin_labels(answers: Answers, prior: ConfusionPrior, plan: LabelPlan) -> dict[str, np.ndarray]:
    """Initialise every chain near the majority vote.

    Shapes of the returned state: stream (chain, word); the fields of `LabelState` with a leading dim chain.
    """
    n_rows, n = prior.confusion.shape
    n_items = len(answers.known)
    state = {
        "stream": np.empty((plan.chains, 4), np.uint64),
        "category": np.empty((plan.chains, n_items), np.int64),
        "table": np.empty((plan.chains, n_rows, n)),
    }
    for chain in range(plan.chains):
        rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(chain,)))
        vote = jittered_vote(answers, n, rng)
        below = vote.cumsum(axis=1)[:, :-1] < rng.random((n_items, 1))
        state["category"][chain] = below.sum(axis=1)
        state["stream"][chain] = stream(rng)
        begin_table(state["stream"][chain], prior, state["table"][chain])
    return state


def continue_labels(
    answers: Answers,
    prior: ConfusionPrior,
    thin: int,
    plan: LabelPlan,
    state: dict[str, np.ndarray],
) -> LabelDraws:
    """Run all chains on from their state, which is overwritten in place.

    `thin` sweeps are made for each kept draw. Returns `LabelDraws` with leading dims (chain, draw).
    """
    n_rows, n = prior.confusion.shape
    n_items, size = len(answers.known), (plan.chains, plan.draws)
    # MACE: a competence is a difference of two entries, which single precision would round away
    of_table = "float64" if prior.kind == SPAM else plan.dtype
    draws = LabelDraws(
        np.empty((*size, n), plan.dtype),
        np.empty((*size, n_rows, n), of_table),
        np.empty((*size, n_items, n), plan.dtype),
        np.empty((*size, n_items), plan.dtype),
    )
    schedule = LabelSchedule(plan.tune, thin, plan.collapsed)

    def run(chain: int) -> None:
        own = LabelDraws(*(array[chain] for array in draws))
        place = (LabelState(state["category"][chain], state["table"][chain]), own)
        sample_labels(state["stream"][chain], answers, prior, schedule, place)

    with ThreadPoolExecutor(plan.threads or plan.chains) as pool:
        list(pool.map(run, range(plan.chains)))
    return draws


def label_pilot(answers: Answers, prior: ConfusionPrior, plan: LabelPlan) -> int:
    """Return the number of sweeps per kept draw, by a pilot run.

    4 chains of 300 draws after the warm-up of the plan; the smallest ESS among the entries of prevalence and
    confusion decides, by the rule of `sweeps_for_each_draw`.
    """
    length = (PILOT_CHAINS, PILOT_DRAWS)
    pilot = LabelPlan(*length, plan.tune, plan.seed + 1, plan.threads, "float64", plan.collapsed)
    draws = draw_labels_model(answers, prior, 1, pilot)
    flat = np.concatenate([draws.prevalence, draws.table.reshape(*length, -1)], axis=2)
    return int(sweeps_for_each_draw(flat, plan.chains * plan.draws, plan.threads)[0])
