"""Which classifier is better, how surely, and how much a point estimate of the truth flatters: rows, and sections of a report."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .page import Section
from .words import interval, percent, with_interval

__all__ = [
    "best_rows",
    "comparison_sections",
    "optimism_rows",
    "order_of",
    "pair_rows",
    "shown_pairs",
    "verdict",
]

SOURCES = ("both", "raters", "items")


def order_of(result: xr.Dataset) -> list[str]:
    """Return the classifiers of `evaluation.compare`, the best first."""
    mean = result["mean"].sel(source="raters")
    sign = -1 if result.attrs["larger_is_better"] else 1
    order = np.argsort(sign * mean.to_numpy(), kind="stable")
    return [str(name) for name in result["classifier"].to_numpy()[order]]


def pair_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Return a row for every metric and pair of classifiers, the one with the better mean first.

    Parameters
    ----------
    found : mapping of str to Dataset
        Name of the metric -> what `evaluation.compare` returned.

    Returns
    -------
    list of dict
        ``difference``; ``lower`` and ``upper`` of raters and items together, and ``raters_lower`` ... of either alone;
        ``probability_better`` and the same of either alone; ``mcse`` of the difference.
    """
    return [
        _pair(name, result, better, worse)
        for name, result in found.items()
        for better, worse in combinations(order_of(result), 2)
    ]


def _pair(name: str, result: xr.Dataset, better: str, worse: str) -> dict[str, Any]:
    own = result.sel(classifier=better, other=worse)
    row: dict[str, Any] = {"metric": name, "classifier": better, "other": worse}
    row["difference"] = float(own["difference"].sel(source="raters"))
    for source in SOURCES:
        start = "" if source == "both" else f"{source}_"
        ends = own["difference_interval"].sel(source=source).to_numpy().tolist()
        row |= {f"{start}lower": ends[0], f"{start}upper": ends[1]}
    for source in SOURCES:
        end = "" if source == "both" else f"_{source}"
        row[f"probability_better{end}"] = float(own["probability_better"].sel(source=source))
    return row | {"mcse": float(own["difference_mcse"].sel(source="raters"))}


def shown_pairs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return pairs as a reader wants them."""
    several = len({row["metric"] for row in rows}) > 1
    return [
        {
            **({"metric": row["metric"]} if several else {}),
            "classifier": row["classifier"],
            "against": row["other"],
            "difference": row["difference"],
            "90 % interval": interval(row["lower"], row["upper"]),
            "is better with": percent(row["probability_better"]),
            **{
                f"{source} alone": percent(row[f"probability_better_{source}"])
                for source in ("raters", "items")
                if f"probability_better_{source}" in row
            },
        }
        for row in rows
    ]


def best_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Return how probably each classifier is the best of all, by metric."""
    return [
        {
            "metric": name,
            "classifier": classifier,
            "probability_best": float(own["probability_best"]),
            "mean_rank": float(own["mean_rank"]),
        }
        for name, result in found.items()
        for classifier in order_of(result)
        for own in [result.sel(classifier=classifier, source="both")]
    ]


def optimism_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Return by how much point estimates of the truth flatter each classifier.

    Parameters
    ----------
    found : mapping of str to Dataset
        As of `pair_rows`; those without point estimates are left out.

    Returns
    -------
    list of dict
        ``point``, the metric against the estimate; ``mean`` against the posterior; ``optimism``, positive where the estimate
        flatters; ``lower`` and ``upper`` of it, for what the raters left open.
    """
    rows = []
    for name, result in found.items():
        sign = 1 if result.attrs["larger_is_better"] else -1
        for estimate in result["estimate"].to_numpy() if "point" in result else ():
            for classifier in order_of(result):
                own = result.sel(classifier=classifier, source="raters", estimate=estimate)
                point, ends = float(own["point"]), own["interval"].to_numpy().tolist()
                lower, upper = sorted(sign * (point - end) for end in ends)
                rows.append(
                    {
                        "metric": name,
                        "classifier": classifier,
                        "estimate": str(estimate),
                        "point": point,
                        "mean": float(own["mean"]),
                        "optimism": float(own["optimism"]),
                        "lower": lower,
                        "upper": upper,
                    }
                )
    return rows


def comparison_sections(
    found: Mapping[str, xr.Dataset], headline: str, figure: Figure | None = None
) -> list[Section]:
    """Return who is better, who is the best, and the optimism of point estimates.

    Parameters
    ----------
    found : mapping of str to Dataset
        Name of the metric -> what `evaluation.compare` returned.
    headline : str
        The metric that the page shows; the others are in the tables.
    figure : matplotlib.figure.Figure, optional
        Picture.

    Returns
    -------
    list of Section
        Of all metrics.
    """
    pairs = pair_rows(found)
    main = [row for row in pairs if row["metric"] == headline]
    text = f"By {headline}. {verdict(main[0])} All classifiers meet the same draws of the truth and the same items."
    best = best_rows(found)
    sections = [
        Section(
            "Comparison",
            text,
            [figure] if figure else [],
            pairs,
            "comparison",
            key="comparison",
            facts={"headline": headline, "order": order_of(found[headline])},
            shown=shown_pairs(main),
        ),
        Section(
            "Who is the best of all",
            "The probability to be the best by each metric, of raters and items together, ties shared.",
            rows=best,
            file="best",
            key="comparison.best",
            shown=_shown_best(best, found),
            part=True,
        ),
    ]
    if flattered := optimism_rows(found):
        sections.append(_optimism_section(flattered, headline))
    return sections


def verdict(row: Mapping[str, Any]) -> str:
    """Say in one sentence how surely the first classifier of a pair is better.

    Parameters
    ----------
    row : mapping
        As of `pair_rows`.
    """
    difference = with_interval(row["difference"], row["lower"], row["upper"])
    return (
        f"{row['classifier']} is better than {row['other']} with probability {percent(row['probability_better'])}: the "
        f"difference is {difference}."
    )


def _shown_best(
    rows: list[dict[str, Any]], found: Mapping[str, xr.Dataset]
) -> list[dict[str, Any]]:
    """Return a row for each classifier, a column for each metric."""
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        own = table.setdefault(row["classifier"], {"classifier": row["classifier"]})
        own[row["metric"]] = percent(row["probability_best"])
    return [{"classifier": name} | {m: own[m] for m in found} for name, own in table.items()]


def _optimism_section(rows: list[dict[str, Any]], headline: str) -> Section:
    """Return by how much votes and other point estimates flatter."""
    shown = [
        {
            "classifier": row["classifier"],
            "against": row["estimate"],
            "as if certain": row["point"],
            "under uncertainty": row["mean"],
            "too good by": row["optimism"],
            "90 % interval": interval(row["lower"], row["upper"]),
        }
        for row in rows
        if row["metric"] == headline
    ]
    text = (
        f"By {headline}. A point estimate takes one answer for certain. By how much a classifier looks better against it "
        "than against the posterior; the interval is that of what the raters left open."
    )
    return Section(
        "Optimism of point estimates",
        text,
        rows=rows,
        file="optimism",
        key="comparison.optimism",
        shown=shown,
        part=True,
    )
