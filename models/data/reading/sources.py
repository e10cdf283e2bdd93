"""Where annotations come from: a table file, an export of a tool, a folder of files, or a frame."""

import re
from ast import literal_eval
from os import PathLike
from pathlib import Path
from typing import Any

from ...._messages import short_repr
from ..errors import DataError
from ..exports.answers import PREDICTIONS
from ..exports.label_studio import SIDES, TEMPLATE
from ..exports.records import SUFFIXES, read_document
from ..exports.tools import TOOLS, long_table, tool_of
from .files import TableFile, read_file, read_names
from .folders import folder_names, read_folder
from .frames import Wording
from .headers import Asked, Pairs

TABLE = "table"  # in place of a tool: no export
ANSWER = {"labels": "label", "scores": "score", "rankings": "category", PREDICTIONS: "category"}
_QUESTION = re.compile(r"question=(.*)")


def opened(source: Any, asked: Asked, words: Wording, question: str | None = None) -> tuple[TableFile, Pairs]:
    """Read a source; return also those of the given columns that it has.

    Of an export the column of the answer chooses the question, such as ("label", "sentiment"); by default it is `question`.
    """
    paths = paths_of(source)
    if paths is None:
        return TableFile(source), asked.columns
    if not isinstance(paths, Path) or (paths.is_dir() and asked.kind != PREDICTIONS):
        return read_folder(paths, **_raters_of(asked)), asked.columns
    tool = exporting_tool(paths, asked, words)
    if tool is None:
        return read_file(paths), asked.columns
    role, title, given = ANSWER.get(asked.kind, ""), TOOLS[tool].title, asked.columns
    sides = None
    if asked.kind == "comparisons" and tool == "label-studio":
        role, named = "winner", {side: name for side, name in given if side in SIDES}
        given = [pair for pair in given if pair[0] not in SIDES]
        if named:
            sides = named.get(SIDES[0], TEMPLATE[0]), named.get(SIDES[1], TEMPLATE[1])
    if wrong := [pair for pair in given if pair[0] != role]:
        chooses = f"{words.named(words.column(role, '...'))} chooses a question, and " if role else ""
        raise DataError(
            f"{words.named(words.column(*wrong[0]))}: the fields of an export of {title} are known",
            value=wrong[0][1],
            remedy=f"{chooses}{words.option('tool', TABLE)} reads it as a table",
            where=paths.name,
        )
    try:
        found = long_table(read_document(paths), tool, asked.kind, given[-1][1] if given else question, sides)
    except DataError as error:
        own = error.moved(error.where)
        own.remedy = _QUESTION.sub(lambda said: _chosen(said[1], role, words), error.remedy)
        fields = words.separator.join(
            words.column(side, field) for side, field in zip(SIDES, ("model_a", "model_b"), strict=True)
        )
        own.remedy = own.remedy.replace("sides=('model_a', 'model_b')", words.named(fields))
        raise own from None
    note = f"{asked.kind} from an export of {title}{found.said}"
    (words.say if found.left_out else words.mention)(f"reading {note}")
    return TableFile(dict(found.columns), records=found.records), ()


def source_names(
    path: Path, asked: Asked, words: Wording, question: str | None = None
) -> tuple[list[str], Pairs]:
    """Names of the columns of a source, and the given columns as in `opened`."""
    if exporting_tool(path, asked, words) is not None:
        silent = {name: lambda text: None for name in ("say", "mention")}  # the table is read again
        table, rest = opened(path, asked, words._replace(**silent), question)
        return table.names, rest
    folder = path.is_dir() and asked.kind != PREDICTIONS
    return (folder_names(path, **_raters_of(asked)) if folder else read_names(path)), asked.columns


def exporting_tool(path: Path, asked: Asked, words: Wording) -> str | None:
    """Name of the tool that exported a file; None for a table."""
    tool = asked.tool
    if tool not in (None, TABLE, *TOOLS):
        raise DataError(
            f"{short_repr(tool)} is no tool that is known",
            value=tool,
            allowed=", ".join(map(repr, (*TOOLS, TABLE))),
            remedy="choose one",
            where=words.place("tool"),
        )
    if tool == TABLE:
        return None
    problem = ""
    if path.suffix.lower() not in SUFFIXES:
        problem = f"the file has no suffix of an export ({', '.join(SUFFIXES)})"
    elif asked.layout != "long":
        problem = f"an export has no {words.option('layout', asked.layout)}"
    if problem and tool is None:
        return None
    if problem:
        raise DataError(problem, value=tool, remedy="leave one of them out", where=words.option("tool", tool))
    try:
        return tool or tool_of(path)
    except DataError:
        return None  # the reader of tables says what is wrong, and in which line


def paths_of(source: Any) -> Path | list[Path] | None:
    """Path of one file or folder, or of several files; None of a frame."""
    if isinstance(source, str | PathLike):
        return Path(source)
    if isinstance(source, list | tuple) and source and all(isinstance(own, str | PathLike) for own in source):
        return [*map(Path, source)]
    return None


def _chosen(found: str, role: str, words: Wording) -> str:
    """Choice of a question, quoted, by the column of the answer."""
    try:
        name = literal_eval(found)
    except (SyntaxError, ValueError):
        name = "..."
    return words.named(words.column(role, str(name)))


def _raters_of(asked: Asked) -> dict[str, Any]:
    """Arguments of the readers of folders: whether names of files may be raters, and columns that are not."""
    given = dict(asked.columns)
    return {"raters": asked.layout == "long" and "rater" not in given, "taken": given.values()}
