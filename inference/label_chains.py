"""Chains of label models, one thread for each: the draws are the same for any number of threads."""

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
    """How long to run: chains, kept draws, sweeps before the first, seed, threads, storage, kind of sweep."""

    chains: int
    draws: int
    tune: int
    seed: int
    threads: int | None = None
    dtype: str = "float32"
    collapsed: bool = True


def draw_labels_model(
    answers: Answers, prior: ConfusionPrior, thin: int, plan: LabelPlan
) -> LabelDraws:
    """Run all chains.

    Parameters
    ----------
    answers : Answers
        The answers.
    prior : ConfusionPrior
        Priors.
    thin : int
        Sweeps for each kept draw.
    plan : LabelPlan
        How long to run.

    Returns
    -------
    LabelDraws
        Arrays with a leading dimension of chains.
    """
    return continue_labels(answers, prior, thin, plan, begin_labels(answers, prior, plan))


def begin_labels(answers: Answers, prior: ConfusionPrior, plan: LabelPlan) -> dict[str, np.ndarray]:
    """Start every chain near the vote.

    Parameters
    ----------
    answers : Answers
        The answers.
    prior : ConfusionPrior
        Priors.
    plan : LabelPlan
        Chains and seed.

    Returns
    -------
    dict of str to ndarray
        Where the chains stand: ``stream`` (chain, word), and what `LabelState` has, of every chain.
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
    """Run all chains on from where they stand.

    Parameters
    ----------
    answers : Answers
        The answers.
    prior : ConfusionPrior
        Priors.
    thin : int
        Sweeps for each kept draw.
    plan : LabelPlan
        Draws, sweeps before the first, threads, storage.
    state : dict of str to ndarray
        As of `begin_labels`, changed in place.

    Returns
    -------
    LabelDraws
        Arrays with a leading dimension of chains.
    """
    n_rows, n = prior.confusion.shape
    n_items, size = len(answers.known), (plan.chains, plan.draws)
    # a competence is the difference of two entries
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
    """Ask a pilot run how many sweeps a kept draw needs.

    It has 4 chains of 300 draws, after the warm-up of the plan; the least effective entry of prevalence and confusion decides, by
    the rule of `sweeps_for_each_draw`.

    Parameters
    ----------
    answers : Answers
        The answers.
    prior : ConfusionPrior
        Priors.
    plan : LabelPlan
        The run that the pilot is for.

    Returns
    -------
    int
        Sweeps for each kept draw.
    """
    length = (PILOT_CHAINS, PILOT_DRAWS)
    pilot = LabelPlan(*length, plan.tune, plan.seed + 1, plan.threads, "float64", plan.collapsed)
    draws = draw_labels_model(answers, prior, 1, pilot)
    flat = np.concatenate([draws.prevalence, draws.table.reshape(*length, -1)], axis=2)
    return int(sweeps_for_each_draw(flat, plan.chains * plan.draws, plan.threads)[0])
