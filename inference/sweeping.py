"""A sweep: one posterior for each degree of trust in the raters."""

from collections.abc import Callable, Iterable
from typing import Any

import pymc as pm
import xarray as xr

from .sampling import sample

__all__ = ["sweep"]


def sweep(
    build: Callable[[float], pm.Model],
    reliabilities: Iterable[float],
    *,
    random_seed: int | None = None,
    **options: Any,
) -> dict[float, xr.DataTree]:
    """Fit a model anew at each reliability.

    Parameters
    ----------
    build : callable
        Takes a reliability and returns a model, for example ``lambda r: plackett_luce(rankings, reliability=r)``.
    reliabilities : iterable of float
        Where to fit.
    random_seed : int, optional
        The same seed for every fit: what differs between the posteriors is then the reliability.
    **options
        Handed to `sample`.

    Returns
    -------
    dict of float to DataTree
        One tree for each reliability, in the order given.

    Raises
    ------
    ValueError
        If a reliability is given twice, or none at all.
    """
    powers = list(reliabilities)
    if not powers or len(set(powers)) < len(powers):
        raise ValueError(f"reliabilities={powers} must be at least one number, each once")
    return {r: sample(build(r), random_seed=random_seed, **options) for r in powers}
