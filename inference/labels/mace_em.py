"""Point estimate of MACE, by variational Bayes or EM."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import digamma, expit, gammaln, logsumexp

from ...models._prior_arguments import positive_array, positive_pair
from ...models.data.labels import Labels
from ...models.distributions.marginal_labels_kernels import Answers, answer_sweeps
from .em_search import (
    EmModel,
    EmRun,
    Rule,
    Variables,
    check_search,
    estimate_of_labels,
    prevalence_concentrations,
)
from .kernels.em import AnswerPatterns

LEAST_LOG = -690.0  # log weights above this have a normal double as exponential
LEAST_CONCENTRATION = 1e-6  # for variational Bayes: an expected log of -1e6 leaves ten decimals for the rest


def mace_em(
    labels: Labels,
    *,
    variational: bool = True,
    prevalence_concentration: Any | Literal["uniform"] = 1.0,
    competence_concentration: tuple[float, float] = (2.0, 1.0),
    spam_concentration: Any = 1.0,
    restarts: int | Literal["auto"] = "auto",
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Estimate competences, spam and true categories of MACE, by variational Bayes or EM.

    A rater either tells the true category or spams:

        T_i ~ Categorical(p),   P(label l of rater k | T_i = j) = theta_k [l = j] + (1 - theta_k) xi_kl

    The E-step is one pass over the answers. It returns the log likelihood and the expected counts of each
    rater's labels by true category. Of the labels l on items of category l the share theta / (theta + (1 -
    theta) xi_l) is credited to competence, the rest and all other labels to spam. The M-step then is

        EM     theta = (a + honest) / (a + b + answers),   xi_l = (c_l + spam_l) / (sum c + spam)
        VB     the same with exp(digamma(.)) in place of every number

    EM maximises the posterior of the log odds, whose density has the exponents a, b and c. Variational Bayes
    maximises a lower bound of the log evidence.

    ======  ==========================  ============================  ======================
    symbol  meaning                     variable                      dims
    ======  ==========================  ============================  ======================
    p       prevalence                  ``prevalence``                category
    theta   competence                  ``competence``                rater
    xi      labels of a spamming rater  ``spam``                      rater, label
    a, b    prior counts of theta       ``competence_concentration``
    c       prior counts of xi          ``spam_concentration``        label, or rater, label
    ======  ==========================  ============================  ======================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters. Gold labels are taken as known true categories.
    variational : bool, default True
        Variational Bayes, as the paper recommends. False: EM, the maximum of the posterior of the log odds.
    prevalence_concentration : float or array_like or "uniform", default 1
        Prior of the prevalence, as in `models.mace`; the paper's is "uniform".
    competence_concentration : pair of float, default (2, 1)
        Prior (a, b) of the competences. The paper's variational Bayes has (.5, .5).
    spam_concentration : float or array_like, default 1
        Prior c of the spam: a number, or an array (label,) or (rater, answer), from 1e-6 in variational Bayes.
    restarts : int or "auto", default "auto"
        Number of random starts near the vote shares, each run until it converges; "auto" as for `dawid_skene_em`.
    max_iterations, tolerance, random_seed
        As for `dawid_skene_em`.

    Returns
    -------
    Dataset
        ``prevalence`` (category), ``competence`` (rater) and ``spam`` (rater, answer), which are posterior
        means under variational Bayes; ``confusion`` (rater, category, answer); ``plausibility`` (item,
        category); ``trace`` (iteration) of the objective. The first five also of every distinct ``optimum``, the best first, with
        the prefix ``optimum_``, and ``optimum_objective``, ``optimum_found`` and ``vote_optimum`` as for `dawid_skene_em`;
        ``start_objective`` (start), the objective at which a start ended, that of the vote first. Attributes ``objective``,
        ``converged`` (0 or 1), ``iterations`` and ``start``, the number of the best start, whose estimate is returned.

    Raises
    ------
    ValueError
        If the raters are anonymous, or an argument is out of range.

    Warns
    -----
    EstimateWarning
        If no item has two answers, some starts ended at a lower optimum, or some have not converged.

    Examples
    --------
    >>> from raterzoo import models, papers
    >>> drawn = models.simulators.labels(model="mace", items=60, raters=5, answers=5, random_seed=3)
    >>> estimate = papers.mace_em(drawn.data, restarts=3, random_seed=1)
    >>> estimate["competence"].dims, estimate["confusion"].dims, estimate.attrs["converged"]
    (('rater',), ('rater', 'category', 'answer'), 1)

    References
    ----------
    Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013), Learning whom to trust with MACE, NAACL-HLT, section 2,
    aclanthology N13-1132.
    """
    check_search(labels, "mace_em", restarts, max_iterations, tolerance)
    n, n_raters = len(labels.categories), len(labels.raters)
    pair = positive_pair("competence_concentration", competence_concentration)
    prior = _Counts(
        prevalence_concentrations(prevalence_concentration, n),
        np.tile(pair, (n_raters, 1)),
        positive_array("spam_concentration", spam_concentration, (n_raters, n)),
    )
    if variational:
        _check_logs(prior)
    rule = Rule(max_iterations, tolerance)
    return estimate_of_labels(
        labels, lambda own: _Mace(own, prior, variational, rule), restarts, random_seed
    )[0]


