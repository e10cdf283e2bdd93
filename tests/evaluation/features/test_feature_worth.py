"""Worth and effects of features: known worths, leave-one-out against the prior reweighted, wrong twins, refusals."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError
from scipy.special import log_softmax, softmax

PREVALENCE = np.array([0.5, 0.3, 0.2])
CONFUSION = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])
DIMS = {
    "prevalence": ("category",),
    "feature_effect": ("feature", "category"),
    "confusion": ("rater", "category", "answer"),
    "plausibility": ("item", "category"),
    "observed_label": ("item",),
}


def tree_of(draws, features, group="posterior"):
    """Return a tree of one chain from arrays (draw, ...)."""
    n, d = features.shape
    names = {
        "item": np.arange(n),
        "feature": [f"x{k}" for k in range(d)],
        "category": [*"abc"],
        "answer": [*"abc"],
        "rater": ["r"],
    }
    coords = {k: v for k, v in names.items() if k != "category" or draws["prevalence"].shape[1] == 3}
    arrays = {k: (("chain", "draw", *DIMS[k]), v[None]) for k, v in draws.items()}
    likelihood = {"observed_label": arrays.pop("observed_label")}
    groups = {
        "posterior": xr.Dataset(arrays, coords),
        "log_likelihood": xr.Dataset(likelihood, {"item": names["item"]}),
        "constant_data": xr.Dataset({"features": (("item", "feature"), features)}, {"item": names["item"]}),
    }
    return xr.DataTree.from_dict(groups)


def answers_as_features(answers, n, seed):
    """Return a posterior of known parameters whose features are the numbers of each answer of so many typical raters."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n, p=PREVALENCE)
    counts = np.array([rng.multinomial(answers, CONFUSION[t]) for t in truth])
    mean, sd = counts.mean(axis=0), counts.std(axis=0)
    effect = np.log(CONFUSION).T * sd[:, None]
    intercept = np.log(PREVALENCE) + mean @ np.log(CONFUSION).T
    further = np.array([rng.choice(3, p=CONFUSION[t]) for t in truth])
    joint = softmax(intercept + (counts - mean) / sd @ effect, axis=1) * CONFUSION[:, further].T
    draws = {
        "prevalence": softmax(intercept),
        "feature_effect": effect,
        "confusion": CONFUSION[None],
        "plausibility": joint / joint.sum(axis=1, keepdims=True),
        "observed_label": np.log(joint.sum(axis=1)),
    }
    return tree_of({k: np.repeat(v[None], 60, axis=0) for k, v in draws.items()}, (counts - mean) / sd)


@pytest.mark.parametrize("answers", [1, 3])
def test_features_that_are_answers_are_worth_as_many(answers):
    found = evaluation.feature_worth(answers_as_features(answers, 1_500, 11 + answers), random_seed=1)
    worth, error = float(found["worth"].mean()), float(found["worth"].std())
    assert error < 0.25
    assert abs(worth - answers) < 4 * error
    nats = float(found["gain"].mean()) * np.log(2)  # the twin that forgets the base of the logarithm
    twin = np.interp(nats, *_curve())
    assert abs(twin - answers) > 4 * error


def with_gold(tree, known, turned=0):
    """Return the tree with gold labels of the first items; their plausibilities are turned by so many items."""
    gold = np.full(tree["posterior"].sizes["item"], -1)
    plausibility = tree["posterior"]["plausibility"].to_numpy()[0, 0]
    rng = np.random.default_rng(3)
    gold[:known] = [rng.choice(3, p=own) for own in np.roll(plausibility, turned, axis=0)[:known]]
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    groups["constant_data"] = groups["constant_data"].assign(gold=("item", gold))
    return xr.DataTree.from_dict(groups), gold


