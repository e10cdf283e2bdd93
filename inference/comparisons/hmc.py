"""Sampler of comparison models: the compiled Laplace-split HMC loop."""

import warnings
from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

from ...models.data.errors import DataWarning
from ...models.distributions.graded_votes import GradedVotesRV
from ...models.distributions.paired_comparisons import PairedComparisonsRV
from ...models.distributions.paired_comparisons_kernels import PairCodes, Strengths, pair_sweeps
from ...models.distributions.vote_counts import VoteCountsRV
from ..runs.model_graph import NotConjugate, constant_value
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, in_threads, observes, stream
from ..runs.trees import as_dataset, row_dim
from .kernels.centre import LaplaceFit, fit_laplace
from .kernels.hmc import HmcSchedule, Laplace, PairState, continue_pairs
from .kernels.likelihood import PairCells
from .kernels.posterior import BOX, InformationKind, PairPrior
from .recognition import PairStructure, Votes, read_comparisons, values_of


def as_arrays(centre: LaplaceFit) -> dict[str, np.ndarray]:
    """Serialise a Laplace approximation as named arrays.

    Names: ``centre_*`` and, for a bimodal posterior, ``rival_*`` (fields of `Laplace`); ``kind``,
    ``iterations``, ``open``.
    """
    modes = {"centre": centre.laplace} | ({"rival": centre.second_mode} if centre.second_mode else {})
    values = {"kind": centre.kind, "iterations": centre.iterations, "open": centre.open_scales}
    for mode, laplace in modes.items():
        values |= {f"{mode}_{name}": array for name, array in laplace._asdict().items()}
    return {name: np.asarray(value) for name, value in values.items()}


def as_laplace_fit(arrays: Tuning) -> LaplaceFit:
    """Restore, bit for bit, the Laplace approximation that `as_arrays` serialised."""
    modes = {
        mode: Laplace(*(arrays[f"{mode}_{name}"] for name in Laplace._fields))
        for mode in ("centre", "rival")
        if f"{mode}_centre" in arrays
    }
    kind, iterations = InformationKind(*map(bool, arrays["kind"])), int(arrays["iterations"])
    return LaplaceFit(modes["centre"], kind, iterations, bool(arrays["open"]), modes.get("rival"))


# --- Multi-threaded HMC chains of comparison models; the draws do not depend on the number of threads ---

WANTED_ACCEPTANCE = 0.85
PILOT_DRAWS, PILOT_TUNE = 60, 15
FEWEST_STEPS, MOST_STEPS = 2, 32
SINGLE_STEP_FROM = (
    20_000  # cells: then one step is tried, too, as a pass over them is slow and the posterior nearly normal
)
MOST_REJECTIONS = 10  # in succession, in a pilot run
DISPERSION = 2.0  # standard deviation of the starts, in units of that of the Laplace approximation


