"""NUTS on raters of groups is calibrated; with the raters in each other's groups it is not.

The long run by one command: pytest -m long -n 0 tests/inference/labels/test_groups_of_raters.py
"""

import pytest
from raterzoo import models

from tests.support.monte_carlo import assert_rejects_twin, seed_of, within_sbc_band
from tests.support.nuts_calibration import KEPT, nuts_ranks

SIMULATIONS = 300
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def grouped(kinds):
    """Labels of six raters, whose kinds are given by id; only who answers what matters here."""
    data = models.simulators.labels(items=60, raters=6, categories=2, answers=4, random_seed=1).data
    table = data.to_table()
    kind = [kinds[k] for k in table["rater"].tolist()]
    return models.Labels.from_table(
        table | {"kind": kind}, count="count", categories=range(2), rater_attributes=["kind"]
    )


def calibrated(ranks):
    assert within_sbc_band(ranks, KEPT, 1 - 0.01 / ranks.shape[1]).all()


@pytest.mark.long
def test_nuts_is_calibrated_and_not_with_other_groups():
    # spreads that tell: groups far apart, of raters who are alike
    def ranks(name, kinds=None):
        own, other = (
            models.hierarchical_dawid_skene(grouped(k), group="kind", group_spread=3.0, spread=0.3)
            for k in ("aaabbb", kinds or "aaabbb")
        )
        return nuts_ranks(own, SIMULATIONS, seed_of(name), other)

    calibrated(ranks("groups of raters"))
    assert_rejects_twin(calibrated, ranks("groups of raters, twin", "abaabb"))
