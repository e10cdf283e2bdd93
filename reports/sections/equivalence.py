"""Survey equivalence: sentences and sections of a report."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..._messages import escaped, way
from ...evaluation import EvaluationError, plots, survey_equivalence
from ...evaluation.surveys.results import equivalence_in_words
from ...models import Labels
from ...posterior.matching import integer_id
from ...posterior.schema import ALONE
from ..page import Row, Section, table_rows
from ..study import Study
from ..wording import ADDITIVE, first_names, interval, percent, with_interval

MOST_SHOWN = 12  # points of a curve that a reader sees
ABOVE = "probability_above_"  # a column of each classifier
CURVE = {"power_curve": "score", "information_gain": "gain"}


def by_classifier(found: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """List (name, part) for each classifier of a dataset."""
    return [(str(name), found.sel(classifier=name)) for name in found["classifier"].to_numpy()]


def with_ends(found: xr.Dataset, *names: str, **renamed: str) -> dict[str, xr.DataArray]:
    """Columns of quantities and, where there are intervals, of their ends; `renamed` maps variable to column."""
    columns = {}
    for variable, name in ({own: own for own in names} | renamed).items():
        columns[name] = found[variable].astype(float)
        if f"{variable}_interval" in found:
            ends = found[f"{variable}_interval"]
            columns |= {f"{name}_lower": ends.isel(bound=0), f"{name}_upper": ends.isel(bound=1)}
    return columns


def classifier_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows with score, gain over no labels, and equivalence in raters of each classifier."""
    columns = with_ends(found, "score", "classifier_gain", "equivalence")
    columns |= {name: found[name] for name in ("integer_equivalence", "censored", "words")}
    return table_rows({"classifier": found["classifier"].astype(str), **columns})


def curve_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows with score and gain for each number of raters, and probabilities that a classifier is better."""
    columns = {"raters": found["k"], **with_ends(found, **CURVE), "items": found["items"].astype(int)}
    columns["monte_carlo_error"] = found["monte_carlo_error"]
    if "probability_above" in found:
        columns |= {f"{ABOVE}{name}": own["probability_above"] for name, own in by_classifier(found)}
    return table_rows(columns)


def equivalence_pair_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows for each pair of classifiers, the one with the better score first."""
    if "versus" not in found.dims:
        return []
    order = found["classifier"].to_numpy()[np.argsort(-found["score"].to_numpy(), kind="stable")]
    pairs = np.array(list(combinations(order, 2)))
    better, worse = (xr.DataArray(side, dims="pair") for side in pairs.T)
    own = found.sel(classifier=better, versus=worse)
    columns = {"classifier": better.astype(str), "other": worse.astype(str)}
    columns |= with_ends(own, "score_difference", "equivalence_difference")
    if "probability_better" in own:
        columns["probability_better"] = own["probability_better"]
    return table_rows(columns)


def posterior_rows(summed: xr.Dataset) -> list[dict[str, Any]]:
    """Rows for each classifier from the posterior of the item states."""
    columns = with_ends(summed, "score", "equivalence", "performance_ratio")
    probabilities = (f"probability_{side}" for side in ("below", "beyond", "unattained"))
    columns |= {name: summed[name] for name in (*probabilities, "censored")}
    return table_rows({"classifier": summed["classifier"].astype(str), **columns})


def posterior_curve_rows(summed: xr.Dataset) -> list[dict[str, Any]]:
    """Rows of the posterior curve for each number of raters, with the observed curve and the check."""
    columns = {"raters": summed["k"], **with_ends(summed, **CURVE)}
    rows = table_rows(columns | {"monte_carlo_error": summed["monte_carlo_error"]})
    names = {"observed_score": "observed_curve", "check_p": "check_p"}
    checked = table_rows({"raters": summed["checked_k"], **{n: summed[own] for n, own in names.items()}})
    seen = {row["raters"]: row for row in checked}
    return [row | dict.fromkeys(names) | seen.get(row["raters"], {}) for row in rows]


def _shown_interval(row: Row, level: float, name: str = "score") -> dict[str, str]:
    """Display form of the ends of an interval; empty without one."""
    if f"{name}_lower" not in row:
        return {}
    return {f"{100 * level:g} % interval": interval(row[f"{name}_lower"], row[f"{name}_upper"])}


