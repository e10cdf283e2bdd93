"""Gibbs chains of prevalence, confusion and true categories T, started near the vote.

plain
    T_i | prevalence, confusion    p(T_i = j) proportional to prevalence_j prod_a confusion[rater_a, j, label_a]
    prevalence | T                 Dirichlet(alpha + number of items of each category)
    confusion | T, y               each row Dirichlet(beta + number of the rater's labels); or one or more abilities
                                   Beta(a + right, b + wrong), wrong labels equally probable; or `draw_competence`
collapsed
    T_i | all other T, with prevalence and confusion integrated out; these are drawn for stored draws only. The
    product is of Polya urns: if n_l of the n answers of a rater to other items of category j are label l, the next
    one is l with probability (beta_l + n_l) / (beta + n), and joins the urn before the rater's next answer to the item

Every stored draw has a Rao-Blackwellised plausibility, p(T | prevalence, confusion, answers), from the pass
over the answers with which the next sweep begins.

References
----------
Dawid and Skene (1979), equations 2.3 to 2.5, doi:10.2307/2346806. Liu (1994), The collapsed Gibbs sampler, JASA 89,
doi:10.1080/01621459.1994.10476829. Hovy et al. (2013), Learning whom to trust with MACE, NAACL-HLT, section 2.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.marginal_labels_kernels import (
    CHECKED_EVERY,
    Answers,
    item_log_p,
    item_log_p_in_logs,
)
from ....models.distributions.marginal_labels_kernels import SMALL as RESCALED_BELOW
from ...kernels.random_streams import category_at, draw_binomial, exp_normalise, log_standard_gamma, uniform
from ...kernels.slice_sampling import slice_sampler
from .history import NO_HISTORY, History, move_history
from .population import NO_POPULATION, Population, concentrate, move_populations, sweeps_per_move
from .relations import NO_RELATIONS, Relations, draw_relations


@inner_njit(error_model="numpy", inline="always")
def draw_competence(
    rng: np.ndarray, concentration: np.ndarray, counts: np.ndarray, table: np.ndarray, first: int
) -> None:
    """Draw one rater's competence and spam given the previous matrix, and overwrite the matrix.

        m_l | T, theta, xi, y    Binomial(number of labels l on items of category l, theta / (theta + (1 - theta) xi_l))
        theta | m                Beta(a + sum m, b + answers - sum m)
        xi | m, T, y             Dirichlet(c_l + number of labels l - m_l)

    m_l is the number of honest answers l. The matrix holds (1 - theta) xi_l in column l, plus theta on the diagonal.

    Shapes: concentration, counts, table (rater * label, category); `first` is the rater's first row.
    Concentration: in category 0, c of the spam; in category 1, a at label 0 and b at label 1.
    """
    n = table.shape[1]
    honest, answers = 0, 0
    largest = -np.inf
    for label in range(n):
        row, other = first + label, (label + 1) % n
        # theta / (theta + (1 - theta) xi_l)
        share = (table[row, label] - table[row, other]) / table[row, label]
        # m_l
        true = draw_binomial(rng, counts[row, label], share) if counts[row, label] > 0 else 0
        given = 0
        for j in range(n):
            given += counts[row, j]
        honest += true
        answers += given
        # log Gamma draw behind xi_l: c_l + number of labels l - m_l
        table[row, other] = log_standard_gamma(rng, concentration[row, 0] + given - true)
        largest = max(largest, table[row, other])
    # theta ~ Beta(a + sum m, b + answers - sum m)
    log_honest = log_standard_gamma(rng, concentration[first, 1] + honest)
    log_spam = log_standard_gamma(rng, concentration[first + 1, 1] + answers - honest)
    competence = 1.0 / (1.0 + math.exp(log_spam - log_honest))
    total = 0.0
    for label in range(n):
        total += math.exp(table[first + label, (label + 1) % n] - largest)
    # (1 - theta) / sum of the Gamma draws
    spam_scale = 1.0 / (1.0 + math.exp(log_honest - log_spam)) / total
    for label in range(n):
        row = first + label
        spam = spam_scale * math.exp(table[row, (label + 1) % n] - largest)
        for j in range(n):
            # theta 1[j = l] + (1 - theta) xi_l
            table[row, j] = competence + spam if j == label else spam


EXCHANGES = 8  # moves of a rater in one sweep at most; two a label, if that is less
# smaller ones are left as they are: their difference to one is rounded
LEAST_SPAM, LEAST_COMPETENCE = 1e-290, 1e-10


@inner_njit(error_model="numpy")
def _spam_density(s, parameters):
    """Return the log density of the spam s_l = (1 - theta) xi_l of one label, where that of all others is held.

    With S their sum and S_l that of the others, theta = 1 - S; w_l and r_l count the rater's labels l that are wrong and right:

        p(s) = theta^(a - 1) S^(b - sum c) prod_l s_l^(c_l - 1 + w_l) (theta + s_l)^r_l

    of which theta + s_l = 1 - S_l does not move with s_l.
    """
    label, others, powers, spam, right = parameters
    theta = 1.0 - others - s
    if not (s > LEAST_SPAM and theta > LEAST_COMPETENCE):
        return -np.inf
    value = powers[0] * math.log(theta) + powers[1] * math.log(others + s) + powers[2] * math.log(s)
    for k in range(len(right)):
        if k != label and right[k] > 0:
            value += right[k] * math.log(theta + spam[k])
    return value


_move_spam = slice_sampler(_spam_density)


@inner_njit(error_model="numpy")
def exchange_spam(
    rng: np.ndarray, concentration: np.ndarray, counts: np.ndarray, table: np.ndarray, first: int
) -> None:
    """Move the spam of one label after the other, at the cost of the competence, and overwrite one rater's matrix.

    Shapes as for `draw_competence`; the first label is one at random.
    """
    n = table.shape[1]
    spam, right, wrong, by_truth = np.empty(n), np.empty(n), np.empty(n), np.zeros(n)
    answers, power = 0.0, concentration[first + 1, 1]
    for label in range(n):
        row = first + label
        spam[label] = table[row, (label + 1) % n]
        power -= concentration[row, 0]  # b - sum c
        right[label], wrong[label] = counts[row, label], 0.0
        for j in range(n):
            by_truth[j] += counts[row, j]
            if j != label:
                wrong[label] += counts[row, j]
        answers += right[label] + wrong[label]
    start = int(n * uniform(rng))
    for step in range(min(EXCHANGES, 2 * n)):
        label = (start + step) % n
        others = 0.0
        for k in range(n):
            if k != label:
                others += spam[k]
        s = spam[label]
        if not (s > LEAST_SPAM and 1.0 - others - s > LEAST_COMPETENCE):
            continue
        own = concentration[first + label, 0] - 1.0 + wrong[label]
        powers = (concentration[first, 1] - 1.0, power, own)
        # some standard deviations of a share of wrong answers, which the answers alone decide
        width = min(1.0, 2.5 * math.sqrt(wrong[label] + 1.0) / (answers - by_truth[label] + 2.0))
        spam[label] = _move_spam(rng, (label, others, powers, spam, right), s, width)
    total = 0.0
    for label in range(n):
        total += spam[label]
    for label in range(n):
        for j in range(n):
            # theta 1[j = l] + (1 - theta) xi_l
            table[first + label, j] = 1.0 - total + spam[label] if j == label else spam[label]


def competence_of(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the competence and spam that a confusion matrix of this law consists of.

    Shapes: confusion (..., rater, category, answer); competence (..., rater); spam (..., rater, answer),
    uniform where it has underflowed because competence is near one.
    """
    n = confusion.shape[-1]
    label = np.arange(n)
    spam_scale = confusion[..., (label + 1) % n, label]
    total = spam_scale.sum(axis=-1)
    underflowed = total[..., None] == 0
    spam = np.where(underflowed, 1 / n, spam_scale / np.where(underflowed, 1.0, total[..., None]))
    return 1 - total, spam


