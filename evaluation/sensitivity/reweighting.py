"""Importance reweighting of a posterior to another reliability of the raters, separately for each item.

For item i with annotations a, drawn at reliability r and wanted at r', the weights are

    w_is  proportional to  exp((r' - r) sum_a log p(a | draw s of item i))

====================  ====================================================
symbol                variable
====================  ====================================================
log p(a | draw)       log_likelihood, at power one
r                     reliability of constant_data, scalar or by annotation
k                     pareto_k of sample_stats (item)
====================  ====================================================

One weight by draw for all items would be the product of these, and would concentrate on a single draw. The
weights of an item are Pareto-smoothed; k measures how heavy their tail is.
"""

from threading import Lock

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats

from ..._messages import warn_user
from ...posterior.errors import EvaluationError
from ...posterior.groups import tree_like
from ...posterior.plausibility import Block, Plausibility
from ...posterior.schema import RELIABILITY, reliability_is
from .densities import ItemDensities, owner_of_places, reliability_of

MAX_PARETO_K = 0.7  # largest Pareto k of reliable weights
FEWEST_DRAWS = 25  # a fifth of them is the shortest tail for a Pareto fit
ROUNDING = 1e-12  # range of log weights below which a tail has no shape
MODELS = tuple(name for name, role in RELIABILITY.items() if role == "power")
BY_DRAW = ("posterior", "log_likelihood", "log_prior")
# ArviZ's ESS ignores warnings for a moment: two threads that did so at once could leave all later warnings ignored
ONE_AT_A_TIME = Lock()


class ReweightingWarning(UserWarning):
    """Warning that the importance weights of some items are unreliable."""


def reweight(tree: xr.DataTree, reliability: float, *, random_seed: int | None = None) -> xr.DataTree:
    """Return the posterior at another reliability without a refit, by importance resampling.

    The draws of each item are resampled by its Pareto-smoothed weights, systematically along the plausibility
    of its leading label, and then permuted, so that items stay independent. Items named by the warning need a
    refit with `inference.sweep`. k up to .7 means that the draws can represent the other posterior; the
    precision is given by the effective number of draws. With much data, reducing the reliability by the
    factor f costs k = 1 - 1 / f, and from f = 2 on the weights have infinite variance: one warning then names
    all.

    Parameters
    ----------
    tree : DataTree
        Posterior of ``plackett_luce`` or ``dirichlet``, with ``log_likelihood`` at power one.
    reliability : float
        New reliability r', the same for all raters.
    random_seed : int, optional
        Seed of the resampling; by default derived from the tree, as in `annotation_certainty`.

    Returns
    -------
    DataTree
        The same groups and sample dims; ``reliability`` is r', and ``sample_stats`` has ``pareto_k`` (item),
        -inf if no weight is large, and ``effective_draws`` (item). The attributes ``reweighted_from`` and
        ``reweighted_to`` are r and r'. The draws are no longer chains. The log likelihood stays at power one.

    Raises
    ------
    EvaluationError
        If items share parameters, the reliability of the model is not the power of a likelihood, the tree
        lacks log_likelihood, or it is reweighted already.

    Warns
    -----
    ReweightingWarning
        If items have k above .7, or the reliability is reduced to less than half.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> data = models.simulators.labels(items=4, raters=5, categories=2, random_seed=1).data
    >>> model = models.dirichlet(data, reliability=2)
    >>> tree = inference.sample(model, draws=200, chains=2, random_seed=1, progressbar=False)
    >>> found = evaluation.reweight(tree, 2.5, random_seed=1)
    >>> found.attrs["reweighted_from"], found.attrs["reweighted_to"], found["posterior"]["plausibility"].dims
    (2.0, 2.5, ('chain', 'draw', 'item', 'category'))

    References
    ----------
    Vehtari et al. (2024), Pareto smoothed importance sampling, JMLR 25(72), arXiv:1507.02646.
    """
    return reweighted(tree, reliability, random_seed)


