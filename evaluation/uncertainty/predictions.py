"""Conversion of a table of predictions to a DataArray for the metrics."""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import xarray as xr

from ..._messages import first_reprs, short_repr, warn_user
from ...posterior.errors import EvaluationError
from ...posterior.matching import rescaled
from ...posterior.table_text import columns_alike, renamed_in_words

SYNONYMS = {"score": "confidence"}  # role -> another row of the names of the trade
ENOUGH = 8  # predictions from which scores show what they are probabilities of
MAX_SCORES = 1_000_000_000  # of a dense array
LARGEST = sys.float_info.max
UNSAFE = re.compile(r"[\0\ud800-\udfff]")  # NUL truncates numpy text, surrogates cannot be encoded


class Frame(Protocol):
    """Protocol of columns by name: a frame of any library, or a mapping."""

    def __getitem__(self, column: str, /) -> object:
        """Return a column."""
        ...


def predictions_from_table(
    frame: Frame,
    *,
    item: str = "item",
    category: str = "category",
    score: str | None = None,
    rank: str | None = None,
    classifier: str | None = None,
) -> xr.DataArray:
    """Read predictions from a table with one row for each item, category and classifier.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame, or mapping of columns
        Table.
    item, category : str
        Columns of the ids and the labels. Where a column has the name of its role, such as "item", and is
        not in the table, a usual synonym such as "task" is taken, with a warning; so also of the others.
    score, rank : str
        Column of the scores, larger = better, or of the ranks, 1 = best. Exactly one of them.
    classifier : str, optional
        Column of the names of the classifiers.

    Returns
    -------
    DataArray
        With `rank`: labels (item, position), best first, "" after the last. With `score`: scores (item,
        category), -inf for absent rows; probabilities that were rounded are divided by their sum, and a score beside each label
        that is the probability of one of two labels throughout is read as such, both with a warning. With `classifier`,
        (classifier, item, ...). Items and classifiers in order of appearance, categories sorted.

    Raises
    ------
    EvaluationError
        If a column is missing, a value empty or no number, a row duplicated, or above a billion scores.

    Examples
    --------
    >>> from raterzoo import evaluation
    >>> rows = {"item": ["a", "a", "b"], "category": ["x", "y", "y"], "rank": [2, 1, 1]}
    >>> evaluation.predictions_from_table(rows, rank="rank").values.tolist()
    [['y', 'x'], ['y', '']]
    """
    if (score is None) == (rank is None):
        roles = {"score": "score", "probability": "score", "rank": "rank"}
        likely = [f'{role}="{name}"' for name, role in roles.items() if name in (_names(frame) or ())]
        such = f", such as {' or '.join(likely)}" if likely else ""
        raise EvaluationError(
            f"predictions: pass either score= or rank=, the column that orders labels{such}"
        )
    asked = {"item": item, "category": category, "classifier": classifier, "score": score, "rank": rank}
    found = _resolved(frame, {role: name for role, name in asked.items() if name is not None})
    item, category, *of_classifier, value_column = found.values()
    columns = [item, category, *of_classifier]
    ids = [_ids(frame, column) for column in columns]
    value = _numbers(frame, value_column)
    for column, values in zip([*columns[1:], value_column], [*ids[1:], value], strict=True):
        if len(values) != len(ids[0]):
            raise EvaluationError(
                f"predictions: column {column!r} has {len(values)} rows, {item!r} has {len(ids[0])}"
            )
    if not len(value):
        raise EvaluationError("predictions: the table has no rows")
    items, row_item = _coded(ids[0])
    categories, row_category = _coded(ids[1], in_order=True)
    names, row_name = _coded(ids[2]) if classifier else (np.array([""]), np.zeros(len(value), int))
    if rank is None and len(names) * len(items) * len(categories) > MAX_SCORES:
        raise EvaluationError(
            f"predictions: {len(names):,} classifiers x {len(items):,} items x {len(categories):,} categories are over "
            f"{MAX_SCORES:,} scores; pass ranks of the best categories, or split the items"
        )
    rows = np.ravel_multi_index((row_name, row_item, row_category), (len(names), len(items), len(categories)))
    _check_distinct(rows, f"{category} {{}} of {item} {{}}", (ids[1], ids[0]))
    shape = (len(names), len(items))
    if rank is not None:
        group = np.ravel_multi_index((row_name, row_item), shape)
        wrong = np.flatnonzero((value < 1) | (value != np.floor(value)))
        if len(wrong):
            row = wrong[0]
            raise EvaluationError(
                f"predictions: row {row + 1}, column {value_column!r}: {value[row]:g} is no rank; number the "
                "labels of an item 1, 2, ..."
            )
        place = np.unique(value, return_inverse=True)[1]
        _check_distinct(
            group * (int(place.max()) + 1) + place, f"{value_column} {{}} of item {{}}", (value, ids[0])
        )
        order = np.lexsort((value, group))
        count = np.bincount(group, minlength=len(names) * len(items))
        position = np.arange(len(group)) - (np.cumsum(count) - count)[group[order]]
        texts = categories[row_category].astype(str)
        labels = np.full((len(count), int(count.max())), "", texts.dtype)
        labels[group[order], position] = texts[order]
        array = xr.DataArray(labels.reshape(*shape, -1), {"item": items}, ("classifier", "item", "position"))
    else:
        scores = np.full((*shape, len(categories)), -np.inf)
        scores.flat[rows] = value
        for k, own in enumerate(scores):
            if (read := _of_rounded(_of_positive(own, categories))) is not own:
                scores[k] = read
        coords = {"item": items, "category": categories}
        array = xr.DataArray(scores, coords, ("classifier", "item", "category"))
    return array.assign_coords(classifier=names) if classifier else array.isel(classifier=0)