# --- Conditionals of prevalence and confusion given the true categories ---

# parameters of a confusion matrix: its rows; one ability; an ability for each true category; competence and spam; decisions
FREE_ROWS, ONE_ABILITY, ABILITIES, COMPETENCE, RELATIONS = 0, 1, 2, 3, 4


class ConfusionPrior(NamedTuple):
    """Dirichlet and Beta priors of prevalence and confusion.

    `confusion` holds the concentration of each row of each matrix, in the layout of `Answers.code`. ABILITIES use
    only the entries of label 0 (right) and label 1 (wrong) of each rater and category, ONE_ABILITY only those of
    category 0. COMPETENCE: category 0 holds the concentration of the spam, category 1 that of the competence, at
    label 0 (true) and label 1 (spam).
    """

    prevalence: np.ndarray  # (category,), Dirichlet concentration
    confusion: np.ndarray  # (rater * label, category)
    kind: int  # FREE_ROWS, ONE_ABILITY, ABILITIES, COMPETENCE or RELATIONS
    population: Population = NO_POPULATION  # of FREE_ROWS: it overwrites `confusion`
    history: History = (
        NO_HISTORY  # of FREE_ROWS: so does it, and the population then that of raters without one
    )
    n_labels: int = 0  # of FREE_ROWS and RELATIONS: number of labels, 0 for that of the categories
    relations: Relations = NO_RELATIONS  # of RELATIONS, which read nothing else


