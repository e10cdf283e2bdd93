"""Options shared by several commands."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from ..models._catalog import annotation_kinds, catalog
from ..posterior.table_text import decimal_number, whole_number

if TYPE_CHECKING:
    from ..reports.settings import Settings


class Kind(StrEnum):
    """Kind of annotation."""

    rankings = "rankings"
    labels = "labels"
    comparisons = "comparisons"
    scores = "scores"


class Keep(StrEnum):
    """Part of the draws that is kept."""

    all = "all"
    thinned = "thinned"
    summary = "summary"


class KeptAnswers(StrEnum):
    """Answers of a rater to an item that count."""

    all = "all"
    first = "first"
    last = "last"


class Layout(StrEnum):
    """Layout of a table of labels or scores."""

    long = "long"
    wide = "wide"
    counts = "counts"


class Source(StrEnum):
    """Tool that exported a file, or a plain table."""

    table = "table"
    inspect = "inspect"
    promptfoo = "promptfoo"
    deepeval = "deepeval"
    lm_eval = "lm-eval"
    arena = "arena"
    alpaca_eval = "alpaca-eval"
    label_studio = "label-studio"
    argilla = "argilla"
    prodigy = "prodigy"


def _number(text: str) -> float:
    """Parse a number as those in tables are read."""
    if (number := decimal_number(str(text))) is None:
        raise typer.BadParameter(f"{text!r} is not a number")
    if not isfinite(number):
        raise typer.BadParameter(f"{text!r} is not a finite number")
    return number


def _whole(text: str) -> int:
    """Parse a whole number as those in tables are read."""
    if (number := whole_number(str(text))) is None:
        raise typer.BadParameter(f"{text!r} is not a whole number")
    return number


FORMATS = "CSV, TSV, JSON, JSON lines, Excel or Parquet, or the export of a tool"
Annotations = Annotated[Path, typer.Argument(help=f"Table: {FORMATS}.")]


def _choice(values: type[StrEnum]) -> dict[str, Any]:
    """Arguments of a typer option with these values, that names the nearest value to a misspelt one."""
    names = list(map(str, values))

    def named(name: str) -> StrEnum:
        if name in names:
            return values(name)
        near = "".join(f"; did you mean {own!r}?" for own in get_close_matches(name, names, n=1))
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}{near}")

    return {"parser": named, "metavar": f"<{'|'.join(names)}>"}


def declared(name: str, hint: Any) -> Any:
    """Return the type of a parameter of a command as typer wants it, from ``Annotated[type, help]``, perhaps with other names.

    Numbers are parsed as those in tables are read: click's own parsers would also read "0_9" and digits of other scripts.
    """
    if get_origin(hint) is not Annotated or not isinstance(hint.__metadata__[0], str):
        return hint
    kind, (text, *names) = hint.__origin__, hint.__metadata__
    if not any(own.startswith("--") for own in names):
        names.append(f"--{name.replace('_', '-')}")
    own = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    parsers = {float: {"parser": _number, "metavar": "FLOAT"}, int: {"parser": _whole, "metavar": "INTEGER"}}
    is_choice = isinstance(own, type) and issubclass(own, StrEnum)
    parsed = _choice(own) if is_choice else parsers.get(own, {})
    return Annotated[kind, typer.Option(*names, help=text, **parsed)]


# options that several commands take: type and help

Anonymize = Annotated[
    bool,
    "Replace rater ids by numbers in a random order that cannot be reproduced, as soon as the table is read: no message "
    "and no file has an id. Not with --workers or --scheduler, which read the table again to continue an interrupted fit.",
]
KeepOption = Annotated[
    Keep | None,
    "What is kept of the draws: all; thinned, summaries of all draws of each item and up to 1,000 of the draws; or a "
    "summary without draws of the items. Default all, and above 500 MB of draws (20 GB with --workers) thinned. A .nc file "
    "above 200 MB is thinned further, to at least 100 draws of each chain.",
]


KindOption = Annotated[Kind | None, "Kind of annotation; by default the model or the columns tell."]
LayoutOption = Annotated[
    Layout,
    "For labels and scores: long, one row per answer; wide, one column per rater; counts, one column per category "
    "or score.",
]
SourceOption = Annotated[
    Source | None,
    "Tool that exported the annotations, or table; by default the content of the file tells.",
    "--format",
]
DropMissing = Annotated[bool, "Leave out rows with an empty cell, such as no rater or no label."]
Categories = Annotated[
    str | None,
    "All categories: a text file with one per line, or a,b,c; default those in the table. For ordinal: lowest first.",
]
Tags = Annotated[
    str | None,
    "For labels: two to six tags of which an answer is a set, such as a,b,c: cells a|b, lists, or columns of 0 and 1.",
]
Bounds = Annotated[
    str | None, "For scores: the lowest and the highest possible score, such as 1,10; default none."
]
Thresholds = Annotated[
    list[str] | None,
    "For scores: threshold above which a score counts as high, such as 0. Several with commas; predictions are for "
    "the first.",
]
Columns = Annotated[
    list[str] | None,
    "Rename: item=case reads column 'case' as 'item'. Repeat rater=... or category=... to choose the columns of a "
    "wide table.",
]
Subtypes = Annotated[int | None, "For ebcc: number of subtypes of each category, from 2; default 3."]
Populations = Annotated[
    int | None, "For cultural_consensus: number of populations of raters, from 2; default 2."
]
RaterAttributes = Annotated[
    list[str] | None,
    "For comparisons, labels and scores: a column with an attribute of the rater, such as kind.",
]
Levels = Annotated[
    str | None,
    "For comparisons: all levels of a scale of preference, the strongest for the left item first, such as 2,1,0,-1,-2.",
]
LargestComponent = Annotated[
    bool, "For comparisons: keep only the largest set of items connected by comparisons."
]
ClustersFile = Annotated[
    Path | None,
    "Table: item, cluster, such as its patient or document, or copies of one item; clusters are resampled whole.",
]
Prob = Annotated[float, "Posterior probability of the intervals."]
Draws = Annotated[int, "Draws per chain."]
Chains = Annotated[int, "Number of chains."]
Seed = Annotated[int, "Random seed."]


# --- Groups of options that several commands take, each a panel of the help, named by the first line of its docstring ---

OWN = "Options"  # title of those of one command
PANELS: dict[str, str] = {}  # parameter -> title


class PanelledCommand(TyperCommand):
    """Command whose help lists its own options first, then those of each group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], OWN: []}
        for own in self.get_params(ctx):
            if (record := own.get_help_record(ctx)) is not None:
                title = PANELS.get(own.name or "", OWN)
                sections.setdefault("Arguments" if own.param_type_name == "argument" else title, []).append(
                    record
                )
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


