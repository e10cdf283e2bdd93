"""MACE: each rater either tells the true category or spams, and the true category of every item is summed out.

Generative law, for item i, rater k and each answer a of rater k to item i:

    p         ~ Dirichlet(alpha), or the same for every category (the paper's)
    theta_k   ~ Beta(a, b)
    xi_k      ~ Dirichlet(c)                  for every rater k
    T_i       ~ Categorical(p)                summed out; known for gold items
    y_a       = T_i with probability theta_k, else ~ Categorical(xi_k)

and so, with the spam summed out, too, a confusion matrix: pi_kjl = theta_k [l = j] + (1 - theta_k) xi_kl.

======================  ====================  =================================
symbol                  variable              dims
======================  ====================  =================================
p                       prevalence            category
theta                   competence            rater
xi                      spam                  rater, label
pi                      confusion             rater, category, label
p(T | p, theta, xi, y)  plausibility          item, category
y (paper: A)            observed_label        annotation
alpha, (a, b), c        ..._concentration=    arguments
======================  ====================  =================================

A competence is never below zero, and so the categories have their names: a permutation of them is no matrix of this law, unless
nobody is competent. That corner has no prior density by default, where the paper's Beta(.5, .5) has its pole.

References
----------
Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013), Learning whom to trust with MACE, NAACL-HLT, section 2, aclanthology N13-1132.
Paun et al. (2018), Comparing Bayesian models of annotation, TACL 6, section 3.2, doi:10.1162/tacl_a_00040.
"""

from typing import Any, Literal, cast

import numpy as np
import pymc as pm
from pytensor.tensor.variable import TensorVariable

from ..data.labels import Labels
from ..data.prior_numbers import positive_array, positive_pair
from ..data.recipes import recorded
from .fixed_prevalence import prevalence_or_uniform
from .observed import coords_of, known_raters, observe_labels

__all__ = ["mace"]


@recorded
def mace(
    labels: Labels,
    *,
    prevalence_concentration: Any | Literal["uniform"] = 1.0,
    competence_concentration: tuple[float, float] = (2.0, 1.0),
    spam_concentration: Any = 1.0,
) -> pm.Model:
    """Build the model of competent raters and spammers.

    Parameters
    ----------
    labels : Labels
        The annotations, of raters who are told apart.
    prevalence_concentration : float or array_like or "uniform", default 1
        Dirichlet concentration of the prevalence, one number or one for each category; "uniform" fixes it: every category is as
        probable as any other, as in the paper. A fixed prevalence is drawn by NUTS alone.
    competence_concentration : pair of float, default (2, 1)
        Beta prior of the competences. The paper's is (.5, .5): a rater either tried or did not care.
    spam_concentration : float or array_like, default 1
        Dirichlet concentration of what spammers answer, one number, or an array (label) or (rater, label).

    Returns
    -------
    pymc.Model
        Variables ``prevalence``, ``competence``, ``spam``, ``confusion``, ``plausibility`` and ``observed_label``, pointwise by
        item.

    Raises
    ------
    ValueError
        If the raters are anonymous, or a concentration is not positive.
    """
    coords = coords_of(known_raters(labels, "mace"))
    honest, idle = positive_pair("competence_concentration", competence_concentration)
    n = len(labels.categories)
    c = positive_array("spam_concentration", spam_concentration, (len(labels.raters), n))
    dims = ("rater", "category", "label")
    with pm.Model(coords=coords) as model:
        prevalence = prevalence_or_uniform(labels, prevalence_concentration)
        competence = pm.Beta("competence", honest, idle, dims="rater")
        spam = pm.Dirichlet("spam", c, dims=("rater", "label"))
        missed = ((1 - competence)[:, None] * spam)[:, None, :]
        told = competence[:, None, None] * np.eye(n)
        confusion = pm.Deterministic("confusion", told + missed, dims=dims)
        observe_labels(labels, prevalence, cast(TensorVariable, confusion))
    return model
