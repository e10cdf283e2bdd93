"""Posterior expected outcome of a vote between two items, from the model's choice probabilities.

    x = rho (q_i - q_j), rho the reliability of the rater who is asked, no left bias
    Bradley-Terry    F = expit(x);      with ties  e^{x/2} : e^{-x/2} : nu for i, j, a tie (Davidson)
    Thurstone        F = Phi(x);        with ties  Phi(x - t), Phi(-x - t) and the rest a tie (threshold)

nu and t are ``tie`` of the posterior. Without ``tie``, every vote has a winner. Covariates of votes (``vote_effect``) are
taken to be zero: the two answers do not differ in them.

References
----------
Davidson (1970), On extending the Bradley-Terry model to accommodate ties, JASA 65, eq. 1.3,
doi:10.1080/01621459.1970.10481082. Glenn and David (1960), Ties in paired-comparison experiments, Biometrics
16, doi:10.2307/2527957 (threshold).
"""

from typing import Literal

import numpy as np
import xarray as xr
from scipy.special import expit, ndtr

from ...posterior.errors import EvaluationError
from ...posterior.links import LOGISTIC, PROBIT, Link, require_link
from .qualities import qualities_of, sample_matrix

MOST_ITEMS = 2_000  # an exponential for every draw and pair


def win_probability(
    tree: xr.DataTree, *, link: Link | None = None, reliability: float | Literal["mean"] = "mean"
) -> xr.Dataset:
    """Return the posterior expected probabilities that an item wins a vote against another, or ties.

    They are those of a vote without an advantage of the left side and, of a model with covariates of votes such as lengths
    (``vote_effect``), of two answers that do not differ in them.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``quality`` (chain, draw, item), and ``reliability`` and ``tie`` if the model has them.
    link : {"bradley_terry", "thurstone"}, optional
        Link of the model; by default the attribute ``model`` of the tree.
    reliability : float or "mean"
        Reliability of the rater who is asked: "mean" is the mean of all raters in each draw (1 in a model
        without reliability); a number is in the units of the posterior, larger = closer to an ideal rater.

    Returns
    -------
    Dataset, dims (item, other)
        ``win`` of the item and ``tie``: win, the transpose of win, and tie sum to one. ``points``: win plus
        half of tie, the expected points if a tie is half a win; 1/2 for an item against itself.

    Raises
    ------
    EvaluationError
        If the link is unknown, the reliability is not a number, or there are more than 2,000 items.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> quality = xr.DataArray([[[2.0, 1.0], [1.8, 1.1]]], {"item": ["a", "b"]}, ("chain", "draw", "item"))
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"quality": quality})})
    >>> evaluation.win_probability(tree, link="bradley_terry")["win"].sel(item="a", other="b").item().__round__(2)
    0.7
    """
    link = _link(tree, link)
    quality = qualities_of(tree)
    n = quality.sizes["item"]
    if n > MOST_ITEMS:
        raise EvaluationError(
            f"win_probability: {n} items are {n * n:,} pairs in every draw, allowed are {MOST_ITEMS:,} items; "
            "leave some out of the tree"
        )
    sample = quality.dims[:-1]
    q = sample_matrix(quality)
    x = q * np.reshape(_rater_reliability(tree, reliability, sample, len(q)), (-1, 1))
    tie = _of_samples(tree, "tie", sample, len(q))
    graded = "cut_point" in (tree["posterior"] if isinstance(tree, xr.DataTree) else tree)
    win, tied = np.empty((n, n)), np.zeros((n, n))
    for i in range(n):
        first, second, neither = _choices(x[:, i : i + 1] - x[:, i:], tie, link, graded)
        win[i, i:], win[i:, i], tied[i, i:] = first, second, neither
        tied[i:, i] = neither
    labels = quality["item"].to_numpy()
    dims = ("item", "other")
    return xr.Dataset(
        {"win": (dims, win), "tie": (dims, tied), "points": (dims, win + tied / 2)},
        {"item": labels, "other": labels},
        {"link": link, "reliability": reliability},
    )


def _choices(
    x: np.ndarray, tie: np.ndarray | None, link: Link, graded: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
    """Mean over draws (sample, other) of the probabilities of first, second and a tie, which of graded votes has a cut point."""
    law = expit if link == LOGISTIC else ndtr
    if tie is None:
        return law(x).mean(axis=0), law(-x).mean(axis=0), 0.0
    tie = tie[:, None]
    if graded or link == PROBIT:
        first, second = law(x - tie).mean(axis=0), law(-x - tie).mean(axis=0)
        return first, second, 1 - first - second
    # Davidson's weights, divided by that of the likelier winner so that none overflows
    likelier = np.exp(-np.abs(x))
    half = np.exp(-np.abs(x) / 2)
    total = 1 + likelier + tie * half
    first = np.where(x >= 0, 1, likelier) / total
    second = np.where(x >= 0, likelier, 1) / total
    return first.mean(axis=0), second.mean(axis=0), (tie * half / total).mean(axis=0)


def _rater_reliability(
    tree: xr.DataTree, reliability: float | str, sample: tuple[object, ...], size: int
) -> np.ndarray | float:
    """Reliability of the rater who is asked: a scalar, or (sample,)."""
    if isinstance(reliability, int | float | np.number) and np.isfinite(reliability):
        return float(reliability)
    if reliability != "mean":
        raise EvaluationError(f"reliability={reliability!r}: expected 'mean' or a finite number")
    draws = _of_samples(tree, "reliability", sample, size)
    return 1.0 if draws is None else draws


def _of_samples(tree: xr.DataTree, name: str, sample: tuple[object, ...], size: int) -> np.ndarray | None:
    """Draws of a variable of the posterior (sample,), averaged over raters; None if missing."""
    posterior = tree["posterior"].to_dataset() if isinstance(tree, xr.DataTree) else tree
    if not isinstance(posterior, xr.Dataset) or name not in posterior:
        return None
    values = posterior[name].astype(float)
    values = values.mean([dim for dim in values.dims if dim not in sample])
    draws = np.broadcast_to(values.transpose(*sample).to_numpy().ravel(), size)
    if not np.isfinite(draws).all():
        raise EvaluationError(f"{name}: a draw is NaN or infinite; sample again")
    return draws


def _link(tree: xr.DataTree, link: str | None) -> Link:
    """Return the link, or raise if it is unknown."""
    given, name = (tree.attrs.get("model"), "attribute model of the tree") if link is None else (link, "link")
    return require_link(given, name, EvaluationError, "; pass link= of the model that was fitted")
