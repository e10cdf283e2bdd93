"""The units of qualities and reliabilities: what the data leave open, set as the reader likes it.

Answers depend on reliability times difference of qualities, x = rho_k (q_i - q_j). So with any g > 0 and m

    q -> m + q / g,     rho -> g rho

say the same of every answer: scale and shift are not identified, and a model sets them by its prior. Here g is chosen anew for
every draw, so that something has the value the reader wants in all of them. What is identified - the order of the items, ratios
of differences, ratios of reliabilities, probabilities of answers, ties, left bias - stays as it is.
"""

from typing import Any, Literal

import numpy as np
import xarray as xr

__all__ = ["Anchor", "in_units"]

Anchor = (
    Literal["mean reliability", "quality sd"]
    | tuple[Any, Any]
    | tuple[tuple[float, float], tuple[float, float]]
)
WITH_QUALITY = ("quality", "quality_scale", "coefficient", "residual")  # divided by g
WITH_RELIABILITY = ("reliability", "reliability_deviation")  # multiplied by g
HALVINGS = 60  # of an interval: to the last digit of a double


def in_units(
    tree: xr.DataTree, anchor: Anchor, *, random_seed: int | np.random.Generator | None = None
) -> xr.DataTree:
    """Express a posterior in other units of quality.

    Parameters
    ----------
    tree : DataTree
        Draws of `models.bradley_terry` or `models.thurstone`.
    anchor : {"mean reliability", "quality sd"}, or pair
        What is one: the arithmetic mean of the reliabilities, or the standard deviation of the qualities of the items. Two items
        (better, worse): the difference of their qualities is one. Two ranges, such as ``((0, 1), (1, 20))``: qualities lie in the
        first and reliabilities in the second, and scale and shift are drawn as uniform priors there have them.
    random_seed : int or Generator, optional
        For the draws of scale and shift in ranges.

    Returns
    -------
    DataTree
        A new tree. In its ``posterior`` ``quality``, ``quality_scale``, ``coefficient`` and ``residual`` are divided by g,
        ``reliability`` and ``reliability_deviation`` multiplied, ``log_reliability`` raised by log g, the ``reliability_scale``
        of signed raters multiplied. Where raters are all alike, ``reliability`` (chain, draw) is added. ``tie``, ``left_bias``
        and the other groups are the same. ``quality`` has the attribute ``unit``.

    Raises
    ------
    ValueError
        If the tree has no qualities, or draws of it cannot be expressed so: no positive g does it.

    Notes
    -----
    Take N items, K raters, qualities in a range of width w and reliabilities from l to h. With c the geometric mean of the
    reliabilities, x = c q and eta = rho / c are free of scale. Given them, g on [max(range(x) / w, l / min(eta)), h / max(eta)]
    has density proportional to g^(K - N) (w - range(x) / g), and the shift is uniform over the room that is left: an exact draw.
    It completes draws of the model with ``reliability_range=``; draws of another prior keep that prior's ratios.
    """
    posterior = _comparisons_posterior(tree)
    quality = posterior["quality"].transpose("chain", "draw", "item")
    reliability = posterior.get("reliability")
    shift: xr.DataArray | float = 0.0
    if isinstance(anchor, str):
        factor, unit = _named_factor(quality, reliability, anchor)
    elif _is_ranges(anchor):
        rng = np.random.default_rng(random_seed)
        factor, shift = _draw_in_ranges(quality, reliability, anchor, rng)
        unit = f"qualities in {tuple(anchor[0])}, reliabilities in {tuple(anchor[1])}"
    else:
        factor, unit = _factor_of_pair(quality, anchor)
    _require_positive(factor, unit)
    changed = _rescaled(posterior, factor)
    changed["quality"] = (changed["quality"] + shift).transpose(*posterior["quality"].dims)
    changed["quality"].attrs["unit"] = unit
    result = tree.copy()
    result["posterior"] = xr.DataTree(changed)
    return result


def _comparisons_posterior(tree: xr.DataTree) -> xr.Dataset:
    """Return the posterior, or raise if there are no qualities of items in it."""
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    if "quality" not in posterior or "item" not in posterior["quality"].dims:
        raise ValueError(
            "the tree has no posterior of the 'quality' of items; sample models.bradley_terry or models.thurstone"
        )
    return posterior


def _rescaled(posterior: xr.Dataset, factor: xr.DataArray) -> xr.Dataset:
    """Return the posterior with everything that has a unit in the new one."""
    changed = posterior.copy()
    for name in WITH_QUALITY:
        if name in posterior:
            changed[name] = (posterior[name] / factor).transpose(*posterior[name].dims)
    for name in WITH_RELIABILITY:
        if name in posterior:
            changed[name] = (posterior[name] * factor).transpose(*posterior[name].dims)
    if "log_reliability" in posterior:
        raised = posterior["log_reliability"] + np.log(factor)
        changed["log_reliability"] = raised.transpose(*posterior["log_reliability"].dims)
    if "reliability_deviation" in posterior and "reliability_scale" in posterior:
        changed["reliability_scale"] = posterior["reliability_scale"] * factor
    if "reliability" not in posterior:
        changed["reliability"] = factor  # of all raters alike
    return changed


