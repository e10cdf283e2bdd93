"""EM and variational Bayes of MACE: sums one at a time, a bound of the evidence, stationary and never falling, what it says."""

import warnings

import numpy as np
import pytest
from raterzoo import inference, models, papers
from raterzoo.models import Labels
from scipy.special import betaln, digamma, expit, logsumexp

from tests.support.label_designs import log_beta, tiny_labels
from tests.support.monte_carlo import assert_rejects_twin
from tests.support.rater_laws import given_truth, truths

PRIOR = {"competence_concentration": (2.0, 1.0), "spam_concentration": 0.7}


def quietly(labels, **options):
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        return papers.mace_em(labels, **options)


def crowd(items=120, raters=8, seed=1, each=4):
    rng = np.random.default_rng(seed)
    truth, item = rng.integers(0, 3, items), np.repeat(np.arange(items), each)
    rater = np.concatenate([rng.permutation(raters)[:each] for _ in truth])
    theta, guess = rng.beta(2, 1, raters), rng.integers(0, 3, len(item))
    label = np.where(rng.random(len(item)) < theta[rater], truth[item], guess)
    return Labels.from_table({"item": item, "rater": rater, "label": label}, categories=range(3))


def one_iteration(labels, logs):
    """The E-step answer by answer, with log weights of categories, truth told and spam; and what it expects to count."""
    category, told, missed = logs
    truth = np.tile(category, (len(labels.items), 1))
    truth[(labels.gold[:, None] >= 0) & (labels.gold[:, None] != np.arange(len(category)))] = -np.inf
    for i, k, y, n in answers(labels):
        same = np.where(np.arange(len(category)) == y, told[k], -np.inf)
        truth[i] += n * np.logaddexp(missed[k, y], same)
    total = logsumexp(truth, axis=1)
    truth = np.exp(truth - total[:, None])
    return total.sum(), truth, *expected_counts(labels, truth, told, missed)


def answers(labels):
    return zip(labels.annotation_item, labels.annotation_rater, labels.label_code, labels.count, strict=True)


def expected_counts(labels, truth, told, missed):
    """Items by category; answers that told the truth and that did not, by rater; answers as spam, by rater and label."""
    pair, spam = np.zeros((len(told), 2)), np.zeros(missed.shape)
    for i, k, y, n in answers(labels):
        meant = truth[i, y] * expit(told[k] - missed[k, y])
        pair[k] += n * meant, n * (1 - meant)
        spam[k, y] += n * (1 - meant)
    return truth.sum(axis=0), pair, spam


@pytest.mark.parametrize("variational", [False, True])
def test_estimate_is_a_fixed_point_of_the_iteration(variational):
    labels = crowd()
    found = quietly(
        labels, variational=variational, tolerance=1e-15, restarts=1, max_iterations=5000, **PRIOR
    )
    prior = (np.ones(3), np.array([2.0, 1.0]), np.full((8, 3), 0.7))

    def check(prior):
        """The counts, from the estimate, make up the estimate again."""
        counts = [found["prevalence"], _pair(found), found["spam"]]
        totals = [p.sum(axis=-1) for p in prior]
        answers = np.bincount(labels.annotation_rater, labels.count)
        spammed = answers + totals[1] - counts[1][:, 0] * (answers + totals[1]) - prior[1][1]
        sizes = (
            len(labels.items) + totals[0],
            (answers + totals[1])[:, None],
            (spammed + totals[2])[:, None],
        )
        posterior = [np.asarray(c) * s for c, s in zip(counts, sizes, strict=True)]
        logs = [
            digamma(c) - digamma(c.sum(axis=-1, keepdims=True))
            if variational
            else np.log(c / c.sum(axis=-1, keepdims=True))
            for c in posterior
        ]
        category, pair, spam = logs
        expected = one_iteration(labels, (category, pair[:, 0], pair[:, 1:] + spam))
        for own, new, old in zip(prior, expected[2:], posterior, strict=True):
            np.testing.assert_allclose(own + new, old, rtol=1e-5)
        np.testing.assert_allclose(found["plausibility"], expected[1], atol=1e-6)

    check(prior)
    assert_rejects_twin(check, (prior[0], prior[1], prior[2] + 0.1))


