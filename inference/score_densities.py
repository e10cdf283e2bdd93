"""Pointwise log densities of drawn hierarchical scores: log likelihood by score, log prior by variable."""

import numpy as np
from scipy.special import gammaln

from .kernels.score_chain import ScoreDraws
from .kernels.score_gibbs import RaterScores, ScoreHyper

__all__ = ["hierarchy_log_likelihood", "hierarchy_log_prior"]

LOG_2_PI = np.log(2 * np.pi)


def hierarchy_log_likelihood(scores: RaterScores, draws: ScoreDraws) -> np.ndarray:
    """Log density of every score, for every draw. Returns (chain, draw, score), in the dtype of the draws."""
    size = draws.location.shape[:2]
    log_p = np.empty((*size, len(scores.score)), draws.location.dtype)
    for at in np.ndindex(size):
        location, bias, variance = (
            array[at].astype(np.float64) for array in (draws.location, draws.bias, draws.variance)
        )
        # log Normal(y | location_i + bias_k, variance_k)
        away = scores.score - location[scores.item] - bias[scores.rater]
        log_scale = 0.5 * (LOG_2_PI + np.log(variance))
        log_p[at] = -log_scale[scores.rater] - 0.5 * away**2 / variance[scores.rater]
    return log_p


def hierarchy_log_prior(
    hyper: ScoreHyper, group: np.ndarray, drawn: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Log prior density of every variable given its parents, for every draw.

    Shapes: group, that of each rater (rater,); drawn, the free variables of `models.hierarchical_scores`
    (chain, draw, ...). Returns one density for each element; one for all group biases together.
    """
    d = {name: values.astype(np.float64) for name, values in drawn.items()}
    usual = d["usual_variance"]
    of_rater = usual[..., group] if usual.ndim == 3 else usual[..., None]
    nu = d["variance_shape"][..., None]
    centre = d["group_bias"][..., group] if "group_bias" in d else 0.0
    prior = {
        "location_mean": _normal(d["location_mean"], hyper.mean, hyper.mean_sd),
        "location_spread": _half_normal(d["location_spread"], hyper.location_scale),
        "location": _normal(
            d["location"], d["location_mean"][..., None], d["location_spread"][..., None]
        ),
        "bias_spread": _half_normal(d["bias_spread"], hyper.bias_scale),
        "variance_shape": _gamma(d["variance_shape"], hyper.shape_shape, hyper.shape_rate),
        "usual_variance": _inverse_gamma(usual, hyper.usual_shape, hyper.usual_rate),
        "rater_bias": _normal(d["rater_bias"], centre, d["bias_spread"][..., None]),
        "rater_variance": _inverse_gamma(d["rater_variance"], nu, (nu + 1) * of_rater),
    }
    if "group_bias" in d:
        biases = d["group_bias"]
        free = biases.shape[-1] - 1  # degrees of freedom of a zero-sum vector
        squares = (biases**2).sum(axis=-1) / hyper.group_sd**2
        prior["group_bias"] = -0.5 * (squares + free * (LOG_2_PI + 2 * np.log(hyper.group_sd)))
    return prior


def _normal(x: np.ndarray, mean: np.ndarray | float, sd: np.ndarray | float) -> np.ndarray:
    """Log density of the normal distribution."""
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * LOG_2_PI


def _half_normal(x: np.ndarray, scale: float) -> np.ndarray:
    """Log density of the half-normal distribution."""
    return _normal(x, 0.0, scale) + np.log(2.0)


def _gamma(x: np.ndarray, shape: np.ndarray | float, rate: np.ndarray | float) -> np.ndarray:
    """Log density of the Gamma(shape, rate) distribution."""
    return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x


def _inverse_gamma(
    x: np.ndarray, shape: np.ndarray | float, rate: np.ndarray | float
) -> np.ndarray:
    """Log density of the inverse Gamma(shape, rate) distribution."""
    return _gamma(1 / x, shape, rate) - 2 * np.log(x)
