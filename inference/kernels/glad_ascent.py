"""One EM iteration of GLAD: who the items' true categories are, how easy the items, how able the raters.

    c_a = p(T = label of answer a | answers)                E-step
    log beta_i    rises   sum_a c_a x_a - log(1 + exp(x_a)) - (log beta_i - m)^2 / (2 s^2),     x_a = alpha_k beta_i
    alpha_k       rises   the same sum over the rater's answers, with the prior of the abilities

Each rises by Newton steps on a line, with the expected information as curvature, and halved until nothing is lost: the posterior
density of the parameters never falls. (EM, where the M-step need not reach its maximum, is still EM.)

References
----------
Whitehill et al. (2009), Whose vote should count more, NIPS 22, section 3 and equations 4 to 8.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from ...models.distributions.answer_sweep import Answers
from ...models.distributions.compiling import kept

__all__ = ["AnswersByRater", "answers_by_rater", "maximise_skills", "true_labels"]

NEWTON_STEPS, MOST_HALVINGS = 2, 40
LARGE = 1e300  # of a product whose logarithm stands for the sum of many


class AnswersByRater(NamedTuple):
    """The answers in the order of their raters.

    Attributes
    ----------
    start : ndarray of int64, shape (rater + 1,)
        Answers of rater k are ``start[k]:start[k + 1]``.
    answer, item : ndarray of int64, shape (answer,)
        Place of each among the answers item by item, and its item.
    """

    start: np.ndarray
    answer: np.ndarray
    item: np.ndarray


def answers_by_rater(answers: Answers, n_labels: int, n_raters: int) -> AnswersByRater:
    """Return the answers in the order of their raters.

    Parameters
    ----------
    answers : Answers
        Item by item.
    n_labels, n_raters : int
        How many.

    Returns
    -------
    AnswersByRater
        The same answers.
    """
    rater = answers.code // n_labels
    order = np.argsort(rater, kind="stable")
    item = np.repeat(np.arange(len(answers.known)), np.diff(answers.start))
    return AnswersByRater(
        np.searchsorted(rater[order], np.arange(n_raters + 1)), order, item[order]
    )


@kept(nogil=True, error_model="numpy")
def true_labels(
    answers: Answers,
    parameters: tuple[np.ndarray, np.ndarray, np.ndarray],
    plausibility: np.ndarray,
    weight: np.ndarray,
) -> float:
    """Return the log likelihood, and leave p(true category | answers) of every item.

    Parameters
    ----------
    answers : Answers
        The answers.
    parameters : tuple of ndarray, shapes (category,), (rater,), (item,)
        Log prevalence, ability, log easiness.
    plausibility : ndarray, shape (item, category)
        Overwritten.
    weight : ndarray, shape (item,)
        How often each item counts.

    Returns
    -------
    float
        Weighted sum over items.
    """
    log_prevalence, ability, log_easiness = parameters
    n = len(log_prevalence)
    log_others = math.log(n - 1.0)
    start, code, known = answers
    total = 0.0
    for i in range(len(known)):
        p, easiness, wrong, product = plausibility[i], math.exp(log_easiness[i]), 0.0, 1.0
        for j in range(n):
            p[j] = log_prevalence[j] if known[i] < 0 or known[i] == j else -np.inf
        for a in range(start[i], start[i + 1]):
            rater = code[a] // n
            log_odds = ability[rater] * easiness
            wrong -= max(log_odds, 0.0) + log_others
            product *= 1.0 + math.exp(-abs(log_odds))
            if product > LARGE:
                wrong -= math.log(product)
                product = 1.0
            p[code[a] - rater * n] += log_odds + log_others
        largest, mass = p.max(), 0.0
        for j in range(n):
            p[j] = math.exp(p[j] - largest)
            mass += p[j]
        for j in range(n):
            p[j] /= mass
        total += weight[i] * (largest + math.log(mass / product) + wrong)
    return total


@kept(nogil=True, error_model="numpy")
def maximise_skills(
    answers: Answers,
    by_rater: AnswersByRater,
    expected: tuple[np.ndarray, np.ndarray],
    priors: tuple[float, float, float, float],
    skills: tuple[np.ndarray, np.ndarray],
) -> None:
    """Raise the easiness of every item given the abilities, then every ability given the easiness.

    Parameters
    ----------
    answers : Answers
        The answers.
    by_rater : AnswersByRater
        The same.
    expected : tuple of ndarray, shapes (item, category) and (item,)
        p(true category | answers), and how often each item counts.
    priors : tuple of float
        Mean and standard deviation of the abilities, and of the log easiness.
    skills : tuple of ndarray, shapes (rater,) and (item,)
        Ability and log easiness, replaced in place.
    """
    plausibility, weight = expected
    ability, log_easiness = skills
    n = plausibility.shape[1]
    start, code, known = answers
    right, other = np.empty(len(code)), np.empty(len(code))
    for i in range(len(known)):
        for a in range(start[i], start[i + 1]):
            rater = code[a] // n
            right[a], other[a] = plausibility[i, code[a] - rater * n], ability[rater]
        span = slice(start[i], start[i + 1])
        terms = (right[span], other[span], other[span])
        log_easiness[i] = _raised(log_easiness[i], True, terms, (priors[2], priors[3]))
    counted = np.empty(len(code))
    for a in range(len(code)):
        i = by_rater.item[a]
        other[a], counted[a] = math.exp(log_easiness[i]), weight[i]
    right = right[by_rater.answer]
    for k in range(len(ability)):
        span = slice(by_rater.start[k], by_rater.start[k + 1])
        terms = (right[span], other[span], counted[span])
        ability[k] = _raised(ability[k], False, terms, (priors[0], priors[1]))


@nb.njit(error_model="numpy")
def _raised(x, in_logs, terms, prior):
    """Return a point where the expected log density of a skill is higher, or the same point at its maximum."""
    value, slope, information = _density(x, in_logs, terms, prior)
    for _ in range(NEWTON_STEPS):
        step, found = slope / information, (value, slope, information)
        for _ in range(MOST_HALVINGS):
            found = _density(x + step, in_logs, terms, prior)
            if found[0] >= value:
                break
            step *= 0.5
        if not found[0] > value:
            break
        x += step
        value, slope, information = found
    return x


@nb.njit(error_model="numpy")
def _density(x, in_logs, terms, prior):
    """Return the expected log density, its slope and its expected information.

    The answers' log odds are other * exp(x), if the skill is in logs, all counted once; else other * x, with their weights.
    """
    right, other, weight = terms
    mean, sd = prior
    value, slope, information = -0.5 * ((x - mean) / sd) ** 2, (mean - x) / sd**2, 1.0 / sd**2
    scale, product = math.exp(x) if in_logs else x, 1.0
    for a in range(len(right)):
        log_odds = other[a] * scale
        small = math.exp(-abs(log_odds))
        share = 1.0 / (1.0 + small)
        p = share if log_odds > 0.0 else small * share
        by, times = (log_odds, 1.0) if in_logs else (other[a], weight[a])
        value += times * (right[a] * log_odds - max(log_odds, 0.0))
        if times == 1.0:
            product *= 1.0 + small
            if product > LARGE:
                value -= math.log(product)
                product = 1.0
        else:
            value -= times * math.log1p(small)
        slope += times * (right[a] - p) * by
        information += times * p * (1.0 - p) * by * by
    return value - math.log(product), slope, information
