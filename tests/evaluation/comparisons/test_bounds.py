"""The bound: published and independent numbers of its coefficients, closed forms of its graph, and the range of a real error."""

from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models, papers
from raterzoo.evaluation.comparisons import bounds
from scipy.integrate import quad
from scipy.special import comb, expit
from scipy.stats import norm

from tests.support.monte_carlo import assert_rejects_twin

TRIANGLE = np.array([[0, 1], [1, 2], [0, 2]])


def bound(pairs=TRIANGLE, **arguments):
    return papers.bayesian_cramer_rao_bound(pairs, **{"answers": 3} | arguments)


def information(x, link):
    """F'^2 / (F (1 - F)), written from its definition in logs."""
    if link == "thurstone":
        return np.exp(2 * norm.logpdf(x) - norm.logcdf(x) - norm.logsf(x))
    return np.exp(-np.logaddexp(0, x) - np.logaddexp(0, -x))


def prior(x, low, high):
    """The taper, written from its definition on its own range."""
    z = (high - low) * bounds.TAPER
    if x < low + z:
        return expit(-z / (x - low) - z / (x - low - z)) / (high - low - z)
    if x > high - z:
        return expit(-z / (high - x) + z / (x - high + z)) / (high - low - z)
    return 1 / (high - low - z)


@pytest.mark.parametrize(
    ("link", "quality", "reliability"),
    [("bradley_terry", 10.882, 4.1209e-3), ("thurstone", 20.943, 5.4467e-3)],
)
def test_published_coefficients(link, quality, reliability):
    found = bound(link=link).attrs
    assert found["quality_information"] == pytest.approx(quality, abs=5e-4)
    assert found["reliability_information"] == pytest.approx(reliability, abs=5e-8)
    assert found["quality_prior_information"] == pytest.approx(77.841, abs=5e-4)
    assert found["reliability_prior_information"] == pytest.approx(0.21563, abs=5e-6)
    assert found["quality_prior_information"] / 361 == pytest.approx(
        found["reliability_prior_information"], rel=1e-12
    )


@pytest.mark.parametrize("link", ["bradley_terry", pytest.param("thurstone", marks=pytest.mark.slow)])
@pytest.mark.parametrize("ranges", [((0, 1), (1, 20)), ((-2, 1.5), (0, 60))])
def test_uniform_averages_are_those_of_adaptive_quadrature(link, ranges):
    # The integral over rho of [d^2, rho^2] I(rho d) is one of x = rho d: nested quad, nothing shared with the panels.
    (a, b), (low, high) = ranges
    width = b - a

    def over_rho(d, power):
        points = [p / d for p in (1, 5, 20) if low < p / d < high] or None
        integrand = lambda r: r**power * information(r * d, link)  # noqa: E731
        return quad(integrand, low, high, points=points, epsabs=0, epsrel=1e-11, limit=200)[0]

    def over_d(power_d, power_rho):
        integrand = lambda d: 2 * (width - d) * d**power_d * over_rho(d, power_rho)  # noqa: E731
        points = [p / high for p in (1, 5, 20, 60) if p / high < width]
        total = quad(integrand, 0, width, points=points, epsabs=0, epsrel=1e-10, limit=200)[0]
        return total / width**2 / (high - low)

    found = bound(link=link, taper=False, quality_range=ranges[0], reliability_range=ranges[1])
    assert found.attrs["quality_information"] == pytest.approx(over_d(0, 2), rel=1e-8)
    assert found.attrs["reliability_information"] == pytest.approx(over_d(2, 0), rel=1e-8)
    assert found.attrs["quality_prior_information"] == 0


@pytest.mark.parametrize("link", ["bradley_terry", pytest.param("thurstone", marks=pytest.mark.slow)])
@pytest.mark.parametrize("ranges", [((0, 1), (1, 20)), ((-3, 5), (0.5, 300))])
def test_tapered_averages_are_those_of_a_fine_grid(link, ranges):
    # A trapezoid converges faster than any power for functions all of whose derivatives vanish at the ends: of q_i and q_j
    # there and of rho; the difference is a convolution of grids.
    (a, b), (low, high) = ranges
    n, m = 8001, 1501
    density = np.array([prior(x, 0, 1) for x in np.linspace(0, 1, n)[1:-1]])
    d = (b - a) * np.arange(-(n - 3), n - 2) / (n - 1)
    of_d = np.convolve(density, density[::-1]) / (n - 1) ** 2
    assert of_d.sum() == pytest.approx(1, rel=1e-12)
    rho = np.linspace(low, high, m)[1:-1]
    of_rho = np.array([prior(r, low, high) for r in rho]) * (high - low) / (m - 1)
    both = np.zeros(2)
    for r, weight in zip(rho, of_rho, strict=True):
        value = of_d * information(r * d, link)
        both += weight * np.array([r**2 * value.sum(), (value * d**2).sum()])
    found = bound(link=link, quality_range=ranges[0], reliability_range=ranges[1]).attrs
    coefficients = [found["quality_information"], found["reliability_information"]]
    np.testing.assert_allclose(coefficients, both, rtol=1e-8)


