"""What a sampler leaves, made whole: computed variables, constants, names and attributes."""

import json

import pymc as pm
import xarray as xr

from ._schema import SCHEMA_VERSION
from .groups import CodeNames, Deterministics, constant_groups
from .labelling import label
from .versions import versions_of_now

__all__ = ["Completion", "attributes"]


class Completion:
    """Makes trees of the groups that a sampler leaves, all at once or some draws at a time."""

    def __init__(self, model: pm.Model) -> None:
        self._constants, self._names = constant_groups(model), CodeNames.of(model)
        self._deterministics = Deterministics(model)

    def __call__(self, groups: dict[str, xr.Dataset], *, computed: bool = False) -> xr.DataTree:
        """Return groups as a tree with names.

        Parameters
        ----------
        groups : dict of str to Dataset
            With a ``posterior``.
        computed : bool
            Whether the posterior has all that the model computes.

        Returns
        -------
        DataTree
            Without attributes.
        """
        if not computed:
            groups = groups | {"posterior": self._deterministics(groups["posterior"])}
        tree = xr.DataTree.from_dict(groups | self._constants)
        return label(tree, self._names) if self._names else tree


def attributes(model: str, method: str, reason: str, seed: int) -> dict[str, str | int]:
    """Return what a tree says of the run that made it, but for its duration.

    Parameters
    ----------
    model, method, reason : str
        Name of the model, how it was drawn, and why so.
    seed : int
        Of the run.

    Returns
    -------
    dict
        Text and whole numbers: netCDF stores nothing else.
    """
    return {
        "model": model,
        "method": method,
        "method_reason": reason,
        "seed": seed,
        "versions": json.dumps(versions_of_now()),
        "schema_version": SCHEMA_VERSION,
    }
