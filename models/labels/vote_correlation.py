"""Correlation of the votes on an item: the prior from public studies, updated by residuals and by gold items."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from .._prior_arguments import effective_power
from ..data.labels import Labels, expand_answers
from ..distributions.marginal_labels_kernels import UNKNOWN, Answers, answer_codes, answer_sweeps

# Chosen on 14 public studies with the population of raters as the prior of the matrices, see docs/claims.md: rho is uniform, and
# raters err independently with probability 1/2. Of a correlation the residuals show a fifth where answers are many, and nothing
# up to three answers an item, as errors that raters share turn the inferred truth round.
INDEPENDENT = 0.5
SHOWN, SPREAD_OF_SHOWN, HIDDEN_BELOW = 0.2, 0.6, 3
# simulated studies of independent raters, and their answers together
REPLICATES, MOST_REPLICATED = 10, 400_000
SLACK = 0.002  # standard deviation of what such studies leave out: their raters have the estimated matrices
ITERATIONS = 40  # of EM: the residuals no longer change in the second digit
GRID = np.linspace(0.0, 1.0, 201)[1:-1]
QUADRATURE = np.linspace(-4.0, 4.0, 401)


class CorrelationEvidence(NamedTuple):
    """What a study says of the correlation of its votes, and the Beta distribution that follows."""

    a: float
    b: float
    residual: float  # mean correlation of the residuals of two answers to an item; NaN without pairs
    error: float  # its standard error
    expected: float  # the same of independent raters, mean over replicates of the study; NaN without pairs
    expected_error: float  # its standard error, of scatter that the error over items leaves out
    independent: float  # posterior probability that the raters err independently
    gold_items: int


def correlation_evidence(labels: Labels, alpha: np.ndarray, beta: np.ndarray) -> CorrelationEvidence:
    """Return the Beta distribution, of equal mean and variance, of the correlation given residuals and gold items.

    Parameters of Dawid-Skene are at their posterior mode, from the vote. Shapes: alpha (category,); beta (rater,
    category, answer).
    """
    item, rater, label = expand_answers(labels)
    n_raters, n = beta.shape[:2]
    gold = labels.gold.astype(np.int64)
    start = np.searchsorted(item, np.arange(len(gold) + 1)).astype(np.int64)
    # the truth of gold items is left out: matrices that have seen it would predict it too well
    answers = Answers(start, answer_codes(rater, label, n), np.full_like(gold, UNKNOWN))
    prior = alpha, beta.transpose(0, 2, 1).reshape(-1, n)
    found = _fitted(answers, n_raters, prior)
    rng = np.random.default_rng(0)  # a model is a function of its annotations
    expected = _of_independent_raters(answers, found, prior, rng)
    known = gold >= 0
    of_gold = _log_gold(found.log_prevalence, found.log_p[known], np.diff(start)[known], gold[known])
    own = (found.residual, found.error), expected, share_shown(np.diff(start))
    return _beta_of(own, of_gold, int(known.sum()))


def share_shown(answers: np.ndarray) -> float:
    """Return the usual share of the correlation that residuals show, of items with numbers of answers (item,)."""
    several = answers[answers > 1]
    return SHOWN * max(1 - HIDDEN_BELOW / several.mean(), 0.0) if len(several) else 0.0


class _Fitted(NamedTuple):
    """Parameters at their posterior mode, and the residual correlation of the answers."""

    log_prevalence: np.ndarray  # (category,)
    log_p: np.ndarray  # of the answers to an item given its category (item, category)
    confusion: np.ndarray  # (rater, answer, category)
    residual: float
    error: float


def _fitted(answers: Answers, n_raters: int, prior: tuple[np.ndarray, np.ndarray]) -> _Fitted:
    """Fit Dawid-Skene without gold; `prior` has the concentrations (category,) and (rater * answer, category)."""
    n, length = len(prior[0]), np.diff(answers.start)
    item, rater = np.repeat(np.arange(len(length)), length), answers.code // n
    prevalence, table = _posterior_mode(answers, *prior)
    votes = csr_array((np.ones(len(item)), (item, rater)), (len(length), n_raters))
    own = csr_array((np.ones(len(item)), (item, answers.code)), (len(length), n_raters * n))
    log_prevalence, log_p = np.log(prevalence), own @ np.log(table)
    confusion = table.reshape(n_raters, n, n)
    weight = _normalised(log_prevalence + log_p)
    return _Fitted(
        log_prevalence, log_p, confusion, *_residual_correlation(votes, (own, table), confusion, weight)
    )


def _of_independent_raters(
    answers: Answers, found: _Fitted, prior: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> tuple[float, float]:
    """Return the residual correlation to expect of independent raters, and its standard error.

    Matrices and truth are estimated from the same answers, which makes it larger than 0 where categories and answers to an
    item are few, and smaller where categories are many. It is the mean over replicates of the study. Where they scatter more than
    the error over items says, as in small studies and in unanimous ones, in which all items look alike, the error has that too.
    """
    if not np.isfinite(found.residual):
        return np.nan, np.nan
    n_raters, n, _ = found.confusion.shape
    length = np.diff(answers.start)
    item, rater = np.repeat(np.arange(len(length)), length), answers.code // n
    replicates = int(np.clip(MOST_REPLICATED // len(item), 1, REPLICATES))
    residuals = np.empty(replicates)
    for replicate in range(replicates):
        truth = rng.choice(n, len(length), p=np.exp(found.log_prevalence))
        below = found.confusion[rater, :, truth[item]].cumsum(axis=1)[:, :-1]
        label = (rng.random((len(item), 1)) > below).sum(axis=1)
        own = answers._replace(code=answer_codes(rater, label, n))
        residuals[replicate] = _fitted(own, n_raters, prior).residual
    residuals = residuals[np.isfinite(residuals)]
    if not len(residuals):
        return np.nan, np.nan
    scatter = max(found.error, residuals.std(ddof=1) if len(residuals) > 1 else 0.0)
    beyond = scatter**2 - found.error**2  # the error over items is added where both are compared
    return float(residuals.mean()), float(np.sqrt(beyond + scatter**2 / len(residuals) + SLACK**2))


def _posterior_mode(answers: Answers, alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return smoothed prevalence (category,) and table (rater * label, category) by EM from the vote."""
    n = len(alpha)
    length = np.diff(answers.start)
    vote = np.zeros((len(length), n))
    np.add.at(vote, (np.repeat(np.arange(len(length)), length), answers.code % n), 1.0)
    vote = (vote + 1e-9) / (vote + 1e-9).sum(axis=1, keepdims=True)
    sweeps, weight = answer_sweeps(), np.ones(len(length))
    categories, counts = vote.sum(axis=0), np.empty(beta.shape)
    sweeps.counts(vote, weight, answers, counts)
    for _ in range(ITERATIONS):
        prevalence, table = _parameters(alpha + categories, beta + counts)
        sweeps.log_p_and_counts(prevalence, table, answers, weight, (categories, counts))
    return _parameters(alpha + categories, beta + counts)