def draw_comparisons(
    model: tuple[PairCells, PairPrior], centre: LaplaceFit, steps: int, plan: ChainPlan, spawn_key: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Run all chains from overdispersed starts; of a bimodal posterior, half of them start about the second mode.

    `steps` is the number of leapfrog steps of a transition.
    Shapes: returns draws (chain, draw, coordinate) and mean acceptance probability (chain,).
    """
    state = begin_comparisons(model, centre, plan, spawn_key)
    draws = continue_comparisons(model, centre, steps, plan, state)
    return draws, state["numbers"][:, 1] / (plan.draws * plan.thin)


def begin_comparisons(
    model: tuple[PairCells, PairPrior], centre: LaplaceFit, plan: ChainPlan, spawn_key: int = 0
) -> dict[str, np.ndarray]:
    """Initialise all chains, overdispersed, some at the second mode: stream (chain, word), `PairState` (chain, ...)."""
    n = len(centre.laplace.centre)
    state = {name: np.empty((plan.chains, n)) for name in PairState._fields}
    state["numbers"] = np.empty((plan.chains, 2))
    streams = np.empty((plan.chains, 4), np.uint64)
    for chain in range(plan.chains):
        laplace = _laplace_of(centre, chain)
        rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(spawn_key, chain)))
        z = DISPERSION * rng.standard_normal(n)
        # reproducible: no BLAS
        state["theta"][chain] = laplace.centre + (z[:, None] * laplace.inverse).sum(axis=0)
        streams[chain] = stream(rng)
        fresh = HmcSchedule(0, steps=0, move_scales=False, mirror=False, fresh=True)
        own = _state_of(state, chain)
        continue_pairs(streams[chain], model, laplace, fresh, (own, np.empty((0, n))))
    return {"stream": streams} | state


def continue_comparisons(
    model: tuple[PairCells, PairPrior],
    centre: LaplaceFit,
    steps: int,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
) -> np.ndarray:
    """Run all chains on from their state, overwritten in place, by `steps` leapfrog steps; return (chain, draw, coordinate)."""
    draws = np.empty((plan.chains, plan.draws * plan.thin, len(centre.laplace.centre)))
    schedule = HmcSchedule(plan.tune, steps, centre.open_scales, centre.second_mode is not None)

    def run(chain: int) -> None:
        place = (_state_of(state, chain), draws[chain])
        continue_pairs(state["stream"][chain], model, _laplace_of(centre, chain), schedule, place)

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return draws[:, plan.thin - 1 :: plan.thin]


def _laplace_of(centre: LaplaceFit, chain: int) -> Laplace:
    """Laplace approximation of a chain: that of the second mode, if there is one, for every second chain."""
    return centre.laplace if centre.second_mode is None or chain % 2 == 0 else centre.second_mode


def _state_of(state: dict[str, np.ndarray], chain: int) -> PairState:
    """View of the state of one chain."""
    return PairState(*(state[name][chain] for name in PairState._fields))


def tuned_steps(model: tuple[PairCells, PairPrior], centre: LaplaceFit, seed: int) -> int:
    """Return the number of leapfrog steps of a transition, tuned by pilot runs: from 2, or 1 for many answers, to 32.

    The rule is fixed in advance: the least number with which 60 transitions from near the centre have mean
    acceptance probability 0.85, and no chain stays in place for more than 10 transitions.
    """
    steps = FEWEST_STEPS if len(model[0].wins) < SINGLE_STEP_FROM else 1
    while steps < MOST_STEPS:
        plan = ChainPlan(2, PILOT_DRAWS, PILOT_TUNE, seed)
        draws, acceptance = draw_comparisons(model, centre, steps, plan, spawn_key=1)
        if acceptance.min() >= WANTED_ACCEPTANCE and _longest_rejection_run(draws) <= MOST_REJECTIONS:
            break
        steps = steps + 1 if acceptance.min() > 0.6 else 2 * steps
    return min(steps, MOST_STEPS)


def _longest_rejection_run(draws: np.ndarray) -> int:
    """Largest number of successive rejections in any chain. Shapes: draws (chain, draw, coordinate)."""
    changes = (np.flatnonzero(np.diff(chain)) for chain in draws[..., 0])
    last = draws.shape[1] - 1
    return max(int(np.diff(np.r_[-1, change, last]).max()) - 1 for change in changes)


# --- The run of a model: tuning, draws, log densities ---

TRANSITIONS_BEFORE = 50  # default warm-up
DRAW_BUDGET = 10_000  # distinct answers (cells) times transitions
LARGEST_THINNING = 10  # transitions for each draw
MOST_DENSITIES = 2**29  # entries of a stored pointwise log likelihood: 2 GiB in single precision


def begin_hmc(structure: PairStructure, model: pm.Model, plan: Draws, tuning: Tuning | None = None) -> Run:
    """Set up the compiled HMC loop; `tuning` restores the centre, step number and thinning of an earlier start."""
    answers = (structure.cells, structure.prior)
    if tuning is None:
        centre = fit_laplace(*answers)
        thin = 1 if plan.thin == "pilot" else int(plan.thin)
        if plan.thin == "pilot" and (centre.open_scales or centre.second_mode is not None):
            thin = np.clip(DRAW_BUDGET // len(structure.cells.wins), 1, LARGEST_THINNING)
        steps = tuned_steps(answers, centre, plan.seed)
        tuning = as_arrays(centre) | {"steps": np.array(steps), "thinning": np.array(thin)}
    centre, steps, thin = as_laplace_fit(tuning), int(tuning["steps"]), int(tuning["thinning"])
    chains = replace(plan.chain(TRANSITIONS_BEFORE), thin=thin)
    state = begin_comparisons(answers, centre, chains)
    pointwise = plan.densities and not _exceeds_storage(model, plan)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        theta = continue_comparisons(answers, centre, steps, chains.part(drawn, n), state)
        acceptance = state["numbers"][:, 1] / (thin * (drawn + n))
        stats = {"n_steps": np.int64(steps), "thinning": np.int64(thin)}
        groups = {
            "posterior": comparison_posterior(model, structure, theta),
            "sample_stats": xr.Dataset({"acceptance_rate": ("chain", acceptance)} | stats),
        }
        if plan.densities:
            values = values_of(theta, structure.prior)
            groups["log_prior"] = _log_prior(model, structure, values)
            if pointwise:
                groups["log_likelihood"] = _log_likelihood(model, values, plan, structure.votes)
        return groups

    return Run(tuning, state, draw)


def _exceeds_storage(model: pm.Model, plan: Draws) -> bool:
    """Whether the pointwise log likelihood has too many entries to be stored; warns if so."""
    annotations = model.named_vars_to_dims[str(model.observed_RVs[0].name)][0]
    wanted = (
        plan.chains
        * plan.draws
        * int(constant_value(model.dim_lengths[annotations], "the number of annotations"))
    )
    if wanted > MOST_DENSITIES:
        warnings.warn(
            f"the log likelihood of every annotation would be {wanted:,} numbers, and is left out; pass log_likelihood=False, "
            "or ask for fewer draws",
            DataWarning,
            stacklevel=5,
        )
    return wanted > MOST_DENSITIES


def comparison_posterior(model: pm.Model, structure: PairStructure, theta: np.ndarray) -> xr.Dataset:
    """Free variables and ``reliability`` from theta (chain, draw, coordinate), in doubles: zero-sum ones must sum to zero."""
    values = values_of(theta, structure.prior)
    arrays = {str(rv.name): values[role] for role, rv in structure.variables.items()}
    if "reliability" in model.named_vars and "reliability" in values:
        arrays["reliability"] = values["reliability"]
    return as_dataset(model, arrays, ("chain", "draw"))


def observed_votes(model: pm.Model) -> tuple[PairedComparisonsRV, PairCodes, np.ndarray, np.ndarray]:
    """Return the law of the votes, their codes, and counts (annotation, outcome) and totals (annotation,) of the answers."""
    (observed,) = model.observed_RVs
    op = observed.owner.op
    *_, left, right, rater, total = op.dist_params(observed.owner)
    codes = PairCodes(*(constant_value(code, "the codes").astype(np.int64) for code in (left, right, rater)))
    counts = constant_value(model.rvs_to_values[observed], "the answers")
    return op, codes, counts, constant_value(total, "the totals")


def _log_likelihood(
    model: pm.Model, values: dict[str, np.ndarray], plan: Draws, votes: Votes | None = None
) -> xr.Dataset:
    """Log likelihood (chain, draw, annotation) for values (chain, draw, ...), in the dtype of the plan, multi-threaded."""
    op, codes, counts, total = observed_votes(model)
    orders = gammaln(total + 1) - gammaln(counts + 1).sum(axis=1)
    draws_of = {name: x.reshape(-1, *x.shape[2:]) for name, x in values.items()}
    quality = draws_of["quality"]
    n_draws, n_raters = len(quality), int(codes.rater.max()) + 1  # with covariates every vote is by itself
    log_p = np.empty((n_draws, len(counts)), plan.dtype)
    sweep = pair_sweeps(op.link, op.n_outcomes).log_p

    def of_rater(name: str, draw: int, default: float) -> np.ndarray:
        x = draws_of[name][draw] if name in draws_of else np.array(default)
        x = x[votes.rater] if votes is not None and x.ndim else x
        return np.ascontiguousarray(np.broadcast_to(x, n_raters))

    def fill(*draws: int) -> None:
        found = tuple(np.empty(len(counts)) for _ in range(3))
        for d in draws:
            side = of_rater("left_bias", d, 0.0)
            if votes is not None:
                side = side + votes.covariate @ draws_of["effect"][d]
            own = Strengths(quality[d], of_rater("reliability", d, 1.0), side, of_rater("tie", d, 1.0))
            sweep(own, codes, counts, found)
            log_p[d] = found[0] + orders

    in_threads(fill, np.array_split(np.arange(n_draws), min(64, n_draws)), plan.cores)
    log_p = log_p.reshape(*values["quality"].shape[:-1], len(counts))
    return xr.Dataset({str(model.observed_RVs[0].name): (("chain", "draw", row_dim(model)), log_p)})


def _log_prior(model: pm.Model, structure: PairStructure, values: dict[str, np.ndarray]) -> xr.Dataset:
    """Log prior density of every free variable, given its hyperparameters. Shapes: values (chain, draw, ...)."""
    prior, log_p = structure.prior, {}
    shared = {"quality_scale": prior.quality_scale, "rater_scale": prior.reliability_scale}
    shared |= {"left_bias": prior.left_bias, "tie": prior.tie}
    scales = {"quality": "quality_scale", "rater": "rater_scale"}
    for role, rv in structure.variables.items():
        x = values[role]
        if role == "effect":
            mean, sd = prior.effect
            density = -0.5 * ((x - mean) / sd) ** 2 - np.log(np.sqrt(2 * np.pi) * sd)
        elif role in shared:
            log_x, (mean, sd) = x if role == "left_bias" else np.log(x), shared[role]
            density = -0.5 * ((log_x - mean) / sd) ** 2 - np.log(np.sqrt(2 * np.pi) * sd)
            density = density if role == "left_bias" else density - log_x
        elif prior.form == BOX:
            width = prior.high - prior.low if role == "rater" else 1.0
            density = np.full_like(x, -np.log(width))
        else:
            sigma = np.asarray(values.get(scales[role], np.exp(shared[scales[role]][0])))
            squares = (x**2).sum(axis=-1) / sigma**2
            density = -0.5 * squares - (x.shape[-1] - 1) * np.log(np.sqrt(2 * np.pi) * sigma)
        # dims of the variable, without the dim that a joint density sums over
        dims = model.named_vars_to_dims.get(str(rv.name), ())[: density.ndim - 2]
        log_p[str(rv.name)] = (("chain", "draw", *dims), density)
    return xr.Dataset(log_p)


def _read(model: pm.Model) -> PairStructure:
    """Read a model of comparisons whose votes have dims, by which log likelihoods are stored; graded votes are for NUTS."""
    if observes(model, GradedVotesRV):
        raise NotConjugate(
            "votes on a scale of strength have cut points, which the compiled sampler of comparisons does not draw, and Gibbs "
            "steps of latent preferences and cut points mix slowly"
        )
    if not model.named_vars_to_dims.get(str(model.observed_RVs[0].name)):
        raise NotConjugate('the votes have no dims; pass dims=("annotation", "outcome") of the model')
    return read_comparisons(model)


def _link(model: pm.Model, _: PairStructure | None) -> str:
    """Return the link of the comparisons, which names the model."""
    laws = (rv.owner.op for rv in model.observed_RVs)
    return next(law.link for law in laws if isinstance(law, VoteCountsRV))


SAMPLER = Sampler(
    law=VoteCountsRV,
    read=_read,
    begin=begin_hmc,
    reason="qualities and reliabilities of comparisons are nearly normal about their centre",
    method="hmc",
    name=_link,
)
