"""Curves: certainty over the items, and a metric over the trust in the raters."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter, ScalarFormatter

from .style import COLOURS, INK, new_axes, plain, tidy

__all__ = ["reliability_sweep", "sorted_certainty"]


def sorted_certainty(
    certainty: xr.DataArray | Mapping[str, xr.DataArray], *, ax: Axes | None = None
) -> Axes:
    """Draw the certainty of every item, the least certain first.

    Parameters
    ----------
    certainty : DataArray or mapping of str to DataArray, dims (item,)
        Annotation certainties; the keys of a mapping become the legend.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        One step curve for each certainty over the share of items.

    References
    ----------
    Stutz et al. (2025), figure 7.
    """
    curves = certainty if isinstance(certainty, Mapping) else {"": certainty}
    ax = tidy(new_axes(ax, (6, 3.6)))
    for (name, values), colour in zip(curves.items(), COLOURS * len(curves), strict=False):
        height = np.sort(values.to_numpy())
        edges = np.linspace(0, 1, len(height) + 1)
        ax.stairs(
            height, edges, baseline=None, color=colour, linewidth=2, label=plain(name) or None
        )
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="share of items", ylabel="annotation certainty")
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    if len(curves) > 1 or next(iter(curves)):
        ax.legend(frameon=False, loc="lower right")
    return ax


def reliability_sweep(
    sweep: xr.Dataset,
    *,
    point: Mapping[str, float] | None = None,
    metric: str = "uncertainty-adjusted metric",
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric over the reliability of the raters, with its posterior bands.

    Parameters
    ----------
    sweep : Dataset
        As of `evaluation.reliability_sweep`.
    point : mapping of str to float, optional
        The metric against a point estimate of the truth, by classifier ("" without classifiers); drawn as x at the right end.
    metric : str
        Label of the vertical axis.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        One line with its band for each classifier.

    References
    ----------
    Stutz et al. (2025), figure 6.
    """
    ax = tidy(new_axes(ax, (6, 3.6)))
    names = sweep["classifier"].to_numpy().tolist() if "classifier" in sweep.dims else [""]
    reliability = sweep["reliability"].to_numpy().astype(float)
    for name, colour in zip(names, COLOURS * len(names), strict=False):
        own = sweep.sel(classifier=name) if name else sweep
        lower, upper = own["interval"].transpose("bound", "reliability").to_numpy()
        ax.fill_between(reliability, lower, upper, color=colour, alpha=0.18, linewidth=0)
        label = plain(name) or None
        ax.plot(reliability, own["mean"], color=colour, marker="o", markersize=4, label=label)
        if point and name in point:
            ax.plot(
                1.02,
                point[name],
                "x",
                color=colour,
                transform=ax.get_yaxis_transform(),
                clip_on=False,
            )
    if len(reliability) > 1:
        ax.set_xscale("log")
        ax.set_xticks(reliability)
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.minorticks_off()
    ax.set(xlabel="reliability of the raters", ylabel=plain(metric))
    ax.tick_params(colors=INK)
    if names != [""]:
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.05, 1.0))
    return ax
