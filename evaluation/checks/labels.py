"""Checks of labels: errors that raters share, distinct answers, labels and agreement of raters, gold items, and features."""

from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp
from scipy.stats import false_discovery_control, norm

from ...posterior.ordered import ordered_categories
from ..raters.joint_answers import drawn
from .discrepancies import LEVEL, Check, Family, judged, log_mean_ratio, log_ratio_of_some, standard_scores
from .label_laws import (
    OF_ITEMS,
    Answers,
    LabelLaw,
    answers_of,
    has_learnt_population,
    has_matrices_only,
    law_of,
)
from .label_numbers import Numbers, numbers_of_replicates, of_raters_alone
from .sides import FEWEST_COMMON, sides_of

MOST_ANSWERS = 20_000  # that are checked, of items drawn at random
MOST_IN_SETS = 12  # raters of whom every set is tried
REPLICATES_OF_MEAN = 40  # of which a mean is made
KNOWN_SHARE = 1.0  # of the prior probability that a known group shares errors, as that of all sets of raters
COPIED, RATE = 0.2, 0.01  # least excess correlation of two who copy, and false-discovery rate over all pairs
FEWEST_APART = 2  # raters who copy nobody, beside those who do
LARGEST_PART = 1 / 3  # of the raters: in a larger set the others may be those who copy, and the truth theirs
PERMUTED, FEWEST_PERMUTED = 400, 5  # orders of the categories, from a number of categories on
MOST_LATE, FAR = 3, 3.0  # raters that are named, and their least standard score

TOGETHER = "mean residual correlation of two raters"
SHARE = "log likelihood ratio of a set of raters who share errors"
ORDERED = "share of disagreements between neighbouring categories"
SHOWN = "residual correlation of raters with the classifier"
TWINS = "share of items that repeat the answers to another"
FIRST = "agreement with the first answer to an item, less that among later ones,"
LATE = "log likelihood ratio of one label late in the queue of a rater"
TIME = "log likelihood ratio of raters who get better or worse in time"
GOLD = "agreement on gold items, less that on others,"
FEATURES = "curvature of the labels by features"
AGREE = "raters agree beyond what the inferred truth explains: some share errors"


def label_checks(tree: xr.DataTree, by: str | None, replicates: int, rng: np.random.Generator) -> xr.Dataset:
    """Return the checks of the labels of a posterior."""
    answers, *places = answers_of(tree, by, MOST_ANSWERS, rng)
    at = (places[0], places[1], places[2])
    law = law_of(tree, answers, at, replicates, rng, empirical=True)
    found = numbers_of_replicates(answers, law, int(rng.integers(law.draws)), rng)
    if has_matrices_only(tree):
        learnt = has_learnt_population(tree)
        alone = law_of(tree, answers, at, replicates, rng, empirical=learnt, skills=learnt)
        found = of_raters_alone(found, answers, alone, rng)
    checks, families = _agreement(answers, found), _families(answers, found)
    main, sharing = _sharing(answers, found)
    main += _by_features(answers, found.curvature)
    main += [*_ordered(tree, answers, law, rng), *_assisted(answers, found), *_in_time(answers, found)]
    attrs = {"answers": len(answers.item), "sharing_raters": sharing}
    table = judged([*main, *checks, *_of_items(answers, found), *_of_design(answers, found)], families, attrs)
    failed = table["check"].to_numpy()[table["fails"].to_numpy()].astype(str).tolist()
    sets = _alike(answers, found) if SHARE in failed else []
    sides = sides_of(answers, law, rng) if SHARE in failed else []
    largest = LARGEST_PART * len(answers.raters)
    return table.assign_attrs(
        copying=[own for own in sets if len(own) <= largest and not sides],
        copying_or_others=[own for own in sets if len(own) > largest],
        sides=sides,
        assisted_by=_most_shown(table, [f"{SHOWN} {name}" for name in _classifiers(answers)]),
    )


def excess_correlation(tree: xr.DataTree, by: str, rng: np.random.Generator) -> dict[str, float]:
    """Return the residual correlation within each group beyond the mean of its replicates, of groups with a pair of answers."""
    answers, *places = answers_of(tree, by, MOST_ANSWERS, rng)
    law = law_of(tree, answers, (places[0], places[1], places[2]), REPLICATES_OF_MEAN, rng)
    within = numbers_of_replicates(answers, law, 0, rng).within
    excess = within[0] - within[1:].mean(axis=0)
    return {name: float(r) for name, r in zip(answers.groups, excess, strict=True) if np.isfinite(r)}


