"""Coarsened plausibilities, summed over groups of categories, and expected values such as risk."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from ...posterior.errors import EvaluationError
from ...posterior.groups import tree_like
from ...posterior.plausibility import Block, Plausibility
from ..truth.groups import with_mapping


def coarsen[Tree: (xr.DataTree, xr.DataArray)](tree: Tree, mapping: Mapping[object, object]) -> Tree:
    """Sum the plausibilities over groups of categories.

    OTHER is split between the groups by their numbers of its members, which are exchangeable.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior with ``plausibility``. Draws in an array have the attribute ``truth``, "category" or
        "distribution".
    mapping : mapping of label to group
        Group of every category; if items have an OTHER, of every declared category.

    Returns
    -------
    DataTree or DataArray
        ``plausibility`` (chain, draw, item, category): categories are the groups in the order of the mapping.

    Raises
    ------
    EvaluationError
        If a category has no group.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> truth = xr.DataArray([[.6, .3, .1], [.2, .5, .3]], [("item", ["a", "b"]), ("category", list("xyz"))])
    >>> evaluation.coarsen(truth, {"x": "low", "y": "high", "z": "high"}).values.round(1)
    array([[0.6, 0.4],
           [0.2, 0.8]])
    """
    view = Plausibility.of(tree)
    if not isinstance(mapping, Mapping):
        raise EvaluationError(f"mapping={mapping!r} must be {{category: group}}")
    group_of = {str(label): str(group) for label, group in mapping.items()}
    groups = {group: i for i, group in enumerate(dict.fromkeys(group_of.values()))}
    table = {label: np.eye(len(groups))[groups[group]] for label, group in group_of.items()}
    sums = _weighted(view, table, "mapping")
    integers = all(isinstance(group, int | np.integer) for group in mapping.values())
    kind = {"kind": "integer" if integers else "text"}
    coords = {
        **view.sample_coords(),
        "item": xr.DataArray(view.items, dims="item"),
        "category": xr.DataArray(list(groups), dims="category", attrs=kind),
    }
    dims = (*view.sample_dims, "item", "category")
    meaning = {k: v for k, v in view.array.attrs.items() if k == "truth"}
    if not meaning and isinstance(tree, xr.DataTree) and view.sample_dims:
        meaning = {"truth": "category" if view.is_of_category else "distribution"}
    array = xr.DataArray(view.unstack(sums), coords, dims, name="plausibility", attrs=meaning)
    if isinstance(tree, xr.DataArray):
        return array
    return tree_like(tree, {"posterior": array.to_dataset()})


def expected_value(tree: xr.DataTree | xr.DataArray, values: Mapping[object, float]) -> xr.DataArray:
    """Return the posterior expectation of a value of the category, such as its risk, in every draw.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior with ``plausibility``.
    values : mapping of label to number
        Value of every category; if items have an OTHER, of every declared category.

    Returns
    -------
    DataArray, shape (chain, draw, item)
        Expected value under the plausibilities of the draw (Stutz et al., 2025, arXiv:2307.02191, figure 8).

    Raises
    ------
    EvaluationError
        If a category has no value.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> truth = xr.DataArray([[.6, .3, .1], [.2, .5, .3]], [("item", ["a", "b"]), ("category", list("xyz"))])
    >>> evaluation.expected_value(truth, {"x": 0, "y": 1, "z": 3}).values.round(2)
    array([0.6, 1.4])
    """
    view = Plausibility.of(tree)
    table = {str(label): np.array([float(value)]) for label, value in values.items()}
    expected = _weighted(view, table, "values")[:, 0]
    coords = {**view.sample_coords(), "item": xr.DataArray(view.items, dims="item")}
    dims = (*view.sample_dims, "item")
    return xr.DataArray(view.unstack(expected), coords, dims, name="expected_value")


def _weighted(view: Plausibility, table: Mapping[str, np.ndarray], argument: str) -> np.ndarray:
    """Sum plausibilities times the weights of their categories: (item, weight, sample).

    A member of OTHER is equally any category that the item does not name: its weight is the mean over them.
    """
    extended = with_mapping(view, table, argument, complete=True)
    if view.has_other.any() and view.declared_count() is None:
        raise EvaluationError(
            "the posterior has candidates OTHER but no constant_data other_size: pass the tree; "
            "inference.label(tree, data) adds what evaluation needs"
        )
    weights = np.stack([table[label] for label in extended.categories.tolist()])
    of_cell = weights[view.code]
    last = view.start[1:][view.has_other] - 1
    of_cell[last] = 0
    named = np.add.reduceat(of_cell, view.start[:-1])[view.has_other]
    if len(last):
        size = (len(weights) - view.named_count())[view.has_other]
        of_cell[last] = (weights.sum(axis=0) - named) / size[:, None]
    kind = np.result_type(view.array.dtype, np.float32)

    def sums(block: Block, _: np.random.Generator) -> np.ndarray:
        start = view.start[block.items.start : block.items.stop + 1] - block.cells.start
        shape = (len(start) - 1, len(block.draws))
        cells = np.arange(len(block.draws))
        rows = of_cell[block.cells].astype(kind).T
        return np.stack([csr_array((row, cells, start), shape) @ block.draws for row in rows], 1)

    return np.concatenate(view.map_blocks(sums))
