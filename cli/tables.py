"""Readers of annotation and prediction files; the headers are read before any slow import."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import models
from .._messages import first_reprs, is_shown, quotes_hidden, short_repr
from ..models._catalog import annotation_kinds
from ..models.data.container import raters_in_order, suspicious_ids
from ..models.data.errors import DataError
from ..models.data.exports.answers import PREDICTIONS
from ..models.data.exports.tools import TOOLS
from ..models.data.look_alikes import alike_in_words, look_alikes
from ..models.data.no_answers import matcher
from ..models.data.reading.columns import Missing, is_blank
from ..models.data.reading.comparison_tables import OUTCOMES, outcome_words
from ..models.data.reading.files import TableFile, read_file, read_names, text_lines
from ..models.data.reading.frames import Wording, named_columns
from ..models.data.reading.headers import Asked, Header, annotation_header, resolved_header
from ..models.data.reading.numbers import number_of
from ..models.data.reading.read import Prepared, cells_of, container_of, likeliest_kind, prepared
from ..models.data.reading.sources import exporting_tool, opened, source_names
from ..posterior.matching import named_as
from ..posterior.table_text import folded
from ..reports.predictions import (
    PREDICTED,
    SYNONYMS,
    as_numbers,
    asked_cells,
    category_columns,
    order_of,
    predicted_categories,
    prediction_header,
    prediction_table,
)
from ..reports.settings import Groups, Settings
from ..reports.wording import contradictions_in_words
from .anonymity import Raters, may_show, without_named_columns, without_names
from .terminal import on_command_line, print_note, print_text

if TYPE_CHECKING:
    import xarray as xr

    from ..models import Comparisons, Scores

_NAMES = {  # of options, by argument
    "tool": "format",
    "keep": "keep-answers",
    "rater_attributes": "rater-attribute, --group or --people-column",
}


def _words(path: Path) -> Wording:
    """Remedies of the command line for the table of a file."""

    def column(role: str, name: str) -> str:
        return f"--column {role}={shlex.quote(name) if name != '...' and is_shown(name) else '...'}"

    return Wording(
        column,
        lambda kind: f"these look like {kind}, which --kind {kind} of fit, report and check reads",
        lambda kind: f"read {kind} with --layout wide",
        "several of these if each category has a column",
        " ",
        path.name,
        _option,
        _option,
        repeated=lambda role, names: (
            " ".join(column(role, name) for name in names[:2]) + " ..." * (len(names) > 2)
        ),
        raters_optional=False,
        say=(noted := lambda text: print_note(f"{path.name}: {text}")),
        mention=noted,
    )


def _option(name: str, value: object = None) -> str:
    """Option of the command line for an argument, perhaps with its value."""
    option = f"--{_NAMES.get(name, name.replace('_', '-'))}"
    return option if value is None else f"{option} {value}"


def pairs_of(columns: Sequence[str]) -> list[tuple[str, str]]:
    """Parse ``item=case`` to ('item', 'case')."""
    pairs = [column.partition("=") for column in columns]
    for column, (role, equals, name) in zip(columns, pairs, strict=True):
        if not (role and equals and name):
            raise ValueError(f"--column {column}: write item=case to read the column 'case' as 'item'")
    return [(role, name) for role, _, name in pairs]


def _asked(settings: Settings, columns: Sequence[str], **options: Any) -> Asked:
    """How the annotations of a fit are read; `options` are those of the container that were read themselves."""
    given = {
        "categories": settings.categories, "bounds": settings.bounds, "missing": settings.missing, "tags": settings.tags,
        "no_answer": settings.no_answer, "levels": settings.levels, "keep": settings.keep_answers,
        "rater_attributes": settings.rater_attributes,
    }  # fmt: skip
    return Asked(
        settings.kind,
        settings.layout,
        pairs_of(columns),
        settings.source,
        settings.vote_covariates,
        given | options,
    )


def kind_of(path: Path, columns: Sequence[str], *, layout: str, source: str | None, model: str | None) -> str:
    """Return the kind of annotation that the model tells, or else the columns of the table."""
    if model is not None and model in models.catalog:
        return models.catalog[model].data
    if layout != "long":
        raise ValueError(
            f"--layout {layout} is a layout of labels and scores: say --kind labels or --kind scores"
        )
    asked, words = Asked("", layout, pairs_of(columns), source), _words(path)
    if (tool := exporting_tool(path, asked, words)) is not None:
        return TOOLS[tool].kind or "rankings"  # an export may hold several kinds
    return likeliest_kind(source_names(path, asked, words)[0], dict(asked.columns))[0]


def check_header(path: Path, settings: Settings, columns: Sequence[str]) -> None:
    """Raise, before any slow import, if columns of a table of annotations are missing or ambiguous."""
    with _quoting(path, settings, columns):
        _header_of(path, _asked(settings, columns))


def _header_of(path: Path, asked: Asked) -> Header:
    """Resolve the columns of a table of annotations by its names alone."""
    names, pairs = source_names(path, asked, _words(path))
    return annotation_header(names, replace(asked, columns=pairs), _words(path))


def model_without_raters(
    path: Path, kind: str, columns: Sequence[str], layout: str, source: str | None = None
) -> str | None:
    """Return the default model of a table that names no rater, by its header, if it is another; errors are `check_header`'s."""
    model = annotation_kinds[kind].default_of_anonymous
    if model is None or layout == "wide":
        return None
    try:
        header = _header_of(path, Asked(kind, layout, pairs_of(columns), source))
    except (OSError, ValueError):
        return None
    return None if "rater" in header.found else model


