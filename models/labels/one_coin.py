"""One-coin model of labels: each rater has one probability of the right label."""

from typing import Any

import pymc as pm

from .._arguments import FEATURES, LABEL_MODEL, PRIOR_LOGITS, TIME, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_pair
from .._item_features import feature_coords, prior_of_truth, read_features
from .._prior_arguments import positive_pair
from ..data.labels import Labels
from .observed import (
    ability_confusion,
    coords_of,
    observe_labels,
    prevalence_prior,
    require_identified_raters,
)
from .skill_in_time import (
    INITIAL_ABILITY,
    changing_confusion,
    coords_in_time,
    parts_of_ability,
    windows_in_time,
)

__all__ = ["one_coin"]


@recorded
@documented(features=FEATURES, prior_logits=PRIOR_LOGITS, time=TIME, returns=LABEL_MODEL)
def one_coin(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    ability_concentration: tuple[Number, Number] = (4.0, 2.0),
    features: Any = None,
    prior_logits: Any = None,
    time: int | None = None,
) -> pm.Model:
    """Build the one-coin model: each rater has one probability of the right label, whatever the category.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        p        ~ Dirichlet(alpha)
        q_k      ~ Beta(a, b)
        T_i      ~ Categorical(p)                summed out; known for gold items
        y_a      = T_i with probability q_k, else one of the other categories, each equally probable

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    p                     prevalence            category
    q                     ability               rater
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
    {features}
    {prior_logits}
    {time} The ability of the first window is ``initial_ability``.

    {returns}

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="one_coin", items=20, random_seed=1).data
    >>> model = models.one_coin(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['ability', 'prevalence']
    >>> model.named_vars_to_dims["ability"]
    ('rater',)

    References
    ----------
    Raykar et al. (2010), Learning from crowds, JMLR 11, section 2; Zhang et al. (2016), Spectral methods meet
    EM, JMLR 17, section 2 (the one-coin model), arXiv:1406.3824.
    """
    coords = coords_of(require_identified_raters(labels, "one_coin"))
    shape = (len(labels.raters),)
    own, windows = read_features(labels, features), windows_in_time(labels, time)
    right, wrong = prior_pair("ability_concentration", ability_concentration, shape, positive_pair)
    n, matrix = len(labels.categories), None
    with annotation_model(coords | feature_coords(own) | coords_in_time(windows)) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        ability = pm.Beta("ability" if windows is None else INITIAL_ABILITY, right, wrong, dims="rater")
        if windows is None:
            confusion = ability_confusion(ability[:, None], n)
        else:
            confusion, matrix = changing_confusion(labels, windows, *parts_of_ability(ability, n))
        observe_labels(labels, prior_of_truth(labels, prevalence, own, prior_logits), confusion, matrix)
    return model


SPEC = Spec(
    name="one_coin",
    data="labels",
    summary="Raters with one ability each; other labels are alike",
    methods=("gibbs", "nuts"),
    reference="Zhang et al. 2016, arXiv:1406.3824, section 2",
    options=("features",),
    shared_errors="independent",
    studies={"raters with few answers each": ""},
    assumes=(
        "Each rater has one probability to be right, the same in all categories; wrong labels are equally "
        "probable. Independent errors."
    ),
    needs="Named raters; several answers to most items. Few answers of each rater are enough.",
    fails="Raters favour a label, or confuse two categories more than others.",
)
