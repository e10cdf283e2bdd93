"""Units of qualities and reliabilities of comparisons: identification by an anchor, after sampling."""

from typing import Any, Literal, cast

import numpy as np
import xarray as xr

from ...models.data.comparisons import Comparisons
from ...posterior.groups import tree_like
from ...posterior.links import LOGISTIC, Link
from ...posterior.plausibility import refuse_without_draws
from ...posterior.schema import SHARED, SUMMARISED
from ..diagnostics import DIAGNOSIS
from .joint_mle import joint_mle
from .quite import quite


def initial_values(
    estimate: xr.Dataset | Comparisons,
    *,
    method: Literal["quite", "joint_mle"] = "quite",
    link: Link = LOGISTIC,
) -> dict[str, np.ndarray]:
    """Convert a point estimate to initial values for `models.bradley_terry` or `models.thurstone`.

    They are passed as ``pm.sample(initvals=...)``. Votes depend only on distances times reliabilities. The
    result has a geometric mean reliability of 1, and qualities scaled up by the same factor.

    Parameters
    ----------
    estimate : Dataset or Comparisons
        ``quality`` (item) and positive ``reliability`` (rater), as `quite` returns them; or the votes of the model.
    method : {"quite", "joint_mle"}
        Estimator for votes.
    link : {"bradley_terry", "thurstone"}
        Link for votes.

    Returns
    -------
    dict of str to ndarray
        ``quality`` (item,) and ``log_reliability`` (rater,), each with sum zero.

    Raises
    ------
    ValueError
        If a reliability is not positive, or the method is unknown.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.comparisons(items=20, raters=20, degree=10, random_seed=1)
    >>> start = inference.initial_values(drawn.data, method="quite")
    >>> {name: values.shape for name, values in start.items()}
    {'quality': (20,), 'log_reliability': (20,)}
    """
    if isinstance(estimate, Comparisons):
        estimators = {"quite": quite, "joint_mle": joint_mle}
        if method not in estimators:
            raise ValueError(f"method={method!r} is not one of {', '.join(map(repr, estimators))}")
        found = estimators[method](estimate, link=link)
    else:
        found = estimate
    quality, reliability = found["quality"].to_numpy(), found["reliability"].to_numpy()
    if len(wrong := np.flatnonzero(~(reliability > 0))):
        rater = found["rater"].to_numpy()[wrong[0]].item()
        raise ValueError(
            f"the reliability {reliability[wrong[0]]:g} of rater {rater!r} must be positive: it has no logarithm; "
            "start from quite"
        )
    logs = np.log(reliability)
    centred = (quality - quality.mean()) * np.exp(logs.mean())
    return {"quality": centred, "log_reliability": logs - logs.mean()}


Range = tuple[float, float]
Anchor = Literal["mean reliability", "quality sd"] | tuple[Any, Any] | tuple[Range, Range]
WITH_QUALITY = ("quality", "quality_scale", "coefficient", "residual", "taste", "taste_scale")  # divided by g
WITH_RELIABILITY = ("reliability", "reliability_deviation")  # multiplied by g
NO_ANCHOR = "is not 'mean reliability', 'quality sd', a pair of items or a pair of ranges"
HALVINGS = 60  # bisections: to the last digit of a double


