"""NUTS on every model of labels is calibrated; a wrong prior is not."""

import pytest
from monte_carlo import seed_of, within_sbc_band
from nuts_calibration import KEPT, nuts_ranks
from raterzoo import models

DESIGN = models.simulators.labels(items=40, raters=4, categories=2, answers=3, random_seed=1).data
SIMULATIONS = 60
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def calibrated(ranks):
    return within_sbc_band(ranks, KEPT, 1 - 0.01 / ranks.shape[1]).all()


@pytest.mark.parametrize(
    "name",
    [
        "class_conditional",
        "dawid_skene",
        "dirichlet",
        "hierarchical_dawid_skene",
        "multinomial",
        "one_coin",
    ],
)
def test_nuts_is_calibrated(name):
    ranks = nuts_ranks(getattr(models, name)(DESIGN), SIMULATIONS, seed_of(f"nuts {name}"))
    assert calibrated(ranks)


def test_a_wrong_prior_is_not():
    truth = models.hierarchical_dawid_skene(DESIGN)
    twin = models.hierarchical_dawid_skene(DESIGN, diagonal=4.0)
    assert not calibrated(nuts_ranks(truth, SIMULATIONS, seed_of("twin"), twin))
