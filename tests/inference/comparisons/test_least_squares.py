"""Least squares on the graph of pairs: by equations written out, as the first iteration of QUITE, and what is refused."""

import warnings

import numpy as np
import pytest
from raterzoo import inference, models, papers
from scipy.special import logit, ndtri
from scipy.stats import logistic, norm

from tests.support.comparison_designs import simulated, table_of
from tests.support.monte_carlo import assert_rejects_twin

INVERSE = {"bradley_terry": logit, "thurstone": ndtri}
DENSITY = {"bradley_terry": logistic.pdf, "thurstone": norm.pdf}


def by_hand(data, link, rho, weighted):
    """Qualities from a design matrix with a row for each pair, workers of reliability rho."""
    won = {}
    for left, right, outcome, count in zip(data.left, data.right, data.outcome, data.count, strict=True):
        pair, sign = (min(left, right), max(left, right)), 1 if left < right else -1
        first = {0: 1.0, 1: 0.0, 2: 0.5}[outcome]
        wins, votes = won.get(pair, (0.0, 0))
        won[pair] = wins + count * (first if sign == 1 else 1 - first), votes + count
    rows, values = [], []
    for (i, j), (wins, votes) in won.items():
        share = np.clip(wins / votes, 0.5 / votes, 1 - 0.5 / votes)
        d = np.clip(INVERSE[link](share) / rho, -1, 1)
        slope = rho * DENSITY[link](rho * d)
        row = np.zeros(len(data.items))
        row[i], row[j] = 1, -1
        scale = np.sqrt(votes * slope**2 / (share * (1 - share))) if weighted else 1.0
        rows.append(scale * row)
        values.append(scale * d)
    q = np.linalg.lstsq(np.array(rows), np.array(values))[0]
    return q - q.mean()


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("link", INVERSE)
def test_equal_workers_are_least_squares_of_inverse_links(link, weighted):
    data = simulated(
        items=12, degree=6, alpha=1.0, raters=40, link=link, reliability_range=(2, 2), tie=0.3
    ).data
    found = papers.least_squares(data, link=link, reliability_range=(2, 2), weighted=weighted)

    def check(weighted):
        exact = by_hand(data, link, 2, weighted)
        np.testing.assert_allclose(found["quality"], exact, rtol=0, atol=1e-9)

    check(weighted)
    assert_rejects_twin(check, not weighted)


def test_it_is_the_first_iteration_of_quite():
    data = simulated(items=20, degree=10).data
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        first = inference.quite(data, max_iterations=1)
    found = papers.least_squares(data)
    for name in ("quality", "distance", "distance_variance"):
        np.testing.assert_allclose(found[name], first[name], rtol=1e-12, atol=1e-12)
    plain = papers.least_squares(data, weighted=False)["quality"]
    assert abs(plain - first["quality"]).max() > 0.01


def test_known_reliability_is_the_limit_of_a_narrow_range():
    data = simulated(items=12, degree=6, raters=12).data
    near, at = (
        papers.least_squares(data, reliability_range=r)["quality"] for r in ((5 - 1e-6, 5 + 1e-6), (5, 5))
    )
    np.testing.assert_allclose(near, at, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [{"link": "probit"}, {"reliability_range": (0, 1)}, {"reliability_range": (2, 1)}, {"quality_range": 0}],
)
def test_arguments_out_of_range(options, golden):
    with golden.raises(ValueError):
        papers.least_squares(simulated(items=6, degree=2).data, **options)


def test_components_are_refused(golden):
    with golden.raises(models.DataError):
        papers.least_squares(table_of([("r", "a", "b", "left", 1), ("r", "c", "d", "left", 1)]))
