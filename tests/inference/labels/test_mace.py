"""MACE: its Gibbs conditionals and posterior against enumeration, calibration, two samplers, and the wrong twins."""

import numba as nb
import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models
from raterzoo.inference.labels.kernels import gibbs as competence
from raterzoo.inference.labels.kernels import gibbs as kernels_gibbs
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import binom

from tests.support.densities import add_densities
from tests.support.label_designs import log_beta, tiny_labels
from tests.support.label_samplers import constant_prior, draw_labels_model, read_labels
from tests.support.laws import Answers, answer_codes
from tests.support.monte_carlo import (
    assert_rejects_twin,
    bonferroni_threshold,
    check_means,
    mc_z,
    sbc_ranks,
    seed_of,
    within_sbc_band,
)
from tests.support.random_streams import stream
from tests.support.rater_laws import given_truth, truths
from tests.support.runs import ChainPlan
from tests.support.source_twins import altered

LABELS = tiny_labels()
QUIET = {"progressbar": False}
NAMES = ("prevalence", "competence", "spam", "plausibility")


def exact_means(labels, alpha, pair, c):
    """Posterior means by the sum over true categories and spam: given them all is conjugate."""
    n, n_raters, found = len(alpha), len(labels.raters), []
    for category in truths(labels):
        items = alpha + np.bincount(category, minlength=n)
        for _, (who, told, label) in given_truth(labels, category, None):
            own = np.array(pair) + np.stack([np.bincount(who, x, n_raters) for x in (told, 1 - told)], axis=1)
            spam = np.array(c, float)
            np.add.at(spam, (who, label), 1 - told)
            log_weight = log_beta(items) + betaln(*own.T).sum() + log_beta(spam).sum()
            means = (items / items.sum(), own[:, 0] / own.sum(axis=1))
            means += (spam / spam.sum(axis=1, keepdims=True), np.eye(n)[category])
            found.append((log_weight, *means))
    weight = np.array([f[0] for f in found])
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    return {name: sum(w * f[k + 1] for w, f in zip(weight, found, strict=True))
            for k, name in enumerate(NAMES)}  # fmt: skip


ALPHA, PAIR, SPAM_PRIOR = np.array([1.0, 2.0]), (2.0, 1.0), np.array([[1.0, 0.7]] * 3)
MODEL = models.mace(LABELS, prevalence_concentration=ALPHA, spam_concentration=SPAM_PRIOR)


def gibbs(labels, seed, pair=PAIR, spam=SPAM_PRIOR):
    model = models.mace(labels, prevalence_concentration=ALPHA, competence_concentration=pair,
                        spam_concentration=spam)  # fmt: skip
    read = read_labels(model)
    plan = ChainPlan(4, 20_000, 200, seed, dtype="float64", thin=3)
    found = draw_labels_model(read.answers, constant_prior(model, read), plan)
    matrices = found.table.reshape(4, 20_000, -1, 2, 2).swapaxes(-1, -2)
    values = (found.prevalence, *read.skills_of(matrices), found.plausibility)
    return dict(zip(NAMES, values, strict=True))


@pytest.mark.slow
def test_loop_draws_the_exact_posterior():
    exact, seed = exact_means(LABELS, ALPHA, PAIR, SPAM_PRIOR), seed_of("mace loop")
    check_means(gibbs(LABELS, seed), exact)
    assert_rejects_twin(check_means, gibbs(LABELS, seed, spam=SPAM_PRIOR + 0.2), exact)
    assert_rejects_twin(check_means, gibbs(LABELS, seed, pair=(2.1, 1.0)), exact)
    table = LABELS.to_table()
    kept = table["rater"] != "r"
    fewer = models.Labels.from_table({k: v[kept] for k, v in table.items()}, count="count",
                                     gold="gold", categories=["x", "y"])  # fmt: skip
    twin = gibbs(fewer, seed, spam=SPAM_PRIOR[1:])
    own = {"competence": exact["competence"][1:], "spam": exact["spam"][1:]}
    assert_rejects_twin(check_means, twin, own)


