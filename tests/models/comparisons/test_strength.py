"""Strength of preference: the law against SciPy level by level, what it reduces to, what is refused, and what is learnt."""

import warnings
from dataclasses import replace
from itertools import product

import arviz as az
import numpy as np
import pymc as pm
import pytest
from raterzoo import evaluation, inference, models
from raterzoo.models.distributions import GradedVotes, PairedVotes
from scipy.stats import logistic, norm

from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.runs import route_of

LAWS = {"bradley_terry": logistic, "thurstone": norm}
COMPILED = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}


def graded(seed=1, **options):
    options = {"items": 6, "raters": 4, "degree": 4, "tie": 0.4, "cut_points": [1.0, 2.5]} | options
    return models.simulators.comparisons(random_seed=seed, **options)


def log_p_of_levels(law, x, cut_points, ties=True, weight=1.0):
    """Log p (annotation, level) by differences of survival functions, or of cdfs where these are small.

    With a weight p(level) = p(side) p(level of w x) / p(side of w x), of the tie that of x.
    """
    if weight != 1:
        x = np.asarray(x)
        own, seen = (log_p_of_levels(law, a, cut_points, ties) for a in (x, weight * x))
        half = own.shape[1] // 2
        for side in (np.s_[:, :half], np.s_[:, -half:]):
            won, lost = (np.logaddexp.reduce(a[side], axis=1, keepdims=True) for a in (own, seen))
            own[side] = won + seen[side] - lost
        return own
    bounds = np.r_[cut_points[::-1], [] if ties else 0.0, -np.asarray(cut_points)]
    x = np.asarray(x)[:, None]
    upper, lower = np.r_[np.inf, bounds] - x, np.r_[bounds, -np.inf] - x
    p = np.where(lower > 0, law.sf(lower) - law.sf(upper), law.cdf(upper) - law.cdf(lower))
    return np.log(p)


def evaluated(variable):
    return variable.eval(mode="FAST_COMPILE")


@pytest.mark.parametrize("link", LAWS)
@pytest.mark.parametrize(("ties", "weight"), [(True, 1.0), (False, 1.0), (True, 0.4), (False, 0.0)])
def test_the_law_is_scipys_level_by_level(link, ties, weight):
    x, cut_points = np.array([-30.0, -6.0, -1.3, 0.0, 0.4, 2.0, 8.0, 25.0]), [0.3, 1.1, 2.7]
    levels = 6 + (1 if ties else 2)
    expected = log_p_of_levels(LAWS[link], x, cut_points, ties, weight)
    codes = (np.repeat(np.arange(len(x)), levels), np.full(levels * len(x), len(x)))
    counts = np.tile(np.eye(levels, dtype=int), (len(x), 1))
    law = GradedVotes.dist(
        np.r_[x, 0.0], codes=codes, cut_points=cut_points, ties=ties, link=link, weight=weight
    )
    found = evaluated(pm.logp(law, counts)).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(np.exp(expected).sum(axis=1), 1, atol=1e-12)


def test_three_levels_of_thurstone_are_threshold_ties_and_of_logits_they_are_not_davidsons():
    quality, codes = np.array([1.0, 0.2, -1.2]), ([0, 1, 0], [1, 2, 2])
    counts = np.array([[3, 1, 2], [0, 1, 0], [4, 0, 0]])
    options = {"codes": codes, "total": counts.sum(axis=1), "left_bias": 0.3}

    def both(link, tie):
        ours = GradedVotes.dist(quality, 2.0, cut_points=[0.4], link=link, **options)
        theirs = PairedVotes.dist(quality, 2.0, tie=tie, link=link, **options)
        return evaluated(pm.logp(ours, counts)), evaluated(pm.logp(theirs, counts[:, [0, 2, 1]]))

    np.testing.assert_allclose(*both("thurstone", 0.4), rtol=1e-12, atol=1e-14)
    ours, theirs = both("bradley_terry", np.expm1(0.4))  # as many ties between equal items
    assert np.abs(ours - theirs).max() > 0.05