def shown_classifier(row: Row, level: float) -> dict[str, Any]:
    """Display form of a row of `classifier_rows`."""
    own = {"classifier": row["classifier"], "score": row["score"], **_shown_interval(row, level)}
    return own | {"gain": row["classifier_gain"], "worth": row["words"]}


def shown_curve(rows: list[dict[str, Any]], level: float) -> list[dict[str, Any]]:
    """Display form of the curve: at most `MOST_SHOWN` of its points."""
    few = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_SHOWN)).round().astype(int))
    shown = []
    for row in (rows[i] for i in few):
        own = {"raters": row["raters"], "score": row["score"]} | _shown_interval(row, level)
        names = {"gain": "gain", "items": "items", "observed_score": "of the data"}
        own |= {shown_name: row[name] for name, shown_name in names.items() if name in row}
        above = {name.removeprefix(ABOVE): p for name, p in row.items() if name.startswith(ABOVE)}
        shown.append(own | {f"P({name})": percent(p) for name, p in above.items()})
    return shown


def shown_pair(row: Row, level: float) -> dict[str, Any]:
    """Display form of a row of `equivalence_pair_rows`."""
    own = {"better": row["classifier"], "than": row["other"], "by": row["score_difference"]}
    own |= _shown_interval(row, level, "score_difference") | {"raters more": _raters(row)}
    return own | ({"P(better)": percent(row["probability_better"])} if "probability_better" in row else {})


def _raters(row: Row) -> str:
    """Difference of two equivalences in raters; unknown if one is outside the curve."""
    number, *ends = (row.get(f"equivalence_difference{end}", np.nan) for end in ("", "_lower", "_upper"))
    if np.isnan(number):
        return "unknown"
    return f"{number:.1f}" if np.isnan(ends).any() else with_interval(number, *ends, digits=1)


def shown_posterior(row: Row, longest: int) -> dict[str, Any]:
    """Display form of a row of `posterior_rows`, with the equivalence in words."""
    return {
        "classifier": row["classifier"],
        "score": row["score"],
        "worth": _worth(row, longest),
        "performance ratio": _ratio(row),
        "P(beyond all)": percent(row["probability_unattained"]),
    }


def _worth(row: Row, longest: int) -> str:
    """Equivalence of a row in words."""
    ends = np.array([row["equivalence_lower"], row["equivalence_upper"]])
    return equivalence_in_words(row["equivalence"], longest, ends)


def _ratio(row: Row) -> str:
    """Write the performance ratio of a row with its interval."""
    return with_interval(*(row[f"performance_ratio{end}"] for end in ("", "_lower", "_upper")), digits=2)


# --- Survey equivalence from labels and predictions, for the command and for the report ---

LONGEST = 50  # largest number of raters on the posterior's curve
LEAST = 2  # items with two labels or more


def equivalence_part(study: Study) -> list[Section]:
    """Return the section on survey equivalence; none without predictions or an item with two labels."""
    data, predicted = study.data, study.predicted
    if predicted is None or not isinstance(data, Labels) or data.counts.sum(axis=1).max() < 2:
        return []
    rules = default_rules("category" not in predicted.dims, None, None, None)
    rules |= {"probability": 0.9, "random_seed": study.seed}
    try:
        found = equivalences(data, probabilities_of(predicted, data), rules)
    except EvaluationError as problem:
        return [Section(TITLE, f"Not computed: {problem}.", key="equivalence")]
    return equivalence_sections(found, picture_of(found))


def default_rules(hard: bool, combiner: str | None, scorer: str | None, learn: str | None) -> dict[str, Any]:
    """Return combiner, scorer and learning rule: those given, or defaults for hard or soft predictions."""
    by_label = hard or combiner == "plurality"
    scorer = scorer or ("agreement" if by_label else "cross-entropy")
    combiner = combiner or ("plurality" if scorer == "agreement" else "abc")
    if learn is None:
        learn = "leave-one-out" if scorer in ADDITIVE or combiner != "abc" else "in-sample"
    elif combiner != "abc":
        raise ValueError(f"learn {learn}: only abc learns; leave it out, or take combiner abc")
    folds = integer_id(learn)
    if learn not in ("leave-one-out", "in-sample") and (folds is None or folds < 0):
        raise ValueError(f"learn {learn}: write leave-one-out, in-sample, or a number of folds")
    return {
        "combiner": combiner,
        "scorer": scorer.replace("-", "_"),
        "learn": learn if folds is None else folds,
    }


