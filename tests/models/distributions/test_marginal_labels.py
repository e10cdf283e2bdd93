"""The law of labels against enumeration, on three backends, with its gradient and replicates."""

from itertools import product

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from raterzoo.models.distributions import marginal_labels

from tests.support.laws import Answers, CountedLabels, answer_codes, answer_sweeps
from tests.support.monte_carlo import bonferroni_threshold, rejects, seed_of


def random_design(rng, items, raters, categories, answers):
    item = np.sort(rng.integers(0, items, answers))
    start = np.searchsorted(item, np.arange(items + 1)).astype(np.int64)
    rater = rng.integers(0, raters, answers)
    known = np.where(rng.random(items) < 0.2, rng.integers(0, categories, items), -1)
    return start, rater, known, rng.integers(0, categories, answers)


def random_parameters(rng, raters, categories, concentration=1.0):
    prevalence = rng.dirichlet(np.full(categories, concentration))
    confusion = rng.dirichlet(np.full(categories, concentration), (raters, categories))
    return prevalence, confusion


def by_enumeration(prevalence, confusion, start, rater, known, label):
    """Sum over the categories of one item after the other."""
    joint = np.zeros((len(known), len(prevalence)))
    for i, j in product(*map(range, joint.shape)):
        if known[i] in (-1, j):
            own = slice(start[i], start[i + 1])
            joint[i, j] = prevalence[j] * np.prod(confusion[rater[own], j, label[own]])
    total = joint.sum(axis=1)
    return np.log(total), joint / total[:, None]


def evaluated(prevalence, confusion, start, rater, known, label, mode="NUMBA"):
    p, pi = pt.vector("p", shape=prevalence.shape), pt.tensor("pi", shape=confusion.shape)
    code = rater * len(prevalence) + label
    outputs = marginal_labels.label_logp(p, pi, (start, code, known))
    return pytensor.function([p, pi], list(outputs), mode=mode)(prevalence, confusion)


def gradient_in_logs(log_confusion, as_log):
    """Return the derivative of log p of one item, in even prevalence, in the log probabilities of its one answer, a zero."""
    x = pt.tensor("x", shape=log_confusion.shape)
    answers = (np.array([0, 1]), np.zeros(1, np.int64), np.array([-1]))
    confusion = pt.exp(x) if as_log else pt.exp(x / 2) ** 2
    slope = pytensor.grad(marginal_labels.label_logp(pt.full((2,), 0.5), confusion, answers)[0].sum(), x)
    return pytensor.function([x], slope, mode="FAST_COMPILE")(log_confusion)


def test_probabilities_that_underflow_have_a_gradient_if_given_as_exponentials():
    log_confusion = np.log([[[0.9, 0.1], [0.2, 0.8]]])
    log_confusion[0, 1, 0] = -800.0  # e**-800 is no double
    found = gradient_in_logs(log_confusion, as_log=True)
    np.testing.assert_array_equal(found, [[[1.0, 0.0], [0.0, 0.0]]])  # p(true category | answers)
    assert np.isnan(gradient_in_logs(log_confusion, as_log=False)).any()


@pytest.mark.parametrize("categories", [2, 3, 5])
def test_equals_enumeration(categories):
    rng = np.random.default_rng(seed_of(f"enumeration {categories}"))
    for _ in range(20):
        design = random_design(rng, 12, 4, categories, 40)
        parameters = random_parameters(rng, 4, categories)
        for found, exact in zip(
            evaluated(*parameters, *design, mode="FAST_COMPILE"),
            by_enumeration(*parameters, *design),
            strict=True,
        ):
            np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)


def test_sums_to_one_over_all_patterns():
    rng = np.random.default_rng(seed_of("patterns"))
    prevalence, confusion = random_parameters(rng, 2, 3)
    rater = np.array([0, 1, 1, 0])
    patterns = np.array(list(product(range(3), repeat=4)))
    start = np.arange(0, patterns.size + 1, 4)
    known = np.full(len(patterns), -1)
    log_p, _ = evaluated(prevalence, confusion, start, np.tile(rater, len(patterns)), known, patterns.ravel())
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(seed_of("backends"))
    parameters = random_parameters(rng, 30, 4, concentration=0.1)
    return parameters, random_design(rng, 400, 30, 4, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["FAST_COMPILE", "JAX"])
