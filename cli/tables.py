"""Readers of annotation and prediction files."""

from collections.abc import Mapping, Sequence
from inspect import signature
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .. import models
from .._messages import first_reprs, short_repr
from ..evaluation import predictions_from_table
from ..models import Scores
from ..models._catalog import annotation_kinds
from ..models.data import read_table
from ..models.data.reading.files import text_lines
from ..models.data.summary import look_alikes
from ..reports.comparisons import and_more
from ..reports.metrics import metric_named
from ..reports.scores import sides_of
from ..reports.study import Groups, Settings, labels_of
from .terminal import print_text

LAYOUTS: dict[str, tuple[str, ...]] = {
    "labels": ("long", "wide", "counts"),
    "scores": ("long", "counts"),
}  # other kinds: long


def read_annotations(
    path: Path, settings: Settings, columns: Sequence[str], predicted: xr.DataArray | None = None
) -> tuple[Any, list[str]]:
    """Read the annotations of a fit; return also the categories that only `predicted` names.

    These are added to the closed set unless that was declared. Of comparisons the largest component is kept
    if so requested. Raises ValueError also if a threshold has all scores on one side.
    """
    options: dict[str, Any] = {
        "categories": None if settings.categories is None else _declared(settings.categories),
        "bounds": settings.bounds,
        "rater_attributes": settings.rater_attributes,
    }
    table = _read_layout(path, settings.kind, columns, settings.layout)
    data = _container_of(path, settings.kind, table, settings.layout, options)
    only_predicted: list[str] = []
    if predicted is not None and settings.kind in ("rankings", "labels") and options["categories"] is None:
        only_predicted = sorted(set(labels_of(predicted)) - set(data.categories.tolist()))
    if only_predicted:
        options["categories"] = [*data.categories.tolist(), *only_predicted]
        data = _container_of(path, settings.kind, table, settings.layout, options)
    data = _cleaned(data, settings, counted="count" in table[1])
    if settings.kind == "scores":
        _check_thresholds(data, settings.thresholds)
    if settings.anonymize:
        data = data.anonymized()
    if settings.largest_component:
        whole, data = data, data.largest_component()
        if dropped := len(whole.items) - len(data.items):
            print_text(f"--largest-component leaves out {dropped:,} of the {len(whole.items):,} items")
    return data, only_predicted


def _cleaned(data: Any, settings: Settings, *, counted: bool) -> Any:
    """Merge look-alikes and drop duplicates if so requested; else say that there are some.

    In a table with a column of counts (`counted`) repeated answers are meant.
    """
    for what in ("items", "raters", "categories"):
        groups = look_alikes(getattr(data, what, np.array([], int)))
        first = " / ".join(map(short_repr, groups[0][:5])) if groups else ""
        if groups and not settings.merge_look_alikes:
            print_text(
                f"{what} that look alike, such as {first}, are taken to be different ({len(groups):,} "
                f"{'group' if len(groups) == 1 else 'groups'}); --merge-look-alikes takes them as one"
            )
        elif groups:
            print_text(f"--merge-look-alikes takes {what} such as {first} as one")
    if settings.merge_look_alikes:
        data = data.with_look_alikes_merged()
    once = data.without_duplicates()
    if (repeated := len(data) - len(once)) and settings.drop_duplicates:
        print_text(f"--drop-duplicates leaves out {repeated:,} of the {len(data):,} annotations")
        return once
    if repeated and not counted:
        print_text(
            f"{repeated:,} of the {len(data):,} annotations repeat one of the same rater to the letter, and are counted again; "
            "--drop-duplicates counts each once"
        )
    return data


