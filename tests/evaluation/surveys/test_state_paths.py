"""Curves beyond the count vectors that are summed over: enumeration, stated errors, and a limit that no draw passes."""

import numpy as np
import pytest
from raterzoo.evaluation.surveys.item_states import curves
from raterzoo.evaluation.surveys.item_states import paths as state_paths
from raterzoo.evaluation.surveys.item_states.paths import drawn_curve
from raterzoo.evaluation.surveys.results import crossing
from scipy.stats import dirichlet

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

WAYS = [*((name, "abc") for name in curves.SCORERS), ("agreement", "plurality")]
BITS = curves.Score("cross_entropy")
RNG = np.random.default_rng(0)
LAST = 60
FIRST = {3: 30, 4: 11}  # where 500 count vectors end


def mixture(categories, spread=0.0, samples=1):
    """Three states that some labels do not tell apart."""
    rng = np.random.default_rng(seed_of(f"mixture {categories}"))
    weight, probability = rng.dirichlet(np.full(3, 5.0)), rng.dirichlet(np.ones(categories), 3)
    rho = np.full(3, spread)
    return curves.ItemStates(*(np.repeat(x[None], samples, axis=0) for x in (weight, probability, rho)))


@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_variance_that_is_left_is_that_of_the_dirichlet_law(rho):
    """Items are chosen by it, so that an error costs precision alone and no other test sees it."""
    theta, counts = np.array([0.2, 0.3, 0.5]), np.array([[4, 0, 0], [1, 1, 2]])
    states = curves.ItemStates(np.ones((1, 1)), theta[None, None], np.full((1, 1), rho))
    step = rho / (1 - rho)
    mean = (theta + step * counts) / (1 + step * 4)
    expected = [dirichlet(theta / step + y).var().sum() if rho else 0.0 for y in counts]
    left = state_paths._variance(states, np.ones((1, 1, 2)), counts, mean[None])
    np.testing.assert_allclose(left, [expected], rtol=1e-12, atol=1e-15)


def independent(states, ks, score, rng):
    """The twin: other count vectors at every k, as many as ours, and nothing known of where the curve starts and ends."""
    curve = np.empty((len(states.weight), len(ks) - 1))
    for place, k in enumerate(ks[1:]):
        q = curves.item_probabilities(states, rng.random((len(curve), 100)), rng)
        counts = rng.multinomial(k, q)
        for s in range(len(curve)):
            own = states.select(slice(s, s + 1))
            joint = np.exp(own.log_probability(counts[s])) * own.weight[..., None]
            _, law = own.next_label(joint, counts[s])
            curve[s, place] = score.expected(law, law).mean()
    return curve


def drawn(categories, way, spread=0.0, samples=100):
    score, combiner = curves.Score(way[0]), way[1]
    states = mixture(categories, spread, samples)
    ks, limit = range(FIRST[categories], LAST + 1), curves.asymptote(states, score)
    rng = np.random.default_rng(seed_of(f"{categories} {way} {spread}"))
    return states, ks, limit, drawn_curve(states, ks, limit, (score, combiner), rng)


def check_mean(curve, exact, bias):
    """Means over samples that differ by what is drawn alone, but for the bias of a ratio."""
    error = curve.std(axis=0, ddof=1) / np.sqrt(len(curve))
    off = np.maximum(np.abs(curve.mean(axis=0) - exact) - bias, 0)
    assert (off < bonferroni_threshold(len(exact)) * error).all()


def test_score_of_each_label_is_that_of_its_definition():
    law = np.random.default_rng(1).dirichlet(np.ones(3), 4)
    np.testing.assert_allclose(
        curves.Score("brier").by_label(law), -((law[:, None] - np.eye(3)) ** 2).sum(axis=2), rtol=1e-12
    )
    np.testing.assert_allclose(BITS.by_label(law), np.log2(law), rtol=1e-12)


def test_labels_that_nobody_can_give_are_not_drawn():
    """Count vectors with the last label have no probability, not even in floating point."""
    states = curves.ItemStates(
        np.array([[0.4, 0.6]]), np.array([[[0.9, 0.1, 0], [0.3, 0.7, 0]]]), np.zeros((1, 2))
    )
    _, state, counts, weight = state_paths._initial_items(states, 4, (curves.Score("brier"), "abc"), 50, RNG)
    assert (counts[..., 2] == 0).all() and np.isfinite(state).all()
    assert (weight > 0).all() and (weight <= 2 + 1e-12).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("categories", [3, 4])