def test_taper_is_a_density_and_its_information_is_that_of_its_slope():
    x = np.linspace(0, 1, 20_001)
    density = bounds.planck_density(x)
    assert density[[0, -1]].tolist() == [0, 0] and density.mean() * 20_001 / 20_000 == pytest.approx(1)
    np.testing.assert_allclose(density[1:-1], [prior(v, 0, 1) for v in x[1:-1]], rtol=1e-9)
    assert bounds.planck_density(np.array([-0.1, 1.1])).tolist() == [0, 0]
    slope = np.gradient(density, x, edge_order=2)
    inside = density > 1e-30
    expected = np.sum(slope[inside] ** 2 / density[inside]) / 20_000
    assert bound().attrs["quality_prior_information"] == pytest.approx(expected, rel=1e-5)


def test_difference_density_sums_to_one_and_is_the_convolution():
    u = np.array([0.01, 0.3, 0.55, 0.9])
    convolved = [
        2
        * quad(
            lambda x, d=d: prior(x, 0, 1) * prior(x + d, 0, 1),
            1e-9,
            1 - d - 1e-9,
            points=[p for p in (0.2, 0.8, 0.2 - d, 0.8 - d) if 0 < p < 1 - d],
            epsrel=1e-11,
        )[0]
        for d in u
    ]
    np.testing.assert_allclose(bounds.difference_density(u), convolved, rtol=1e-8)


def test_complete_graph_is_a_closed_form():
    n, answers = 7, 4
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    found = bound(pairs, answers=answers, answers_of_rater=np.array([5.0, 0.0]))
    c, beta = found.attrs["quality_information"], found.attrs["quality_prior_information"]
    inner = (n - 1) / n / (n * answers * c + beta)  # n - 1 eigenvalues n of the Laplacian, and the shift
    assert float(found["centred"]) == pytest.approx(inner, rel=1e-12)
    assert float(found["quality"]) == pytest.approx(inner + 1 / (n * beta), rel=1e-12)
    assert float(found["pinned"]) == pytest.approx(2 * inner, rel=1e-12)
    own = [found.attrs[f"reliability{which}_information"] for which in ("", "_prior")]
    np.testing.assert_allclose(found["reliability"], [1 / (5 * own[0] + own[1]), 1 / own[1]])


def test_uniform_priors_leave_the_shift_free():
    found = bound(answers=2, taper=False)
    c = found.attrs["quality_information"]
    assert np.isinf(found["quality"])
    assert float(found["centred"]) == pytest.approx(2 / 3 / (3 * 2 * c), rel=1e-12)
    apart = bound(np.array([[0, 1], [2, 3]]), taper=False)
    assert np.isinf(apart.to_array()).all()
    assert np.isfinite(bound(np.array([[0, 1], [2, 3]])).to_array()).all()


def test_each_pair_has_its_answers_in_any_order():
    both = np.array([[0, 1], [1, 0], [2, 1]])
    found = bound(both, answers=np.array([1, 2, 4]))
    xr.testing.assert_allclose(found, bound(np.array([[0, 1], [1, 2]]), answers=np.array([3, 4])))
    more = bound(both, answers=np.array([1, 2, 5]))
    assert more["quality"] < found["quality"] and more["centred"] < found["centred"]


@dataclass
class Votes:
    items = np.array(["a", "b", "c"])
    raters = np.array(["p", "q"])
    left = np.array([0, 1, 0, 2], np.int32)
    right = np.array([1, 0, 2, 1], np.int32)
    annotation_rater = np.array([0, 0, 1, 1], np.int32)
    count = np.array([2, 1, 1, 3])


def test_votes_are_the_design(golden):
    found = papers.bayesian_cramer_rao_bound(Votes())
    expected = bound(TRIANGLE, answers=np.array([3, 3, 1]), answers_of_rater=np.array([3, 4]))
    assert found["reliability"]["rater"].to_numpy().tolist() == ["p", "q"]
    xr.testing.assert_allclose(found.drop_vars("rater"), expected)
    with golden.raises(evaluation.EvaluationError):
        bound(Votes())