def test_gain_of_known_truth_is_compared_with_the_claim():
    tree, gold = with_gold(answers_as_features(3, 1_500, 14), 300)
    found = evaluation.feature_worth(tree, random_seed=1)
    draws, known = tree["posterior"].isel(chain=0, draw=0), gold >= 0
    x = tree["constant_data"]["features"].to_numpy()
    log_odds = np.log(draws["prevalence"].to_numpy()) + x @ draws["feature_effect"].to_numpy()
    p = softmax(log_odds, axis=1)
    bits = np.log2(p / p.mean(axis=0))[:300]  # all draws are the same, so that nothing is reweighted
    assert found["gold_items"] == 300 and known.sum() == 300
    np.testing.assert_allclose(found["gold_gain"], bits[np.arange(300), gold[:300]].mean())
    np.testing.assert_allclose(found["gold_claimed"], (p[:300] * bits).sum(axis=1).mean())
    far = float((found["gold_gain"] - found["gold_claimed"]) / found["gold_error"])
    assert abs(far) < 3
    twin = evaluation.feature_worth(with_gold(answers_as_features(3, 1_500, 14), 300, turned=1)[0])
    assert (twin["gold_gain"] - twin["gold_claimed"]) / twin["gold_error"] < -5


def test_gold_is_found_among_many_items(monkeypatch):
    monkeypatch.setattr("raterzoo.evaluation.features.worth.MOST_ITEMS", 40)
    found = evaluation.feature_worth(with_gold(answers_as_features(3, 500, 5), 30)[0])
    assert found["gold_items"] == 30 and found.sizes["item"] == 40
    assert "gold_gain" not in evaluation.feature_worth(answers_as_features(3, 500, 5))


def _curve():
    """Information in bits of 0, 1, ... answers of typical raters, by enumeration of ordered answers."""
    joint, found = PREVALENCE[:, None], [0.0]
    for _ in range(6):
        joint = (joint[:, :, None] * CONFUSION[:, None]).reshape(3, -1)
        seen = joint.sum(axis=0)
        found.append(float((joint * np.log2(joint / (PREVALENCE[:, None] * seen))).sum()))
    return found, range(7)


