"""Elementary functions of compiled code."""

import math

import numpy as np
import pytest
from raterzoo.models.distributions.vector_math import log_add


def test_log_add():
    assert log_add(0.0, math.log(2.0)) == pytest.approx(math.log(3.0), abs=1e-15)
    assert log_add(-np.inf, -3.0) == log_add(-3.0, -np.inf) == -3.0
    assert log_add(-np.inf, -np.inf) == -np.inf
    assert log_add(5000.0, -5000.0) == 5000.0
