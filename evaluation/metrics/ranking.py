"""Distances of two rankings of all categories: Kendall's tau, Spearman's footrule, rank-biased overlap, NDCG.

The truth ranks the categories by their plausibility. Ties count as ties, in the truth and in the predictions:
equal scores, all categories without a prediction, and all members of an OTHER that is split, which share its
mass evenly. A draw thus needs as many comparisons as its item has named labels, not categories.

With k both rankings are truncated: all but the k best are tied last, as is a tie that extends over the cut.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from ...posterior.drawn_truth import Graded
from ...posterior.errors import EvaluationError
from ..argument_checks import check_whole
from .accuracy import weighted_overlap
from .metric import LISTS, PROBABILITIES, Metric, example, ratio


@example("kendall_tau()", PROBABILITIES, 0.667)
def kendall_tau(k: int | None = None) -> Metric:
    """Return Kendall's tau-b of the predicted ranking with the ranking by plausibility.

    Concordant minus discordant pairs of categories, divided by the geometric mean of the numbers of untied
    pairs of the two rankings. The cost is quadratic in the number of labels that an item names (Kendall,
    1945, The treatment of ties in ranking problems, doi:10.1093/biomet/33.3.239).

    Parameters
    ----------
    k : int, optional
        Truncate both rankings after the k best.

    Returns
    -------
    Metric, in [-1, 1] for each draw, 0 if either ranking ties all
    """
    return _of_ranks("kendall_tau", _kendall_tau, k)


@example("spearman_footrule()", PROBABILITIES, 0.25)
def spearman_footrule(k: int | None = None) -> Metric:
    """Return Spearman's footrule distance of the predicted ranking from the ranking by plausibility.

    The sum over categories of the distance of their positions, where tied categories have their mean
    position, divided by that of a strict ranking, truncated at k, and its reverse.

    Parameters
    ----------
    k : int, optional
        Truncate both rankings after the k best.

    Returns
    -------
    Metric
        From 0 = equal to 1 = as far apart as possible for each draw, 0 with one category. Smaller is better
        (Fagin et al., 2006, Comparing partial rankings, doi:10.1137/05063088X, F_prof).
    """
    return _of_ranks("spearman_footrule", _footrule, k, larger_is_better=False)


@example("ndcg()", PROBABILITIES, 0.953)
def ndcg(k: int | None = None) -> Metric:
    """Return the normalised discounted cumulative gain of the predictions, with plausibilities as gains.

    A gain at position d is divided by log2(1 + d); discounts of tied predictions are averaged. The sum is
    divided by that of the best ranking (Järvelin and Kekäläinen, 2002, doi:10.1145/582415.582418).

    Parameters
    ----------
    k : int, optional
        Number of positions that count; ties are averaged over positions beyond k, too.

    Returns
    -------
    Metric, in [0, 1] for each draw, 0 if no category has a gain
    """
    return _of_ranks("ndcg", _ndcg, k)


@example("rank_biased_overlap(depth=2)", LISTS, 0.95)
def rank_biased_overlap(p: float = 0.9, depth: int = 10) -> Metric:
    """Return the rank-biased overlap: overlap with the top-d set, averaged over d with weights p**d.

    The overlap is extrapolated: beyond `depth` it is taken as constant. Places after the end of a shorter
    list share nothing (Webber et al., 2010, doi:10.1145/1852102.1852106, RBO_EXT).

    Parameters
    ----------
    p : float
        Persistence, in (0, 1): the larger, the less the weight of the top ranks.
    depth : int
        Number of labels of either list that are compared.

    Returns
    -------
    Metric, in [0, 1] for each draw

    Raises
    ------
    EvaluationError
        If `p` is not between 0 and 1.
    """
    if not 0 < p < 1:
        raise EvaluationError(f"p={p!r}: expected a persistence between 0 and 1")
    check_whole("depth", depth, 1)
    weights = (1 - p) * p ** np.arange(depth)
    weights[-1] += p**depth
    name = f"rank_biased_overlap_{depth}"
    return Metric(name, "ranking", partial(weighted_overlap, weights=weights), depth)


def _of_ranks(
    name: str, score: Callable[..., np.ndarray], k: int | None, *, larger_is_better: bool = True
) -> Metric:
    """Metric of one item's ranks against its graded plausibilities."""
    top = 1
    if k is not None:
        check_whole("k", k, 1)
        name, top = f"{name}_{k}", k
    score = partial(score, k=k)
    return Metric(name, "plausibility", score, top, "ranks", larger_is_better=larger_is_better)


