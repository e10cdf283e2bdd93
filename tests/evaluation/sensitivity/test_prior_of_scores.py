"""Sensitivity of the side of a threshold to the prior of scores, against scaled normal-inverse-gamma laws."""

import numpy as np
import xarray as xr
from raterzoo.evaluation import prior_sensitivity
from raterzoo.papers import thresholded
from scipy.stats import invgamma, norm, t

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

SCORES = np.array([[0.2, 0.9, 0.4], [-1.0, 0.1, 1.2], [0.6, 0.7, -0.3], [2.0, 1.1, 1.6]])
THRESHOLD = 0.4
PRIOR = (0.0, 0.8, 3.0, 2.0)  # mean, scores that it is worth, shape and rate of 1 / variance


def posterior(mean, weight, shape, rate):
    """Return the law of each item given its scores."""
    n, own = SCORES.shape[1], SCORES.mean(axis=1)
    gap = n * weight / (n + weight) * (own - mean) ** 2
    squares = ((SCORES - own[:, None]) ** 2).sum(axis=1)
    return ((weight * mean + n * own) / (weight + n), weight + n, shape + n / 2, rate + (squares + gap) / 2)


def share_below(law):
    mean, weight, shape, rate = law
    return t.cdf((THRESHOLD - mean) / np.sqrt(rate / weight / shape), 2 * shape)


def scaled(alpha):
    """Return the prior to the power alpha, which is normal-inverse-gamma again."""
    mean, weight, shape, rate = PRIOR
    return mean, alpha * weight, alpha * (shape + 1.5) - 1.5, alpha * rate


def tree_of(prior_mean):
    rng = np.random.default_rng(seed_of("prior of scores"))
    mean, weight, shape, rate = posterior(*PRIOR)
    variance = rate / rng.gamma(shape, 1, (4, 5000, len(SCORES)))
    location = rng.normal(mean, np.sqrt(variance / weight))
    scale = np.sqrt(variance)
    densities = {
        "location": norm.logpdf(location, prior_mean, np.sqrt(variance / PRIOR[1])),
        "variance": invgamma.logpdf(variance, PRIOR[2], scale=PRIOR[3]),
    }
    of_scores = norm.logpdf(SCORES, location[..., None], scale[..., None]).sum(axis=-1)
    groups = {
        "posterior": {"location": location, "variance": variance, "scale": scale},
        "log_prior": densities,
        "log_likelihood": {"observed_score": of_scores},
    }
    dims, items = ("chain", "draw", "item"), {"item": list("abcd")}
    return xr.DataTree.from_dict(
        {g: xr.Dataset({k: (dims, v) for k, v in own.items()}, items) for g, own in groups.items()}
    )


def test_means_are_those_of_scaled_laws():
    def check(tree):
        side = thresholded(tree, THRESHOLD, of="location")["posterior"]["plausibility"]
        lower = side.isel(category=0, drop=True).astype(float)
        found = prior_sensitivity(thresholded(tree, THRESHOLD), lower, distance="mean")
        prior = tree["log_prior"].to_dataset().to_dataarray().sum("variable")
        for alpha in (0.8, 1.25):
            exact = share_below(posterior(*scaled(alpha)))
            weight = np.exp((alpha - 1) * prior.stack(sample=("chain", "draw")).to_numpy())
            weight /= weight.sum(axis=1, keepdims=True)
            flat = lower.stack(sample=("chain", "draw")).to_numpy()
            error = np.sqrt(((weight * (flat - exact[:, None])) ** 2).sum(axis=1))
            z = (found["mean"].sel(component="prior", alpha=alpha).to_numpy() - exact) / error
            assert np.abs(z).max() < bonferroni_threshold(2 * len(z))

    check(tree_of(PRIOR[0]))
    assert_rejects_twin(check, tree_of(PRIOR[0] + 0.5))


def test_densities_of_shared_parameters_are_left_out():
    tree = tree_of(PRIOR[0])
    shared = tree["posterior"].to_dataset().assign(population_mean=(("chain", "draw"), np.ones((4, 5000))))
    tree = xr.DataTree.from_dict({"posterior": shared, "log_prior": tree["log_prior"].to_dataset()})
    assert "log_prior" not in thresholded(tree, THRESHOLD).children
