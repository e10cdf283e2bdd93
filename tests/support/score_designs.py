"""Small designs of scores, and laws written independently of the package."""

import numpy as np
from raterzoo.models import Scores
from scipy.integrate import quad
from scipy.stats import invgamma, norm

# Ragged: an item with one score, one whose scores are equal, a score given three times, one item that nobody scored.
TINY = {
    "item": ["a", "a", "a", "b", "c", "c", "d", "d", "e"],
    "rater": ["r", "s", "t", "r", "r", "s", "s", "t", "t"],
    "score": [1.0, 2.5, 2.0, 4.0, 3.0, 3.0, -1.0, 0.5, 9.0],
    "count": [1, 1, 1, 1, 1, 1, 3, 1, 0],
}
PRIOR = {"mean": 1.5, "mean_weight": 0.4, "shape": 1.7, "rate": 0.9}


def tiny_scores():
    return Scores.from_table(TINY, count="count")


def marginal_by_quadrature(score, mean, mean_weight, shape, rate):
    """p(scores) and E sigma2 of one item, by quadrature over the variance; given it, the scores are jointly normal."""

    def given(log_v):
        v = np.exp(log_v)
        cov = v * (np.eye(len(score)) + 1 / mean_weight)
        away = score - mean
        fit = -0.5 * (away @ np.linalg.solve(cov, away) + np.linalg.slogdet(2 * np.pi * cov)[1])
        return np.exp(fit + invgamma.logpdf(v, shape, scale=rate) + log_v)

    limits = {"epsabs": 0, "epsrel": 1e-11, "limit": 500}
    total = quad(given, -12, 14, **limits)[0]
    variance = quad(lambda x: np.exp(x) * given(x), -12, 14, **limits)[0] / total
    return total, variance


def hierarchy(rng, items, raters, each, groups=1):
    """A table of scores by `each` raters of every item."""
    item = np.repeat(np.arange(items), each)
    rater = np.concatenate([rng.choice(raters, each, replace=False) for _ in range(items)])
    location, bias = rng.normal(2, 1.5, items), rng.normal(0, 0.7, raters)
    scale = 0.6 * np.sqrt(4 / rng.gamma(4, size=raters))
    score = norm.rvs(location[item] + bias[rater], scale[rater], random_state=rng)
    kind = np.array(["person", "model", "mob"])[rater % groups]
    return Scores.from_table(
        {"item": item, "rater": rater, "score": score, "kind": kind}, rater_attributes=["kind"]
    )
