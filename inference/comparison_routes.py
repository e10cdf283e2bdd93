"""Sampler of comparison models: the compiled Laplace-split HMC loop."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

from ..models.data.errors import DataWarning
from ..models.distributions.pair_sweep import Codes, Strengths, pair_sweeps
from .centre_arrays import as_arrays, as_centre
from .comparison_chains import PairPlan, begin_comparisons, continue_comparisons, tuned_steps
from .groups import as_dataset
from .kernels.anchored_posterior import BOX
from .kernels.laplace_centre import Centre, find_centre
from .plan import Draws
from .runs import Found, Run
from .steps.comparison_reading import PairStructure, read_comparisons
from .steps.comparison_values import values_of
from .steps.reading import number

__all__ = ["begin_hmc", "comparison_posterior"]

TRANSITIONS_BEFORE = 50  # default warm-up
CHEAP = 10_000  # budget of a draw: distinct answers (cells) times transitions
LARGEST_THINNING = 10  # transitions for each draw
MOST_DENSITIES = 2**29  # entries of a stored pointwise log likelihood: 2 GiB in single precision


def begin_hmc(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up the compiled HMC loop; `found` restores the centre, step number and thinning of an earlier start."""
    structure = read_comparisons(model)
    answers = (structure.cells, structure.prior)
    if found is None:
        centre = find_centre(*answers)
        usual = _usual_thinning(centre, len(structure.cells.wins))
        found = as_arrays(centre) | {
            "steps": np.array(tuned_steps(answers, centre, plan.seed)),
            "thinning": np.array(usual if plan.thin == "pilot" else int(plan.thin)),
        }
    centre, steps, thin = as_centre(found), int(found["steps"]), int(found["thinning"])
    tune = TRANSITIONS_BEFORE if plan.tune is None else plan.tune
    chains = PairPlan(plan.chains, plan.draws, tune, thin, plan.seed, plan.cores)
    state = begin_comparisons(answers, centre, chains)
    wide = plan.densities and _too_wide(model, plan)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        now = replace(chains, draws=n, tune=0 if drawn else tune)
        theta = continue_comparisons(answers, centre, steps, now, state)
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


def comparison_posterior(
    model: pm.Model, structure: PairStructure, theta: np.ndarray
) -> xr.Dataset:
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
    variables = {
        name: ((*sample, *dims[name][: value.ndim - 2]), value) for name, value in arrays.items()
    }
    return xr.Dataset(variables)


def _log_likelihood(model: pm.Model, values: dict[str, np.ndarray], plan: Draws) -> np.ndarray:
    """Log likelihood of every annotation for every draw, multi-threaded over draws.

    Shapes: values of variables (chain, draw, ...); returns (chain, draw, annotation) in the dtype of the
    plan.
    """
    observed = model.observed_RVs[0]
    op = observed.owner.op
    *_, left, right, rater, total = op.dist_params(observed.owner)
    codes = Codes(*(number(code, "the codes").astype(np.int64) for code in (left, right, rater)))
    counts = number(model.rvs_to_values[observed], "the answers")
    orders = gammaln(number(total, "the totals") + 1) - gammaln(counts + 1).sum(axis=1)
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

    def fill(draws: np.ndarray) -> None:
        found = tuple(np.empty(len(counts)) for _ in range(3))
        for d in draws:
            own = Strengths(quality[d], *(np.ascontiguousarray(x[d]) for x in of_raters))
            sweep(own, codes, counts, found)
            log_p[d] = found[0] + orders

    with ThreadPoolExecutor(plan.cores) as pool:
        list(pool.map(fill, np.array_split(np.arange(n_draws), min(64, n_draws))))
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
