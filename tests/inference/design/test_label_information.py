"""The information in one more label: against enumeration, quadrature and refits of the conjugate model."""

from itertools import product

import numpy as np
import pytest
from raterzoo.inference.design import label_information
from scipy.integrate import quad
from scipy.special import digamma, gammaln, xlogy
from scipy.stats import beta, gamma, ks_1samp, ks_2samp, qmc

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

CONCENTRATIONS = [(1.5, 1.0, 0.7), (4.0, 3.5, 0.5), (0.4, 0.4, 0.4)]


def entropy(p):
    return -xlogy(p, p).sum()


def test_category_information_is_that_of_the_enumerated_joint_law():
    rng = np.random.default_rng(1)
    items, categories, draws, raters, labels = 4, 3, 5, 2, 4
    p = rng.dirichlet(np.ones(categories), (items, draws)).transpose(0, 2, 1)
    confusion = rng.dirichlet(np.ones(labels), (categories, draws, raters))
    found = label_information.category_information(p, confusion)

    def by_enumeration(i, k, draws):
        total = 0.0
        joint = np.zeros((categories, labels))
        for c, answer, s in product(range(categories), range(labels), draws):
            joint[c, answer] += p[i, c, s] * confusion[c, s, k, answer] / len(draws)
        for c, answer in product(range(categories), range(labels)):
            law = joint[c, answer]
            total += law * np.log(law / joint[c].sum() / joint[:, answer].sum())
        return total

    def check(exact):
        np.testing.assert_allclose(found, exact, atol=1e-12)

    cells = list(product(range(items), range(raters)))
    shape = (items, raters)
    check(np.reshape([by_enumeration(i, k, range(draws)) for i, k in cells], shape))
    # the twin averages the information of each draw alone
    alone = [np.mean([by_enumeration(i, k, [s]) for s in range(draws)]) for i, k in cells]
    assert_rejects_twin(check, np.reshape(alone, shape))


def test_who_is_always_right_tells_all_and_who_guesses_nothing():
    p = np.random.default_rng(2).dirichlet([1, 1, 1], (6, 7)).transpose(0, 2, 1)
    right, adversary, guesses = np.eye(3), np.roll(np.eye(3), 1, axis=1), np.full((3, 3), 1 / 3)
    confusion = np.stack([right, adversary, guesses], axis=1)[:, None].repeat(7, axis=1)
    found = label_information.category_information(p, confusion)
    full = [entropy(one) for one in p.mean(axis=2)]
    np.testing.assert_allclose(found, np.stack([full, full, np.zeros(6)], axis=1), atol=1e-12)


def even_dirichlet(concentration):
    """Draws of a Dirichlet law that fill it evenly (label, draw)."""
    points = qmc.Sobol(len(concentration), rng=3).random_base2(16)
    worth = gamma.ppf(points, concentration)
    return (worth / worth.sum(axis=1, keepdims=True)).T


def top_law(concentration):
    """Probability of each label to be the largest, by quadrature."""

    def density(x, k):
        others = np.delete(concentration, k)
        # x = the quantile of the label's worth
        return np.prod(gamma.cdf(gamma.ppf(x, concentration[k]), others))

    return np.array([quad(density, 0, 1, args=(k,), epsabs=1e-10)[0] for k in range(len(concentration))])


def refitted(concentration, counted):
    """Yield the probability of each answer, and the concentrations of the posterior after it."""
    for k, share in enumerate(concentration / concentration.sum()):
        yield share, concentration + counted * np.eye(len(concentration))[k]


@pytest.mark.parametrize("counted", [0.5, 1, 3])
@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_leader_information_is_what_refits_give(concentration, counted):
    """An answer is drawn once and counted r times; the twin counts it once."""
    p, a = even_dirichlet(concentration), np.array(concentration)

    def check(found):
        after = sum(m * entropy(top_law(b)) for m, b in refitted(a, counted))
        assert found == pytest.approx(entropy(top_law(a)) - after, abs=3e-4)

    check(label_information.leader_information(label_information.leaders(p, None), p, counted))
    if counted != 1:
        assert_rejects_twin(
            check, label_information.leader_information(label_information.leaders(p, None), p)
        )


def divergence(b, a):
    """KL divergence of Dirichlet(a) from Dirichlet(b)."""
    log_beta = [gammaln(c).sum() - gammaln(c.sum()) for c in (a, b)]
    return log_beta[0] - log_beta[1] + (b - a) @ (digamma(b) - digamma(b.sum()))


