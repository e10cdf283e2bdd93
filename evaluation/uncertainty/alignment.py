"""Predictions aligned with a posterior: items by id, categories by one common numbering."""

from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from ...posterior.errors import EvaluationError
from ...posterior.matching import ROUNDING, check_distinct, integer_id, match_items, rescaled, with_complement
from ...posterior.plausibility import Plausibility
from ...posterior.schema import OTHER
from ...posterior.top_labels import OtherAs, insert
from ..metrics.metric import Metric

NO_PREDICTION = -2  # not -1: the absence of a prediction is not the absence of a true label
FORMS = "(item, position) of labels or (item, category) of scores or of bool, and classifier"


@dataclass(frozen=True)
class Aligned:
    """Predictions in the category codes of a posterior."""

    view: Plausibility  # its categories extended by those of the predictions
    # codes (classifier, item, position), best first, -2 after the last; or scores (classifier, item, category)
    predicted: np.ndarray
    classifier: xr.DataArray | None  # coordinate; None without such a dim


def align(
    view: Plausibility, predictions: xr.DataArray, top: int, other: OtherAs, *, ordered: bool
) -> Aligned:
    """Align predicted labels, scores or sets with a posterior; raise if items or labels do not match.

    Predictions: labels (item, position), best first, "" after the last; or (item, category), scores with -inf
    = not predicted, or bool for a set; and optionally ``classifier``. `top` best labels count. `ordered`:
    whether their order matters. With other="label", never-ranked categories are coded as OTHER.
    """
    array, classifier = align_items(view, predictions)
    if "category" in array.dims:
        # categories in declared order, which breaks ties
        known = (view.categories if view.declared is None else view.declared).tolist()
        place = {name: i for i, name in enumerate(known)}
        texts = array["category"].to_numpy().astype(str).tolist()
        order = sorted(range(len(texts)), key=lambda i: place.get(texts[i], len(place)))
        array = array.isel(category=order).transpose("category", "classifier", "item")
        names = _names(view, array["category"])
        check_distinct(names, "category")
        places = _best_places(array, top, ordered)
    else:
        array = array.transpose("classifier", "item", "position")
        names, places = np.unique(_names(view, array), return_inverse=True)
        places = np.where(names == "", NO_PREDICTION, np.arange(len(names)))[places]
        places = places.reshape(array.shape)
        _check_positions(view, names, places)
        places = places[..., :top]
    used = np.unique(places[places >= 0])
    _check_known(view, names, places, other)
    view = view.with_categories(name for name in names[used].tolist() if name != OTHER)
    codes = _codes(view, names, places)
    if other == "label":  # every category that is not named in its item is OTHER, once in every list
        n_codes, named = len(view.categories), view.code >= 0
        item = np.repeat(np.arange(len(view.items)), np.diff(view.start))
        keys = item[named] * n_codes + view.code[named]
        own = np.arange(len(view.items))[:, None] * n_codes + codes
        unranked = (codes >= 0) & ~np.isin(own, keys) & view.has_other[:, None]
        later = np.cumsum(unranked, axis=-1) > 1
        codes = np.where(unranked, np.where(later, NO_PREDICTION, n_codes), codes)
    return Aligned(view, codes, classifier)


def align_items(view: Plausibility, predictions: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray | None]:
    """Return predictions in the item order of the posterior with a dim classifier, and its coordinate."""
    if not isinstance(predictions, xr.DataArray):
        raise EvaluationError(
            f"predictions: expected a DataArray {FORMS}, found {type(predictions).__name__}; "
            "predictions_from_table makes one"
        )
    dims = set(predictions.dims) - {"classifier"}
    if dims not in ({"item", "position"}, {"item", "category"}):
        raise EvaluationError(f"predictions: expected dims {FORMS}; found {predictions.dims}")
    for dim in dims - {"position"}:
        if dim not in predictions.coords:
            raise EvaluationError(f"predictions: dim {dim} has no coordinate to match labels by")
    ids = predictions["item"].to_numpy()
    array = with_complement(predictions, view.declared).isel(item=match_items(view.items, ids))
    if "classifier" not in array.dims:
        return array.expand_dims("classifier"), None
    return array, array["classifier"]


def align_categories(
    view: Plausibility, scores: xr.DataArray, other: OtherAs
) -> tuple[Plausibility, np.ndarray, np.ndarray]:
    """Align the categories of scores with a posterior.

    Shapes: scores (classifier, item, category), -inf = not predicted, or bool. Returns the posterior extended
    by the categories with a score, float scores of the same shape (0 and -inf for bool), and codes
    (category,), -2 for categories without a score.
    """
    names = _names(view, scores["category"])
    check_distinct(names, "category")
    values = _checked_scores(scores).astype(float)
    places = np.where(values > -np.inf, np.arange(len(names)), NO_PREDICTION)
    _check_known(view, names, places, other)
    used = np.unique(places[places >= 0])
    view = view.with_categories(names[used].tolist())
    codes = np.full(len(names), NO_PREDICTION)
    codes[used] = _codes(view, names, used)
    return view, values, codes


