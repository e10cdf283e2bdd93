"""Class-conditional model of labels: each rater has one probability of the right label per category."""

from typing import Any

import pymc as pm

from .._arguments import LABEL_MODEL, PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_pair
from .._item_features import prior_of_truth
from .._prior_arguments import positive_pair
from ..data.labels import Labels
from .observed import (
    ability_confusion,
    coords_of,
    observe_labels,
    prevalence_prior,
    require_identified_raters,
)

__all__ = ["class_conditional"]


@recorded
@documented(prior_logits=PRIOR_LOGITS, returns=LABEL_MODEL)
def class_conditional(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    ability_concentration: tuple[Number, Number] = (4.0, 2.0),
    prior_logits: Any = None,
) -> pm.Model:
    """Build the class-conditional model: each rater has one probability of the right label per category.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        p        ~ Dirichlet(alpha)
        q_kj     ~ Beta(a, b)                    for every rater k and true category j
        T_i      ~ Categorical(p)                summed out; known for gold items
        y_a      = T_i with probability q_k,T_i, else one of the other categories, each equally probable

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    p                     prevalence            category
    q                     ability               rater, category
    p(y | T)              confusion             rater, category, answer
    p(T | p, q, y)        plausibility          item, category
    y                     observed_label        annotation
    alpha, (a, b)         ..._concentration=    arguments
    ====================  ====================  =================================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    ability_concentration : pair of float or random variable, default (4, 2)
        Beta prior (a, b) of the abilities, as counts of right and of wrong answers.
    {prior_logits}

    {returns}

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="class_conditional", items=20, random_seed=1).data
    >>> model = models.class_conditional(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['ability', 'prevalence']
    >>> model.named_vars_to_dims["ability"]
    ('rater', 'category')

    References
    ----------
    Li and Yu (2014), Error rate bounds and iterative weighted majority voting for crowdsourcing, section 2.2
    (class-conditional Dawid-Skene), arXiv:1411.4086.
    """
    coords = coords_of(require_identified_raters(labels, "class_conditional"))
    shape = (len(labels.raters), len(labels.categories))
    right, wrong = prior_pair("ability_concentration", ability_concentration, shape, positive_pair)
    with annotation_model(coords) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        ability = pm.Beta("ability", right, wrong, dims=("rater", "category"))
        confusion = ability_confusion(ability, len(labels.categories))
        observe_labels(labels, prior_of_truth(labels, prevalence, None, prior_logits), confusion)
    return model


SPEC = Spec(
    name="class_conditional",
    data="labels",
    summary="Raters with one ability for each true category; other labels are alike",
    methods=("gibbs", "nuts"),
    reference="Li and Yu 2014, arXiv:1411.4086, section 2.2",
    shared_errors="independent",
    studies={"raters with few answers each": ""},
    assumes=(
        "Each rater has one probability to be right for each true category; wrong labels are equally "
        "probable. Independent errors."
    ),
    needs="As dawid_skene, with fewer answers of each rater: one number for each category.",
    fails="Two categories are confused more than others.",
)
