"""One EM iteration of GLAD: true categories, easiness of the items, ability of the raters.

    E-step          c_a = p(T = label of answer a | answers)
    M-step
      log beta_i    increase sum_a c_a x_a - log(1 + exp(x_a)) - (log beta_i - m)^2 / (2 s^2),  x_a = alpha_k beta_i
      alpha_k       increase the same sum over the rater's answers, with the prior of the abilities

The M-step takes a few Newton steps with the expected information as curvature, halved until the objective
does not fall. The posterior density of the parameters therefore never falls: generalised EM, whose M-step
need not reach the maximum.

References
----------
Whitehill et al. (2009), Whose vote should count more, NIPS 22, section 3 and equations 4 to 8.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.marginal_labels_kernels import Answers

NEWTON_STEPS, MOST_HALVINGS = 2, 40

LARGE = 1e300  # take the log of a running product above it: one log instead of many


class AnswersByRater(NamedTuple):
    """Answers sorted by rater."""

    start: np.ndarray  # int64 (rater + 1,); answers of rater k: start[k]:start[k + 1]
    answer: np.ndarray  # int64 (answer,); index in the order by item
    item: np.ndarray  # int64 (answer,)


def answers_by_rater(answers: Answers, n_labels: int, n_raters: int) -> AnswersByRater:
    """Sort answers, given item by item, by rater."""
    rater = answers.code // n_labels
    order = np.argsort(rater, kind="stable")
    item = np.repeat(np.arange(len(answers.gold_category)), np.diff(answers.start))
    return AnswersByRater(np.searchsorted(rater[order], np.arange(n_raters + 1)), order, item[order])


@cached_njit(nogil=True, error_model="numpy")
def e_step(
    answers: Answers,
    parameters: tuple[np.ndarray, np.ndarray, np.ndarray],
    plausibility: np.ndarray,
    weight: np.ndarray,
) -> float:
    """Run the E-step: overwrite p(true category | answers) of every item; return the weighted log likelihood.

    Shapes: parameters: log prevalence (category,), ability (rater,), log easiness (item,); plausibility
    (item, category); weight (item,), number of times that an item counts.
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
            # log p(wrong label) = -log(1 + e^x) - log(n - 1)
            wrong -= max(log_odds, 0.0) + log_others
            product *= 1.0 + math.exp(-abs(log_odds))
            if product > LARGE:
                wrong -= math.log(product)
                product = 1.0
            p[code[a] - rater * n] += log_odds + log_others  # p(right) = 1 / (1 + e^-x)
        largest, mass = p.max(), 0.0
        for j in range(n):
            p[j] = math.exp(p[j] - largest)
            mass += p[j]
        for j in range(n):
            p[j] /= mass
        total += weight[i] * (largest + math.log(mass / product) + wrong)
    return total


@cached_njit(nogil=True, error_model="numpy")
def m_step(
    answers: Answers,
    by_rater: AnswersByRater,
    expected: tuple[np.ndarray, np.ndarray],
    priors: tuple[float, float, float, float],
    skills: tuple[np.ndarray, np.ndarray],
) -> None:
    """Run the M-step: raise the easiness of every item given the abilities, then every ability.

    Shapes: expected: p(true category | answers) (item, category), weight (item,); skills, overwritten:
    ability (rater,), log easiness (item,). `priors`: mean and sd of the abilities, then of the log easiness.
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
        log_easiness[i] = _newton_increase(log_easiness[i], True, terms, (priors[2], priors[3]))
    counted = np.empty(len(code))
    for a in range(len(code)):
        i = by_rater.item[a]
        other[a], counted[a] = math.exp(log_easiness[i]), weight[i]
    right = right[by_rater.answer]
    for k in range(len(ability)):
        span = slice(by_rater.start[k], by_rater.start[k + 1])
        terms = (right[span], other[span], counted[span])
        ability[k] = _newton_increase(ability[k], False, terms, (priors[0], priors[1]))


@inner_njit(error_model="numpy")
def _newton_increase(x, in_logs, terms, prior):
    """Take Newton steps; return a skill of higher expected log density, or the same one at its maximum."""
    value, slope, information = _log_density(x, in_logs, terms, prior)
    for _ in range(NEWTON_STEPS):
        step, found = slope / information, (value, slope, information)
        for _ in range(MOST_HALVINGS):
            found = _log_density(x + step, in_logs, terms, prior)
            if found[0] >= value:
                break
            step *= 0.5
        if not found[0] > value:
            break
        x += step
        value, slope, information = found
    return x


@inner_njit(error_model="numpy")
def _log_density(x, in_logs, terms, prior):
    """Return the expected log density of a skill, its slope and its expected information.

    Shapes: terms: p(right), factor, weight (answer,). The log odds of an answer are factor * exp(x) and its
    weight 1 if `in_logs`, otherwise factor * x.
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
        value += times * (right[a] * log_odds - max(log_odds, 0.0))  # c_a x_a - log(1 + e^x_a)
        if times == 1.0:
            product *= 1.0 + small
            if product > LARGE:
                value -= math.log(product)
                product = 1.0
        else:
            value -= times * math.log1p(small)
        # F(x) = p, F'(x) = p (1 - p)
        slope += times * (right[a] - p) * by
        information += times * p * (1.0 - p) * by * by
    return value - math.log(product), slope, information
