"""Label switching: find, draw by draw, the permutation of the categories that fits, and undo it."""

from itertools import permutations

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

__all__ = ["naming", "relabel", "switched"]

ENUMERATED = 5  # categories up to which all permutations are tried at once


def relabel(tree: xr.DataTree) -> xr.DataTree:
    """Permute the categories of every draw so that raters are right as often as possible.

    The likelihood of a Dawid-Skene model is invariant under permutations of the true categories, together
    with the rows of the confusion matrices; only the prior names them. Each draw is given the permutation
    that maximises the sum of the diagonal of the confusion matrices, averaged over raters.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``confusion`` (chain, draw[, rater], category, label), and other variables along
        ``category``.

    Returns
    -------
    DataTree
        The same tree with all variables of the posterior permuted along ``category``, and ``naming`` (chain,
        draw, category) in ``sample_stats``: the former position of each category. Log densities are not
        changed; under an asymmetric prior they do not hold for permuted draws.

    Raises
    ------
    ValueError
        If the posterior has no confusion matrices, or they are functions of abilities, which are not
        invariant.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import inference
    >>> switched = [[[0.1, 0.9], [0.7, 0.3]]]  # one draw, in which raters are mostly wrong
    >>> posterior = xr.Dataset({"confusion": (("chain", "draw", "category", "label"), [switched])})
    >>> tree = inference.relabel(xr.DataTree.from_dict({"posterior": posterior}))
    >>> tree["posterior"]["confusion"].values[0, 0]
    array([[0.7, 0.3],
           [0.1, 0.9]])

    References
    ----------
    Stephens (2000), Dealing with label switching in mixture models, JRSS B 62(4),
    doi:10.1111/1467-9868.00265, algorithm 4.1 (here with the diagonal as the loss).
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
    """Permute the categories of every draw of a variable; the coordinate stays.

    Shapes: at (chain, draw, category).
    """
    moved = variable.drop_vars("category", errors="ignore").isel(
        chain=xr.DataArray(np.arange(at.sizes["chain"]), dims="chain"),
        draw=xr.DataArray(np.arange(at.sizes["draw"]), dims="draw"),
        category=at,
    )
    return moved.transpose(*variable.dims).assign_coords(variable.coords)


def naming(confusion: xr.DataArray) -> np.ndarray:
    """Permutation of the categories with the largest diagonal of the confusion matrices, by draw.

    Shapes: confusion (chain, draw[, rater], category, label); returns positions (chain, draw, category).
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
    """Share of draws in which another permutation of the categories fits better.

    Shapes: confusion (chain, draw[, rater], category, label); returns (chain,).
    """
    order = naming(confusion)
    other = (order != np.arange(order.shape[-1])).any(axis=-1)
    return xr.DataArray(other.mean(axis=1), dims=("chain",))
