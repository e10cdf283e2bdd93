"""Ranks and qualities of items with their intervals, and errors of simulated rankings."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, PercentFormatter

from .canvas import Panel, legend
from .style import BAND, COLOURS, INK, Picture, ink_on, needs, needs_array, new_axes, plain, shortened, tidy

LONGEST = 40  # letters, of a label


def leaderboard(intervals: xr.Dataset, groups: xr.DataArray | None = None, *, most: int = 100) -> Figure:
    """Draw the rank of every item, model or classifier with its interval, the best on top.

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
    >>> draws = np.random.default_rng(1).normal([0.0, 1.0, 2.0], 0.5, size=(2, 200, 3))
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"), name="quality")
    >>> figure = evaluation.plots.leaderboard(evaluation.rank_intervals(quality))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['c', 'b', 'a']
    """
    needs(intervals, ("median_rank", "mean_rank", "best"), "rank_intervals")
    dim = intervals["mean_rank"].dims[0]
    order = np.lexsort((intervals["mean_rank"], intervals["median_rank"]))[:most]
    own = intervals.isel({dim: order})
    figure, ax = _rows(own[dim].to_numpy())
    rows = np.arange(len(order))
    if groups is not None:
        _bands(ax, groups.sel({dim: own[dim]}).to_numpy())
    ax.hlines(rows, own["lower"], own["upper"], color=COLOURS[0], linewidth=4, alpha=0.55)
    ax.scatter(own["median_rank"], rows, color=COLOURS[0], s=20, zorder=3)
    last = float(own["upper"].max())
    ticks = MaxNLocator(integer=True, steps=[1, 2, 5, 10]).tick_values(1, last)
    ax.set_xticks([1, *(tick for tick in ticks if 1 < tick <= last)])
    best, upper = own["best"].to_numpy(), own["upper"].to_numpy()
    shown = np.flatnonzero(best >= 0.01)
    room = 0.16 if (upper[shown] > 0.85 * last).any() else 0.02
    of = "simultaneous " if intervals.attrs["simultaneous"] else ""
    ax.set_xlim(0.5 - 0.01 * last, last + 0.5 + room * last)
    ax.set_xlabel(f"rank: median, {of}{100 * intervals.attrs['prob']:.0f} % interval")
    look = {"xytext": (5, 0), "textcoords": "offset points", "fontsize": 8, "color": INK}
    for row in shown:
        ax.annotate(f"{100 * best[row]:.0f} % best", (upper[row], row), va="center", ha="left", **look)
    return figure


def quality_forest(
    intervals: xr.Dataset, truth: xr.DataArray | None = None, *, most: int = 100, label: str = "quality"
) -> Figure:
    """Draw the quality of every item with its interval, the highest on top.

    Parameters
    ----------
    intervals, most
        As in `leaderboard`.
    truth : DataArray, dims (item,), optional
        True qualities or another estimate, on the same scale; drawn as crosses.
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
    >>> draws = np.random.default_rng(1).normal([0.0, 1.0, 2.0], 0.5, size=(2, 200, 3))
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"), name="quality")
    >>> figure = evaluation.plots.quality_forest(evaluation.rank_intervals(quality))
    >>> figure.axes[0].get_xlabel()
    'quality, 90 % intervals'
    """
    needs(intervals, ("quality", "quality_lower"), "rank_intervals")
    order = np.argsort(-intervals["quality"].to_numpy(), kind="stable")[:most]
    own = intervals.isel(item=order)
    figure, ax = _rows(own["item"].to_numpy())
    rows = np.arange(len(order))
    ax.hlines(rows, own["quality_lower"], own["quality_upper"], color=COLOURS[0], linewidth=4, alpha=0.55)
    ax.scatter(own["quality"], rows, color=COLOURS[0], s=20, zorder=3, label="posterior mean")
    if truth is not None:
        true = truth.sel(item=own["item"]).to_numpy()
        ax.scatter(true, rows, color=COLOURS[1], marker="x", s=26, zorder=4, label="truth")
        legend(Panel(ax))
    ax.set_xlabel(plain(f"{label}, {100 * intervals.attrs['prob']:.0f} % intervals"))
    return figure


def _rows(items: np.ndarray) -> tuple[Figure, Axes]:
    """Return a figure and axes with a row for each item, the first on top."""
    n = len(items)
    figure = Picture(figsize=(7.2, 0.9 + 0.19 * n), layout="constrained")
    ax = tidy(figure.add_subplot())
    ax.set_yticks(np.arange(n), [plain(name) for name in shortened(items, LONGEST)], fontsize=8)
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
        look = {"transform": ax.get_yaxis_transform(), "fontsize": 8, "color": INK}
        ax.text(1.01, middle, f"{groups[start]}", va="center", ha="left", **look)
        start = row
    look = {"transform": ax.transAxes, "fontsize": 8, "color": INK}
    ax.text(1.01, 1.0, "tied\ngroup", va="bottom", ha="left", **look)


MOST_NUMBERS = 20  # items; larger matrices have no numbers in their cells


def win_matrix(
    win: xr.DataArray, items: Sequence[object] | None = None, *, label: str = "P(row beats column)"
) -> Figure:
    """Draw the probability that one item wins against another, for all pairs.

    Parameters
    ----------
    win : DataArray, shape (item, other)
        Result of `evaluation.preference_probability`, or ``win`` of `evaluation.win_probability`; with ties
        its ``points``, in which equal items have one half.
    items : sequence, optional
        Items in the order to draw, such as by quality; by default by their mean win probability, best first.
    label : str
        Label of the colour bar.

    Returns
    -------
    matplotlib.figure.Figure
        Rows beat columns; orange loses, purple wins, white is even. Up to twenty items have their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = np.random.default_rng(1).normal([0.0, 1.0, 2.0], 0.5, size=(2, 200, 3))
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"), name="quality")
    >>> figure = evaluation.plots.win_matrix(evaluation.preference_probability(quality))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['c', 'b', 'a']
    """
    needs_array(win, ("item", "other"), "preference_probability, or win of evaluation.win_probability")
    values = win.transpose("item", "other")
    best = np.argsort(-values.to_numpy().mean(axis=1), kind="stable")
    order = values["item"].to_numpy()[best].tolist() if items is None else list(items)
    shown = values.sel(item=order, other=order).to_numpy()
    n = len(order)
    side = 2.6 + (0.36 if n <= MOST_NUMBERS else 0.17) * n
    figure = Picture(figsize=(side + 0.9, side), layout="constrained")
    ax = figure.add_subplot()
    image = ax.imshow(shown, vmin=0, vmax=1, cmap="PuOr", interpolation="nearest")
    names = [plain(item) for item in shortened(order)]
    ax.set_xticks(range(n), names, rotation=90, fontsize=8)
    ax.set_yticks(range(n), names, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for i, j in np.ndindex(n, n):
        if i != j and n <= MOST_NUMBERS:
            look = {"color": ink_on(image.to_rgba(shown[i, j])[:3]), "fontsize": 8}
            ax.text(j, i, f"{100 * shown[i, j]:.0f}", ha="center", va="center", **look)
    bar = figure.colorbar(image, ax=ax, shrink=0.5, pad=0.02, label=plain(label))
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


MARKERS = "osD^vP"
SPREAD = 0.006  # offset between curves as a share of the axis, so that their intervals stay visible


def error_against_bound(
    error: xr.DataArray,
    bound: xr.DataArray,
    *,
    over: str,
    by: str | None = None,
    standard_error: xr.DataArray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a mean squared error and its lower bound for all estimators, over a dim of the design.

    Parameters
    ----------
    error : DataArray, dims (over, by)
        Mean over the simulated data sets.
    bound : DataArray, dims (over, by)
        Bound of the same form (centred with centred), from `papers.bayesian_cramer_rao_bound`.
    over : str
        Dim of the horizontal axis, such as the share of raters who are asked.
    by : str, optional
        Dim with a curve for each entry, such as the number of items.
    standard_error : DataArray, optional
        Standard error of `error`; the bars are two of them.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        Errors as marked lines, their bounds dashed (Nordio et al., 2023, arXiv:2310.02016, figures 3 and 4).

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> bound = xr.DataArray([0.10, 0.05], {"share": [0.5, 1.0]}, ("share",))
    >>> axes = plots.error_against_bound(1.2 * bound, bound, over="share")
    >>> axes.get_xlabel(), axes.get_yscale()
    ('share', 'log')
    """
    ax = tidy(new_axes(ax, (6.4, 4)))
    at = error[over].to_numpy().astype(float)
    for entry, colour, marker in zip(_entries(error, by), COLOURS * 99, MARKERS * 99, strict=False):
        height = _curve(error, over, by, entry)
        name = "error" if by is None else f"{by} = {entry}"
        ax.plot(at, height, color=colour, marker=marker, markersize=5, label=plain(name))
        if standard_error is not None:
            bar = 2 * _curve(standard_error, over, by, entry)
            ax.vlines(at, height - bar, height + bar, color=colour, linewidth=1.4, alpha=0.6)
        limit = _curve(bound, over, by, entry)
        ax.plot(at, limit, color=colour, linestyle="--", linewidth=1.2)
    ax.plot([], [], color=INK, linestyle="--", linewidth=1.2, label="bound")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("")
    ax.set(xlabel=plain(over), ylabel="mean squared error of the qualities")
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def ranking_error(rates: xr.Dataset, *, over: str, by: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the share of rankings that fail, with its binomial interval.

    Parameters
    ----------
    rates : Dataset
        ``rate``, ``lower`` and ``upper``, from `papers.error_rate`.
    over : str
        Dim of the horizontal axis, such as ``epsilon``.
    by : str, optional
        Dim with a curve for each entry, such as the method.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A line for each entry; the curves are slightly offset, so that their intervals stay visible (Nordio,
        Tarable and Leonardi, 2023, arXiv:2310.02016, figures 5 to 9).

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation, papers
    >>> errors = xr.DataArray(np.eye(4, dtype=bool)[:2], {"epsilon": [0.1, 0.2]}, ("epsilon", "run"))
    >>> axes = evaluation.plots.ranking_error(papers.error_rate(errors), over="epsilon")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('epsilon', 'rankings of 4 that fail')
    """
    needs(rates, ("rate", "lower", "upper"), "papers.error_rate")
    ax = tidy(new_axes(ax, (6.4, 4)))
    at = rates[over].to_numpy().astype(float)
    entries = _entries(rates["rate"], by)
    step = SPREAD * (np.ptp(at) or 1.0)
    for k, entry in enumerate(entries):
        rate, low, high = (_curve(rates[v], over, by, entry) for v in ("rate", "lower", "upper"))
        colour = COLOURS[k % len(COLOURS)]
        beside = at + step * (k - (len(entries) - 1) / 2)
        ax.vlines(beside, low, high, color=colour, linewidth=1.4, alpha=0.6)
        look = {"color": colour, "marker": MARKERS[k % len(MARKERS)], "markersize": 5}
        ax.plot(beside, rate, label=None if by is None else plain(entry), **look)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    runs = f" of {rates.attrs['runs']}" if "runs" in rates.attrs else ""
    ax.set(ylim=(-0.02, 1.02), xlabel=plain(over), ylabel=f"rankings{runs} that fail")
    if by is not None:
        title = plain(by)
        ax.legend(title=title, frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _entries(array: xr.DataArray, by: str | None) -> list[object]:
    return [None] if by is None else array[by].to_numpy().tolist()


def _curve(array: xr.DataArray, over: str, by: str | None, entry: object) -> np.ndarray:
    own = array if by is None else array.sel({by: entry})
    return own.transpose(over).to_numpy()
