"""Dirichlet: the labels of an item are draws from its plausibilities; raters are all alike.

Generative law, for item i with label counts n_i:

    lambda_i ~ Dirichlet(alpha)
    n_i      ~ CountedLabels(lambda_i) ** gamma

====================  ====================  =================================
symbol                variable              dims
====================  ====================  =================================
lambda                plausibility          item, category
n                     observed_label        item, category
gamma                 reliability           scalar
alpha                 concentration=        argument
====================  ====================  =================================

The posterior is exact: lambda_i | n_i ~ Dirichlet(alpha + gamma n_i).

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, appendix A, arXiv:2307.02191.
"""

from typing import Any

import pymc as pm

from ..data.container import expect
from ..data.labels import Labels
from ..data.recipes import recorded
from ..distributions.counted_labels import CountedLabels
from .observed import positive_array

__all__ = ["dirichlet"]


@recorded
def dirichlet(labels: Labels, *, concentration: Any = 1.0, reliability: float = 1.0) -> pm.Model:
    """Build the model of counted labels.

    Parameters
    ----------
    labels : Labels
        The annotations; the raters may be anonymous. Gold labels say nothing here: the plausibility is the share of raters who
        would give each label, not the truth.
    concentration : float or array_like, default 1
        Dirichlet concentration alpha, one number or one for each category.
    reliability : float, default 1
        Trust in the raters: the power gamma of the likelihood, as if each answer had been given that many times.

    Returns
    -------
    pymc.Model
        Variables ``plausibility`` and ``observed_label``, pointwise by item.

    Raises
    ------
    ValueError
        If a prior is not positive.

    Notes
    -----
    Leave-one-out over items has no meaning here that importance sampling could find: without its own answers nothing is known of
    an item's plausibilities, and the Pareto k of `arviz.loo` says so. Compare concentrations and reliabilities by other means.
    """
    expect(labels, Labels)
    alpha = positive_array("concentration", concentration, (len(labels.categories),))
    power = positive_array("reliability", reliability, ())
    coords = {"item": labels.items, "category": labels.categories}
    dims = ("item", "category")
    with pm.Model(coords=coords) as model:
        plausibility = pm.Dirichlet("plausibility", alpha, dims=dims)
        trust = pm.Data("reliability", power)
        total = labels.counts.sum(axis=1)
        CountedLabels(
            "observed_label", plausibility, total, trust, observed=labels.counts, dims=dims
        )
    return model
