"""How label models are drawn: exactly, or by the compiled Gibbs loop."""

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import betaln, gammaln, xlogy

from .groups import as_dataset
from .kernels.confusion import COIN, ROWS, SPAM, ConfusionPrior
from .label_chains import LabelPlan, draw_labels_model, label_pilot
from .plan import Draws
from .steps.label_reading import (
    LabelStructure,
    constant_prior,
    read_counted_labels,
    read_labels,
)

__all__ = ["draw_counted_labels", "draw_labels_with_gibbs"]

SWEEPS_BEFORE = 200  # default warm-up


def draw_counted_labels(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw plausibilities from their exact Dirichlet posterior."""
    plausibility, alpha, counts, reliability = read_counted_labels(model)
    concentration = alpha + reliability[..., None] * counts
    draws = np.empty((plan.chains, plan.draws, *concentration.shape), plan.dtype)
    log_p = np.empty((plan.chains, plan.draws, len(concentration)), plan.dtype)
    log_prior = np.empty_like(log_p)
    for chain in range(plan.chains):
        rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(chain,)))
        for draw in range(plan.draws):
            gamma = _log_gamma(rng, concentration)
            log_share = gamma - np.logaddexp.reduce(gamma, axis=1, keepdims=True)
            draws[chain, draw] = np.exp(log_share)
            log_p[chain, draw] = (counts * log_share).sum(axis=1)
            log_prior[chain, draw] = _density_of_logs(log_share, alpha)
    sample = ("chain", "draw")
    groups = {"posterior": as_dataset(model, {"plausibility": draws}, sample)}
    if plan.densities:
        items = (*sample, "item")
        observed = str(model.observed_RVs[0].name)
        groups["log_likelihood"] = xr.Dataset({observed: (items, log_p)})
        groups["log_prior"] = xr.Dataset({str(plausibility.name): (items, log_prior)})
    return groups


def _log_gamma(rng: np.random.Generator, shape: np.ndarray) -> np.ndarray:
    """Draw logs of Gammas: a Gamma(a) is a Gamma(a + 1) times U ** (1 / a), which in logs does not underflow."""
    return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def draw_labels_with_gibbs(model: pm.Model, plan: Draws) -> dict[str, xr.Dataset]:
    """Draw prevalence, confusion and plausibility by the compiled loop."""
    structure = read_labels(model)
    answers, prior = structure.answers, constant_prior(model, structure)
    tune = SWEEPS_BEFORE if plan.tune is None else plan.tune
    chains = LabelPlan(plan.chains, plan.draws, tune, plan.seed, plan.cores, plan.dtype)
    thin = label_pilot(answers, prior, chains) if plan.thin == "pilot" else int(plan.thin)
    drawn = draw_labels_model(answers, prior, thin, chains)
    n = len(prior.prevalence)
    confusion = drawn.table.reshape(plan.chains, plan.draws, -1, n, n).swapaxes(-1, -2)
    values = (drawn.prevalence, *structure.skills_of(confusion))
    arrays = {str(rv.name): value for rv, value in zip(structure.free, values, strict=True)}
    if prior.kind != ROWS and "confusion" in model.named_vars:
        arrays["confusion"] = confusion
    if "plausibility" in model.named_vars:
        arrays["plausibility"] = drawn.plausibility
    stored = {name: array.astype(plan.dtype, copy=False) for name, array in arrays.items()}
    sample = ("chain", "draw")
    groups = {
        "posterior": as_dataset(model, stored, sample),
        "sample_stats": xr.Dataset({"thinning": np.int64(thin)}),
    }
    if plan.densities:
        name = model.observed_RVs[0].name
        groups["log_likelihood"] = xr.Dataset({name: ((*sample, "item"), drawn.log_p)})
        groups["log_prior"] = _log_prior(model, structure, prior, values)
    return groups


def _log_prior(
    model: pm.Model,
    structure: LabelStructure,
    prior: ConfusionPrior,
    drawn: tuple[np.ndarray, ...],
) -> xr.Dataset:
    """Return the log prior density of each free variable, pointwise."""
    prevalence, *skills = drawn
    n = len(prior.prevalence)
    concentration = prior.confusion.reshape(-1, n, n)
    if prior.kind == ROWS:
        beta = concentration.swapaxes(1, 2)
        own = [_dirichlet_log_density(skills[0], beta if skills[0].ndim == 5 else beta[0])]
    elif prior.kind == SPAM:
        own = [_beta_log_density(skills[0], concentration[:, 0, 1], concentration[:, 1, 1])]
        own.append(_dirichlet_log_density(skills[1], concentration[:, :, 0]))
    else:
        coin = 0 if prior.kind == COIN else slice(None)
        own = [_beta_log_density(skills[0], concentration[:, 0, coin], concentration[:, 1, coin])]
    sample = ("chain", "draw")
    variables = {"prevalence": (sample, _dirichlet_log_density(prevalence, prior.prevalence))}
    coords = {}
    for rv, log_p in zip(structure.skills, own, strict=True):
        dims = model.named_vars_to_dims[str(rv.name)][: log_p.ndim - 2]
        coords |= {dim: np.asarray(model.coords[dim]) for dim in dims}
        variables[str(rv.name)] = ((*sample, *dims), log_p)
    return xr.Dataset(variables, coords)


def _beta_log_density(p: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the log density of the Beta law."""
    kind = np.finfo(p.dtype)
    p = np.clip(p, kind.tiny, 1 - kind.epsneg)  # what storage has rounded to zero or one
    return xlogy(right - 1, p) + xlogy(wrong - 1, 1 - p) - betaln(right, wrong)


def _dirichlet_log_density(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the log density of the Dirichlet law along the last axis."""
    # a probability that storage has rounded to zero
    return _density_of_logs(np.log(np.maximum(p, np.finfo(p.dtype).tiny)), alpha)


def _density_of_logs(log_p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the log density of the Dirichlet law from logs, of which none is too small."""
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return ((alpha - 1) * log_p).sum(axis=-1) + normaliser
