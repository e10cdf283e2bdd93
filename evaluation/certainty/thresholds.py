"""Scores dichotomised at a threshold: certainty of the side that each item is on.

Two different quantities bear the same name in the literature:

    threshold probability    max(P(y_i <= t), P(y_i > t))          of the next score, all uncertainty together
    annotation certainty     max over sides of P(side is the more probable one)      of the side, eq. 9

With more scores the annotation certainty tends to one, but, as raters differ, not the threshold probability.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Literal, get_args

import numpy as np
import xarray as xr
from scipy.special import ndtr

from ...posterior.errors import EvaluationError
from ...posterior.groups import tree_like
from ...posterior.plausibility import REMEDY, in_threads, refuse_without_draws

ERROR = 1e-6  # largest error of a probability from the table
STEEPEST = 0.5506  # max |Phi''''|
ITEMS_A_NODE = 3  # cost of a node in items: it needs the derivative, too
MANY_TERMS = 10_000  # item-rater terms of a draw below which a table does not pay


def mean_normal_below(
    threshold: float, location: np.ndarray, bias: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Probability that a rater picked at random scores an item at most the threshold, correct to 1e-6.

    Within a draw, P(y <= t) = mean_k Phi((t - mu - b_k) / s_k) is one smooth function of mu for all items: it is
    interpolated from an even grid of step h by cubic Hermite polynomials, with an error of at most

        h^4 / 384  max |Phi''''|  mean_k s_k^-4,     max |Phi''''| = sqrt(18 - 6 sqrt 6) phi(sqrt(3 - sqrt 6)) = .5506

    The sum itself is computed unless there are many fewer nodes than items.

    Shapes: location (sample, item), finite; bias and scale (sample, rater), scale positive; result (sample,
    item).
    """
    smallest = scale.min(axis=1)
    curvature = ((smallest[:, None] / scale) ** 4).mean(axis=1)
    # of each draw's table, from the error bound
    step = (384 * ERROR / STEEPEST / curvature) ** 0.25 * smallest
    as_sum = np.ptp(location, axis=1) * ITEMS_A_NODE >= step * location.shape[1]
    if location.shape[1] * bias.shape[1] < MANY_TERMS:
        as_sum[:] = True
    below = np.empty_like(location)
    below[as_sum] = _sums(threshold, location[as_sum], bias[as_sum], scale[as_sum])
    for s in np.flatnonzero(~as_sum):
        below[s] = _from_table(threshold - location[s], bias[s], scale[s], step[s])
    return below


