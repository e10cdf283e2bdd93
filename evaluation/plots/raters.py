"""Figures of raters: quality with intervals, and confusion matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ...posterior.errors import EvaluationError
from ..argument_checks import check_probability
from .canvas import Panel, canvas, legend
from .certainty import names_of
from .style import COLOURS, GREY, INK, Picture, ink_on, needs, needs_array, new_axes, plain, shortened, tidy

if TYPE_CHECKING:
    from arviz_plots.plot_collection import PlotCollection

MOST_RATERS = 40
WIDEST = 9  # columns of all matrices side by side, one more for each gap
MOST_TEXTS = 8  # categories; the cells of larger matrices have no interval


@overload
def rater_forest(quality: xr.DataArray, *, label: str = "", collection: Literal[False] = False) -> Figure: ...
@overload
def rater_forest(
    quality: xr.DataArray, *, label: str = "", collection: Literal[True]
) -> "PlotCollection": ...
def rater_forest(
    quality: xr.DataArray, *, label: str = "", collection: bool = False
) -> "Figure | PlotCollection":
    """Draw a quantity of every rater, the largest on top: median, 50 % and 90 % intervals.

    Parameters
    ----------
    quality : DataArray, dims (chain, draw, rater)
        For example the information of `rater_quality`. Of more than forty raters the best and the worst
        twenty are drawn.
    label : str
        Name of the quantity.
    collection : bool, default False
        Whether ArviZ draws the plot, by the library of its ``rcParams["plot.backend"]``, and its collection is returned,
        to which the functions of `arviz_plots` add more.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        Forest plot.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).normal([1.0, 2.0], 0.1, size=(2, 100, 2))
    >>> quality = xr.DataArray(draws, {"rater": ["Ann", "Bob"]}, ("chain", "draw", "rater"))
    >>> figure = plots.rater_forest(quality, label="information in bits")
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['Ann', 'Bob']
    """
    needs_array(quality, ("rater",), "rater_quality, or another number of each rater")
    draws = quality.transpose(..., "rater").to_numpy().reshape(-1, quality.sizes["rater"])
    order = np.argsort(np.median(draws, axis=0), kind="stable")
    if len(order) > MOST_RATERS:
        order = np.r_[order[: MOST_RATERS // 2], order[-MOST_RATERS // 2 :]]
    if collection:
        return _forest(quality.isel(rater=order[::-1]), label)
    low, first, median, third, high = np.quantile(draws[:, order], [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    rows = np.arange(len(order))
    figure = Picture(figsize=(6, 0.9 + 0.22 * len(order)), layout="constrained")
    ax = figure.add_subplot()
    ax.hlines(rows, low, high, color=COLOURS[0], linewidth=1.2)
    ax.hlines(rows, first, third, color=COLOURS[0], linewidth=5, alpha=0.6)
    ax.scatter(median, rows, color=COLOURS[0], s=18, zorder=3)
    ax.set_yticks(rows, [plain(name) for name in quality["rater"].to_numpy()[order]], fontsize=8)
    tidy(ax).set(xlabel=plain(label or quality.name or ""), ylim=(-0.6, len(order) - 0.4))
    return figure


def _forest(quality: xr.DataArray, label: str) -> "PlotCollection":
    """Return ArviZ's forest plot of the raters in their order, from the top."""
    from arviz_plots import plot_forest

    tree = xr.DataTree.from_dict({"posterior": quality.to_dataset(name=label or quality.name or "quality")})
    look: dict[str, Any] = {"ci_kind": "eti", "ci_probs": (0.5, 0.9), "point_estimate": "median"}
    return plot_forest(tree, combined=True, **look)


