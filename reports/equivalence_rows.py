"""Survey equivalence as rows: with all numbers for files, and in display form."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from .words import interval, percent, with_interval

__all__ = [
    "classifier_rows",
    "curve_rows",
    "each",
    "figure_of",
    "pair_rows",
    "posterior_curve_rows",
    "posterior_rows",
    "shown_classifier",
    "shown_curve",
    "shown_pairs",
    "shown_posterior",
]

MOST_SHOWN = 12  # points of a curve that a reader sees
ABOVE = "probability_above_"  # a column of each classifier


def each(found: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """List (name, part) for each classifier of a dataset."""
    return [(str(name), found.sel(classifier=name)) for name in found["classifier"].to_numpy()]


def figure_of(own: xr.Dataset, name: str, prefix: str | None = None) -> dict[str, Any]:
    """Extract a number and, where there are intervals, its ends, as keys of a row."""
    prefix = name if prefix is None else prefix
    row: dict[str, Any] = {prefix: float(own[name])}
    if f"{name}_interval" in own:
        ends = [float(end) for end in own[f"{name}_interval"]]
        row |= {f"{prefix}_lower": ends[0], f"{prefix}_upper": ends[1]}
    return row


def classifier_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows with score, gain over no labels, and equivalence in raters of each classifier."""
    rows = []
    for name, own in each(found):
        row: dict[str, Any] = {"classifier": name}
        for quantity in ("score", "classifier_gain", "equivalence"):
            row |= figure_of(own, quantity)
        row["integer_equivalence"] = float(own["integer_equivalence"])
        rows.append(row | {key: str(own[key].to_numpy()) for key in ("censored", "words")})
    return rows


def curve_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows with score and gain for each number of raters, and probabilities that a classifier is better."""
    rows = []
    for k in found["k"].to_numpy().tolist():
        own = found.sel(k=k)
        row: dict[str, Any] = {"raters": k, **figure_of(own, "power_curve", "score")}
        row |= figure_of(own, "information_gain", "gain")
        row |= {"items": int(own["items"]), "monte_carlo_error": float(own["monte_carlo_error"])}
        if "probability_above" in own:
            for name, one in each(own):
                row[f"{ABOVE}{name}"] = float(one["probability_above"])
        rows.append(row)
    return rows


def pair_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows for each pair of classifiers, the one with the better score first."""
    if "versus" not in found.dims:
        return []
    score = found["score"].to_numpy()
    order = found["classifier"].to_numpy()[np.argsort(-score, kind="stable")]
    rows = []
    for better, worse in combinations(order, 2):
        own = found.sel(classifier=better, versus=worse)
        row: dict[str, Any] = {"classifier": str(better), "other": str(worse)}
        row |= figure_of(own, "score_difference") | figure_of(own, "equivalence_difference")
        if "probability_better" in own:
            row["probability_better"] = float(own["probability_better"])
        rows.append(row)
    return rows


def posterior_rows(summed: xr.Dataset) -> list[dict[str, Any]]:
    """Rows for each classifier from the posterior of the item states."""
    rows = []
    for name, own in each(summed):
        row: dict[str, Any] = {"classifier": name}
        for quantity in ("score", "equivalence", "performance_ratio"):
            row |= figure_of(own, quantity)
        for side in ("below", "beyond", "unattained"):
            row[f"probability_{side}"] = float(own[f"probability_{side}"])
        rows.append(row | {"censored": str(own["censored"].to_numpy())})
    return rows


def posterior_curve_rows(summed: xr.Dataset) -> list[dict[str, Any]]:
    """Rows of the posterior curve for each number of raters, with the observed curve and the check."""
    seen = {int(k): summed.sel(checked_k=k) for k in summed["checked_k"].to_numpy()}
    rows = []
    for k in summed["k"].to_numpy().tolist():
        own = summed.sel(k=k)
        row: dict[str, Any] = {"raters": k, **figure_of(own, "power_curve", "score")}
        row |= figure_of(own, "information_gain", "gain")
        row["monte_carlo_error"] = float(own["monte_carlo_error"])
        checked = {"observed_score": "observed_curve", "check_p": "check_p"}
        row |= {key: float(seen[k][of]) if k in seen else None for key, of in checked.items()}
        rows.append(row)
    return rows


def shown_classifier(row: Mapping[str, Any], level: float) -> dict[str, Any]:
    """Display form of a row of `classifier_rows`."""
    own = {"classifier": row["classifier"], "score": row["score"]}
    if "score_lower" in row:
        own[f"{100 * level:g} % interval"] = interval(row["score_lower"], row["score_upper"])
    return own | {"gain": row["classifier_gain"], "worth": row["words"]}


def shown_curve(rows: list[dict[str, Any]], level: float) -> list[dict[str, Any]]:
    """Display form of the curve: at most `MOST_SHOWN` of its points."""
    few = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_SHOWN)).round().astype(int))
    shown = []
    for row in (rows[i] for i in few):
        own = {"raters": row["raters"], "score": row["score"]}
        if "score_lower" in row:
            own[f"{100 * level:g} % interval"] = interval(row["score_lower"], row["score_upper"])
        own["gain"] = row["gain"]
        own |= {name: row[name] for name in ("items",) if name in row}
        if "observed_score" in row:
            own["of the data"] = row["observed_score"]
        own |= {
            f"P({name.removeprefix(ABOVE)})": percent(p)
            for name, p in row.items()
            if name.startswith(ABOVE)
        }
        shown.append(own)
    return shown


def shown_pairs(rows: list[dict[str, Any]], level: float) -> list[dict[str, Any]]:
    """Display form of the rows of `pair_rows`."""
    shown = []
    for row in rows:
        own = {"better": row["classifier"], "than": row["other"], "by": row["score_difference"]}
        if "score_difference_lower" in row:
            ends = row["score_difference_lower"], row["score_difference_upper"]
            own[f"{100 * level:g} % interval"] = interval(*ends)
        own["raters more"] = _raters(row)
        if "probability_better" in row:
            own["P(better)"] = percent(row["probability_better"])
        shown.append(own)
    return shown


def _raters(row: Mapping[str, Any]) -> str:
    """Difference of two equivalences in raters; unknown if one is outside the curve."""
    if np.isnan(row["equivalence_difference"]):
        return "unknown"
    ends = [row.get(f"equivalence_difference_{end}", np.nan) for end in ("lower", "upper")]
    number = row["equivalence_difference"]
    return f"{number:.1f}" if np.isnan(ends).any() else with_interval(number, *ends, digits=1)


def shown_posterior(row: Mapping[str, Any], worth: str) -> dict[str, Any]:
    """Display form of a row of `posterior_rows`, with the equivalence in words."""
    part = (row[f"performance_ratio{end}"] for end in ("", "_lower", "_upper"))
    return {
        "classifier": row["classifier"],
        "score": row["score"],
        "worth": worth,
        "performance ratio": with_interval(*part, digits=2),
        "P(beyond all)": percent(row["probability_unattained"]),
    }
