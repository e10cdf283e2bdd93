"""The posterior of comparisons without a sampler: its normal approximation, and draws of it that are weighed and resampled."""

import warnings

import numpy as np
import pymc as pm
import xarray as xr
from arviz_stats.base.array import array_stats
from threadpoolctl import threadpool_limits

from .comparison_routes import comparison_posterior
from .diagnostics import ConvergenceWarning
from .groups import CodeNames, constant_groups
from .kernels.anchored_posterior import BOX, LOG, NONE, SHARED, PairPrior, anchored_log_p
from .kernels.laplace_centre import find_centre
from .labelling import label
from .steps.comparison_reading import PairStructure, read_comparisons
from .steps.comparison_values import values_of

__all__ = ["laplace", "laplace_sample"]

RELIABLE = 0.5  # largest Pareto k: the weights have a variance


def laplace(model: pm.Model) -> xr.Dataset:
    """Estimate a model of comparisons by the centre of its posterior, with standard errors.

    Parameters
    ----------
    model : pymc.Model
        Of `models.bradley_terry` or `models.thurstone`, without covariates.

    Returns
    -------
    Dataset
        ``quality`` and ``quality_sd`` (item), ``reliability`` and ``reliability_sd`` (rater), and the same of the scales, ``tie``
        and ``left_bias`` where the model has them: the centre, and standard deviations of the normal approximation, by the delta
        method. Attribute ``iterations``.

    Raises
    ------
    ValueError
        If the model is another; the message says where it differs.

    References
    ----------
    Tierney and Kadane (1986), Accurate approximations for posterior moments and marginal densities, JASA 81, section 2,
    doi:10.1080/01621459.1986.10478240.
    """
    structure = read_comparisons(model)
    centre = find_centre(structure.cells, structure.prior)
    theta, inverse = centre.laplace.centre, centre.laplace.inverse
    values = values_of(theta, structure.prior)
    sd = _standard_errors(values, inverse, structure.prior)
    found = {name: values[role] for name, role in _names(structure).items()}
    found |= {f"{name}_sd": sd[role] for name, role in _names(structure).items()}
    dims = {"quality": "item", "reliability": "rater"}
    data = {
        name: ((dims[base],) if (base := name.removesuffix("_sd")) in dims else (), value)
        for name, value in found.items()
    }
    coords = {
        dim: np.asarray(model.coords[dim]) for dim in {d for own, _ in data.values() for d in own}
    }
    return xr.Dataset(data, coords, {"iterations": centre.iterations})


def _names(structure: PairStructure) -> dict[str, str]:
    """Return the names of what is estimated, and their roles."""
    roles = [role for role in structure.variables if role != "rater"]
    names = {"rater_scale": "reliability_scale"}
    own = {names.get(role, role): role for role in roles}
    return own | ({"reliability": "reliability"} if "rater" in structure.variables else {})


def _standard_errors(
    values: dict[str, np.ndarray], inverse: np.ndarray, prior: PairPrior
) -> dict[str, np.ndarray]:
    """Return the standard deviation of everything in `values`, by the delta method."""
    n, k = prior.n_items, prior.n_raters
    spread = {}
    quality, rater = inverse[:, :n], inverse[:, n : n + k]  # columns whose products are covariances
    if prior.form != BOX:
        quality = quality - quality.mean(axis=1, keepdims=True)
        rater = rater - rater.mean(axis=1, keepdims=True)
    spread["quality"] = np.linalg.norm(quality, axis=0)
    if prior.form != SHARED:
        spread["reliability"] = np.linalg.norm(rater, axis=0)
    if prior.form == BOX:
        share = (values["reliability"] - prior.low) / (prior.high - prior.low)
        spread["quality"] *= values["quality"] * (1 - values["quality"])
        spread["reliability"] *= (prior.high - prior.low) * share * (1 - share)
    if prior.form == LOG:
        spread["reliability"] *= values["reliability"]
    for role, place in zip(
        ("quality_scale", "rater_scale", "left_bias", "tie"), prior.at, strict=True
    ):
        if place != NONE:
            own = np.linalg.norm(inverse[:, place])
            spread[role] = own if role == "left_bias" else own * values[role]
    return spread


def laplace_sample(
    model: pm.Model, *, draws: int = 1000, chains: int = 4, random_seed: int | None = None
) -> xr.DataTree:
    """Draw from the normal approximation of a model of comparisons, weigh the draws by the posterior, and resample.

    Parameters
    ----------
    model : pymc.Model
        As `laplace` takes it.
    draws, chains : int, default 1000 and 4
        How many are proposed, and kept: laid out as those of a sampler, in random order.
    random_seed : int, optional
        Seed.

    Returns
    -------
    DataTree
        As `sample` returns it, without densities. Attributes ``pareto_k``, the tail index of the weights, and
        ``effective_draws``, their effective number. A proposal may stand several times.

    Raises
    ------
    ValueError
        If the model is another.

    Warns
    -----
    ConvergenceWarning
        If the posterior is far from normal: the Pareto k is above .5, votes are so few that they leave a scale open (of its tail
        no k tells), or raters contradict each other. Use `sample`.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling, JMLR 25(72).
    """
    structure = read_comparisons(model)
    found = find_centre(structure.cells, structure.prior)
    centre = found.laplace
    rng = np.random.default_rng(random_seed)
    z = rng.standard_normal((draws * chains, len(centre.centre)))
    with threadpool_limits(limits=1):  # the same on any number of cores
        theta = centre.centre + z @ centre.inverse
    gradient = np.empty(len(centre.centre))
    log_p = [anchored_log_p(t, structure.cells, structure.prior, gradient) for t in theta]
    log_weight, pareto_k = array_stats.psislw(-(np.array(log_p) + 0.5 * (z**2).sum(axis=1)))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    wrong = [f"Pareto k is {pareto_k:.2f}, above {RELIABLE}"] if pareto_k > RELIABLE else []
    wrong += ["the votes leave a scale open"] if found.open_scales else []
    wrong += ["raters who contradict each other can be read in two ways"] if found.rival else []
    if wrong:
        warnings.warn(
            f"{'; '.join(wrong)}: the posterior is far from normal; use inference.sample",
            ConvergenceWarning,
            stacklevel=2,
        )
    places = (np.arange(draws * chains) + rng.random()) / (draws * chains)
    chosen = np.searchsorted(np.cumsum(weight), places).clip(max=len(weight) - 1)
    kept = rng.permutation(theta[chosen]).reshape(chains, draws, -1)
    groups = {"posterior": comparison_posterior(model, structure, kept)} | constant_groups(model)
    tree = xr.DataTree.from_dict(groups)
    if names := CodeNames.of(model):
        tree = label(tree, names)
    op = model.observed_RVs[0].owner.op
    tree.attrs |= {
        "model": op.link,
        "method": "laplace",
        "pareto_k": float(pareto_k),
        "effective_draws": float(1 / (weight**2).sum()),
    }
    return tree
