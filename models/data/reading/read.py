"""The one door of annotations: any file, export or frame becomes a container."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...._messages import first_reprs, short_repr, warn_user
from ....posterior.table_text import TRADE, folded, renamed_in_words
from ..comparisons import Comparisons
from ..errors import DataError, DataWarning
from ..exports.tools import TOOLS
from ..no_answers import NoAnswer, listed_answers
from .columns import Missing
from .comparison_tables import OUTCOMES, outcome_words
from .files import TableFile
from .folders import JoinedTable
from .frames import (
    BEST_WORST,
    KINDS,
    PREFERRED,
    PYTHON,
    Wording,
    column_names,
    named_columns,
    unread_in_words,
)
from .headers import CONTAINERS, LISTED, Asked, Container, Header, annotation_header, door_of
from .label_cells import turk_roles
from .long_tables import Keep, tells_time
from .numbers import decimal_points, is_number
from .ranked_lists import ranking_roles
from .sources import TABLE, exporting_tool, opened, paths_of
from .stated import PROBABILITY
from .vote_shapes import derived_outcomes, is_derived, vote_roles
from .wide_tables import odd_raters

GUESSED = ("comparisons", "rankings", "labels", "scores")  # the kinds that need most columns first
READ = PYTHON._replace(
    column=lambda role, name: f"{role!r}: {name if name == '...' else short_repr(name)}",
    kind=lambda kind: f"these look like {kind}, which kind={kind!r} reads",
    wide=lambda kind: "layout='wide' reads it",
    several="columns={'label': [..., ...]} if each category has one",
    named=lambda columns: f"columns={{{columns}}}",
    repeated=lambda role, names: f"columns={{{role!r}: {short_repr(list(names))}}}",
    silenced=lambda found: (
        f"; {READ.named(READ.separator.join(starmap(READ.column, found.items())))} says so without this warning"
    ),
    raters_optional=False,
)


def read(
    source: Any,
    kind: str | None = None,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    layout: str = "long",
    tool: str | None = None,
    categories: Sequence[Any] | np.ndarray | None = None,
    bounds: Sequence[float] | None = None,
    rater_attributes: Sequence[str] = (),
    missing: Missing = "error",
    no_answer: NoAnswer = (),
    keep: Keep = "all",
    taxonomy: Mapping[Any, Any] | None = None,
    levels: Sequence[Any] | np.ndarray | None = None,
    tags: Sequence[str] | None = None,
) -> Container:
    """Read annotations of any kind from a file, an export of an annotation tool, or a frame.

    Parameters
    ----------
    source : path, sequence of paths, frame or mapping of str to sequence
        Table file (CSV, TSV, JSON, JSON lines, Excel, Parquet), export of a tool, pandas, polars or pyarrow frame, or column
        name -> cells. The files of a folder, or those named, are one table; without a column of raters the name of each file
        is a rater, and a warning says so.
    kind : {"labels", "rankings", "comparisons", "scores"}, optional
        Kind of annotation; by default the columns tell.
    columns : mapping of str to str, optional
        Role -> name of its column, such as ``{"item": "case", "label": "verdict"}``; by default the name of the role or another
        of the trade. Several names of labels are columns of categories: ``{"label": ["is_cat", "is_dog"]}``. Times of labels,
        ``{"time": "answered_at"}``, are kept; by default those of a column called time. Probabilities that raters state are
        read as ``{"probability": "p_yes"}``, as by `Labels.from_table`.
    layout : {"long", "wide", "counts"}, default "long"
        A row for each answer; for labels and scores also a column for each rater, or for each category.
    tool : str, optional
        Tool that wrote an export, as for `models.read_export`; by default the content tells.
    categories : sequence, optional
        Of labels and rankings: the closed set of categories.
    bounds : pair of float, optional
        Of scores: the lowest and the highest possible one.
    rater_attributes : sequence of str
        Columns with attributes of the raters, such as kind = person | model.
    missing : {"error", "drop"}, default "error"
        Whether a row with an empty cell is refused or left out.
    no_answer : sequence, optional
        Answers that are no truth, such as "unsure" or -1, in any case: they are left out; a warning says how many.
    keep : {"all", "first", "last"}
        Of several answers of a rater to an item, or pair of items, those that count, by a column of times, which
        ``columns={"time": ...}`` names, else by the order of the rows.
    taxonomy : mapping, optional
        Of labels: parent of each category, see `Labels.from_table`.
    levels : sequence, optional
        Of comparisons: scale of preference, the strongest level for the left item first, see `Comparisons.from_table`.

    tags : sequence of str, optional
        Of labels: tags of which an answer is a set, such as "a|b" or columns of 0 and 1, see `Labels.from_table`.

    Returns
    -------
    Labels, PartialRankings, Comparisons or Scores
        The annotations.

    Raises
    ------
    DataError
        If the columns tell no kind, or the table is not one of that kind; with row, column, value and remedy.

    Examples
    --------
    >>> import raterzoo
    >>> labels = raterzoo.read({"item": [*"aab"], "rater": [*"xyx"], "label": ["yes", "no", "yes"]})
    >>> type(labels).__name__, len(labels)
    ('Labels', 3)
    """
    pairs = [
        (role, own)
        for role, name in (columns or {}).items()
        for own in ([name] if isinstance(name, str) else name)
    ]
    paths = paths_of(source)
    words = READ
    if paths is not None:
        file = (paths if isinstance(paths, Path) else paths[0]).name
        words = READ._replace(where=file, say=lambda text: warn_user(f"{file}: {text}", DataWarning))
        # cells of a file are text
        categories, levels = (own if own is None else [*map(_text, own)] for own in (categories, levels))
        taxonomy = taxonomy and {_text(node): above and _text(above) for node, above in taxonomy.items()}
    options = {
        "categories": categories,
        "taxonomy": taxonomy,
        "levels": levels,
        "bounds": bounds,
        "tags": tags,
        "missing": missing,
        "no_answer": listed_answers(no_answer),
        "keep": keep,
        "rater_attributes": tuple(rater_attributes),
    }
    asked = Asked(kind or "", layout, pairs, tool, options=options)
    if isinstance(paths, Path) and not kind:
        exported = exporting_tool(paths, asked, words)
        asked = replace(asked, tool=exported or TABLE)  # so that it is not looked for again
        kind = TOOLS[exported].kind if exported else None
        if exported and kind is None:
            raise DataError(
                "an export may hold several kinds of annotation",
                remedy='say which one, such as kind="labels"',
                where=words.where,
            )
    stated = PROBABILITY in dict(pairs) or tags is not None
    asked = replace(asked, kind=kind or ("labels" if stated else ""))
    table, pairs = opened(source, asked, words)
    asked = replace(
        asked, kind=asked.kind or _kind_of(column_names(table.columns), dict(pairs)), columns=pairs
    )
    if asked.kind not in CONTAINERS:
        raise DataError(
            f"kind={short_repr(kind)} is no kind of annotation",
            value=kind,
            allowed=", ".join(map(repr, CONTAINERS)),
            remedy="choose one",
            where="argument kind",
        )
    header = annotation_header(column_names(table.columns), asked, words)
    accepted = {*signature(door_of(asked)).parameters, *LISTED.get(layout, ())}
    if unknown := [role for role in header.others.values() if role not in accepted]:
        raise DataError(
            f"{short_repr(unknown[0])} is no column of {asked.kind} in the {layout} layout",
            value=unknown[0],
            allowed=", ".join(KINDS[asked.kind].roles),
            remedy="name a role that there is",
            where="argument columns",
        )
    return container_of(prepared(table, header, asked, words))


def _text(value: Any) -> Any:
    """Text of a whole number, as a file has it."""
    return str(value) if isinstance(value, int | np.integer) else value


class Prepared(NamedTuple):
    """Columns of a table as they are to be read."""

    frame: Any
    free: Sequence[Any]  # those of raters, categories or scores, unless the table is long
    table: TableFile
    header: Header
    asked: Asked
    words: Wording


def prepared(table: TableFile, header: Header, asked: Asked, words: Wording) -> Prepared:
    """Prepare the columns of a table.

    Says which columns are not read, or were found by a synonym; derives outcomes; reads decimal commas of a file as points.
    """
    long = asked.layout == "long"
    if long:
        taken = {*header.found.values(), *header.others}
        taken |= {*asked.covariates, *asked.given.get("rater_attributes", ()), *asked.given.get("tags", ())}
        if unread := unread_in_words(table.columns, taken, asked.kind, words, timed="keep" in asked.given):
            words.say(unread)
    numbers = ["score", *asked.covariates] if long else header.free() if asked.layout == "wide" else []
    frame = renamed(table, header, numbers, words)
    free = [] if long else _free_columns(frame, header, asked, words)
    if asked.layout == "wide" and not header.listed:
        repeated = partial(words.repeated, "rater")
        if odd := odd_raters(cells_of(frame, free), asked.kind, repeated):
            words.say(odd)
    return Prepared(frame, free, table, header, asked, words)


def renamed(table: TableFile, header: Header, numbers: Sequence[Any], words: Wording) -> Any:
    """Columns of a table, some under other names, with decimal points in `numbers`, which are roles or columns."""
    frame = table.columns
    if table.note:
        (words.say if isinstance(table, JoinedTable) else words.mention)(f"reading {table.note}")
    if said := renamed_in_words(header.by_synonym):
        words.say(f"reading {said}{words.silenced(header.by_synonym)}")
    if said := renamed_in_words(header.by_shape):
        words.mention(f"reading {said}")
    for name, cell in table.guarded.items():
        words.mention(
            f"reading {short_repr(cell)} in column {short_repr(name)} without its first apostrophe, which guards text from being "
            "run as a formula"
        )
    derived = [
        name for role, name in header.found.items() if role == "winner" and is_derived(name, header.names)
    ]
    if header.others or derived:
        whole: Any = frame if isinstance(frame, Mapping) else cells_of(frame, header.names)
        more = {role: whole[name] for name, role in header.others.items()}
        frame = ChainMap(more | {name: derived_outcomes(name, whole) for name in derived}, whole)
    for name in (header.found.get(role, role) for role in numbers):
        if table.may_have_commas and name in header.names and (points := decimal_points(frame[name])):
            frame = ChainMap({name: points}, frame)
            words.say(f"reading decimal commas as points in column {short_repr(name)}")
    return frame


def container_of(own: Prepared) -> Container:
    """Read the container of a table that was prepared."""
    frame, header, asked, words = own.frame, own.header, own.asked, own.words
    read, given = door_of(asked), asked.given
    accepted = signature(read).parameters
    given |= header.found
    if given.get("time") == "time" and not tells_time(frame, "time"):
        del given["time"]  # a column of that name, which holds something else
        words.say("column 'time' is not read: its cells are no times")
    given |= {role: name for name, role in header.others.items() if role == "time"}
    if asked.layout == "long":
        given |= {"rater": header.found.get("rater")}
    else:
        given |= {"raters": own.free}
        if asked.layout == "counts":
            frame = cells_of(frame, [header.found["item"], *own.free])
    try:
        data = read(frame, **{name: value for name, value in given.items() if name in accepted})
    except DataError as error:
        if isinstance(own.table, JoinedTable):
            raise own.table.placed(error) from None
        if error.row is not None and own.table.records:
            error.where = f"{words.where}, record {own.table.records[error.row - 1]:,}, {error.where}"
        elif error.row is not None and words.where != PYTHON.where:  # of which table, as commands read two
            error.where = f"{words.where} (rows counted below the header), {error.where}"
        raise
    if isinstance(data, Comparisons) and "levels" not in given:
        _say_outcome_words(frame, header, data.items, words)
    return data


def _say_outcome_words(frame: Any, header: Header, items: np.ndarray, words: Wording) -> None:
    """Mention which words of the column of winners were read as which outcome."""
    name = header.found["winner"]
    sides = (header.found["left"], header.found["right"])
    meant = [
        f"{short_repr(word)} as {OUTCOMES[place]}"
        for word, place in sorted(outcome_words(cells_of(frame, [name])[name], items, sides).items())
        if word not in OUTCOMES
    ]
    if meant:
        words.mention(f"reading in column {short_repr(name)} {', '.join(meant)}")


def _free_columns(frame: Any, header: Header, asked: Asked, words: Wording) -> list[Any]:
    """Columns of raters, categories or scores; unless they were listed, those that cannot be are left out."""
    free = header.free()
    if header.listed:
        return free
    if asked.layout == "wide" and (gold := [name for name in free if folded(name) == "gold"]):
        words.say(f"a wide table has no place for gold labels: column {short_repr(gold[0])} is left out")
        free = [name for name in free if name not in gold]
    if (asked.kind, asked.layout) == ("labels", "wide"):
        return free
    cells = cells_of(frame, free)
    kept = [name for name in free if any(map(is_number, cells[name]))]
    if kept and (out := [name for name in free if name not in kept]):
        words.say(f"columns without a number are left out: {first_reprs(out)}")
    return kept or free


def cells_of(frame: Any, names: Sequence[Any]) -> dict[Any, list[Any]]:
    """Cells of columns by name."""
    return {name: list(column.values) for name, column in named_columns(frame, {n: n for n in names}).items()}


def likeliest_kind(names: Sequence[str], given: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the kind of annotation that lacks the fewest columns, and these; of several the one that needs most."""
    texts = {folded(name) for name in names}
    roles = {role: given.get(role, role) for role in KINDS["comparisons"].roles}
    if vote_roles(names, roles) != roles:  # a winner and a loser, or an arena's models
        return "comparisons", []
    known = {*given, *(["label"] if turk_roles(names, {"label": "label"}) != {"label": "label"} else [])}
    lacking = {
        kind: [role for role in KINDS[kind].roles if role not in known and not TRADE[role] & texts]
        for kind in GUESSED
    }
    kind = min(GUESSED, key=lambda own: len(lacking[own]))
    roles = {role: given.get(role, role) for role in KINDS["rankings"].roles}
    if lacking[kind] and (BEST_WORST <= texts or ranking_roles(names, roles) != roles):
        return "rankings", []
    if lacking[kind] and {*PREFERRED} <= texts:
        return "comparisons", []
    return kind, lacking[kind]


def _kind_of(names: Sequence[str], given: Mapping[str, str]) -> str:
    """Return the kind of annotation that has all its columns; raise if none has."""
    kind, lacking = likeliest_kind(names, given)
    if not lacking:
        return kind
    raise DataError(
        f"the columns {first_reprs(names)} are those of no kind of annotation",
        allowed="item, rater and label (labels); left, right and winner (comparisons); item and score (scores); item, rater, "
        "category and rank (rankings)",
        remedy='say which, such as kind="labels", and name the columns: columns={"item": ..., "label": ...}',
    )