def confusion_matrices(intervals: xr.Dataset, raters: Sequence[object] | None = None) -> Figure:
    """Draw confusion matrices with the interval of every entry.

    Parameters
    ----------
    intervals : Dataset
        ``mean``, ``lower`` and ``upper`` with dims rater, category, answer, from `confusion_intervals`.
    raters : sequence, optional
        Raters to draw; by default the first six.

    Returns
    -------
    matplotlib.figure.Figure
        A matrix for each rater: true category by reported label; without intervals for more than eight
        categories.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> coords = {"rater": ["Ann"], "category": ["no", "yes"], "answer": ["no", "yes"]}
    >>> mean = xr.DataArray([[[0.9, 0.1], [0.2, 0.8]]], coords, ("rater", "category", "answer"))
    >>> intervals = xr.Dataset({"mean": mean, "lower": 0.9 * mean, "upper": 0.9 * mean + 0.1})
    >>> figure = plots.confusion_matrices(intervals)
    >>> figure.axes[0].get_title()
    'Ann'
    """
    needs(intervals, ("mean", "lower", "upper"), "confusion_intervals")
    shown = intervals["rater"].to_numpy()[:6].tolist() if raters is None else list(raters)
    names = [plain(name) for name in intervals["answer"].to_numpy()]
    n = len(names)
    columns = min(len(shown), max(1, WIDEST // (1 + n)))
    rows = -(-len(shown) // columns)
    wide, high = (0.8, 0.6) if n <= MOST_TEXTS else (0.4, 0.3)
    size = ((0.9 + wide * n) * columns, (1.0 + high * n) * rows)
    figure = Picture(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[len(shown) :]:
        ax.remove()
    for place, (ax, rater) in enumerate(zip(axes, shown, strict=False)):
        own = intervals.sel(rater=rater).transpose(..., "category", "answer")
        image = ax.imshow(own["mean"], vmin=0, vmax=1, cmap="Blues", aspect="auto")
        for j, k in np.ndindex(n, n):
            mean, low, high = (float(own[name][j, k]) for name in ("mean", "lower", "upper"))
            text = f"{mean:.2f}\n{low:.2f} to {high:.2f}" if n <= MOST_TEXTS else f"{mean:.2f}"
            look = {"fontsize": 8, "color": ink_on(image.to_rgba(mean)[:3])}
            ax.text(k, j, text, ha="center", va="center", **look)
        ax.set_xticks(range(n), names, fontsize=8)
        ax.set_yticks(range(n), [] if place % columns else names, fontsize=8)
        ax.set_title(plain(rater), fontsize=9, fontweight="bold")
        ax.set_xlabel("answer", fontsize=8)
        ax.set_ylabel("" if place % columns else "true category", fontsize=8)
    return figure


MARKERS = "oDs^vP"
MOST_NAMED = 8  # raters of a kind whose names are printed
MOST_LABELS = 40  # raters whose names fit under the axis


def rater_reliability(
    reliability: xr.DataArray,
    kind: str | xr.DataArray | None = None,
    *,
    probability: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw the reliability of every rater with its interval, the least reliable first.

    Parameters
    ----------
    reliability : DataArray, dims (chain, draw, rater)
        Posterior draws.
    kind : str or DataArray, dims (rater), optional
        Kind of each rater, such as person or model, shown by colour and mark: an attribute of the raters,
        ``tree["constant_data"]["rater_kind"]``, or the name of a coordinate along ``rater``. The names
        of raters of a kind with at most eight members are printed if there are other kinds.
    probability : float, default .9
        Probability of the intervals.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        Median and central interval of each rater; logarithmic if all are positive.

    Raises
    ------
    EvaluationError
        If there is no such coordinate along ``rater``, or the kinds are of other raters.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).gamma(4.0, size=(2, 100, 3))
    >>> reliability = xr.DataArray(draws, {"rater": ["Ann", "Bob", "GPT"]}, ("chain", "draw", "rater"))
    >>> axes = plots.rater_reliability(reliability)
    >>> axes.get_xlabel(), axes.get_yscale()
    ('3 raters, by median reliability', 'log')
    """
    needs_array(reliability, ("rater",), "rater_quality, or the reliability of the posterior")
    kinds = np.full(reliability.sizes["rater"], "") if kind is None else _kinds_of(reliability, kind)
    draws = reliability.transpose(..., "rater").to_numpy().reshape(-1, reliability.sizes["rater"])
    tail = (1 - probability) / 2
    low, median, high = np.quantile(draws, [tail, 0.5, 1 - tail], axis=0)
    place = np.argsort(np.argsort(median, kind="stable"))
    ax = tidy(new_axes(ax, (8, 4)))
    unique, size = np.unique(kinds, return_counts=True)
    by_size = unique[np.argsort(-size, kind="stable")]
    for name, colour, marker in zip(by_size, COLOURS * 99, MARKERS * 99, strict=False):
        own = kinds == name
        ax.vlines(place[own], low[own], high[own], color=colour, linewidth=1.6, alpha=0.5)
        look = {"color": colour, "marker": marker, "s": 22, "zorder": 3}
        count = f"{plain(name)} ({np.count_nonzero(own)})"
        ax.scatter(place[own], median[own], label=None if kind is None else count, **look)
    names = reliability["rater"].to_numpy() if "rater" in reliability.coords else place
    if len(names) <= MOST_LABELS:
        shown = [plain(names[k]) for k in np.argsort(place)]
        ax.set_xticks(np.arange(len(names)), shown, rotation=90, fontsize=8)
    else:
        ax.set_xticks([])
        rare = np.isin(kinds, unique[(size <= MOST_NAMED) & (size < len(kinds))])
        for k in np.flatnonzero(rare):  # the name above its interval, aligned towards the centre
            look = {"xytext": (0, 5), "textcoords": "offset points", "va": "bottom", "fontsize": 8}
            side = "right" if place[k] > len(names) / 2 else "left"
            ax.annotate(plain(names[k]), (place[k], high[k]), ha=side, color=INK, **look)
    if low.min() > 0:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
    else:
        ax.axhline(0, color=GREY, linewidth=1)
    ax.set(xlim=(-1, len(names)), xlabel=f"{len(names)} raters, by median reliability")
    ax.set_ylabel(f"reliability: median, {100 * probability:.0f} % interval")
    if kind is not None:
        legend(Panel(ax))
    return ax


def _kinds_of(reliability: xr.DataArray, kind: str | xr.DataArray) -> np.ndarray:
    """Return the kind of each rater as text (rater,), or raise."""
    if isinstance(kind, str):
        if kind not in reliability.coords or reliability[kind].dims != ("rater",):
            known = ", ".join(map(str, reliability.coords)) or "none"
            raise EvaluationError(
                f"kind={kind!r} is no coordinate along rater; its coordinates are {known}. An attribute of the raters is in "
                f'the tree: kind=tree["constant_data"]["rater_{kind}"]'
            )
        return reliability[kind].to_numpy().astype(str)
    raters = reliability.sizes["rater"]
    if kind.shape != (raters,):
        raise EvaluationError(f"kind has shape {kind.shape} and the reliabilities are of {raters} raters")
    if "rater" in kind.coords and "rater" in reliability.coords:
        unknown = set(reliability["rater"].to_numpy().tolist()) - set(kind["rater"].to_numpy().tolist())
        if unknown:
            raise EvaluationError(f"kind has no rater {min(unknown, key=str)!r}; take that of the same tree")
        kind = kind.sel(rater=reliability["rater"].to_numpy())
    return kind.to_numpy().astype(str)


GROUPS = "group_of_raters"
ROW, HEAD = 0.24, 1.2  # inches: height of a row, and of the margins above and below


def rater_worth(worth: xr.Dataset, *, measure: str = "information", probability: float = 0.9) -> Axes:
    """Draw the number of typical raters of the reference group that every judge is worth.

    Parameters
    ----------
    worth : Dataset
        Result of `evaluation.rater_worth`, with or without groups.
    measure : {"information", "accuracy"}, default "information"
        Measure in which the judge and the raters are to be equal.
    probability : float, default .9
        Probability of the intervals.

    Returns
    -------
    matplotlib.axes.Axes
        Median and central interval: dark for the mean over a group; below, in the colour of the group, for
        its raters, the worthiest on top. With more than forty raters the best and the worst twenty are drawn.
        A dashed line at one. "More than" marks medians and upper ends beyond the largest panel.

    Raises
    ------
    EvaluationError
        If the Dataset is not a result of `evaluation.rater_worth`, or there is no such measure.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> dims = ("chain", "draw", "rater", "category", "answer")
    >>> accuracy = np.random.default_rng(1).beta(8, 2, size=(2, 100, 3, 1, 1))
    >>> confusion = accuracy * np.eye(2) + (1 - accuracy) * (1 - np.eye(2))
    >>> posterior = xr.Dataset(
    ...     {"confusion": (dims, confusion), "prevalence": (("chain", "draw", "category"), np.full((2, 100, 2), 0.5))},
    ...     {"rater": ["Ann", "Bob", "Eve"], "category": ["no", "yes"], "answer": ["no", "yes"]},
    ... )
    >>> tree = xr.DataTree.from_dict({"posterior": posterior})
    >>> axes = evaluation.plots.rater_worth(evaluation.rater_worth(tree))
    >>> axes.get_xlabel()
    'worth in typical raters, by information: median, 90 % interval'
    """
    needs(worth, ("worth", "censored", "panel"), "rater_worth")
    measures = worth["measure"].to_numpy().tolist()
    if measure not in measures:
        raise EvaluationError(f"measure={measure!r} is not one of {', '.join(map(repr, measures))}")
    check_probability("probability", probability)
    own = worth.sel(measure=measure)
    rows = _rows(own, probability)
    _, (panel,) = canvas((7.4, HEAD + ROW * len(rows)))
    panel.rule(1.0, axis="x")
    _intervals(panel, rows, GROUPS in own.dims)
    panel.ticks("y", range(len(rows)), shortened([row["name"] for row in rows]))
    panel.limits(y=(len(rows) - 0.4, -0.6))
    high = max(row["ends"][1] for row in rows)
    room = 1.3 if any(end for row in rows for end in row["beyond"]) else 1.1
    panel.limits((-0.02 * high, room * max(high, 1.0)))
    unit = worth.attrs.get("reference") or "all"
    typical = "raters" if unit == "all" else f"raters of {unit!r}"
    panel.labels(f"worth in typical {typical}, by {measure}: median, {100 * probability:.0f} % interval")
    if GROUPS in own.dims:
        legend(panel, "above")
    return panel.ax


def _rows(own: xr.Dataset, probability: float) -> list[dict[str, Any]]:
    """Return the rows from the top, with name, group, interval, median, and whether it is a group mean."""
    raters = _summaries(own["worth"], own["censored"], "rater", probability)
    if GROUPS not in own.dims:
        return _ends(sorted(raters, key=lambda row: -row["median"]), MOST_RATERS)
    groups = _summaries(own["group_worth"], own["group_censored"], GROUPS, probability)
    by = own.attrs["by"]
    kinds = own[by if by in own.coords else f"rater_{by}"].to_numpy().astype(str)
    rows = []
    room = max(2, MOST_RATERS // len(groups))
    for place, group in enumerate(sorted(groups, key=lambda row: -row["median"])):
        members = [row for row, kind in zip(raters, kinds, strict=True) if kind == group["name"]]
        members = _ends(sorted(members, key=lambda row: -row["median"]), room)
        rows += [row | {"group": place} for row in (group | {"mean": True}, *members)]
    return rows


def _summaries(
    worth: xr.DataArray, censored: xr.DataArray, dim: str, probability: float
) -> list[dict[str, Any]]:
    tail = (1 - probability) / 2
    draws = worth.transpose(..., dim).to_numpy().reshape(-1, worth.sizes[dim])
    beyond = censored.transpose(..., dim).to_numpy().reshape(draws.shape).mean(axis=0)
    low, median, high = np.quantile(draws, [tail, 0.5, 1 - tail], axis=0)
    together = zip(names_of(worth, dim), low, median, high, beyond, strict=True)
    return [
        {"name": n, "ends": (a, b), "median": m, "group": 0, "mean": False}
        | {"beyond": (share >= 0.5, share >= tail)}
        for n, a, m, b, share in together
    ]


def _ends(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return the first and the last `most` // 2 rows."""
    return rows if len(rows) <= most else [*rows[: most // 2], *rows[-(most // 2) :]]


def _intervals(panel: Panel, rows: list[dict[str, Any]], of_groups: bool) -> None:
    """Draw the rows, those with the same look as one artist."""
    looks = dict.fromkeys((row["group"], row["mean"]) for row in rows)
    for group, mean in looks:
        at = [i for i, row in enumerate(rows) if (row["group"], row["mean"]) == (group, mean)]
        ends = np.array([rows[i]["ends"] for i in at]).T
        median = np.array([rows[i]["median"] for i in at])
        colour = INK if mean else COLOURS[group % len(COLOURS)]
        label = "mean over the group" if mean else ("its raters" if of_groups else None)
        label = label if group == 0 else None
        look = {"colour": colour, "width": 3.6 if mean else 1.8, "alpha": 0.8 if mean else 0.6}
        panel.spans((ends[0], ends[1]), at, along="x", label=label, **look)
        panel.points(median, at, colour=colour, area=30 if mean else 16)
    ends = np.array([row["ends"][1] for row in rows])
    gap = 0.012 * max(float(ends.max()), 1.0)
    look = {"size": 8, "align": ("left", "center"), "over_lines": True}
    texts = []
    for row in rows:  # marked if the median or the upper end is beyond the largest panel
        median, end = (f"{x:.2f}" if x < 1 else f"{x:.1f}" for x in (row["median"], row["ends"][1]))
        beyond, end_beyond = row["beyond"]
        texts.append(
            f"more than {median}" if beyond else f"{median} (to more than {end})" if end_beyond else median
        )
    panel.write(ends + gap, range(len(rows)), texts, **look)
