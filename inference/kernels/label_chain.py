"""Gibbs chains of prevalence, confusion and true categories, from a start near the vote.

plain
    true categories | prevalence, confusion, then prevalence and confusion | true categories
collapsed
    each true category | all others, with prevalence and confusion summed out; they are drawn for every kept draw alone

Every kept draw comes with p(true category | draw), by the pass that the next sweep begins with: a Rao-Blackwellised plausibility.
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
    """Sweeps before the first stored draw, sweeps per stored draw, and whether they are collapsed."""

    tune: int
    thin: int
    collapsed: bool


class LabelState(NamedTuple):
    """Where a chain stands; both arrays are changed in place.

    Attributes
    ----------
    category : ndarray of int64, shape (item,)
        True categories.
    table : ndarray, shape (rater * label, category)
        p(label | rater, true category); read by spam alone, each draw of which needs the one before.
    """

    category: np.ndarray
    table: np.ndarray


class LabelDraws(NamedTuple):
    """Where a chain stores its draws.

    Attributes
    ----------
    prevalence : ndarray, shape (draw, category)
        Prevalence.
    table : ndarray, shape (draw, rater * label, category)
        p(label | rater, true category).
    plausibility : ndarray, shape (draw, item, category)
        p(true category | draw, answers).
    log_p : ndarray, shape (draw, item)
        log p(answers of the item | draw).
    """

    prevalence: np.ndarray
    table: np.ndarray
    plausibility: np.ndarray
    log_p: np.ndarray


@kept(nogil=True, error_model="numpy")
def begin_table(rng: np.ndarray, prior: ConfusionPrior, table: np.ndarray) -> None:
    """Draw the table of spam from its prior; others need none to begin with.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    prior : ConfusionPrior
        Priors.
    table : ndarray, shape (rater * label, category)
        Overwritten.
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
    """Run one chain on from where it stands.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    answers : Answers
        The answers; those of one rater to an item stand together.
    prior : ConfusionPrior
        Priors.
    schedule : LabelSchedule
        Sweeps before the first stored draw and for each, and their kind; only rows can be collapsed.
    state_and_draws : tuple of LabelState and LabelDraws
        Where the chain stands, overwritten, and where the draws go.
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
    """Make one plain sweep: true categories given prevalence and confusion, then these given them.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream, advanced in place.
    answers : Answers
        The answers.
    prior : ConfusionPrior
        Priors.
    parameters : tuple of ndarray, shapes (category,) and (rater * label, category)
        Prevalence and p(label | rater, true category), replaced in place.
    category : ndarray of int64, shape (item,)
        Overwritten with the true categories that were drawn.
    """
    n_rows, n = prior.confusion.shape
    items, labels = np.zeros(n, np.int64), np.zeros((n_rows, n), np.int64)
    truth = (category, items, labels, np.zeros((n_rows // n, n), np.int64))
    pointwise = (np.empty(len(category)), np.empty((len(category), n)))
    draw_true_categories(rng, answers, parameters, truth, pointwise)
    draw_prevalence(rng, prior, items, parameters[0])
    draw_confusion(rng, prior, labels, parameters[1])
