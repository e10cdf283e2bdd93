"""Convergence diagnostics of a posterior tree: R-hat, effective sample sizes, Monte Carlo errors.

Variables with items are summarised by item, at the worst element of the item; other variables by element.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
import xarray as xr

from .._messages import escaped
from ..posterior.groups import tree_like
from ..posterior.plausibility import refuse_without_draws
from ..posterior.schema import SHARED, SUMMARISED, with_current_dims
from .kernels.convergence import mixing_of


class ConvergenceWarning(UserWarning):
    """Warning: draws miss a convergence threshold, or an approximation is not reliable."""


class EstimateWarning(UserWarning):
    """Warning: a point estimate is less certain than it looks, as when starts end at several optima."""


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


R_HAT, ESS = 1.01, 400  # default thresholds


def diagnose(
    tree: xr.DataTree,
    *,
    var_names: str | Sequence[str] | None = None,
    r_hat: float = R_HAT,
    ess: float = ESS,
    threads: int | None = None,
) -> xr.Dataset:
    """Compute convergence diagnostics of the draws of a posterior.

    Parameters
    ----------
    tree : DataTree
        Draws in ``posterior``, dims (chain, draw, ...); divergences and energies of NUTS in ``sample_stats``.
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

        The same (but ``elements``) by element of the other variables, with prefix and dim ``element``.

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
    if isinstance(tree, xr.DataTree) and DIAGNOSIS in tree.children:
        return _of_all_draws(tree[DIAGNOSIS].to_dataset(), var_names, r_hat, ess)
    posterior = _posterior(tree, var_names)
    with_items, others = {}, {}
    for name, variable in posterior.data_vars.items():
        draws = variable.transpose("chain", "draw", ...)
        has_items = "item" in draws.coords or "item" in draws.dims
        found = _element_diagnostics(draws, r_hat, ess, threads)
        (with_items if has_items else others)[name] = _shape_of_draw(draws), found
    diagnosis = xr.Dataset(_by_item(with_items) | _by_element(others) | _nuts(tree) | _switching(posterior))
    sizes = {"chains": posterior.sizes["chain"], "draws": posterior.sizes["draw"]}
    exact = {"exact": int(tree.attrs.get("method") == "exact")}
    return _with_verdict(diagnosis, sizes | exact | {"r_hat": r_hat, "ess": ess})


def _with_verdict(diagnosis: xr.Dataset, attrs: Mapping[str, Any]) -> xr.Dataset:
    """Return a diagnosis with these attributes and its verdict."""
    diagnosis = diagnosis.assign_attrs(attrs)
    converged, sentence = verdict(diagnosis)
    return diagnosis.assign_attrs(converged=int(converged), verdict=sentence)


# --- Diagnosis of a tree that does not keep all draws: computed of all of them, block by block, and stored ---

DIAGNOSIS = "diagnosis"  # group


def by_blocks_of_items(
    worst: Mapping[str, Mapping[str, np.ndarray]],
    items: np.ndarray,
    shared: xr.Dataset,
    stats: Mapping[str, xr.Dataset],
    attrs: Mapping[str, Any],
    thresholds: tuple[float, float],
) -> xr.Dataset:
    """Return the diagnosis of variables of items, of which the worst is known, and of draws of what they share.

    Shapes: worst: quantity -> statistic -> (item,). `stats`: group of the statistics of the sampler; `attrs`: chains, draws,
    and whether draws are independent.
    """
    r_hat, ess = thresholds
    coords = {"quantity": list(worst), "item": items if worst else np.empty(0, np.int64)}
    shape = len(worst), len(coords["item"])
    by_item = {
        statistic: xr.DataArray(
            np.reshape([own[statistic] for own in worst.values()], shape), coords, ("quantity", "item")
        )
        for statistic in SUMMARY
    }
    numeric = shared[[name for name in shared.data_vars if shared[name].dtype.kind in "biuf"]]
    others = {}
    for name, variable in numeric.data_vars.items():
        draws = variable.transpose("chain", "draw", ...)
        others[name] = _shape_of_draw(draws), _element_diagnostics(draws, r_hat, ess, None)
    tree = xr.DataTree.from_dict(dict(stats))
    found = xr.Dataset(by_item | _by_element(others) | _nuts(tree) | _switching(numeric))
    return _with_verdict(found, {**attrs, "r_hat": r_hat, "ess": ess})


