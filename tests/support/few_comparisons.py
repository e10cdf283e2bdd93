"""Votes on a handful of items, and checks of draws against exact means by quadrature, written independently of the package."""

from itertools import combinations

import numpy as np
import pymc as pm
from raterzoo.models import Comparisons
from scipy.stats import norm

from tests.support.monte_carlo import bonferroni_threshold, mc_z

SCALES = {"quality_scale": 1.5, "reliability_scale": 0.7}


def all_pairs(items=4, raters=4, answers=10):
    """Every rater compares every pair, the earlier item on the left, as often as `answers` says; the winners are placeholders."""
    rows = [
        (f"rater {k}", f"item {i}", f"item {j}", outcome, n)
        for i, j in combinations(range(items), 2)
        for k in range(raters)
        for outcome, n in (("left", answers - 2), ("right", 1), ("tie", 1))
    ]
    return from_rows(rows)


def three_items():
    """Three items, two raters, ties, and a pair that one rater never saw."""
    rows = [
        ("ann", "a", "b", "left", 5),
        ("ann", "a", "b", "tie", 1),
        ("ann", "b", "c", "left", 3),
        ("ann", "c", "b", "left", 1),
        ("ann", "a", "c", "left", 4),
        ("bob", "a", "b", "right", 1),
        ("bob", "b", "a", "right", 2),
        ("bob", "b", "c", "tie", 2),
        ("bob", "b", "c", "left", 1),
    ]
    return from_rows(rows, kind=lambda rater: "person" if rater == "ann" else "model")


def from_rows(rows, kind=None):
    names = ("rater", "left", "right", "winner", "count")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    if kind is not None:
        table["kind"] = [kind(rater) for rater in table["rater"]]
    return Comparisons.from_table(table, count="count", rater_attributes=() if kind is None else ("kind",))


def draws_of_three_items(builder, seed):
    """Draws (chain, draw, quantity) of q, log rho and log tie by NUTS."""
    with builder(three_items(), reliability="per rater", **SCALES):
        tree = pm.sample(1500, tune=500, chains=4, nuts_sampler="nutpie", random_seed=seed, progressbar=False)
    names = ("quality", "log_reliability", "tie")
    q, log_rho, tie = (tree["posterior"][name].to_numpy() for name in names)
    return np.concatenate([q, log_rho, np.log(tie)[..., None]], axis=-1)


def check_means(draws, link, quality_scale=1.5, reliability_scale=0.7):
    """Assert that the draws have the exact posterior means of a prior."""
    z = mc_z(draws, exact_means(three_items(), link, quality_scale, reliability_scale))
    assert np.abs(z).max() < bonferroni_threshold(z.size)


def exact_means(pairs, link, quality_scale, reliability_scale):
    """Posterior means of q, log rho and log tie of three items and two raters, on a grid of the four dimensions.

    The trapezoidal rule is within 1e-4 of that on a finer and wider grid: a fiftieth of the Monte-Carlo error of the draws.
    """
    u = np.linspace(-4.5, 4.5, 61)  # two directions of q, in prior standard deviations
    v, w = np.linspace(-4.5, 4.5, 25), np.linspace(-5, 3, 25)
    plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    u1, u2, r = np.meshgrid(u, u, v, indexing="ij")
    q = quality_scale * (u1[..., None] * plane[0] + u2[..., None] * plane[1])
    log_rho = reliability_scale * r[..., None] * np.array([1, -1]) / np.sqrt(2)
    prior = -0.5 * (u1**2 + u2**2 + r**2)
    total, sums = 0.0, np.zeros(6)
    for log_tie in w:
        log_p = prior - 0.5 * log_tie**2 + log_likelihood(pairs, link, q, np.exp(log_rho), log_tie)
        weight = np.exp(log_p)
        total += weight.sum()
        means = [(weight[..., None] * x).sum(axis=(0, 1, 2)) for x in (q, log_rho)]
        sums += np.r_[means[0], means[1], weight.sum() * log_tie]
    return sums / total


def log_likelihood(pairs, link, q, rho, log_tie):
    """Add up what each vote says."""
    tie, total = np.exp(log_tie), 0.0
    votes = (pairs.left, pairs.right, pairs.annotation_rater, pairs.outcome, pairs.count)
    for i, j, k, outcome, n in zip(*votes, strict=True):
        x = rho[..., k] * (q[..., i] - q[..., j])
        if link == "thurstone":
            wins = norm.cdf(x - tie), norm.cdf(-x - tie)
            p = (*wins, norm.cdf(x + tie) - norm.cdf(x - tie))[outcome]
        else:
            parts = np.exp(x / 2), np.exp(-x / 2), tie
            p = parts[outcome] / sum(parts)
        total = total + n * np.log(np.maximum(p, 1e-300))
    return total
