"""Laplace approximation of the posterior of comparison models, and importance resampling from it."""

import warnings

import numpy as np
import pymc as pm
import xarray as xr
from arviz_stats.base.array import array_stats
from threadpoolctl import threadpool_limits

from ..._messages import OUR_FILES
from ..diagnostics import ConvergenceWarning
from ..runs.trees import CodeNames, constant_groups, label
from .hmc import comparison_posterior
from .kernels.centre import fit_laplace
from .kernels.posterior import BOX, LOG, NONE, SHARED, PairPrior, anchored_density
from .recognition import read_comparisons, values_of

RELIABLE = 0.5  # largest Pareto k with which the weights have a finite variance


def laplace(model: pm.Model) -> xr.Dataset:
    """Estimate a comparison model by the Laplace approximation of its posterior, with standard errors.

    Parameters
    ----------
    model : pymc.Model
        Model built by `models.bradley_terry` or `models.thurstone`, without covariates of items.

    Returns
    -------
    Dataset
        ``quality`` and ``quality_sd`` (item), ``reliability`` and ``reliability_sd`` (rater), and the same
        for the scales, ``tie``, ``left_bias`` and ``vote_effect`` where the model has them: the centre of the approximation
        (the posterior mode given the scales, which are estimated by EM steps), and standard deviations by the
        delta method. Attribute ``iterations``.

    Raises
    ------
    ValueError
        If the model is of another kind; the message says where it differs.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> pairs = models.simulators.comparisons(items=6, raters=4, degree=4, random_seed=1).data
    >>> estimate = inference.laplace(models.bradley_terry(pairs))
    >>> sorted(estimate.data_vars)[:2], dict(estimate.sizes)
    (['quality', 'quality_scale'], {'item': 6, 'rater': 4})

    References
    ----------
    Tierney and Kadane (1986), Accurate approximations for posterior moments and marginal densities, JASA 81,
    section 2, doi:10.1080/01621459.1986.10478240.
    """
    structure = read_comparisons(model)
    centre = fit_laplace(structure.cells, structure.prior)
    theta, inverse = centre.laplace.centre, centre.laplace.inverse
    values = values_of(theta, structure.prior)
    sd = _standard_errors(values, inverse, structure.prior)
    dims = {"quality": ("item",), "reliability": ("rater",), "effect": ("vote_covariate",)}
    data = {}
    for variable in structure.variables:
        role = "reliability" if variable == "rater" else variable
        name = "reliability_scale" if role == "rater_scale" else role
        own = dims.get(name, ())
        name = "vote_effect" if role == "effect" else name
        data |= {name: (own, values[role]), f"{name}_sd": (own, sd[role])}
    coords = {dim: np.asarray(model.coords[dim]) for own, _ in data.values() for dim in own}
    return xr.Dataset(data, coords, {"iterations": centre.iterations})


def _standard_errors(
    values: dict[str, np.ndarray], inverse: np.ndarray, prior: PairPrior
) -> dict[str, np.ndarray]:
    """Return standard deviations by the delta method; products of columns of `inverse` are covariances."""
    spans = {"quality": slice(prior.n_items)}
    if prior.form != SHARED:
        spans["reliability"] = slice(prior.n_items, prior.n_items + prior.n_raters)
    spread = {}
    for role, span in spans.items():
        columns = inverse[:, span]
        if prior.form != BOX:
            columns = columns - columns.mean(axis=1, keepdims=True)
        spread[role] = np.linalg.norm(columns, axis=0)
    if prior.form == BOX:
        share = (values["reliability"] - prior.low) / (prior.high - prior.low)
        spread["quality"] *= values["quality"] * (1 - values["quality"])
        spread["reliability"] *= (prior.high - prior.low) * share * (1 - share)
    if prior.form == LOG:
        spread["reliability"] *= values["reliability"]
    for role, place in zip(("quality_scale", "rater_scale", "left_bias", "tie"), prior.at, strict=True):
        if place != NONE:
            own = np.linalg.norm(inverse[:, place])
            spread[role] = own if role == "left_bias" else own * values[role]
    spread["effect"] = np.linalg.norm(inverse[:, len(inverse) - prior.effect.shape[1] :], axis=0)
    return spread


def laplace_sample(
    model: pm.Model, *, draws: int = 1000, chains: int = 4, random_seed: int | None = None
) -> xr.DataTree:
    """Draw from the Laplace approximation of a comparison model, and resample the draws by importance weights.

    Parameters
    ----------
    model : pymc.Model
        As for `laplace`.
    draws, chains : int, default 1000 and 4
        ``draws * chains`` proposals are made and as many are resampled, laid out as chains in random order.
    random_seed : int, optional
        Seed.

    Returns
    -------
    DataTree
        As returned by `sample`, without densities. Attributes ``pareto_k``, the tail index of the importance
        weights, and ``effective_draws``, their effective sample size. A proposal may occur several times.

    Raises
    ------
    ValueError
        If the model is of another kind.

    Warns
    -----
    ConvergenceWarning
        If the posterior is far from normal: the Pareto k is above .5; or the votes are too few to determine a
        scale, whose tail the Pareto k does not show; or raters contradict each other. Use `sample`.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> pairs = models.simulators.comparisons(items=8, raters=6, degree=7, random_seed=1).data
    >>> model = models.bradley_terry(pairs, reliability="shared", quality_scale=1.0)
    >>> tree = inference.laplace_sample(model, draws=100, chains=2, random_seed=1)
    >>> dict(tree["posterior"]["quality"].sizes)
    {'chain': 2, 'draw': 100, 'item': 8}

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling, JMLR 25(72).
    """
    structure = read_comparisons(model)
    found = fit_laplace(structure.cells, structure.prior)
    centre = found.laplace
    rng = np.random.default_rng(random_seed)
    z = rng.standard_normal((draws * chains, len(centre.centre)))
    with threadpool_limits(limits=1):  # rounded alike on any number of cores
        theta = centre.centre + z @ centre.inverse
    gradient = np.empty(len(centre.centre))
    log_p = [anchored_density(t, structure.cells, structure.prior, gradient) for t in theta]
    log_weight, pareto_k = array_stats.psislw(-(np.array(log_p) + 0.5 * (z**2).sum(axis=1)))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    wrong = [f"Pareto k is {pareto_k:.2f}, above {RELIABLE}"] if pareto_k > RELIABLE else []
    wrong += ["the votes do not determine a scale"] * bool(found.open_scales)
    if found.second_mode:
        wrong.append("raters contradict each other, and the posterior has a second mode")
    if wrong:
        remedy = "the posterior is far from normal; use inference.sample"
        warnings.warn(f"{'; '.join(wrong)}: {remedy}", ConvergenceWarning, skip_file_prefixes=OUR_FILES)
    places = (np.arange(draws * chains) + rng.random()) / (draws * chains)
    chosen = np.searchsorted(np.cumsum(weight), places).clip(max=len(weight) - 1)
    kept = rng.permutation(theta[chosen]).reshape(chains, draws, -1)
    posterior = comparison_posterior(model, structure, kept)
    tree = xr.DataTree.from_dict({"posterior": posterior} | constant_groups(model))
    if names := CodeNames.of(model):
        tree = label(tree, names)
    tree.attrs |= {"model": model.observed_RVs[0].owner.op.link, "method": "laplace"}
    tree.attrs |= {"pareto_k": float(pareto_k), "effective_draws": float(1 / (weight**2).sum())}
    return tree
