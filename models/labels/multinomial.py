"""Multinomial model of labels: one confusion matrix shared by all raters, true categories summed out."""

from typing import Any

import numpy as np
import pymc as pm

from .._arguments import PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import annotation_model
from .._item_features import prior_of_truth
from ..data.labels import Labels
from .observed import concentration_of_confusion, coords_of, observe_labels, prevalence_prior, require_labels

__all__ = ["multinomial"]


@recorded
@documented(prior_logits=PRIOR_LOGITS)
def multinomial(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    confusion_concentration: Any = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build the multinomial model: one confusion matrix for all raters, with true categories summed out.

    Generative law, for item i and each answer a to it:

        p        ~ Dirichlet(alpha)
        pi_j     ~ Dirichlet(beta_j)             for every true category j
        T_i      ~ Categorical(p)                summed out; known for gold items
        y_a      ~ Categorical(pi_T_i)

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    p (paper: pi)         prevalence            category
    pi (paper: zeta)      confusion             category, answer
    p(T | p, pi, y)       plausibility          item, category
    y                     observed_label        annotation
    alpha, beta           ..._concentration=    arguments
    ====================  ====================  =================================

    Parameters
    ----------
    labels : Labels
        Labels; the raters may be anonymous.
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    confusion_concentration : float or array_like, shape (category, answer), optional
        Dirichlet concentration of each row of the confusion matrix. The default favours the diagonal, as in
        `dawid_skene`.
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_label`` is pointwise by item.

    Raises
    ------
    ValueError
        If a concentration is not positive.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="multinomial", items=20, random_seed=1).data
    >>> model = models.multinomial(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['confusion', 'prevalence']
    >>> model.named_vars_to_dims["confusion"]
    ('category', 'answer')

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, TACL 6, section 3.1,
    doi:10.1162/tacl_a_00040.
    """
    require_labels(labels)
    shape = (len(labels.categories), len(labels.categories))
    beta = concentration_of_confusion(labels, confusion_concentration, shape)
    with annotation_model(coords_of(labels)) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        confusion = pm.Dirichlet("confusion", beta, dims=("category", "answer"))
        everyone = np.zeros(len(labels.annotation_rater), np.int64)
        prior = prior_of_truth(labels, prevalence, None, prior_logits)
        observe_labels(labels, prior, confusion[None], everyone)
    return model


SPEC = Spec(
    name="multinomial",
    data="labels",
    summary="One confusion matrix that all raters share, the true category summed out",
    methods=("gibbs", "nuts"),
    reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.1",
    shared_errors="independent",
    raters_alike=True,
    studies={"no names of raters, one true category": ""},
    assumes="All raters share one confusion matrix. Independent errors.",
    needs="No names of raters; several answers to most items.",
    fails="Some raters are much better than others: all count alike.",
)
