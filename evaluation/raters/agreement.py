"""Agreement of each rater with the other raters of an item, and its correlation with posterior certainty.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, eq. 3-5 (inverse rank normalisation, IRN) and appendix E.
"""

from dataclasses import dataclass
from math import lcm
from typing import Literal

import numpy as np
import xarray as xr
from scipy.stats import pearsonr, spearmanr

from ...posterior.errors import EvaluationError
from ...posterior.matching import match_items
from ...posterior.plausibility import Plausibility
from ...posterior.top_labels import OtherAs
from ..argument_checks import check_whole
from ..certainty.annotation import annotation_certainty
from ..truth.containers import Labels, Rankings

TieWeight = Literal["split", "full"]


@dataclass(frozen=True)
class _Answers:
    """Answers of raters with integer label weights: a ranking, or all labels of one rater for one item."""

    item: np.ndarray  # (answer,)
    times: np.ndarray  # (answer,), number of raters who gave it
    answer: np.ndarray  # (entry,), an entry is one label of an answer
    category: np.ndarray  # (entry,)
    weight: np.ndarray  # (entry,), integers
    own: np.ndarray  # (entry,), mask of labels that agree if they lead among the others


def annotator_agreement(annotations: Rankings | Labels, tie_weight: TieWeight = "split") -> xr.DataArray:
    """Return the share of raters who agree with the top-1 label of the other raters.

    With rankings, the label is the top of the inverse rank normalisation of the other raters, and a ranking
    agrees if it contains that label. With labels, it is the most frequent label of the others, and a rater
    agrees if it is the rater's own most frequent label. Of several leading labels any counts. Comparisons are
    exact.

    Parameters
    ----------
    annotations : PartialRankings or Labels
        Annotations. Each answer of an anonymous count is treated as a separate rater.
    tie_weight : {"split", "full"}
        For rankings: whether the labels of a tied block at place i share the weight 1/i, or each has it.

    Returns
    -------
    DataArray, shape (item,)
        Agreement in [0, 1]; NaN for an item with fewer than two raters.

    Raises
    ------
    EvaluationError
        If `tie_weight` is unknown, or `annotations` are neither rankings nor labels.

    Examples
    --------
    >>> from raterzoo import models, papers
    >>> rows = {"item": ["a", "a", "a", "b"], "rater": ["r", "s", "t", "r"], "label": ["x", "x", "y", "y"]}
    >>> papers.annotator_agreement(models.Labels.from_table(rows)).values.round(2)
    array([0.67,  nan])

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, eq. 3 and appendix E.
    """
    answers = _answers_of(annotations, tie_weight)
    share = _share_agreeing(answers, len(annotations.items), len(annotations.categories))
    return xr.DataArray(share, {"item": annotations.items}, ("item",), name="annotator_agreement")