def read_container(
    path: Path, kind: str, columns: Sequence[str], *, layout: str = "long", **options: Any
) -> Any:
    """Read a container from a table; ids are text, and `columns` are renamings ``item=case``.

    ====================  =====================================================================================
    kind                  columns
    ====================  =====================================================================================
    rankings              item, rater, category, rank
    labels                item, rater, label, perhaps count and gold; layout "wide": a column for each rater beside
                          item and count; layout "counts": a column for each category beside item
    comparisons           left, right, winner, perhaps rater and count
    scores                item, score, perhaps rater and count; layout "counts": a column for each score beside item
    ====================  =====================================================================================

    Comparisons and scores without a column of raters are anonymous. `options`, of which None and empty ones
    count as not given, are arguments of the container: ``categories``, the closed set; ``bounds``, the lowest
    and highest possible score; ``rater_attributes``, columns with attributes of the raters.
    """
    if options.get("bounds") is not None and kind != "scores":
        raise ValueError(f"--bounds is an option of scores, not of {kind}")
    if options.get("rater_attributes") and kind == "rankings":
        raise ValueError("--rater-attribute is an option of labels, scores and comparisons")
    return _container_of(path, kind, _read_layout(path, kind, columns, layout), layout, options)


def _read_layout(path: Path, kind: str, columns: Sequence[str], layout: str) -> tuple[Any, list[str]]:
    """Read a table as frame with its column names; raise if the kind has no such layout."""
    if layout not in LAYOUTS.get(kind, ("long",)):
        long = "long tables, or counts" if kind == "scores" else "long tables"
        raise ValueError(f"--layout {layout} is a layout of labels; {kind} are {long}")
    return read_columns(path, columns)


def _container_of(
    path: Path, kind: str, table: tuple[Any, list[str]], layout: str, options: Mapping[str, Any]
) -> Any:
    """Return the container of a table that was read."""
    frame, names = table
    attributes = options.get("rater_attributes", ())
    if kind in ("labels", "scores"):
        _check_attributes(path, names, attributes, layout)
    container = getattr(models, annotation_kinds[kind].container)
    given = {name: value for name, value in options.items() if value is not None}
    if layout == "wide":
        if "gold" in names:
            raise ValueError(f"{path}: a wide table has no place for gold labels; write a long one")
        roles = {role: role for role in ("item", "count") if role in names}
        given |= {"raters": [name for name in names if name not in roles], **roles}
    elif layout == "long":
        given |= {role: role for role in ("count", "gold") if role in names}
        if kind in ("comparisons", "scores") and not {"rater", "worker"} & set(names):  # worker: crowd-kit
            given["rater"] = None
    read = getattr(container, {"long": "from_table"}.get(layout, f"from_{layout}"))
    accepted = signature(read).parameters
    return read(frame, **{name: value for name, value in given.items() if name in accepted})


def _check_thresholds(scores: Scores, thresholds: Sequence[float]) -> None:
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


def _check_attributes(path: Path, names: Sequence[str], attributes: Sequence[str], layout: str) -> None:
    """Raise unless the table is long and has the columns of rater attributes."""
    missing = [name for name in attributes if name not in names]
    if attributes and layout != "long":
        raise ValueError(
            f"--layout {layout}: the table has no place for the column {attributes[0]!r} of the raters (--rater-attribute, "
            "--group); write a long one, with a row for each answer"
        )
    if missing:
        raise ValueError(
            f"{path}: there is no column {missing[0]!r} that says something of the raters; the columns are {first_reprs(names)}"
        )


def _declared(categories: str) -> list[str]:
    """Return the categories of a text file, or of a comma-separated list."""
    if isfile(categories):  # Path.is_file raises in Python 3.12 if the text is too long for a name
        return [line for text in text_lines(Path(categories)) if (line := text.rstrip("\r\n"))]
    if "," not in categories:
        raise ValueError(
            f"--categories {categories}: there is no such file; name one, or write the categories with commas: a,b,c"
        )
    return [name.strip() for name in categories.split(",")]


def read_predictions(path: Path, columns: Sequence[str]) -> xr.DataArray:
    """Read predictions with a column rank or score, and perhaps classifier; with neither, one label per item.

    `columns` are renamings of columns that the file has. Returns as `evaluation.predictions_from_table`.
    """
    table, order = _prediction_columns(path, columns)
    if not order:
        order, table["rank"] = ["rank"], np.ones(len(next(iter(table.values()))))
    named = "classifier" if "classifier" in table else None
    return predictions_from_table(table, classifier=named, **{order[0]: order[0]})