def _quoting(path: Path, settings: Settings, columns: Sequence[str]) -> AbstractContextManager[None]:
    """Context manager: while names of raters are read that are to be replaced, messages quote only what was typed."""
    if not settings.anonymize:
        return nullcontext()
    typed = [name for role, name in pairs_of(columns) if (settings.layout, role) != ("wide", "rater")]
    typed += [*settings.rater_attributes, *settings.vote_covariates, str(path)]
    return quotes_hidden(may_show(typed, settings.layout))


def check_prediction_header(
    path: Path, kind: str, columns: Sequence[str] = (), *, question: str | None = None
) -> None:
    """Raise, before any slow import, if a table of predictions has no item or, of a kind with them, no categories."""
    pairs, words = pairs_of(columns), _words(path)
    if kind not in ("rankings", "labels"):
        synonyms = {"item": "compared"} if kind == "comparisons" else {}
        names = read_names(path)
        resolved_header(names, pairs, ("item",), (), words, several=PREDICTIONS, synonyms=synonyms)
        return
    names, pairs = source_names(path, Asked(PREDICTIONS, columns=pairs), words, question)
    header = prediction_header(names, pairs, PREDICTED, SYNONYMS, words)
    if "category" not in header.found:
        category_columns(header, words)


def has_categories(posterior: Path) -> bool:
    """Whether a stored posterior is of categories; told without a slow import, and False if it cannot be read."""
    if posterior.is_dir():
        return (posterior / "posterior" / "plausibility").is_dir()
    import h5py

    try:
        with h5py.File(posterior) as file:
            return "posterior/plausibility" in file
    except OSError:
        return False


class Annotations(NamedTuple):
    """Annotations of a fit, and what tables of predicted categories say beyond them."""

    data: Any
    only_predicted: Sequence[str] = ()  # categories that no rater gave
    # classifiers with the name of a rater, told while names of raters are replaced
    also_raters: Sequence[str] = ()


def read_annotations(
    path: Path, settings: Settings, columns: Sequence[str], *predicted: "xr.DataArray | None"
) -> Annotations:
    """Read the annotations of a fit, beside tables of `predicted` categories.

    Categories that only these name are added to the closed set unless that was declared. Of comparisons the largest
    component is kept if so requested. Raises ValueError also if a threshold has all scores on one side.
    """
    given = [own for own in predicted if own is not None]
    table = _read_layout(path, settings, columns, set().union(*map(classifiers_of, given)))
    data = _container_of(table, settings)
    only_predicted: list[str] = []
    if given and settings.kind in ("rankings", "labels") and settings.categories is None:
        from ..reports.study import labels_of

        names = {name for own in given for name in labels_of(named_as(own, data.categories))}
        only_predicted = sorted(names - set(data.categories.tolist()))
    if only_predicted:
        print_note(
            f"categories that classifiers predict and no rater gave: {first_reprs(only_predicted, 3)}; --categories with those "
            "that raters could give refuses other words"
        )
        data = _container_of(table, settings, [*data.categories.tolist(), *only_predicted])
    data = _kept(data, settings, table)
    if settings.by_default and not settings.priors:
        from ..reports.study import told_apart

        data = told_apart(data)
    return Annotations(data, only_predicted, table.also_raters)