@pytest.mark.parametrize("link", LAWS)
def test_levels_add_up_to_the_law_of_who_won(link):
    """The sum of p over the strengths of a side is p of that side: forgetting strength is coarsening."""
    quality = np.array([1.4, 0.0])
    six = (np.zeros(6, int), np.ones(6, int))
    law = GradedVotes.dist(quality, codes=six, cut_points=[0.8, 2.0], ties=False, link=link)
    p = np.exp(evaluated(pm.logp(law, np.eye(6, dtype=int))))
    flat = PairedVotes.dist(quality, codes=([0], [1]), link=link)
    np.testing.assert_allclose(p[:3].sum(), np.exp(evaluated(pm.logp(flat, [[1, 0]])).item()), rtol=1e-12)


@pytest.mark.parametrize("link", LAWS)
def test_the_model_is_its_formula(link):
    simulated = graded(reliability_range=(0.5, 3.0))
    votes = simulated.data
    model = getattr(models, link)(votes, left_side="shared")
    wanted = ["quality", "reliability", "left_bias", "tie", "cut_point", "step", "strength_weight"]
    outputs = model.replace_rvs_by_values([model[name] for name in wanted])
    rng = np.random.default_rng(seed_of(link))
    point = model.initial_point(1)
    point = {name: value + 0.5 * rng.normal(size=np.shape(value)) for name, value in point.items()}
    log_p = model.logp(vars=model.observed_RVs, sum=False)[0]
    found, *values = model.compile_fn([log_p, *outputs], inputs=model.value_vars, **COMPILED)(point)
    quality, reliability, bias, tie, cut_point, step, weight = values
    assert 0 < weight < 1
    np.testing.assert_allclose(cut_point, tie + np.cumsum(step), rtol=1e-12)

    def total(strength):
        x = reliability[votes.annotation_rater] * (quality[votes.left] - quality[votes.right]) + bias
        levels = log_p_of_levels(LAWS[link], x, np.r_[tie, cut_point], weight=weight)
        place = np.choose(votes.outcome, [2 - strength, 4 + strength, 3])
        return (votes.count * levels[np.arange(len(x)), place]).sum()

    assert (votes.count == 1).all()
    np.testing.assert_allclose(found.sum(), total(votes.strength), rtol=1e-10)
    # strong votes taken as weak
    assert abs(found.sum() - total(np.minimum(votes.strength, 1))) > 1


def test_names_of_the_levels_and_of_the_sampler():
    model = models.bradley_terry(graded().data)
    names = ["left>>>right", "left>>right", "left>right", "tie", "right>left", "right>>left", "right>>>left"]
    assert list(model.coords["outcome"]) == names and list(model.coords["strength"]) == [1, 2]
    route = route_of(model)
    assert (route.name, route.method) == ("bradley_terry", "nuts") and "cut points" in route.reason
    none = models.thurstone(graded(tie=None).data, strength="cut_points")
    assert len(none.coords["outcome"]) == 6 and not {"tie", "strength_weight"} & {*none.named_vars}


@pytest.mark.parametrize("build", [models.bradley_terry, models.thurstone])
def test_without_strengths_the_law_is_the_one_there_was(build):
    votes = graded().data
    table = votes.to_table()
    table["winner"] = ["tie" if own == "tie" else own[: own.index(">")] for own in table["winner"].tolist()]
    plain = models.Comparisons.from_table(table, count="count", items=votes.items)
    own, flat = build(votes, strength="ignored"), build(plain)
    assert route_of(own).method == "hmc" and [*own.named_vars] == [*flat.named_vars]
    point = flat.initial_point(1)
    assert own.compile_logp(**COMPILED)(point) == flat.compile_logp(**COMPILED)(point)


