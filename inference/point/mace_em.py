"""Estimates of MACE, raters who tell the true category or spam: variational Bayes, or EM.

The E-step is one pass over the answers with the matrices theta_k [l = j] + (1 - theta_k) xi_kl: it returns the log likelihood and
the expected number of each rater's labels by true category. Of the labels l on items of category l a share theta / (theta + (1 -
theta) xi_l) told the truth, all others were spam. With these counts

    EM     theta = (a + told) / (a + b + answers),   xi_l = (c_l + spam_l) / (sum c + spam)
    VB     the same with exp(digamma(.)) for every number

EM maximises the posterior of the log odds, whose density has the exponents a, b and c. Variational Bayes maximises a lower bound
of the log evidence.

References
----------
Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013), Learning whom to trust with MACE, NAACL-HLT, section 2, aclanthology N13-1132.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import digamma, expit, gammaln, logsumexp

from ...models.data.labels import Labels
from ...models.data.prior_numbers import positive_array, positive_pair
from ...models.distributions.answer_sweep import Answers, answer_sweeps
from ..kernels.answer_patterns import AnswerPatterns
from .vote_starts import (
    check_search,
    estimate_coords,
    patterns_of,
    prevalence_prior,
    stream_of,
    vote_starts,
    warn_of_estimate,
)

__all__ = ["mace_em"]

LEAST_LOG = -690.0  # of a weight that doubles hold with all digits
LEAST_CONCENTRATION = (
    1e-6  # of variational Bayes: beside an expected log of -1e6 ten decimals count
)


def mace_em(
    labels: Labels,
    *,
    variational: bool = True,
    prevalence_concentration: Any | Literal["uniform"] = 1.0,
    competence_concentration: tuple[float, float] = (2.0, 1.0),
    spam_concentration: Any = 1.0,
    restarts: int = 20,
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Estimate competences, spam and true categories.

    Parameters
    ----------
    labels : Labels
        The annotations, of raters who are told apart; gold labels are taken as known.
    variational : bool, default True
        Variational Bayes, as the paper recommends; False: EM, the maximum of the posterior of the log odds.
    prevalence_concentration : float or array_like or "uniform", default 1
        Prior of the prevalence, as in `models.mace`; the paper's is "uniform".
    competence_concentration : pair of float, default (2, 1)
        Prior of the competences. The paper's variational Bayes has (.5, .5).
    spam_concentration : float or array_like, default 1
        Prior of the spam, one number, or an array (label) or (rater, label). Variational Bayes takes concentrations from 1e-6.
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
        ``prevalence`` (category), ``competence`` (rater), ``spam`` (rater, label) - posterior means, of variational Bayes -
        ``confusion`` (rater, category, label), ``plausibility`` (item, category), ``trace`` (iteration) of the objective, and
        ``start_objective`` (start), where every start ended, the vote first. Attributes ``objective``, ``converged`` (0 or 1),
        ``iterations`` and ``start``, which one is returned.

    Raises
    ------
    ValueError
        If the raters are anonymous, or an argument is out of range.

    Warns
    -----
    EstimateWarning
        If no item has two answers, starts ended at several optima, or have not converged.
    """
    check_search(labels, "mace_em", restarts, max_iterations, tolerance)
    n, n_raters = len(labels.categories), len(labels.raters)
    pair = positive_pair("competence_concentration", competence_concentration)
    prior = _Counts(
        prevalence_prior(prevalence_concentration, n),
        np.tile(pair, (n_raters, 1)),
        positive_array("spam_concentration", spam_concentration, (n_raters, n)),
    )
    if variational:
        _check_logs(prior)
    patterns, rng = patterns_of(labels), stream_of(random_seed)
    starts = vote_starts(patterns, n, restarts, rng)
    rule = (variational, max_iterations, tolerance)
    found = [_climb(patterns, start, prior, rule) for start in starts]
    ends = np.array([run.trace[-1] for run in found])
    warn_of_estimate(labels, ends, sum(not run.converged for run in found))
    return _dataset(labels, patterns, found[ends.argmax()], ends)


