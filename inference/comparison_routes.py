"""How comparison models are drawn: by the compiled loop of the Laplace-split sampler."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

from ..models.data.errors import DataWarning
from ..models.distributions.pair_sweep import Codes, Strengths, pair_sweeps
from .comparison_chains import PairPlan, draw_comparisons, tuned_steps
from .groups import as_dataset
from .kernels.anchored_posterior import BOX
from .kernels.laplace_centre import Centre, find_centre
from .plan import Draws
from .steps.comparison_reading import PairStructure, read_comparisons
from .steps.comparison_values import values_of
from .steps.reading import number

__all__ = ["comparison_posterior", "draw_with_hmc"]

TRANSITIONS_BEFORE = 50  # default warm-up
CHEAP, LARGEST_THINNING = (
    10_000,
    10,
)  # cells times transitions that a draw may cost, and most transitions
MOST_DENSITIES = 2**29  # pointwise log likelihoods that are stored: two gigabytes


def draw_with_hmc(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw all free variables by the compiled loop."""
    structure = read_comparisons(model)
    centre = find_centre(structure.cells, structure.prior)
    answers = (structure.cells, structure.prior)
    steps = tuned_steps(answers, centre, plan.seed)
    tune = TRANSITIONS_BEFORE if plan.tune is None else plan.tune
    thin = (
        _usual_thinning(centre, len(structure.cells.wins))
        if plan.thin == "pilot"
        else int(plan.thin)
    )
    chains = PairPlan(plan.chains, plan.draws, tune, thin, plan.seed, plan.cores)
    theta, acceptance = draw_comparisons(answers, centre, steps, chains)
    groups = {"posterior": comparison_posterior(model, structure, theta)}
    groups["sample_stats"] = xr.Dataset(
        {
            "acceptance_rate": ("chain", acceptance),
            "n_steps": np.int64(steps),
            "thinning": np.int64(thin),
        }
    )
    if plan.densities:
        groups |= _densities(model, structure, theta, plan)
    return groups


def _usual_thinning(centre: Centre, n_cells: int) -> int:
    """Return the transitions for each draw: more where scales are open, as with few votes, and transitions cost nothing."""
    if not centre.open_scales and centre.rival is None:
        return 1
    return int(np.clip(CHEAP // n_cells, 1, LARGEST_THINNING))


def comparison_posterior(
    model: pm.Model, structure: PairStructure, theta: np.ndarray
) -> xr.Dataset:
    """Return draws of coordinates as draws of the model's variables.

    Parameters
    ----------
    model : pymc.Model
        The model.
    structure : PairStructure
        What was read of it.
    theta : ndarray, shape (chain, draw, coordinate)
        Draws.

    Returns
    -------
    Dataset
        Free variables, and ``reliability``, in double precision: in single precision a sum of zero is none.
    """
    values = values_of(theta, structure.prior)
    arrays = {str(rv.name): values[role] for role, rv in structure.variables.items()}
    if "reliability" in model.named_vars and "reliability" in values:
        arrays["reliability"] = values["reliability"]
    return as_dataset(model, arrays, ("chain", "draw"))


def _densities(
    model: pm.Model, structure: PairStructure, theta: np.ndarray, plan: Draws
) -> dict[str, xr.Dataset]:
    """Return each annotation's log likelihood and each variable's log prior."""
    values, sample = values_of(theta, structure.prior), ("chain", "draw")
    log_prior = _log_prior(structure, values)
    groups = {"log_prior": _named(model, log_prior, sample)}
    observed = model.observed_RVs[0]
    annotations = model.named_vars_to_dims[str(observed.name)][0]
    wanted = theta.shape[0] * theta.shape[1] * model.dim_lengths[annotations].eval()
    if wanted > MOST_DENSITIES:
        warnings.warn(
            f"the log likelihood of every annotation would be {wanted:,} numbers, and is left out; pass log_likelihood=False, "
            "or ask for fewer draws",
            DataWarning,
            stacklevel=5,
        )
        return groups
    log_p = _log_likelihood(model, values, plan)
    dims = (*sample, annotations)
    groups["log_likelihood"] = xr.Dataset({str(observed.name): (dims, log_p)})
    return groups


def _named(model: pm.Model, arrays: dict[str, np.ndarray], sample: tuple[str, str]) -> xr.Dataset:
    """Name the dims of densities: those of the variable, but for the one that its law sums over."""
    dims = {name: model.named_vars_to_dims.get(name, ()) for name in arrays}
    variables = {
        name: ((*sample, *dims[name][: value.ndim - 2]), value) for name, value in arrays.items()
    }
    return xr.Dataset(variables)


def _log_likelihood(model: pm.Model, values: dict[str, np.ndarray], plan: Draws) -> np.ndarray:
    """Return the log likelihood of every annotation for every draw, in threads over draws."""
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
    """Return the log prior density of every free variable."""
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
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(np.sqrt(2 * np.pi) * sd)
