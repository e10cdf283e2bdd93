"""Dawid and Skene (1979): a confusion matrix for each rater, the true categories summed out."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def model(data):
    """Return the model of the data that Stan reads."""
    item, rater, answer = (np.array(data[name]) - 1 for name in ("ii", "jj", "y"))
    with pm.Model() as pymc_model:
        pi = pm.Dirichlet("pi", np.array(data["alpha"]))
        beta = np.broadcast_to(data["beta"], (data["J"], data["K"], data["K"]))
        theta = pm.Dirichlet("theta", beta)
        log_answer = pt.log(theta)[rater, :, answer]  # (answer, category)
        log_q = pt.inc_subtensor(pt.tile(pt.log(pi), (data["I"], 1))[item], log_answer)
        pm.Potential("y", pt.logsumexp(log_q, axis=1).sum())
    return pymc_model
