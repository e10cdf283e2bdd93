"""Raters who prefer a side: binomial tests of the votes, without a model.

Where the sides of a pair are assigned at random, each decided vote goes to the left with probability 1/2, whatever the
qualities and the rater, unless the rater prefers a side. The number of votes for the left is then Binomial(n, 1/2).
"""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsqr
from scipy.stats import binom, chi2

from ...posterior.errors import EvaluationError
from ..argument_checks import check_probability

LEFT, RIGHT = 0, 1  # outcomes
DESIGN_LEVEL = 0.01  # of the tests of whether the sides were assigned at random


class _Cells(NamedTuple):
    """Decided votes by rater and unordered pair, in the two orders of its items."""

    rater: np.ndarray  # (cell,)
    pair: np.ndarray  # (cell,)
    votes: np.ndarray  # (cell, order, outcome): order 0 has the smaller code on the left


def side_test(votes: Any, *, prob: float = 0.95, left: float = 0.5) -> xr.Dataset:
    """Test for each rater whether the left side and the right side are preferred alike.

    The test needs no model, but sides that were assigned at random: anew for each vote, once for each rater and pair,
    or once for each pair. It is exact for votes on distinct pairs. Votes of a rater on one pair that all have the same
    order count as one, the side of their majority: a rater who prefers one of two items is not taken for one who
    prefers a side. In the test of all raters together, so do the votes of raters who all saw a pair in the same order.

    Parameters
    ----------
    votes : Comparisons
        Votes of raters on pairs of items; ties do not count.
    prob : float, default .95
        One minus the probability of naming any rater where none prefers a side.
    left : float, default .5
        Share of the decided votes that goes to the left between equal items where no rater is special, such as a model with an
        advantage of the side has fitted; the test of all raters together is against 1/2.

    Returns
    -------
    Dataset
        By ``rater``: ``left`` and ``decided``, the numbers of votes for the left and of votes with a winner; ``p_value``
        of the two-sided binomial test; ``adjusted``, the same after Holm's correction for the number of raters;
        ``one_sided``, whether that is below 1 - `prob`. Attributes ``left``, ``decided``, ``p_value`` of all raters
        together, and ``sides``: "random", "fixed" (some items are on one side too often for sides that were assigned
        at random; then no rater is ``one_sided``), or "winner" (the winner is on the same side in all votes of a table
        of two raters or more, too many for chance: such a table does not say where the items stood).

    Raises
    ------
    EvaluationError
        If `prob` is not a probability, or `votes` is no table of votes.

    Examples
    --------
    >>> from raterzoo import evaluation, models
    >>> rows = [("ann", "a", "b", "left"), ("ann", "b", "a", "right"), ("bob", "a", "b", "left"), ("bob", "b", "a", "left")]
    >>> table = dict(zip(("rater", "left", "right", "winner"), zip(*(rows * 5)), strict=True))
    >>> found = evaluation.side_test(models.Comparisons.from_table(table))
    >>> found["left"].values.tolist(), found["p_value"].values.round(3).tolist(), found["one_sided"].values.tolist()
    ([5, 10], [1.0, 0.002], [False, True])

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.
    """
    check_probability("prob", prob)
    check_probability("left", left)
    if not hasattr(votes, "outcome"):
        raise EvaluationError(f"expected Comparisons, found {type(votes).__name__}")
    cells = _cells_of(votes)
    whole = _together(cells)
    on_left, decided = cells.votes[:, :, LEFT].sum(axis=1), cells.votes.sum(axis=(1, 2))
    # a rater's opinion on a pair is one trial also where other raters saw the other order
    trials, lefts = (int(own.sum()) for own in _trials(_together(_opinions(cells))))
    p_of_all = float(_two_sided(lefts, trials))
    sides = _sides(cells, whole, trials, votes)
    n = len(votes.raters)
    known = cells.rater >= 0
    trials, lefts = (np.bincount(cells.rater[known], own[known], n) for own in _trials(cells))
    p = _two_sided(lefts, trials, left)
    adjusted = _holm(p)
    found = {
        "left": np.bincount(cells.rater[known], on_left[known], n).astype(int),
        "decided": np.bincount(cells.rater[known], decided[known], n).astype(int),
        "p_value": p,
        "adjusted": adjusted,
        "one_sided": (adjusted < 1 - prob) & (sides == "random"),
    }
    facts: dict[str, Any] = {
        "left": int(on_left.sum()),
        "decided": int(decided.sum()),
        "p_value": p_of_all,
        "sides": sides,
    }
    return xr.Dataset({k: ("rater", v) for k, v in found.items()}, {"rater": votes.raters}, facts)