def in_units(
    tree: xr.DataTree, anchor: Anchor, *, random_seed: int | np.random.Generator | None = None
) -> xr.DataTree:
    """Express the posterior of a comparison model in other units of quality.

    Answers depend on reliability times difference of qualities, x = rho_k (q_i - q_j). For any g > 0 and m,

        q -> m + q / g,     rho -> g rho

    leaves the probabilities of all answers unchanged: the prior alone identifies scale and shift. Here g is
    chosen for every draw so that an anchor has the same value in all draws. Identified quantities - order of
    the items, ratios of differences or reliabilities, probabilities of answers, ties, left bias - do not change.

    Parameters
    ----------
    tree : DataTree
        Draws of `models.bradley_terry` or `models.thurstone`.
    anchor : {"mean reliability", "quality sd"}, or pair
        Quantity that is set to one: the arithmetic mean of the reliabilities, or the standard deviation of
        the qualities of the items. For two items (better, worse): the difference of their qualities. For two
        ranges, such as ``((0, 1), (1, 20))``: qualities lie in the first and reliabilities in the second,
        with scale and shift drawn from their posterior under uniform priors there.
    random_seed : int or Generator, optional
        Seed of scale and shift, for ranges.

    Returns
    -------
    DataTree
        New tree. In its ``posterior`` ``quality``, ``quality_scale``, ``coefficient``, ``residual``, ``taste`` and
        ``taste_scale`` are divided by g; ``reliability``, ``reliability_deviation`` and, for signed raters,
        ``reliability_scale`` are multiplied by g; ``log_reliability`` is raised by log g. If all raters are alike,
        ``reliability`` (chain, draw) is added. ``tie``, ``left_bias``, other groups stay, but for
        summaries of draws that are not all kept. ``quality`` has the attribute ``unit``.

    Raises
    ------
    ValueError
        If the tree has no qualities, or a summary of them without draws, or some draws admit no positive g.

    Notes
    -----
    Take N items, K raters, qualities in a range of width w and reliabilities from l to h. With c the
    geometric mean of the reliabilities, x = c q and eta = rho / c are free of scale. Given them, g on
    [max(range(x) / w, l / min(eta)), h / max(eta)] has density proportional to g^(K - N) (w - range(x) / g),
    and the shift is uniform over the remaining room: an exact draw. It completes draws of the model with
    ``reliability_range=``; draws under another prior keep that prior's ratios.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import inference
    >>> quality = xr.DataArray([[[3.0, 1.0, 0.0]]], {"item": ["tea", "milk", "cocoa"]}, ("chain", "draw", "item"))
    >>> reliability = (("chain", "draw", "rater"), [[[1.0, 2.0]]])
    >>> draws = xr.Dataset({"quality": quality, "reliability": reliability})
    >>> posterior = inference.in_units(xr.DataTree.from_dict({"posterior": draws}), ("tea", "milk"))["posterior"]
    >>> posterior["quality"].values.tolist(), posterior["reliability"].values.tolist()
    ([[[1.5, 0.5, 0.0]]], [[[2.0, 4.0]]])
    """
    refuse_without_draws(tree, "quality")
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    if "quality" not in posterior or "item" not in posterior["quality"].dims:
        raise ValueError(
            "the tree has no posterior of the 'quality' of items; sample models.bradley_terry or models.thurstone"
        )
    quality = posterior["quality"].transpose("chain", "draw", "item")
    reliability = posterior.get("reliability")
    shift: xr.DataArray | float = 0.0
    if isinstance(anchor, str):
        factor, unit = _named_factor(quality, reliability, anchor)
    elif _is_pair(anchor) and all(map(_is_pair, anchor)):
        factor, shift = _draw_in_ranges(quality, reliability, anchor, np.random.default_rng(random_seed))
        unit = f"qualities in {tuple(anchor[0])}, reliabilities in {tuple(anchor[1])}"
    else:
        factor, unit = _factor_of_pair(quality, anchor)
    wrong = ~((factor > 0) & np.isfinite(factor))
    if wrong.any():
        raise ValueError(
            f"{unit}: impossible in {100 * float(wrong.mean()):.1f} % of the draws, which would need a scale that is not "
            "positive; choose two items that are surely in this order, or anchor='quality sd'"
        )
    changed = _rescaled(posterior, factor)
    changed["quality"] = changed["quality"] + shift
    changed["quality"].attrs["unit"] = unit
    of_former_units = (SUMMARISED, SHARED, DIAGNOSIS)  # summaries of all draws
    groups = {name: node.to_dataset() for name, node in tree.children.items() if name not in of_former_units}
    return tree_like(tree, groups | {"posterior": changed})


def _rescaled(posterior: xr.Dataset, factor: xr.DataArray) -> xr.Dataset:
    """Posterior with all variables that have a unit converted. Shapes: factor, g (chain, draw)."""
    changed = posterior.assign({n: posterior[n] / factor for n in WITH_QUALITY if n in posterior})
    changed = changed.assign({n: posterior[n] * factor for n in WITH_RELIABILITY if n in posterior})
    if "log_reliability" in posterior:
        changed["log_reliability"] = posterior["log_reliability"] + np.log(factor)
    if "reliability_deviation" in posterior and "reliability_scale" in posterior:
        changed["reliability_scale"] = posterior["reliability_scale"] * factor
    if "reliability" not in posterior:
        changed["reliability"] = factor  # of all raters alike
    return changed


