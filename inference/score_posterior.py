"""Closed-form posterior of normal scores."""

import numpy as np
import pymc as pm
import xarray as xr

from .kernels.normal_items import posterior_items, score_moments
from .point.conjugate_prior import log_marginal
from .steps.score_reading import read_item_scores

__all__ = ["normal_scores_posterior"]


def normal_scores_posterior(model: pm.Model) -> xr.Dataset:
    """Parameters of the normal-inverse-gamma posterior of each item, and log marginal likelihoods.

    Parameters
    ----------
    model : pymc.Model
        Model built by `models.normal_scores`, or any other in which the scores of an item are conjugate.

    Returns
    -------
    Dataset
        ``mean``, ``mean_weight``, ``shape`` and ``rate`` (item): 1 / variance is Gamma(shape, rate), and the
        location given the variance is normal with this mean and variance / mean_weight. Marginally the
        location has Student's t distribution about the mean, with 2 shape degrees of freedom and scale
        sqrt(rate / (shape mean_weight)). ``log_marginal`` (item) is the log density of the scores of the item
        under the prior.

    Raises
    ------
    ValueError
        If the model is not a `pymc.Model` or not conjugate; the message says where it differs.

    Examples
    --------
    >>> import pandas as pd
    >>> from raterzoo import inference, models
    >>> table = pd.DataFrame({"item": ["a", "a", "b"], "rater": ["r", "s", "r"], "score": [4.0, 6.0, 1.0]})
    >>> model = models.normal_scores(models.Scores.from_table(table), mean=3, mean_weight=1, shape=2, rate=1)
    >>> posterior = inference.normal_scores_posterior(model)
    >>> posterior["mean"].values.round(2), posterior["shape"].values
    (array([4.33, 2.  ]), array([3. , 2.5]))
    """
    if not isinstance(model, pm.Model):
        raise ValueError(
            f"a {type(model).__name__} is not a pymc.Model; build one by models.normal_scores"
        )
    law = read_item_scores(model)
    moments = score_moments(law.item, law.score, len(law.prior.mean))
    posterior = posterior_items(law.prior, moments)._asdict()
    posterior["log_marginal"] = log_marginal(law.prior, moments)
    items = model.coords.get("item")
    coords = {} if items is None else {"item": np.asarray(items)}
    return xr.Dataset({name: ("item", values) for name, values in posterior.items()}, coords)
