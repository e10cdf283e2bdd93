"""The default belief about a rater, shared by models, estimators and simulators: right more often than wrong."""

import numpy as np

__all__ = ["favoured_rows"]

TOTAL, DIAGONAL = 8.0, 4.8


def favoured_rows(n_categories: int) -> np.ndarray:
    """Return Dirichlet concentrations of the rows of a confusion matrix, as if eight labels had been seen, six in ten right.

    They name the categories: with a flat prior every permutation of them is as probable.

    Parameters
    ----------
    n_categories : int
        Number of categories, from two.

    Returns
    -------
    ndarray of float, shape (category, label)
        4.8 on the diagonal, and 8 in each row.
    """
    n = n_categories
    return np.where(np.eye(n, dtype=bool), DIAGONAL, (TOTAL - DIAGONAL) / (n - 1))
