"""How many raters a classifier is worth: sentences and sections of a report."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..evaluation.surveys.crossings import in_words
from .equivalence_rows import (
    classifier_rows,
    curve_rows,
    each,
    figure_of,
    pair_rows,
    posterior_curve_rows,
    posterior_rows,
    shown_classifier,
    shown_curve,
    shown_pairs,
    shown_posterior,
)
from .metrics import ALONE
from .page import Section
from .words import percent, with_interval

__all__ = [
    "TITLE",
    "equivalence_sections",
    "left_out",
    "posterior_sections",
    "scored_by",
    "sentences",
    "subject_of",
]

TITLE = "How many raters is it worth"
DOUBTFUL = 0.05  # of the posterior check
FALLEN = 0.1  # part of the gain that is lost again where a curve is said to fall
FACTS = ("combiner", "scorer", "clip", "item_rule", "estimand", "learn", "base", "reference")
FACTS += ("probability", "left_out", "left_out_without_label", "left_out_with_one_label", "note")
# of the logarithm in the cross-entropy
UNITS = {2.0: "bits", float(np.e): "nats", 10.0: "decimal digits"}


def scored_by(found: xr.Dataset) -> str:
    """Return the scorer and its unit.

    Parameters
    ----------
    found : Dataset
        Of `evaluation.survey_equivalence`.
    """
    name, base = str(found.attrs["scorer"]).replace("_", "-"), float(found.attrs["base"])
    if name != "cross-entropy":
        return name
    return f"{name} in {UNITS.get(base, f'units of log {base:g}')}"


def sentences(found: xr.Dataset) -> list[str]:
    """Say of each classifier how many raters it is worth.

    Parameters
    ----------
    found : Dataset
        Of `evaluation.survey_equivalence`, with a dim classifier.
    """
    said = []
    for name, own in each(found):
        side, words = str(own["censored"].to_numpy()), str(own["words"].to_numpy())
        if words == "unknown":
            said.append(
                f"What {name} is worth is unknown: its score, or that of no labels, has no value."
            )
            continue
        subject, it, its, scores = subject_of(name)
        why = {
            "below": f": {it} {scores} below what is predicted without any label",
            "above": f": the curve of up to {int(found['k'][-1])} is never above {its} score",
        }.get(side, "")
        said.append(f"{subject} worth {words}{why}.")
    return said


def subject_of(name: str) -> tuple[str, str, str, str]:
    """Return a classifier as a subject with its verb, and the words that stand for it after that.

    Parameters
    ----------
    name : str
        Of the classifier.
    """
    if name.split(",")[0] != ALONE:
        return f"{name} is", "it", "its", "scores"
    return f"The {name}{',' if ',' in name else ''} are", "they", "their", "score"


def left_out(found: xr.Dataset) -> str:
    """Say which items have too few labels, where the curve falls, and what else there is to know; empty if nothing.

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
    if top := _highest_before_a_fall(found):
        why = "fewer items have so many labels" if found["items"][-1] < found["items"][top] else ""
        if facts["combiner"] == "abc":
            few = "the combiner learns from few items what so many labels mean"
            why = f"{few}, and {why}" if why else few
        said.append(f"The curve is highest at {top} and falls beyond{f': {why}' if why else ''}.")
    if facts["note"]:
        said.append(f"Note: {facts['note']}.")
    return " ".join(said)


def _highest_before_a_fall(found: xr.Dataset) -> int:
    """Return the number of raters where the curve is highest, if it falls much after that, else 0."""
    gain = found["information_gain"].to_numpy()
    if not np.isfinite(gain).all():
        return 0
    top = int(gain.argmax())
    return top if gain[top] - gain[-1] > FALLEN * gain[top] else 0


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
    hold = f"Intervals hold {100 * level:g} % of resamples of the items." * (
        "score_interval" in found
    )
    text = (
        f"{' '.join(sentences(found))} The labels of k raters, combined by {found.attrs['combiner']}, predict what a further "
        f"rater says; a classifier is worth as many raters as score like it, by {scored_by(found)}, where higher is better. "
        f"Gain is what a score is above that of no labels. {hold} {left_out(found)}"
    )
    facts = {name: found.attrs[name] for name in FACTS} | {"baseline": float(found["baseline"])}
    rows = classifier_rows(found)
    worth = Section(
        TITLE,
        " ".join(text.split()),
        [figure] if figure else [],
        rows,
        file="equivalence",
        key="equivalence",
        facts=facts,
        shown=[shown_classifier(row, level) for row in rows],
    )
    return [worth, *_parts(curve_rows(found), pair_rows(found), level)]


