"""What the models of labels share: coordinates, priors of confusion matrices, the observed answers."""

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
    """Return the labels, or raise if their raters are not told apart.

    Parameters
    ----------
    labels : Labels
        The annotations.
    model : str
        Name of the model, for the message.

    Returns
    -------
    Labels
        The same.
    """
    expect(labels, Labels)
    check_answers(labels)
    if labels.anonymous:
        raise ValueError(
            f"{model} describes each rater, but these labels are counts of anonymous raters; "
            "read a table with a column of raters, or use models.dirichlet"
        )
    return labels


def coords_of(labels: Labels, taken: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return the coordinates of a model of raters.

    Parameters
    ----------
    labels : Labels
        The annotations.
    taken : sequence of str
        Names that an attribute of the raters cannot have: the model has variables ``rater_...`` of these names.

    Returns
    -------
    dict of str to ndarray
        Ids of items, raters, categories and labels; numbers of annotations; attributes of the raters as ``rater_...``.
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
    """Return the Dirichlet concentrations of confusion matrices.

    Parameters
    ----------
    labels : Labels
        The annotations.
    concentration : float or array_like or None
        One number, or an array that broadcasts against ``(rater, category, label)``; None favours the diagonal.
    shape : tuple of int
        Shape of the confusion matrices, ending in (category, label).

    Returns
    -------
    ndarray of float
        Positive, of that shape.
    """
    if concentration is None:
        concentration = favoured_rows(len(labels.categories))
    return positive_array("confusion_concentration", concentration, shape)


def coin_prior(concentration: Any) -> tuple[float, float]:
    """Return the two concentrations of a Beta prior of abilities."""
    return positive_pair("ability_concentration", concentration)


def observe_labels(
    labels: Labels,
    prevalence: TensorVariable,
    confusion: TensorVariable,
    rater: np.ndarray | None = None,
) -> None:
    """Register ``observed_label``, pointwise by item, and ``plausibility``: p(true category | parameters, answers).

    Parameters
    ----------
    labels : Labels
        The annotations; an answer that was given n times is n annotations.
    prevalence : TensorVariable, shape (category,)
        Probability of each category.
    confusion : TensorVariable, shape (rater, category, label)
        Probability of each label.
    rater : ndarray of int, shape (annotation of the container,), optional
        Whose confusion matrix each answer goes by; by default the rater's own.

    Warns
    -----
    DataWarning
        If no item has two answers, or one and a known truth.
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