def probabilities_of(predicted: xr.DataArray, data: Labels) -> xr.DataArray:
    """Return probabilities (classifier, item, category), 1 for the first of a ranking; ``unlabelled`` counts items left out."""
    if "classifier" not in predicted.dims:
        predicted = predicted.drop_vars("classifier", errors="ignore")
        predicted = predicted.expand_dims(classifier=[ALONE])
    known = np.isin(predicted["item"], data.items)
    if not known.any():
        items = predicted["item"].to_numpy().tolist()
        raise EvaluationError(
            f"predictions are of items {first_names(items, 3)}, labels of {first_names(data.items.tolist(), 3)}: "
            "no item is in both; give items the same names in both tables"
        )
    if (lacking := ~np.isin(data.items, predicted["item"])).any():
        raise EvaluationError(
            f"predictions: nothing is predicted for item {first_names(data.items[lacking].tolist())}, which raters "
            "labelled; predict it, or leave its labels out"
        )
    predicted = predicted.isel(item=known)
    if "category" in predicted.dims:
        law = predicted.reindex(category=data.categories)
        law = law.where(law > -np.inf, 0.0)  # -inf: no row in the table, so probability 0
        missing = (predicted == -np.inf).all("category")
    else:
        first = predicted.isel(position=0)
        law = (first.expand_dims(category=data.categories, axis=-1)) == data.categories
        law, missing = law.astype(float), first == ""
    if missing.any():
        missing = missing.transpose("classifier", "item")
        row, column = np.argwhere(missing.to_numpy())[0]
        classifier, item = missing["classifier"].to_numpy()[row], missing["item"].to_numpy()[column]
        raise EvaluationError(
            f"predictions: {classifier} predicts nothing for item {item}; add it, with the same score for each category where "
            "it knows nothing, or leave the item out of both tables"
        )
    return law.assign_attrs(unlabelled=int((~known).sum()))


def equivalences(data: Labels, law: xr.DataArray, rules: dict[str, Any]) -> xr.Dataset:
    """Return the survey equivalences, with notes on unusual data."""
    usable = int((data.counts.sum(axis=1) > 1).sum())
    if usable < LEAST:
        raise EvaluationError(
            f"labels: {('no', 'only one')[usable]} item has 2 labels or more; a label is predicted from others of its item, as "
            "other items teach; add labels"
        )
    found = survey_equivalence(data, law, **rules)
    notes = [found.attrs["note"], *_notes(data, law)]
    found.attrs["note"] = "; ".join(part for part in notes if part)
    return found


def _notes(data: Labels, law: xr.DataArray) -> list[str]:
    """Return notes on unused categories, unlabelled items, and raters who answered an item twice."""
    said = []
    if never := data.categories[data.counts.sum(axis=0) == 0].tolist():
        said.append(
            f"no rater gave {first_names(never)}; that it counts as possible may lower the score of no labels"
        )
    if unlabelled := law.attrs.get("unlabelled", 0):
        said.append(f"{unlabelled:,} predicted items have no labels, and are left out")
    if not data.anonymous:
        pair = data.annotation_item * np.int64(len(data.raters)) + data.annotation_rater
        pair, place = np.unique(pair, return_inverse=True)
        again = np.unique(pair[np.bincount(place, data.count) > 1] % len(data.raters))
        if again.size:
            said.append(
                f"rater {first_names(data.raters[again].tolist())} answered items more than once; each answer "
                "counts as that of another rater"
            )
    return said


def picture_of(found: xr.Dataset) -> Figure:
    """Return the figure of the power curve with the classifiers on it."""
    return cast(Figure, plots.power_curve(found).figure)


# --- Survey equivalence: sentences and sections of a report ---

TITLE = "Survey equivalence"
CHECK_LEVEL = 0.05  # p-value of the posterior check below which it fails
FALL_SHARE = 0.1  # share of the maximal gain that is lost where a curve is reported to fall
FACTS = (
    *("combiner", "scorer", "clip", "item_rule", "estimand", "learn", "base", "reference", "probability"),
    *("left_out", "left_out_without_label", "left_out_with_one_label", "note"),
)
UNITS = {2.0: "bits", float(np.e): "nats", 10.0: "decimal digits"}  # of cross-entropy, by base


