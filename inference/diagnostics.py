"""Convergence diagnostics of a posterior tree: R-hat, effective sample sizes, Monte Carlo errors.

Variables with items are summarised by item, at the worst element of the item; other variables by element.
"""

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import xarray as xr

from .judgement import verdict
from .kernels.mixing import measure_mixing
from .kernels.order import normal_scores
from .relabelling import switched

__all__ = ["ConvergenceWarning", "diagnose", "mixing_of", "warn_unless_converged"]

# Reduction of the elements of an item to the worst one. fmax ignores the R-hat of constant draws, which is NaN;
# an ESS that is NaN makes that of the item NaN.
SUMMARY: dict[str, np.ufunc] = {
    "r_hat": np.fmax,
    "ess_bulk": np.minimum,
    "ess_tail": np.minimum,
    "mcse_mean": np.maximum,
    "elements": np.add,
    "constant": np.add,
    "failed": np.add,
    "not_finite": np.add,
}
CHUNK = 256


class ConvergenceWarning(UserWarning):
    """Draws that miss a convergence threshold, or an approximation that is not reliable."""


def diagnose(
    tree: xr.DataTree,
    *,
    var_names: str | Sequence[str] | None = None,
    r_hat: float = 1.01,
    ess: float = 400,
    threads: int | None = None,
) -> xr.Dataset:
    """Compute convergence diagnostics of the draws of a posterior.

    Parameters
    ----------
    tree : DataTree
        Draws of any sampler in ``posterior``, dims (chain, draw, ...). Divergences and energies of NUTS in
        ``sample_stats`` are used.
    var_names : str or sequence of str, optional
        Variables of the posterior to diagnose; all by default.
    r_hat, ess : float
        Thresholds: R-hat at most `r_hat`, bulk and tail ESS at least `ess`.
    threads : int, optional
        Number of threads; one per core by default. The numbers do not depend on it.

    Returns
    -------
    Dataset
        Rank-normalised split ``r_hat``, ``ess_bulk``, ``ess_tail`` and ``mcse_mean``, dims (quantity, item):
        the worst value among the elements of the item, for each variable with items. Also counts of elements,
        with the same dims: ``elements`` (all), ``constant`` (never moved), ``not_finite`` (infinite or NaN in
        a draw) and ``failed`` (missed a threshold or not finite).

        For every element of the other variables the same (without ``elements``), with prefix ``element_`` and
        dim ``element``.

        ``divergences`` and ``e_bfmi`` (chain) after NUTS. ``switched`` (chain), for confusion matrices: the
        share of draws in which raters would be right more often under a permutation of the categories.

        Attributes: ``verdict``, one sentence; ``converged``, 1 or 0; ``chains``, ``draws``, ``exact``;
        ``r_hat`` and ``ess``, the thresholds.

    Raises
    ------
    ValueError
        If the tree has no posterior, or `var_names` names a variable that it lacks.

    Notes
    -----
    Constant quantities, such as the plausibility of the only candidate of an item, pass and are counted.
    Independent draws, marked by ``tree.attrs["method"] == "exact"``, need no convergence: they are described,
    and fail only if they are not finite. The tail ESS uses the quantiles .11 and .89, as ArviZ does.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from raterzoo import inference
    >>> draws = np.random.default_rng(1).normal(size=(4, 1000))
    >>> posterior = xr.Dataset({"mu": (("chain", "draw"), draws)})
    >>> found = inference.diagnose(xr.DataTree.from_dict({"posterior": posterior}))
    >>> found.attrs["converged"], bool((found["element_ess_bulk"] > 3000).all())
    (1, True)

    References
    ----------
    Vehtari et al. (2021), Rank-normalization, folding, and localization, Bayesian Analysis 16(2),
    doi:10.1214/20-BA1221. Betancourt (2016), Diagnosing suboptimal cotangent disintegrations,
    arXiv:1604.00695 (E-BFMI).
    """
    posterior = _posterior(tree, var_names)
    with_items, others = {}, {}
    for name, variable in posterior.data_vars.items():
        draws = variable.transpose("chain", "draw", ...)
        has_items = "item" in draws.coords or "item" in draws.dims
        (with_items if has_items else others)[name] = draws, _judged(draws, r_hat, ess, threads)
    found = _by_item(with_items) | _by_element(others) | _nuts(tree) | _switching(posterior)
    diagnosis = xr.Dataset(found)
    diagnosis.attrs = {
        "chains": posterior.sizes["chain"],
        "draws": posterior.sizes["draw"],
        "exact": int(tree.attrs.get("method") == "exact"),
        "r_hat": r_hat,
        "ess": ess,
    }
    converged, sentence = verdict(diagnosis)
    return diagnosis.assign_attrs(converged=int(converged), verdict=sentence)


def warn_unless_converged(
    tree: xr.DataTree | xr.Dataset, *, listed: int = 20, stacklevel: int = 3
) -> xr.Dataset:
    """Warn with a `ConvergenceWarning` unless draws are exact or converged; return their diagnosis.

    `tree` holds draws, or is their diagnosis by `diagnose`. The warning names the `listed` worst items.
    `stacklevel` is as in `warnings.warn`; 3 points at the line that called the caller of this function.
    """
    diagnosis = tree if isinstance(tree, xr.Dataset) else diagnose(tree)
    converged, sentence = verdict(diagnosis, listed=listed)
    if not converged:
        warnings.warn(sentence, ConvergenceWarning, stacklevel=stacklevel)
    return diagnosis


