"""Reading of predictions as answers: the best label that each classifier gives each item."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...._messages import short_repr
from ....posterior.matching import integer_id
from ..errors import DataError, refused_argument
from .columns import code_ids, first_repeat, match_ids, nearest, text_or_integer
from .frames import Column

NAME = "predictions"  # of a classifier without a name
NONE = -1  # code of an item without a prediction
refused_predictions: Callable[..., DataError] = partial(refused_argument, NAME)
FORMS = (
    "a DataArray (item, position) of labels, best first, or (item, category) of scores, perhaps with a dim classifier, as "
    "evaluation.predictions_from_table makes it"
)


class PredictedRankings(NamedTuple):
    """Ranked lists of items by classifiers: one row for each category that a classifier lists for an item."""

    classifiers: np.ndarray  # (classifier,), ids
    items: np.ndarray  # (predicted,), ids
    classifier: np.ndarray  # (row,), codes
    item: np.ndarray  # (row,), codes
    category: np.ndarray  # (row,), codes
    rank: np.ndarray  # (row,), from 1; equal ranks are a tie


class PredictedLabels(NamedTuple):
    """Best label of each item by each classifier."""

    classifiers: np.ndarray  # (classifier,), ids
    items: np.ndarray  # (predicted,), ids
    label: np.ndarray  # (classifier, predicted), category codes, -1 without a prediction


def read_predicted_labels(predictions: Any, categories: np.ndarray) -> PredictedLabels:
    """Read predictions, and find the best label of each item; ties by the order of the categories.

    The probability of one of two categories is completed by that of the other. Refuses what is no such array, repeated items,
    categories and classifiers, labels outside the categories, sets of several labels, scores that are NaN or infinite, and
    scores of one and the same category alone.
    """
    array = _as_array(predictions)
    classifiers = _ids_along(array, "classifier")
    items = _ids_along(array, "item")
    if "category" in array.dims:
        names = _ids_along(array, "category")
        codes = category_codes(names, categories)
        values = _scores(array.to_numpy(), classifiers, items)
        if (strange := (values > -np.inf) & (codes < 0)).any():
            c, i, name = np.argwhere(strange)[0].tolist()
            raise _unknown(names[name].item(), categories, _cell(classifiers, items, c, i))
        scores = np.full((*values.shape[:2], len(categories)), -np.inf)
        scores[..., codes[codes >= 0]] = values[..., codes >= 0]
        if array.dtype.kind != "b":
            scores = _completed(scores, classifiers)
        label = np.where((scores > -np.inf).any(axis=-1), scores.argmax(axis=-1), NONE).astype(np.int32)
    else:
        label = _first_labels(array.to_numpy(), categories, classifiers, items)
    return PredictedLabels(classifiers, items, label)


def read_predicted_rankings(predictions: Any, categories: np.ndarray) -> PredictedRankings:
    """Read predictions as ranked lists: labels best first, or scores, of which equal ones are a tie; -inf is not listed.

    Refuses what is no such array, repeated items, categories, classifiers and labels of a list, labels outside the categories,
    and scores that are NaN or infinite. A boolean set is one block of ties.
    """
    array = _as_array(predictions)
    classifiers, items = _ids_along(array, "classifier"), _ids_along(array, "item")
    values = array.to_numpy()
    if "category" in array.dims:
        codes = category_codes(_ids_along(array, "category"), categories)
        is_set = values.dtype.kind == "b"
        scores = np.where(values, 0.0, -np.inf) if is_set else _scores(values, classifiers, items)
        who, item, column = np.nonzero(scores > -np.inf)
        category, score = codes[column], scores[who, item, column]
        better = (scores[who, item] > score[:, None]) & (scores[who, item] > -np.inf)
        rank = 1 + better.sum(axis=1)
        labels = array["category"].to_numpy()[column]
    else:
        _first_labels(values, categories, classifiers, items)  # refuses a gap in a list
        who, item, place = np.nonzero(values != "")
        if not len(who):
            none = np.zeros(0, np.int64)
            return PredictedRankings(classifiers, items, none, none, none, none)
        with _along("item"):
            names, code = code_ids(Column("label", values[who, item, place].tolist()))
        category, rank, labels = category_codes(names, categories)[code], 1 + place, names[code]
    if (category < 0).any():
        row = int((category < 0).argmax())
        raise _unknown(
            labels[row].item(), categories, _cell(classifiers, items, int(who[row]), int(item[row]))
        )
    _, first = np.unique(np.stack([who, item, category]), axis=1, return_index=True)
    if len(first) < len(category):
        row = int(np.setdiff1d(np.arange(len(category)), first)[0])
        cell = _cell(classifiers, items, int(who[row]), int(item[row]))
        problem = f"{short_repr(labels[row].item())} is twice in the list of {cell}"
        raise refused_predictions(problem, value=labels[row].item(), remedy="keep the first of them")
    return PredictedRankings(classifiers, items, who, item, category, rank)


def _as_array(predictions: Any) -> Any:
    """Return predictions as an array (classifier, item, position or category), or raise."""
    if not all(hasattr(predictions, name) for name in ("dims", "coords", "transpose", "expand_dims")):
        raise refused_predictions(f"a {type(predictions).__name__} is none", allowed=FORMS, remedy="make one")
    dims = {*predictions.dims} - {"classifier"}
    if dims not in ({"item", "position"}, {"item", "category"}):
        raise refused_predictions(f"found dims {predictions.dims}", allowed=FORMS, remedy="rename the dims")
    if lacking := [d for d in predictions.dims if d != "position" and d not in predictions.coords]:
        problem = f"the dim {lacking[0]} has no coordinate to match by"
        raise refused_predictions(problem, remedy=f"assign_coords({lacking[0]}=[...])")
    if not predictions.size:
        raise refused_predictions("there are none", remedy="leave the argument out, or check what was read")
    if "classifier" not in predictions.dims:
        known = "classifier" in predictions.coords  # of one that was selected
        predictions = predictions.expand_dims(
            classifier=[predictions["classifier"].item() if known else NAME]
        )
    return predictions.transpose("classifier", "item", ...)


def _ids_along(array: Any, dim: str) -> np.ndarray:
    """Return the ids along a dim, all text or all integers, each once."""
    listed = array[dim].to_numpy().tolist()
    with _along(dim):
        ids, code = code_ids(Column(dim, listed))
    if (place := first_repeat(code)) is not None:
        problem = f"{dim} {short_repr(listed[place])} is there twice"
        raise refused_predictions(problem, value=listed[place], remedy="keep one of them")
    return ids


@contextmanager
def _along(what: str) -> Iterator[None]:
    """Context manager: an error names the argument and the place, counted from 1, along a dim."""
    try:
        yield
    except DataError as error:
        place = "" if error.row is None else f", place {error.row:,} along {what}"
        raise error.moved(f"argument predictions{place}") from None


def category_codes(names: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Return the code of each name, -1 if unknown; integers may be written as text, as tables of ranks do."""
    if names.dtype.kind == "U" and categories.dtype.kind != "U":
        numbers = [integer_id(name) for name in names.tolist()]
        if None in numbers:
            odd = names[numbers.index(None)].item()
            raise refused_predictions(
                f"the label {short_repr(odd)} is text, but the categories are integers such as {categories[0].item()}",
                value=odd,
                allowed="one kind on both sides",
                remedy="write both as text, or both as integers",
            )
        known = {label: code for code, label in enumerate(categories.tolist())}
        return np.array([known.get(number, NONE) for number in numbers], np.int32)
    with _along("category"):
        return match_ids(names, categories, "categories")


