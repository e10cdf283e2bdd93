"""Leaderboards: ranks and qualities of items with their intervals."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .shown import Picture
from .style import COLOURS, INK, plain, shortened, tidy

__all__ = ["leaderboard", "quality_forest"]

LONGEST = 40  # letters, of a label
BAND = "#eef1f4"


def leaderboard(
    intervals: xr.Dataset, groups: xr.DataArray | None = None, *, most: int = 100
) -> Figure:
    """Draw the rank of every item with its interval, the best on top.

    Parameters
    ----------
    intervals : Dataset
        Result of `evaluation.rank_intervals`.
    groups : DataArray, dims (item,), optional
        Result of `evaluation.tied_groups`: a band behind every second group, and its number at the right.
    most : int, default 100
        Largest number of items to draw, the best ones.

    Returns
    -------
    matplotlib.figure.Figure
        Median rank as a point; at its interval the probability of being the best, if it is at least 1 %.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).normal([0.0, 1.0, 2.0], 0.5, size=(2, 200, 3))
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"), name="quality")
    >>> figure = plots.leaderboard(evaluation.rank_intervals(quality))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['c', 'b', 'a']
    """
    order = np.lexsort((intervals["mean_rank"], intervals["median_rank"]))[:most]
    own = intervals.isel(item=order)
    figure, ax = _rows(own["item"].to_numpy())
    rows = np.arange(len(order))
    if groups is not None:
        _bands(ax, groups.sel(item=own["item"]).to_numpy())
    ax.hlines(rows, own["lower"], own["upper"], color=COLOURS[0], linewidth=4, alpha=0.55)
    ax.scatter(own["median_rank"], rows, color=COLOURS[0], s=20, zorder=3)
    last = float(own["upper"].max())
    ticks = MaxNLocator(integer=True, steps=[1, 2, 5, 10]).tick_values(1, last)
    ax.set_xticks([1, *(tick for tick in ticks if 1 < tick <= last)])
    best, upper = own["best"].to_numpy(), own["upper"].to_numpy()
    shown = np.flatnonzero(best >= 0.01)
    room = 0.16 if (upper[shown] > 0.85 * last).any() else 0.02
    ax.set(xlim=(0.5 - 0.01 * last, last + 0.5 + room * last), xlabel=_describe(intervals))
    look = {"xytext": (5, 0), "textcoords": "offset points", "fontsize": 7, "color": INK}
    for row in shown:
        ax.annotate(f"{best[row]:.0%} best", (upper[row], row), va="center", ha="left", **look)
    return figure


def quality_forest(
    intervals: xr.Dataset,
    truth: xr.DataArray | None = None,
    *,
    most: int = 100,
    label: str = "quality",
) -> Figure:
    """Draw the quality of every item with its interval, the highest on top.

    Parameters
    ----------
    intervals : Dataset
        Result of `evaluation.rank_intervals`.
    truth : DataArray, dims (item,), optional
        True qualities or another estimate, on the same scale; drawn as crosses.
    most : int, default 100
        Largest number of items to draw, the best ones.
    label : str
        Label of the horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure
        Posterior mean as a point.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).normal([0.0, 1.0, 2.0], 0.5, size=(2, 200, 3))
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"), name="quality")
    >>> figure = plots.quality_forest(evaluation.rank_intervals(quality))
    >>> figure.axes[0].get_xlabel()
    'quality, 90% intervals'
    """
    order = np.argsort(-intervals["quality"].to_numpy(), kind="stable")[:most]
    own = intervals.isel(item=order)
    figure, ax = _rows(own["item"].to_numpy())
    rows = np.arange(len(order))
    ends = own["quality_lower"], own["quality_upper"]
    ax.hlines(rows, *ends, color=COLOURS[0], linewidth=4, alpha=0.55)
    ax.scatter(own["quality"], rows, color=COLOURS[0], s=20, zorder=3, label="posterior mean")
    if truth is not None:
        true = truth.sel(item=own["item"]).to_numpy()
        ax.scatter(true, rows, color=COLOURS[1], marker="x", s=26, zorder=4, label="truth")
        ax.legend(frameon=False, loc="upper left", fontsize=8)
    ax.set_xlabel(plain(f"{label}, {intervals.attrs['prob']:.0%} intervals"))
    return figure


def _rows(items: np.ndarray) -> tuple[Figure, Axes]:
    """Return a figure and axes with a row for each item, the first on top."""
    n = len(items)
    figure = Picture(figsize=(7.2, 0.9 + 0.19 * n), layout="constrained")
    ax = tidy(figure.add_subplot())
    ax.set_yticks(np.arange(n), [plain(name) for name in shortened(items, LONGEST)], fontsize=7.5)
    ax.set_ylim(n - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    return figure, ax


def _bands(ax: Axes, groups: np.ndarray) -> None:
    """Draw a band behind the rows of every second group and its number; groups need not be contiguous."""
    start = 0
    for row in range(1, len(groups) + 1):
        if row < len(groups) and groups[row] == groups[start]:
            continue
        if groups[start] % 2 == 0:
            ax.axhspan(start - 0.5, row - 0.5, color=BAND, linewidth=0, zorder=0)
        middle = (start + row - 1) / 2
        look = {"transform": ax.get_yaxis_transform(), "fontsize": 7.5, "color": INK}
        ax.text(1.01, middle, f"{groups[start]}", va="center", ha="left", **look)
        start = row
    look = {"transform": ax.transAxes, "fontsize": 7.5, "color": INK}
    ax.text(1.01, 1.0, "tied\ngroup", va="bottom", ha="left", **look)


def _describe(intervals: xr.Dataset) -> str:
    of = "simultaneous " if intervals.attrs["simultaneous"] else ""
    return f"rank: median, {of}{intervals.attrs['prob']:.0%} interval"
