"""Point estimate of GLAD by EM: abilities of raters and difficulties of items."""

from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ...models.data.labels import Labels
from ...models.data.prior_arguments import log_normal_prior, normal_prior
from .kernels.em import AnswerPatterns
from .kernels.glad import answers_by_rater, e_step, m_step
from .votes import (
    check_search,
    estimate_coords,
    patterns_of,
    prevalence_concentrations,
    seeded_generator,
    vote_starts,
    warn_estimate,
)


def glad_em(
    labels: Labels,
    *,
    prevalence_concentration: Any | Literal["uniform"] = "uniform",
    ability: tuple[float, float] = (1.0, 1.0),
    easiness: tuple[float, float] = (1.0, 1.0),
    restarts: int = 20,
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Estimate abilities of raters, difficulties of items and true categories of GLAD, by EM.

        T_i ~ Categorical(p),   P(label of rater k on item i = T_i) = 1 / (1 + exp(-alpha_k beta_i))

    The other labels are equally probable.

    ========  ==========  ==============  ========
    symbol    meaning     variable        dims
    ========  ==========  ==============  ========
    p         prevalence  ``prevalence``  category
    alpha     ability     ``ability``     rater
    1 / beta  difficulty  ``difficulty``  item
    ========  ==========  ==============  ========

    Parameters
    ----------
    labels : Labels
        Labels of identified raters. Gold labels are taken as known true categories.
    prevalence_concentration : float or array_like or "uniform", default "uniform"
        "uniform": all categories are equally prevalent, as in the paper. Numbers are the Dirichlet prior of
        a prevalence that is estimated too, at the maximum of the posterior of the log odds; it can drift
        towards one category where raters disagree much.
    ability, easiness : pair of float, default (1, 1)
        Mean and standard deviation of the normal priors of abilities alpha and of the items' log easiness,
        log beta, as in `models.glad`. Both numbers of the log easiness are at most 10 in absolute value.
    restarts : int, default 20
        Number of random starts near the vote shares, each run until it converges.
    max_iterations, tolerance, random_seed
        As for `dawid_skene_em`.

    Returns
    -------
    Dataset
        ``prevalence`` (category), ``ability`` (rater), ``difficulty`` (item), which is 1 / beta,
        ``plausibility`` (item, category), ``trace`` (iteration) of the log posterior density, and
        ``start_objective`` (start), the final objective of every start, that of the vote first. Attributes
        ``log_likelihood``, ``objective``, ``converged`` (0 or 1), ``iterations`` and ``start``, the number of
        the best start, whose estimate is returned.

    Raises
    ------
    ValueError
        If the raters are anonymous, or an argument is out of range.

    Warns
    -----
    EstimateWarning
        If no item has two answers, some starts ended at a lower optimum, or some have not converged.

    Notes
    -----
    The difficulty of every item is estimated from its few answers, where `models.glad` sums it out: the
    plausibilities are more certain than those of the posterior.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.labels(model="glad", items=60, raters=5, answers=5, random_seed=3)
    >>> estimate = inference.glad_em(drawn.data, restarts=3, random_seed=1)
    >>> estimate["ability"].dims, estimate["difficulty"].dims, estimate.attrs["converged"]
    (('rater',), ('item',), 1)

    References
    ----------
    Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Whose vote should count more: optimal integration of
    labels from labelers of unknown expertise, NIPS 22, section 3.
    """
    check_search(labels, "glad_em", restarts, max_iterations, tolerance)
    n = len(labels.categories)
    alpha = prevalence_concentrations(prevalence_concentration, n)
    priors = (*normal_prior("ability", ability), *log_normal_prior("easiness", easiness))
    search = _Search(len(labels.raters), alpha, priors, max_iterations, tolerance)
    patterns = patterns_of(labels)
    starts = vote_starts(patterns, n, restarts, seeded_generator(random_seed))
    runs = [_run_em(patterns, start, search) for start in starts]
    ends = np.array([run.trace[-1] for run in runs])
    warn_estimate(labels, ends, [run.converged for run in runs])
    best = runs[ends.argmax()]
    data = {
        "prevalence": ("category", best.prevalence),
        "ability": ("rater", best.ability),
        "difficulty": ("item", np.exp(-best.log_easiness)[patterns.pattern]),
        "plausibility": (("item", "category"), best.plausibility[patterns.pattern]),
        "trace": ("iteration", best.trace),
        "start_objective": ("start", ends),
    }
    attrs = {"log_likelihood": float(best.log_likelihood), "objective": float(best.trace[-1])}
    attrs |= {"converged": int(best.converged), "iterations": len(best.trace), "start": int(ends.argmax())}
    return xr.Dataset(data, estimate_coords(labels), attrs)


class _Search(NamedTuple):
    """Settings of all starts; `alpha` (category,) is None if the prevalence is fixed."""

    n_raters: int
    alpha: np.ndarray | None
    priors: tuple[float, float, float, float]  # mean, sd of ability; mean, sd of log easiness
    max_iterations: int
    tolerance: float


class _Run(NamedTuple):
    """Result of one start."""

    prevalence: np.ndarray  # (category,)
    ability: np.ndarray  # (rater,)
    log_easiness: np.ndarray  # (pattern,)
    plausibility: np.ndarray  # (pattern, category)
    log_likelihood: float
    trace: np.ndarray  # (iteration,)
    converged: bool


def _run_em(patterns: AnswerPatterns, start: np.ndarray, search: _Search) -> _Run:
    """Run EM from one start, shape (pattern, category)."""
    answers, weight = patterns.answers, patterns.multiplicity
    n, (mean, sd, easy, spread) = start.shape[1], search.priors
    by_rater = answers_by_rater(answers, n, search.n_raters)
    plausibility, prevalence = np.array(start), np.full(n, 1 / n)
    ability, log_easiness = np.full(search.n_raters, mean), np.full(len(weight), easy)
    trace, log_likelihood, converged = [], -np.inf, False
    for _ in range(search.max_iterations):
        log_prior = 0.0
        m_step(answers, by_rater, (plausibility, weight), search.priors, (ability, log_easiness))
        if search.alpha is not None:
            prevalence = search.alpha + weight @ plausibility
            prevalence /= prevalence.sum()
            log_prior = search.alpha @ np.log(prevalence)
        log_prior -= 0.5 * (((ability - mean) / sd) ** 2).sum()
        log_prior -= 0.5 * weight @ (((log_easiness - easy) / spread) ** 2)
        parameters = (np.log(prevalence), ability, log_easiness)
        log_likelihood = e_step(answers, parameters, plausibility, weight)
        trace.append(log_likelihood + log_prior)
        if len(trace) > 1 and trace[-1] - trace[-2] <= search.tolerance * (abs(trace[-1]) + 1):
            converged = True
            break
    return _Run(prevalence, ability, log_easiness, plausibility, log_likelihood, np.array(trace), converged)
