"""Command `judge`: how good classifiers and judges are, by one posterior of people, judges and predictions."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import arviz_stats  # noqa: F401 (first, see demo.py)
import numpy as np
import typer
import xarray as xr

from .. import evaluation, inference, models
from .._messages import first_reprs, short_repr, step
from ..evaluation.uncertainty.questions import ALONE
from ..evaluation.uncertainty.rectified import check_sample
from ..inference.storage.permissions import private_files
from ..models import Labels
from ..models._catalog import annotation_kinds
from ..models._prior_arguments import default_confusion
from ..models.labels.population import CLASSIFIERS, POPULATION, RATERS
from ..posterior.matching import with_complement
from ..reports.analyses.judge import JudgeAnalysis
from ..reports.page import Section, write_report
from ..reports.sections import judging
from ..reports.sections.judging import CLASSIFIER, JUDGE, PERSON, Panel
from ..reports.settings import Settings
from .exports import chosen_question
from .fitting import build, draw, with_classifiers
from .options import UNKNOWN_KIND
from .section_files import write_numbers
from .tables import read_annotations, read_predictions, read_sample
from .terminal import print_answers, print_table, print_text

HEADING = "How good are the classifiers and the judges?"
SHARED = annotation_kinds["labels"].sharing_model
PLAIN = annotation_kinds["labels"].rater_model
SENSITIVITY = "--sensitivity"
PRIOR = "confusion_concentration"
MACHINES = ("machine", "other")  # group of judges and classifiers: the first that is not the value for people
NOT_RELIED_ON = 1  # exit code


class Asked(NamedTuple):
    """Options of the command beside those of the fit."""

    people: tuple[str, str] | None  # column of the answers, and its value for people
    limit: float | None  # of the lower end of the accuracy against the truth
    out: Path | None  # .csv, .json or a folder
    sample: Path | None = None  # table of how the items with people were chosen
    sensitivity: bool = False  # to errors that judges and classifiers share


def judge_files(tables: tuple[Path, Path], columns: Sequence[str], settings: Settings, asked: Asked) -> None:
    """Fit people, judges and classifiers; print and write what they are worth.

    `tables` are the answers and the predictions, `columns` renamings of the former. Exits with 1 where a number is not
    to be relied on, or a lower end is below the limit.
    """
    with step("Reading"):
        panel = _read(tables, columns, settings, asked.people)
        if asked.sample is not None:
            panel = replace(panel, sample=_sample(asked.sample, panel))
        settings = _with_groups(settings, panel)
        shared = _sharing(settings, panel) if asked.sensitivity else settings
    trees = {"all raters": _fitted(panel.labels, settings, panel)}
    if panel.names(JUDGE):
        trees["people and judges"] = _of_part(panel, settings, PERSON, JUDGE)
        trees["people and classifiers"] = _of_part(panel, settings, PERSON, CLASSIFIER)
    else:
        trees["people"] = _of_part(panel, settings, PERSON)
    joint = trees["all raters"]
    extra, doubts = [], _unconverged(trees)
    if asked.sensitivity:
        section, unsure = _sensitivity(joint, panel, settings, shared)
        extra.append(section)
        doubts += unsure
    with step("Evaluating"):
        analysis = JudgeAnalysis(panel.labels, joint, None, panel, trees, settings.seed, extra)
        sections = list(analysis.sections.values())
        if analysis.sound.failed:
            doubts.append(
                "Do not rely on the accuracies against the truth, nor on who is worth what: a check of the model fails."
            )
        if asked.limit is not None:
            doubts += judging.below_in_words(analysis.scores["truth"], asked.limit)
    print_answers(analysis.answers)
    print_text("")
    _show(panel, settings, sections)
    if doubts or asked.limit is not None:
        kept = f"Every lower end of an accuracy against the truth reaches the limit {asked.limit}."
        print_text("\n" + "\n".join(doubts or [kept]))
    if asked.out is not None:
        with private_files(settings.anonymize, asked.out):
            _write(asked.out, analysis, _summary(panel, settings), doubts)
    if doubts:
        raise typer.Exit(NOT_RELIED_ON)


# --- Raters: people, judges and classifiers ---


def _read(
    tables: tuple[Path, Path], columns: Sequence[str], settings: Settings, people: tuple[str, str] | None
) -> Panel:
    """Read both tables; people and judges are told apart by a column, or else all are people."""
    answers, predictions = tables
    predicted = read_predictions(
        predictions, [], missing=settings.missing, question=chosen_question(columns, "labels")
    )
    labels, _, also_raters = read_annotations(answers, settings, columns, predicted)
    predicted = with_complement(predicted, labels.categories)
    if "classifier" not in predicted.dims:
        predicted = predicted.expand_dims("classifier")
    if "classifier" not in predicted.coords:
        predicted = predicted.assign_coords(classifier=[ALONE])
    grouping = {(settings.priors or {}).get(name) for name in ("groups", "group")}
    kind, value = people or _unread_kind(labels)
    is_person = np.ones(len(labels.raters), bool)
    if people is not None:
        is_person = _are_people(answers, labels, kind, value, settings)
    group = next(name for name in MACHINES if name != value)
    if people is not None and kind not in grouping:
        merged = {kind: np.where(is_person, value, group)}
        labels = replace(labels, rater_attributes={**labels.rater_attributes, **merged})
    joint = with_classifiers(labels, predicted, predictions, also_raters, attribute=kind, group=group)
    known = dict(zip(labels.raters.tolist(), np.where(is_person, PERSON, JUDGE).tolist(), strict=True))
    role = np.array([known.get(rater, CLASSIFIER) for rater in joint.raters.tolist()])  # of another order
    _check_complete(predictions, joint, role)
    groups = (settings.priors or {}).get("groups", kind)
    return Panel(joint, role, predicted, kind, value, groups)


def _unread_kind(labels: Labels) -> tuple[str, str]:
    """Return an attribute that the raters, who are all people, do not have yet, and its value."""
    kind, value = UNKNOWN_KIND
    return (f"{kind} of rater" if kind in labels.rater_attributes else kind), value


def _are_people(answers: Path, labels: Labels, kind: str, value: str, settings: Settings) -> np.ndarray:
    """Return whether each rater is a person (rater,), or raise if none is."""
    values = labels.rater_attributes[kind].astype(str)
    if not (values == value).any():
        there = "" if settings.anonymize else f"; the column has {first_reprs(np.unique(values).tolist())}"
        raise ValueError(
            f"--people-column {kind}={value}: {answers.name} has no rater whose {kind} is {short_repr(value)}{there}. "
            "Write the value of people, and leave the option out if all raters are people"
        )
    return values == value


def _check_complete(path: Path, joint: Labels, role: np.ndarray) -> None:
    """Raise if a classifier has no prediction for an item."""
    for rater in np.flatnonzero(role == CLASSIFIER):
        lacking = np.setdiff1d(
            np.arange(len(joint.items)), joint.annotation_item[joint.annotation_rater == rater]
        )
        if len(lacking):
            more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
            raise ValueError(
                f"{path.name}: classifier {short_repr(joint.raters[rater].item())} has no prediction for item "
                f"{short_repr(joint.items[lacking[0]].item())}{more}; every item of the answers needs one: add it, or leave out "
                "the answers to the item"
            )


def _sample(path: Path, panel: Panel) -> dict[str, xr.DataArray]:
    """Read how the items with people were chosen, or raise if nothing is estimated by it, or that is no sample of them."""
    items, heard = panel.labels.items, panel.answered(PERSON)
    if why := judging.not_rectified(panel):
        raise ValueError(f"--sample: how the items with people were chosen would count for nothing. {why}")
    sample = read_sample(path, items)
    try:
        check_sample(items[heard], items, **sample)
    except evaluation.EvaluationError as error:
        text = str(error).replace("is not in the posterior", "nobody answered it")
        text = text.replace("the posterior", "the sample").replace("sampling:", "probability:")
        raise ValueError(f"{path}: {text}") from None
    return sample


# --- Fits ---


def _with_groups(settings: Settings, panel: Panel, option: str = f"--model {SHARED}") -> Settings:
    """Return settings of shared_guess with its groups: by default judges and classifiers are one, and people share nothing.

    `option` is that by which shared_guess is fitted.
    """
    if settings.model != SHARED:
        return settings
    priors = {"groups": panel.groups, **(settings.priors or {})}
    group = panel.labels.rater_attributes[priors["groups"]].astype(str)
    of_people, of_others = (set(group[own].tolist()) for own in (panel.role == PERSON, panel.role != PERSON))
    priors.setdefault("independent", sorted(of_people - of_others))
    if strange := sorted({*priors["independent"]} - of_people - of_others):
        raise ValueError(
            f"--independent {strange[0]}: no such group; those by {priors['groups']} are {first_reprs(np.unique(group).tolist())}"
        )
    names, sizes = np.unique(group, return_counts=True)
    if not (sizes[~np.isin(names, priors["independent"])] > 1).any():
        raise ValueError(
            f"{option}: no group by {priors['groups']} has two judges or classifiers who may share a guess; leave it out"
            f"{', as raters who share nothing are drawn by dawid_skene' * (option != SENSITIVITY)}"
        )
    return replace(settings, priors=priors)


def _fitted(labels: Labels, settings: Settings, panel: Panel) -> xr.DataTree:
    """Draw the posterior of some raters; judges and classifiers have a population of their own, or the weak prior of these."""
    parameter = signature(getattr(models, settings.model)).parameters.get(PRIOR)
    if parameter is not None:
        machines = labels.rater_attributes[panel.kind].astype(str) != panel.people
        learnt = parameter.default == POPULATION
        own = np.where(machines, CLASSIFIERS, RATERS) if learnt else default_confusion(labels, machines)
        settings = replace(settings, priors={PRIOR: own, **(settings.priors or {})})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*single rater", models.DataWarning)
        return draw(partial(build, labels, settings), settings, log_likelihood=False)[
            settings.reliabilities[0]
        ]


def _of_part(panel: Panel, settings: Settings, *roles: str) -> xr.DataTree:
    """Draw the posterior of the raters of some roles; dawid_skene is shared_guess where no group has two who may share."""
    labels, priors = panel.of_roles(*roles), dict(settings.priors or {})
    if settings.model == SHARED:
        names, sizes = np.unique(
            labels.rater_attributes[priors.pop("groups")].astype(str), return_counts=True
        )
        apart = [name for name in priors.pop("independent") if name in names]
        if (sizes[~np.isin(names, apart)] > 1).any():
            own = {**(settings.priors or {}), "independent": apart}
            settings = replace(settings, priors=own)
        else:
            settings = replace(settings, model=PLAIN, priors=priors)
    return _fitted(labels, settings, panel)


def _sharing(settings: Settings, panel: Panel) -> Settings:
    """Return settings of shared_guess for `--sensitivity`, or raise if no judges and classifiers could share errors."""
    if (panel.role != PERSON).sum() < 2:
        raise ValueError(
            f"{SENSITIVITY}: there is one judge or classifier, and nobody with whom it could share errors; leave it out"
        )
    own = settings.priors if settings.model == SHARED else {}
    return _with_groups(replace(settings, model=SHARED, priors=own), panel, SENSITIVITY)


def _sensitivity(
    joint: xr.DataTree, panel: Panel, settings: Settings, shared: Settings
) -> tuple[Section, list[str]]:
    """Return the section on errors that judges and classifiers share, and a sentence if a fit of it has not converged."""
    plain = replace(settings, model=PLAIN, priors={})
    trees = {"independent": joint if settings.model == plain.model else _fitted(panel.labels, plain, panel)}
    if settings.model not in (plain.model, SHARED):
        trees["chosen"] = joint
    trees["shared"] = joint if settings.model == SHARED else _fitted(panel.labels, shared, panel)
    predicted = panel.predicted_of(panel.labels.items)
    found = {key: judging.scored(tree, predicted, settings.seed) for key, tree in trees.items()}
    fits = {
        key: bool(evaluation.model_checks(tree, panel.groups, random_seed=settings.seed).attrs["fits"])
        for key, tree in trees.items()
        if tree is not joint
    }
    fitted = {judging.SENSITIVITY[key]: tree for key, tree in trees.items() if tree is not joint}
    return judging.sensitivity_section(found, fits), _unconverged(fitted)


def _unconverged(trees: Mapping[str, xr.DataTree]) -> list[str]:
    """Return a sentence on the posteriors that have not converged, with the verdict on the first, if there are any."""
    found = {whose: inference.diagnose(tree).attrs for whose, tree in trees.items()}
    verdicts = {whose: str(attrs["verdict"]) for whose, attrs in found.items() if not attrs["converged"]}
    if not verdicts:
        return []
    return [
        f"Do not rely on the numbers: the sampler has not converged for {'; '.join(verdicts)}. Try --draws 10000 --chains 4. "
        f"{next(iter(verdicts.values()))}"
    ]


# --- The page on the terminal ---


def _summary(panel: Panel, settings: Settings) -> str:
    """Return the size of the study in one sentence."""
    parts = []
    for role, several in ((PERSON, "people"), (JUDGE, "judges"), (CLASSIFIER, "classifiers")):
        names = panel.names(role)
        if not names:
            continue
        heard = int(panel.answered(role).sum())
        who = f"{len(names):,} {several}" if len(names) > 1 else f"1 {role}"
        parts.append(f"{who} ({heard:,} items)")
    return f"{len(panel.labels.items):,} items; {', '.join(parts)}; model {settings.model}."


def _show(panel: Panel, settings: Settings, sections: Sequence[Section]) -> None:
    """Print the sections."""
    print_text(_summary(panel, settings))
    for section in sections:
        print_text(f"\n{section.title}")
        if section.table:
            print_table(section.table, folds=next(iter(section.table[0])), narrowest=8)
        print_text(section.text)


def _write(out: Path, analysis: JudgeAnalysis, summary: str, doubts: Sequence[str]) -> None:
    """Write the numbers, or a page with them if `out` is a folder; `doubts` are sentences on what is not to be relied on."""
    sections = list(analysis.sections.values())
    facts = {"doubts": list(doubts), "facts": asdict(analysis.facts)}
    if out.suffix:
        write_numbers(out, [Section("About", summary, key="study", facts=facts), *sections], "judge")
        return
    page = write_report(
        out, HEADING, summary, sections, box=analysis.answers, facts={"kind": "labels", **facts}
    )
    print_text(f"wrote {page}")