def classifiers_of(predicted: "xr.DataArray") -> set[str]:
    """Return the names that the classifiers of predictions have as raters."""
    from ..evaluation.uncertainty.questions import ALONE

    return {*predicted["classifier"].astype(str).values.flat} if "classifier" in predicted.coords else {ALONE}


def read_votes(
    path: Path, settings: Settings, columns: Sequence[str]
) -> tuple["Comparisons", dict[str, Any]]:
    """Read the votes of a fit; return also what the builder needs of their covariates, nothing if there are none."""
    if not settings.vote_covariates:
        return read_annotations(path, settings, columns).data, {}
    table = _read_layout(path, settings, columns)
    data = _kept(_container_of(table, settings), settings, table)
    return data, {"vote_covariates": _votes_one_by_one(path, table, settings, data.items)}


def _votes_one_by_one(path: Path, table: "_Read", settings: Settings, items: np.ndarray) -> dict[str, Any]:
    """Columns of the votes on these items, a row for each, with those of their covariates as numbers."""
    found = table.columns.header.found
    for name in settings.vote_covariates:
        if name in found or name in found.values():
            raise ValueError(f"--vote-covariate {name}: that column has the votes themselves; name another")
    names = {**found, **{name: name for name in (*settings.vote_covariates, *settings.rater_attributes)}}
    cells = cells_of(table.columns.frame, list(dict.fromkeys(names.values())))
    own = {role: cells[name] for role, name in names.items()}
    for name in settings.vote_covariates:
        numbers = as_numbers(path, name, own[name])
        _check_cells(path, name, own[name], np.isfinite(numbers), "is not a finite number; correct the cell")
        own[name] = numbers.tolist()
    words = outcome_words(own["winner"], items, (found["left"], found["right"]))
    own["winner"] = [OUTCOMES[words[own]] if own in words else own for own in own["winner"]]
    rows = np.arange(len(own["left"]))
    if settings.missing == "drop":
        rows = rows[[not any(is_blank(column[row]) for column in own.values()) for row in rows]]
    if settings.no_answer:
        is_none = matcher(settings.no_answer)
        rows = rows[[not is_none(own["winner"][row]) for row in rows]]
    known = {*items.tolist()}
    rows = rows[[own["left"][row] in known and own["right"][row] in known for row in rows]]
    if "count" in own:
        rows = np.repeat(rows, [int(number_of(own["count"][row]) or 0) for row in rows])
    roles = [role for role in ("left", "right", "winner", "rater") if role in own]
    return {name: [own[name][row] for row in rows] for name in (*roles, *settings.vote_covariates)}


def _kept(data: Any, settings: Settings, table: "_Read") -> Any:
    """Clean annotations that were read, check their thresholds, and keep the largest component if so requested."""
    whole = _cleaned(data, settings, table)
    if settings.kind == "scores":
        _check_thresholds(whole, settings.thresholds)
    if not settings.largest_component:
        return whole
    data = whole.largest_component()
    if dropped := len(whole.items) - len(data.items):
        print_text(f"--largest-component leaves out {dropped:,} of the {len(whole.items):,} items")
    return data


