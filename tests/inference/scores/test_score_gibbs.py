"""Each Gibbs conditional of hierarchical scores against dense linear algebra and quadrature, with the wrong twins."""

import numba as nb
import numpy as np
import pytest
from raterzoo.inference.scores.kernels import hierarchical
from raterzoo.inference.scores.kernels import hierarchical as score_gibbs
from scipy import special, stats

from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of
from tests.support.random_streams import stream
from tests.support.source_twins import altered

DRAWS = 20_000
HYPER = hierarchical.ScoreHyper(0.5, 3.0, 1.5, 1.0, 0.8, 2.0, 2.0, 2.0, 0.25, 0.9)
SCORES = hierarchical.RaterScores(
    np.array([0, 0, 0, 1, 1, 2, 2, 2, 4, 4]),
    np.array([0, 1, 2, 0, 3, 1, 2, 3, 0, 1]),
    np.array([1.0, 1.5, 0.2, -1.0, 0.4, 2.0, 2.2, 3.0, 0.1, 0.9]),
    np.array([0, 1, 1, 1]),
    5,
    np.zeros((5, 0)),
)


def state():
    return hierarchical.ScoreState(
        np.array([0.6, -0.5, 2.1, 0.4, 0.3]),
        np.array([0.1, -0.2, 0.3, 0.5]),
        np.array([0.5, 1.0, 0.8, 2.0]),
        np.array([0.2, -0.2]),
        np.array([0.7, 1.1]),
        np.array([0.4, 1.2, 0.5, 3.0]),
        np.zeros(0),
        np.zeros(0),
    )


@nb.njit
def fill(out, now):
    out[:5] = now.location
    out[5:9] = now.bias
    out[9:11] = now.group_bias
    out[11:] = now.population


def run(step, seed):
    """Apply a step DRAWS times, putting the variances back before each."""

    @nb.njit
    def loop(rng, scores, hyper, now, variance, out):
        for d in range(len(out)):
            now.variance[:] = variance
            step(rng, scores, hyper, now)
            fill(out[d], now)

    out = np.empty((DRAWS, 15))
    rng = stream(np.random.SeedSequence(seed_of(seed)))
    loop(rng, SCORES, HYPER, state(), state().variance, out)
    return out[None]


def gaussian(design, prior_mean, prior_precision, noise):
    """Moments of coefficients of SCORES - offset and the log density of the data, by dense algebra."""
    y, variance = noise
    cov = np.linalg.inv(prior_precision)
    spread = design @ cov @ design.T + np.diag(variance)
    away = y - design @ prior_mean
    gain = cov @ design.T @ np.linalg.inv(spread)
    log_p = stats.multivariate_normal.logpdf(away, cov=spread)
    return prior_mean + gain @ away, log_p


def averaged(conditional, scale):
    """Average means given a spread over its posterior, by the trapezoid rule over its log."""
    grid = np.linspace(-9, 3, 1200)
    means, log_p = zip(*(conditional(np.exp(x)) for x in grid), strict=True)
    log_weight = np.array(log_p) + stats.halfnorm.logpdf(np.exp(grid), scale=scale) + grid
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    return np.r_[weight @ np.array(means), weight @ np.exp(grid)]


def exact_items():
    now, n = state(), len(SCORES.score)
    design = np.zeros((n, 5))
    design[np.arange(n), SCORES.item] = 1
    noise = (SCORES.score - now.bias[SCORES.rater], now.variance[SCORES.rater])

    def conditional(tau):
        own = np.hstack([np.ones((n, 1)), design])  # mean, then deviations from it
        precision = np.diag([HYPER.mean_sd**-2, *[tau**-2] * 5])
        mean, log_p = gaussian(own, np.r_[HYPER.mean, np.zeros(5)], precision, noise)
        return np.r_[mean[1:] + mean[0], mean[0]], log_p

    return averaged(conditional, HYPER.location_scale)


def exact_raters():
    now, n = state(), len(SCORES.score)
    deviation = now.location - now.population[0]
    noise = (SCORES.score - deviation[SCORES.item], now.variance[SCORES.rater])
    design = np.zeros((n, 4))
    design[np.arange(n), SCORES.rater] = 1
    contrast = np.array([1, -1]) / np.sqrt(2)  # two groups whose biases add up to zero
    of_group = contrast[SCORES.group]

    def conditional(omega):
        own = np.hstack([np.ones((n, 1)), design @ of_group[:, None], design])
        precision = np.diag([HYPER.mean_sd**-2, HYPER.group_sd**-2, *[omega**-2] * 4])
        mean, log_p = gaussian(own, np.r_[HYPER.mean, np.zeros(5)], precision, noise)
        return np.r_[mean[2:] + of_group * mean[1], contrast * mean[1], mean[0]], log_p

    return averaged(conditional, HYPER.bias_scale)


ITEMS, RATERS = [*range(5), 11, 12], [*range(5, 11), 11, 13]


