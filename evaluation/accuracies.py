"""Is the prediction right? Accuracies against a draw of the truth.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
Image Analysis, arXiv:2307.02191, section 2.5, eq. 12-20.
"""

import numpy as np

from .metric import Metric

__all__ = ["hits", "set_accuracy", "top_k_accuracy"]


def top_k_accuracy(k: int = 1) -> Metric:
    """Return the metric whether the top-1 label of a draw is among the k best predictions."""
    return Metric(f"top_{k}_accuracy", "label", _is_among, k)


def set_accuracy(k: int) -> Metric:
    """Return the metric whether the k best predictions are the top-k set of a draw.

    Sets are equal or not; a draw with fewer than k plausible labels asks for as few.
    """
    return Metric(f"set_accuracy_{k}", "set", _sets_are_equal, k)


def hits(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Count the labels of the truth that are predicted, (..., item, j) and (item, k) -> (..., item)."""
    count = np.zeros(truth.shape[:-1], np.int16, order="F")
    for position in range(truth.shape[-1]):
        count += _is_among(truth[..., position], predictions)
    return count


def _is_among(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    among = truth == predictions[:, 0]
    for position in range(1, predictions.shape[1]):
        among |= truth == predictions[:, position]
    return among


def _sets_are_equal(truth: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    shared = hits(truth, predictions)
    return (shared == (truth >= 0).sum(axis=-1)) & (shared == (predictions >= 0).sum(axis=-1))
