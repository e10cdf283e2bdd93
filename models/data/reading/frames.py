"""Columns of a table: found by role or synonym, and read as Python values and their codes from any frame."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import narwhals as nw
import numpy as np

from ...._messages import short_repr, warn_user
from ....posterior.table_text import TRADE, columns_alike, folded
from ..errors import DataError, DataWarning
from .coded_cells import CodedCells, coded_cells, coded_integers


class _Kind(NamedTuple):
    """Container of a kind of annotation, the roles of its long table, and that of the answer."""

    container: str
    roles: tuple[str, ...]
    answer: str


KINDS = {
    "comparisons": _Kind("Comparisons", ("left", "right", "winner"), "winner"),
    "rankings": _Kind("PartialRankings", ("item", "rater", "category", "rank"), "category"),
    "labels": _Kind("Labels", ("item", "rater", "label"), "label"),
    "scores": _Kind("Scores", ("item", "score"), "score"),
}


OF_IDS = ("item", "rater", "left", "right", "classifier")  # roles whose columns may be keys
_KEY = re.compile(r"(?i:[_ -]id|^id)$|[a-z]I[dD]$")  # names of keys
_KEY_OF_ROWS = re.compile(r"(annotation|answer|judge?ment|label|rating|record|response|row|vote)id")  # folded


def _argument(name: str, value: object = None) -> str:
    """Argument of a call, perhaps with its value."""
    return name if value is None else f"{name}={short_repr(value)}"


class Wording(NamedTuple):
    """Remedies and notes in the words of Python or of the command line."""

    column: Callable[[str, str], str]  # role, name of the column or "..."
    kind: Callable[[str], str]
    wide: Callable[[str], str]
    several: str  # of a table with a column for each category
    separator: str = ", "
    where: str = "the table"
    option: Callable[..., str] = _argument  # name, perhaps value
    place: Callable[[str], str] = lambda name: f"argument {name}"  # of an error about an option
    named: Callable[[str], str] = str  # columns in words, one or several
    repeated: Callable[[str, Sequence[str]], str] = lambda role, names: f"{role}={short_repr(list(names))}"
    # suffix of a note on columns that were found by a synonym: how to read them without it
    silenced: Callable[[Mapping[str, str]], str] = lambda found: ""
    raters_optional: bool = True  # rater=None is a choice
    say: Callable[[str], None] = lambda text: warn_user(text, DataWarning)  # what a reader should know
    mention: Callable[[str], None] = lambda text: None  # how a table was read, of interest where it is shown


PYTHON = Wording(
    lambda role, name: f"{role}={name if name == '...' else short_repr(name)}",
    lambda kind: f"these look like {kind}, which models.{KINDS[kind].container}.from_table reads",
    lambda kind: f"read it by models.{KINDS[kind].container}.from_wide",
    "label=[..., ...] if each category has one",
)


_STATED = {"confidence", "certainty", "probability"}
_UNREAD = TRADE["time"] | _STATED | {"leadtime", "duration", "prompt", "status"}
PREFERRED = ("chosen", "rejected")  # columns of votes, by default of texts
LISTS = frozenset(("ranking", "rankings", "ranked", "rankedlist", "rankorder"))  # columns of ranked lists
BEST_WORST = frozenset(("best", "worst"))  # columns of the ends of rankings
REFUSED = ("rejected", "returned", "timedout", "screenedout")  # statuses of submissions to Prolific
_OF_PROLIFIC = {*REFUSED, "active", "approved", "awaitingreview", "reserved", "partiallyapproved"}
_OF_TIES = {"tie", "tied", "istie", "draw", "isdraw"}


def is_of_prolific(frame: Any, name: str) -> bool:
    """Whether all cells of a column are statuses of submissions to Prolific: others may be of anything."""
    values = named_columns(frame, {name: name})[name].values
    distinct = values.distinct if isinstance(values, CodedCells) else values
    texts = {folded(cell) for cell in distinct} - {""}
    return bool(texts) and texts <= _OF_PROLIFIC


def unread_in_words(frame: Any, taken: Collection[str], kind: str, words: Wording, *, timed: bool) -> str:
    """Say which columns of time, confidence, prompt and status are not read; empty if none is there.

    `timed` says that times choose answers.
    """
    read = {"prompt"} if kind == "comparisons" else set()  # of votes it tells duplicates apart
    read |= TRADE["time"] if timed else set()
    unread = _UNREAD - read | (_OF_TIES if kind == "comparisons" else set())
    unread |= set() if kind == "rankings" else {"shown"}
    found = [name for name in column_names(frame) if name not in taken and folded(name) in unread]
    found = [name for name in found if folded(name) != "status" or not is_of_prolific(frame, name)]
    if not found:
        return ""
    said = f"not read: column{'s' * (len(found) > 1)} {', '.join(map(short_repr, found[:5]))}"
    stated = next((name for name in found if folded(name) in _STATED), None)
    if any(folded(name) in _OF_TIES for name in found):
        return f"{said}; a tie is the word tie as the winner"
    if stated is None or kind != "labels":
        return said
    return (
        f"{said}; {words.named(words.column('probability', stated))} reads the probability of the label given"
    )


def resolved_names(
    names: Sequence[str],
    roles: Mapping[str, str],
    *,
    optional: Collection[str] = (),
    synonyms: Mapping[str, str] | None = None,
    kind: str | None = None,
    words: Wording = PYTHON,
) -> dict[str, str]:
    """Names of columns by role: those given, or synonyms where the default, the name of the role, is not there.

    `optional` roles may be absent; `synonyms` maps a role to another row of `TRADE`. Raises at all missing
    columns at once, and where two columns could be one role.
    """
    used = {name for name in roles.values() if name in names}
    found, missing = {}, {}
    for role, name in roles.items():
        if name not in names and name == role:
            alike = columns_alike(role, names, used, (synonyms or {}).get(role))
            if len(alike) > 1:
                raise _ambiguous(role, alike, words)
            name = alike[0] if alike else name
            used.update(alike)
        if name in names:
            found[role] = name
        elif role not in optional or name != role:
            missing[role] = name
    if missing:
        raise missing_columns(missing, names, kind, words, used)
    return found


def _ambiguous(role: str, alike: Sequence[str], words: Wording) -> DataError:
    """Error about columns that could all be one role."""
    both = " and ".join(map(short_repr, alike[:5]))
    return DataError(
        f"the columns {both} could each be the {role}",
        column=role,
        value=list(alike),
        allowed="one of them",
        remedy="say which: " + " or ".join(words.named(words.column(role, name)) for name in alike[:5]),
        where=words.where,
    )


def missing_columns(
    missing: Mapping[str, str],
    names: Sequence[str],
    kind: str | None = None,
    words: Wording = PYTHON,
    taken: Collection[str] = (),
) -> DataError:
    """Error about all columns that are missing, by role, with the kind that the others look like.

    The `taken` columns have another role, and are not suggested.
    """
    known = {folded(name): name for name in names if folded(name) and name not in taken}
    known = {own: name for own, name in known.items() if not _KEY_OF_ROWS.fullmatch(own)}
    near = {
        role: _nearest(
            role, name, known if role in OF_IDS else [own for own in known if not _KEY.search(known[own])]
        )
        for role, name in missing.items()
    }
    times = Counter(near.values())
    near = {role: found * (times[found] == 1) for role, found in near.items()}  # one column is one role
    there = ", ".join(map(short_repr, names[:20])) + (", ..." if len(names) > 20 else "")
    listed = [short_repr(name) for name in missing.values()]
    remedies = [words.column(role, known.get(found, "...")) for role, found in near.items()]
    remedy = f"name the column{'s' * (len(missing) > 1)}: {words.named(words.separator.join(remedies))}"
    free = len([name for name in names if name not in taken])
    if kind == "labels" and missing == {"label": "label"} and not near["label"] and free > 1:
        remedy += f", or {words.several}"
    if words.raters_optional and "rater" in missing and kind in ("comparisons", "scores"):
        remedy += ", or pass rater=None if the raters are not told apart"
    if kind == "rankings" and {"category", "rank"} <= missing.keys() and BEST_WORST <= known.keys():
        remedy = (
            "write a row for each option that was shown, with columns item, rater, category (the option) and rank: 1 for the "
            "best, 2 for those between, 3 for the worst"
        )
    elif kind == "comparisons" and {"left", "right"} <= missing.keys() and {*PREFERRED} <= known.keys():
        sides = (
            words.column(side, known[own]) for side, own in zip(("left", "right"), PREFERRED, strict=True)
        )
        remedy = f"if these are ids of what won and lost, say so: {words.named(words.separator.join(sides))}"
    elif (other := kind and _looks_like(kind, names)) is not None:
        remedy = f"{words.kind(other)}; or {remedy}"
    elif kind and _looks_wide(kind, missing, near, [name for name in names if name not in taken]):
        remedy = f"if each rater has a column, {words.wide(kind)}; or {remedy}"
    elif not taken and not any(near.values()) and len(missing) > 1:
        remedy += "; or write these names above the first row, if the table has no header"
    return DataError(
        f"there is no column {' or '.join(filter(None, [', '.join(listed[:-1]), listed[-1]]))}",
        column=next(iter(missing.values())),
        allowed=f"the columns that are there: {there or 'none'}",
        remedy=remedy,
        where=words.where,
    )


def _nearest(role: str, name: str, known: Collection[str]) -> str:
    """Folded name most similar to that of a missing column or, of a default one, to a synonym; empty if none is."""
    words = [(folded(name), 0.6), *((word, 0.8) for word in sorted(TRADE.get(role, ())) if name == role)]
    found = (get_close_matches(word, known, n=1, cutoff=cutoff) for word, cutoff in words)
    return next((near[0] for near in found if near), "")


def _looks_wide(
    kind: str, missing: Mapping[str, str], near: Mapping[str, str], free: Collection[str]
) -> bool:
    """Whether a table without a column of answers may have one for each rater instead."""
    absent = {"labels": ["label", "rater"], "scores": ["score"]}.get(kind)
    by_default = all(role == name for role, name in missing.items())
    return sorted(missing) == absent and by_default and not any(near.values()) and len(free) > 1


def _looks_like(kind: str, names: Sequence[str]) -> str | None:
    """Kind of annotation, other than `kind`, that has all its columns under these names."""
    texts = {folded(name) for name in names}
    if kind != "rankings" and (BEST_WORST <= texts or LISTS & texts):
        return "rankings"
    if kind != "comparisons" and {*PREFERRED} <= texts:
        return "comparisons"
    others = {other: own.roles for other, own in KINDS.items() if other != kind}
    return next((k for k, roles in others.items() if all(TRADE[r] & texts for r in roles)), None)


MAX_ROWS = 2**31 - 1  # codes are int32
MAX_CHARACTERS = 10_000  # of a cell that is read


@dataclass(frozen=True)
class Column:
    """Column as plain Python values, or as codes of them.

    `declared` holds the categories that the dtype declares: a pandas categorical or a polars Enum. A polars
    Categorical and an Arrow dictionary declare none: they are encodings.
    """

    name: str  # in messages
    values: Sequence[Any]  # in row order; those of a frame that are text or integers alone are `CodedCells`
    declared: list[Any] | None = None
    kept: np.ndarray | None = None  # rows of the table, from 0, of the cells; None if they are all there
    fill_in: str = "fill the cell in or leave the row out: a missing answer has no row"  # remedy

    def row(self, place: int) -> int:
        """Row of the table, from 1, of the cell at a place counted from 0."""
        return place + 1 if self.kept is None else int(self.kept[place]) + 1


@dataclass(frozen=True)
class Columns(Mapping[str, Column]):
    """Columns by role, taken from the table at each access, so that only one at a time need be in memory."""

    names: Mapping[str, str]  # of the columns, by role
    take: Callable[[str], Column]  # by name

    def __getitem__(self, role: str) -> Column:
        return self.take(self.names[role])

    def __contains__(self, role: object) -> bool:
        return role in self.names  # takes no column

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def named_columns(table: Any, roles: Mapping[str, str]) -> Columns:
    """Columns of a table by role (argument name), all of one positive length.

    The table is a pandas, polars or pyarrow frame, anything else that narwhals reads, or a mapping name ->
    cells. Raises if it is no table, a column is missing or named twice, or there is no row.
    """
    names, column = _open(table)
    if missing := {role: name for role, name in roles.items() if name not in names}:
        raise missing_columns(missing, names)
    if len({*roles.values()}) < len(roles):
        raise DataError(
            f"one column is named twice: {', '.join(f'{r}={short_repr(n)}' for r, n in roles.items())}",
            remedy="give each argument a column of its own",
        )
    n_rows = _row_count(table, [*roles.values()])
    if n_rows == 0:
        raise DataError("the table has columns but no rows", remedy="check what it was read from")
    if n_rows > MAX_ROWS:
        problem, remedy = f"the table has {n_rows:,} rows", "split it by item: items are independent"
        raise DataError(problem, value=n_rows, allowed=f"{MAX_ROWS:,} rows", remedy=remedy)
    return Columns(roles, column)


def column_names(table: Any) -> list[str]:
    """Names of the columns of a table, in their order, each once; raises if it is no table."""
    return list(_open(table)[0])


def is_listed(values: object) -> TypeGuard[Sequence[Any] | np.ndarray]:
    """Type test for an ordered collection of known length: not text, a set, a mapping or a generator."""
    if isinstance(values, np.ndarray):
        return values.ndim == 1
    unordered = (str, bytes, Mapping, set, frozenset)
    return isinstance(values, Sized) and isinstance(values, Iterable) and not isinstance(values, unordered)


def listed(values: Sequence[Any] | np.ndarray) -> list[Any]:
    """List of plain Python objects; dates and times, which NumPy's tolist makes integers, stay objects."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "mM":
        return values.tolist()
    return list(values)


