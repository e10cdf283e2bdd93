"""The posterior of normal scores in closed form."""

import numpy as np
import pymc as pm
import xarray as xr

from .kernels.normal_items import posterior_items, score_moments
from .point.conjugate_prior import log_marginal
from .steps.score_reading import read_item_scores

__all__ = ["normal_scores_posterior"]


def normal_scores_posterior(model: pm.Model) -> xr.Dataset:
    """Return the numbers of the normal-inverse-gamma posterior of each item.

    Parameters
    ----------
    model : pymc.Model
        A model built by `models.normal_scores`, or any other in which the scores of items are conjugate.

    Returns
    -------
    Dataset
        ``mean``, ``mean_weight``, ``shape`` and ``rate`` (item): 1 / variance is Gamma(shape, rate), and the location given the
        variance is normal with this mean and the variance divided by mean_weight; by itself it is Student's t about the mean,
        with 2 shape degrees of freedom and scale sqrt(rate / (shape mean_weight)). ``log_marginal`` (item), the log density of
        the scores of the item under the prior.

    Raises
    ------
    ValueError
        If it is no model, or any other; the message says where it differs.
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
