"""NUTS on Bradley-Terry against quadrature, and, in the long run, calibrated; wrong twins are not."""

from dataclasses import replace

import numpy as np
import pytest
from raterzoo.models import bradley_terry

from tests.support.few_comparisons import all_pairs, check_means, draws_of_three_items
from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.nuts_calibration import calibrated, nuts_ranks

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.mark.slow
def test_nuts_draws_the_exact_posterior():
    draws = draws_of_three_items(bradley_terry, seed_of("bradley_terry"))
    check_means(draws, "bradley_terry")
    assert_rejects_twin(check_means, draws, "bradley_terry", 1.5, 0.01)  # raters who are all alike
    assert_rejects_twin(check_means, draws, "thurstone")


@pytest.mark.long
def test_nuts_is_calibrated():
    assert calibrated(nuts_ranks(bradley_terry(all_pairs()), 60, seed_of("nuts bradley_terry")))


@pytest.mark.long
def test_raters_mixed_up_are_not():
    pairs = all_pairs()
    swapped = np.where(pairs.left == 0, 3 - pairs.annotation_rater, pairs.annotation_rater)
    twin = bradley_terry(replace(pairs, annotation_rater=swapped))
    assert not calibrated(nuts_ranks(bradley_terry(pairs), 40, seed_of("mixed up"), twin))