def test_backends_agree(problem, mode):
    (prevalence, confusion), design = problem
    reference = evaluated(prevalence, confusion, *design)
    for one, other in zip(evaluated(prevalence, confusion, *design, mode=mode), reference, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
    start, rater, known, label = design
    p, pi = pt.vector("p", shape=prevalence.shape), pt.tensor("pi", shape=confusion.shape)
    weight = np.linspace(-1, 2, len(known))
    log_p = marginal_labels.label_logp(p, pi, (start, rater * 4 + label, known))[0]
    gradient = pt.grad((weight * log_p).sum(), [p, pi])
    found = [pytensor.function([p, pi], gradient, mode=m)(prevalence, confusion) for m in (mode, "NUMBA")]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_gradient_equals_complex_steps():
    rng = np.random.default_rng(seed_of("gradient"))
    for _ in range(100):
        prevalence, confusion = random_parameters(rng, 3, 3, concentration=0.5)
        design = random_design(rng, 10, 3, 3, 30)
        p, pi = pt.vector("p", shape=(3,)), pt.tensor("pi", shape=(3, 3, 3))
        start, rater, known, label = design
        log_p = marginal_labels.label_logp(p, pi, (start, rater * 3 + label, known))[0]
        point = {p: prevalence, pi: confusion}
        found = [g.eval(point, mode="FAST_COMPILE") for g in pt.grad(log_p.sum(), [p, pi])]
        for k, parameter in enumerate((prevalence, confusion)):
            for index in np.ndindex(parameter.shape):
                shifted = [prevalence.astype(complex), confusion.astype(complex)]
                shifted[k][index] += 1e-30j
                slope = _complex_log_p(*shifted, *design).imag / 1e-30
                assert found[k][index] == pytest.approx(slope, rel=1e-8, abs=1e-12)


def _complex_log_p(prevalence, confusion, start, rater, known, label):
    total = 0
    for i in range(len(known)):
        own = slice(start[i], start[i + 1])
        p = prevalence * np.prod(confusion[rater[own], :, label[own]], axis=0)
        total += np.log(p[known[i]] if known[i] >= 0 else p.sum())
    return total


def swept(prevalence, confusion, start, rater, known, label, n_categories=0):
    table = np.ascontiguousarray(confusion.transpose(0, 2, 1).reshape(-1, len(prevalence)))
    answers = Answers(start, answer_codes(rater, label, len(prevalence)), known)
    log_p, plausibility = np.empty(len(known)), np.empty((len(known), len(prevalence)))
    sweeps = answer_sweeps(n_categories)
    sweeps.log_p(prevalence, table, answers, log_p, plausibility)
    weight, expected = np.ones(len(known)), (np.empty(len(prevalence)), np.empty(table.shape))
    total = sweeps.log_p_and_counts(prevalence, table, answers, weight, expected)
    counts = np.empty(table.shape)
    sweeps.counts(plausibility, weight, answers, counts)
    np.testing.assert_allclose(total, log_p.sum(), rtol=1e-12)
    np.testing.assert_allclose(expected[0], plausibility.sum(axis=0), rtol=1e-11)
    np.testing.assert_allclose(expected[1], counts, rtol=1e-11, atol=1e-300)
    return log_p, plausibility


@pytest.mark.parametrize("n_categories", [0, 3])
def test_five_thousand_answers_on_one_item(n_categories):
    rng = np.random.default_rng(seed_of("five thousand"))
    prevalence, confusion = random_parameters(rng, 50, 3)
    rater, label = rng.integers(0, 50, 5000), rng.integers(0, 3, 5000)
    design = (np.array([0, 5000]), rater, np.array([-1]), label)
    log_p, plausibility = swept(prevalence, confusion, *design, n_categories)
    joint = np.log(prevalence) + np.log(confusion[rater, :, label]).sum(axis=0)
    assert log_p[0] == pytest.approx(np.logaddexp.reduce(joint), rel=1e-12)
    np.testing.assert_allclose(plausibility[0], np.exp(joint - np.logaddexp.reduce(joint)), atol=1e-10)


@pytest.mark.parametrize("n_categories", [2, 3, 6])
def test_any_number_of_answers_on_every_item(n_categories):
    """Products of items are collected before their logarithm is taken: rescaled ones are large, others small."""
    rng = np.random.default_rng(seed_of(f"any number {n_categories}"))
    n_items, n_raters = 12, 5
    prevalence = rng.dirichlet(np.ones(n_categories))
    table = rng.dirichlet(np.full(n_categories, 2.0), (n_raters, n_categories))
    table = np.ascontiguousarray(table.swapaxes(1, 2)).reshape(-1, n_categories)
    for answers in range(1, 420):
        code = rng.integers(0, len(table), n_items * answers).astype(np.int32)
        known = np.full(n_items, -1)
        start = np.arange(n_items + 1) * answers
        joint = np.log(prevalence) + np.log(table)[code].reshape(n_items, answers, -1).sum(axis=1)
        exact = np.logaddexp.reduce(joint, axis=1).sum()
        expected = (np.empty(n_categories), np.empty_like(table))
        for n in (n_categories, 0):
            both = answer_sweeps(n).log_p_and_counts
            found = both(prevalence, table, Answers(start, code, known), np.ones(n_items), expected)
            assert found == pytest.approx(exact, rel=1e-12)
            assert expected[0].sum() == pytest.approx(n_items)


@pytest.mark.parametrize("n_categories", [0, 2])
@pytest.mark.parametrize("many", [20, 250, 2500])
def test_raters_at_odds_leave_an_item_open(many, n_categories):
    """One rater after the other, as many answers each, opposed: every category is the less probable one for a while."""
    confusion = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.8, 0.2], [0.1, 0.9]]])
    rater, label = np.repeat([0, 1], many), np.repeat([0, 1], many)
    design = (np.array([0, 2 * many]), rater, np.array([-1]), label)
    log_p, plausibility = swept(np.array([0.5, 0.5]), confusion, *design, n_categories)
    np.testing.assert_allclose(plausibility, [[0.5, 0.5]], rtol=1e-9)
    assert log_p[0] == pytest.approx(many * np.log(0.9 * 0.2), rel=1e-12)


