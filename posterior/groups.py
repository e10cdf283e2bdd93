"""Trees with other groups and the attributes of a posterior."""

from typing import Any

import xarray as xr

from .schema import INDEPENDENT


def tree_like(tree: xr.DataTree, groups: dict[str, xr.Dataset], **attrs: Any) -> xr.DataTree:
    """Return a tree of these groups, with the attributes of another tree and further ones."""
    result = xr.DataTree.from_dict(groups)
    result.attrs = {**tree.attrs, **attrs}
    return result


def with_groups(tree: xr.DataTree, **groups: xr.Dataset) -> xr.DataTree:
    """Return a tree in which some groups are replaced or added."""
    return tree_like(tree, {name: node.to_dataset() for name, node in tree.children.items()} | groups)


def with_truth_of_confusion(tree: xr.DataTree) -> xr.DataTree:
    """Return the tree with the plausibilities that its confusion matrices were drawn with, those of independent raters."""
    posterior = tree["posterior"].to_dataset()
    own = posterior[INDEPENDENT].assign_attrs(posterior["plausibility"].attrs)
    return with_groups(tree, posterior=posterior.drop_vars(INDEPENDENT).assign(plausibility=own))
