"""Conformal prediction sets for test items when the true labels of the calibration items are uncertain.

n calibration items with m labels each have scores S_ij, larger = more conforming; N(s) counts the S_ij <= s.
A label of a new item with score s has m conformal p-values, one for each j, whose average is

    p(s) = (m + N(s)) / (m (n + 1)),                                                                       (1)

and it is in the set if p(s) > alpha = 1 - coverage: if s is at least the k-th smallest of the n m scores,

    k = floor(alpha m (n + 1)) - m + 1.                                                                    (2)

Every label is in the set if k < 1, i.e. n < 1 / alpha - 1 for any m. m = 1 is split conformal prediction.

**Coverage.** An average of p-values is a p-value up to a factor of two (Vovk and Wang), hence the 1 - 2 alpha
of the paper for m > 1. Here a stronger statement holds: p(s) is at least the rank of s (ties: the largest)
among the m (n + 1) scores of all items, the new one with m labels too, over m (n + 1). Items are exchangeable
and so are the labels within one; therefore s is each of these scores with the same probability, and
P(p <= alpha) <= alpha (the argument of Lee, Barber and Willett for repeated measurements).

**ECDF correction.** The first half A of the items gives p of (1), the second half B, of n_B items with one
label each, its distribution:

    q(s) = (1 + number of i in B with p(S_i) <= p(s)) / (n_B + 1),    in the set if q(s) > alpha.            (3)

Given A, the p of B and of the new item are exchangeable, so that coverage is again at least 1 - alpha. p is a
step function of s: this is split conformal prediction on B, its threshold rounded down to a score of A.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal, get_args

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.matching import ROUNDING, ids_of, places_of, with_complement
from ...posterior.plausibility import REMEDY, Plausibility, generator_of
from ...posterior.schema import OTHER
from ...posterior.top_labels import OtherAs, treatment_of_other
from ..argument_checks import check_probability, check_whole


@dataclass(frozen=True)
class LabelMass:
    """Plausibility of every label of every item, the members of OTHER sharing its mass evenly."""

    view: Plausibility
    other: OtherAs  # split or exclude; if excluded, the other labels are normalised
    column: np.ndarray  # (cell,), column of scores, -1 for OTHER
    n_columns: int

    @classmethod
    def of(cls, tree: xr.DataTree | xr.DataArray, names: list[str], other: OtherAs | None) -> "LabelMass":
        """Read a posterior over the categories of the scores, or raise if the categories do not match."""
        view = Plausibility.of(tree)
        other = treatment_of_other(view, other)
        if other == "label":
            raise EvaluationError(f'other="label": sets contain categories, and {OTHER} is not a category')
        if OTHER in names and "candidate" in view.array.dims:
            raise EvaluationError(f"scores name {OTHER}, a set of categories; score its members")
        if view.declared is not None:
            known = set(view.declared.tolist())
            unknown = [name for name in names if name not in known]
            if unknown:
                raise EvaluationError(
                    f"scores: category {unknown[0]!r} is not among the posterior's {len(view.declared)}; correct the spelling"
                )
        view = view.with_categories(names)
        place = {name: i for i, name in enumerate(names)}
        lacking = [name for name in view.categories.tolist() if name not in place]
        if lacking:
            raise EvaluationError(
                f"scores lack category {lacking[0]!r} of the posterior; score it, -inf if it is never to be in a set"
            )
        declared = view.declared_count() or 0
        if other == "split" and declared > len(names):
            raise EvaluationError(
                f"scores have {len(names)} of {declared} declared categories, and {OTHER} stands for the rest: "
                'score them all, or leave it out by other="exclude"'
            )
        columns = np.array([*(place[name] for name in view.categories.tolist()), -1])
        return cls(view, other, columns[view.code], len(names))

    def mean(self) -> np.ndarray:
        """Posterior mean mass of every label (item, column); raise if NaN or not summing to one."""
        cell = np.zeros(len(self.column))
        for _, draws in self._draws():
            cell += draws.sum(axis=0, dtype=float)
        cell /= self.view.n_samples
        self._refuse(np.isnan(cell), "plausibility of item {} is NaN: a draw failed; sample again")
        dense = np.zeros((len(self.view.items), self.n_columns))
        if self.other == "split":
            last = self.view.start[1:][self.view.has_other] - 1
            dense[self.view.has_other] = (cell[last] / self._members())[:, None]
        named = self.column >= 0
        dense[self._item()[named], self.column[named]] = cell[named]
        total = dense.sum(axis=1)
        wrong = np.abs(total - 1) > ROUNDING
        self._refuse(wrong[self._item()], f"plausibilities of item {{}} do not sum to 1; {REMEDY}")
        return dense / total[:, None]

    def of_sets(self, weight: np.ndarray) -> np.ndarray:
        """Mass (set, sample) of sets in every draw, summed over items; weight (set, item, column) is 0 outside a set."""
        named = self.column >= 0
        of_cell = np.zeros((len(weight), len(self.column)))
        of_cell[:, named] = weight[:, self._item()[named], self.column[named]]
        if self.other == "split":
            held = np.add.reduceat(of_cell, self.view.start[:-1], axis=1)
            rest = (weight.sum(axis=2) - held)[:, self.view.has_other] / self._members()
            of_cell[:, self.view.start[1:][self.view.has_other] - 1] = rest
        of_cell = of_cell.astype(np.result_type(self.view.array.dtype, np.float32))
        mass = np.empty((len(weight), self.view.n_samples))
        for samples, draws in self._draws():
            mass[:, samples] = (draws @ of_cell.T).T
        return mass

    def _draws(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of samples (sample, cell) in the order of storage, renormalised without OTHER."""
        for samples, part in self.view.parts():
            block = part.to_numpy().reshape(samples.stop - samples.start, len(self.column))
            yield samples, self._without_other(block)

    def _without_other(self, draws: np.ndarray) -> np.ndarray:
        """Set OTHER to zero and renormalise draws (sample, cell), if OTHER is excluded."""
        if self.other == "split" or not self.view.has_other.any():
            return draws
        kept = np.where(self.column < 0, 0, draws)
        total = np.add.reduceat(kept, self.view.start[:-1], axis=1)
        empty = (total <= 0).any(axis=0)
        self._refuse(empty[self._item()], f"item {{}} has no label but {OTHER} in a draw: leave the item out")
        return kept / np.repeat(total, np.diff(self.view.start), axis=1)

    def _refuse(self, wrong: np.ndarray, message: str) -> None:
        """Raise with the item of the first wrong cell (cell,), if there is one."""
        if wrong.any():
            raise EvaluationError(message.format(self.view.items[self._item()[np.argmax(wrong)]]))

    def _item(self) -> np.ndarray:
        """Item of every cell (cell,)."""
        return np.repeat(np.arange(len(self.view.items)), np.diff(self.view.start))

    def _members(self) -> np.ndarray:
        """Return the number of members of each OTHER, for the items that have one."""
        return (self.n_columns - self.view.named_count())[self.view.has_other]


