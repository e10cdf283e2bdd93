"""Curves: sorted certainty over the items, and a metric over the reliability of the raters."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from .canvas import Backend, canvas, legend, look_of
from .checks import some_items
from .panel import Panel
from .style import COLOURS, INK

__all__ = ["draw_certainty", "names_of", "reliability_sweep", "sorted_certainty"]


def sorted_certainty(
    certainty: xr.DataArray | Mapping[str, xr.DataArray],
    *,
    ax: Axes | None = None,
    backend: Backend | None = None,
) -> Any:
    """Draw the certainty of every item, the least certain first.

    Parameters
    ----------
    certainty : DataArray or mapping of str to DataArray, dims (item,)
        Annotation certainties; the keys of a mapping become the legend.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        One step curve for each certainty over the share of items.

    Raises
    ------
    EvaluationError
        If there is no item.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> axes = plots.sorted_certainty(xr.DataArray([0.9, 0.5, 0.7], dims="item"))
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('share of items', 'annotation certainty')

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, figure 7.
    """
    curves = certainty if isinstance(certainty, Mapping) else {"": certainty}
    picture = canvas((6, 3.6), ax=ax, backend=backend)
    draw_certainty(picture.panels[0], curves)
    return picture.only


def draw_certainty(panel: Panel, curves: Mapping[str, xr.DataArray]) -> None:
    """Draw curves of sorted certainties (item,) on a panel."""
    some_items(curves, "certainty")
    for place, (name, values) in enumerate(curves.items()):
        colour, dash, _ = look_of(place, COLOURS)
        order = np.argsort(values.to_numpy(), kind="stable")
        height = values.to_numpy()[order]
        items = np.array(names_of(values, "item"))[order]
        hover = [f"{i}\ncertainty {h:.3f}" for i, h in zip(items, height, strict=True)]
        edges = np.linspace(0, 1, len(height) + 1)
        panel.stairs(height, edges, colour=colour, dash=dash, label=name or None, hover=hover)
    panel.limits("x", 0, 1)
    panel.limits("y", 0, 1.02)
    panel.labels("share of items", "annotation certainty")
    panel.percent("x")
    if len(curves) > 1 or next(iter(curves)):
        legend(panel, place="lower right")


def names_of(array: xr.DataArray | xr.Dataset, dim: str) -> list[str]:
    """Return the names along a dim, or numbers from one."""
    if dim in array.coords:
        return [str(name) for name in array[dim].to_numpy().tolist()]
    return [f"{dim} {k + 1}" for k in range(array.sizes[dim])]


def reliability_sweep(
    sweep: xr.Dataset,
    *,
    point: Mapping[str, float] | None = None,
    metric: str = "uncertainty-adjusted metric",
    ax: Axes | None = None,
    backend: Backend | None = None,
) -> Any:
    """Draw a metric over the reliability of the raters, with its posterior bands.

    Parameters
    ----------
    sweep : Dataset
        Result of `evaluation.reliability_sweep`.
    point : mapping of str to float, optional
        Metric against a point estimate of the truth, by classifier ("" without classifiers); drawn as an x at
        the right end.
    metric : str
        Label of the vertical axis.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        One line with its band for each classifier.

    Raises
    ------
    EvaluationError
        If there is no reliability or no classifier.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> sweep = xr.Dataset(
    ...     {"mean": ("reliability", [0.6, 0.7]), "interval": (("reliability", "bound"), [[0.5, 0.7], [0.6, 0.8]])},
    ...     {"reliability": [1.0, 5.0]},
    ... )
    >>> axes = plots.reliability_sweep(sweep, metric="top-1 accuracy")
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('reliability of the raters', 'top-1 accuracy')

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, figure 6.
    """
    some_items({"": sweep["mean"]}, "sweep")
    reliability = sweep["reliability"].to_numpy().astype(float)
    several = len(reliability) > 1
    picture = canvas((6, 3.6), ax=ax, backend=backend, log_x=several)
    (panel,) = picture.panels
    names = sweep["classifier"].to_numpy().tolist() if "classifier" in sweep.dims else [""]
    for place, name in enumerate(names):
        colour, dash, mark = look_of(place, COLOURS)
        own = sweep.sel(classifier=name) if name else sweep
        ends = own["interval"].transpose("bound", "reliability").to_numpy()
        draw_band(
            panel,
            reliability,
            own["mean"].to_numpy(),
            ends,
            name=str(name),
            look=(colour, dash, mark),
        )
        if point and name in point:
            mark_at_end(panel, reliability, point[name], colour, str(name))
    if point:
        panel.points([np.nan], [np.nan], colour=INK, mark="x", label="against a point estimate")
    if several:
        panel.logarithmic(reliability)
    panel.labels("reliability of the raters", metric)
    if names != [""] or point:
        legend(panel, "right")
    return picture.only


def draw_band(
    panel: Panel,
    at: np.ndarray,
    mean: np.ndarray,
    ends: np.ndarray,
    *,
    name: str,
    look: tuple[str, int, str],
    show: bool = True,
) -> None:
    """Draw a mean (reliability,) with its interval (bound, reliability) at reliabilities `at`."""
    colour, dash, mark = look
    panel.band(at, *ends, colour=colour)
    hover = [
        f"{name}\nreliability {r:g}\n{m:.3f} ({low:.3f} to {high:.3f})".strip()
        for r, m, low, high in zip(at, mean, *ends, strict=True)
    ]
    label = name if name and show else None
    if panel.backend == "matplotlib":
        panel.line(at, mean, colour=colour, dash=dash, label=label, marker=mark, markersize=4)
    else:
        panel.line(at, mean, colour=colour, dash=dash, label=label)
        panel.points(at, mean, colour=colour, mark=mark, area=24, hover=hover)


def mark_at_end(
    panel: Panel,
    at: np.ndarray,
    height: float,
    colour: str,
    name: str,
    *,
    mark: str = "x",
    place: int = 0,
) -> None:
    """Mark a height beyond the right end of the data; each `place` is farther to the right."""
    if panel.backend == "matplotlib":
        beyond = {"transform": panel.target.get_yaxis_transform(), "clip_on": False}
        size = {"markersize": 6 if mark == "x" else 4.5}
        panel.target.plot(1.02 + 0.045 * place, height, mark, color=colour, **size, **beyond)
        return
    share = 0.04 * (1 + place)
    end = at.max() * (at.max() / at.min()) ** share if len(at) > 1 else at[0] * (1 + share)
    hover = [f"{name}\nagainst the point estimate {height:.3f}".strip()]
    panel.points([end], [height], colour=colour, mark=mark, area=36, hover=hover)