def _parts(curve: list[dict[str, Any]], pairs: list[dict[str, Any]], level: float) -> list[Section]:
    """Return the curve and, of several classifiers, their differences."""
    better = ", and P, the probability that a classifier is better" * ("score_lower" in curve[0])
    power = Section(
        "Survey power curve",
        f"The score of so many raters against a further one{better}.",
        rows=curve,
        file="equivalence_curve",
        key="equivalence.curve",
        shown=shown_curve(curve, level),
        part=True,
    )
    text = (
        "All classifiers meet the same resamples. Beyond the curve a number of raters is unknown."
    )
    differences = Section(
        "Which classifier is worth more",
        text,
        rows=pairs,
        file="equivalence_differences",
        key="equivalence.differences",
        shown=shown_pairs(pairs, level),
        part=True,
    )
    return [power, differences] if pairs else [power]


def posterior_sections(
    summed: xr.Dataset,
    diagnosis: tuple[bool, str],
    figure: Figure | None = None,
    *,
    probability: float,
) -> list[Section]:
    """Return what all raters there could be would reach, what part of it each classifier does, and the curve.

    Parameters
    ----------
    summed : Dataset
        Of `evaluation.survey_summary`, with a dim classifier.
    diagnosis : tuple of bool and str
        Whether the draws converged, and the sentence that says so.
    figure : matplotlib.figure.Figure, optional
        Picture.
    probability : float
        Of the intervals.
    """
    longest, rows = int(summed["k"][-1]), posterior_rows(summed)
    converged, verdict = diagnosis
    limit = with_interval(*figure_of(summed, "asymptote").values())
    said = [
        f"All raters there could be would reach a score of {limit}; no labels reach {float(summed['baseline']):.3f}."
    ]
    said += [_of_posterior(row, longest) for row in rows]
    check, verdict = summed.attrs["check_p"], f"{verdict[:1].upper()}{verdict[1:].rstrip('.')}."
    doubtful = check < DOUBTFUL
    checked = (
        f"CHECK FAILED (p = {check:.3f}): item states like these do not give such a curve; do not rely on them."
        if doubtful
        else f"Check: the item states give curves like that of the data (p = {check:.2f})."
    )
    warned = [verdict] * (not converged) + [checked] * doubtful
    calm = [checked] * (not doubtful) + [verdict] * converged
    facts = {"check_p": check, "converged": converged, "verdict": diagnosis[1], "longest": longest}
    facts |= figure_of(summed, "asymptote") | figure_of(summed, "baseline")
    beyond = Section(
        "Beyond the raters there were",
        " ".join([*warned, *said, *calm]),
        [figure] if figure else [],
        rows,
        file="equivalence_posterior",
        key="equivalence.posterior",
        facts=facts,
        shown=[shown_posterior(row, _worth(row, longest)) for row in rows],
        part=True,
        alarm=bool(warned),
    )
    curve = posterior_curve_rows(summed)
    power = Section(
        "The posterior of the curve",
        f"What so many raters know of a further one, whether or not there were so many; beside it the curve of the data. "
        f"Intervals hold {100 * probability:g} % of the draws.",
        rows=curve,
        file="equivalence_posterior_curve",
        key="equivalence.posterior.curve",
        shown=shown_curve(curve, probability),
        part=True,
    )
    return [beyond, power]


def _worth(row: Mapping[str, Any], longest: int) -> str:
    ends = np.array([row["equivalence_lower"], row["equivalence_upper"]])
    return in_words(row["equivalence"], longest, ends)


def _of_posterior(row: Mapping[str, Any], longest: int) -> str:
    part = (row[f"performance_ratio{end}"] for end in ("", "_lower", "_upper"))
    return (
        f"{subject_of(row['classifier'])[0]} worth {_worth(row, longest)}; performance ratio {with_interval(*part, digits=2)}; "
        f"better than all raters with probability {percent(row['probability_unattained'])}."
    )