@dataclass(frozen=True)
class ConformityScores:
    """Scores of every label of every item, larger = more conforming."""

    values: np.ndarray  # (classifier, item, category)
    items: np.ndarray  # (item,), text or integers
    names: list[str]  # categories
    coords: dict[str, xr.DataArray]  # item, category and, if there is such a dim, classifier

    @property
    def leading(self) -> tuple[str, ...]:
        """The dim classifier, if there is one."""
        return ("classifier",) if "classifier" in self.coords else ()

    @classmethod
    def of(cls, scores: xr.DataArray) -> "ConformityScores":
        """Validate scores, or raise at wrong dims or coordinates, duplicates or NaN."""
        if not isinstance(scores, xr.DataArray):
            raise EvaluationError(
                f"scores: expected a DataArray (item, category), found {type(scores).__name__}"
            )
        if {*scores.dims} - {"classifier"} != {"item", "category"}:
            raise EvaluationError(
                f"scores: expected dims (item, category), and classifier where there are several; found {scores.dims}"
            )
        for dim in ("item", "category"):
            if dim not in scores.coords:
                raise EvaluationError(f"scores: dim {dim} has no coordinate to match labels by")
        if scores.dtype.kind not in "iuf" or not scores.size:
            raise EvaluationError(
                f"scores: {scores.size} of dtype {scores.dtype}; expected numbers, at least one"
            )
        coords = {str(d): scores[d].reset_coords(drop=True) for d in scores.dims}
        items, names = ids_of(coords["item"].to_numpy()), coords["category"].to_numpy().astype(str)
        _check_unique("scores: item", items)
        _check_unique("scores: category", names)
        several = scores if "classifier" in scores.dims else scores.expand_dims("classifier")
        values = several.transpose("classifier", "item", "category").to_numpy()
        bad = np.argwhere(np.isnan(values))
        if len(bad):
            raise EvaluationError(
                f"scores: item {items[bad[0, 1]]!s}, category {names[bad[0, 2]]!s} is NaN; -inf means the least conforming"
            )
        return cls(values, items, names.tolist(), coords)

    def places(self, what: str, ids: Iterable[object]) -> np.ndarray:
        """Positions of items; raise if one is unknown or duplicated. `what` names them in messages."""
        if not isinstance(ids, Iterable):
            raise EvaluationError(f"{what}: expected ids of items; found {ids!r}")
        found = np.asarray(ids if isinstance(ids, np.ndarray | xr.DataArray) else list(ids))
        if found.ndim != 1 or not len(found) or found.dtype.kind == "b":
            raise EvaluationError(
                f"{what}: expected ids of items, at least one; found {found.dtype} of shape {found.shape}"
            )
        found = ids_of(found)
        _check_unique(f"{what}: item", found)
        return places_of(found, self.items, (what, "scores"))


