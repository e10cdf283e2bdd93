"""Survey equivalence: sentences and sections of a report."""

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..evaluation import EvaluationError, plots, survey_equivalence, survey_summary
from ..evaluation.surveys.results import in_words
from ..models import Labels
from .metrics import ALONE
from .page import Section
from .study import Study
from .wording import ADDITIVE, first_names, interval, percent, with_interval

MOST_SHOWN = 12  # points of a curve that a reader sees
ABOVE = "probability_above_"  # a column of each classifier


def by_classifier(found: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """List (name, part) for each classifier of a dataset."""
    return [(str(name), found.sel(classifier=name)) for name in found["classifier"].to_numpy()]


def number_with_interval(own: xr.Dataset, name: str, prefix: str | None = None) -> dict[str, Any]:
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
    for name, own in by_classifier(found):
        row: dict[str, Any] = {"classifier": name}
        for quantity in ("score", "classifier_gain", "equivalence"):
            row |= number_with_interval(own, quantity)
        row["integer_equivalence"] = float(own["integer_equivalence"])
        rows.append(row | {key: str(own[key].to_numpy()) for key in ("censored", "words")})
    return rows


def curve_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Rows with score and gain for each number of raters, and probabilities that a classifier is better."""
    rows = []
    for k in found["k"].to_numpy().tolist():
        own = found.sel(k=k)
        row: dict[str, Any] = {"raters": k, **number_with_interval(own, "power_curve", "score")}
        row |= number_with_interval(own, "information_gain", "gain")
        row |= {"items": int(own["items"]), "monte_carlo_error": float(own["monte_carlo_error"])}
        if "probability_above" in own:
            for name, one in by_classifier(own):
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
        row |= number_with_interval(own, "score_difference") | number_with_interval(
            own, "equivalence_difference"
        )
        if "probability_better" in own:
            row["probability_better"] = float(own["probability_better"])
        rows.append(row)
    return rows


def posterior_rows(summed: xr.Dataset) -> list[dict[str, Any]]:
    """Rows for each classifier from the posterior of the item states."""
    rows = []
    for name, own in by_classifier(summed):
        row: dict[str, Any] = {"classifier": name}
        for quantity in ("score", "equivalence", "performance_ratio"):
            row |= number_with_interval(own, quantity)
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
        row: dict[str, Any] = {"raters": k, **number_with_interval(own, "power_curve", "score")}
        row |= number_with_interval(own, "information_gain", "gain")
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
            f"P({name.removeprefix(ABOVE)})": percent(p) for name, p in row.items() if name.startswith(ABOVE)
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
        raise ValueError(f"--learn {learn}: only abc learns; leave it out, or take --combiner abc")
    if learn not in ("leave-one-out", "in-sample") and not learn.isdecimal():
        raise ValueError(f"--learn {learn}: write leave-one-out, in-sample, or a number of folds")
    learned = int(learn) if learn.isdecimal() else learn
    return {"combiner": combiner, "scorer": scorer.replace("-", "_"), "learn": learned}


def probabilities_of(predicted: xr.DataArray, data: Labels) -> xr.DataArray:
    """Return predicted probabilities (classifier, item, category); 1 for the first of a ranking.

    Items without labels are left out; the attribute ``unlabelled`` is their number.
    """
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


def posterior_equivalence(
    data: Labels, law: xr.DataArray, rules: dict[str, Any], sampler: tuple[int, int]
) -> tuple[xr.Dataset, bool, str]:
    """Fit item states; return the posterior equivalences, whether they converged, and the verdict.

    `rules` are those of the curve; `sampler` holds draws and chains.
    """
    from .. import inference, models

    chosen = {name: rules[name] for name in ("combiner", "scorer", "clip", "base", "random_seed")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is said anyway
        tree = inference.sample(
            models.item_states(data, plausibility=False),
            draws=sampler[0], chains=sampler[1], random_seed=rules["random_seed"], progressbar=False,
        )  # fmt: skip
    longest = LONGEST if rules["max_raters"] is None else rules["max_raters"]
    drawn = survey_equivalence(tree, law, max_raters=longest, **chosen)
    judged = drawn[["power_curve", "asymptote", "score"]]
    diagnosis = inference.diagnose(xr.DataTree.from_dict({"posterior": judged}))
    summed = survey_summary(drawn, probability=rules["probability"])
    return summed, bool(diagnosis.attrs["converged"]), str(diagnosis.attrs["verdict"])


def picture_of(found: xr.Dataset) -> Figure:
    """Return the figure of the power curve with the classifiers on it."""
    return plots.power_curve(found, backend="matplotlib").figure


# --- Survey equivalence: sentences and sections of a report ---

TITLE = "Survey equivalence"
CHECK_LEVEL = 0.05  # p-value of the posterior check below which it fails
FALL_SHARE = 0.1  # share of the maximal gain that is lost where a curve is reported to fall
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


def equivalence_sentences(found: xr.Dataset) -> list[str]:
    """Sentences with the equivalence of each classifier.

    `found` is a result of `evaluation.survey_equivalence` with dim classifier.
    """
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
    return top if gain[top] - gain[-1] > FALL_SHARE * gain[top] else 0


def equivalence_sections(found: xr.Dataset, figure: Figure | None = None) -> list[Section]:
    """Sections with the equivalence of each classifier, the power curve, and differences between classifiers.

    `found` is a result of `evaluation.survey_equivalence` with dim classifier.
    """
    level = found.attrs["probability"]
    hold = f"Intervals hold {100 * level:g} % of resamples of the items." * ("score_interval" in found)
    text = (
        f"{' '.join(equivalence_sentences(found))} The labels of k raters, combined by {found.attrs['combiner']}, "
        f"predict the label of a further rater; a classifier is worth as many raters as score like it, by "
        f"{scored_by(found)}, where higher is better. Gain is the score minus that of no labels. {hold} {caveats(found)}"
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
        "Differences between classifiers",
        text,
        rows=pairs,
        file="equivalence_differences",
        key="equivalence.differences",
        shown=shown_pairs(pairs, level),
        part=True,
    )
    return [power, differences] if pairs else [power]


def posterior_sections(
    summed: xr.Dataset, diagnosis: tuple[bool, str], figure: Figure | None = None, *, probability: float
) -> list[Section]:
    """Sections with the asymptotic score, the performance ratios, and the posterior of the curve.

    `summed` is a result of `evaluation.survey_summary` with dim classifier; `diagnosis` tells whether the
    draws converged, and the sentence about it; `probability` is that of the intervals.
    """
    longest, rows = int(summed["k"][-1]), posterior_rows(summed)
    converged, verdict = diagnosis
    limit = with_interval(*number_with_interval(summed, "asymptote").values())
    said = [
        f"Infinitely many raters would reach a score of {limit}; the score of no labels is {float(summed['baseline']):.3f}."
    ]
    said += [_of_posterior(row, longest) for row in rows]
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
    facts |= number_with_interval(summed, "asymptote") | number_with_interval(summed, "baseline")
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
