"""Sample from the posterior of a model: choose the sampler, draw, label, diagnose."""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import signature
from time import perf_counter
from typing import Any, Literal

import numpy as np
import pymc as pm
import xarray as xr

from .._messages import Step, compiled_step, handed_over, step
from .checkpoints import draw_into
from .diagnostics import diagnose, warn_unless_converged
from .kept_draws import (
    ALL,
    Costs,
    Keep,
    Kept,
    Numbered,
    blocks_of,
    kept_groups,
    kept_of,
    with_raters_in_memory,
)
from .labels.item_states import with_items_drawn
from .methods import Route, begin_run, route_of
from .nuts.drawing import check_nuts_options, draw_with_nuts
from .nuts.stored_runs import NUTS_STARTS, draw_nuts_into
from .posterior_predictive import predict, require_replicates
from .runs.model_graph import graph_lock
from .runs.run import Draws, Run, SinglePrecisionError, check_options
from .runs.trees import Completion, Deterministics, attributes
from .storage.store import read_draws

Method = Literal["auto", "exact", "gibbs", "hmc", "nuts"]


def sample(
    model: pm.Model,
    *,
    method: Method = "auto",
    draws: int = 1000,
    tune: int | None = None,
    chains: int = 4,
    cores: int | None = None,
    random_seed: int | None = None,
    progressbar: bool = True,
    thin: int | Literal["pilot"] = "pilot",
    dtype: Literal["float32", "float64"] = "float32",
    log_likelihood: bool = True,
    predictive: bool = False,
    keep: Keep | None = None,
    store: str | os.PathLike[str] | None = None,
    **nuts: Any,
) -> xr.DataTree:
    """Draw from the posterior of a model, and check convergence.

    The sampler is chosen by the structure of the model:

    ================================  ========  ==============================================
    model                             method    sampler
    ================================  ========  ==============================================
    Gamma worths, nothing observed    exact     independent draws
    Gamma worths, partial rankings    gibbs     compiled Gibbs sampler of worths
    Dirichlet, label counts           exact     independent draws
    either, with prior predictions    gibbs     the same, and a slice of the predictions' strength
    Dirichlet or Beta, labels         gibbs     compiled Gibbs sampler of labels
    normal-inverse-gamma, scores      exact     independent draws
    Dirichlet, counts of item states  gibbs     compiled Gibbs sampler of item states
    raters and items, scores          gibbs     compiled Gibbs sampler of scores
    zero-sum or uniform, comparisons  hmc       compiled HMC, split by a Laplace approximation
    any other pm.Model                nuts      pm.sample
    ================================  ========  ==============================================

    Parameters
    ----------
    model : pymc.Model
        Any model; those of `raterzoo.models` are recognised by their graph.
    method : {"auto", "exact", "gibbs", "hmc", "nuts"}, default "auto"
        Sampler; "auto" takes the first that fits: exact, Gibbs, Laplace-split HMC, NUTS.
    draws, chains : int, default 1000 and 4
        Kept draws of each chain, and number of chains.
    tune : int, optional
        Warm-up before the first kept draw; by default 200 sweeps for Gibbs (1000 for item states), 50
        transitions for HMC, 1000 draws for NUTS, none for exact draws.
    cores : int, optional
        Threads of Gibbs and HMC, processes of NUTS; all cores by default. The draws do not depend on it.
    random_seed : int, optional
        Seed; drawn at random and recorded if left out.
    progressbar : bool, default True
        Whether to show progress.
    thin : int or "pilot", default "pilot"
        Gibbs sweeps, HMC transitions or NUTS draws per kept draw. With "pilot" the sampler decides: Gibbs by
        a pilot run (of each item, for rankings); HMC by the number of answers, thinning more when these are
        few; NUTS takes 1, but 4 for ``item_difficulty`` and 2 for ``logistic_random_effects`` and
        ``hierarchical_dawid_skene``, with which they converge on 5,000 answers.
    dtype : {"float32", "float64"}, default "float32"
        Storage of Gibbs and exact draws, and of log likelihoods; the arithmetic is in double precision. Scores
        that single precision cannot represent or tell apart, such as scores about 1e9, are stored as float64.
    log_likelihood : bool, default True
        Whether to store the log likelihood of each annotation (at power one) and log prior of each variable.
    predictive : bool, default False
        Whether to add a group ``posterior_predictive``: replicates of the data at 200 evenly spaced draws. `arviz.loo_pit` and
        `arviz.plot_loo_pit` need as many draws in all groups, and log likelihoods in the shape of the answers: give them the
        tree that `predict` returns.
    keep : {"all", "thinned", "summary"}, optional
        What is kept of the draws. "all": every draw. "thinned": mean, quantiles, certainties, R-hat and ESS of all draws
        of each item, in a group ``item_summary``, and every so many of the draws, 1,000 of all chains or fewer; what items
        share, such as confusion matrices, at all draws, in ``shared_posterior``. "summary": no draws of the items. The
        default is "all" up to .5 GB of draws of items and "thinned" above, which a `CostWarning` says; where Gibbs draws
        of each rater would take more than 4 GB, fewer draws of more sweeps each are made, which it says, too.
        `raterzoo.evaluation` reads the summaries, and says what it cannot answer without draws; `diagnose` is of all
        draws in any case. Gibbs of rankings, of Dawid-Skene and its relatives, of correlated votes and of scores then hold
        a block of items in memory; other samplers hold all draws until they are summarised. Locations of hierarchical
        scores are then drawn anew given all draws of what items share, from the same posterior.
    store : path, optional
        New zarr store, such as "run.zarr", to which draws are written as they are made. If the process is
        interrupted, the store can be read, and `resume` draws the rest; of NUTS it keeps the complete chains, and draws
        the others anew. The draws of a run that is not interrupted are the same as without a store.
    **nuts
        Options of `pymc.sample` for NUTS, for example ``target_accept=.95``.

    Returns
    -------
    DataTree
        Groups ``posterior``, ``sample_stats``, ``observed_data``, ``constant_data``, and ``log_likelihood`` and
        ``log_prior`` where the model has them; ``posterior_predictive`` if asked for; ``item_summary``, ``diagnosis`` and
        ``shared_posterior`` where not all draws are kept. Attributes: model, method, versions, seed, duration in seconds;
        ``keep`` and ``kept_every`` where not all draws are kept.

    Raises
    ------
    ValueError
        If `method` does not fit the model (the message says why), a number is out of range, or the run needs more
        memory than the machine has available, unless the environment variable ``RATERZOO_MEMORY_GB`` allows it. With
        `predictive`, if the model has no law of its answers, there is a `store`, or `keep` is "summary".

    Warns
    -----
    ConvergenceWarning
        If a quantity misses the thresholds of `diagnose`.
    CostWarning
        If the run takes more than 2 GB of memory, by an estimate made before the first draw; if not all draws are kept by
        default.

    Examples
    --------
    >>> import pandas as pd
    >>> from raterzoo import inference, models
    >>> counts = pd.DataFrame({"item": ["a", "b"], "yes": [3, 1], "no": [0, 2]})
    >>> model = models.dirichlet(models.Labels.from_counts(counts))
    >>> tree = inference.sample(model, draws=200, random_seed=1, progressbar=False)
    >>> tree.attrs["method"], dict(tree["posterior"].sizes)
    ('exact', {'chain': 4, 'draw': 200, 'item': 2, 'category': 2})
    """
    if not isinstance(model, pm.Model):
        remedy = "build one by a function of raterzoo.models"
        raise ValueError(f"a {type(model).__name__} is not a pymc.Model; {remedy}")
    numbers = {"draws": draws, "chains": chains, "thin": None if thin == "pilot" else thin, "cores": cores}
    check_options(dtype, **numbers, tune=tune, random_seed=random_seed)
    if predictive:
        _check_predictive(model, store, keep)
    started = perf_counter()
    with graph_lock:
        route = route_of(model)
    chosen = _choose(route, method)
    seed = int(np.random.SeedSequence().generate_state(1)[0] if random_seed is None else random_seed)
    plan = Draws(draws, tune, chains, cores, seed, progressbar, thin, dtype, densities=log_likelihood)
    if nuts:
        check_nuts_options(nuts)
    if nuts and chosen != "nuts":
        raise ValueError(f"{', '.join(nuts)}: only method='nuts' takes options of pymc.sample")
    if chosen == "gibbs" and keep is None and store is None:
        plan = with_raters_in_memory(model, plan)
    kept = kept_of(keep, model, plan, in_store=store is not None)
    attrs = attributes(route.name, chosen, route.reason, seed) | kept.attrs
    if chosen == "nuts":
        Costs(model, plan, in_store=store is not None).check_nuts()
    if store is not None:
        if chosen == "nuts":
            draw_nuts_into(store, model, plan, attrs, nuts)
        else:
            draw_into(store, model, plan, attrs, route)
        tree = read_draws(store)
    else:
        if chosen == "nuts":
            with handed_over(NUTS_STARTS, shown=progressbar):
                groups = draw_with_nuts(model, plan, nuts)
            groups["posterior"] = with_items_drawn(model, groups["posterior"], plan)
            if kept != ALL:
                groups = kept_groups(model, plan, kept, blocks_of(model, groups), attrs)
            tree = Completion(model)(groups, computed=True)
        else:
            tree = draw_compiled(model, plan, route, kept)
        tree.attrs |= attrs | {"seconds": perf_counter() - started}
    if chosen != "exact":  # independent draws need no convergence check
        with compiled_step("Checking convergence", shown=progressbar):
            diagnosis = diagnose(tree, threads=cores)
        warn_unless_converged(diagnosis)
    if predictive:
        replicates = predict(tree, model, log_likelihood=False, progressbar=progressbar)
        tree["posterior_predictive"] = replicates["posterior_predictive"].to_dataset()
    return tree