def scored_by(found: xr.Dataset) -> str:
    """Name of the scorer of an `evaluation.survey_equivalence` result, and its unit."""
    name, base = str(found.attrs["scorer"]).replace("_", "-"), float(found.attrs["base"])
    if name != "cross-entropy":
        return name
    return f"{name} in {UNITS.get(base, f'units of log {base:g}')}"


def equivalence_sentences(found: xr.Dataset) -> list[str]:
    """Sentences with the equivalence of each classifier in a result of `evaluation.survey_equivalence`."""
    said = []
    for name, own in by_classifier(found):
        side, words = str(own["censored"].to_numpy()), str(own["words"].to_numpy())
        if words == "unknown":
            said.append(
                f"The equivalence of {name} is unknown: its score, or that of no labels, is undefined."
            )
            continue
        subject, it, its, scores = subject_of(name)
        why = {
            "below": f": {it} {scores} {float(own['score']):.3f}, less than the {float(found['baseline']):.3f} that is reached "
            "without any label of the item",
            "above": f": the curve of up to {int(found['k'][-1])} is never above {its} score",
        }.get(side, "")
        said.append(f"{subject} worth {words}{why}.")
    return said


def worths_in_words(rows: Sequence[Row]) -> str:
    """Sentence with the equivalence of every classifier of the rows of `classifier_rows`, the best first."""
    order = sorted(rows, key=lambda row: -row["score"])
    said = [f"{subject_of(row['classifier'])[0]} worth {row['words']}" for row in order]
    return f"{first_names(said, MOST_SHOWN, '; ')}."


def subject_of(name: str) -> tuple[str, str, str, str]:
    """Grammatical forms of a classifier's name: subject with verb, pronoun, possessive, verb of scoring."""
    if name.split(",")[0] != ALONE:
        return f"{escaped(name)} is", "it", "its", "scores"
    return f"The {name}{',' if ',' in name else ''} are", "they", "their", "score"


def caveats(found: xr.Dataset) -> str:
    """Sentences on items with too few labels, a falling curve, and notes; empty if there are none."""
    facts = found.attrs
    said = []
    if facts["left_out"]:
        of = (("without a label", "left_out_without_label"), ("with one label", "left_out_with_one_label"))
        parts = [f"{facts[key]:,} {words}" for words, key in of if facts[key]]
        kinds = f" ({', '.join(parts)})" if parts else ""
        said.append(f"Left out, as they have too few labels: {facts['left_out']:,} items{kinds}.")
    if top := _highest_before_a_fall(found):
        why = "fewer items have so many labels" if found["items"][-1] < found["items"][top] else ""
        if facts["combiner"] == "abc":
            few = "the combiner learns from few items how to use so many labels"
            why = f"{few}, and {why}" if why else few
        said.append(
            f"The curve is highest at {top} raters and falls beyond{f': {why}' if why else ''}. Further labels cannot tell less "
            "of an item, so that the fall is of this estimate, not of the raters: do not read it there, and count a classifier "
            f"that reaches the score of {top} as worth {top} or more "
            f"({way('--max-raters ', 'max_raters=')}{top} ends the curve there)."
        )
    below = [name for name, own in by_classifier(found) if own["censored"] == "below"]
    if below and facts["scorer"] in ("cross_entropy", "brier") and not any(", " in name for name in below):
        said.append(
            f"Probabilities that are too sure score less than none: {way('--calibrate', 'calibrate=True')} shows whether that is "
            f"so of {first_names(below)}."
        )
    if facts["note"]:
        said.append(f"Note: {facts['note']}.")
    return " ".join(said)


def _highest_before_a_fall(found: xr.Dataset) -> int:
    """Find the number of raters at the maximum of the curve if it falls much beyond, else 0."""
    gain = found["information_gain"].to_numpy()
    if not np.isfinite(gain).all():
        return 0
    top = int(gain.argmax())
    return top if gain[top] - gain[-1] > FALL_SHARE * gain[top] else 0