def test_step_draws_the_exact_posterior():
    names = NAMES[:3]
    with MODEL:
        step = inference.ConfusionGibbs([MODEL[name] for name in names])
        tree = pm.sample(2000, tune=100, chains=4, cores=1, random_seed=seed_of("mace step"),
                         step=step, compute_convergence_checks=False, quiet=True, **QUIET)  # fmt: skip
    draws = {name: tree["posterior"][name].to_numpy() for name in NAMES}
    check_means(draws, exact_means(LABELS, ALPHA, PAIR, SPAM_PRIOR))


@pytest.mark.long
def test_nuts_draws_the_exact_posterior():
    options = {"method": "nuts", "cores": 1, "nuts_sampler": "pymc", "random_seed": seed_of("nuts")}
    tree = inference.sample(MODEL, **options, **QUIET)
    draws = {name: tree["posterior"][name].transpose("chain", "draw", ...).to_numpy() for name in NAMES}
    check_means(draws, exact_means(LABELS, ALPHA, PAIR, SPAM_PRIOR))
    twin = exact_means(LABELS, ALPHA, (4.0, 2.0), SPAM_PRIOR)
    assert_rejects_twin(check_means, draws, twin)


CONCENTRATION = np.array([[0.8, 2.0, 0.0], [1.0, 1.5, 0.0], [2.0, 0.0, 0.0]])
COUNTS = np.array([[20, 3, 1], [2, 15, 4], [0, 1, 30]])


def drawn_by(module, size=40_000):
    """Draw one rater's matrix again and again, each time given the same matrix before; return competence and spam."""
    draw = module.draw_competence
    before = np.full((3, 3), 0.1) + 0.4 * np.eye(3) + np.array([[0.1], [0.05], [0.05]])
    before /= before.sum(axis=0)

    @nb.njit
    def repeat(rng, concentration, counts, before, tables):
        for s in range(len(tables)):
            tables[s] = before
            draw(rng, concentration, counts, tables[s], 0)

    tables = np.empty((size, 3, 3))
    rng = stream(np.random.SeedSequence(seed_of("conditional")))
    repeat(rng, CONCENTRATION, COUNTS, before, tables)
    return before, competence.competence_of(tables.swapaxes(1, 2)[:, None])


def conditional_means(before):
    """First and second moments of competence and spam: sums over how many of each label told the truth."""
    (theta,), (xi,) = competence.competence_of(before.T[None])
    share = theta / (theta + (1 - theta) * xi)
    told = [binom.pmf(np.arange(n + 1), n, s) for n, s in zip(np.diag(COUNTS), share, strict=True)]
    return moments(np.einsum("a,b,c->abc", *told).ravel())


def given_honest():
    """Parameters of the laws of competence and spam, given each number of honest answers of every label."""
    honest = np.stack(np.meshgrid(*(np.arange(n + 1) for n in np.diag(COUNTS)), indexing="ij"), -1).reshape(-1, 3)  # fmt: skip
    a = CONCENTRATION[0, 1] + honest.sum(axis=1)
    b = CONCENTRATION[1, 1] + COUNTS.sum() - honest.sum(axis=1)
    return honest, a, b, CONCENTRATION[:, 0] + COUNTS.sum(axis=1) - honest


def moments(p):
    """First and second moments of competence and spam, where p are the probabilities of the honest answers."""
    _, a, b, c = given_honest()
    total = c.sum(axis=1, keepdims=True)
    first = np.column_stack([a / (a + b), c / total])
    second = np.column_stack([a * (a + 1) / (a + b) / (a + b + 1), c * (c + 1) / total / (total + 1)])
    return p @ np.concatenate([first, second], axis=1)


@pytest.mark.slow
def test_conditional_is_exact_and_needs_the_spam_of_the_label():
    def check(module):
        before, (theta, xi) = drawn_by(module)
        values = np.concatenate([theta, xi[:, 0]], axis=1)
        moments = np.concatenate([values, values**2], axis=1).reshape(4, -1, 8)
        assert np.abs(mc_z(moments, conditional_means(before))).max() < bonferroni_threshold(8)

    check(competence)
    share = "(table[row, label] - table[row, other]) / table[row, label]"
    without = "(table[row, label] - table[row, other])"  # theta, without the odds against spam
    assert_rejects_twin(check, altered("draw_competence", (share, without)))