def _check_predictive(model: pm.Model, store: str | os.PathLike[str] | None, keep: Keep | None) -> None:
    """Raise ValueError if replicates of the data could not be drawn after sampling."""
    require_replicates(model)
    if keep == "summary":
        raise ValueError(
            "predictive=True: replicates are drawn given draws, of which keep='summary' keeps none; say keep='thinned'"
        )
    if store is not None:
        raise ValueError(
            "predictive=True: a store holds no replicates; leave it out, and draw them from the tree by "
            "inference.predict(tree, model)"
        )


def draw_compiled(
    model: pm.Model,
    plan: Draws,
    route: Route,
    kept: Kept = ALL,
    *,
    blocks: Numbered | None = None,
    checked: bool = False,
) -> xr.DataTree:
    """Draw by the model's own sampler; in double precision if single precision cannot hold the draws.

    `blocks` of items are those of `kept_groups`; `checked`: the cost of the run, a shard of one, is not estimated.
    """
    if kept.keep == "summary":
        plan = replace(plan, densities=False)  # they would be computed at all draws, and none is kept
    every = {"all": None, "thinned": kept.step, "summary": plan.draws}[kept.keep]
    costs = Costs(model, plan, kept_every=every)
    costs.skipped = checked
    try:
        groups = _drawn(model, costs, route, kept, blocks)
    except SinglePrecisionError:
        groups = _drawn(model, costs.in_double_precision(), route, kept, blocks)
    with step("Completing the posterior", shown=plan.progressbar):
        return Completion(model)(groups, computed=kept.keep == "summary")


