"""Checks of labels: errors that raters share, distinct answers, labels and agreement of raters, and gold items.

The residual of an answer of rater k to item i, given true category j, is the vector e_ikj of the indicators of its labels
minus the probabilities pi_kj, whose length has the standard deviation sd_kj. With w_ij the probability of category j given
all answers to the item, the residual correlation of a set of pairs of raters is

    sum_i sum_j w_ij sum_{k<l} e_ikj . e_ilj  /  sum_i sum_j w_ij sum_{k<l} sd_kj sd_lj

(the score of a law in which the errors of a pair depend on each other). The truth is inferred from the same answers, which
makes it too small. Observed answers and replicates have this in common: prevalence, matrices and w are fitted to each by
EM, from the draw of the posterior that made the replicate, or another one.
"""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.sparse import csr_array
from scipy.special import logsumexp

from .discrepancies import Check, Family, judged, standard_scores
from .label_laws import Answers, LabelLaw, answers_of, law_of

MOST_ANSWERS = 20_000  # that are checked, of items drawn at random
MOST_IN_SETS = 12  # raters of whom every set is tried
ITERATIONS = 12  # of EM
REPLICATES_OF_MEAN = 40  # of which a mean is made
FEWEST_COMMON = 20  # items that both raters of a pair answered
KNOWN_SHARE = 1.0  # of the prior probability that a known group shares errors, as that of all sets of raters
DISTANCE = 2.0  # standard deviations by which the score of a set that shares errors is expected to be larger

TOGETHER = "mean residual correlation of two raters"
SHARE = "log likelihood ratio of a set of raters who share errors"
AGREE = "raters agree beyond what the inferred truth explains: some share errors"


@dataclass(frozen=True)
class Numbers:
    """Numbers computed from one table of answers."""

    together: float  # residual correlation of all pairs of answers to an item
    within: np.ndarray  # of pairs in each group (group,)
    between: float  # of pairs in two groups
    pairs: np.ndarray  # of pairs of chosen raters (pair,)
    products: np.ndarray  # of the residuals of these pairs, summed over items (pair,)
    labels: np.ndarray  # counts (rater, category)
    agreement: np.ndarray  # mean share of the others who agree, of each rater (rater,)
    distinct: float  # answers, mean over items of two answers or more
    unanimous: float  # share of these items
    right: float  # share of gold items whose most probable category, without gold, is right, less what is claimed


def label_checks(tree: xr.DataTree, by: str | None, replicates: int, rng: np.random.Generator) -> xr.Dataset:
    """Return the checks of the labels of a posterior."""
    answers, *places = answers_of(tree, by, MOST_ANSWERS, rng)
    law = law_of(tree, answers, (places[0], places[1], places[2]), replicates, rng)
    found = [numbers_of(answers, answers.label, law, int(rng.integers(law.draws)))]
    found += [numbers_of(answers, law.replicate(draw, rng), law, draw) for draw in range(law.draws)]
    checks, families = _agreement(answers, found), _families(answers, found)
    main, sharing = _sharing(answers, found)
    attrs = {"answers": len(answers.item), "sharing_raters": sharing}
    return judged([*main, *checks, *_of_items(answers, found)], families, attrs)


def excess_correlation(tree: xr.DataTree, by: str, rng: np.random.Generator) -> dict[str, float]:
    """Return the residual correlation within each group beyond the mean of its replicates, of groups with a pair of answers."""
    answers, *places = answers_of(tree, by, MOST_ANSWERS, rng)
    law = law_of(tree, answers, (places[0], places[1], places[2]), REPLICATES_OF_MEAN, rng)
    found = [numbers_of(answers, answers.label, law, 0)]
    found += [numbers_of(answers, law.replicate(draw, rng), law, draw) for draw in range(law.draws)]
    within = _stacked(found, "within")
    excess = within[0] - within[1:].mean(axis=0)
    return {name: float(r) for name, r in zip(answers.groups, excess, strict=True) if np.isfinite(r)}


# --- Numbers of one table of answers ---


