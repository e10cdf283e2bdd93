"""Confusion matrices with one probability of the right label, and all wrong labels equally probable."""

from typing import cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

__all__ = ["coin_confusion"]


def coin_confusion(ability: TensorVariable, n_categories: int) -> TensorVariable:
    """Register ``confusion``: ability on the diagonal, the rest of each row shared equally.

    Shapes: ability (rater, category) or (rater, 1); result (rater, category, label).
    """
    wrong = (1 - ability[:, :, None]) / (n_categories - 1)
    confusion = pt.where(np.eye(n_categories, dtype=bool), ability[:, :, None], wrong)
    dims = ("rater", "category", "label")
    return cast(TensorVariable, pm.Deterministic("confusion", confusion, dims=dims))
