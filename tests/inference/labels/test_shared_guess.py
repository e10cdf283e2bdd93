"""The shared-guess model: its Gibbs sampler against enumeration, its step, EM and NUTS, and groups of every kind."""

import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models, papers
from raterzoo.inference.labels import shared_guess
from raterzoo.inference.labels.shared_guess_em import _vote_counts
from raterzoo.models.distributions.shared_guesses_kernels import GroupedAnswers
from scipy.special import betaln, gammaln

from tests.support.monte_carlo import bonferroni_threshold, mc_z, rejects
from tests.support.runs import ChainPlan, route_of

TABLE = {
    "item": ["a", "a", "a", "b", "b", "b", "c", "c", "d"],
    "rater": ["Ann", "gpt", "llama", "Ann", "gpt", "gpt", "gpt", "llama", "llama"],
    "label": ["x", "y", "y", "x", "x", "y", "y", "y", "x"],  # gpt answers b twice
    "kind": ["person", "llm", "llm", "person", "llm", "llm", "llm", "llm", "llm"],
    "truth": ["", "", "", "", "", "", "y", "y", ""],
}
TINY = models.Labels.from_table(TABLE, gold="truth", rater_attributes=["kind"], categories=["x", "y"])
QUIET = {"random_seed": 1, "progressbar": False}


def log_dirichlet(alpha, counts):
    """Log of the probability of counts, the Dirichlet(alpha) rows integrated out."""
    own, total = alpha + counts, gammaln(alpha.sum(-1)) - gammaln((alpha + counts).sum(-1))
    return float((total + (gammaln(own) - gammaln(alpha)).sum(-1)).sum())


def exact_means(beta, shared):
    """Posterior means of the parameters by enumeration of truth, guesses and copies of the tiny table.

    beta: concentration of own and guessed rows (category, answer); shared: of the shares.
    """
    item, rater, label = TINY.annotation_item, TINY.annotation_rater, TINY.label_code
    llm = np.flatnonzero(TINY.rater_attributes["kind"] == "llm")
    may = np.flatnonzero(np.isin(rater, llm))
    truths = [[g] if g >= 0 else [0, 1] for g in TINY.gold]
    logs, sums = [], []
    for truth in product(*truths):
        for guess in product([0, 1], repeat=len(truths)):  # all items have an answer of an LLM
            for flags in product([0, 1], repeat=len(may)):
                copied = np.zeros(len(item), bool)
                copied[may] = flags
                if any(label[a] != guess[item[a]] for a in np.flatnonzero(copied)):
                    continue
                p, own, of_guess, share = np.zeros(2), np.zeros((3, 2, 2)), np.zeros((2, 2)), np.zeros((3, 2))
                for t, h in zip(truth, guess, strict=True):
                    p[t] += 1
                    of_guess[t, h] += 1
                for a in range(len(item)):
                    share[rater[a], 0 if copied[a] else 1] += 1
                    if not copied[a]:
                        own[rater[a], truth[item[a]], label[a]] += 1
                log_p = (
                    log_dirichlet(np.ones(2), p) + log_dirichlet(beta, own) + log_dirichlet(beta, of_guess)
                )
                a, b = shared
                log_p += (betaln(a + share[llm, 0], b + share[llm, 1]) - betaln(a, b)).sum()
                logs.append(log_p)
                rows = [beta + own, beta + of_guess]
                mean = [(1 + p) / (2 + p.sum()), *(x / x.sum(-1, keepdims=True) for x in rows)]
                mean += [(a + share[llm, 0]) / (a + b + share[llm].sum(1)), np.eye(2)[list(truth)]]
                sums.append(np.concatenate([np.ravel(x) for x in mean]))
    weight = np.exp(logs - np.max(logs))
    return weight @ np.array(sums) / weight.sum()


BETA = np.array([[2.0, 1.0], [0.8, 1.5]])


def tiny_model(shared=(1.5, 0.7), **options):
    prior = {"confusion_concentration": BETA, "guess_concentration": BETA, "shared_concentration": shared}
    return models.shared_guess(TINY, "kind", "person", **prior | options)


@pytest.mark.slow
def test_draws_have_the_exact_posterior_means():
    structure = shared_guess.read_shared_guess(model := tiny_model())
    plan = ChainPlan(4, 20_000, 100, 1, dtype="float64", thin=4)
    drawn = shared_guess.draw_guess_model(
        structure, shared_guess.constant_guess_prior(model, structure), plan
    )
    found = [*shared_guess.values_of(structure, drawn), drawn.plausibility]
    found = np.concatenate([x.reshape(4, 20_000, -1) for x in found], axis=2)
    moving = found.std(axis=(0, 1)) > 1e-12  # not those of the gold item

    def check(shared):
        z = mc_z(found[..., moving], exact_means(BETA, shared)[moving])
        assert np.abs(z).max() < bonferroni_threshold(moving.sum())

    check((1.5, 0.7))
    assert rejects(check, (0.7, 1.5))
    np.testing.assert_allclose(found[..., ~moving].mean((0, 1)), exact_means(BETA, (1.5, 0.7))[~moving])


