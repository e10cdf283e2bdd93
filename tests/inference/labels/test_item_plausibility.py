"""Plausibility under item states: one state for each item and draw, certainty by enumeration, the law within a state, seeds."""

from itertools import product

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference.labels.item_states import with_items_drawn
from raterzoo.inference.labels.kernels.item_states import draw_item_plausibility
from scipy.special import gammaln, logsumexp
from scipy.stats import beta as beta_law
from scipy.stats import kstest

from tests.support.monte_carlo import assert_rejects_twin, check_means, seed_of
from tests.support.random_streams import stream
from tests.support.runs import Draws

COUNTS = np.array([[5, 5], [4, 0], [1, 3], [2, 1], [0, 3], [0, 0]])
ALPHA, BETA = np.full(3, 0.7), np.array([0.8, 1.3])
LABELS = models.Labels.from_counts(
    {"item": list("abcdef"), "x": COUNTS[:, 0].tolist(), "y": COUNTS[:, 1].tolist()}
)
MODEL = models.item_states(LABELS, states=3, weight_concentration=0.7, probability_concentration=BETA)


def exact_posterior():
    """Mean of every item's probability of x, and the probability that x is its best label, by enumerating all states."""
    log_weight, mean, best = [], [], []
    for states in product(range(3), repeat=len(COUNTS)):
        state = np.array(states)
        a, b = ALPHA + np.bincount(state, minlength=3), np.tile(BETA, (3, 1))
        np.add.at(b, state, COUNTS)
        log_weight.append(gammaln(a).sum() + (gammaln(b).sum(axis=1) - gammaln(b.sum(axis=1))).sum())
        mean.append((b[:, 0] / b.sum(axis=1))[state])
        best.append(beta_law.sf(0.5, b[:, 0], b[:, 1])[state])
    share = np.exp(log_weight - logsumexp(log_weight))
    return share @ np.array(mean), share @ np.array(best)


@pytest.fixture(scope="module")
def tree():
    return inference.sample(MODEL, draws=4000, random_seed=1, dtype="float64", progressbar=False)


def expected_given_draw(posterior):
    """E(q | w, theta, n): the plausibility with the states of the items summed out."""
    w, p = (posterior[name].to_numpy() for name in ("state_weight", "state_probability"))
    joint = np.log(w)[..., None, :] + np.einsum("ic,...jc->...ij", COUNTS, np.log(p))
    share = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))
    return np.einsum("...ij,...jc->...ic", share, p)


def test_mean_and_certainty_are_exact(tree):
    """Twin: probabilities with the states summed out have the right mean, and too certain a best label."""
    mean, best = exact_posterior()
    x = tree["posterior"]["plausibility"].sel(category="x").to_numpy()
    check_means(x, mean)
    check_means(x > 0.5, best)
    summed_out = expected_given_draw(tree["posterior"])[..., 0]
    check_means(summed_out, mean)
    assert_rejects_twin(check_means, summed_out > 0.5, best)
    share = (x > 0.5).mean(axis=(0, 1))
    np.testing.assert_allclose(evaluation.annotation_certainty(tree), np.maximum(share, 1 - share))
    assert tree["posterior"]["plausibility"].attrs["truth"] == "distribution"


def test_one_even_item_is_uncertain_about_its_best_label():
    even = models.Labels.from_counts({"item": ["a"], "x": [5], "y": [5]})
    drawn = inference.sample(models.item_states(even), random_seed=1, progressbar=False)
    right = (drawn["posterior"]["plausibility"].isel(item=0, category=0) > 0.5).to_numpy()
    check_means(right, 0.5)  # by symmetry
    assert evaluation.annotation_certainty(drawn) < 0.55


def test_every_item_is_in_one_of_the_states_of_its_draw(tree):
    p = tree["posterior"]["state_probability"].to_numpy()
    q = tree["posterior"]["plausibility"].to_numpy()
    assert (q[:, :, :, None] == p[:, :, None]).all(axis=-1).any(axis=-1).all()


W, P, RHO = np.array([0.5, 0.3, 0.2]), np.array([[0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]), [0.4, 0.1, 0.7]  # fmt: skip


def check_law(x, counts):
    """Draws of q_x given one state law with spread, against the mixture of Betas, one for each state."""
    size = (1 / np.array(RHO) - 1)[:, None] * P
    after = size + counts
    log_w = np.log(W) + (gammaln(after).sum(1) - gammaln(after.sum(1)))
    log_w -= gammaln(size).sum(1) - gammaln(size.sum(1))
    share = np.exp(log_w - logsumexp(log_w))
    law = lambda v: beta_law.cdf(np.asarray(v)[..., None], *after.T) @ share  # noqa: E731
    assert kstest(x, law).pvalue > 1e-4


def test_law_within_states_that_spread():
    counts, n = np.array([[5, 5], [0, 3], [0, 0]]), 20_000
    states = tuple(np.tile(x, (n, *[1] * np.ndim(x))) for x in (W, P, np.array(RHO)))
    seed = np.random.SeedSequence(seed_of("within"))
    rng, q = np.stack([stream(s) for s in seed.spawn(3)]), np.empty((n, 3, 2))
    draw_item_plausibility(rng, counts, np.arange(3), states, q)
    np.testing.assert_allclose(q.sum(axis=2), 1, rtol=1e-12)
    for i, own in enumerate(counts):
        check_law(q[:, i, 0], own)
        assert_rejects_twin(check_law, q[:, i, 0], np.add(own, [1, 0]))


def drawn(posterior, seed=1, cores=None, labels=LABELS):
    plan = Draws(4, None, 2, cores, seed, False, 1, "float64", False)
    return with_items_drawn(models.item_states(labels, states=3), posterior, plan)["plausibility"]


def test_draws_belong_to_seed_and_item():
    rng, dims = np.random.default_rng(0), ("chain", "draw", "state")
    posterior = xr.Dataset(
        {
            "state_weight": (dims, rng.dirichlet(np.ones(3), (2, 50))),
            "state_probability": ((*dims, "category"), rng.dirichlet(np.ones(2), (2, 50, 3))),
        },
        {"category": ["x", "y"]},
    )
    one = drawn(posterior, cores=1)
    xr.testing.assert_identical(one, drawn(posterior, cores=2))
    assert (one != drawn(posterior, seed=2)).any()
    assert (one.isel(chain=0) != one.isel(chain=1)).any()
    fewer = models.Labels.from_counts({"item": ["d", "a"], "x": [2, 5], "y": [1, 5]})
    apart = drawn(posterior, labels=fewer)
    xr.testing.assert_identical(one.sel(item=apart["item"]), apart)
    model = models.item_states(LABELS, plausibility=False)
    plan = Draws(4, None, 2, 1, 1, False, 1, "float64", False)
    assert with_items_drawn(model, posterior, plan) is posterior