def _parameters(categories: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return prevalence and table in proportion to the counts."""
    n = len(categories)
    total = counts.reshape(-1, n, n).sum(axis=1, keepdims=True)
    return categories / categories.sum(), (counts.reshape(-1, n, n) / total).reshape(-1, n)


def _normalised(log_p: np.ndarray) -> np.ndarray:
    """Return probabilities along the last axis from their logs up to a constant."""
    p = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def _residual_correlation(
    votes: csr_array, own: tuple[csr_array, np.ndarray], confusion: np.ndarray, weight: np.ndarray
) -> tuple[float, float]:
    """Return the mean correlation of the residuals of two answers to an item, and its standard error over items.

        sum_i sum_j w_ij sum_{k<l} e_ikj . e_ilj  /  sum_i sum_j w_ij sum_{k<l} sd_kj sd_lj

    with e_ikj the indicators of the answer minus its probabilities given true category j. Raters who err
    independently have 0. Shapes: confusion (rater, answer, category), weight (item, category).
    """
    answered, table = own
    n = weight.shape[1]
    counts = answered @ np.tile(np.eye(n), (len(table) // n, 1))
    said = answered @ table  # sum of the probabilities of the answers given
    above, below = np.zeros(len(weight)), np.zeros(len(weight))
    for j in range(n):
        p = confusion[:, :, j]
        squares = (p**2).sum(axis=1)
        own_squares = counts.sum(axis=1) - 2 * said[:, j] + votes @ squares
        spread = 1 - squares
        pairs = ((counts - votes @ p) ** 2).sum(axis=1) - own_squares
        above += weight[:, j] * pairs / 2
        below += weight[:, j] * ((votes @ np.sqrt(spread)) ** 2 - votes @ spread) / 2
    if not below.sum() > 0:
        return np.nan, np.nan
    r = above.sum() / below.sum()
    return float(r), float(np.sqrt(((above - r * below) ** 2).sum()) / below.sum())


def _log_gold(
    log_prevalence: np.ndarray, log_p: np.ndarray, answers: np.ndarray, gold: np.ndarray
) -> np.ndarray:
    """Return the log probability of the gold labels at every correlation of the grid, and at 0 before it."""
    total = np.zeros(len(GRID) + 1)
    for g, correlation in enumerate(np.concatenate([[0.0], GRID])):
        p = _normalised(effective_power(answers, correlation)[:, None] * (log_prevalence + log_p))
        total[g] = np.log(np.maximum(p[np.arange(len(gold)), gold], np.finfo(float).tiny)).sum()
    return total


def _beta_of(
    of_residuals: tuple[tuple[float, float], tuple[float, float], float], of_gold: np.ndarray, gold_items: int
) -> CorrelationEvidence:
    """Return the Beta distribution by moments of the mixture of no correlation and of that of public studies.

    `of_residuals` holds the residual correlation and its error, those of independent raters, and the share that is shown.
    """
    (r, error), expected, share = of_residuals
    values = np.concatenate([[0.0], GRID])
    log_w = (
        np.log(np.concatenate([[INDEPENDENT], np.full(len(GRID), (1 - INDEPENDENT) / len(GRID))])) + of_gold
    )
    if np.isfinite([r, expected[0]]).all():
        shown = share * np.exp(SPREAD_OF_SHOWN * QUADRATURE)
        scatter = (r - expected[0] - values[:, None] * shown) ** 2 / (error**2 + expected[1] ** 2)
        log_w += logsumexp(-(scatter + QUADRATURE**2) / 2, axis=1)
    w = _normalised(log_w)
    mean = w @ values
    variance = w @ (values - mean) ** 2
    total = max(mean * (1 - mean) / variance - 1, 0.1)
    return CorrelationEvidence(
        float(mean * total), float((1 - mean) * total), r, error, *expected, float(w[0]), gold_items
    )
