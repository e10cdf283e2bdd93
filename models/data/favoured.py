"""Default Dirichlet prior of the rows of a confusion matrix, shared by models, estimators and simulators."""

import numpy as np

__all__ = ["favoured_rows"]

TOTAL, DIAGONAL = 8.0, 4.8


def favoured_rows(n_categories: int) -> np.ndarray:
    """Dirichlet concentrations of the rows of a confusion matrix, shape (category, label).

    They equal eight pseudo-labels a row, six in ten of them right: 4.8 on the diagonal, rows sum to 8. A flat
    prior would leave the categories exchangeable, and every permutation of them equally probable.
    """
    n = n_categories
    return np.where(np.eye(n, dtype=bool), DIAGONAL, (TOTAL - DIAGONAL) / (n - 1))
