"""Initial values of a sampler from a point estimate."""

import numpy as np
import xarray as xr

__all__ = ["initial_values"]


def initial_values(estimate: xr.Dataset) -> dict[str, np.ndarray]:
    """Convert a point estimate to initial values for `models.bradley_terry` or `models.thurstone`.

    They are passed as ``pm.sample(initvals=...)``. Votes depend only on distances times reliabilities. The
    result has a geometric mean reliability of 1, and qualities scaled up by the same factor.

    Parameters
    ----------
    estimate : Dataset
        ``quality`` (item) and positive ``reliability`` (rater), as `quite` returns them.

    Returns
    -------
    dict of str to ndarray
        ``quality`` (item,) and ``log_reliability`` (rater,), each with sum zero.

    Raises
    ------
    ValueError
        If a reliability is not positive.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.comparisons(items=20, raters=20, degree=10, random_seed=1)
    >>> start = inference.initial_values(inference.quite(drawn.data))
    >>> {name: values.shape for name, values in start.items()}
    {'quality': (20,), 'log_reliability': (20,)}
    """
    quality, reliability = estimate["quality"].to_numpy(), estimate["reliability"].to_numpy()
    if len(wrong := np.flatnonzero(~(reliability > 0))):
        rater = estimate["rater"].to_numpy()[wrong[0]].item()
        raise ValueError(
            f"the reliability {reliability[wrong[0]]:g} of rater {rater!r} must be positive: it has no logarithm; "
            "start from quite"
        )
    logs = np.log(reliability)
    return {
        "quality": (quality - quality.mean()) * np.exp(logs.mean()),
        "log_reliability": logs - logs.mean(),
    }
