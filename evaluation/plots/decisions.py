"""Decisions about items: certainty and risk of risk groups, and certainty at a threshold of scores."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .canvas import Panel, canvas, legend, look_of, panel_of
from .certainty import draw_certainty
from .style import COLOURS, INK, needs_array, one_or_more, some_items

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
    needs_array(certainty, ("item",), "annotation_certainty(..., groups=...)")
    needs_array(expected, ("item",), "expected_value")
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


QUANTITIES = {
    "annotation_certainty": "annotation certainty: of the side the item is on",
    "threshold_probability": "threshold probability: of the side of its next score",
}

MOST_STEPS = 500  # points of a curve; more are indistinguishable
MOST_POINTS = 3000
Certainties = xr.Dataset | Mapping[str, xr.Dataset]


def threshold_certainty(certainty: Certainties, *, ax: Axes | None = None) -> Axes:
    """Draw annotation certainty and threshold probability of every item, the least certain first.

    Parameters
    ----------
    certainty : Dataset or mapping of str to Dataset
        Result of `evaluation.threshold_certainty`; several by name. With more than 500 items quantiles are
        drawn.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        Two curves over the share of items for each name: the annotation certainty, and dashed the threshold
        probability (Stutz et al., 2025, arXiv:2307.02191, appendix A, figures A.10-A.11).

    Raises
    ------
    EvaluationError
        If a Dataset is not a result of `evaluation.threshold_certainty`, or empty.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> scores = models.simulators.scores(model="normal_scores", items=20, raters=8, random_seed=1).data
    >>> tree = inference.sample(models.normal_scores(scores), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> certainty = evaluation.threshold_certainty(tree, 0.0)
    >>> axes = evaluation.plots.threshold_certainty(certainty)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('share of items, the least certain first', 'certainty')
    """
    every = one_or_more(certainty, tuple(QUANTITIES), "threshold_certainty", "")
    panel = panel_of(ax, (6.4, 4.0))
    for place, (name, own) in enumerate(every.items()):
        colour, _, _ = look_of(place, COLOURS)
        for dash, (quantity, words) in enumerate(QUANTITIES.items()):
            share, height = _sorted(own[quantity].to_numpy())
            label = f"{name}: {words.split(':')[0]}" if name else words
            panel.line(share, height, colour=colour, dash=dash, label=label)
    panel.limits((0, 1), (0.48, 1.01))
    panel.percent("x")
    panel.labels("share of items, the least certain first", "certainty")
    legend(panel)
    return panel.ax


def _sorted(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of items from 0 to 1, and the quantiles of the values there."""
    ordered = np.sort(values)
    at = np.linspace(0, 1, min(len(ordered), MOST_STEPS)) if len(ordered) > 1 else np.zeros(1)
    height = ordered[np.rint(at * (len(ordered) - 1)).astype(int)]
    return (at, height) if len(at) > 1 else (np.array([0.0, 1.0]), np.repeat(height, 2))


def threshold_distance(certainty: Certainties) -> Figure:
    """Draw the certainties of every item against the distance of its location from the threshold.

    Parameters
    ----------
    certainty : Dataset or mapping of str to Dataset
        Result of `evaluation.threshold_certainty`; for a mapping, a panel for each threshold or data set. At
        most 3,000 items are drawn, evenly spaced by the rank of their location.

    Returns
    -------
    matplotlib.figure.Figure
        Two points for each item: its annotation certainty, and its threshold probability (Stutz et al., 2025,
        arXiv:2307.02191, appendix A, figures A.10-A.11).

    Raises
    ------
    EvaluationError
        If a Dataset is not a result of `evaluation.threshold_certainty`, or empty.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> scores = models.simulators.scores(model="normal_scores", items=20, raters=8, random_seed=1).data
    >>> tree = inference.sample(models.normal_scores(scores), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> certainty = evaluation.threshold_certainty(tree, 0.0)
    >>> figure = evaluation.plots.threshold_distance(certainty)
    >>> figure.axes[0].get_xlabel()
    'location of the item less the threshold 0'
    """
    every = one_or_more(certainty, (*QUANTITIES, "location"), "threshold_certainty", "")
    figure, panels = canvas((1.6 + 3.8 * len(every), 3.9), (1, len(every)))
    for panel, (name, own) in zip(panels, every.items(), strict=True):
        _clouds(panel, own)
        panel.title(name)
    legend(panels[-1], "above")
    return figure


def _clouds(panel: Panel, own: xr.Dataset) -> None:
    """Draw both certainties over location minus threshold."""
    threshold = own.attrs["threshold"]
    order = np.argsort(own["location"].to_numpy(), kind="stable")
    kept = np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_POINTS)).astype(int))
    shown = own.isel(item=order[kept])
    across = shown["location"].to_numpy() - threshold
    panel.rule(0.0, axis="x", colour=INK)
    for place, (quantity, words) in enumerate(QUANTITIES.items()):
        up = shown[quantity].to_numpy()
        colour, mark = COLOURS[place], "oD"[place]
        look = {"colour": colour, "mark": mark, "area": 8, "alpha": 0.5}
        panel.points(across, up, label=words.split(":")[0], **look)
    panel.limits(y=(0.48, 1.02))
    panel.labels(f"location of the item less the threshold {threshold:g}", "certainty")
