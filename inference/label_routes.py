"""Sampler of label models with conjugate confusion: the compiled Gibbs loop."""

from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import betaln, gammaln, xlogy

from .groups import as_dataset
from .kernels.confusion import COIN, ROWS, SPAM, ConfusionPrior
from .kernels.label_chain import LabelDraws
from .label_chains import LabelPlan, begin_labels, continue_labels, label_pilot
from .plan import Draws
from .runs import Found, Run
from .steps.label_reading import LabelStructure, constant_prior, read_labels

__all__ = ["begin_labels_gibbs"]

SWEEPS_BEFORE = 200  # default warm-up
SAMPLE = ("chain", "draw")


def begin_labels_gibbs(model: pm.Model, plan: Draws, found: Found | None = None) -> Run:
    """Set up the compiled Gibbs loop of prevalence, confusion and plausibility; `found` restores the thinning."""
    structure = read_labels(model)
    answers, prior = structure.answers, constant_prior(model, structure)
    tune = SWEEPS_BEFORE if plan.tune is None else plan.tune
    chains = LabelPlan(plan.chains, plan.draws, tune, plan.seed, plan.cores, plan.dtype)
    if found is None:
        thin = label_pilot(answers, prior, chains) if plan.thin == "pilot" else int(plan.thin)
        found = {"thinning": np.array(thin)}
    thin, state = int(found["thinning"]), begin_labels(answers, prior, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        now = replace(chains, draws=n, tune=0 if drawn else tune)
        draws = continue_labels(answers, prior, thin, now, state)
        groups = _groups(model, (structure, prior), draws, plan)
        return groups | {"sample_stats": xr.Dataset({"thinning": np.int64(thin)})}

    return Run(found, state, draw)


def _groups(
    model: pm.Model, law: tuple[LabelStructure, ConfusionPrior], drawn: LabelDraws, plan: Draws
) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to draws of the model's variables, with log densities if the plan asks for them."""
    structure, prior = law
    n = len(prior.prevalence)
    confusion = drawn.table.reshape(*drawn.table.shape[:2], -1, n, n).swapaxes(-1, -2)
    values = (drawn.prevalence, *structure.skills_of(confusion))
    arrays = {str(rv.name): value for rv, value in zip(structure.free, values, strict=True)}
    if prior.kind != ROWS and "confusion" in model.named_vars:
        arrays["confusion"] = confusion
    if "plausibility" in model.named_vars:
        arrays["plausibility"] = drawn.plausibility
    stored = {name: array.astype(plan.dtype, copy=False) for name, array in arrays.items()}
    groups = {"posterior": as_dataset(model, stored, SAMPLE)}
    if plan.densities:
        name = model.observed_RVs[0].name
        groups["log_likelihood"] = xr.Dataset({name: ((*SAMPLE, "item"), drawn.log_p)})
        groups["log_prior"] = _log_prior(model, structure, prior, values)
    return groups


def _log_prior(
    model: pm.Model,
    structure: LabelStructure,
    prior: ConfusionPrior,
    drawn: tuple[np.ndarray, ...],
) -> xr.Dataset:
    """Log prior density of each free variable, with its batch dims.

    Shapes: drawn holds prevalence (chain, draw, category), then the skills (chain, draw, ...).
    """
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
    variables = {"prevalence": (SAMPLE, _dirichlet_log_density(prevalence, prior.prevalence))}
    coords = {}
    for rv, log_p in zip(structure.skills, own, strict=True):
        dims = model.named_vars_to_dims[str(rv.name)][: log_p.ndim - 2]
        coords |= {dim: np.asarray(model.coords[dim]) for dim in dims}
        variables[str(rv.name)] = ((*SAMPLE, *dims), log_p)
    return xr.Dataset(variables, coords)


def _beta_log_density(p: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Log density of the Beta(right, wrong) distribution."""
    kind = np.finfo(p.dtype)
    p = np.clip(p, kind.tiny, 1 - kind.epsneg)  # storage may have rounded it to 0 or 1
    return xlogy(right - 1, p) + xlogy(wrong - 1, 1 - p) - betaln(right, wrong)


def _dirichlet_log_density(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Log density of the Dirichlet distribution along the last axis."""
    # storage may have rounded a probability to 0
    return _density_of_logs(np.log(np.maximum(p, np.finfo(p.dtype).tiny)), alpha)


def _density_of_logs(log_p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Log density of the Dirichlet distribution along the last axis, from finite log probabilities."""
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return ((alpha - 1) * log_p).sum(axis=-1) + normaliser
