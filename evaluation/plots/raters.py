"""Figures of raters: quality with intervals, and confusion matrices."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .shown import Picture
from .style import COLOURS, INK, plain, tidy

__all__ = ["confusion_matrices", "rater_forest"]

MOST_RATERS = 40
WIDEST = 16  # columns of all matrices side by side, one more for each gap


def rater_forest(quality: xr.DataArray, *, label: str = "") -> Figure:
    """Draw a quantity of every rater, the largest on top: median, 50 % and 90 % intervals.

    Parameters
    ----------
    quality : DataArray, dims (chain, draw, rater)
        For example the information of `rater_quality`. With more than forty raters the twenty best and the
        twenty worst are drawn.
    label : str
        Name of the quantity.

    Returns
    -------
    matplotlib.figure.Figure
        Forest plot.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).normal([1.0, 2.0], 0.1, size=(2, 100, 2))
    >>> quality = xr.DataArray(draws, {"rater": ["Ann", "Bob"]}, ("chain", "draw", "rater"))
    >>> figure = plots.rater_forest(quality, label="information in bits")
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['Ann', 'Bob']
    """
    draws = quality.transpose(..., "rater").to_numpy().reshape(-1, quality.sizes["rater"])
    order = np.argsort(np.median(draws, axis=0), kind="stable")
    if len(order) > MOST_RATERS:
        order = np.r_[order[: MOST_RATERS // 2], order[-MOST_RATERS // 2 :]]
    low, first, median, third, high = np.quantile(
        draws[:, order], [0.05, 0.25, 0.5, 0.75, 0.95], axis=0
    )
    rows = np.arange(len(order))
    figure = Picture(figsize=(6, 0.9 + 0.22 * len(order)), layout="constrained")
    ax = figure.add_subplot()
    ax.hlines(rows, low, high, color=COLOURS[0], linewidth=1.2)
    ax.hlines(rows, first, third, color=COLOURS[0], linewidth=5, alpha=0.6)
    ax.scatter(median, rows, color=COLOURS[0], s=18, zorder=3)
    ax.set_yticks(rows, [plain(name) for name in quality["rater"].to_numpy()[order]], fontsize=8)
    tidy(ax).set(xlabel=plain(label or quality.name or ""), ylim=(-0.6, len(order) - 0.4))
    return figure


def confusion_matrices(intervals: xr.Dataset, raters: Sequence[object] | None = None) -> Figure:
    """Draw confusion matrices with the interval of every entry.

    Parameters
    ----------
    intervals : Dataset
        ``mean``, ``lower`` and ``upper`` with dims rater, category, label, from `confusion_intervals`.
    raters : sequence, optional
        Raters to draw; by default the first six.

    Returns
    -------
    matplotlib.figure.Figure
        A matrix for each rater: true category by reported label.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> coords = {"rater": ["Ann"], "category": ["no", "yes"], "label": ["no", "yes"]}
    >>> mean = xr.DataArray([[[0.9, 0.1], [0.2, 0.8]]], coords, ("rater", "category", "label"))
    >>> intervals = xr.Dataset({"mean": mean, "lower": 0.9 * mean, "upper": 0.9 * mean + 0.1})
    >>> figure = plots.confusion_matrices(intervals)
    >>> figure.axes[0].get_title()
    'Ann'
    """
    shown = intervals["rater"].to_numpy()[:6].tolist() if raters is None else list(raters)
    names = [plain(name) for name in intervals["label"].to_numpy()]
    n = len(names)
    columns = min(len(shown), max(1, WIDEST // (1 + n)))
    rows = -(-len(shown) // columns)
    size = ((0.9 + 0.75 * n) * columns, (1.0 + 0.6 * n) * rows)
    figure = Picture(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[len(shown) :]:
        ax.remove()
    for place, (ax, rater) in enumerate(zip(axes, shown, strict=False)):
        own = intervals.sel(rater=rater).transpose(..., "category", "label")
        ax.imshow(own["mean"], vmin=0, vmax=1, cmap="Blues", aspect="auto")
        for j, k in np.ndindex(n, n):
            mean, low, high = (float(own[name][j, k]) for name in ("mean", "lower", "upper"))
            ink = "white" if mean > 0.5 else INK
            text = f"{mean:.2f}\n{low:.2f} - {high:.2f}"
            ax.text(k, j, text, ha="center", va="center", fontsize=6.5, color=ink)
        ax.set_xticks(range(n), names, fontsize=8)
        ax.set_yticks(range(n), [] if place % columns else names, fontsize=8)
        ax.set_title(plain(rater), fontsize=9, fontweight="bold")
        ax.set_xlabel("label", fontsize=8)
        ax.set_ylabel("" if place % columns else "true category", fontsize=8)
    return figure
