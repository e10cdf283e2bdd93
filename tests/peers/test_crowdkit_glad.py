"""GLAD beside crowd-kit's: one maximum, with uniform prevalence and Normal(1, 1) priors; theirs by default stops before it.

The numbers were recorded from crowd-kit 1.4.2 after 40 iterations with a tight M-step; where it is installed its fit is compared.
"""

from importlib.util import find_spec

import numpy as np
import pytest
from raterzoo import models, papers

from tests.support.crowds import crowd

RECORDED_ABILITY = [0.805968, 0.298508, 1.314174, 1.574855, 0.703716, 0.340505]
RECORDED_PLAUSIBILITY = [
    [0.004783, 0.000628, 0.994589], [0.999938, 1.2e-05, 5.0e-05], [1.0, 0.0, 0.0],
    [0.999178, 0.000149, 0.000673], [1.0, 0.0, 0.0], [0.51232, 0.31262, 0.17506],
]  # fmt: skip


def ours(frame):
    labels = models.Labels.from_table(frame, item="task", rater="worker", label="label")
    return papers.glad_em(labels, restarts=0, tolerance=1e-15,
                             max_iterations=5000)  # fmt: skip


def test_recorded_estimates():
    found = ours(crowd(1))
    np.testing.assert_allclose(found["ability"], RECORDED_ABILITY, atol=1e-6)
    np.testing.assert_allclose(found["plausibility"][:6], RECORDED_PLAUSIBILITY, atol=1e-6)


@pytest.mark.skipif(find_spec("crowdkit") is None, reason="crowd-kit is not installed")
@pytest.mark.filterwarnings("ignore")
def test_one_maximum_and_theirs_stops_before_it():
    from crowdkit.aggregation import GLAD

    frame = crowd(1)
    found = ours(frame)
    items, raters = (found[name].to_numpy() for name in ("item", "rater"))
    tight = GLAD(n_iter=15, tol=-np.inf, m_step_tol=1e-4, m_step_max_iter=50).fit(frame)
    np.testing.assert_allclose(found["plausibility"], tight.probas_.loc[items, [0, 1, 2]], atol=1e-3)
    np.testing.assert_allclose(found["ability"], tight.alphas_.loc[raters], atol=1e-3)
    np.testing.assert_allclose(-np.log(found["difficulty"]), tight.betas_.loc[items], atol=1e-2)
    default = GLAD().fit(frame)
    apart = np.abs(found["ability"] - default.alphas_.loc[raters].to_numpy()).max()
    closer = np.abs(found["ability"] - tight.alphas_.loc[raters].to_numpy()).max()
    assert apart > 10 * closer