@dataclass
class DataOptions:
    """Table and model. Kind of annotation, layout, rows with empty cells."""

    kind: KindOption = None
    layout: LayoutOption = Layout.long
    source: SourceOption = None
    drop_missing: DropMissing = False
    model: Annotated[
        str | None,
        "A model listed by `raterzoo models`; default plackett_luce for rankings, correlated_votes for labels, "
        "bradley_terry for comparisons, hierarchical_scores for scores, or normal_scores where no rater is named.",
    ] = None


@dataclass
class CategoryOptions:
    """Models of rankings and labels."""

    categories: Categories = None
    tags: Tags = None
    concentration: Annotated[float | None, "Prior concentration of each category; default 1 / K."] = None
    unranked: Annotated[str | None, "Treatment of unranked categories: pooled, single or dropped."] = None
    tie_weight: Annotated[str | None, "For prirn: weight of tied categories, split or full."] = None
    subtypes: Subtypes = None
    populations: Populations = None


@dataclass
class FeatureOptions:
    """What is known of the items. Features, and probabilities of a classifier."""

    features: Annotated[
        Path | None,
        "Features of the items, such as embeddings: a table with a column of item ids and columns of numbers, or an .npz "
        "file with arrays items and features. Labels are then drawn by dawid_skene unless --model says another, and scores of "
        "named raters by hierarchical_scores.",
    ] = None
    prior_predictions: Annotated[
        Path | None,
        "For plackett_luce and dirichlet: table of the probabilities of one classifier, item, category, score, or a column "
        "for each category. They become part of the prior, with a strength that is learnt. Do not judge that classifier by the "
        "result.",
    ] = None
    prior_classifier: Annotated[
        str | None, "With --prior-predictions: the classifier, if the table has several."
    ] = None