def read_scores(path: Path, columns: Sequence[str]) -> xr.DataArray:
    """Read rankings of the items (classifier, item) from a column score or rank, and perhaps classifier.

    Larger scores are better; ranks are negated. A missing row is -inf. One classifier without a name is
    "predictions".
    """
    table, order = _prediction_columns(path, columns)
    if not order:
        raise ValueError(
            f"{path}: there is no column 'score' and no column 'rank' that orders the items; the columns are {first_reprs(table)}"
        )
    score = table[order[0]] if order == ["score"] else -table[order[0]]
    own = {"item": table["item"]} if "item" in table else {}
    own["classifier"] = table.get("classifier", np.full(len(score), "predictions"))
    own |= {"score": score, "category": np.full(len(score), "score")}
    scores = predictions_from_table(own, score="score", classifier="classifier")
    return scores.isel(category=0, drop=True)


def _prediction_columns(path: Path, columns: Sequence[str]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the columns of a file of predictions, and the name of its ordering one, rank or score."""
    frame, names = read_columns(path, columns)
    order = [name for name in ("rank", "score") if name in names]
    if len(order) > 1:
        raise ValueError(f"{path}: predictions have a column 'rank' and a column 'score'; drop one")
    table = {name: np.asarray(frame[name]) for name in names}
    for name in order:
        table[name] = as_numbers(path, name, table[name])
    return table, order


def as_numbers(path: Path, column: str, texts: np.ndarray) -> np.ndarray:
    """Parse a column of text as numbers; raise with file, row and column."""
    numbers = np.empty(len(texts))
    for row, text in enumerate(texts):
        try:
            numbers[row] = float(text)
        except (TypeError, ValueError):
            where = f"{path}: row {row + 1}, column {column!r}"
            raise ValueError(f"{where}: {short_repr(text)} is not a number; correct the cell") from None
    return numbers


def _check_cells(path: Path, column: str, cells: np.ndarray, valid: np.ndarray, problem: str) -> None:
    """Raise with file, row and column at the first cell that is not valid; `problem` completes the message."""
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"{path}: row {row + 1}, column {column!r}: {short_repr(cells.tolist()[row])} {problem}"
        )


def read_columns(path: Path, columns: Sequence[str]) -> tuple[Any, list[str]]:
    """Read a table as pandas or pyarrow frame with text ids, and the names of its columns."""
    frame = read_table(path, rename=_renamings(columns))
    return frame, list(getattr(frame, "column_names", None) or frame.columns)


def _renamings(columns: Sequence[str]) -> dict[str, str]:
    """Parse ``item=case`` to {'case': 'item'}."""
    renamings = {}
    for column in columns:
        name, equals, own = column.partition("=")
        if not (name and equals and own):
            raise ValueError(f"--column {column}: write item=case to read the column 'case' as 'item'")
        renamings[own] = name
    return renamings


# --- Concordance of proposed rankings with the posterior of comparisons ---


def read_orders(path: Path, columns: Sequence[str], items: np.ndarray) -> xr.DataArray:
    """Read scores or ranks of the items, aligned to the items of the votes, dims (classifier, item).

    Larger scores are better. Raises ValueError if an item has no votes, or no score.
    """
    orders = read_scores(path, columns)
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


def read_item_groups(path: Path) -> Groups | xr.DataArray:
    """Read groups of categories or, from a file with a column item, of items (item,)."""
    _, names = read_columns(path, [])
    if "category" in names or "item" not in names:
        return read_groups(path)
    table = _columns(path, ("item", "group"))
    item, group = (_texts(path, name, table[name]) for name in ("item", "group"))
    _check_distinct(path, "item", item)
    return xr.DataArray(np.array(group), {"item": np.array(item)}, ("item",))


def _columns(path: Path, needed: Sequence[str]) -> dict[str, np.ndarray]:
    frame, names = read_columns(path, [])
    for name in needed:
        if name not in names:
            raise ValueError(
                f"{path}: there is no column {name!r}; a file of groups has category, group and perhaps value, or item and "
                f"group; the columns are {first_reprs(names)}"
            )
    table = {name: np.asarray(frame[name]) for name in names}
    if not len(table[needed[0]]):
        raise ValueError(f"{path}: the table has no rows")
    return table


def _texts(path: Path, column: str, cells: np.ndarray) -> list[str]:
    texts: list[Any] = cells.tolist()
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"{path}: row {row + 1}, column {column!r} is empty; fill it in, or delete the row"
            )
    return texts


def _check_distinct(path: Path, column: str, names: list[str]) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if (earlier := first.setdefault(name, row)) != row:
            raise ValueError(
                f"{path}: row {row + 1}: the {column} {short_repr(name)} is there twice, first in row {earlier + 1}"
            )


# --- Predictions of the side of a threshold ---

WAYS = ("probability", "score", "label")


def read_sides(path: Path, columns: Sequence[str], threshold: float) -> xr.DataArray:
    """Read predictions of the side of a threshold of each item.

    The table has a column item, optionally classifier, and one of: probability (that the score is above the
    threshold), score (on the scale of the raters), label ("above" or "at most"). The result has probabilities
    or scores (item, category), or labels (item, position), with a leading dim classifier if there are
    several. Its attribute ``way`` is the name of the column.
    """
    frame, names = read_columns(path, columns)
    way = _way_of(path, names, threshold)
    cells = np.asarray(frame[way])
    own = {name: np.asarray(frame[name]) for name in ("item", "classifier") if name in names}
    classifier = "classifier" if "classifier" in own else None
    if way == "label":
        own |= {"category": _named(path, cells, threshold), "rank": np.ones(len(cells))}
        found = predictions_from_table(own, rank="rank", classifier=classifier)
        return found.assign_attrs(way=way)
    above = _numbers(path, way, cells)
    below = 1 - above
    if way == "score":
        above, below = above - threshold, threshold - above
    lower, upper = sides_of(threshold)
    both = {name: np.concatenate([column, column]) for name, column in own.items()}
    both["category"] = np.repeat([upper, lower], len(above))
    both["score"] = np.concatenate([above, below])
    found = predictions_from_table(both, score="score", classifier=classifier)
    return found.sel(category=[lower, upper]).assign_attrs(
        way=way
    )  # a score equal to the threshold is not above


def _way_of(path: Path, names: Sequence[str], threshold: float) -> str:
    """Return the one column that holds the predictions."""
    ways = [way for way in WAYS if way in names]
    if len(ways) == 1:
        return ways[0]
    found = f"the columns {' and '.join(ways)}" if ways else f"columns {first_reprs(names)}"
    raise ValueError(
        f"{path}: found {found}; predictions of scores have item, perhaps classifier, and one of: probability (of a score "
        f"above {threshold:g}), score (on the scale of the raters), label (above or at most)"
    )


def _named(path: Path, cells: np.ndarray, threshold: float) -> np.ndarray:
    """Return the side named by each cell."""
    lower, upper = sides_of(threshold)
    meant = {"at most": lower, lower: lower, "above": upper, upper: upper}
    known = np.array([cell in meant for cell in cells.tolist()], bool)
    _check_cells(path, "label", cells, known, f"is neither 'above' nor 'at most' the threshold {threshold:g}")
    return np.array([meant[cell] for cell in cells.tolist()], np.str_)


def _numbers(path: Path, way: str, cells: np.ndarray) -> np.ndarray:
    """Return predicted scores or probabilities as numbers."""
    numbers = as_numbers(path, way, cells)
    fine, allowed = np.isfinite(numbers), "a finite number"
    if way == "probability":
        fine, allowed = (numbers >= 0) & (numbers <= 1), "a probability, from 0 to 1"
    _check_cells(path, way, cells, fine, f"is not {allowed}; correct the cell")
    return numbers


def check_side_metrics(metrics: Sequence[str], predicted: xr.DataArray) -> None:
    """Raise if a metric needs a kind of prediction that is not given."""
    way = predicted.attrs["way"]
    enough = {"probabilities": ("probability",), "scores": ("probability", "score")}
    for name in metrics:
        needed = str(metric_named(name).response)
        if way not in enough.get(needed, WAYS):
            columns = " or ".join(map(repr, enough[needed]))
            raise ValueError(
                f"--metric {name} needs {needed}, and the predictions have a column {way!r}: give a column {columns} instead"
            )