def test_items_given_raters():
    exact = exact_items()
    check_means(run(score_gibbs.draw_items, "items")[..., ITEMS], exact)
    twin = altered("_draw_mean", ("known += weight[i] * shrunk", "known += weight[i]"))
    assert_rejects_twin(check_means, run(twin.draw_items, "items")[..., ITEMS], exact)


@pytest.mark.slow
def test_raters_given_items():
    exact = exact_raters()
    check_means(run(score_gibbs.draw_raters, "raters")[..., RATERS], exact)
    changes = {
        "_draw_group_biases": (
            "free[g] * (total[g] - weight[g] * mean) + noise",
            "free[g] * total[g] + noise",
        ),
        "draw_raters": ("state.bias[k] = beta + _deviation", "state.bias[k] = _deviation"),
    }
    for function, change in changes.items():
        twin = altered(function, change)
        assert_rejects_twin(check_means, run(twin.draw_raters, "raters")[..., RATERS], exact)


@pytest.mark.slow
def test_variances_and_populations():
    """Given the rest, variances have Gamma laws, and usual variances generalised inverse Gaussian ones."""
    now, count = state(), np.bincount(SCORES.rater)
    rng, scaled, usual = stream(np.random.SeedSequence(seed_of("variances"))), [], []
    for _ in range(4000):
        own = hierarchical.ScoreState(*(x.copy() for x in now))
        score_gibbs.draw_raters(rng, SCORES, HYPER, own)
        away = SCORES.score - own.location[SCORES.item] - own.bias[SCORES.rater]
        rate = 4.0 * now.usual[SCORES.group] + 0.5 * np.bincount(SCORES.rater, away**2)
        scaled.append(rate / own.variance)
        own = hierarchical.ScoreState(*(x.copy() for x in now))
        score_gibbs.draw_populations(rng, SCORES, HYPER, own)
        usual.append(own.usual)
    for draws, shape in zip(np.transpose(scaled), 3.0 + 0.5 * count, strict=True):
        assert stats.kstest(draws, stats.gamma(shape).cdf)[1] > 1e-5
        assert stats.kstest(draws, stats.gamma(shape + 0.5).cdf)[1] < 1e-5
    precision = np.bincount(SCORES.group, 1 / now.variance)
    for draws, of, members in zip(np.transpose(usual), precision, np.bincount(SCORES.group), strict=True):
        power, above = 3.0 * members - HYPER.usual_shape, 4.0 * of
        scale = np.sqrt(HYPER.usual_rate / above)
        bend = 2 * np.sqrt(HYPER.usual_rate * above)
        assert stats.kstest(draws, stats.geninvgauss(power, bend, scale=scale).cdf)[1] > 1e-5
        assert stats.kstest(draws, stats.geninvgauss(power + 1, bend, scale=scale).cdf)[1] < 1e-5


def quantiles(draws, log_density, low, high):
    """Kolmogorov-Smirnov of draws against a density on a grid."""
    grid = np.linspace(low, high, 20_001)
    value = np.array([log_density(x) for x in grid])
    mass = np.cumsum(np.exp(value - value.max()))
    return stats.kstest(np.interp(draws, grid, mass / mass[-1]), "uniform")[1]


@pytest.mark.parametrize("members", [1, 4, 400])
def test_shape_has_its_density(members):
    rng = np.random.default_rng(seed_of(f"shape {members}"))
    ratio = rng.gamma(3.0, 1 / 3.0, members)
    fit = (np.log(ratio) - ratio).sum()
    state_ = stream(rng)
    draws = [
        hierarchical.draw_log_shape(state_, (float(members), fit - 0.25, 2.0), 0.0) for _ in range(10_000)
    ]

    def density(x, power=2.0):
        a = np.exp(x)
        return members * (a * np.log1p(a) - special.gammaln(a)) + a * (fit - 0.25) + power * x

    assert quantiles(draws, density, -8, 6) > 1e-5
    if members < 400:
        assert quantiles(draws, lambda x: density(x, 2.3), -8, 6) < 1e-5


def test_spread_has_its_density():
    rng = np.random.default_rng(seed_of("spread"))
    weight, away = np.array([0.0, 0.3, 5.0, 1.0]), np.array([0.0, 0.5, 1.2, -0.4])
    for s in (0.1, 1.6):
        some = weight > 0
        law = stats.norm.logpdf(away[some], scale=np.sqrt(s**2 + 1 / weight[some])).sum()
        law += stats.halfnorm.logpdf(s, scale=1.5)
        if s < 1:
            first = law - hierarchical.spread_log_p(s, weight, away, 1 / 2.25)
    assert abs(law - hierarchical.spread_log_p(s, weight, away, 1 / 2.25) - first) < 1e-12
    state_, s, draws = stream(rng), 1.0, []
    for _ in range(40_000):
        s = hierarchical.draw_spread(state_, weight, away, 1 / 2.25, s)
        draws.append(s)
    apart = np.array(draws[::8])  # nearly independent
    assert quantiles(apart, lambda s: hierarchical.spread_log_p(s, weight, away, 1 / 2.25), 0, 12) > 1e-4
    twin = quantiles(
        apart, lambda s: hierarchical.spread_log_p(s, weight, away, 1 / 2.25) - np.log(s), 1e-6, 12
    )
    assert twin < 1e-4