def _of_all_draws(
    stored: xr.Dataset, var_names: str | Sequence[str] | None, r_hat: float, ess: float
) -> xr.Dataset:
    """Return a stored diagnosis, of some variables or by other thresholds."""
    found = stored.load()
    if "element" not in found.dims:  # of items drawn in shards, which share nothing
        found = found.assign(_by_element({}))
    if var_names is not None:
        names = [var_names] if isinstance(var_names, str) else list(var_names)
        of_element = np.array([str(e).partition("[")[0] for e in found["element"].to_numpy()], str)
        known = {*map(str, found["quantity"].to_numpy()), *of_element.tolist()}
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"var_names has {unknown[0]!r}, but the diagnosis holds {sorted(known)}")
        found = found.isel(
            quantity=np.isin(found["quantity"].to_numpy().astype(str), names),
            element=np.isin(of_element, names),
        )
    if (r_hat, ess) != (found.attrs["r_hat"], found.attrs["ess"]):
        for prefix, moving in (
            ("", found["constant"] < found["elements"]),
            ("element_", found["element_constant"] == 0),
        ):
            least = np.minimum(found[f"{prefix}ess_bulk"], found[f"{prefix}ess_tail"])
            missed = ((found[f"{prefix}r_hat"] > r_hat) | ~(least >= ess)) & moving
            failed = missed | (found[f"{prefix}not_finite"] > 0)
            found = found.assign({f"{prefix}failed": failed.astype(np.int64)})
    return _with_verdict(found, {**found.attrs, "r_hat": r_hat, "ess": ess})


REMEDY = "Try more draws (draws=, thin=) or warm-up (tune=); inference.diagnose(tree) has every quantity"


def warn_unless_converged(tree: xr.DataTree | xr.Dataset) -> xr.Dataset:
    """Warn of the three worst items and others unless draws are exact or converged; return the diagnosis."""
    diagnosis = tree if isinstance(tree, xr.Dataset) else diagnose(tree)
    converged, sentence = verdict(diagnosis, listed=3)
    if not converged:
        warnings.warn(f"{sentence}\n{REMEDY}", ConvergenceWarning, stacklevel=3)
    return diagnosis


def _posterior(tree: xr.DataTree, var_names: str | Sequence[str] | None) -> xr.Dataset:
    """Numeric variables of the posterior to diagnose; raise if there is no posterior or no such variable."""
    if not isinstance(tree, xr.DataTree):
        raise ValueError(f"a {type(tree).__name__} is not a DataTree; diagnose what a sampler returned")
    if isinstance(var_names, str):
        var_names = [var_names]
    if "posterior" not in tree.children:
        only = f"only {sorted(tree.children)}; diagnose what a sampler returned"
        raise ValueError(f"the tree has no group 'posterior', {only}")
    posterior = with_current_dims(tree)["posterior"].to_dataset()
    if unknown := [name for name in var_names or () if name not in posterior.data_vars]:
        raise ValueError(f"var_names has {unknown[0]!r}, but the posterior holds {list(posterior.data_vars)}")
    names = posterior.data_vars if var_names is None else var_names
    return posterior[[name for name in names if posterior[name].dtype.kind in "biuf"]]


def _shape_of_draw(draws: xr.DataArray) -> xr.DataArray:
    """Dims and coordinates of one draw, without its numbers: draws that are read from a store need not stay in memory."""
    element = draws.isel(chain=0, draw=0, drop=True)
    return element.copy(data=np.broadcast_to(0.0, element.shape))


def _element_diagnostics(
    draws: xr.DataArray, r_hat: float, ess: float, threads: int | None
) -> dict[str, np.ndarray]:
    """Diagnostics of every element of a variable, and failure flags, in C order. Shapes: draws (chain, draw, ...)."""
    matrix = draws.to_numpy().reshape(*draws.shape[:2], -1)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    return judged(matrix, mixing_of(np.ascontiguousarray(matrix), threads), r_hat, ess)


