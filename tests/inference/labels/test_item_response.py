"""Item responses drawn by Gibbs and NUTS against a grid, with wrong twins; wrong keys, recognition, extreme data."""

import warnings
from itertools import product

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models
from raterzoo.inference.labels.item_response import read_responses_of_models
from raterzoo.inference.labels.kernels import item_response as kernel
from scipy.special import betaln, log_expit, logsumexp

from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of
from tests.support.runs import route_of

TABLE = {
    "item": [1, 1, 2, 2, 3, 3, 4],
    "rater": list("abababa"),
    "label": list("xxxyzxy"),
    "gold": [""] * 6 + ["y"],
}
LABELS = models.Labels.from_table(TABLE, gold="gold")
KEY = {1: "x", 2: "y", 3: "z"}
PRIOR = {"ability": (0.5, 1.0), "difficulty_scale": 1.0, "key_reliability": (4.0, 1.0)}


def exact_means(model, ability=(0.5, 1.0), difficulty_scale=1.0, key_reliability=(4.0, 1.0)):
    """Posterior means by sums over two abilities, the spread and all truths; key-makers are conjugate given the truths."""
    difficulty, sharp, log_weight = (
        model[f"node_{name}"].get_value() for name in ("difficulty", "discrimination", "log_weight")
    )
    theta = np.linspace(-4.5, 5.5, 51)
    spread = 0.08 * (np.arange(60) + 0.5)  # the density is largest at zero
    weight = log_weight - 0.5 * (difficulty / spread[:, None]) ** 2
    weight = np.exp(weight - logsumexp(weight, axis=1, keepdims=True))
    odds = sharp * (theta[:, None] - difficulty)
    right, wrong = np.exp(log_expit(odds)), np.exp(log_expit(-odds)) / 2
    law = np.zeros((4, 3, len(theta), len(theta), len(spread)))
    for i, j in product(range(4), range(3)):
        own = [np.ones_like(right), np.ones_like(right)]
        for a in np.flatnonzero(LABELS.annotation_item == i):
            own[LABELS.annotation_rater[a]] *= right if LABELS.label_code[a] == j else wrong
        law[i, j] = np.einsum("xq,yq,sq->xys", own[0], own[1], weight, optimize=True)
    prior = np.exp(-0.5 * ((theta - ability[0]) / ability[1]) ** 2)
    prior = prior[:, None, None] * prior[:, None] * np.exp(-0.5 * (spread / difficulty_scale) ** 2)
    keys, (a, b) = ["xyz".index(KEY[item]) for item in (1, 2, 3)], key_reliability
    total, sums = 0.0, dict.fromkeys(("ability", "square", "spread", "reliability", "plausibility"), 0.0)
    for truth in product(range(3), repeat=3):
        same = sum(t == k for t, k in zip(truth, keys, strict=True))
        of_key = np.exp(betaln(a + same, b + 3 - same) - betaln(a, b)) / 2 ** (3 - same)
        p = prior * of_key * law[3, 1] * law[0, truth[0]] * law[1, truth[1]] * law[2, truth[2]]
        of_theta = np.stack([p.sum(axis=(1, 2)), p.sum(axis=(0, 2))])
        values = {
            "ability": of_theta @ theta,
            "square": of_theta @ theta**2,
            "spread": p.sum(axis=(0, 1)) @ spread,
            "reliability": p.sum() * (a + same) / (a + b + 3),
            "plausibility": p.sum() * np.eye(3)[list(truth)],
        }
        total += p.sum()
        sums = {name: sums[name] + value for name, value in values.items()}
    return {name: value / total for name, value in sums.items()}


def drawn(model, seed, **options):
    with warnings.catch_warnings(action="ignore"):
        tree = inference.sample(model, random_seed=seed, dtype="float64", progressbar=False, **options)
    posterior = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    return {
        "ability": posterior["ability"].to_numpy(),
        "square": posterior["ability"].to_numpy() ** 2,
        "spread": posterior["difficulty_spread"].to_numpy(),
        "reliability": posterior["key_reliability"].to_numpy()[..., 0],
        "plausibility": posterior["plausibility"].to_numpy()[:, :, :3],
    }


@pytest.mark.slow
@pytest.mark.parametrize("discrimination", [False, True])
def test_gibbs_draws_the_exact_posterior(discrimination):
    model = models.item_response(LABELS, key=KEY, discrimination=discrimination, **PRIOR)
    assert route_of(model).method == "gibbs"
    draws = drawn(model, seed_of("item response"), draws=1500 if discrimination else 5000, thin=3)
    check_means(draws, exact_means(model, **PRIOR))
    for change in ({"ability": (0.5, 1.3)}, {"difficulty_scale": 1.4}, {"key_reliability": (3.0, 1.0)}):
        assert_rejects_twin(check_means, draws, exact_means(model, **PRIOR | change))


