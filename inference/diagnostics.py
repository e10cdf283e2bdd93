"""Convergence of a fitted tree: R-hat, effective sizes and Monte-Carlo error of every quantity.

Tens of thousands of plausibilities are too many to read one by one. What has items is summed up by
item, at its worst element; the rest, such as the confusion of a rater, is listed by element.
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

# How the elements of an item are summed up. fmax passes over the R-hat that constant draws lack;
# NaN draws spoil the ESS of their item.
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
    """Some draws cannot be relied upon yet."""


def diagnose(
    tree: xr.DataTree,
    *,
    var_names: str | Sequence[str] | None = None,
    r_hat: float = 1.01,
    ess: float = 400,
    threads: int | None = None,
) -> xr.Dataset:
    """Diagnose the draws of a posterior.

    Parameters
    ----------
    tree : DataTree
        Draws of any sampler in ``posterior``; divergences and energies in ``sample_stats`` count.
    var_names : str or sequence of str, optional
        Which variables of the posterior; all by default.
    r_hat, ess : float
        The gates: R-hat at most `r_hat`, bulk and tail ESS at least `ess`.
    threads : int, optional
        Number of threads; one per core by default. The numbers do not depend on it.

    Returns
    -------
    Dataset
        Rank-normalised split ``r_hat``, ``ess_bulk``, ``ess_tail`` and ``mcse_mean``, dims
        (quantity, item): of each variable that has items, the worst among the elements of the item;
        with ``elements``, how many those are, ``constant``, how many never moved, and ``failed``,
        how many missed a gate, and ``not_finite``, how many are infinite or NaN in a draw, which
        count as failed. The same with dim ``element`` and prefix ``element_`` for every
        element of the other variables. ``divergences`` and ``e_bfmi`` (chain) after NUTS.
        ``switched`` (chain) of confusion matrices: the share of draws in which raters would be right
        more often under other names of the categories.
        Attributes: ``verdict``, one readable line; ``converged``, 1 or 0; ``chains``, ``draws``,
        ``exact``; ``r_hat`` and ``ess``, the gates.

    Raises
    ------
    ValueError
        If the tree has no posterior, or `var_names` names a variable that it lacks.

    Notes
    -----
    Draws that never move, such as the plausibility of an only candidate, pass and are counted.
    Independent draws, marked by ``tree.attrs["method"] == "exact"``, have nothing to converge to:
    they are described and not judged, unless one is not finite. The tails of the tail ESS begin at
    .11 and .89, as in ArviZ.

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
    """Warn of what missed a gate.

    Parameters
    ----------
    tree : DataTree or Dataset
        Draws, or what `diagnose` said of them.
    listed : int, default 20
        How many items the warning names, the worst first.
    stacklevel : int, default 3
        As in `warnings.warn`: 3 blames the line that called the caller of this function.

    Returns
    -------
    Dataset
        The diagnosis.

    Warns
    -----
    ConvergenceWarning
        If the draws are neither exact nor converged.
    """
    diagnosis = tree if isinstance(tree, xr.Dataset) else diagnose(tree)
    converged, sentence = verdict(diagnosis, listed=listed)
    if not converged:
        warnings.warn(sentence, ConvergenceWarning, stacklevel=stacklevel)
    return diagnosis


def _posterior(tree: xr.DataTree, var_names: str | Sequence[str] | None) -> xr.Dataset:
    """Return the numeric variables to diagnose."""
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
    """Return each statistic and judgement of every element, in C order."""
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
    """Measure the mixing of every quantity of a draw matrix, in threads.

    Parameters
    ----------
    draws : ndarray of float, shape (chain, draw, quantity)
        Draws.
    threads : int, optional
        Number of threads; one per core by default.

    Returns
    -------
    ndarray, shape (4, quantity)
        R-hat, bulk ESS, tail ESS and MCSE of the mean.
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
    """Sum the elements of each item up."""
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
    """List the elements of variables without items."""
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
    """Yield a name like ``confusion[Ann, yes, no]`` for every element, in C order."""
    labels = [draws[dim].to_numpy() for dim in draws.dims[2:]]
    for label in product(*labels):
        yield f"{draws.name}[{', '.join(map(str, label))}]" if label else str(draws.name)


def _switching(posterior: xr.Dataset) -> dict[str, xr.DataArray]:
    """Measure label switching, where there are confusion matrices."""
    if not {"category", "label"} <= set(posterior.dims) or "confusion" not in posterior:
        return {}
    return {"switched": switched(posterior["confusion"])}


def _nuts(tree: xr.DataTree) -> dict[str, xr.DataArray]:
    """Count divergences and estimate the Bayesian fraction of missing information, if recorded."""
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