def judged(matrix: np.ndarray, mixing: np.ndarray, r_hat: float, ess: float) -> dict[str, np.ndarray]:
    """Diagnostics of every quantity and failure flags. Shapes: matrix (chain, draw, quantity), mixing of `mixing_of`."""
    reduction, bulk, tail, mcse = mixing[:4]
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


def worst_by_item(statistics: dict[str, np.ndarray], starts: np.ndarray) -> dict[str, np.ndarray]:
    """Reduce the diagnostics of contiguous elements to the worst of each item; starts (item,), first element of each."""
    return {name: reduce.reduceat(statistics[name], starts) for name, reduce in SUMMARY.items()}


Diagnosed = dict[str, tuple[xr.DataArray, dict[str, np.ndarray]]]


def _by_item(diagnosed: Diagnosed) -> dict[str, xr.DataArray]:
    """Reduce the diagnostics of each variable to the worst element of every item. Returns arrays (quantity, item)."""
    items = np.empty(0, np.int64)
    rows = {statistic: [] for statistic in SUMMARY}
    for element, statistics in diagnosed.values():
        labels = element["item"].broadcast_like(element).transpose(*element.dims).to_numpy().ravel()
        names, first, code = np.unique(labels, return_index=True, return_inverse=True)
        by_code, appearance = np.argsort(code, kind="stable"), np.argsort(first)
        if not len(items) or "item" in element.coords:
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
    names = [name for element, _ in diagnosed.values() for name in _element_names(element)]
    return {
        f"element_{statistic}": xr.DataArray(
            np.concatenate([own[statistic] for _, own in diagnosed.values()] or [np.empty(0)]),
            {"element": np.array(names, dtype=str)},
            ("element",),
        )
        for statistic in SUMMARY
        if statistic != "elements"
    }


def _element_names(element: xr.DataArray) -> Iterable[str]:
    """Yield a name such as ``confusion[Ann, yes, no]`` for every element of a draw, in C order."""
    labels = [element[dim].to_numpy() for dim in element.dims]
    for label in product(*labels):
        yield f"{element.name}[{', '.join(map(str, label))}]" if label else str(element.name)


def _switching(posterior: xr.Dataset) -> dict[str, xr.DataArray]:
    """Share of draws whose confusion matrices fit better under another permutation of categories, shape (chain,)."""
    if not {"category", "answer"} <= set(posterior.dims) or "confusion" not in posterior:
        return {}
    order = _best_permutation(posterior["confusion"])
    switched = (order != np.arange(order.shape[-1])).any(axis=-1)
    return {"switched": xr.DataArray(switched.mean(axis=1), dims=("chain",))}


def _nuts(tree: xr.DataTree) -> dict[str, xr.DataArray]:
    """Return the number of divergences and E-BFMI of every chain, where NUTS recorded them."""
    stats, found = tree["sample_stats"].to_dataset() if "sample_stats" in tree.children else {}, {}
    if "diverging" in stats:
        found["divergences"] = stats["diverging"].sum("draw")
    if "energy" in stats:
        energy = stats["energy"]
        found["e_bfmi"] = (energy.diff("draw") ** 2).mean("draw") / energy.var("draw", ddof=1)
    return found


# --- Verdict on convergence: one sentence that says whether draws converged, or which did not ---

LOWEST_E_BFMI = 0.3
SWITCHING_THRESHOLD = 0.05  # share of draws with switched labels up to which it is not mentioned


def verdict(diagnosis: xr.Dataset, *, listed: int = 5) -> tuple[bool, str]:
    """Whether a diagnosis by `diagnose` passes, and a summary of one printable line that names the `listed` worst failures."""
    converged, sentence = _verdict(diagnosis, listed)
    return converged, escaped(sentence)  # ids may have line breaks, and another verdict after them