def _cleaned(data: Any, settings: Settings, table: "_Read") -> Any:
    """Merge look-alikes and drop duplicates if so requested; else say that there are some.

    In a table with a column of counts repeated answers are meant.
    """
    for what in ("items", "raters", "categories"):
        ids = getattr(data, what, np.array([], int))
        if what == "raters" and table.raters is not None:
            groups = table.raters.alike_among(ids)
            first = table.raters.in_words(groups[0]) if groups else ""
        else:
            groups = look_alikes(ids)
            first = alike_in_words(groups[0]) if groups else ""
        if groups and not settings.merge_look_alikes:
            print_note(
                f"{what} that look alike, such as {first}, are taken to be different ({len(groups):,} "
                f"{'group' if len(groups) == 1 else 'groups'}); --merge-look-alikes takes them as one"
            )
        elif groups:
            print_note(f"--merge-look-alikes takes {what} such as {first} as one")
    hidden = table.raters.suspicious(data.raters) if table.raters else {}
    own = {"items": data.items} | ({} if table.raters else {"raters": data.raters})
    for heading, found in (suspicious_ids(own) | hidden).items():
        if heading in CLEANING:
            print_note(f"{heading}: {found}; {CLEANING[heading]}")
    if settings.merge_look_alikes:
        data = _merged(data, table.raters)
    once = data.without_duplicates()
    if settings.drop_duplicates and getattr(data, "several_prompts", False):
        print_note("--drop-duplicates leaves out no vote: the table says on which prompt each was given")
    if (repeated := len(data) - len(once)) and settings.drop_duplicates:
        print_note(f"--drop-duplicates leaves out {repeated:,} of the {len(data):,} annotations")
        return once
    if repeated and "count" not in table.columns.header.found and not settings.vote_covariates:
        print_note(
            f"{repeated:,} of the {len(data):,} annotations repeat another of the same rater exactly, and are counted again; "
            "--drop-duplicates counts each once"
        )
    if (
        (other := data.contradictions())
        and "count" not in table.columns.header.found
        and not settings.vote_covariates
    ):
        print_note(contradictions_in_words(other, len(data)))
    return data


def _merged(data: Any, raters: Raters | None) -> Any:
    """Merge look-alikes, also of raters whose names were replaced."""
    return data.with_look_alikes_merged(None if raters is None else raters.alike_among(data.raters))


EMPTY = "if so, empty these cells: --drop-missing leaves their rows out"
# findings of `report` -> the option that cleans them
REPEATED = "repeated "
CLEANING = {
    REPEATED: "--drop-duplicates counts exact repeats once",
    "look-alike ": "--merge-look-alikes takes them as one",
    "categories that may be missing": "if so, --no-answer leaves them out",
    "items that may be missing": EMPTY,
    "raters that may be missing": EMPTY,
}


def check_table(path: Path, settings: Settings, columns: Sequence[str]) -> str:
    """Read and clean a table; return a summary, with the option that cleans it in the line of each finding."""
    data, raters = read_container(path, settings, columns)
    if settings.merge_look_alikes:
        data = _merged(data, raters)
    if settings.drop_duplicates:
        data = data.without_duplicates()
    return _report_with_options(data, raters.suspicious(data.raters) if raters else {})


def _report_with_options(data: Any, hidden: Mapping[str, str]) -> str:
    """Summary of a container, with the option that cleans it in the line of each finding; `hidden` are further findings."""
    report = data.report().split("\n")
    report += [f"  {heading}  {text}" for heading, text in hidden.items()]
    lines, exact = [], len(data.without_duplicates()) < len(data)
    for line in report:
        heading, *_ = line.strip().split("  ")
        options = [own for part, own in CLEANING.items() if part in heading and (exact or part != REPEATED)]
        lines.append(" ".join([line, *(f"({own})" for own in options)]))
    return "\n".join(lines)


def read_container(path: Path, settings: Settings, columns: Sequence[str]) -> tuple[Any, Raters | None]:
    """Read a container as it is in a table, and the numbers of raters whose names were replaced; ids are text.

    Raises ValueError if an option belongs to other kinds of annotations. Columns by kind:

    ====================  =====================================================================================
    kind                  columns
    ====================  =====================================================================================
    rankings              item, rater, category, rank, perhaps shown
    labels                item, rater, label, perhaps count, gold and order; layout "wide": a column for each rater beside
                          item and count; layout "counts": a column for each category beside item
    comparisons           left, right, winner, perhaps rater and count
    scores                item, score, perhaps rater and count; layout "wide": a column for each rater beside item;
                          layout "counts": a column for each score beside item
    ====================  =====================================================================================

    Comparisons and scores without a column of raters are anonymous.
    """
    table = _read_layout(path, settings, columns)
    return _container_of(table, settings), table.raters