def _named_factor(
    quality: xr.DataArray, reliability: xr.DataArray | None, anchor: str
) -> tuple[xr.DataArray, str]:
    """Factor g (chain, draw) and unit of a named anchor."""
    if anchor == "quality sd":
        return quality.std("item"), "standard deviation of the qualities 1"
    if anchor != "mean reliability":
        raise ValueError(f"anchor={anchor!r} {NO_ANCHOR}")
    if reliability is None:
        reliability = xr.ones_like(quality.isel(item=0, drop=True))
    mean = reliability.mean("rater") if "rater" in reliability.dims else reliability
    return 1 / mean, "mean of the reliabilities 1"


def _factor_of_pair(quality: xr.DataArray, anchor: Any) -> tuple[xr.DataArray, str]:
    """Factor g (chain, draw) that sets the difference of two items to one, and the unit."""
    if not _is_pair(anchor) or anchor[0] == anchor[1]:
        raise ValueError(f"anchor={anchor!r} {NO_ANCHOR}")
    items = quality["item"].to_numpy().tolist()
    for item in anchor:
        if item not in items:
            others = f"the {len(items)} items, such as {items[0]!r}"
            raise ValueError(f"anchor={anchor!r}: {item!r} is not one of {others}")
    better, worse = (quality.sel(item=item, drop=True) for item in anchor)
    return better - worse, f"quality of {anchor[0]} minus quality of {anchor[1]} 1"


def _is_pair(value: Any) -> bool:
    """Whether a value is a tuple or list of two."""
    return isinstance(value, tuple | list) and len(value) == 2


def _draw_in_ranges(
    quality: xr.DataArray, reliability: xr.DataArray | None, ranges: Any, rng: np.random.Generator
) -> tuple[xr.DataArray, xr.DataArray]:
    """Draw g and the shift of the qualities (chain, draw each) under uniform priors on the two ranges."""
    try:
        (first, last), (low, high) = ((float(a), float(b)) for a, b in ranges)
    except (TypeError, ValueError):
        first = last = low = high = np.nan
    if not (-np.inf < first < last < np.inf and 0 <= low < high < np.inf):
        allowed = "two rising pairs of finite numbers, such as ((0, 1), (1, 20))"
        raise ValueError(f"anchor={ranges!r} must be {allowed}")
    if reliability is None or "rater" not in reliability.dims:
        raise ValueError(
            f"anchor={ranges!r} is of raters who differ, but here they are all alike; take 'quality sd'"
        )
    if not (reliability > 0).all():
        raise ValueError(
            f"anchor={ranges!r} is of positive reliabilities, but some are not; take 'quality sd'"
        )
    # c = geometric mean of rho, x = c q, eta = rho / c
    mean = cast(xr.DataArray, np.exp(cast(xr.DataArray, np.log(reliability)).mean("rater")))
    x, eta = quality * mean, reliability / mean
    spread = (x.max("item") - x.min("item")) / (last - first)
    least = cast(xr.DataArray, np.maximum(spread, low / eta.min("rater")))
    most = high / eta.max("rater")
    misfit = float((least > most).mean())
    if misfit > 0:
        raise ValueError(
            f"anchor={ranges!r}: {100 * misfit:.1f} % of the draws do not fit, as their reliabilities or differences are too "
            "unlike; widen the ranges, or build the model with reliability_range="
        )
    power = reliability.sizes["rater"] - quality.sizes["item"]
    drawn = _draw_scale(least.to_numpy(), most.to_numpy(), spread.to_numpy(), power, rng)
    scale = spread.copy(data=drawn)
    room = (last - first) * (1 - spread / scale)
    start = first + room * rng.random(room.shape)
    return scale / mean, start - x.min("item") / scale


def _draw_scale(
    least: np.ndarray, most: np.ndarray, spread: np.ndarray, power: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw g (chain, draw) between bounds, density proportional to g^power (1 - spread / g): inversion by bisection."""
    unit = most if power >= 0 else least  # powers of g / unit stay within the range of doubles

    def antiderivative(g: np.ndarray) -> np.ndarray:
        s, r = g / unit, spread / unit
        first = np.log(s) if power == -1 else s ** (power + 1) / (power + 1)
        return first - r * (np.log(s) if power == 0 else s**power / power)

    below = antiderivative(least)
    wanted = below + rng.random(least.shape) * (antiderivative(most) - below)
    low, high = least.copy(), most.copy()
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        less = antiderivative(middle) < wanted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return 0.5 * (low + high)
