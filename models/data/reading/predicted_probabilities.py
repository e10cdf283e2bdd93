"""Reading of a classifier's probabilities of the categories of items, as numbers of a prior."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...._messages import short_repr, warn_user
from ..errors import DataError, DataWarning, refused_argument
from .columns import code_ids, first_repeat, match_ids, nearest
from .frames import Column, column_names, named_columns
from .predicted_labels import category_codes

NAME, WHERE = "prior_predictions", "argument prior_predictions"
_refused = partial(refused_argument, NAME)
MOST_OFF = 0.01  # of a sum of probabilities from one: they may be rounded
FORMS = (
    "a DataArray (item, category) with coordinates, or a table with a column of item ids and one column of "
    "probabilities for each category"
)


@dataclass(frozen=True, eq=False)
class PredictedProbabilities:
    """Probabilities that one classifier gives the categories of the annotated items."""

    probability: np.ndarray  # float64 (item, category), rows sum to one, or to zero without a prediction
    classifier: str  # name


def read_predicted_probabilities(
    predictions: Any, items: np.ndarray, categories: np.ndarray, classifier: str | None
) -> PredictedProbabilities:
    """Read one classifier's probabilities, in the order of the items and categories of the annotations.

    An item without a row has no prediction, nor has one whose scores are all -inf; its row is zero. Items that nobody annotated
    are kept aside, with a warning, as they are among features. Refuses predictions of no annotated item, unknown categories,
    items and categories that are repeated, numbers that are no probabilities, and rows that do not sum to one.
    """
    if all(hasattr(predictions, name) for name in ("dims", "coords", "transpose", "expand_dims")):
        ids, names, values, named = _of_array(predictions)
    else:
        (ids, names, values), named = _of_table(predictions, categories), None
    with _in_argument():
        places = match_ids(ids, items, "items")
    if (unknown := places < 0).any():
        _tell_others(ids[unknown], len(ids), items)
        ids, values, places = ids[~unknown], values[~unknown], places[~unknown]
    with _in_argument():
        codes = category_codes(names, categories)
    probability = np.zeros((len(items), len(categories)))
    probability[places] = _checked(values, (ids, names, codes), categories)
    return PredictedProbabilities(probability, _name(classifier, named))


def _tell_others(others: np.ndarray, n: int, items: np.ndarray) -> None:
    """Warn of predicted items that are not among the items of the data; raise if all of them are."""
    first, more = others[0].item(), len(others) - 1
    named = f"{short_repr(first)}{f' and {more:,} more' * bool(more)}"
    if len(others) == n:
        raise _refused(
            f"none of the predicted items is in the data: {named}",
            value=first,
            allowed=nearest(first, items),
            remedy="correct the ids, or leave the argument out",
        )
    plural = "s" * (more > 0)
    said = f"{len(others):,} item{plural} kept aside, without an annotation in the data: {named} (items of the data: "
    warn_user(f"{NAME}: {said}{nearest(first, items)})", DataWarning)


def _of_array(array: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, str | None]:
    """Return ids, names of categories, values (item, category) and, if known, the name of the classifier."""
    if "classifier" in array.dims and array.sizes["classifier"] == 1:
        array = array.isel(classifier=0)
    if "classifier" in array.dims:
        listed = ", ".join(map(repr, array["classifier"].to_numpy().tolist()[:3]))
        problem = f"it has {array.sizes['classifier']} classifiers, such as {listed}"
        remedy = "choose one, .sel(classifier=...); the others can be raters, by with_predictions"
        raise _refused(problem, allowed="the probabilities of one classifier", remedy=remedy)
    if {*array.dims} != {"item", "category"}:
        raise _refused(f"found dims {array.dims}", allowed=FORMS, remedy="rename the dims")
    if lacking := [d for d in array.dims if d not in array.coords]:
        problem = f"the dim {lacking[0]} has no coordinate to match by"
        raise _refused(problem, remedy=f"assign_coords({lacking[0]}=[...])")
    if not array.size:
        raise _refused("there are none", remedy="leave the argument out, or check what was read")
    array = array.transpose("item", "category")
    name = str(array["classifier"].item()) if "classifier" in array.coords else None
    return _ids(array, "item"), _ids(array, "category"), array.to_numpy(), name


def _ids(array: Any, dim: str) -> np.ndarray:
    """Return the ids along a dim, each once, or raise."""
    return _distinct(Column(dim, array[dim].to_numpy().tolist()))


def _distinct(column: Column) -> np.ndarray:
    """Return the ids of a column, each once, or raise."""
    with _in_argument():
        ids, code = code_ids(column)
    if (place := first_repeat(code)) is not None:
        problem = f"{column.name} {short_repr(column.values[place])} is there twice"
        raise _refused(problem, value=column.values[place], remedy="keep one of them")
    return ids


def _of_table(table: Any, categories: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ids, names of categories and values (item, category) of a table with one column for each category."""
    with _in_argument():
        names = column_names(table)
    known = {str(category) for category in categories.tolist()}
    others = [name for name in names if name not in known]
    column = "item" if "item" in others else others[0] if len(others) == 1 else None
    if column is None:
        found = ", ".join(map(short_repr, others[:4])) or "none"
        remedy = "name the column of the ids 'item', and the others as the categories"
        raise _refused(f"columns that are no category: {found}", value=others[:4], allowed=FORMS, remedy=remedy)  # fmt: skip
    scored = [name for name in names if name != column]
    with _in_argument():
        columns = named_columns(table, {name: name for name in names})
    if not scored:
        raise _refused("no column has probabilities", allowed=FORMS, remedy="add one for each category")
    values = [_numbers(columns[name]) for name in scored]
    return _distinct(columns[column]), np.array(scored), np.stack(values, axis=1)