@dataclass
class VoteOptions:
    """Models of comparisons. Attributes of the raters, and covariates of the votes."""

    ties: Annotated[
        str | None,
        "For comparisons: davidson (bradley_terry), threshold (thurstone), none, or auto: if there are ties.",
    ] = None
    left_side: Annotated[
        str | None,
        "For comparisons: model an advantage of the left side, shared by all raters, or one for each rater.",
    ] = None
    left_bias: Annotated[bool, "The same as --left-side shared."] = False
    signed: Annotated[bool, "For comparisons: allow raters who prefer the worse item."] = False
    raters: Annotated[
        str | None,
        "For comparisons: reliability hierarchical, per-rater or shared; shared if raters are anonymous. For labels: what "
        "earlier studies know of the raters: a file of inference.rater_prior, or posterior.nc of such a study.",
    ] = None
    rater_attribute: RaterAttributes = None
    vote_covariate: Annotated[
        list[str] | None,
        "For comparisons: a column of numbers, such as the length of the left answer minus that of the right one, that may "
        "decide a vote beside the qualities. Repeat for several.",
    ] = None
    strength: Annotated[
        str | None,
        "For comparisons that say by how much: weighted (a weight that is learnt), cut_points (full weight), ignored (who "
        "won alone), or auto: weighted if votes are of several strengths.",
    ] = None
    levels: Levels = None


@dataclass
class SharingOptions:
    """Groups of raters. They share errors or a taste."""

    groups_of_raters: Annotated[
        str | None,
        "For shared_guess, comparisons and hierarchical_scores: the column with the group of the rater, such as kind; those "
        "of a group share errors, a taste, or a bias on each item. For shared_guess by default the first --rater-attribute.",
    ] = None
    independent: Annotated[
        list[str] | None,
        "With --groups-of-raters: a group whose raters share nothing, such as person. Repeat for several.",
    ] = None


@dataclass
class GroupOptions(SharingOptions):
    """Groups of raters."""

    group: Annotated[
        str | None,
        "For hierarchical_dawid_skene and hierarchical_scores: the column with the group of the rater.",
    ] = None


# `report` has --groups, of categories
ARGUMENT_OF_OPTION = {"groups_of_raters": "groups", "prior_classifier": "classifier"}
OPTION_OF_ARGUMENT = {argument: option for option, argument in ARGUMENT_OF_OPTION.items()}


def flag(argument: str) -> str:
    """Return the option of an argument of a builder, as it is typed."""
    return f"--{OPTION_OF_ARGUMENT.get(argument, argument).replace('_', '-')}"


@dataclass
class CleaningOptions:
    """Cleaning. Repeated answers, look-alikes, and answers that are no truth."""

    drop_duplicates: Annotated[
        bool, "Count an answer that a rater repeated exactly only once, not as often as it is there."
    ] = False
    merge_look_alikes: Annotated[
        bool,
        "Take ids and categories as one that differ only in case, spaces, invisible characters, Unicode form or letters of "
        "like shape: 'ham', 'HAM '.",
    ] = False
    no_answer: Annotated[
        list[str] | None,
        "Answer that is no truth, such as unsure or -1, and is left out. Repeat for several.",
    ] = None
    keep_answers: Annotated[
        KeptAnswers,
        "Of several answers of a rater to an item those that count, by time (--column time=...), else by their order.",
    ] = KeptAnswers.all


@dataclass
class SamplerOptions:
    """Sampler."""

    draws: Draws = 1000
    chains: Chains = 4
    seed: Seed = 1


@dataclass
class EvaluationOptions:
    """Options."""

    metric: Annotated[
        list[str] | None,
        "top-3-accuracy, set-accuracy@2, overlap@3, average-overlap@3, accuracy, balanced-accuracy, precision, recall, "
        "f1 (f1-weighted, f1-micro), kappa, mcc, log-loss, brier, auc, calibration-error, kendall-tau, footrule, rbo, "
        "ndcg@3; for comparisons concordance. Repeat the option for several; default as in the report.",
    ] = None
    by: Annotated[Path | None, "Groups to score separately. Table: category, group; or item, group."] = None
    compare: Annotated[bool, "Compare classifiers pairwise: difference, probability."] = False
    clusters: ClustersFile = None
    out: Annotated[Path | None, "File for all numbers: metrics.csv or metrics.json.", "-o"] = None
    threshold: Thresholds = None
    truth: Annotated[
        str | None,
        "For a posterior of another program: category, if the plausibility of a draw is the probability of the one true "
        "category; distribution, if it is the distribution of the labels that raters give.",
    ] = None
    against: Annotated[
        str | None,
        "raters: agreement with what the raters leave open; truth: accuracy against the truth, by a posterior that has "
        "seen the predictions (raterzoo fit --predictions). A posterior of the other kind is refused; by default it is said.",
    ] = None
    column: Columns = None
    drop_missing: DropMissing = False
    seed: Seed = 1


