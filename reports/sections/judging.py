"""Report sections on classifiers and judges: who is worth what, who shares errors, how often classifiers are right.

People, judges (such as language models) and classifiers are raters of one model. Posteriors of three sets of them are
compared: of all, of people and judges without the predictions, and of people and classifiers without the judges.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import hypot
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import norm

from ... import evaluation
from ..._messages import way
from ...evaluation.checks.labels import SHARE
from ...models import Labels
from ...models._catalog import shared_errors_of
from ..page import Section, interval_columns
from ..wording import first_names, shown_interval, with_interval
from .labels import worth_figures, worth_rows
from .model_fit import WEAK

PERSON, JUDGE, CLASSIFIER = ROLES = "person", "judge", "classifier"
METRIC = evaluation.top_k_accuracy(1)
LEAST_RECTIFIED = 2  # items with people
PROBABILITY = 0.9  # of all intervals
FEW_PEOPLE, ENDS = 10, 3  # people who are all shown, and those at either end, if there are more


@dataclass(frozen=True)
class Panel:
    """People, judges and classifiers as raters of the same items.

    Attributes
    ----------
    labels : Labels
        Answers of all of them.
    role : numpy.ndarray
        Role of each rater: person, judge or classifier.
    predicted : DataArray
        Predictions, with a dim ``classifier``.
    kind, people : str
        Attribute of the raters, and its value for people.
    groups : str
        Attribute by which errors are shared.
    sample : mapping of str to DataArray
        How the items with people were chosen, as arguments of `evaluation.rectified`: strata, clusters, sampling.
    """

    labels: Labels
    role: np.ndarray
    predicted: xr.DataArray
    kind: str
    people: str
    groups: str
    sample: Mapping[str, xr.DataArray] = field(default_factory=dict)

    def names(self, role: str) -> list[str]:
        """Return the raters of a role."""
        return self.labels.raters[self.role == role].tolist()

    def answered(self, *roles: str) -> np.ndarray:
        """Return whether some rater of these roles answered each item (item,)."""
        found = np.zeros(len(self.labels.items), bool)
        found[self.labels.annotation_item[np.isin(self.role, roles)[self.labels.annotation_rater]]] = True
        return found

    def of_roles(self, *roles: str) -> Labels:
        """Return the answers of the raters of these roles to the items with people, or to all items if judges are among them."""
        table = self.labels.to_table()
        kept = np.isin(table["rater"], self.labels.raters[np.isin(self.role, roles)])
        heard = self.answered(*[role for role in roles if role != CLASSIFIER])
        kept &= np.isin(table["item"], self.labels.items[heard])
        attributes = list(self.labels.rater_attributes)
        return Labels.from_table(
            {name: cells[kept] for name, cells in table.items()},
            count="count",
            gold="gold" if "gold" in table else None,
            categories=self.labels.categories,
            rater_attributes=attributes,
        )

    def predicted_of(self, items: np.ndarray) -> xr.DataArray:
        """Return the predictions of some items."""
        return self.predicted.sel(item=items)

    def judged(self, judge: str) -> xr.DataArray:
        """Return how often a judge gave each label to each item (item, category)."""
        labels = self.labels
        own = labels.raters[labels.annotation_rater] == judge
        counts = np.zeros((len(labels.items), len(labels.categories)))
        np.add.at(counts, (labels.annotation_item[own], labels.label_code[own]), labels.count[own])
        return xr.DataArray(
            counts, {"item": labels.items, "category": labels.categories}, ("item", "category")
        )


# --- Who is worth what ---


def quality_section(tree: xr.DataTree, panel: Panel, joint: xr.Dataset) -> Section:
    """Return the section on accuracy and worth of each rater, by the posterior of all; `joint` is what `scored` gives by it."""
    labels = panel.labels
    found = evaluation.rater_worth(tree, panel.kind, panel.people)
    worth = {row["rater"]: row for row in worth_rows(found, "worth", "censored", "rater")}
    right = evaluation.answers_right(tree).sel(rater=found["rater"])
    accuracy, given = interval_columns(right["right"], "mean"), right["answers"].to_numpy().tolist()
    names, rows, shown = found["rater"].to_numpy().astype(str).tolist(), [], []
    of_classifiers = {
        str(own): figures_of(joint, own, "raters") for own in joint["classifier"].to_numpy().tolist()
    }
    role = dict(zip(labels.raters.astype(str).tolist(), panel.role.tolist(), strict=True))
    for name, answers, mean, lower, upper in zip(names, given, *accuracy.values(), strict=True):
        middle, ends = worth_figures(worth[name], "information")
        if role[name] == CLASSIFIER:
            mean, lower, upper = (of_classifiers[name][part] for part in ("mean", "lower", "upper"))
        first = {"rater": name, "role": role[name], "answers": answers, "accuracy": float(mean)}
        own = {part: worth[name][f"information{end}"] for part, end in WORTH.items()}
        row = first | {"lower": float(lower), "upper": float(upper)}
        rows.append(row | own)
        shown.append(first | shown_interval(row) | {"worth": middle, "90 % interval ": ends})
    order = sorted(range(len(rows)), key=lambda k: (ROLES.index(rows[k]["role"]), -rows[k]["worth"]))
    text = (
        "Accuracy: how many of the answers of this rater are right, with an interval for these items. "
        "Worth: how many answers of people, we do not know whose, tell as much about the truth as one more of this rater. "
        "Intervals hold 90 %; all by one posterior of people, judges and classifiers."
    )
    if shared_errors_of(tree) == "average":
        text += " Worths take raters to err independently."
    n_people = len(panel.names(PERSON))
    many = n_people > FEW_PEOPLE
    if many:
        text += f" Of {n_people:,} people the {ENDS} who are worth most and the {ENDS} who are worth least are shown."
    of_people = [k for k in order if rows[k]["role"] == PERSON]
    left_out = set(of_people[ENDS:-ENDS]) if many else set()
    return Section(
        "Who is worth what",
        text,
        rows=[rows[k] for k in order],
        file="judge_raters",
        key="raters",
        shown=[shown[k] for k in order if k not in left_out],
    )


# columns of the worth -> endings of those of `worth_rows`
WORTH = {"worth": "", "worth_lower": "_lower", "worth_upper": "_upper", "worth_beyond": "_beyond"}


# --- Who shares errors with whom ---


def checked(tree: xr.DataTree, panel: Panel, seed: int) -> xr.Dataset:
    """Return the checks of the posterior of all."""
    return evaluation.model_checks(tree, panel.groups, random_seed=seed)


def checks_section(found: xr.Dataset, tree: xr.DataTree, panel: Panel) -> Section:
    """Return the section on the results of `checked`; an alarm where one fails."""
    fits, sentences = bool(found.attrs["fits"]), list(found.attrs["sentences"])
    failed = found["check"].to_numpy()[found["fails"].to_numpy()].astype(str).tolist()
    model = str(tree.attrs.get("model"))
    facts: dict[str, Any] = {"model": model, "fits": fits, "sentences": sentences, "failed": failed}
    facts["shares_errors"] = any("residual correlation" in name or name == SHARE for name in failed)
    text = " ".join(sentences)
    if fits:
        text += f" That is no proof that nobody shares errors: {WEAK}."
    else:
        text += f" {remedy_in_words(panel, shared_errors_of(tree), shared=facts['shares_errors'])}"
    return Section("Who shares errors with whom", text, key="shared_errors", facts=facts, alarm=not fits)


def remedy_in_words(panel: Panel, errors: str | None, *, shared: bool) -> str:
    """Return what to do where a check of a model with such `Spec.shared_errors` fails, in words."""
    if not shared:
        return f"Look at the raters and labels that are named, or take another model: {way('raterzoo models', 'models.catalog')}."
    machines = [*panel.names(JUDGE), *panel.names(CLASSIFIER)]
    by_items = (
        f"ebcc looks for kinds of items on which raters err together: {way('--model ebcc', 'model="ebcc"')}."
    )
    if errors == "kinds":
        return "Even subtypes of items do not explain it: look at the raters that are named."
    if errors == "groups" or len(machines) < 2:
        return f"Perhaps these raters find the same items hard: {by_items}"
    return (
        f"If it is judges and classifiers ({first_names(machines)}) who copy or learnt from the same texts, take them as one "
        f"group that shares a guess: {way('--model shared_guess', 'model="shared_guess"')}. "
        f"If all find the same items hard: {by_items}"
    )


# --- How often the classifiers are right ---


def scored(tree: xr.DataTree, predicted: xr.DataArray, seed: int) -> xr.Dataset:
    """Return the share of items (classifier,) whose prediction is the truth of the posterior, with intervals."""
    return evaluation.metric_intervals(
        METRIC, tree, predicted, probability=PROBABILITY, random_seed=seed, progressbar=False
    )


QUESTIONS = {
    "truth": "is right (accuracy against the truth)",
    "raters": "agrees with what the raters leave open",
}


def accuracy_section(found: Mapping[str, xr.Dataset]) -> Section:
    """Return the section on both questions; `found` are results of `scored` by the key of the question in `QUESTIONS`."""
    rows, shown = [], []
    names = found["truth"]["classifier"].to_numpy().tolist()
    for name in names:
        for key, words in QUESTIONS.items():
            own = figures_of(found[key], name)
            rows.append({"classifier": str(name), "question": key, **own})
            cells = {"classifier": str(name), "how often it": words, "mean": own["mean"]}
            shown.append(cells | shown_interval(own))
    text = (
        "Accuracy against the truth is how often a classifier is right, by a posterior that has seen answers and predictions; "
        "it leans on the model, whose checks are below. Agreement with what the raters leave open is by a posterior of the "
        "answers alone, and is lower for a good classifier, since the raters err: it is not an accuracy. Intervals hold 90 %, "
        "for the uncertainty of the truth and for the sample of items."
    )
    notes = [str(note) for note in {own.attrs.get("note", ""): 0 for own in found.values()} if note]
    facts = {f"question_{key}": found[key].attrs["question"] for key in QUESTIONS}
    title, text = "How often the classifiers are right", " ".join([text, *notes])
    return Section(title, text, rows=rows, file="judge", key="accuracy", facts=facts, shown=shown)


def figures_of(found: xr.Dataset, classifier: object, source: str = "both") -> dict[str, float]:
    """Return mean, and ends of the interval and sd by one source, of a classifier in a result of `scored`."""
    own = found.sel(classifier=classifier)
    lower, upper = own["interval"].sel(source=source).to_numpy().tolist()
    mean, sd = own["mean"].sel(source="raters"), own["sd"].sel(source=source)
    return {"mean": float(mean), "lower": lower, "upper": upper, "sd": float(sd)}


def below_in_words(found: xr.Dataset, limit: float) -> list[str]:
    """Return a sentence for each classifier whose lower end of the accuracy against the truth is below a limit."""
    ends = {name: figures_of(found, name)["lower"] for name in found["classifier"].to_numpy().tolist()}
    return [
        f"{name}: the lower end of the interval of its accuracy against the truth, {lower:.3f}, is below the limit {limit:g}."
        for name, lower in ends.items()
        if lower < limit
    ]


# --- Sensitivity to shared errors ---

SENSITIVITY = {
    "independent": "independent (dawid_skene)",
    "chosen": "as in the model above",
    "shared": "a shared guess (shared_guess)",
}


def sensitivity_section(found: Mapping[str, xr.Dataset], checks: Mapping[str, bool]) -> Section:
    """Return how the accuracies against the truth depend on errors that machines share.

    `found` are results of `scored` by the key in `SENSITIVITY`, in order; `checks` says of some of them whether the model fits.
    """
    first = next(iter(found.values()))
    rows, shown = [], []
    for name in first["classifier"].to_numpy().tolist():
        for key, own in found.items():
            figures = {part: figures_of(own, name)[part] for part in ("mean", "lower", "upper")}
            rows.append({"classifier": str(name), "errors": key, **figures})
            cells = {"classifier": str(name), "errors of judges and classifiers": SENSITIVITY[key]}
            shown.append(cells | {"mean": figures["mean"], **shown_interval(figures)})
    text = (
        "Accuracy against the truth if judges and classifiers err independently given the truth, and if they copy a guess of "
        "their group as often as the answers say. Where these differ, the figure rests on the assumption, not on the data alone."
    )
    failed = [SENSITIVITY[key] for key, fits in checks.items() if not fits]
    if failed:
        text += f" A check of the model fails for the row{'s' * (len(failed) > 1)} {first_names(failed)}."
    if passed := [SENSITIVITY[key] for key, fits in checks.items() if fits]:
        text += f" No check fails for the row{'s' * (len(passed) > 1)} {first_names(passed)}."
    given = {"file": "judge_sensitivity", "key": "sensitivity", "facts": {"fits": dict(checks)}}
    return Section("If judges and classifiers share errors", text, rows=rows, shown=shown, **given)


# --- Did a judge change? ---


def change_section(found: xr.Dataset) -> Section:
    """Return the section on versions of judges, by a result of `evaluation.judge_change`."""
    rows, shown = [], []
    for judge in found["judge"].to_numpy().tolist():
        for category in found["category"].to_numpy().tolist():
            own = found.sel(judge=judge, category=category)
            row = {"judge": str(judge), "category": str(category), "drift": float(own["drift"].mean())}
            cells = dict(row)
            for part in ("by_judge", "by_items"):
                mean = float(own[part].mean())
                lower, upper = own[part].quantile([0.05, 0.95]).to_numpy().tolist()
                row |= {part: mean, f"{part}_lower": lower, f"{part}_upper": upper}
                cells[part.replace("_", " the ")] = with_interval(mean, lower, upper)
            rows.append(row | {"in_common": int(own["in_common"]), "changed": bool(own["changed"])})
            shown.append(cells | {"changed": "yes" if own["changed"] else "not shown"})
    text = (
        "Drift: how much more often a judge gives a label in the new run than in the old one. By the judge: how much of it, as "
        "the new version labels the same items otherwise, on the mean of both runs; by the items: the rest. "
        "Items that both versions labelled tie them: they should be a random sample. Intervals hold 90 %; a judge changed where "
        "98 % exclude 0."
    )
    return Section(CHANGED, text, rows=rows, file="judge_change", key="change", shown=shown)


CHANGED = "Did the judge change?"


def changes_in_words(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence on each judge that changed, by rows of `change_section`."""
    names = {row["judge"]: 0 for row in rows if row["changed"]}
    return [
        f"{name}: the judge changed between the runs; do not compare its labels of one with the other."
        for name in names
    ]


