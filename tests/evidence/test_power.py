"""The scores are derivatives of the log densities, and a dose is caught as often as the evidence says."""

import numpy as np
import pytest
from scipy.stats import beta, dirichlet, gamma, halfnorm, invgamma, lognorm, norm

from evidence.power import POWER, smallest_doses
from evidence.prior_scores import FAMILIES
from evidence.stationarity import Moved, scores_z, threshold_of

H = 1e-5
DENSITIES = {
    "BetaRV": (lambda x, a, b: beta(a, b).logpdf(x), 0.3, (1.4, 0.7)),
    "GammaRV": (lambda x, a, scale: gamma(a, scale=scale).logpdf(x), 2.1, (1.3, 0.6)),
    "InvGammaRV": (lambda x, a, rate: invgamma(a, scale=rate).logpdf(x), 2.1, (1.3, 0.6)),
    "NormalRV": (lambda x, mean, sd: norm(mean, sd).logpdf(x), 2.1, (1.3, 0.6)),
    "HalfNormalRV": (lambda x, _, sd: halfnorm(scale=sd).logpdf(x), 2.1, (0.0, 0.6)),
    "LogNormalRV": (lambda x, mean, sd: lognorm(sd, scale=np.exp(mean)).logpdf(x), 2.1, (1.3, 0.6)),
}


@pytest.mark.parametrize("family", DENSITIES)
def test_scores_are_derivatives_of_log_densities_by_doses(family):
    density, x, (first, second) = DENSITIES[family]
    scores = FAMILIES[family](*(np.array([value]) for value in (x, first, second)))
    for name, score in scores.items():
        share = name in ("scale", "rate", "sd")
        place, unit = int(share or name == "second shape"), second if share or name == "mean" else 1.0
        step = np.eye(2)[place] * H * unit
        up, down = (density(x, first + sign * step[0], second + sign * step[1]) for sign in (1, -1))
        assert score[0] == pytest.approx((up - down) / (2 * H), rel=1e-6), name


def test_scores_of_dirichlet_and_zero_sum_normal_are_derivatives_too():
    p, c = np.array([0.2, 0.5, 0.3]), np.array([0.7, 1.3, 2.0])
    scores = FAMILIES["DirichletRV"](p[None], c[None])
    for name, step in (("concentration", np.full(3, H)), ("first concentration", np.array([H, 0, 0]))):
        change = dirichlet(c + step).logpdf(p) - dirichlet(c - step).logpdf(p)
        assert scores[name][0] == pytest.approx(change / (2 * H), rel=1e-6)
    x, sd = np.array([0.4, 0.5, -0.9]), 0.8  # two free coordinates, of this sd each
    score = FAMILIES["ZeroSumNormalRV"](x[None], np.array([[sd]]), np.array([1]))["sd"].sum()
    assert score == pytest.approx((x**2).sum() / sd**2 - 2, rel=1e-12)


class OfGamma:
    """Scores of theta ~ Gamma(SHAPE, 1), as `PriorScores` has them."""

    SHAPE = 0.8

    def of(self, values):
        found = FAMILIES["GammaRV"](values["theta"], np.array([self.SHAPE]), np.array([1.0]))
        return np.column_stack([*found.values()])


def moved_by(rng, pairs, dose, share):
    """Return z and shift of transitions that draw a share of the states anew, y ~ Poisson(theta), under a prior with a dose."""
    theta = rng.gamma(OfGamma.SHAPE, size=pairs)
    drawn = rng.gamma(OfGamma.SHAPE + dose + rng.poisson(theta)) / 2
    after = np.where(rng.random(pairs) < share, drawn, theta)
    return scores_z(OfGamma(), Moved({"theta": theta}, {"theta": after}, np.empty(pairs)))


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_dose_is_caught_as_often_as_the_evidence_says(share):
    rng, pairs = np.random.default_rng(1), 8000
    shift = np.mean([moved_by(rng, pairs, 0.0, share)[1] for _ in range(5)], axis=0)
    threshold = threshold_of(shift)
    dose = smallest_doses(threshold, {"shape": shift[0]})["shape"]
    z = np.array([moved_by(rng, pairs, dose, share)[0] for _ in range(150)])
    caught = (np.abs(z).max(axis=1) > threshold).mean()
    assert abs(caught - POWER) < 3.5 * np.sqrt(POWER * (1 - POWER) / 150)
    half = np.array([moved_by(rng, pairs, dose / 2, share)[0] for _ in range(150)])
    assert (np.abs(half).max(axis=1) > threshold).mean() < 0.2  # half the dose is not


def test_right_transitions_are_standard_normal_and_idle_ones_infinite():
    rng = np.random.default_rng(2)
    z = np.array([moved_by(rng, 1000, 0.0, 0.7)[0] for _ in range(150)])
    assert np.abs(z.mean(axis=0)).max() < 3.5 / np.sqrt(150)
    assert np.abs(z.std(axis=0) - 1).max() < 3.5 / np.sqrt(300)
    idle, shift = moved_by(rng, 1000, 0.0, 0.0)
    assert np.isinf(idle).all() and not shift.any()
    assert smallest_doses(4.0, {"shape": shift[0]}) == {}
