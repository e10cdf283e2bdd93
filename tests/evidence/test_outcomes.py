"""An outcome is a number: one that is none neither keeps its bound nor leaves it."""

import numpy as np
import pytest

from evidence.tasks import Outcome, settled


@pytest.mark.parametrize("numbers", [(np.nan, 4.0), (1.0, np.nan)])
def test_a_statistic_that_is_no_number_is_refused(numbers):
    with pytest.raises(ValueError, match=r"at spam\[0\]: NaN is no verdict"):
        Outcome(*numbers, "spam[0]", 9, None, (), {})


def test_a_statistic_may_be_infinite():
    assert not Outcome(np.inf, 4.0, "spam[0]", 9, None, (), {}).within
    assert Outcome(1.0, 4.0, "spam[0]", 9, None, (), {}).within


@pytest.mark.parametrize(
    ("first", "second", "simulations"),
    [(0.9, None, 10), (1.05, 0.7, 40), (1.05, 1.9, 40), (1.6, None, 10)],
    ids=["inside", "by chance", "wrong", "far outside"],
)
def test_a_calibration_just_outside_its_band_is_repeated_once(first, second, simulations):
    asked = []

    def ranked(n, name):
        asked.append(name)
        return Outcome(first if len(asked) == 1 else second, 1.0, "spam[0]", n, None, (), {})

    found = settled(ranked, 10, "eggs")
    assert (found.statistic, found.simulations) == (second or first, simulations)
    assert asked == ["eggs", "eggs again"][: 1 + (second is not None)]
    assert found.notes == ({"before it was repeated": first} if second else {})