def certainty_and_agreement(
    tree: xr.DataTree | xr.DataArray,
    annotations: Rankings | Labels,
    *,
    at_least: int = 3,
    tie_weight: TieWeight = "split",
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return annotation certainty and annotator agreement of each item, and their correlation.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior, as in `annotation_certainty`.
    annotations : PartialRankings or Labels
        Data from which the posterior was drawn.
    at_least : int, default 3
        Smallest number of raters of an item in the correlations. With two raters, both agree or neither.
    tie_weight : {"split", "full"}
        For rankings, as in `annotator_agreement`.
    other, random_seed : optional
        As in `annotation_certainty`.

    Returns
    -------
    Dataset
        ``certainty``, ``agreement`` and ``raters`` (their number), each (item), in the order of the
        posterior; ``pearson`` and ``spearman`` (), NaN if certainty or agreement is constant or there are
        fewer than two items. Attributes: ``at_least``, and ``items``, the number correlated.

    Raises
    ------
    EvaluationError
        If the items differ, or an argument is wrong.

    Examples
    --------
    >>> from raterzoo import inference, models, papers
    >>> rows = {"item": list("aaabbb"), "rater": list("rstrst"), "label": list("xxyyyy")}
    >>> labels = models.Labels.from_table(rows)
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> found = papers.certainty_and_agreement(tree, labels)
    >>> found["agreement"].values.round(2), found["raters"].values
    (array([0.67, 1.  ]), array([3, 3]))

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, appendix E, figures E.14-E.18.
    """
    check_whole("at_least", at_least, 2, remark=": one rater agrees with nobody")
    place = match_items(Plausibility.of(tree).items, np.asarray(annotations.items), "annotation")
    answers = _answers_of(annotations, tie_weight)
    raters = np.bincount(answers.item, answers.times, len(annotations.items)).astype(int)[place]
    agreement = annotator_agreement(annotations, tie_weight).to_numpy()[place]
    certainty = annotation_certainty(tree, other=other, random_seed=random_seed)
    enters = raters >= at_least
    x, y = certainty.to_numpy()[enters], agreement[enters]
    vary = len(x) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0
    result = certainty.to_dataset(name="certainty").assign(
        agreement=("item", agreement),
        raters=("item", raters),
        pearson=pearsonr(x, y)[0] if vary else np.nan,
        spearman=spearmanr(x, y)[0] if vary else np.nan,
    )
    return result.assign_attrs(at_least=at_least, items=int(enters.sum()))


def _share_agreeing(answers: _Answers, n_items: int, n_categories: int) -> np.ndarray:
    """Share of raters of every item (item,) who agree with the others; NaN with fewer than two raters."""
    item, answer, weight = answers.item, answers.answer, answers.weight
    raters = np.bincount(item, answers.times, n_items)
    share = np.full(n_items, np.nan)
    if not len(item):
        return share
    key = item[answer].astype(np.int64) * n_categories + answers.category
    keys, cell = np.unique(key, return_inverse=True)
    total = np.zeros(len(keys), weight.dtype)
    np.add.at(total, cell, weight * answers.times[answer])
    # pair every answer with every cell (item, category) of its item
    cell_start = np.searchsorted(keys, np.arange(n_items + 1) * n_categories)
    count = np.diff(cell_start)[item]
    start = np.r_[0, np.cumsum(count)]
    pair_cell = np.arange(start[-1]) + np.repeat(cell_start[item] - start[:-1], count)
    others = total[pair_cell]
    own = start[answer] + cell - cell_start[item[answer]]
    others[own] -= weight
    leads = others == np.repeat(np.maximum.reduceat(others, start[:-1]), count)
    own_label = np.zeros(len(others), bool)
    own_label[own[answers.own]] = True
    agrees = np.logical_or.reduceat(leads & own_label, start[:-1])
    agreeing = np.bincount(item, agrees * answers.times, n_items)
    np.divide(agreeing, raters, out=share, where=raters > 1)
    return share


def _answers_of(annotations: Rankings | Labels, tie_weight: str) -> _Answers:
    """Convert rankings or labels to answers, or raise."""
    if tie_weight not in ("split", "full"):
        raise EvaluationError(f'tie_weight={tie_weight!r}: expected "split" or "full"')
    if isinstance(annotations, Labels):
        return _answers_of_labels(annotations)
    if isinstance(annotations, Rankings):
        return _answers_of_rankings(annotations, tie_weight)
    raise EvaluationError(
        f"a {type(annotations).__name__} is neither rankings nor labels; pass the PartialRankings or Labels of the raters"
    )


def _answers_of_rankings(rankings: Rankings, tie_weight: str) -> _Answers:
    """Convert rankings to answers with inverse ranks as weights, over one common denominator."""
    size = np.diff(rankings.block_start)
    blocks = np.diff(rankings.annotation_start)
    place = np.arange(len(size)) - np.repeat(rankings.annotation_start[:-1], blocks) + 1
    inverse = place * size if tie_weight == "split" else place
    denominator = lcm(*np.unique(inverse).tolist())
    fits = denominator < np.iinfo(np.int64).max // max(len(size), 1)
    # Python integers where 64 bits overflow
    weight = np.array([denominator // d for d in inverse.tolist()], np.int64 if fits else object)
    annotation = np.repeat(np.repeat(np.arange(len(blocks)), blocks), size)
    item, category = np.asarray(rankings.annotation_item), np.asarray(rankings.category_code)
    times, own = np.ones(len(blocks), np.int64), np.ones(len(annotation), bool)
    return _Answers(item, times, annotation, category, np.repeat(weight, size), own)


def _answers_of_labels(labels: Labels) -> _Answers:
    """Convert labels to answers: one for each rater and item, one for each entry of an anonymous count."""
    columns = (labels.annotation_item, labels.annotation_rater, labels.count)
    item, rater, count = map(np.asarray, columns)
    opens = (rater < 0) | (np.diff(item, prepend=-1) != 0) | (np.diff(rater, prepend=-1) != 0)
    answer = np.cumsum(opens) - 1
    alone = rater < 0
    weight = np.where(alone, 1, count).astype(np.int64)
    most = np.zeros(int(opens.sum()), np.int64)
    np.maximum.at(most, answer, weight)
    times = np.where(alone, count, 1)[opens].astype(np.int64)
    return _Answers(item[opens], times, answer, np.asarray(labels.label_code), weight, weight == most[answer])
