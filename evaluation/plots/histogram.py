"""Histograms of the certainty of items and of the agreement of their raters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from .canvas import Backend, canvas
from .checks import some_items
from .panel import Panel
from .style import COLOURS

__all__ = ["agreement_histogram", "certainty_histogram"]


def certainty_histogram(
    certainty: xr.DataArray,
    *,
    bins: int = 20,
    ax: Axes | None = None,
    backend: Backend | None = None,
) -> Any:
    """Draw the histogram of the certainty of items.

    Parameters
    ----------
    certainty : DataArray, dims (item,)
        Annotation certainty, or the certainty of the true category.
    bins : int, default 20
        Number of bars between zero and one.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        Bars whose heights sum to one; a dashed line at the mean.

    Raises
    ------
    EvaluationError
        If there is no item.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> axes = plots.certainty_histogram(xr.DataArray([0.9, 0.5, 0.7], dims="item"))
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('certainty', 'share of items')

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, figure A.9.
    """
    picture = canvas((6, 3.6), ax=ax, backend=backend)
    _bars(picture.panels[0], certainty, bins, "certainty")
    return picture.only


def agreement_histogram(
    agreement: xr.DataArray | xr.Dataset,
    *,
    bins: int = 20,
    ax: Axes | None = None,
    backend: Backend | None = None,
) -> Any:
    """Draw the histogram of the agreement of the raters of each item.

    Parameters
    ----------
    agreement : DataArray, dims (item,), or Dataset
        Result of `evaluation.annotator_agreement` or `evaluation.certainty_and_agreement`. Items with one
        rater have no agreement; the label of the axis counts them.
    bins : int, default 20
        Number of bars between zero and one.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        Bars whose heights sum to one; a dashed line at the mean.

    Raises
    ------
    EvaluationError
        If no item has an agreement.

    Examples
    --------
    >>> from raterzoo import evaluation, models
    >>> from raterzoo.evaluation import plots
    >>> labels = models.simulators.labels(items=20, raters=5, random_seed=1).data
    >>> axes = plots.agreement_histogram(evaluation.annotator_agreement(labels))
    >>> axes.get_xlabel()
    'agreement of the raters'

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, appendix E, figures E.14-E.18.
    """
    values = agreement["agreement"] if isinstance(agreement, xr.Dataset) else agreement
    known = values[values.notnull().to_numpy()]
    without = values.size - known.size
    picture = canvas((6, 3.6), ax=ax, backend=backend)
    of = f" ({without:,} items with one rater left out)" if without else ""
    _bars(picture.panels[0], known, bins, f"agreement of the raters{of}")
    return picture.only


def _bars(panel: Panel, array: xr.DataArray, bins: int, name: str) -> None:
    some_items({"": array}, name.split()[0])
    values = array.to_numpy()
    count, edges = np.histogram(values, np.linspace(0, 1, bins + 1))
    share = count / len(values)
    panel.stairs(share, edges, colour=COLOURS[0], fill=True, hover=_read(count, edges))
    panel.rule(float(values.mean()), axis="x", colour=COLOURS[1])
    panel.limits("x", 0, 1)
    panel.labels(name, "share of items")
    panel.limits("y", 0, 1.06 * share.max())
    panel.percent("y", 0.0, float(share.max()))


def _read(count: np.ndarray, edges: np.ndarray) -> Sequence[str]:
    pairs = zip(count, edges[:-1], edges[1:], strict=True)
    return [f"{low:.2f} to {high:.2f}\n{n:,} items" for n, low, high in pairs]