def _numbers(column: Column) -> np.ndarray:
    """Return the cells of a column as numbers, NaN where empty, or raise."""
    for place, cell in enumerate(column.values):
        if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float | np.number)):
            row, problem = column.row(place), f"{short_repr(cell)} is no number"
            place_named = f"{WHERE}, row {row:,}, column {short_repr(column.name)}"
            remedy = "write a probability, or leave the column out if it is no category"
            raise DataError(problem, row=row, column=column.name, value=cell, remedy=remedy, where=place_named)  # fmt: skip
    return np.array([np.nan if cell is None else cell for cell in column.values], np.float64)


def _checked(
    values: np.ndarray, named: tuple[np.ndarray, np.ndarray, np.ndarray], categories: np.ndarray
) -> np.ndarray:
    """Return probabilities (row, category) that sum to one, or to zero without a prediction, or raise.

    `named` holds the ids of the rows, and names and codes of the columns, -1 for one that is no category.
    """
    ids, names, codes = named
    if values.dtype.kind not in "iuf":
        raise _refused(f"probabilities have dtype {values.dtype}", allowed="numbers", remedy="convert them")
    absent = values == -np.inf  # as predictions_from_table writes it
    values, told = np.where(absent, 0.0, values), ~absent.all(axis=1)
    for wrong in (~(values >= 0) | (values > 1 + MOST_OFF), (values > 0) & (codes < 0)):
        if wrong.any():
            i, k = np.argwhere(wrong)[0].tolist()
            raise _odd_cell(ids[i].item(), names[k].item(), float(values[i, k]), categories)
    total = values.sum(axis=1)
    if (wrong := told & (abs(total - 1) > MOST_OFF)).any():
        i = int(wrong.argmax())
        raise _refused(
            f"the probabilities of item {short_repr(ids[i].item())} sum to {total[i]:.4g}",
            value=float(total[i]),
            allowed=f"one, within {MOST_OFF:g} of it",
            remedy="give the probability of every category; a softmax makes probabilities of scores",
        )
    if not told.any():
        raise _refused("no item has a prediction", remedy="leave the argument out")
    found = np.zeros((len(ids), len(categories)))
    found[:, codes[codes >= 0]] = values[:, codes >= 0]
    return found / np.where(told, total, 1.0)[:, None]


def _odd_cell(item: Any, name: Any, value: float, categories: np.ndarray) -> DataError:
    """Error about one probability."""
    cell = f"item {short_repr(item)}, {short_repr(name)}"
    if 0 <= value <= 1 + MOST_OFF:
        remedy = "correct the name, or read the annotations with categories= that have it"
        problem = f"{cell}: {value:g}, of a category that the annotations do not have"
        return _refused(problem, value=name, allowed=nearest(name, categories), remedy=remedy)
    remedy = "leave an item without prediction out" if np.isnan(value) else "a softmax makes probabilities of scores"  # fmt: skip
    return _refused(f"{cell}: {value:g} is no probability", value=value, allowed="0 to 1", remedy=remedy)


def _name(given: str | None, known: str | None) -> str:
    """Return the name of the classifier, or raise unless it is text."""
    if given is not None and (not isinstance(given, str) or not given.strip()):
        problem, remedy = f"{short_repr(given)} is no name", "name the classifier"
        raise refused_argument("classifier", problem, value=given, allowed="text", remedy=remedy)
    return given or known or "predictions"


@contextmanager
def _in_argument() -> Iterator[None]:
    """Context manager: an error names the argument."""
    try:
        yield
    except DataError as error:
        place = "" if error.row is None else f", row {error.row:,}"
        raise error.moved(f"{WHERE}{place}") from None