def _pair(found):
    return np.stack([found["competence"], 1 - found["competence"]], axis=1)


def evidence(labels, alpha, pair, c):
    """Log probability of all answers with the parameters summed out."""
    total = -np.inf
    for category in truths(labels):
        items = alpha + np.bincount(category, minlength=2)
        for _, (who, told, label) in given_truth(labels, category, None):
            own = np.array(pair) + np.stack([np.bincount(who, x, 3) for x in (told, 1 - told)], axis=1)
            spam = np.array(c)
            np.add.at(spam, (who, label), 1 - told)
            after = log_beta(items) + betaln(*own.T).sum() + log_beta(spam).sum()
            before = log_beta(alpha) + 3 * betaln(*pair) + log_beta(c).sum()
            total = np.logaddexp(total, after - before)
    return total


def test_variational_objective_is_a_lower_bound_of_the_evidence():
    labels = tiny_labels()
    log_evidence = evidence(labels, np.ones(2), (2.0, 1.0), np.full((3, 2), 0.7))
    for iterations in (1, 3, 300):
        found = quietly(labels, restarts=0, max_iterations=iterations, **PRIOR)
        assert log_evidence - 2 < found.attrs["objective"] < log_evidence


@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("prevalence", [1.0, "uniform"])
def test_objective_never_falls(variational, prevalence):
    for seed in range(5):
        found = quietly(crowd(30, 5, seed, 3), variational=variational, restarts=2, random_seed=seed,
                        prevalence_concentration=prevalence, tolerance=-1.0, max_iterations=200)  # fmt: skip
        assert (np.diff(found["trace"]) > -1e-12 * np.abs(found["trace"][1:])).all()
        assert found.attrs["converged"] == 0 and found.sizes["iteration"] == 200


def by_logs(labels, prior, iterations):
    """Objective and p(true category) of variational Bayes from the vote, all weights kept as logs."""
    n, known = len(labels.categories), labels.gold >= 0
    truth = np.full((len(labels.items), n), 1e-300)
    np.add.at(truth, (labels.annotation_item, labels.label_code), labels.count)
    truth[known] = np.eye(n)[labels.gold[known]]
    truth /= truth.sum(axis=1, keepdims=True)
    half = np.full(len(labels.raters), np.log(0.5))
    counts = expected_counts(labels, truth, half, np.tile(half[:, None] - np.log(n), n))
    for _ in range(iterations):
        after = [own + more for own, more in zip(prior, counts, strict=True)]
        logs = [digamma(c) - digamma(c.sum(axis=-1, keepdims=True)) for c in after]
        bound = sum(
            (log_beta(c) - log_beta(own)).sum() - ((c - own) * log).sum()
            for own, c, log in zip(prior, after, logs, strict=True)
        )
        total, truth, *counts = one_iteration(labels, (logs[0], logs[1][:, 0], logs[1][:, 1:] + logs[2]))
    return total + bound, truth


@pytest.mark.parametrize("small", [0.5, 2e-3, 1e-3, 1e-6])
@pytest.mark.parametrize("of", ["plain", "gold"])
def test_weights_too_small_for_doubles_are_kept_as_logs(small, of):
    """The expected log of a share that nobody has is about -1 / concentration; exp(-1000) is no double."""
    plain = Labels.from_table({"item": list("aabb"), "rater": list("rsrs"), "label": list("xyyz")})
    labels = plain if of == "plain" else tiny_labels()
    shape = len(labels.raters), len(labels.categories)
    options = {"competence_concentration": (small, small), "spam_concentration": small}

    def check(small):
        prior = np.ones(shape[1]), np.full((shape[0], 2), small), np.full(shape, small)
        for iterations in (1, 2, 30):
            found = quietly(labels, restarts=0, max_iterations=iterations, tolerance=-1.0, **options)
            objective, truth = by_logs(labels, prior, iterations)
            np.testing.assert_allclose(found.attrs["objective"], objective, rtol=1e-9)
            np.testing.assert_allclose(found["plausibility"], truth, atol=1e-8)
            np.testing.assert_allclose(found["confusion"].sum("answer"), 1, rtol=1e-12)

    check(small)
    assert_rejects_twin(check, 1.01 * small)


