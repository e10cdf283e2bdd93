"""Overlap of two rankings at their top: overlap, average overlap, and average overlap with ties."""

from collections.abc import Hashable, Iterable
from functools import partial

import numpy as np

from ...posterior.errors import EvaluationError
from ..argument_checks import check_whole
from .metric import LISTS, Metric, example

IN_CACHE = 50_000  # values of one place compared at a time, to stay in the CPU cache


@example("top_k_accuracy(2)", LISTS, 1.0)
def top_k_accuracy(k: int = 1) -> Metric:
    """Return the top-k accuracy: whether the top-1 label of a draw is among the k best predictions.

    Parameters
    ----------
    k : int
        Number of predicted labels that count.

    Returns
    -------
    Metric, in [0, 1] for each draw
    """
    check_whole("k", k, 1)
    return Metric(f"top_{k}_accuracy", "label", _is_among, k)


@example("set_accuracy(2)", LISTS, 1.0)
def set_accuracy(k: int) -> Metric:
    """Return the set accuracy: whether the k best predictions are exactly the top-k set of a draw.

    Parameters
    ----------
    k : int
        Size of the sets. An item with fewer than k plausible labels in a draw needs only as many predictions.

    Returns
    -------
    Metric, in [0, 1] for each draw
    """
    check_whole("k", k, 1)
    return Metric(f"set_accuracy_{k}", "set", _sets_are_equal, k)