class _Counts(NamedTuple):
    """Concentrations, or counts: of prevalence (category,) or None, of competence (rater, 2), of spam (rater, label)."""

    prevalence: np.ndarray | None
    competence: np.ndarray
    spam: np.ndarray


class _Weights(NamedTuple):
    """Logs of what the E-step multiplies: of categories (category,), truth told (rater,), labels as spam (rater, label)."""

    category: np.ndarray
    told: np.ndarray
    missed: np.ndarray

    @property
    def table(self) -> np.ndarray:
        """Log weights of a label given rater and true category, shape (rater * label, category)."""
        n = len(self.category)
        table, same = np.repeat(self.missed[:, :, None], n, axis=2), np.arange(n)
        table[:, same, same] = np.logaddexp(self.told[:, None], self.missed)
        return table.reshape(-1, n)


class _Run(NamedTuple):
    """Where a start has arrived: concentrations of the posterior, the last weights, the objective of every iterate."""

    posterior: _Counts
    weights: _Weights
    trace: np.ndarray
    converged: bool


def _check_logs(prior: _Counts) -> None:
    """Raise if the expected log of a share would leave no digits for anything else."""
    for name, own in zip(_Counts._fields, prior, strict=True):
        if own is not None and own.min() < LEAST_CONCENTRATION:
            raise ValueError(
                f"{name}_concentration holds {own.min():g}; variational Bayes takes the expected log of a share, about "
                f"-1 / {own.min():g}: it must be at least {LEAST_CONCENTRATION:g}, or pass variational=False"
            )


def _climb(patterns: AnswerPatterns, plausibility: np.ndarray, prior: _Counts, rule: tuple) -> _Run:
    """Run one start."""
    variational, max_iterations, tolerance = rule
    answers, weight = patterns.answers, patterns.multiplicity
    (n_raters, n), sweeps = prior.spam.shape, answer_sweeps(prior.spam.shape[1])
    categories, counts = weight @ plausibility, np.empty((n_raters * n, n))
    sweeps.counts(plausibility, weight, answers, counts)
    halves = np.full(n_raters, np.log(0.5))
    weights = _Weights(np.zeros(n), halves, np.full((n_raters, n), np.log(0.5 / n)))
    trace, posterior, converged = [], prior, False
    for _ in range(max_iterations):
        posterior = _posterior(prior, weights, categories, counts)
        weights, log_prior = _maximum(prior, posterior, variational)
        total = _expect(patterns, weights, (categories, counts))
        trace.append(total + log_prior)
        if len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * (abs(trace[-1]) + 1):
            converged = True
            break
    return _Run(posterior, weights, np.array(trace), converged)


def _expect(
    patterns: AnswerPatterns, weights: _Weights, expected: tuple[np.ndarray, np.ndarray]
) -> float:
    """Overwrite the expected numbers of items by category, and of labels, and return the log likelihood.

    A label that a rater does not give as spam has the weight exp(-1 / c) in variational Bayes: with small c it is below doubles.
    """
    answers, weight, table = patterns.answers, patterns.multiplicity, weights.table
    categories, counts = expected
    if min(weights.category.min(), table.min()) > LEAST_LOG:
        sweep = answer_sweeps(len(categories)).both
        return sweep(np.exp(weights.category), np.exp(table), answers, weight, expected)
    log_p, truth = _item_logs(answers, weights.category, table)
    truth *= weight[:, None]
    categories[:] = truth.sum(axis=0)
    item = _item_of(answers)
    for j in range(len(categories)):
        counts[:, j] = np.bincount(answers.code, truth[item, j], len(counts))
    return float(weight @ log_p)


