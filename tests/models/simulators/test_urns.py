"""Urns: items and labels follow their law, the running example has the asymptote of the paper, wrong numbers are named."""

import numpy as np
import pytest
from raterzoo.models import simulators

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

RUNNING = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])


@pytest.fixture(scope="module")
def drawn():
    return simulators.urn_items(items=20_000, random_seed=seed_of("urns"))


def check_states(state, weight):
    n = len(state)
    z = (np.bincount(state, minlength=3) - n * weight) / np.sqrt(n * weight * (1 - weight))
    assert np.abs(z).max() < bonferroni_threshold(3)


def check_labels(counts, plausibility):
    z = []
    for q in np.unique(plausibility[:, 1]):
        own = counts[plausibility[:, 1] == q]
        z.append((own[:, 1].sum() - own.sum() * q) / np.sqrt(own.sum() * q * (1 - q)))
    assert np.abs(z).max() < bonferroni_threshold(len(z))


def test_states_and_labels_follow_the_law(drawn):
    state, q = drawn.truth["state"], drawn.truth["plausibility"]
    assert drawn.data.counts.sum(axis=1).tolist() == [10] * 20_000
    np.testing.assert_array_equal(q, RUNNING[state])
    check_states(state, np.array([0.7, 0.1, 0.2]))
    assert_rejects_twin(check_states, state, np.array([0.6, 0.2, 0.2]))
    check_labels(drawn.data.counts, q)
    assert_rejects_twin(check_labels, drawn.data.counts, q[:, ::-1])


def check_spread(q, rho):
    """Second moments about the mean of a Dirichlet: variance = rho m (1 - m)."""
    square = (q[:, 0] - 0.3) ** 2
    z = (square.mean() - rho * 0.3 * 0.7) / (square.std() / np.sqrt(len(square)))
    assert abs(z) < bonferroni_threshold(1)


def test_spread_is_the_correlation_within_a_state():
    q = simulators.urn_items(
        items=20_000, weight=[1], probability=[[0.3, 0.3, 0.4]], spread=0.25, random_seed=seed_of("spread")
    ).truth["plausibility"]  # fmt: skip
    np.testing.assert_allclose(q.sum(axis=1), 1, rtol=1e-12)
    check_spread(q, 0.25)
    assert_rejects_twin(check_spread, q, 0.2)


def test_classifier_without_error_knows_the_urns_and_is_as_sharp_as_said(drawn):
    exact = simulators.urn_items(error=0.0, random_seed=1).truth
    np.testing.assert_allclose(exact["score"], exact["plausibility"], rtol=1e-12)
    sure = simulators.urn_items(error=0.0, sharpness=2.0, random_seed=1).truth
    squared = exact["plausibility"] ** 2
    np.testing.assert_allclose(sure["score"], squared / squared.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(drawn.truth["score"].sum(axis=1), 1, rtol=1e-12)
    assert (np.abs(drawn.truth["score"] - drawn.truth["plausibility"]) > 0.01).mean() > 0.5


SAYS = np.array([[0.1, 0.9], [0.5, 0.5], [0.95, 0.05]])


def test_hard_classifier_follows_its_law_and_the_soft_one_is_calibrated(drawn):
    made = simulators.urn_items(items=20_000, says=SAYS, random_seed=seed_of("urns"))
    for (
        name,
        values,
    ) in drawn.truth.items():  # the items, labels and scores are those without these classifiers
        np.testing.assert_array_equal(made.truth[name], values)
    np.testing.assert_array_equal(made.data.counts, drawn.data.counts)
    state, hard, soft = (made.truth[name] for name in ("state", "hard", "soft"))

    def check(says):
        n = np.bincount(state)
        z = (np.bincount(state, hard[:, 1]) - n * says[:, 1]) / np.sqrt(n * says[:, 0] * says[:, 1])
        assert np.abs(z).max() < bonferroni_threshold(3)

    check(SAYS)
    assert_rejects_twin(check, SAYS[[1, 0, 2]])
    assert hard.sum(axis=1).tolist() == [1] * 20_000
    # section 3 of the paper: .7681 and .3226, what a label is given what the hard classifier says
    exact = np.array([0.1 / 0.31, 0.53 / 0.69])
    np.testing.assert_allclose(soft[:, 1], exact[hard[:, 1].astype(int)], rtol=1e-12)
    check_labels(made.data.counts.astype(float), soft)
    assert_rejects_twin(check_labels, made.data.counts.astype(float), SAYS[state])


def test_raters_may_differ_by_item_and_urns_be_pure():
    raters = np.array([1, 5, 2])
    data = simulators.urn_items(
        items=3, raters=raters, weight=[1.0], probability=[[0.0, 1.0]], random_seed=1
    ).data
    assert data.counts.tolist() == [[0, 1], [0, 5], [0, 2]]


@pytest.mark.parametrize(
    "options",
    [
        {"items": 0}, {"raters": 0}, {"raters": [1, 2]}, {"weight": (0.7, 0.7, 0.2)}, {"probability": [[0.5, 0.5]]},
        {"probability": [[0.5, 0.6]] * 3}, {"spread": 1.0}, {"spread": [0.1]}, {"error": -1}, {"sharpness": np.inf},
        {"says": SAYS[:2]}, {"says": SAYS * 0.9}, {"says": np.full((3, 3), 1 / 3)},
    ],
)  # fmt: skip
def test_wrong_numbers_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        simulators.urn_items(**options)