def _of_positive(scores: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Scores (item, category) of which each is the probability of the label predicted, not of one of two labels throughout.

    A label that is predicted has more than 1/2 of two. Where the labels are separated by 1/2 the scores are of the one above,
    which is said, and the other is completed; other scores that the label predicted cannot have are refused.
    """
    given = scores > -np.inf
    if given.sum() < ENOUGH or given.sum(axis=-1).max() > 1 or not 2 <= given.any(axis=0).sum() <= 3:
        return scores
    item, label = np.nonzero(given)
    value, used = scores[item, label], np.unique(label)
    if value.min() < 0 or value.max() > 1:
        return scores
    names = [short_repr(categories[code].item()) for code in used]
    if len(used) == 2:
        of_label = [value[label == code] for code in used]
        low = int(of_label[0].mean() > of_label[1].mean())  # place of the label with the lower scores
        lower, upper = of_label[low].max(), of_label[1 - low].min()
        if value.min() < 0.5 and lower <= 0.5 <= upper and min(map(len, of_label)) > 1:
            warn_user(
                f"predictions: reading the scores as probabilities of {names[1 - low]}, as all of {names[low]} are at most 1/2; "
                "probabilities of both categories say so without this warning",
                UserWarning,
            )
            turned = np.full_like(scores, -np.inf)
            turned[item, used[1 - low]], turned[item, used[low]] = value, 1 - value
            return turned
        separated = lower < upper and min(map(len, of_label)) > 1 and value.min() < 0.5
    else:
        separated = False
    if separated or value.min() < 1 / (len(used) + 1):
        row = int(value.argmin())
        raise EvaluationError(
            f"predictions: the score {value[row]:g} of the label {short_repr(categories[label[row]].item())} cannot be its "
            "probability, as it is the one predicted; give the probabilities of all categories, or leave out the scores"
        )
    return scores


def _of_rounded(scores: np.ndarray) -> np.ndarray:
    """Scores (item, category) with sums of one where they are probabilities up to rounding, which is said."""
    told = (scores > -np.inf).any(axis=-1)
    given = np.where(scores == -np.inf, 0.0, scores)[told]
    exact = rescaled(given)
    if exact is None:
        return scores
    off = int((abs(given.sum(axis=-1) - 1) > 1e-9).sum())
    warn_user(
        f"predictions: the probabilities of {off:,} of {len(exact):,} items sum to one only up to rounding, and are divided by "
        "their sum",
        UserWarning,
    )
    found = scores.copy()
    found[told] = np.where(scores[told] == -np.inf, -np.inf, exact)
    return found


def _names(frame: Frame) -> list[str] | None:
    """Names of the columns of a table, None if it does not tell."""
    names = frame if isinstance(frame, Mapping) else getattr(frame, "column_names", None)
    names = getattr(frame, "columns", None) if names is None else names
    return None if names is None else list(names)


def _resolved(frame: Frame, asked: Mapping[str, str]) -> dict[str, str]:
    """Columns by role: as asked, or said synonyms where the name of the role itself is not there."""
    names, found = _names(frame), dict(asked)
    if names is None:
        return found
    for role, name in asked.items():
        if name in names:
            continue
        alike = columns_alike(role, names, found.values(), SYNONYMS.get(role)) if name == role else []
        if len(alike) != 1:
            problem = (
                f"columns {first_reprs(alike)} could each be the {role}" if alike else f"no column {name!r}"
            )
            raise EvaluationError(
                f"predictions: {problem}; the columns are {first_reprs(names)}; name the column: {role}=..."
            )
        found[role] = alike[0]
    synonyms = {role: name for role, name in found.items() if name != asked[role]}
    if said := renamed_in_words(synonyms):
        arguments = ", ".join(f"{role}={short_repr(name)}" for role, name in synonyms.items())
        warn_user(f"predictions: reading {said}; {arguments} says so without this warning", UserWarning)
    return found


def _column(frame: Frame, column: str) -> np.ndarray:
    """Read a column as an array (row,) of its own dtype or of objects, or raise."""
    try:
        values: Any = frame[column]
    except (TypeError, LookupError, ValueError):
        raise EvaluationError(
            f"predictions: {short_repr(frame)} is no table with a column {column!r}; pass a frame, or columns by name"
        ) from None
    for to_list in ("to_pylist", "to_list"):  # pyarrow; pandas and polars
        if hasattr(values, to_list):
            values = getattr(values, to_list)()
            break
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.ndim != 1:
            raise EvaluationError(
                f"predictions: column {column!r} has {values.ndim} dims; pass its cells in the order of the rows"
            )
    if isinstance(values, np.ndarray) and values.dtype.kind not in "mM":
        return values
    # object dtype: numpy would convert a mixed list to text, and times to numbers
    return np.fromiter(values, object, len(values))


def _ids(frame: Frame, column: str) -> np.ndarray:
    """Read a column of ids as integers or text, or raise."""
    values = _column(frame, column)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    listed: list[Any] = values.tolist()
    if {*map(type, listed)} == {str} and "" not in listed and not UNSAFE.search("".join(listed)):
        return np.array(listed)
    integers = [isinstance(value, int) and not isinstance(value, bool) for value in listed]
    for row, value in enumerate(listed):
        # integers fit into int64; numpy stores text that is not empty, without NUL and unpaired surrogates
        fits = isinstance(value, int) and -(2**63) <= value < 2**63
        text = isinstance(value, str) and value != "" and not UNSAFE.search(value)
        if integers[0] == integers[row] and (fits if integers[row] else text):
            continue
        raise EvaluationError(
            f"predictions: row {row + 1}, column {column!r}: {short_repr(value)} is no "
            f"{'integer' if integers[0] else 'text'} id; write all ids of a column as text, or all as integers, in every row"
        )
    return values.astype(np.int64 if integers and integers[0] else str)


def _numbers(frame: Frame, column: str) -> np.ndarray:
    """Read a column of finite numbers or -inf, or raise."""
    values = _column(frame, column)
    listed: Sequence[Any] = values.tolist()
    if {*map(type, listed)} == {float}:
        values = values.astype(float)
        if ((values == -np.inf) | (abs(values) <= LARGEST)).all():
            return values
    for row, value in enumerate(listed):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not (value == -np.inf or abs(value) <= LARGEST):
            what = "text, no number" if isinstance(value, str) else "no finite number"
            raise EvaluationError(
                f"predictions: row {row + 1}, column {column!r}: {short_repr(value)} is {what}; "
                "write it as a number, or leave the row out where nothing is predicted"
            )
    return values.astype(float)


def _coded(values: np.ndarray, *, in_order: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values in order of first appearance, or sorted, and the code of each value."""
    listed = values.tolist()
    place = {value: code for code, value in enumerate(dict.fromkeys(listed))}
    code = np.fromiter(map(place.__getitem__, listed), np.int64, len(listed))
    distinct = np.array([*place], values.dtype)
    if not in_order:
        return distinct, code
    order = np.argsort(distinct)
    return distinct[order], np.argsort(order)[code]


def _check_distinct(keys: np.ndarray, what: str, columns: tuple[np.ndarray, np.ndarray]) -> None:
    """Raise with the numbers of both rows if a key occurs twice."""
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if len(again):
        first, row = order[again[0]], order[again[0] + 1]
        values = what.format(*(short_repr(column.tolist()[row]) for column in columns))
        raise EvaluationError(
            f"predictions: row {row + 1}: {values} is duplicated, first in row {first + 1}; keep one of them"
        )
