"""Certainty of items: sorted, histograms, and against another model, agreement or number of raters."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ...posterior.errors import EvaluationError
from .canvas import DASHES, Look, Panel, legend, look_of, panel_of
from .style import COLOURS, GREY, INK, needs, needs_array, plain, some_items

CERTAINTY = "annotation_certainty"


def sorted_certainty(certainty: xr.DataArray | Mapping[str, xr.DataArray], *, ax: Axes | None = None) -> Axes:
    """Draw the certainty of every item, the least certain first.

    Parameters
    ----------
    certainty : DataArray or mapping of str to DataArray, dims (item,)
        Annotation certainties; the keys of a mapping become the legend.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A step curve for each certainty over the share of items (Stutz et al., arXiv:2307.02191, figure 7).

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
    """
    curves: Mapping[str, xr.DataArray] = certainty if isinstance(certainty, Mapping) else {"": certainty}
    panel = panel_of(ax, (6, 3.6))
    draw_certainty(panel, curves)
    return panel.ax


def draw_certainty(panel: Panel, curves: Mapping[str, xr.DataArray]) -> None:
    """Draw curves of sorted certainties (item,) on a panel."""
    for own in curves.values():
        needs_array(own, ("item",), CERTAINTY)
    some_items(curves, "certainty")
    for place, (name, values) in enumerate(curves.items()):
        colour, dash, _ = look_of(place, COLOURS)
        order = np.argsort(values.to_numpy(), kind="stable")
        height = values.to_numpy()[order]
        edges = np.linspace(0, 1, len(height) + 1)
        look: dict[str, Any] = {"color": colour, "linestyle": DASHES[dash], "linewidth": 2, "baseline": None}
        panel.ax.stairs(height, edges, label=plain(name) or None, **look)
    panel.limits((0, 1), (0, 1.02))
    panel.labels("share of items", "annotation certainty")
    panel.percent("x")
    if len(curves) > 1 or next(iter(curves)):
        legend(panel)


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
) -> Axes:
    """Draw a metric over the reliability of the raters, with its posterior bands.

    Parameters
    ----------
    sweep : Dataset
        Result of `evaluation.reliability_sweep`.
    point : mapping of str to float, optional
        Metric against a point estimate of the truth, by classifier ("" without); an x at the right end.
    metric : str
        Label of the vertical axis.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        One line with its band for each classifier (Stutz et al., 2025, arXiv:2307.02191, figure 6).

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
    """
    needs(sweep, ("mean", "interval"), "reliability_sweep")
    reliability = sweep["reliability"].to_numpy().astype(float)
    several = len(reliability) > 1
    panel = panel_of(ax, (6, 3.6))
    names = sweep["classifier"].to_numpy().tolist() if "classifier" in sweep.dims else [""]
    for place, name in enumerate(names):
        look = look_of(place, COLOURS)
        own = sweep.sel(classifier=name) if name else sweep
        ends = own["interval"].transpose("bound", "reliability").to_numpy()
        draw_band(panel, reliability, own["mean"].to_numpy(), ends, name=str(name), look=look)
        if point and name in point:
            mark_at_end(panel, point[name], look[0])
    if point:
        panel.points([np.nan], [np.nan], colour=INK, mark="x", label="against a point estimate")
    if several:
        panel.logarithmic(reliability)
    panel.labels("reliability of the raters", metric)
    if names != [""] or point:
        legend(panel, "right")
    return panel.ax


def draw_band(
    panel: Panel, at: np.ndarray, mean: np.ndarray, ends: np.ndarray, name: str, look: Look, show: bool = True
) -> None:
    """Draw a mean (reliability,) with its interval (bound, reliability) at reliabilities `at`."""
    colour, dash, mark = look
    panel.band(at, *ends, colour=colour)
    label = name if name and show else None
    panel.line(at, mean, colour=colour, dash=dash, label=label, marker=mark, markersize=4)


def mark_at_end(panel: Panel, height: float, colour: str, *, mark: str = "x", place: int = 0) -> None:
    """Mark a height beyond the right end of the data; each `place` is farther to the right."""
    beyond: dict[str, Any] = {"transform": panel.ax.get_yaxis_transform(), "clip_on": False}
    size = 6 if mark == "x" else 4.5
    panel.ax.plot(1.02 + 0.045 * place, height, mark, color=colour, markersize=size, **beyond)


def certainty_histogram(certainty: xr.DataArray, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the histogram of the certainty of items.

    Parameters
    ----------
    certainty : DataArray, dims (item,)
        Annotation certainty, or the certainty of the true category.
    bins : int, default 20
        Number of bars between zero and one.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        Bars whose heights sum to one; a dashed line at the mean (Stutz et al., arXiv:2307.02191, figure A.9).

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
    """
    panel = panel_of(ax, (6, 3.6))
    needs_array(certainty, ("item",), CERTAINTY)
    _bars(panel, certainty, bins, "certainty")
    return panel.ax


