"""Panels of risk: how sure the risk of the top label is, and where the expected risk lies."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .curves import sorted_certainty
from .style import COLOURS, tidy

__all__ = ["risk"]


def risk(certainty: xr.DataArray, expected: xr.DataArray) -> Figure:
    """Draw the certainty of each item's risk, and the mean and range of its expected risk.

    Parameters
    ----------
    certainty : DataArray, dims (item,)
        Certainty of the risk group of the top-1 label: ``annotation_certainty(tree, groups=...)``.
    expected : DataArray, dims (chain, draw, item)
        Expected risk of every draw: ``expected_value(tree, ...)``.

    Returns
    -------
    matplotlib.figure.Figure
        Left the sorted certainties; right, by mean, the mean of the expected risk within its smallest and largest draw.

    References
    ----------
    Stutz et al. (2025), figure 8.
    """
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    sorted_certainty(certainty, ax=left)
    left.set_ylabel("certainty of the risk")
    draws = expected.transpose(..., "item").to_numpy().reshape(-1, expected.sizes["item"])
    order = np.argsort(draws.mean(axis=0), kind="stable")
    share = (np.arange(len(order)) + 0.5) / len(order)
    right.vlines(
        share,
        draws.min(axis=0)[order],
        draws.max(axis=0)[order],
        color=COLOURS[5],
        alpha=0.5,
        linewidth=1,
    )
    right.plot(
        share,
        draws.mean(axis=0)[order],
        color=COLOURS[0],
        linewidth=2,
        marker="o" if len(order) < 20 else "",
    )
    tidy(right).set(
        xlabel="share of items", ylabel="expected risk: smallest, mean, largest", xlim=(0, 1)
    )
    return figure
