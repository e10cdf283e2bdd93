"""The draws of one item, in either layout."""

import numpy as np
import xarray as xr

__all__ = ["draws_of_item"]


def draws_of_item(plausibility: xr.DataArray, item: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of an item and its draws.

    Parameters
    ----------
    plausibility : DataArray
        Flat (..., candidate) or dense (..., item, category).
    item : str or int
        The item.

    Returns
    -------
    names : ndarray, shape (category,)
        Labels.
    draws : ndarray, shape (sample, category)
        Plausibilities; one sample for a point estimate.
    """
    if "candidate" in plausibility.dims:
        own = plausibility.isel(candidate=(plausibility["item"] == item).to_numpy())
        last = "candidate"
    else:
        own, last = plausibility.sel(item=item), "category"
    values = own.transpose(..., last).to_numpy()
    return own["category"].to_numpy(), values.reshape(-1, values.shape[-1])