def _first_labels(
    values: np.ndarray, categories: np.ndarray, classifiers: np.ndarray, items: np.ndarray
) -> np.ndarray:
    """Return codes (classifier, item) of the first of labels (classifier, item, position), "" for none."""
    given = values != ""
    if (gap := given[..., 1:] & ~given[..., :-1]).any():
        c, i, place = np.argwhere(gap)[0].tolist()
        problem = f'a label stands after "" at position {place} of {_cell(classifiers, items, c, i)}'
        raise refused_predictions(problem, remedy='write "" only after the last label')
    best = given[..., 0]
    label = np.full(best.shape, NONE, np.int32)
    if best.any():
        with _along("item"):
            names, code = code_ids(Column("label", values[..., 0][best].tolist()))
        known = category_codes(names, categories)
        label[best] = known[code]
        if (known < 0).any():
            c, i = np.argwhere(best & (label < 0))[0].tolist()
            raise _unknown(values[c, i, 0].item(), categories, _cell(classifiers, items, c, i))
    return label


def _scores(values: np.ndarray, classifiers: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return scores (classifier, item, category) as numbers, -inf where nothing is predicted, or raise; a set's member is 0."""
    if values.dtype.kind not in "biuf":
        problem = f"scores have dtype {values.dtype}"
        raise refused_predictions(problem, allowed="numbers or bool", remedy="convert them")
    if values.dtype.kind == "b":
        if (several := values.sum(axis=-1) > 1).any():
            c, i = np.argwhere(several)[0].tolist()
            problem = f"{_cell(classifiers, items, c, i)} has a set of {values[c, i].sum()} labels"
            raise refused_predictions(problem, allowed="one label", remedy="give scores, or the best label")
        return np.where(values, 0.0, -np.inf)
    if (bad := np.isnan(values) | (values == np.inf)).any():
        c, i, _ = np.argwhere(bad)[0].tolist()
        problem = f"a score of {_cell(classifiers, items, c, i)} is {values[bad][0]}"
        raise refused_predictions(problem, allowed="finite numbers, and -inf for none", remedy="correct it")
    return values.astype(float)


def _completed(scores: np.ndarray, classifiers: np.ndarray) -> np.ndarray:
    """Complete classifiers that give each item the probability of one of two categories; of more, refuse one and the same.

    A single category with score 1 is a label, and so is one that changes between items.

    Shapes: scores and result (classifier, item, category), -inf where not scored.
    """
    scores = scores.copy()
    for name, own in zip(classifiers.tolist(), scores, strict=True):
        given = own > -np.inf
        one = given.sum(axis=-1) == 1
        if not one.any() or (given.sum(axis=-1) > 1).any() or (own[given] == 1).all():
            continue
        if scores.shape[-1] == 2 and ((own[given] >= 0) & (own[given] <= 1)).all():
            own[one] = np.where(given[one], own[one], 1 - own[one][:, ::-1])
        elif given.any(axis=0).sum() == 1 and len(own) > 1:
            problem = f"classifier {short_repr(name)} scores one and the same category of every item"
            remedy = "give the scores of all categories, or the best label as rank 1"
            raise refused_predictions(problem, value=name, allowed="a best category", remedy=remedy)
    return scores


def _unknown(label: Any, categories: np.ndarray, cell: str) -> DataError:
    problem = f"{short_repr(label)}, the label of {cell}, is not one of the categories"
    remedy = "correct it, or read the labels with categories= that have it"
    return refused_predictions(problem, value=label, allowed=nearest(label, categories), remedy=remedy)


def _cell(classifiers: np.ndarray, items: np.ndarray, c: int, i: int) -> str:
    """Name a classifier and an item in messages."""
    return f"item {short_repr(items[i].item())} by {short_repr(classifiers[c].item())}"


def joined_raters(raters: np.ndarray, classifiers: np.ndarray, data: str, answers: str) -> np.ndarray:
    """Ids of raters, then classifiers; raise if one has the name of a rater. `data` and `answers` are nouns for messages."""
    joined = joined_ids(raters, classifiers, ("the raters", "the classifiers"))
    if known := sorted({*raters.tolist()} & {*classifiers.tolist()}):
        raise refused_predictions(
            f"{short_repr(known[0])} is a rater of these {data} already, and a classifier counts once",
            value=known[0],
            remedy=f"leave out its predictions, or its {answers}, or give another classifier another name",
        )
    return joined


def unknown_items(unknown: list[Any], items: np.ndarray, data: str, remedy: str) -> DataError:
    """Error about predicted items that are none of `items`; `data` is their noun."""
    more = f" and {len(unknown) - 1:,} more" * (len(unknown) > 1)
    problem = f"item {short_repr(unknown[0])}{more} is none of the items of the {data}"
    return refused_predictions(problem, value=unknown[0], allowed=nearest(unknown[0], items), remedy=remedy)


def joined_ids(ours: np.ndarray, added: np.ndarray, what: tuple[str, str]) -> np.ndarray:
    """Concatenate ids of one kind, text or integers, or raise; `what` names the owners in messages."""
    if ours.dtype.kind != added.dtype.kind:
        one, other = ours[0].item(), added[0].item()
        raise refused_predictions(
            f"{what[0]} are {text_or_integer(ours)} such as {short_repr(one)}, but {what[1]} {text_or_integer(added)} such as "
            f"{short_repr(other)}",
            value=other,
            allowed="one kind on both sides",
            remedy="write both as text, or both as integers: assign_coords, or expand_dims(classifier=[...])",
        )
    return np.concatenate([ours, added])