def agreement_histogram(
    agreement: xr.DataArray | xr.Dataset, *, bins: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw the histogram of the agreement of the raters of each item.

    Parameters
    ----------
    agreement : DataArray, dims (item,), or Dataset
        Result of `papers.annotator_agreement` or `papers.certainty_and_agreement`. Items with one
        rater have no agreement; the label of the axis counts them.
    bins : int, default 20
        Number of bars between zero and one.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        Bars whose heights sum to one; dashed the mean (Stutz et al., arXiv:2307.02191, figures E.14-E.18).

    Raises
    ------
    EvaluationError
        If no item has an agreement.

    Examples
    --------
    >>> from raterzoo import evaluation, models, papers
    >>> labels = models.simulators.labels(items=20, raters=5, random_seed=1).data
    >>> axes = evaluation.plots.agreement_histogram(papers.annotator_agreement(labels))
    >>> axes.get_xlabel()
    'agreement of the raters'
    """
    values = agreement["agreement"] if isinstance(agreement, xr.Dataset) else agreement
    needs_array(values, ("item",), "papers.annotator_agreement")
    known = values[values.notnull().to_numpy()]
    without = values.size - known.size
    of = f" ({without:,} items with one rater left out)" if without else ""
    panel = panel_of(ax, (6, 3.6))
    _bars(panel, known, bins, f"agreement of the raters{of}")
    return panel.ax


def _bars(panel: Panel, array: xr.DataArray, bins: int, name: str) -> None:
    some_items({"": array}, name.split()[0])
    values = array.to_numpy()
    count, edges = np.histogram(values, np.linspace(0, 1, bins + 1))
    share = count / len(values)
    panel.ax.stairs(share, edges, color=COLOURS[0], fill=True, alpha=0.75)
    panel.rule(float(values.mean()), axis="x", colour=COLOURS[1])
    panel.labels(name, "share of items")
    panel.limits((0, 1), (0, 1.06 * share.max()))
    panel.percent("y", 0.0, float(share.max()))


GOLDEN = (np.sqrt(5) - 1) / 2
WIDTH = 0.024  # spread of the points of items with the same agreement


def certainty_scatter(
    x: xr.DataArray,
    y: xr.DataArray,
    *,
    correlation: float | None = None,
    labels: tuple[str, str] = ("certainty", "certainty"),
    ax: Axes | None = None,
) -> Axes:
    """Draw the certainty of every item under one model against that under another.

    Parameters
    ----------
    x, y : DataArray, dims (item,)
        Certainties of the same items, in any order.
    correlation : float, optional
        Correlation of both, to be printed in the figure.
    labels : tuple of str
        Names of the axes, such as ``("Plackett-Luce", "PrIRN")``.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A point for each item; dashed the line of equal certainties (Stutz et al., 2025,
        arXiv:2307.02191v2, section 3.3 and figure 7).

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
    """
    for own in (x, y):
        needs_array(own, ("item",), CERTAINTY)
    some_items({"x": x, "y": y}, "certainty")
    if "item" in x.coords and "item" in y.coords:
        if odd := set(x["item"].to_numpy().tolist()) ^ set(y["item"].to_numpy().tolist()):
            raise EvaluationError(f"x and y have different items: {min(map(str, odd))!r} is not in both")
        y = y.sel(item=x["item"])
    elif x.size != y.size:
        raise EvaluationError(f"x has {x.size} items, y {y.size}: pass the same items in both")
    panel = panel_of(ax, (4.8, 4.6))
    across, up = x.to_numpy(), y.to_numpy()
    panel.line([0, 1], [0, 1], colour=INK, width=1, dash=1)
    _cloud(panel, across, up)
    if correlation is not None:
        panel.write([0.02], [0.99], [f"correlation {correlation:.2f}"], size=9, align=("left", "top"))
    panel.labels(*labels)
    panel.limits((-0.03, 1.03), (-0.03, 1.03))
    return panel.ax


def certainty_agreement(dataset: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw the certainty of each item against the agreement of its raters.

    Parameters
    ----------
    dataset : Dataset
        Result of `papers.certainty_and_agreement`. Items not in the correlation are grey or, with one
        rater, left out.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A point for each item. Agreements are shares of few raters: points with the same one are slightly
        offset from it, in their order (Stutz et al., 2025, arXiv:2307.02191, appendix E, figures E.14-E.18).

    Raises
    ------
    EvaluationError
        If no item has an agreement.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models, papers
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> axes = evaluation.plots.certainty_agreement(papers.certainty_and_agreement(tree, labels))
    >>> axes.get_ylabel()
    'annotation certainty'
    """
    needs(dataset, ("certainty", "agreement", "raters"), "papers.certainty_and_agreement")
    known = dataset.isel(item=np.flatnonzero(dataset["agreement"].notnull().to_numpy()))
    if not known.sizes["item"]:
        raise EvaluationError("no item has two raters: there is no agreement to draw")
    panel = panel_of(ax, (5.4, 4.6))
    certainty, agreement, raters = (known[v].to_numpy() for v in ("certainty", "agreement", "raters"))
    few = raters < dataset.attrs.get("at_least", 0)
    _cloud(panel, agreement + beside(agreement, WIDTH), certainty, few)
    if "pearson" in dataset and np.isfinite(dataset["pearson"]):
        least, items = (dataset.attrs.get(name) for name in ("at_least", "items"))
        of = f"\nof {items:,} items with {least} raters or more" if items else ""
        text = f"correlation {float(dataset['pearson']):.2f} (ranks {float(dataset['spearman']):.2f}){of}"
        panel.write([0.0], [1.05], [text], size=8.5, align=("left", "bottom"))
    panel.labels("agreement: share of raters who say what the others say", "annotation certainty")
    panel.limits((-0.03, 1.03), (-0.03, 1.18))
    return panel.ax


def certainty_by_annotations(dataset: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw the certainty of each item by its number of raters.

    Parameters
    ----------
    dataset : Dataset
        Result of `papers.certainty_and_agreement`.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A point for each item, side by side for each number of raters; a bar at their median, and the number
        of items above (Stutz et al., 2025, arXiv:2307.02191, appendix E, figures E.14-E.18).

    Raises
    ------
    EvaluationError
        If there is no item.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models, papers
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> axes = evaluation.plots.certainty_by_annotations(papers.certainty_and_agreement(tree, labels))
    >>> axes.get_ylabel()
    'certainty; bar: median'
    """
    needs(dataset, ("certainty", "raters"), "papers.certainty_and_agreement")
    certainty, raters = dataset["certainty"].to_numpy(), dataset["raters"].to_numpy()
    numbers, group, count = np.unique(raters, return_inverse=True, return_counts=True)
    panel = panel_of(ax, (max(4.0, 1.6 + 0.75 * len(numbers)), 4.0))
    _cloud(panel, group + beside(group, 0.6), certainty)
    middle = np.array([np.median(certainty[group == k]) for k in range(len(numbers))])
    place = np.arange(len(numbers))
    panel.spans((place - 0.36, place + 0.36), middle, along="x", colour=COLOURS[1], width=3)
    panel.write(place, np.full(len(place), 1.04), [f"{n:,}" for n in count], align=("center", "bottom"))
    panel.ticks("x", place.tolist(), numbers.tolist())
    panel.labels("raters of the item; above, the number of items", "certainty; bar: median")
    panel.limits((-0.6, len(numbers) - 0.4), (-0.03, 1.14))
    return panel.ax


def beside(values: np.ndarray, width: float) -> np.ndarray:
    """Return deterministic offsets (point,) that spread tied values evenly over `width`."""
    order = np.argsort(values, kind="stable")
    _, first, count = np.unique(values[order], return_index=True, return_counts=True)
    turn = np.empty(len(values))
    turn[order] = np.arange(len(values)) - np.repeat(first, count)
    alone = np.empty(len(values), bool)
    alone[order] = np.repeat(count, count) == 1
    return np.where(alone, 0.0, width * ((0.5 + GOLDEN * turn) % 1 - 0.5))


def _cloud(panel: Panel, x: np.ndarray, y: np.ndarray, pale: np.ndarray | None = None) -> None:
    """Draw points, fainter the more there are, and grey where `pale`."""
    alpha = float(np.clip(6 / np.sqrt(len(x)), 0.12, 0.8))
    pale = np.zeros(len(x), bool) if pale is None else pale
    colours = np.where(pale, GREY, COLOURS[0]).tolist()
    panel.points(x, y, colour=colours, area=16, alpha=alpha)