def _kendall_tau(truth: Graded, ranks: np.ndarray, k: int | None) -> np.ndarray:
    """Tau-b (classifier, sample) of one item; ranks (classifier, category)."""
    grade, n = _cut(truth.grade, truth.size, k), ranks.shape[1]
    predicted = _cut_ranks(ranks, k)
    named = predicted[:, truth.code]
    above = np.sign(named[:, None, :] - named[:, :, None])  # 1 where the first is predicted above
    # number of unnamed categories predicted below each label, minus the number above it
    others = n + 1 - 2 * named - above.sum(axis=-1)
    weight = np.append(above, others[..., None], axis=-1).astype(grade.dtype)
    concordance = np.zeros((len(ranks), grade.shape[1]))
    tied = np.full(grade.shape[1], _pairs(truth.size[-1]))
    for a in range(len(truth.code)):
        order = np.sign(grade[a] - grade[a + 1 :])
        concordance += weight[:, a, a + 1 :] @ order
        tied += truth.size[a + 1 :].astype(grade.dtype) @ (order == 0).astype(grade.dtype)
    tied_ranks = [_pairs(np.unique(row, return_counts=True)[1]).sum() for row in predicted]
    untied = np.multiply.outer(_pairs(n) - np.array(tied_ranks), _pairs(n) - tied)
    return ratio(concordance, np.sqrt(untied))


def _footrule(truth: Graded, ranks: np.ndarray, k: int | None) -> np.ndarray:
    """Normalised footrule distance (classifier, sample) of one item; ranks (classifier, category)."""
    place = _positions(_cut(truth.grade, truth.size, k), truth.size)
    predicted = _cut_ranks(ranks, k)
    distance = np.zeros((len(ranks), place.shape[1]))
    for own, one in zip(predicted[:, truth.code].T, place, strict=False):
        distance += np.abs(own[:, None] - one)
    if truth.size[-1]:
        # the unnamed categories share one position, which takes few distinct values over the draws
        at, which = np.unique(place[-1], return_inverse=True)
        others = np.delete(predicted, truth.code, axis=1)
        distance += np.abs(others[:, None] - at[:, None]).sum(axis=-1)[:, which]
    return ratio(distance, np.array(_largest_footrule(ranks.shape[1], k)))


def _ndcg(truth: Graded, ranks: np.ndarray, k: int | None) -> np.ndarray:
    """NDCG (classifier, sample) of one item; ranks (classifier, category)."""
    discount = 1 / np.log2(np.arange(2, ranks.shape[1] + 2))
    discount[len(discount) if k is None else k :] = 0
    reached = np.append(0, discount.cumsum())
    gain = np.empty(ranks.shape)
    for row, own in zip(ranks, gain, strict=True):  # discounts averaged over ties
        ordered = np.sort(row)
        before, until = (np.searchsorted(ordered, row, side) for side in ("left", "right"))
        own[:] = (reached[until] - reached[before]) / (until - before)
    others = np.delete(gain, truth.code, axis=1).sum(axis=1)
    weight = np.column_stack([gain[:, truth.code], others]).astype(truth.grade.dtype)
    order = np.argsort(-truth.grade, axis=0)
    size = truth.size[order]
    last = size.cumsum(axis=0)
    best = np.take_along_axis(truth.grade, order, axis=0) * (reached[last] - reached[last - size])
    return ratio(weight @ truth.grade, best.sum(axis=0))


def _cut(grade: np.ndarray, size: np.ndarray, k: int | None) -> np.ndarray:
    """Lower all but the k largest grades (grade, sample), of `size` categories each, to the largest of the others."""
    if k is None or k >= size.sum():
        return grade
    each = np.repeat(grade, np.minimum(size, k + 1), axis=0)
    edge = np.partition(each, len(each) - k - 1, axis=0)[-k - 1]
    return np.maximum(grade, edge)


def _cut_ranks(ranks: np.ndarray, k: int | None) -> np.ndarray:
    """Tie all but the k best ranks (classifier, category) last."""
    if k is None:
        return ranks
    one = np.ones(ranks.shape[1], np.int64)
    return _positions(_cut(-ranks.T, one, k), one).T


def _positions(grade: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Mean position of each grade (grade, sample), 1 = the largest; size as in `_cut`."""
    order = np.argsort(-grade, axis=0)
    ranked, count = np.take_along_axis(grade, order, axis=0), size[order]
    last = count.cumsum(axis=0)
    opens = np.append(np.ones_like(last[:1], bool), ranked[1:] != ranked[:-1], axis=0)
    closes = np.append(opens[1:], opens[:1], axis=0)
    before = np.maximum.accumulate(np.where(opens, last - count, 0), axis=0)
    until = np.minimum.accumulate(np.where(closes, last, size.sum())[::-1], axis=0)[::-1]
    position = np.empty(grade.shape, np.float32)
    np.put_along_axis(position, order, ((before + until + 1) / 2).astype(np.float32), axis=0)
    return position


@cache
def _largest_footrule(n: int, k: int | None) -> float:
    """Footrule distance of a strict ranking, truncated at k, from its reverse."""
    ends = _cut_ranks(np.arange(1.0, n + 1)[None], k)[0]
    return float(np.abs(ends - ends[::-1]).sum())


def _pairs(n: np.ndarray | int) -> np.ndarray:
    """Return the number of pairs, n (n - 1) / 2."""
    return np.asarray(n) * (np.asarray(n) - 1) / 2