def _names(view: Plausibility, labels: xr.DataArray) -> np.ndarray:
    """Return labels as text, or raise if they are of another kind than the labels of the posterior."""
    values = labels.to_numpy()
    if values.dtype.kind == "O":
        strange = [value for value in values.ravel().tolist() if not isinstance(value, str | int)]
        if strange:
            raise EvaluationError(
                f'predictions: label {strange[0]!r} is no text; write "" where there is no label'
            )
    integers = values.dtype.kind in "iu"
    if not integers and values.dtype.kind not in "UTO":
        raise EvaluationError(f"predictions: labels have dtype {values.dtype}: expected text")
    names, odd = values.astype(str), None
    if integers and names.size and not view.integer_labels:
        odd = int(names.ravel()[0])
    elif not integers and view.integer_labels:
        texts = [name for name in np.unique(names).tolist() if name not in ("", OTHER)]
        odd = next((name for name in texts if integer_id(name) is None), None)
    if odd is not None:
        expected = "integers" if view.integer_labels else "text"
        raise EvaluationError(
            f"categories of the posterior are {expected} ({view.categories[0]!s}), of the predictions "
            f"{'integers' if integers else 'text'} ({odd!r}): convert one"
        )
    return names


def _best_places(array: xr.DataArray, top: int, ordered: bool) -> np.ndarray:
    """Positions (classifier, item, position) of the best scores along category, or of the members of a set; -2 after the last."""
    if array.dtype.kind == "b":
        size = int(array.to_numpy().sum(axis=0).max(initial=0))
        if size > (1 if ordered else top):
            raise EvaluationError(
                f"predictions: a set of {size} labels has no order to take the first "
                f"{top} by; pass (item, position) or scores, or ask for {size} or more of a metric of sets"
            )
    scores = _checked_scores(array)
    shape = (min(top, len(scores)), *scores.shape[1:])
    best, places = np.full(shape, -np.inf), np.full(shape, NO_PREDICTION, np.int32)
    for place, score in enumerate(scores):
        insert(best, score, places, place)
    return np.moveaxis(places, 0, -1)


def _checked_scores(array: xr.DataArray) -> np.ndarray:
    """Return scores as numbers, or raise at NaN; of a set 0 for members and -inf for the rest."""
    scores = array.to_numpy()
    if scores.dtype.kind == "b":
        return np.where(scores, 0.0, -np.inf)
    if scores.dtype.kind not in "iuf":
        raise EvaluationError(f"predictions: scores have dtype {scores.dtype}: expected numbers")
    bad = np.argwhere(np.isnan(scores))
    if len(bad):
        place = dict(zip(array.dims, bad[0], strict=True))
        raise EvaluationError(
            f"predictions: score of item {array['item'].to_numpy()[place['item']]!s}, category "
            f"{array['category'].to_numpy()[place['category']]!s} is NaN; -inf means not predicted"
        )
    return scores


def _check_positions(view: Plausibility, names: np.ndarray, places: np.ndarray) -> None:
    """Raise at a label after "" or at a duplicate; places (classifier, item, position)."""
    gap = (places[..., 1:] >= 0) & (places[..., :-1] < 0)
    if gap.any():
        _, item, position = np.argwhere(gap)[0]
        raise EvaluationError(
            f'predictions of item {view.items[item]!s}: a label after "" at position {position}; '
            '"" follows the last label'
        )
    ordered = np.sort(places, axis=-1)
    twice = (ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)
    if twice.any():
        classifier, item, position = np.argwhere(twice)[0]
        label = names[ordered[classifier, item, position]]
        raise EvaluationError(f"predictions of item {view.items[item]!s}: label {label!s} is duplicated")


def _check_known(view: Plausibility, names: np.ndarray, places: np.ndarray, other: OtherAs) -> None:
    """Raise if a predicted label is outside the closed set, or is OTHER where OTHER is not a label."""
    used = np.unique(places[places >= 0])
    if view.declared is not None:
        known = np.append(view.declared, OTHER) if "candidate" in view.array.dims else view.declared
        unknown = used[~np.isin(names[used], known)]
        if len(unknown):
            item = np.argwhere((places == unknown[0]).any(axis=(0, 2)))[0, 0]
            name = str(names[unknown[0]])
            near = [
                f", the nearest is {known!r}"
                for known in get_close_matches(name, view.declared.tolist(), n=1)
            ]
            raise EvaluationError(
                f"predictions of item {view.items[item]!s}: {name!r} is not one of the "
                f"{len(view.declared)} categories that were declared{''.join(near)}; "
                "correct the spelling, or declare it and fit again: categories= of the container, --categories of `raterzoo fit`"
            )
    if OTHER in names[used] and "candidate" in view.array.dims and other != "label":
        raise EvaluationError(
            f'predictions name {OTHER}, which is a set of categories; use other="label" to treat it as one label'
        )


