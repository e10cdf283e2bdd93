"""How many items are how certain."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from .style import COLOURS, new_axes, tidy

__all__ = ["certainty_histogram"]


def certainty_histogram(certainty: xr.DataArray, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the share of items by their certainty.

    Parameters
    ----------
    certainty : DataArray, dims (item,)
        Annotation certainty, or the certainty of the true category.
    bins : int, default 20
        Bars between zero and one.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Bars whose heights sum to one; a dashed line at the mean.

    References
    ----------
    Stutz et al. (2025), figure A.9, arXiv:2307.02191.
    """
    ax = tidy(new_axes(ax, (6, 3.6)))
    values = certainty.to_numpy()
    share, edges = np.histogram(values, np.linspace(0, 1, bins + 1))
    ax.stairs(share / len(values), edges, fill=True, color=COLOURS[0], alpha=0.75)
    ax.axvline(float(values.mean()), color=COLOURS[1], linestyle="--", linewidth=1.2)
    ax.set(xlim=(0, 1), xlabel="certainty", ylabel="share of items")
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    return ax
