"""The first fit on a machine, which compiles, draws the same bits as all later ones, whichever models were fitted before."""

import pytest
from raterzoo import models

from benchmarks.same_draws import differing

OURS = [name for name, entry in models.catalog.items() if entry.methods[0] != "nuts"]


@pytest.mark.slow
def test_cold_and_warm_caches_give_the_same_draws(tmp_path):
    assert differing(OURS, str(tmp_path), {}) == {name: [] for name in OURS}


@pytest.mark.slow
def test_cold_and_warm_caches_give_the_same_draws_by_nuts(tmp_path):
    """nutpie's gradients differed with GLAD, PyMC's log prior densities with scores."""
    names = ["glad", "hierarchical_scores"]
    assert differing(names, str(tmp_path), {"method": "nuts", "tune": 50}) == {name: [] for name in names}
