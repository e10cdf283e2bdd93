"""Empirical Bayes: normal-inverse-gamma prior of maximum marginal likelihood."""

import warnings
from numbers import Real

import numpy as np
import pymc as pm
import xarray as xr
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from ...models.data.container import require_container
from ...models.data.errors import DataWarning
from ...models.data.scores import Scores
from .kernels.normal import NormalItems, ScoreMoments, posterior_items, score_moments
from .recognition import read_item_scores

NAMES = ("mean", "mean_weight", "shape", "rate")
# upper bound of mean weight, shape and rate, with scores in units of their range; the lower is 1 / MOST
MOST = 1e6
ROUNDING = 1e-9  # relative to the range of the scores: smaller differences are rounding errors


def normal_scores_prior(scores: Scores, *, resolution: float | None = None) -> dict[str, float]:
    """Estimate the prior of `models.normal_scores` from all items, by maximum marginal likelihood.

        log p(y_i) = lgamma(an) - lgamma(a0) + a0 log b0 - an log bn + log(k0 / kn) / 2 - n log(2 pi) / 2

    with kn, an and bn as in `models.normal_scores`. Scores are given in steps: items whose scores are all
    equal would make the likelihood unbounded as b0 and k0 fall. Within a step of width h a score is taken as
    uniform: h^2 / 12 is added to each square.

    Parameters
    ----------
    scores : Scores
        Scores of all items.
    resolution : float, optional
        Step of the scale on which scores were given, 0 if there is none. By default the smallest difference
        between two scores that is larger than rounding, 1e-9 of their range.

    Returns
    -------
    dict of str to float
        ``mean`` (m0), ``mean_weight`` (k0), ``shape`` (a0), ``rate`` (b0): arguments of `models.normal_scores`.

    Raises
    ------
    ValueError
        If no item has two scores, all are equal, there is no maximum, or the resolution is out of range.

    Warns
    -----
    DataWarning
        If the likelihood is highest where all items have one location, or one variance: the mean weight, or the
        shape, is then the upper bound of the search.

    Examples
    --------
    >>> from raterzoo import models, papers
    >>> drawn = models.simulators.scores(model="normal_scores", items=200, random_seed=1)
    >>> prior = papers.normal_scores_prior(drawn.data)
    >>> list(prior)
    ['mean', 'mean_weight', 'shape', 'rate']
    >>> model = models.normal_scores(drawn.data, **prior)

    References
    ----------
    Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 3 (marginal likelihood).
    Sheppard (1898), On the calculation of the most probable values of frequency constants,
    doi:10.1112/plms/s1-29.1.353 (the variance of rounding).
    """
    require_container(scores, Scores)
    if scores.count.sum() == 0 or scores.score.min() == scores.score.max():
        problem = "all scores are equal, or there are none"
        raise ValueError(f"{problem}: a prior cannot be estimated; give its numbers")
    centre, unit = np.median(scores.score), scores.score.max() - scores.score.min()
    step = _step(scores.score, resolution, unit)
    moments = _moments(scores, centre, unit, step / unit)
    if moments.count.max() < 2:
        raise ValueError(
            "no item has two scores: the variance within items cannot be estimated; give mean_weight, shape and rate"
        )
    start = np.array([0.0, np.log(0.25), np.log(2.0), 2 * np.log(0.2)])
    bound = np.log(MOST)
    found = minimize(
        lambda theta: tuple(-x for x in log_marginal_gradient(theta, moments)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-2.0, 2.0), *[(-bound, bound)] * 3],
        options={"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-9 * len(moments.count)},
    )
    _check_maximum(found.x, bound)
    weight, shape, rate = np.exp(found.x[1:])
    values = (centre + unit * found.x[0], weight, shape, rate * unit**2)
    return {name: float(value) for name, value in zip(NAMES, values, strict=True)}


def _step(score: np.ndarray, resolution: float | None, unit: float) -> float:
    """Return the step of the scale, given or estimated; `unit` is the range of the scores."""
    if resolution is None:
        gaps = np.diff(np.unique(score))
        return float(gaps[gaps > ROUNDING * unit].min())
    number = isinstance(resolution, Real) and not isinstance(resolution, bool)
    if not number or not 0 <= resolution <= unit:
        allowed = f"a number from 0 to {unit:g}, the range of the scores"
        raise ValueError(f"resolution={resolution!r} must be {allowed}")
    return float(resolution)


def _moments(scores: Scores, centre: float, unit: float, step: float) -> ScoreMoments:
    """Return moments of the scored items, in units of the range; h^2 / 12 is added per score."""
    weight, item = scores.count, scores.annotation_item
    score, n_items = (scores.score - centre) / unit, len(scores.items)
    count = np.bincount(item, weight, n_items)
    mean = np.bincount(item, weight * score, n_items) / np.maximum(count, 1)
    squares = np.bincount(item, weight * (score - mean[item]) ** 2, n_items) + count * step**2 / 12
    scored = count > 0
    return ScoreMoments(count[scored], mean[scored], squares[scored])


