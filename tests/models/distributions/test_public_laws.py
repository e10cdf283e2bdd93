"""The public laws as parts of models by hand: density, gradient, replicates, and what PyMC does with a model."""

from dataclasses import replace
from itertools import product

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.blocking import DictToArrayBijection
from pytensor.tensor.special import log_softmax
from raterzoo import inference, models
from raterzoo.models import distributions as laws
from scipy.special import logsumexp, softmax
from scipy.stats import multinomial, norm

from tests.support.monte_carlo import rejects, seed_of
from tests.support.rater_laws import at_values

ITEM, RATER, LABEL = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 0, 1])
ROWS = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.4, 0.6]]])
GUESS, SHARED = np.array([[[0.7, 0.3], [0.2, 0.8]]]), np.array([0.5, 0.25])
DIAGONAL = 4 * np.eye(2) + 1


def rater_labels(observed=True):
    answers = (ITEM, RATER, LABEL) if observed else (ITEM, RATER)
    odds = pm.Normal("odds", shape=(3, 2))
    confusion = pm.Dirichlet("confusion", DIAGONAL, shape=(2, 2, 2))
    return laws.RaterLabels("y", logit_prior=odds, confusion=confusion, answers=answers)


def states_by_item(observed=True):
    answers = (ITEM, RATER, LABEL) if observed else (ITEM, RATER)
    odds = pm.Normal("odds", shape=(3, 4))
    confusion = pm.Dirichlet("confusion", np.repeat(DIAGONAL, 2, axis=0), shape=(2, 4, 2))
    law = {"logit_prior": odds, "confusion": confusion, "gold": [-1, 1, -1], "nodes": 2}
    return laws.RaterLabels("y", answers=answers, **law)


def shared_guess(observed=True):
    answers = (ITEM, RATER, LABEL) if observed else (ITEM, RATER)
    prior = pm.Dirichlet("prior", np.ones(2))
    confusion = pm.Dirichlet("confusion", DIAGONAL, shape=(2, 2, 2))
    law = {
        "guess": pm.Dirichlet("guess", DIAGONAL, shape=(1, 2, 2)),
        "shared": pm.Beta("shared", 1, 1, shape=2),
    }
    return laws.SharedGuess("y", prior, confusion, answers, **law, group=[0, 0])


def counted_labels(observed=True):
    share = pm.Dirichlet("share", np.ones(3), shape=(2, 3))
    return laws.CountedLabels("y", share, [3, 2], observed=[[1, 2, 0], [0, 0, 2]] if observed else None)


def item_scores(observed=True):
    location, variance = pm.Normal("location", shape=2), pm.Gamma("variance", 2, 1, shape=2)
    return laws.ItemScores(
        "y", location, variance, [0, 0, 1], observed=[0.3, 1.0, -2.0] if observed else None
    )


SHOWN = np.array([[True, True, False], [True, True, True]])


def partial_ranking(observed=True):
    log_worth, best = pm.Normal("log_worth", shape=(2, 3)), np.array([[1, 0, 1], [0, 1, 1]])
    return laws.PartialRanking("y", log_worth, [[1, 2]] * 2, shown=SHOWN, observed=best if observed else None)


def paired_votes(observed=True):
    law = {"tie": pm.LogNormal("tie"), "left_bias": pm.Normal("side")}
    quality, votes = pm.Normal("quality", shape=3), np.array([[1, 0, 0], [0, 0, 1]])
    return laws.PairedVotes("y", quality, codes=([0, 1], [1, 2]), **law, observed=votes if observed else None)


def graded_votes(observed=True):
    law = {"cut_points": pt.cumsum(pm.LogNormal("step", shape=2)), "left_bias": pm.Normal("side")}
    quality, votes = pm.Normal("quality", shape=3), np.array([[1, 0, 0, 0, 0], [0, 0, 1, 0, 1]])
    options = law | {"total": [1, 2], "observed": votes if observed else None}
    return laws.GradedVotes("y", quality, codes=([0, 1], [1, 2]), **options)


BRICKS = (
    rater_labels,
    states_by_item,
    shared_guess,
    counted_labels,
    item_scores,
    partial_ranking,
    paired_votes,
    graded_votes,
)


@pytest.fixture(params=BRICKS, ids=lambda brick: brick.__name__)
def brick(request):
    return request.param


def built(brick, observed=True):
    with pm.Model() as model:
        brick(observed)
    return model


