"""How any model is drawn: by NUTS, its pointwise log likelihood brought to what our own samplers leave."""

from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from ..models.distributions.counted_labels import CountedLabelsRV
from ..models.distributions.item_scores import ItemScoresRV
from ..models.distributions.marginal_labels import MarginalLabelsRV
from ..models.distributions.mixed_counts import MixedCountsRV
from ..models.distributions.partial_ranking import PartialRankingRV
from .plan import Draws
from .score_routes import scores_by_item
from .state_chains import in_order
from .steps.reading import number

__all__ = ["draw_with_nuts"]

OPTIONS = {  # of a model of labels that has this variable
    "effect_spread": {"target_accept": 0.95},  # trades off with prevalence on a curved ridge
}
MOST_MEMORY = 4 * 2**30  # bytes of the draws of NUTS, which are kept twice


def draw_with_nuts(model: pm.Model, plan: Draws, options: dict[str, Any]) -> dict[str, xr.Dataset]:
    """Draw by `pymc.sample`, and bring the pointwise log likelihood to power one."""
    _refuse_beyond_memory(model, plan)
    asked = {} if plan.tune is None else {"tune": plan.tune}
    tree = pm.sample(
        draws=plan.draws,
        chains=plan.chains,
        cores=plan.cores,
        random_seed=plan.seed,
        progressbar=plan.progressbar,
        model=model,
        **asked,
        **_own_options(model, options),
    )
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


def _own_options(model: pm.Model, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were asked for, and those of the model unless its steps were asked for."""
    of_labels = any(isinstance(rv.owner.op, MarginalLabelsRV) for rv in model.observed_RVs)
    if not of_labels or {"nuts", "step"} & asked.keys():
        return asked
    ours = (options for mark, options in OPTIONS.items() if mark in model.named_vars)
    return next(ours, {}) | asked


def _refuse_beyond_memory(model: pm.Model, plan: Draws) -> None:
    """Raise unless the draws themselves would fit into memory."""
    sizes = {dim: len(names) for dim, names in model.coords.items() if names is not None}
    drawn = [*model.free_RVs, *model.deterministics]
    dims = [model.named_vars_to_dims.get(str(rv.name)) or () for rv in drawn]
    numbers = sum(int(np.prod([sizes.get(str(d), 1) for d in own])) for own in dims)
    size = 8 * numbers * plan.chains * plan.draws
    if size > MOST_MEMORY:
        raise ValueError(
            f"{plan.chains} x {plan.draws:,} draws of {numbers:,} numbers are {size / 2**30:,.0f} GiB; ask for fewer draws, "
            "or use a point estimate of raterzoo.inference (of comparisons, quite or bradley_terry_mle)"
        )


def _likelihood_power(model: pm.Model) -> np.ndarray | None:
    """Return the power of the observed likelihood, if its law has one."""
    for rv in model.observed_RVs:
        if isinstance(rv.owner.op, PartialRankingRV | CountedLabelsRV):
            return number(rv.owner.op.dist_params(rv.owner)[2], "reliability")
    return None