@pytest.mark.slow
def test_tree_has_every_variable_and_its_densities_are_those_of_the_graph():
    model = tiny_model()
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(model, draws=20, chains=2, dtype="float64", **QUIET)
    assert tree.attrs["method"] == "gibbs" and tree.attrs["model"] == "shared_guess"
    dims = {name: x.dims[2:] for name, x in tree["posterior"].data_vars.items()}
    rows = ("category", "answer")
    assert dims == {
        "prevalence": ("category",),
        "own_confusion": ("rater", *rows),
        "guess": ("group_of_raters", *rows),
        "shared": ("copier",),
        "confusion": ("rater", *rows),
        "plausibility": ("item", "category"),
    }
    assert tree["posterior"]["copier"].values.tolist() == ["gpt", "llama"]
    again = tree.copy()
    del again["log_likelihood"], again["log_prior"]
    with model:
        pm.compute_log_likelihood(again, progressbar=False)
        pm.stats.compute_log_prior(again, progressbar=False)
        drawn, names = tree["posterior"].to_dataset(), ["confusion", "plausibility"]
        own = pm.compute_deterministics(drawn, var_names=names, progressbar=False)
    for name in ("confusion", "plausibility"):
        np.testing.assert_allclose(tree["posterior"][name], own[name], rtol=1e-9, atol=1e-12)
    for group in ("log_likelihood", "log_prior"):
        for name, values in tree[group].data_vars.items():
            np.testing.assert_allclose(values, again[group][name], rtol=1e-9, atol=1e-9)


@pytest.mark.long
def test_step_draws_what_the_loop_draws():
    with tiny_model() as model:
        step = inference.GuessGibbs()
        options = {"compute_convergence_checks": False, "quiet": True, "cores": 1}
        drawn = pm.sample(600, tune=100, chains=2, step=step, **options, **QUIET)["posterior"]
    names = [str(rv.name) for rv in model.free_RVs]
    order = ["prevalence", "own_confusion", "guess", "shared", "plausibility"]
    found = np.concatenate([drawn[name].to_numpy().reshape(2, 600, -1) for name in order], axis=2)
    moving = found.std(axis=(0, 1)) > 1e-12
    z = mc_z(found[..., moving], exact_means(BETA, (1.5, 0.7))[moving])
    assert np.abs(z).max() < bonferroni_threshold(moving.sum()) and set(names) < set(order)


def test_learned_shares_go_to_nuts_and_the_step_moves_the_rest(golden):
    model = tiny_model("learned")
    assert {"shared_mean", "shared_size"} <= set(model.named_vars)
    assert model.named_vars_to_dims["shared_mean"] == ("group_of_raters",)
    route = route_of(model)
    assert route.method == "nuts" and route.name == "shared_guess"
    assert "GuessGibbs" in route.reason
    golden.says(route.reason, "variable 'shared_mean'")
    assert len(shared_guess.read_shared_guess(model).concentrations) == 5
    with golden.raises(ValueError):
        tiny_model("learnt")


def test_em_begins_from_counts_in_which_half_of_the_answers_of_groups_are_copies():
    answers = GroupedAnswers(
        np.array([0, 3, 4, 6]), np.array([0, 1, 2, 1, 0, 2]), np.array([1, 0, 1, 0, 0, 1]), np.array([-1, 0, 0]),
        np.full(3, -1),
    )  # fmt: skip
    p, items = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]]), np.array([1.0, 2.0, 3.0])  # of each pattern
    votes = shared_guess.group_votes(answers, 2, 1)
    found = _vote_counts(answers, SimpleNamespace(multiplicity=items), votes, p)
    own, guess, halves = np.zeros((3, 2, 2)), np.zeros((1, 2, 2)), np.zeros((3, 2))
    for i in range(3):
        given = range(answers.start[i], answers.start[i + 1])
        of_group = [answers.label[a] for a in given if answers.group[answers.rater[a]] == 0]
        for j in range(2):
            weight = items[i] * p[i, j]
            for h in of_group:
                guess[0, j, h] += weight / len(of_group)
            for a in given:
                k = answers.rater[a]
                in_group = answers.group[k] == 0
                own[k, answers.label[a], j] += weight * (0.5 if in_group else 1.0)
                halves[k] += 0.5 * weight * in_group
    np.testing.assert_allclose(found.prevalence, [0.7 + 0.4 + 1.8, 0.3 + 1.6 + 1.2])
    np.testing.assert_allclose(found.table, own.reshape(6, 2))
    np.testing.assert_allclose(found.guess, guess)
    np.testing.assert_allclose(found.shared, halves)