def _codes(view: Plausibility, names: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Convert positions in `names` to category codes of the posterior; negative ones to -2."""
    number = {name: i for i, name in enumerate(view.categories.tolist())}
    if "candidate" in view.array.dims:
        number[OTHER] = len(number)  # the code of OTHER as a label
    # a name that is never used has no code
    of_name = [number.get(name, NO_PREDICTION) for name in names.tolist()]
    codes = np.array(of_name, np.int32)[np.maximum(places, 0)]
    return np.where(places >= 0, codes, NO_PREDICTION)


def align_ranks(metric: Metric, view: Plausibility, predictions: xr.DataArray, other: OtherAs) -> Aligned:
    """Align predictions with a posterior and rank all categories by them.

    Predictions as for `align`. Result: ranks (classifier, item, category), 1 = best, ties share their mean,
    categories without a prediction are tied last. The categories are the declared ones, or else those named.
    Raises if items or labels do not match, a score is NaN, or other="label".
    """
    if other == "label":
        raise EvaluationError(f'other="label": {metric.name} compares categories, and {OTHER} is not one')
    array, classifier = align_items(view, predictions)
    if "category" in array.dims:
        array = array.transpose("classifier", "item", "category")
        view, values, codes = align_categories(view, array, other)
        scores = _unscored(view, values.shape[:2])
        scores[..., codes[codes >= 0]] = values[..., codes >= 0]
    else:
        aligned = align(view, predictions, array.sizes["position"], other, ordered=True)
        view = aligned.view
        scores = _unscored(view, aligned.predicted.shape[:2])
        c, i, position = np.nonzero(aligned.predicted >= 0)
        scores[c, i, aligned.predicted[c, i, position]] = -position
    return Aligned(view, rankdata(-scores, axis=-1).astype(np.float32), classifier)


def _unscored(view: Plausibility, shape: tuple[int, ...]) -> np.ndarray:
    """Scores of -inf for every category, including declared ones that nobody names."""
    declared = 0 if view.declared is None else len(view.declared)
    n = max(len(view.categories), view.declared_count() or 0, declared)
    return np.full((*shape, n), -np.inf)


def align_scores(metric: Metric, view: Plausibility, predictions: xr.DataArray, other: OtherAs) -> Aligned:
    """Align predicted scores (item, category) of every declared category with a posterior.

    Probabilities must sum to one, and -inf (not predicted) becomes zero. Raises if a category is missing,
    unknown or duplicated, if a score is NaN or no probability, or if other="label".
    """
    if other == "label":
        raise EvaluationError(f'other="label": {metric.name} compares categories, and {OTHER} is not one')
    array, classifier = align_items(view, predictions)
    kind = "probabilities" if metric.response == "probabilities" else "scores"
    if "category" not in array.dims or array.dtype.kind not in "iuf":
        raise EvaluationError(
            f"{metric.name} needs predictions (item, category) of {kind}, found {predictions.dims} of {array.dtype}"
        )
    names = array["category"].to_numpy().astype(str).tolist()
    closed = view.categories if view.declared is None else view.declared
    unknown = [] if view.declared is None else np.setdiff1d(names, closed).tolist()
    if unknown:
        raise EvaluationError(
            f"predictions have categories such as {unknown[0]!r}, which is not among the {len(closed)} of the posterior"
        )
    view = view.with_categories(names)
    needed = view.declared_count() or len(view.categories)
    if sorted(names) != sorted(view.categories.tolist()) or len(names) != needed:
        lacking = [name for name in view.categories.tolist() if name not in set(names)]
        missing = f"; {lacking[0]!r} is missing" if lacking else ""
        raise EvaluationError(
            f"predictions have {len(names)} categories; {metric.name} needs all {needed}, each once{missing}"
        )
    order = {name: i for i, name in enumerate(names)}
    array = array.isel(category=[order[name] for name in view.categories.tolist()])
    array = array.transpose("classifier", "item", "category")
    values = array.to_numpy().astype(float)
    bad = np.argwhere(np.isnan(values) | (values == np.inf))
    if len(bad):
        raise EvaluationError(
            f"predictions: score of {_cell(array, bad[0])} is "
            f"{'NaN' if np.isnan(values[tuple(bad[0])]) else 'inf'}; -inf means not predicted"
        )
    if metric.response == "probabilities":
        values = np.where(values == -np.inf, 0.0, values)
        negative = np.argwhere(values < 0)
        if len(negative):
            raise EvaluationError(
                f"{metric.name} needs probabilities: that of {_cell(array, negative[0])} is "
                f"{values[tuple(negative[0])]:g}"
            )
        exact = rescaled(values)
        values = values if exact is None else exact
        total = values.sum(axis=-1)
        off = np.argwhere(abs(total - 1) > ROUNDING)
        if len(off):
            raise EvaluationError(
                f"{metric.name} needs probabilities: those of {_cell(array, off[0])} sum to "
                f"{total[tuple(off[0])]:g}; divide by their sum, or take the softmax of scores"
            )
    return Aligned(view, values, classifier)


def _cell(array: xr.DataArray, place: np.ndarray) -> str:
    """Name the labels at a position (classifier, item[, category]), as far as there are any."""
    names = {"item": 1, "classifier": 0} | ({"category": 2} if len(place) > 2 else {})
    known = {dim: array[dim].to_numpy()[place[i]] for dim, i in names.items() if dim in array.coords}
    return ", ".join(f"{dim} {label!s}" for dim, label in known.items())
