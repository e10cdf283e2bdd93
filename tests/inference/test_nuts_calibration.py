"""NUTS on every model of labels is calibrated; a wrong prior is not.

All but one wait for the long run.
"""

import pytest
from raterzoo import models

from tests.support.monte_carlo import seed_of
from tests.support.nuts_calibration import calibrated, nuts_ranks

DESIGN = models.simulators.labels(items=40, raters=4, categories=2, answers=3, random_seed=1).data
SIMULATIONS = 60
# NUTS is also compared with enumeration: tests/models/labels/test_builders.py
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("class_conditional", marks=pytest.mark.long),
        "dawid_skene",
        pytest.param("dirichlet", marks=pytest.mark.long),
        pytest.param("hierarchical_dawid_skene", marks=pytest.mark.long),
        pytest.param("multinomial", marks=pytest.mark.long),
        pytest.param("one_coin", marks=pytest.mark.long),
    ],
)
def test_nuts_is_calibrated(name):
    ranks = nuts_ranks(getattr(models, name)(DESIGN), SIMULATIONS, seed_of(f"nuts {name}"))
    assert calibrated(ranks)


def test_a_wrong_prior_is_not():
    truth = models.dawid_skene(DESIGN)
    twin = models.dawid_skene(DESIGN, confusion_concentration=[[9.0, 1.0], [1.0, 9.0]])
    assert not calibrated(nuts_ranks(truth, SIMULATIONS, seed_of("twin"), twin))