def reweighted(
    tree: xr.DataTree,
    reliability: float,
    random_seed: int | None = None,
    *,
    densities: ItemDensities | None = None,
    kept: tuple[str, ...] | None = None,
) -> xr.DataTree:
    """Return the result of `reweight`; with `kept` these variables of the posterior are the only draws.

    `densities` are those of the tree, where more than one result needs them.
    """
    _check_number(reliability)
    densities = densities or ItemDensities.of(tree)
    view = densities.view
    chosen, k, effective_draws = _resampled(densities, _added_power(tree, reliability), random_seed)
    before = reliability_of(tree)
    assert before is not None
    _warn_unreliable(view, k, reliability, float(np.max(before)))
    known = {"pareto_k": k, "effective_draws": effective_draws}
    groups = {}
    for name in [name for name in tree.children if name in (BY_DRAW if kept is None else BY_DRAW[:1])]:
        group = tree[name].to_dataset()[list(tree[name].data_vars if kept is None else kept)]
        arrays = {key: _rearranged(tree, array, view, chosen) for key, array in group.data_vars.items()}
        groups[name] = group.assign(arrays)
    groups["sample_stats"] = _stats(tree, view, known)
    groups["constant_data"] = tree["constant_data"].to_dataset().assign(reliability=float(reliability))
    if "observed_data" in tree.children:
        groups["observed_data"] = tree["observed_data"].to_dataset()
    origin = "by annotation" if before.ndim else float(before)
    return tree_like(tree, groups, reweighted_from=origin, reweighted_to=float(reliability))


def relative_tail_ess(log_density: np.ndarray) -> np.ndarray:
    """Tail effective sample size of log densities (item, sample), as a share of the draws (item,)."""
    share = np.ones(len(log_density))
    moving = np.ptp(log_density, axis=1) > 0
    if moving.any():
        with ONE_AT_A_TIME:
            size = array_stats.ess(log_density[moving, None], method="tail", prob=0.05)  # as one chain
        share[moving] = size / log_density.shape[1]
    return share


