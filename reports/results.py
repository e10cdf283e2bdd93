"""Results by item, for other tools: JSON lines, CSV, or predictions that Label Studio imports."""

import json
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .._messages import first_reprs, short_repr
from ..evaluation import plausible_labels, rank_intervals, truth_certainty
from ..models.data.errors import DataError
from ..models.data.exports.label_studio import PATH, Control, controls, task_ids
from ..models.data.exports.records import Document, read_document
from ..models.data.exports.tools import TOOLS, recognised
from ..posterior.plausibility import Plausibility, refuse_without_draws
from ..posterior.summaries import expected_plausibility
from ..posterior.table_text import whole_number
from .page import interval_columns, write_table

MODEL_VERSION = "raterzoo"
PLURALS = {"choices": "choices", "taxonomy": "taxonomies", "rating": "ratings", "number": "numbers"}
WRITTEN = ("choices", "taxonomy", "rating")  # types of controls whose answers are labels
OF_SCORES = ("number", "rating")  # and scores
LEAST_RATING = 1  # of Label Studio
PROBABILITY = 0.9  # of intervals


def write_results(
    tree: xr.DataTree,
    path: str | PathLike[str],
    *,
    export: str | PathLike[str] | None = None,
    question: str | None = None,
) -> int:
    """Write the result of each item by its id, for other tools.

    Without `export` JSON lines. Of labels and rankings: id, label, the most probable one, and certainty. Of scores: id,
    score, the posterior mean of the location, lower and upper. Of comparisons a leaderboard, the best first: id, rank, the
    posterior median, rank_lower, rank_upper, quality, quality_lower, quality_upper, and best, the probability of being the best.
    Lower and upper are the ends of 90 % intervals.

    A path that ends in .csv gets a table of the same columns, as R reads it; of labels and rankings with a column
    ``p_NAME`` for each category: its probability, or mean plausibility.

    With `export` the JSON of predictions that Label Studio imports for its tasks: ``POST
    /api/projects/ID/import/predictions``. Items of comparisons are no tasks.

    Parameters
    ----------
    tree : DataTree
        Posterior of labels, rankings, scores or comparisons.
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
        If the export is not one of Label Studio, has no or several controls that could be meant, or lacks a task; or the
        posterior is of comparisons.
    EvaluationError
        If the posterior has neither plausibilities of categories nor locations or qualities of items.

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
    held = {"posterior"} & {*tree.children} and {*tree["posterior"].data_vars}
    of_scores, of_votes = (name in held and "plausibility" not in held for name in ("location", "quality"))
    if export is None:
        lines = _leaderboard(tree) if of_votes else _locations(tree) if of_scores else _labelled(tree)
        if Path(path).suffix.lower() == ".csv":
            more = [{}] * len(lines) if of_votes or of_scores else _probabilities(tree)
            write_table(Path(path), [own | other for own, other in zip(lines, more, strict=True)])
            return len(lines)
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        Path(path).write_text(text, encoding="utf-8")
        return len(lines)
    if of_votes:
        raise DataError(
            "the items of comparisons are what was compared, not tasks",
            remedy="leave the export out: JSON lines are written for any tool",
            where="argument export",
        )
    document = read_document(Path(export))
    if recognised(document) != "label-studio":
        raise DataError(
            f"this is no JSON export of {TOOLS['label-studio'].title}",
            remedy="leave the export out: JSON lines are written for any tool",
            where=document.path.name,
        )
    control = _control(document, question, OF_SCORES if of_scores else WRITTEN)
    if of_scores:
        found = [(line["id"], line["score"], None) for line in _locations(tree)]
    else:
        found = list(_labels(tree))
    predictions = _predictions(document, control, found)
    Path(path).write_text(json.dumps(predictions, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return len(predictions)


def _labelled(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return id, most probable label and certainty of each item."""
    return [{"id": item, "label": label, "certainty": own} for item, label, own in _labels(tree)]


def _probabilities(tree: xr.DataTree) -> list[dict[str, float]]:
    """Return the mean plausibility of each category, by the name of its column, of each item; 0 where it has none."""
    mean = expected_plausibility(tree)
    if "candidate" in mean.dims:
        mean = mean.set_index(candidate=["item", "category"]).unstack("candidate", fill_value=0.0)
        mean = mean.sel(item=[item for item, _, _ in _labels(tree)])
    table = mean.transpose("item", "category")
    names = [f"p_{name}" for name in table["category"].to_numpy().tolist()]
    return [dict(zip(names, row, strict=True)) for row in table.to_numpy().tolist()]


def _locations(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return id, posterior mean and interval of the location of each item."""
    refuse_without_draws(tree, "location")
    location = tree["posterior"].to_dataset()["location"]
    columns = interval_columns(location, "score")
    rows = zip(location["item"].to_numpy().tolist(), *(own.tolist() for own in columns.values()), strict=True)
    return [dict(zip(("id", "score", "lower", "upper"), row, strict=True)) for row in rows]


def _leaderboard(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Return id, ranks and qualities of each item, the best first."""
    refuse_without_draws(tree, "quality")
    board = rank_intervals(tree, PROBABILITY)
    names = {
        "rank": "median_rank", "rank_lower": "lower", "rank_upper": "upper", "quality": "quality",
        "quality_lower": "quality_lower", "quality_upper": "quality_upper", "best": "best",
    }  # fmt: skip
    columns = {"id": board["item"], **{name: board[own] for name, own in names.items()}}
    order = np.lexsort((board["mean_rank"], board["median_rank"]))
    cells = [own.to_numpy()[order].tolist() for own in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]


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


def _control(document: Document, question: str | None, kinds: Sequence[str]) -> Control:
    """Control of the predictions, of one of these types: that asked for, or the only one."""
    there = [own for own in controls(document) if own.kind in kinds]
    fitting = [own for own in there if question in (None, own.from_name)]
    if len(fitting) == 1:
        return fitting[0]
    names = [own.from_name for own in there]
    *first, last = (PLURALS[own] for own in kinds)
    raise DataError(
        f"{len(fitting)} controls of {'labels' if kinds == WRITTEN else 'scores'} could be meant",
        value=question,
        allowed=f"one of {first_reprs(names)}" if names else f"an export with {', '.join(first)} or {last}",
        remedy=f"say which: question={short_repr(names[0])}" if names else "export the annotations, too",
        where=document.path.name,
    )


def _predictions(
    document: Document, control: Control, found: Sequence[tuple[Any, Any, float | None]]
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
            **({} if certainty is None else {"score": certainty}),
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
    """Value of a result, as the type of control writes it; a score is rounded to a rating."""
    if isinstance(label, float):
        return max(LEAST_RATING, round(label)) if kind == "rating" else label
    if kind == "rating":
        if (stars := whole_number(str(label))) is None:
            problem = f"label {short_repr(label)} is no rating, which the control takes"
            remedy = "name the control that the annotations were read from: question=..."
            raise DataError(problem, value=label, allowed="a whole number", remedy=remedy)
        return stars
    return [str(label).split(PATH)] if kind == "taxonomy" else [str(label)]