def _verdict(diagnosis: xr.Dataset, listed: int) -> tuple[bool, str]:
    chains, draws = diagnosis.attrs["chains"], diagnosis.attrs["draws"]
    infinite = _not_finite(diagnosis, listed)
    if diagnosis.attrs["exact"]:
        if infinite:
            return False, f"NOT exact: {infinite[0]}"
        return True, f"exact: {chains * draws:,} independent draws, which have nothing to converge to"
    failures = [*infinite, *_failed_items(diagnosis, listed), *_failed_elements(diagnosis, listed)]
    if chains < 2:
        failures.insert(0, "one chain has no R-hat, sample at least two")
    if count := int(diagnosis["divergences"].sum()) if "divergences" in diagnosis else 0:
        failures.append(f"{count:,} divergences")
    if "e_bfmi" in diagnosis:
        lowest = float(diagnosis["e_bfmi"].min())
        if not lowest >= LOWEST_E_BFMI:
            failures.append(f"E-BFMI {lowest:.2f} is below {LOWEST_E_BFMI}")
    switching = _switching_remarks(diagnosis)
    if failures:
        return False, "NOT converged: " + "; ".join([*failures, *switching])
    return True, "; ".join([_summary(diagnosis), *switching])


def _switching_remarks(diagnosis: xr.Dataset) -> list[str]:
    """Note on label switching, if it is frequent."""
    share = diagnosis["switched"].to_numpy() if "switched" in diagnosis else np.zeros(0)
    often = np.flatnonzero(share > SWITCHING_THRESHOLD)
    if not len(often):
        return []
    chains = ", ".join(f"chain {chain} ({100 * share[chain]:.0f} % of the draws)" for chain in often)
    return [
        f"label switching in {chains}: raters would be right more often under other names of the "
        "categories; give a prior that favours the diagonal, or see inference.relabel"
    ]


def _not_finite(diagnosis: xr.Dataset, listed: int) -> list[str]:
    """Note on infinite and NaN draws, if there are any."""
    by_item, element = diagnosis["not_finite"], diagnosis["element_not_finite"].to_numpy() > 0
    place = np.argwhere(by_item.to_numpy() > 0).tolist()
    quantity, item = by_item["quantity"].to_numpy(), by_item["item"].to_numpy()
    names = [f"{quantity[q]} of item {item[i]}" for q, i in place[:listed]]
    names += diagnosis["element"].to_numpy()[element][: listed - len(names)].tolist()
    found = len(place) + int(element.sum())
    if not found:
        return []
    more = f", and {found - len(names):,} more" if found > len(names) else ""
    return [f"{', '.join(names)}{more} {'is' if found == 1 else 'are'} infinite or NaN in a draw"]


def _failed_items(diagnosis: xr.Dataset, listed: int) -> list[str]:
    """Note on the items that missed a threshold, each at its worst quantity."""
    failed = diagnosis["failed"].to_numpy() > 0
    n_failed = int(failed.any(axis=0).sum())
    if not n_failed:
        return []
    smallest = np.where(failed, np.nan_to_num(_smallest_ess(diagnosis, ""), nan=-np.inf), np.inf)
    worst = np.argsort(smallest.min(axis=0), kind="stable")[: min(listed, n_failed)]
    names = []
    for item in worst:
        cell = diagnosis.isel(item=item, quantity=smallest[:, item].argmin())
        names.append(f"item {cell['item'].item()} ({cell['quantity'].item()}: {_diagnostics_text(cell, '')})")
    return [_failure_sentence(n_failed, diagnosis.sizes["item"], "items", diagnosis, names)]


def _failed_elements(diagnosis: xr.Dataset, listed: int) -> list[str]:
    """Note on the elements of variables without items that missed a threshold."""
    failed = diagnosis.isel(element=diagnosis["element_failed"].to_numpy() > 0)
    n_failed = failed.sizes["element"]
    if not n_failed:
        return []
    smallest = np.nan_to_num(_smallest_ess(failed, "element_"), nan=-np.inf)
    cells = (failed.isel(element=i) for i in np.argsort(smallest, kind="stable")[:listed])
    names = [f"{cell['element'].item()} ({_diagnostics_text(cell, 'element_')})" for cell in cells]
    kind = "other quantities" if diagnosis.sizes["item"] else "quantities"
    return [_failure_sentence(n_failed, diagnosis.sizes["element"], kind, diagnosis, names)]