@inner_njit(error_model="numpy", inline="always")
def labels_of(prior: ConfusionPrior) -> int:
    """Return the number of labels of a rater: that of the categories, or more with answers that are no truth."""
    return prior.n_labels if prior.n_labels > 0 else len(prior.prevalence)


@inner_njit(error_model="numpy", inline="always")
def draw_prevalence(
    rng: np.ndarray, prior: ConfusionPrior, categories: np.ndarray, prevalence: np.ndarray
) -> None:
    """Draw the prevalence (category,), overwritten, given the number of items of each true category, int64 (category,)."""
    for j in range(len(prevalence)):
        # Dirichlet(alpha + n_j), equation 2.4
        prevalence[j] = log_standard_gamma(rng, prior.prevalence[j] + categories[j])
    exp_normalise(prevalence)


@inner_njit(error_model="numpy")
def draw_confusion(rng: np.ndarray, prior: ConfusionPrior, counts: np.ndarray, table: np.ndarray) -> None:
    """Draw all confusion matrices given the number of each rater's labels by true category.

    Shapes: counts int64, table (rater * label, category). `table` is overwritten with
    p(label | rater, true category); COMPETENCE first reads the previous draw from it.
    """
    if prior.kind == FREE_ROWS:
        draw_rows(rng, prior, counts, table)
    elif prior.kind == COMPETENCE:
        draw_competences(rng, prior, counts, table)
    elif prior.kind == RELATIONS:
        draw_relations(rng, prior.relations, counts, table)
    else:
        draw_abilities(rng, prior, counts, table)


@inner_njit(error_model="numpy")
def draw_rows(rng: np.ndarray, prior: ConfusionPrior, counts: np.ndarray, table: np.ndarray) -> None:
    """Draw the confusion matrices of FREE_ROWS, as `draw_confusion` does."""
    n_labels = labels_of(prior)
    for first in range(0, len(table), n_labels):
        for j in range(table.shape[1]):
            _draw_row(rng, prior.confusion, counts, table, (first, first + n_labels, j))


@inner_njit(error_model="numpy")
def draw_competences(rng: np.ndarray, prior: ConfusionPrior, counts: np.ndarray, table: np.ndarray) -> None:
    """Draw the confusion matrices of COMPETENCE, as `draw_confusion` does.

    Competence and spam follow each other slowly by way of the honest answers, for these are not observed. So each matrix
    makes further moves that leave the same law invariant, with the honest answers summed out.
    """
    for first in range(0, len(table), table.shape[1]):
        draw_competence(rng, prior.confusion, counts, table, first)
        exchange_spam(rng, prior.confusion, counts, table, first)


@inner_njit(error_model="numpy")
def draw_abilities(rng: np.ndarray, prior: ConfusionPrior, counts: np.ndarray, table: np.ndarray) -> None:
    """Draw the confusion matrices of ABILITIES or ONE_ABILITY, as `draw_confusion` does."""
    for first in range(0, len(table), table.shape[1]):
        _draw_abilities(rng, prior, counts, table, first)


@inner_njit(error_model="numpy", inline="always")
def _draw_row(rng, concentration, counts, table, place):
    """Draw one row of one rater's matrix, which is a piece of a column of the table."""
    first, end, j = place
    for row in range(first, end):
        # Dirichlet(beta_kjl + n_kjl), equation 2.3
        table[row, j] = log_standard_gamma(rng, concentration[row, j] + counts[row, j])
    exp_normalise(table[first:end, j])


@inner_njit(error_model="numpy", inline="always")
def _draw_abilities(rng, prior, counts, table, first):
    """Draw one rater's ability or abilities, and overwrite the matrix."""
    n = table.shape[1]
    right, wrong = 0, 0
    for j in range(n):
        if prior.kind == ABILITIES:
            right, wrong = 0, 0
        for row in range(first, first + n):
            if row - first == j:
                right += counts[row, j]
            else:
                wrong += counts[row, j]
        if prior.kind == ABILITIES or j == n - 1:
            _draw_ability(rng, prior, (first, j), (right, wrong), table)