def numbers_of(answers: Answers, label: np.ndarray, law: LabelLaw, draw: int) -> Numbers:
    """Return the numbers of one table of answers, whose fit begins at a draw."""
    items, raters, n = answers.shape
    weight, free, table = _fit(answers, label, law.start(draw), law.prior)
    together, within, between = _pooled(answers, label, weight, table)
    counts = np.bincount(answers.item * n + label, minlength=items * n).reshape(items, n)
    different = (counts > 0).sum(axis=1)[answers.several]
    known = answers.gold >= 0
    right = (free[known].argmax(axis=1) == answers.gold[known]) - free[known].max(axis=1)
    return Numbers(
        together,
        within,
        between,
        *_by_pair(answers, label, weight, table),
        np.bincount(answers.rater * n + label, minlength=raters * n).reshape(raters, n).astype(float),
        _agreement_of_raters(answers, label, counts),
        float(different.mean()) if len(different) else np.nan,
        float((different == 1).mean()) if len(different) else np.nan,
        float(right.mean()) if known.any() else np.nan,
    )


def _fit(
    answers: Answers, label: np.ndarray, start: tuple[np.ndarray, np.ndarray], prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p(true category) (item, category) with gold and without, and p(label) (rater, label, category), by EM."""
    items, raters, n = answers.shape
    prevalence, confusion = start
    table = confusion.swapaxes(1, 2).reshape(raters * n, n)
    given = csr_array(
        (np.ones(len(label)), answers.rater * n + label, answers.start), shape=(items, raters * n)
    )
    counted, pseudo = given.T, np.tile(prior.T, (raters, 1))
    weight = _weights(given, prevalence, table, answers.gold)
    for _ in range(ITERATIONS):
        counts = (counted @ weight + pseudo).reshape(raters, n, n)
        table = (counts / counts.sum(axis=1, keepdims=True)).reshape(raters * n, n)
        prevalence = (weight.sum(axis=0) + 1) / (items + n)
        weight = _weights(given, prevalence, table, answers.gold)
    without_gold = np.full(items, -1)
    free = _weights(given, prevalence, table, without_gold) if (answers.gold >= 0).any() else weight
    return weight, free, table.reshape(raters, n, n)


def _weights(given: csr_array, prevalence: np.ndarray, table: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Return p(true category | answers and gold) (item, category)."""
    weight = np.ascontiguousarray((given @ np.log(table)).T)  # reductions over a short last axis are slow
    weight += np.log(prevalence)[:, None]
    weight -= weight.max(axis=0)
    np.exp(weight, out=weight)
    weight /= weight.sum(axis=0)
    known = np.flatnonzero(gold >= 0)
    weight[:, known] = np.eye(len(weight))[:, gold[known]]
    return np.ascontiguousarray(weight.T)


def _pooled(
    answers: Answers, label: np.ndarray, weight: np.ndarray, table: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Return the residual correlation of all pairs of raters, of those within each group, and of those between groups.

    Answers of one rater to one item are added up: they make no pair. Anonymous answers are all by different raters.
    """
    n = answers.shape[2]
    first = answers.first_of_opinion if len(answers.raters) else np.arange(len(label))
    place = answers.opinion if len(answers.raters) else first
    first_of_cell = answers.first_of_cell if len(answers.raters) else answers.start[:-1]
    rater, item = answers.rater[first], answers.item[first[first_of_cell]]
    group = answers.group[rater[first_of_cell]]
    of_item = np.flatnonzero(np.diff(item, prepend=-1))  # first cell of each item
    counts = np.bincount(place * n + label, minlength=len(first) * n).reshape(-1, n)
    number = counts.sum(axis=1)
    sums = np.zeros((2, len(answers.groups)))  # products and norms, within each group
    whole = np.zeros(2)
    for j in range(n):
        law = table[:, :, j]
        sd = number * np.sqrt(1 - (law**2).sum(axis=1))[rater]
        residual = counts - number[:, None] * law[rater]
        own = np.column_stack([residual, (residual**2).sum(axis=1), sd, sd**2])
        by_cell = np.add.reduceat(own, first_of_cell)
        by_item = np.add.reduceat(by_cell, of_item)
        for part, (added, share) in enumerate(((by_cell, weight[item, j]), (by_item, weight[:, j]))):
            product = share * ((added[:, :n] ** 2).sum(axis=1) - added[:, n])
            norm = share * (added[:, n + 1] ** 2 - added[:, n + 2])
            if part:
                whole += product.sum(), norm.sum()
            else:
                sums += [np.bincount(group, values, len(answers.groups)) for values in (product, norm)]
    return float(_ratio(*whole)), _ratio(*sums), float(_ratio(*(whole - sums.sum(axis=1))))


def _ratio(product: np.ndarray | np.float64, norm: np.ndarray | np.float64) -> np.ndarray:
    """Return residual correlations, NaN without a pair of answers."""
    some = np.asarray(norm) > 1e-6
    return np.where(some, product / np.where(some, norm, 1), np.nan)


def _by_pair(
    answers: Answers, label: np.ndarray, weight: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the residual correlation of each pair of the chosen raters, and the sum of products above it; both (pair,)."""
    items, _, n = answers.shape
    given, law = answers.given, table[answers.chosen]
    chosen = given.shape[1]
    if not chosen:
        return np.zeros(0), np.zeros(0)
    mine, place = answers.of_chosen
    counts = np.bincount(place * n + label[mine], minlength=items * chosen * n).reshape(items, chosen, n)
    # sum_j w_j e_kj . e_lj of residuals by category is that about their mean over j, plus the covariance of the means
    mean = given[:, :, None] * (weight @ law.reshape(chosen * n, n).T).reshape(items, chosen, n)
    about, mean = (own.swapaxes(1, 2).reshape(items * n, chosen) for own in (counts - mean, mean))
    product, norm = about.T @ about - mean.T @ mean, np.zeros((chosen, chosen))
    for j in range(n):
        both = (given * weight[:, j, None]).T @ given
        sd = np.sqrt(1 - (law[:, :, j] ** 2).sum(axis=1))
        product += both * (law[:, :, j] @ law[:, :, j].T)
        norm += both * np.outer(sd, sd)
    upper = np.triu_indices(chosen, 1)
    return np.nan_to_num(_ratio(product[upper], norm[upper])), product[upper]


def _agreement_of_raters(answers: Answers, label: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean share of the other answers to an item that agree with that of each rater, 0 without others."""
    others = np.diff(answers.start)[answers.item] - 1
    share = np.where(others > 0, (counts[answers.item, label] - 1) / np.maximum(others, 1), 0.0)
    size = answers.shape[1]
    number = np.bincount(answers.rater, others > 0, size)
    return np.bincount(answers.rater, share, size) / np.maximum(number, 1)


# --- Checks ---


def _stacked(found: list[Numbers], name: str) -> np.ndarray:
    """Return one of the numbers of all tables, the observed one first."""
    return np.array([getattr(own, name) for own in found])


def _check(name: str, values: np.ndarray, low: str, high: str) -> list[Check]:
    """Return a check of values (table,), or none if they are not finite."""
    return [Check(name, float(values[0]), values[1:], low, high)] if np.isfinite(values).all() else []


def _agreement(answers: Answers, found: list[Numbers]) -> list[Check]:
    """Return the checks of residual correlations: all raters, within each group, and between groups."""
    numbers = {TOGETHER: (AGREE, _stacked(found, "together"))}
    if len(answers.groups) > 1:
        within = _stacked(found, "within")
        for g, name in enumerate(answers.groups):
            numbers[f"residual correlation within {name}"] = f"{name}: {AGREE}", within[:, g]
        meaning = f"raters of different groups: {AGREE}"
        numbers["residual correlation between groups"] = meaning, _stacked(found, "between")
    checks = [own for name, (high, values) in numbers.items() for own in _check(name, values, "", high)]
    return [replace(own, side="upper") for own in checks]


def _sharing(answers: Answers, found: list[Numbers]) -> tuple[list[Check], list[str]]:
    """Return the main check, whether any set of raters shares errors, and the raters of the set with the largest score.

    The statistic is the mean likelihood ratio over sets of raters, a known group or any set of the busiest raters, of which
    one shares errors. The score of a set is the sum of the products of the residuals of its pairs, standardised over all
    tables: the efficient score of a common dependence of its pairs, since all tables are fitted.
    """
    together = _stacked(found, "together")
    within = _stacked(found, "within")[:, [g for g, n in enumerate(_sizes(answers)) if n > 1]]
    size = min(len(answers.chosen), MOST_IN_SETS)
    members, pairs, products = _sets_of(answers, found, size)
    parts = [  # share of the prior probability, values (table, set)
        (KNOWN_SHARE * (len(answers.groups) > 1), within),
        (1.0 * (len(answers.raters) > size or not len(members)), together[:, None]),
        (1.0, products @ pairs.T),
    ]
    parts = [
        (share, values) for share, values in parts if share and values.size and np.isfinite(values).all()
    ]
    if not parts:
        return [], []
    scores = [standard_scores(values[0], values[1:]) for _, values in parts]
    log_share = [np.log(share / values.shape[1]) for share, values in parts]
    terms = [c + DISTANCE * z - DISTANCE**2 / 2 for c, z in zip(log_share, scores, strict=True)]
    ratio = logsumexp(np.concatenate(terms, axis=1), axis=1) - np.log(sum(share for share, _ in parts))
    names, effect, who = list[str](), float(together[0] - together[1:].mean()), "some raters"
    if len(members):
        best = int(scores[-1][0].argmax())
        names = answers.raters[answers.chosen[:size][members[best]]].astype(str).tolist()
        own = _stacked(found, "pairs")[:, _often(answers, size)][:, pairs[best] > 0].mean(axis=1)
        effect, who = float(own[0] - own[1:].mean()), f"the raters {', '.join(names)}"
    high = f"{who} agree beyond what the inferred truth explains, or the others share errors"
    return [Check(SHARE, float(ratio[0]), ratio[1:], high, high, "upper", effect, is_main=True)], names


def _sets_of(answers: Answers, found: list[Numbers], size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all sets of the `size` busiest raters: raters (set, rater), pairs (set, pair), and products (table, pair).

    Only pairs with enough common items count, and sets with such a pair.
    """
    first, second = (own[_often(answers, size)] for own in np.triu_indices(len(answers.chosen), 1))
    members = (np.arange(2**size)[:, None] >> np.arange(size)) & 1 > 0
    members = members[members.sum(axis=1) > 1]
    pairs = members[:, first] & members[:, second]
    some = pairs.any(axis=1)
    products = _stacked(found, "products")[:, _often(answers, size)]
    return members[some], pairs[some].astype(float), products


def _often(answers: Answers, size: int) -> np.ndarray:
    """Return whether both raters of a pair are among the `size` busiest, with enough common items (pair,)."""
    first, second = np.triu_indices(len(answers.chosen), 1)
    return (second < size) & (_common(answers)[first, second] >= FEWEST_COMMON)


def _sizes(answers: Answers) -> np.ndarray:
    """Return the number of raters of each group (group,)."""
    return np.bincount(answers.group, minlength=len(answers.groups))


def _common(answers: Answers) -> np.ndarray:
    """Return the number of items that both of two chosen raters answered (chosen, chosen)."""
    some = (answers.given > 0).astype(float)
    return some.T @ some


def _of_items(answers: Answers, found: list[Numbers]) -> list[Check]:
    """Return the checks of distinct answers and unanimous items, and of gold items."""
    easy = "raters agree more on the answers to an item than the model expects"
    hard = "raters disagree more on the answers to an item than the model expects"
    gold = ("less", "more")
    low, high = (
        f"on gold items the most probable category is right {word} often than the model claims"
        for word in gold
    )
    return [
        *_check("distinct answers by item", _stacked(found, "distinct"), easy, hard),
        *_check("share of unanimous items", _stacked(found, "unanimous"), hard, easy),
        *_check("share of gold items right, less that claimed,", _stacked(found, "right"), low, high),
    ]


def _families(answers: Answers, found: list[Numbers]) -> list[Family]:
    """Return the checks of each category, rater and pair of raters."""
    labels = _stacked(found, "labels")
    totals, by_rater = labels.sum(axis=1), labels.reshape(len(labels), -1)
    text = "the labels are not as frequent as the model says"
    families = [
        Family("totals of the labels", "category", answers.categories.tolist(), totals[0], totals[1:], text)
    ]
    if len(answers.raters) < 2:
        return families
    raters = answers.raters.tolist()
    cells = [f"{rater}, {label}" for rater in raters for label in answers.categories]
    text = "raters give other labels than the model says"
    families.append(Family("labels of each rater", "rater_label", cells, by_rater[0], by_rater[1:], text))
    agreement = _stacked(found, "agreement")
    text = "some raters agree with the others more or less than the model says"
    families.append(
        Family("agreement of each rater with the others", "rater", raters, agreement[0], agreement[1:], text)
    )
    first, second = np.triu_indices(len(answers.chosen), 1)
    often = _common(answers)[first, second] >= FEWEST_COMMON
    pairs = _stacked(found, "pairs")[:, often]
    ids = answers.raters[answers.chosen].astype(str)
    names = [f"{ids[a]}, {ids[b]}" for a, b in zip(first[often], second[often], strict=True)]
    return [*families, Family("pairs of raters", "pair", names, pairs[0], pairs[1:], "", is_judged=False)]
