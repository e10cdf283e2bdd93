"""Posterior of ranks: rank distributions, rank intervals, pairwise preference and tied groups (tiers).

Ranked are items by quality or location, models and raters by ability, or classifiers by a metric. Rank 1 is the
highest; ranks are computed within each draw and so include the dependence between qualities. Items of exactly
equal quality in a draw share their ranks: each has an equal share of the probability of every rank that the tied
items occupy, rank intervals cover them all, and ties count as half above.

    pointwise interval      smallest and largest rank of an item without (1 - prob) / 2 of the draws at either end
    simultaneous interval   the same with one smaller tail for all items, the largest with which at least `prob`
                            of the draws have every item inside its interval
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ..argument_checks import check_probability
from .qualities import Qualities, RankDraws, drawn_ranks

MOST_ITEMS = 5_000  # of a matrix of all pairs


def rank_distribution(tree: Qualities) -> xr.DataArray:
    """Return the posterior probability of every rank of every item.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``quality`` or, of scores, ``location`` (chain, draw, item), or ``ability`` (chain, draw, model or
        rater); or a metric (chain, draw, classifier), of which more is better: pass minus a loss.

    Returns
    -------
    DataArray, shape (item, rank)
        Rows and columns sum to one; rank 1 is the best.

    Raises
    ------
    EvaluationError
        If there is nothing to rank, a value is not finite, or there are more than 5,000 items.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[2.0, 1.0, 0.0], [2.1, 0.8, 0.1], [1.9, 1.2, -0.2], [1.5, 1.6, 0.3]]]
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"))
    >>> evaluation.rank_distribution(quality).sel(rank=1).values
    array([0.75, 0.25, 0.  ])
    """
    ranks = drawn_ranks(tree)
    n, samples = ranks.best.shape
    _check_size("rank_distribution", n, "rank_intervals")
    # every draw adds its share from the best to the worst rank: plus at the first of them, minus after the last
    change = np.zeros((n, n + 1))
    for own in ranks.blocks():
        row = np.arange(own.stop - own.start)[:, None] * (n + 1)
        best, worst = ranks.best[own], ranks.worst[own]
        share = (1 / (worst - best + 1)).ravel()
        size = len(row) * (n + 1)
        change[own] = np.bincount((row + best - 1).ravel(), share, size).reshape(-1, n + 1)
        change[own] -= np.bincount((row + worst).ravel(), share, size).reshape(-1, n + 1)
    return xr.DataArray(
        np.cumsum(change[:, :-1], axis=1) / samples,
        {ranks.dim: ranks.item, "rank": np.arange(1, n + 1)},
        (ranks.dim, "rank"),
        name="rank_distribution",
    )


def rank_intervals(tree: Qualities, prob: float = 0.9, *, simultaneous: bool = False) -> xr.Dataset:
    """Return rank and quality of every item with their posterior intervals: a leaderboard.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``quality`` or, of scores, ``location`` (chain, draw, item), or ``ability`` (chain, draw, model or
        rater); or a metric (chain, draw, classifier), of which more is better: pass minus a loss.
    prob : float, default .9
        Minimum posterior probability of an interval.
    simultaneous : bool, default False
        Whether rank intervals hold for all items at once; the intervals of quality are always pointwise.

    Returns
    -------
    Dataset, dims (item,), in the order of the tree
        ``mean_rank``, ``median_rank``, ``lower`` and ``upper`` (ranks), ``best`` (probability of rank 1),
        ``quality`` (mean), ``quality_lower``, ``quality_upper``; attributes `prob` and `simultaneous` (0 or
        1).

    Raises
    ------
    EvaluationError
        If there is nothing to rank, a value is not finite, or `prob` is not between 0 and 1.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[2.0, 1.0, 0.0], [2.1, 0.8, 0.1], [1.9, 1.2, -0.2], [1.5, 1.6, 0.3]]]
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"))
    >>> board = evaluation.rank_intervals(quality)
    >>> board["median_rank"].values, board["lower"].values, board["upper"].values
    (array([1., 2., 3.]), array([1, 1, 3]), array([2, 2, 3]))

    References
    ----------
    Goldstein and Spiegelhalter (1996), League tables and their limitations, JRSS A 159, doi:10.2307/2983325.
    Besag, Green, Higdon and Mengersen (1995), Bayesian computation and stochastic systems, Statistical
    Science 10, section 6.3, doi:10.1214/ss/1177010123 (simultaneous intervals from draws).
    """
    check_probability("prob", prob)
    ranks = drawn_ranks(tree)
    n, samples = ranks.best.shape
    pointwise = int((samples - prob * samples) // 2) + 1
    depth = _simultaneous_depth(ranks, prob) if simultaneous else pointwise
    columns = {name: np.empty(n) for name in ("mean_rank", "median_rank", "best", "quality")}
    columns |= {name: np.empty(n) for name in ("quality_lower", "quality_upper")}
    lower, upper = np.empty(n, np.int64), np.empty(n, np.int64)
    for own in ranks.blocks():
        best, worst = ranks.best[own], ranks.worst[own]
        middle = (best + worst) / 2
        columns["mean_rank"][own] = middle.mean(axis=1)
        columns["median_rank"][own] = np.median(middle, axis=1)
        columns["best"][own] = np.where(best == 1, 1 / worst, 0.0).mean(axis=1)
        lower[own] = np.partition(best, depth - 1, axis=1)[:, depth - 1]
        upper[own] = np.partition(worst, samples - depth, axis=1)[:, samples - depth]
        quality = np.sort(ranks.quality[:, own], axis=0)
        columns["quality"][own] = quality.mean(axis=0)
        columns["quality_lower"][own] = quality[pointwise - 1]
        columns["quality_upper"][own] = quality[samples - pointwise]
    return xr.Dataset(
        {name: (ranks.dim, values) for name, values in (columns | {"lower": lower, "upper": upper}).items()},
        {ranks.dim: ranks.item},
        {"prob": prob, "simultaneous": int(simultaneous)},
    )


def preference_probability(tree: Qualities) -> xr.DataArray:
    """Return the posterior probability that the quality of an item is above that of another.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``quality`` or, of scores, ``location`` (chain, draw, item), or ``ability`` (chain, draw, model or
        rater); or a metric (chain, draw, classifier), of which more is better: pass minus a loss.

    Returns
    -------
    DataArray, shape (item, other)
        The sum with its transpose is one; an exact tie counts half, and so does an item against itself.

    Raises
    ------
    EvaluationError
        If there is nothing to rank, a value is not finite, or there are more than 5,000 items.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[2.0, 1.0, 0.0], [2.1, 0.8, 0.1], [1.9, 1.2, -0.2], [1.5, 1.6, 0.3]]]
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"))
    >>> evaluation.preference_probability(quality).sel(item="a", other="b").item()
    0.75
    """
    ranks = drawn_ranks(tree)
    n = len(ranks.best)
    _check_size("preference_probability", n, "rank_intervals or tied_groups")
    above = np.full((n, n), 0.5)
    for i in range(n - 1):
        wins = _share(ranks.best[i] < ranks.best[i + 1 :])
        if ranks.tied:
            wins += _share(ranks.best[i] == ranks.best[i + 1 :]) / 2
        above[i, i + 1 :] = wins
        above[i + 1 :, i] = 1 - wins
    labels = ranks.item.to_numpy()
    return xr.DataArray(
        above, {ranks.dim: labels, "other": labels}, (ranks.dim, "other"), name="preference_probability"
    )


def tied_groups(tree: Qualities, prob: float = 0.95) -> xr.DataArray:
    """Return tiers: groups of items that the posterior does not separate from the best of their group.

    Items are ordered by their median rank (then mean rank, then the order of the tree). The first leads
    the first group. Each next item opens a new group, and leads it, if its quality is below that of the
    current leader with posterior probability at least `prob`; otherwise it joins the group. So members are
    tied with their leader, not necessarily with each other.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``quality`` or, of scores, ``location`` (chain, draw, item), or ``ability`` (chain, draw, model or
        rater); or a metric (chain, draw, classifier), of which more is better: pass minus a loss.
    prob : float, default .95
        Smallest probability of being below the leader that opens a new group.

    Returns
    -------
    DataArray of int, shape (item,)
        Number of the group, 1 = best; in the order of the tree. Attributes: ``prob``, and ``error``, the posterior
        probability that the leaders of the groups are not all in this order.

    Raises
    ------
    EvaluationError
        If there is nothing to rank, a value is not finite, or `prob` is not between 0 and 1.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[2.0, 1.0, 0.0], [2.1, 0.8, 0.1], [1.9, 1.2, -0.2], [1.5, 1.6, 0.3]]]
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"))
    >>> evaluation.tied_groups(quality, prob=0.7).values
    array([1, 2, 3])
    """
    check_probability("prob", prob)
    ranks = drawn_ranks(tree)
    n = len(ranks.best)
    median, mean = np.empty(n), np.empty(n)
    for own in ranks.blocks():
        middle = (ranks.best[own] + ranks.worst[own]) / 2
        median[own], mean[own] = np.median(middle, axis=1), middle.mean(axis=1)
    order = np.lexsort((mean, median))
    group = np.empty(n, np.int64)
    leaders = [order[0]]
    for item in order:
        if _share(ranks.best[item] > ranks.best[leaders[-1]]) >= prob:
            leaders.append(item)
        group[item] = len(leaders)
    error = 1 - _share(_in_order(ranks, leaders))
    attrs = {"prob": prob, "error": float(error)}
    return xr.DataArray(group, {ranks.dim: ranks.item}, (ranks.dim,), name="tied_group", attrs=attrs)


def _in_order(ranks: RankDraws, leaders: Sequence[int]) -> np.ndarray:
    """Return in which draws every leader is above the next one, bool (draw,)."""
    ordered = np.ones(ranks.best.shape[1], bool)
    for above, below in pairwise(leaders):
        ordered &= ranks.best[above] < ranks.best[below]
    return ordered


def _simultaneous_depth(ranks: RankDraws, prob: float) -> int:
    """Depth of the simultaneous credible band of the ranks: `prob` of the draws are inside it for all items.

    Depth of a draw: minimum over items of the numbers of draws with a rank as good or better, as bad or
    worse.
    """
    samples = ranks.best.shape[1]
    depth = np.full(samples, samples)
    for best, worst in zip(ranks.best, ranks.worst, strict=True):
        as_good = np.searchsorted(np.sort(best), best, side="right")
        as_bad = samples - np.searchsorted(np.sort(worst), worst, side="left")
        np.minimum(depth, np.minimum(as_good, as_bad), out=depth)
    return int(np.sort(depth)[::-1][int(np.ceil(prob * samples)) - 1])


def _share(of_draws: np.ndarray) -> np.ndarray:
    """Share of true values along the last axis, the draws."""
    return np.count_nonzero(of_draws, axis=-1) / of_draws.shape[-1]


def _check_size(name: str, n: int, instead: str) -> None:
    if n > MOST_ITEMS:
        raise EvaluationError(
            f"{name}: {n} items make a matrix of {n:,} x {n:,}, allowed are {MOST_ITEMS:,}; "
            f"use {instead}, or select items: tree['posterior']['quality'].sel(item=...)"
        )
