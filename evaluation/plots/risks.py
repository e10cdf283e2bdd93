"""Risk plots: certainty of the risk group of the top label, and expected risk."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .canvas import canvas
from .certainty import draw_certainty
from .style import COLOURS, some_items

FEW = 20  # fewer items have a mark each


def risk(certainty: xr.DataArray, expected: xr.DataArray) -> Figure:
    """Draw the certainty of each item's risk group, and mean and range of its expected risk.

    Parameters
    ----------
    certainty : DataArray, dims (item,)
        Certainty of the risk group of the top-1 label: ``annotation_certainty(tree, groups=...)``.
    expected : DataArray, dims (chain, draw, item)
        Expected risk of every draw: ``expected_value(tree, ...)``.

    Returns
    -------
    matplotlib.figure.Figure
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
    figure, panels = canvas((9, 3.4), (1, 2))
    left, right = panels
    draw_certainty(left, {"": certainty})
    left.labels("share of items", "certainty of the risk")
    draws = expected.transpose(..., "item").to_numpy().reshape(-1, expected.sizes["item"])
    order = np.argsort(draws.mean(axis=0), kind="stable")
    share = (np.arange(len(order)) + 0.5) / len(order)
    low, mean, high = (a[order] for a in (draws.min(axis=0), draws.mean(axis=0), draws.max(axis=0)))
    right.spans((low, high), share, along="y", colour=COLOURS[5], alpha=0.5, width=1)
    right.line(share, mean, colour=COLOURS[0])
    if len(order) < FEW:
        right.points(share, mean, colour=COLOURS[0], area=30)
    right.labels("share of items", "expected risk: smallest, mean, largest")
    right.limits((0, 1))
    right.percent("x")
    return figure