# --- What the judges add ---


def no_judges() -> str:
    """Return how judges are named."""
    return (
        f"There are no judges: all raters count as people. {way('--people-column kind=person', "people_column='kind=person'")} "
        "names a column kind that says person of people, and something else of judges."
    )


def added_sections(
    panel: Panel, joint: xr.Dataset, people_tree: xr.DataTree | None, seed: int
) -> list[Section]:
    """Return the sections on what judges add to people: to the joint estimate, and by rectification.

    `joint` is the result of `scored` by the posterior of all, `people_tree` the posterior of people and classifiers.
    """
    title = "What the judges add"
    if people_tree is None:
        return [Section(title, no_judges(), key="judges", facts={"judges": []})]
    heard = panel.answered(PERSON)
    alone = scored(people_tree, panel.predicted_of(panel.labels.items[heard]), seed)
    rectified, why_not = _rectified(panel, people_tree, seed)
    same_items = bool(heard.all())
    rows, shown, sentences = [], [], []
    for name in joint["classifier"].to_numpy().tolist():
        own = {"with": figures_of(joint, name), "without": figures_of(alone, name)}
        keys = ("mean", "lower", "upper")
        rows.append(
            {"classifier": str(name)} | {f"{k}_{which}": own[which][k] for which in own for k in keys}
        )
        cells = {
            f"{which} the judges": with_interval(one["mean"], one["lower"], one["upper"])
            for which, one in own.items()
        }
        shown.append({"classifier": str(name), **cells})
        source = "raters" if same_items else "both"  # the items that both share are no reason to differ
        others = [("without the judges", source, figures_of(alone, name, source))]
        others += [
            (f"rectified by {row['judge']}", "both", row)
            for row in rectified
            if row["classifier"] == str(name)
        ]
        told = [
            _difference_in_words(str(name), figures_of(joint, name, of), one, which, sampled=not same_items)
            for which, of, one in others
        ]
        sentences += [sentence for sentence in told if sentence][:1]
    text = (
        "Accuracy against the truth by one model of all raters, and by people and classifiers without the judges"
        f"{'' if same_items else f', on the {int(heard.sum()):,} items with people'}. "
    )
    text += " ".join(sentences) or "The estimates do not differ by more than their errors."
    facts = {"judges": panel.names(JUDGE), "differs": bool(sentences)}
    first = Section(title, text, rows=rows, file="judge_added", key="judges", facts=facts, shown=shown)
    return [first, _rectified_section(panel, rectified, why_not, heard)]


