"""NUTS on Thurstone against quadrature, and calibrated; wrong twins are not.

The long run by one command: pytest -m long -n 0 tests/models/comparisons/test_thurstone.py. The short
one is of Bradley-Terry.
"""

import pytest
from raterzoo.models import bradley_terry, thurstone

from tests.support.few_comparisons import all_pairs, check_means, draws_of_three_items
from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.nuts_calibration import calibrated, nuts_ranks

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.mark.long
def test_nuts_draws_the_exact_posterior():
    draws = draws_of_three_items(thurstone, seed_of("thurstone"))
    check_means(draws, "thurstone")
    assert_rejects_twin(check_means, draws, "thurstone", 1.5, 0.01)  # raters who are all alike
    assert_rejects_twin(check_means, draws, "bradley_terry")


@pytest.mark.long
def test_nuts_is_calibrated():
    assert calibrated(nuts_ranks(thurstone(all_pairs()), 300, seed_of("nuts thurstone")))


@pytest.mark.long
def test_ties_of_another_law_are_not():
    pairs = all_pairs()
    ranks = nuts_ranks(thurstone(pairs), 40, seed_of("other law"), bradley_terry(pairs))
    assert not calibrated(ranks)