@pytest.mark.parametrize("counted", [0.5, 1, 3])
@pytest.mark.parametrize("concentration", CONCENTRATIONS)
def test_plausibility_information_is_in_closed_form(concentration, counted):
    p, a = even_dirichlet(concentration), np.array(concentration)

    def check(found):
        exact = sum(m * divergence(b, a) for m, b in refitted(a, counted))
        assert found == pytest.approx(exact, abs=2e-4)

    found = label_information.plausibility_information(p, counted)
    check(found)
    if counted != 1:
        assert_rejects_twin(check, label_information.plausibility_information(p))
    else:  # H[E p] - E H[p]
        noise = -(a / a.sum()) @ (digamma(a + 1) - digamma(a.sum() + 1))
        check(entropy(a / a.sum()) - noise)
        assert found == pytest.approx(entropy(p.mean(axis=1)) - entropy(p) / p.shape[1], abs=1e-12)


def test_answers_that_cannot_come_tell_nothing():
    p = np.array([[0.6, 0.2, 1.0], [0.4, 0.8, 0.0], [0.0, 0.0, 0.0]])
    for counted in (1, 30):
        for few, all_of_them in (
            (label_information.leader_information(label_information.leaders(p[:2], None), p[:2], counted),
             label_information.leader_information(label_information.leaders(p, None), p, counted)),
            (label_information.plausibility_information(p[:2], counted), label_information.plausibility_information(p, counted)),
        ):  # fmt: skip
            assert np.isfinite(few) and few == pytest.approx(all_of_them, abs=1e-12)


def test_a_high_reliability_does_not_underflow():
    p = np.random.default_rng(4).dirichlet([1] * 5, 50).T / 1e6
    p[0] = 1 - p[1:].sum(axis=0)
    assert np.isfinite(label_information.leader_information(label_information.leaders(p, None), p, 300))
    assert np.isfinite(label_information.plausibility_information(p, 300))


@pytest.mark.parametrize(("size", "concentration"), [(2, 0.3), (413, 1 / 419), (5, 0.2), (30, 1.0)])
def test_largest_shares_have_their_law(size, concentration):
    name = f"largest {size} {concentration}"
    rng = np.random.default_rng(seed_of(name))
    drawn = label_information.largest_shares(size, concentration, 10_000, rng)
    assert (np.diff(drawn) >= 0).all() and drawn[0] >= 1 / size and drawn[-1] <= 1

    worth = rng.standard_gamma(concentration + 1, (10_000, size))
    log = np.log(worth) + np.log(rng.random(worth.shape)) / concentration
    worth = np.exp(log - log.max(axis=1, keepdims=True))
    oracle = 1 / worth.sum(axis=1)

    def check(shares):
        assert ks_2samp(shares, oracle).pvalue > 1e-4
        above = shares[shares > 0.5]  # at most one share is: its law is in closed form
        exact = size * beta.sf(0.5, concentration, (size - 1) * concentration)
        error = np.sqrt(exact * (1 - exact) / len(shares))
        assert abs(len(above) / len(shares) - exact) <= 4 * error + 1e-12

    check(drawn)
    assert_rejects_twin(check, label_information.largest_shares(size, 1.3 * concentration, 10_000, rng))


def test_one_member_is_the_whole():
    np.testing.assert_array_equal(
        label_information.largest_shares(1, 0.5, 3, np.random.default_rng(1)), [1, 1, 1]
    )
    a = 0.3
    two = label_information.largest_shares(2, a, 10_000, np.random.default_rng(seed_of("two members")))
    assert ks_1samp(two, lambda x: beta.cdf(x, a, a) - beta.cdf(1 - x, a, a)).pvalue > 1e-4


def test_leaders_are_those_of_split_draws():
    """OTHER leads where its largest member does; the twin takes it for one label."""
    rng = np.random.default_rng(seed_of("leaders"))
    size, concentration = 4, 0.5
    p = rng.dirichlet([1, 1, size * concentration], 50).T
    shares = label_information.largest_shares(size, concentration, 10_000, rng)
    found = label_information.leaders(p, shares)
    np.testing.assert_allclose(found.sum(axis=0), 1)
    members = rng.dirichlet([concentration] * size, (20_000, 50)).max(axis=2)
    often = (members * p[2] > p[:2].max(axis=0)).mean(axis=0)

    def check(leads):
        error = np.sqrt(often * (1 - often) * (1 / 10_000 + 1 / 20_000)) + 1e-4
        assert (np.abs(leads[2] - often) <= bonferroni_threshold(50) * error).all()

    check(found)
    assert_rejects_twin(check, label_information.leaders(p, np.ones(1)))
    np.testing.assert_array_equal(label_information.leaders(p, np.empty(0))[2], 0)


def test_ties_are_led_by_the_first():
    np.testing.assert_array_equal(label_information.leaders(np.full((3, 2), 1 / 3), None)[:, 0], [1, 0, 0])