def _item_logs(
    answers: Answers, category: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p of every item's answers, and p(true category | answers), from logs of the weights."""
    item, known = _item_of(answers), answers.known
    sums = [np.bincount(item, of[answers.code], len(known)) for of in table.T]
    joint = category + np.stack(sums, axis=1)
    joint[(known[:, None] >= 0) & (known[:, None] != np.arange(len(category)))] = -np.inf
    log_p = np.asarray(logsumexp(joint, axis=1))
    return log_p, np.exp(joint - log_p[:, None])


def _item_of(answers: Answers) -> np.ndarray:
    """Return the item of each answer."""
    return np.repeat(np.arange(len(answers.known)), np.diff(answers.start))


def _posterior(
    prior: _Counts, weights: _Weights, categories: np.ndarray, counts: np.ndarray
) -> _Counts:
    """Add to the prior the answers that are expected to tell the truth, and to be spam."""
    n = len(categories)
    by_truth = counts.reshape(-1, n, n)
    share = expit(weights.told[:, None] - weights.missed)
    told = np.diagonal(by_truth, axis1=1, axis2=2) * share
    spam = by_truth.sum(axis=2) - told
    competence = np.column_stack([told.sum(axis=1), spam.sum(axis=1)])
    prevalence = None if prior.prevalence is None else prior.prevalence + categories
    return _Counts(prevalence, prior.competence + competence, prior.spam + spam)


def _maximum(prior: _Counts, posterior: _Counts, variational: bool) -> tuple[_Weights, float]:
    """Return the weights of the next E-step, and what the objective has besides its log likelihood."""
    log_weight = _expected_logs if variational else _logs
    logs, log_prior = [], 0.0
    for own, after in zip(prior, posterior, strict=True):
        if own is None or after is None:
            n = prior.spam.shape[1]
            logs.append(np.full(n, -np.log(n)))
            continue
        logs.append(log_weight(after))
        if variational:  # minus the divergence of the posterior from the prior
            log_prior -= ((after - own) * logs[-1]).sum()
            log_prior += (_log_beta(after) - _log_beta(own)).sum()
        else:
            log_prior += (own * logs[-1]).sum()
    category, competence, spam = logs
    return _Weights(category, competence[:, 0], competence[:, 1:] + spam), float(log_prior)


def _logs(concentration: np.ndarray) -> np.ndarray:
    """Return the logs of the shares."""
    return np.log(concentration) - np.log(concentration.sum(axis=-1, keepdims=True))


def _expected_logs(concentration: np.ndarray) -> np.ndarray:
    """Return the expected logs of Dirichlet variables."""
    return digamma(concentration) - digamma(concentration.sum(axis=-1, keepdims=True))


def _log_beta(concentration: np.ndarray) -> np.ndarray:
    """Return the log normaliser of the Dirichlet law."""
    return gammaln(concentration).sum(axis=-1) - gammaln(concentration.sum(axis=-1))


def _dataset(labels: Labels, patterns: AnswerPatterns, best: _Run, ends: np.ndarray) -> xr.Dataset:
    """Lay the best run out."""
    n, after = len(labels.categories), best.posterior
    prevalence = np.full(n, -np.log(n)) if after.prevalence is None else _logs(after.prevalence)
    competence, spam = _logs(after.competence), _logs(after.spam)
    table = _Weights(prevalence, competence[:, 0], competence[:, 1:] + spam).table
    confusion = np.exp(table).reshape(-1, n, n).swapaxes(1, 2)
    plausibility = _item_logs(patterns.answers, best.weights.category, best.weights.table)[1]
    data = {
        "prevalence": ("category", np.exp(prevalence)),
        "competence": ("rater", np.exp(competence[:, 0])),
        "spam": (("rater", "label"), np.exp(spam)),
        "confusion": (("rater", "category", "label"), confusion),
        "plausibility": (("item", "category"), plausibility[patterns.pattern]),
        "trace": ("iteration", best.trace),
        "start_objective": ("start", ends),
    }
    attrs = {
        "objective": float(best.trace[-1]),
        "converged": int(best.converged),
        "iterations": len(best.trace),
        "start": int(ends.argmax()),
    }
    return xr.Dataset(data, estimate_coords(labels), attrs)