def pareto_smoothed(
    log_ratio: np.ndarray, relative_ess: np.ndarray, *, tied: float = -np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Smooth the importance weights of every item and estimate the Pareto shape k of their tails.

    Shapes: log_ratio (item, sample), wanted log density minus that of the draws, up to a constant by item;
    relative_ess (item,), which determines the length of the tail; weights (item, sample), sum to one; k
    (item,). k is -inf if all weights are equal, and `tied` for a tail of equal weights: -inf if a bound of
    the ratio makes them equal, inf if rounding of storage does. Raises below 25 draws.
    """
    if log_ratio.shape[1] < FEWEST_DRAWS:
        raise EvaluationError(
            f"{log_ratio.shape[1]} draws are too few for importance weights: at least {FEWEST_DRAWS}"
        )
    weights = np.exp(log_ratio - log_ratio.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    k = np.full(len(weights), -np.inf)
    for i in np.flatnonzero(np.ptp(log_ratio, axis=1) > 0).tolist():
        if _tail_range(log_ratio[i], relative_ess[i]) < ROUNDING:
            k[i] = tied
            continue
        try:
            with np.errstate(over="raise"):
                log_weight, k[i] = array_stats.psislw(-log_ratio[i], r_eff=relative_ess[i])
            weights[i] = np.exp(log_weight)
        except FloatingPointError:  # the tail exceeds the range of floats
            k[i] = np.inf
    return weights, np.where(np.isnan(k), np.inf, k)  # a failed fit counts as unreliable


def _tail_range(log_ratio: np.ndarray, relative_ess: float) -> float:
    """Range of the log weights (sample,) in the Pareto tail (Vehtari et al. 2024, section 2.4)."""
    n = len(log_ratio)
    size = int(3 * np.sqrt(n / relative_ess)) if n * relative_ess > 225 else n // 5
    return float(log_ratio.max() - np.partition(log_ratio, -size - 1)[-size - 1])


def _check_number(reliability: float) -> None:
    """Raise unless a reliability is a positive finite number."""
    number = isinstance(reliability, int | float | np.integer | np.floating)
    if isinstance(reliability, bool) or not number or not 0 < reliability < np.inf:
        raise EvaluationError(f"reliability={reliability!r}: expected a positive finite number")


def _added_power(tree: xr.DataTree, reliability: float) -> np.ndarray:
    """Return r' - r, () or (annotation,); raise unless the reliability is the power of a likelihood."""
    model = tree.attrs.get("model")
    if reliability_is(tree.attrs) == "narrowness":
        raise EvaluationError(
            f"{model} has no likelihood for importance weights; it is drawn exactly, so draw it again at the other reliability"
        )
    if model not in MODELS:
        raise EvaluationError(
            f"the reliability of model {model!r} is not known to be the power of its likelihood, as that of "
            f"{' and '.join(MODELS)} is: fit it anew. If it is one and log_likelihood is at power one, set "
            "tree.attrs['model'] to the name of that law"
        )
    if "reweighted_from" in tree.attrs:
        raise EvaluationError(
            f"the tree is reweighted already, from {tree.attrs['reweighted_from']} to {tree.attrs['reweighted_to']}: a second "
            "step cannot recover the draws that the first dropped, and its k would ignore them; reweight the original tree"
        )
    before = reliability_of(tree)
    if before is None:
        raise EvaluationError(
            "constant_data has no reliability, so that the power of the likelihood is unknown; keep constant_data"
        )
    return reliability - before


def _resampled(
    densities: ItemDensities, power: np.ndarray, random_seed: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Resample draws for each item (item, sample), in random order; with Pareto k and effective draws (item,).

    `power` as in `likelihood_of_items`. Weights are in memory for blocks of items.
    """
    view, likelihood = densities.view, densities.likelihood_at(power)

    def of_block(block: Block, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_ratio = likelihood(block.items)
        relative_ess = relative_tail_ess(log_ratio)
        weights, k = pareto_smoothed(log_ratio, relative_ess)
        kept = np.empty(weights.shape, np.int32)
        edges = view.start[block.items.start : block.items.stop + 1] - block.cells.start
        for i, weight in enumerate(weights):
            draws = block.draws[edges[i] : edges[i + 1]]
            leading = draws[np.argmax(draws @ weight)]
            kept[i] = rng.permutation(_systematic(weight, np.argsort(leading), rng))
        return kept, k, relative_ess / (weights**2).sum(axis=1)

    chosen, k, effective_draws = zip(*view.map_blocks(of_block, random_seed), strict=True)
    return np.concatenate(chosen), np.concatenate(k), np.concatenate(effective_draws)


def _systematic(weight: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Systematic resampling by the weight (sample,) cumulated along an order (sample,)."""
    reached = weight[order].cumsum()
    points = (np.arange(len(weight)) + rng.random()) / len(weight) * reached[-1]
    return order[np.searchsorted(reached, points, "right").clip(max=len(weight) - 1)]


def _rearranged(
    tree: xr.DataTree, array: xr.DataArray, view: Plausibility, chosen: np.ndarray
) -> xr.DataArray:
    """Return an array of the tree with the resampled draws of each item, chosen (item, sample)."""
    owner = owner_of_places(tree, array, view)
    dim = next(d for d in ("candidate", "annotation", "item") if d in array.dims)
    ordered = array.transpose(*view.sample_dims, dim, ...)
    values = ordered.to_numpy()
    drawn = values.reshape(view.n_samples, *values.shape[len(view.sample_dims) :])
    kept = np.empty_like(drawn)
    end = np.bincount(owner, minlength=len(chosen)).cumsum()
    places = np.split(np.argsort(owner, kind="stable"), end[:-1])
    for own, draws in zip(places, chosen, strict=True):
        kept[:, own] = drawn[:, own][draws]
    return ordered.copy(data=kept.reshape(values.shape)).transpose(*array.dims)


def _stats(tree: xr.DataTree, view: Plausibility, known: dict[str, np.ndarray]) -> xr.Dataset:
    """Return the sample_stats of items, without those of draws, with statistics of the weights."""
    stats = tree["sample_stats"].to_dataset() if "sample_stats" in tree.children else xr.Dataset()
    stats = stats.drop_dims(view.sample_dims, errors="ignore")
    by_item = {name: xr.DataArray(values, {"item": view.items}, ("item",)) for name, values in known.items()}
    return stats.assign(by_item)


def _warn_unreliable(view: Plausibility, k: np.ndarray, reliability: float, before: float) -> None:
    """Warn of items that need a refit."""
    if reliability < before / 2:
        warn_user(
            f"from reliability {before:g} to {reliability:g} is too far down for any item: importance weights have infinite "
            "variance if the power of the likelihood falls below half, whatever their k. Refit",
            ReweightingWarning,
        )
        return
    bad = np.flatnonzero(k > MAX_PARETO_K)
    if len(bad):
        first = ", ".join(str(item) for item in view.items[bad[:3]])
        warn_user(
            f"{len(bad)} of {len(k)} items have Pareto k above {MAX_PARETO_K} on the way to reliability {reliability} "
            f"(first: {first}): refit those; sample_stats pareto_k lists them",
            ReweightingWarning,
        )
