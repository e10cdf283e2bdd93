"""Simulated labels follow the law they are named for."""

import numpy as np
import pytest
from monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from raterzoo.models import simulators

MODELS = ["class_conditional", "dawid_skene", "hierarchical_dawid_skene", "multinomial", "one_coin"]


@pytest.mark.parametrize("model", MODELS)
def test_labels_follow_the_confusion_matrices(model):
    drawn = simulators.labels(model=model, items=4000, raters=3, random_seed=seed_of(model))
    data, truth = drawn.data, drawn.truth
    np.testing.assert_allclose(truth["confusion"].sum(axis=2), 1)
    rater = data.raters[data.annotation_rater]
    category = truth["true_category"][data.items[data.annotation_item]]
    found = np.zeros((3, 3, 3))
    np.add.at(found, (rater, category, data.label_code), data.count)
    total = found.sum(axis=2, keepdims=True)

    def check(confusion):
        spread = np.sqrt(total * confusion * (1 - confusion)) + 1e-9
        z = (found - total * confusion)[:, total[0, :, 0] > 50] / spread[:, total[0, :, 0] > 50]
        assert np.abs(z).max() < bonferroni_threshold(27)

    check(truth["confusion"])
    assert_rejects_twin(check, truth["confusion"].swapaxes(1, 2) * 0.9 + 0.1 / 3)
    share = np.bincount(truth["true_category"], minlength=3) / 4000
    error = np.sqrt(truth["prevalence"] * (1 - truth["prevalence"]) / 4000)
    assert np.abs((share - truth["prevalence"]) / error).max() < bonferroni_threshold(3)


def test_structure_of_the_matrices():
    confusion = {m: simulators.labels(model=m, random_seed=1).truth["confusion"] for m in MODELS}
    assert np.ptp(confusion["multinomial"], axis=0).max() == 0
    ability = np.diagonal(confusion["one_coin"], axis1=1, axis2=2)
    assert np.ptp(ability, axis=1).max() == 0 and np.ptp(ability, axis=0).max() > 0
    for model in ("one_coin", "class_conditional"):
        np.testing.assert_allclose(confusion[model][:, 0, 1], confusion[model][:, 0, 2])


def test_counts_of_plausibilities():
    drawn = simulators.labels(model="dirichlet", items=2000, answers=9, random_seed=2)
    p = drawn.truth["plausibility"]
    z = (drawn.data.counts - 9 * p).sum(axis=0) / np.sqrt((9 * p * (1 - p)).sum(axis=0))
    assert np.abs(z).max() < bonferroni_threshold(3)


def test_gold_and_repeats():
    drawn = simulators.labels(items=500, raters=2, answers=5, gold=0.3, random_seed=3)
    known = drawn.data.gold >= 0
    assert 100 < known.sum() < 200
    np.testing.assert_array_equal(drawn.data.gold[known], drawn.truth["true_category"][known])
    assert drawn.data.counts.sum(axis=1).tolist() == [5] * 500


@pytest.mark.parametrize(
    "options", [{"items": 0}, {"categories": 1}, {"answers": 1.5}, {"gold": 2}, {"model": "mace"}]
)
def test_wrong_numbers_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        simulators.labels(**options)
