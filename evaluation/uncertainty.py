"""Uncertainty-adjusted metrics: predictions scored against every posterior draw of the truth.

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
        Metric of this package, or ``f(y_true, y_pred, **arguments)`` over all items, called once for each
        draw. If the callable takes ``labels``, they are fixed: to all labels that occur, or for scores to all
        categories, in whose order the columns of the scores are.
    tree : DataTree or DataArray
        Posterior with ``plausibility``, or a point estimate of it.
    predictions : DataArray
        Labels (item, position), best first and "" after the last, or scores or booleans (item, category);
        optionally with a dim ``classifier``. A category that no rater ranked is a member of OTHER.
    reduce : "item" or None
        Average over items, or keep them.
    truth : {"label", "set", "ranking", "plausibility", "sampled"}, optional
        Reference of the comparison: the top-1 label of a draw, its top-j set, the same best first, the
        plausibilities, or a label drawn from them. Default: that of the metric; "label" for a callable, and
        for a metric of probabilities if the truth is one category.
    response : {"labels", "scores", "probabilities"}, optional
        Form in which a callable receives the predictions. Default: as scikit-learn's functions need it,
        otherwise labels.
    top : int
        Number of labels in the sets and rankings that a callable receives, "" after the last.
    other : {"split", "exclude", "label"}, optional
        Treatment of OTHER; default as stored in the tree.
    random_seed : int or numpy.random.Generator, optional
        Seed of the members of OTHER, if it is split, and of sampled labels. With one seed all classifiers
        meet the same truth, but metrics of different kinds may meet different draws of it.
    progressbar : bool
        Whether to show the progress of a callable.
    **arguments
        Keyword arguments of the callable.

    Returns
    -------
    DataArray, shape (chain, draw[, classifier][, item])
        Metric of every draw, under its name. The mean over draws is the uncertainty-adjusted metric.

    Raises
    ------
    EvaluationError
        If predictions and posterior do not match, or the callable does not return a number.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> simulated = models.simulators.ambiguous_items(items=5, raters=4, random_seed=1)
    >>> tree = inference.sample(
    ...     models.dirichlet(simulated.data), draws=200, chains=2, random_seed=1, progressbar=False
    ... )
    >>> predictions = inference.majority_vote(simulated.data)["plausibility"]
    >>> accuracy = evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(1), tree, predictions)
    >>> accuracy.name, dict(accuracy.sizes)
    ('top_1_accuracy', {'chain': 2, 'draw': 200})

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, section 2.5, equations 12-20.
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
    """Return scores (classifier, sample) or (classifier, item, sample), block by block of items."""
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
    """Return scores (classifier, sample) of metrics over all items, block by block of draws."""
    seed = fixed_seed(random_seed)
    scorer = scorer.closed(seed)

    def scores(block: Block, samples: slice, rng: np.random.Generator) -> np.ndarray:
        numbers = np.arange(samples.start, samples.stop)
        return scorer.over_items(scorer.truth(block, rng), None, numbers)

    blocks = scorer.map_draws(scores, seed, progressbar)
    return np.concatenate(blocks, axis=1)


def _named(values: np.ndarray, scorer: Scorer, reduce: str | None) -> xr.DataArray:
    """Return values (classifier[, item], sample) as a DataArray with the dims of the posterior."""
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
