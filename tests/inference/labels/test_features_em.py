"""EM with features: the softmax regression of scikit-learn, the estimate without features, and a stationary point."""

import warnings

import numpy as np
import pytest
from raterzoo import inference, models
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from tests.support.monte_carlo import seed_of

SOON = {"restarts": 0, "random_seed": 1}


def drawn(items=150, categories=3, gold=0.0, columns=3, answers=2):
    return models.simulators.labels(
        items=items,
        raters=5,
        categories=categories,
        answers=answers,
        gold=gold,
        features=columns,
        prevalence_concentration=5.0,
        random_seed=seed_of(f"features em {items} {categories} {gold}"),
    )


def estimated(simulated, **options):
    with warnings.catch_warnings(action="ignore"):
        return inference.dawid_skene_em(simulated.data, features=simulated.features, **SOON, **options)


def standardised(simulated):
    raw = np.stack([*simulated.features.values()][1:], axis=1)
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


@pytest.mark.parametrize("penalty", [0.3, 5.0])
@pytest.mark.parametrize("categories", [2, 3])
def test_with_gold_labels_it_is_the_regression_of_scikit_learn(categories, penalty):
    simulated = drawn(categories=categories, gold=1.0)
    found = estimated(simulated, prior=None, feature_penalty=penalty)
    ours = found["feature_effect"].to_numpy()
    x, truth = standardised(simulated), simulated.truth["true_category"]
    theirs = LogisticRegression(C=(2 if categories == 2 else 1) / penalty, tol=1e-12, max_iter=10_000).fit(
        x, truth
    )
    coefficients, intercept = theirs.coef_, theirs.intercept_
    if categories == 2:
        coefficients, intercept = coefficients[0] * [[-0.5], [0.5]], intercept[0] * np.array([-0.5, 0.5])
    np.testing.assert_allclose(ours, coefficients.T - coefficients.T.mean(axis=1, keepdims=True), atol=1e-6)
    log_prevalence = np.log(found["prevalence"].to_numpy())
    np.testing.assert_allclose(np.diff(log_prevalence), np.diff(intercept), atol=1e-6)


def test_effects_under_an_endless_penalty_vanish_and_leave_the_estimate_without_features():
    simulated = drawn(gold=0.2)
    found = estimated(simulated, feature_penalty=1e12, tolerance=1e-13)
    plain = inference.dawid_skene_em(simulated.data, **SOON, tolerance=1e-13)
    assert np.abs(found["feature_effect"]).max() < 1e-8
    for name in ("prevalence", "confusion", "plausibility"):
        np.testing.assert_allclose(found[name], plain[name], atol=1e-5)
    assert float(found["objective"]) == pytest.approx(float(plain["objective"]), rel=1e-9)


@pytest.mark.slow
def test_the_objective_rises_to_a_stationary_point():
    simulated = drawn(gold=0.1)
    found = estimated(simulated, feature_penalty=2.0, tolerance=1e-14)
    assert np.diff(found["trace"]).min() > -1e-8 and found.attrs["converged"] == 1
    x, plausibility = standardised(simulated), found["plausibility"].to_numpy()
    effect, prevalence = found["feature_effect"].to_numpy(), found["prevalence"].to_numpy()
    prior = np.exp(log_softmax(np.log(prevalence) + x @ effect, axis=1))
    # by Fisher's identity the slopes of log likelihood and log prior at the estimate
    np.testing.assert_allclose(x.T @ (plausibility - prior), 2.0 * effect, atol=1e-4)
    np.testing.assert_allclose((plausibility - prior).sum(axis=0), 3 * prevalence - 1, atol=1e-4)
    assert np.abs(x.T @ (plausibility - prior) - 3.0 * effect).max() > 0.1  # of another penalty


@pytest.mark.slow
def test_features_find_more_of_the_truth():
    simulated = drawn(600, answers=1, columns=10)
    with_features = estimated(simulated)["plausibility"].to_numpy().argmax(axis=1)
    with warnings.catch_warnings(action="ignore"):
        alone = inference.dawid_skene_em(simulated.data, **SOON)["plausibility"].to_numpy().argmax(axis=1)
    truth = simulated.truth["true_category"]
    assert (with_features == truth).mean() > (alone == truth).mean() + 0.05


@pytest.mark.parametrize("options", [{"feature_penalty": 0.0}, {"feature_penalty": True}, {"shards": 2}])
def test_what_cannot_be_fitted_is_refused(options, golden):
    with golden.raises(ValueError):
        estimated(drawn(20), **options)
