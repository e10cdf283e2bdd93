"""The triangle of all distributions over three categories."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ..plausibility import plausibility_of
from .draws import draws_of_item
from .style import COLOURS, INK, new_axes, plain

__all__ = ["simplex"]

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def simplex(tree: xr.DataTree | xr.DataArray, item: str | int, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior plausibilities of one item as points of a triangle.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior in which the item has three categories.
    item : str or int
        The item.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A corner for each category, a point for each draw, a cross at the mean.

    Raises
    ------
    ValueError
        If the item has not three categories.

    References
    ----------
    Stutz et al. (2025), figure 2.
    """
    names, draws = draws_of_item(plausibility_of(tree), item)
    if len(names) != 3:
        raise ValueError(f"item {item!r} has {len(names)} categories; a triangle needs three")
    ax = new_axes(ax, (4, 3.8))
    ax.fill(*CORNERS.T, facecolor="none", edgecolor=INK, linewidth=1)
    ax.scatter(
        *(draws @ CORNERS).T, s=4, alpha=min(1.0, 400 / len(draws)), color=COLOURS[0], linewidth=0
    )
    ax.plot(
        *(draws.mean(axis=0) @ CORNERS), "+", color=COLOURS[1], markersize=12, markeredgewidth=2
    )
    for corner, name, side in zip(CORNERS, names, ("top", "top", "bottom"), strict=True):
        ax.annotate(
            plain(name),
            corner,
            xytext=(0, -6 if side == "top" else 6),
            textcoords="offset points",
            ha="center",
            va=side,
        )
    ax.set(aspect="equal", xlim=(-0.15, 1.15), ylim=(-0.15, 1.02), title=plain(item))
    ax.set_axis_off()
    return ax
