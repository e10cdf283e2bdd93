"""Sampler of comparison models: the compiled Laplace-split HMC loop."""

import warnings
from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

from ...models.data.errors import DataWarning
from ...models.distributions.paired_comparisons_kernels import Codes, Strengths, pair_sweeps
from ..kernels.random_streams import stream
from ..runs.model_graph import constant_value
from ..runs.run import ChainPlan, Draws, Run, Tuning, in_threads
from ..runs.trees import as_dataset
from .kernels.centre import Centre, find_centre
from .kernels.hmc import HmcSchedule, Laplace, PairState, begin_pairs, continue_pairs
from .kernels.likelihood import PairCells
from .kernels.posterior import BOX, Kind, PairPrior
from .recognition import PairStructure, values_of


def as_arrays(centre: Centre) -> dict[str, np.ndarray]:
    """Serialise a Laplace approximation as named arrays.

    Names: ``centre_*`` and, for a bimodal posterior, ``rival_*`` (fields of `Laplace`); ``kind``,
    ``iterations``, ``open``.
    """
    sides = {"centre": centre.laplace} | ({"rival": centre.rival} if centre.rival else {})
    arrays = {
        f"{side}_{name}": array
        for side, laplace in sides.items()
        for name, array in laplace._asdict().items()
    }
    others = {"kind": centre.kind, "iterations": centre.iterations, "open": centre.open_scales}
    return arrays | {name: np.array(value) for name, value in others.items()}


def as_centre(arrays: Tuning) -> Centre:
    """Restore, bit for bit, the Laplace approximation that `as_arrays` serialised."""
    sides = {
        side: Laplace(*(arrays[f"{side}_{name}"] for name in Laplace._fields))
        for side in ("centre", "rival")
        if f"{side}_centre" in arrays
    }
    kind, iterations = Kind(*map(bool, arrays["kind"])), int(arrays["iterations"])
    return Centre(sides["centre"], kind, iterations, bool(arrays["open"]), sides.get("rival"))


# --- Multi-threaded HMC chains of comparison models; the draws do not depend on the number of threads ---

WANTED_ACCEPTANCE = 0.85
PILOT_DRAWS, PILOT_TUNE = 60, 15
FEWEST_STEPS, MOST_STEPS = 2, 32
PATIENCE = 10  # most successive rejections in a pilot run
DISPERSION = 2.0  # standard deviation of the starts, in units of that of the Laplace approximation


