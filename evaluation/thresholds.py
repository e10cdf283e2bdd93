"""What is lost when scores are cut at a threshold, such as good above 5: how certain it is on which side an item is.

Two quantities that bear the same name in the literature, and are not the same:

    threshold probability    max(P(y_i <= t), P(y_i > t))           of the next score, all uncertainty together
    annotation certainty     max over the sides of P(side is the more probable one)        of the side, eq. 9

With more scores the certainty goes to one. The threshold probability does not: raters who differ go on to differ.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical Image Analysis,
arXiv:2307.02191, equation 9 (annotation certainty) and appendix A, figures A.10-A.11 (scores).
"""

from collections.abc import Sequence
from math import inf, isfinite, nan
from typing import Literal, get_args

import numpy as np
import xarray as xr

from .errors import EvaluationError
from .score_draws import ScoreDraws

__all__ = ["cut_and_certainty", "threshold_certainty", "threshold_probability", "thresholded"]

BOUNDS = "bounds of the scores"
Of = Literal["score", "location"]


def thresholded(
    tree: xr.DataTree,
    threshold: float,
    *,
    of: Of = "score",
    names: Sequence[str] | None = None,
) -> xr.DataTree:
    """Cut the scores of a posterior in two categories.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``location`` and ``scale`` by item, or ``location`` by item, ``rater_bias`` and ``rater_scale`` by rater.
    threshold : float
        Where to cut: from the lower bound of the scores to below the upper; where they have none, within the observed scores.
    of : {"score", "location"}, default "score"
        Of what the plausibility is: the probability that a score is on either side; or 0 and 1 as the item's location is.
    names : two texts, optional
        The lower category, to which the threshold belongs, and the upper one; by default "at most t" and "above t".

    Returns
    -------
    DataTree
        Posterior with ``plausibility`` (chain, draw, item, category). Every metric takes it. The densities stay with it where
        items share nothing, for `prior_sensitivity`.

    Raises
    ------
    EvaluationError
        If the tree has no scores, the threshold is no number or out of range, or the names are not two different texts.
    """
    if of not in get_args(Of):
        raise EvaluationError(f"of={of!r} is not one of {', '.join(map(repr, get_args(Of)))}")
    draws, threshold = ScoreDraws.of(tree), _threshold(tree, threshold)
    named = _names(names, threshold)
    if of == "score":
        values = _plausibilities(draws)
        _walk(draws, threshold, values)
    else:
        lower = draws.rows <= threshold
        values = np.stack([lower, ~lower], axis=-1).astype(np.int8)
    return _as_tree(tree, draws, values, named)


def threshold_certainty(tree: xr.DataTree, threshold: float) -> xr.Dataset:
    """Return how certain it is on which side of a threshold the items are, by either quantity.

    Parameters
    ----------
    tree : DataTree
        As of `thresholded`.
    threshold : float
        Where to cut.

    Returns
    -------
    Dataset, dims (item,)
        ``threshold_probability``; ``annotation_certainty``, that of ``thresholded(tree, threshold)``, without keeping it in
        memory; ``above``, the probability of a score above the threshold; ``location``, the posterior mean. Attribute
        ``threshold``.

    Raises
    ------
    EvaluationError
        If the tree has no scores, or the threshold is no number or out of range.
    """
    draws, threshold = ScoreDraws.of(tree), _threshold(tree, threshold)
    return _walk(draws, threshold, None)


def cut_and_certainty(tree: xr.DataTree, threshold: float) -> tuple[xr.DataTree, xr.Dataset]:
    """Return what `thresholded` and `threshold_certainty` do, of one walk through the draws.

    Parameters
    ----------
    tree : DataTree
        As of `thresholded`.
    threshold : float
        Where to cut.

    Returns
    -------
    cut : DataTree
        Posterior with ``plausibility``, of scores.
    certainty : Dataset, dims (item,)
        How certain the side of an item is.

    Raises
    ------
    EvaluationError
        If the tree has no scores, or the threshold is no number or out of range.
    """
    draws, threshold = ScoreDraws.of(tree), _threshold(tree, threshold)
    values = _plausibilities(draws)
    certainty = _walk(draws, threshold, values)
    return _as_tree(tree, draws, values, _names(None, threshold)), certainty


def threshold_probability(tree: xr.DataTree, threshold: float) -> xr.DataArray:
    """Return the probability that the next score of an item is on the more probable side of a threshold.

    Parameters
    ----------
    tree : DataTree
        As of `thresholded`.
    threshold : float
        Where to cut.

    Returns
    -------
    DataArray, shape (item,)
        max(P(score <= threshold), P(score > threshold)) of the posterior predictive law, in [1/2, 1].

    Raises
    ------
    EvaluationError
        If the tree has no scores, or the threshold is no number or out of range.

    References
    ----------
    Stutz et al. (2025), appendix A, figures A.10-A.11.
    """
    return threshold_certainty(tree, threshold)["threshold_probability"]