SECONDS = 1.0  # of a portion of the draws, or up to twice as much


def _drawn(
    model: pm.Model, costs: Costs, route: Route, kept: Kept, numbered: Numbered | None
) -> dict[str, xr.Dataset]:
    """Set up the model's own sampler, make all draws, and return what is kept of them."""
    plan = costs.plan
    with compiled_step("Setting up the sampler", shown=plan.progressbar):
        costs.check_run(route.method)
        run = begin_run(model, plan, route=route)
        costs.check_run(route.method, in_blocks=run.by_items is not None)
    if kept == ALL:
        return _all_draws(run, plan)
    if run.by_items is None:
        groups = _all_draws(run, plan)
        blocks = blocks_of(model, groups | {"posterior": Deterministics(model)(groups["posterior"])})
    else:
        with compiled_step("Drawing from the posterior", plan.draws, shown=plan.progressbar) as bar:
            blocks = run.by_items(plan.draws, bar.advance)
        if "posterior" in blocks.shared:
            shared = Deterministics(model).of_shared(blocks.shared["posterior"])
            blocks = replace(blocks, shared={**blocks.shared, "posterior": shared})
    n_items = len(model.coords.get("item") or ())
    with compiled_step("Drawing and summarising item by item", n_items, shown=plan.progressbar) as bar:
        return kept_groups(model, plan, kept, blocks, {"method": route.method}, bar.advance, numbered)


