"""One coin: each rater is right with one probability, whatever the category, and otherwise names any other.

Generative law, for item i, rater k and each answer a of rater k to item i:

    p        ~ Dirichlet(alpha)
    q_k      ~ Beta(a, b)
    T_i      ~ Categorical(p)                summed out; known for gold items
    y_a      = T_i with probability q_k, else any other category alike

====================  ====================  =================================
symbol                variable              dims
====================  ====================  =================================
p                     prevalence            category
q                     ability               rater
                      confusion             rater, category, label
p(T | p, q, y)        plausibility          item, category
y                     observed_label        annotation
alpha, (a, b)         arguments
====================  ====================  =================================

References
----------
Raykar et al. (2010), Learning from crowds, JMLR 11, section 2; Zhang et al. (2016), Spectral methods meet EM, JMLR 17, section 2
(the one-coin model), arXiv:1406.3824.
"""

from typing import Any

import pymc as pm

from ..data.labels import Labels
from ..data.recipes import recorded
from .coins import coin_confusion
from .observed import coin_prior, coords_of, known_raters, observe_labels, prevalence_prior

__all__ = ["one_coin"]


@recorded
def one_coin(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    ability_concentration: tuple[float, float] = (4.0, 2.0),
) -> pm.Model:
    """Build the one-coin model.

    Parameters
    ----------
    labels : Labels
        The annotations, of raters who are told apart.
    prevalence_concentration : float or array_like, default 1
        Dirichlet concentration of the prevalence, one number or one for each category.
    ability_concentration : pair of float, default (4, 2)
        Beta prior of the abilities, as if so many answers had been right and wrong.

    Returns
    -------
    pymc.Model
        Variables ``prevalence``, ``ability``, ``confusion``, ``plausibility`` and ``observed_label``, pointwise by item.

    Raises
    ------
    ValueError
        If the raters are anonymous, or a concentration is not positive.
    """
    coords = coords_of(known_raters(labels, "one_coin"))
    right, wrong = coin_prior(ability_concentration)
    with pm.Model(coords=coords) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        ability = pm.Beta("ability", right, wrong, dims="rater")
        confusion = coin_confusion(ability[:, None], len(labels.categories))
        observe_labels(labels, prevalence, confusion)
    return model
