"""Sensitivity sweep: one posterior for each reliability of the raters."""

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
    """Fit a model at each of several reliabilities.

    Parameters
    ----------
    build : callable
        Takes a reliability and returns a model, for example ``lambda r: plackett_luce(rankings,
        reliability=r)``.
    reliabilities : iterable of float
        Reliabilities at which to fit.
    random_seed : int, optional
        Seed of every fit, so that the posteriors differ by the reliability only.
    **options
        Passed on to `sample`.

    Returns
    -------
    dict of float to DataTree
        One tree for each reliability, in the given order.

    Raises
    ------
    ValueError
        If no reliability is given, or one is given twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from raterzoo import inference, models
    >>> labels = models.Labels.from_counts(pd.DataFrame({"item": ["a"], "yes": [3], "no": [1]}))
    >>> build = lambda r: models.dirichlet(labels, reliability=r)
    >>> trees = inference.sweep(build, [1, 10], random_seed=1, progressbar=False)
    >>> for reliability, tree in trees.items():
    ...     print(reliability, round(float(tree["posterior"]["plausibility"].isel(category=0).std()), 1))
    1 0.2
    10 0.1
    """
    powers = list(reliabilities)
    if not powers or len(set(powers)) < len(powers):
        raise ValueError(f"reliabilities={powers} must be at least one number, each once")
    return {r: sample(build(r), random_seed=random_seed, **options) for r in powers}
