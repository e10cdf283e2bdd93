"""Numbers computed from tables of answers, to each of which Dawid-Skene is fitted.

The residual of an answer of rater k to item i, given true category j, is the vector e_ikj of the indicators of its labels
minus the probabilities pi_kj, whose length has the standard deviation sd_kj. With w_ij the probability of category j given
all answers to the item, the residual correlation of a set of pairs of raters is

    sum_i sum_j w_ij sum_{k<l} e_ikj . e_ilj  /  sum_i sum_j w_ij sum_{k<l} sd_kj sd_lj

(the score of a law in which the errors of a pair depend on each other). The truth is inferred from the same answers, which
makes it too small. Observed answers and replicates have this in common: prevalence, matrices and w are fitted to each by
EM, from the draw of the posterior that made the replicate, or another one.

All tables have the answers of the same raters to the same items, and several are taken at once. Axes: ``table``, then as said.
Sums over the pairs of answers to an item are half the square of the sum, less the sum of the squares.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .label_laws import Answers, LabelLaw

ITERATIONS = 12  # of EM
FEWEST_OF_TWINS = 3  # answers to an item that are compared with those to other items
TINY = 1e-12
AT_ONCE = 12_000  # answers of the tables that are taken at once
MOST_PROBABILITIES = 2_000_000  # of these tables


class Numbers(NamedTuple):
    """Numbers of tables of answers; residual correlations are NaN without a pair of answers."""

    together: np.ndarray  # residual correlation of all pairs of answers to an item (table,)
    within: np.ndarray  # of pairs in each group (table, group)
    between: np.ndarray  # of pairs in two groups (table,)
    pairs: np.ndarray  # of pairs of chosen raters (table, pair)
    products: np.ndarray  # of the residuals of these pairs, summed over items (table, pair)
    labels: np.ndarray  # counts (table, rater, category)
    curvature: np.ndarray  # contrasts of the answers of each category by features (table, feature, category)
    agreement: np.ndarray  # mean share of the others who agree, of each rater (table, rater)
    distinct: np.ndarray  # answers, mean over items of two answers or more (table,)
    unanimous: np.ndarray  # share of these items (table,)
    right: np.ndarray  # gold items whose best category, without gold, is right, less the claim (table,)
    gold_agreement: np.ndarray  # share of agreeing pairs of answers, gold items less others (table,)
    twins: np.ndarray  # share of items whose raters and answers are those of another item (table,)
    classifiers: np.ndarray  # residual correlation of each classifier with all people (table, classifier)
    first: np.ndarray  # agreement with the first answer to an item, less that among later ones (table,)
    late: np.ndarray  # rise of a label late in a rater's queue, in standard errors (table, queue)
    later_skill: np.ndarray  # trend of right answers in a rater's queue, in standard errors (table, queue)


def numbers_of_replicates(answers: Answers, law: LabelLaw, start: int, rng: np.random.Generator) -> Numbers:
    """Return the numbers of the observed table, whose fit begins at the draw `start`, and of a replicate at each draw."""
    found = [numbers_of(answers, answers.label[None], law, range(start, start + 1))]
    found += [numbers_of(answers, law.replicate(own, rng), law, own) for own in _blocks(answers, law.draws)]
    return Numbers(*(np.concatenate(own) for own in zip(*found, strict=True)))


def of_raters_alone(found: Numbers, answers: Answers, law: LabelLaw, rng: np.random.Generator) -> Numbers:
    """Return the numbers with labels, agreement and contrasts of the replicates of another law."""
    parts = [_counted(answers, law.replicate(own, rng)) for own in _blocks(answers, law.draws)]
    names = ("labels", "agreement", "curvature")
    others = (np.concatenate(own) for own in zip(*parts, strict=True))
    observed = (getattr(found, name)[:1] for name in names)
    new = {name: np.concatenate(both) for name, *both in zip(names, observed, others, strict=True)}
    return found._replace(**new)


def _counted(answers: Answers, label: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels and agreement of each rater, and contrasts by features, of tables of labels (table, answer)."""
    items, raters, n = answers.shape
    counts = _counts(answers.item, label, items, n)
    by_features = (
        np.zeros((len(label), 0, n))
        if answers.by_features is None
        else answers.by_features.contrast.T @ counts
    )
    of_raters = _counts(answers.rater, label, raters, n)
    return of_raters, _agreement_of_raters(answers, label, counts), by_features


