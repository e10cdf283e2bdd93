"""How good are predictions when the truth is uncertain? A metric against every draw of the truth.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, section 2.5, eq. 12-20.
"""

from typing import Any, Literal

import numpy as np
import xarray as xr

from .callables import ByDraw
from .errors import EvaluationError
from .metric import Metric, Response, Truth
from .plausibility import Block
from .scoring import Scorer
from .seeds import fixed_seed
from .top_labels import OtherAs

__all__ = ["uncertainty_adjusted"]


def uncertainty_adjusted(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    *,
    reduce: Literal["item"] | None = "item",
    truth: Truth | None = None,
    response: Response | None = None,
    top: int = 1,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
    progressbar: bool = True,
    **arguments: Any,
) -> xr.DataArray:
    """Score predictions against every posterior draw of the truth.

    Parameters
    ----------
    metric : Metric or callable
        A metric of this package, or ``f(y_true, y_pred, **arguments)`` on all items, called once by
        draw; if it takes ``labels``, these are fixed to all that occur, or with scores to all there
        are, and columns of scores are in their order.
    tree : DataTree or DataArray
        Posterior with ``plausibility``, or a point estimate of it.
    predictions : DataArray
        Labels (item, position), best first, "" after the last; or (item, category) of scores or of
        bool; optionally ``classifier``. A category that no rater ranked is a member of OTHER.
    reduce : "item" or None
        Average over items, or keep them.
    truth : {"label", "set", "ranking", "plausibility", "sampled"}, optional
        What predictions are compared with: the top-1 label of a draw, its top-j set, the same best
        first, the plausibilities, or a label drawn from them. Default: what the metric says; one
        label for a callable, and for a metric of probabilities where the truth is one category.
    response : {"labels", "scores", "probabilities"}, optional
        What a callable is given of the predictions; default: what scikit-learn's functions need, else
        labels.
    top : int
        Labels of the sets and rankings that a callable is given, "" after the last.
    other : {"split", "exclude", "label"}, optional
        How OTHER is treated; default as the tree says.
    random_seed : int or numpy.random.Generator, optional
        Draws the members of OTHER, if it is split, and sampled labels. One seed gives all classifiers the
        same truth, but metrics of different kinds may meet different draws of it.
    progressbar : bool
        Whether to show how far a callable is.
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
    scorer = Scorer.of(
        metric, tree, predictions, arguments, truth=truth, response=response, top=top, other=other
    )
    if scorer.metric.over == "items":
        if reduce is None:
            raise EvaluationError(
                f"reduce=None: {scorer.metric.name} scores all items at once; pass a metric of single items"
            )
        values = _over_items(scorer, random_seed, progressbar)
    else:
        values = _by_item(scorer, reduce, random_seed)
    return _named(values, scorer, reduce)


def _by_item(
    scorer: Scorer, reduce: str | None, random_seed: int | np.random.Generator | None
) -> np.ndarray:
    """Score block by block of items; returns (classifier, sample) or (classifier, item, sample)."""
    view = scorer.aligned.view

    def scores(block: Block, rng: np.random.Generator) -> np.ndarray:
        found = scorer.by_item(scorer.truth(block, rng), block.items)
        if reduce:
            return np.stack([one.sum(axis=0, dtype=float) for one in found])
        return np.stack(found).astype(np.result_type(found[0], np.float32))

    blocks = view.map_blocks(scores, random_seed, scorer.width)
    if reduce:
        return np.sum(blocks, axis=0) / len(view.items)
    return np.concatenate(blocks, axis=1)


def _over_items(
    scorer: Scorer, random_seed: int | np.random.Generator | None, progressbar: bool
) -> np.ndarray:
    """Score block by block of draws, all items together; returns (classifier, sample)."""
    seed = fixed_seed(random_seed)
    scorer = scorer.closed(seed)

    def scores(block: Block, samples: slice, rng: np.random.Generator) -> np.ndarray:
        numbers = np.arange(samples.start, samples.stop)
        return scorer.over_items(scorer.truth(block, rng), None, numbers)

    blocks = scorer.map_draws(scores, seed, progressbar)
    return np.concatenate(blocks, axis=1)


def _named(values: np.ndarray, scorer: Scorer, reduce: str | None) -> xr.DataArray:
    """Give values (classifier[, item], sample) the dims of the posterior."""
    view, classifier = scorer.aligned.view, scorer.aligned.classifier
    kept = () if reduce else ("item",)
    coords = dict(view.sample_coords())
    if kept:
        coords["item"] = xr.DataArray(view.items, dims="item")
    result = xr.DataArray(
        view.unstack(values),
        coords,
        (*view.sample_dims, "classifier", *kept),
        name=scorer.metric.name,
    )
    result.attrs["larger_is_better"] = int(scorer.metric.larger_is_better)
    if classifier is None:
        return result.isel(classifier=0)
    return result.assign_coords(classifier=classifier.to_numpy())