@pytest.mark.parametrize(
    ("weight", "noise"), [(10.0, 0.0), (10.0, 0.97), (1e8, 0.0), (1e-12, 1.0), (10.0, np.nan)]
)
def test_no_spread_takes_a_bounded_slice(weight, noise):
    """Members that do not differ: the spread is small, not nothing; what is no number changes nothing."""
    rng = np.random.default_rng(seed_of("no spread"))
    away = noise * rng.standard_normal(4000) / np.sqrt(weight)
    state_, weights, s, draws = stream(rng), np.full(4000, weight), 1.0, []
    for _ in range(300):
        s = hierarchical.draw_spread(state_, weights, away, 0.25, s)
        draws.append(s)
    reach = min(1 / np.sqrt(weight), 2.0)
    if np.isnan(noise):
        assert set(draws) == {1.0}
    else:
        assert 1e-5 * reach < min(draws[20:]) and max(draws[20:]) < 4 * reach


@pytest.mark.parametrize(("spread", "weight"), [(0.3, 100.0), (3.0, 2.0)])
def test_the_first_slice_has_three_standard_deviations(spread, weight):
    """Many members determine the spread: its density is nearly normal."""
    members, narrow = 400, 1 / 100
    sd = np.sqrt(spread**2 + 1 / weight)
    weights, away = np.full(members, weight), sd * stats.norm.ppf((np.arange(members) + 0.5) / members)
    grid = np.linspace(0.5 * spread, 1.5 * spread, 101)
    log_p = np.array([hierarchical.spread_log_p.py_func(s, weights, away, narrow) for s in grid])
    p = np.exp(log_p - log_p.max())
    mean = (grid * p).sum() / p.sum()
    exact = np.sqrt(((grid - mean) ** 2 * p).sum() / p.sum())
    assert hierarchical._slice_width.py_func(weights, away, narrow) == pytest.approx(3 * exact, rel=0.03)


def test_derivatives_of_log_gamma():
    for x in np.exp(np.random.default_rng(1).uniform(-20, 20, 300)):
        np.testing.assert_allclose(hierarchical.digamma(x), special.digamma(x), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(hierarchical.trigamma(x), special.polygamma(1, x), rtol=1e-13)


def locations_given_draws(kernel):
    """Locations of the five items in standard units, given 4,000 different draws of what they share: (draw, item)."""
    rng = np.random.default_rng(seed_of("locations given draws"))
    population = np.column_stack([rng.normal(size=4000), rng.uniform(0.2, 2, 4000), np.ones((4000, 2))])
    bias, variance = rng.normal(size=(4000, 4)), rng.uniform(0.1, 3, (4000, 4))
    features, effect = rng.normal(size=(5, 2)), rng.normal(size=(4000, 2))
    shared = hierarchical.SharedDraws(population, bias.T.copy(), 1 / variance.T, effect)
    start = np.searchsorted(SCORES.item, np.arange(6))
    scores = hierarchical.ItemScores(start, SCORES.rater, SCORES.score, features)
    streams, drawn = rng.integers(0, 2**64, (4, 5), dtype=np.uint64), np.empty((4000, 5))
    kernel(streams, scores, shared, drawn)
    # Normal with precision 1 / tau^2 + sum 1 / sigma2_k, and the weighted mean of m + x w and all y - b_k
    seen = (SCORES.item == np.arange(5)[:, None]).astype(float)
    known = 1 / population[:, [1]] ** 2
    weight = known + (1 / variance[:, SCORES.rater]) @ seen.T
    pull = ((SCORES.score - bias[:, SCORES.rater]) / variance[:, SCORES.rater]) @ seen.T
    centre = population[:, [0]] + effect @ features.T
    return (drawn - (pull + centre * known) / weight) * np.sqrt(weight)


@pytest.mark.slow
def test_locations_given_all_draws_have_their_conditional():
    """So of an item without scores, too; wrong twins forget the biases, or shrink towards nothing."""

    def check(units):
        assert min(stats.kstest(own, "norm").pvalue for own in units.T) > 1e-4 / 5

    check(locations_given_draws(hierarchical.draw_locations))
    for old, new in (
        ("(scores.score[a] - shared.bias[k, d])", "scores.score[a]"),
        ("centre = shared.population[d, MEAN]", "centre = 0.0"),
    ):
        twin = altered("draw_locations", (old, new)).draw_locations
        assert_rejects_twin(check, locations_given_draws(twin))
