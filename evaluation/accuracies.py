"""Accuracy of predicted labels against each draw of the truth.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, section 2.5, eq. 12-20.
"""

import numpy as np

from .metric import Metric

__all__ = ["hits", "set_accuracy", "top_k_accuracy"]


def top_k_accuracy(k: int = 1) -> Metric:
    """Return the top-k accuracy: whether the top-1 label of a draw is among the k best predictions.

    Parameters
    ----------
    k : int
        Number of predicted labels that count.

    Returns
    -------
    Metric
        For `uncertainty_adjusted` and its relatives; in [0, 1] for each draw.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> items, categories = {"item": ["a", "b"]}, {"category": ["x", "y", "z"]}
    >>> truth = xr.DataArray([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]], items | categories, ("item", "category"))
    >>> predicted = xr.DataArray([["x", "y"], ["z", "y"]], items, ("item", "position"))
    >>> evaluation.uncertainty_adjusted(evaluation.top_k_accuracy(2), truth, predicted).item()
    1.0
    """
    return Metric(f"top_{k}_accuracy", "label", _is_among, k)


def set_accuracy(k: int) -> Metric:
    """Return the set accuracy: whether the k best predictions are exactly the top-k set of a draw.

    Parameters
    ----------
    k : int
        Size of the sets. An item with fewer than k plausible labels in a draw needs only as many predictions.

    Returns
    -------
    Metric
        For `uncertainty_adjusted` and its relatives; in [0, 1] for each draw.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> items, categories = {"item": ["a", "b"]}, {"category": ["x", "y", "z"]}
    >>> truth = xr.DataArray([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]], items | categories, ("item", "category"))
    >>> predicted = xr.DataArray([["x", "y"], ["z", "y"]], items, ("item", "position"))
    >>> evaluation.uncertainty_adjusted(evaluation.set_accuracy(2), truth, predicted).item()
    1.0
    """
    return Metric(f"set_accuracy_{k}", "set", _sets_are_equal, k)


def hits(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Count the true labels that are predicted.

    Shapes: truth (..., item, position); predictions (item, k); result (..., item).
    """
    count = np.zeros(truth.shape[:-1], np.int16, order="F")
    for position in range(truth.shape[-1]):
        count += _is_among(truth[..., position], predictions)
    return count


def _is_among(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Mask of true labels (..., item) among the predictions (item, k)."""
    among = truth == predictions[:, 0]
    for position in range(1, predictions.shape[1]):
        among |= truth == predictions[:, position]
    return among


def _sets_are_equal(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Mask of items whose predicted set (item, k) equals the true set (..., item, position)."""
    shared = hits(truth, predictions)
    return (shared == (truth >= 0).sum(axis=-1)) & (shared == (predictions >= 0).sum(axis=-1))
