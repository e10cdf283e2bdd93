"""Gibbs chains of prevalence, confusion and true categories T, started near the vote.

plain
    T | prevalence, confusion, then prevalence, confusion | T
collapsed
    T_i | all other T, with prevalence and confusion integrated out; these are drawn for stored draws only

Every stored draw has a Rao-Blackwellised plausibility, p(T | prevalence, confusion, answers), from the pass
over the answers with which the next sweep begins.
"""

from typing import NamedTuple

import numpy as np

from ...models.distributions.answer_sweep import Answers
from ...models.distributions.compiling import kept
from .confusion import ROWS, SPAM, ConfusionPrior, draw_confusion, draw_prevalence
from .true_category import draw_collapsed, draw_true_categories, recount

__all__ = [
    "LabelDraws",
    "LabelSchedule",
    "LabelState",
    "begin_table",
    "sample_labels",
    "sweep_labels",
]


class LabelSchedule(NamedTuple):
    """Length and kind of a chain."""

    tune: int  # sweeps before the first stored draw
    thin: int  # sweeps per stored draw
    collapsed: bool  # kind of the sweeps


class LabelState(NamedTuple):
    """State of a chain, overwritten in place."""

    category: np.ndarray  # int64 (item,), true categories
    table: np.ndarray  # (rater * label, category); only SPAM reads the previous one


class LabelDraws(NamedTuple):
    """Output arrays of a chain."""

    prevalence: np.ndarray  # (draw, category)
    table: np.ndarray  # (draw, rater * label, category), p(label | rater, true category)
    plausibility: np.ndarray  # (draw, item, category), p(true category | draw, answers)
    log_p: np.ndarray  # (draw, item), log p(answers of the item | draw)


@kept(nogil=True, error_model="numpy")
def begin_table(rng: np.ndarray, prior: ConfusionPrior, table: np.ndarray) -> None:
    """Overwrite the table with a draw of its prior for SPAM, with ones otherwise: no other law reads it.

    Shapes: table (rater * label, category).
    """
    table[:] = 1.0
    if prior.kind == SPAM:
        draw_confusion(rng, prior, np.zeros(table.shape, np.int64), table)


@kept(nogil=True, error_model="numpy")
def sample_labels(
    rng: np.ndarray,
    answers: Answers,
    prior: ConfusionPrior,
    schedule: LabelSchedule,
    state_and_draws: tuple[LabelState, LabelDraws],
) -> None:
    """Run one Gibbs chain on from its state, which is overwritten.

    The answers of one rater to an item must be adjacent. Only ROWS can be collapsed.
    """
    (category, table), draws = state_and_draws
    n_rows, n = prior.confusion.shape
    items, labels = np.zeros(n, np.int64), np.zeros((n_rows, n), np.int64)
    truth = (category, items, labels, np.zeros((n_rows // n, n), np.int64))
    recount(answers, truth)
    row_total = prior.confusion.copy().reshape(n_rows // n, n, n).sum(axis=1)
    parameters = (np.empty(n), table)
    pointwise = (np.empty(len(category)), np.empty((len(category), n)))
    collapsed = schedule.collapsed and prior.kind == ROWS
    sweeps = schedule.tune
    for d in range(len(draws.prevalence)):
        sweeps += schedule.thin
        for _ in range(sweeps):
            if collapsed:
                draw_collapsed(rng, answers, prior, truth, row_total)
            else:
                draw_prevalence(rng, prior, items, parameters[0])
                draw_confusion(rng, prior, labels, parameters[1])
                draw_true_categories(rng, answers, parameters, truth, pointwise)
        sweeps = 0
        # prevalence, confusion | T, for the stored draw
        if collapsed:
            draw_prevalence(rng, prior, items, parameters[0])
            draw_confusion(rng, prior, labels, parameters[1])
            draw_true_categories(rng, answers, parameters, truth, pointwise)
        draws.prevalence[d] = parameters[0]
        draws.table[d] = parameters[1]
        draws.plausibility[d] = pointwise[1]
        draws.log_p[d] = pointwise[0]


@kept(error_model="numpy")
def sweep_labels(
    rng: np.ndarray,
    answers: Answers,
    prior: ConfusionPrior,
    parameters: tuple[np.ndarray, np.ndarray],
    category: np.ndarray,
) -> None:
    """Run one plain sweep: true categories given prevalence and confusion, then these given them.

    Shapes: parameters, overwritten: prevalence (category,), table (rater * label, category); category int64
    (item,), overwritten.
    """
    n_rows, n = prior.confusion.shape
    items, labels = np.zeros(n, np.int64), np.zeros((n_rows, n), np.int64)
    truth = (category, items, labels, np.zeros((n_rows // n, n), np.int64))
    pointwise = (np.empty(len(category)), np.empty((len(category), n)))
    draw_true_categories(rng, answers, parameters, truth, pointwise)
    draw_prevalence(rng, prior, items, parameters[0])
    draw_confusion(rng, prior, labels, parameters[1])
