"""Errors of estimated qualities: squared error, rank correlation, and epsilon-quality of the ranking.

    centred error     mean_i (A (x_i - mean x) - (q_i - mean q))^2
    paper's error     mean_i (A (x_i - x_N) - (q_i - q_N))^2          item N, the last of the truth, is the reference
    epsilon-quality   x_i > x_j for all pairs with q_i > q_j + epsilon

Votes do not identify a shift of all qualities, and identify their scale only if the reliability of the raters
is known: A is one, or the factor that minimises the error ("oracle", as it needs the truth), for each draw
its own, or the average of these factors over realizations ("average", as in the paper).
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy.stats import beta, kendalltau

from ...posterior.errors import EvaluationError
from ..argument_checks import check_probability
from .qualities import Qualities, matched_qualities

BLOCK_SIZE = 5_000_000  # qualities in one block


def mean_squared_error(
    estimate: Qualities,
    truth: Qualities,
    *,
    form: Literal["centred", "paper"] = "centred",
    scale: Literal["none", "oracle", "average"] | None = None,
    dim: str | Sequence[str] | None = None,
) -> xr.DataArray:
    """Return the mean squared error of estimated qualities, after removing their shift.

        A_r = sum_i x_ri q_ri / sum_i x_ri^2,   A = mean of A_r over realizations r

    In the form of the paper A is common to all realizations, so all of them must be passed together: of a single one A is the
    factor that suits it best, and the error far too small.

    Parameters
    ----------
    estimate : DataTree, Dataset or DataArray
        Qualities, with any dims beside ``item``, such as chain and draw.
    truth : DataTree, Dataset or DataArray
        True qualities of the same items, with dims of the estimate or further ones, such as data sets.
    form : {"centred", "paper"}
        Which shift is removed: to mean zero, or to zero at the last item of the truth.
    scale : {"none", "oracle", "average"}, optional
        The factor A of the estimate: one, for each realization its best, or the average of these. By default one, in the
        form of the paper the average.
    dim : str or sequence of str, optional
        Dims of the realizations over which factors are averaged; by default all but ``item``.

    Returns
    -------
    DataArray
        Error, with all dims except ``item``.

    Raises
    ------
    EvaluationError
        If the items differ, a quality is not finite, an argument is unknown, or a dim is missing.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> coords = {"item": ["a", "b", "c"]}
    >>> truth = xr.DataArray([0.0, 1.0, 2.0], coords, ("item",))
    >>> estimate = xr.DataArray([5.0, 6.5, 7.0], coords, ("item",))
    >>> round(papers.mean_squared_error(estimate, truth).item(), 3)
    0.056

    References
    ----------
    Nordio, Tarable and Leonardi (2023), Ranking a set of objects using heterogeneous workers: QUITE an easy
    problem, arXiv:2310.02016, section 6.1.1.
    """
    if form not in ("centred", "paper"):
        raise EvaluationError(f"form={form!r}: expected 'centred' or 'paper'")
    if scale not in ("none", "oracle", "average", None):
        raise EvaluationError(f"scale={scale!r}: expected 'none', 'oracle' or 'average'")
    x, q = (
        array - (array.mean("item") if form == "centred" else array.isel(item=-1, drop=True))
        for array in matched_qualities(estimate, truth)
    )
    if scale is None:
        scale = "average" if form == "paper" else "none"
    if scale != "none":
        square = (x**2).sum("item")
        factor = (x * q).sum("item") / square.where(square > 0, 1.0)  # A_r
        dims = list(factor.dims) if dim is None else [dim] if isinstance(dim, str) else list(dim)
        if not set(dims) <= set(factor.dims):
            raise EvaluationError(f"dim={dim!r}: expected dims of the qualities, found {factor.dims}")
        x = x * (factor.mean(dims) if scale == "average" else factor)
    return ((x - q) ** 2).mean("item").rename("mean_squared_error")


def epsilon_quality(
    estimate: Qualities, truth: Qualities, epsilon: float | Sequence[float] | np.ndarray
) -> xr.DataArray:
    """Return whether a ranking fails: a pair with q_i > q_j + epsilon is in the wrong order, or tied.

    Parameters
    ----------
    estimate, truth : DataTree, Dataset or DataArray
        As in `mean_squared_error`; only the order of the estimate matters.
    epsilon : float or sequence of float
        Differences that do not matter, 0 or more.

    Returns
    -------
    DataArray of bool
        True for an error; all dims except ``item``, and ``epsilon`` if there are several.

    Raises
    ------
    EvaluationError
        If the items differ, a quality is not finite, or an epsilon is negative.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> coords = {"item": ["a", "b", "c"]}
    >>> truth = xr.DataArray([0.0, 1.0, 2.0], coords, ("item",))
    >>> estimate = xr.DataArray([6.0, 5.5, 7.0], coords, ("item",))
    >>> papers.epsilon_quality(estimate, truth, [0.5, 1.5]).values
    array([ True, False])

    References
    ----------
    Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, section 6.
    """
    tolerance = np.atleast_1d(np.asarray(epsilon, float))
    if tolerance.ndim > 1 or not (tolerance >= 0).all():
        raise EvaluationError(f"epsilon={epsilon!r}: expected numbers, 0 or more")
    x, q = matched_qualities(estimate, truth)
    samples = [dim for dim in x.dims if dim not in q.dims]
    failed = xr.apply_ufunc(
        _epsilon_failures,
        x,
        q,
        xr.DataArray(tolerance, dims="epsilon"),
        input_core_dims=[[*samples, "item"], ["item"], ["epsilon"]],
        output_core_dims=[[*samples, "epsilon"]],
        vectorize=True,
    )
    failed = failed.transpose(*samples, ..., "epsilon").rename("epsilon_quality_error")
    if np.ndim(epsilon) == 0:
        return failed.isel(epsilon=0)
    return failed.assign_coords(epsilon=tolerance)


def quality_concordance(estimate: Qualities, truth: Qualities) -> xr.DataArray:
    """Return Kendall's tau-b of estimated and true qualities: 1 for the same order, -1 for the reverse.

    Parameters
    ----------
    estimate, truth : DataTree, Dataset or DataArray
        As in `mean_squared_error`.

    Returns
    -------
    DataArray
        Tau-b, with all dims except ``item``; NaN if all qualities are equal.

    Raises
    ------
    EvaluationError
        If the items differ, there is only one, or a quality is not finite.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> coords = {"item": ["a", "b", "c"]}
    >>> truth = xr.DataArray([0.0, 1.0, 2.0], coords, ("item",))
    >>> estimate = xr.DataArray([6.0, 5.5, 7.0], coords, ("item",))
    >>> round(papers.quality_concordance(estimate, truth).item(), 3)
    0.333

    References
    ----------
    Kendall (1945), The treatment of ties in ranking problems, doi:10.1093/biomet/33.3.239 (tau-b).
    """
    x, q = matched_qualities(estimate, truth)
    if x.sizes["item"] < 2:
        raise EvaluationError("quality_concordance: one item has no order; pass two or more")

    def tau(x: np.ndarray, q: np.ndarray) -> float:
        result: Any = kendalltau(x, q, method="asymptotic")
        return float(result.statistic)

    found = xr.apply_ufunc(tau, x, q, input_core_dims=[["item"], ["item"]], vectorize=True)
    return found.rename("quality_concordance")


def error_rate(
    errors: xr.DataArray, dim: str | Sequence[str] = "run", probability: float = 0.95
) -> xr.Dataset:
    """Return the rate of failures, with the exact binomial confidence interval.

    Parameters
    ----------
    errors : DataArray of bool
        Whether a repetition failed, as from `epsilon_quality`.
    dim : str or sequence of str
        Dims of the independent repetitions, such as simulated data sets.
    probability : float, default .95
        Minimum coverage of the interval.

    Returns
    -------
    Dataset
        ``rate``, ``lower`` and ``upper`` with the other dims; attribute ``runs``, the number of repetitions.

    Raises
    ------
    EvaluationError
        If the errors are not bool, lack a dim, or there are none.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> failed = xr.DataArray([False, True, False, False], dims="run")
    >>> rate = papers.error_rate(failed)
    >>> rate["rate"].item(), rate["lower"].item().__round__(3), rate["upper"].item().__round__(3)
    (0.25, 0.006, 0.806)

    References
    ----------
    Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404.
    """
    check_probability("probability", probability)
    dims = [dim] if isinstance(dim, str) else list(dim)
    if errors.dtype != bool or not set(dims) <= set(errors.dims):
        raise EvaluationError(
            f"errors: expected bool with dims {', '.join(dims)}, found {errors.dtype} with dims {errors.dims}"
        )
    n = int(np.prod([errors.sizes[d] for d in dims]))
    if not n:
        raise EvaluationError(f"errors: no repetitions along {', '.join(dims)}; one at least")
    count = errors.sum(dims)
    tail = (1 - probability) / 2
    # Clopper-Pearson bounds; beta.ppf is undefined for a zero parameter, where the bound is 0 or 1
    lower = xr.where(count > 0, beta.ppf(tail, count.where(count > 0, 1), n - count + 1), 0.0)
    upper = xr.where(count < n, beta.isf(tail, count + 1, (n - count).where(count < n, 1)), 1.0)
    return xr.Dataset({"rate": count / n, "lower": lower, "upper": upper}, attrs={"runs": n})


def _epsilon_failures(x: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Mask of failures (..., epsilon): an item is not above the best of those truly more than epsilon below it.

    Shapes: x (..., item), estimates; q (item,), truth; epsilon (epsilon,).
    """
    order = np.argsort(q, kind="stable")
    true, rows = q[order], x.reshape(-1, len(q))
    failed = np.empty((len(rows), len(epsilon)), bool)
    # number of items more than epsilon below each item
    below = [np.searchsorted(true + tolerance, true, side="left") for tolerance in epsilon]
    step = max(1, BLOCK_SIZE // len(q))
    for first in range(0, len(rows), step):
        ranked = rows[first : first + step, order]
        best_so_far = np.maximum.accumulate(ranked, axis=1)
        for e, count in enumerate(below):
            # position of the first item with any below it; counts ascend
            lowest = int(np.searchsorted(count, 1))
            best_below = best_so_far[:, count[lowest:] - 1]
            failed[first : first + step, e] = (ranked[:, lowest:] <= best_below).any(axis=1)
    return failed.reshape(*x.shape[:-1], len(epsilon))