def _difference_in_words(
    name: str, joint: Mapping[str, Any], other: Mapping[str, Any], which: str, *, sampled: bool
) -> str:
    """Return what it may mean that two estimates differ by more than their errors, "" if they do not.

    `sampled`: whether people answered only some items. The errors are taken as independent; those of estimates from the same
    people's answers are not, so that fewer differences are told than there are.
    """
    difference = joint["mean"] - other["mean"]
    if abs(difference) <= norm.ppf((1 + PROBABILITY) / 2) * hypot(joint["sd"], other["sd"]):
        return ""
    means = (
        "judges and classifier may share errors, and then the estimate with the judges is too high"
        if difference > 0
        else "judges may share errors that the classifier does not make, and then the estimate with the judges is too low; or "
        "people and classifier share errors, and then the other is too high"
    )
    return (
        f"{name}: the estimate with the judges, {joint['mean']:.3f}, and that {which}, {other['mean']:.3f}, differ by more than "
        f"their errors: {means}{'; or the items with people are no random sample of all' * sampled}."
    )


def not_rectified(panel: Panel) -> str:
    """Return why no accuracy can be rectified by a judge, "" if one can."""
    heard = panel.answered(PERSON)
    n, n_all = int(heard.sum()), len(heard)
    if not panel.names(JUDGE):
        return no_judges()
    if n == n_all:
        return f"People answered all {n:,} items, so that no judge is needed for others."
    answered = _answered_by_judges(panel)
    if n_all not in answered.values():
        said = first_names([f"{judge} answered {number:,}" for judge, number in answered.items()])
        return (
            f"Rectified estimates need a judge who answered all {n_all:,} items: {said}. Let one answer the others, or leave "
            "these items out."
        )
    if n < LEAST_RECTIFIED:
        return f"Rectified estimates need {LEAST_RECTIFIED} items with people or more, and there is one: have people answer more."
    return ""


