"""Samplers of ranking models: independent draws without data, the compiled Gibbs loop with partial rankings."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.graph.traversal import ancestors
from scipy.special import gammaln

from ..._messages import compiled_step
from ...models.distributions.partial_ranking_kernels import draws_log_p
from ...models.rankings.plackett_luce import SPEC as PLACKETT_LUCE
from ...models.rankings.prirn import SPEC as PRIRN
from ...models.rankings.tempered_plackett_luce import SPEC as TEMPERED_PLACKETT_LUCE
from ..kernels.random_streams import draw_log_gammas
from ..runs.model_graph import refuse_further, shape_of
from ..runs.run import (
    ChainPlan,
    Draws,
    ItemBlocks,
    Run,
    Sampler,
    Tuning,
    in_threads,
    item_keys,
    pilot,
    stream,
    streams_of_items,
)
from ..runs.trees import as_dataset, row_dim
from .kernels.gibbs import Schedule, continue_item, normalise_worths
from .kernels.race import WorthPosterior
from .recognition import (
    RankingLikelihood,
    distinct_annotations,
    gamma_parameters,
    read_rankings,
    worth_posterior,
)

# likelihood, and shapes and rates (candidate,) of the Gamma priors
WorthLaw = tuple[RankingLikelihood, tuple[np.ndarray, np.ndarray]]


def ranking_log_likelihood(
    log_worth: np.ndarray, place: np.ndarray, block: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Log probability (chain, draw, annotation) at power one of rankings: candidate and block at (annotation, place)."""
    own, ranked = np.ascontiguousarray(place, np.int64), np.ascontiguousarray(block)

    def fill(worths: np.ndarray, log_p: np.ndarray) -> None:
        draws_log_p(worths, own, ranked, log_p)

    return _by_draw(fill, np.ascontiguousarray(log_worth), len(block), threads)