def test_gradient(brick):
    """Central differences of order four, with an error of about 1e-10."""
    model = built(brick)
    point = DictToArrayBijection.map(model.initial_point(random_seed=1))
    point = point._replace(data=point.data + np.linspace(-0.3, 0.4, len(point.data)))
    log_p, slope = model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")

    def at(k, step):
        moved = point.data.copy()
        moved[k] += step
        return log_p(DictToArrayBijection.rmap(point._replace(data=moved)))

    h = 2e-3
    steps = [[at(k, j * h) for j in (-3, -2, -1, 1, 2, 3)] for k in range(len(point.data))]
    numeric = np.array(steps) @ np.array([-1, 9, -45, 45, -9, 1]) / (60 * h)
    np.testing.assert_allclose(slope(DictToArrayBijection.rmap(point)), numeric, rtol=1e-8, atol=1e-8)


def test_what_pymc_does_with_a_model(brick):
    """Replicates without data, then conditioned on one, have the density of the model of the data."""
    free = built(brick, observed=False)
    with free:
        prior = pm.sample_prior_predictive(3, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"})
    drawn = prior["prior"]["y"].to_numpy()[0]
    model = built(brick)
    y = model.rvs_to_values[model["y"]].data
    assert drawn.shape == (3, *y.shape) and np.isfinite(drawn).all()
    given = pm.observe(free, {"y": y})
    point = model.initial_point(random_seed=1)
    mode = {"mode": "FAST_COMPILE"}
    assert given.compile_logp(**mode)(point) == pytest.approx(model.compile_logp(**mode)(point), abs=1e-12)
    name = model.free_RVs[0].name
    fixed = pm.do(model, {name: pm.draw(model.free_RVs[0], random_seed=1)})
    assert np.isfinite(fixed.compile_logp(**mode)(fixed.initial_point()))


def test_single_precision(brick):
    here = built(brick)
    exact = here.compile_logp(mode="FAST_COMPILE")(here.initial_point())
    with pytensor.config.change_flags(floatX="float32"):
        single = built(brick)
        found = single.compile_logp(mode="FAST_COMPILE")(single.initial_point())
        assert np.isfinite(single.compile_dlogp(mode="FAST_COMPILE")(single.initial_point())).all()
    assert found == pytest.approx(exact, rel=1e-5)


# --- Densities of what is new, by enumeration ---


def of_labels(prior, label=LABEL):
    """Log joint of true category and answers (item, category)."""
    joint = np.log(prior)
    for i, k, y in zip(ITEM, RATER, label, strict=True):
        joint = joint + np.where(np.arange(3)[:, None] == i, np.log(ROWS[k, :, y]), 0)
    return joint


def evaluated(variable):
    return variable.eval(mode="FAST_COMPILE")


@pytest.mark.parametrize("by_item", [False, True])
def test_prior_and_its_log_odds_are_one(by_item):
    rng = np.random.default_rng(seed_of("prior and odds"))
    odds = rng.normal(size=(3, 2)) if by_item else rng.normal(size=2)
    prior = softmax(odds, axis=-1)
    exact = logsumexp(of_labels(np.broadcast_to(prior, (3, 2))), axis=1)
    for given in ({"prior": prior}, {"logit_prior": odds + 3.0}):
        law = laws.RaterLabels.dist(confusion=ROWS, answers=(ITEM, RATER), gold=[-1, -1, -1], **given)
        np.testing.assert_allclose(evaluated(pm.logp(law, LABEL)), exact, rtol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_gradient_of_the_truth(shared):
    """A weighted sum of log p(true category | answers), by differences; with a gold item, which has no slope."""
    rng = np.random.default_rng(seed_of("slope of the truth"))
    logs = [
        log_softmax(pytensor.shared(rng.normal(size=s), shape=s), axis=-1)
        for s in ((3, 2), (2, 2, 2), (1, 2, 2))
    ]
    sources = [x.owner.inputs[0] for x in logs]
    prior, confusion, guess = (pm.math.exp(x) for x in logs)
    options = {"gold": [-1, -1, 1]}
    if shared:
        law = laws.SharedGuess.dist(
            prior, confusion, (ITEM, RATER), guess=guess, shared=SHARED, group=[0, 0], **options
        )
    else:
        law = laws.RaterLabels.dist(prior, confusion, (ITEM, RATER), **options)
    truth = laws.truth_probability(law, labels=LABEL)
    weight = rng.normal(size=(3, 2))
    value = (weight * truth).sum() + pm.logp(law, LABEL)[0]
    used = sources if shared else sources[:2]
    slopes = pytensor.function([], [value, *pytensor.grad(value, used)], mode="FAST_COMPILE")
    found, h = slopes()[1:], 2e-3
    for source, slope in zip(used, found, strict=True):
        start = source.get_value()
        for index in np.ndindex(start.shape):
            values = []
            for j in (-3, -2, -1, 1, 2, 3):
                moved = start.copy()
                moved[index] += j * h
                source.set_value(moved)
                values.append(slopes()[0])
            source.set_value(start)
            numeric = np.dot(values, [-1, 9, -45, 45, -9, 1]) / (60 * h)
            assert slope[index] == pytest.approx(numeric, rel=1e-8, abs=1e-8)
    np.testing.assert_array_equal(truth.eval(mode="FAST_COMPILE")[2], [0, 1])


def test_truth_is_that_of_bayes():
    prior = np.array([0.3, 0.7])
    law = laws.RaterLabels.dist(prior, ROWS, (ITEM, RATER))
    found = evaluated(laws.truth_probability(law, labels=LABEL))
    np.testing.assert_allclose(found, softmax(of_labels(prior), axis=1), rtol=1e-12)


def test_choices_among_those_shown():
    worth = np.array([1.0, 2.0, 5.0])
    law = laws.PartialRanking.dist(np.log(worth), [1, 2], shown=SHOWN)
    p = {
        best: np.exp(evaluated(pm.logp(law, np.tile(np.arange(3) != best, (2, 1)).astype(int))))
        for best in range(3)
    }
    np.testing.assert_allclose([p[k][1] for k in range(3)], worth / 8)
    np.testing.assert_allclose([p[k][0] for k in range(2)], worth[:2] / 3)
    assert p[2][0] == 0

    def check(shown):
        drawn = pm.draw(laws.PartialRanking.dist(np.log(worth), [1, 2], shown=shown), 4000, random_seed=1)
        share = (drawn == 0).mean(axis=0)
        assert abs(share[0] - 1 / 3) < 4 * np.sqrt(2 / 9 / 4000)

    check(SHOWN[0])
    assert rejects(check, SHOWN[1])


def test_votes_without_raters_are_of_one():
    q = np.array([0.5, 0.0, -1.0])
    law = laws.PairedVotes.dist(q, codes=([0, 1], [1, 2]))
    p = 1 / (1 + np.exp(-(q[:2] - q[1:])))
    np.testing.assert_allclose(evaluated(pm.logp(law, [[1, 0], [0, 1]])), np.log([p[0], 1 - p[1]]))


def test_scores_and_counts_are_those_of_scipy():
    score = np.array([0.3, 1.0, -2.0])
    law = laws.ItemScores.dist([0.0, 1.0], [2.0, 0.5], [0, 0, 1])
    each = norm.logpdf(score, [0, 0, 1], np.sqrt([2, 2, 0.5]))
    np.testing.assert_allclose(evaluated(pm.logp(law, score)), [each[:2].sum(), each[2]])
    share, counts = np.array([0.2, 0.3, 0.5]), [1, 2, 0]
    found = evaluated(pm.logp(laws.CountedLabels.dist(share, 3), counts))
    assert found == pytest.approx(multinomial.logpmf(counts, 3, share) - np.log(3))


def test_what_cannot_be_read_is_refused(golden):
    for options in (
        {"prior": [0.5, 0.5], "logit_prior": [0.0, 0.0], "answers": (ITEM, RATER)},
        {"answers": (ITEM, RATER)},
        {"prior": [0.5, 0.5]},
        {"prior": [0.5, 0.5], "answers": (ITEM,)},
    ):
        with golden.raises(ValueError):
            laws.RaterLabels.dist(confusion=ROWS, **options)
    with golden.raises(ValueError):
        laws.truth_probability(laws.RaterLabels.dist([0.5, 0.5], ROWS, (ITEM, RATER)), labels=LABEL + 1)
    with golden.raises(TypeError):
        laws.truth_probability(pm.Normal.dist())
    with pm.Model(), golden.raises(ValueError):
        laws.truth_probability(laws.RaterLabels("y", [0.5, 0.5], ROWS, (ITEM, RATER)))
    with golden.raises(ValueError):
        laws.PairedVotes.dist([0.0, 1.0], codes=([0],))


# --- Logits of the truth in the models ---

LABELS = models.simulators.labels(items=8, raters=3, categories=3, answers=3, random_seed=1).data
WITH_LOGITS = (
    models.dawid_skene,
    models.one_coin,
    models.class_conditional,
    models.multinomial,
    models.mace,
    models.correlated_votes,
    models.hierarchical_dawid_skene,
    models.ebcc,
    models.glad,
    models.item_difficulty,
    models.logistic_random_effects,
    lambda labels, **options: models.shared_guess(labels, groups=["a"] * len(labels.raters), **options),
)


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
@pytest.mark.parametrize("build", WITH_LOGITS)
def test_logits_shift_the_prior_of_each_item(build):
    """Log odds of 40 for the first category leave no doubt; of zero they change nothing."""
    found = []
    for shift in (None, np.zeros((8, 3)), np.tile([40.0, 0.0, 0.0], (8, 1))):
        model = build(LABELS) if shift is None else build(LABELS, prior_logits=shift)
        values = pm.draw(model.free_RVs, random_seed=1, mode="FAST_COMPILE")
        found.append(at_values(model, *values)[1]["plausibility"])
    plain, zero, certain = found
    np.testing.assert_allclose(zero, plain, rtol=1e-12)
    assert (certain[:, 0] > 0.99).all() and (plain[:, 0] < 0.99).any()


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
@pytest.mark.parametrize("build", [own for own in WITH_LOGITS if own is not models.correlated_votes])
def test_logits_multiply_the_prior_of_each_item(build):
    """Probabilities p_j exp(L_ij) / sum instead of p_j: by the law without logits, gold items included."""
    logits = 2 * np.random.default_rng(seed_of("logits")).normal(size=(8, 3))
    gold = np.where(np.arange(8) % 3 == 0, np.arange(8) % 2, -1)
    labels = replace(LABELS, gold=gold)
    plain = build(labels)
    values = pm.draw(plain.free_RVs, random_seed=1, mode="FAST_COMPILE")
    given = dict(zip([rv.name for rv in plain.free_RVs], values, strict=True))
    log_p, outputs = at_values(plain, *values)
    prevalence = np.asarray(given.get("prevalence", outputs.get("prevalence")))
    joint = outputs["plausibility"] * np.exp(log_p[:, None] + logits)
    joint /= (prevalence * np.exp(logits)).sum(axis=1, keepdims=True)
    moved, found = at_values(build(labels, prior_logits=logits), *values)
    np.testing.assert_allclose(moved, np.log(joint.sum(axis=1)), rtol=1e-9)
    np.testing.assert_allclose(found["plausibility"], joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(log_p, moved, rtol=1e-9)


def test_logits_of_other_items_are_refused(golden):
    with golden.raises(ValueError):
        models.dawid_skene(LABELS, prior_logits=np.zeros((7, 3)))
    with golden.raises(ValueError):
        models.dawid_skene(LABELS, prior_logits=np.full((8, 3), np.nan))


# --- Samplers know the laws, not the models ---


def by_hand(labels, prior=None):
    n, raters = len(labels.categories), len(labels.raters)
    with pm.Model() as model:
        share = pm.Dirichlet("share", np.ones(n))
        rows = pm.Dirichlet("rows", np.full((n, n), 2.0), shape=(raters, n, n))
        y = laws.RaterLabels("y", prior=share if prior is None else prior, confusion=rows, answers=labels)
        pm.Deterministic("truth", laws.truth_probability(y))
    return model


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_a_model_by_hand_gets_the_draws_of_dawid_skene():
    few = {"draws": 20, "chains": 2, "thin": 1, "random_seed": 1, "progressbar": False}
    own = inference.sample(models.dawid_skene(LABELS, confusion_concentration=2.0), **few)
    hand = inference.sample(by_hand(LABELS), **few)
    assert hand.attrs["method"] == own.attrs["method"] == "gibbs"
    names = {"share": "prevalence", "rows": "confusion"}
    for one, other in names.items():
        np.testing.assert_array_equal(hand["posterior"][one], own["posterior"][other])
        np.testing.assert_array_equal(hand["log_prior"][one], own["log_prior"][other])
    np.testing.assert_array_equal(hand["log_likelihood"]["y"], own["log_likelihood"]["observed_label"])
    np.testing.assert_allclose(hand["posterior"]["truth"], own["posterior"]["plausibility"], atol=1e-6)


def test_another_variable_of_the_name_is_not_overwritten():
    """A model by hand may call something else plausibility."""
    model = by_hand(LABELS)
    with model:
        pm.Deterministic("plausibility", 2 * model["truth"], dims=None)
    few = {"draws": 5, "chains": 1, "thin": 1, "random_seed": 1, "progressbar": False}
    with pytest.warns(inference.ConvergenceWarning):
        tree = inference.sample(model, **few)
    assert tree.attrs["method"] == "gibbs"
    found = tree["posterior"]["plausibility"].to_numpy()
    np.testing.assert_allclose(found, 2 * tree["posterior"]["truth"].to_numpy(), rtol=1e-6)


def test_replicates_of_a_model_by_hand_follow_its_law():
    """Frequencies of the eight patterns of three answers to one item."""
    answers = ([0, 0, 0], [0, 1, 1])
    law = laws.RaterLabels.dist([0.3, 0.7], ROWS, answers)
    drawn = pm.draw(law, 20_000, random_seed=1)
    patterns = np.array(list(product(range(2), repeat=3)))
    share = np.array([(drawn == p).all(axis=1).mean() for p in patterns])

    def check(patterns):
        p = np.exp([evaluated(pm.logp(law, y))[0] for y in patterns])
        assert np.abs(share - p).max() < 4.5 * np.sqrt(0.25 / 20_000)

    check(patterns)
    assert rejects(check, patterns[::-1])
