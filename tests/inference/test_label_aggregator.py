"""The door of scikit-learn: its estimator checks, the posterior on rows of the fit, an enumeration on new rows."""

import warnings

import numpy as np
import pytest
from raterzoo import inference, models
from sklearn.utils.estimator_checks import check_estimator

pytestmark = pytest.mark.filterwarnings(
    "ignore:NOT converged"
)  # few draws are enough for what is compared here
LABELS = models.simulators.labels(items=40, raters=4, answers=3, categories=3, random_seed=1).data


def answers_of(labels):
    """Answers (item, rater) as numbers, NaN where there is none, so that the first rater is not the first to answer."""
    found = np.full((len(labels.items), len(labels.raters)), np.nan)
    found[labels.annotation_item, labels.annotation_rater] = labels.label_code
    found[0, 0] = np.nan
    return found


@pytest.fixture(scope="module")
def fitted():
    return inference.LabelAggregator("dawid_skene", draws=250, chains=2, random_state=2).fit(
        answers_of(LABELS)
    )


def test_rows_of_the_fit_have_the_posterior(fitted):
    posterior = fitted.tree_["posterior"]
    expected = posterior["plausibility"].mean(("chain", "draw")).transpose("item", "category")
    found = fitted.predict_proba(answers_of(LABELS))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(fitted.predict(answers_of(LABELS)), expected.argmax("category"))


def test_correlated_votes_have_theirs():
    fitted = inference.LabelAggregator(draws=250, chains=2).fit(answers_of(LABELS))
    expected = fitted.tree_["posterior"]["plausibility"].mean(("chain", "draw")).transpose("item", "category")
    np.testing.assert_allclose(fitted.predict_proba(answers_of(LABELS)), expected, rtol=0, atol=1e-6)


def test_a_new_row_is_as_enumerated(fitted):
    new = np.array([[2.0, 0.0, np.nan, 1.0], [np.nan] * 4])
    posterior = fitted.tree_["posterior"].to_dataset().stack(sample=("chain", "draw"))
    prevalence = posterior["prevalence"].transpose("sample", "category").to_numpy()
    confusion = (
        posterior["confusion"]
        .sel(rater=range(4))
        .transpose("sample", "rater", "category", "answer")
        .to_numpy()
    )
    joint = prevalence * confusion[:, 0, :, 2] * confusion[:, 1, :, 0] * confusion[:, 3, :, 1]
    expected = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    found = fitted.predict_proba(new)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    np.testing.assert_allclose(found[1], prevalence.mean(axis=0), rtol=1e-6)
    transposed = prevalence * confusion[:, 0, 2] * confusion[:, 1, 0] * confusion[:, 3, 1]
    wrong = (transposed / transposed.sum(axis=1, keepdims=True)).mean(axis=0)
    assert np.abs(found[0] - wrong).max() > 0.01


@pytest.mark.parametrize("X", [[["a", "c", None, "a"]], [["a", "a"]], [[float("inf")] * 4]])
def test_answers_unknown_to_the_fit_are_refused(fitted, X):
    with pytest.raises(ValueError):
        fitted.predict_proba(X)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class"):
        inference.LabelAggregator().fit([["a", "a"], ["a", "a"]])


@pytest.mark.slow
def test_estimator_checks_pass():
    aggregator = inference.LabelAggregator("dawid_skene", draws=60, chains=1)
    with warnings.catch_warnings(action="ignore"):
        results = check_estimator(aggregator, on_skip=None)
    status = [own["status"] for own in results]
    assert len(status) > 30 and set(status) <= {"passed", "skipped"} and status.count("skipped") <= 3
