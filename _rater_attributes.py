"""Attributes of raters in a posterior tree, such as their kind: variables ``rater_...`` of ``constant_data``.

They are no coordinates of the posterior: `arviz.summary` refuses a posterior of which some variables lack a coordinate.
"""

import xarray as xr

PREFIX = "rater_"


def posterior_with_attributes(tree: xr.DataTree) -> xr.Dataset:
    """Return the posterior with the attributes of its raters as coordinates along ``rater``, without the prefix."""
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    if "constant_data" not in tree.children or "rater" not in posterior.dims:
        return posterior
    return posterior.assign_coords(
        {
            str(name).removeprefix(PREFIX): ("rater", values.to_numpy())
            for name, values in tree["constant_data"].data_vars.items()
            if str(name).startswith(PREFIX) and values.dims == ("rater",)
        }
    )
