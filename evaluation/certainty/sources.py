"""Inherent and annotation uncertainty of items: entropy or variance of a label, split by the law of total entropy or variance.

Symbols: lambda ``plausibility``, a distribution of labels; y a label drawn from it; E the mean over the posterior.
"""

from typing import Literal, get_args

import numpy as np
import xarray as xr
from scipy.special import entr

from ..._messages import warn_user
from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Block, Plausibility
from .annotation import POINT_ESTIMATE

Measure = Literal["entropy", "variance"]


def uncertainty_sources(
    tree: xr.DataTree | xr.Dataset | xr.DataArray, *, measure: Measure = "entropy"
) -> xr.Dataset:
    """Split the uncertainty of the label of each item into what is inherent and what more annotations would remove.

        total       H(E[lambda])                   of a label of this item
        inherent    E[H(lambda)]                   what remains if lambda is known
        annotation  H(E[lambda]) - E[H(lambda)]    mutual information of the label and lambda

    with the entropy H(p) = -sum p log p in nats, or the variance of the indicators, H(p) = sum p (1 - p), the probability
    that two labels differ; the third line is then the sum of the variances of lambda.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``plausibility`` (chain, draw, candidate) or (chain, draw, item, category) that is a distribution of
        labels, as for `annotation_certainty`.
    measure : {"entropy", "variance"}
        H.

    Returns
    -------
    Dataset
        ``total``, ``inherent`` and ``annotation`` (item), from 0 on: in nats, or from 0 to 1. OTHER, the pooled rest of the
        categories, counts as one label.

    Raises
    ------
    EvaluationError
        If the truth is one category, as in Dawid-Skene, or the tree lacks a variable.
    ValueError
        If `measure` is neither.

    Warns
    -----
    UserWarning
        If there is one draw, such as a point estimate, by which nothing is of the annotation.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]]]  # both items are a coin: one for each rater, one as yet
    >>> coords = {"item": ["contested", "unknown"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})
    >>> found = evaluation.uncertainty_sources(truth, measure="variance")
    >>> found["inherent"].values.tolist(), found["annotation"].values.tolist()
    ([0.5, 0.0], [0.0, 0.5])

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191v2, section 2, tells the two apart and leaves the split open. Depeweg et al. (2018),
    Decomposition of uncertainty in Bayesian deep learning, arXiv:1710.07283, has it for predictions.
    """
    if measure not in (allowed := get_args(Measure)):
        raise ValueError(f"measure={measure!r} is not one of {', '.join(map(repr, allowed))}")
    view = Plausibility.of(tree)
    if view.is_of_category:
        raise EvaluationError(
            "the truth of this model is one category, so that no uncertainty is inherent; use truth_certainty"
        )
    if view.n_samples == 1:
        warn_user(POINT_ESTIMATE, UserWarning)

    def of_block(block: Block, _: np.random.Generator) -> np.ndarray:
        rows = block.rows.astype(float, copy=False)
        of_mean, mean = (_spread(rows.mean(axis=0), measure), _spread(rows, measure).mean(axis=0))
        start = view.start[block.items] - block.cells.start
        return np.add.reduceat([of_mean, mean], start, axis=1)

    total, inherent = np.concatenate(view.map_blocks(of_block), axis=1)
    parts = {"total": total, "inherent": inherent, "annotation": total - inherent}
    return xr.Dataset(
        {name: ("item", values) for name, values in parts.items()}, {"item": view.items}, {"measure": measure}
    )


def _spread(p: np.ndarray, measure: Measure) -> np.ndarray:
    """Terms of H for probabilities of any shape."""
    return entr(p) if measure == "entropy" else p * (1 - p)