def hits(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Count the true labels (..., item, position) that are among the predictions (item, k); result (..., item)."""
    count = np.zeros_like(truth[..., 0], np.int16)  # in the memory order of the truth
    for position in range(truth.shape[-1]):
        count += _is_among(truth[..., position], predictions)
    return count


def _is_among(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Mask of true labels (..., item) among the predictions (item, k)."""
    # comparing two integer types is many times slower
    predictions = predictions.astype(truth.dtype, copy=False)
    among = truth == predictions[:, 0]
    for position in range(1, predictions.shape[1]):
        among |= truth == predictions[:, position]
    return among


def _sets_are_equal(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Mask of items whose predicted set (item, k) equals the true set (..., item, position)."""
    shared = hits(truth, predictions)
    return (shared == (truth >= 0).sum(axis=-1)) & (shared == (predictions >= 0).sum(axis=-1))


@example("overlap(2)", LISTS, 1.0)
def overlap(k: int) -> Metric:
    """Return the overlap at k: the share of k common to the top-k set of a draw and the k best predictions.

    Parameters
    ----------
    k : int
        Size of both sets.

    Returns
    -------
    Metric, in [0, 1] for each draw

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, section 2.5.
    """
    check_whole("k", k, 1)
    return Metric(f"overlap_{k}", "set", partial(_overlap, depth=k), k)


@example("average_overlap(2)", LISTS, 0.75)
def average_overlap(k: int) -> Metric:
    """Return the average overlap: overlap with the top-d set, averaged over depths d = 1 ... k.

    Parameters
    ----------
    k : int
        Largest depth d.

    Returns
    -------
    Metric, in [0, 1] for each draw

    References
    ----------
    Webber, Moffat and Zobel (2010), doi:10.1145/1852102.1852106.
    """
    check_whole("k", k, 1)
    score = partial(weighted_overlap, weights=np.full(k, 1 / k))
    return Metric(f"average_overlap_{k}", "ranking", score, k)


def partial_average_overlap(
    a: Iterable[Iterable[Hashable]],
    b: Iterable[Iterable[Hashable]],
    depth: int,
    *,
    categories: int | None = None,
    normalize: bool = True,
) -> float:
    """Return the average overlap of two partial rankings, ties shared evenly.

    A block of m tied labels fills m places, and each label has weight 1/m in each of them. With ``A_d(y)``
    the weight of label y in the first d places, the overlap at d is ``sum_y A_d(y) B_d(y) / d``, averaged
    over d = 1 ... depth. With ties the average overlap of a ranking with itself is less than 1; the result is
    therefore divided by the geometric mean of the two.

    Parameters
    ----------
    a, b : iterable of blocks
        Partial rankings: blocks of tied labels, best first.
    depth : int
        Largest d; usually the number of labels of the reference.
    categories : int, optional
        Number K of all labels: unranked labels are one last block. By default they do not count.
    normalize : bool
        Whether to divide by the geometric mean.

    Returns
    -------
    float
        In [0, 1]; 0 if a ranking is empty (Stutz et al., 2025, arXiv:2307.02191, appendix C).

    Raises
    ------
    EvaluationError
        If a label is ranked twice, there are more labels than `categories`, or `depth` is not positive.

    Examples
    --------
    >>> from raterzoo import papers
    >>> round(papers.partial_average_overlap([["x"], ["y", "z"]], [["x", "y"]], depth=2), 3)
    0.772
    """
    check_whole("depth", depth, 1)
    rankings = [[list(block) for block in ranking] for ranking in (a, b)]
    if not all(any(ranking) for ranking in rankings):
        return 0.0
    labels = list(dict.fromkeys(y for ranking in rankings for block in ranking for y in block))
    n_rest = 0 if categories is None else categories - len(labels)
    if n_rest < 0:
        raise EvaluationError(f"categories={categories}, but {len(labels)} labels are ranked")
    count = np.append(np.ones(len(labels)), n_rest)
    first, second = (_reached(ranking, labels, depth, categories) for ranking in rankings)

    def product(x: np.ndarray, y: np.ndarray) -> float:
        return float(((x * y) @ count / np.arange(1, depth + 1)).mean())

    shared = product(first, second)
    if not normalize or not shared:
        return shared
    return shared / float(np.sqrt(product(first, first) * product(second, second)))


def _reached(
    ranking: list[list[Hashable]], labels: list[Hashable], depth: int, categories: int | None
) -> np.ndarray:
    """Weight of each label in the first d places (depth, label + 1); the last column is any unranked label."""
    d = np.arange(1, depth + 1)
    place = {label: i for i, label in enumerate(labels)}
    weight = np.zeros((depth, len(labels) + 1))
    ranked: set[Hashable] = set()
    for block in ranking:
        for i, label in enumerate(block):
            if label in ranked or label in block[:i]:
                raise EvaluationError(f"label {label!r} is ranked twice")
            weight[:, place[label]] = np.clip((d - len(ranked)) / len(block), 0, 1)
        ranked.update(block)
    unranked = [place[label] for label in labels if label not in ranked] + [len(labels)]
    if categories is not None and categories > len(ranked):
        left = categories - len(ranked)
        weight[:, unranked] = np.clip((d - len(ranked)) / left, 0, 1)[:, None]
    return weight


def _overlap(truth: np.ndarray, predictions: np.ndarray, depth: int) -> np.ndarray:
    """Overlap (..., item) of truth (..., item, position) with predictions (item, position)."""
    return hits(truth, predictions) / np.float32(depth)


def weighted_overlap(truth: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum over d of weights[d - 1] times the overlap of the first d labels (..., item, position); result (..., item)."""
    # a label at places p of one and q of the other is shared from d = max(p, q) + 1 on
    each = weights / np.arange(1, len(weights) + 1)
    from_place = np.cumsum(each[::-1])[::-1].astype(np.float32)
    total = np.empty_like(truth[..., 0], np.float32)
    step = max(IN_CACHE // max(total[..., :1].size, 1), 1)
    for items in (slice(first, first + step) for first in range(0, len(predictions), step)):
        total[..., items] = _overlap_from(truth[..., items, :], predictions[items], from_place)
    return total


def _overlap_from(truth: np.ndarray, predictions: np.ndarray, from_place: np.ndarray) -> np.ndarray:
    """Sum the weights from_place (place,) of shared labels, by the later of both places; other shapes as `weighted_overlap`."""
    # comparing two integer types is many times slower
    predictions = predictions.astype(truth.dtype, copy=False)
    n_predicted = predictions.shape[1]
    kind = np.min_scalar_type(n_predicted)
    total = np.zeros_like(truth[..., 0], np.float32)
    hit, product, place = (np.empty_like(total, own) for own in (bool, kind, kind))
    for p in range(truth.shape[-1]):
        place[...] = 0  # of the true label among the predictions, from 1; 0: it is none of them
        for q in range(n_predicted):
            np.equal(truth[..., p], predictions[:, q], out=hit)
            np.multiply(hit.view(np.uint8), kind.type(q + 1), out=product)
            np.bitwise_or(place, product, out=place)
        if place.any():
            total += np.append(np.float32(0), from_place[np.maximum(p, np.arange(n_predicted))]).take(place)
    return total