def _cells(values: Sequence[Any] | np.ndarray) -> Sequence[Any]:
    """List of plain Python objects, or codes of an array of integers."""
    coded = coded_integers(values) if type(values) is np.ndarray else None  # masked arrays lack cells
    return listed(values) if coded is None else coded


@dataclass(frozen=True)
class NamedCells(Mapping[str, list[Any]]):
    """Columns by name, of which those that share a name cannot be taken; columns without a name are left out."""

    header: Sequence[str]
    columns: Sequence[list[Any]]  # in the order of the header
    where: str = "the table"

    def __getitem__(self, name: str) -> list[Any]:
        if name == "" or name not in self.header:
            raise KeyError(name)
        if name in self.repeated:
            places = [str(place) for place, other in enumerate(self.header, start=1) if other == name]
            raise DataError(
                f"the header names {short_repr(name)} {len(places)} times, as columns {', '.join(places[:-1])} and {places[-1]}",
                column=name,
                remedy="rename or drop all but one of them",
                where=self.where,
            )
        return self.columns[self.header.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for name in self.header if name != ""))

    def __len__(self) -> int:
        return len(set(self.header) - {""})

    @cached_property
    def repeated(self) -> set[str]:
        """Names of more than one column."""
        return {name for name, times in Counter(self.header).items() if times > 1 and name != ""}