@dataclass
class JudgeOptions:
    """Options."""

    people_column: Annotated[
        str | None,
        "Column of the answers that tells people from judges, and its value for people, such as kind=person; all other "
        "raters are judges. By default all raters are people.",
    ] = None
    fail_below: Annotated[
        float | None,
        "Exit code 1 if the lower end of the interval of a classifier's accuracy against the truth is below this, such as "
        ".85.",
    ] = None
    sample: Annotated[
        Path | None,
        "Table of how the items with people were chosen, one row for each item: item, and of stratum, cluster and "
        "probability (of being given to people) those that matter. By default a simple random sample.",
    ] = None
    sensitivity: Annotated[
        bool,
        "Also fit judges and classifiers who err independently, and who share a guess, and show both accuracies.",
    ] = False
    compare_to: Annotated[
        Path | None,
        "Answers of an earlier run, with the same columns and people, and some items of this one: did the judge change in "
        "between? Exit code 1 if it did.",
    ] = None
    out: Annotated[
        Path | None, "All numbers: judged.csv, judged.json, or a folder for an HTML page.", "-o"
    ] = None
    column: Columns = None
    anonymize: Anonymize = False


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command: each parameter that is a dataclass becomes the options that are its fields."""
    types = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}
    parameters: list[Parameter] = []
    for own in signature(command).parameters.values():
        if (group := groups.get(own.name)) is None:
            parameters.append(own.replace(annotation=declared(own.name, types[own.name])))
            continue
        hints = get_type_hints(group, include_extras=True)
        given = [(own.name, own.default, declared(own.name, hints[own.name])) for own in fields(group)]
        if (title := (group.__doc__ or "").split(".")[0]) != OWN:
            PANELS.update({name: title for name, _, _ in given})
        keyword = Parameter.KEYWORD_ONLY
        parameters += [Parameter(name, keyword, default=own, annotation=hint) for name, own, hint in given]

    @wraps(command)
    def run(**given: Any) -> None:
        built = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**built, **given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {own.name: own.annotation for own in parameters}
    return run


# --- Options of a fit, validated ---


def check_output(option: str, path: Path, *, folder: bool = False) -> None:
    """Raise, before anything is computed, if a file is named where a folder is needed, or the reverse."""
    if not folder and path.suffix != ".zarr" and path.is_dir():
        raise ValueError(f"{option} {path}: that is a folder; name a file in it")
    folders = [path, *path.parents] if folder else path.parents
    if blocked := [str(own) for own in folders if own.is_file()]:
        raise ValueError(f"{option} {path}: {blocked[0]} is a file, not a folder; name another place")
    if folder and path.is_dir():
        _refuse_links(option, path)


def check_numbers_output(out: Path | None) -> None:
    """Raise, before anything is computed, unless numbers can be written to ``--out``: a .csv or .json file, or a folder."""
    if out is None:
        return
    if out.suffix.lower() not in (".csv", ".json", ""):
        raise ValueError(f"--out {out}: name a .csv or a .json file, or a folder for a page")
    check_output("--out", out, folder=not out.suffix)


def _refuse_links(option: str, folder: Path) -> None:
    """Raise at a link out of a folder that is to be written, by which a file elsewhere would be overwritten."""
    whole = folder.resolve()
    for own in sorted(folder.iterdir()):
        if own.is_symlink() and whole not in (target := own.resolve()).parents:
            raise ValueError(
                f"{option} {folder}: {own.name} in it is a link to {target}, outside; remove the link, or name another folder"
            )


def check_limit(limit: float | None) -> None:
    """Raise unless the limit of ``--fail-below`` is an accuracy."""
    if limit is not None and not 0 < limit <= 1:
        share = f", such as {limit / 100:g}" if 1 < limit <= 100 else ", such as .85"
        raise ValueError(f"--fail-below {limit:g}: expected an accuracy from 0 to 1{share}")


RATERS = ("hierarchical", "per-rater", "shared")
LEFT_SIDES = ("shared", "rater")
STRENGTHS = ("auto", "weighted", "cut_points", "ignored")


def _check_model(kind: str, model: str) -> None:
    """Raise if there is no such model, or it is of another kind of annotation."""
    if model not in catalog:
        near = "".join(f"Did you mean {name}? " for name in get_close_matches(model, catalog, n=1))
        ours = ", ".join(name for name, own in catalog.items() if own.data == kind)
        raise ValueError(f"--model {model}: there is no such model. {near}Models of {kind}: {ours}")
    if catalog[model].data != kind:
        raise ValueError(f"--model {model} is a model of {catalog[model].data}, not of {kind}")


def _check_options(kind: str, model: str, given: Mapping[str, Any]) -> None:
    """Raise if an option belongs to other models, a required one is missing, or has no value of the model."""
    entry = catalog[model]
    if wrong := sorted(set(given) - {*entry.options, *annotation_kinds[kind].options}):
        models = [name for name, own in catalog.items() if wrong[0] in own.options]
        of_kind = [name for name in models if catalog[name].data == kind]
        kinds = [f"--kind {name}" for name, own in annotation_kinds.items() if wrong[0] in own.options]
        takers = of_kind or [*models, *kinds]
        raise ValueError(
            f"{flag(wrong[0])} is not an option of the model {model}, but of {', '.join(takers)}"
        )
    words = {"ties": entry.ties, "left_side": LEFT_SIDES, "strength": STRENGTHS} | (
        {"raters": RATERS} if kind == "comparisons" else {}
    )
    for name, allowed in words.items():
        if name in given and given[name] not in allowed:
            raise ValueError(
                f"--{name.replace('_', '-')} {given[name]}: the model {model} takes {', '.join(allowed[:-1])} or "
                f"{allowed[-1]}"
            )


def _check_one_by_one(given: Mapping[str, Any]) -> None:
    """Raise at options that change the votes, if each has covariates of its own."""
    reasons = {
        "drop_duplicates": "votes of a rater on the same pair may be on other answers",
        "levels": "votes and covariates are matched by who won; write the winner",
        "merge_look_alikes": "votes and covariates are matched by exact ids; correct the ids in the table",
    }
    for name, reason in reasons.items():
        if name in given:
            raise ValueError(f"{flag(name)} beside --vote-covariate: {reason}; leave it out")


def bounds_of(text: str | None) -> tuple[float, float] | None:
    """Parse '1,10' as lowest and highest possible score; raise unless they are finite and increasing."""
    if text is None:
        return None
    ends = _floats("bounds", text, "two numbers, such as 1,10")
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise ValueError(
            f"--bounds {text}: write the lowest and the highest score that could be given, such as 1,10"
        )
    return ends[0], ends[1]


def thresholds_of(texts: Sequence[str]) -> tuple[float, ...]:
    """Parse thresholds, given one by one or comma-separated; raise unless they are finite and distinct."""
    text = ",".join(texts)
    values = _floats("threshold", text, "numbers with commas between them, such as 0,0.5") if text else ()
    if len(set(values)) < len(values):
        raise ValueError(f"--threshold {text}: each number once")
    return values


def _floats(option: str, text: str, allowed: str) -> tuple[float, ...]:
    """Parse comma-separated finite numbers; `allowed` completes the message."""
    values = tuple(value + 0.0 for value in _parsed(option, text, allowed))
    if not all(map(isfinite, values)):
        raise ValueError(f"--{option} {text}: write {allowed}; they are finite")
    return values


def _parsed(option: str, text: str, allowed: str) -> list[float]:
    """Parse comma-separated numbers."""
    values = [value for part in text.split(",") if (value := decimal_number(part)) is not None]
    if len(values) <= text.count(","):
        raise ValueError(f"--{option} {text}: write {allowed}")
    return values


def tags_of_text(text: str | None) -> tuple[str, ...]:
    """Parse 'a,b,c' as names of tags; none without a text."""
    return () if text is None else tuple(part.strip() for part in text.split(","))


def _reliabilities(text: str) -> tuple[float, ...]:
    """Parse '1,2.5' as distinct positive numbers; whole ones become int."""
    values = _parsed("reliability", text, "numbers with commas between them, such as 1,2,3")
    if wrong := [v for v in values if not 0 < v < float("inf")]:
        raise ValueError(f"--reliability {text}: {wrong[0]:g} is not a positive number")
    if len(set(values)) < len(values):
        raise ValueError(f"--reliability {text}: each number once")
    return tuple(int(v) if v == int(v) else v for v in values)


EFFECTIVE = "effective"  # reliability by which the rankings of an item count by their effective number
NO_PRIORS = {
    "reliability",
    "features",
    "prior_predictions",
    "classifier",
}  # arguments that have a place of their own


def settings_of(
    kind: str,
    model: str | None,
    options: Mapping[str, Any],
    *,
    draws: int,
    chains: int,
    seed: int,
    layout: str = "long",
    source: str | None = None,
    drop_missing: bool = False,
) -> "Settings":
    """Validate the options against the catalog; options that were not given are None, False or empty."""
    from ..reports.settings import Settings

    featured = annotation_kinds[kind].default_with_features if options.get("features") is not None else None
    tagged = annotation_kinds[kind].default_of_tags if options.get("tags") is not None else None
    model = model or tagged or featured or annotation_kinds[kind].default_model
    given = {
        ARGUMENT_OF_OPTION.get(name, name): own
        for name, own in options.items()
        if not (own is None or own is False or own == [])
    }
    _check_model(kind, model)
    _check_options(kind, model, given)
    for name, (number, least) in {"draws": (draws, 1), "chains": (chains, 1), "seed": (seed, 0)}.items():
        if number < least:
            raise ValueError(f"--{name} {number}: expected a whole number from {least}")
    entry = catalog[model]
    arguments = {*entry.options, *annotation_kinds[kind].arguments} - NO_PRIORS
    priors = {name: value for name, value in given.items() if name in arguments}
    is_effective = given.get("reliability") == EFFECTIVE
    if is_effective:
        if not entry.effective_reliability:
            takers = ", ".join(name for name, own in catalog.items() if own.effective_reliability)
            raise ValueError(f"--reliability {EFFECTIVE}: an option of {takers}, not of {model}")
        priors["reliability"] = given.pop("reliability")
    if "raters" in given and kind == "labels" and "anonymize" in given:
        raise ValueError(
            f"--raters {given['raters']}: --anonymize replaces the ids by which the raters are known; leave one of the two out"
        )
    if "raters" in given and kind == "comparisons":
        priors["reliability"] = given["raters"].replace("-", " ")
    attributes = [
        *given.get("rater_attribute", ()),
        *(given[name] for name in ("group", "groups") if name in given),
    ]
    if entry.needs_groups and not attributes:
        raise ValueError(
            f"--model {model}: say the column with the group of the rater, such as their kind: {flag('groups')} kind"
        )
    if "classifier" in given and "prior_predictions" not in given:
        raise ValueError("--prior-classifier: name the table of its probabilities: --prior-predictions FILE")
    if "vote_covariate" in given:
        _check_one_by_one(given)
    parsed = {
        "rater_attributes": tuple(dict.fromkeys(attributes)),
        "tags": tags_of_text(given.get("tags")),
        "bounds": bounds_of(given.get("bounds")),
        "thresholds": thresholds_of(given.get("threshold", ())),
        "no_answer": tuple(given.get("no_answer", ())),
        "vote_covariates": tuple(dict.fromkeys(given.get("vote_covariate", ()))),
        "prior_classifier": given.get("classifier"),
        "missing": "drop" if drop_missing else "error",
        "has_reliability": "reliability" in entry.options and not is_effective,
    }
    read = {own.name: given[own.name] for own in fields(Settings) if own.name in given} | parsed
    of_fit = kind, model, _reliabilities(given.get("reliability", "1")), draws, chains, seed
    return Settings(*of_fit, layout=layout, source=source, priors=priors, **read)


def alike_in_words(model: str) -> str:
    """Return why classifiers cannot be raters of a model to which all raters are alike."""
    other = annotation_kinds[catalog[model].data].rater_model
    return f"to {model} all raters are alike, and a classifier would be one more person; say --model {other}"


ARGUMENT = re.compile(
    r"(people_column|sample|sensitivity|independent|learn|calibrate(?=:)|(posterior|clusters)(?= with)|model(?= shared_guess:))\b"
)


@contextmanager
def options_named() -> Iterator[None]:
    """Context manager: an error about an argument of `raterzoo.analyse` names its option."""
    try:
        yield
    except ValueError as error:
        if argument := ARGUMENT.match(str(error)):
            option = f"--{argument[0].replace('_', '-')}"
            raise ValueError(f"{option}{str(error)[argument.end() :]}") from None
        raise