@pytest.mark.long
def test_nuts_draws_the_exact_posterior():
    model = models.item_response(LABELS, key=KEY, **PRIOR)
    options = {"method": "nuts", "nuts_sampler": "pymc", "cores": 1, "draws": 2000}
    draws = drawn(model, seed_of("item response by NUTS"), **options)
    check_means(draws, exact_means(model, **PRIOR))
    assert_rejects_twin(check_means, draws, exact_means(model, **PRIOR | {"ability": (0.5, 1.4)}))


@pytest.mark.slow
def test_tree_has_the_densities_of_the_model():
    simulated = models.simulators.labels(
        model="item_response", items=60, raters=6, answers=5, gold=0.1, random_seed=3
    )
    key = dict(enumerate(simulated.truth["key"].tolist()))
    model = models.item_response(simulated.data, key=key, prevalence_concentration=2.0)
    with warnings.catch_warnings(action="ignore"):
        tree = inference.sample(model, draws=50, chains=2, random_seed=1, progressbar=False, dtype="float64")
    assert (tree.attrs["model"], tree.attrs["method"]) == ("item_response", "gibbs")
    assert tree["posterior"]["ability"].dims == ("chain", "draw", "model")
    assert tree["posterior"]["expected_difficulty"].dims == ("chain", "draw", "item")
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


@pytest.mark.slow
def test_wrong_keys_are_doubtful_and_extreme_models_and_items_finite():
    """Ten models of items that are easy to all, one item that nobody, and one model that never is right."""
    rng = np.random.default_rng(seed_of("wrong keys"))
    truth = rng.integers(0, 4, 60)
    answer = np.where(
        rng.random((60, 10)) < 0.8, truth[:, None], (truth[:, None] + rng.integers(1, 4, (60, 10))) % 4
    )
    answer[0] = (truth[0] + 1 + np.arange(10) % 3) % 4
    answer[:, 8], answer[:, 9] = truth, (truth + 1 + np.arange(60) % 3) % 4
    key = truth.copy()
    key[1:4] = (key[1:4] + 1) % 4
    table = {
        "item": np.repeat(np.arange(60), 10),
        "rater": np.tile(np.arange(10), 60),
        "label": answer.ravel(),
    }
    model = models.item_response(models.Labels.from_table(table), key=dict(enumerate(key.tolist())))
    with warnings.catch_warnings(action="ignore"):
        tree = inference.sample(model, draws=300, random_seed=1, progressbar=False)
    posterior = tree["posterior"].to_dataset().mean(("chain", "draw"))
    wrong = 1 - posterior["plausibility"].to_numpy()[np.arange(60), key]
    assert (wrong[1:4] > 0.9).all()
    assert (np.delete(wrong, [1, 2, 3]) < 0.5).all()
    order = posterior["ability"].to_series()
    assert (order.idxmax(), order.idxmin()) == (8, 9)
    assert all(np.isfinite(values).all() for values in posterior.data_vars.values())


def test_counts_by_set_are_those_of_single_answers():
    rng = np.random.default_rng(1)
    asked = np.where(np.arange(50)[:, None] % 3 == 0, [1, 1, 0, 1], 1).astype(bool)
    item, rater = np.nonzero(asked)
    table = {"item": item, "rater": rater, "label": rng.integers(0, 3, len(item))}
    law = read_responses_of_models(models.item_response(models.Labels.from_table(table), discrimination=True))
    assert len(law.data.first) == 3
    shape = (4, len(law.prior.difficulty), len(law.prior.sharpness))
    node = np.stack([rng.integers(0, n, 50) for n in shape[1:]], axis=1)
    single, by_set = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    kernel._count_nodes(law.data, node, single)
    kernel._count_by_set(law.data, node, by_set)
    np.testing.assert_array_equal(single, by_set)
    assert single.sum() == len(item)


def test_another_law_goes_to_nuts(golden):
    with pm.Model() as outer:
        models.item_response(LABELS, key=KEY, ability=(pm.Normal("level"), 1.0))
    route = route_of(outer)
    assert (route.name, route.method) == ("item_response", "nuts")
    golden.says(route.reason, "random variable")
    fixed = pm.do(models.item_response(LABELS, key=KEY), {"difficulty_spread": np.array(1.0)})
    assert route_of(fixed).method == "nuts"
    golden.says(route_of(fixed).reason, "not both free")
