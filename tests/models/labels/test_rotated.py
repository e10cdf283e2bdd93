"""The coordinates in which rows of log odds are moved."""

import numpy as np
import pytest
from raterzoo.models.labels.observed import HelmertRotation
from scipy.special import softmax

from tests.support.monte_carlo import assert_rejects_twin, seed_of


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_rotation_keeps_lengths_and_volumes(n):
    rows, rotated = np.random.default_rng(seed_of("rotated")).normal(size=(4, n)), HelmertRotation(n)
    moved = rotated.forward(rows).eval()
    np.testing.assert_allclose((moved**2).sum(axis=1), (rows**2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(rotated.backward(moved).eval(), rows, rtol=1e-12, atol=1e-14)
    _, log_volume = np.linalg.slogdet(rotated.backward(np.eye(n)).eval())
    assert abs(log_volume) < 1e-12
    assert rotated.log_jac_det(moved).eval().tolist() == [0.0] * 4


def test_the_first_coordinate_changes_no_probability():
    rows, rotated = np.random.default_rng(seed_of("constants")).normal(size=(4, 3)), HelmertRotation(3)
    law = softmax(rows, axis=1)

    def check(coordinate):
        moved = rotated.forward(rows).eval()
        moved[:, coordinate] += 5
        np.testing.assert_allclose(softmax(rotated.backward(moved).eval(), axis=1), law)

    check(0)
    assert_rejects_twin(check, 1)
