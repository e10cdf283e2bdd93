"""Item-difficulty model of labels: label probabilities vary between the items of a category."""

from typing import Any, cast

import numpy as np
import pymc as pm
from pytensor.tensor.special import softmax

from .._arguments import PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array
from .._item_features import prior_of_truth
from ..data.labels import Labels
from .item_effects import check_size, favoured_contrasts, most_answers, normal_nodes, observe_states
from .observed import coords_of, prevalence_prior, require_labels

__all__ = ["item_difficulty"]

ERROR = {2: 1e-4, 3: 0.02}  # by dimensions; items with the same counts are computed once


@recorded
@documented(prior_logits=PRIOR_LOGITS)
def item_difficulty(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    diagonal: Number = 2.0,
    spread: Number = 1.0,
    nodes: int | None = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build the item-difficulty model: the label probabilities of items vary about those of their category.

    Generative law, for item i and each answer a to it, with K labels of which the last has log odds 0:

        p           ~ Dirichlet(alpha)
        eta_j       ~ Normal(d ([j = l] - [j = K]), 1)   for every category j and label l < K
        Chi_j       ~ HalfNormal(s)                      in the same dimensions
        T_i         ~ Categorical(p)                     summed out; known for gold items
        theta_i     ~ Normal(eta_T_i, Chi_T_i)           summed out over nodes
        y_a         ~ Categorical(softmax(theta_i, 0))

    ====================  =====================  =================================
    symbol                variable               dims
    ====================  =====================  =================================
    p (paper: pi)         prevalence             category
    eta                   effect_mean            category, contrast
    Chi (paper: X)        effect_spread          category, contrast
    E[softmax(theta)]     confusion              category, answer
    E[theta | ...]        expected_effect        item, contrast
    p(T | ..., y)         plausibility           item, category
    y                     observed_label         annotation
    d, s                  diagonal=, spread=     arguments
    ====================  =====================  =================================

    All raters share these probabilities. The contrasts are all labels except the last. The paper's d is 0; a
    positive d identifies the categories.

    Parameters
    ----------
    labels : Labels
        Labels; the raters may be anonymous.
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    diagonal : float or random variable, default 2
        Prior mean d of the log odds of the right label against each other one.
    spread : float or random variable, default 1
        Scale s of the prior of the items' spread, in log odds.
    nodes : int, optional
        Quadrature nodes in each dimension of the effect, which has one dimension fewer than there are labels;
        with more than three dimensions, their total number. By default the relative error of an item's
        likelihood is below 1e-8 with two labels. With more labels the default depends on the largest number
        of answers to an item, and the log likelihoods of items were off by at most

        labels, answers  3, 5    3, 30   3, 100  4, 5    4, 30   5, 5    5, 30
        nodes            29      55      93      15      29      512     512
        spread 1         2e-10   4e-9    2e-8    1e-6    1e-5    1e-2    2e-1
        spread 2         6e-6    3e-5    5e-5    2e-3    6e-3    2e-2    3e-1
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table; ``confusion`` is the average over items, and the log likelihood of
        ``observed_label`` is pointwise by item with its effect summed out.

    Raises
    ------
    ValueError
        If a prior or `nodes` is out of range, or the table of probabilities would not fit into memory.

    Warns
    -----
    DataWarning
        If no item has two answers, or an item has ten and the default is 512 nodes.

    Notes
    -----
    Prevalence, means and spreads are correlated: `raterzoo.inference.sample` thins NUTS by four.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="item_difficulty", items=20, random_seed=1).data
    >>> model = models.item_difficulty(labels)
    >>> sorted(variable.name for variable in model.free_RVs), model.named_vars_to_dims["expected_effect"]
    (['effect_mean', 'effect_spread', 'prevalence'], ('item', 'contrast'))

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, 3.4 and fig. 4, doi:10.1162/tacl_a_00040.
    """
    require_labels(labels)
    n = len(labels.categories)
    mean, scale = favoured_contrasts(n, diagonal), prior_array("spread", spread, ())
    points, weight = normal_nodes(n - 1, most_answers(labels), nodes, ERROR.get(n - 1))
    check_size(labels, 1, n * len(weight))
    dims = ("category", "contrast")
    with annotation_model(coords_of(labels) | {"contrast": labels.categories[:-1]}) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        eta = pm.Normal("effect_mean", mean, 1.0, dims=dims)
        chi = pm.HalfNormal("effect_spread", scale, dims=dims)
        effect = cast(Any, eta)[:, None] + cast(Any, chi)[:, None] * points
        probability = cast(Any, softmax(effect @ np.eye(n - 1, n), axis=-1))
        shared = (weight[:, None] * probability).sum(axis=1)
        pm.Deterministic("confusion", shared, dims=("category", "answer"))
        everyone = np.zeros(len(labels.annotation_rater), np.int64)
        prior = prior_of_truth(labels, prevalence, None, prior_logits)
        observe_states(labels, prior, weight, probability[None], everyone, effect=effect)
    return model


SPEC = Spec(
    name="item_difficulty",
    data="labels",
    summary="Items that differ around the label probabilities of their category; raters are alike",
    methods=("nuts",),
    reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.4",
    nuts_options={"target_accept": 0.95},  # effects and prevalence lie along a curved ridge
    nuts_thinning=4,
    marks=("effect_mean",),
    shared_errors="items",
    raters_alike=True,
    studies={"hard and easy items, without names of raters": ""},
    assumes="Items of a category differ in their label probabilities; raters are alike.",
    needs=(
        "No names of raters; many answers to an item, and few categories: with five the quadrature is rough."
    ),
    fails=(
        "Raters differ. Five categories and ten answers or more: a warning says how rough the likelihood is."
    ),
)
