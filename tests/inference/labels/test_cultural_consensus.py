"""Populations of raters drawn by Gibbs against enumeration, with wrong twins; order of the populations, recognition."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
from raterzoo import evaluation, inference, models
from scipy.special import betaln, gammaln

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, mc_z, seed_of
from tests.support.runs import route_of

pytestmark = pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
TABLE = {
    "item": [1, 1, 1, 2, 2, 2, 3, 3],
    "rater": list("abcabcab"),
    "label": list("xyxxyyyy"),
    "gold": ["x"] * 3 + [""] * 5,
}
LABELS = models.Labels.from_table(TABLE)
WITH_GOLD = models.Labels.from_table(TABLE, gold="gold")
PRIOR = {"ability_concentration": (3.0, 1.0), "overlap_concentration": (2.0, 1.5), "share_concentration": 1.5}


def by_enumeration(labels, ability_concentration, overlap_concentration, share_concentration):
    """Posterior means of quantities that do not depend on the numbers of the populations, but by gold those of the first."""
    (a, b), (same, other) = ability_concentration, overlap_concentration
    alpha = np.array([same, other, other, same]) / 2
    raters, items = len(labels.raters), len(labels.items)
    truth, answered = np.array([*product(range(2), repeat=2)]), np.bincount(labels.annotation_rater)
    total, sums = 0.0, 0.0
    for membership in product(range(2), repeat=raters):
        of_rater = np.array(membership)
        shares = share_concentration + np.bincount(of_rater, minlength=2)
        for cells in product(range(4), repeat=items):
            drawn = truth[list(cells)]
            if ((labels.gold >= 0) & (drawn[:, 0] != labels.gold)).any():
                continue
            own = drawn[labels.annotation_item, of_rater[labels.annotation_rater]]
            right = np.bincount(labels.annotation_rater, own == labels.label_code, raters)
            log_p = gammaln(shares).sum() + gammaln(alpha + np.bincount(cells, minlength=4)).sum()
            log_p += betaln(a + right, b + answered - right).sum()
            pairs = [of_rater[k] == of_rater[j] for k, j in ((0, 1), (0, 2), (1, 2))]
            found = [*pairs, *(drawn[:, 0] != drawn[:, 1]), *((a + right) / (a + b + answered))]
            if (labels.gold >= 0).any():
                found += [*(drawn[:, 0] == 0), *(drawn[:, 1] == 0), *(of_rater == 0)]
            total, sums = total + np.exp(log_p), sums + np.exp(log_p) * np.array(found, float)
    return sums / total


def drawn(labels, seed, **options):
    tree = inference.sample(
        models.cultural_consensus(labels, **PRIOR),
        random_seed=seed,
        dtype="float64",
        progressbar=False,
        **options,
    )
    posterior = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    m = posterior["membership"].to_numpy()
    parts = [np.stack([m[..., k] == m[..., j] for k, j in ((0, 1), (0, 2), (1, 2))], axis=-1).astype(float)]
    parts += [posterior["contested"].to_numpy(), posterior["ability"].to_numpy()]
    if (labels.gold >= 0).any():
        truths = posterior["population_plausibility"].to_numpy()
        np.testing.assert_array_equal(truths[..., 0, :], posterior["plausibility"])
        parts += [truths[..., 0, 0], truths[..., 1, 0], m == 0]
    return np.concatenate(parts, axis=-1).astype(float)


def check(draws, exact):
    moves = np.ptp(draws, axis=(0, 1)) > 0
    np.testing.assert_allclose(draws[0, 0, ~moves], exact[~moves], rtol=1e-12)
    z = mc_z(draws[..., moves], exact[moves])
    assert np.abs(z).max() < bonferroni_threshold(z.size)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [LABELS, WITH_GOLD], ids=["no gold", "gold"])
def test_gibbs_draws_the_exact_posterior(labels):
    draws = drawn(labels, seed_of("consensus"), draws=20_000, thin=2)
    check(draws, by_enumeration(labels, **PRIOR))
    twins = {
        "ability_concentration": (2.5, 1.0),
        "overlap_concentration": (2.0, 2.0),
        "share_concentration": 2.5,
    }
    for name, value in twins.items():
        assert_rejects_twin(check, draws, by_enumeration(labels, **PRIOR | {name: value}))


@pytest.mark.slow
@pytest.mark.parametrize("gold", [pytest.param(0.0, marks=pytest.mark.long), 0.3])
def test_tree_has_the_densities_and_deterministics_of_the_model(gold):
    """Also of three populations, numbered anew in each draw."""
    data = models.simulators.labels(
        items=30, raters=6, answers=4, categories=2, gold=gold, random_seed=3
    ).data
    model = models.cultural_consensus(data, populations=3)
    tree = inference.sample(
        model, draws=40, chains=2, thin=1, random_seed=1, progressbar=False, dtype="float64"
    )
    assert (tree.attrs["model"], tree.attrs["method"]) == ("cultural_consensus", "gibbs")
    assert tree["posterior"]["population_plausibility"].dims == (
        "chain",
        "draw",
        "item",
        "population",
        "category",
    )
    assert tree["posterior"]["membership"].dtype.kind == "i"
    for group, compute in (
        ("log_prior", pm.stats.compute_log_prior),
        ("log_likelihood", pm.compute_log_likelihood),
    ):
        own = tree.copy()
        del own[group]
        with model:
            expected = compute(own, progressbar=False)[group]
        for name, found in tree[group].data_vars.items():
            np.testing.assert_allclose(found, expected[name], rtol=1e-9, atol=1e-9)
    posterior = tree["posterior"].to_dataset()
    with model:
        names = [rv.name for rv in model.deterministics]
        again = pm.compute_deterministics(
            posterior[[rv.name for rv in model.free_RVs]], var_names=names, progressbar=False
        )
    for name in names:
        np.testing.assert_allclose(posterior[name], again[name], rtol=1e-9, atol=1e-12)


def two_schools(seed, sizes=(12, 8), contested=0.3, items=300):
    """Answers of raters of two populations, right in nine of ten answers by the truth of their own."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, items)
    truth = np.stack([first, np.where(rng.random(items) < contested, 1 - first, first)], axis=1)
    rater = np.stack([rng.choice(sum(sizes), 8, replace=False) for _ in range(items)])
    school = (rng.permutation(sum(sizes)) >= sizes[0]).astype(int)
    own = truth[np.arange(items)[:, None], school[rater]]
    label = np.where(rng.random(own.shape) < 0.9, own, 1 - own)
    table = {"item": np.repeat(np.arange(items), 8), "rater": rater.ravel(), "label": label.ravel()}
    return models.Labels.from_table(table), truth, school


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(12, 8), (10, 10)])
def test_chains_find_the_same_populations(sizes):
    """Equal ones too: the first is then that of the rater who comes first."""
    labels, truth, school = two_schools(seed_of("two schools"), sizes)
    school = school[labels.raters]
    if sizes[0] == sizes[1] and school[0] == 1:
        school, truth = 1 - school, truth[:, ::-1]
    tree = inference.sample(
        models.cultural_consensus(labels), draws=200, thin=1, random_seed=1, progressbar=False
    )
    posterior = tree["posterior"].to_dataset()
    by_chain = posterior["membership"].mean("draw").to_numpy()
    assert np.abs(by_chain - school).max() < 0.2
    mean = posterior.mean(("chain", "draw"))
    best = mean["population_plausibility"].to_numpy().argmax(axis=2)
    assert ((best == truth).mean(axis=0) > 0.93).all()
    contested = mean["contested"].to_numpy()
    differ = truth[:, 0] != truth[:, 1]
    assert (contested[differ][:, None] > contested[~differ]).mean() > 0.97
    assert abs(float(mean["ability"].mean()) - 0.9) < 0.03
    found = evaluation.contested_items(tree)
    assert (np.diff(found["contested"]) <= 0).all()
    order = found["item"].to_numpy()
    np.testing.assert_array_equal(found["label"], best[order])
    np.testing.assert_array_equal(found["label"][:, 0], evaluation.truth_certainty(tree)["label"][order])


def test_priors_that_are_no_numbers_are_not_drawn_by_gibbs():
    with pm.Model() as outer:
        a = pm.Gamma("a", 2, 1)
        models.cultural_consensus(LABELS, ability_concentration=(a, 1.0))
    assert route_of(outer).method == "nuts"
    assert route_of(models.cultural_consensus(LABELS)).method == "gibbs"


def test_contested_items_needs_populations(golden):
    tree = inference.sample(models.one_coin(LABELS), draws=20, thin=1, random_seed=1, progressbar=False)
    with golden.raises(evaluation.EvaluationError):
        evaluation.contested_items(tree)
