"""Shared parts of the models of labels: coordinates, priors of confusion matrices, observed answers."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from pytensor.tensor.variable import TensorVariable
from scipy.linalg import helmert

from ..._messages import warn_user
from .._hierarchy import prior_array, rows_times
from .._prior_arguments import HasCategories, confusion_concentrations, default_confusion
from ..data.container import require_container
from ..data.errors import DataWarning
from ..data.labels import Labels, expand_answers, require_answers
from ..data.raters import refuse_reserved_attributes
from ..distributions.marginal_labels import RaterLabels
from ..distributions.truth import truth_probability


def ability_confusion(ability: TensorVariable, n_categories: int) -> TensorVariable:
    """Register ``confusion``: ability on the diagonal, the rest of each row shared equally.

    Shapes: ability (rater, category) or (rater, 1); result (rater, category, answer).
    """
    wrong = (1 - ability[:, :, None]) / (n_categories - 1)
    confusion = pt.where(np.eye(n_categories, dtype=bool), ability[:, :, None], wrong)
    dims = ("rater", "category", "answer")
    return cast(TensorVariable, pm.Deterministic("confusion", confusion, dims=dims))


def require_labels(labels: Labels) -> None:
    """Raise if the data are not labels, or there are no, or too many, answers."""
    require_container(labels, Labels)
    require_answers(labels)


def require_identified_raters(labels: Labels, model: str) -> Labels:
    """Return the labels, or raise if the raters are anonymous or there are no, or too many, answers."""
    require_labels(labels)
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
    refuse_reserved_attributes(labels.rater_attributes, taken)
    return {f"rater_{name}": values for name, values in labels.rater_attributes.items()} | {
        "item": labels.items,
        "rater": labels.raters,
        "category": labels.categories,
        "answer": labels.categories,
        "annotation": np.arange(len(labels)),
    }


def prevalence_prior(labels: Labels, concentration: Any) -> TensorVariable:
    """Register ``prevalence`` ~ Dirichlet(concentration), one number or one for each category."""
    alpha = prior_array("prevalence_concentration", concentration, (len(labels.categories),))
    return pm.Dirichlet("prevalence", alpha, dims="category")


def prevalence_or_uniform(labels: Labels, concentration: Any | Literal["uniform"]) -> TensorVariable:
    """Register ``prevalence``, with a Dirichlet prior or, for concentration "uniform", fixed as uniform.

    Shapes: concentration one number or (category,); result (category,).
    """
    if not isinstance(concentration, str) or concentration != "uniform":
        return prevalence_prior(labels, concentration)
    n = len(labels.categories)
    fixed = pt.as_tensor_variable(np.full(n, 1 / n))
    return cast(TensorVariable, pm.Deterministic("prevalence", fixed, dims="category"))


def concentration_of_confusion(labels: HasCategories, concentration: Any, shape: tuple[int, ...]) -> Any:
    """Return Dirichlet concentrations of confusion matrices of `shape`; None favours the diagonal.

    Shapes: shape ends in (category, answer).
    """
    if concentration is None:
        of_raters = len(shape) == 3
        concentration = (
            default_confusion(labels) if of_raters else confusion_concentrations(len(labels.categories))
        )
    return prior_array("confusion_concentration", concentration, shape)


def observe_labels(
    labels: Labels, prevalence: TensorVariable, confusion: TensorVariable, rater: np.ndarray | None = None
) -> None:
    """Register ``observed_label``, pointwise by item, and ``plausibility``, p(true category | answers).

    Arguments and warning as of `register_answers`, with one state for each category; prevalence may also be a prior of each
    item's true category, (item, category).
    """
    observed = register_answers(labels, prevalence, confusion, rater)
    pm.Deterministic("plausibility", truth_probability(observed), dims=("item", "category"))


def register_answers(
    labels: Labels,
    probability: TensorVariable,
    confusion: TensorVariable,
    rater: np.ndarray | None = None,
    nodes: int = 1,
) -> TensorVariable:
    """Register ``observed_label`` and the data that evaluation reads; return the first.

    An answer given n times is n annotations. ``rater`` selects the confusion matrix of each annotation, by
    default that of its rater. ``nodes`` is the number of adjacent states of each category. Warns (DataWarning)
    if no item has two answers, or one and a gold label.

    Shapes: probability (state,), or (item, category) by item; confusion (rater, state, label); rater (annotation of the
    container,).
    """
    item, own, label = register_rows(labels, featured=probability.type.ndim == 2)
    answers = (item, own if rater is None else np.repeat(rater, labels.count), label)
    law = {"confusion": confusion, "answers": answers, "gold": labels.gold, "nodes": nodes}
    return RaterLabels("observed_label", probability, **law, dims="annotation")


def register_rows(labels: Labels, *, featured: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Register the data that evaluation reads; return codes of item, rater and label of every annotation.

    Warns as `warn_unidentified`.
    """
    warn_unidentified(labels, featured=featured)
    item, rater, label = expand_answers(labels)
    pm.Data("annotation_item", item, dims="annotation")
    pm.Data("annotation_rater", rater, dims="annotation")
    pm.Data("gold", labels.gold, dims="item")
    register_order(labels)
    return item, rater, label


def register_order(labels: Labels) -> None:
    """Register the places of the answers in time, where they are known, for checks."""
    if len(labels.order):
        pm.Data("annotation_order", np.repeat(labels.order, labels.count), dims="annotation")


def warn_unidentified(labels: Labels, *, featured: bool = False) -> None:
    """Warn if no item has two answers, or one and a gold label; `featured` is whether items have features."""
    if not labels.identified:
        warn_user(
            "no item has two answers: what is known of the raters rests on the features and their prior"
            if featured
            else "no item has two answers: the raters are not identified, and the posterior repeats their prior",
            DataWarning,
        )


class HelmertRotation(Transform):
    """Transform of a random variable: its rows of length n times an orthonormal matrix.

        z = H x,    H orthonormal, with 1/sqrt(n) throughout its first row (Helmert)

    A constant added to all log odds of a row changes no probability, so that the likelihood does not identify
    it. In x gradient samplers see a narrow ridge along that direction; in z it is a coordinate with its own
    scale. The distribution of x is unchanged.

    Reference: Lancaster (1965), The Helmert matrices, American Mathematical Monthly 72(1),
    doi:10.1080/00029890.1965.11970483.
    """

    name = "rotated"
    ndim_supp = 1

    def __init__(self, n: int) -> None:
        self._rows = helmert(n, full=True)

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the coordinates; the first is that of the constants."""
        return rows_times(value, self._rows.T)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable."""
        return rows_times(value, self._rows)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return 0 for each row: a rotation preserves volume."""
        return pt.zeros_like(value[..., 0])