_Opened = tuple[Sequence[str], Callable[[str], Column]]


def _open(table: Any) -> _Opened:
    """Names and accessor of the columns of a table."""
    if isinstance(table, Mapping):
        return list(table), lambda name: Column(name, _cells(table[name]))
    return _open_frame(table)


def _row_count(table: Any, names: Sequence[str]) -> int:
    """Count the rows; raises if columns that are read are none, or of different lengths."""
    if not isinstance(table, Mapping):
        return len(table)
    lengths = {}
    for name in names:
        values = table[name]
        if not is_listed(values):
            problem = f"{short_repr(values)} is a {type(values).__name__}, not a column"
            allowed = "a list, a 1-D array or a series of cells"
            remedy = "pass the cells of each column in the order of the rows"
            raise DataError(problem, column=name, value=values, allowed=allowed, remedy=remedy)
        lengths[name] = len(values)
    if len({*lengths.values()}) > 1:
        first, other = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        n, m = lengths[first], lengths[other]
        problem = f"column {short_repr(first)} has {n:,} rows and column {short_repr(other)} has {m:,}"
        remedy = "give every column as many cells as there are rows"
        raise DataError(problem, column=first, value=n, remedy=remedy)
    return next(iter(lengths.values()), 0)


def _open_frame(table: Any) -> _Opened:
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        lazy = callable(getattr(table, "collect", None))
        problem = f"a {type(table).__name__} is not a table"
        allowed = "a pandas, polars or pyarrow table, or a mapping of column names to cells"
        remedy = "call .collect() first" if lazy else "convert it to a data frame"
        if isinstance(table, str | Path):
            reader = "read_parquet" if str(table).endswith(".parquet") else "read_csv"
            remedy = f"read the file first, for example by pandas.{reader}({short_repr(str(table))})"
        raise DataError(problem, value=table, allowed=allowed, remedy=remedy) from None
    except nw.exceptions.DuplicateError:
        return _open_repeated(table)
    return frame.columns, lambda name: _frame_column(name, frame.get_column(name))


