"""Simulated labels follow the law they are named for."""

import numpy as np
import pytest
from raterzoo.models import simulators
from scipy.special import expit, softmax
from scipy.stats import beta, kstest, norm

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

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


def probabilities(model, truth, item, rater):
    """Return p(label) of each answer, written once more."""
    known = truth["true_category"][item]
    if model == "mace":
        told = truth["competence"][rater][:, None]
        return told * np.eye(3)[known] + (1 - told) * truth["spam"][rater]
    if model == "glad":
        right = expit(truth["ability"][rater] * truth["easiness"][item])
        return np.where(np.eye(3, dtype=bool)[known], right[:, None], (1 - right)[:, None] / 2)
    if model == "ordinal":
        cut = truth["threshold"] + truth["rater_shift"][rater][:, None]
        below = expit((cut - truth["location"][item][:, None]) / truth["rater_scale"][rater][:, None])
        return np.c_[below[:, 0], below[:, 1] - below[:, 0], 1 - below[:, 1]]
    odds = truth["effect"][item]
    if model == "logistic_random_effects":
        odds = truth["log_odds"][rater, known] - odds
    return softmax(np.c_[odds, np.zeros(len(odds))], axis=1)


EFFECTS = ["glad", "item_difficulty", "logistic_random_effects", "mace", "ordinal"]


@pytest.mark.parametrize("model", EFFECTS)
def test_labels_follow_the_effects(model):
    options = {"model": model, "items": 4000, "raters": 5, "gold": 0.2}
    drawn = simulators.labels(**options, random_seed=seed_of(model))
    data, truth = drawn.data, drawn.truth
    item, rater = data.items[data.annotation_item], data.raters[data.annotation_rater]
    told, times = data.gold >= 0, data.count
    np.testing.assert_array_equal(data.gold[told], truth["true_category"][data.items[told]])
    of_item = {"glad": "easiness", "mace": "true_category", "ordinal": "location"}.get(model, "effect")
    number = truth[of_item].reshape(4000, -1)[:, 0]
    apart = (number > np.median(number))[item] + 2 * (rater % 2) + 4 * truth["true_category"][item]

    def check(truth):
        p = probabilities(model, truth, item, rater)
        away = times[:, None] * (np.eye(3)[data.label_code] - p)
        sums, spread = np.zeros((12, 3)), np.zeros((12, 3))
        np.add.at(sums, apart, away)
        np.add.at(spread, apart, times[:, None] * p * (1 - p))
        z = sums / np.sqrt(spread + 1e-9)
        assert np.abs(z).max() < bonferroni_threshold(z.size)

    check(truth)
    wrong = {"mace": "competence", "glad": "ability", "ordinal": "location"}.get(model, "effect")
    assert_rejects_twin(check, truth | {wrong: truth[wrong] * (0.7 if model == "mace" else -1)})


def test_effects_follow_their_laws():
    def of(model):
        many = {"items": 2000, "raters": 1000, "answers": 1}
        return simulators.labels(model=model, **many, random_seed=seed_of(f"many {model}")).truth

    truth = {model: of(model) for model in EFFECTS}
    glad, mace, line = truth["glad"], truth["mace"], truth["ordinal"]
    difficulty, logistic = truth["item_difficulty"], truth["logistic_random_effects"]
    own, row = difficulty["true_category"], logistic["true_category"]
    away = logistic["log_odds"] - logistic["population_mean"]
    standard = {
        "ability": glad["ability"] - 1,
        "easiness": np.log(glad["easiness"]) - 1,
        "spam": norm.ppf(1 - (1 - mace["spam"][:, 0]) ** 2),
        "effect of difficulty": (difficulty["effect"] - difficulty["effect_mean"][own])
        / difficulty["effect_spread"][own],
        "effect": logistic["effect"] / logistic["effect_spread"][row],
        "log odds": away / logistic["population_spread"],
        "location": line["location"],
    }
    p = {name: kstest(np.ravel(values), norm.cdf).pvalue for name, values in standard.items()}
    p["competence"] = kstest(mace["competence"], beta(2, 1).cdf).pvalue
    for name in ("rater_shift", "rater_scale"):
        values = line[name] if name == "rater_shift" else np.log(line[name] / line["scale"])
        p[name] = kstest(values / values.std(), norm.cdf).pvalue
    assert min(p.values()) > 1e-4, p
    assert (np.diff(line["threshold"]) > 0).all() and "prevalence" not in line
    typical = expit((line["threshold"] - line["location"][:, None]) / line["scale"])
    z = (line["true_category"] == 0) - typical[:, 0]
    assert abs(z.sum() / np.sqrt((typical[:, 0] * (1 - typical[:, 0])).sum())) < 4


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
    "options",
    [
        {"items": 0},
        {"categories": 1},
        {"answers": 1.5},
        {"gold": 2},
        {"gold": "a"},
        {"model": "majority"},
        {"model": ["glad"]},
        {"prevalence_concentration": "a"},
        {"prevalence_concentration": 0},
    ],
)
def test_wrong_numbers_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        simulators.labels(**options)
