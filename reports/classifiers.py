"""Comparison of classifiers: rows of tables and sections of a report."""

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
    """List the classifiers of an `evaluation.compare` result, best posterior mean first."""
    mean = result["mean"].sel(source="raters")
    sign = -1 if result.attrs["larger_is_better"] else 1
    order = np.argsort(sign * mean.to_numpy(), kind="stable")
    return [str(name) for name in result["classifier"].to_numpy()[order]]


def pair_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Rows for every metric and pair of classifiers, the one with the better mean first.

    `found` maps metrics to results of `evaluation.compare`. Keys: ``difference``; ``lower`` and ``upper``
    from raters and items together, ``raters_lower`` ... from either alone; ``probability_better`` likewise;
    ``mcse`` of the difference.
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
    """Display form of the rows of `pair_rows`."""
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
    """Rows with the probability that each classifier is the best of all, by metric."""
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
    """Rows with the optimism of point estimates of the truth, for each metric, estimate and classifier.

    `found` as in `pair_rows`; results without point estimates are left out. Keys: ``point``, the metric
    against the estimate; ``mean`` against the posterior; ``optimism``, positive where the estimate favours
    the classifier; its ``lower`` and ``upper`` from the uncertainty about the truth.
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
    """Sections with pairwise comparisons, probabilities of being the best, and optimism.

    Optimism is that of point estimates of the truth. `found` maps metrics to results of `evaluation.compare`;
    the page shows the metric `headline`, the tables have all.
    """
    pairs = pair_rows(found)
    main = [row for row in pairs if row["metric"] == headline]
    text = f"By {headline}. {verdict(main[0])} All classifiers are scored on the same draws of the truth and the same items."
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
            "Probability of being the best",
            "The probability of being the best by each metric, from raters and items together; ties are shared.",
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
    """Sentence with the probability that the first classifier of a row of `pair_rows` is better."""
    difference = with_interval(row["difference"], row["lower"], row["upper"])
    return (
        f"{row['classifier']} is better than {row['other']} with probability {percent(row['probability_better'])}: the "
        f"difference is {difference}."
    )


def _shown_best(
    rows: list[dict[str, Any]], found: Mapping[str, xr.Dataset]
) -> list[dict[str, Any]]:
    """Display form of `best_rows`: a row for each classifier, a column for each metric."""
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        own = table.setdefault(row["classifier"], {"classifier": row["classifier"]})
        own[row["metric"]] = percent(row["probability_best"])
    return [{"classifier": name} | {m: own[m] for m in found} for name, own in table.items()]


def _optimism_section(rows: list[dict[str, Any]], headline: str) -> Section:
    """Section on the optimism of votes and other point estimates."""
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
        f"By {headline}. A point estimate takes one answer for certain. Optimism is how much better a classifier looks "
        "against it than against the posterior; the interval is from the uncertainty about the truth."
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
