"""Reliability of the raters, side by side and by kind, such as people and models."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from .style import COLOURS, GREY, INK, new_axes, plain, tidy

__all__ = ["rater_reliability"]

MARKERS = "oDs^vP"
MOST_NAMED = 8  # raters of a kind whose names are printed
MOST_LABELS = 40  # raters whose names fit under the axis


def rater_reliability(
    reliability: xr.DataArray,
    kind: str | None = None,
    *,
    probability: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw the reliability of every rater with its interval, the least reliable first.

    Parameters
    ----------
    reliability : DataArray, dims (chain, draw, rater)
        Posterior draws.
    kind : str, optional
        Coordinate along ``rater`` with the kind of each rater, such as person or model, shown by colour and
        mark. The names of raters of a kind with at most eight members are printed if there are other kinds.
    probability : float, default .9
        Probability of the intervals.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Median and central interval of each rater; logarithmic if all are positive.

    Raises
    ------
    ValueError
        If there is no such coordinate along ``rater``.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).gamma(4.0, size=(2, 100, 3))
    >>> reliability = xr.DataArray(draws, {"rater": ["Ann", "Bob", "GPT"]}, ("chain", "draw", "rater"))
    >>> axes = plots.rater_reliability(reliability)
    >>> axes.get_xlabel(), axes.get_yscale()
    ('3 raters, by median reliability', 'log')
    """
    if kind is not None and (
        kind not in reliability.coords or reliability[kind].dims != ("rater",)
    ):
        raise ValueError(
            f"kind={kind!r} is no coordinate along rater; its coordinates are {', '.join(map(str, reliability.coords)) or 'none'}"
        )
    draws = reliability.transpose(..., "rater").to_numpy().reshape(-1, reliability.sizes["rater"])
    tail = (1 - probability) / 2
    low, median, high = np.quantile(draws, [tail, 0.5, 1 - tail], axis=0)
    place = np.argsort(np.argsort(median, kind="stable"))
    kinds = np.full(len(place), "") if kind is None else reliability[kind].to_numpy().astype(str)
    ax = tidy(new_axes(ax, (8, 4)))
    unique, size = np.unique(kinds, return_counts=True)
    by_size = unique[np.argsort(-size, kind="stable")]
    for name, colour, marker in zip(by_size, COLOURS * 99, MARKERS * 99, strict=False):
        own = kinds == name
        ax.vlines(place[own], low[own], high[own], color=colour, linewidth=1.6, alpha=0.5)
        look = {"color": colour, "marker": marker, "s": 22, "zorder": 3}
        count = f"{plain(name)} ({np.count_nonzero(own)})"
        ax.scatter(place[own], median[own], label=count if kind else None, **look)
    names = reliability["rater"].to_numpy() if "rater" in reliability.coords else place
    if len(names) <= MOST_LABELS:
        shown = [plain(names[k]) for k in np.argsort(place)]
        ax.set_xticks(np.arange(len(names)), shown, rotation=90, fontsize=8)
    else:
        ax.set_xticks([])
        rare = np.isin(kinds, unique[(size <= MOST_NAMED) & (size < len(kinds))])
        for k in np.flatnonzero(rare):
            _name(ax, plain(names[k]), place[k], high[k], len(names))
    _axis(ax, low.min() > 0, probability, len(names))
    if kind:
        ax.legend(frameon=False, loc="upper left", fontsize=8)
    return ax


def _name(ax: Axes, name: str, place: int, top: float, n: int) -> None:
    """Write a name above its interval, aligned towards the centre."""
    side = "right" if place > n / 2 else "left"
    look = {"xytext": (0, 5), "textcoords": "offset points", "fontsize": 8}
    ax.annotate(name, (place, top), ha=side, va="bottom", color=INK, **look)


def _axis(ax: Axes, positive: bool, probability: float, n: int) -> None:
    if positive:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
    else:
        ax.axhline(0, color=GREY, linewidth=1)
    ax.set(
        xlim=(-1, n),
        xlabel=f"{n} raters, by median reliability",
        ylabel=f"reliability: median, {probability:.0%} interval",
    )
