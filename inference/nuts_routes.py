"""Sampler of any model: NUTS by `pymc.sample`, with groups in the layout of the compiled samplers."""

from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.model.transform.optimization import freeze_dims_and_data

from ..models.distributions.counted_labels import CountedLabelsRV
from ..models.distributions.item_scores import ItemScoresRV
from ..models.distributions.marginal_labels import MarginalLabelsRV
from ..models.distributions.mixed_counts import MixedCountsRV
from ..models.distributions.partial_ranking import PartialRankingRV
from .plan import Draws
from .score_routes import scores_by_item
from .state_chains import in_order
from .steps.reading import number

__all__ = ["draw_with_nuts", "finished_groups", "nuts_options", "nuts_thinning", "thinned"]

# Default options of a label model: those of the first of these variables that it has.
OPTIONS = {
    "effect_spread": {"target_accept": 0.95},  # correlated with prevalence along a curved ridge
    "population_spread": {"target_accept": 0.9},  # small for answers in which raters hardly differ
}
# Default thinning of a label model: that of the first of these variables that it has.
THINNING = {"effect_mean": 4, "effect_spread": 2, "population_spread": 2}
MOST_MEMORY = 4 * 2**30  # bytes of the draws of NUTS, of which there are two copies


def draw_with_nuts(model: pm.Model, plan: Draws, options: dict[str, Any]) -> dict[str, xr.Dataset]:
    """Draw by `pymc.sample`, thin to the requested number of draws, and return the groups of `finished_groups`."""
    every = nuts_thinning(model, plan)
    asked = {} if plan.tune is None else {"tune": plan.tune}
    by_jax = options.get("nuts_sampler") in ("numpyro", "blackjax")
    tree = pm.sample(
        draws=plan.draws * every,
        chains=plan.chains,
        cores=plan.cores,
        random_seed=plan.seed,
        progressbar=plan.progressbar,
        model=freeze_dims_and_data(model)
        if by_jax
        else model,  # the JAX dispatch of our distributions requires constant data
        **asked,
        **nuts_options(model, options),
    )
    return finished_groups(model, thinned(tree, every), plan)


def finished_groups(model: pm.Model, tree: xr.DataTree, plan: Draws) -> dict[str, xr.Dataset]:
    """Add log densities (likelihood at power one); use the dims and the order of the compiled samplers."""
    if plan.densities and model.observed_RVs:
        pm.compute_log_likelihood(tree, model=model, progressbar=False)
        pm.stats.compute_log_prior(tree, model=model, progressbar=False)
    groups = {name: tree[name].to_dataset() for name in tree.children}
    power = _likelihood_power(model)
    if "log_likelihood" in groups and power is not None:
        groups["log_likelihood"] = groups["log_likelihood"] / power
    if any(isinstance(rv.owner.op, MixedCountsRV) for rv in model.observed_RVs):
        groups = in_order(groups)
    if any(isinstance(rv.owner.op, ItemScoresRV) for rv in model.observed_RVs):
        groups = scores_by_item(model, groups)
    return {name: groups[name] for name in groups if name not in ("constant_data", "observed_data")}


def nuts_options(model: pm.Model, asked: dict[str, Any]) -> dict[str, Any]:
    """Options of `pymc.sample`: the user's, over the model's defaults unless the user chose the steps."""
    if not _is_of_labels(model) or {"nuts", "step"} & asked.keys():
        return asked
    ours = (options for mark, options in OPTIONS.items() if mark in model.named_vars)
    return next(ours, {}) | asked


def nuts_thinning(model: pm.Model, plan: Draws) -> int:
    """Return the number of NUTS draws per kept draw.

    With the defaults, runs of default length on 5,000 answers converge.
    """
    ours = (every for mark, every in THINNING.items() if mark in model.named_vars)
    own = next(ours, 1) if _is_of_labels(model) else 1
    every = own if plan.thin == "pilot" else int(plan.thin)
    _refuse_beyond_memory(model, plan, every)
    return every


def _is_of_labels(model: pm.Model) -> bool:
    """Whether the model has a marginal likelihood of labels."""
    return any(isinstance(rv.owner.op, MarginalLabelsRV) for rv in model.observed_RVs)


def thinned(tree: xr.DataTree, every: int) -> xr.DataTree:
    """Keep every `every`-th draw.

    A kept draw counts as divergent if any draw since the previous one diverged. E-BFMI is then that of the
    kept draws.
    """
    if every == 1:
        return tree
    groups = {name: group.to_dataset() for name, group in tree.children.items()}
    for name, whole in groups.items():
        if "draw" not in whole.dims or name.startswith("warmup"):
            continue
        kept = whole.isel(draw=slice(every - 1, None, every))
        if "diverging" in whole:
            diverged = whole["diverging"].coarsen(draw=every).max()
            kept["diverging"] = kept["diverging"].copy(data=diverged.astype(bool))
        groups[name] = kept.assign_coords(draw=np.arange(kept.sizes["draw"]))
    groups["sample_stats"] = groups["sample_stats"].assign(thinning=np.int64(every))
    return xr.DataTree.from_dict(groups)


def _refuse_beyond_memory(model: pm.Model, plan: Draws, every: int) -> None:
    """Raise a `ValueError` if the draws exceed `MOST_MEMORY`."""
    sizes = {dim: len(names) for dim, names in model.coords.items() if names is not None}
    drawn = [*model.free_RVs, *model.deterministics]
    dims = [model.named_vars_to_dims.get(str(rv.name)) or () for rv in drawn]
    numbers = sum(int(np.prod([sizes.get(str(d), 1) for d in own])) for own in dims)
    draws = plan.draws * every
    size = 8 * numbers * plan.chains * draws
    if size > MOST_MEMORY:
        raise ValueError(
            f"{plan.chains} x {draws:,} draws of {numbers:,} numbers are {size / 2**30:,.0f} GiB; ask for fewer draws, "
            "or use a point estimate of raterzoo.inference (of comparisons, quite or bradley_terry_mle)"
        )


def _likelihood_power(model: pm.Model) -> np.ndarray | None:
    """Power of the observed likelihood (reliability), or None if its distribution has none."""
    for rv in model.observed_RVs:
        if isinstance(rv.owner.op, PartialRankingRV | CountedLabelsRV):
            return number(rv.owner.op.dist_params(rv.owner)[2], "reliability")
    return None