@inner_njit(error_model="numpy", inline="always")
def _draw_ability(rng, prior, place, answers, table):
    """Draw one ability; write it for the true category of `place`, or for all up to it of ONE_ABILITY."""
    (first, last), (right, wrong) = place, answers
    category = last if prior.kind == ABILITIES else 0
    # ability ~ Beta(a + right, b + wrong)
    log_right = log_standard_gamma(rng, prior.confusion[first, category] + right)
    log_wrong = log_standard_gamma(rng, prior.confusion[first + 1, category] + wrong)
    ability = 1.0 / (1.0 + math.exp(log_wrong - log_right))
    # (1 - ability) / (n - 1)
    other = 1.0 / (1.0 + math.exp(log_right - log_wrong)) / (table.shape[1] - 1)
    for j in range(category, last + 1):
        for row in range(first, first + table.shape[1]):
            table[row, j] = ability if row - first == j else other


# --- Conditionals of the true categories ---

SMALL = 1e-200  # smaller weights are stored as logs
ADDED, REMOVED = np.int64(1), np.int64(-1)  # functions are compiled for each literal of Python, not for these

# true categories int64 (item,), and their counts: items (category,), labels (rater * label, category),
# answers (rater, category)
Truth = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@inner_njit(error_model="numpy")
def recount(answers: Answers, truth: Truth) -> None:
    """Overwrite the counts of items, labels and answers by true category."""
    category, items, labels, totals = truth
    items[:] = 0
    labels[:] = 0
    totals[:] = 0
    for i in range(len(category)):
        _count(answers, i, truth, ADDED)