def test_drawn_curve_is_the_enumerated_one(categories, spread, way):
    states, ks, limit, (curve, error) = drawn(categories, way, spread)
    some = [ks[1], (ks[1] + LAST) // 2, LAST]
    score, combiner = curves.Score(way[0]), way[1]
    exact, early = (
        np.array([curves.curve_at(states.select(slice(1)), k - late, score, combiner)[0] for k in some])
        for late in (0, 5)
    )
    place = [k - ks[1] for k in some]
    own, stated = curve[:, place], np.sqrt((error[:, place] ** 2).mean(axis=0))
    off = np.sqrt(((own - exact) ** 2).mean(axis=0))
    assert (off < 1.3 * stated + 1e-12).all()
    # a ratio of means has a bias of the order of its squared error, in units of what it is a share of
    bias = 2 * off**2 / (abs(limit[0] - exact[0]) + 1e-12)
    check_mean(own, exact, bias)
    if way[0] == "cross_entropy":
        assert_rejects_twin(check_mean, own, early, bias)


def sparse(categories, spread, samples):
    """A rare state that knows nothing, and one that says most of its labels alike: few items tell anything."""
    rare, certain = {8: (0.05, 0.9), 10: (0.02, 0.93)}[categories]
    usual = np.r_[certain, np.full(categories - 1, (1 - certain) / (categories - 1))]
    probability = np.array([usual, np.full(categories, 1 / categories)])
    arrays = [1 - rare, rare], probability, [spread, spread]
    return curves.ItemStates(*(np.repeat(np.array(x)[None], samples, axis=0) for x in arrays))


def check_centred(curve, exact):
    """The mean over samples is not off by more than a small part of what one of them is off by."""
    off = curve - exact
    error = off.std(ddof=1) / np.sqrt(len(off))
    assert abs(off.mean()) < 0.15 * off.std() + bonferroni_threshold(8) * error


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize(("categories", "first"), [(8, 4), (10, 3)])
def test_few_items_that_tell_anything_do_not_move_the_mean(categories, first, spread):
    """Twin: the share of the room by a ratio of means, of items that are drawn as they come."""
    states, score = sparse(categories, spread, 500), BITS
    limit = curves.asymptote(states.select(slice(1)), score).repeat(500)
    rng = np.random.default_rng(seed_of(f"sparse {categories} {spread}"))
    ks = range(first, first + 3)
    curve, error = drawn_curve(states, ks, limit, (score, "abc"), rng)
    start, exact = (curves.curve_at(states.select(slice(1)), k, score, "abc") for k in (first, first + 1))
    check_centred(curve[:, 0], exact)
    assert np.sqrt(((curve[:, 0] - exact) ** 2).mean()) < 1.3 * np.sqrt((error[:, 0] ** 2).mean())
    if not spread:
        twin = start + (limit - start) * ratio_of_means(states, first, score, rng)
        assert_rejects_twin(check_centred, twin, exact)


def ratio_of_means(states, first, score, rng, items=40):
    """Return the share of the room that one more label covers, by items as they come."""
    truth = curves.item_probabilities(states, rng.random((len(states.weight), items)), rng)
    counts = rng.multinomial(first, truth)
    gain, whole = np.empty((2, len(counts), items))
    for s, own in enumerate(counts):
        alone = states.select(slice(s, s + 1))
        q = alone.next_label(alone.joint(own), own)[1][0]
        then = alone.next_two(normalised(alone.joint(own)), own[None].astype(float))[0] / q[..., None]
        gain[s] = (q * score.self_expected(then)).sum(axis=1) - score.self_expected(q)
        whole[s] = score.self_expected(truth[s]) - score.expected(q, truth[s])
    mean = whole.mean(axis=1)
    return gain.mean(axis=1) / np.where(mean > 0, mean, 1)


def normalised(joint):
    return joint / joint.sum(axis=1, keepdims=True)


def test_plurality_is_uncertain_where_abc_has_nothing_to_gain():
    states, score = sparse(10, 0.0, 100), curves.Score("agreement")
    limit = curves.asymptote(states, score)
    rng = np.random.default_rng(seed_of("nothing to gain"))
    curve, error = drawn_curve(states, range(3, 6), limit, (score, "plurality"), rng)
    assert curve[:, 0].std() > 1e-3  # and ABC is at the asymptote from the first label on
    assert 0.7 < np.sqrt((error[:, 0] ** 2).mean()) / curve[:, 0].std() < 1.4


def test_long_curves_are_drawn_in_blocks_that_memory_holds(monkeypatch):
    sizes = []
    walked = state_paths._simulate

    def watched(states, ks, how, items, rng):
        sizes.append(len(states.weight) * states.weight.shape[1] * items * len(ks))
        return walked(states, ks, how, items, rng)

    monkeypatch.setattr(state_paths, "_simulate", watched)
    monkeypatch.setattr("raterzoo.evaluation.surveys.item_states.curves.CELLS", 50_000)
    states, score = mixture(3, samples=40), BITS
    drawn_curve(states, range(10, 60), curves.asymptote(states, score), (score, "abc"), RNG)
    assert len(sizes) > 1 and max(sizes) <= 50_000


def check_law_of_curves(curve, limit):
    """More labels never make ABC worse, and nobody is better than who knows the item's own probabilities."""
    assert (np.diff(curve, axis=1) >= 0).all()
    assert (curve <= limit[:, None] + 1e-15).all()
    assert np.isinf(crossing(curve, (limit + 1e-9)[:, None])).all()


@pytest.mark.parametrize("name", curves.SCORERS)
@pytest.mark.parametrize("categories", [3, 4])
def test_draws_of_abc_rise_and_never_pass_the_asymptote(categories, name):
    states, ks, limit, (curve, _) = drawn(categories, (name, "abc"))
    check_law_of_curves(curve, limit)
    rng = np.random.default_rng(seed_of("independent"))
    twin = independent(states, ks, curves.Score(name), rng)
    assert_rejects_twin(check_law_of_curves, twin, limit)


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_plurality_never_passes_the_asymptote(spread):
    _, _, limit, (curve, _) = drawn(4, ("agreement", "plurality"), spread)
    assert (curve <= limit[:, None] + 1e-15).all()


def test_threads_and_blocks_do_not_decide(monkeypatch):
    first = drawn(4, ("brier", "abc"))[3]
    monkeypatch.setattr("raterzoo.posterior.plausibility.os.cpu_count", lambda: 1)
    again = drawn(4, ("brier", "abc"))[3]
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_next_two_labels_follow_the_law_of_one_and_then_another(spread):
    states = mixture(3, spread)
    counts = np.array([[[2.0, 0.0, 1.0]]])
    state = np.array([[[0.2], [0.5], [0.3]]])
    law = states.next_two(state, counts)[0, 0]
    for c in range(3):
        label = np.array([[c]])
        joint = state * states.label_probability(label, counts)
        more = counts + np.eye(3)[c]
        for d in range(3):
            expected = (joint * states.label_probability(np.array([[d]]), more)).sum()
            np.testing.assert_allclose(law[c, d], expected, rtol=1e-12)


def of_one_state(probability, concentration):
    size = np.array(concentration, float)[:, None]
    probability = np.repeat(np.array(probability, float)[None, None], len(size), axis=0)
    return curves.ItemStates(np.ones_like(size), probability, 1 / (1 + size))


@pytest.mark.parametrize("n", [3, 4, 7])
def test_best_of_a_flat_dirichlet_is_the_harmonic_mean(n):
    limit = curves.asymptote(of_one_state(np.full(n, 1 / n), [n]), curves.Score("agreement"))
    np.testing.assert_allclose(limit, (1 / np.arange(1, n + 1)).mean(), rtol=1e-8)


def test_agreement_of_three_categories_is_that_of_two_if_the_third_never_is():
    concentration = np.logspace(-8, 8, 33)
    two, three = (of_one_state(p, concentration) for p in ([0.4, 0.6], [0.4, 0.6, 0.0]))
    score = curves.Score("agreement")
    np.testing.assert_allclose(curves.asymptote(three, score), curves.asymptote(two, score), rtol=1e-8)


def check_certain(q):
    assert np.isfinite(q).all()
    np.testing.assert_allclose(q.sum(axis=-1), 1)
    share = curves.best_labels(q).mean(axis=(0, 1))
    expected = np.array([0.2, 0.3, 0.5])
    z = (share - expected) / np.sqrt(expected * (1 - expected) / (q.size / 3))
    assert np.abs(z).max() < bonferroni_threshold(3)


def test_items_of_one_label_each_have_it_with_the_probabilities_of_the_state():
    """Concentrations whose gammas are all too small to be numbers; twin: the gammas themselves."""
    states = of_one_state([0.2, 0.3, 0.5], [1e-5])
    rng = np.random.default_rng(seed_of("one label each"))
    check_certain(curves.item_probabilities(states, rng.random((1, 5000)), rng))
    gamma = rng.standard_gamma(1e-5 * np.array([0.2, 0.3, 0.5]), (1, 5000, 3))
    gamma = np.maximum(gamma, np.finfo(float).tiny)
    assert_rejects_twin(check_certain, gamma / gamma.sum(axis=2, keepdims=True))
    np.testing.assert_allclose(curves.asymptote(states, curves.Score("agreement")), 1, atol=1e-4)