class _Read(NamedTuple):
    """Table that was read."""

    columns: Prepared
    raters: Raters | None = None  # their numbers, if names were replaced
    also_raters: Sequence[str] = ()  # classifiers with the name of a rater, if names were replaced


def _read_layout(
    path: Path, settings: Settings, columns: Sequence[str], classifiers: Collection[str] = ()
) -> _Read:
    """Read a table of annotations, and say how if it is not plain; with ``--anonymize`` without the names of the raters."""
    categories, levels = settings.categories, settings.levels
    categories = categories if categories is None else declared_categories(categories)
    levels = levels if levels is None else listed("levels", levels)
    asked, words = _asked(settings, columns, categories=categories, levels=levels), _words(path)
    with _quoting(path, settings, columns):
        table, pairs = opened(path, asked, words)
        asked = replace(asked, columns=pairs)
        raters, also_raters = None, []
        header = annotation_header(table.names, asked, words)
        if settings.anonymize:
            also_raters = _also_raters(table, header, asked.layout, classifiers)
            table, header, raters = _without_names(table, header, asked.layout, path)
        own = prepared(table, header, asked, words)
    return _Read(own, raters, also_raters)


def _also_raters(table: TableFile, header: Header, layout: str, classifiers: Collection[str]) -> list[str]:
    """Return the classifiers that have the name of a rater."""
    if not classifiers or layout == "counts" or (layout == "long" and "rater" not in header.found):
        return []
    names = (
        header.free()
        if layout == "wide"
        else cells_of(table.columns, [header.found["rater"]])[header.found["rater"]]
    )
    return sorted({*map(str, names)} & {*classifiers})


def _without_names(
    table: TableFile, header: Header, layout: str, path: Path
) -> tuple[TableFile, Header, Raters]:
    """Replace the names of the raters, which stand in a column or, in a wide table, above their columns."""
    if layout == "wide":
        names = [name for name in header.free() if folded(name) != "gold"]
        kept = [name for name in header.names if name not in names]
        table, number, raters = without_named_columns(table, names, kept)
        listed = [number[name] for name in header.listed]
        return table, replace(header, names=[number.get(n, n) for n in header.names], listed=listed), raters
    if layout == "counts" or "rater" not in header.found:
        return table, header, Raters()
    try:
        table, raters = without_names(table, header.found["rater"])
    except DataError as error:
        raise error.moved(f"{path.name} (rows counted below the header), {error.where}") from None
    return table, header, raters


def _container_of(read: _Read, settings: Settings, categories: Sequence[str] | None = None) -> Any:
    """Return the container of a table that was read, perhaps with a closed set of categories."""
    own = read.columns
    if categories is not None:
        own = own._replace(asked=replace(own.asked, options={**own.asked.options, "categories": categories}))
    # a wide table may be taken for counts by mistake: then the names of raters stand above the columns
    hidden = settings.layout == "counts" and read.raters is not None
    try:
        with quotes_hidden(may_show((), settings.layout)) if hidden else nullcontext():
            data = container_of(own)
    except DataError as error:
        error.remedy = on_command_line(error.remedy)
        raise
    return data if read.raters is None else raters_in_order(data, read.raters.numbers)


def _check_thresholds(scores: "Scores", thresholds: Sequence[float]) -> None:
    """Raise if all items would lie on one side of a threshold."""
    what, ends = "the bounds of the scores", scores.bounds
    if ends is None and len(scores):
        what, ends = "the scores", (float(scores.score.min()), float(scores.score.max()))
    for threshold in thresholds:
        # no score can exceed the upper bound, but future ones can exceed the highest observed
        at_end = scores.bounds is not None and threshold == scores.bounds[1]
        if ends is not None and (at_end or not ends[0] <= threshold <= ends[1]):
            raise ValueError(
                f"--threshold {threshold:g} lies outside {what}, {ends[0]:g} to {ends[1]:g}: all items would be on one side; "
                "choose one within"
            )


def declared_categories(categories: str) -> list[str]:
    """Return the categories of a text file, or of a comma-separated list."""
    if isfile(categories):  # Path.is_file raises in Python 3.12 if the text is too long for a name
        return [line for text in text_lines(Path(categories)) if (line := text.rstrip("\r\n"))]
    return listed("categories", categories, "there is no such file; name one, or ")