def test_best_start_is_returned():
    found = quietly(crowd(15, 8, 3, 3), restarts=20, random_seed=1)
    ends = found["start_objective"].to_numpy()
    assert len(ends) == 21 and ends.argmax() == found.attrs["start"]
    assert found.attrs["objective"] == ends.max() == found["trace"].to_numpy()[-1]
    np.testing.assert_allclose(found["confusion"].sum("answer"), 1, rtol=1e-12)
    np.testing.assert_allclose(found["plausibility"].sum("category"), 1, rtol=1e-12)


def test_it_is_near_the_posterior_mean():
    labels = crowd(400, 8)
    posterior = inference.sample(models.mace(labels), random_seed=1, progressbar=False)["posterior"]
    mean, sd = (
        posterior["competence"].mean(("chain", "draw")),
        posterior["competence"].std(("chain", "draw")),
    )
    for variational in (False, True):
        found = quietly(labels, variational=variational, restarts=0)
        assert (np.abs(found["competence"] - mean) < sd).all()
        apart = found["plausibility"] - posterior["plausibility"].mean(("chain", "draw"))
        assert np.abs(apart).max() < 0.1


def test_gold_labels_are_known():
    table = {"item": [1, 1, 2, 2], "rater": list("abab"), "label": list("xyyy"), "gold": list("yyyy")}
    found = quietly(Labels.from_table(table, gold="gold"), restarts=0)
    np.testing.assert_allclose(found["plausibility"].sel(category="y"), 1, rtol=1e-15)
    assert found["competence"].sel(rater="b") > found["competence"].sel(rater="a")


def test_what_is_uncertain_is_said(golden):
    single = {"item": [1, 2], "rater": list("ab"), "label": list("xy")}
    with golden.warns(inference.EstimateWarning):
        papers.mace_em(Labels.from_table(single), restarts=0)
    with golden.warns(inference.EstimateWarning):
        papers.mace_em(crowd(), restarts=0, max_iterations=3)


@pytest.mark.parametrize("estimator", ["mace_em", "glad_em"])
@pytest.mark.parametrize(
    "options",
    [
        {"restarts": -1},
        {"max_iterations": True},
        {"tolerance": np.nan},
        {"tolerance": True},
        {"random_seed": -1},
        {"random_seed": "a"},
        {"random_seed": 1.5},
        {"prevalence_concentration": 0},
        {"prevalence_concentration": "flat"},
    ],
)
def test_wrong_arguments_are_named(estimator, options, golden):
    with golden.raises(ValueError):
        getattr(papers, estimator)(tiny_labels(), **options)


@pytest.mark.parametrize("estimator", ["mace_em", "glad_em"])
def test_anonymous_counts_are_refused(estimator):
    counts = Labels.from_counts({"item": ["a", "b"], "x": [1, 2], "y": [0, 3]})
    with pytest.raises(ValueError, match=f"{estimator} describes each rater"):
        getattr(papers, estimator)(counts)


def test_wrong_concentrations_are_named(golden):
    with golden.raises(ValueError):
        papers.mace_em(tiny_labels(), competence_concentration=1)
    with pytest.raises(ValueError, match="spam_concentration holds -1"):
        papers.mace_em(tiny_labels(), spam_concentration=-1)
    with golden.raises(ValueError):
        papers.mace_em(tiny_labels(), spam_concentration=1e-7)
    found = quietly(tiny_labels(), spam_concentration=1e-300, variational=False, restarts=0)
    assert np.isfinite(found["plausibility"]).all()


@pytest.mark.parametrize("tolerance", [np.float32(1e-3), np.int64(1)])
def test_numbers_of_numpy_are_numbers(tolerance):
    assert quietly(tiny_labels(), restarts=0, tolerance=tolerance).attrs["converged"] == 1
