"""Draws by `pymc.sample`: options, thinning, and the groups that the own samplers have."""

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from inspect import signature
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.model.transform.optimization import freeze_dims_and_data

from ...models.distributions.counted_labels import CountedLabelsRV
from ...models.distributions.partial_ranking import PartialRankingRV
from ..methods import catalog_entry, samplers_of
from ..runs.compiled_models import compilation_of_densities, compilation_of_nuts
from ..runs.model_graph import NotConjugate, constant_value
from ..runs.run import Draws


def draw_with_nuts(model: pm.Model, plan: Draws, options: dict[str, Any]) -> dict[str, xr.Dataset]:
    """Draw by `pymc.sample`, and return the groups of `finished_groups`."""
    return finished_groups(model, nuts_draws(model, plan, options), plan)


def nuts_draws(model: pm.Model, plan: Draws, options: dict[str, Any]) -> xr.DataTree:
    """Draw by `pymc.sample`, and thin to the requested number of draws."""
    every = nuts_thinning(model, plan)
    asked = {} if plan.tune is None else {"tune": plan.tune}
    by_jax = options.get("nuts_sampler") in ("numpyro", "blackjax")
    tree = pm.sample(
        draws=plan.draws * every,
        chains=plan.chains,
        cores=plan.cores,
        random_seed=plan.seed,
        progressbar=plan.progressbar,
        model=freeze_dims_and_data(model) if by_jax else model,  # the laws in JAX require constant data
        **asked,
        **nuts_options(model, options) | compilation_of_nuts(model, options),
    )
    return thinned(tree, every)


def finished_groups(model: pm.Model, tree: xr.DataTree, plan: Draws) -> dict[str, xr.Dataset]:
    """Add log densities (likelihood at power one); use the dims and the order of the compiled samplers."""
    if plan.densities and model.observed_RVs:
        compiled: dict[str, Any] = {"progressbar": False, "compile_kwargs": compilation_of_densities()}
        pm.compute_log_likelihood(tree, model=model, **compiled)
        pm.stats.compute_log_prior(tree, model=model, **compiled)
    groups = {name: tree[name].to_dataset() for name in tree.children}
    if "log_likelihood" in groups:
        pointwise, powers = groups["log_likelihood"], _likelihood_powers(model)
        groups["log_likelihood"] = pointwise.assign({name: pointwise[name] / powers[name] for name in powers})
    for sampler in samplers_of(model):
        if sampler.finish is not None:
            groups = sampler.finish(model, groups)
    return {name: groups[name] for name in groups if name not in ("constant_data", "observed_data")}


# of `sample`, besides those of `pymc.sample`
OWN_OPTIONS = {"method", "thin", "dtype", "store", "log_likelihood"}
NUTS_OPTIONS = {
    "nuts",
    "target_accept",
    "max_treedepth",
    "early_max_treedepth",
    "step_scale",
    "scaling",
    "Emax",
}


def check_nuts_options(options: Iterable[str]) -> None:
    """Raise TypeError, with the nearest name, for an option that is misspelt: neither one of `pymc.sample` nor of NUTS."""
    known = NUTS_OPTIONS | set(signature(pm.sample).parameters)
    for name in sorted(set(options) - known):
        near = ["random_seed"] if name == "seed" else get_close_matches(name, OWN_OPTIONS | known, 1)
        if near:
            raise TypeError(f"sample has no option {name!r}; did you mean {near[0]!r}?")


def nuts_options(model: pm.Model, asked: dict[str, Any]) -> dict[str, Any]:
    """Options of `pymc.sample`: the user's, over the model's defaults unless the user chose the steps."""
    entry = catalog_entry(model)
    if entry is None or {"nuts", "step"} & asked.keys():
        return asked
    return {**entry.nuts_options, **asked}


def nuts_thinning(model: pm.Model, plan: Draws) -> int:
    """Return the number of NUTS draws per kept draw: as requested, or the default of the model."""
    entry = catalog_entry(model)
    default = 1 if entry is None else entry.nuts_thinning
    return default if plan.thin == "pilot" else int(plan.thin)


def thinned(tree: xr.DataTree, every: int) -> xr.DataTree:
    """Keep every `every`-th draw, divergent if any since the one before was; E-BFMI is that of the kept draws."""
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


def _likelihood_powers(model: pm.Model) -> dict[str, np.ndarray]:
    """Power of the likelihood (reliability) of each observed variable whose law has one that is not random."""
    powers = {}
    for rv in model.observed_RVs:
        if isinstance(rv.owner.op, PartialRankingRV | CountedLabelsRV):
            with suppress(NotConjugate):
                powers[str(rv.name)] = constant_value(rv.owner.op.dist_params(rv.owner)[2], "reliability")
    return powers
