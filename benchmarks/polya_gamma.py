"""Would Polya-Gamma Gibbs beat NUTS for labels with features? `python -m benchmarks.polya_gamma [gibbs|nuts]`.

A prototype, of 5,000 items with 50 features, 5 categories and 25,000 answers. Given the true categories, the log odds of one
category against the rest are a logistic regression, whose coefficients are normal given Polya-Gamma variables omega:

    omega_i | W ~ PG(1, psi_i),   psi_i = x_i w_c - C_i,   C_i = log sum_{c' != c} exp(x_i w_c')
    w_c | omega ~ Normal(P^-1 X'(kappa + omega C), P^-1),   P = X' diag(omega) X + D,   kappa_i = [T_i = c] - 1/2

The prior of the effects is that of the model; the intercepts have a normal prior, not the Dirichlet prior of the prevalence.
Printed are CPU seconds, sweeps for an effective draw of the worst effect, and the least effective sample size by CPU second.

References
----------
Polson, Scott and Windle (2013), Bayesian inference for logistic models using Polya-Gamma latent variables, JASA 108,
doi:10.1080/01621459.2013.829001 (algorithm and appendix). Held and Holmes (2006), Bayesian auxiliary variable models for binary
and multinomial regression, Bayesian Analysis 1, doi:10.1214/06-BA105 (one category after the other).
"""

import argparse
import math
import sys
import time
import warnings
from typing import Any

import numba as nb
import numpy as np
from scipy.linalg import solve_triangular

from .features import labelled

__all__ = ["gibbs"]

CUT = 0.64  # between the two series of the density


@nb.njit(error_model="numpy")
def log_normal_cdf(x: float) -> float:
    """Log of the standard normal distribution function."""
    return (
        math.log(0.5 * math.erfc(-x / math.sqrt(2)))
        if x > -30
        else -0.5 * x * x - math.log(-x * 2.5066282746)
    )


@nb.njit(error_model="numpy")
def series(n: int, x: float) -> float:
    """Return the n-th term of the alternating series of the density."""
    k = (n + 0.5) * math.pi
    if x > CUT:
        return k * math.exp(-0.5 * k * k * x)
    return k * math.exp(-1.5 * math.log(0.5 * math.pi * x) - 2 * (n + 0.5) ** 2 / x)


@nb.njit(error_model="numpy")
def truncated_inverse_gaussian(rng: np.random.Generator, z: float) -> float:
    """Draw an inverse Gaussian of mean 1 / z below the cut."""
    x = CUT + 1
    if z < 1 / CUT:
        while True:
            first, second = rng.standard_exponential(), rng.standard_exponential()
            if first * first <= 2 * second / CUT:
                x = CUT / (1 + first * CUT) ** 2
                if rng.random() <= math.exp(-0.5 * z * z * x):
                    return x
    mean = 1 / z
    while x > CUT:
        own = mean * rng.standard_normal() ** 2
        x = mean + 0.5 * mean * (own - math.sqrt(4 * own + own * own))
        if rng.random() > mean / (mean + x):
            x = mean * mean / x
    return x