def _answered_by_judges(panel: Panel) -> dict[str, int]:
    """Return how many items each judge answered."""
    return {judge: int((panel.judged(judge).sum("category") > 0).sum()) for judge in panel.names(JUDGE)}


def _rectified(panel: Panel, tree: xr.DataTree, seed: int) -> tuple[list[dict[str, Any]], str]:
    """Return rows of the rectified accuracy of each classifier by each judge of all items, or why there are none."""
    if why_not := not_rectified(panel):
        return [], why_not
    n_all = len(panel.labels.items)
    complete = [judge for judge, number in _answered_by_judges(panel).items() if number == n_all]
    rows = []
    for judge in complete:
        found = evaluation.rectified(
            METRIC,
            tree,
            panel.predicted,
            panel.judged(judge),
            probability=PROBABILITY,
            random_seed=seed,
            sampling=panel.sample.get("sampling"),
            strata=panel.sample.get("strata"),
            clusters=panel.sample.get("clusters"),
        )
        rows += [
            _rectified_row(judge, name, found.sel(classifier=name))
            for name in found["classifier"].to_numpy().tolist()
        ]
    return rows, ""


def _strata_of(weight: xr.DataArray) -> list[str]:
    """Return the strata along a coefficient, none without strata."""
    return weight["stratum"].to_numpy().tolist() if "stratum" in weight.dims else []