def test_probabilities_beyond_the_range_of_doubles():
    """Two factors of 1e-200 leave the range of doubles in one step: the item is done again in logs."""
    confusion = np.array([[[1e-200, 1.0], [1e-220, 1.0]]])
    design = (np.array([0, 3, 4]), np.zeros(4, int), np.array([-1, -1]), np.array([0, 0, 0, 1]))
    log_p, plausibility = swept(np.array([0.5, 0.5]), confusion, *design)
    assert log_p[0] == pytest.approx(np.log(0.5) - 600 * np.log(10), rel=1e-14)
    np.testing.assert_allclose(plausibility, [[1, 1e-60], [0.5, 0.5]], rtol=1e-10)


def test_answers_that_no_category_explains():
    confusion = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    design = (np.array([0, 1, 2]), np.zeros(2, int), np.array([-1, -1]), np.array([1, 0]))
    table = np.ascontiguousarray(confusion.transpose(0, 2, 1).reshape(-1, 2))
    log_p, plausibility = np.empty(2), np.empty((2, 2))
    answers = Answers(design[0], answer_codes(design[1], design[3], 2), design[2])
    answer_sweeps().log_p(np.array([0.5, 0.5]), table, answers, log_p, plausibility)
    assert log_p.tolist() == [-np.inf, 0.0] and np.isnan(plausibility[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_replicates_follow_the_law(mode):
    rng = np.random.default_rng(seed_of(f"replicates {mode}"))
    prevalence, confusion = random_parameters(rng, 2, 2)
    start, rater, known = np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([-1, 0])
    n = 40_000
    source = pt.random.shared_rng(rng)
    law = marginal_labels.RaterLabels.dist(
        prevalence,
        confusion,
        (np.repeat(np.arange(2), np.diff(start)), rater),
        gold=known,
        size=n,
        rng=source,
    )
    draws = pytensor.function([], law, mode=mode)()
    patterns = np.array(list(product(range(2), repeat=3)))
    found = np.array([(draws == pattern).all(axis=1).sum() for pattern in patterns])

    def check(known):
        p = [np.exp(by_enumeration(prevalence, confusion, start, rater, known, y)[0].sum()) for y in patterns]
        p = np.array(p) / (prevalence[0] if known[1] == 0 else 1)
        z = (found - n * p) / np.sqrt(n * p * (1 - p))
        assert np.abs(z).max() < bonferroni_threshold(len(patterns))

    check(known)
    assert rejects(check, np.array([-1, -1]))


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_counts_follow_their_law(mode):
    p, total, n = np.array([0.2, 0.5, 0.3]), 3, 40_000
    source = pt.random.shared_rng(np.random.default_rng(seed_of(f"counts {mode}")))
    draws = pytensor.function([], CountedLabels.dist(p, total, 2.0, size=n, rng=source), mode=mode)()
    assert (draws.sum(axis=1) == total).all()
    z = (draws.mean(axis=0) - total * p) / np.sqrt(total * p * (1 - p) / n)
    assert np.abs(z).max() < bonferroni_threshold(3)
    log_p = pm.logp(CountedLabels.dist(np.array([[0.2, 0.8, 0.0]]), [3], 2.0), [[1, 2, 0]]).eval()
    assert log_p[0] == pytest.approx(2 * (np.log(0.2) + 2 * np.log(0.8)))


def test_codes_that_are_not_there_are_refused_before_compiled_code_reads_them(golden):
    half = np.full((2, 3, 3), 1 / 3)
    third, item, known = np.full(3, 1 / 3), [0, 1, 1], [-1, -1]
    for rater, item_, known_ in [
        ([0, 1, 2], item, known),
        ([0, -1, 1], item, known),
        ([0, 1, 1], item, [-1, 3]),
        ([0, 1, 1], [0, 1, 2], known),
        ([0, 1, 1], [1, 0, 1], known),
        ([0.0, 1.0, 1.0], item, known),
        ([0, 1], item, known),
    ]:
        with golden.raises(ValueError):
            marginal_labels.RaterLabels.dist(third, half, (item_, rater), gold=known_)
    law = marginal_labels.RaterLabels.dist(third, half, (item, [0, 1, 1]), gold=known)
    np.testing.assert_allclose(pm.logp(law, np.array([0, 1, 2])).eval(), np.log([1 / 3, 1 / 9]))
    for label in ([0, 1, 3], [-1, 1, 2]):
        assert (pm.logp(law, np.array(label)).eval() == -np.inf).all()