def worth_log_prior(
    log_worth: np.ndarray, shape: np.ndarray, rate: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Log density of log_worth (chain, draw, candidate) under Gamma(shape, rate) priors (candidate,), elementwise."""
    constant = shape * np.log(rate) - gammaln(shape)

    def fill(worths: np.ndarray, log_p: np.ndarray) -> None:
        for draw, log_w in enumerate(worths.astype(np.float64)):
            # log Gamma(w | a, b) = (a - 1) log w - b w + a log b - log Gamma(a)
            log_p[draw] = (shape - 1) * log_w - rate * np.exp(log_w) + constant

    return _by_draw(fill, log_worth, len(shape), threads)


def _by_draw(
    fill: Callable[[np.ndarray, np.ndarray], None], log_worth: np.ndarray, width: int, threads: int | None
) -> np.ndarray:
    """Fill a log density (chain, draw, width) of each draw, multi-threaded over blocks; log_worth (chain, draw, candidate)."""
    worths = log_worth.reshape(-1, log_worth.shape[-1])
    log_p = np.empty((len(worths), width), log_worth.dtype)
    parts = np.array_split(np.arange(len(worths)), min(64, len(worths)))

    def run(first: int, last: int) -> None:
        fill(worths[first : last + 1], log_p[first : last + 1])

    in_threads(run, ((part[0], part[-1]) for part in parts), threads)
    return log_p.reshape(*log_worth.shape[:-1], width)


# --- Multi-threaded Gibbs chains of worths, item by item ---

ITEMS_PER_TASK = 16


def begin_worths(posterior: WorthPosterior, keys: np.ndarray, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Begin every item with key (item,) at a prior draw: stream (chain, item, word), log_worth (chain, candidate)."""
    start = posterior.candidate_start
    streams = np.empty((plan.chains, len(keys), 4), np.uint64)
    log_worth = np.empty((plan.chains, start[-1]))
    for chain, item in np.ndindex(streams.shape[:2]):
        seed = np.random.SeedSequence(plan.seed, spawn_key=(chain, int(keys[item])))
        streams[chain, item] = stream(seed)
        own = log_worth[chain, start[item] : start[item + 1]]
        fresh = Schedule(0, thin=1, fresh=True)
        continue_item(streams[chain, item], item, posterior, fresh, (own, np.empty((0, len(own)))))
    return {"stream": streams, "log_worth": log_worth}


def continue_worths(
    posterior: WorthPosterior,
    thinning: np.ndarray | int,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
    progress: Callable[[int], None] = lambda done: None,
    items: slice | None = None,
) -> np.ndarray:
    """Run all chains on from their state, which is overwritten in place.

    Shapes: thinning, sweeps per kept draw () or (item,); returns log worths (chain, draw, candidate), of consecutive `items`
    only if given. `progress` is called, by any thread, with the number of newly finished items, counted over all chains.
    """
    start, streams, log_worth = posterior.candidate_start, state["stream"], state["log_worth"]
    n_items = streams.shape[1]
    which = items or slice(0, n_items)
    thinning, origin = np.broadcast_to(thinning, n_items), start[which.start]
    out = np.empty((plan.chains, plan.draws, start[which.stop] - origin), plan.dtype)

    def run(first: int, chain: int) -> None:
        end = min(first + ITEMS_PER_TASK, which.stop)
        for item in range(first, end):
            own = slice(start[item], start[item + 1])
            draws = np.empty((plan.draws, own.stop - own.start))
            schedule, place = Schedule(plan.tune, int(thinning[item])), (log_worth[chain, own], draws)
            continue_item(streams[chain, item], item, posterior, schedule, place)
            out[chain, :, own.start - origin : own.stop - origin] = draws
        progress(end - first)

    tasks = product(range(which.start, which.stop, ITEMS_PER_TASK), range(plan.chains))
    in_threads(run, tasks, plan.threads)
    return out


PILOT_CANDIDATES = 2_000  # of one block of items of a pilot run, which is in memory several times


def pilot_thinning(posterior: WorthPosterior, keys: np.ndarray, plan: ChainPlan) -> np.ndarray:
    """Sweeps per kept draw, int64 (item,), by a pilot run: the smallest ESS among an item's plausibilities decides."""
    start, state = posterior.candidate_start, {}

    def draw(chains: ChainPlan, items: slice) -> np.ndarray:
        if not state:
            state.update(begin_worths(posterior, keys, chains))
        log_worth = continue_worths(posterior, 1, chains, state, items=items)
        return plausibilities(log_worth, start[items.start : items.stop + 1] - start[items.start])

    edges = np.flatnonzero(np.diff(start[:-1] // PILOT_CANDIDATES, prepend=-1)).tolist()
    blocks = [slice(*ends) for ends in pairwise(sorted({0, *edges, len(keys)}))]
    few = None if len(blocks) == 1 else False  # the same arithmetic for the last block
    found = (
        pilot(partial(draw, items=own), plan, first=start[own] - start[own.start], few=few) for own in blocks
    )
    return np.concatenate([np.empty(0, np.int64), *found])


def plausibilities(log_worth: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Normalise worths, log_worth (..., draw, candidate), within each item; start (item + 1,), first candidates."""
    out = np.empty_like(log_worth)
    for index in np.ndindex(log_worth.shape[:-2]):
        normalise_worths(log_worth[index], start, out[index])
    return out


# --- The sampler as a run ---

SWEEPS_BEFORE = 200  # default warm-up of Gibbs


def begin_gibbs(law: WorthLaw, model: pm.Model, plan: Draws, found: Tuning | None = None) -> Run:
    """Set up the Gibbs loop of worths; `found` restores the thinning (item,)."""
    likelihood, (shape, rate) = law
    annotations = distinct_annotations(
        likelihood.block, likelihood.candidate, likelihood.reliability, len(shape), likelihood.start
    )
    start = annotations.candidate_start
    posterior = worth_posterior(annotations, shape, rate)
    chains = plan.chain(SWEEPS_BEFORE)
    keys = item_keys(np.asarray(model.coords.get("item", range(len(start) - 1))))
    if found is None:
        thin = pilot_thinning(posterior, keys, chains) if plan.thin == "pilot" else plan.thin
        found = {"thinning": np.broadcast_to(thin, len(keys)).astype(np.int64)}
    thinning, state = found["thinning"], begin_worths(posterior, keys, chains)
    stats = xr.Dataset({"thinning": ("item", thinning)})

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        with compiled_step("Drawing item by item", plan.chains * len(keys), shown=plan.progressbar) as bar:
            log_worth = continue_worths(posterior, thinning, chains.part(drawn, n), state, bar.advance)
        groups = _densities(model, law, log_worth, plan) if plan.densities else {}
        return posterior_groups(model, log_worth, start) | {"sample_stats": stats} | groups

    def by_items(n: int, advance: Callable[[int], None]) -> ItemBlocks:
        del advance  # nothing is drawn before the items are
        each = np.arange(len(keys) + 1)
        starts = {"item": each, "candidate": start, "annotation": np.searchsorted(item, each)}

        def of(items: slice, kept: slice) -> dict[str, dict[str, xr.Variable]]:
            log_worth = continue_worths(posterior, thinning, chains.part(0, n), state, items=items)
            places = {dim: slice(*own[[items.start, items.stop]].tolist()) for dim, own in starts.items()}
            own = start[items.start : items.stop + 1] - start[items.start]
            return _block_groups(model, law, log_worth, plan, (own, places, kept))

        return ItemBlocks({"sample_stats": stats}, starts, of)

    item = np.searchsorted(start, likelihood.candidate[:, 0], side="right") - 1
    in_order = bool((np.diff(item) >= 0).all())  # annotations by item, as builders have them
    return Run(found, state, draw, shows_progress=True, by_items=by_items if in_order else None)


def _block_groups(
    model: pm.Model,
    law: WorthLaw,
    log_worth: np.ndarray,
    plan: Draws,
    which: tuple[np.ndarray, dict[str, slice], slice],
) -> dict[str, dict[str, xr.Variable]]:
    """Return the draws of some items, log_worth (chain, draw, candidate), overwritten; densities of some draws.

    `which` holds the first candidate of each of the items (item + 1,), their places along each dim, and the draws whose
    densities are wanted.
    """
    likelihood, (shape, rate) = law
    (start, places, kept), name = which, str(likelihood.worth.name)
    own, rows = places["candidate"], places["annotation"]
    of_draw = shape_of(likelihood.worth)[1:]
    dims = ("chain", "draw", *(("item", "category") if of_draw else ("candidate",)))

    def shaped(array: np.ndarray) -> xr.Variable:
        return xr.Variable(dims, array.reshape(*array.shape[:2], -1, *of_draw))

    groups = {}
    if plan.densities:
        thinned = np.ascontiguousarray(log_worth[:, kept])
        block = likelihood.block[rows]
        # beyond its candidates ignored
        of_rows = np.where(block >= 0, likelihood.candidate[rows] - own.start, 0)
        pointwise = ranking_log_likelihood(thinned, of_rows, block, plan.cores)
        observed = str(model.observed_RVs[0].name)
        along = row_dim(model)
        groups["log_likelihood"] = {observed: xr.Variable(("chain", "draw", along), pointwise)}
        prior = worth_log_prior(thinned, shape[own], rate[own], plan.cores)
        groups["log_prior"] = {name: shaped(prior)}
    plausibility = plausibilities(log_worth, start)
    with np.errstate(under="ignore"):
        worth = np.exp(log_worth)
    groups["posterior"] = {name: shaped(worth), "plausibility": shaped(plausibility)}
    return groups


def _densities(model: pm.Model, law: WorthLaw, log_worth: np.ndarray, plan: Draws) -> dict[str, xr.Dataset]:
    """Return the groups of pointwise log densities of the draws. Shapes: log_worth (chain, draw, candidate)."""
    likelihood, gammas = law
    pointwise = ranking_log_likelihood(log_worth, likelihood.candidate, likelihood.block, plan.cores)
    prior = worth_log_prior(log_worth, *gammas, plan.cores)
    dims, observed = ("chain", "draw"), model.observed_RVs[0].name
    all_dims = (*dims, row_dim(model))
    coords = {dim: np.arange(n) for dim, n in zip(all_dims, pointwise.shape, strict=True)}
    shaped = prior.reshape(*prior.shape[:2], *shape_of(likelihood.worth))
    return {
        "log_likelihood": xr.Dataset({observed: (all_dims, pointwise)}, coords),
        "log_prior": as_dataset(model, {str(likelihood.worth.name): shaped}, dims),
    }


def posterior_groups(model: pm.Model, log_worth: np.ndarray, start: np.ndarray) -> dict[str, xr.Dataset]:
    """Posterior of worths and plausibilities; log_worth (chain, draw, candidate) is overwritten, start (item + 1,)."""
    plausibility = plausibilities(log_worth, start)
    with np.errstate(under="ignore"):
        worth = np.exp(log_worth)
    shape = (*log_worth.shape[:2], *shape_of(model["worth"]))
    arrays = {"worth": worth.reshape(shape), "plausibility": plausibility.reshape(shape)}
    return {"posterior": as_dataset(model, arrays, ("chain", "draw"))}


def _read(model: pm.Model) -> WorthLaw:
    """Read a Plackett-Luce model and its Gamma priors; raise NotConjugate for any other model."""
    if not model.observed_RVs and "candidate_item" in model.named_vars:
        refuse_further(model, [rv for rv in model.free_RVs if rv.name == "worth"])
    likelihood = read_rankings(model)
    prior = gamma_parameters(likelihood.worth)
    refuse_further(model, [likelihood.worth], "; use WorthGibbs as a step of pm.sample")
    return likelihood, prior


def _name(model: pm.Model, law: WorthLaw | None) -> str | None:
    """Return the name of a ranking model: tempered if the reliability scales the worths, not the power of the likelihood."""
    if law is not None:
        return PLACKETT_LUCE.name
    ours = {"reliability", "observed_ranking", "worth", "other_size"} <= set(model.named_vars)
    if not ours or [rv.name for rv in model.free_RVs] != ["worth"]:
        return None
    observed = model["observed_ranking"]
    log_worth, *_ = observed.owner.op.dist_params(observed.owner)
    tempered = model["reliability"] in ancestors([log_worth])
    return (TEMPERED_PLACKETT_LUCE if tempered else PLACKETT_LUCE).name


def numbers_of_worths(
    model: pm.Model, prior: tuple[np.ndarray, np.ndarray]
) -> dict[str, tuple[str, np.ndarray]]:
    """Return shapes and rates of the worths, each (candidate,), by candidate, or by item where each has all categories."""
    by_candidate = "candidate_item" in model.named_vars
    rows = (-1,) if by_candidate else (len(model.coords["item"] or ()), -1)
    dim = "candidate" if by_candidate else "item"
    return {name: (dim, own.reshape(rows)) for name, own in zip(("shape", "rate"), prior, strict=True)}


def _numbers_by_item(model: pm.Model) -> dict[str, tuple[str, np.ndarray]]:
    """Return shape and rate of the worths of each item, and the reliability of its rankings."""
    likelihood = read_rankings(model)
    worths = numbers_of_worths(model, gamma_parameters(likelihood.worth))
    return worths | {"reliability": ("annotation", likelihood.reliability)}


SAMPLER = Sampler(
    law=None,  # the reason why NUTS draws a model of no known law is that of its reader
    read=_read,
    begin=begin_gibbs,
    reason="Gamma worths behind partial rankings with whole reliabilities are conjugate",
    name=_name,
    numbers_by_item=_numbers_by_item,
)
"""Sampler of partial rankings, and the last to be asked."""


# --- Worths without data: independent draws from their Gamma prior ---

PRIOR_BLOCK = 256  # items per task


def draw_prior_log_worths(
    law: tuple[np.ndarray, np.ndarray], start: np.ndarray, streams: np.ndarray, plan: ChainPlan
) -> np.ndarray:
    """Draw independent log worths of all items from their Gamma priors.

    Shapes: law, shapes and rates (candidate,); start (item + 1,), candidates of item i are start[i]:start[i + 1];
    streams (chain, 4, item), advanced in place; returns (chain, draw, candidate).
    """
    out = np.empty((plan.chains, plan.draws, start[-1]), plan.dtype)
    shape, log_rate = law[0], np.log(law[1])

    def run(chain: int, first: int) -> None:
        bounds = start[first : first + PRIOR_BLOCK + 1]
        own = slice(bounds[0], bounds[-1])
        block = streams[chain, :, first : first + PRIOR_BLOCK]
        draw_log_gammas(block, bounds, shape[own], log_rate[own], out[chain, :, own])

    in_threads(run, product(range(plan.chains), range(0, len(start) - 1, PRIOR_BLOCK)), plan.threads)
    return out


def begin_independent(
    law: tuple[np.ndarray, np.ndarray], model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up independent draws of worths from their prior. Shapes: law, shapes and rates (candidate,)."""
    start = np.searchsorted(
        model["candidate_item"].get_value(), np.arange(len(model.coords["item"] or ()) + 1)
    )
    keys = item_keys(np.asarray(model.coords["item"]))
    streams, chains = streams_of_items(keys, plan.chains, plan.seed), plan.chain(tune=0)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        log_worth = draw_prior_log_worths(law, start, streams, chains.part(drawn, n))
        return posterior_groups(model, log_worth, start)

    return Run({}, {"stream": streams}, draw)


def _is_independent(model: pm.Model) -> bool:
    """Whether the only random variable is a Gamma ``worth`` of flat candidates with constant parameters."""
    if model.observed_RVs or model.potentials or [rv.name for rv in model.free_RVs] != ["worth"]:
        return False
    try:
        gamma_parameters(model.free_RVs[0])
    except ValueError:
        return False
    return True


def _read_prior(model: pm.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return shapes and rates of the worths."""
    return gamma_parameters(model.free_RVs[0])


INDEPENDENT = Sampler(
    law=None,
    variables=("candidate_item",),
    where=_is_independent,
    read=_read_prior,
    begin=begin_independent,
    reason="nothing is observed and the worths are independent Gammas",
    method="exact",
    name=PRIRN.name,
    numbers_by_item=lambda model: numbers_of_worths(model, _read_prior(model)),
)
