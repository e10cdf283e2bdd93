"""Correlated votes: the truth at the effective number of votes, and what a study says of their correlation."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from raterzoo import models
from raterzoo.models.labels import vote_correlation
from scipy.special import logsumexp
from scipy.stats import beta as beta_law

from tests.support.label_designs import tiny_labels

TINY = tiny_labels()  # ragged, with repeats, gold, and an item without answers
PREVALENCE = np.array([0.3, 0.7])
CONFUSION = np.random.default_rng(2).dirichlet([2.0, 2.0], (len(TINY.raters), 2))


@cache
def plausibilities():
    """Compiled function of the parameters: the plausibility, and that of independent raters."""
    model = models.correlated_votes(TINY, confusion_concentration=None, vote_correlation=(2.0, 3.0))
    both = [model["plausibility"], model["independent_plausibility"]]
    return model.compile_fn(both, inputs=model.free_RVs, on_unused_input="ignore", mode="FAST_COMPILE")


def plausibility_of(name, correlation):
    values = {"prevalence": PREVALENCE, "confusion": CONFUSION, "vote_correlation": correlation}
    return plausibilities()(values)[name == "independent_plausibility"]


def truth_by_hand(power_of, of_prevalence=lambda power: power):
    """p(true category | answers), one answer after the other; `power_of` the number of answers to the item."""
    p = np.empty((len(TINY.items), 2))
    for i in range(len(p)):
        own = TINY.annotation_item == i
        n = TINY.count[own].sum()
        weight = PREVALENCE ** of_prevalence(power_of(n))
        for r, y, times in zip(
            TINY.annotation_rater[own], TINY.label_code[own], TINY.count[own], strict=True
        ):
            weight *= CONFUSION[r, :, y] ** (times * power_of(n))
        p[i] = weight / weight.sum() if TINY.gold[i] < 0 else np.eye(2)[TINY.gold[i]]
    return p


def test_truth_is_that_of_the_effective_number_of_votes():
    for rho in (0.0, 0.35, 1.0):
        found = plausibility_of("plausibility", rho)
        assert np.allclose(found, truth_by_hand(lambda n: 1 / (1 + max(n - 1, 0) * rho)), atol=1e-12)  # noqa: B023
    assert np.allclose(
        plausibility_of("independent_plausibility", 0.35), truth_by_hand(lambda n: 1), atol=1e-12
    )
    wrong = truth_by_hand(lambda n: 1 / (1 + n * 0.35))
    whole = truth_by_hand(lambda n: 1 / (1 + max(n - 1, 0) * 0.35), lambda _: 1)
    for other in (wrong, whole):
        assert not np.allclose(plausibility_of("plausibility", 0.35), other, atol=1e-3)


def test_residual_correlation_is_that_of_all_pairs(monkeypatch):
    """Against loops over categories, items and pairs of answers, at parameters that the estimate would not find."""
    labels = models.simulators.labels(items=6, raters=4, categories=3, answers=3, random_seed=1).data
    rng = np.random.default_rng(3)
    prevalence, confusion = rng.dirichlet([2.0] * 3), rng.dirichlet([2.0] * 3, (4, 3))
    table = confusion.transpose(0, 2, 1).reshape(-1, 3)
    monkeypatch.setattr(vote_correlation, "_posterior_mode", lambda *_: (prevalence, table))
    above, below = np.zeros(6), np.zeros(6)
    for i in range(6):
        own = np.flatnonzero(labels.annotation_item == i)
        likelihood = [
            prevalence[j] * np.prod(confusion[labels.annotation_rater[own], j, labels.label_code[own]])
            for j in range(3)
        ]
        for j, weight in enumerate(np.array(likelihood) / np.sum(likelihood)):
            for a, b in combinations(own, 2):
                p, q = (confusion[labels.annotation_rater[x], j] for x in (a, b))
                e, f = np.eye(3)[labels.label_code[a]] - p, np.eye(3)[labels.label_code[b]] - q
                above[i] += weight * (e @ f)
                below[i] += weight * np.sqrt((1 - p @ p) * (1 - q @ q))
    r = above.sum() / below.sum()
    found = vote_correlation.correlation_evidence(labels, np.ones(3), np.ones((4, 3, 3)))
    assert found.residual == pytest.approx(r, abs=1e-12)
    assert found.error == pytest.approx(np.sqrt(((above - r * below) ** 2).sum()) / below.sum(), abs=1e-12)


def test_gold_items_update_the_prior_of_public_studies(monkeypatch):
    """One answer an item shows no residuals; what is left is the prior times the probability of the gold labels."""
    table = {"item": list("aab"), "rater": list("rst"), "label": list("xxy"), "gold": list("yyy")}
    labels = models.Labels.from_table(table, gold="gold")
    q = np.array([[0.8, 0.2], [0.3, 0.7]])
    own = (np.array([0.6, 0.4]), np.tile(q.T, (3, 1)))
    monkeypatch.setattr(vote_correlation, "_posterior_mode", lambda *_: own)
    monkeypatch.setattr(vote_correlation, "_residual_correlation", lambda *_: (np.nan, np.nan))
    grid = np.concatenate([[0.0], vote_correlation.GRID])
    prior = np.r_[0.5, np.full(len(grid) - 1, 0.5 / (len(grid) - 1))]
    power = 1 / (1 + grid)
    odds = (q[0, 0] / q[1, 0]) ** (2 * power) * (0.6 / 0.4) ** power  # of x to y, of two answers x
    weight = prior / (1 + odds)
    weight /= weight.sum()
    found = vote_correlation.correlation_evidence(labels, np.ones(2), np.ones((3, 2, 2)))
    law = beta_law(found.a, found.b)
    mean = weight @ grid
    assert (found.gold_items, np.isnan(found.residual)) == (2, True)
    assert law.mean() == pytest.approx(mean, abs=1e-12)
    assert law.var() == pytest.approx(weight @ (grid - mean) ** 2, abs=1e-12)
    assert law.mean() > prior @ grid + 0.01  # two raters were wrong together
    assert found.independent == pytest.approx(weight[0], abs=1e-12)


@pytest.mark.parametrize(("r", "error"), [(0.0, 0.004), (0.04, 0.01), (0.11, 0.002)])
def test_residuals_update_the_prior_of_public_studies(monkeypatch, r, error):
    """Against a sum over draws of the share of the correlation that residuals show, log normal about .08."""
    monkeypatch.setattr(vote_correlation, "share_shown", lambda _: 0.08)
    monkeypatch.setattr(vote_correlation, "_residual_correlation", lambda *_: (r, error))
    monkeypatch.setattr(vote_correlation, "_of_independent_raters", lambda *_: EXPECTED)
    labels = models.Labels.from_table({"item": list("aab"), "rater": list("rsr"), "label": list("xxy")})
    found = vote_correlation.correlation_evidence(labels, np.ones(2), np.ones((2, 2, 2)))
    rng = np.random.default_rng(1)
    n = 400_000
    rho = np.where(rng.random(n) < 0.5, 0.0, rng.random(n))
    shown = np.exp(rng.normal(np.log(0.08), 0.6, n))
    expected, independent = _given_residuals(r, error, rho, shown)
    mean = found.a / (found.a + found.b)
    assert mean == pytest.approx(expected, abs=0.008) and found.independent == pytest.approx(
        independent, abs=0.01
    )
    assert r == 0 or _given_residuals(r, error, rho, 0.08)[0] != pytest.approx(
        mean, abs=0.02
    )  # a share that is certain


def test_residuals_show_less_where_answers_are_few():
    number = np.array([0, 1, 1, 4, 8])  # of one answer nothing is shared
    assert vote_correlation.share_shown(number) == pytest.approx(0.2 * (1 - 3 / 6))
    assert vote_correlation.share_shown(np.full(5, 1000)) == pytest.approx(0.2, rel=0.01)
    assert [vote_correlation.share_shown(np.full(5, n)) for n in (0, 1, 2, 3)] == [0] * 4


EXPECTED = 0.007, 0.005  # of independent raters, and its error


def _given_residuals(r, error, rho, shown):
    """Mean of the correlation, and probability of none, of draws weighted by the probability of the residuals."""
    weight = np.exp(-((r - EXPECTED[0] - shown * rho) ** 2) / (2 * (error**2 + EXPECTED[1] ** 2)))
    return weight @ rho / weight.sum(), weight[rho == 0].sum() / weight.sum()


def test_matrices_are_at_the_posterior_mode_of_unknown_truths():
    """No parameters nearby have a larger posterior density, in which a Dirichlet(a) counts a pseudo-answers."""
    labels = models.simulators.labels(items=40, raters=4, categories=2, answers=4, random_seed=1).data
    start = np.searchsorted(labels.annotation_item, np.arange(41)).astype(np.int64)
    code = vote_correlation.answer_codes(labels.annotation_rater, labels.label_code, 2)
    answers = vote_correlation.Answers(start, code, np.full(40, -1))
    beta = np.tile([[4.8, 3.2], [3.2, 4.8]], (4, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote_correlation, "ITERATIONS", 2000)
        prevalence, table = vote_correlation._posterior_mode(answers, np.ones(2), beta)

    def log_density(step):
        p = np.exp(np.log(prevalence) + step[:2])
        q = np.exp(np.log(table) + step[2:].reshape(table.shape)).reshape(4, 2, 2)
        p, q = p / p.sum(), (q / q.sum(axis=1, keepdims=True)).reshape(-1, 2)
        each = [np.log(q[code[start[i] : start[i + 1]]]).sum(axis=0) for i in range(40)]
        return np.sum(logsumexp(np.log(p) + each, axis=1)) + np.log(p).sum() + (beta * np.log(q)).sum()

    rng = np.random.default_rng(1)
    best = log_density(np.zeros(18))
    assert all(log_density(rng.normal(0, size, 18)) < best for size in (1e-3, 1e-2, 1e-1) for _ in range(20))


def studies(correlation, n=40, answers=10):
    """Studies of 300 items with 10 answers of 30 raters, right with mean probability .75, of correlated votes."""
    for seed in range(n):
        rng = np.random.default_rng(seed)
        truth = rng.integers(2, size=300)
        right = np.full(300, 0.75)
        if correlation:
            c = 1 / correlation - 1
            right = rng.beta(0.75 * c, 0.25 * c, 300)
        rater = np.array([rng.permutation(30)[:answers] for _ in range(300)])
        label = np.where(rng.random(rater.shape) < right[:, None], truth[:, None], 1 - truth[:, None])
        item = np.repeat(np.arange(300), answers)
        yield models.Labels.from_table({"item": item, "rater": rater.ravel(), "label": label.ravel()})


def evidence_of(labels):
    shape = (len(labels.raters), 2, 2)
    return vote_correlation.correlation_evidence(
        labels, np.ones(2), np.broadcast_to([[4.8, 3.2], [3.2, 4.8]], shape)
    )


def test_residuals_tell_independent_from_correlated_raters():
    independent = [evidence_of(labels) for labels in studies(0.0, 20)]
    correlated = [evidence_of(labels) for labels in studies(0.1, 20)]
    r = np.array([found.residual for found in independent])
    assert abs(r.mean()) < 0.0075 and min(found.residual for found in correlated) > r.max()
    assert np.mean([found.independent for found in independent]) > 0.7
    assert max(found.independent for found in correlated) < 0.05
    mean = {
        name: np.mean([f.a / (f.a + f.b) for f in own])
        for name, own in (("no", independent), ("yes", correlated))
    }
    assert mean["no"] < 0.1 < 0.25 < mean["yes"] < 0.65


def test_few_answers_leave_residuals_of_independent_raters():
    """With five answers an item the inferred truth agrees too well with them: .03 is no sign of shared errors."""
    found = [evidence_of(labels) for labels in studies(0.0, 6, answers=5)]
    assert min(own.residual for own in found) > 0.02
    assert np.mean([own.independent for own in found]) > vote_correlation.INDEPENDENT
    with pytest.MonkeyPatch.context() as patch:  # residuals expected to be those with known matrices
        patch.setattr(vote_correlation, "_of_independent_raters", lambda *_: (0.0, 0.005))
        wrong = [evidence_of(labels) for labels in studies(0.0, 6, answers=5)]
    assert np.mean([own.independent for own in wrong]) < vote_correlation.INDEPENDENT / 2


def test_without_evidence_the_prior_is_that_of_public_studies():
    labels = models.Labels.from_table({"item": ["a", "b"], "rater": ["r", "r"], "label": ["x", "y"]})
    found = evidence_of(labels)
    assert np.isnan(found.residual) and found.independent == pytest.approx(0.5)
    assert found.a / (found.a + found.b) == pytest.approx(0.25, abs=1e-3)


@pytest.mark.parametrize("wrong", ["none", (0.0, 1.0), (1.0,), 0.3, (1.0, np.nan)])
def test_a_wrong_correlation_is_refused(wrong):
    with pytest.raises(ValueError, match="vote_correlation"):
        models.correlated_votes(TINY, vote_correlation=wrong)


def test_anonymous_raters_are_refused(golden):
    counts = models.Labels.from_counts({"item": ["a"], "x": [3], "y": [1]})
    with golden.raises(ValueError):
        models.correlated_votes(counts)


@pytest.mark.parametrize(("items", "raters"), [(1, 3), (3, 3), (10, 3), (30, 5)])
def test_raters_who_all_agree_are_not_proved_to_err_together(items, raters):
    # all items look alike, so that the error over items is nil; that of replicates is not
    table = {
        "item": np.repeat(np.arange(items), raters).tolist(),
        "rater": [f"r{k}" for k in range(raters)] * items,
        "label": np.repeat(["yes" if i % 2 else "no" for i in range(items)], raters).tolist(),
    }
    found = evidence_of(models.Labels.from_table(table, categories=["no", "yes"]))
    assert 0.01 < found.independent < 0.75  # the error over items alone says 1e-30 and less
