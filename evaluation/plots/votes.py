"""Who would win against whom: a heat map of all pairs."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from .shown import Picture
from .style import INK, plain, shortened

__all__ = ["win_matrix"]

MOST_NUMBERS = 20  # items whose probabilities are written into the cells


def win_matrix(
    win: xr.DataArray, items: Sequence[object] | None = None, *, label: str = "P(row beats column)"
) -> Figure:
    """Draw the probability that one item wins against another, of all pairs.

    Parameters
    ----------
    win : DataArray, shape (item, other)
        `evaluation.preference_probability`, or ``win`` of `evaluation.win_probability`; where there are ties its ``points``, as
        equals have half of them.
    items : sequence, optional
        Items in the order to show, such as by quality; by default by their mean probability to win, the best first.
    label : str
        What the colour is.

    Returns
    -------
    matplotlib.figure.Figure
        Rows beat columns; orange loses, purple wins, white is even. Up to twenty items have their numbers.
    """
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
    size = 8 if n <= MOST_NUMBERS else 6.5
    ax.set_xticks(range(n), names, rotation=90, fontsize=size)
    ax.set_yticks(range(n), names, fontsize=size)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if n <= MOST_NUMBERS:
        _write(ax, shown)
    bar = figure.colorbar(image, ax=ax, shrink=0.5, pad=0.02, label=plain(label))
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def _write(ax: Axes, values: np.ndarray) -> None:
    """Write percentages into the cells, but the diagonal's."""
    for i, j in np.ndindex(values.shape):
        if i != j:
            ink = "white" if abs(values[i, j] - 0.5) > 0.35 else INK
            ax.text(
                j, i, f"{100 * values[i, j]:.0f}", ha="center", va="center", color=ink, fontsize=7
            )
