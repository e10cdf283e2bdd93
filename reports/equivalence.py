"""How many raters a classifier is worth: sentences, rows, and sections of a report."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..evaluation.surveys.crossings import in_words
from .metrics import ALONE
from .page import Section
from .words import interval, percent, with_interval

__all__ = ["TITLE", "equivalence_sections", "left_out", "posterior_section", "sentences"]

TITLE = "How many raters is it worth"
MOST_SHOWN = 12  # points of a curve that a reader sees
ABOVE = "probability_above_"  # a column of each classifier
DOUBTFUL = 0.05  # of the posterior check
FACTS = ("combiner", "scorer", "clip", "item_rule", "estimand", "learn", "base", "reference")
FACTS += ("probability", "left_out", "left_out_without_label", "left_out_with_one_label", "note")


def _each(found: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    return [(str(name), found.sel(classifier=name)) for name in found["classifier"].to_numpy()]


def _figure(own: xr.Dataset, name: str, prefix: str | None = None) -> dict[str, Any]:
    """Return a number and, where there are intervals, its ends."""
    prefix = name if prefix is None else prefix
    row: dict[str, Any] = {prefix: float(own[name])}
    if f"{name}_interval" in own:
        ends = [float(end) for end in own[f"{name}_interval"]]
        row |= {f"{prefix}_lower": ends[0], f"{prefix}_upper": ends[1]}
    return row


def _subject(name: str) -> str:
    if name.split(",")[0] != ALONE:
        return f"{name} is"
    return f"The {name}{',' if ',' in name else ''} are"


def sentences(found: xr.Dataset) -> list[str]:
    """Say of each classifier how many raters it is worth.

    Parameters
    ----------
    found : Dataset
        Of `evaluation.survey_equivalence`, with a dim classifier.
    """
    said = []
    for name, own in _each(found):
        side, words = str(own["censored"].to_numpy()), str(own["words"].to_numpy())
        if words == "unknown":
            said.append(
                f"What {name} is worth is unknown: its score, or that of no labels, has no value."
            )
            continue
        why = {
            "below": ": it scores below what is predicted without any label",
            "above": f": the curve of up to {int(found['k'][-1])} is never above its score",
        }.get(side, "")
        said.append(f"{_subject(name)} worth {words}{why}.")
    return said


def left_out(found: xr.Dataset) -> str:
    """Say which items have too few labels, and what else there is to know; empty if nothing.

    Parameters
    ----------
    found : Dataset
        Of `evaluation.survey_equivalence`.
    """
    facts = found.attrs
    said = []
    if facts["left_out"]:
        of = (
            ("without a label", "left_out_without_label"),
            ("with one label", "left_out_with_one_label"),
        )
        parts = [f"{facts[key]:,} {words}" for words, key in of if facts[key]]
        kinds = f" ({', '.join(parts)})" if parts else ""
        said.append(f"Left out, as they have too few labels: {facts['left_out']:,} items{kinds}.")
    if facts["note"]:
        said.append(f"Note: {facts['note']}.")
    return " ".join(said)


def _classifier_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Return a row for each classifier: its score, its gain over no labels, and the raters that it is worth."""
    rows = []
    for name, own in _each(found):
        row: dict[str, Any] = {"classifier": name}
        for quantity in ("score", "classifier_gain", "equivalence"):
            row |= _figure(own, quantity)
        row["integer_equivalence"] = float(own["integer_equivalence"])
        rows.append(row | {key: str(own[key].to_numpy()) for key in ("censored", "words")})
    return rows


def _curve_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Return a row for each number of raters, and what classifier is better than they are with which probability."""
    rows = []
    for k in found["k"].to_numpy().tolist():
        own = found.sel(k=k)
        row: dict[str, Any] = {"raters": k, **_figure(own, "power_curve", "score")}
        row |= _figure(own, "information_gain", "gain")
        row |= {"items": int(own["items"]), "monte_carlo_error": float(own["monte_carlo_error"])}
        if "probability_above" in own:
            for name, one in _each(own):
                row[f"{ABOVE}{name}"] = float(one["probability_above"])
        rows.append(row)
    return rows


def _pair_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Return a row for each pair of classifiers, the one with the better score first."""
    if "versus" not in found.dims:
        return []
    score = found["score"].to_numpy()
    order = found["classifier"].to_numpy()[np.argsort(-score, kind="stable")]
    rows = []
    for better, worse in combinations(order, 2):
        own = found.sel(classifier=better, versus=worse)
        row: dict[str, Any] = {"classifier": str(better), "other": str(worse)}
        row |= _figure(own, "score_difference") | _figure(own, "equivalence_difference")
        if "probability_better" in own:
            row["probability_better"] = float(own["probability_better"])
        rows.append(row)
    return rows


def _shown_curve(rows: list[dict[str, Any]], level: float) -> list[dict[str, Any]]:
    """Return the curve as a reader wants it: some of its points, if it is long."""
    few = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_SHOWN)).round().astype(int))
    shown = []
    for row in (rows[i] for i in few):
        own = {"raters": row["raters"], "score": row["score"]}
        if "score_lower" in row:
            own[f"{level:.0%} interval"] = interval(row["score_lower"], row["score_upper"])
        own |= {"gain": row["gain"], "items": row["items"]}
        own |= {
            f"P({name.removeprefix(ABOVE)})": percent(p)
            for name, p in row.items()
            if name.startswith(ABOVE)
        }
        shown.append(own)
    return shown


