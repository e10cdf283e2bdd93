"""Checks of the populations of items and raters, by the draws of the posterior and by fresh draws of the same laws.

Replicates keep the locations and biases of a draw of the posterior, and with them whatever the annotations say against the
law of their populations. So these laws are checked apart. By the law the items' parts u_i and the raters' parts b_k are
independent normal numbers, whatever the design says of who annotates what. A number computed from them, the observed one, is
averaged over draws of the posterior, and compared with the same of standard normal numbers in the same design.

If the law is true, a draw of the posterior is a draw of the law. Its mean over the draws varies less than that, and the less the
annotations say the less it does, so that alarms are rarer than the level, never more frequent.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ...posterior.prior_of_items import features_of
from ...posterior.schema import SAMPLE
from .discrepancies import Check
from .label_laws import curves
from .replicates import Annotations

MOST_DRAWS = 200  # of the posterior
FEWEST_ITEMS = 20  # whose curve by a feature is checked
DESIGN = "correlation of the raters' biases with the locations of their items"
CURVE = "curvature of the locations by features"


def allotted(
    tree: xr.DataTree, own: Annotations, item: np.ndarray, rng: np.random.Generator, replicates: int
) -> list[Check]:
    """Return the check of whether items were allotted to raters regardless of both; `item` is that of each score (annotation,).

    There is none if the posterior has no biases of raters. The biases are those within the groups of the raters.
    """
    posterior = tree["posterior"].to_dataset()
    if not {"location", "rater_bias"} <= set(posterior) or len(own.raters) < 2:
        return []
    code = np.unique(tree["constant_data"]["annotation_rater"].to_numpy()[own.place])
    bias = _draws(posterior["rater_bias"], "rater")[:, code]
    location = _residual_locations(tree)
    which = np.unique(item, return_inverse=True)
    location, item = location[:, which[0]], which[1]
    cell, given = np.unique(item * len(code) + own.rater, return_counts=True)
    place = cell // len(code), cell % len(code)

    def correlations(items: np.ndarray, raters: np.ndarray) -> np.ndarray:
        """Return the correlation over the scores of items (table, item) with raters (table, rater)."""
        u, v = items[:, place[0]], _within(raters, own.group)[:, place[1]]
        u = u - (u @ given)[:, None] / given.sum()
        v = v - (v @ given)[:, None] / given.sum()
        size = np.sqrt((u**2 @ given) * (v**2 @ given))
        return (u * v) @ given / np.where(size > 0, size, 1)

    fresh = rng.standard_normal((replicates, location.shape[1])), rng.standard_normal((replicates, len(code)))
    low, high = (
        f"{which} raters scored the better items: items were not allotted regardless of both, as the model has it, and where few "
        "scores are of raters with other items, biases pass for locations and locations for biases"
        for which in ("strict", "lenient")
    )
    observed = float(correlations(location, bias).mean())
    return [Check(DESIGN, observed, correlations(*fresh), low, high, effect=observed)]


def curved(tree: xr.DataTree, item: np.ndarray, rng: np.random.Generator, replicates: int) -> list[Check]:
    """Return the check of whether locations are curved in a feature; `item` are the places of those with scores."""
    posterior = tree["posterior"].to_dataset()
    if "feature_effect" not in posterior or len(item) < FEWEST_ITEMS:
        return []
    effect = np.abs(posterior["feature_effect"].mean(SAMPLE).to_numpy())
    largest, contrast = curves(features_of(tree)[item], effect)
    names = posterior["feature"].to_numpy().astype(str)[largest]
    contrast = contrast - contrast.mean(axis=0)
    size = np.sqrt((contrast**2).sum(axis=0))
    contrast, names = (contrast / np.where(size > 0, size, 1))[:, size > 0], names[size > 0]
    if not len(names):
        return []

    def correlations(items: np.ndarray) -> np.ndarray:
        """Return the correlation of items (table, item) with each contrast (table, feature)."""
        centred = items - items.mean(axis=1, keepdims=True)
        return centred @ contrast / np.sqrt((centred**2).sum(axis=1, keepdims=True))

    observed = correlations(_residual_locations(tree)[:, item]).mean(axis=0)
    most = int(np.abs(observed).argmax())
    replicated = np.abs(correlations(rng.standard_normal((replicates, len(item))))).max(axis=1)
    text = (
        f"locations are not linear in the features, most curved in {names[most]!r}: predictions for items without scores are "
        "wrong at its ends, and features tell more than is said; add its square to them, or leave it out"
    )
    return [Check(CURVE, float(np.abs(observed[most])), replicated, high=text, side="upper", is_main=True)]


def _residual_locations(tree: xr.DataTree) -> np.ndarray:
    """Return draws of the locations less what the features say of them (draw, item)."""
    posterior = tree["posterior"].to_dataset()
    location = _draws(posterior["location"], "item")
    if "feature_effect" not in posterior:
        return location
    return location - _draws(posterior["feature_effect"], "feature") @ features_of(tree).T


def _draws(variable: xr.DataArray, dim: str) -> np.ndarray:
    """Return evenly spaced draws (draw, dim)."""
    values = variable.transpose(*SAMPLE, dim).to_numpy().astype(float)
    values = values.reshape(-1, values.shape[-1])
    return values[:: -(-len(values) // MOST_DRAWS)]


def _within(values: np.ndarray, group: np.ndarray | Sequence[int]) -> np.ndarray:
    """Return values (table, rater) less the mean of the group of the rater."""
    member = np.eye(int(np.max(group)) + 1)[group]
    return values - values @ (member / member.sum(axis=0)) @ member.T
