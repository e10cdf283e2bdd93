"""Forest plot of the worth of judges, in typical raters of a reference group."""

from typing import Any

import numpy as np
import xarray as xr

from ..errors import EvaluationError
from .canvas import Backend, canvas, legend
from .checks import needs
from .curves import names_of
from .panel import Panel
from .style import COLOURS, INK, shortened

__all__ = ["rater_worth"]

GROUPS = "group_of_raters"
MOST_RATERS = 40
ROW, HEAD = 0.24, 1.2  # inches: height of a row, and of the margins above and below


def rater_worth(
    worth: xr.Dataset,
    *,
    measure: str = "information",
    probability: float = 0.9,
    backend: Backend | None = None,
) -> Any:
    """Draw the number of typical raters of the reference group that every judge is worth.

    Parameters
    ----------
    worth : Dataset
        Result of `evaluation.rater_worth`, with or without groups.
    measure : {"information", "accuracy"}, default "information"
        Measure in which the judge and the raters are to be equal.
    probability : float, default .9
        Probability of the intervals.
    backend : {"matplotlib", "plotly", "bokeh"}, optional
        Plotting library; by default ArviZ's ``rcParams["plot.backend"]``.

    Returns
    -------
    matplotlib.figure.Figure, or the figure of plotly or bokeh
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
    >>> from raterzoo.evaluation import plots
    >>> dims = ("chain", "draw", "rater", "category", "label")
    >>> accuracy = np.random.default_rng(1).beta(8, 2, size=(2, 100, 3, 1, 1))
    >>> confusion = accuracy * np.eye(2) + (1 - accuracy) * (1 - np.eye(2))
    >>> posterior = xr.Dataset(
    ...     {"confusion": (dims, confusion), "prevalence": (("chain", "draw", "category"), np.full((2, 100, 2), 0.5))},
    ...     {"rater": ["Ann", "Bob", "Eve"], "category": ["no", "yes"], "label": ["no", "yes"]},
    ... )
    >>> tree = xr.DataTree.from_dict({"posterior": posterior})
    >>> axes = plots.rater_worth(evaluation.rater_worth(tree))
    >>> axes.get_xlabel()
    'worth in typical raters, by information: median, 90% interval'
    """
    needs(worth, ("worth", "censored", "panel"), "rater_worth")
    measures = worth["measure"].to_numpy().tolist()
    if measure not in measures:
        raise EvaluationError(f"measure={measure!r} is not one of {', '.join(map(repr, measures))}")
    if not 0 < probability < 1:
        raise EvaluationError(f"probability={probability!r} must lie between 0 and 1")
    own = worth.sel(measure=measure)
    rows = _rows(own, probability)
    picture = canvas((7.4, HEAD + ROW * len(rows)), backend=backend)
    (panel,) = picture.panels
    panel.rule(1.0, axis="x")
    _intervals(panel, rows, GROUPS in own.dims)
    panel.ticks("y", range(len(rows)), shortened([row["name"] for row in rows]), size=7.5)
    panel.limits("y", len(rows) - 0.4, -0.6)
    high = max(row["ends"][1] for row in rows)
    room = 1.3 if any(end for row in rows for end in row["beyond"]) else 1.1
    panel.limits("x", -0.02 * high, room * max(high, 1.0))
    unit = worth.attrs.get("reference") or "all"
    typical = "raters" if unit == "all" else f"raters of {unit!r}"
    panel.labels(f"worth in typical {typical}, by {measure}: median, {probability:.0%} interval")
    if GROUPS in own.dims:
        legend(panel, "above")
    return picture.only


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
        hover = [
            f"{rows[i]['name']}\n{m:.2f} ({a:.2f} to {b:.2f})"
            for i, m, a, b in zip(at, median, *ends, strict=True)
        ]
        panel.points(median, at, colour=colour, area=30 if mean else 16, hover=hover)
    ends = np.array([row["ends"][1] for row in rows])
    gap = 0.012 * max(float(ends.max()), 1.0)
    look = {"size": 7, "align": ("left", "middle"), "over_lines": True}
    panel.write(ends + gap, range(len(rows)), [_number(row) for row in rows], **look)


def _number(row: dict[str, Any]) -> str:
    """Return the median as text, with a mark if it or the upper end is beyond the largest panel."""
    median, end = (_rounded(x) for x in (row["median"], row["ends"][1]))
    beyond, end_beyond = row["beyond"]
    if beyond:
        return f"more than {median}"
    return f"{median} (to more than {end})" if end_beyond else median


def _rounded(worth: float) -> str:
    return f"{worth:.2f}" if worth < 1 else f"{worth:.1f}"
