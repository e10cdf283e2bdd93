"""
Probability of a ranking error
==============================

How often a simulated study puts two items in the wrong order that differ by more than epsilon.
"""

import numpy as np
import xarray as xr
from raterzoo import papers
from raterzoo.evaluation import plots

rng = np.random.default_rng(1)
epsilon = [0.05, 0.1, 0.2, 0.4]
wrong = xr.DataArray(
    rng.random((4, 200)) < [[0.6], [0.4], [0.2], [0.05]], {"epsilon": epsilon}, ("epsilon", "run")
)
plots.ranking_error(papers.error_rate(wrong), over="epsilon")