class _Counts(NamedTuple):
    """Dirichlet concentrations, or expected counts, of the three sets of parameters."""

    prevalence: np.ndarray | None  # (category,); None: fixed as uniform
    competence: np.ndarray  # (rater, 2): honest, spam
    spam: np.ndarray  # (rater, answer)


class _Weights(NamedTuple):
    """Log weights of the E-step."""

    category: np.ndarray  # (category,), log p
    honest: np.ndarray  # (rater,), log theta
    spam: np.ndarray  # (rater, answer), log (1 - theta) xi

    @property
    def table(self) -> np.ndarray:
        """Log weights of a label given rater and true category, shape (rater * label, category)."""
        n = len(self.category)
        table, same = np.repeat(self.spam[:, :, None], n, axis=2), np.arange(n)
        table[:, same, same] = np.logaddexp(self.honest[:, None], self.spam)
        return table.reshape(-1, n)


class _Parameters(NamedTuple):
    """Parameters after an M-step."""

    posterior: _Counts
    weights: _Weights  # of the next E-step


class _Expected(NamedTuple):
    """Expected counts after an E-step."""

    weights: _Weights  # of this E-step
    categories: np.ndarray  # (category,), items
    counts: np.ndarray  # (rater * label, category), labels


def _check_logs(prior: _Counts) -> None:
    """Raise if a concentration is so small that its expected log leaves no digits for the rest."""
    for name, own in zip(_Counts._fields, prior, strict=True):
        if own is not None and own.min() < LEAST_CONCENTRATION:
            raise ValueError(
                f"{name}_concentration holds {own.min():g}; variational Bayes takes the expected log of a share, about "
                f"-1 / {own.min():g}: it must be at least {LEAST_CONCENTRATION:g}, or pass variational=False"
            )


class _Mace(EmModel[_Parameters, _Expected]):
    """EM or variational Bayes on some items."""

    def __init__(self, patterns: AnswerPatterns, prior: _Counts, variational: bool, rule: Rule) -> None:
        super().__init__(patterns, prior.spam.shape[1], rule)
        self._prior, self._variational = prior, variational

    def expected_of_vote(self, plausibility: np.ndarray) -> _Expected:
        """Return the counts of the vote, and raters of whom half the answers are spam."""
        weight, (n_raters, n) = self.patterns.multiplicity, self._prior.spam.shape
        counts, half = np.empty((n_raters * n, n)), np.full(n_raters, np.log(0.5))
        answer_sweeps(n).counts(plausibility, weight, self.patterns.answers, counts)
        weights = _Weights(np.zeros(n), half, np.full((n_raters, n), np.log(0.5 / n)))
        return _Expected(weights, weight @ plausibility, counts)

    def e_step(self, parameters: _Parameters) -> tuple[_Expected, float]:
        """Return the expected counts and the log likelihood."""
        weights, n = parameters.weights, self.n_categories
        expected = np.empty(n), np.empty((self._prior.spam.size, n))
        log_likelihood = _expect(self.patterns, weights, expected)
        return _Expected(weights, *expected), log_likelihood

    def m_step(self, expected: _Expected) -> tuple[_Parameters, float]:
        """Return concentrations and log weights, and the log-prior part of the objective."""
        posterior = _posterior(self._prior, *expected)
        weights, log_prior = _maximum(self._prior, posterior, self._variational)
        return _Parameters(posterior, weights), log_prior

    def plausibility(self, parameters: _Parameters) -> np.ndarray:
        """Return p(true category | log weights, answers), shape (pattern, category)."""
        weights = parameters.weights
        return _item_logs(self.patterns.answers, weights.category, weights.table)[1]

    def variables(self, run: EmRun[_Parameters]) -> Variables:
        """Return prevalence, competence, spam and confusion matrices."""
        n, after = self.n_categories, run.parameters.posterior
        prevalence = np.full(n, -np.log(n)) if after.prevalence is None else _logs(after.prevalence)
        competence, spam = _logs(after.competence), _logs(after.spam)
        table = _Weights(prevalence, competence[:, 0], competence[:, 1:] + spam).table
        return {
            "prevalence": (("category",), np.exp(prevalence)),
            "competence": (("rater",), np.exp(competence[:, 0])),
            "spam": (("rater", "answer"), np.exp(spam)),
            "confusion": (("rater", "category", "answer"), np.exp(table).reshape(-1, n, n).swapaxes(1, 2)),
        }