def two_categories(seed, items, features, draws, informative):
    """Return prior draws, their log likelihoods (draw, item), and features, of items with one confident answer."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(items, features))
    truth = (x[:, 0] > 0 if informative else rng.random(items) < 0.5).astype(int)
    effect = rng.normal(size=(draws, features, 1)) * [-1.0, 1.0]
    log_p = log_softmax(x @ effect, axis=-1)
    likelihood = np.log(np.where(np.arange(2) == truth[:, None], 0.95, 0.05))
    return effect, log_p, likelihood, x


def resampled(effect, log_p, likelihood, x, draws, seed):
    """Return a tree of draws from the posterior, resampled from prior draws by their likelihood."""
    joint = log_p + likelihood
    total = np.logaddexp.reduce(joint, axis=-1)
    own = np.random.default_rng(seed).choice(len(effect), draws, p=softmax(total.sum(axis=1)))
    confusion = np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (draws, 1, 2, 2))
    arrays = {
        "prevalence": np.full((draws, 2), 0.5),
        "feature_effect": effect[own],
        "confusion": confusion,
        "plausibility": np.exp(joint - total[..., None])[own],
        "observed_label": total[own],
    }
    variables = {k: v for k, v in arrays.items() if k != "confusion"}
    tree = tree_of(variables, x)
    posterior = tree["posterior"].to_dataset().drop_vars(["answer", "rater"], errors="ignore")
    tree["posterior"] = posterior.assign(confusion=(("chain", "draw", *DIMS["confusion"]), confusion[None]))
    return tree


def test_gain_leaves_the_answers_to_the_item_out():
    effect, log_p, likelihood, x = two_categories(3, 6, 3, 20_000, informative=False)
    tree = resampled(effect, log_p, likelihood, x, 4_000, 1)
    found = evaluation.feature_worth(tree)
    total = np.logaddexp.reduce(log_p + likelihood, axis=-1)
    q = tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
    p, exact, within = np.exp(log_p), [], []
    whole = softmax(total.sum(axis=1))
    for i in range(6):
        without = softmax(np.delete(total, i, axis=1).sum(axis=1))
        share = (p.mean(axis=1) * without[:, None]).sum(axis=0)
        exact.append((q[i] * np.log2((without @ p[:, i]) / share)).sum())
        within.append((q[i] * np.log2((whole @ p[:, i]) / (whole @ p.mean(axis=1)))).sum())
    np.testing.assert_allclose(found["gain_of_item"], exact, atol=0.08)  # of 1,000 draws
    assert np.abs(np.subtract(within, exact)).max() > 0.15  # the twin that has seen the answers


def test_useless_features_are_worth_nothing_although_they_are_learnt_by_heart():
    gains, twins = [], []
    for seed in range(12):
        effect, log_p, likelihood, x = two_categories(seed, 6, 4, 20_000, informative=False)
        tree = resampled(effect, log_p, likelihood, x, 1_000, seed)
        gains.append(float(evaluation.feature_worth(tree)["gain"].mean()))
        q = tree["posterior"]["plausibility"].mean(("chain", "draw"))
        p = softmax(x @ tree["posterior"]["feature_effect"].to_numpy()[0], axis=-1)
        twins.append(float((q * np.log2(p.mean(0) / p.mean((0, 1)))).sum("category").mean()))
    assert np.mean(gains) < 4 * np.std(gains) / np.sqrt(12)
    assert np.mean(twins) > 4 * np.std(twins) / np.sqrt(12) and np.mean(twins) > 0.1


def test_worth_of_features_of_scores_by_hand():
    sample = ("chain", "draw")
    x = np.array([[-1.0, 0.5], [1.0, -0.5], [0.0, 0.0]])
    posterior = xr.Dataset(
        {
            "location_spread": (sample, [[0.5, 1.0]]),
            "bias_spread": (sample, [[0.1, 0.2]]),
            "rater_variance": ((*sample, "rater"), [[[1.0, 3.0], [2.0, 2.0]]]),
            "feature_effect": ((*sample, "feature"), [[[1.0, 2.0], [3.0, 0.0]]]),
        }
    )
    tree = xr.DataTree.from_dict(
        {"posterior": posterior, "constant_data": xr.Dataset({"features": (("item", "feature"), x)})}
    )
    found = evaluation.feature_worth(tree)
    s = np.array([np.var(x @ [1, 2]), np.var(x @ [3, 0])])
    tau, v = np.array([0.25, 1.0]), np.array([2.01, 2.04])
    np.testing.assert_allclose(found["explained"][0], s / (s + tau), rtol=1e-13)
    np.testing.assert_allclose(found["worth"][0], v * (1 / tau - 1 / (tau + s)), rtol=1e-13)
    # so many answers leave as much variance as the features do
    np.testing.assert_allclose(1 / (1 / (s + tau) + found["worth"][0] / v), tau, rtol=1e-13)


def test_effects_are_log_odds_against_the_other_categories():
    rng = np.random.default_rng(1)
    w = rng.normal(size=(400, 2, 3))
    w -= w.mean(axis=-1, keepdims=True)
    tree = tree_of(
        {"prevalence": np.full((400, 3), 1 / 3), "feature_effect": w, "observed_label": np.zeros((400, 4))},
        rng.normal(size=(4, 2)),
    )
    found = evaluation.feature_effects(tree, 0.8)
    log_odds = w[..., 0] - (w[..., 1] + w[..., 2]) / 2
    np.testing.assert_allclose(found["mean"].sel(category="a"), log_odds.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        found["lower"].sel(category="a"), np.quantile(log_odds, 0.1, axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(found["positive"].sel(category="a"), (log_odds > 0).mean(axis=0), rtol=1e-12)


def test_trees_that_lack_something_are_refused(golden):
    tree = answers_as_features(1, 30, 2)
    for group, name in [
        ("posterior", "feature_effect"),
        ("posterior", "confusion"),
        ("log_likelihood", "observed_label"),
        ("constant_data", "features"),
    ]:
        other = tree.copy()
        other[group] = tree[group].to_dataset().drop_vars(name)
        with golden.raises(EvaluationError):
            evaluation.feature_worth(other)
    with pytest.raises(EvaluationError, match="probability=2"):
        evaluation.feature_effects(tree, 2)
