"""A centre as arrays, so that a run that goes on need not climb to it again, and rounds as it did."""

import numpy as np

from .kernels.anchored_information import Kind
from .kernels.laplace_centre import Centre
from .kernels.laplace_hmc import Laplace
from .runs import Found

__all__ = ["as_arrays", "as_centre"]


def as_arrays(centre: Centre) -> dict[str, np.ndarray]:
    """Write a centre as named arrays.

    Parameters
    ----------
    centre : Centre
        Centre and metric.

    Returns
    -------
    dict of str to ndarray
        All of it; the rival is left out if there is none.
    """
    sides = {"centre": centre.laplace} | ({"rival": centre.rival} if centre.rival else {})
    arrays = {
        f"{side}_{name}": array
        for side, laplace in sides.items()
        for name, array in laplace._asdict().items()
    }
    others = {"kind": centre.kind, "iterations": centre.iterations, "open": centre.open_scales}
    return arrays | {name: np.array(value) for name, value in others.items()}


def as_centre(arrays: Found) -> Centre:
    """Read a centre from named arrays.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        As of `as_arrays`.

    Returns
    -------
    Centre
        The same, to the last bit.
    """
    sides = {
        side: Laplace(*(arrays[f"{side}_{name}"] for name in Laplace._fields))
        for side in ("centre", "rival")
        if f"{side}_centre" in arrays
    }
    kind, iterations = Kind(*map(bool, arrays["kind"])), int(arrays["iterations"])
    return Centre(sides["centre"], kind, iterations, bool(arrays["open"]), sides.get("rival"))
