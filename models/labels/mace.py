"""MACE model of labels: each rater knows the true category with some probability, and otherwise spams."""

from typing import Any, Literal, cast

import numpy as np
import pymc as pm
from pytensor.tensor.variable import TensorVariable

from .._arguments import FEATURES, LABEL_MODEL, PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array, prior_pair
from .._item_features import feature_coords, prior_of_truth, read_features
from .._prior_arguments import positive_pair
from ..data.labels import Labels
from .observed import coords_of, observe_labels, prevalence_or_uniform, require_identified_raters

__all__ = ["mace"]


@recorded
@documented(features=FEATURES, prior_logits=PRIOR_LOGITS, returns=LABEL_MODEL)
def mace(
    labels: Labels,
    *,
    prevalence_concentration: Any | Literal["uniform"] = 1.0,
    competence_concentration: tuple[Number, Number] = (2.0, 1.0),
    spam_concentration: Any = 1.0,
    features: Any = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build the MACE model: each rater gives the true category with some probability, and otherwise spams.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        p         ~ Dirichlet(alpha), or uniform and fixed (the paper's)
        theta_k   ~ Beta(a, b)
        xi_k      ~ Dirichlet(c)                  for every rater k
        T_i       ~ Categorical(p)                summed out; known for gold items
        y_a       = T_i with probability theta_k, else ~ Categorical(xi_k)

    With spamming summed out this is a confusion matrix: pi_kjl = theta_k [l = j] + (1 - theta_k) xi_kl.

    ======================  ====================  =================================
    symbol                  variable              dims
    ======================  ====================  =================================
    p                       prevalence            category
    theta                   competence            rater
    xi                      spam                  rater, answer
    pi                      confusion             rater, category, answer
    p(T | p, theta, xi, y)  plausibility          item, category
    y (paper: A)            observed_label        annotation
    alpha, (a, b), c        ..._concentration=    arguments
    ======================  ====================  =================================

    Competences are never negative, which identifies the categories unless nobody is competent. The default
    prior has no density at zero competence, where the paper's Beta(.5, .5) has a pole.

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    prevalence_concentration : float, array_like of shape (category,), or "uniform", default 1
        Dirichlet concentration of the prevalence; "uniform": fixed and equal, as in the paper (NUTS only).
    competence_concentration : pair of float or random variable, default (2, 1)
        Beta prior (a, b) of the competences. The paper's is (.5, .5): most raters either always try or never.
    spam_concentration : float or array_like, default 1
        Dirichlet concentration c of the answers of spammers: a number, or array (answer) or (rater, answer).
    {features}
    {prior_logits}

    {returns}

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="mace", items=20, random_seed=1).data
    >>> model = models.mace(labels)
    >>> sorted(variable.name for variable in model.free_RVs), model.named_vars_to_dims["spam"]
    (['competence', 'prevalence', 'spam'], ('rater', 'answer'))

    References
    ----------
    Hovy et al. (2013), Learning whom to trust with MACE, NAACL-HLT, section 2, aclanthology N13-1132. Paun et
    al. (2018), Comparing Bayesian models of annotation, TACL 6, section 3.2, doi:10.1162/tacl_a_00040.
    """
    coords = coords_of(require_identified_raters(labels, "mace"))
    n, raters = len(labels.categories), (len(labels.raters),)
    own = read_features(labels, features)
    honest, idle = prior_pair("competence_concentration", competence_concentration, raters, positive_pair)
    c = prior_array("spam_concentration", spam_concentration, (*raters, n))
    dims = ("rater", "category", "answer")
    with annotation_model(coords | feature_coords(own)) as model:
        prevalence = prevalence_or_uniform(labels, prevalence_concentration)
        competence = pm.Beta("competence", honest, idle, dims="rater")
        spam = pm.Dirichlet("spam", c, dims=("rater", "answer"))
        # pi_kjl = theta_k [l = j] + (1 - theta_k) xi_kl
        spammed = ((1 - competence)[:, None] * spam)[:, None, :]
        known = competence[:, None, None] * np.eye(n)
        confusion = pm.Deterministic("confusion", known + spammed, dims=dims)
        prior = prior_of_truth(labels, prevalence, own, prior_logits)
        observe_labels(labels, prior, cast(TensorVariable, confusion))
    return model


SPEC = Spec(
    name="mace",
    data="labels",
    summary="Raters who tell the true category or spam, each with a competence and a way to spam",
    methods=("gibbs", "nuts"),
    reference="Hovy et al. 2013, aclanthology N13-1132, section 2",
    options=("features",),
    marks=("competence",),
    shared_errors="independent",
    studies={"a crowd with spammers": ""},
    assumes=(
        "Each rater knows and tells the true category with some probability, and otherwise gives a label "
        "by a habit of their own. Independent errors."
    ),
    needs="Named raters; several answers to most items. Some raters who try.",
    fails="Honest raters confuse similar categories: their errors are taken for spam.",
)