def _sums(threshold: float, location: np.ndarray, bias: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Mean over the raters by direct summation; location and result (sample, item)."""
    total, one = np.zeros_like(location), np.empty_like(location)
    for k in range(bias.shape[1]):
        np.subtract((threshold - bias[:, k])[:, None], location, out=one)
        one /= scale[:, k, None]
        total += ndtr(one, out=one)
    total /= bias.shape[1]
    return total


def _from_table(x: np.ndarray, bias: np.ndarray, scale: np.ndarray, step: float) -> np.ndarray:
    """Mean over the raters by the table, at distances x (item,) of the threshold in one draw."""
    first = x.min()
    node = first + step * np.arange(int((x.max() - first) / step) + 2)
    z = (node[:, None] - bias) / scale
    value = ndtr(z).mean(axis=1)
    with np.errstate(over="ignore"):  # z**2 overflows far from a rater of small scale: density zero
        density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    slope = step * (density / scale).mean(axis=1)
    rise = np.diff(value)
    place = (x - first) / step
    left = place.astype(np.intp)
    place -= left
    found = (slope[:-1] + slope[1:] - 2 * rise)[left]
    # cubic Hermite polynomial by Horner's scheme
    for coefficient in (3 * rise - 2 * slope[:-1] - slope[1:], slope, value):
        found *= place
        found += coefficient[left]
    return np.clip(found, 0, 1, out=found)  # the cubics may exceed [0, 1] by their error


# --- Posterior draws of scores, and the probability that a score is at most a threshold ---

BLOCK_SIZE = 2_000_000  # probabilities in one block of work
OF_SCORES = "Models of scores, such as normal_scores, have them"


@dataclass(frozen=True)
class ScoreParameters:
    """Posterior draws of the parameters of a model of scores."""

    location: xr.DataArray  # (..., item), sample dims first
    rows: np.ndarray  # (sample, item), the values of location
    bias: np.ndarray | None  # (sample, rater); None in models without raters
    scale: np.ndarray  # standard deviations (sample, item), or (sample, rater) where there is a bias
    sloped: bool = False  # whether raters use the scale by slopes of their own

    @classmethod
    def of(cls, tree: xr.DataTree) -> "ScoreParameters":
        """Read the draws of a posterior; raise without locations and scales of labelled items."""
        if not isinstance(tree, xr.DataTree):
            raise EvaluationError(f"expected a DataTree, found {type(tree).__name__}")
        refuse_without_draws(tree, "location")
        posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
        found = ", ".join(map(str, posterior.data_vars)) or "nothing"
        if "location" not in posterior or "item" not in posterior["location"].dims:
            raise EvaluationError(f"the posterior has no location of items; it holds {found}. {OF_SCORES}")
        location = posterior["location"].transpose("chain", "draw", ..., "item", missing_dims="ignore")
        if "item" not in location.coords:
            raise EvaluationError(f"the items of location have no labels; {REMEDY}")
        sample, rows = location.dims[:-1], location.to_numpy().reshape(-1, location.sizes["item"])
        if "scale" in posterior and "item" in posterior["scale"].dims:
            scale = posterior["scale"].transpose(*sample, "item").to_numpy()
            return cls(location, rows, None, scale.reshape(-1, scale.shape[-1]))
        if {"rater_bias", "rater_scale"} <= set(posterior.data_vars):
            n = posterior.sizes["rater"]
            bias, spread = (
                posterior[name].transpose(*sample, "rater").to_numpy().astype(float).reshape(-1, n)
                for name in ("rater_bias", "rater_scale")
            )
            return cls(location, rows, bias, spread, "rater_slope" in posterior)
        raise EvaluationError(
            f"the posterior has neither a scale of items nor rater_bias and rater_scale; it holds {found}. {OF_SCORES}"
        )

    def at_most(self, threshold: float, samples: slice) -> np.ndarray:
        """Return P(score <= threshold) (sample, item) of a slice of draws; raise if a draw is invalid.

            P(y_i <= t) = Phi((t - mu_i) / sigma_i)                 with a location and a scale for each item
            P(y_i <= t) = mean_k Phi((t - mu_i - b_k) / s_k)        with a bias and a scale for each rater

        The second is the law of a rater picked at random from the observed ones. Neither is truncated at the bounds of
        the scores; with whole-number scores, a threshold half-way between two of them treats both alike.
        """
        if self.sloped:
            raise EvaluationError(
                "the raters have slopes (rater_slope), and the score of a rater picked at random is not computed with them; "
                "use thresholded(tree, threshold, of='location'), or fit without slopes="
            )
        location, scale = self.rows[samples].astype(float), self.scale[samples]
        _check("location", np.isfinite(location), self.location)
        if self.bias is None:
            _check("scale", (scale > 0) & (scale < np.inf), self.location)
            np.subtract(threshold, location, out=location)
            location /= scale
            return ndtr(location, out=location)
        bias = self.bias[samples]
        if not (np.isfinite(bias).all() and (scale > 0).all() and np.isfinite(scale).all()):
            raise EvaluationError(
                "a draw of rater_bias is not finite, or of rater_scale not positive: sample again"
            )
        return mean_normal_below(threshold, location, bias, scale)

    def map_blocks[Result](self, function: Callable[[slice], Result]) -> list[Result]:
        """Apply a function to slices of draws on several threads; return the results in order."""
        samples, items = self.rows.shape
        step = max(1, BLOCK_SIZE // items)
        blocks = [slice(first, first + step) for first in range(0, samples, step)]
        return list(in_threads(function, blocks))


def _check(name: str, fine: np.ndarray, location: xr.DataArray) -> None:
    """Raise unless `fine` (sample, item) is all true, naming the first bad item."""
    if not fine.all():
        item = location["item"].to_numpy().tolist()[int((~fine).any(axis=0).argmax())]
        allowed = "finite" if name == "location" else "finite and positive"
        raise EvaluationError(f"{name} of item {item!r} is not {allowed} in a draw: sample again")


BOUNDS = "bounds of the scores"
Of = Literal["score", "location"]


def thresholded(
    tree: xr.DataTree, threshold: float, *, of: Of = "score", names: Sequence[str] | None = None
) -> xr.DataTree:
    """Dichotomise the scores of a posterior at a threshold.

    Parameters
    ----------
    tree : DataTree
        Posterior: ``location`` and ``scale`` (item), or ``location`` (item), ``rater_bias``, ``rater_scale``
        (rater).
    threshold : float
        Cut point, in the unit of the scores: from the lower bound of the scores to below the upper bound;
        without bounds, within the range of the observed scores.
    of : {"score", "location"}, default "score"
        "score": the plausibility is the probability that a score is on either side. "location": it is 1 on
        the side of the item's location and 0 on the other.
    names : two texts, optional
        Names of the lower category, with the threshold, and the upper; default "at most t" and "above t".

    Returns
    -------
    DataTree
        Posterior with ``plausibility`` (chain, draw, item, category), which every metric accepts. The
        densities are kept for `prior_sensitivity` if items share no parameters.

    Raises
    ------
    EvaluationError
        If there are no scores, the threshold is no number or out of range, or the names are not two texts.

    Examples
    --------
    >>> from raterzoo import inference, models, papers
    >>> scores = models.simulators.scores(model="normal_scores", items=4, raters=6, random_seed=1).data
    >>> tree = inference.sample(models.normal_scores(scores), draws=200, random_seed=1, progressbar=False)
    >>> cut = papers.thresholded(tree, 0.0)
    >>> cut["posterior"]["plausibility"].dims, cut["posterior"]["category"].values.tolist()
    (('chain', 'draw', 'item', 'category'), ['at most 0', 'above 0'])
    """
    if of not in get_args(Of):
        raise EvaluationError(f"of={of!r} is not one of {', '.join(map(repr, get_args(Of)))}")
    draws, threshold = ScoreParameters.of(tree), _threshold(tree, threshold)
    named = _names(names, threshold)
    if of == "score":
        values = _plausibilities(draws)
        _accumulate(draws, threshold, values)
    else:
        lower = draws.rows <= threshold
        values = np.stack([lower, ~lower], axis=-1).astype(np.int8)
    return _as_tree(tree, draws, values, named)


def threshold_certainty(tree: xr.DataTree, threshold: float) -> xr.Dataset:
    """Return the certainty of the side of a threshold that each item is on, by both quantities.

    Parameters
    ----------
    tree, threshold
        As in `raterzoo.papers.thresholded`.

    Returns
    -------
    Dataset, dims (item,)
        ``threshold_probability``, see there. ``annotation_certainty`` of ``thresholded(tree, threshold)``,
        which is not kept in memory. ``above``, the probability of a score above the threshold. ``location``,
        the posterior mean. Attribute ``threshold`` (Stutz et al., 2025, arXiv:2307.02191, equation 9 and
        appendix A, figures A.10-A.11).

    Raises
    ------
    EvaluationError
        If the tree has no scores, or the threshold is not a number or out of range.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> scores = models.simulators.scores(model="normal_scores", items=4, raters=6, random_seed=1).data
    >>> tree = inference.sample(models.normal_scores(scores), draws=200, random_seed=1, progressbar=False)
    >>> sorted(evaluation.threshold_certainty(tree, 0.0).data_vars)
    ['above', 'annotation_certainty', 'location', 'threshold_probability']
    """
    return _accumulate(ScoreParameters.of(tree), _threshold(tree, threshold), None)


def threshold_and_certainty(tree: xr.DataTree, threshold: float) -> tuple[xr.DataTree, xr.Dataset]:
    """Return both `thresholded` and `threshold_certainty` from a single pass through the draws."""
    draws, threshold = ScoreParameters.of(tree), _threshold(tree, threshold)
    values = _plausibilities(draws)
    certainty = _accumulate(draws, threshold, values)
    return _as_tree(tree, draws, values, _names(None, threshold)), certainty


def threshold_probability(tree: xr.DataTree, threshold: float) -> xr.DataArray:
    """Return the probability that the next score of an item is on the more probable side of a threshold.

    Parameters
    ----------
    tree, threshold
        As in `thresholded`.

    Returns
    -------
    DataArray, shape (item,)
        max(P(score <= threshold), P(score > threshold)) under the posterior predictive law, in [1/2, 1]
        (Stutz et al., 2025, arXiv:2307.02191, appendix A, figures A.10-A.11).

    Raises
    ------
    EvaluationError
        If the tree has no scores, or the threshold is not a number or out of range.

    Examples
    --------
    >>> from raterzoo import inference, models, papers
    >>> scores = models.simulators.scores(model="normal_scores", items=4, raters=6, random_seed=1).data
    >>> tree = inference.sample(models.normal_scores(scores), draws=200, random_seed=1, progressbar=False)
    >>> bool((papers.threshold_probability(tree, 0.0) >= 0.5).all())
    True
    """
    return threshold_certainty(tree, threshold)["threshold_probability"]


def _plausibilities(draws: ScoreParameters) -> np.ndarray:
    """Allocate the plausibility of either side, shape (sample, item, 2)."""
    return np.empty((*draws.rows.shape, 2), np.result_type(draws.location.dtype, np.float32))


def _accumulate(draws: ScoreParameters, threshold: float, plausibility: np.ndarray | None) -> xr.Dataset:
    """Return the certainty of the items, in one pass through the draws.

    `plausibility` (sample, item, 2) is overwritten with that of either side in each draw, unless it is None.
    """

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


def _as_tree(tree: xr.DataTree, draws: ScoreParameters, values: np.ndarray, names: list[str]) -> xr.DataTree:
    """Return a posterior of plausibilities (sample, item, category) with the sample dims of the scores."""
    location = draws.location
    coords = {d: location[d] for d in location.dims if d in location.coords}
    coords["category"] = xr.DataArray(names, dims="category", attrs={"kind": "text"})
    values, dims = values.reshape(*location.shape, 2), (*location.dims, "category")
    array = xr.DataArray(values, coords, dims, "plausibility", attrs={"truth": "distribution"})
    # the densities are of single items only if no parameter is shared
    shared = any("item" not in v.dims for v in tree["posterior"].data_vars.values())
    kept = [group for group in ("log_likelihood", "log_prior") if group in tree.children and not shared]
    groups = {group: tree[group].to_dataset() for group in kept}
    return tree_like(tree, {"posterior": array.to_dataset(), **groups})


def _names(names: Sequence[str] | None, threshold: float) -> list[str]:
    if names is None:
        return [f"at most {threshold:g}", f"above {threshold:g}"]
    cells = names.tolist() if isinstance(names, np.ndarray) else names
    listed = isinstance(cells, Sequence) and not isinstance(cells, str)
    if not listed or not all(isinstance(c, str) for c in cells) or len(cells) != 2 or cells[0] == cells[1]:
        raise EvaluationError(
            f"names={names!r} must be a list of two different texts: the lower category, then the upper"
        )
    return [str(name) for name in cells]


def _threshold(tree: xr.DataTree, threshold: object) -> float:
    """Return the threshold as a float; raise if it is not within the range of the scores."""
    try:
        real = isinstance(threshold, int | float | np.integer | np.floating)
        number = float(threshold) if real and not isinstance(threshold, bool) else nan
    except OverflowError:  # a Python integer beyond 64-bit floats
        number = nan
    if not isfinite(number):
        raise EvaluationError(f"threshold={threshold!r} must be a finite number")
    low, high, what = -np.inf, np.inf, "real numbers"
    scores = ("observed_data", "observed_score", "observed scores")
    for group, name, source in (scores, ("constant_data", "score_bounds", BOUNDS)):
        if group in tree.children and name in tree[group] and tree[group][name].size:
            values = tree[group][name].to_numpy()
            low, high, what = float(values.min()), float(values.max()), source
    # no score lies above the upper bound, but a future score may exceed the observed maximum
    if not low <= number <= high or (number == high and what == BOUNDS):
        raise EvaluationError(
            f"threshold={number:g} lies outside the {what}, {low:g} to {high:g}: all items would be on one side; "
            "choose one within"
        )
    return number