def listed(name: str, text: str, instead: str = "") -> list[str]:
    """Split a comma-separated list, the value of an option; `instead` begins the remedy of one without commas."""
    if "," not in text:
        raise ValueError(f"--{name} {text}: {instead}write the {name} with commas: a,b,c")
    return [own.strip() for own in text.split(",")]


def read_predictions(
    path: Path, columns: Sequence[str], *, missing: Missing = "error", question: str | None = None
) -> "xr.DataArray":
    """Read predictions of categories, as `predicted_categories` does.

    `columns` are renamings of columns that the file has; `question` is that of an export with several.
    """
    table = prediction_table(path, pairs_of(columns), _words(path), question=question)
    return predicted_categories(table, missing=missing)


def read_order_scores(path: Path, columns: Sequence[str], *, missing: Missing = "error") -> "xr.DataArray":
    """Read rankings of the items (classifier, item) from a column score or rank, and perhaps classifier.

    Larger scores are better; ranks are negated. A missing row is -inf. One classifier without a name is
    "predictions".
    """
    words, synonyms = _words(path), {"item": "compared"}
    table = prediction_table(path, pairs_of(columns), words, roles=("score", "rank"), synonyms=synonyms)
    order, header = order_of(table), table.header
    if order is None:
        raise ValueError(
            f"{path}: there is no column 'score' and no column 'rank' that orders the items; the columns are "
            f"{first_reprs(header.names)}"
        )
    own = asked_cells(table, missing)
    numbers = as_numbers(path, header.found[order], own[header.found[order]])
    item = header.found["item"]
    rows = {item: own[item], "score ": numbers if order == "score" else -numbers}
    rows |= {"category ": np.full(len(numbers), "score")}
    classifier = header.found.get("classifier", "classifier ")
    rows[classifier] = own.get(classifier, np.full(len(numbers), "predictions"))
    _check_distinct(path, item, [str(name) for name in own[item]], [str(name) for name in rows[classifier]])
    from ..evaluation import predictions_from_table

    scores = predictions_from_table(
        rows, item=item, category="category ", score="score ", classifier=classifier
    )
    return scores.isel(category=0, drop=True)


def _check_cells(path: Path, column: str, cells: Sequence[Any], valid: np.ndarray, problem: str) -> None:
    """Raise with file, row and column at the first cell that is not valid; `problem` completes the message."""
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(f"{path}: row {row + 1}, column {column!r}: {short_repr(cells[row])} {problem}")


# --- Concordance of proposed rankings with the posterior of comparisons ---


def read_orders(
    path: Path, columns: Sequence[str], items: np.ndarray, *, missing: Missing = "error"
) -> "xr.DataArray":
    """Read scores or ranks of the items, aligned to the items of the votes, dims (classifier, item).

    Larger scores are better. Raises ValueError if an item has no votes, or no score.
    """
    from ..reports.sections.comparisons import and_more

    orders = read_order_scores(path, columns, missing=missing)
    voted = items.tolist()
    if strange := [item for item in orders["item"].to_numpy().tolist() if item not in set(voted)]:
        raise ValueError(
            f"{path}: {strange[0]!r}{and_more(strange)}: not among the {len(voted):,} items of the votes, such as {voted[0]!r}; "
            "correct the spelling, or leave it out"
        )
    orders = orders.reindex(item=voted)
    for classifier, own in zip(orders["classifier"].to_numpy(), orders.to_numpy(), strict=True):
        if absent := items[~np.isfinite(own)].tolist():
            whose = f" of classifier {str(classifier)!r}" if str(classifier) != "predictions" else ""
            raise ValueError(
                f"{path}: there is no row{whose} for the item {absent[0]!r}{and_more(absent)}; order all items of the votes"
            )
    return orders


# --- Files of groups: of the categories, such as their risk, perhaps with a value; or of the items ---


