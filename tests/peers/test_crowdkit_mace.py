"""MACE beside crowd-kit's: one estimate where the rows come in the order of their names; elsewhere theirs mixes raters up.

The numbers were recorded from crowd-kit 1.4.2 after 300 iterations; with crowd-kit installed its fits are compared, too.
crowd-kit's prevalence is uniform. Its EM adds .01 / (number of labels) to every count, its variational Bayes has Beta(.5, .5) and
Dirichlet(10) priors, whatever its argument `smoothing`.
"""

from importlib.util import find_spec

import numpy as np
import pytest
from raterzoo import models, papers

from tests.support.crowds import crowd

needs_peer = pytest.mark.skipif(find_spec("crowdkit") is None, reason="crowd-kit is not installed")
THIRD = 0.01 / 3
PRIORS = {
    "em": {"variational": False, "competence_concentration": (THIRD, THIRD), "spam_concentration": THIRD},
    "vb": {"competence_concentration": (0.5, 0.5), "spam_concentration": 10.0},
}  # fmt: skip
RECORDED = {
    "em": [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.999909, 3.2e-05, 5.9e-05],
           [0.999997, 1.0e-06, 1.0e-06], [0.636332, 0.292296, 0.071372]],
    "vb": [[0.000258, 3.4e-05, 0.999708], [0.999966, 1.0e-05, 2.4e-05], [0.99997, 1.5e-05, 1.5e-05],
           [0.995826, 0.001269, 0.002905], [0.999928, 3.6e-05, 3.6e-05], [0.415504, 0.493152, 0.091345]],
}  # fmt: skip


def ours(frame, method):
    labels = models.Labels.from_table(frame, item="task", rater="worker", label="label")
    return papers.mace_em(labels, prevalence_concentration="uniform", restarts=0, tolerance=1e-14,
                             max_iterations=5000, **PRIORS[method])  # fmt: skip


@pytest.mark.parametrize("method", ["em", "vb"])
def test_recorded_estimates(method):
    found = ours(crowd(1), method)["plausibility"].to_numpy()
    np.testing.assert_allclose(found[:6], RECORDED[method], atol=1e-6)


@needs_peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["em", "vb"])
def test_one_estimate_and_another_where_rows_come_in_another_order(method):
    from crowdkit.aggregation import MACE

    frame = crowd(1)
    found = ours(frame, method)["plausibility"]
    theirs = MACE(n_restarts=1, n_iter=60, method=method).fit(frame).probas_
    theirs = theirs.loc[found["item"].to_numpy(), [0, 1, 2]].to_numpy()
    np.testing.assert_allclose(found, theirs, atol=1e-5)
    assert (found.argmax("category").to_numpy() == theirs.argmax(axis=1)).all()
    mixed = frame.sample(frac=1, random_state=1)
    again = MACE(n_restarts=1, n_iter=60, method=method).fit(mixed).probas_
    again = again.loc[found["item"].to_numpy(), [0, 1, 2]].to_numpy()
    assert np.abs(again - theirs).max() > 0.1  # the spam of one rater is taken for another's
    same = ours(mixed, method)["plausibility"].sel(item=found["item"], category=found["category"])
    np.testing.assert_allclose(same, found, atol=1e-6)


@needs_peer
def test_their_restarts_all_start_from_one_point():
    from crowdkit.aggregation import MACE

    peer, starts = MACE(), []
    for _ in range(2):
        peer._initialize(6, 3)
        starts.append((peer.spamming_, peer.thetas_))
    for one, other in zip(*starts, strict=True):
        np.testing.assert_array_equal(one, other)