def draw_comparisons(
    model: tuple[PairCells, PairPrior], centre: Centre, steps: int, plan: ChainPlan, spawn_key: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Run all chains from overdispersed starts; of a bimodal posterior, half of them start about the second mode.

    `steps` is the number of leapfrog steps of a transition.
    Shapes: returns draws (chain, draw, coordinate) and mean acceptance probability (chain,).
    """
    state = begin_comparisons(model, centre, plan, spawn_key)
    draws = continue_comparisons(model, centre, steps, plan, state)
    return draws, state["numbers"][:, 1] / (plan.draws * plan.thin)


def begin_comparisons(
    model: tuple[PairCells, PairPrior], centre: Centre, plan: ChainPlan, spawn_key: int = 0
) -> dict[str, np.ndarray]:
    """Initialise all chains at overdispersed starts; of a bimodal posterior, half of them about the second mode.

    `spawn_key` is the first one of the seeds: 0 for the run, 1 for its pilot runs.
    Shapes of the returned state: stream (chain, word); the fields of `PairState` with a leading dim chain.
    """
    n = len(centre.laplace.centre)
    state = {name: np.empty((plan.chains, n)) for name in PairState._fields}
    state["numbers"] = np.empty((plan.chains, 2))
    streams = np.empty((plan.chains, 4), np.uint64)
    for chain in range(plan.chains):
        laplace = _laplace_of(centre, chain)
        seed = np.random.SeedSequence(plan.seed, spawn_key=(spawn_key, chain))
        rng = np.random.default_rng(seed)
        z = DISPERSION * rng.standard_normal(n)
        away = (z[:, None] * laplace.inverse).sum(axis=0)  # no BLAS: reproducible
        state["theta"][chain] = laplace.centre + away
        streams[chain] = stream(rng)
        begin_pairs(model, laplace, _state_of(state, chain))
    return {"stream": streams} | state


def continue_comparisons(
    model: tuple[PairCells, PairPrior],
    centre: Centre,
    steps: int,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
) -> np.ndarray:
    """Run all chains on from their state, which is overwritten in place.

    `steps` is the number of leapfrog steps of a transition. Shapes: returns (chain, draw, coordinate).
    """
    draws = np.empty((plan.chains, plan.draws * plan.thin, len(centre.laplace.centre)))
    schedule = HmcSchedule(plan.tune, steps, centre.open_scales, centre.rival is not None)

    def run(chain: int) -> None:
        place = (_state_of(state, chain), draws[chain])
        continue_pairs(state["stream"][chain], model, _laplace_of(centre, chain), schedule, place)

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return draws[:, plan.thin - 1 :: plan.thin]


def _laplace_of(centre: Centre, chain: int) -> Laplace:
    """Laplace approximation of a chain: that of the second mode, if there is one, for every second chain."""
    return centre.laplace if centre.rival is None or chain % 2 == 0 else centre.rival


def _state_of(state: dict[str, np.ndarray], chain: int) -> PairState:
    """View of the state of one chain."""
    return PairState(*(state[name][chain] for name in PairState._fields))


def tuned_steps(model: tuple[PairCells, PairPrior], centre: Centre, seed: int) -> int:
    """Return the number of leapfrog steps of a transition, tuned by pilot runs: from 2 to 32.

    The rule is fixed in advance: the least number with which 60 transitions from near the centre have mean
    acceptance probability 0.85, and no chain stays in place for more than 10 transitions.
    """
    steps = FEWEST_STEPS
    while steps < MOST_STEPS:
        plan = ChainPlan(2, PILOT_DRAWS, PILOT_TUNE, seed)
        draws, acceptance = draw_comparisons(model, centre, steps, plan, spawn_key=1)
        if acceptance.min() >= WANTED_ACCEPTANCE and _longest_stay(draws) <= PATIENCE:
            break
        steps = steps + 1 if acceptance.min() > 0.6 else 2 * steps
    return min(steps, MOST_STEPS)


def _longest_stay(draws: np.ndarray) -> int:
    """Largest number of successive rejections in any chain. Shapes: draws (chain, draw, coordinate)."""
    longest = 0
    for chain in draws[..., 0]:
        moved = np.flatnonzero(np.diff(chain))
        stays = np.diff(np.r_[-1, moved, len(chain) - 1])
        longest = max(longest, int(stays.max()) - 1)
    return longest


# --- Sampler of comparison models: the compiled Laplace-split HMC loop ---

TRANSITIONS_BEFORE = 50  # default warm-up
CHEAP = 10_000  # budget of a draw: distinct answers (cells) times transitions
LARGEST_THINNING = 10  # transitions for each draw
MOST_DENSITIES = 2**29  # entries of a stored pointwise log likelihood: 2 GiB in single precision


def begin_hmc(structure: PairStructure, model: pm.Model, plan: Draws, found: Tuning | None = None) -> Run:
    """Set up the compiled HMC loop; `found` restores the centre, step number and thinning of an earlier start."""
    answers = (structure.cells, structure.prior)
    if found is None:
        centre = find_centre(*answers)
        usual = _usual_thinning(centre, len(structure.cells.wins))
        found = as_arrays(centre) | {
            "steps": np.array(tuned_steps(answers, centre, plan.seed)),
            "thinning": np.array(usual if plan.thin == "pilot" else int(plan.thin)),
        }
    centre, steps, thin = as_centre(found), int(found["steps"]), int(found["thinning"])
    chains = replace(plan.chain(TRANSITIONS_BEFORE), thin=thin)
    state = begin_comparisons(answers, centre, chains)
    wide = plan.densities and _too_wide(model, plan)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        theta = continue_comparisons(answers, centre, steps, chains.part(drawn, n), state)
        acceptance = state["numbers"][:, 1] / (thin * (drawn + n))
        stats = {"acceptance_rate": ("chain", acceptance)}
        stats |= {"n_steps": np.int64(steps), "thinning": np.int64(thin)}
        groups = {"posterior": comparison_posterior(model, structure, theta)}
        groups["sample_stats"] = xr.Dataset(stats)
        if plan.densities:
            groups |= _densities(model, structure, theta, replace(plan, densities=not wide))
        return groups

    return Run(found, state, draw)


def _too_wide(model: pm.Model, plan: Draws) -> bool:
    """Whether the pointwise log likelihood has too many entries to be stored; warns if so."""
    annotations = model.named_vars_to_dims[str(model.observed_RVs[0].name)][0]
    wanted = plan.chains * plan.draws * int(np.asarray(model.dim_lengths[annotations].eval()))
    if wanted > MOST_DENSITIES:
        warnings.warn(
            f"the log likelihood of every annotation would be {wanted:,} numbers, and is left out; pass log_likelihood=False, "
            "or ask for fewer draws",
            DataWarning,
            stacklevel=5,
        )
    return wanted > MOST_DENSITIES


def _usual_thinning(centre: Centre, n_cells: int) -> int:
    """Transitions per kept draw: above 1 only where scales mix slowly, or the posterior is bimodal."""
    if not centre.open_scales and centre.rival is None:
        return 1
    return int(np.clip(CHEAP // n_cells, 1, LARGEST_THINNING))


def comparison_posterior(model: pm.Model, structure: PairStructure, theta: np.ndarray) -> xr.Dataset:
    """Convert draws of HMC coordinates to draws of the model's free variables, and ``reliability``.

    Kept in double precision: in single precision zero-sum variables would not sum to zero. Shapes: theta
    (chain, draw, coordinate).
    """
    values = values_of(theta, structure.prior)
    arrays = {str(rv.name): values[role] for role, rv in structure.variables.items()}
    if "reliability" in model.named_vars and "reliability" in values:
        arrays["reliability"] = values["reliability"]
    return as_dataset(model, arrays, ("chain", "draw"))


def _densities(
    model: pm.Model, structure: PairStructure, theta: np.ndarray, plan: Draws
) -> dict[str, xr.Dataset]:
    """Return the groups ``log_prior`` by variable and, unless it is too large, ``log_likelihood`` by annotation."""
    values, sample = values_of(theta, structure.prior), ("chain", "draw")
    log_prior = _log_prior(structure, values)
    groups = {"log_prior": _named(model, log_prior, sample)}
    if not plan.densities:
        return groups
    observed = model.observed_RVs[0]
    annotations = model.named_vars_to_dims[str(observed.name)][0]
    log_p = _log_likelihood(model, values, plan)
    dims = (*sample, annotations)
    groups["log_likelihood"] = xr.Dataset({str(observed.name): (dims, log_p)})
    return groups


def _named(model: pm.Model, arrays: dict[str, np.ndarray], sample: tuple[str, str]) -> xr.Dataset:
    """Attach dims to log densities: those of the variable, without the dim that a joint density sums over."""
    dims = {name: model.named_vars_to_dims.get(name, ()) for name in arrays}
    variables = {name: ((*sample, *dims[name][: value.ndim - 2]), value) for name, value in arrays.items()}
    return xr.Dataset(variables)


def _log_likelihood(model: pm.Model, values: dict[str, np.ndarray], plan: Draws) -> np.ndarray:
    """Log likelihood of every annotation for every draw, multi-threaded over draws.

    Shapes: values of variables (chain, draw, ...); returns (chain, draw, annotation) in the dtype of the
    plan.
    """
    observed = model.observed_RVs[0]
    op = observed.owner.op
    *_, left, right, rater, total = op.dist_params(observed.owner)
    codes = Codes(*(constant_value(code, "the codes").astype(np.int64) for code in (left, right, rater)))
    counts = constant_value(model.rvs_to_values[observed], "the answers")
    orders = gammaln(constant_value(total, "the totals") + 1) - gammaln(counts + 1).sum(axis=1)
    n_raters = int(codes.rater.max()) + 1 if "reliability" not in values else 0
    quality = values["quality"].reshape(-1, values["quality"].shape[-1])
    n_draws = len(quality)
    of_raters = [
        np.broadcast_to(
            values[name].reshape(n_draws, -1) if name in values else np.full((n_draws, 1), default),
            (n_draws, n_raters or values["reliability"].shape[-1]),
        )
        for name, default in (("reliability", 1.0), ("left_bias", 0.0), ("tie", 1.0))
    ]
    log_p = np.empty((n_draws, len(counts)), plan.dtype)
    sweep = pair_sweeps(op.link, op.n_outcomes).log_p

    def fill(*draws: int) -> None:
        found = tuple(np.empty(len(counts)) for _ in range(3))
        for d in draws:
            own = Strengths(quality[d], *(np.ascontiguousarray(x[d]) for x in of_raters))
            sweep(own, codes, counts, found)
            log_p[d] = found[0] + orders

    in_threads(fill, np.array_split(np.arange(n_draws), min(64, n_draws)), plan.cores)
    return log_p.reshape(*values["quality"].shape[:-1], len(counts))


def _log_prior(structure: PairStructure, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Log prior density of every free variable, given its hyperparameters. Shapes: values (chain, draw, ...)."""
    prior, found = structure.prior, {}
    shared = {
        "quality_scale": prior.quality_scale,
        "rater_scale": prior.reliability_scale,
        "left_bias": prior.left_bias,
        "tie": prior.tie,
    }
    scales = {"quality": "quality_scale", "rater": "rater_scale"}
    for role, rv in structure.variables.items():
        x = values[role]
        if role in shared:
            log_x = x if role == "left_bias" else np.log(x)
            density = _normal_log_density(log_x, *shared[role])
            found[str(rv.name)] = density if role == "left_bias" else density - log_x
        elif prior.form == BOX:
            width = prior.high - prior.low if role == "rater" else 1.0
            found[str(rv.name)] = np.full_like(x, -np.log(width))
        else:
            known = np.exp(shared[scales[role]][0])
            sigma = np.asarray(values.get(scales[role], known))
            size = x.shape[-1] - 1
            squares = (x**2).sum(axis=-1) / sigma**2
            found[str(rv.name)] = -0.5 * squares - size * np.log(np.sqrt(2 * np.pi) * sigma)
    return found


def _normal_log_density(x: np.ndarray, mean: float, sd: float) -> np.ndarray:
    """Log density of the normal distribution."""
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(np.sqrt(2 * np.pi) * sd)