def read_groups(path: Path) -> Groups:
    """Read the groups of categories from a table with columns category, group and, optionally, value."""
    table = _columns(path, ("category", "group"))
    category, group = (_texts(path, name, table[name]) for name in ("category", "group"))
    _check_distinct(path, "category", category)
    value = None
    if "value" in table:
        numbers = as_numbers(path, "value", table["value"])
        _check_cells(path, "value", table["value"], np.isfinite(numbers), "is not finite")
        order = np.argsort(numbers, kind="stable")  # groups are shown in increasing order of value
        category, group = ([cells[i] for i in order] for cells in (category, group))
        value = dict(zip(category, numbers[order].tolist(), strict=True))
    return Groups(path, dict(zip(category, group, strict=True)), value)


def read_item_groups(path: Path) -> "Groups | xr.DataArray":
    """Read groups of categories or, from a file with a column item, of items (item,)."""
    import xarray as xr

    names = read_file(path).names
    if "category" in names or "item" not in names:
        return read_groups(path)
    table = _columns(path, ("item", "group"))
    item, group = (_texts(path, name, table[name]) for name in ("item", "group"))
    _check_distinct(path, "item", item)
    return xr.DataArray(np.array(group), {"item": np.array(item)}, ("item",))


SAMPLE_ROLES = {"strata": "stratum", "clusters": "cluster", "sampling": "probability"}  # arguments -> columns


def read_sample(path: Path, items: np.ndarray) -> "dict[str, xr.DataArray]":
    """Read how items were chosen for people, as the arguments of `evaluation.rectified`, for all of `items` in their order."""
    import xarray as xr

    names = read_file(path).names
    roles = {role: column for role, column in SAMPLE_ROLES.items() if column in names}
    if "item" not in names or not roles:
        raise ValueError(
            f"{path}: expected a column 'item' and one of 'stratum', 'cluster' and 'probability'; the columns are "
            f"{first_reprs(names)}"
        )
    table = _columns(path, ("item", *roles.values()))
    ids = _texts(path, "item", table["item"])
    _check_distinct(path, "item", ids)
    place = {name: row for row, name in enumerate(ids)}
    if missing := [name for name in items.tolist() if str(name) not in place]:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise ValueError(
            f"{path}: there is no row for item {short_repr(missing[0])}{more}; every item needs one"
        )
    rows = [place[str(name)] for name in items.tolist()]
    if other := len(place) - len(rows):
        print_note(f"{path}: rows of items that are not in the answers, which are left out: {other:,}")
    found = {}
    for role, column in roles.items():
        cells = table[column]
        values = (
            as_numbers(path, column, cells) if role == "sampling" else np.array(_texts(path, column, cells))
        )
        found[role] = xr.DataArray(values[rows], {"item": items}, ("item",))
    return found


def read_clusters(path: Path | None, items: np.ndarray) -> "xr.DataArray | None":
    """Read the cluster of each of `items` from the columns item and cluster of a table; None without a file."""
    if path is None:
        return None
    found = read_sample(path, items)
    if "clusters" not in found:
        raise ValueError(f"{path}: there is no column 'cluster'; name the column of clusters so")
    return found["clusters"]


def _columns(path: Path, needed: Sequence[str]) -> dict[str, list[Any]]:
    """Cells of the columns of a file of groups."""
    table = read_file(path)
    names = table.names
    for name in needed:
        if name not in names:
            raise ValueError(
                f"{path}: there is no column {name!r}; a file of groups has category, group and perhaps value, or item and "
                f"group; the columns are {first_reprs(names)}"
            )
    roles = {name: name for name in (*needed, "value") if name in names}
    return {name: list(column.values) for name, column in named_columns(table.columns, roles).items()}


def _texts(path: Path, column: str, texts: list[Any]) -> list[str]:
    """Validate that all cells are text and none is empty."""
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"{path}: row {row + 1}, column {column!r} is empty; fill it in, or delete the row"
            )
    return texts


def _check_distinct(path: Path, column: str, names: list[str], within: list[str] | None = None) -> None:
    """Raise ValueError at a name that is there twice, or twice with the same one of `within`."""
    first: dict[tuple[str, str], int] = {}
    for row, key in enumerate(zip(names, within or [""] * len(names), strict=True)):
        if (earlier := first.setdefault(key, row)) != row:
            raise ValueError(
                f"{path}: row {row + 1}: the {column} {short_repr(key[0])} is there twice, first in row {earlier + 1}; keep one "
                "of them"
            )


# --- Predictions of the side of a threshold ---

WAYS = ("probability", "score", "label")