@pytest.mark.slow
def test_spam_exchanged_with_competence_leaves_the_posterior_of_a_matrix_as_it_is():
    """Exact draws of a matrix given its counts are exact ones after the moves, and others than before."""
    honest, a, b, c = given_honest()
    log_p = gammaln(a) + gammaln(b) + gammaln(c).sum(axis=1) - gammaln(c.sum(axis=1))
    log_p += (gammaln(np.diag(COUNTS) + 1) - gammaln(honest + 1) - gammaln(np.diag(COUNTS) - honest + 1)).sum(axis=1)  # fmt: skip
    p = np.exp(log_p - logsumexp(log_p))
    rng, size = np.random.default_rng(seed_of("exchange")), 20_000
    which = rng.choice(len(p), size, p=p)
    theta, gammas = rng.beta(a[which], b[which]), rng.standard_gamma(c[which])
    spam = (1 - theta)[:, None] * gammas / gammas.sum(axis=1, keepdims=True)
    before = spam[:, :, None] + theta[:, None, None] * np.eye(3)

    def moved(module):
        exchange = module.exchange_spam

        @nb.njit
        def each(rng, concentration, counts, tables):
            for s in range(len(tables)):
                exchange(rng, concentration, counts, tables[s], 0)

        tables = before.copy()
        each(stream(np.random.SeedSequence(seed_of("moves"))), CONCENTRATION, COUNTS, tables)
        return competence.competence_of(tables.swapaxes(1, 2)[:, None])

    def check(module):
        found, xi = moved(module)
        values = np.concatenate([found, xi[:, 0]], axis=1)
        squares = np.concatenate([values, values**2], axis=1).reshape(4, -1, 8)
        assert np.abs(mc_z(squares, moments(p))).max() < bonferroni_threshold(8)

    check(competence)
    assert abs(np.corrcoef(moved(competence)[0][:, 0], theta)[0, 1]) < 0.5
    assert_rejects_twin(check, altered("exchange_spam", ("power -= concentration[row, 0]", "power -= 1.0")))


N_DRAWS, ITEMS, RATERS, ANSWERS, CATEGORIES = 99, 40, 5, 3, 3


def simulated(rng):
    """Draw parameters from the prior, and answers of some raters to every item, spam by spam."""
    prevalence = rng.dirichlet(np.full(CATEGORIES, 2.0))
    theta, xi = rng.beta(2.0, 1.0, RATERS), rng.dirichlet(np.ones(CATEGORIES), RATERS)
    truth = rng.choice(CATEGORIES, ITEMS, p=prevalence)
    rater = np.concatenate([np.sort(rng.permutation(RATERS)[:ANSWERS]) for _ in truth])
    item = np.repeat(np.arange(ITEMS), ANSWERS)
    spam = (xi[rater].cumsum(axis=1)[:, :-1] < rng.random((len(item), 1))).sum(axis=1)
    label = np.where(rng.random(len(item)) < theta[rater], truth[item], spam)
    start = np.arange(0, len(item) + 1, ANSWERS)
    answers = Answers(start, answer_codes(rater, label, CATEGORIES), np.full(ITEMS, -1))
    told = np.where(label[:, None] == np.arange(CATEGORIES), theta[rater][:, None], 0.0)
    law = told + ((1 - theta[rater]) * xi[rater, label])[:, None]
    log_p = np.log(law.reshape(ITEMS, ANSWERS, -1).prod(axis=1) @ prevalence).sum()
    return answers, np.array([prevalence[0], *theta, *xi[:2].ravel(), log_p])