def _open_repeated(table: Any) -> _Opened:
    """Names and accessor of the columns of a frame of pandas or pyarrow in which some share a name."""
    header = list(getattr(table, "column_names", table.columns))
    named = NamedCells(header, [[]] * len(header))
    once = [place for place, name in enumerate(header) if name not in named.repeated]
    taken = table.select(once) if hasattr(table, "column_names") else table.iloc[:, once]
    _, column = _open_frame(taken)
    return list(named), lambda name: column(name) if name not in named.repeated else Column(name, named[name])


def _frame_column(name: str, series: nw.Series[Any]) -> Column:
    """Column with the categories that a pandas categorical or a polars Enum declares."""
    series = _without_pandas(series)
    # narwhals may fail to read its dtype: old pandas hashes categories
    if series.implementation.is_pandas_like():
        declared = getattr(series.to_native().dtype, "categories", None)
    else:
        declared = series.dtype.categories if isinstance(series.dtype, nw.Enum) else None
    cells = coded_cells(series)
    if series.implementation.is_pyarrow() and series.dtype in (nw.String, nw.Categorical):
        if cells is None or len(max(cells.distinct, key=len)) > MAX_CHARACTERS:
            _refuse_long(name, series)
    values = series.to_list() if cells is None else cells
    return Column(name, values, None if declared is None else list(declared))


