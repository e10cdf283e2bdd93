"""Survey equivalence: sentences and sections of a report."""

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
DOUBTFUL = 0.05  # p-value of the posterior check below which it fails
FALLEN = 0.1  # share of the maximal gain that is lost where a curve is reported to fall
FACTS = ("combiner", "scorer", "clip", "item_rule", "estimand", "learn", "base", "reference")
FACTS += ("probability", "left_out", "left_out_without_label", "left_out_with_one_label", "note")
# of the logarithm in the cross-entropy
UNITS = {2.0: "bits", float(np.e): "nats", 10.0: "decimal digits"}


def scored_by(found: xr.Dataset) -> str:
    """Name of the scorer of an `evaluation.survey_equivalence` result, and its unit."""
    name, base = str(found.attrs["scorer"]).replace("_", "-"), float(found.attrs["base"])
    if name != "cross-entropy":
        return name
    return f"{name} in {UNITS.get(base, f'units of log {base:g}')}"


def sentences(found: xr.Dataset) -> list[str]:
    """Sentences with the equivalence of each classifier.

    `found` is a result of `evaluation.survey_equivalence` with dim classifier.
    """
    said = []
    for name, own in each(found):
        side, words = str(own["censored"].to_numpy()), str(own["words"].to_numpy())
        if words == "unknown":
            said.append(
                f"The equivalence of {name} is unknown: its score, or that of no labels, is undefined."
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
    """Grammatical forms of a classifier's name: subject with verb, pronoun, possessive, verb of scoring."""
    if name.split(",")[0] != ALONE:
        return f"{name} is", "it", "its", "scores"
    return f"The {name}{',' if ',' in name else ''} are", "they", "their", "score"


def left_out(found: xr.Dataset) -> str:
    """Sentences on items with too few labels, a falling curve, and notes; empty if there are none."""
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
            few = "the combiner learns from few items how to use so many labels"
            why = f"{few}, and {why}" if why else few
        said.append(f"The curve is highest at {top} and falls beyond{f': {why}' if why else ''}.")
    if facts["note"]:
        said.append(f"Note: {facts['note']}.")
    return " ".join(said)


def _highest_before_a_fall(found: xr.Dataset) -> int:
    """Find the number of raters at the maximum of the curve if it falls much beyond, else 0."""
    gain = found["information_gain"].to_numpy()
    if not np.isfinite(gain).all():
        return 0
    top = int(gain.argmax())
    return top if gain[top] - gain[-1] > FALLEN * gain[top] else 0


def equivalence_sections(found: xr.Dataset, figure: Figure | None = None) -> list[Section]:
    """Sections with the equivalence of each classifier, the power curve, and differences between classifiers.

    `found` is a result of `evaluation.survey_equivalence` with dim classifier.
    """
    level = found.attrs["probability"]
    hold = f"Intervals hold {100 * level:g} % of resamples of the items." * (
        "score_interval" in found
    )
    text = (
        f"{' '.join(sentences(found))} The labels of k raters, combined by {found.attrs['combiner']}, predict the label of a "
        f"further rater; a classifier is worth as many raters as score like it, by {scored_by(found)}, where higher is better. "
        f"Gain is the score minus that of no labels. {hold} {left_out(found)}"
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
    """Sections with the curve and, for several classifiers, their differences."""
    better = ", and P, the probability that a classifier is better" * ("score_lower" in curve[0])
    power = Section(
        "Survey power curve",
        f"The score of k raters in predicting the label of a further one{better}.",
        rows=curve,
        file="equivalence_curve",
        key="equivalence.curve",
        shown=shown_curve(curve, level),
        part=True,
    )
    text = "All classifiers are compared on the same resamples. Equivalences beyond the curve are unknown."
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
    """Sections with the asymptotic score, the performance ratios, and the posterior of the curve.

    `summed` is a result of `evaluation.survey_summary` with dim classifier; `diagnosis` tells whether the
    draws converged, and the sentence about it; `probability` is that of the intervals.
    """
    longest, rows = int(summed["k"][-1]), posterior_rows(summed)
    converged, verdict = diagnosis
    limit = with_interval(*figure_of(summed, "asymptote").values())
    said = [
        f"Infinitely many raters would reach a score of {limit}; the score of no labels is {float(summed['baseline']):.3f}."
    ]
    said += [_of_posterior(row, longest) for row in rows]
    check, verdict = summed.attrs["check_p"], f"{verdict[:1].upper()}{verdict[1:].rstrip('.')}."
    doubtful = check < DOUBTFUL
    checked = (
        f"CHECK FAILED (p = {check:.3f}): the fitted item states do not reproduce the curve of the data; do not rely on them."
        if doubtful
        else f"Check: the fitted item states reproduce the curve of the data (p = {check:.2f})."
    )
    warned = [verdict] * (not converged) + [checked] * doubtful
    calm = [checked] * (not doubtful) + [verdict] * converged
    facts = {"check_p": check, "converged": converged, "verdict": diagnosis[1], "longest": longest}
    facts |= figure_of(summed, "asymptote") | figure_of(summed, "baseline")
    beyond = Section(
        "Extrapolation beyond the observed raters",
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
        "Posterior of the curve",
        f"The score of k raters in predicting a further one, observed or extrapolated; beside it the curve of the data. "
        f"Intervals hold {100 * probability:g} % of the draws.",
        rows=curve,
        file="equivalence_posterior_curve",
        key="equivalence.posterior.curve",
        shown=shown_curve(curve, probability),
        part=True,
    )
    return [beyond, power]


def _worth(row: Mapping[str, Any], longest: int) -> str:
    """Equivalence of a row in words."""
    ends = np.array([row["equivalence_lower"], row["equivalence_upper"]])
    return in_words(row["equivalence"], longest, ends)


def _of_posterior(row: Mapping[str, Any], longest: int) -> str:
    """Sentence with the posterior equivalence of a classifier."""
    part = (row[f"performance_ratio{end}"] for end in ("", "_lower", "_upper"))
    return (
        f"{subject_of(row['classifier'])[0]} worth {_worth(row, longest)}; performance ratio {with_interval(*part, digits=2)}; "
        f"better than all raters with probability {percent(row['probability_unattained'])}."
    )
