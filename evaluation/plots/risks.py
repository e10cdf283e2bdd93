"""Risk plots: certainty of the risk group of the top label, and expected risk."""

from typing import Any

import numpy as np
import xarray as xr

from .canvas import Backend, canvas
from .certainty import draw_certainty, names_of
from .style import COLOURS, readings, some_items

FEW = 20  # fewer items have a mark each


def risk(certainty: xr.DataArray, expected: xr.DataArray, *, backend: Backend = None) -> Any:
    """Draw the certainty of each item's risk group, and mean and range of its expected risk.

    Parameters
    ----------
    certainty : DataArray, dims (item,)
        Certainty of the risk group of the top-1 label: ``annotation_certainty(tree, groups=...)``.
    expected : DataArray, dims (chain, draw, item)
        Expected risk of every draw: ``expected_value(tree, ...)``.
    backend : {"matplotlib", "plotly", "bokeh"}, default ArviZ's ``rcParams["plot.backend"]``

    Returns
    -------
    matplotlib.figure.Figure, or the figure of plotly or bokeh
        Left: the sorted certainties. Right: the mean of the expected risk, in ascending order, within its
        smallest and largest draw (Stutz et al., 2025, arXiv:2307.02191, figure 8).

    Raises
    ------
    EvaluationError
        If there is no item.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> expected = xr.DataArray(np.random.default_rng(1).random((2, 100, 3)), dims=("chain", "draw", "item"))
    >>> figure = plots.risk(xr.DataArray([0.9, 0.5, 0.7], dims="item"), expected)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['certainty of the risk', 'expected risk: smallest, mean, largest']
    """
    some_items({"": expected}, "expected")
    picture = canvas((9, 3.4), (1, 2), backend=backend)
    left, right = picture.panels
    draw_certainty(left, {"": certainty})
    left.labels("share of items", "certainty of the risk")
    draws = expected.transpose(..., "item").to_numpy().reshape(-1, expected.sizes["item"])
    order = np.argsort(draws.mean(axis=0), kind="stable")
    share = (np.arange(len(order)) + 0.5) / len(order)
    low, mean, high = (a[order] for a in (draws.min(axis=0), draws.mean(axis=0), draws.max(axis=0)))
    right.spans((low, high), share, along="y", colour=COLOURS[5], alpha=0.5, width=1)
    names = np.array(names_of(expected, "item"))[order]
    hover = readings("{}\n{:.3f} ({:.3f} to {:.3f})", names, mean, low, high)
    right.line(share, mean, colour=COLOURS[0], hover=hover)
    if len(order) < FEW:
        right.points(share, mean, colour=COLOURS[0], area=30, hover=hover)
    right.labels("share of items", "expected risk: smallest, mean, largest")
    right.limits((0, 1))
    right.percent("x")
    return picture.whole
