"""Comparison of classifiers: which is better, by how much, and how optimistic a point estimate is."""

from itertools import combinations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ...posterior.errors import EvaluationError
from .canvas import Look, Panel, canvas, legend, look_of
from .certainty import draw_band, mark_at_end
from .metrics import draw_interval, fit_rows
from .style import COLOURS, INK, ON_DARK, ON_LIGHT, in_words, ink_on, letters_wide, needs, shortened

FEW = 4  # up to so many classifiers all pairs are drawn
MARKS = "xD^s"
ROW, HEAD, WIDTH = 0.46, 1.3, 3.2  # inches of a row, above and below all, and of a panel
BELOW = 0.17  # rows from an interval to a mark, and from mark to mark
ONE_LINE = 26  # letters of a pair of names
SOURCES = {"both": "raters and items", "raters": "labels of the raters", "items": "the sample of items"}


def comparison(result: xr.Dataset, *, source: str = "both", label: str | None = None) -> Figure:
    """Draw the probability that a classifier is better, differences, and the optimism of point estimates.

    Parameters
    ----------
    result : Dataset
        Result of `evaluation.compare`, without groups: pick one by ``.sel(group=...)``.
    source : {"both", "raters", "items"}
        Source of the uncertainty of probabilities and intervals: raters' labels, sample of items, or both.
    label : str, optional
        Name of the metric in the figure; by default its own.

    Returns
    -------
    matplotlib.figure.Figure
        For one posterior: from three classifiers on the matrix of P(row better than column), the best on top; the
        differences, for all pairs up to four classifiers, otherwise of the best to each other one; with point
        estimates, the metric with its interval and the point estimates as marks. For several reliabilities: the metric with
        point estimates at the right end, the probability of being the best, and the mean rank (Stutz et al.,
        2025, figure 6).

    Raises
    ------
    EvaluationError
        If the Dataset is not a result of `evaluation.compare`, or has groups.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation, inference, models
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> vote = inference.majority_vote(labels)["plausibility"].rename("vote")
    >>> predictions = xr.concat([vote, 0.7 * vote + 0.1], "classifier").assign_coords(classifier=["vote", "pale"])
    >>> result = evaluation.compare(evaluation.brier_score(), tree, predictions, random_seed=1)
    >>> figure = evaluation.plots.comparison(result)
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['pale is better: 98 %']
    """
    needs(result, ("mean", "interval", "difference", "probability_better"), "compare")
    if "group" in result.dims:
        raise EvaluationError("result has groups: pick one by result.sel(group=...)")
    if source not in SOURCES:
        raise EvaluationError(f"source={source!r}: expected one of {', '.join(SOURCES)}")
    metric = label or in_words(result.attrs["metric"])
    own = result.sel(source=source, drop=True)
    if "reliability" in own.dims:
        return _over_reliability(own, metric)
    order = own["mean_rank"].to_numpy().argsort(kind="stable")
    own = own.isel(classifier=order, other=order)
    n, points = own.sizes["classifier"], "point" in own
    names = shortened(own["classifier"].to_numpy(), 24)
    pairs = list(combinations(range(n), 2)) if n <= FEW else [(0, k) for k in range(1, n)]
    side, room = max(1.7, 0.42 * n), letters_wide(names)
    square = [(side, room)] * (n > 2)  # of two the difference says it all
    lines = [line for row in _named_pairs(names, pairs) for line in row.split("\n")]
    widths = [*square, (WIDTH, letters_wide(lines)), *([(WIDTH, room + 1.9)] * points)]
    ratios = [width for width, _ in widths]
    down = HEAD + ROW * max(len(pairs), n)
    size = (sum(map(sum, widths)) + 0.5, max(side + room + 1.0, down) if square else down + 0.3)
    figure, panels = canvas(size, (1, len(ratios)), ratios=ratios)
    if square:
        _matrix(panels[0], own["probability_better"].to_numpy(), names)
    _differences(panels[len(square)], own, pairs, names, metric)
    if points:
        _points(panels[-1], own, names, metric)
    panels[0].ax.set_xlabel(
        f"{panels[0].ax.get_xlabel()}\nuncertainty: {SOURCES[source]},\n"
        f"intervals of {100 * own.attrs['probability']:.0f} %".strip()
    )
    return figure


def _matrix(panel: Panel, better: np.ndarray, names: list[str]) -> None:
    """Draw the probabilities (row, column) in percent, with an empty diagonal."""
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, better)
    image = panel.ax.imshow(shown, vmin=0, vmax=1, cmap="PuOr", interpolation="nearest")
    inks = np.array([ink_on(image.to_rgba(p)[:3]) for p in shown.ravel()]).reshape(shown.shape)
    for ink in (ON_DARK, ON_LIGHT):
        at = [(j, i) for i, j in np.argwhere((inks == ink) & np.isfinite(shown)).tolist()]
        text = [_percent(float(shown[i, j])) for j, i in at]
        x, y = np.array(at, float).reshape(-1, 2).T
        panel.write(x, y, text, colour=ink, size=8)
    panel.ticks("y", range(len(names)), names)
    panel.ticks("x", range(len(names)), names, turn=90)
    panel.ax.grid(False)  # it would cross the matrix
    panel.ax.spines[:].set_visible(False)
    panel.ax.tick_params(length=0)
    panel.title("P(row is better) in %")