def _expect(patterns: AnswerPatterns, weights: _Weights, expected: tuple[np.ndarray, np.ndarray]) -> float:
    """E-step: overwrite the expected counts of items by category and of labels; return the log likelihood.

    In variational Bayes a label that a rater never gives as spam has the weight exp(-1 / c), which underflows
    for small c. Then the slower passes in logs are used.
    """
    answers, weight, table = patterns.answers, patterns.multiplicity, weights.table
    categories, counts = expected
    if min(weights.category.min(), table.min()) > LEAST_LOG:
        sweep = answer_sweeps(len(categories)).log_p_and_counts
        return sweep(np.exp(weights.category), np.exp(table), answers, weight, expected)
    log_p, truth = _item_logs(answers, weights.category, table)
    truth *= weight[:, None]
    categories[:] = truth.sum(axis=0)
    item = _item_of(answers)
    for j in range(len(categories)):
        counts[:, j] = np.bincount(answers.code, truth[item, j], len(counts))
    return float(weight @ log_p)


def _item_logs(answers: Answers, category: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log p of every item's answers (item,) and p(true category | answers) (item, category), from log weights."""
    item, known = _item_of(answers), answers.gold_category
    sums = [np.bincount(item, of[answers.code], len(known)) for of in table.T]
    joint = category + np.stack(sums, axis=1)
    joint[(known[:, None] >= 0) & (known[:, None] != np.arange(len(category)))] = -np.inf
    log_p = np.asarray(logsumexp(joint, axis=1))
    return log_p, np.exp(joint - log_p[:, None])


def _item_of(answers: Answers) -> np.ndarray:
    """Return the item of each answer, shape (answer,)."""
    return np.repeat(np.arange(len(answers.gold_category)), np.diff(answers.start))


def _posterior(prior: _Counts, weights: _Weights, categories: np.ndarray, counts: np.ndarray) -> _Counts:
    """Add expected counts of true (category,) and of spam answers (rater * label, category) to the prior."""
    n = len(categories)
    by_truth = counts.reshape(-1, n, n)
    # theta / (theta + (1 - theta) xi_l), of the labels that equal the true category
    share = expit(weights.honest[:, None] - weights.spam)
    honest = np.diagonal(by_truth, axis1=1, axis2=2) * share
    spam = by_truth.sum(axis=2) - honest
    competence = np.column_stack([honest.sum(axis=1), spam.sum(axis=1)])
    prevalence = None if prior.prevalence is None else prior.prevalence + categories
    return _Counts(prevalence, prior.competence + competence, prior.spam + spam)


def _maximum(prior: _Counts, posterior: _Counts, variational: bool) -> tuple[_Weights, float]:
    """M-step: return the log weights of the next E-step, and the log-prior part of the objective."""
    transform, logs, log_prior = digamma if variational else np.log, [], 0.0
    for own, after in zip(prior, posterior, strict=True):
        if own is None or after is None:
            n = prior.spam.shape[1]
            logs.append(np.full(n, -np.log(n)))
            continue
        logs.append(_logs(after, transform))
        if variational:  # minus the divergence of the posterior from the prior
            log_prior -= ((after - own) * logs[-1]).sum()
            log_prior += (_log_beta(after) - _log_beta(own)).sum()
        else:
            log_prior += (own * logs[-1]).sum()
    category, competence, spam = logs
    return _Weights(category, competence[:, 0], competence[:, 1:] + spam), float(log_prior)


def _logs(concentration: np.ndarray, transform: Callable[..., np.ndarray] = np.log) -> np.ndarray:
    """Return logs of normalised concentrations along the last axis; with `digamma`, Dirichlet expected logs."""
    return transform(concentration) - transform(concentration.sum(axis=-1, keepdims=True))


def _log_beta(concentration: np.ndarray) -> np.ndarray:
    """Return the log normalising constant of the Dirichlet law."""
    return gammaln(concentration).sum(axis=-1) - gammaln(concentration.sum(axis=-1))
