"""The groups of a tree that a model knows before it is sampled: its constants, its observations, its ids."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.arviz import find_constants, find_observations

__all__ = ["CodeNames", "Deterministics", "as_dataset", "constant_groups"]

SAMPLE = ("chain", "draw")
RATER_ATTRIBUTE = "rater_"  # begins the names of coordinates that say something of the raters


@dataclass(frozen=True)
class CodeNames:
    """Ids behind the codes of a model, and what is known of its raters, as its coordinates keep them.

    `categories` is None where the model has none, such as one of comparisons.
    """

    items: np.ndarray
    categories: np.ndarray | None
    rater_attributes: dict[str, np.ndarray]

    @classmethod
    def of(cls, model: pm.Model) -> "CodeNames | None":
        """Return the ids of the model's items, and of its categories if it has any; None if it does not say them."""
        items, categories = (model.coords.get(name) for name in ("item", "category"))
        of_categories = {"candidate", "category", "label"} & set(model.coords)
        if items is None or (of_categories and categories is None):
            return None
        attributes = {
            name.removeprefix(RATER_ATTRIBUTE): np.asarray(values)
            for name, values in model.coords.items()
            if name.startswith(RATER_ATTRIBUTE)
        }
        known = None if categories is None else np.asarray(categories)
        return cls(np.asarray(items), known, attributes)


def constant_groups(model: pm.Model) -> dict[str, xr.Dataset]:
    """Return ``constant_data`` and ``observed_data`` of a model.

    Parameters
    ----------
    model : pymc.Model
        The model.

    Returns
    -------
    dict of str to Dataset
        The groups that are not empty.
    """
    groups = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    values = {name: np.asarray(x) for found in groups.values() for name, x in found.items()}
    known = as_dataset(model, values)
    return {group: known[list(found)] for group, found in groups.items() if found}


def as_dataset(
    model: pm.Model, arrays: dict[str, np.ndarray], sample_dims: tuple[str, ...] = ()
) -> xr.Dataset:
    """Name the dims of a model's variables, and give them the model's coordinates.

    Parameters
    ----------
    model : pymc.Model
        Knows the dims of its variables.
    arrays : dict of str to ndarray
        Values of named variables; their axes follow `sample_dims`.
    sample_dims : tuple of str
        For example ``("chain", "draw")``.

    Returns
    -------
    Dataset
        The variables.
    """
    variables = {}
    for name, values in arrays.items():
        own = range(np.ndim(values) - len(sample_dims))
        dims = model.named_vars_to_dims.get(name) or [f"{name}_dim_{k}" for k in own]
        variables[name] = ((*sample_dims, *dims), values)
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {d: np.asarray(c) for d, c in model.coords.items() if d in used and c is not None}
    lengths = {d: n for dims, v in variables.values() for d, n in zip(dims, v.shape, strict=True)}
    coords |= {d: np.arange(lengths[d]) for d in sample_dims}
    return xr.Dataset(variables, coords)


class Deterministics:
    """What a model computes from its free variables and the sampler did not; compiled once, when it is first needed."""

    def __init__(self, model: pm.Model) -> None:
        self._model, self._function = model, cast(Any, None)

    def __call__(self, posterior: xr.Dataset) -> xr.Dataset:
        """Return draws of all free variables with a variable for every deterministic of the model."""
        model = self._model
        missing = [rv for rv in model.deterministics if rv.name not in posterior]
        if not missing:
            return posterior
        if self._function is None:
            self._function = model.compile_fn(
                missing, inputs=model.free_RVs, on_unused_input="ignore"
            )
        free = [str(rv.name) for rv in model.free_RVs]
        drawn = [posterior[name].transpose(*SAMPLE, ...).to_numpy() for name in free]
        size = drawn[0].shape[:2]
        points = (dict(zip(free, (d[at] for d in drawn), strict=True)) for at in np.ndindex(size))
        values = zip(*(self._function(point) for point in points), strict=True)
        arrays = {
            str(rv.name): np.stack(value).reshape(*size, *np.shape(value[0]))
            for rv, value in zip(missing, values, strict=True)
        }
        return posterior.assign(as_dataset(model, arrays, SAMPLE).data_vars)
