"""Exports of other tools where a command reads a table: recognised from their content, and said in one line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..models.data.errors import DataError
from ..models.data.exports.answers import PREDICTIONS
from ..models.data.exports.label_studio import SIDES, TEMPLATE
from ..models.data.exports.records import SUFFIXES, read_document
from ..models.data.exports.tools import TOOLS, long_table, tool_of
from ..models.data.reading.files import TableFile, read_file, read_names
from ..models.data.reading.folders import folder_names, read_folder
from .terminal import print_text

TABLE = "table"  # of --format: no export
ANSWER = {"labels": "label", "scores": "score", "rankings": "category", PREDICTIONS: "category"}


def read_source(
    path: Path,
    kind: str,
    columns: Sequence[str],
    *,
    layout: str = "long",
    source: str | None = None,
    question: str | None = None,
) -> tuple[TableFile, Sequence[str]]:
    """Read a table or an export; return also those of ``--column`` that rename columns of it.

    `source` is the name of a tool, or "table" for none; by default the content tells. Of an export
    ``--column label=sentiment`` chooses the question; by default it is `question`.
    """
    tool = _tool_of(path, layout, source)
    if tool is None and path.is_dir() and kind != PREDICTIONS:
        return read_folder(path, **_raters_of(columns, layout)), columns
    if tool is None:
        return read_file(path), columns
    role, title = ANSWER.get(kind, ""), TOOLS[tool].title
    given = [column.partition("=") for column in columns]
    sides = None
    if kind == "comparisons" and tool == "label-studio":
        role, named = "winner", {side: name for side, _, name in given if side in SIDES}
        given = [pair for pair in given if pair[0] not in SIDES]
        if named:
            sides = named.get(SIDES[0], TEMPLATE[0]), named.get(SIDES[1], TEMPLATE[1])
    if wrong := ["".join(pair) for pair in given if pair[0] != role]:
        chooses = f"--column {role}=... chooses a question, and " if role else ""
        raise ValueError(
            f"--column {wrong[0]}: {path.name} is an export of {title}, whose fields are known: {chooses}--format table reads "
            "it as a table"
        )
    try:
        found = long_table(read_document(path), tool, kind, given[-1][2] if given else question, sides)
    except DataError as error:
        own = error.moved(error.where)
        own.remedy = error.remedy.replace("question=", f"--column {role}=")
        own.remedy = own.remedy.replace(
            "sides=('model_a', 'model_b')", "--column left=model_a --column right=model_b"
        )
        raise own from None
    note = f"{kind} from an export of {title}{found.said}"
    return TableFile(dict(found.columns), note, records=found.records), ()


def source_names(
    path: Path,
    kind: str,
    columns: Sequence[str],
    *,
    layout: str = "long",
    source: str | None = None,
    question: str | None = None,
) -> tuple[list[str], Sequence[str]]:
    """Names of the columns of a table or an export, and ``--column`` as in `read_source`."""
    if _tool_of(path, layout, source) is None:
        folder = path.is_dir() and kind != PREDICTIONS
        return (folder_names(path, **_raters_of(columns, layout)) if folder else read_names(path)), columns
    table, rest = read_source(path, kind, columns, layout=layout, source=source, question=question)
    return table.names, rest


def _raters_of(columns: Sequence[str], layout: str) -> dict[str, Any]:
    """Arguments of the readers of folders: whether names of files may be raters, and columns that are not."""
    given = {role: name for role, _, name in (column.partition("=") for column in columns)}
    return {"raters": layout == "long" and "rater" not in given, "taken": given.values()}


def exporting_tool(path: Path, source: str | None) -> str | None:
    """Name of the tool as whose export a file is read in the long layout; None for a table."""
    return _tool_of(path, "long", source)


def chosen_question(columns: Sequence[str], kind: str) -> str | None:
    """Question that ``--column`` chooses in an export of annotations, which one of predictions is read for, too."""
    pairs = [column.partition("=") for column in columns]
    return next((name for role, _, name in pairs if role == ANSWER.get(kind)), None)


def write_results_of(posterior: Path, output: Path, export: Path | None, question: str | None) -> None:
    """Write the labels of a stored posterior, and say how many."""
    from ..inference.storage.posterior_files import read_posterior
    from ..reports import write_results

    tree = read_posterior(posterior)
    try:
        count = write_results(tree, output, export=export, question=question)
    except DataError as error:
        own = error.moved(error.where.replace("argument ", "--"))
        own.problem = error.problem.replace("question=", "--question ")
        own.remedy = error.remedy.replace("question=", "--question ")
        raise own from None
    print_text(f"wrote {output}: {count:,} items")


def _tool_of(path: Path, layout: str, source: str | None) -> str | None:
    """Name of the tool that exported a file; None for a table."""
    if source == TABLE or path.suffix.lower() not in SUFFIXES:
        if source not in (None, TABLE):
            raise ValueError(
                f"--format {source}: {path.name} has no suffix of an export ({', '.join(SUFFIXES)})"
            )
        return None
    if layout != "long":
        if source is not None:
            raise ValueError(f"--format {source}: an export has no --layout {layout}; leave one of them out")
        return None
    if source is not None:
        return source
    try:
        return tool_of(path)
    except DataError:
        return None  # the reader of tables says what is wrong, and in which line
