"""Laplace approximation of the posterior of comparison models, and importance resampling from it."""

from typing import Literal

import numpy as np
import pymc as pm
import xarray as xr
from arviz_stats.base.array import array_stats
from threadpoolctl import threadpool_limits

from ..._messages import warn_user
from ...models.distributions.paired_comparisons_kernels import PairCodes, Strengths, pair_sweeps
from ..diagnostics import ConvergenceWarning
from ..runs.model_graph import constant_value
from ..runs.trees import CodeNames, constant_groups, label
from .hmc import comparison_posterior, observed_votes
from .kernels.centre import LaplaceFit, fit_laplace
from .kernels.posterior import BOX, LOG, NONE, SHARED, PairPrior, anchored_density, anchored_information
from .recognition import PairStructure, read_comparisons, values_of

FEWEST_CLUSTERS = 10  # a sandwich of fewer is too uncertain itself
RELIABLE = 0.5  # largest Pareto k with which the weights have a finite variance


def laplace(model: pm.Model, *, cluster: Literal["rater"] | None = None) -> xr.Dataset:
    """Estimate a comparison model by the Laplace approximation of its posterior, with standard errors.

    Parameters
    ----------
    model : pymc.Model
        Model built by `models.bradley_terry` or `models.thurstone`, without covariates of items.
    cluster : {"rater"}, optional
        What makes votes dependent: those of one rater, who may favour some items. Standard deviations are then
        those of a sandwich estimate, beside the same centre. For models whose raters are alike
        (``reliability="shared"``); by default votes are independent.

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
        If the model is of another kind; the message says where it differs. With `cluster`, if raters are anonymous,
        fewer than ten, or have reliabilities of their own.

    Notes
    -----
    The sandwich is H^-1 (P + sum over raters of g_k g_k') H^-1: H the information of votes and prior, P that of the
    prior, g_k the slope of the log likelihood of the votes of rater k [2]_. For independent votes it is H^-1.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> pairs = models.simulators.comparisons(items=6, raters=4, degree=4, random_seed=1).data
    >>> estimate = inference.laplace(models.bradley_terry(pairs))
    >>> sorted(estimate.data_vars)[:2], dict(estimate.sizes)
    (['quality', 'quality_scale'], {'item': 6, 'rater': 4})

    References
    ----------
    .. [1] Tierney and Kadane (1986), Accurate approximations for posterior moments and marginal densities, JASA
       81, section 2, doi:10.1080/01621459.1986.10478240.
    .. [2] Liang and Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73,
       section 2, doi:10.1093/biomet/73.1.13.
    """
    if cluster not in (None, "rater"):
        raise ValueError(f"cluster={cluster!r} is not one of None, 'rater'")
    structure = read_comparisons(model)
    centre = fit_laplace(structure.cells, structure.prior)
    theta, inverse = centre.laplace.centre, centre.laplace.inverse
    if cluster is not None:
        inverse = _sandwich(model, structure, centre)
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


def _sandwich(model: pm.Model, structure: PairStructure, centre: LaplaceFit) -> np.ndarray:
    """Return a matrix A with A'A the sandwich covariance of the coordinates; raises ValueError. See `laplace`."""
    cells, prior, theta = structure.cells, structure.prior, centre.laplace.centre
    if prior.form != SHARED:
        raise ValueError("cluster='rater': these raters have reliabilities; use reliability='shared'")
    rater = constant_value(model["annotation_rater"], "the raters of the votes")
    n_raters = len(np.unique(rater))
    if n_raters < FEWEST_CLUSTERS:
        found = "anonymous" if rater.min() < 0 else f"by {n_raters} raters"
        raise ValueError(
            f"cluster='rater' compares at least {FEWEST_CLUSTERS} raters, but these votes are {found}; leave it out"
        )
    none = np.zeros_like(cells.wins)
    silent = cells._replace(wins=none, losses=none, ties=none)
    with_votes, without = (anchored_information(theta, c, prior, centre.kind) for c in (cells, silent))
    of_prior = centre.laplace.factor @ centre.laplace.factor.T - (with_votes - without)
    slopes = _slopes_by_rater(model, structure, theta, np.unique(rater, return_inverse=True)[1])
    slopes *= np.sqrt(n_raters / (n_raters - 1))
    covariance = centre.laplace.inverse.T @ centre.laplace.inverse
    meat = np.linalg.cholesky(of_prior + slopes.T @ slopes)
    return meat.T @ covariance


def _slopes_by_rater(
    model: pm.Model, structure: PairStructure, theta: np.ndarray, rater: np.ndarray
) -> np.ndarray:
    """Return the slopes of the log likelihood of the votes of each rater (rater, coordinate). Shapes: rater (annotation,)."""
    prior, values = structure.prior, values_of(theta, structure.prior)
    op, (left, right, _), counts, _ = observed_votes(model)
    tie, side = float(values.get("tie", 1.0)), np.full(len(left), float(values.get("left_bias", 0.0)))
    if structure.votes is not None:
        side += structure.votes.covariate @ values["effect"]
    each, ones = np.arange(len(left)), np.ones(len(left))
    found = tuple(np.empty(len(left)) for _ in range(3))
    strengths = Strengths(values["quality"], ones, side, np.full(len(left), tie))
    pair_sweeps(op.link, op.n_outcomes).log_p(strengths, PairCodes(left, right, each), counts, found)
    _, slope, tie_slope = found
    slopes = np.zeros((rater.max() + 1, len(theta)))
    np.add.at(slopes, (rater, left), slope)
    np.add.at(slopes, (rater, right), -slope)
    for place, own in ((prior.at[2], slope), (prior.at[3], tie * tie_slope)):
        if place != NONE:
            slopes[:, place] = np.bincount(rater, own, len(slopes))
    if structure.votes is not None:
        first = len(theta) - prior.effect.shape[1]
        for p, column in enumerate(structure.votes.covariate.T, first):
            slopes[:, p] = np.bincount(rater, slope * column, len(slopes))
    return slopes


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
        warn_user(f"{'; '.join(wrong)}: {remedy}", ConvergenceWarning)
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