def _without_pandas(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return the Arrow column that a pandas series holds (``dtype_backend="pyarrow"``), or the series of another type."""
    if series.implementation.is_pandas() and hasattr(series.to_native().dtype, "pyarrow_dtype"):
        return nw.from_native(series.to_native().array.__arrow_array__(), series_only=True)
    return series


def _refuse_long(name: str, series: nw.Series[Any]) -> None:
    """Raise at too long a text before it is copied to every row of a dictionary."""
    longest = series.drop_nulls().unique().cast(nw.String).str.len_chars().max() or 0
    if longest > MAX_CHARACTERS:
        raise DataError(
            f"a cell has {longest:,} characters",
            column=name,
            value=longest,
            allowed=f"{MAX_CHARACTERS:,} characters",
            remedy="shorten it",
        )


def nested_columns(
    nested: Sequence[Any] | Mapping[Any, Any],
    items: Sequence[Any] | np.ndarray | None,
    raters: Sequence[Any] | np.ndarray | None,
    shown: Sequence[Any] | Mapping[Any, Any] | None = None,
) -> dict[str, Column]:
    """Flatten nested blocks to columns item, rater, category and rank, one row for each ranked category.

    Levels are lists or mappings; None stands for an annotation that a rater did not give. `items` and
    `raters` are ids behind list places, None numbers them from 0. With `shown`, nested without blocks, a column has the set of
    each annotation. Raises at a level that is no list, and at an empty item, annotation or block.
    """
    columns: dict[str, list[Any]] = {"item": [], "rater": [], "category": [], "rank": []}
    for item, annotations in _labelled(nested, items, "items", "the nested rankings"):
        place = f"item {short_repr(item)}"
        read = len(columns["item"])
        for rater, blocks in _labelled(annotations, raters, "raters", place):
            if blocks is not None:
                _append(columns, item, rater, blocks)
        if len(columns["item"]) == read:
            raise DataError(f"{place} has no annotation", remedy="leave the item out", where=place)
    if not columns["item"]:
        remedy = "check what it was read from"
        raise DataError("there is no item", remedy=remedy, where="the nested rankings")
    if shown is not None:
        sets = {
            (item, rater): members
            for item, annotations in _labelled(shown, items, "items", "shown")
            for rater, members in _labelled(annotations, raters, "raters", f"shown, item {short_repr(item)}")
        }
        keys = zip(columns["item"], columns["rater"], strict=True)
        columns["shown"] = [sets.get(key) for key in keys]
    return {name: Column(name, values) for name, values in columns.items()}


def _append(columns: dict[str, list[Any]], item: Any, rater: Any, blocks: Any) -> None:
    """Append the rows of one annotation to the columns."""
    place = f"item {short_repr(item)}, rater {short_repr(rater)}"
    ranked = _list(blocks, "list of blocks", place)
    if not ranked:
        remedy = "write None where a rater did not annotate"
        raise DataError("the annotation has no block", remedy=remedy, where=place)
    for rank, block in enumerate(ranked, start=1):
        categories = _list(block, "block of tied categories", f"{place}, block {rank}")
        if not categories:
            where = f"{place}, block {rank}"
            raise DataError("the block is empty", remedy="leave empty blocks out", where=where)
        tied = len(categories)
        columns["item"] += [item] * tied
        columns["rater"] += [rater] * tied
        columns["category"] += categories
        columns["rank"] += [rank] * tied


def _labelled(
    level: Any, labels: Sequence[Any] | np.ndarray | None, argument: str, place: str
) -> Iterator[tuple[Any, Any]]:
    """Pair list members with their ids, or iterate over the items of a mapping."""
    if isinstance(level, Mapping):
        if labels is not None:
            problem = f"{argument}= would rename the keys of a mapping"
            remedy = f"leave {argument}= out, or pass lists"
            raise DataError(problem, column=argument, value=labels, remedy=remedy, where=place)
        return iter(level.items())
    members = _list(level, "list or mapping", place)
    if labels is None:
        return enumerate(members)
    if len(labels) < len(members) or (argument == "items" and len(labels) > len(members)):
        problem = f"{len(labels):,} {argument}= for a list of {len(members):,}"
        allowed, remedy = "one label for each place", f"pass {len(members):,} {argument}"
        raise DataError(
            problem, column=argument, value=len(labels), allowed=allowed, remedy=remedy, where=place
        )
    return zip(listed(labels), members, strict=False)


def _list(level: Any, what: str, place: str) -> list[Any]:
    """Members of a list, tuple or array; raises at anything else."""
    if isinstance(level, list | tuple | np.ndarray):
        return [*level] if isinstance(level, tuple | list) else listed(level)
    problem = f"{short_repr(level)} is a {type(level).__name__}, not a {what}"
    allowed = "[item][rater][block][category], or {item: {rater: [block][category]}}"
    remedy = "wrap a single category in a block of its own: [[category]]"
    raise DataError(problem, value=level, allowed=allowed, remedy=remedy, where=place)
