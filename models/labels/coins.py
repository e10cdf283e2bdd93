"""Confusion matrices of raters who are right with some probability, and otherwise name any other category."""

from typing import cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

__all__ = ["coin_confusion"]


def coin_confusion(ability: TensorVariable, n_categories: int) -> TensorVariable:
    """Register ``confusion``: ability on the diagonal, the rest shared equally.

    Parameters
    ----------
    ability : TensorVariable, shape (rater, category) or (rater, 1)
        Probability of the right label.
    n_categories : int
        Number of categories.

    Returns
    -------
    TensorVariable, shape (rater, category, label)
        Rows sum to one.
    """
    wrong = (1 - ability[:, :, None]) / (n_categories - 1)
    confusion = pt.where(np.eye(n_categories, dtype=bool), ability[:, :, None], wrong)
    dims = ("rater", "category", "label")
    return cast(TensorVariable, pm.Deterministic("confusion", confusion, dims=dims))