def bayes_risk_of_two(answers):
    """Return the centred error of the posterior mean of two items, over every truth and every number of wins of one rater."""
    q = (np.arange(200) + 0.5) / 200
    v = (np.arange(80) + 0.5) / 80
    of_q, of_rho = (bounds.planck_density(x) / bounds.planck_density(x).sum() for x in (q, v))
    d, weight = q[:, None] - q, of_q[:, None] * of_q
    p = expit((1 + 19 * v)[:, None, None] * d)
    risk = 0.0
    for wins in range(answers + 1):
        choose = comb(answers, wins)
        joint = weight * np.einsum("r,rij", of_rho, choose * p**wins * (1 - p) ** (answers - wins))
        mean = (joint * d).sum() / joint.sum()
        risk += (joint * (d - mean) ** 2).sum()
    return risk / 4  # each of the two deviates by half of their difference


@pytest.mark.parametrize("answers", [1, 6])
def test_no_estimate_of_two_items_beats_the_bound(answers):
    risk = bayes_risk_of_two(answers)
    found = bound(np.array([[0, 1]]), answers=answers)
    assert float(found["centred"]) < risk
    # the twin without the information of the prior promises what the risk undercuts
    if answers == 1:
        assert risk < 1 / (4 * answers * found.attrs["quality_information"])


def test_extreme_arguments_are_finite():
    for link in ("bradley_terry", "thurstone"):
        wide = bound(link=link, quality_range=(-50, 50), reliability_range=(0, 1000))
        assert np.isfinite(wide.to_array()).all()
        one = bound(np.empty((0, 2), int), link=link)
        assert one["centred"] == pytest.approx(0, abs=1e-15) and one["quality"] > 0


@pytest.mark.parametrize(
    "change",
    [
        {"link": "logit"},
        {"quality_range": (1, 0)},
        {"reliability_range": (-1, 2)},
        {"reliability_range": (1, np.inf)},
        {"answers": None},
        {"answers": -1},
        {"answers": np.array([1, 2])},
        {"answers_of_rater": np.nan},
        {"n_items": 2},
        {"n_items": 10**6},
        {"pairs": np.array([[1, 1]])},
        {"pairs": np.array([0.5])},
    ],
)
def test_refused(change, golden):
    with golden.raises(evaluation.EvaluationError):
        bound(**change)


def test_as_many_items_as_allowed_are_accepted(monkeypatch, golden):
    monkeypatch.setattr("raterzoo.evaluation.comparisons.bounds.MOST_ITEMS", 3)
    found = bound(np.empty((0, 2), int), n_items=3, answers=0)
    assert np.isfinite(found["quality"]) and bound()["quality"] < found["quality"]
    with golden.raises(evaluation.EvaluationError):
        bound(n_items=4)
    with golden.raises(evaluation.EvaluationError):
        bound(n_items=0)
    votes = [("r", "a", "b", "left"), ("r", "b", "c", "left")]

    def of(rows):
        names = ("rater", "left", "right", "winner")
        table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        return bound(models.Comparisons.from_table(table), answers=None)

    assert of(votes)["quality"] < found["quality"]
    with golden.raises(evaluation.EvaluationError):
        of([*votes, ("r", "c", "d", "left")])


@pytest.mark.parametrize("taper", [True, False])
def test_bounds_of_items_and_pairs_are_those_of_the_inverse(taper):
    pairs, answers = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]), np.array([3, 1, 9, 5, 2])

    def check(answers_of_matrix):
        found = bound(pairs, answers=answers, taper=taper)
        difference = np.zeros((5, 4))
        difference[np.arange(5), pairs[:, 0]], difference[np.arange(5), pairs[:, 1]] = 1, -1
        information = (
            found.attrs["quality_information"] * difference.T @ (answers_of_matrix[:, None] * difference)
        )
        covariance = np.linalg.pinv(information + found.attrs["quality_prior_information"] * np.eye(4))
        centre = np.eye(4) - 0.25
        np.testing.assert_allclose(found["distance"], np.diag(difference @ covariance @ difference.T))
        np.testing.assert_allclose(found["quality_of_item"], np.diag(centre @ covariance @ centre))
        np.testing.assert_allclose(found["quality_of_item"].mean(), found["centred"])

    check(answers)
    assert_rejects_twin(check, answers[::-1])


def test_bounds_of_pairs_of_votes_are_of_each_pair_once():
    votes = {
        "rater": ["r", "s", "r"],
        "left": ["b", "a", "b"],
        "right": ["a", "b", "c"],
        "winner": ["left", "left", "right"],
    }
    pairs = models.Comparisons.from_table(votes)
    found = bound(pairs, answers=None)
    named = [
        frozenset(pairs.items[[i, j]])
        for i, j in zip(found["first"].values, found["second"].values, strict=True)
    ]
    assert set(named) == {frozenset("ab"), frozenset("bc")}
    by_code = bound(np.stack([pairs.left, pairs.right], axis=1), answers=1)
    np.testing.assert_allclose(found["quality"], by_code["quality"])
    two, one = (float(found["distance"][named.index(frozenset(own))]) for own in ("ab", "bc"))  # answers
    assert two < one
