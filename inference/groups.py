"""Groups of a posterior tree that follow from the model: constants, observations, ids and deterministics."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.arviz import find_constants, find_observations

__all__ = ["CodeNames", "Deterministics", "as_dataset", "constant_groups"]

SAMPLE = ("chain", "draw")
RATER_ATTRIBUTE = "rater_"  # prefix of the names of coordinates that hold rater attributes


@dataclass(frozen=True)
class CodeNames:
    """Ids behind the codes of a model's items and categories, and attributes of its raters."""

    items: np.ndarray  # (item,)
    categories: np.ndarray | None  # (category,); None if the model has none, as for comparisons
    rater_attributes: dict[str, np.ndarray]  # (rater,)

    @classmethod
    def of(cls, model: pm.Model) -> "CodeNames | None":
        """Ids and rater attributes from the coordinates of a model; None if the model lacks those ids."""
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
    """Non-empty groups ``constant_data`` and ``observed_data`` of a model."""
    groups = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    values = {name: np.asarray(x) for found in groups.values() for name, x in found.items()}
    known = as_dataset(model, values)
    return {group: known[list(found)] for group, found in groups.items() if found}


def as_dataset(
    model: pm.Model, arrays: dict[str, np.ndarray], sample_dims: tuple[str, ...] = ()
) -> xr.Dataset:
    """Build a Dataset of named variables with the model's dims and coordinates.

    Shapes: the axes of every array are those of `sample_dims`, e.g. (chain, draw), then those of the
    variable.
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
    """Callable that computes the deterministics a sampler left out; compiled once, at the first call."""

    def __init__(self, model: pm.Model) -> None:
        self._model, self._function = model, cast(Any, None)

    def __call__(self, posterior: xr.Dataset) -> xr.Dataset:
        """Add the missing deterministics to draws (chain, draw, ...) of all free variables."""
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
