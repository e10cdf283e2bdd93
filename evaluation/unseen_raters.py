"""Raters who have not answered yet: one more of each group, drawn from the population that a hierarchical model has learned.

    beta_jl ~ Normal(mean_jl, spread_jl)        log odds of a new rater, about the mean of the group, or of the population
    pi_j    = softmax(beta_j)

References
----------
Paun et al. (2018), Comparing Bayesian models of annotation, TACL 6, section 3.3, doi:10.1162/tacl_a_00040.
"""

import numpy as np
import xarray as xr
from scipy.special import softmax

from .judges import GROUPS
from .raters import of_raters
from .seeds import generator_of

__all__ = ["new_raters"]


def new_raters(
    tree: xr.DataTree, random_seed: int | np.random.Generator | None = None
) -> xr.DataTree:
    """Draw the confusion matrices of raters who have not answered yet, one of each group in every draw.

    Parameters
    ----------
    tree : DataTree
        Posterior of a hierarchical model: ``population_spread`` and ``group_mean``, or without groups ``population_mean``.
    random_seed : int or numpy.random.Generator, optional
        Draws them.

    Returns
    -------
    DataTree
        Posterior with ``prevalence`` and ``confusion`` (rater, category, label), whose raters bear the names of the groups, or
        the name "new rater". `rater_worth` and `rater_quality` take it.

    Raises
    ------
    EvaluationError
        If the tree has no population of raters.
    """
    dims = ("category", "label")
    spread = of_raters(tree, "population_spread", dims)
    mean = of_raters(tree, "population_mean", dims)
    if "group_mean" in tree["posterior"]:
        mean = of_raters(tree, "group_mean", (GROUPS, *dims)).rename({GROUPS: "rater"})
    else:
        mean = mean.expand_dims(rater=["new rater"])
    sample = [d for d in mean.dims if d not in ("rater", *dims)]
    mean = mean.transpose(*sample, "rater", *dims)
    spread = spread.transpose(*sample, *dims).to_numpy()[..., None, :, :]
    log_odds = mean + spread * generator_of(random_seed).standard_normal(mean.shape)
    confusion = log_odds.copy(data=softmax(log_odds.to_numpy(), axis=-1))
    prevalence = of_raters(tree, "prevalence", ("category",))
    posterior = xr.Dataset({"prevalence": prevalence, "confusion": confusion})
    result = xr.DataTree.from_dict({"posterior": posterior})
    result.attrs = dict(tree.attrs)
    return result