def _check_unique(what: str, values: np.ndarray) -> None:
    unique, count = np.unique(values, return_counts=True)
    if (count > 1).any():
        raise EvaluationError(f"{what} {unique[count > 1][0]!s} is duplicated")


# --- The sets ---

CalibratedOn = Literal["plausibility", "voted"]
Correction = Literal["ecdf"] | None
NO_VOTE = -1


def miss_rate(coverage: float) -> Fraction:
    """Return alpha = 1 - coverage as an exact fraction of the decimal: 1 - .9 is 1/10."""
    return 1 - Fraction(str(float(coverage)))


def threshold_of(scores: np.ndarray, count: np.ndarray, alpha: Fraction) -> float:
    """Return the k-th smallest score of the drawn labels, k as in (2); -inf if there are too few items.

    Shapes: scores (item, category); count (item, category), number of its m labels in this category.
    """
    n = len(count)
    m = int(count[0].sum())
    k = floor(alpha * m * (n + 1)) - m + 1  # (2)
    if k < 1:
        return -np.inf
    ordered, reached = _cumulative_counts(scores, count)
    return float(ordered[np.searchsorted(reached, k)])


def corrected_threshold(scores: np.ndarray, count: np.ndarray, drawn: np.ndarray, alpha: Fraction) -> float:
    """Return the threshold of the sets of (3); -inf if there are too few items.

    Shapes: scores and count (item, category) of the first half of the calibration items; drawn (item,),
    scores of one label for each item of the second half.
    """
    k = floor(alpha * (len(drawn) + 1))
    if k < 1:
        return -np.inf
    ordered, _ = _cumulative_counts(scores, count)
    below = np.searchsorted(ordered, np.partition(drawn, k - 1)[k - 1], "right")
    return float(ordered[below - 1]) if below else -np.inf


