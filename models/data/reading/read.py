"""The one door of annotations: any file, export or frame becomes a container."""

from collections.abc import Mapping, Sequence
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...._messages import first_reprs, short_repr, warn_user
from ....posterior.table_text import TRADE, columns_alike, folded
from ..comparisons import Comparisons
from ..errors import DataError, DataWarning
from ..exports.records import SUFFIXES
from ..exports.tools import TOOLS, read_export, tool_of
from ..labels import Labels
from ..no_answers import NoAnswer, listed_answers
from ..rankings import PartialRankings
from ..scores import Scores
from .columns import ANONYMOUS_KINDS, Missing
from .files import frame_of, read_table
from .folders import read_folder
from .frames import KINDS, column_names, unread_in_words
from .label_cells import turk_roles
from .long_tables import Keep, tells_time
from .stated import PROBABILITY
from .vote_shapes import AND, vote_roles

Container = PartialRankings | Labels | Comparisons | Scores
CONTAINERS: dict[str, type[Container]] = {
    "labels": Labels,
    "rankings": PartialRankings,
    "comparisons": Comparisons,
    "scores": Scores,
}
GUESSED = ("comparisons", "rankings", "labels", "scores")  # the kinds that need most columns first
OPTIONAL = (
    "count",
    "gold",
    "order",
    "time",
    "shown",
)  # columns that are read under their own name where a kind has them


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
    given = {
        role: name if isinstance(name, str) else AND.join(name) for role, name in (columns or {}).items()
    }
    frame, joined = source, None
    if files := _several(source):
        joined = read_folder(files, raters=layout == "long" and "rater" not in given, taken=given.values())
        path = files if isinstance(files, Path) else files[0].parent
        if joined.note:
            warn_user(f"reading {joined.note}", DataWarning)
        frame = frame_of(joined, path)
    elif isinstance(source, str | PathLike):
        path = Path(source)
        exported = layout == "long" and path.suffix.lower() in SUFFIXES and (tool or _tool_of(path))
        if exported:
            kind = kind or (TOOLS[exported].kind if exported in TOOLS else None)
            if kind is None:
                raise DataError(
                    "an export may hold several kinds of annotation",
                    remedy='say which one, such as kind="labels"',
                    where=path.name,
                )
            question = next(iter(given.values()), None)
            frame, given = read_export(path, kind, tool=tool, question=question), {}
        else:
            frame = read_table(path)
    names = column_names(frame)
    kind = kind or ("labels" if PROBABILITY in given or tags is not None else _kind_of(names, given))
    if kind not in CONTAINERS:
        raise DataError(
            f"kind={short_repr(kind)} is no kind of annotation",
            value=kind,
            allowed=", ".join(map(repr, CONTAINERS)),
            remedy="choose one",
            where="argument kind",
        )
    container = CONTAINERS[kind]
    door = getattr(container, {"long": "from_table"}.get(layout, f"from_{layout}"), None)
    if door is None:
        raise DataError(
            f"layout={short_repr(layout)} is no layout of {kind}",
            value=layout,
            allowed="long, wide, counts" if kind in ("labels", "scores") else "long",
            remedy="choose one, or bring the table into the long layout",
            where="argument layout",
        )
    accepted = signature(door).parameters
    taken = {*given.values()}
    optional = [*OPTIONAL, *(["rater"] if kind in ANONYMOUS_KINDS else [])]
    given |= {
        role: found
        for role in optional
        if role in accepted and role not in given and (found := _column(role, names, taken))
        if role != "time" or (kind == "labels" and tells_time(frame, found))
    }
    if unknown := [role for role in given if role not in accepted]:
        raise DataError(
            f"{short_repr(unknown[0])} is no column of {kind} in the {layout} layout",
            value=unknown[0],
            allowed=", ".join(KINDS[kind].roles),
            remedy="name a role that there is",
            where="argument columns",
        )
    if categories is not None and frame is not source:  # cells of a file are text
        categories = [str(own) if isinstance(own, int | np.integer) else own for own in categories]
    if levels is not None and frame is not source:
        levels = [str(own) if isinstance(own, int | np.integer) else own for own in levels]
    if taxonomy is not None and frame is not source:
        taxonomy = {str(node): above if above is None else str(above) for node, above in taxonomy.items()}
    options = {
        "categories": categories,
        "taxonomy": taxonomy,
        "tags": tags,
        "levels": levels,
        "bounds": bounds,
        "rater_attributes": tuple(rater_attributes) or None,
        "missing": missing,
        "no_answer": listed_answers(no_answer) or None,
        "keep": None if keep == "all" else keep,
    }
    for name, value in options.items():
        if value is not None and name not in accepted and name != "missing":
            raise DataError(
                f"{name} is no option of {kind} in the {layout} layout",
                remedy="leave it out",
                where=f"argument {name}",
            )
    taken = {*given.values(), *rater_attributes, *(tags or ())}
    taken |= {
        own for role in KINDS[kind].roles if role not in given for own in columns_alike(role, names, taken)
    }
    naming = "columns={{'probability': {}}}"
    unread = unread_in_words(names, taken, kind, naming, timed=keep != "all") if layout == "long" else ""
    if unread:
        warn_user(unread, DataWarning)
    own = {name: value for name, value in options.items() if value is not None and name in accepted}
    try:
        return door(frame, **given, **own)
    except DataError as error:
        if joined is None:
            raise
        raise joined.placed(error) from None


def _several(source: Any) -> Path | list[Path] | None:
    """Folder of files, or paths of several; None of one file or frame."""
    if isinstance(source, str | PathLike):
        return Path(source) if Path(source).is_dir() else None
    if isinstance(source, list | tuple) and source and all(isinstance(own, str | PathLike) for own in source):
        return [*map(Path, source)]
    return None


def _tool_of(path: Path) -> str | None:
    """Name of the tool that wrote a file; None for a table, also for one that its own reader refuses."""
    try:
        return tool_of(path)
    except DataError:
        return None


def _column(role: str, names: Sequence[str], taken: set[str]) -> str | None:
    """Column of an optional role, by its own name or, of raters, another of the trade."""
    known = TRADE["rater"] | {role} if role == "rater" else {role}
    return next((name for name in names if name not in taken and folded(name) in known), None)


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
