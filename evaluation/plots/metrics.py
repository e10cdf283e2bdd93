"""Forest plots of metrics, with the uncertainty of the labels and of the sample of items; and subgroups."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ...posterior.errors import EvaluationError
from .canvas import Panel, canvas, legend
from .style import (
    COLOURS,
    GREY,
    INK,
    LONGEST,
    in_words,
    limits_with_texts,
    needs,
    one_or_more,
    readings,
    shortened,
)

# source -> legend, colour, line width, offset within the row
LOOKS = {
    "both": ("raters and items together", INK, 5.0, 0.0),
    "raters": ("labels of the raters", COLOURS[0], 2.4, 0.19),
    "items": ("the sample of items", COLOURS[1], 2.4, 0.33),
}

ROW, HEAD = 0.52, 1.25  # inches: height of a row, and of the margins above and below
LIFT = 0.07  # inches from an interval to its text
NOBODY = "no members"
BESIDE_NAMES = 3.2  # inches, width of a panel without the names of its rows
LEFT, RIGHT = 3.9, 2.5  # inches, widths of the panels of subgroups


def metric_intervals(summary: xr.Dataset | Mapping[str, xr.Dataset], *, label: str | None = None) -> Figure:
    """Draw a metric with its intervals: uncertainty of the labels, of the sample of items, and of both.

    Parameters
    ----------
    summary : Dataset or mapping of str to Dataset
        Result of `evaluation.metric_intervals`, with classifiers, groups, both or neither; for a mapping, a
        panel for each metric, all with the same classifiers and groups.
    label : str, optional
        Label of the horizontal axis for a single metric; by default the name of the metric.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each classifier and group; above it, the mean and the interval of both uncertainties.

    Raises
    ------
    EvaluationError
        If a Dataset is not a result of `evaluation.metric_intervals`, or empty.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> vote = inference.majority_vote(labels)["plausibility"]
    >>> summary = evaluation.metric_intervals(evaluation.brier_score(), tree, vote, random_seed=1)
    >>> figure = evaluation.plots.metric_intervals(summary)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['all items']
    """
    single = label or _metric(summary)
    every = one_or_more(summary, ("mean", "interval"), "metric_intervals", single)
    tables = {name: _rows_of(own) for name, own in every.items()}
    names = next(iter(tables.values()))["row"].to_numpy()
    for name, table in tables.items():
        if table["row"].to_numpy().tolist() != names.tolist():
            raise EvaluationError(
                f"{name!r} has different classifiers or groups from {next(iter(tables))!r}: draw them one by one"
            )
    size = (2.4 + 3.6 * len(tables), HEAD + ROW * len(names))
    figure, panels = canvas(size, (1, len(tables)))
    last = panels[-1]
    for place, (panel, (name, table)) in enumerate(zip(panels, tables.items(), strict=True)):
        for source, look in LOOKS.items():
            lift = LIFT / ROW if source == "both" else 0.0
            draw_interval(panel, table.sel(source=source), look, lift=lift, show=panel is last)
        fit_rows(panel, table["interval"], table["mean"].sel(source="both"))
        panel.ticks("y", range(len(names)), [""] * len(names) if place else shortened(names))
        panel.limits(y=(len(names) - 0.4, -0.6))
        known = name.replace(" ", "_") == every[name].attrs.get("metric")
        words = in_words(every[name].attrs["metric"]) if known else name
        panel.labels(f"{words}: mean, {100 * every[name].attrs['probability']:.0f} % interval")
    legend(last, "above")
    return figure


def _metric(summary: object) -> str:
    return in_words(getattr(summary, "attrs", {}).get("metric", "metric"))


def _rows_of(summary: xr.Dataset) -> xr.Dataset:
    """Return mean and interval over (source, row), a row for each classifier and group."""
    dims = [d for d in ("classifier", "group") if d in summary["mean"].dims]
    own = summary[["mean", "interval"]]
    if not dims:
        return own.expand_dims(row=["all items"])
    names = [[str(n) for n in summary[d].to_numpy().tolist()] for d in dims]
    both = names[0] if len(dims) == 1 else [f"{a}: {b}" for a in names[0] for b in names[1]]
    return own.stack(row=dims, create_index=False).drop_vars(dims).assign_coords(row=both)


def draw_interval(
    panel: Panel,
    table: xr.Dataset,
    look: tuple[str, str, float, float],
    *,
    lift: float = 0.0,
    show: bool = True,
    named: bool = False,
) -> None:
    """Draw mean and interval of every row, with `lift` also as text; `look` is (name, colour, line width, offset in the row)."""
    name, colour, width, beside = look
    mean = table["mean"].to_numpy()
    low, high = table["interval"].transpose("bound", "row").to_numpy()
    at = np.arange(len(mean)) + beside
    known = np.isfinite(mean)
    mean, low, high, at = (a[known] for a in (mean, low, high, at))
    style = {"width": width, "alpha": 0.45 if width > 3 else 0.8, "label": name if show else None}
    panel.spans((low, high), at, along="x", colour=colour, **style)
    panel.points(mean, at, colour=colour, area=30 if width > 3 else 14)
    if lift:
        head = f"{name}: " if named else ""
        text = readings("{}{:.2f} ({:.2f} to {:.2f})", head, mean, low, high)
        panel.write(mean, at - lift, text, align=("center", "bottom"), over_lines=True)


def fit_rows(
    panel: Panel, drawn: xr.DataArray, mean: xr.DataArray, *, width: float = BESIDE_NAMES, head: int = 0
) -> None:
    """Widen the axis so that the text above the intervals fits, and mark rows without members."""
    low, high = (float(drawn.min()), float(drawn.max())) if bool(drawn.notnull().any()) else (0.0, 1.0)
    known = mean.to_numpy()[mean.notnull().to_numpy()]
    letters = head + 3 * max(len(f"{value:.2f}") for value in (low, high)) + len(" ( to )")
    panel.limits(limits_with_texts((low, high), known, letters, width))
    of_rows = mean.max("classifier") if "classifier" in mean.dims else mean
    without = np.flatnonzero(of_rows.isnull().to_numpy())
    panel.write(np.full(len(without), (low + high) / 2), without, [NOBODY] * len(without), colour=GREY)


def subgroups(summary: xr.Dataset, *, label: str | None = None) -> Figure:
    """Draw a metric within subgroups, and the share of the items in each.

    Parameters
    ----------
    summary : Dataset
        Result of ``evaluation.metric_intervals(..., by=...)``, optionally with classifiers.
    label : str, optional
        Name of the metric in the figure; by default its own.

    Returns
    -------
    matplotlib.figure.Figure
        Left: the metric of each group, with the interval for the uncertainty of the truth and of the sample
        of items; a colour for each classifier. Right: the share of the items in the group, with an interval
        if membership is uncertain. Empty groups are marked.

    Raises
    ------
    EvaluationError
        If the Dataset has no groups.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> vote = inference.majority_vote(labels)["plausibility"]
    >>> by = vote["item"].copy(data=["first"] * 10 + ["last"] * 10)
    >>> summary = evaluation.metric_intervals(evaluation.brier_score(), tree, vote, by=by, random_seed=1)
    >>> figure = evaluation.plots.subgroups(summary)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['first', 'last']
    """
    needs(summary, ("mean", "interval", "share", "share_interval"), "metric_intervals(..., by=...)")
    own = summary.sel(source="both", drop=True)
    if "classifier" not in own["mean"].dims:
        own = own.expand_dims(classifier=[""])
    names, groups = own["classifier"].to_numpy().tolist(), own["group"].to_numpy()
    room = max(ROW, 0.42 * len(names) + 0.1)
    figure, panels = canvas((9.4, HEAD + room * len(groups)), (1, 2), ratios=(LEFT, RIGHT))
    left, right = panels
    step = 0.86 / len(names)
    several = len(names) > len(COLOURS)  # colours repeat: names are printed at the intervals
    legible = shortened(names, 20 if several else LONGEST)
    for place, name in enumerate(names):
        beside = step * (place - (len(names) - 1) / 2)
        look = (legible[place], COLOURS[place % len(COLOURS)], 3.5, beside)
        table = own.sel(classifier=name).rename(group="row")
        draw_interval(left, table, look, lift=LIFT / room, show=bool(name) and not several, named=several)
    head = max(map(len, legible)) + 2 if several else 0
    fit_rows(left, own["interval"], own["mean"], width=LEFT, head=head)
    _shares(right, own, step, LIFT / room)
    for panel in panels:
        panel.ticks("y", range(len(groups)), shortened(groups) if panel is left else [""] * len(groups))
        panel.limits(y=(len(groups) - 0.45, -0.6))
    probability = f"{100 * summary.attrs['probability']:.0f} %"
    left.labels(f"{label or _metric(summary)}: mean, {probability} interval of raters and items")
    right.labels(f"share of the items: mean, {probability} interval")
    legend(left, "above")
    return figure


def _shares(panel: Panel, own: xr.Dataset, step: float, lift: float) -> None:
    """Draw the shares of the groups, for each classifier if they differ: pale bars, dark intervals."""
    share = own["share"].transpose("classifier", "group").to_numpy()
    ends = own["share_interval"].transpose("classifier", "bound", "group").to_numpy()
    same = bool((share == share[:1]).all())
    groups = own["group"].to_numpy()
    top = min(1.0, 1.08 * float(np.nanmax(ends)))
    for place in range(1 if same else len(share)):
        colour = GREY if same else COLOURS[place % len(COLOURS)]
        at = np.arange(len(groups)) + (0 if same else step * (place - (len(share) - 1) / 2))
        width = 9 if same else 5
        whole = (0 * share[place], share[place])
        panel.spans(whole, at, along="x", colour=colour, width=width, alpha=0.35)
        panel.spans(ends[place], at, along="x", colour=INK, width=width, alpha=0.8)
        text = readings("{:.1f} % ({:.1f} to {:.1f} %)", 100 * share[place], *(100 * ends[place]))
        panel.points(share[place], at, colour="white", area=3)
        panel.write(np.full(len(at), 0.015 * top), at - 1.4 * lift, text, align=("left", "bottom"))
    panel.limits((0, top))
    panel.percent("x", 0, top)