def _shown_pairs(rows: list[dict[str, Any]], level: float) -> list[dict[str, Any]]:
    """Return pairs as a reader wants them."""
    shown = []
    for row in rows:
        own = {"better": row["classifier"], "than": row["other"], "by": row["score_difference"]}
        if "score_difference_lower" in row:
            ends = row["score_difference_lower"], row["score_difference_upper"]
            own[f"{level:.0%} interval"] = interval(*ends)
        own["raters more"] = _raters(row)
        if "probability_better" in row:
            own["P"] = percent(row["probability_better"])
        shown.append(own)
    return shown


def _raters(row: Mapping[str, Any]) -> str:
    """Return how many more raters a classifier is worth; of one outside of the curve that is not known."""
    if np.isnan(row["equivalence_difference"]):
        return "unknown"
    ends = [row.get(f"equivalence_difference_{end}", np.nan) for end in ("lower", "upper")]
    number = row["equivalence_difference"]
    return f"{number:.1f}" if np.isnan(ends).any() else with_interval(number, *ends, digits=1)


def _posterior_rows(summed: xr.Dataset) -> list[dict[str, Any]]:
    """Return a row for each classifier from the posterior of the item states."""
    rows = []
    for name, own in _each(summed):
        row: dict[str, Any] = {"classifier": name}
        for quantity in ("score", "equivalence", "performance_ratio"):
            row |= _figure(own, quantity)
        for side in ("below", "beyond", "unattained"):
            row[f"probability_{side}"] = float(own[f"probability_{side}"])
        rows.append(row | {"censored": str(own["censored"].to_numpy())})
    return rows


def posterior_section(summed: xr.Dataset, converged: bool, verdict: str) -> Section:
    """Return what all raters there could be would reach, and what part of it each classifier does.

    Parameters
    ----------
    summed : Dataset
        Of `evaluation.survey_summary`, with a dim classifier.
    converged : bool
        Whether the draws did.
    verdict : str
        The sentence that says so.
    """
    longest, rows = int(summed["k"][-1]), _posterior_rows(summed)
    limit = with_interval(*_figure(summed, "asymptote").values())
    start = float(summed["baseline"])
    said = [
        f"All raters there could be would reach a score of {limit}; no labels reach {start:.3f}."
    ]
    said += [_of_posterior(row, longest) for row in rows]
    check = summed.attrs["check_p"]
    said.append(
        f"CHECK FAILED (p = {check:.3f}): item states like these do not give such a curve; do not rely on them."
        if check < DOUBTFUL
        else f"Check: the item states give curves like that of the data (p = {check:.2f})."
    )
    facts = {"check_p": check, "converged": converged, "verdict": verdict, "longest": longest}
    facts |= _figure(summed, "asymptote") | _figure(summed, "baseline")
    text = " ".join([verdict, *said] if not converged else [*said, verdict])
    return Section(
        "Beyond the raters there were",
        text,
        rows=rows,
        key="equivalence.posterior",
        facts=facts,
        part=True,
        alarm=not converged or check < DOUBTFUL,
    )


def _of_posterior(row: Mapping[str, Any], longest: int) -> str:
    worth = in_words(
        row["equivalence"], longest, np.array([row["equivalence_lower"], row["equivalence_upper"]])
    )
    part = (row[f"performance_ratio{end}"] for end in ("", "_lower", "_upper"))
    return (
        f"{_subject(row['classifier'])} worth {worth}; performance ratio {with_interval(*part, digits=2)}; better than all "
        f"raters with probability {percent(row['probability_unattained'])}."
    )


def equivalence_sections(found: xr.Dataset, figure: Figure | None = None) -> list[Section]:
    """Return how many raters each classifier is worth, the curve, and what classifiers differ by.

    Parameters
    ----------
    found : Dataset
        Of `evaluation.survey_equivalence`, with a dim classifier.
    figure : matplotlib.figure.Figure, optional
        Picture.
    """
    level = found.attrs["probability"]
    scorer, combiner = (found.attrs[name].replace("_", "-") for name in ("scorer", "combiner"))
    text = (
        f"{' '.join(sentences(found))} The labels of k raters, combined by {combiner}, predict what a further rater says; a "
        f"classifier is worth as many raters as score like it, by {scorer}, where higher is better. Intervals hold {level:.0%} "
        f"of resamples of the items. {left_out(found)}"
    )
    facts = {name: found.attrs[name] for name in FACTS} | {"baseline": float(found["baseline"])}
    rows, pictures = _classifier_rows(found), [figure] if figure else []
    shown = [_shown(row, level) for row in rows]
    worth = Section(
        TITLE, text.strip(), pictures, rows, key="equivalence", facts=facts, shown=shown
    )
    return [worth, *_parts(_curve_rows(found), _pair_rows(found), level)]


def _parts(curve: list[dict[str, Any]], pairs: list[dict[str, Any]], level: float) -> list[Section]:
    """Return the curve and, of several classifiers, their differences."""
    power = Section(
        "Survey power curve",
        "The score of so many raters against a further one, and P, the probability that a classifier is better.",
        rows=curve,
        key="equivalence.curve",
        shown=_shown_curve(curve, level),
        part=True,
    )
    text = (
        "All classifiers meet the same resamples. Beyond the curve a number of raters is unknown."
    )
    differences = Section(
        "Which classifier is worth more",
        text,
        rows=pairs,
        key="equivalence.differences",
        shown=_shown_pairs(pairs, level),
        part=True,
    )
    return [power, differences] if pairs else [power]


def _shown(row: Mapping[str, Any], level: float) -> dict[str, Any]:
    own = {"classifier": row["classifier"], "score": row["score"]}
    if "score_lower" in row:
        own[f"{level:.0%} interval"] = interval(row["score_lower"], row["score_upper"])
    return own | {"gain": row["classifier_gain"], "worth": row["words"]}