def test_what_cannot_be(golden):
    votes = graded().data
    with golden.raises(ValueError):
        models.bradley_terry(votes, strength="graded")
    plain = models.simulators.comparisons(items=6, raters=4, degree=4, random_seed=1).data
    with golden.raises(ValueError):
        models.bradley_terry(plain, strength="cut_points")
    table = {name: cells.tolist() for name, cells in votes.to_table().items()}
    covariates = {name: table[name] for name in ("rater", "left", "right", "winner")} | {
        "length": [1.0] * len(votes)
    }
    with golden.raises(ValueError):
        models.bradley_terry(votes, vote_covariates=covariates)
    with golden.raises(ValueError):
        models.bradley_terry(votes, ties="none")


def test_votes_of_one_strength_alone_say_nothing_by_it(golden):
    table = {"left": [*"aab"], "right": [*"bcc"], "winner": ["A>>B", "B>>A", "A=B"]}
    levels = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
    votes = models.Comparisons.from_table(
        table | {"left": [*"xxy"], "right": [*"yzz"]}, rater=None, levels=levels
    )
    with golden.warns(models.DataWarning):
        model = models.bradley_terry(votes, reliability="shared")
    assert list(model.coords["outcome"]) == ["left", "right", "tie"]


@pytest.mark.parametrize("link", LAWS)
@pytest.mark.parametrize("mode", ["FAST_COMPILE", pytest.param(None, marks=pytest.mark.slow)])
def test_draws_of_a_weighted_law_have_its_probabilities(link, mode):
    """Of 20,000 votes on each of three pairs, by both generators of draws; the law of full weight is the wrong one."""
    x, cut_points, n = np.array([-2.0, 0.3, 1.2]), [0.3, 1.1], 20_000
    codes = (np.arange(3), np.full(3, 3))
    options = {"cut_points": cut_points, "link": link, "weight": 0.3, "total": np.full(3, n)}
    law = GradedVotes.dist(np.r_[x, 0.0], codes=codes, **options)
    drawn = pm.draw(law, random_seed=seed_of(link), **({"mode": mode} if mode else {})) / n

    def check(weight):
        p = np.exp(log_p_of_levels(LAWS[link], x, cut_points, weight=weight))
        assert (np.abs(drawn - p) < 5 * np.sqrt(p * (1 - p) / n)).all()

    check(0.3)
    assert_rejects_twin(check, 1.0)