def ranks_of(simulations, seed, extra=0.0):
    rng, ranks = np.random.default_rng(seed), []
    table = np.zeros((RATERS, CATEGORIES, CATEGORIES))
    table[:, :, 0], table[:, 0, 1], table[:, 1, 1] = 1.0, 2.0, 1.0 + extra
    prior = kernels_gibbs.ConfusionPrior(
        np.full(CATEGORIES, 2.0), table.reshape(-1, CATEGORIES), kernels_gibbs.COMPETENCE
    )
    for s in range(simulations):
        answers, truth = simulated(rng)
        draws = draw_labels_model(answers, prior, ChainPlan(1, N_DRAWS, 200, seed + s, 1, "float64", thin=10))
        matrices = draws.table[0].reshape(N_DRAWS, -1, CATEGORIES, CATEGORIES).swapaxes(-1, -2)
        theta, xi = competence.competence_of(matrices)
        values = np.column_stack([draws.prevalence[0, :, 0], theta, xi[:, :2].reshape(N_DRAWS, -1),
                                  draws.log_p[0].sum(axis=1)])  # fmt: skip
        ranks.append(sbc_ranks(truth[None], values[None], rng)[0])
    return np.array(ranks)


@pytest.mark.slow
def test_truths_are_ranked_uniformly():
    simulations, seed = 150, seed_of("mace calibration")
    ranks = ranks_of(simulations, seed)
    level = 1 - 0.01 / ranks.shape[1]
    assert within_sbc_band(ranks, N_DRAWS, level).all()
    assert not within_sbc_band(ranks_of(simulations, seed, extra=1.0), N_DRAWS, level).all()


@pytest.mark.slow
def test_tree_and_densities_are_those_of_pymc():
    tree = inference.sample(MODEL, random_seed=1, dtype="float64", **QUIET)
    assert (tree.attrs["model"], tree.attrs["method"]) == ("mace", "gibbs")
    assert set(tree["posterior"].data_vars) == {*NAMES, "confusion"}
    check = tree.copy()
    del check["log_likelihood"], check["log_prior"]
    check["posterior"] = check["posterior"].to_dataset()[list(NAMES[:3])].isel(draw=slice(0, 20))
    add_densities(check, MODEL)
    for group in ("log_likelihood", "log_prior"):
        for name, theirs in check[group].data_vars.items():
            ours = tree[group][name].isel(draw=slice(0, 20)).to_numpy()
            np.testing.assert_allclose(ours, theirs.to_numpy()[..., : ours.shape[-1]], rtol=1e-8, atol=1e-9)


def test_default_prior_names_the_categories():
    """Chains from far apart agree on raters of whom most spam."""
    rng = np.random.default_rng(seed_of("spammers"))
    truth, item = rng.integers(0, 3, 150), np.repeat(np.arange(150), 5)
    rater = np.concatenate([rng.permutation(10)[:5] for _ in truth])
    theta = np.where(np.arange(10) < 6, 0.05, 0.8)
    label = np.where(rng.random(750) < theta[rater], truth[item], rng.integers(0, 3, 750))
    labels = models.Labels.from_table({"item": item, "rater": rater, "label": label})
    tree = inference.sample(models.mace(labels), random_seed=1, **QUIET)
    assert inference.diagnose(tree).attrs["verdict"].startswith("converged")
    mean = tree["posterior"]["competence"].mean(("chain", "draw")).sel(rater=range(10)).to_numpy()
    assert mean[:6].max() < 0.3 < 0.6 < mean[6:].min()


def test_a_fixed_prevalence_is_for_nuts(golden):
    model = models.mace(LABELS, prevalence_concentration="uniform")
    with golden.raises(ValueError):
        inference.sample(model, method="gibbs", **QUIET)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
def test_legal_extremes_are_finite(dtype):
    agree = models.Labels.from_table(
        {"item": [1, 1, 2, 2], "rater": list("abab"), "label": list("xxxx")}, categories=["x", "y"]
    )
    one = models.Labels.from_table({"item": [1], "rater": ["a"], "label": ["y"]}, categories=["x", "y"])
    tiny = {"competence_concentration": (1e-2, 1e-2), "spam_concentration": 1e-2}
    for labels in (LABELS, agree, one):
        tree = inference.sample(
            models.mace(labels, **tiny), draws=300, thin=1, random_seed=1, dtype=dtype, **QUIET
        )
        for group in ("posterior", "log_likelihood", "log_prior"):
            for name, values in tree[group].data_vars.items():
                assert np.isfinite(values).all(), (group, name)
