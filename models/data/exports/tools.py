"""The tools whose exports are read, and their recognition from the content of a file."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ...._messages import short_repr, warn_user
from ..errors import DataError, DataWarning, refused_argument
from . import (
    alpaca_eval,
    argilla,
    chatbot_arena,
    deepeval,
    evaluation_harness,
    inspect_logs,
    label_studio,
    prodigy,
    promptfoo,
)
from .answers import KINDS, Answers, LongTable, Tool
from .records import SUFFIXES, Document, first_record, read_document

TOOLS: Mapping[str, Tool] = {
    module.TOOL.name: module.TOOL
    for module in (
        inspect_logs, promptfoo, deepeval, evaluation_harness, chatbot_arena, alpaca_eval, label_studio, argilla,
        prodigy,
    )
}  # fmt: skip


def read_export(
    path: str | PathLike[str],
    kind: str,
    *,
    question: str | None = None,
    tool: str | None = None,
    sides: tuple[str, str] | None = None,
) -> dict[str, list[Any]]:
    """Read what another tool exports into a long table for the containers.

    Read are eval logs of Inspect, results of promptfoo and DeepEval, samples of lm-evaluation-harness, votes of
    Chatbot Arena and AlpacaEval, and exports of Label Studio, Argilla and Prodigy. ``docs/formats.md`` says what each is
    read as. Fields that are not used never stop a read.

    Parameters
    ----------
    path : str or path
        File of JSON, JSON lines, or a log of Inspect (.eval).
    kind : {"labels", "scores", "comparisons", "rankings", "predictions"}
        What to read.
    question : str, optional
        Question to read, if the export has several: a control tag of Label Studio, a question of Argilla, a metric
        of promptfoo or DeepEval...; or one rater of several, such as a scorer of Inspect.
    tool : str, optional
        "inspect", "promptfoo", "deepeval", "lm-eval", "arena", "alpaca-eval", "label-studio", "argilla" or "prodigy"; by default
        recognised from the content.
    sides : tuple of two str, optional
        For pairwise controls of Label Studio: the fields of a task's data that name what is on the left and on the
        right; by default those of its template, text1 and text2.

    Returns
    -------
    dict of str to list
        Columns of the same names as the arguments of ``from_table``: item, rater and label, score, or category and
        rank; left, right, winner and rater; of predictions item, category, classifier if it is known, and score, the
        probability of the category, or else rank 1. Labels have a column gold where the export knows the truth.

    Warns
    -----
    DataWarning
        Of what is left out: failures of graders, drafts, earlier versions of an annotation...

    Raises
    ------
    DataError
        If the file is of no such tool, has nothing of this kind or several questions, or a needed field is
        missing; it names the file, the number of the record and what was looked for.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from raterzoo import models
    >>> votes = [{"model_a": "oak", "model_b": "fir", "winner": "tie (bothbad)", "judge": "Ann"}]
    >>> file = Path(tempfile.mkdtemp()) / "votes.json"
    >>> _ = file.write_text(json.dumps(votes))
    >>> table = models.read_export(file, "comparisons")
    >>> table
    {'left': ['oak'], 'right': ['fir'], 'winner': ['tie (bothbad)'], 'rater': ['Ann']}
    >>> models.Comparisons.from_table(table).outcome.tolist()
    [2]
    """
    path = Path(path)
    if kind not in KINDS:
        problem, allowed = f"kind={short_repr(kind)} is no kind of annotation", ", ".join(map(repr, KINDS))
        raise refused_argument("kind", problem, value=kind, allowed=allowed, remedy="choose one")
    if tool is not None and tool not in TOOLS:
        problem, allowed = f"tool={short_repr(tool)} is no tool that is known", ", ".join(map(repr, TOOLS))
        raise refused_argument("tool", problem, value=tool, allowed=allowed, remedy="choose one")
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"the suffix {path.suffix!r} is not that of an export",
            value=path.suffix,
            allowed=", ".join(SUFFIXES),
            remedy="read a table by models.data.read_table",
            where=path.name,
        )
    document = read_document(path)
    name = tool or recognised(document)
    if name is None:
        raise DataError(
            "this is the export of no tool that is known",
            allowed=", ".join(own.title for own in TOOLS.values()),
            remedy="say which: tool=..., or read a table by models.data.read_table",
            where=path.name,
        )
    if sides is not None and (name != "label-studio" or kind != "comparisons"):
        problem = f"these are no comparisons of {TOOLS['label-studio'].title}"
        raise refused_argument("sides", problem, remedy="leave the argument out")
    table = long_table(document, name, kind, question, sides)
    if table.left_out:
        said = f"{path.name}: left out of {kind} from an export of {TOOLS[name].title}: {table.left_out}"
        warn_user(said, DataWarning)
    return dict(table.columns)


def tool_of(path: Path) -> str | None:
    """Name of the tool that wrote a file, told as cheaply as it can be; None for a table."""
    document = first_record(path, [key for own in TOOLS.values() for key in own.keys])
    return None if document is None else recognised(document)


def recognised(document: Document) -> str | None:
    """Name of the tool that wrote a file; None if it is none of those known."""
    return next((name for name, own in TOOLS.items() if own.recognises(document)), None)


def long_table(
    document: Document,
    tool: str,
    kind: str,
    question: str | None = None,
    sides: tuple[str, str] | None = None,
) -> LongTable:
    """Long table of one kind of annotation of a document."""
    answers = Answers(sides=sides)
    TOOLS[tool].read(document, answers)
    return answers.table(kind, question, document.path.name)
