"""Passes over the answers of raters of whom groups share a guess: likelihood, and expected counts.

For item i with true category j, group g with the shared guess h, and an answer a of rater k with label l:

    p(a | j, h)         = own_kjl + s_k [l = h],              own_kjl = (1 - s_k) pi_kjl
    p(answers of g | j) = prod_a own_a  sum_h Phi_gjh  prod_{a: l_a = h} (1 + s_a / own_a)
    p(answers of i)     = sum_j p_j prod_g p(answers of g | j)

The second line costs one number for each category and answer, not one for each pair of categories. Raters of no group have
s = 0. Products that leave the range of doubles are repeated in logs, by the first line; so are shares of exactly 0 or 1.
"""

import math
from typing import NamedTuple

import numpy as np

from .compiling import cached_njit, inner_njit
from .marginal_labels_kernels import Answers

SMALLEST = 1e-290  # smaller products have lost digits


class GroupedAnswers(NamedTuple):
    """Answers item by item, and the groups of their raters, as compiled code reads them."""

    start: np.ndarray  # int64 (item + 1,): answers of item i are start[i]:start[i + 1]
    rater: np.ndarray  # int64 (answer,)
    label: np.ndarray  # int64 (answer,)
    group: np.ndarray  # int64 (rater,): group whose guess the rater may copy, -1 for none
    gold_category: np.ndarray  # int64 (item,): true category of gold items, -1 elsewhere


def grouped_answers(answers: Answers, group: np.ndarray, n_labels: int) -> GroupedAnswers:
    """Return answers with the groups (rater,) of their raters."""
    rater, label = np.divmod(answers.code.astype(np.int64), n_labels)
    return GroupedAnswers(answers.start, rater, label, group.astype(np.int64), answers.gold_category)


class GuessLaw(NamedTuple):
    """Parameters of the law."""

    prevalence: np.ndarray  # (category,)
    own: np.ndarray  # (rater * label, category), (1 - s_k) p(label | rater, true category): not copied
    guess: np.ndarray  # (group, category, answer), p(shared guess | group, true category)
    shared: np.ndarray  # (rater,), s_k, probability that an answer is copied


class GuessSpace(NamedTuple):
    """Work space of a pass."""

    ratio: np.ndarray  # (rater * label, category), 1 + s_k / own
    posterior: np.ndarray  # (group, category, answer): p(guess | true category, answers of the item)
    seen: np.ndarray  # bool (group,): the item has answers of the group


