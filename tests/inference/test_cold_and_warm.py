"""The first fit on a machine, which compiles, draws the same bits as all later ones, whichever models were fitted before.

`python -m benchmarks.same_draws` looks at all models.
"""

import pytest

from benchmarks.same_draws import differing

TWO = ["dawid_skene", "bradley_terry"]
ONE_OF_EACH_FAMILY = [*TWO, "plackett_luce", "hierarchical_scores"]


@pytest.mark.long
@pytest.mark.parametrize("names", [TWO, ONE_OF_EACH_FAMILY])
def test_cold_and_warm_caches_give_the_same_draws(names, tmp_path):
    """Comparisons had the arithmetic of labels that were compiled before them."""
    assert differing(names, str(tmp_path), {}) == {name: [] for name in names}


@pytest.mark.long
def test_cold_and_warm_caches_give_the_same_draws_by_nuts(tmp_path):
    """nutpie's gradients differed with GLAD."""
    assert differing(["glad"], str(tmp_path), {"method": "nuts", "tune": 50}) == {"glad": []}
