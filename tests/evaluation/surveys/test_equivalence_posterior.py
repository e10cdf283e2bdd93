"""The posterior of the power curve: enumeration, the running example, classifiers in the draws, the check, bad input."""

from itertools import product

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError
from raterzoo.evaluation.surveys.item_states import curves
from raterzoo.papers import survey_summary

from tests.support.monte_carlo import seed_of
from tests.support.survey_parts import classifier_scores, posterior_power_curve, posterior_survey_equivalence

RUNNING = ([0.7, 0.1, 0.2], [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
BITS = curves.Score("cross_entropy")
RNG = np.random.default_rng(0)


def states_of(weight, probability, spread=0.0, samples=1):
    weight, probability = np.array(weight), np.array(probability)
    rho = np.full(weight.shape, spread)
    return curves.ItemStates(*(np.repeat(x[None], samples, axis=0) for x in (weight, probability, rho)))


def by_enumeration(states, k, score, combiner):
    """Sum over all sequences of k labels; the labels of an item of a state are a Pólya urn."""
    w, p, rho = states.weight[0], states.probability[0], states.spread[0]
    n, total = p.shape[1], 0.0
    for labels in product(range(n), repeat=k):
        joint, counts = w.copy(), np.zeros(n)
        t = rho / (1 - rho)
        for label in labels:
            joint = joint * (p[:, label] + t * counts[label]) / (1 + t * counts.sum())
            counts[label] += 1
        q = joint @ ((p + t[:, None] * counts) / (1 + t * k)[:, None])
        seen, q = joint.sum(), q / joint.sum()
        f = q if combiner == "abc" else (counts == counts.max()) / (counts == counts.max()).sum()
        if score.name == "cross_entropy":
            value = sum(q[c] * np.log(f[c]) for c in range(n)) / np.log(score.base)
        elif score.name == "brier":
            value = -sum(q[c] * ((f - np.eye(n)[c]) ** 2).sum() for c in range(n))
        else:
            value = q[f == f.max()].mean()
        total += seen * value
    return total


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("categories", [2, 3, 4])
@pytest.mark.parametrize("name", [*curves.SCORERS, "plurality"])
def test_curve_is_the_sum_over_all_label_sequences(name, categories, spread):
    rng = np.random.default_rng(seed_of(f"{name} {categories}"))
    states = states_of(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(categories), 3), spread)
    scorer = "agreement" if name == "plurality" else name
    combiner = "plurality" if name == "plurality" else "abc"
    for base in (2.0, 10.0):
        for k in range(6):
            score = curves.Score(scorer, base)
            expected = by_enumeration(states, k, score, combiner)
            np.testing.assert_allclose(curves.curve_at(states, k, score, combiner), expected, rtol=1e-12)


def test_running_example_has_the_asymptote_and_gains_that_are_known():
    states = states_of(*RUNNING)
    curve = {k: curves.curve_at(states, k, BITS, "abc")[0] for k in (0, 1, 4, 9)}
    assert round(curve[0], 4) == -0.9507
    assert [round(curve[k] - curve[0], 4) for k in (1, 4, 9)] == [0.0806, 0.1887, 0.2259]
    assert round(curves.asymptote(states, BITS)[0] - curve[0], 4) == 0.2515


@pytest.mark.parametrize("spread", [0.0, 0.4])
@pytest.mark.parametrize("name", curves.SCORERS)
def test_curve_rises_to_its_asymptote(name, spread):
    states, score = states_of(*RUNNING, spread), curves.Score(name)
    curve = [curves.curve_at(states, k, score, "abc")[0] for k in (0, 1, 2, 5, 10, 100, 2000)]
    limit = curves.asymptote(states, score)[0]
    assert (np.diff(curve) > -1e-12).all() and curve[-1] <= limit + 1e-12
    assert limit - curve[-1] < 2e-3 * (limit - curve[0])


def tree_of(states, counts, chains=2):
    shape = (chains, -1)
    coords = {"item": np.arange(len(counts)), "category": [str(c) for c in range(counts.shape[1])]}
    arrays = {
        "state_weight": (("chain", "draw", "state"), states.weight.reshape(*shape, states.weight.shape[1])),
        "state_probability": (
            ("chain", "draw", "state", "category"),
            states.probability.reshape(*shape, *states.probability.shape[1:]),
        ),
    }  # fmt: skip
    if states.spread.any():
        arrays["state_spread"] = (("chain", "draw", "state"), states.spread.reshape(*shape, states.spread.shape[1]))  # fmt: skip
    observed = xr.Dataset({"observed_label": (("item", "category"), counts)}, coords)
    posterior = xr.Dataset(arrays, {"category": coords["category"]})
    return xr.DataTree.from_dict({"posterior": posterior, "observed_data": observed})


def urns(items, raters, rng, weight=RUNNING[0], probability=RUNNING[1]):
    state = rng.choice(len(weight), items, p=weight)
    return state, rng.multinomial(raters, np.array(probability)[state])


def moving(rng, samples):
    """Item states that differ from draw to draw, as a posterior's do."""
    weight = rng.dirichlet(200 * np.array(RUNNING[0]), samples)
    probability = np.stack([rng.dirichlet(100 * np.array(p), samples) for p in RUNNING[1]], axis=1)
    return curves.ItemStates(weight, probability, np.zeros_like(weight))


def test_score_of_a_constant_prediction_is_that_of_the_draws_own_label_frequencies():
    rng = np.random.default_rng(seed_of("constant"))
    _, counts = urns(300, 10, rng)
    states = moving(rng, 50)
    constant = np.tile(np.array([0.4, 0.6]), (1, len(counts), 1))
    found = classifier_scores(states, counts, BITS.by_label(constant), rng)[:, 0]
    frequency = (states.weight[..., None] * states.probability).sum(axis=1)
    np.testing.assert_allclose(found, frequency @ np.log2([0.4, 0.6]), rtol=1e-6)


def test_few_items_of_many_patterns_do_not_make_a_score_impossible():
    rng = np.random.default_rng(seed_of("few"))
    law = rng.dirichlet(np.full(4, 0.5), 100)
    counts = rng.multinomial(4, law)
    states = curves.ItemStates(
        rng.dirichlet(np.full(10, 0.5), 300), rng.dirichlet(np.full(4, 0.5), (300, 10)), np.zeros((300, 10))
    )
    found = classifier_scores(states, counts, BITS.by_label(law[None].clip(0.02)), rng)[:, 0]
    assert found.max() < 0 and found.min() > np.log2(0.02)


def test_score_has_the_mean_and_the_spread_of_the_bootstrap_where_counts_say_nothing():
    """Predictions that are noise: the score is the mean over items, its error that of the Bayesian bootstrap."""
    rng = np.random.default_rng(seed_of("noise"))
    _, counts = urns(400, 10, rng)
    p = rng.uniform(0.3, 0.7, len(counts))
    by_label = BITS.by_label(np.stack([1 - p, p], axis=1)[None])
    states = states_of(*RUNNING, samples=4000)
    drawn = classifier_scores(states, counts, by_label, rng)[:, 0]
    own = (counts / 10 * by_label[0]).sum(axis=1)
    # the law of the labels is known here: only what counts do not tell has an error
    x = np.stack([np.ones(len(own)), *(counts[:, 1] == y for y in range(10))], axis=1).astype(float)
    rest = own - x @ np.linalg.lstsq(x, own, rcond=None)[0]
    expected = rest.std() / np.sqrt(len(own) + 1)
    assert abs(drawn.std() / expected - 1) < 4 / np.sqrt(2 * len(drawn))


def test_check_passes_the_law_and_fails_another():
    """A Beta with the mean of the urns has curves unlike theirs: 3,000 items never take one for the other."""
    rng = np.random.default_rng(seed_of("check"))
    least = 1 / 401  # of 400 replicates and what was observed
    _, counts = urns(1000, 10, rng)
    right = posterior_power_curve(tree_of(states_of(*RUNNING, samples=400), counts), longest=1)
    assert right.attrs["check_p"] > least
    assert right["checked_k"].to_numpy().tolist() == list(range(10))
    one_urn = tree_of(states_of([1.0], [[0.37, 0.63]], 0.4, samples=400), urns(3000, 10, rng)[1])
    assert posterior_power_curve(one_urn, longest=1).attrs["check_p"] == least
    unchecked = posterior_power_curve(one_urn, longest=1, replicates=0)
    assert "check_p" not in unchecked.attrs


def predictions(values, names=None):
    coords = {"item": np.arange(values.shape[-2]), "category": ["0", "1"]}
    dims = ("item", "category")
    if names is None:
        return xr.DataArray(values, coords, dims)
    return xr.DataArray(values, coords | {"classifier": names}, ("classifier", *dims))


def test_equivalence_ratio_and_censoring():
    rng = np.random.default_rng(seed_of("censoring"))
    state, counts = urns(1000, 10, rng)
    ideal = np.array(RUNNING[1])[state]
    bad = np.tile([0.9, 0.1], (1000, 1))
    middle = ideal**0.5 / (ideal**0.5).sum(axis=1, keepdims=True)
    tree = tree_of(moving(rng, 400), counts)
    given = predictions(np.stack([bad, middle, ideal]), ["bad", "middle", "ideal"])
    drawn = posterior_survey_equivalence(tree, given, replicates=0, random_seed=None)
    assert (drawn["equivalence"].sel(classifier="bad") == -np.inf).all()
    said = survey_summary(drawn)
    assert said["censored"].to_numpy()[:2].tolist() == ["below", ""]
    assert said["probability_below"].to_numpy()[0] == 1
    ratio = said["performance_ratio_interval"].sel(classifier="ideal").to_numpy()
    assert ratio[0] < 1 < ratio[1]
    gain, room = drawn["classifier_gain"], drawn["room_for_improvement"]
    np.testing.assert_allclose(gain + drawn["baseline"], drawn["score"])
    np.testing.assert_allclose(gain + room, drawn["asymptote_gain"].broadcast_like(gain), atol=1e-12)
    assert said["asymptote_gain_interval"].dims == ("bound",)
    curve = drawn["power_curve"].isel(chain=0, draw=3).to_numpy()
    score = float(drawn["score"].isel(chain=0, draw=3).sel(classifier="middle"))
    found = float(drawn["equivalence"].isel(chain=0, draw=3).sel(classifier="middle"))
    np.testing.assert_allclose(np.interp(found, np.arange(len(curve)), curve), score, rtol=1e-12)
    middle = given.sel(classifier="middle", drop=True)
    alone = posterior_survey_equivalence(tree, middle, replicates=0, random_seed=None)  # the tree's own seed
    same = drawn["score"].sel(classifier="middle")
    np.testing.assert_allclose(alone["score"], same, rtol=1e-12)
    assert "classifier" not in alone.dims
    assert survey_summary(drawn)["power_curve_interval"].dims == ("k", "bound")


def test_spread_of_one_is_the_largest_below_it():
    """In single precision what is almost 1 is 1: an item whose first label tells all others."""
    posterior = tree_of(states_of(*RUNNING, 1.0, samples=2), urns(20, 5, RNG)[1])["posterior"]
    states = curves.ItemStates.of(posterior.to_dataset())
    for score in map(curves.Score, curves.SCORERS):
        best = 0 if score.name != "agreement" else 1
        for k in (1, 2, 5):
            np.testing.assert_allclose(curves.curve_at(states, k, score, "abc"), best, atol=1e-9)
        np.testing.assert_allclose(curves.asymptote(states, score), best, atol=1e-9)


def test_nothing_to_attain_has_no_ratio_and_is_never_passed():
    counts = np.tile([1, 1], (30, 1))
    tree = tree_of(states_of([1.0], [[0.5, 0.5]], samples=4), counts)
    drawn = posterior_survey_equivalence(tree, predictions(np.full((30, 2), 0.5)), replicates=0)
    assert np.isnan(drawn["performance_ratio"]).all()
    assert (drawn["equivalence"] == np.inf).all()


TREE = tree_of(states_of(*RUNNING, samples=4), urns(50, 5, RNG)[1])
GOOD = np.tile([0.4, 0.6], (50, 1))


@pytest.mark.parametrize(
    "call",
    [
        lambda: posterior_power_curve(TREE, scorer="auc"),
        lambda: posterior_power_curve(TREE, combiner="mean"),
        lambda: posterior_power_curve(TREE, combiner="plurality"),
        lambda: posterior_power_curve(TREE, longest=0),
        lambda: posterior_power_curve(TREE, longest=0),
        lambda: posterior_power_curve(TREE, base=1),
        lambda: posterior_power_curve(TREE, base="x"),
        lambda: posterior_survey_equivalence(TREE, predictions(GOOD), clip="x"),
        lambda: posterior_power_curve(TREE["posterior"].to_dataset()),
        lambda: posterior_power_curve(TREE.drop_nodes("observed_data")),
        lambda: posterior_power_curve(tree_without("state_weight")),
        lambda: posterior_survey_equivalence(TREE, predictions(GOOD[:40])),
        lambda: posterior_survey_equivalence(TREE, predictions(GOOD + 0.1)),
        lambda: posterior_survey_equivalence(TREE, predictions(GOOD), clip=0.6),
        lambda: posterior_survey_equivalence(*of_three(), clip=0.4),
        lambda: posterior_survey_equivalence(TREE, predictions(np.eye(2)[[0] * 50]), clip=0),
        lambda: survey_summary(posterior_power_curve(TREE, longest=1, replicates=0), probability=2),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, golden):
    with golden.raises(EvaluationError):
        call()


def of_three():
    """Return a tree of three categories, and predictions."""
    counts = np.tile([2, 1, 1], (50, 1))
    coords = {"item": np.arange(50), "category": ["0", "1", "2"]}
    law = xr.DataArray(np.tile([0.5, 0.3, 0.2], (50, 1)), coords, ("item", "category"))
    return tree_of(states_of([1.0], [[0.5, 0.3, 0.2]], samples=4), counts), law


def tree_without(name):
    posterior = TREE["posterior"].to_dataset().drop_vars(name)
    return xr.DataTree.from_dict({"posterior": posterior})