def _named_factor(
    quality: xr.DataArray, reliability: xr.DataArray | None, anchor: str
) -> tuple[xr.DataArray, str]:
    """Return g for an anchor that is a word."""
    if anchor == "quality sd":
        return quality.std("item"), "standard deviation of the qualities 1"
    if anchor != "mean reliability":
        raise ValueError(
            f"anchor={anchor!r} is not 'mean reliability', 'quality sd', a pair of items or a pair of ranges"
        )
    unit = "mean of the reliabilities 1"
    if reliability is None:
        return xr.ones_like(quality.isel(item=0, drop=True)), unit
    mean = reliability.mean("rater") if "rater" in reliability.dims else reliability
    return 1 / mean, unit


def _factor_of_pair(quality: xr.DataArray, anchor: Any) -> tuple[xr.DataArray, str]:
    """Return g that makes the difference of two items one."""
    if not isinstance(anchor, tuple | list) or len(anchor) != 2 or anchor[0] == anchor[1]:
        raise ValueError(
            f"anchor={anchor!r} is not 'mean reliability', 'quality sd', a pair of items or a pair of ranges"
        )
    items = quality["item"].to_numpy().tolist()
    for item in anchor:
        if item not in items:
            raise ValueError(
                f"anchor={anchor!r}: {item!r} is not one of the {len(items)} items, such as {items[0]!r}"
            )
    better, worse = (quality.sel(item=item, drop=True) for item in anchor)
    return better - worse, f"quality of {anchor[0]} minus quality of {anchor[1]} 1"


def _is_ranges(anchor: Any) -> bool:
    """Tell whether an anchor is two pairs of numbers."""
    if not isinstance(anchor, tuple | list) or len(anchor) != 2:
        return False
    return all(isinstance(own, tuple | list) and len(own) == 2 for own in anchor)


def _require_positive(factor: xr.DataArray, unit: str) -> None:
    """Raise unless g is positive and finite in every draw."""
    wrong = ~((factor > 0) & np.isfinite(factor))
    if wrong.any():
        raise ValueError(
            f"{unit}: impossible in {float(wrong.mean()):.1%} of the draws, which would need a scale that is not positive; "
            "choose two items that are surely in this order, or anchor='quality sd'"
        )


def _draw_in_ranges(
    quality: xr.DataArray, reliability: xr.DataArray | None, ranges: Any, rng: np.random.Generator
) -> tuple[xr.DataArray, xr.DataArray]:
    """Draw g, and the shift of the qualities divided by it, as uniform priors have them."""
    (first, last), (low, high) = _checked(ranges)
    if reliability is None or "rater" not in reliability.dims:
        raise ValueError(
            f"anchor={ranges!r} is of raters who differ, but here they are all alike; take 'quality sd'"
        )
    if not (reliability > 0).all():
        raise ValueError(
            f"anchor={ranges!r} is of positive reliabilities, but some are not; take 'quality sd'"
        )
    mean = xr.apply_ufunc(np.exp, xr.apply_ufunc(np.log, reliability).mean("rater"))
    x, eta = quality * mean, reliability / mean
    spread = (x.max("item") - x.min("item")) / (last - first)
    least = np.maximum(spread, low / eta.min("rater"))
    most = high / eta.max("rater")
    misfit = float((least > most).mean())
    if misfit > 0:
        raise ValueError(
            f"anchor={ranges!r}: {misfit:.1%} of the draws do not fit, as their reliabilities or differences are too unlike; "
            "widen the ranges, or build the model with reliability_range="
        )
    power = reliability.sizes["rater"] - quality.sizes["item"]
    bounds = (least.to_numpy(), most.to_numpy())
    scale = spread.copy(data=_draw_scale(bounds, spread.to_numpy(), power, rng))
    room = (last - first) * (1 - spread / scale)
    start = first + room * rng.random(room.shape)
    return scale / mean, start - x.min("item") / scale


def _checked(ranges: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return two rising pairs of numbers, the second not negative."""
    try:
        (first, last), (low, high) = ((float(a), float(b)) for a, b in ranges)
    except (TypeError, ValueError):
        first = last = low = high = np.nan
    if not (-np.inf < first < last < np.inf and 0 <= low < high < np.inf):
        raise ValueError(
            f"anchor={ranges!r} must be two rising pairs of finite numbers, such as ((0, 1), (1, 20))"
        )
    return (first, last), (low, high)


def _draw_scale(
    bounds: tuple[np.ndarray, np.ndarray], spread: np.ndarray, power: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw g within bounds with density g^power (1 - spread / g), by halving the interval of its distribution function."""
    least, most = bounds
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