@inner_njit(error_model="numpy")
def _count(answers, item, truth, by):
    """Add an item to the counts (by = ADDED), or remove it (by = REMOVED)."""
    category, items, labels, totals = truth
    j = category[item]
    n = len(labels) // len(totals)
    items[j] += by
    for a in range(answers.start[item], answers.start[item + 1]):
        row = answers.code[a]
        labels[row, j] += by
        totals[row // n, j] += by


@inner_njit(error_model="numpy")
def draw_true_categories(
    rng: np.ndarray,
    answers: Answers,
    parameters: tuple[np.ndarray, np.ndarray],
    truth: Truth,
    pointwise: tuple[np.ndarray, np.ndarray],
) -> None:
    """Draw every item's true category given prevalence and confusion, and update the counts, which must be those of `truth`.

    Shapes: parameters: prevalence (category,), table (rater * label, category); pointwise, overwritten: log p
    of the item's answers (item,), or of no items, which leaves it out; p(true category | answers) (item, category).
    """
    weigh(answers, parameters, pointwise)
    category, plausibility = truth[0], pointwise[1]
    for i in range(len(category)):
        new = _draw(rng, plausibility[i])
        if new != category[i]:
            _count(answers, i, truth, REMOVED)
            category[i] = new
            _count(answers, i, truth, ADDED)


@inner_njit(error_model="numpy")
def weigh(
    answers: Answers, parameters: tuple[np.ndarray, np.ndarray], pointwise: tuple[np.ndarray, np.ndarray]
) -> None:
    """Overwrite log p of the answers to all items, and p(true category | answers); shapes as for `draw_true_categories`."""
    (prevalence, table), (log_p, plausibility) = parameters, pointwise
    start, code, known = answers
    n, wanted = len(prevalence), len(log_p) > 0
    if n == 2:
        weigh_pairs(answers, parameters, pointwise)
        return
    for i in range(len(known)):
        span = (start[i], start[i + 1])
        # equation 2.5
        found = item_log_p(prevalence, table, code, span, known[i], plausibility[i], n)
        if found != found:  # NaN: out of the range of doubles
            found = item_log_p_in_logs(prevalence, table, code, span, known[i], plausibility[i])
        if wanted:
            log_p[i] = found


@inner_njit(error_model="numpy")
def weigh_pairs(
    answers: Answers, parameters: tuple[np.ndarray, np.ndarray], pointwise: tuple[np.ndarray, np.ndarray]
) -> None:
    """Overwrite the same of two categories, to the bit, in scalars: several times as fast."""
    (prevalence, table), (log_p, plausibility) = parameters, pointwise
    start, code, known = answers
    for i in range(len(known)):
        p0 = prevalence[0] if known[i] != 1 else 0.0
        p1 = prevalence[1] if known[i] != 0 else 0.0
        for a in range(start[i], start[i + 1]):
            row = code[a]
            p0 *= table[row, 0]
            p1 *= table[row, 1]
        total = p0 + p1
        share = 1.0 / total
        plausibility[i, 0], plausibility[i, 1] = p0 * share, p1 * share
        if not total >= RESCALED_BELOW:  # products that have to be rescaled on the way
            lost = _weigh_rare(answers, i, parameters, plausibility)
            if len(log_p) > 0:
                log_p[i] = lost
        elif len(log_p) > 0:
            log_p[i] = math.log(total)


@inner_njit(error_model="numpy")
def _weigh_rare(answers, i, parameters, plausibility):
    """Return log p of the answers to an item, and overwrite its plausibility, whatever its number of answers."""
    prevalence, table = parameters
    start, code, known = answers
    span = (start[i], start[i + 1])
    log_p = item_log_p(prevalence, table, code, span, known[i], plausibility[i], len(prevalence))
    if log_p != log_p:  # NaN: out of the range of doubles
        log_p = item_log_p_in_logs(prevalence, table, code, span, known[i], plausibility[i])
    return log_p


@cached_njit(nogil=True, error_model="numpy")
def weigh_items(
    answers: Answers,
    parameters: tuple[np.ndarray, np.ndarray],
    pointwise: tuple[np.ndarray, np.ndarray],
    every: int,
) -> None:
    """Compute what `draw_true_categories` computes of some items, at all draws of prevalence and confusion.

    Shapes: parameters: prevalence (draw, category), table (draw, rater * label, category); pointwise, overwritten: log p
    of the item's answers (kept draw, item), of each `every`-th draw, of none for 0; p(true category | draw, answers)
    (draw, item, category).
    """
    none = np.empty(0)
    for d in range(len(parameters[0])):
        own = (parameters[0][d], parameters[1][d])
        wanted = every > 0 and (d + 1) % every == 0
        log_p = pointwise[0][(d + 1) // every - 1] if wanted else none
        weigh(answers, own, (log_p, pointwise[1][d]))


@inner_njit(error_model="numpy")
def draw_collapsed(
    rng: np.ndarray, answers: Answers, prior: ConfusionPrior, truth: Truth, row_total: np.ndarray
) -> None:
    """Draw the true categories one after the other, each given all others.

    Shapes: row_total (rater, category), total concentration of each row. The prior is of FREE_ROWS; the answers of
    one rater to an item must be adjacent; `truth` is overwritten.
    """
    category, items, labels, totals = truth
    n, n_labels = len(items), labels_of(prior)
    p, log_p, seen = np.empty(n), np.empty(n), np.empty(n_labels)
    start, code, known = answers
    for i in range(len(category)):
        if known[i] >= 0:
            continue
        _count(answers, i, truth, REMOVED)
        for j in range(n):
            p[j] = prior.prevalence[j] + items[j]
            log_p[j] = 0.0
        rater, same = -1, 0
        for a in range(start[i], start[i + 1]):
            row = code[a]
            if row // n_labels != rater:
                rater, same = row // n_labels, 0
                seen[:] = 0
            for j in range(n):
                # (beta_l + n_l) / (beta + n)
                given = prior.confusion[row, j] + labels[row, j] + seen[row - rater * n_labels]
                p[j] *= given / (row_total[rater, j] + totals[rater, j] + same)
                if p[j] < SMALL:  # each weight on its own: later answers may raise it again
                    log_p[j] += math.log(p[j])
                    p[j] = 1.0
            seen[row - rater * n_labels] += 1
            same += 1
        _combine_logs(p, log_p)
        category[i] = _draw(rng, p)
        _count(answers, i, truth, ADDED)


@inner_njit(error_model="numpy")
def draw_collapsed_pair(
    rng: np.ndarray,
    answers: Answers,
    prior: ConfusionPrior,
    truth: Truth,
    row_total_and_items: tuple[np.ndarray, tuple[int, int]],
) -> None:
    """Draw as `draw_collapsed`, to the bit, where there are two categories, the items from one to before another.

    It is in scalars, which is more than twice as fast.
    """
    row_total, (first_item, end_item) = row_total_and_items
    category, items, labels, totals = truth
    start, code, known = answers
    beta = prior.confusion
    p = np.empty(2)
    log_p = np.empty(2)
    for i in range(first_item, end_item):
        if known[i] >= 0:
            continue
        first, end = start[i], start[i + 1]
        j = category[i]
        items[j] -= 1
        for a in range(first, end):
            labels[code[a], j] -= 1
            totals[code[a] >> 1, j] -= 1
        p0, p1 = prior.prevalence[0] + items[0], prior.prevalence[1] + items[1]
        log_p[0], log_p[1] = 0.0, 0.0
        rater, same, seen0, seen1 = -1, 0, 0, 0
        for a in range(first, end):
            row = code[a]
            if row >> 1 != rater:
                rater, same, seen0, seen1 = row >> 1, 0, 0, 0
            seen = seen1 if row & 1 else seen0
            p0 *= beta[row, 0] + labels[row, 0] + seen
            p0 /= row_total[rater, 0] + totals[rater, 0] + same
            p1 *= beta[row, 1] + labels[row, 1] + seen
            p1 /= row_total[rater, 1] + totals[rater, 1] + same
            if p0 < SMALL:
                log_p[0] += math.log(p0)
                p0 = 1.0
            if p1 < SMALL:
                log_p[1] += math.log(p1)
                p1 = 1.0
            seen0, seen1 = seen0 + 1 - (row & 1), seen1 + (row & 1)
            same += 1
        p[0], p[1] = p0, p1
        _combine_logs(p, log_p)
        j = _draw(rng, p)
        category[i] = j
        items[j] += 1
        for a in range(first, end):
            labels[code[a], j] += 1
            totals[code[a] >> 1, j] += 1


# between these bounds the sums keep their digits when one is taken from them, and products of `CHECKED_EVERY` pairs of them
# stay in the range of doubles
LEAST_SUM, MOST_SUM, LEAST_SHARE = 1e-3, 1e10, 1e-100


@inner_njit(error_model="numpy")
def are_distinct(answers: Answers, n: int) -> bool:
    """Whether no rater answered an item twice, given the number of categories; the answers of one rater are adjacent."""
    start, code, _ = answers
    for i in range(len(start) - 1):
        for a in range(start[i] + 1, start[i + 1]):
            if code[a] // n == code[a - 1] // n:
                return False
    return True


@inner_njit(error_model="numpy")
def draw_distinct_pair(
    rng: np.ndarray, answers: Answers, prior: ConfusionPrior, truth: Truth, row_total: np.ndarray
) -> None:
    """Draw as `draw_collapsed_pair`, but for rounding, all items, which no rater answered twice: three times as fast.

    An item is left out of the sums without changing them, and these change only where its category does. The odds are
    products without a division:

        p(T_i = 0) proportional to (alpha_0 + n_0) prod_a (beta_0l + n_0l) (beta_1 + n_1), and 0 and 1 exchanged

    Products near the ends of the range of doubles are left to `draw_collapsed_pair`.
    """
    category, items, labels, totals = truth
    start, code, known = answers
    beta = prior.confusion
    given, whole = np.empty(beta.shape), np.empty(row_total.shape)  # beta_l + n_l and beta + n
    least, most = np.inf, 0.0
    for j in range(2):
        for row in range(len(given)):
            given[row, j] = beta[row, j] + labels[row, j]
            least = min(least, beta[row, j])
        for rater in range(len(whole)):
            whole[rater, j] = row_total[rater, j] + totals[rater, j]
            most = max(most, row_total[rater, j] + totals[rater, 0] + totals[rater, 1])
    if not (least > LEAST_SUM and most < MOST_SUM):
        draw_collapsed_pair(rng, answers, prior, truth, (row_total, (0, len(category))))
        return
    for i in range(len(category)):
        if known[i] >= 0:
            continue
        j = category[i]
        own0, own1 = 1.0 - j, 1.0 * j  # the item itself, which its sums leave out
        p0, p1 = prior.prevalence[0] + (items[0] + j - 1), prior.prevalence[1] + (items[1] - j)
        a, end, fine = start[i], start[i + 1], True
        while True:
            last = min(a + CHECKED_EVERY, end)
            while a < last:
                row = code[a]
                rater = row >> 1
                p0 *= (given[row, 0] - own0) * (whole[rater, 1] - own1)
                p1 *= (given[row, 1] - own1) * (whole[rater, 0] - own0)
                a += 1
            if last == end:
                break
            share = 1.0 / (p0 + p1)
            p0 *= share
            p1 *= share
            fine &= p0 > LEAST_SHARE and p1 > LEAST_SHARE
        if fine:
            new = 0 if uniform(rng) * (p0 + p1) - p0 < 0.0 else 1
            if new == j:
                continue
            _count(answers, i, truth, REMOVED)
            category[i] = new
            _count(answers, i, truth, ADDED)
        else:
            draw_collapsed_pair(rng, answers, prior, truth, (row_total, (i, i + 1)))
            if category[i] == j:
                continue
        for a in range(start[i], end):
            row = code[a]
            for k in range(2):
                given[row, k] = beta[row, k] + labels[row, k]
                whole[row >> 1, k] = row_total[row >> 1, k] + totals[row >> 1, k]


@inner_njit(error_model="numpy", inline="always")
def _combine_logs(p, log_p):
    """Multiply weights by the factors stored as logs, up to a common one."""
    lowest, largest = 0.0, -np.inf
    for j in range(len(p)):
        lowest = min(lowest, log_p[j])
    if lowest < 0.0:
        for j in range(len(p)):
            log_p[j] += math.log(p[j])
            largest = max(largest, log_p[j])
        for j in range(len(p)):
            p[j] = math.exp(log_p[j] - largest)


@inner_njit(error_model="numpy")
def _draw(rng, p):
    """Draw a category from weights that need not sum to one."""
    total = 0.0
    for j in range(len(p)):
        total += p[j]
    return category_at(p, uniform(rng) * total)


# --- Chains and sweeps ---


class LabelSchedule(NamedTuple):
    """Length and kind of a chain."""

    tune: int  # sweeps before the first stored draw
    thin: int  # sweeps per stored draw
    collapsed: bool  # kind of the sweeps


class LabelState(NamedTuple):
    """State of a chain, overwritten in place."""

    category: np.ndarray  # int64 (item,), true categories
    table: np.ndarray  # (rater * label, category); only COMPETENCE reads the previous one
    population: np.ndarray  # (population, 2), skill and strength
    history: np.ndarray  # (component,), weights


class LabelDraws(NamedTuple):
    """Output arrays of a chain; those of items may have none, where the parameters alone are wanted."""

    prevalence: np.ndarray  # (draw, category)
    table: np.ndarray  # (draw, rater * label, category), p(label | rater, true category)
    plausibility: np.ndarray  # (draw, item, category), p(true category | draw, answers)
    log_p: np.ndarray  # (draw, item), log p(answers of the item | draw)
    population: np.ndarray  # (draw, population, 2), skill and strength
    history: np.ndarray  # (draw, component), weights


@cached_njit(nogil=True, error_model="numpy")
def begin_table(rng: np.ndarray, prior: ConfusionPrior, table: np.ndarray) -> None:
    """Overwrite the table (rater * label, category) of COMPETENCE, which is one everywhere, by a prior draw."""
    draw_competences(rng, prior, np.zeros(table.shape, np.int64), table)


@inner_njit(error_model="numpy", inline="always")
def _store(draws, d, parameters, pointwise):
    """Copy parameters and pointwise quantities to the output arrays."""
    for j in range(len(parameters[0])):
        draws.prevalence[d, j] = parameters[0][j]
        for row in range(len(parameters[1])):
            draws.table[d, row, j] = parameters[1][row, j]
        for i in range(draws.log_p.shape[1]):
            draws.plausibility[d, i, j] = pointwise[1][i, j]
    for i in range(draws.log_p.shape[1]):
        draws.log_p[d, i] = pointwise[0][i]


def sample_labels(
    rng: np.ndarray,
    answers: Answers,
    prior: ConfusionPrior,
    schedule: LabelSchedule,
    state_and_draws: tuple[LabelState, LabelDraws],
) -> None:
    """Run one chain on from its state, in place; a rater's answers to an item are adjacent, only FREE_ROWS collapse."""
    if prior.kind == FREE_ROWS:
        sample_rows(rng, answers, prior, schedule, state_and_draws)
    elif prior.kind == COMPETENCE:
        sample_competences(rng, answers, prior, schedule, state_and_draws)
    elif prior.kind == RELATIONS:
        sample_relations(rng, answers, prior, schedule, state_and_draws)
    else:
        sample_abilities(rng, answers, prior, schedule, state_and_draws)


@inner_njit(error_model="numpy")
def move_priors(rng, prior, sizes, values, row_total):
    """Move the weights of a history and the populations, and overwrite the concentrations of all raters."""
    hyper, weight = values
    population, concentrations = prior.population, (prior.confusion, row_total)
    if len(weight) > 0:
        last = len(weight) - 1
        if len(hyper) > 0:
            concentrate(population, hyper, (prior.history.concentration[last], row_total))
        component = move_history(rng, prior.history, sizes, weight, concentrations)
        if len(hyper) > 0:  # the raters without a history make up the populations
            of = np.where(component == last, population.of, -1)
            population = Population(of, population.skill, population.strength)
    if len(hyper) > 0:
        move_populations(rng, population, sizes, hyper, concentrations)


def _chain_of(kind: int) -> Callable:
    """Return the compiled chain of one kind, without the code of the others."""

    @cached_njit(nogil=True, error_model="numpy")
    def sample(rng, answers, prior, schedule, state_and_draws):
        (category, table, hyper, weight), draws = state_and_draws
        n_rows, n = prior.confusion.shape
        n_labels = labels_of(prior)
        items, labels = np.zeros(n, np.int64), np.zeros((n_rows, n), np.int64)
        truth = (category, items, labels, np.zeros((n_rows // n_labels, n), np.int64))
        recount(answers, truth)
        row_total = np.zeros((n_rows // n_labels, n))
        for row in range(n_rows):
            for j in range(n):
                row_total[row // n_labels, j] += prior.confusion[row, j]
        every = 0
        if kind == FREE_ROWS and len(hyper) > 0:
            every = sweeps_per_move(labels, len(answers.code))
            concentrate(prior.population, hyper, (prior.confusion, row_total))
        if len(weight) > 0:
            every = 1
        parameters = (np.empty(n), table)
        pair = n == 2 and n_labels == 2
        distinct = pair and are_distinct(answers, n)
        pointwise = (np.empty(draws.log_p.shape[1]), np.empty((len(category), n)))
        passing = (np.empty(0), pointwise[1])  # of sweeps that are not stored
        sweeps = schedule.tune
        for d in range(len(draws.prevalence)):
            sweeps += schedule.thin
            # collapsed sweeps; then prevalence, confusion | T, for the stored draw
            collapsed = sweeps if kind == FREE_ROWS and schedule.collapsed else 0
            last = max(sweeps, collapsed + 1) - 1
            for sweep in range(last + 1):
                if kind == FREE_ROWS:
                    if every > 0 and (sweep == last or sweep % every == 0):
                        move_priors(rng, prior, (truth[3], labels), (hyper, weight), row_total)
                    if sweep < collapsed:
                        if distinct:
                            draw_distinct_pair(rng, answers, prior, truth, row_total)
                        elif pair:
                            whole = (0, len(category))
                            draw_collapsed_pair(rng, answers, prior, truth, (row_total, whole))
                        else:
                            draw_collapsed(rng, answers, prior, truth, row_total)
                        continue
                draw_prevalence(rng, prior, items, parameters[0])
                if kind == FREE_ROWS:
                    draw_rows(rng, prior, labels, table)
                elif kind == COMPETENCE:
                    draw_competences(rng, prior, labels, table)
                elif kind == RELATIONS:
                    draw_relations(rng, prior.relations, labels, table)
                else:
                    draw_abilities(rng, prior, labels, table)
                own = pointwise if sweep == last else passing
                draw_true_categories(rng, answers, parameters, truth, own)
            sweeps = 0
            _store(draws, d, parameters, pointwise)
            draws.population[d] = hyper
            draws.history[d] = weight

    return sample


sample_rows = _chain_of(FREE_ROWS)
sample_abilities = _chain_of(ABILITIES)  # and of ONE_ABILITY
sample_competences = _chain_of(COMPETENCE)
sample_relations = _chain_of(RELATIONS)


@cached_njit(error_model="numpy")
def sweep_labels(
    rng: np.ndarray,
    answers: Answers,
    prior: ConfusionPrior,
    parameters: tuple[np.ndarray, np.ndarray],
    category: np.ndarray,
) -> None:
    """Run one plain sweep: true categories given prevalence and confusion, then these given them.

    Shapes, all overwritten: prevalence (category,), table (rater * label, category); category int64 (item,).
    """
    n_rows, n = prior.confusion.shape
    items, labels = np.zeros(n, np.int64), np.zeros((n_rows, n), np.int64)
    truth = (category, items, labels, np.zeros((n_rows // labels_of(prior), n), np.int64))
    pointwise = (np.empty(0), np.empty((len(category), n)))
    recount(answers, truth)
    draw_true_categories(rng, answers, parameters, truth, pointwise)
    draw_prevalence(rng, prior, items, parameters[0])
    draw_confusion(rng, prior, labels, parameters[1])
