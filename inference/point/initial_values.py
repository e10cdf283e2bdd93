"""From a point estimate to where a sampler starts."""

import numpy as np
import xarray as xr

__all__ = ["initial_values"]


def initial_values(estimate: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the estimate in the coordinates of `models.bradley_terry` and `models.thurstone`, for ``pm.sample(initvals=...)``.

    Distances times reliabilities are what the votes speak of: here the geometric mean of the reliabilities is 1, and the
    qualities are as many times larger.

    Parameters
    ----------
    estimate : Dataset
        ``quality`` (item) and positive ``reliability`` (rater), as `quite` returns them.

    Returns
    -------
    dict of str to ndarray
        ``quality`` (item,) and ``log_reliability`` (rater,), either with the sum zero.

    Raises
    ------
    ValueError
        If a reliability is not positive.
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
