"""An outcome is a number: one that is none neither keeps its bound nor leaves it."""

import numpy as np
import pytest

from evidence.tasks import Outcome


@pytest.mark.parametrize("numbers", [(np.nan, 4.0), (1.0, np.nan)])
def test_a_statistic_that_is_no_number_is_refused(numbers):
    with pytest.raises(ValueError, match=r"at spam\[0\]: NaN is no verdict"):
        Outcome(*numbers, "spam[0]", 9, None, (), {})


def test_a_statistic_may_be_infinite():
    assert not Outcome(np.inf, 4.0, "spam[0]", 9, None, (), {}).within
    assert Outcome(1.0, 4.0, "spam[0]", 9, None, (), {}).within
