"""Results by item, for other tools: JSON lines, or predictions that Label Studio imports."""

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import xarray as xr

from .._decimal_text import whole_number
from .._messages import first_reprs, short_repr
from ..evaluation import plausible_labels, truth_certainty
from ..evaluation.truth.plausibility import Plausibility
from ..models.data.errors import DataError
from ..models.data.exports.label_studio import PATH, Control, controls, task_ids
from ..models.data.exports.records import Document, read_document
from ..models.data.exports.tools import TOOLS, recognised

MODEL_VERSION = "raterzoo"
WRITTEN = ("choices", "taxonomy", "rating")  # types of controls whose answers are labels


def write_results(
    tree: xr.DataTree,
    path: str | PathLike[str],
    *,
    export: str | PathLike[str] | None = None,
    question: str | None = None,
) -> int:
    """Write the most probable label of each item with its certainty, for other tools.

    Without `export` JSON lines with id, label and certainty. With it the JSON of predictions that Label Studio
    imports for its tasks: ``POST /api/projects/ID/import/predictions``.

    Parameters
    ----------
    tree : DataTree
        Posterior of labels or rankings.
    path : str or path
        File to write.
    export : str or path, optional
        JSON export of Label Studio that the annotations were read from; it names the tasks and the controls.
    question : str, optional
        Control tag of the predictions, if the export has several.

    Returns
    -------
    int
        Number of items that were written; with `export` its tasks that have a result.

    Raises
    ------
    DataError
        If the export is not one of Label Studio, has no or several controls that could be meant, or lacks a task.
    EvaluationError
        If the posterior has no plausibility of categories.

    Examples
    --------
    >>> import json, tempfile
    >>> import xarray as xr
    >>> from pathlib import Path
    >>> from raterzoo import reports
    >>> coords = {"item": ["a"], "category": ["no", "yes"]}
    >>> dims = ("chain", "draw", "item", "category")
    >>> truth = xr.DataArray([[[[0.75, 0.25]]]], coords, dims, attrs={"truth": "category"})
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"plausibility": truth})})
    >>> file = Path(tempfile.mkdtemp()) / "results.jsonl"
    >>> reports.write_results(tree, file)
    1
    >>> json.loads(file.read_text())
    {'id': 'a', 'label': 'no', 'certainty': 0.75}
    """
    if question is not None and export is None:
        raise DataError(
            f"question={short_repr(question)} is of no export",
            value=question,
            remedy="name the export, or leave the question out",
            where="argument question",
        )
    found = list(_labels(tree))
    if export is None:
        lines = [{"id": item, "label": label, "certainty": own} for item, label, own in found]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        Path(path).write_text(text, encoding="utf-8")
        return len(lines)
    document = read_document(Path(export))
    if recognised(document) != "label-studio":
        raise DataError(
            f"this is no JSON export of {TOOLS['label-studio'].title}",
            remedy="leave the export out: JSON lines are written for any tool",
            where=document.path.name,
        )
    predictions = _predictions(document, _control(document, question), found)
    Path(path).write_text(json.dumps(predictions, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return len(predictions)


def _labels(tree: xr.DataTree) -> Iterator[tuple[Any, Any, float]]:
    """Item, most probable label and certainty."""
    if Plausibility.of(tree).is_of_category:
        found = truth_certainty(tree)
        label, certainty = found["label"].to_numpy(), found["certainty"].to_numpy()
    else:
        found = plausible_labels(tree)
        label = found["label"].to_numpy()[:, 0, 0]
        certainty = found["probability"].to_numpy()[:, 0]
    return zip(found["item"].to_numpy().tolist(), label.tolist(), certainty.tolist(), strict=True)


def _control(document: Document, question: str | None) -> Control:
    """Control of the predictions: that asked for, or the only one."""
    there = [own for own in controls(document) if own.kind in WRITTEN]
    fitting = [own for own in there if question in (None, own.from_name)]
    if len(fitting) == 1:
        return fitting[0]
    names = [own.from_name for own in there]
    raise DataError(
        f"{len(fitting)} controls of labels could be meant",
        value=question,
        allowed=f"one of {first_reprs(names)}" if names else "an export with choices, taxonomies or ratings",
        remedy=f"say which: question={short_repr(names[0])}" if names else "export the annotations, too",
        where=document.path.name,
    )


def _predictions(
    document: Document, control: Control, found: list[tuple[Any, Any, float]]
) -> list[dict[str, Any]]:
    """Predictions of the tasks that have a result, as Label Studio imports them; raises at an item that is no task."""
    tasks = {own for own in task_ids(document) if whole_number(own) is not None}
    if strange := [item for item, _, _ in found if str(item) not in tasks]:
        raise DataError(
            f"item {short_repr(strange[0])} is no task of the export",
            value=strange[0],
            allowed=f"ids such as {first_reprs(sorted(tasks), 3)}",
            remedy="name the export that the annotations were read from",
            where=document.path.name,
        )
    return [
        {
            "task": int(item),
            "model_version": MODEL_VERSION,
            "score": certainty,
            "result": [
                {
                    "from_name": control.from_name,
                    "to_name": control.to_name,
                    "type": control.kind,
                    "value": {control.kind: _value(control.kind, label)},
                }
            ],
        }
        for item, label, certainty in found
    ]


def _value(kind: str, label: Any) -> Any:
    """Value of a result, as the type of control writes it."""
    if kind == "rating":
        if (stars := whole_number(str(label))) is None:
            problem = f"label {short_repr(label)} is no rating, which the control takes"
            remedy = "name the control that the annotations were read from: question=..."
            raise DataError(problem, value=label, allowed="a whole number", remedy=remedy)
        return stars
    return [str(label).split(PATH)] if kind == "taxonomy" else [str(label)]