@pytest.mark.slow
def test_em_rises_to_a_point_that_it_keeps():
    drawn = models.simulators.labels(
        model="shared_guess", items=80, raters=6, answers=5, gold=0.2, random_seed=3
    )
    found = papers.shared_guess_em(drawn.data, "kind", "person", restarts=1, random_seed=1)
    trace = found["trace"].to_numpy()
    assert (np.diff(trace) > -1e-9).all() and found.attrs["converged"] == 1
    for name in ("prevalence", "own_confusion", "guess", "confusion"):
        np.testing.assert_allclose(found[name].sum(found[name].dims[-1]), 1)
    # the gradient of the posterior of the log odds is zero: its value falls in every direction
    model = models.shared_guess(drawn.data, "kind", "person")
    logs = {name: np.log(found[name].to_numpy()) for name in ("prevalence", "own_confusion", "guess")}
    logs["shared"] = np.log(found["shared"].to_numpy()) - np.log1p(-found["shared"].to_numpy())
    point = {}
    for rv in model.free_RVs:
        value, x = model.rvs_to_values[rv], logs[str(rv.name)]
        point[value.name] = x if rv.name == "shared" else (x - x.mean(-1, keepdims=True))[..., :-1]
    gradient = model.compile_dlogp()(point)  # PyMC's simplex transform is linear in the logs
    assert np.abs(gradient).max() < 1e-2


@pytest.mark.parametrize(
    ("groups", "independent"),
    [
        (None, ("robot",)),
        (None, ("llm", "person")),
        ("family", ()),
        ({"Ann": "p", "gpt": "m"}, ()),
        ({"Ann": "p", "gpt": "m", "llama": "m", "Bob": "p"}, ()),
        (["p", "m"], ()),
    ],
)
def test_groups_that_cannot_be_are_refused(groups, independent, golden):
    for function in (models.shared_guess, papers.shared_guess_em):
        with golden.raises(ValueError):
            function(TINY, groups, independent)


def test_groups_of_one_rater_count_as_independent_and_one_group_rests_on_what_is_not_copied(golden):
    with golden.warns(models.DataWarning):
        model = models.shared_guess(TINY)  # by the first attribute
    assert model.coords["group_of_raters"] == ("llm",) and model.coords["copier"] == ("gpt", "llama")
    models.shared_guess(TINY, dict.fromkeys(TINY.raters.tolist(), "all"))  # beside gold: no warning
    free = {name: x for name, x in TABLE.items() if name != "truth"}
    labels = models.Labels.from_table(free)
    with golden.warns(models.DataWarning):
        models.shared_guess(labels, ["all"] * 3)
    with golden.raises(ValueError):
        models.shared_guess(labels)


def test_without_copies_it_is_dawid_skene():
    """As the prior of the shares goes to zero, so does the difference."""
    labels = models.simulators.labels(items=60, raters=5, answers=5, random_seed=3).data
    plain = inference.dawid_skene_em(labels, restarts=0)
    tiny = papers.shared_guess_em(labels, list("xxxyy"), restarts=0, shared_concentration=(1e-9, 1e9))
    np.testing.assert_allclose(tiny["plausibility"], plain["plausibility"], atol=1e-4)
    np.testing.assert_allclose(tiny["confusion"], plain["confusion"], atol=1e-4)


def claimed_and_right(truth, plausibility):
    return plausibility.max(axis=1).mean(), (plausibility.argmax(axis=1) == truth).mean()


def test_the_dependent_case_is_repaired():
    """Three people of .8, nine judges of .7 who copy .8 of their answers: Dawid-Skene believes the judges."""
    from benchmarks.shared_guess import DESIGNS, simulated

    truth, labels = simulated(DESIGNS[0], 600, np.random.default_rng(4))
    model = models.shared_guess(labels, "kind", "person")
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(model, draws=300, thin=2, log_likelihood=False, **QUIET)
    claimed, right = claimed_and_right(
        truth, tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
    )
    assert right > 0.86 and abs(claimed - right) < 0.03
    assert float(tree["posterior"]["shared"].mean()) == pytest.approx(0.8, abs=0.04)
    plain = inference.dawid_skene_em(labels, restarts=0)["plausibility"].to_numpy()
    claimed, right = claimed_and_right(truth, plain)
    assert right < 0.8 and claimed - right > 0.2