# --- Checks ---


def _check(name: str, values: np.ndarray, low: str, high: str) -> list[Check]:
    """Return a check of values (table,), or none if they are not finite."""
    return [Check(name, float(values[0]), values[1:], low, high)] if np.isfinite(values).all() else []


def _agreement(answers: Answers, found: Numbers) -> list[Check]:
    """Return the checks of residual correlations: all raters, within each group, and between groups."""
    numbers = {TOGETHER: (AGREE, found.together)}
    if len(answers.groups) > 1:
        within = found.within
        for g, name in enumerate(answers.groups):
            numbers[f"residual correlation within {name}"] = f"{name}: {AGREE}", within[:, g]
        meaning = f"raters of different groups: {AGREE}"
        numbers["residual correlation between groups"] = meaning, found.between
    checks = [own for name, (high, values) in numbers.items() for own in _check(name, values, "", high)]
    return [replace(own, side="upper") for own in checks]


def _sharing(answers: Answers, found: Numbers) -> tuple[list[Check], list[str]]:
    """Return the main check, whether any set of raters shares errors, and the raters of the set with the largest score.

    The statistic is the mean likelihood ratio over sets of raters, a known group or any set of the busiest raters, of which
    one shares errors. The score of a set is the sum of the products of the residuals of its pairs, standardised over all
    tables: the efficient score of a common dependence of its pairs, since all tables are fitted.
    """
    together = found.together
    within = found.within[:, [g for g, n in enumerate(_sizes(answers)) if n > 1]]
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
    terms = [log_mean_ratio(z) + np.log(share) for (share, _), z in zip(parts, scores, strict=True)]
    ratio = logsumexp(terms, axis=0) - np.log(sum(share for share, _ in parts))
    names, effect, who = list[str](), float(together[0] - together[1:].mean()), "some raters"
    if len(members):
        best = int(scores[-1][0].argmax())
        names = answers.raters[answers.chosen[:size][members[best]]].astype(str).tolist()
        own = found.pairs[:, _often(answers, size)][:, pairs[best] > 0].mean(axis=1)
        effect, who = float(own[0] - own[1:].mean()), f"the raters {', '.join(names)}"
    high = f"{who} agree beyond what the inferred truth explains, or the others share errors"
    return [Check(SHARE, float(ratio[0]), ratio[1:], high, high, "upper", effect, is_main=True)], names


