"""Answers of the raters of labels, as a posterior holds them."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from ..._rater_attributes import classifiers_of, posterior_with_attributes


class SeenAnswers(NamedTuple):
    """Answers of the raters in a tree."""

    raters: list[object]  # ids
    classifiers: list[object]  # of these, whose attribute says so
    item: np.ndarray  # (answer,), codes
    rater: np.ndarray  # (answer,), codes
    label: np.ndarray  # (answer,), codes


def answers_of(tree: xr.DataTree) -> SeenAnswers | None:
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
