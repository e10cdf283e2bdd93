"""Serialise the Laplace approximation of a comparison model for resume."""

import numpy as np

from .kernels.anchored_information import Kind
from .kernels.laplace_centre import Centre
from .kernels.laplace_hmc import Laplace
from .runs import Found

__all__ = ["as_arrays", "as_centre"]


def as_arrays(centre: Centre) -> dict[str, np.ndarray]:
    """Serialise a Laplace approximation as named arrays.

    Names: ``centre_*`` and, for a bimodal posterior, ``rival_*`` (fields of `Laplace`); ``kind``,
    ``iterations``, ``open``.
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
    """Restore, bit for bit, the Laplace approximation that `as_arrays` serialised."""
    sides = {
        side: Laplace(*(arrays[f"{side}_{name}"] for name in Laplace._fields))
        for side in ("centre", "rival")
        if f"{side}_centre" in arrays
    }
    kind, iterations = Kind(*map(bool, arrays["kind"])), int(arrays["iterations"])
    return Centre(sides["centre"], kind, iterations, bool(arrays["open"]), sides.get("rival"))