def equivalence_sections(found: xr.Dataset, figure: Figure | None = None) -> list[Section]:
    """Sections on a result of `evaluation.survey_equivalence`: classifiers, power curve, and differences between classifiers."""
    level = found.attrs["probability"]
    hold = f"Intervals hold {100 * level:g} % of resamples of the items." * ("score_interval" in found)
    text = (
        f"{' '.join(equivalence_sentences(found))} The labels of k raters, combined by {found.attrs['combiner']}, "
        f"predict the label of a further rater; a classifier is worth as many raters as score like it, by "
        f"{scored_by(found)}, where higher is better. Gain is the score minus that of no labels. {hold} {caveats(found)}"
    )
    facts = {name: found.attrs[name] for name in FACTS} | {"baseline": float(found["baseline"])}
    rows = classifier_rows(found)
    shown = [shown_classifier(row, level) for row in rows]
    worth = _section(TITLE, " ".join(text.split()), rows, "", shown, figure, facts=facts, part=False)
    curve, pairs = curve_rows(found), equivalence_pair_rows(found)
    better = ", and P, the probability that a classifier is better" * ("score_lower" in curve[0])
    text = f"The score of k raters in predicting the label of a further one{better}."
    sections = [worth, _section("Survey power curve", text, curve, "curve", shown_curve(curve, level))]
    if pairs:
        text = (
            "All classifiers are compared on the same resamples. Equivalences beyond the curve are unknown."
        )
        shown = [shown_pair(row, level) for row in pairs]
        sections.append(_section("Differences between classifiers", text, pairs, "differences", shown))
    return sections


def _section(
    title: str, text: str, rows: list[dict[str, Any]], name: str, shown: list[dict[str, Any]],
    figure: Figure | None = None, *, part: bool = True, **further: Any,
) -> Section:  # fmt: skip
    """Section with a table; `name` is its place in the keys and files of the equivalence, "" for the first."""
    figures = [] if figure is None else [figure]
    file = f"equivalence_{name}".removesuffix("_").replace(".", "_")
    key = f"equivalence.{name}".removesuffix(".")
    return Section(title, text, figures, rows, file, key, shown=shown, part=part, **further)


def posterior_sections(
    summed: xr.Dataset, diagnosis: tuple[bool, str], figure: Figure | None = None, *, probability: float
) -> list[Section]:
    """Sections with the asymptotic score, the performance ratios, and the posterior of the curve.

    `summed` is a result of `papers.survey_summary` with dim classifier; `diagnosis` tells whether the
    draws converged, and the sentence about it; `probability` is that of the intervals.
    """
    longest, rows = int(summed["k"][-1]), posterior_rows(summed)
    converged, verdict = diagnosis
    limits: dict[str, Any] = {n: float(v) for n, v in with_ends(summed, "asymptote", "baseline").items()}
    asymptote = with_interval(*(limits[f"asymptote{end}"] for end in ("", "_lower", "_upper")))
    said = [
        f"Infinitely many raters would reach a score of {asymptote}; the score of no labels is {limits['baseline']:.3f}."
    ]
    for row in rows:
        unattained = percent(row["probability_unattained"])
        said.append(
            f"{subject_of(row['classifier'])[0]} worth {_worth(row, longest)}; performance ratio {_ratio(row)}; better than all "
            f"raters with probability {unattained}."
        )
    check, verdict = summed.attrs["check_p"], f"{verdict[:1].upper()}{verdict[1:].rstrip('.')}."
    doubtful = check < CHECK_LEVEL
    checked = (
        f"CHECK FAILED (p = {check:.3f}): the fitted item states do not reproduce the curve of the data; do not rely on them."
        if doubtful
        else f"Check: the fitted item states reproduce the curve of the data (p = {check:.2f})."
    )
    warned = [verdict] * (not converged) + [checked] * doubtful
    calm = [checked] * (not doubtful) + [verdict] * converged
    facts = {"check_p": check, "converged": converged, "verdict": diagnosis[1], "longest": longest}
    facts |= limits
    text, shown = " ".join([*warned, *said, *calm]), [shown_posterior(row, longest) for row in rows]
    title, alarm = "Extrapolation beyond the observed raters", bool(warned)
    beyond = _section(title, text, rows, "posterior", shown, figure, facts=facts, alarm=alarm)
    curve = posterior_curve_rows(summed)
    text = (
        "The score of k raters in predicting a further one, observed or extrapolated; beside it the curve of the data. "
        f"Intervals hold {100 * probability:g} % of the draws."
    )
    shown = shown_curve(curve, probability)
    return [beyond, _section("Posterior of the curve", text, curve, "posterior.curve", shown)]
