"""Sets of tags: the law against its words, and both samplers against enumeration; an enumeration of other pairs as wrong twin."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models
from scipy.special import betaln, logsumexp
from scipy.stats import beta, lognorm, norm

from tests.support.monte_carlo import assert_rejects_twin, check_means
from tests.support.runs import route_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning"),
    pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning"),
]
TAGS = ["wet", "cold"]
SETS = [(0, 0), (1, 0), (0, 1), (1, 1)]
ROWS = [
    *((1, "r", "wet|cold"), (1, "s", "wet"), (2, "r", "none"), (2, "s", "cold")),
    *((3, "r", "wet"), (3, "s", "wet|cold"), (4, "r", "cold")),
]
GOLD = {2: "none"}
PAIRS = {"tag_log_odds": (0.3, 1.0), "log_odds_ratio": (2.0, 1.0)}
PRIORS = PAIRS | {"skill_concentration": (2.0, 1.5), "strength": (1.0, 0.7)}


def read(rows=ROWS, tags=TAGS, gold=GOLD):
    table = dict(zip(("item", "rater", "label"), map(list, zip(*rows, strict=True)), strict=True))
    table["gold"] = [gold.get(i, "") for i in table["item"]]
    return models.Labels.from_table(table, tags=tags, gold="gold")


def bits_of(name, tags=TAGS):
    return tuple(int(tag in name.split("|")) for tag in tags)


def log_p_of_sets(wet, cold, ratio):
    """Return the log probability of each set, on the first axis."""
    score = [wet * b + cold * c + ratio * (b - 0.5) * (c - 0.5) for b, c in SETS]
    return np.stack(score) - logsumexp(np.stack(score), axis=0)


def exact(pairs):
    """Return p(true set | answers) (item, set) with all parameters summed out: of raters and pairs over fine grids."""
    x = np.linspace(-4, 4, 41)
    grid = np.meshgrid(
        *(mean + sd * x for mean, sd in (PAIRS["tag_log_odds"],) * 2 + (pairs,)), indexing="ij"
    )
    log_p = log_p_of_sets(*grid).reshape(4, -1)
    weight = sum(norm.logpdf(own) for own in np.meshgrid(x, x, x, indexing="ij")).ravel()
    u, z = np.meshgrid((np.arange(120) + 0.5) / 120, np.linspace(-4, 4, 41), indexing="ij")
    s = np.exp(1.0 + 0.7 * z)
    prior = beta.logpdf(u, 2.0, 1.5) + norm.logpdf(z)
    prior -= logsumexp(prior)
    found, total = np.zeros((4, 4)), 0.0
    of_rater = {}
    for truth in product(range(4), repeat=4):
        if truth[1] != 0:  # gold
            continue
        often = np.bincount(truth, minlength=4)
        value = logsumexp(often @ log_p + weight)
        for k in "rs":
            right = np.zeros((2, 2, 2), int)  # tag, whether true, whether right
            for i, who, said in ROWS:
                if who == k:
                    for t in range(2):
                        true = SETS[truth[i - 1]][t]
                        right[t, true, int(bits_of(said)[t] == true)] += 1
            key = right.tobytes()
            if key not in of_rater:
                a, b = s * (1 + u) / 2, s * (1 - u) / 2
                rates = sum(betaln(a + n[1], b + n[0]) - betaln(a, b) for n in right.reshape(4, 2))
                of_rater[key] = logsumexp(rates + prior)
            value += of_rater[key]
        mass = np.exp(value)
        total += mass
        for i, own in enumerate(truth):
            found[i, own] += mass
    return found / total


def test_law_is_that_of_its_words():
    """Probabilities of sets and answers, priors, and p(set | answers) of each item, at random parameters."""
    labels = read()
    model = models.multi_label(labels, **PRIORS)
    names = [rv.name for rv in model.free_RVs]
    values = dict(zip(names, pm.draw(model.free_RVs, random_seed=4), strict=True))
    outputs = ["prevalence", "confusion", "plausibility", "tag_plausibility"]
    options = {
        "inputs": model.free_RVs,
        "point_fn": False,
        "mode": "FAST_COMPILE",
        "on_unused_input": "ignore",
    }
    found = dict(
        zip(outputs, model.compile_fn([model[n] for n in outputs], **options)(*values.values()), strict=True)
    )
    log_p = log_p_of_sets(*values["tag_log_odds"], *values["log_odds_ratio"])
    np.testing.assert_allclose(found["prevalence"], np.exp(log_p), rtol=1e-10)
    np.testing.assert_allclose(found["confusion"].sum(axis=2), 1, rtol=1e-10)
    expected = np.tile(log_p, (4, 1))
    for k, rater in enumerate(labels.raters):
        for (j, true), (a, said) in product(enumerate(SETS), enumerate(SETS)):
            p = 1.0
            for t in range(2):
                yes = values["sensitivity"][k, t] if true[t] else 1 - values["specificity"][k, t]
                p *= yes if said[t] else 1 - yes
            np.testing.assert_allclose(found["confusion"][k, j, a], p, rtol=1e-10)
            for i, who, name in ROWS:
                if who == rater and bits_of(name) == said:
                    expected[i - 1, j] += np.log(p)
    expected[1, 1:] = -np.inf
    p = np.exp(expected - logsumexp(expected, axis=1, keepdims=True))
    np.testing.assert_allclose(found["plausibility"], p, rtol=1e-10)
    np.testing.assert_allclose(found["tag_plausibility"][:, 1], p[:, 2] + p[:, 3], rtol=1e-10)

    u, s = values["rater_skill"], values["rater_strength"]
    prior = (
        norm.logpdf(values["tag_log_odds"], 0.3, 1.0).sum()
        + norm.logpdf(values["log_odds_ratio"], 2, 1).sum()
    )
    prior += beta.logpdf(u, 2.0, 1.5).sum() + lognorm.logpdf(s, 0.7, scale=np.e).sum()
    for name in ("sensitivity", "specificity"):
        prior += beta.logpdf(values[name], (s * (1 + u) / 2)[:, None], (s * (1 - u) / 2)[:, None]).sum()
    densities = model.compile_fn([pm.logp(rv, values[rv.name]).sum() for rv in model.free_RVs], **options)
    assert sum(densities(*values.values())) == pytest.approx(prior, rel=1e-9)


def check(tree, expected):
    check_means(tree["posterior"]["plausibility"].to_numpy(), expected)


@pytest.mark.slow
def test_gibbs_is_the_enumeration():
    expected, twin = exact(PAIRS["log_odds_ratio"]), exact((0.0, 1.0))
    model = models.multi_label(read(), **PRIORS)
    tree = inference.sample(model, draws=10_000, thin=4, random_seed=3, progressbar=False, dtype="float64")
    assert (tree.attrs["method"], tree.attrs["model"]) == ("gibbs", "multi_label")
    check(tree, expected)
    assert_rejects_twin(check, tree, twin)


def test_densities_of_the_draws_are_those_of_the_model():
    model = models.multi_label(read(), **PRIORS)
    tree = inference.sample(
        model, draws=20, thin=1, chains=2, random_seed=3, progressbar=False, dtype="float64"
    )
    at = {"chain": 1, "draw": 7}
    values = [tree["posterior"][rv.name].isel(at).to_numpy() for rv in model.free_RVs]
    options = {
        "inputs": model.free_RVs,
        "point_fn": False,
        "mode": "FAST_COMPILE",
        "on_unused_input": "ignore",
    }
    own = [pm.logp(rv, value) for rv, value in zip(model.free_RVs, values, strict=True)]
    observed = pm.logp(model["observed_label"], model.rvs_to_values[model["observed_label"]])
    *prior, pointwise = model.compile_fn([*own, observed], **options)(*values)
    for rv, log_p in zip(model.free_RVs, prior, strict=True):
        np.testing.assert_allclose(tree["log_prior"][rv.name].isel(at), log_p, rtol=1e-9)
    np.testing.assert_allclose(tree["log_likelihood"]["observed_label"].isel(at), pointwise, rtol=1e-9)


def test_a_law_that_is_not_this_one_is_left_to_nuts():
    labels = read()
    with pm.Model() as outer:
        models.multi_label(labels, strength=(pm.Normal("centre"), 1.0))
    assert route_of(outer).method == "nuts" and "'centre'" in route_of(outer).reason
    by_item = models.multi_label(labels, prior_logits=np.zeros((4, 4)))
    assert route_of(by_item).method == "nuts"
    assert route_of(models.multi_label(labels)).method == "gibbs"


def test_labels_that_are_no_sets_are_refused(golden):
    flat = models.Labels.from_table({"item": [1, 1, 2], "rater": [*"rsr"], "label": [*"aba"]})
    with golden.raises(ValueError):
        models.multi_label(flat)


def test_of_five_tags_the_matrices_are_not_stored():
    rows = [(i, k, said) for i, said in enumerate(["a|b", "none", "c|d|e", "a"]) for k in "rs"]
    model = models.multi_label(read(rows, list("abcde"), {}))
    assert "confusion" not in model.named_vars and len(model.coords["tag_pair"]) == 10
    tree = inference.sample(model, draws=20, tune=5, chains=1, random_seed=1, progressbar=False)
    assert tree["posterior"]["plausibility"].sizes["category"] == 32
    np.testing.assert_allclose(tree["posterior"]["prevalence"].sum("category"), 1, rtol=1e-5)


def test_simulated_answers_are_of_the_law():
    """Confusion of the simulator is that of the model at its rates; shares of sets are its prevalence, in 20,000 items."""
    simulated = models.simulators.labels(
        model="multi_label", items=20_000, raters=3, categories=8, random_seed=2
    )
    truth, data = simulated.truth, simulated.data
    assert data.tags == ["a", "b", "c"] and truth["log_odds_ratio"].shape == (3,)
    model = models.multi_label(data.select(items=range(5)))
    free = {name: truth[name] for name in ("tag_log_odds", "log_odds_ratio")}
    free |= {name: truth[name][data.raters] for name in ("sensitivity", "specificity")}
    options = {"inputs": [model[name] for name in free], "point_fn": False, "mode": "FAST_COMPILE"}
    p, confusion = model.compile_fn([model["prevalence"], model["confusion"]], **options)(*free.values())
    np.testing.assert_allclose(truth["confusion"][data.raters], confusion, rtol=1e-10)
    share = np.bincount(truth["true_category"], minlength=8) / 20_000
    assert np.abs((share - truth["prevalence"]) / np.sqrt(p * (1 - p) / 20_000)).max() < 4.5
    np.testing.assert_allclose(truth["prevalence"], p, rtol=1e-10)
    given = np.zeros((3, 8, 8))
    answered = truth["true_category"][data.annotation_item]
    np.add.at(given, (data.raters[data.annotation_rater], answered, data.label_code), 1)
    seen = given.sum(axis=2, keepdims=True)
    off = (given - seen * truth["confusion"]) / np.sqrt(
        seen * truth["confusion"] * (1 - truth["confusion"]) + 0.5
    )
    assert np.abs(off).max() < 5.5


def test_categories_that_are_no_sets_are_not_simulated(golden):
    with golden.raises(ValueError):
        models.simulators.labels(model="multi_label", categories=6)