def _posterior(tree: xr.DataTree, var_names: str | Sequence[str] | None) -> xr.Dataset:
    """Numeric variables of the posterior to diagnose; raise if there is no posterior or no such variable."""
    if not isinstance(tree, xr.DataTree):
        raise ValueError(
            f"a {type(tree).__name__} is not a DataTree; diagnose what a sampler returned"
        )
    if isinstance(var_names, str):
        var_names = [var_names]
    if "posterior" not in tree.children:
        raise ValueError(
            f"the tree has no group 'posterior', only {sorted(tree.children)}; "
            "diagnose what a sampler returned"
        )
    posterior = tree["posterior"].to_dataset()
    if unknown := [name for name in var_names or () if name not in posterior.data_vars]:
        raise ValueError(
            f"var_names has {unknown[0]!r}, but the posterior holds {list(posterior.data_vars)}"
        )
    names = posterior.data_vars if var_names is None else var_names
    return posterior[[name for name in names if posterior[name].dtype.kind in "biuf"]]


def _judged(
    draws: xr.DataArray, r_hat: float, ess: float, threads: int | None
) -> dict[str, np.ndarray]:
    """Diagnostics of every element of a variable, and failure flags, in C order. Shapes: draws (chain, draw, ...)."""
    matrix = draws.to_numpy().reshape(*draws.shape[:2], -1)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    reduction, bulk, tail, mcse = mixing_of(np.ascontiguousarray(matrix), threads)
    highest, lowest = matrix.max(axis=(0, 1)), matrix.min(axis=(0, 1))
    finite = np.isfinite(highest) & np.isfinite(lowest)  # NaN is both highest and lowest
    constant = highest == lowest
    passed = ~(reduction > r_hat) & (bulk >= ess) & (tail >= ess)
    return {
        "r_hat": reduction,
        "ess_bulk": bulk,
        "ess_tail": tail,
        "mcse_mean": mcse,
        "elements": np.ones(len(mcse), np.int64),
        "constant": constant.astype(np.int64),
        "failed": np.where(finite & (passed | constant), 0, 1),
        "not_finite": np.where(finite, 0, 1),
    }


def mixing_of(draws: np.ndarray, threads: int | None) -> np.ndarray:
    """R-hat, bulk ESS, tail ESS and MCSE of the mean of every quantity, multi-threaded.

    Shapes: draws (chain, draw, quantity); returns (4, quantity).
    """
    n_chains, n_draws, n_quantities = draws.shape
    scores = normal_scores(n_chains, n_draws, draws.dtype)

    def part(first: int) -> np.ndarray:
        return measure_mixing(draws, scores, first, min(first + CHUNK, n_quantities))

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        parts = list(pool.map(part, range(0, n_quantities, CHUNK)))
    return np.concatenate([np.empty((4, 0)), *parts], axis=1)


Diagnosed = dict[str, tuple[xr.DataArray, dict[str, np.ndarray]]]


def _by_item(diagnosed: Diagnosed) -> dict[str, xr.DataArray]:
    """Reduce the diagnostics of each variable to the worst element of every item. Returns arrays (quantity, item)."""
    items = np.empty(0, np.int64)
    rows = {statistic: [] for statistic in SUMMARY}
    for draws, statistics in diagnosed.values():
        element = draws.isel(chain=0, draw=0, drop=True)
        labels = draws["item"].broadcast_like(element).transpose(*element.dims).to_numpy().ravel()
        names, first, code = np.unique(labels, return_index=True, return_inverse=True)
        by_code, appearance = np.argsort(code, kind="stable"), np.argsort(first)
        if not len(items) or "item" in draws.coords:
            items = names[appearance]
        starts = np.searchsorted(code[by_code], np.arange(len(names)))
        for statistic, summary in SUMMARY.items():
            worst = summary.reduceat(statistics[statistic][by_code], starts)
            rows[statistic].append(worst[appearance])
    coords = {"quantity": list(diagnosed), "item": items}
    shape = len(diagnosed), len(items)
    return {
        statistic: xr.DataArray(np.reshape(row, shape), coords, ("quantity", "item"))
        for statistic, row in rows.items()
    }


def _by_element(diagnosed: Diagnosed) -> dict[str, xr.DataArray]:
    """Diagnostics of every element of the variables without items. Returns arrays (element,)."""
    names = [name for draws, _ in diagnosed.values() for name in _element_names(draws)]
    return {
        f"element_{statistic}": xr.DataArray(
            np.concatenate([own[statistic] for _, own in diagnosed.values()] or [np.empty(0)]),
            {"element": np.array(names, dtype=str)},
            ("element",),
        )
        for statistic in SUMMARY
        if statistic != "elements"
    }


def _element_names(draws: xr.DataArray) -> Iterable[str]:
    """Yield a name such as ``confusion[Ann, yes, no]`` for every element, in C order."""
    labels = [draws[dim].to_numpy() for dim in draws.dims[2:]]
    for label in product(*labels):
        yield f"{draws.name}[{', '.join(map(str, label))}]" if label else str(draws.name)


def _switching(posterior: xr.Dataset) -> dict[str, xr.DataArray]:
    """Share of draws with switched labels, for confusion matrices. Returns an array (chain,)."""
    if not {"category", "label"} <= set(posterior.dims) or "confusion" not in posterior:
        return {}
    return {"switched": switched(posterior["confusion"])}


def _nuts(tree: xr.DataTree) -> dict[str, xr.DataArray]:
    """Return the number of divergences and E-BFMI of every chain, where NUTS recorded them."""
    if "sample_stats" not in tree.children:
        return {}
    stats = tree["sample_stats"].to_dataset()
    found = {}
    if "diverging" in stats:
        found["divergences"] = stats["diverging"].sum("draw")
    if "energy" in stats:
        energy = stats["energy"]
        found["e_bfmi"] = (energy.diff("draw") ** 2).mean("draw") / energy.var("draw", ddof=1)
    return found