def _rectified_row(judge: str, classifier: object, found: xr.Dataset) -> dict[str, Any]:
    """Return a table row of the result of `evaluation.rectified` for one classifier."""
    row: dict[str, Any] = {"judge": judge, "classifier": str(classifier)}
    for estimate, start in {"rectified": "", "people": "people_"}.items():
        own = found.sel(estimate=estimate)
        lower, upper = own["interval"].to_numpy().tolist()
        row |= {f"{start}mean": float(own["mean"]), f"{start}lower": lower, f"{start}upper": upper}
        row[f"{start}sd"] = float(own["sd"])
    row |= {name: float(found[name]) for name in ("gain", "effective_items")}
    weight = found["judge_weight"]  # by stratum, if there are strata
    of_strata = {f"judge_weight {own}": float(weight.sel(stratum=own)) for own in _strata_of(weight)}
    row |= of_strata or {"judge_weight": float(weight)}
    return row | {"note": str(found["note"].item())}


def sample_in_words(sample: Mapping[str, xr.DataArray]) -> str:
    """Return how the items with people were chosen, as --sample tells it."""
    if not sample:
        return "a simple random sample of all"
    parts = [
        "with the given probabilities" if "sampling" in sample else "",
        f"from {len(np.unique(sample['strata'])):,} strata" if "strata" in sample else "",
        f"in {len(np.unique(sample['clusters'])):,} clusters" if "clusters" in sample else "",
    ]
    return f"a random sample {', '.join(filter(None, parts))}"