def _all_draws(run: Run, plan: Draws) -> dict[str, xr.Dataset]:
    """Make all draws in one piece."""
    if run.shows_progress:
        return run.advance(plan.draws)
    with compiled_step("Drawing from the posterior", plan.draws, shown=plan.progressbar) as bar:
        return _in_portions(run, plan.draws, bar) if bar.visible else run.advance(plan.draws)


def _in_portions(run: Run, draws: int, bar: Step) -> dict[str, xr.Dataset]:
    """Make all draws in portions, so that the bar moves; they are the same as at once."""
    whole, portion = {}, max(1, draws // 100)
    while run.drawn < draws:
        begun, first = perf_counter(), run.drawn
        groups = run.advance(min(portion, draws - first))
        whole = whole or {name: _room_for(group, draws) for name, group in groups.items()}
        for name, group in groups.items():
            for variable, values in group.data_vars.items():
                if "draw" in values.dims:
                    whole[name][variable][{"draw": slice(first, run.drawn)}] = values.to_numpy()
                else:
                    whole[name][variable] = values  # of the whole run
        bar.advance(run.drawn - first)
        if perf_counter() - begun < SECONDS:
            portion *= 2
    return whole


def _room_for(group: xr.Dataset, draws: int) -> xr.Dataset:
    """Group of empty arrays for all draws, like those of its first draws."""
    size = {**group.sizes, "draw": draws}
    arrays = {
        n: (v.dims, np.empty([size[d] for d in v.dims], v.dtype), v.attrs)
        for n, v in group.data_vars.items()
        if "draw" in v.dims
    }
    counted = {"draw": np.arange(draws)} if "draw" in group.coords else {}
    return group.drop_vars([*arrays, *counted]).assign(arrays).assign_coords(counted)


def _choose(route: Route, method: Method) -> str:
    """Return the method to use; raise, with the reason, if the requested one does not fit."""
    if method == "auto":
        return route.method
    if method not in ("exact", "gibbs", "hmc", "nuts"):
        raise ValueError(f"method={method!r} is not one of 'auto', 'exact', 'gibbs', 'hmc', 'nuts'")
    if method not in ("nuts", route.method):
        remedy = f"Use method={route.method!r} or 'auto'"
        raise ValueError(f"method={method!r} does not fit this model: {route.reason}. {remedy}")
    return method


# --- Sensitivity sweep: one posterior for each reliability of the raters ---


def sweep(
    build: Callable[[float], pm.Model],
    reliabilities: Iterable[float],
    *,
    random_seed: int | None = None,
    **options: Any,
) -> dict[float, xr.DataTree]:
    """Fit a model at each of several reliabilities.

    Parameters
    ----------
    build : callable
        Takes a reliability and returns a model: ``lambda r: plackett_luce(rankings, reliability=r)``.
    reliabilities : iterable of float
        Reliabilities at which to fit.
    random_seed : int, optional
        Seed of every fit, so that the posteriors differ by the reliability only.
    **options
        Passed on to `sample`.

    Returns
    -------
    dict of float to DataTree
        One tree for each reliability, in the given order.

    Raises
    ------
    ValueError
        If no reliability is given, or one is given twice.
    TypeError
        If the name of an option is misspelt.

    Examples
    --------
    >>> import pandas as pd
    >>> from raterzoo import inference, models
    >>> labels = models.Labels.from_counts(pd.DataFrame({"item": ["a"], "yes": [3], "no": [1]}))
    >>> build = lambda r: models.dirichlet(labels, reliability=r)
    >>> trees = inference.sweep(build, [1, 10], random_seed=1, progressbar=False)
    >>> for reliability, tree in trees.items():
    ...     print(reliability, round(float(tree["posterior"]["plausibility"].isel(category=0).std()), 1))
    1 0.2
    10 0.1
    """
    check_nuts_options({*options} - {*signature(sample).parameters})
    powers = list(reliabilities)
    if not powers or len(set(powers)) < len(powers):
        raise ValueError(f"reliabilities={powers} must be at least one number, each once")
    return {r: sample(build(r), random_seed=random_seed, **options) for r in powers}
