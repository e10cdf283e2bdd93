"""Unseen raters, drawn from the rater population of a hierarchical model."""

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
    """Draw the confusion matrices of unseen raters, one of each group in every posterior draw.

        beta_jl ~ Normal(mean_jl, spread_jl)        log odds of a new rater, around the mean of the group or population
        pi_j    = softmax(beta_j)                   row of the confusion matrix for true category j

    Parameters
    ----------
    tree : DataTree
        Posterior of a hierarchical model: ``population_spread`` with ``group_mean``, or without groups with
        ``population_mean``.
    random_seed : int or numpy.random.Generator, optional
        Seed of the draws.

    Returns
    -------
    DataTree
        Posterior with ``prevalence`` and ``confusion`` (rater, category, label); raters are named after their
        groups, or "new rater". `rater_worth` and `rater_quality` accept it.

    Raises
    ------
    EvaluationError
        If the tree has no population of raters.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> dims = ("chain", "draw", "category", "label")
    >>> coords = {"category": ["no", "yes"], "label": ["no", "yes"]}
    >>> posterior = xr.Dataset(
    ...     {
    ...         "population_mean": (dims, np.tile(np.eye(2), (1, 3, 1, 1))),
    ...         "population_spread": (dims, np.ones((1, 3, 2, 2))),
    ...         "prevalence": (dims[:3], np.full((1, 3, 2), 0.5)),
    ...     },
    ...     coords,
    ... )
    >>> tree = xr.DataTree.from_dict({"posterior": posterior})
    >>> evaluation.new_raters(tree, random_seed=1)["posterior"]["rater"].values.tolist()
    ['new rater']

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, TACL 6, section 3.3,
    doi:10.1162/tacl_a_00040.
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
