"""Bradley and Terry (1952) with ties as of Davidson (1970); qualities sum to zero."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def model(data):
    """Return the model of the data that Stan reads."""
    left, right = np.array(data["left"]) - 1, np.array(data["right"]) - 1
    votes = np.array(data["votes"])
    with pm.Model() as pymc_model:
        sigma = pm.LogNormal("sigma", np.log(2), 1)
        nu = pm.LogNormal("nu", 0, 1)
        quality = pm.ZeroSumNormal("quality", sigma, shape=data["I"])
        half = (quality[left] - quality[right]) / 2
        odds = pt.stack([half, -half, pt.ones_like(half) * pt.log(nu)], axis=1)
        pm.Multinomial("votes", votes.sum(axis=1), pm.math.softmax(odds, axis=1), observed=votes)
    return pymc_model
