"""Posteriors of an analysis: draws go on until they agree, with smaller steps where NUTS diverged."""

import warnings
from typing import Any

import pymc as pm
import xarray as xr

from ... import inference
from .analysis import ASKED

MOST = 4  # times as many draws as asked for
SMALL_STEPS = 0.99  # target acceptance of NUTS


def draw(model: pm.Model, draws: int, **options: Any) -> xr.DataTree:
    """Sample a model as `inference.sample`; while draws have not converged, again: up to four times as many, or small steps.

    NUTS draws once more only, if it diverged. No warning is given: the answers say whether the draws have converged.
    """
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree, asked = inference.sample(model, draws=draws, **options), draws
        for times in (2, MOST):
            found = inference.diagnose(tree)
            if found.attrs["converged"]:
                break
            if tree.attrs["method"] == "nuts":
                if "divergences" in found and int(found["divergences"].sum()):
                    tree = None  # the memory of one run
                    tree = inference.sample(model, draws=draws, **options, target_accept=SMALL_STEPS)
                break
            asked, tree = draws * times, None
            tree = inference.sample(model, draws=asked, **options)
    tree.attrs[ASKED] = asked
    return tree