def _sets_of(answers: Answers, found: Numbers, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all sets of the `size` busiest raters: raters (set, rater), pairs (set, pair), and products (table, pair).

    Only pairs with enough common items count, and sets with such a pair.
    """
    first, second = (own[_often(answers, size)] for own in np.triu_indices(len(answers.chosen), 1))
    members = (np.arange(2**size)[:, None] >> np.arange(size)) & 1 > 0
    members = members[members.sum(axis=1) > 1]
    pairs = members[:, first] & members[:, second]
    some = pairs.any(axis=1)
    products = found.products[:, _often(answers, size)]
    return members[some], pairs[some].astype(float), products


def _often(answers: Answers, size: int) -> np.ndarray:
    """Return whether both raters of a pair are among the `size` busiest, with enough common items (pair,)."""
    _, second = np.triu_indices(len(answers.chosen), 1)
    return (second < size) & (answers.in_common >= FEWEST_COMMON)


def _sizes(answers: Answers) -> np.ndarray:
    """Return the number of raters of each group (group,)."""
    return np.bincount(answers.group, minlength=len(answers.groups))


def _of_items(answers: Answers, found: Numbers) -> list[Check]:
    """Return the checks of distinct answers and unanimous items, and of gold items."""
    easy = "raters agree more on the answers to an item than the model expects"
    hard = "raters disagree more on the answers to an item than the model expects"
    gold = ("less", "more")
    low, high = (
        f"on gold items the most probable category is right {word} often than the model claims"
        for word in gold
    )
    return [
        *_check("distinct answers by item", found.distinct, easy, hard),
        *_check("share of unanimous items", found.unanimous, hard, easy),
        *_check("share of gold items right, less that claimed,", found.right, low, high),
    ]


def _ordered(tree: xr.DataTree, answers: Answers, law: LabelLaw, rng: np.random.Generator) -> list[Check]:
    """Return the check of whether errors are near the truth on the scale of the categories; none without a scale.

    Replicates have the raters' accuracies, and errors by the shares of the answers. From five categories on, chance
    confusions of neighbours are ruled out too: another order of the categories must not do as well.
    """
    order = ordered_categories(answers.categories)
    if order is None or OF_ITEMS & set(tree["posterior"].data_vars):
        return []
    items, _, n = answers.shape
    place = [order.index(own) for own in answers.categories.tolist()]
    near = np.abs(np.subtract.outer(place, place)) == 1
    share = np.bincount(answers.label, minlength=n) + 1.0

    def numbers(label: np.ndarray) -> np.ndarray:
        """Return the number of disagreements between two categories (category, category)."""
        counts = np.bincount(answers.item * n + label, minlength=items * n).reshape(items, n)
        return (counts.T @ counts) * ~np.eye(n, dtype=bool)

    def replicate(draw: int) -> np.ndarray:
        prevalence, (matrices,) = law.start(range(draw, draw + 1))
        truth = np.where(answers.gold < 0, rng.choice(n, items, p=prevalence[0]), answers.gold)[answers.item]
        wrong = np.where(np.arange(n) == truth[:, None], 0.0, share)
        other = drawn(wrong / wrong.sum(axis=1, keepdims=True), rng)
        return np.where(rng.random(len(truth)) < matrices[answers.rater, truth, truth], truth, other)

    observed = numbers(answers.label)
    value = (observed * near).sum() / max(observed.sum(), 1)
    if n >= FEWEST_PERMUTED:
        orders = (rng.permutation(n) for _ in range(PERMUTED))
        others = [(observed[np.ix_(own, own)] * near).sum() / max(observed.sum(), 1) for own in orders]
        if np.mean(np.array(others) >= value) > LEVEL:
            return []
    replicated = np.array(
        [(own * near).sum() / max(own.sum(), 1) for own in map(numbers, map(replicate, range(law.draws)))]
    )
    text = "errors follow the order of the categories, which this model does not know: use a model of ordered categories"
    return [Check(ORDERED, float(value), replicated, high=text, side="upper", is_main=True)]


def _classifiers(answers: Answers) -> list[str]:
    """Return the names of the raters whose answers are predictions."""
    return answers.raters[list(answers.classifiers)].astype(str).tolist()


def _assisted(answers: Answers, found: Numbers) -> list[Check]:
    """Return a check for each classifier, of whether people agree with it beyond what the truth explains."""
    checks = []
    for name, values in zip(_classifiers(answers), found.classifiers.T, strict=True):
        text = f"people repeat errors of the classifier {name}, as if they had seen its predictions"
        checks += _check(f"{SHOWN} {name}", values, "", text)
    return [replace(own, side="upper", is_main=True) for own in checks]


def _most_shown(table: xr.Dataset, names: list[str]) -> list[str]:
    """Return the classifier whose check fails by most: others seem to be shown as they agree with it where it is right."""
    failed = [name for name in names if name in table["check"] and bool(table["fails"].sel(check=name))]
    most = sorted(failed, key=lambda name: -float(table["effect"].sel(check=name)))
    return [name.removeprefix(f"{SHOWN} ") for name in most[:1]]


def _of_design(answers: Answers, found: Numbers) -> list[Check]:
    """Return the checks of how items were chosen: gold at random, and each item once."""
    low, high = (
        f"raters agree {word} on gold items, which were not drawn at random" for word in ("less", "more")
    )
    twins = "items repeat the answers to others, rater by rater: they may be copies under other ids"
    return [
        *_check(GOLD, found.gold_agreement, low, high),
        *(replace(own, side="upper") for own in _check(TWINS, found.twins, "", twins)),
    ]


def _in_time(answers: Answers, found: Numbers) -> list[Check]:
    """Return the checks of answers in a known order: of repeats of the first one, of a late label, of changing skill."""
    if answers.ordered is None:
        return []
    text = "later answers to an item repeat the first one, as if raters had seen it"
    checks = _check(FIRST, found.first, "", text)
    if found.late.shape[1]:
        scores = standard_scores(found.late[0], found.late[1:])
        far = np.argsort(-scores[0], kind="stable")[:MOST_LATE]
        codes = answers.ordered.queued[[k for k in far if scores[0, k] >= FAR or k == far[0]]]
        who = ", ".join(answers.raters[codes].astype(str))
        high = f"late in their queue raters give one label more often ({who} most), whatever the item"
        checks += _check(LATE, log_mean_ratio(scores), "", high)
        checks += _changes(answers, found.later_skill)
    return [replace(own, side="upper", is_main=True) for own in checks]


def _changes(answers: Answers, later: np.ndarray) -> list[Check]:
    """Return the check of whether raters are right more or less often later in their queues (table, queue)."""
    scores = standard_scores(later[0], later[1:])
    far = np.argsort(-np.abs(scores[0]), kind="stable")[:MOST_LATE]
    far = [k for k in far if abs(scores[0, k]) >= FAR or k == far[0]]
    assert answers.ordered is not None
    codes = answers.ordered.queued[far]
    said = (
        f"{answers.raters[c]} {'better' if scores[0, k] > 0 else 'worse'}"
        for c, k in zip(codes, far, strict=True)
    )
    high = f"raters change in time (later {', '.join(said)}): give the model their times, time=True of dawid_skene or one_coin"
    return _check(TIME, log_ratio_of_some(scores), "", high)


def _alike(answers: Answers, found: Numbers) -> list[list[str]]:
    """Return sets of raters whose pairs stand out by size and by false-discovery rate, if two raters are left."""
    often = answers.in_common >= FEWEST_COMMON
    first, second = (own[often] for own in np.triu_indices(len(answers.chosen), 1))
    pairs = found.pairs[:, often]
    if not pairs.size:
        return []
    excess = pairs[0] - pairs[1:].mean(axis=0)
    rate = false_discovery_control(norm.sf(standard_scores(pairs[0], pairs[1:])[0]))
    people = ~np.isin(answers.chosen, answers.classifiers)
    copies = (
        people[first]
        & people[second]
        & (rate <= RATE)
        & (excess - max(float(np.median(excess)), 0.0) >= COPIED)
    )
    size = len(answers.chosen)
    graph = csr_array((np.ones(copies.sum()), (first[copies], second[copies])), (size, size))
    _, member = connected_components(graph, directed=False)
    sets = [np.flatnonzero(member == own) for own in np.unique(member)]
    sets = [own for own in sets if len(own) > 1]
    if len(answers.raters) - sum(map(len, sets)) < FEWEST_APART:
        return []
    return [answers.raters[answers.chosen[own]].astype(str).tolist() for own in sets]


def _by_features(answers: Answers, curvature: np.ndarray) -> list[Check]:
    """Return the check of contrasts by features (table, feature, category); none without features.

    It is their mean squared score, weighted by the squared effects, which nearly do not depend on contrasts of a curve.
    """
    if answers.by_features is None:
        return []
    weight = answers.by_features.weight
    scores = (standard_scores(curvature[0], curvature[1:]) ** 2 * weight).sum(axis=(1, 2))
    scores /= max(weight.sum(), np.finfo(float).tiny)
    high = (
        "the labels do not follow the features as the model says, whose certainties and worth of the features may be too high "
        "(add squares of the features, or leave them out)"
    )
    return [Check(FEATURES, float(scores[0]), scores[1:], high=high, side="upper", is_main=True)]


def _families(answers: Answers, found: Numbers) -> list[Family]:
    """Return the checks of each category, rater and pair of raters."""
    labels = found.labels
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
    families.append(
        Family("labels of each rater", "rater_label", cells, by_rater[0], by_rater[1:], text, of_one=True)
    )
    agreement = found.agreement
    text = "some raters agree with the others more or less than the model says"
    name = "agreement of each rater with the others"
    families.append(Family(name, "rater", raters, agreement[0], agreement[1:], text, of_one=True))
    first, second = np.triu_indices(len(answers.chosen), 1)
    often = answers.in_common >= FEWEST_COMMON
    pairs = found.pairs[:, often]
    ids = answers.raters[answers.chosen].astype(str)
    names = [f"{ids[a]}, {ids[b]}" for a, b in zip(first[often], second[often], strict=True)]
    return [*families, Family("pairs of raters", "pair", names, pairs[0], pairs[1:], "", is_judged=False)]