def _cells_of(votes: Any) -> _Cells:
    """Count the decided votes by rater, unordered pair, order and outcome."""
    decided = np.isin(votes.outcome, (LEFT, RIGHT))
    left, right = (np.asarray(code, np.int64)[decided] for code in (votes.left, votes.right))
    rater, outcome = np.asarray(votes.annotation_rater, np.int64)[decided], np.asarray(votes.outcome)[decided]
    pair = np.minimum(left, right) * len(votes.items) + np.maximum(left, right)
    keys, cell = np.unique(np.stack([rater, pair]), axis=1, return_inverse=True)
    counts = np.zeros((keys.shape[1], 2, 2))
    np.add.at(counts, (cell.ravel(), (left > right).astype(int), outcome), np.asarray(votes.count)[decided])
    return _Cells(keys[0], keys[1], counts)


def _together(cells: _Cells) -> _Cells:
    """Add up the raters."""
    pairs, place = np.unique(cells.pair, return_inverse=True)
    counts = np.zeros((len(pairs), 2, 2))
    np.add.at(counts, place, cells.votes)
    return _Cells(np.full(len(pairs), -1), pairs, counts)


def _opinions(cells: _Cells) -> _Cells:
    """Replace the votes of each cell in one order by one vote for the side of their majority, or by none."""
    both = cells.votes.sum(axis=2).all(axis=1)[:, None, None]
    margin = cells.votes[:, :, LEFT] - cells.votes[:, :, RIGHT]
    return cells._replace(votes=np.where(both, cells.votes, np.stack([margin > 0, margin < 0], axis=2)))


def _trials(cells: _Cells) -> tuple[np.ndarray, np.ndarray]:
    """Return the independent trials of each cell, and those that went to the left; both (cell,)."""
    left, right = _opinions(cells).votes.sum(axis=1).T
    return left + right, left


def _two_sided(left: Any, trials: Any, share: float = 0.5) -> Any:
    """P-values of two-sided binomial tests; 1 without trials."""
    lower, upper = binom.cdf(left, trials, share), binom.sf(left - 1, trials, share)
    return np.minimum(1.0, 2 * np.minimum(lower, upper))


def _holm(p: np.ndarray) -> np.ndarray:
    """Return p-values (rater,) adjusted for their number."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def _sides(cells: _Cells, whole: _Cells, trials: int, votes: Any) -> str:
    """Return how the items came to their sides: "random", "fixed" or "winner"; `trials` are independent ones."""
    lefts, decided = cells.votes[:, :, LEFT].sum(), cells.votes.sum()
    if lefts in (0, decided) and 2.0 ** (1 - trials) < DESIGN_LEVEL and len(votes.raters) != 1:
        return "winner"
    # one trial for each pair: whether the smaller code is more often on the left
    first, second = np.divmod(whole.pair, len(votes.items))
    orders = whole.votes.sum(axis=2)
    sign = np.sign(orders[:, 0] - orders[:, 1])
    first, second, sign = (own[sign != 0] for own in (first, second, sign))
    n, m = len(votes.items), len(sign)
    if not m:
        return "random"
    on_left = np.bincount(first, sign > 0, n) + np.bincount(second, sign < 0, n)
    met = np.bincount(first, minlength=n) + np.bincount(second, minlength=n)
    by_item = _two_sided(on_left, met)
    # are the orders explained by a place of each item? under random orders the explained sum of squares is chi-squared
    row, column = np.tile(np.arange(m), 2), np.r_[first, second]
    incidence = csr_array((np.r_[np.ones(m), -np.ones(m)], (row, column)), shape=(m, n))
    explained = np.square(incidence @ lsqr(incidence, sign, atol=1e-10, btol=1e-10)[0]).sum()
    rank = n - connected_components(abs(incidence.T @ incidence), directed=False)[0]
    level = DESIGN_LEVEL / 2
    fixed = by_item.min() * n < level or (m > rank and chi2.sf(explained, rank) < level)
    return "fixed" if fixed else "random"
