"""Shared parts of the models of labels: coordinates, priors of confusion matrices, observed answers."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
from pytensor.tensor.variable import TensorVariable

from ..data.container import expect
from ..data.errors import BUILDERS, DataWarning
from ..data.favoured import favoured_rows
from ..data.labels import Labels
from ..data.prior_numbers import positive_array, positive_pair
from ..data.rater_groups import check_attributes
from ..data.single_answers import check_answers, one_by_one
from ..distributions.label_op import label_logp
from ..distributions.marginal_labels import MarginalLabels

__all__ = [
    "coin_prior",
    "concentration_of_confusion",
    "coords_of",
    "known_raters",
    "observe_labels",
    "positive_array",
    "prevalence_prior",
]


def known_raters(labels: Labels, model: str) -> Labels:
    """Return the labels, or raise if the raters are anonymous or there are no, or too many, answers."""
    expect(labels, Labels)
    check_answers(labels)
    if labels.anonymous:
        raise ValueError(
            f"{model} describes each rater, but these labels are counts of anonymous raters; "
            "read a table with a column of raters, or use models.dirichlet"
        )
    return labels


def coords_of(labels: Labels, taken: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return the coordinates of a model of raters; rater attributes are named ``rater_...``.

    ``taken`` are attribute names that would collide with ``rater_...`` variables of the model.
    """
    check_attributes(labels.rater_attributes, taken)
    said = {f"rater_{name}": values for name, values in labels.rater_attributes.items()}
    return said | {
        "item": labels.items,
        "rater": labels.raters,
        "category": labels.categories,
        "label": labels.categories,
        "annotation": np.arange(len(labels)),
    }


def prevalence_prior(labels: Labels, concentration: Any) -> TensorVariable:
    """Register ``prevalence`` ~ Dirichlet(concentration), one number or one for each category."""
    shape = (len(labels.categories),)
    alpha = positive_array("prevalence_concentration", concentration, shape)
    return pm.Dirichlet("prevalence", alpha, dims="category")


def concentration_of_confusion(
    labels: Labels, concentration: Any, shape: tuple[int, ...]
) -> np.ndarray:
    """Return Dirichlet concentrations of confusion matrices of `shape`; None favours the diagonal.

    Shapes: shape ends in (category, label).
    """
    if concentration is None:
        concentration = favoured_rows(len(labels.categories))
    return positive_array("confusion_concentration", concentration, shape)


def coin_prior(concentration: Any) -> tuple[float, float]:
    """Return the two parameters of a Beta prior of abilities."""
    return positive_pair("ability_concentration", concentration)


def observe_labels(
    labels: Labels,
    prevalence: TensorVariable,
    confusion: TensorVariable,
    rater: np.ndarray | None = None,
) -> None:
    """Register ``observed_label``, pointwise by item, and ``plausibility``, p(true category | answers).

    An answer given n times is n annotations. ``rater`` selects the confusion matrix of each annotation, by
    default that of its rater. Warns (DataWarning) if no item has two answers, or one and a gold label.

    Shapes: prevalence (category,); confusion (rater, category, label); rater (annotation of the container,).
    """
    if not labels.identified:
        warnings.warn(
            "no item has two answers: the raters are not identified, and the posterior repeats their prior",
            DataWarning,
            skip_file_prefixes=BUILDERS,
        )
    item, own, label = one_by_one(labels)
    start = np.searchsorted(item, np.arange(len(labels.items) + 1)).astype(np.int64)
    by = own if rater is None else np.repeat(rater, labels.count)
    known = labels.gold.astype(np.int64)
    pm.Data("annotation_item", item, dims="annotation")
    pm.Data("annotation_rater", own, dims="annotation")
    pm.Data("gold", labels.gold, dims="item")
    law = (start, by.astype(np.int64), known)
    MarginalLabels("observed_label", prevalence, confusion, *law, observed=label, dims="annotation")
    code = by.astype(np.int64) * len(labels.categories) + label
    plausibility = label_logp(prevalence, confusion, (start, code, known))[1]
    pm.Deterministic("plausibility", plausibility, dims=("item", "category"))