@inner_njit(error_model="numpy")
def guess_space(law: GuessLaw) -> GuessSpace:
    """Return the work space of a law."""
    rows, n = law.own.shape
    ratio = np.empty((rows, n))
    for row in range(rows):
        for j in range(n):
            ratio[row, j] = 1.0 + law.shared[row // n] / law.own[row, j]
    return GuessSpace(ratio, np.empty(law.guess.shape), np.empty(len(law.guess), np.bool_))


@inner_njit(error_model="numpy")
def guess_item_log_p(
    answers: GroupedAnswers, law: GuessLaw, space: GuessSpace, i: int, p: np.ndarray
) -> float:
    """Return log p of the answers to an item, -inf where no category explains them.

    Overwrites p (category,) by p(true category | answers), NaN where none explains them, and for the groups that
    answered the posterior of the guess.
    """
    n, weight, seen = len(p), space.posterior, space.seen
    for j in range(n):
        p[j] = law.prevalence[j] if answers.gold_category[i] < 0 or answers.gold_category[i] == j else 0.0
    seen[:] = False
    for a in range(answers.start[i], answers.start[i + 1]):
        k, label = answers.rater[a], answers.label[a]
        row, g = k * n + label, answers.group[k]
        for j in range(n):
            p[j] *= law.own[row, j]
        if g >= 0:
            if not seen[g]:
                seen[g] = True
                for j in range(n):
                    for h in range(n):
                        weight[g, j, h] = law.guess[g, j, h]
            for j in range(n):
                weight[g, j, label] *= space.ratio[row, j]
    lost = False
    for j in range(n):
        lost = lost or (p[j] < SMALLEST and (answers.gold_category[i] < 0 or answers.gold_category[i] == j))
    for g in range(len(seen)):
        if seen[g]:
            for j in range(n):
                total = 0.0
                for h in range(n):
                    total += weight[g, j, h]
                share = 1.0 / total
                for h in range(n):
                    weight[g, j, h] *= share
                p[j] *= total
    mass = 0.0
    for j in range(n):
        mass += p[j]
    if lost or not SMALLEST < mass < np.inf:  # NaN, too
        return _item_log_p_in_logs(answers, law, space, i, p)
    for j in range(n):
        p[j] /= mass
    return math.log(mass)


@inner_njit(error_model="numpy")
def _item_log_p_in_logs(answers, law, space, i, p):
    """Compute `guess_item_log_p` in logs, without ratios."""
    n, weight, seen = len(p), space.posterior, space.seen
    for j in range(n):
        other = answers.gold_category[i] >= 0 and answers.gold_category[i] != j
        p[j] = -np.inf if other else math.log(law.prevalence[j])
    for g in range(len(seen)):
        if seen[g]:
            for j in range(n):
                for h in range(n):
                    weight[g, j, h] = math.log(law.guess[g, j, h])
    for a in range(answers.start[i], answers.start[i + 1]):
        k, label = answers.rater[a], answers.label[a]
        g = answers.group[k]
        for j in range(n):
            own = law.own[k * n + label, j]
            if g < 0:
                p[j] += math.log(own)
                continue
            for h in range(n):
                weight[g, j, h] += math.log(own + law.shared[k] if h == label else own)
    for g in range(len(seen)):
        if seen[g]:
            for j in range(n):
                p[j] += _normalise_logs(weight[g, j])
    return _normalise_logs(p)


@inner_njit(error_model="numpy")
def _normalise_logs(p):
    """Overwrite logs by their normalised exponentials, NaN where all are -inf; return the log of their sum."""
    largest, total = -np.inf, 0.0
    for j in range(len(p)):
        largest = max(largest, p[j])
    for j in range(len(p)):
        p[j] = math.exp(p[j] - largest)
        total += p[j]
    for j in range(len(p)):
        p[j] /= total
    return largest + math.log(total) if largest > -np.inf else -np.inf


@inner_njit(error_model="numpy", inline="always")
def copied_share(law: GuessLaw, k: int, row: int, j: int) -> float:
    """Return p(copied | true category j, the guess is the label): s / (s + own), for the row of rater and label."""
    s = law.shared[k]
    return s / (s + law.own[row, j]) if s > 0.0 else 0.0


@cached_njit(nogil=True, error_model="numpy")
def guess_log_p(answers: GroupedAnswers, law: GuessLaw, log_p: np.ndarray, plausibility: np.ndarray) -> None:
    """Overwrite log p of each item's answers (item,) and p(true category | answers) (item, category)."""
    space = guess_space(law)
    for i in range(len(log_p)):
        log_p[i] = guess_item_log_p(answers, law, space, i, plausibility[i])


@cached_njit(nogil=True, error_model="numpy")
def guess_counts(
    answers: GroupedAnswers,
    law: GuessLaw,
    weight: np.ndarray,
    counts: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> float:
    """Return the weighted sum of log p, and overwrite expected counts, weighted by item.

    They are also the derivatives in the logs of the parameters. Shapes: weight (item,); counts: items
    (category,), answers that were not copied (rater * label, category), guesses (group, category, answer),
    copied answers (rater,).
    """
    items, labels, guesses, copied = counts
    items[:] = 0.0
    labels[:] = 0.0
    guesses[:] = 0.0
    copied[:] = 0.0
    space, n, total = guess_space(law), len(items), 0.0
    p, copies = np.empty(n), _copies(law)
    for i in range(len(weight)):
        total += weight[i] * guess_item_log_p(answers, law, space, i, p)
        for j in range(n):
            p[j] *= weight[i]
            items[j] += p[j]
        _count_guesses(answers, space, i, p, (labels, guesses, copied, copies))
    return total


@inner_njit(error_model="numpy")
def _copies(law):
    """Return the probability that an answer equal to the guess is a copy (rater * label, category)."""
    copies = np.empty(law.own.shape)
    n = law.own.shape[1]
    for row in range(len(copies)):
        for j in range(n):
            copies[row, j] = copied_share(law, row // n, row, j)
    return copies


@inner_njit(error_model="numpy", inline="always")
def _count_guesses(answers, space, i, p, counts):
    """Add the expected guesses and answers of an item whose true category has weights p (category,), after `guess_item_log_p`."""
    labels, guesses, copied, copies = counts
    n = len(p)
    for g in range(len(guesses)):
        if space.seen[g]:
            for j in range(n):
                if p[j] == 0.0:  # of no guess, perhaps: its posterior is NaN
                    space.posterior[g, j] = 0.0
                for h in range(n):
                    guesses[g, j, h] += p[j] * space.posterior[g, j, h]
    for a in range(answers.start[i], answers.start[i + 1]):
        k, label = answers.rater[a], answers.label[a]
        row, g = k * n + label, answers.group[k]
        for j in range(n):
            same = 0.0
            if g >= 0:
                same = p[j] * space.posterior[g, j, label] * copies[row, j]
                copied[k] += same
            labels[row, j] += p[j] - same


# --- The same with a prior of each item's true category ---


@cached_njit(nogil=True, error_model="numpy")
def guess_log_p_by_item(
    answers: GroupedAnswers, law: GuessLaw, prior: np.ndarray, log_p: np.ndarray, plausibility: np.ndarray
) -> None:
    """Do as `guess_log_p`, for a prior (item, category) in place of ``law.prevalence``."""
    space = guess_space(law)
    for i in range(len(log_p)):
        own = GuessLaw(prior[i], law.own, law.guess, law.shared)
        log_p[i] = guess_item_log_p(answers, own, space, i, plausibility[i])


@cached_njit(nogil=True, error_model="numpy")
def guess_counts_by_item(
    answers: GroupedAnswers,
    law: GuessLaw,
    prior: np.ndarray,
    weight: np.ndarray,
    counts: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> float:
    """Do as `guess_counts`, for a prior (item, category) in place of ``law.prevalence``.

    The first of the counts, (item, category), becomes p(true category | answers) less the prior, times the weight: the
    derivative in the log prior before it is normalised.
    """
    gain, labels, guesses, copied = counts
    labels[:] = 0.0
    guesses[:] = 0.0
    copied[:] = 0.0
    n, space, total = prior.shape[1], guess_space(law), 0.0
    p, copies = np.empty(n), _copies(law)
    for i in range(len(weight)):
        own = GuessLaw(prior[i], law.own, law.guess, law.shared)
        total += weight[i] * guess_item_log_p(answers, own, space, i, p)
        for j in range(n):
            p[j] *= weight[i]
            gain[i, j] = p[j] - weight[i] * prior[i, j]
        _count_guesses(answers, space, i, p, (labels, guesses, copied, copies))
    return total
