"""Raters of a posterior: their answers, and their attributes, such as their kind.

In a posterior tree the attributes are variables ``rater_...`` of ``constant_data``.

They are no coordinates of the posterior: `arviz.summary` refuses a posterior of which some variables lack a coordinate.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .schema import CLASSIFIER

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


# --- Answers of the raters of labels, as a posterior holds them ---


class SeenAnswers(NamedTuple):
    """Answers of the raters in a tree."""

    raters: list[object]  # ids
    classifiers: list[object]  # of these, whose attribute says so
    item: np.ndarray  # (answer,), codes
    rater: np.ndarray  # (answer,), codes
    label: np.ndarray  # (answer,), codes


def answers_of(tree: "xr.DataTree") -> SeenAnswers | None:
    """Return the answers that a tree of a model of labels holds, or None if it does not name their raters."""
    if not {"observed_data", "constant_data"} <= {*tree.children}:
        return None
    posterior = posterior_with_attributes(tree)
    constant, observed = (tree[group].to_dataset() for group in ("constant_data", "observed_data"))
    if (
        "rater" not in posterior.coords
        or "observed_label" not in observed
        or "annotation_rater" not in constant
    ):
        return None
    codes = observed["observed_label"], constant["annotation_item"], constant["annotation_rater"]
    if {own.dims for own in codes} != {codes[0].dims} or codes[0].ndim != 1:
        return None
    label, item, rater = (own.to_numpy().astype(np.int64) for own in codes)
    raters = posterior["rater"].to_numpy().tolist()
    return SeenAnswers(raters, classifiers_of(posterior), item, rater, label)