def _cumulative_counts(scores: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending scores of drawn labels, and the cumulative number of labels at each."""
    found = count > 0
    order = np.argsort(scores[found])
    return scores[found][order], np.cumsum(count[found][order])


def conformal_sets(
    tree: xr.DataTree | xr.DataArray,
    scores: xr.DataArray,
    calibration: Iterable[object],
    coverage: float = 0.9,
    *,
    samples: int = 100,
    correction: Correction = None,
    truth: CalibratedOn = "plausibility",
    voted: xr.DataArray | None = None,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return sets of labels that contain the true label of a new item with at least the given probability.

    Monte Carlo conformal prediction: each calibration item gets `samples` labels, each drawn from the
    plausibilities of a posterior draw of its own, which includes posterior uncertainty. The threshold is a
    quantile of their scores.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior with ``plausibility``, at least of the calibration items.
    scores : DataArray, shape (item, category) or (classifier, item, category)
        Conformity scores, larger = more conforming: usually probabilities of a classifier that was not
        trained on the calibration items. Ties and -inf are allowed. All other items are test items.
    calibration : sequence
        Ids of the calibration items, which must be exchangeable with the test items: as if all were drawn
        at random from one population.
    coverage : float
        Probability 1 - alpha that the set of a test item contains its label.
    samples : int
        Number m of labels drawn for each calibration item: more reduce the Monte Carlo variance of the
        threshold, and do not replace calibration items.
    correction : "ecdf", optional
        Correct averaged p-values by their empirical distribution on half of the calibration items. By default
        they are not corrected. The paper proves coverage of 1 - alpha for m = 1 or with the correction, and 1
        - 2 alpha otherwise; as the labels of a test item are exchangeable too, coverage is 1 - alpha for
        every m. The corrected threshold is that of one label for each item of the second half, rounded down:
        more variable, with sets never smaller.
    truth : {"plausibility", "voted"}
        Labels for calibration. "voted" takes one label for each item as certain, as is commonly done. Such
        sets cover votes, but they cover the labels of ambiguous items less often than stated.
    voted : DataArray, shape (item,), optional
        Voted labels, "" for none; by default those of largest mean plausibility, ties by the order of
        `scores`.
    other : {"split", "exclude"}, optional
        Whether the members of OTHER share its mass evenly, or it is left out; by default as stored in the
        tree.
    random_seed : int or numpy.random.Generator, optional
        Seed for drawing the labels and the halves of the correction; by default derived from the tree, as in
        `annotation_certainty`.

    Returns
    -------
    Dataset
        Over the test items: ``threshold`` (), ``member`` (item, category) of bool and ``size`` (item), each
        with ``classifier`` if `scores` has it. ``coverage`` (chain, draw): plausibility of the labels in the
        sets, averaged over the test items in the posterior; ``item_coverage`` (item): its posterior mean, NaN
        for an item that is not in the posterior; ``voted_coverage`` (): share of test items whose voted label
        is in the set. NaN if there is no such item. Attributes: ``alpha``, ``m``, ``n``, ``correction``,
        ``truth``; ``least_items``, the calibration items that this coverage needs; ``note``, if the sets
        contain every label.

    Raises
    ------
    EvaluationError
        If an argument is out of range, items or categories do not match, or a score or plausibility is NaN.

    Notes
    -----
    The guarantee holds for labels distributed as the posterior mean plausibilities, prior included. Under
    ``models.dirichlet`` with concentration a, K categories and R raters, a share K a / (K a + R) of the
    labels is drawn uniformly from all categories, and sets become wide unless it is well below alpha.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> coords = {"item": range(60), "category": ["x", "y", "z"]}
    >>> law = np.random.default_rng(1).dirichlet([0.3, 0.3, 0.3], 60)
    >>> scores = xr.DataArray(law, coords, ("item", "category"))
    >>> found = evaluation.conformal_sets(scores, scores, calibration=range(40), coverage=0.8, random_seed=1)
    >>> dict(found.sizes), found.attrs["least_items"]
    ({'item': 20, 'category': 3}, 4)

    References
    ----------
    Stutz, Roy, Matejovicova, Strachan, Cemgil and Doucet (2023), Conformal prediction under ambiguous ground
    truth, TMLR, arXiv:2307.09302. Lee, Barber and Willett (2023), Distribution-free inference with
    hierarchical data, arXiv:2306.06342. Vovk and Wang (2020), Combining p-values via averaging, Biometrika
    107, doi:10.1093/biomet/asaa027.
    """
    check_probability("coverage", coverage)
    alpha = miss_rate(coverage)
    check_whole("samples", samples, 1)
    if correction not in ("ecdf", None):
        raise EvaluationError(f'correction={correction!r}: expected "ecdf" or None')
    if truth not in get_args(CalibratedOn):
        raise EvaluationError(f"truth={truth!r}: expected one of {get_args(CalibratedOn)}")
    given = ConformityScores.of(with_complement(scores, Plausibility.of(tree).declared))
    mass = LabelMass.of(tree, given.names, other)
    rng = generator_of(random_seed, mass.view.seed)
    chosen = np.sort(given.places("calibration", calibration))
    posterior_position = places_of(given.items, mass.view.items, ("scores", "the posterior"), complete=False)
    places_of(given.items[chosen], mass.view.items, ("calibration", "the posterior"))
    mean = mass.mean()
    votes = _votes(given, voted, mean, posterior_position)
    law = mean[posterior_position[chosen]]
    if truth == "voted":
        without = chosen[votes[chosen] == NO_VOTE]
        if len(without):
            raise EvaluationError(
                f'truth="voted": calibration item {given.items[without[0]]!s} has no voted label; add it, or leave the item out'
            )
        law, samples = np.eye(len(given.names))[votes[chosen]], 1
    threshold = _thresholds(given.values[:, chosen], law, alpha, samples, correction is not None, rng)
    test = np.delete(np.arange(len(given.items)), chosen)
    found = _described(given, threshold, test, mass, (mean, posterior_position[test], votes[test]))
    least = ceil(1 / alpha) - 1  # with fewer calibration items every label is in the set
    note = (
        "a threshold is -inf, so that every label is in its sets: "
        "there are fewer calibration items than least_items, or labels drawn for them have scores of -inf"
    )
    return found.assign_attrs(
        alpha=float(alpha),
        m=samples,
        n=len(chosen),
        correction=correction or "none",
        truth=truth,
        least_items=2 * least - 1 if correction else least,
        note=note if np.isneginf(threshold).any() else "",
    )


def _described(
    given: ConformityScores,
    threshold: np.ndarray,
    test: np.ndarray,
    mass: LabelMass,
    truth: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> xr.Dataset:
    """Return the sets of labels whose scores reach the threshold, their sizes and their coverage.

    Shapes: threshold (classifier,); test (item,), positions of the test items; truth: posterior mean
    plausibilities (posterior item, category), and position in the posterior or -1, and vote (item,).
    """
    mean, place, vote = truth
    member, view = given.values[:, test] >= threshold[:, None, None], mass.view
    known = place >= 0
    held = np.full(member.shape[:2], np.nan)
    held[:, known] = (member[:, known] * mean[place[known]]).sum(axis=2)
    weight = np.zeros((len(member), *mean.shape))
    weight[:, place[known]] = member[:, known]
    covered = np.full((len(member), view.n_samples), np.nan)
    if known.any():
        covered = mass.of_sets(weight) / known.sum()
    right = member[:, vote != NO_VOTE, vote[vote != NO_VOTE]]
    of_votes = right.mean(axis=1) if right.size else np.full(len(member), np.nan)
    lead, sample = given.leading, view.sample_dims
    by_sample = np.moveaxis(covered.reshape(len(member), *view.array.shape[: len(sample)]), 0, -1)
    pick = slice(None) if lead else 0
    return xr.Dataset(
        {
            "threshold": (lead, threshold[pick]),
            "member": ((*lead, "item", "category"), member[pick]),
            "size": ((*lead, "item"), member[pick].sum(axis=-1)),
            "coverage": ((*sample, *lead), by_sample[..., pick]),
            "item_coverage": ((*lead, "item"), held[pick]),
            "voted_coverage": (lead, of_votes[pick]),
        },
        {
            **{dim: given.coords[dim] for dim in ("category", *lead)},
            "item": given.coords["item"].isel(item=test),
            **view.sample_coords(),
        },
    )


def _thresholds(
    scores: np.ndarray, law: np.ndarray, alpha: Fraction, samples: int, ecdf: bool, rng: np.random.Generator
) -> np.ndarray:
    """Threshold of every classifier (classifier,).

    A label drawn from a uniformly chosen posterior draw of its own has the posterior mean as its
    distribution, so counts are multinomial. Shapes: scores (classifier, item, category); law (item,
    category).
    """
    if not ecdf:
        count = rng.multinomial(samples, law)
        return np.array([threshold_of(one, count, alpha) for one in scores])
    first, second = np.split(rng.permutation(len(law)), [len(law) // 2])
    count = rng.multinomial(samples, law[first])
    label = rng.multinomial(1, law[second]).argmax(axis=1)
    drawn = scores[:, second, label]
    pairs = zip(scores[:, first], drawn, strict=True)
    return np.array([corrected_threshold(one, count, its, alpha) for one, its in pairs])


def _votes(
    given: ConformityScores, voted: xr.DataArray | None, mean: np.ndarray, posterior_position: np.ndarray
) -> np.ndarray:
    """Column of the voted label of every item (item,), -1 if there is none."""
    if voted is None:
        return np.where(posterior_position >= 0, mean.argmax(axis=1)[posterior_position], NO_VOTE)
    if not isinstance(voted, xr.DataArray) or voted.dims != ("item",) or "item" not in voted.coords:
        found = voted.dims if isinstance(voted, xr.DataArray) else type(voted).__name__
        raise EvaluationError(
            f"voted: expected a DataArray of labels with dim item and its coordinate; found {found}"
        )
    columns = {name: i for i, name in enumerate(given.names)} | {"": NO_VOTE}
    votes = np.full(len(given.items), NO_VOTE)
    labels = voted.to_numpy().astype(str).tolist()
    places = given.places("voted", voted["item"])
    for place, label in zip(places.tolist(), labels, strict=True):
        if label not in columns:
            raise EvaluationError(
                f"voted: label {label!r} of item {given.items[place]!s} is no category of scores"
            )
        votes[place] = columns[label]
    return votes