@nb.njit(error_model="numpy")
def polya_gamma(rng: np.random.Generator, tilt: float) -> float:
    """Draw PG(1, tilt) by the alternating series of Devroye."""
    z = abs(tilt) * 0.5
    rate = math.pi**2 / 8 + z * z / 2
    root, base = math.sqrt(1 / CUT), math.log(rate) + rate * CUT
    below = math.exp(base - z + log_normal_cdf(root * (CUT * z - 1)))
    below += math.exp(base + z + log_normal_cdf(-root * (CUT * z + 1)))
    right = 1 / (1 + 4 / math.pi * below)
    while True:
        x = (
            CUT + rng.standard_exponential() / rate
            if rng.random() < right
            else truncated_inverse_gaussian(rng, z)
        )
        total, n = series(0, x), 0
        level = rng.random() * total
        while True:
            n += 1
            if n % 2:
                total -= series(n, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += series(n, x)
                if level > total:
                    break


@nb.njit(error_model="numpy")
def polya_gammas(rng: np.random.Generator, tilt: np.ndarray) -> np.ndarray:
    """Draw one variable for each item."""
    return np.array([polya_gamma(rng, own) for own in tilt])


def true_categories(rng: np.random.Generator, log_p: np.ndarray) -> np.ndarray:
    """Draw the true category of each item from log probabilities (item, category)."""
    return (log_p + rng.gumbel(size=log_p.shape)).argmax(axis=1)


def gibbs(model: Any, seed: int, schedule: tuple[int, int]) -> np.ndarray:
    """Run one chain; return the effects (draw, feature, category), zero in sum. `schedule` is warm-up and draws."""
    rng, (tune, draws) = np.random.default_rng(seed), schedule
    values = model["features"].get_value()
    x = np.column_stack([np.ones(len(values)), values])
    item, rater = (model[name].get_value() for name in ("annotation_item", "annotation_rater"))
    answer = model.rvs_to_values[model["observed_label"]].eval()
    confusion = model["confusion"]
    prior = np.broadcast_to(confusion.owner.op.dist_params(confusion.owner)[0].eval(), confusion.shape.eval())
    n = prior.shape[-1]
    weight, scale, kept = 0.05 * rng.normal(size=(x.shape[1], n)), 0.3, []
    log_rows = np.log(np.broadcast_to(prior / prior.sum(axis=-1, keepdims=True), prior.shape))
    for sweep in range(tune + draws):
        odds = x @ weight
        log_p = odds.copy()
        np.add.at(log_p, item, log_rows[rater, :, answer])
        truth = true_categories(rng, log_p)
        counts = prior.copy()
        np.add.at(counts, (rater, truth[item], answer), 1.0)
        rows = rng.standard_gamma(counts)
        log_rows = np.log(rows / rows.sum(axis=-1, keepdims=True))
        shrink = np.r_[0.25, np.full(x.shape[1] - 1, scale**-2)]
        for c in range(n):
            others = np.logaddexp.reduce(np.delete(odds, c, axis=1), axis=1)
            omega = polya_gammas(rng, odds[:, c] - others)
            factor = np.linalg.cholesky((x.T * omega) @ x + np.diag(shrink))
            pull = x.T @ ((truth == c) - 0.5 + omega * others)
            shifted = solve_triangular(factor, pull, lower=True) + rng.normal(size=len(pull))
            weight[:, c] = solve_triangular(factor, shifted, lower=True, trans=1)
            odds[:, c] = x @ weight[:, c]
        scale = scale_given(rng, scale, weight[1:])
        if sweep >= tune:
            kept.append(weight[1:] - weight[1:].mean(axis=1, keepdims=True))
    return np.array(kept)


def scale_given(rng: np.random.Generator, scale: float, effects: np.ndarray) -> float:
    """Draw the scale, half-normal a priori, given independent effects, by steps of Metropolis on its log."""

    def log_p(u: float) -> float:
        return (1 - effects.size) * u - 0.5 * (effects**2).sum() * math.exp(-2 * u) - 0.5 * math.exp(2 * u)

    u = math.log(scale)
    for _ in range(5):
        proposed = u + 0.06 * rng.normal()
        if math.log(rng.random()) < log_p(proposed) - log_p(u):
            u = proposed
    return math.exp(u)


def main() -> None:
    """Print one line."""
    import arviz as az
    from raterzoo import inference

    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("which", choices=("gibbs", "nuts"))
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--tune", type=int, default=100)
    asked = parser.parse_args()
    model = labelled(asked.items, asked.features, 5)
    if asked.which == "gibbs":
        gibbs(model, 0, (1, 1))  # compiles
    began = time.process_time()
    if asked.which == "gibbs":
        drawn = np.stack([gibbs(model, seed, (asked.tune, asked.draws)) for seed in (1, 2)])
    else:
        options = {"draws": asked.draws, "tune": asked.tune, "chains": 2, "cores": 1, "progressbar": False}
        with warnings.catch_warnings(action="ignore"):
            tree = inference.sample(model, random_seed=1, log_likelihood=False, **options)
        drawn = tree["posterior"]["feature_effect"].to_numpy()
    spent = time.process_time() - began
    least = float(az.ess(az.convert_to_datatree({"effect": drawn}))["effect"].min())
    line = f"{spent:.1f} CPU s, 2 chains of {asked.draws} after {asked.tune}; least ESS {least:,.0f}"
    print(
        f"{asked.which}: {line}, {least / spent:.1f} by CPU s; {2 * asked.draws / least:.1f} draws for an effective one"
    )


if __name__ == "__main__":
    sys.exit(main())