def read_sides(
    path: Path, columns: Sequence[str], threshold: float, *, missing: Missing = "error"
) -> "xr.DataArray":
    """Read predictions of the side of a threshold of each item.

    The table has a column item, optionally classifier, and one of: probability (that the score is above the
    threshold), score (on the scale of the raters), label ("above" or "at most"); of several the first. The
    result has probabilities or scores (item, category), or labels (item, position), with a leading dim
    classifier if there are several. Its attribute ``way`` is the name of the role.
    """
    from ..evaluation import predictions_from_table
    from ..reports.sections.scores import sides_of

    table = prediction_table(path, pairs_of(columns), _words(path), roles=WAYS, synonyms={"label": "side"})
    header = table.header
    way = _way_of(path, header, threshold)
    own = asked_cells(table, missing)
    named, item, classifier = header.found[way], header.found["item"], header.found.get("classifier")
    cells = own[named]
    ids = {name: own[name] for name in (item, classifier) if name}
    if way == "label":
        ids |= {"category ": _named(path, named, cells, threshold), "rank ": np.ones(len(cells))}
        found = predictions_from_table(
            ids, item=item, category="category ", rank="rank ", classifier=classifier
        )
        return found.assign_attrs(way=way)
    above = _numbers(path, way, named, cells)
    below = 1 - above
    if way == "score":
        above, below = above - threshold, threshold - above
    lower, upper = sides_of(threshold)
    both: dict[str, Any] = {name: [*column, *column] for name, column in ids.items()}
    both["category "] = np.repeat([upper, lower], len(above))
    both["score "] = np.concatenate([above, below])
    found = predictions_from_table(
        both, item=item, category="category ", score="score ", classifier=classifier
    )
    return found.sel(category=[lower, upper]).assign_attrs(
        way=way
    )  # a score equal to the threshold is not above


def _way_of(path: Path, header: Header, threshold: float) -> str:
    """Return the role of the column that holds the predictions, and say which one if there are several."""
    ways = [way for way in WAYS if way in header.found]
    if not ways:
        raise ValueError(
            f"{path}: found columns {first_reprs(header.names)}; predictions of scores have item, perhaps classifier, and one "
            f"of: probability (of a score above {threshold:g}), score (on the scale of the raters), label (above or at most)"
        )
    if len(ways) > 1:
        out = " and ".join(short_repr(header.found[way]) for way in ways[1:])
        print_note(f"{path.name}: reading column {short_repr(header.found[ways[0]])}; {out} left out")
    return ways[0]


def _named(path: Path, column: str, cells: Sequence[Any], threshold: float) -> np.ndarray:
    """Return the side named by each cell."""
    from ..reports.sections.scores import sides_of

    lower, upper = sides_of(threshold)
    meant = {"at most": lower, lower: lower, "above": upper, upper: upper}
    known = np.array([isinstance(cell, str) and cell in meant for cell in cells], bool)
    _check_cells(path, column, cells, known, f"is neither 'above' nor 'at most' the threshold {threshold:g}")
    return np.array([meant[cell] for cell in cells], np.str_)


def _numbers(path: Path, way: str, column: str, cells: Sequence[Any]) -> np.ndarray:
    """Return predicted scores or probabilities as numbers."""
    numbers = as_numbers(path, column, cells)
    fine, allowed = np.isfinite(numbers), "a finite number"
    if way == "probability":
        fine, allowed = (numbers >= 0) & (numbers <= 1), "a probability, from 0 to 1"
    _check_cells(path, column, cells, fine, f"is not {allowed}; correct the cell")
    return numbers


def check_side_metrics(metrics: Sequence[str], predicted: "xr.DataArray") -> None:
    """Raise if a metric needs a kind of prediction that is not given."""
    from ..reports.metric_names import metric_named

    way = predicted.attrs["way"]
    enough = {"probabilities": ("probability",), "scores": ("probability", "score")}
    for name in metrics:
        needed = str(metric_named(name).response)
        if way not in enough.get(needed, WAYS):
            columns = " or ".join(map(repr, enough[needed]))
            raise ValueError(
                f"--metric {name} needs {needed}, and the predictions have a column {way!r}: give a column {columns} instead"
            )
