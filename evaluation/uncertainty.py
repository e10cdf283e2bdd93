"""How good are predictions when the truth is uncertain? A metric against every draw of the truth.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, section 2.5, eq. 12-20.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, Literal

import numpy as np
import xarray as xr

from .alignment import Aligned, align, align_items
from .drawn_truth import dense_plausibility, sampled_label
from .errors import EvaluationError
from .metric import Metric
from .plausibility import OTHER, Block, Plausibility
from .top_labels import OtherAs, TopLabels, treatment_of_other

__all__ = ["uncertainty_adjusted"]

ByDraw = Callable[..., object]


def uncertainty_adjusted(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    *,
    reduce: Literal["item"] | None = "item",
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
    **arguments: Any,
) -> xr.DataArray:
    """Score predictions against every posterior draw of the truth.

    Parameters
    ----------
    metric : Metric or callable
        A metric of this package, or ``f(y_true, y_pred, **arguments)`` on the top-1 labels of all
        items, called once by draw; if it takes ``labels``, these are fixed to all that occur.
    tree : DataTree or DataArray
        Posterior with ``plausibility``, or a point estimate of it.
    predictions : DataArray
        Labels (item, position), best first, "" after the last; or (item, category) of scores or of
        bool; optionally ``classifier``. A category that no rater ranked is a member of OTHER.
    reduce : "item" or None
        Average over items, or keep them.
    other : {"split", "exclude", "label"}, optional
        How OTHER is treated; default as the tree says.
    random_seed : int or numpy.random.Generator, optional
        Draws the members of OTHER, if it is split, and sampled labels.
    **arguments
        For the callable.

    Returns
    -------
    DataArray, shape (chain, draw[, classifier][, item])
        The metric of every draw, by its name; its mean over draws is the uncertainty-adjusted
        metric.

    Raises
    ------
    EvaluationError
        If predictions and posterior do not match, or the callable returns no number.
    """
    if reduce not in ("item", None):
        raise EvaluationError(f'reduce={reduce!r}: expected "item" or None')
    view = Plausibility.of(tree)
    other = treatment_of_other(view, other)
    if not isinstance(metric, Metric):
        if reduce is None:
            raise EvaluationError("reduce=None: a callable scores all items at once; pass a Metric")
        aligned = align(view, predictions, 1, other, ordered=True)
        values = _by_draw(metric, aligned, TopLabels(aligned.view, other), arguments, random_seed)
        return _named(values, aligned, getattr(metric, "__name__", type(metric).__name__), reduce)
    if arguments:
        raise EvaluationError(f"{next(iter(arguments))}=: a Metric takes no arguments")
    if metric.truth == "plausibility":
        aligned = _probabilities(metric, view, predictions, other)
    else:
        aligned = align(view, predictions, metric.top, other, ordered=metric.truth == "ranking")
    labels = TopLabels(aligned.view, other)
    values = _by_item(metric, aligned, labels, reduce, random_seed)
    return _named(values, aligned, metric.name, reduce)


def _truth(metric: Metric, labels: TopLabels, block: Block, rng: np.random.Generator) -> np.ndarray:
    """Return the truth of a block: (sample, item), or (sample, item, position or category)."""
    if metric.truth == "plausibility":
        return dense_plausibility(labels, block).transpose(2, 0, 1)
    if metric.truth == "sampled":
        return sampled_label(labels, block, rng).T
    if metric.truth == "label":
        return labels.draw(block, 1, rng)[0].T
    return labels.draw(block, metric.top, rng).transpose(2, 1, 0)


def _by_item(
    metric: Metric,
    aligned: Aligned,
    labels: TopLabels,
    reduce: str | None,
    random_seed: int | np.random.Generator | None,
) -> np.ndarray:
    """Score block by block; returns (classifier, sample) or (classifier, item, sample)."""
    view, predicted = aligned.view, aligned.predicted

    def scores(block: Block, rng: np.random.Generator) -> np.ndarray:
        truth = _truth(metric, labels, block, rng)
        found = [np.asarray(metric.score(truth, one[block.items])).T for one in predicted]
        if found[0].T.shape != truth.shape[:2]:
            raise EvaluationError(
                f"{metric.name}: score returned shape {found[0].T.shape}, expected (..., item) = "
                f"{truth.shape[:2]}"
            )
        if reduce:
            return np.stack([one.sum(axis=0, dtype=float) for one in found])
        return np.stack(found).astype(np.result_type(found[0], np.float32))

    width = predicted.shape[-1] if metric.truth == "plausibility" else 0
    blocks = view.map_blocks(scores, random_seed, width)
    if reduce:
        return np.sum(blocks, axis=0) / len(view.items)
    return np.concatenate(blocks, axis=1)


def _probabilities(
    metric: Metric, view: Plausibility, predictions: xr.DataArray, other: OtherAs
) -> Aligned:
    """Match predicted probabilities of every declared category with the posterior."""
    if other == "label":
        raise EvaluationError(f'other="label": {metric.name} compares categories; {OTHER} is none')
    array, classifier = align_items(view, predictions)
    if "category" not in array.dims or array.dtype.kind not in "iuf":
        raise EvaluationError(f"{metric.name} needs predictions (item, category) of probabilities")
    names = array["category"].to_numpy().astype(str).tolist()
    view = view.with_categories(names)
    needed = view.declared_count() or len(view.categories)
    if sorted(names) != sorted(view.categories.tolist()) or len(names) != needed:
        raise EvaluationError(
            f"predictions have {len(names)} categories; {metric.name} needs all {needed}, each once"
        )
    order = {name: i for i, name in enumerate(names)}
    array = array.isel(category=[order[name] for name in view.categories.tolist()])
    predicted = array.transpose("classifier", "item", "category").to_numpy()
    return Aligned(view, predicted, classifier)


def _by_draw(
    function: ByDraw,
    aligned: Aligned,
    labels: TopLabels,
    arguments: dict[str, object],
    random_seed: int | np.random.Generator | None,
) -> np.ndarray:
    """Call a function of the true and the predicted labels of all items by draw: (classifier, sample)."""
    view = aligned.view
    drawn = view.map_blocks(lambda block, rng: labels.draw(block, 1, rng)[0], random_seed)
    truth, predicted = np.concatenate(drawn), aligned.predicted[..., 0]
    for codes, what in ((truth, "plausible"), (predicted.T, "predicted")):
        empty = (codes < 0).any(axis=1)
        if empty.any():
            item = view.items[np.argmax(empty)]
            raise EvaluationError(
                f"item {item!s} has no {what} label; a callable needs one of each"
            )
    text = np.array([*view.categories, *[OTHER] * (labels.n_codes + 1 - len(view.categories))])
    names = text
    if view.integer_labels and OTHER not in text[np.union1d(truth, predicted)]:
        names = np.where(text == OTHER, "0", text).astype(np.int64)
    if "labels" in signature(function).parameters and "labels" not in arguments:
        occurring = np.union1d(truth, predicted)
        arguments = {**arguments, "labels": np.unique(names[occurring])}
    values = np.empty((len(predicted), view.n_samples))
    for sample, true in enumerate(names[truth.T]):
        for c, codes in enumerate(predicted):
            values[c, sample] = _number(function(true, names[codes], **arguments))
    return values


def _number(value: object) -> float:
    number = np.asarray(value)
    if number.ndim:
        raise EvaluationError(f"the callable returned shape {number.shape}, expected one number")
    return float(number)


def _named(values: np.ndarray, aligned: Aligned, name: str, reduce: str | None) -> xr.DataArray:
    """Give values (classifier[, item], sample) the dims of the posterior."""
    view, classifier = aligned.view, aligned.classifier
    kept = () if reduce else ("item",)
    coords = dict(view.sample_coords())
    if kept:
        coords["item"] = xr.DataArray(view.items, dims="item")
    result = xr.DataArray(
        view.unstack(values), coords, (*view.sample_dims, "classifier", *kept), name=name
    )
    if classifier is None:
        return result.isel(classifier=0)
    return result.assign_coords(classifier=classifier.to_numpy())
