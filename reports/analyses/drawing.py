"""Posteriors of an analysis: our own samplers draw on until the draws agree."""

import warnings
from typing import Any

import pymc as pm
import xarray as xr

from ... import inference

MOST = 4  # times as many draws as asked for


def draw(model: pm.Model, draws: int, **options: Any) -> xr.DataTree:
    """Sample a model as `inference.sample`; if draws of our own samplers have not converged, make up to four times as many.

    No warning is given: the answers say whether the draws have converged.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)
        for times in (1, 2, MOST):
            tree = inference.sample(model, draws=draws * times, **options)
            if tree.attrs["method"] == "nuts" or inference.diagnose(tree).attrs["converged"]:
                break
    return tree
