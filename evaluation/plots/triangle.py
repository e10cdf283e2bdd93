"""Simplex of all distributions over three categories."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ..plausibility import plausibility_of
from .canvas import Backend, canvas
from .draws import draws_of_item
from .style import COLOURS, INK, shortened

__all__ = ["simplex"]

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def simplex(
    tree: xr.DataTree | xr.DataArray,
    item: str | int,
    *,
    ax: Axes | None = None,
    backend: Backend | None = None,
) -> Any:
    """Draw the posterior plausibilities of one item as points of a triangle.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior in which the item has three categories.
    item : str or int
        Item to draw.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        A corner for each category, a point for each draw, a cross at the mean.

    Raises
    ------
    ValueError
        If the item does not have three categories.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).dirichlet([4, 2, 1], size=(2, 100, 1))
    >>> coords = {"item": ["case 1"], "category": ["benign", "atypical", "malignant"]}
    >>> plausibility = xr.DataArray(draws, coords, ("chain", "draw", "item", "category"))
    >>> axes = plots.simplex(plausibility, "case 1")
    >>> [text.get_text() for text in axes.texts]
    ['benign', 'atypical', 'malignant']

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, figure 2.
    """
    names, draws = draws_of_item(plausibility_of(tree), item)
    if len(names) != 3:
        raise ValueError(f"item {item!r} has {len(names)} categories; a triangle needs three")
    picture = canvas((4.4, 4.2), ax=ax, backend=backend)
    (panel,) = picture.panels
    panel.line(*CORNERS[[0, 1, 2, 0]].T, colour=INK, width=1)
    alpha = min(1.0, 400 / len(draws))
    panel.points(
        *(draws @ CORNERS).T, colour=COLOURS[0], area=4, alpha=alpha, hover=_read(names, draws)
    )
    mean = draws.mean(axis=0)
    read = [f"mean\n{_read(names, mean[None])[0]}"]
    panel.points(*(mean @ CORNERS), colour=COLOURS[1], mark="+", area=140, width=2, hover=read)
    for corner, name, down in zip(CORNERS, shortened(names), (-1, -1, 1), strict=True):
        align = ("center", "top" if down < 0 else "bottom")
        panel.write([corner[0]], [corner[1] + 0.025 * down], [name], size=9, align=align)
    panel.title(shortened([item])[0], "center")
    panel.limits("x", -0.25, 1.25)
    panel.limits("y", -0.15, 1.05)
    panel.bare()
    return picture.only


def _read(names: np.ndarray, draws: np.ndarray) -> list[str]:
    return ["\n".join(f"{n} {p:.2f}" for n, p in zip(names, row, strict=True)) for row in draws]