def _check_maximum(theta: np.ndarray, bound: float) -> None:
    """Raise if the likelihood has no maximum; warn if the maximum is at the upper bound of the search."""
    least, most = theta[1:].min(), theta[1:].max()
    if least < 1e-6 - bound:
        name = NAMES[1 + int(theta[1:].argmin())]
        raise ValueError(
            f"the marginal likelihood has no maximum: it grows as {name} falls, as on many items all scores agree; "
            "give resolution=, the step of the scale"
        )
    if most > bound - 1e-6:
        name = NAMES[1 + int(theta[1:].argmax())]
        what = "location" if name == "mean_weight" else "variance"
        found = f"{name} is at the upper bound of the search"
        warnings.warn(
            f"the scores do not show that items differ in {what}: {found}", DataWarning, stacklevel=3
        )


def log_marginal(prior: NormalItems, moments: ScoreMoments) -> np.ndarray:
    """Return the log marginal likelihood of the scores of each item, shape (item,)."""
    after = posterior_items(prior, moments)
    return (
        gammaln(after.shape)
        - gammaln(prior.shape)
        + prior.shape * np.log(prior.rate)
        - after.shape * np.log(after.rate)
        + 0.5 * np.log(prior.mean_weight / after.mean_weight)
        - 0.5 * moments.count * np.log(2 * np.pi)
    )


def log_marginal_gradient(theta: np.ndarray, moments: ScoreMoments) -> tuple[float, np.ndarray]:
    """Log marginal likelihood of all items, and its gradient (4,), at theta (4,) = m0, log k0, log a0, log b0."""
    m0 = theta[0]
    k0, a0, b0 = np.exp(theta[1:])
    n, deviation = moments.count, moments.mean - m0
    prior = NormalItems(*(np.broadcast_to(x, n.shape) for x in (m0, k0, a0, b0)))
    after = posterior_items(prior, moments)
    pull, share = after.shape / after.rate, n / after.mean_weight
    gradient = np.array(
        [
            (pull * k0 * share * deviation).sum(),
            0.5 * (share - k0 * pull * (share * deviation) ** 2).sum(),
            a0 * (digamma(after.shape) - digamma(a0) + np.log(b0 / after.rate)).sum(),
            (a0 - b0 * pull).sum(),
        ]
    )
    return float(log_marginal(prior, moments).sum()), gradient


# --- Closed-form posterior of normal scores ---


def normal_scores_posterior(model: pm.Model) -> xr.Dataset:
    """Parameters of the normal-inverse-gamma posterior of each item, and log marginal likelihoods.

    Parameters
    ----------
    model : pymc.Model
        Model built by `models.normal_scores`, or any other in which the scores of an item are conjugate.

    Returns
    -------
    Dataset
        ``mean``, ``mean_weight``, ``shape`` and ``rate`` (item): 1 / variance is Gamma(shape, rate), and the
        location given the variance is normal with this mean and variance / mean_weight. Marginally the
        location has Student's t distribution about the mean, with 2 shape degrees of freedom and scale
        sqrt(rate / (shape mean_weight)). ``log_marginal`` (item) is the log density of its scores a priori.

    Raises
    ------
    ValueError
        If the model is not a `pymc.Model` or not conjugate; the message says where it differs.

    Examples
    --------
    >>> import pandas as pd
    >>> from raterzoo import models, papers
    >>> table = pd.DataFrame({"item": ["a", "a", "b"], "rater": ["r", "s", "r"], "score": [4.0, 6.0, 1.0]})
    >>> model = models.normal_scores(models.Scores.from_table(table), mean=3, mean_weight=1, shape=2, rate=1)
    >>> posterior = papers.normal_scores_posterior(model)
    >>> posterior["mean"].values.round(2), posterior["shape"].values
    (array([4.33, 2.  ]), array([3. , 2.5]))
    """
    if not isinstance(model, pm.Model):
        raise ValueError(f"a {type(model).__name__} is not a pymc.Model; build one by models.normal_scores")
    law = read_item_scores(model)
    moments = score_moments(law.item, law.score, len(law.prior.mean))
    posterior = posterior_items(law.prior, moments)._asdict()
    posterior["log_marginal"] = log_marginal(law.prior, moments)
    items = model.coords.get("item")
    coords = {} if items is None else {"item": np.asarray(items)}
    return xr.Dataset({name: ("item", values) for name, values in posterior.items()}, coords)