def _failure_sentence(n_failed: int, total: int, kind: str, diagnosis: xr.Dataset, names: list[str]) -> str:
    """Sentence with the number of failures, the thresholds and the worst names."""
    gates = f"R-hat {diagnosis.attrs['r_hat']:g} / ESS {diagnosis.attrs['ess']:g}"
    verb = "misses" if n_failed == 1 else "miss"
    more = f", and {n_failed - len(names):,} more" if n_failed > len(names) else ""
    return f"{n_failed:,} of {total:,} {kind} {verb} {gates}: {', '.join(names)}{more}"


def _smallest_ess(diagnosis: xr.Dataset, prefix: str) -> np.ndarray:
    """Smaller one of bulk and tail ESS."""
    return np.minimum(diagnosis[f"{prefix}ess_bulk"].to_numpy(), diagnosis[f"{prefix}ess_tail"].to_numpy())


def _diagnostics_text(cell: xr.Dataset, prefix: str) -> str:
    """R-hat and ESS of one item or element, as text."""
    ess = float(_smallest_ess(cell, prefix))
    if np.isnan(ess):
        return "NaN or too few draws"
    return f"R-hat {float(cell[f'{prefix}r_hat']):.3f}, ESS {ess:.0f}"


def _summary(diagnosis: xr.Dataset) -> str:
    """Summary of converged draws: worst R-hat, bulk and tail ESS, each rounded to the conservative side."""
    moving = diagnosis["constant"] < diagnosis["elements"]
    worst = {}
    for statistic, reduce in (("r_hat", np.nanmax), ("ess_bulk", np.nanmin), ("ess_tail", np.nanmin)):
        items = diagnosis[statistic].where(moving).to_numpy().ravel()
        elements = diagnosis[f"element_{statistic}"].where(diagnosis["element_constant"] == 0)
        figures = np.concatenate([items, elements.to_numpy()])
        if np.isnan(figures).all():
            return "converged: every quantity is the same in all draws"
        worst[statistic] = reduce(figures)
    names = sorted(str(name) for name in diagnosis["quantity"].to_numpy())  # a store lists them in any order
    others = diagnosis.sizes["element"]
    count = int(diagnosis["elements"].sum()) + others
    of = ", ".join(names + [f"{others:,} others"] * bool(names and others))
    constant = int(diagnosis["constant"].sum() + diagnosis["element_constant"].sum())
    return (
        f"converged: R-hat <= {np.ceil(1000 * worst['r_hat']) / 1000:.3f}, "
        f"bulk ESS >= {np.floor(worst['ess_bulk']):,.0f}, "
        f"tail ESS >= {np.floor(worst['ess_tail']):,.0f} "
        f"over {count:,} quantities{f' ({of})' if of else ''}"
        f"{f'; {constant:,} of them the same in all draws, certain to the last digit, and not judged' if constant else ''}"
    )


# --- Label switching: the permutation of the categories in which raters are right most often ---

ENUMERATED = 5  # categories up to which all permutations are tried at once
DRAWS_AT_ONCE = 100  # of confusion matrices, which may be read from a store