def test_estimators_of_who_won_say_that_they_do_not_read_strength(golden):
    votes = graded(items=4, raters=3, degree=3, alpha=1.0, quality_range=(0, 0.3)).data
    with golden.warns(models.DataWarning):
        inference.quite(votes)
    with golden.warns(models.DataWarning):
        inference.bradley_terry_mle(votes)
    plain = replace(votes, strength=np.zeros_like(votes.strength), strengths=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", models.DataWarning)
        inference.bradley_terry_mle(plain)


def test_brick_refuses_what_has_no_cut_point():
    with pytest.raises(ValueError, match="cut_points"):
        GradedVotes.dist([0.0, 1.0], codes=([0], [1]), cut_points=[])
    law = GradedVotes.dist([0.0, 1.0], codes=([0], [1]), cut_points=[1.0, 0.5])
    with pytest.raises(pm.logprob.utils.ParameterValueError):
        pm.logp(law, [[1, 0, 0, 0, 0]]).eval()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_posterior_of_the_weight_is_that_of_quadrature():
    """Two items, their difference d ~ Normal(0, 2), log step ~ Normal(0, 1) and w ~ Beta(1/2, 1/2), each on a grid."""
    counts = np.array([9, 3, 1, 3])
    signs = np.repeat(["A>>B", "A>B", "B>A", "B>>A"], counts)
    table = {"left": ["x"] * len(signs), "right": ["y"] * len(signs), "winner": signs}
    votes = models.Comparisons.from_table(table, rater=None)
    model = models.bradley_terry(votes, reliability="shared", quality_scale=1.0)
    options = {"random_seed": 1, "progressbar": False, "cores": 1}
    tree = inference.sample(model, draws=1500, chains=2, **options)
    posterior = tree["posterior"].to_dataset()
    gap = posterior["quality"].isel(item=0) - posterior["quality"].isel(item=1)
    drawn = np.stack(
        [gap, gap**2, posterior["strength_weight"], np.log(posterior["cut_point"].isel(strength=0))]
    )
    d, z, w = (
        np.linspace(-7, 7, 71),
        np.linspace(-5, 4, 46),
        np.sin(np.pi / 2 * (np.arange(20) + 0.5) / 20) ** 2,
    )

    def means(w):
        log_p = np.empty((len(d), len(z), len(w)))
        for (k, step), (m, own) in product(enumerate(np.exp(z)), enumerate(w)):
            levels = log_p_of_levels(logistic, d, [step], ties=False, weight=own)
            log_p[:, k, m] = levels @ counts - d**2 / 4 - z[k] ** 2 / 2
        p = np.exp(log_p - log_p.max())
        of = np.broadcast_arrays(d[:, None, None], d[:, None, None] ** 2, w, z[:, None])
        return np.array([(p * values).sum() / p.sum() for values in of])

    error = np.array([own.std() / np.sqrt(az.ess(own)) for own in drawn])

    def check(expected):
        assert (np.abs(drawn.mean(axis=(1, 2)) - expected) < 4 * error).all()

    check(means(w))
    assert_rejects_twin(check, means(w[-10:]))  # a weight of a half or more


@pytest.fixture(scope="module")
def learnt():
    simulated = graded(
        items=8, raters=8, degree=6, alpha=0.6, quality_range=(0, 2), reliability_range=(1, 1.01), seed=3
    )
    model = models.bradley_terry(simulated.data, reliability="shared", strength="cut_points")
    options = {"random_seed": 1, "progressbar": False, "cores": 1, "predictive": True}
    return simulated, inference.sample(model, draws=500, chains=2, **options)


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_cut_points_are_learnt(learnt):
    _, tree = learnt
    drawn = tree["posterior"].to_dataset()[["tie", "cut_point"]].stack(sample=("chain", "draw"))
    found = np.vstack([drawn["tie"].to_numpy(), drawn["cut_point"].transpose("strength", "sample")])
    truth = np.r_[0.4, 1.0, 2.5]
    z = (found.mean(axis=1) - truth) / found.std(axis=1)

    def check(z):
        assert (np.abs(z) < 4).all()

    check(z)
    # the strongest taken for the next weaker: the cut point between them is lost
    assert_rejects_twin(check, (found.mean(axis=1)[[0, 2, 2]] - truth) / found.std(axis=1))


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_what_is_said_of_a_posterior_with_cut_points(learnt):
    simulated, tree = learnt
    posterior = tree["posterior"].to_dataset()
    expected = evaluation.win_probability(tree)
    gap = (posterior["quality"].isel(item=0) - posterior["quality"].isel(item=1)).to_numpy()
    tie = posterior["tie"].to_numpy()
    np.testing.assert_allclose(expected["win"][0, 1], logistic.cdf(gap - tie).mean(), rtol=1e-12)
    np.testing.assert_allclose(
        expected["win"] + expected["win"].T.to_numpy() + expected["tie"], 1, atol=1e-12
    )
    checks = evaluation.model_checks(tree)
    votes = simulated.data
    won = np.bincount(votes.outcome, votes.count)
    np.testing.assert_allclose(checks["observed"][:2], [won[0] / won[:2].sum(), won[2] / won.sum()])
    assert (checks["lower"][:2] < checks["upper"][:2]).all()
    best = inference.design.next_to_ask(tree)
    assert np.isfinite(best["gain"]).all() and (best["gain"] > 0).all()
