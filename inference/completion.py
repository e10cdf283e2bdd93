"""Assemble the tree of a posterior: deterministics, constant groups, coordinates and attributes."""

import json

import pymc as pm
import xarray as xr

from ._schema import SCHEMA_VERSION
from .groups import CodeNames, Deterministics, constant_groups
from .labelling import label
from .versions import versions_of_now

__all__ = ["Completion", "attributes"]


class Completion:
    """Callable that assembles labelled trees from the groups of a sampler, for all draws or block by block."""

    def __init__(self, model: pm.Model) -> None:
        self._constants, self._names = constant_groups(model), CodeNames.of(model)
        self._deterministics = Deterministics(model)

    def __call__(self, groups: dict[str, xr.Dataset], *, computed: bool = False) -> xr.DataTree:
        """Return groups with a ``posterior`` as a labelled tree without attributes.

        `computed` says that the posterior has all deterministics of the model already.
        """
        if not computed:
            groups = groups | {"posterior": self._deterministics(groups["posterior"])}
        tree = xr.DataTree.from_dict(groups | self._constants)
        return label(tree, self._names) if self._names else tree


def attributes(model: str, method: str, reason: str, seed: int) -> dict[str, str | int]:
    """Attributes of the tree of a run, without its duration; text and whole numbers only, as netCDF requires."""
    return {
        "model": model,
        "method": method,
        "method_reason": reason,
        "seed": seed,
        "versions": json.dumps(versions_of_now()),
        "schema_version": SCHEMA_VERSION,
    }