def relabel(tree: xr.DataTree) -> xr.DataTree:
    """Permute the categories of every draw so that raters are right as often as possible.

    The likelihood of a Dawid-Skene model is invariant under permutations of the true categories, together
    with the rows of the confusion matrices; only the prior names them. Each draw is given the permutation
    that maximises the sum of the diagonal of the confusion matrices, averaged over raters.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``confusion`` (chain, draw[, rater], category, answer), and others along ``category``.

    Returns
    -------
    DataTree
        The same tree with all variables of the posterior permuted along ``category``, and ``naming`` (chain,
        draw, category) in ``sample_stats``: the former position of each category. Log densities are not
        changed; under an asymmetric prior they do not hold for permuted draws. Of a posterior that keeps a part of its draws the
        summaries of all draws are left out where any draw is permuted, so that answers are those of the kept draws.

    Raises
    ------
    ValueError
        If the posterior has no confusion matrices, or they are functions of abilities, thus not invariant; or
        if a draw would be permuted, and items have summaries without draws (``keep="summary"``).

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import inference
    >>> switched = [[[0.1, 0.9], [0.7, 0.3]]]  # one draw, in which raters are mostly wrong
    >>> posterior = xr.Dataset({"confusion": (("chain", "draw", "category", "answer"), [switched])})
    >>> tree = inference.relabel(xr.DataTree.from_dict({"posterior": posterior}))
    >>> tree["posterior"]["confusion"].values[0, 0]
    array([[0.7, 0.3],
           [0.1, 0.9]])

    References
    ----------
    Stephens (2000), Dealing with label switching in mixture models, JRSS B 62(4),
    doi:10.1111/1467-9868.00265, algorithm 4.1 (here with the diagonal as the loss).
    """
    if not isinstance(tree, xr.DataTree) or "posterior" not in tree.children:
        raise ValueError(f"a {type(tree).__name__} is not a DataTree with a posterior")
    tree = with_current_dims(tree)
    posterior = tree["posterior"].to_dataset()
    if "confusion" not in posterior:
        raise ValueError(
            f"the posterior holds {', '.join(map(str, posterior.data_vars))}, but no 'confusion' to name the categories by"
        )
    order = _best_permutation(posterior["confusion"])
    if "ability" in posterior and (order != np.arange(order.shape[-1])).any():
        raise ValueError(
            "the confusion matrices are made of abilities, which have no meaning under other names of the categories; "
            "give the abilities a prior above one half instead"
        )
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    shared = groups.get(SHARED)
    of_all = order if shared is None else _best_permutation(shared["confusion"])
    if (of_all != np.arange(of_all.shape[-1])).any():  # summaries are of draws under the former names
        refuse_without_draws(tree, "plausibility")
        groups = {name: group for name, group in groups.items() if name not in (SUMMARISED, DIAGNOSIS)}
    groups["posterior"], at = _renamed(posterior, order)
    if shared is not None:
        groups[SHARED], _ = _renamed(shared, of_all)
    groups["sample_stats"] = groups.get("sample_stats", xr.Dataset()).assign(naming=at)
    return tree_like(tree, groups)


def _renamed(posterior: xr.Dataset, order: np.ndarray) -> tuple[xr.Dataset, xr.DataArray]:
    """Return draws with the categories permuted, and the permutation, both by `order` (chain, draw, category)."""
    at = xr.DataArray(order, dims=("chain", "draw", "category"))
    moved = {
        name: _permuted(variable, at) if "category" in variable.dims else variable
        for name, variable in posterior.data_vars.items()
    }
    return posterior.assign(moved), at


def _permuted(variable: xr.DataArray, at: xr.DataArray) -> xr.DataArray:
    """Permute the categories of every draw of a variable by `at` (chain, draw, category); the coordinate stays."""
    moved = variable.drop_vars("category", errors="ignore").isel(
        chain=xr.DataArray(np.arange(at.sizes["chain"]), dims="chain"),
        draw=xr.DataArray(np.arange(at.sizes["draw"]), dims="draw"),
        category=at,
    )
    return moved.transpose(*variable.dims).assign_coords(variable.coords)


def _pooled(confusion: xr.DataArray) -> np.ndarray:
    """Average of the raters' matrices, float64 (chain, draw, category, answer)."""
    pooled = confusion.mean("rater") if "rater" in confusion.dims else confusion
    return pooled.transpose("chain", "draw", "category", "answer").to_numpy().astype(float)


def _best_permutation(confusion: xr.DataArray) -> np.ndarray:
    """Permutation (chain, draw, category) with the largest diagonal of confusion (chain, draw[, rater], category, answer)."""
    blocks = (slice(i, i + DRAWS_AT_ONCE) for i in range(0, max(1, confusion.sizes["draw"]), DRAWS_AT_ONCE))
    right = np.concatenate([_pooled(confusion.isel(draw=block)) for block in blocks], axis=1)
    right = np.where(np.isfinite(right).all(axis=(-2, -1), keepdims=True), right, 0.0)  # no order is better
    n = right.shape[-1]
    if n <= ENUMERATED:
        orders = np.array(list(permutations(range(n))))
        total = right[..., orders, np.arange(n)].sum(axis=-1)
        return orders[total.argmax(axis=-1)]
    from scipy.optimize import linear_sum_assignment  # takes long to import, and many categories are rare

    order = np.empty(right.shape[:-1], int)
    for index in np.ndindex(right.shape[:2]):
        category, label = linear_sum_assignment(right[index], maximize=True)
        order[index][label] = category
    return order
