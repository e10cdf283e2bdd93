"""Metrics with uncertainty from raters and from items: rows of a table and a section of a report."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .page import Row, Section
from .words import interval, percent_with_interval

__all__ = ["ALONE", "metric_rows", "metrics_section", "shown_metrics"]

ALONE = "predictions"  # default name of a single classifier
WAYS = {True: "larger is better", False: "smaller is better"}


def metric_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Rows for every metric, classifier and group.

    `found` maps metrics to results of `evaluation.metric_intervals` or `evaluation.compare`. Keys: ``mean``
    over the draws; ``lower`` and ``upper`` from raters and items together, ``raters_lower`` ... from either
    alone; ``sd_raters``, ``sd_items``, ``sd_both``; ``raters_share`` of the variance; Monte-Carlo errors of
    mean and ends; ``undefined``, the share of draws without a value.
    """
    return [
        _row(name, str(classifier), group, own)
        for name, dataset in found.items()
        for classifier, by_group in _each(dataset, "classifier", ALONE)
        for group, own in _each(by_group, "group", None)
    ]


def _each(dataset: xr.Dataset, dim: str, alone: object) -> list[tuple[object, xr.Dataset]]:
    """List (label, part) along a dim, or the whole dataset with the label `alone`."""
    if dim not in dataset.dims:
        return [(alone, dataset)]
    return [(dataset[dim].to_numpy()[i], dataset.isel({dim: i})) for i in range(dataset.sizes[dim])]


def _row(name: str, classifier: str, group: object, own: xr.Dataset) -> dict[str, Any]:
    by = {str(s): own.sel(source=s) for s in own["source"].to_numpy()}
    ends = {s: [float(x) for x in part["interval"]] for s, part in by.items()}
    sd = {s: float(part["sd"]) for s, part in by.items()}
    both = by["both"]
    row: dict[str, Any] = {"metric": name, "classifier": classifier}
    if group is not None:
        row |= {"group": str(group), "share": float(own["share"])}
        row |= _ends("share", [float(x) for x in own["share_interval"]])
    row |= {"mean": float(by["raters"]["mean"])} | _ends("", ends["both"])
    row |= _ends("raters", ends["raters"]) | _ends("items", ends["items"])
    return row | {
        "sd_raters": sd["raters"],
        "sd_items": sd["items"],
        "sd_both": sd["both"],
        "raters_share": _share(sd["raters"], sd["items"]),
        "mcse": float(by["raters"]["mcse"]),
        **_ends("mcse", [float(x) for x in both["interval_mcse"]]),
        "undefined": float(by["raters"]["undefined"]),
    }


def _ends(name: str, ends: list[float]) -> dict[str, Any]:
    start = f"{name}_" if name else ""
    return {f"{start}lower": ends[0], f"{start}upper": ends[1]}


def _share(raters: float, items: float) -> float | None:
    """Share of the variance that is due to the raters; None if undefined."""
    total = raters**2 + items**2
    return raters**2 / total if np.isfinite(total) and total > 0 else None


def shown_metrics(rows: list[dict[str, Any]]) -> list[Row]:
    """Display form of the rows of `metric_rows`."""
    return [_shown(row) for row in rows]


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    share = row["raters_share"]
    shown = {name: row[name] for name in ("metric", "classifier", "group") if name in row}
    if "share" in row:
        ends = (row[name] for name in ("share_lower", "share_upper"))
        shown["share of items"] = percent_with_interval(row["share"], *ends)
    if not np.isfinite(row["mean"]):
        missing = "infinite" if np.isinf(row["mean"]) else "not defined"
        return shown | dict.fromkeys(("mean", "90 % interval"), missing) | _empty()
    return shown | {
        "mean": row["mean"],
        "90 % interval": interval(row["lower"], row["upper"]),
        "± raters": row["sd_raters"],
        "± items": row["sd_items"],
        "raters' part": "" if share is None else f"{share:.0%}",
    }


def _empty() -> dict[str, Any]:
    return dict.fromkeys(("± raters", "± items", "raters' part"))


def metrics_section(
    found: Mapping[str, xr.Dataset],
    directions: Mapping[str, bool],
    figure: Figure | None = None,
) -> Section:
    """Section with the metrics of all classifiers.

    `found` as in `metric_rows`; `directions` tells of each metric whether larger is better.
    """
    rows = metric_rows(found)
    smaller = [name for name, larger in directions.items() if not larger]
    way = f" Smaller is better for {', '.join(smaller)}, larger for the others." if smaller else ""
    text = (
        "Each metric is computed against the truth of every posterior draw. The 90 % interval covers both the uncertainty about "
        "the truth that the raters leave and the sampling of the items. ± is the standard deviation from either alone: more "
        "raters make the first smaller, more items the second; the last column is the raters' part of the variance."
        + way
    )
    return Section(
        "Metrics",
        text,
        [figure] if figure else [],
        rows,
        "metrics",
        key="metrics",
        facts={"probability": 0.9, "larger_is_better": dict(directions)},
        shown=shown_metrics(rows),
    )
