"""GLAD's estimate by EM: abilities of raters and difficulties of items, each at its most probable value.

References
----------
Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Whose vote should count more: optimal integration of labels from labelers of
unknown expertise, NIPS 22, section 3.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ...models.data.labels import Labels
from ...models.data.prior_numbers import log_normal_prior, normal_prior
from ..kernels.answer_patterns import AnswerPatterns
from ..kernels.glad_ascent import answers_by_rater, maximise_skills, true_labels
from .vote_starts import (
    check_search,
    estimate_coords,
    patterns_of,
    prevalence_prior,
    stream_of,
    vote_starts,
    warn_of_estimate,
)

__all__ = ["glad_em"]


def glad_em(
    labels: Labels,
    *,
    prevalence_concentration: Any | Literal["uniform"] = 1.0,
    ability: tuple[float, float] = (1.0, 1.0),
    easiness: tuple[float, float] = (1.0, 1.0),
    restarts: int = 20,
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Estimate abilities, difficulties and true categories.

    Parameters
    ----------
    labels : Labels
        The annotations, of raters who are told apart; gold labels are taken as known.
    prevalence_concentration : float or array_like or "uniform", default 1
        Prior of the prevalence, of which the estimate maximises the posterior of the log odds; the paper's is "uniform".
    ability, easiness : pair of float, default (1, 1)
        Mean and standard deviation of the normal priors of abilities and of the items' log easiness, as in `models.glad`; of the
        log easiness each at most 10 in size.
    restarts : int, default 20
        Further starts, drawn near the vote.
    max_iterations : int, default 1000
        Most iterations of one start.
    tolerance : float, default 1e-10
        Relative gain of the objective at which a start has converged.
    random_seed : int, optional
        Seed of the restarts.

    Returns
    -------
    Dataset
        ``prevalence`` (category), ``ability`` (rater), ``difficulty`` (item), that is 1 / beta, ``plausibility`` (item,
        category), ``trace`` (iteration) of the log posterior density, and ``start_objective`` (start), where every start ended,
        the vote first. Attributes ``log_likelihood``, ``objective``, ``converged`` (0 or 1), ``iterations`` and ``start``, which
        one is returned.

    Raises
    ------
    ValueError
        If the raters are anonymous, or an argument is out of range.

    Warns
    -----
    EstimateWarning
        If no item has two answers, starts ended at several optima, or have not converged.

    Notes
    -----
    Here every item has a difficulty of its own, estimated from as few answers as there are, where `models.glad` sums it out: the
    plausibilities are surer than the posterior's.
    """
    check_search(labels, "glad_em", restarts, max_iterations, tolerance)
    n = len(labels.categories)
    alpha = prevalence_prior(prevalence_concentration, n)
    priors = (*normal_prior("ability", ability), *log_normal_prior("easiness", easiness))
    search = _Search(len(labels.raters), alpha, priors, max_iterations, tolerance)
    patterns, rng = patterns_of(labels), stream_of(random_seed)
    starts = vote_starts(patterns, n, restarts, rng)
    found = [_climb(patterns, start, search) for start in starts]
    ends = np.array([run.trace[-1] for run in found])
    warn_of_estimate(labels, ends, sum(not run.converged for run in found))
    best = found[ends.argmax()]
    data = {
        "prevalence": ("category", best.prevalence),
        "ability": ("rater", best.ability),
        "difficulty": ("item", np.exp(-best.log_easiness)[patterns.pattern]),
        "plausibility": (("item", "category"), best.plausibility[patterns.pattern]),
        "trace": ("iteration", best.trace),
        "start_objective": ("start", ends),
    }
    attrs = {
        "log_likelihood": float(best.log_likelihood),
        "objective": float(best.trace[-1]),
        "converged": int(best.converged),
        "iterations": len(best.trace),
        "start": int(ends.argmax()),
    }
    return xr.Dataset(data, estimate_coords(labels), attrs)


class _Search(NamedTuple):
    """What every start goes by; `alpha` is None where the prevalence is fixed."""

    n_raters: int
    alpha: np.ndarray | None
    priors: tuple[float, float, float, float]
    max_iterations: int
    tolerance: float


class _Run(NamedTuple):
    """Where a start has arrived."""

    prevalence: np.ndarray
    ability: np.ndarray
    log_easiness: np.ndarray
    plausibility: np.ndarray
    log_likelihood: float
    trace: np.ndarray
    converged: bool


def _climb(patterns: AnswerPatterns, start: np.ndarray, search: _Search) -> _Run:
    """Run one start."""
    answers, weight = patterns.answers, patterns.multiplicity
    n, (mean, sd, easy, spread) = start.shape[1], search.priors
    by_rater = answers_by_rater(answers, n, search.n_raters)
    plausibility, prevalence = np.array(start), np.full(n, 1 / n)
    ability, log_easiness = np.full(search.n_raters, mean), np.full(len(weight), easy)
    trace, log_likelihood, converged = [], -np.inf, False
    for _ in range(search.max_iterations):
        log_prior = 0.0
        expected, skills = (plausibility, weight), (ability, log_easiness)
        maximise_skills(answers, by_rater, expected, search.priors, skills)
        if search.alpha is not None:
            prevalence = search.alpha + weight @ plausibility
            prevalence /= prevalence.sum()
            log_prior = search.alpha @ np.log(prevalence)
        log_prior -= 0.5 * (((ability - mean) / sd) ** 2).sum()
        log_prior -= 0.5 * weight @ (((log_easiness - easy) / spread) ** 2)
        parameters = (np.log(prevalence), ability, log_easiness)
        log_likelihood = true_labels(answers, parameters, plausibility, weight)
        trace.append(log_likelihood + log_prior)
        if len(trace) > 1 and trace[-1] - trace[-2] <= search.tolerance * (abs(trace[-1]) + 1):
            converged = True
            break
    return _Run(
        prevalence, ability, log_easiness, plausibility, log_likelihood, np.array(trace), converged
    )
