"""Draws of a single item, from the flat or the dense layout."""

import numpy as np
import xarray as xr

__all__ = ["draws_of_item"]


def draws_of_item(plausibility: xr.DataArray, item: str | int) -> tuple[np.ndarray, np.ndarray]:
    """Return the category names (category,) of an item and its plausibilities (sample, category).

    `plausibility` is flat (..., candidate) or dense (..., item, category); a point estimate has one sample.
    """
    if "candidate" in plausibility.dims:
        own = plausibility.isel(candidate=(plausibility["item"] == item).to_numpy())
        last = "candidate"
    else:
        own, last = plausibility.sel(item=item), "category"
    values = own.transpose(..., last).to_numpy()
    return own["category"].to_numpy(), values.reshape(-1, values.shape[-1])