def _percent(probability: float) -> str:
    """Return a percentage; "<1" and ">99" unless it is exactly 0 or 100."""
    if 0 < probability < 0.005:
        return "<1"
    if 0.995 < probability < 1:
        return ">99"
    return f"{100 * probability:.0f}"


def _named_pairs(names: list[str], pairs: list[tuple[int, int]]) -> list[str]:
    """Return "A − B" for each pair, on two lines if long; "− B" if A is always the same."""
    if len(names) > FEW:
        return [f"− {names[j]}" for _, j in pairs]
    long = max(len(names[i]) + len(names[j]) for i, j in pairs) > ONE_LINE
    gap = "\n" if long else " "
    return [f"{names[i]}{gap}− {names[j]}" for i, j in pairs]


def _differences(
    panel: Panel, own: xr.Dataset, pairs: list[tuple[int, int]], names: list[str], metric: str
) -> None:
    first, second = (xr.DataArray(list(side), dims="row") for side in zip(*pairs, strict=True))
    table = own[["difference", "difference_interval"]].isel(classifier=first, other=second)
    table = table.rename(difference="mean", difference_interval="interval")
    table = table.drop_vars(["classifier", "other"])
    table = table.assign_coords(row=[f"{names[i]} − {names[j]}" for i, j in pairs])
    panel.rule(0, axis="x")
    draw_interval(panel, table, ("difference", COLOURS[0], 4.5, 0.0), lift=0.15, show=False)
    fit_rows(panel, xr.DataArray(np.append(table["interval"], 0)), table["mean"])
    panel.ticks("y", range(len(pairs)), _named_pairs(names, pairs))
    panel.limits(y=(len(pairs) - 0.5, -0.7))
    larger = "larger" if own.attrs.get("larger_is_better", 1) else "smaller"
    title = "differences" if len(names) <= FEW else f"{names[0]} minus"
    if len(names) == 2:
        title = f"{names[0]} is better: {_percent(float(own['probability_better'][0, 1]))} %"
    panel.title(title)
    panel.labels(f"difference in {metric}\n({larger} is better)")


def _points(panel: Panel, own: xr.Dataset, names: list[str], metric: str) -> None:
    """Draw the metric with its interval, and the point estimates of it."""
    table = own[["mean", "interval"]].rename(classifier="row").assign_coords(row=names)
    draw_interval(panel, table, ("posterior", COLOURS[0], 4.5, 0.0), lift=0.15)
    point = own["point"].transpose("estimate", "classifier").to_numpy()
    for k, estimate in enumerate(own["estimate"].to_numpy().tolist()):
        colour, mark = COLOURS[1 + k % (len(COLOURS) - 1)], MARKS[k % len(MARKS)]
        look = {"colour": colour, "mark": mark, "area": 26, "width": 1.7 if mark == "x" else 0}
        below = np.arange(len(names)) + BELOW * (k + 1)  # so that no mark hides another
        panel.points(point[k], below, label=str(estimate), **look)
    drawn = np.concatenate([np.ravel(table["interval"]), np.ravel(point)])
    fit_rows(panel, xr.DataArray(drawn), table["mean"])
    panel.ticks("y", range(len(names)), names)
    panel.limits(y=(len(names) - 0.5, -0.7))
    panel.title("how point estimates flatter")
    panel.labels(f"{metric}\n")
    legend(panel, "right")


def _over_reliability(own: xr.Dataset, metric: str) -> Figure:
    """Draw metric and order of the classifiers over the reliability of the raters."""
    at = own["reliability"].to_numpy().astype(float)
    names = own["classifier"].to_numpy().tolist()
    legible = shortened(names, 24)
    estimates = own["estimate"].to_numpy().tolist() if "point" in own else []
    marks = {estimate: MARKS[k % len(MARKS)] for k, estimate in enumerate(estimates)}
    several = len(at) > 1
    figure, panels = canvas((11, 3.8), (1, 3))
    left, middle, right = panels
    for place, (name, text) in enumerate(zip(names, legible, strict=True)):
        look = look_of(place, COLOURS)
        one = own.sel(classifier=name)
        ends = one["interval"].transpose("bound", "reliability").to_numpy()
        draw_band(left, at, one["mean"].to_numpy(), ends, name=text, look=look, show=False)
        _curve(middle, at, one["probability_best"].to_numpy(), name=text, look=look)
        _curve(right, at, one["mean_rank"].to_numpy(), name=text, look=look, show=True)
        for k, (estimate, mark) in enumerate(marks.items()):
            value = float(one["point"].isel(reliability=-1).sel(estimate=estimate))
            mark_at_end(left, value, look[0], mark=mark, place=k)
    for estimate, mark in marks.items():
        right.points([np.nan], [np.nan], colour=INK, mark=mark, label=f"point estimate: {estimate}")
    titles = (metric, "probability to be the best", "mean rank, 1 is the best")
    for panel, title in zip(panels, titles, strict=True):
        panel.title(title)
        if several:
            panel.logarithmic(at)
        panel.labels("reliability of the raters")
    middle.limits(y=(-0.03, 1.03))
    middle.percent("y")
    right.limits(y=(len(names) + 0.2, 0.8))
    right.ticks("y", range(1, len(names) + 1), range(1, len(names) + 1))
    legend(right, "right")
    return figure


def _curve(
    panel: Panel, at: np.ndarray, height: np.ndarray, *, name: str, look: Look, show: bool = False
) -> None:
    colour, dash, mark = look
    panel.line(at, height, colour=colour, dash=dash, label=name if show else None)
    panel.points(at, height, colour=colour, mark=mark, area=20)
