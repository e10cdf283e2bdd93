"""Attributes of raters, such as their kind; in a posterior tree they are variables ``rater_...`` of ``constant_data``.

They are no coordinates of the posterior: `arviz.summary` refuses a posterior of which some variables lack a coordinate.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ._messages import CLASSIFIER

if TYPE_CHECKING:
    import xarray as xr

PREFIX = "rater_"


def posterior_with_attributes(tree: "xr.DataTree") -> "xr.Dataset":
    """Return the posterior with the attributes of its raters as coordinates along ``rater``, without the prefix."""
    import xarray as xr  # not by readers of annotations, which this module serves too

    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    if "constant_data" not in tree.children or "rater" not in posterior.dims:
        return posterior
    return posterior.assign_coords(
        {
            str(name).removeprefix(PREFIX): ("rater", values.to_numpy())
            for name, values in tree["constant_data"].data_vars.items()
            if str(name).startswith(PREFIX) and values.dims == ("rater",)
        }
    )


def are_classifiers(attributes: Mapping[str, np.ndarray], n_raters: int) -> np.ndarray:
    """Whether some attribute of each rater (rater,) says "classifier"."""
    found = np.zeros(n_raters, bool)
    for values in attributes.values():
        found |= values.astype(str) == CLASSIFIER
    return found


def classifiers_of(posterior: "xr.Dataset") -> list[object]:
    """Return the raters of a posterior with attributes who are classifiers."""
    raters = posterior["rater"].to_numpy()
    attributes = {
        str(name): values.to_numpy()
        for name, values in posterior.coords.items()
        if name != "rater" and values.dims == ("rater",)
    }
    return raters[are_classifiers(attributes, len(raters))].tolist()
