"""Raters who saw a classifier: `shared_guess(..., assisted_by=)` against enumeration, in a simulated study, and its errors."""

import warnings
from itertools import product

import numpy as np
import pymc as pm
import pytest
from raterzoo import evaluation, inference, models
from scipy.special import betaln

from tests.inference.labels.test_shared_guess import log_dirichlet
from tests.support.monte_carlo import bonferroni_threshold, mc_z, rejects

TABLE = {
    "item": [*"aaaabbbbcccc"],
    "rater": ["Ann", "Bob", "net", "old"] * 3,
    "label": [*"yyyxxyyxxxxx"],
    "kind": ["person", "person", "classifier", "classifier"] * 3,
    "truth": [""] * 8 + ["x"] * 4,
}
TINY = models.Labels.from_table(TABLE, gold="truth", rater_attributes=["kind"], categories=["x", "y"])
SAID = np.array([[1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])  # (item, rater)
PEOPLE, NET, OLD = [0, 1], 2, 3
BETA, SHARED = np.array([[2.0, 1.0], [0.8, 1.5]]), (1.5, 0.7)
PRIOR = {"confusion_concentration": BETA, "guess_concentration": BETA, "shared_concentration": SHARED}
QUIET = {"random_seed": 1, "progressbar": False}


def exact_means(copying):
    """Posterior means by enumeration of truth and copies; without copying, all answers are the raters' own."""
    logs, means = [], []
    for truth in product([0, 1], [0, 1], [0]):
        for flags in product([0, 1] if copying else [0], repeat=6):
            copied = np.reshape(flags, (3, 2)).astype(bool)
            if (copied & (SAID[:, PEOPLE] != SAID[:, [NET]])).any():
                continue
            p, own, guess = np.bincount(truth, minlength=2), np.zeros((4, 2, 2)), np.zeros((2, 2))
            for i, j in enumerate(truth):
                guess[j, SAID[i, NET]] += 1
                own[OLD, j, SAID[i, OLD]] += 1
                for k in PEOPLE:
                    own[k, j, SAID[i, k]] += not copied[i, k]
            kept = copied.sum(axis=0)
            a, b = SHARED[0] + kept, SHARED[1] + 3 - kept
            log_p = log_dirichlet(np.ones(2), p) + log_dirichlet(BETA, own) + log_dirichlet(BETA, guess)
            logs.append(log_p + (betaln(a, b) - betaln(*SHARED)).sum())
            rows = [(BETA + x) / (BETA + x).sum(-1, keepdims=True) for x in (own, guess)]
            mean = [(1 + p) / 5, *rows, a / (a + b), np.eye(2)[list(truth)]]
            means.append(np.concatenate([np.ravel(x) for x in mean]))
    weight = np.exp(logs - np.max(logs))
    return weight @ np.array(means) / weight.sum()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_draws_have_the_exact_posterior_means():
    model = models.shared_guess(TINY, assisted_by="net", **PRIOR)
    tree = inference.sample(model, draws=20_000, thin=4, dtype="float64", log_likelihood=False, **QUIET)
    drawn = tree["posterior"]
    assert tree.attrs["method"] == "gibbs" and drawn["copier"].values.tolist() == ["Ann", "Bob", "net"]
    assert float(drawn["shared"].sel(copier="net").min()) > 1 - 1e-4
    order = ["prevalence", "own_confusion", "guess", "shared", "plausibility"]
    parts = [drawn[name].isel(copier=PEOPLE) if name == "shared" else drawn[name] for name in order]
    found = np.concatenate([x.to_numpy().reshape(*x.shape[:2], -1) for x in parts], axis=2)
    moving = found.std(axis=(0, 1)) > 1e-12  # not those of the gold item

    def check(copying):
        z = mc_z(found[..., moving], exact_means(copying)[moving])
        assert np.abs(z).max() < bonferroni_threshold(int(moving.sum()))

    check(copying=True)
    assert rejects(check, False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_log_likelihood_is_that_of_the_docstring_and_of_the_graph():
    model = models.shared_guess(TINY, assisted_by="net", **PRIOR)
    tree = inference.sample(model, draws=20, chains=2, dtype="float64", **QUIET)
    again = tree.copy()
    del again["log_likelihood"]
    with model:
        pm.compute_log_likelihood(again, progressbar=False)
    found = tree["log_likelihood"]["observed_label"].to_numpy()
    np.testing.assert_allclose(found, again["log_likelihood"]["observed_label"], rtol=1e-9)
    p, own, guess, shared = (
        tree["posterior"][name].to_numpy() for name in ("prevalence", "own_confusion", "guess", "shared")
    )

    def check(kept):
        for i, said in enumerate(SAID):
            joint = p * guess[..., 0, :, said[NET]] * own[..., OLD, :, said[OLD]]
            for k in PEOPLE:
                s = kept * shared[..., k, None]
                joint = joint * (s * (said[k] == said[NET]) + (1 - s) * own[..., k, :, said[k]])
            expected = np.log(joint[..., 0] if i == 2 else joint.sum(axis=-1))
            np.testing.assert_allclose(found[..., i], expected, atol=1e-4)  # net's own answers: 1e-6

    check(1.0)
    assert rejects(check, 0.0)


def test_shares_and_accuracy_of_a_simulated_study_are_recovered():
    """Eight people keep .2 to .7 of the predictions of A, right in .7; B is right in .8, and nobody saw it."""
    rng, n = np.random.default_rng(5), 500
    item, rater = np.repeat(np.arange(n), 4), np.argsort(rng.random((n, 8)), axis=1)[:, :4].ravel()
    truth, kept = rng.integers(0, 3, n), np.linspace(0.2, 0.7, 8)

    def told(true, right):
        return np.where(rng.random(len(true)) < right, true, (true + rng.integers(1, 3, len(true))) % 3)

    said = {"A": told(truth, 0.7), "B": told(truth, 0.8)}
    label = np.where(rng.random(len(item)) < kept[rater], said["A"][item], told(truth[item], 0.8))
    rows = {"item": np.tile(np.arange(n), 2), "category": np.concatenate([*said.values()]).astype(str)}
    rows |= {"classifier": np.repeat([*said], n), "rank": np.ones(2 * n, int)}
    predictions = evaluation.predictions_from_table(rows, rank="rank", classifier="classifier")
    people = {"item": item, "rater": np.char.add("r", rater.astype(str)), "label": label.astype(str)}
    labels = models.Labels.from_table(people).with_predictions(predictions)

    def drawn(model):
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            tree = inference.sample(model, draws=400, thin=2, log_likelihood=False, **QUIET)
        at = [tree["posterior"]["plausibility"].to_numpy()[..., np.arange(n), x] for x in said.values()]
        return tree["posterior"], np.stack(
            [x.mean(axis=-1) for x in at]
        )  # accuracy (classifier, chain, draw)

    posterior, accuracy = drawn(models.shared_guess(labels, assisted_by="A"))
    right = np.array([(x == truth).mean() for x in said.values()])
    low, high = np.quantile(accuracy, [0.01, 0.99], axis=(1, 2))
    assert (low < right).all() and (right < high).all()
    assert (accuracy[1] > accuracy[0]).mean() > 0.9
    names = [f"r{k}" for k in range(8)]
    shares = posterior["shared"].sel(copier=names).mean(("chain", "draw")).to_numpy()
    assert np.abs(shares - kept).mean() < 0.1 and np.corrcoef(shares, kept)[0, 1] > 0.85  # their sd is .06
    _, plain = drawn(models.dawid_skene(labels))
    assert (
        plain[0].mean() > right[0] + 0.1 and (plain[0] > plain[1]).mean() > 0.9
    )  # the wrong order, and sure


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (TABLE, {"assisted_by": "nett"}),
        (TABLE, {"assisted_by": 3}),
        (TABLE, {"assisted_by": "net", "groups": "kind"}),
        (TABLE, {"assisted_by": "net", "shared_concentration": "learned"}),
        ({name: x[:-2] + x[-1:] for name, x in TABLE.items()}, {"assisted_by": "net"}),  # nothing of c
        (TABLE | {"kind": ["classifier"] * 12}, {"assisted_by": "net"}),
    ],
)
def test_what_nobody_can_have_seen_is_refused(table, options, golden):
    labels = models.Labels.from_table(table, rater_attributes=["kind"])
    with golden.raises(ValueError) as error:
        models.shared_guess(labels, **options)
    assert error.value.column == "assisted_by"


def test_items_that_only_other_classifiers_answered_need_no_prediction():
    kept = [k for k in range(12) if k not in (8, 9, 10)]  # of c the answer of old alone
    labels = models.Labels.from_table(
        {name: [x[k] for k in kept] for name, x in TABLE.items()}, rater_attributes=["kind"]
    )
    model = models.shared_guess(labels, assisted_by="net")
    assert model.coords["copier"] == ("Ann", "Bob", "net") and model.coords["group_of_raters"] == ("net",)