def _blocks(answers: Answers, draws: int) -> Iterator[range]:
    """Yield the draws whose replicates are taken at once."""
    _, raters, n = answers.shape
    probabilities = (raters + len(answers.chosen) ** 2) * n**2
    size = max(min(AT_ONCE // len(answers.item), MOST_PROBABILITIES // probabilities), 1)
    for first in range(0, draws, size):
        yield range(first, min(first + size, draws))


def numbers_of(answers: Answers, label: np.ndarray, law: LabelLaw, draws: range) -> Numbers:
    """Return the numbers of tables of labels (table, answer), the fit of each of which begins at a draw."""
    (items, _, n), tables = answers.shape, len(label)
    weight, free, table = _fit(answers, label, law.start(draws), law.prior)
    counts = _counts(answers.item, label, items, n)
    different = _sums(counts > 0)[:, answers.several]
    known = np.flatnonzero(answers.gold >= 0)
    right = free[:, known].argmax(axis=2) == answers.gold[known]
    nothing = np.full(tables, np.nan)
    of_raters, agreement, curvature = _counted(answers, label)
    return Numbers(
        *_pooled(answers, label, weight, table),
        *_by_pair(answers, label, weight, table),
        of_raters,
        curvature,
        agreement,
        different.mean(axis=1) if answers.several.any() else nothing,
        (different == 1).mean(axis=1) if answers.several.any() else nothing,
        (right - free[:, known].max(axis=2)).mean(axis=1) if len(known) else nothing,
        _agreement_on_gold(answers, counts),
        _twins(answers, label),
        _with_classifiers(answers, label, weight, table),
        nothing if answers.ordered is None else answers.ordered.with_first(label),
        np.zeros((tables, 0)) if answers.ordered is None else answers.ordered.late_labels(label),
        np.zeros((tables, 0))
        if answers.ordered is None
        else answers.ordered.later_skill(label, weight, table),
    )


def _agreement_on_gold(answers: Answers, counts: np.ndarray) -> np.ndarray:
    """Return the mean share of agreeing pairs of answers on gold items less that on others, NaN without both (table,)."""
    known, number = answers.gold >= 0, np.diff(answers.start)
    parts = [answers.several & own for own in (known, ~known)]
    if not all(own.any() for own in parts):
        return np.full(len(counts), np.nan)
    pairs = np.maximum(number * (number - 1), 1)
    share = (_sums(counts**2) - number) / pairs
    return share[:, parts[0]].mean(axis=1) - share[:, parts[1]].mean(axis=1)


def _twins(answers: Answers, label: np.ndarray) -> np.ndarray:
    """Return the share of items with different answers whose answers are those of another item, rater by rater (table,)."""
    _, raters, n = answers.shape
    enough = np.diff(answers.start) >= FEWEST_OF_TWINS
    if len(answers.raters) < FEWEST_OF_TWINS or not enough.any():
        return np.full(len(label), np.nan)
    sums = np.random.default_rng(0).integers(0, 2**63, raters * n, dtype=np.uint64)
    one = np.minimum.reduceat(label, answers.start[:-1], axis=1) == np.maximum.reduceat(
        label, answers.start[:-1], axis=1
    )  # unanimous items are often alike
    rows = np.add.reduceat(sums[answers.rater * n + label], answers.start[:-1], axis=1)[:, enough]
    found = np.empty(len(label))
    for t, own in enumerate(rows):
        _, times = np.unique(own[~one[t, enough]], return_counts=True)
        found[t] = times[times > 1].sum() / max(times.sum(), 1)
    return found


def _with_classifiers(
    answers: Answers, label: np.ndarray, weight: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """Return the residual correlation of each classifier with people, given the truth by all but it (table, classifier)."""
    tables, people = len(label), ~np.isin(answers.rater, answers.classifiers)
    found = np.full((tables, len(answers.classifiers)), np.nan)
    each = np.arange(tables)[:, None]
    square = np.einsum("tklj,tklj->tkj", table, table)
    for place, c in enumerate(answers.classifiers):
        said = np.full((tables, len(answers.gold)), -1)
        own = answers.rater == c
        said[:, answers.item[own]] = label[:, own]
        kept = np.flatnonzero(people & (said[0, answers.item] >= 0))
        if not len(kept):
            continue
        item, rater, told, shown = (
            answers.item[kept],
            answers.rater[kept],
            label[:, kept],
            said[:, answers.item[kept]],
        )
        law = table[:, c]  # (table, label, category)
        without = weight / np.maximum(law[each, np.maximum(said, 0)], TINY)
        without /= without.sum(axis=2, keepdims=True)
        share = without[:, item]
        both = np.einsum("tklj,tlj->tkj", table, law)
        product = (told == shown)[..., None] - law[each, told] - table[each, rater, shown] + both[:, rater]
        norm = np.sqrt((1 - square[:, c])[:, None] * (1 - square[:, rater]))
        found[:, place] = _ratio((share * product).sum(axis=(1, 2)), (share * norm).sum(axis=(1, 2)))
    return found


def _counts(row: np.ndarray, label: np.ndarray, rows: int, n: int) -> np.ndarray:
    """Return the number of each label in each row (table, row, label); `row` is that of each answer."""
    code = label + row * n + np.arange(len(label))[:, None] * (rows * n)
    return np.bincount(code.ravel(), minlength=len(label) * rows * n).reshape(-1, rows, n).astype(float)


def _sums(values: np.ndarray) -> np.ndarray:
    """Return sums over the last axis; numpy's own are slow where it is short."""
    return values.astype(float, copy=False) @ np.ones(values.shape[-1])


# --- Fit by EM ---


def _fit(
    answers: Answers, label: np.ndarray, start: tuple[np.ndarray, np.ndarray], prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p(true category) (table, item, category) with gold and without, and p(label) (table, rater, label, category)."""
    (items, raters, n), tables = answers.shape, len(label)
    prevalence, confusion = start
    table = np.ascontiguousarray(confusion.swapaxes(2, 3))
    given = _given(answers, label, answers.start, np.ones(label.size))
    counted, pseudo = given.T, prior.T[None, None]
    weight = _weights(given, prevalence, table, answers.gold)
    for _ in range(ITERATIONS):
        table = (counted @ weight.reshape(-1, n)).reshape(tables, raters, n, n) + pseudo
        table /= table.sum(axis=2, keepdims=True)
        prevalence = (np.ones(items) @ weight + 1) / (items + n)
        weight = _weights(given, prevalence, table, answers.gold)
    without_gold = np.full(items, -1)
    free = _weights(given, prevalence, table, without_gold) if (answers.gold >= 0).any() else weight
    return weight, free, table


def _given(answers: Answers, label: np.ndarray, start: np.ndarray, value: np.ndarray) -> csr_array:
    """Return the answers of all tables as rows (table, item) and columns (table, rater, label), each with a value.

    `start` holds the first answer of each row, and their number.
    """
    tables, number = label.shape
    rows, columns = len(start) - 1, answers.shape[1] * answers.shape[2]
    by_table = np.arange(tables, dtype=np.int32)[:, None]
    code = (label + answers.rater * answers.shape[2]).astype(np.int32) + by_table * np.int32(columns)
    begins = np.append(
        (by_table * np.int32(number) + start[:-1].astype(np.int32)).ravel(), np.int32(label.size)
    )
    return csr_array((value, code.ravel(), begins), shape=(tables * rows, tables * columns))


def _weights(given: csr_array, prevalence: np.ndarray, table: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Return p(true category | answers and gold) (table, item, category)."""
    tables, n = prevalence.shape
    weight = np.ascontiguousarray(
        (given @ np.log(table).reshape(-1, n)).T
    )  # reductions over a short last axis are slow
    weight = weight.reshape(n, tables, -1)
    weight += np.log(prevalence).T[:, :, None]
    weight -= weight.max(axis=0)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=0)
    known = np.flatnonzero(gold >= 0)
    weight[:, :, known] = np.eye(n)[:, gold[known]][:, None]
    return np.ascontiguousarray(weight.transpose(1, 2, 0))


# --- Residual correlations ---


def _pooled(
    answers: Answers, label: np.ndarray, weight: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the residual correlation of all pairs of raters, of those within each group, and of those between groups.

    Answers of one rater to one item are added up: they make no pair. Anonymous answers are all by different raters.
    """
    (_, raters, n), tables = answers.shape, len(label)
    cells, groups = answers.cells, len(answers.groups)
    size = len(cells.item)
    code = (cells.of_answer * tables + np.arange(tables)[:, None]) * n + label
    counts = np.bincount(code.ravel(), minlength=size * tables * n).reshape(size, tables, n)
    # sum over the opinions of a cell of |c - m pi_j|^2 = |c|^2 - 2 m c . pi_j + m^2 |pi_j|^2
    linear = _given(answers, label, cells.start, np.tile(cells.repeats, tables)) @ table.reshape(-1, n)
    linear, squares = linear.reshape(tables, size, n), _squares_of_opinions(answers, label)
    within, whole = np.zeros((2, groups, tables)), np.zeros((2, tables))
    for j in range(n):
        law = np.ascontiguousarray(table[..., j].swapaxes(0, 1))  # (rater, table, label)
        square = _sums(law**2)
        sd = np.sqrt(1 - square)
        by_cell = [
            counts - (cells.given @ law.reshape(raters, -1)).reshape(size, tables, n),
            squares - 2 * linear[..., j].T + cells.given_twice @ square,
            cells.given @ sd,
            cells.given_twice @ (1 - square),
        ]
        if groups > 1:
            own = _products(weight[:, cells.item, j].T, *by_cell)
            within += [cells.groups @ part for part in own]
            by_cell = [np.add.reduceat(part, cells.first_of_item) for part in by_cell]
        whole += [part.sum(axis=0) for part in _products(weight[..., j].T, *by_cell)]
    if groups == 1:
        within = whole[:, None]
    return _ratio(*whole), _ratio(*within).T, _ratio(*(whole - within.sum(axis=1)))


def _squares_of_opinions(answers: Answers, label: np.ndarray) -> np.ndarray:
    """Return the sum over the opinions of a cell of the squares of their numbers of each label (cell, table)."""
    cells = answers.cells
    if (cells.repeats == 1).all():
        return np.diff(cells.start)[:, None].astype(float)
    n = answers.shape[2]
    opinions = int(answers.opinion[-1]) + 1
    squares = _sums(_counts(answers.opinion, label, opinions, n) ** 2)
    return np.add.reduceat(squares, answers.first_of_cell, axis=1).T


def _products(
    share: np.ndarray, residual: np.ndarray, own_square: np.ndarray, sd: np.ndarray, own_variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums over pairs of the products of residuals and of their standard deviations (row, table)."""
    return share * (_sums(residual**2) - own_square), share * (sd**2 - own_variance)


def _ratio(product: np.ndarray, norm: np.ndarray) -> np.ndarray:
    """Return residual correlations, NaN without a pair of answers."""
    some = norm > 1e-6
    return np.where(some, product / np.where(some, norm, 1), np.nan)


def _by_pair(
    answers: Answers, label: np.ndarray, weight: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual correlation of each pair of the chosen raters, and the sum of products above it; both (table, pair)."""
    first, second = np.triu_indices(len(answers.chosen), 1)
    if not len(first):
        return np.zeros((len(label), 0)), np.zeros((len(label), 0))
    told, said = (_common_labels(answers, label, weight, turned) for turned in (False, True))
    law, other = table[:, answers.chosen[first]], table[:, answers.chosen[second]]
    sd = np.sqrt(1 - np.einsum("tkyj,tkyj->tkj", table, table))[:, answers.chosen]
    both = np.einsum("tpyj->tpj", told)  # sum_i m_ik m_il w_ij
    # sum_j sum_i w_ij (c_ik - m_ik pi_kj) . (c_il - m_il pi_lj)
    once = np.einsum("tpyj,tpyj->tp", told, law) + np.einsum("tpyj,tpyj->tp", said, other)
    twice = np.einsum("tpj,tpyj,tpyj->tp", both, law, other)
    product = _equal_labels(answers, label) - once + twice
    return np.nan_to_num(
        _ratio(product, np.einsum("tpj,tpj,tpj->tp", both, sd[:, first], sd[:, second]))
    ), product


def _common_labels(answers: Answers, label: np.ndarray, weight: np.ndarray, turned: bool) -> np.ndarray:
    """Return sum_i w_ij m_ik c_il of each pair of raters k and l, who gave m_ik answers and the labels c_il to item i.

    Shape: (table, pair, label, category). Turned: k is the second of the pair.
    """
    common, (items, _, n), tables = answers.common[turned], answers.shape, len(label)
    pairs = len(answers.in_common)
    by_table = np.arange(tables, dtype=np.int32)[:, None]
    column = label.astype(np.int32)[:, common.answer]
    column += common.pair * np.int32(n) + by_table * np.int32(pairs * n)
    start = np.append(
        (by_table * np.int32(column.shape[1]) + common.start[:-1]).ravel(), np.int32(column.size)
    )
    shape = tables * items, tables * pairs * n
    given = csr_array((np.tile(common.repeats, tables), column.ravel(), start), shape=shape)
    return (given.T @ weight.reshape(-1, n)).reshape(tables, pairs, n, n)


def _equal_labels(answers: Answers, label: np.ndarray) -> np.ndarray:
    """Return the number of equal labels that the two raters of a pair gave to the same items (table, pair)."""
    common, n = answers.common[0], answers.shape[2]
    told = label.astype(np.int32)
    if (common.repeats == 1).all():
        same = told[:, common.answer] == told[:, common.first]
    else:
        counts = _counts(answers.opinion, label, int(answers.opinion[-1]) + 1, n)
        same = counts[np.arange(len(label))[:, None], common.opinion, told[:, common.answer]]
    return (answers.of_pair @ same.T.astype(float)).T


# --- Agreement ---


def _agreement_of_raters(answers: Answers, label: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean share of the other answers to an item that agree with that of each rater, 0 without others."""
    tables, raters = len(label), answers.shape[1]
    by_table = np.arange(tables)[:, None]
    others = np.diff(answers.start)[answers.item] - 1
    same = counts[by_table, answers.item, label] - 1
    share = np.where(others > 0, same / np.maximum(others, 1), 0.0)
    number = np.bincount(answers.rater, others > 0, raters)
    total = np.bincount((by_table * raters + answers.rater).ravel(), share.ravel(), tables * raters)
    return total.reshape(tables, raters) / np.maximum(number, 1)
