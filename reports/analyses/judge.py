"""Analysis of judges and classifiers beside people: how good each is, whether a judge is usable, and what to ask next."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from math import ceil
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from scipy.stats import norm

from ... import evaluation, models
from ..._messages import first_reprs, short_repr, way
from ...evaluation.uncertainty.rectified import check_sample
from ...inference.diagnostics import diagnose
from ...models import Labels
from ...models._catalog import annotation_kinds
from ...models._prior_arguments import default_confusion
from ...models.data.reading.predicted_labels import refused_predictions
from ...models.labels.population import CLASSIFIERS, POPULATION, RATERS
from ...posterior.matching import with_complement
from ...posterior.schema import ALONE
from ..page import Section
from ..sections import judging
from ..sections.judging import CLASSIFIER, JUDGE, PERSON, Panel
from ..sections.metrics import pair_rows
from ..settings import UNKNOWN_KIND, Settings
from .analysis import Analysis, Quantity, Soundness
from .truth import ClassifierFacts, below_guess

PRECISE = 0.03  # half width of an accuracy that decides between most classifiers
GAINS = 1.05  # items with people, by a judge's labels of all, from which these are worth having
SHARED = annotation_kinds["labels"].sharing_model
PLAIN = annotation_kinds["labels"].rater_model
PRIOR = "confusion_concentration"
HALF = 0.5  # of an unnamed person
MACHINES = ("machine", "other")  # group of judges and classifiers: the first that is not the value for people
BOTH_RUNS = "both runs"
Z: float = float(norm.ppf(0.95))  # half width of a 90 % interval in standard deviations


@dataclass(frozen=True)
class JudgeFigures:
    """How good one judge is, and what its labels are worth."""

    right: Quantity
    worth: float  # typical people
    gain: (
        float | None
    )  # factor on the items with people by its labels of all; None where nothing is rectified


@dataclass(frozen=True)
class ChangeFigures:
    """How a label of a judge, the one that drifted most, drifted between two runs."""

    judge: str
    category: str
    drift: float
    by_judge: Quantity
    changed: bool


@dataclass(frozen=True)
class JudgeFacts:
    """Numbers of the answers about judges and classifiers."""

    items: int
    heard: int  # items with people
    people: int
    classifiers: ClassifierFacts
    judges: dict[str, JudgeFigures]
    useful: float  # gain from which the labels of a judge are worth having
    half: float  # worth from which a judge is one more rater
    more: int  # further items until the accuracies are known to `precise`
    with_people: bool  # whether these are items of the table that people have not answered yet, else new ones
    precise: float
    sound: Soundness
    shared_errors: bool
    machines: tuple[str, ...]
    changes: tuple[ChangeFigures, ...] = ()


@dataclass(frozen=True, eq=False)
class JudgeAnalysis(Analysis):
    """Analysis of judges and classifiers: ``raters`` has who is worth what, ``classifiers`` how often these are right.

    ``tree`` is the posterior of people, judges and classifiers together, ``trees`` has those of people and judges, and of people
    and classifiers, ``assumed`` those by other assumptions on errors that judges and classifiers share. With an old run
    ``trees["both runs"]`` is that of the versions of the judges, and ``change`` what `evaluation.judge_change` says of it.
    """

    kind: ClassVar[str] = "judge"
    heading: ClassVar[str] = "How good are the classifiers and the judges?"
    panel: Panel
    settings: Settings
    trees: Mapping[str, xr.DataTree]
    assumed: Mapping[str, xr.DataTree] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """Random seed."""
        return self.settings.seed

    @property
    def summary(self) -> str:
        """Size of the study in one sentence."""
        parts = []
        for role, several in ((PERSON, "people"), (JUDGE, "judges"), (CLASSIFIER, "classifiers")):
            if own := self.panel.names(role):
                who = f"{len(own):,} {several}" if len(own) > 1 else f"1 {role}"
                parts.append(f"{who} ({int(self.panel.answered(role).sum()):,} items)")
        return f"{len(self.panel.labels.items):,} items; {', '.join(parts)}; model {self.settings.model}."

    @property
    def doubts(self) -> list[str]:
        """Sentences on why the numbers are not to be relied on."""
        others = {judging.SENSITIVITY[key]: own for key, own in self.assumed.items() if own is not self.tree}
        found = [*_unconverged(self.trees), *_unconverged(others)]
        if self.sound.failed:
            found.append(
                "Do not rely on the accuracies against the truth, nor on who is worth what: a check of the model fails."
            )
        if self.change is not None:
            found += judging.changes_in_words(self.sections["change"].rows)
        return found

    @cached_property
    def change(self) -> xr.Dataset | None:
        """Drift of the labels of judges since the old run, and the part of it that is theirs; None without an old run."""
        tree = self.trees.get(BOTH_RUNS)
        return None if tree is None else evaluation.judge_change(tree, random_seed=self.seed)

    @property
    def _changes(self) -> tuple[ChangeFigures, ...]:
        """Return the label of each judge that drifted most."""
        most: dict[str, Mapping[str, Any]] = {}
        for row in self.sections["change"].rows if self.change is not None else ():
            if row["judge"] not in most or abs(row["drift"]) > abs(most[row["judge"]]["drift"]) + 1e-9:
                most[row["judge"]] = row
        changed = {row["judge"] for row in self.sections["change"].rows if row["changed"]} if most else set()
        return tuple(
            ChangeFigures(
                judge,
                row["category"],
                row["drift"],
                Quantity(row["by_judge"], row["by_judge_lower"], row["by_judge_upper"]),
                judge in changed,
            )
            for judge, row in most.items()
        )

    @cached_property
    def scores(self) -> dict[str, xr.Dataset]:
        """How often classifiers are right, and agree with the raters."""
        raters = self.trees.get("people and judges", self.trees.get("people"))
        assert raters is not None
        predicted = self.panel.predicted_of(self.panel.labels.items)
        return {
            "truth": judging.scored(self.tree, predicted, self.seed),
            "raters": judging.scored(raters, predicted, self.seed),
        }

    @cached_property
    def checked(self) -> xr.Dataset:
        """Checks of the posterior of all."""
        return judging.checked(self.tree, self.panel, self.seed)

    @cached_property
    def sections(self) -> dict[str, Section]:
        """Sections of the page by their key."""
        checks = judging.checks_section(self.checked, self.tree, self.panel)
        made = [
            judging.accuracy_section(self.scores),
            judging.quality_section(self.tree, self.panel, self.scores["truth"]),
            *judging.added_sections(
                self.panel, self.scores["truth"], self.trees.get("people and classifiers"), self.seed
            ),
            *self._sensitivity,
            *([] if self.change is None else [judging.change_section(self.change)]),
            checks,
        ]
        return {section.key: section for section in made}

    @property
    def _sensitivity(self) -> list[Section]:
        """Section on errors that judges and classifiers share, if fits assume them."""
        if not self.assumed:
            return []
        predicted = self.panel.predicted_of(self.panel.labels.items)
        found = {key: judging.scored(own, predicted, self.seed) for key, own in self.assumed.items()}
        fits = {
            key: bool(judging.checked(own, self.panel, self.seed).attrs["fits"])
            for key, own in self.assumed.items()
            if own is not self.tree
        }
        return [judging.sensitivity_section(found, fits)]

    @cached_property
    def raters(self) -> pd.DataFrame:
        """People, judges and classifiers: answers, accuracy and worth in typical people, with 90 % intervals."""
        return pd.DataFrame(list(self.sections["raters"].rows))

    @cached_property
    def classifiers(self) -> pd.DataFrame:
        """Classifiers: accuracy against the truth, and agreement with the raters, with 90 % intervals."""
        return pd.DataFrame(list(self.sections["accuracy"].rows))

    @cached_property
    def sound(self) -> Soundness:
        """Whether all posteriors have converged, and which checks of that of all fail."""
        own = super().sound
        converged = all(bool(diagnose(tree).attrs["converged"]) for tree in self.trees.values())
        return replace(own, converged=converged)

    @cached_property
    def facts(self) -> JudgeFacts:
        """Numbers of the answers."""
        panel, found = self.panel, self.scores["truth"]
        names = found["classifier"].to_numpy().tolist()
        figures = {str(name): judging.figures_of(found, name) for name in names}
        better = None
        if "difference" in found:
            (first, *_) = pair_rows({"accuracy": found})
            better = (first["classifier"], first["other"], first["probability_better"])
        quantities = {
            name: Quantity(own["mean"], own["lower"], own["upper"]) for name, own in figures.items()
        }
        gains: dict[str, list[float]] = {}
        rectified = self.sections.get("judges.rectified")
        for row in rectified.rows if rectified else ():
            gains.setdefault(row["judge"], []).append(row["gain"])
        rows = {row["rater"]: row for row in self.sections["raters"].rows if row["role"] == JUDGE}
        judges = {
            name: JudgeFigures(
                Quantity(row["accuracy"], row["lower"], row["upper"]),
                row["worth"],
                float(np.mean(gains[name])) if name in gains else None,
            )
            for name, row in rows.items()
        }
        heard = int(panel.answered(PERSON).sum())
        more, with_people = self._more(heard)
        return JudgeFacts(
            items=len(panel.labels.items),
            heard=heard,
            people=len(panel.names(PERSON)),
            classifiers=ClassifierFacts(
                "truth",
                "accuracy",
                quantities,
                better,
                below_guess(quantities, "accuracy", len(panel.labels.categories)),
            ),
            judges=judges,
            useful=GAINS,
            half=HALF,
            more=more,
            with_people=with_people,
            precise=PRECISE,
            sound=self.sound,
            shared_errors=bool(self.sections["shared_errors"].facts["shares_errors"]),
            machines=(*panel.names(JUDGE), *panel.names(CLASSIFIER)),
            changes=self._changes,
        )

    def _more(self, heard: int) -> tuple[int, bool]:
        """Return how many further items would make the widest accuracy precise, and whether items of the table are enough.

        The variance by the raters is in inverse proportion to the items with people, that by the sample of items to all items.
        """
        found, n = self.scores["truth"], len(self.panel.labels.items)
        wanted, most = (PRECISE / Z) ** 2, (0, True)
        for name in found["classifier"].to_numpy().tolist():
            raters, items = (judging.figures_of(found, name, own)["sd"] ** 2 for own in ("raters", "items"))
            if raters + items <= wanted:
                continue
            there = ceil(heard * (raters / (wanted - items) - 1)) if items < wanted else n
            if there <= n - heard:
                most = max(most, (there, True))
            else:
                most = max(
                    most,
                    (ceil(n * ((raters + items) / wanted - 1)), False),
                    key=lambda own: (not own[1], own[0]),
                )
        return most


# --- Raters: people, judges and classifiers ---


def panel_of(
    labels: Labels,
    predicted: xr.DataArray,
    people: tuple[str, str] | None = None,
    priors: Mapping[str, Any] | None = None,
    *,
    hidden: bool = False,
) -> Panel:
    """Return people, judges and classifiers as raters of the same items.

    `people` are a column of the answers and its value for people; without it all raters are people. `priors` may name the groups
    of the model; with `hidden` no message quotes a column.
    """
    predicted = with_complement(predicted, labels.categories)
    if "classifier" not in predicted.dims:
        predicted = predicted.expand_dims("classifier")
    if "classifier" not in predicted.coords:
        predicted = predicted.assign_coords(classifier=[ALONE])
    kind, value = people or _unread_kind(labels)
    is_person = np.ones(len(labels.raters), bool)
    if people is not None:
        is_person = _are_people(labels, kind, value, hidden=hidden)
    group = next(name for name in MACHINES if name != value)
    priors = priors or {}
    if people is not None and kind not in {priors.get(name) for name in ("groups", "group")}:
        merged = {kind: np.where(is_person, value, group)}
        labels = replace(labels, rater_attributes={**labels.rater_attributes, **merged})
    joint = labels.with_predictions(predicted, attribute=kind, group=group)
    known = dict(zip(labels.raters.tolist(), np.where(is_person, PERSON, JUDGE).tolist(), strict=True))
    role = np.array([known.get(rater, CLASSIFIER) for rater in joint.raters.tolist()])  # of another order
    _check_complete(joint, role)
    return Panel(joint, role, predicted, kind, value, priors.get("groups", kind))


def _unread_kind(labels: Labels) -> tuple[str, str]:
    """Return an attribute that the raters, who are all people, do not have yet, and its value."""
    kind, value = UNKNOWN_KIND
    return (f"{kind} of rater" if kind in labels.rater_attributes else kind), value


def _are_people(labels: Labels, kind: str, value: str, *, hidden: bool) -> np.ndarray:
    """Return whether each rater is a person (rater,), or raise if none is."""
    if kind not in labels.rater_attributes:
        raise ValueError(
            f"people_column {kind}={value}: the labels have no rater attribute {short_repr(kind)}"
        )
    values = labels.rater_attributes[kind].astype(str)
    if not (values == value).any():
        there = "" if hidden else f"; the column has {first_reprs(np.unique(values).tolist())}"
        raise ValueError(
            f"people_column {kind}={value}: there is no rater whose {kind} is {short_repr(value)}{there}. Write the value of "
            "people, and leave it out if all raters are people"
        )
    return values == value


def _check_complete(joint: Labels, role: np.ndarray) -> None:
    """Raise if a classifier has no prediction for an item."""
    for rater in np.flatnonzero(role == CLASSIFIER):
        lacking = np.setdiff1d(
            np.arange(len(joint.items)), joint.annotation_item[joint.annotation_rater == rater]
        )
        if len(lacking):
            more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
            raise refused_predictions(
                f"classifier {short_repr(joint.raters[rater].item())} has no prediction for item "
                f"{short_repr(joint.items[lacking[0]].item())}{more}",
                remedy="add one for every item of the answers, or leave out the answers to the item",
            )


def with_sample(panel: Panel, sample: Mapping[str, xr.DataArray]) -> Panel:
    """Return the panel with how the items with people were chosen, or raise if nothing is estimated by it, or it is no sample."""
    items, heard = panel.labels.items, panel.answered(PERSON)
    if why := judging.not_rectified(panel):
        raise ValueError(f"sample: how the items with people were chosen would count for nothing. {why}")
    try:
        check_sample(items[heard], items, **sample)
    except evaluation.EvaluationError as error:
        text = str(error).replace("is not in the posterior", "nobody answered it")
        text = text.replace("the posterior", "the sample").replace("sampling:", "probability:")
        raise ValueError(f"sample: {text}") from None
    return replace(panel, sample=sample)


# --- Fits ---


def judged(
    panel: Panel,
    settings: Settings,
    draw: Callable[[pm.Model], xr.DataTree],
    *,
    sensitivity: bool = False,
    old: Labels | None = None,
    compose: Callable[[Any], Any] | None = None,
) -> JudgeAnalysis:
    """Fit people, judges and classifiers, and parts of them; `draw` samples a model, `compose` makes the report.

    With `sensitivity` also by models in which judges and classifiers share errors, and do not; with the labels of an `old` run
    also both versions of the judges.
    """
    both = None if old is None else _with_old(panel, old, hidden=settings.anonymize)
    settings = _with_groups(settings, panel)
    shared = _sharing(settings, panel) if sensitivity else settings

    def fitted(labels: Labels, own: Settings = settings) -> xr.DataTree:
        return draw(_built(labels, own, panel))

    def of_part(*roles: str) -> xr.DataTree:
        labels = panel.of_roles(*roles)
        return fitted(labels, _of_part(labels, settings))

    model = _built(panel.labels, settings, panel)
    joint = draw(model)
    trees = {"all raters": joint}
    if panel.names(JUDGE):
        trees["people and judges"] = of_part(PERSON, JUDGE)
        trees["people and classifiers"] = of_part(PERSON, CLASSIFIER)
    else:
        trees["people"] = of_part(PERSON)
    if both is not None:
        trees[BOTH_RUNS] = fitted(both, _of_part(both, settings))
    assumed = {}
    if sensitivity:
        plain = replace(settings, model=PLAIN, priors={})
        assumed["independent"] = joint if settings.model == PLAIN else fitted(panel.labels, plain)
        if settings.model not in (PLAIN, SHARED):
            assumed["chosen"] = joint
        assumed["shared"] = joint if settings.model == SHARED else fitted(panel.labels, shared)
    return JudgeAnalysis(panel.labels, joint, model, panel, settings, trees, assumed, compose=compose)


def _with_groups(settings: Settings, panel: Panel, argument: str = f"model {SHARED}") -> Settings:
    """Return settings of shared_guess with its groups: by default judges and classifiers are one, and people share nothing.

    `argument` is that by which shared_guess is fitted.
    """
    if settings.model != SHARED:
        return settings
    priors = {"groups": panel.groups, **(settings.priors or {})}
    group = panel.labels.rater_attributes[priors["groups"]].astype(str)
    of_people, of_others = (set(group[own].tolist()) for own in (panel.role == PERSON, panel.role != PERSON))
    priors.setdefault("independent", sorted(of_people - of_others))
    if strange := sorted({*priors["independent"]} - of_people - of_others):
        raise ValueError(
            f"independent {strange[0]}: no such group; those by {priors['groups']} are {first_reprs(np.unique(group).tolist())}"
        )
    names, sizes = np.unique(group, return_counts=True)
    if not (sizes[~np.isin(names, priors["independent"])] > 1).any():
        raise ValueError(
            f"{argument}: no group by {priors['groups']} has two judges or classifiers who may share a guess; leave it out"
            f"{', as raters who share nothing are drawn by dawid_skene' * (argument != 'sensitivity')}"
        )
    return replace(settings, priors=priors)


def _with_old(panel: Panel, old: Labels, *, hidden: bool) -> Labels:
    """Return the labels of people and judges in both runs; judges are paired by name, or as the only ones of either run."""
    judges = panel.names(JUDGE)
    if not judges:
        raise ValueError(
            f"compare_to: there is no judge whose old version could be compared. {judging.no_judges()}"
        )
    is_person = _are_people(old, panel.kind, panel.people, hidden=hidden)
    before = old.raters[~is_person].tolist()
    pairs = {name: name for name in before if name in judges}
    if len(before) == len(judges) == 1:
        pairs = {before[0]: judges[0]}
    if not pairs:
        raise ValueError(
            f"compare_to: the judges of the old run, {first_reprs(before)}, are none of the new one, {first_reprs(judges)}; give "
            "each judge the same id in both, whatever its version"
        )
    of_judges = panel.labels.rater_attributes[panel.kind][panel.role == JUDGE].astype(str)
    old = replace(
        old,
        rater_attributes={
            **old.rater_attributes,
            panel.kind: np.where(is_person, panel.people, of_judges[0]),
        },
    )
    if {*old.categories.tolist()} < {*panel.labels.categories.tolist()}:  # no one gave the others
        table = old.to_table()
        own = {"gold": "gold" if "gold" in table else None, "count": "count"}
        attributes = list(old.rater_attributes)
        old = Labels.from_table(table, **own, rater_attributes=attributes, categories=panel.labels.categories)
    return models.two_runs(old, panel.of_roles(PERSON, JUDGE), pairs)


def _sharing(settings: Settings, panel: Panel) -> Settings:
    """Return settings of shared_guess for the sensitivity, or raise if no judges and classifiers could share errors."""
    if (panel.role != PERSON).sum() < 2:
        raise ValueError(
            "sensitivity: there is one judge or classifier, and nobody with whom it could share errors; leave it out"
        )
    own = settings.priors if settings.model == SHARED else {}
    return _with_groups(replace(settings, model=SHARED, priors=own), panel, "sensitivity")


def _of_part(labels: Labels, settings: Settings) -> Settings:
    """Return settings for some of the raters; dawid_skene is shared_guess where no group has two who may share."""
    if settings.model != SHARED:
        return settings
    priors = dict(settings.priors or {})
    names, sizes = np.unique(labels.rater_attributes[priors.pop("groups")].astype(str), return_counts=True)
    apart = [name for name in priors.pop("independent") if name in names]
    if (sizes[~np.isin(names, apart)] > 1).any():
        return replace(settings, priors={**(settings.priors or {}), "independent": apart})
    return replace(settings, model=PLAIN, priors=priors)


def _built(labels: Labels, settings: Settings, panel: Panel) -> pm.Model:
    """Build the model; judges and classifiers have a population of their own, or the weak prior of these."""
    build, priors = getattr(models, settings.model), settings.priors or {}
    parameter = signature(build).parameters.get(PRIOR)
    if parameter is not None:
        machines = labels.rater_attributes[panel.kind].astype(str) != panel.people
        learnt = parameter.default == POPULATION
        own = np.where(machines, CLASSIFIERS, RATERS) if learnt else default_confusion(labels, machines)
        priors = {PRIOR: own, **priors}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*single rater", models.DataWarning)
        return build(labels, **priors)


def _unconverged(trees: Mapping[str, xr.DataTree]) -> list[str]:
    """Return a sentence on the posteriors that have not converged, with the verdict on the first, if there are any."""
    found = {whose: diagnose(tree).attrs for whose, tree in trees.items()}
    verdicts = {whose: str(attrs["verdict"]) for whose, attrs in found.items() if not attrs["converged"]}
    if not verdicts:
        return []
    return [
        f"Do not rely on the numbers: the sampler has not converged for {'; '.join(verdicts)}. Draw more: "
        f"{way('--draws 10000', 'draws=10000')}. {next(iter(verdicts.values()))}"
    ]