def _rectified_section(
    panel: Panel, rows: Sequence[dict[str, Any]], why_not: str, heard: np.ndarray
) -> Section:
    """Return the section on rectified estimates, or why there are none."""
    title, key = "Few items with people, many with a judge", "judges.rectified"
    if not rows:
        return Section(title, why_not, key=key, part=True)
    shown = [
        {"judge, classifier": f"{row['judge']}, {row['classifier']}"}
        | {"people alone": with_interval(row["people_mean"], row["people_lower"], row["people_upper"])}
        | {"people and judge": with_interval(row["mean"], row["lower"], row["upper"])}
        | {"gain": f"{row['gain']:.2f}", "items": f"{row['effective_items']:,.0f}"}
        for row in rows
    ]
    n = int(heard.sum())
    text = (
        f"People answered {n:,} of {len(heard):,} items. The accuracy by the judge's labels of all is corrected by the items "
        f"with people: right however bad the judge, if these items are {sample_in_words(panel.sample)}, and the model of people "
        f"and classifiers holds. Items: as many with people alone would say as much; gain is their number divided by {n:,}."
    )
    noted = groupby(
        sorted((row["note"], f"{row['judge']} and {row['classifier']}") for row in rows if row["note"]),
        key=lambda own: own[0],
    )
    text += "".join(f" {first_names([name for _, name in same])}: {note}." for note, same in noted)
    given = {"file": "judge_rectified", "key": key, "part": True}
    return Section(title, text, rows=rows, shown=shown, **given)
