"""The Laplace-split sampler is calibrated on every structure of the models of comparisons."""

import pytest

from tests.support.comparison_calibration import STRUCTURES, built, calibrated, hmc_ranks
from tests.support.monte_carlo import seed_of

SIMULATIONS = 200
IN_CI = {"ties", "covariates"}  # one of other outcomes, one of other worths


@pytest.mark.slow
@pytest.mark.parametrize(
    "structure", [own if own in IN_CI else pytest.param(own, marks=pytest.mark.long) for own in STRUCTURES]
)
def test_the_sampler_is_calibrated(structure):
    assert calibrated(hmc_ranks(built(structure), SIMULATIONS, seed_of(f"hmc {structure}")))
