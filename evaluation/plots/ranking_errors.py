"""Errors of simulated rankings: squared error against its bound, and the rate of failure."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, PercentFormatter

from .style import COLOURS, INK, new_axes, plain, tidy

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
        Bound of the same form (centred with centred), from `evaluation.bayesian_cramer_rao_bound`.
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
        ``rate``, ``lower`` and ``upper``, from `evaluation.error_rate`.
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
    >>> from raterzoo import evaluation
    >>> errors = xr.DataArray(np.eye(4, dtype=bool)[:2], {"epsilon": [0.1, 0.2]}, ("epsilon", "run"))
    >>> axes = evaluation.plots.ranking_error(evaluation.error_rate(errors), over="epsilon")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('epsilon', 'rankings of 4 that fail')
    """
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
