"""Standard errors of votes that depend on the rater: copies of votes tell nothing, and intervals cover."""

import numpy as np
import pytest
from raterzoo import inference, models
from scipy.stats import binomtest, norm

from tests.support.monte_carlo import assert_rejects_twin, seed_of

ITEMS, USERS, VOTES = 8, 80, 15
QUALITY = np.linspace(-1, 1, ITEMS)


def table(rng, taste):
    """Votes of users who each favour some items, by a standard deviation `taste`."""
    rater = np.repeat(np.arange(USERS), VOTES)
    left = rng.integers(0, ITEMS, len(rater))
    right = (left + rng.integers(1, ITEMS, len(rater))) % ITEMS
    seen = QUALITY + taste * rng.normal(size=(USERS, ITEMS))
    won = rng.random(len(rater)) < norm.cdf(seen[rater, left] - seen[rater, right])
    return {"rater": rater, "left": left, "right": right, "winner": np.where(won, "left", "right")}


def fitted(votes, cluster="rater", **options):
    pairs = models.Comparisons.from_table(votes, items=range(ITEMS))
    return inference.laplace(models.thurstone(pairs, reliability="shared", **options), cluster=cluster)


def test_copies_of_votes_tell_nothing():
    once = table(np.random.default_rng(seed_of("copies")), 0.5)
    twice = {name: np.repeat(cells, 2) for name, cells in once.items()}

    def check(cluster):
        own, copied = (fitted(votes, cluster, quality_scale=100.0) for votes in (once, twice))
        np.testing.assert_allclose(own["quality_sd"], copied["quality_sd"], rtol=1e-3)

    check("rater")
    assert_rejects_twin(check, None)


@pytest.mark.slow
def test_the_sandwich_of_covariates_sides_and_ties_is_near_the_posterior_of_independent_votes():
    drawn = table(np.random.default_rng(seed_of("independent")), 0.0)
    z = np.random.default_rng(1).normal(size=len(drawn["rater"]))
    pairs = models.Comparisons.from_table(drawn, items=range(ITEMS))
    options = {"ties": "threshold", "left_bias": True, "vote_covariates": drawn | {"length": z}}
    model = models.thurstone(pairs, reliability="shared", **options)
    robust, own = inference.laplace(model, cluster="rater"), inference.laplace(model)
    for name in ("quality_sd", "left_bias_sd", "vote_effect_sd"):
        np.testing.assert_allclose(robust[name], own[name], rtol=0.35)
    assert robust["quality"].equals(own["quality"])


@pytest.mark.parametrize(
    ("options", "cluster"),
    [({"reliability": "shared"}, "user"), ({}, "rater"), ({"reliability": "shared"}, "rater")],
)
def test_refused(options, cluster, golden):
    few = {name: cells[: 3 * VOTES] for name, cells in table(np.random.default_rng(1), 0.5).items()}
    model = models.thurstone(models.Comparisons.from_table(few, items=range(ITEMS)), **options)
    with golden.raises(ValueError):
        inference.laplace(model, cluster=cluster)


@pytest.mark.slow
def test_intervals_cover_where_users_have_tastes():
    """The qualities of the average user: of a probit law with tastes of sd s, divided by the root of 1 + 2 s^2."""
    taste = 1.0
    truth = QUALITY / np.sqrt(1 + 2 * taste**2)
    rng = np.random.default_rng(seed_of("tastes"))
    samples = [table(rng, taste) for _ in range(100)]

    def check(cluster):
        inside = []
        for votes in samples:
            found = fitted(votes, cluster)
            inside.append(np.abs(found["quality"] - truth) < norm.ppf(0.95) * found["quality_sd"])
        assert (
            binomtest(int(np.sum(inside)) // ITEMS, 100, 0.9).pvalue > 0.01
        )  # the items of a sample are dependent

    check("rater")
    assert_rejects_twin(check, None)
