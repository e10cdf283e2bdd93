"""Strip plots of the posterior plausibilities of the categories of items."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import plausibility_of
from ...posterior.schema import OTHER
from .canvas import Panel, canvas, legend, panel_of
from .style import COLOURS, GREY, INK, shortened, some_items


def draws_of_item(plausibility: xr.DataArray, item: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Return categories and plausibilities (sample, category) of an item, from (..., candidate) or (..., item, category)."""
    if "candidate" in plausibility.dims:
        own = plausibility.isel(candidate=(plausibility["item"] == item).to_numpy())
        last = "candidate"
    else:
        own, last = plausibility.sel(item=item), "category"
    values = own.transpose(..., last).to_numpy()
    return own["category"].to_numpy(), values.reshape(-1, values.shape[-1])


MOST_CATEGORIES = 10


def plausibility_strips(
    tree: xr.DataTree | xr.DataArray,
    items: Sequence[str | int] | None = None,
    *,
    point: Mapping[str, xr.DataArray] | None = None,
) -> Figure:
    """Draw the plausibilities of each item's categories: median, 50 % and 90 % intervals.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior, flat or dense.
    items : sequence, optional
        Items to draw; by default the first six.
    point : mapping of str to DataArray, optional
        Point estimates by name (IRN, maximum likelihood), in the flat layout; drawn as marks.

    Returns
    -------
    matplotlib.figure.Figure
        One panel for each item; the categories in the order of the mean plausibility, at most ten. OTHER, the
        pool of the categories that nobody ranked, is grey (Stutz et al., 2025, arXiv:2307.02191, figure 5).

    Raises
    ------
    EvaluationError
        If there is no item, or none of a name.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> figure = evaluation.plots.plausibility_strips(tree, items=[0, 1])
    >>> figure.axes[1].get_xlabel()
    'plausibility'
    """
    plausibility = plausibility_of(tree)
    some_items({"": plausibility}, "plausibility")
    every = list(dict.fromkeys(plausibility["item"].to_numpy().tolist()))
    shown = every[:6] if items is None else list(items)
    if missing := [i for i in shown if i not in every]:
        raise EvaluationError(f"no item {missing[0]!r}; expected items such as {every[0]!r}")
    if not shown:
        raise EvaluationError(f"items is empty: expected items such as {every[0]!r}")
    chosen = [draws_of_item(plausibility, item) for item in shown]
    heights = [min(len(names), MOST_CATEGORIES) + 1.4 for names, _ in chosen]
    size = (6.4, 0.27 * sum(heights) + 0.4)
    figure, panels = canvas(size, (len(shown), 1), ratios=heights)
    for panel, item, (names, draws) in zip(panels, shown, chosen, strict=True):
        best = np.argsort(-draws.mean(axis=0), kind="stable")[:MOST_CATEGORIES][::-1]  # the best last
        _strip(panel, names[best], draws[:, best])
        panel.title(item)
        rows = {name: row for row, name in enumerate(names[best].tolist())}
        for (estimate, array), mark in zip((point or {}).items(), "xd+^" * 99, strict=False):
            named, value = draws_of_item(array, item)
            at = [(value[0, k], rows[n]) for k, n in enumerate(named.tolist()) if n in rows]
            x, y = np.array(at, float).reshape(-1, 2).T
            label = estimate if panel is panels[0] else None
            panel.points(x, y, label=label, colour=COLOURS[1], mark=mark, area=30)
        panel.limits((-0.015, 1.015))
        if panel is not panels[-1]:
            panel.ax.tick_params(axis="x", labelbottom=False)
    panels[-1].labels("plausibility")
    if point:
        legend(panels[0], "above")
    return figure


def _strip(panel: Panel, names: np.ndarray, draws: np.ndarray) -> None:
    """Draw median and intervals of one item's categories; draws (sample, category)."""
    low, first, median, third, high = np.quantile(draws, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    rows = np.arange(len(names))
    for colour, own in ((COLOURS[0], names != OTHER), (GREY, names == OTHER)):
        panel.spans((low[own], high[own]), rows[own], along="x", colour=colour, width=1.2)
        ends = (first[own], third[own])
        panel.spans(ends, rows[own], along="x", colour=colour, width=5, alpha=0.6)
    colours = [GREY if name == OTHER else COLOURS[0] for name in names]
    panel.points(median, rows, colour=colours, area=18)
    panel.ticks("y", rows.tolist(), shortened(names))
    panel.limits(y=(-0.6, len(names) - 0.4))


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def simplex(tree: xr.DataTree | xr.DataArray, item: str | int, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior plausibilities of one item as points of a triangle.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior in which the item has three categories.
    item : str or int
        Item to draw.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A corner for each category, a point for each draw, a cross at the mean (Stutz et al., 2025, figure 2).

    Raises
    ------
    EvaluationError
        If there is no such item, or it does not have three categories.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).dirichlet([4, 2, 1], size=(2, 100, 1))
    >>> coords = {"item": ["case 1"], "category": ["benign", "atypical", "malignant"]}
    >>> plausibility = xr.DataArray(draws, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})
    >>> axes = plots.simplex(plausibility, "case 1")
    >>> [text.get_text() for text in axes.texts]
    ['benign', 'atypical', 'malignant']
    """
    plausibility = plausibility_of(tree)
    items = plausibility["item"].to_numpy().tolist()
    if item not in items:
        raise EvaluationError(f"no item {item!r}; expected items such as {items[0]!r}")
    names, draws = draws_of_item(plausibility, item)
    if len(names) != 3:
        raise EvaluationError(f"item {item!r} has {len(names)} categories; a triangle needs three")
    panel = panel_of(ax, (4.4, 4.2))
    panel.line(*CORNERS[[0, 1, 2, 0]].T, colour=INK, width=1)
    alpha = min(1.0, 400 / len(draws))
    panel.points(*(draws @ CORNERS).T, colour=COLOURS[0], area=4, alpha=alpha)
    mean = draws.mean(axis=0)
    panel.points(*(mean @ CORNERS), colour=COLOURS[1], mark="+", area=140, width=2)
    for corner, name, down in zip(CORNERS, shortened(names), (-1, -1, 1), strict=True):
        align = ("center", "top" if down < 0 else "bottom")
        panel.write([corner[0]], [corner[1] + 0.025 * down], [name], size=9, align=align)
    panel.title(shortened([item])[0], "center")
    panel.limits((-0.25, 1.25), (-0.15, 1.05))
    panel.ax.set_aspect("equal")
    panel.ax.set_axis_off()
    return panel.ax
