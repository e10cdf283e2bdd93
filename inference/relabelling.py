"""Label switching: which category is which, draw by draw, and the same draws with the categories named alike.

The likelihood of a Dawid-Skene model does not know the names of the true categories: permuted with their rows of the confusion
matrices they explain the answers as well. What names them is the prior, and that labels are meant: in a draw the categories bear
their own names if raters are right more often, all in all, than under any permutation of them.

References
----------
Stephens (2000), Dealing with label switching in mixture models, JRSS B 62(4), doi:10.1111/1467-9868.00265, algorithm 4.1 (here
with the diagonal as the loss).
"""

from itertools import permutations

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

__all__ = ["naming", "relabel", "switched"]

ENUMERATED = 5  # categories, up to which all permutations are compared at once


def relabel(tree: xr.DataTree) -> xr.DataTree:
    """Name the categories of every draw so that raters are right as often as possible.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``confusion`` (..., category, label), and what depends on the category.

    Returns
    -------
    DataTree
        The same with all variables of the posterior permuted along ``category``, and ``naming`` (chain, draw, category) in
        ``sample_stats``: the place of each category before. Densities are those of the draws as they were: an asymmetric prior
        does not hold for the permuted ones.

    Raises
    ------
    ValueError
        If the posterior has no confusion matrices, or they are made of abilities: under other names they are not.
    """
    if not isinstance(tree, xr.DataTree) or "posterior" not in tree.children:
        raise ValueError(f"a {type(tree).__name__} is not a DataTree with a posterior")
    posterior = tree["posterior"].to_dataset()
    if "confusion" not in posterior:
        raise ValueError(
            f"the posterior holds {', '.join(map(str, posterior.data_vars))}, but no 'confusion' to name the categories by"
        )
    order = naming(posterior["confusion"])
    if "ability" in posterior and (order != np.arange(order.shape[-1])).any():
        raise ValueError(
            "the confusion matrices are made of abilities, which have no meaning under other names of the categories; "
            "give the abilities a prior above one half instead"
        )
    at = xr.DataArray(order, dims=("chain", "draw", "category"))
    moved = {
        name: _permuted(variable, at) if "category" in variable.dims else variable
        for name, variable in posterior.data_vars.items()
    }
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    groups["posterior"] = posterior.assign(moved)
    stats = groups.get("sample_stats", xr.Dataset())
    groups["sample_stats"] = stats.assign(naming=at)
    result = xr.DataTree.from_dict(groups)
    result.attrs = dict(tree.attrs)
    return result


def _permuted(variable: xr.DataArray, at: xr.DataArray) -> xr.DataArray:
    """Take the categories of every draw in another order; their names stay where they are."""
    moved = variable.drop_vars("category", errors="ignore").isel(
        chain=xr.DataArray(np.arange(at.sizes["chain"]), dims="chain"),
        draw=xr.DataArray(np.arange(at.sizes["draw"]), dims="draw"),
        category=at,
    )
    return moved.transpose(*variable.dims).assign_coords(variable.coords)


def naming(confusion: xr.DataArray) -> np.ndarray:
    """Return the order of the categories in which raters are right most often.

    Parameters
    ----------
    confusion : DataArray, dims (chain, draw[, rater], category, label)
        Confusion matrices.

    Returns
    -------
    ndarray of int, shape (chain, draw, category)
        Place of the category that bears each name best.
    """
    pooled = confusion.mean("rater") if "rater" in confusion.dims else confusion
    right = pooled.transpose("chain", "draw", "category", "label").to_numpy().astype(float)
    n = right.shape[-1]
    if n <= ENUMERATED:
        orders = np.array(list(permutations(range(n))))
        total = right[..., orders, np.arange(n)].sum(axis=-1)
        return orders[total.argmax(axis=-1)]
    order = np.empty(right.shape[:-1], int)
    for index in np.ndindex(right.shape[:2]):
        category, label = linear_sum_assignment(right[index], maximize=True)
        order[index][label] = category
    return order


def switched(confusion: xr.DataArray) -> xr.DataArray:
    """Return the share of draws in which another naming of the categories fits better.

    Parameters
    ----------
    confusion : DataArray, dims (chain, draw[, rater], category, label)
        Confusion matrices.

    Returns
    -------
    DataArray, dims (chain,)
        Shares.
    """
    order = naming(confusion)
    other = (order != np.arange(order.shape[-1])).any(axis=-1)
    return xr.DataArray(other.mean(axis=1), dims=("chain",))
