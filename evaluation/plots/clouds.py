"""Scatter plots of items: certainty of two models, against agreement, and by number of raters."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ..errors import EvaluationError
from .canvas import Backend, canvas
from .checks import needs, some_items
from .curves import names_of
from .panel import Panel
from .style import COLOURS, GREY, INK

__all__ = ["certainty_agreement", "certainty_by_annotations", "certainty_scatter"]

GOLDEN = (np.sqrt(5) - 1) / 2
WIDTH = 0.024  # spread of the points of items with the same agreement


def certainty_scatter(
    x: xr.DataArray,
    y: xr.DataArray,
    *,
    correlation: float | None = None,
    labels: tuple[str, str] = ("certainty", "certainty"),
    ax: Axes | None = None,
    backend: Backend | None = None,
) -> Any:
    """Draw the certainty of every item under one model against that under another.

    Parameters
    ----------
    x, y : DataArray, dims (item,)
        Certainties of the same items, in any order.
    correlation : float, optional
        Correlation of both, to be printed in the figure.
    labels : tuple of str
        Names of the axes, such as ``("Plackett-Luce", "PrIRN")``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        A point for each item; the dashed diagonal marks equal certainties.

    Raises
    ------
    EvaluationError
        If there is no item, or the items differ.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> x = xr.DataArray([0.5, 0.7, 0.9], {"item": ["a", "b", "c"]}, ("item",))
    >>> axes = plots.certainty_scatter(x, x**2, labels=("one model", "another"))
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('one model', 'another')

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, figure D.13.
    """
    some_items({"x": x, "y": y}, "certainty")
    y = _in_order_of(x, y)
    picture = canvas((4.8, 4.6), ax=ax, backend=backend)
    (panel,) = picture.panels
    across, up = x.to_numpy(), y.to_numpy()
    panel.line([0, 1], [0, 1], colour=INK, width=1, dash=1)
    hover = [
        f"{item}\n{labels[0]} {a:.3f}\n{labels[1]} {b:.3f}"
        for item, a, b in zip(names_of(x, "item"), across, up, strict=True)
    ]
    _cloud(panel, across, up, hover)
    if correlation is not None:
        text = [f"correlation {correlation:.2f}"]
        panel.write([0.02], [0.99], text, size=9, align=("left", "top"))
    panel.labels(*labels)
    _unit(panel, "x")
    _unit(panel, "y")
    return picture.only


def certainty_agreement(
    dataset: xr.Dataset, *, ax: Axes | None = None, backend: Backend | None = None
) -> Any:
    """Draw the certainty of each item against the agreement of its raters.

    Parameters
    ----------
    dataset : Dataset
        Result of `evaluation.certainty_and_agreement`. Items with fewer raters than enter the correlation are
        grey, items with one rater are left out.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        A point for each item. Agreements are shares of few raters: points with the same one are slightly
        offset from it, in their order.

    Raises
    ------
    EvaluationError
        If no item has an agreement.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> from raterzoo.evaluation import plots
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> model = models.dirichlet(labels)
    >>> tree = inference.sample(model, draws=200, chains=2, random_seed=1, progressbar=False)
    >>> axes = plots.certainty_agreement(evaluation.certainty_and_agreement(tree, labels))
    >>> axes.get_ylabel()
    'annotation certainty'

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, appendix E, figures E.14-E.18.
    """
    needs(dataset, ("certainty", "agreement", "raters"), "certainty_and_agreement")
    known = dataset.isel(item=np.flatnonzero(dataset["agreement"].notnull().to_numpy()))
    if not known.sizes["item"]:
        raise EvaluationError("no item has two raters: there is no agreement to draw")
    picture = canvas((5.4, 4.6), ax=ax, backend=backend)
    (panel,) = picture.panels
    certainty, agreement, raters = (
        known[v].to_numpy() for v in ("certainty", "agreement", "raters")
    )
    hover = [
        f"{item}\ncertainty {c:.3f}\nagreement {a:.2f} of {n} raters"
        for item, c, a, n in zip(names_of(known, "item"), certainty, agreement, raters, strict=True)
    ]
    few = raters < dataset.attrs.get("at_least", 0)
    _cloud(panel, agreement + beside(agreement, WIDTH), certainty, hover, few)
    if "pearson" in dataset and np.isfinite(dataset["pearson"]):
        least, items = (dataset.attrs.get(name) for name in ("at_least", "items"))
        of = f"\nof {items:,} items with {least} raters or more" if items else ""
        text = f"correlation {float(dataset['pearson']):.2f} (ranks {float(dataset['spearman']):.2f}){of}"
        panel.write([0.0], [1.05], [text], size=8.5, align=("left", "bottom"))
    panel.labels("agreement: share of raters who say what the others say", "annotation certainty")
    _unit(panel, "x")
    panel.limits("y", -0.03, 1.18)
    return picture.only


def certainty_by_annotations(
    dataset: xr.Dataset, *, ax: Axes | None = None, backend: Backend | None = None
) -> Any:
    """Draw the certainty of each item by its number of raters.

    Parameters
    ----------
    dataset : Dataset
        Result of `evaluation.certainty_and_agreement`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.axes.Axes, or the figure of plotly or bokeh
        A point for each item, side by side for each number of raters; a bar at their median, and the number
        of items above.

    Raises
    ------
    EvaluationError
        If there is no item.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> from raterzoo.evaluation import plots
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> model = models.dirichlet(labels)
    >>> tree = inference.sample(model, draws=200, chains=2, random_seed=1, progressbar=False)
    >>> axes = plots.certainty_by_annotations(evaluation.certainty_and_agreement(tree, labels))
    >>> axes.get_ylabel()
    'certainty; bar: median'

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, appendix E, figures E.14-E.18.
    """
    needs(dataset, ("certainty", "raters"), "certainty_and_agreement")
    certainty, raters = dataset["certainty"].to_numpy(), dataset["raters"].to_numpy()
    numbers, group, count = np.unique(raters, return_inverse=True, return_counts=True)
    picture = canvas((max(4.0, 1.6 + 0.75 * len(numbers)), 4.0), ax=ax, backend=backend)
    (panel,) = picture.panels
    hover = [
        f"{item}\ncertainty {c:.3f}\n{n} raters"
        for item, c, n in zip(names_of(dataset, "item"), certainty, raters, strict=True)
    ]
    _cloud(panel, group + beside(group, 0.6), certainty, hover)
    middle = np.array([np.median(certainty[group == k]) for k in range(len(numbers))])
    place = np.arange(len(numbers))
    panel.spans((place - 0.36, place + 0.36), middle, along="x", colour=COLOURS[1], width=3)
    panel.write(
        place, np.full(len(place), 1.04), [f"{n:,}" for n in count], align=("center", "bottom")
    )
    panel.ticks("x", place.tolist(), numbers.tolist())
    panel.labels("raters of the item; above, the number of items", "certainty; bar: median")
    panel.limits("x", -0.6, len(numbers) - 0.4)
    panel.limits("y", -0.03, 1.14)
    return picture.only


def beside(values: np.ndarray, width: float) -> np.ndarray:
    """Return deterministic offsets (point,) that spread tied values evenly over `width`."""
    order = np.argsort(values, kind="stable")
    _, first, count = np.unique(values[order], return_index=True, return_counts=True)
    turn = np.empty(len(values))
    turn[order] = np.arange(len(values)) - np.repeat(first, count)
    alone = np.empty(len(values), bool)
    alone[order] = np.repeat(count, count) == 1
    return np.where(alone, 0.0, width * ((0.5 + GOLDEN * turn) % 1 - 0.5))


def _in_order_of(x: xr.DataArray, y: xr.DataArray) -> xr.DataArray:
    if "item" in x.coords and "item" in y.coords:
        ours, theirs = set(x["item"].to_numpy().tolist()), set(y["item"].to_numpy().tolist())
        if ours != theirs:
            raise EvaluationError(
                f"x and y have different items: {min(map(str, ours ^ theirs))!r} is not in both"
            )
        return y.sel(item=x["item"])
    if x.size != y.size:
        raise EvaluationError(f"x has {x.size} items, y {y.size}: pass the same items in both")
    return y


def _cloud(
    panel: Panel, x: np.ndarray, y: np.ndarray, hover: list[str], pale: np.ndarray | None = None
) -> None:
    """Draw points, fainter the more there are, and grey where `pale`."""
    alpha = float(np.clip(6 / np.sqrt(len(x)), 0.12, 0.8))
    pale = np.zeros(len(x), bool) if pale is None else pale
    colours = np.where(pale, GREY, COLOURS[0]).tolist()
    panel.points(x, y, colour=colours, area=16, alpha=alpha, hover=hover)


def _unit(panel: Panel, axis: Any) -> None:
    panel.limits(axis, -0.03, 1.03)
