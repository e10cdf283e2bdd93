"""
Errors against their bound
==========================

No estimate of the qualities can be better than the Bayesian Cramer-Rao bound.
"""

import xarray as xr
from raterzoo.evaluation import plots

degree = xr.DataArray([2, 4, 8], dims="degree", coords={"degree": [2, 4, 8]})
bound, error = (
    0.5 / degree,
    0.6 / degree,
)  # by `bayesian_cramer_rao_bound` and `mean_squared_error` of simulations
plots.error_against_bound(error, bound, over="degree")
