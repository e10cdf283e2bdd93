"""Laws by which replicates of labels are drawn: the answers of a tree, and replicates of them at draws of its posterior."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from ...posterior.errors import EvaluationError
from ...posterior.prior_of_items import effect_on_categories, features_of, given_features
from ...posterior.schema import SAMPLE, SKILL, classifiers_of, posterior_with_attributes
from ..raters.joint_answers import copied_groups, drawn
from .discrepancies import check_number
from .order import Ordered
from .population import Population, population_of

MOST_IN_PAIRS = 24  # raters whose pairs are compared: those with the most answers
DRAWS_OF_MEAN = 20  # of which the mean matrix of all raters is made
PSEUDO_COUNTS = 4.0  # of that matrix, in each row of the matrix of a rater
CURVATURE = np.array(
    [2.0, -1.0, -2.0, -1.0, 2.0]
)  # contrast of fifths of the items, in the order of a feature
MOST_FEATURES = 50  # whose curvature is checked: those with the largest effects
TINY = 1e-9  # smallest probability; storage may have rounded one to 0
OF_ITEMS = {"expected_difficulty", "expected_effect", "expected_location"}  # mean effects of the items
REMEDY = "add replicates with inference.predict, which draws them by the model"


@dataclass(frozen=True)
class Answers:
    """Answers sorted by item, then by the group of the rater, then by the rater; every item has one."""

    item: np.ndarray  # (answer,)
    rater: np.ndarray  # (answer,); 0 if anonymous
    label: np.ndarray  # (answer,)
    gold: np.ndarray  # (item,), -1 if unknown
    raters: np.ndarray  # ids (rater,); empty if anonymous
    categories: np.ndarray  # names (category,)
    group: np.ndarray  # code of the group of each rater (rater,)
    groups: list[str]  # names; one if the raters have no attribute
    by_features: "ByFeatures | None" = None
    classifiers: tuple[int, ...] = ()  # raters whose answers are predictions
    order: np.ndarray = field(
        default_factory=lambda: np.array([], int)
    )  # place in time (answer,), 0 if unknown; or none

    @cached_property
    def ordered(self) -> Ordered | None:
        """The answers in the order in which they were given; None if it is unknown."""
        return Ordered(self, self.order) if self.order.any() else None

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of items, raters and categories."""
        return len(self.gold), max(len(self.raters), 1), len(self.categories)

    @cached_property
    def population(self) -> Population:
        """The raters as one population, by empirical Bayes."""
        return population_of(self.item, self.rater, self.label, self.gold, self.shape)

    @cached_property
    def start(self) -> np.ndarray:
        """First answer of each item, and their number (item + 1,)."""
        return np.searchsorted(self.item, np.arange(len(self.gold) + 1))

    @cached_property
    def several(self) -> np.ndarray:
        """Whether an item has two answers or more (item,)."""
        return np.diff(self.start) > 1

    @cached_property
    def first_of_opinion(self) -> np.ndarray:
        """First answer of each opinion, the answers of one rater to one item (opinion,)."""
        return np.flatnonzero(np.diff(self.item.astype(np.int64) * self.shape[1] + self.rater, prepend=-1))

    @cached_property
    def first_of_cell(self) -> np.ndarray:
        """First opinion of each cell, the opinions of one group on one item (cell,)."""
        first = self.first_of_opinion
        key = self.item[first].astype(np.int64) * len(self.groups) + self.group[self.rater[first]]
        return np.flatnonzero(np.diff(key, prepend=-1))

    @cached_property
    def opinion(self) -> np.ndarray:
        """Opinion of each answer (answer,)."""
        begins = np.zeros(len(self.item), np.int64)
        begins[self.first_of_opinion] = 1
        return np.cumsum(begins) - 1

    @cached_property
    def chosen(self) -> np.ndarray:
        """Raters whose pairs are compared, those with the most answers first (chosen,); none if anonymous."""
        given = np.bincount(self.rater, minlength=self.shape[1])
        return np.argsort(-given, kind="stable")[: MOST_IN_PAIRS * (len(self.raters) > 1)]

    @cached_property
    def cells(self) -> "Cells":
        """The opinions of one group on one item; anonymous answers are each an opinion of its own, of one group."""
        if len(self.raters):
            first, first_of_cell = self.first_of_opinion, self.first_of_cell
        else:
            first, first_of_cell = np.arange(len(self.item)), self.start[:-1]
        repeats = np.diff(first, append=len(self.item))
        begins, start = np.append(first_of_cell, len(first)), np.append(first[first_of_cell], len(self.item))
        item, shape = self.item[start[:-1]], (len(first_of_cell), self.shape[1])
        given, twice = (
            csr_array((power.astype(float), self.rater[first], begins), shape=shape)
            for power in (repeats, repeats**2)
        )
        group = self.group[self.rater[start[:-1]]]
        groups = csr_array(
            (np.ones(len(group)), (group, np.arange(len(group)))), (len(self.groups), len(group))
        )
        return Cells(
            item,
            np.flatnonzero(np.diff(item, prepend=-1)),
            start,
            np.repeat(np.arange(len(item)), np.diff(start)),
            np.repeat(repeats, repeats).astype(float),
            given,
            twice,
            groups,
        )

    @cached_property
    def common(self) -> tuple["Common", "Common"]:
        """Opinions of the first rater of a pair on an item with answers of the second, of chosen raters; and turned."""
        place = np.full(self.shape[1], -1)
        place[self.chosen] = np.arange(len(self.chosen))
        own = place[self.rater[self.first_of_opinion]]
        opinions, answers = np.flatnonzero(own >= 0), np.flatnonzero(place[self.rater] >= 0)
        items = np.arange(len(self.gold) + 1)
        begins = np.searchsorted(self.item[self.first_of_opinion[opinions]], items)
        number = np.diff(begins)[self.item[answers]]
        answer = np.repeat(answers, number)
        before = np.repeat(np.cumsum(number) - number, number)
        opinion = opinions[begins[self.item[answer]] + np.arange(len(answer)) - before]
        k, other = own[opinion], place[self.rater[answer]]
        repeats = np.diff(self.first_of_opinion, append=len(self.item))
        pair = np.zeros((len(self.chosen),) * 2, np.int32)
        upper = np.triu_indices(len(self.chosen), 1)
        pair[upper] = pair.T[upper] = np.arange(len(upper[0]))

        def of(some: np.ndarray) -> Common:
            start = np.searchsorted(self.item[answer[some]], items).astype(np.int32)
            return Common(
                answer[some],
                opinion[some],
                self.first_of_opinion[opinion[some]],
                repeats[opinion[some]].astype(float),
                pair[k[some], other[some]],
                start,
            )

        return of(k < other), of(k > other)

    @cached_property
    def of_pair(self) -> csr_array:
        """Whether an opinion of the first rater of a pair with an answer of the second is of the pair (pair, common)."""
        pair = self.common[0].pair
        return csr_array((np.ones(len(pair)), (pair, np.arange(len(pair)))), (len(self.in_common), len(pair)))

    @cached_property
    def in_common(self) -> np.ndarray:
        """Number of items that both raters of a pair of chosen ones answered (pair,)."""
        own, items = self.common[0], len(self.gold)
        cell = np.unique(own.pair.astype(np.int64) * items + self.item[own.answer])
        return np.bincount(cell // items, minlength=len(self.chosen) * (len(self.chosen) - 1) // 2)


class Cells(NamedTuple):
    """The opinions of one group of raters on one item, sorted by item."""

    item: np.ndarray  # (cell,)
    first_of_item: np.ndarray  # first cell of each item (item,)
    start: np.ndarray  # first answer of each, and their number (cell + 1,)
    of_answer: np.ndarray  # cell of each answer (answer,)
    repeats: np.ndarray  # number of answers of the opinion of each answer (answer,)
    given: csr_array  # number of answers of each rater (cell, rater)
    given_twice: csr_array  # its square
    groups: csr_array  # whether the cell is of the group (group, cell)


class Common(NamedTuple):
    """Opinions of a chosen rater on items, each with an answer of another one, sorted by item."""

    answer: np.ndarray  # (common,)
    opinion: np.ndarray  # (common,)
    first: np.ndarray  # first answer of the opinion (common,)
    repeats: np.ndarray  # number of answers of the opinion (common,)
    pair: np.ndarray  # code of the two in the order of np.triu_indices (common,)
    start: np.ndarray  # first of each item, and their number (item + 1,)


class ByFeatures(NamedTuple):
    """Contrasts of the items by features, and how much each counts.

    In ascending order of a feature the items are in five parts, about equally many in each and those of the same value in one.
    The contrast weighs the outer and the middle parts against the others, so that it is of a curve.
    """

    contrast: np.ndarray  # (item, feature)
    weight: np.ndarray  # squared mean effects (feature, category)


Prior = Callable[[int], np.ndarray]  # at a draw: p(true category) of every item (item, category)
Replicate = Callable[[range, np.random.Generator], np.ndarray]
Start = Callable[[range], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class LabelLaw:
    """Replicates of answers at draws of the posterior, and where the fit of each begins."""

    replicate: Replicate  # at draws: labels (table, answer)
    start: Start  # at draws: prevalence (table, category), matrices (table, rater, category, answer)
    draws: int
    prior: np.ndarray  # pseudo-counts of the matrix of every rater (category, answer)


def answers_of(
    tree: xr.DataTree, by: str | None, most: int, rng: np.random.Generator
) -> tuple[Answers, np.ndarray, np.ndarray, np.ndarray]:
    """Return the answers of items drawn at random, up to a number of answers, and their places in the tree.

    The places are those of the answers, of the items and of the raters.
    """
    label = tree["observed_data"]["observed_label"]
    constants = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if label.dims != ("annotation",) or not {"annotation_item", "annotation_rater"} <= set(constants):
        raise EvaluationError(
            "model_checks: the tree has counts of labels, whose plausibilities can fit any table; it checks models whose truth "
            "is one category for each item, such as dawid_skene, with the item and rater of every answer in constant_data"
        )
    item, rater = (
        constants[f"annotation_{name}"].to_numpy().astype(np.int64, copy=False) for name in ("item", "rater")
    )
    plausibility = tree["posterior"]["plausibility"]
    items = _kept_items(item, plausibility.sizes["item"], most, rng)
    kept = np.flatnonzero(items[item])
    ids, group, groups = raters_of(posterior_with_attributes(tree), by)
    anonymous = not len(ids) or bool((rater[kept] < 0).any())
    own = np.zeros(1, np.int64) if anonymous else np.unique(rater[kept])
    group, groups = (np.zeros(1, np.int64), [""]) if anonymous else (group[own], groups)
    code = np.zeros(len(kept), np.int64) if anonymous else np.searchsorted(own, rater[kept])
    place = np.flatnonzero(items)
    order = np.lexsort((code, group[code], item[kept]))
    kept = kept[order]
    gold = constants["gold"].to_numpy()[place] if "gold" in constants else np.full(len(place), -1)
    answers = Answers(
        np.searchsorted(place, item[kept]),
        code[order],
        label.to_numpy()[kept].astype(np.int64),
        gold.astype(np.int64),
        ids[:0] if anonymous else ids[own],
        plausibility["category"].to_numpy().astype(str),
        group,
        groups,
        _by_features(tree, place),
        () if anonymous else _classifiers(tree, ids[own]),
        constants["annotation_order"].to_numpy()[kept]
        if "annotation_order" in constants
        else np.array([], int),
    )
    return answers, kept, place, own


def _classifiers(tree: xr.DataTree, raters: np.ndarray) -> tuple[int, ...]:
    """Return the codes of the raters whose answers are predictions; none if all are."""
    machines = classifiers_of(posterior_with_attributes(tree))
    codes = [code for code, name in enumerate(raters.tolist()) if name in machines]
    return tuple(codes) if len(codes) < len(raters) else ()


def _by_features(tree: xr.DataTree, items: np.ndarray) -> ByFeatures | None:
    """Return the contrasts of the features with the largest effects; None without features."""
    effect = effect_on_categories(tree)
    if effect is None:
        return None
    square = effect.mean(SAMPLE).transpose("feature", "category").to_numpy().astype(float) ** 2
    largest, contrast = curves(features_of(tree)[items], square.sum(axis=1))
    return ByFeatures(contrast, square[largest])


def curves(features: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the features (item, feature) of the largest effects, by their size (feature,), and their contrasts of a curve."""
    largest = np.sort(np.argsort(-size, kind="stable")[:MOST_FEATURES])
    ranks = np.stack([np.searchsorted(np.sort(own), own) for own in features[:, largest].T], axis=1)
    return largest, CURVATURE[ranks * len(CURVATURE) // len(features)]


def _kept_items(item: np.ndarray, items: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of the answered items, or of items drawn at random with about `most` answers together (item,)."""
    number = np.bincount(item, minlength=items)
    if len(item) <= most:
        return number > 0
    order = rng.permutation(items)
    kept = np.zeros(items, bool)
    kept[order[: np.searchsorted(np.cumsum(number[order]), most) + 1]] = True
    return kept & (number > 0)


def raters_of(posterior: xr.Dataset, by: str | None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return ids of the raters, the code of the group of each, and the names of the groups."""
    if "rater" not in posterior.dims:
        return np.array([], str), np.array([], np.int64), [""]
    ids = posterior["rater"].to_numpy()
    along = {str(k): c.to_numpy().astype(str) for k, c in posterior.coords.items() if c.dims == ("rater",)}
    of_raters = {k: c for k, c in along.items() if k != "rater" and not k.startswith("rater_")}
    if by is None:
        several = (c for c in of_raters.values() if 1 < len(np.unique(c)) < len(c))
        names = next(several, np.full(len(ids), ""))
    elif by in along or f"rater_{by}" in along:
        names = along.get(by, along.get(f"rater_{by}", ids))
    else:
        known = ", ".join(map(repr, of_raters)) or "none"
        raise EvaluationError(f"by={by!r} is no coordinate along rater; there are: {known}")
    groups, code = np.unique(names, return_inverse=True)
    return ids, code.astype(np.int64), groups.tolist()


def law_of(
    tree: xr.DataTree,
    answers: Answers,
    places: tuple[np.ndarray, np.ndarray, np.ndarray],
    replicates: int,
    rng: np.random.Generator,
    *,
    empirical: bool = False,
    skills: bool = False,
) -> LabelLaw:
    """Return the law of replicates; `places` are those of answers, items and raters in the tree.

    Empirical: matrices are not those of the posterior but drawn by empirical Bayes, if the model has nothing beyond matrices;
    with `skills` raters have unequal ones.
    """
    posterior, predictive = posterior_with_attributes(tree), _predictive_of(tree)
    source = posterior if predictive is None else predictive
    size = source.sizes["chain"], source.sizes["draw"]
    if predictive is not None:
        check_number(size[0] * size[1])
        replicates = min(replicates, size[0] * size[1])
    at = zip(*np.unravel_index(np.resize(rng.permutation(size[0] * size[1]), replicates), size), strict=True)
    points = [{"chain": int(chain), "draw": int(draw)} for chain, draw in at]
    own = _points_of_posterior(posterior, predictive, points)
    prior = _prior_by_responses(tree, places[1], own, _prior_by_features(tree, places[1], own))
    raters_prior = None
    if empirical and has_matrices_only(tree):
        start, raters_prior = _start_of_population(answers, int(rng.integers(2**62)), skills)
    else:
        start = _start_of(posterior, answers, places, own, rng)
    if prior is not None:
        start = _with_shares(start, prior)
    if predictive is None:
        window = (
            tree["constant_data"]["annotation_window"].to_numpy()[places[0]] if SKILL in posterior else None
        )
        replicate = _law_of_confusion(
            posterior, answers, places[2], points, start, prior=prior, window=window
        )
    else:
        replicate = _given_replicates(predictive, places[0], points)
    if raters_prior is not None:
        return LabelLaw(replicate, start, len(points), raters_prior)
    share = np.bincount(answers.rater, minlength=answers.shape[1]) / len(answers.item)
    several = range(min(len(points), DRAWS_OF_MEAN))
    mean = np.mean([np.tensordot(share, own, 1) for own in start(several)[1]], axis=0)
    return LabelLaw(replicate, start, len(points), PSEUDO_COUNTS * mean)


def has_matrices_only(tree: xr.DataTree) -> bool:
    """Return whether the answers of a model follow from prevalence and matrices of raters alone, and have no replicates yet."""
    further = OF_ITEMS | {"guess", "subtype_confusion", "membership", SKILL}
    return _predictive_of(tree) is None and not further & set(tree["posterior"].data_vars)


def has_learnt_population(tree: xr.DataTree) -> bool:
    """Return whether level and strength of the matrices of raters are learnt by the model."""
    return "population_skill" in tree["posterior"].data_vars


def _start_of_population(answers: Answers, seed: int, skills: bool) -> tuple[Start, np.ndarray]:
    """Return draws of prevalence and matrices by empirical Bayes, and pseudo-counts of the matrix of every rater."""
    found = answers.population

    @lru_cache(maxsize=1)
    def start(draws: range) -> tuple[np.ndarray, np.ndarray]:
        prevalence, law = zip(*(of_draw(np.random.default_rng([seed, own])) for own in draws), strict=True)
        return _normalised(np.stack(prevalence)), _normalised(np.stack(law))

    def of_draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        _, raters, n = answers.shape
        truth = drawn(found.weight, rng)
        cell = (answers.rater * n + truth[answers.item]) * n + answers.label
        counts = np.bincount(cell, minlength=raters * n * n).reshape(raters, n, n)
        matrices = found.matrices(counts, rng, skills=skills) + TINY
        return rng.dirichlet(np.bincount(truth, minlength=n) + 1.0), matrices

    return start, found.strength * found.mean


def _prior_by_features(tree: xr.DataTree, items: np.ndarray, points: list[dict[str, int]]) -> Prior | None:
    """Return the prior of the items given their features as a function of the draw; None without features."""
    effect, posterior = effect_on_categories(tree), tree["posterior"].to_dataset()
    if effect is None or "prevalence" not in posterior:
        return None
    values = features_of(tree)[items]
    effect = effect.transpose(*SAMPLE, "feature", "category")
    prevalence = posterior["prevalence"].transpose(*SAMPLE, "category")

    def prior(draw: int) -> np.ndarray:
        at = points[draw]
        return given_features(prevalence.isel(at).to_numpy(), values, effect.isel(at).to_numpy())

    return prior


def _prior_by_responses(
    tree: xr.DataTree, items: np.ndarray, points: list[dict[str, int]], before: Prior | None
) -> Prior | None:
    """Return p(true category | who gave an answer) of the items as a function of the draw; `before` without responses."""
    posterior = tree["posterior"].to_dataset()
    if not {"response_rate", "prevalence"} <= set(posterior):
        return before
    constant = tree["constant_data"]
    item, rater = (constant[f"request_{name}"].to_numpy() for name in ("item", "rater"))
    place = np.full(int(max(item.max(), items.max())) + 1, -1)
    place[items] = np.arange(len(items))
    own = place[item] >= 0
    code = rater[own], slice(None), tree["observed_data"]["observed_response"].to_numpy()[own]
    rate = posterior["response_rate"].transpose(*SAMPLE, "rater", "category", "response")

    def prior(draw: int) -> np.ndarray:
        at = points[draw]
        first = posterior["prevalence"].isel(at).to_numpy() if before is None else before(draw)
        log_p = np.log(np.maximum(np.broadcast_to(first, (len(items), rate.sizes["category"])), TINY))
        np.add.at(log_p, place[item[own]], np.log(np.maximum(rate.isel(at).to_numpy(), TINY))[code])
        p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    return prior


def _with_shares(start: Start, prior: Prior) -> Start:
    """Return where fits begin, with the shares of the categories among the items in place of the prevalence."""

    @lru_cache(maxsize=1)
    def with_shares(draws: range) -> tuple[np.ndarray, np.ndarray]:
        return _normalised(np.stack([prior(draw).mean(axis=0) for draw in draws])), start(draws)[1]

    return with_shares


def _given_replicates(predictive: xr.DataArray, kept: np.ndarray, points: list[dict[str, int]]) -> Replicate:
    """Return replicates that the tree has, of the answers that are checked."""

    def replicate(draws: range, _: np.random.Generator) -> np.ndarray:
        return np.stack([predictive.isel(points[draw]).to_numpy()[kept] for draw in draws]).astype(np.int64)

    return replicate


def _law_of_confusion(
    posterior: xr.Dataset,
    answers: Answers,
    raters: np.ndarray,
    points: list[dict[str, int]],
    start: Start,
    *,
    prior: Prior | None,
    window: np.ndarray | None,
) -> Replicate:
    """Return replicates by prevalence, or the prior of every item, and confusion matrices, or the guesses of groups.

    The truth of gold items is known; `window` is that of each answer, of raters who change.
    """
    if OF_ITEMS & set(posterior.data_vars):
        raise EvaluationError(
            "model_checks: each item of this model has an effect of its own, so that its answers cannot be drawn by the "
            f"confusion matrices alone: {REMEDY}"
        )
    given_truth = None
    if "guess" in posterior:
        given_truth = _guess_law(posterior, answers, raters, points)
    elif "subtype_confusion" in posterior:
        given_truth = _subtype_law(posterior, answers, raters, points)
    elif "membership" in posterior:
        given_truth = _population_law(posterior, answers, raters, points)
    elif window is not None:
        given_truth = _skill_law(posterior, answers, raters, points, window)

    def replicate(draws: range, rng: np.random.Generator) -> np.ndarray:
        laws = zip(draws, *start(draws), strict=True)
        return np.stack([of_draw(draw, prevalence, matrices, rng) for draw, prevalence, matrices in laws])

    def of_draw(
        draw: int, prevalence: np.ndarray, confusion: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        items = answers.shape[0]
        if prior is None:
            truth = _drawn_by(prevalence[None], np.zeros(items, np.int64), rng)
        else:
            truth = _drawn_by(prior(draw), np.arange(items), rng)
        truth = np.where(answers.gold < 0, truth, answers.gold)
        if given_truth is not None:
            return given_truth(draw, truth, rng)
        n = answers.shape[2]
        return _drawn_by(confusion.reshape(-1, n), answers.rater * n + truth[answers.item], rng)

    return replicate


def _drawn_by(law: np.ndarray, row: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a code by one of the laws (row, code) for each of many rows: as `drawn` of ``law[row]``, and faster."""
    edges = np.cumsum(law, axis=1)
    u = rng.random(len(row)) * edges[row, -1]
    code = np.zeros(len(row), np.int64)
    for edge in edges.T[:-1]:
        code += edge[row] <= u
    return code


def _predictive_of(tree: xr.DataTree) -> xr.DataArray | None:
    """Return the replicates that a tree has, if any."""
    if "posterior_predictive" not in tree.children:
        return None
    return tree["posterior_predictive"].to_dataset().get("observed_label")


def _points_of_posterior(
    posterior: xr.Dataset, predictive: xr.DataArray | None, points: list[dict[str, int]]
) -> list[dict[str, int]]:
    """Return the places in the posterior of draws that are given by their places in thinned replicates."""
    if predictive is None or not all(dim in own.coords for dim in SAMPLE for own in (posterior, predictive)):
        return [{d: point[d] % posterior.sizes[d] for d in SAMPLE} for point in points]
    place = {d: posterior.get_index(d).get_indexer(predictive.get_index(d)) for d in SAMPLE}
    return [{d: int(max(place[d][point[d]], 0)) for d in SAMPLE} for point in points]


def _start_of(
    posterior: xr.Dataset,
    answers: Answers,
    places: tuple[np.ndarray, np.ndarray, np.ndarray],
    points: list[dict[str, int]],
    rng: np.random.Generator,
) -> Start:
    """Return prevalence and confusion matrices (rater, category, answer) as a function of the draw.

    By the posterior, or else drawn given the labels that the raters gave to items of each category, by the plausibility.
    """
    if not {"prevalence", "confusion"} <= set(posterior.data_vars):
        return _drawn_from_plausibility(posterior["plausibility"], answers, places[1], points, rng)
    chosen = {d: xr.DataArray([point[d] for point in points], dims="point") for d in SAMPLE}
    prevalence = posterior["prevalence"].isel(chosen).transpose("point", "category").to_numpy()
    confusion = posterior["confusion"].isel(chosen).transpose("point", ..., "category", "answer")
    if "rater" in confusion.dims:
        confusion = confusion.isel(rater=places[2])
    matrices = confusion.to_numpy().reshape(len(points), -1, *confusion.shape[-2:])

    @lru_cache(maxsize=1)
    def start(draws: range) -> tuple[np.ndarray, np.ndarray]:
        law = _normalised(matrices[draws.start : draws.stop])
        shape = len(draws), answers.shape[1], *law.shape[2:]
        return _normalised(prevalence[draws.start : draws.stop]), np.broadcast_to(law, shape)

    return start


def _drawn_from_plausibility(
    plausibility: xr.DataArray,
    answers: Answers,
    items: np.ndarray,
    points: list[dict[str, int]],
    rng: np.random.Generator,
) -> Start:
    """Return draws of prevalence and matrices given the plausibility of each draw, from Dirichlet laws."""
    _, raters, n = answers.shape
    seed = int(rng.integers(2**62))
    draws = plausibility.transpose(*SAMPLE, "item", "category")

    @lru_cache(maxsize=1)
    def start(draws: range) -> tuple[np.ndarray, np.ndarray]:
        prevalence, law = zip(*map(of_draw, draws), strict=True)
        return np.stack(prevalence), np.stack(law)

    def of_draw(draw: int) -> tuple[np.ndarray, np.ndarray]:
        own = np.random.default_rng([seed, draw])
        weight = draws.isel(points[draw]).isel(item=items).to_numpy().astype(float)
        counts = np.zeros((raters, n, n))
        np.add.at(counts.swapaxes(1, 2), (answers.rater, answers.label), weight[answers.item])
        mean = _normalised(counts.sum(axis=0) + 1 / n)
        return own.dirichlet(weight.sum(axis=0) + 1), _normalised(
            own.standard_gamma(counts + PSEUDO_COUNTS * mean)
        )

    return start


def _guess_law(
    posterior: xr.Dataset, answers: Answers, raters: np.ndarray, points: list[dict[str, int]]
) -> Callable[[int, np.ndarray, np.random.Generator], np.ndarray]:
    """Return the law of answers that copy the guess of a group: a function of draw, truth (item,) and generator."""
    group = copied_groups(posterior)[raters]
    place = posterior.get_index("copier").get_indexer(posterior["rater"].to_numpy()[raters])
    own, guess = (
        posterior[name].transpose(*SAMPLE, ..., "category", "answer") for name in ("own_confusion", "guess")
    )
    shared = posterior["shared"].transpose(*SAMPLE, "copier")

    def replicate(draw: int, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        told = np.stack(
            [drawn(own_law[truth], rng) for own_law in _normalised(guess.isel(points[draw]).to_numpy())]
        )
        often = np.where(place < 0, 0.0, shared.isel(points[draw]).to_numpy()[place])
        law = _normalised(own.isel(points[draw]).isel(rater=raters).to_numpy())
        alone = drawn(law[answers.rater, truth[answers.item]], rng)
        copies = rng.random(len(alone)) < often[answers.rater]
        return np.where(copies, told[np.maximum(group, 0)[answers.rater], answers.item], alone)

    return replicate


def _skill_law(
    posterior: xr.Dataset,
    answers: Answers,
    raters: np.ndarray,
    points: list[dict[str, int]],
    window: np.ndarray,
) -> Callable[[int, np.ndarray, np.random.Generator], np.ndarray]:
    """Return the law of answers of raters whose skill changes: a function of draw, truth (item,) and generator."""
    skill = posterior[SKILL].transpose(*SAMPLE, "rater", "window", ...)
    confusion = posterior["confusion"].transpose(*SAMPLE, "rater", "category", "answer")
    n = answers.shape[2]

    def replicate(draw: int, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        own = skill.isel(points[draw]).isel(rater=raters).to_numpy()
        true = truth[answers.item]
        right = own[answers.rater, window]
        right = right if right.ndim == 1 else right[np.arange(len(true)), true]
        wrong = (confusion.isel(points[draw]).isel(rater=raters).to_numpy() + TINY) * (1 - np.eye(n))
        other = _drawn_by(wrong.reshape(-1, n), answers.rater * n + true, rng)
        return np.where(rng.random(len(true)) < right, true, other)

    return replicate


def _subtype_law(
    posterior: xr.Dataset, answers: Answers, raters: np.ndarray, points: list[dict[str, int]]
) -> Callable[[int, np.ndarray, np.random.Generator], np.ndarray]:
    """Return the law of answers by the subtype of an item: a function of draw, truth (item,) and generator."""
    weight = posterior["subtype_weight"].transpose(*SAMPLE, "category", "subtype")
    confusion = posterior["subtype_confusion"].transpose(*SAMPLE, "rater", "category", "subtype", "answer")

    def replicate(draw: int, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        subtype = drawn(_normalised(weight.isel(points[draw]).to_numpy())[truth], rng)
        law = _normalised(confusion.isel(points[draw]).isel(rater=raters).to_numpy())
        return drawn(law[answers.rater, truth[answers.item], subtype[answers.item]], rng)

    return replicate


def _population_law(
    posterior: xr.Dataset, answers: Answers, raters: np.ndarray, points: list[dict[str, int]]
) -> Callable[[int, np.ndarray, np.random.Generator], np.ndarray]:
    """Return the law of answers by the truths of all populations: a function of draw, truth (item,) and generator."""
    joint = posterior["joint_prevalence"].transpose(*SAMPLE, "truths")
    member, ability = (posterior[name].transpose(*SAMPLE, "rater") for name in ("membership", "ability"))
    n, populations = answers.shape[2], posterior.sizes["population"]

    def replicate(draw: int, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        at = points[draw]
        others = _normalised(joint.isel(at).to_numpy().reshape(n, -1))
        cell = truth * others.shape[1] + _drawn_by(others, truth, rng)
        each = np.stack(np.unravel_index(cell, (n,) * populations))
        own = each[member.isel(at).to_numpy()[raters][answers.rater], answers.item]
        is_right = rng.random(len(own)) < ability.isel(at).to_numpy()[raters][answers.rater]
        return np.where(is_right, own, (own + rng.integers(1, n, len(own))) % n)

    return replicate


def _normalised(law: np.ndarray) -> np.ndarray:
    """Return probabilities that are not 0 and sum to one; stored in single precision they may not."""
    law = np.maximum(law.astype(float), TINY)
    return law / law.sum(axis=-1, keepdims=True)