def _plausibilities(draws: ScoreDraws) -> np.ndarray:
    """Return room for the plausibility of either side, shape (sample, item, 2)."""
    return np.empty((*draws.rows.shape, 2), np.result_type(draws.location.dtype, np.float32))


def _walk(draws: ScoreDraws, threshold: float, plausibility: np.ndarray | None) -> xr.Dataset:
    """Return the certainty of the items; keep the plausibility of either side in each draw where there is room for it."""

    def sums(samples: slice) -> np.ndarray:
        lower = draws.at_most(threshold, samples)
        if plausibility is not None:
            plausibility[samples, :, 0] = lower
            np.subtract(1, plausibility[samples, :, 0], out=plausibility[samples, :, 1])
        share = np.count_nonzero(lower >= 0.5, axis=0)
        return np.stack([lower.sum(axis=0), share, draws.rows[samples].sum(axis=0, dtype=float)])

    total = np.sum(draws.map_blocks(sums), axis=0)
    lower, share, location = total / len(draws.rows)
    found = {
        "threshold_probability": np.maximum(lower, 1 - lower),
        "annotation_certainty": np.maximum(share, 1 - share),
        "above": 1 - lower,
        "location": location,
    }
    items = {"item": draws.location["item"]}
    return xr.Dataset({k: ("item", v) for k, v in found.items()}, items, {"threshold": threshold})


def _as_tree(
    tree: xr.DataTree, draws: ScoreDraws, values: np.ndarray, names: list[str]
) -> xr.DataTree:
    """Return a posterior of plausibilities (sample, item, category) with the sample dims of the scores."""
    location = draws.location
    coords = {d: location[d] for d in location.dims if d in location.coords}
    coords["category"] = xr.DataArray(names, dims="category", attrs={"kind": "text"})
    array = xr.DataArray(
        values.reshape(*location.shape, 2),
        coords,
        (*location.dims, "category"),
        name="plausibility",
        attrs={"truth": "plausibility"},
    )
    result = xr.DataTree.from_dict({"posterior": array.to_dataset(), **_densities(tree)})
    result.attrs = dict(tree.attrs)
    return result


def _densities(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """Return the densities by item, where every parameter is that of an item."""
    shared = any("item" not in v.dims for v in tree["posterior"].data_vars.values())
    groups = () if shared else {"log_likelihood", "log_prior"} & set(tree.children)
    return {group: tree[group].to_dataset() for group in sorted(groups)}


def _names(names: Sequence[str] | None, threshold: float) -> list[str]:
    if names is None:
        return [f"at most {threshold:g}", f"above {threshold:g}"]
    cells = names.tolist() if isinstance(names, np.ndarray) else names
    in_order = isinstance(cells, Sequence) and not isinstance(cells, str)
    texts = in_order and all(isinstance(name, str) for name in cells)
    if not texts or len(cells) != 2 or cells[0] == cells[1]:
        raise EvaluationError(
            f"names={names!r} must be a list of two different texts: the lower category, then the upper"
        )
    return [str(name) for name in cells]


def _threshold(tree: xr.DataTree, threshold: object) -> float:
    """Return the threshold, or raise if it cuts nothing."""
    number = _as_float(threshold)
    if not isfinite(number):
        raise EvaluationError(f"threshold={threshold!r} must be a finite number")
    low, high, what = _range(tree)
    # at the upper bound no score can be above; the highest that was observed may yet be passed
    if not low <= number <= high or (number == high and what == BOUNDS):
        raise EvaluationError(
            f"threshold={number:g} lies outside the {what}, {low:g} to {high:g}: all items would be on one side; "
            "choose one within"
        )
    return number


def _as_float(number: object) -> float:
    """Return a number in 64 bits, NaN for what is none and infinity for what is beyond them."""
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        return nan
    try:
        return float(number)
    except OverflowError:  # of a whole number
        return inf


def _range(tree: xr.DataTree) -> tuple[float, float, str]:
    """Return between which numbers the scores are, as far as the tree says."""
    for group, name, what in (
        ("constant_data", "score_bounds", BOUNDS),
        ("observed_data", "observed_score", "observed scores"),
    ):
        if group in tree.children and name in tree[group] and tree[group][name].size:
            values = tree[group][name].to_numpy()
            return float(values.min()), float(values.max()), what
    return -np.inf, np.inf, "real numbers"
