"""Covariates of votes: the law against its formula, the votes in any order, what is refused, and who believes in them."""

import numpy as np
import pytest
from raterzoo import inference, models
from scipy.special import expit
from scipy.stats import norm

from tests.support.monte_carlo import assert_rejects_twin, seed_of
from tests.support.runs import route_of

VOTES = {
    "rater": [*"rrrsssrs"],
    "left": [*"aabbcaab"],
    "right": [*"bbccabbc"],
    "winner": ["left", "right", "tie", "left", "right", "left", "left", "tie"],
}
LENGTH = [3.0, -1.0, 0.0, 2.0, 4.0, -2.0, 1.0, 1.0]
STYLE = [1, 0, 0, -1, 1, 0, 0, 0]
TABLE = VOTES | {"length": LENGTH, "style": STYLE}
COMPILED = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}


def pairs(votes=VOTES, **options):
    return models.Comparisons.from_table(votes, **options)


def log_p_by_hand(link, values, twice=1.0):
    items, raters = {k: i for i, k in enumerate("abc")}, {"r": 0, "s": 1}
    found = []
    z = np.stack([LENGTH, STYLE], axis=1)
    z = z / np.sqrt((z**2).mean(axis=0))
    for vote, covariates in zip(zip(*VOTES.values(), strict=True), z, strict=True):
        rater, left, right, winner = vote
        k, gap = raters[rater], values["quality"][items[left]] - values["quality"][items[right]]
        x = values["reliability"][k] * gap + values["left_bias"] + twice * covariates @ values["vote_effect"]
        if link == "thurstone":
            p = {"left": norm.cdf(x - values["tie"]), "right": norm.cdf(-x - values["tie"])}
        else:
            total = np.exp(x / 2) + np.exp(-x / 2) + values["tie"]
            p = {"left": np.exp(x / 2) / total, "right": np.exp(-x / 2) / total}
        found.append(np.log(p.get(winner, 1 - p["left"] - p["right"])))
    return np.array(found)


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_the_law_is_its_formula_vote_by_vote(link):
    model = getattr(models, link)(pairs(), vote_covariates=TABLE, left_bias=True)
    wanted = ["quality", "reliability", "left_bias", "tie", "vote_effect"]
    outputs = model.replace_rvs_by_values([model[name] for name in wanted])
    rng = np.random.default_rng(seed_of("votes"))
    point = model.initial_point(1)
    point = {name: value + 0.5 * rng.normal(size=np.shape(value)) for name, value in point.items()}
    log_p = model.logp(vars=model.observed_RVs, sum=False)[0]
    found = model.compile_fn([log_p, *outputs], inputs=model.value_vars, **COMPILED)(point)
    values = dict(zip(wanted, found[1:], strict=True))

    def check(twice):
        np.testing.assert_allclose(found[0], log_p_by_hand(link, values, twice), rtol=1e-12)

    check(1.0)
    assert_rejects_twin(check, 2.0)
    assert model.coords["vote_covariate"] == ("length", "style")
    scale = np.sqrt([np.mean(np.square(LENGTH)), np.mean(np.square(STYLE))])
    np.testing.assert_allclose(model["vote_covariate_scale"].get_value(), scale)


@pytest.mark.slow
def test_turning_a_vote_and_its_covariates_changes_nothing_and_nor_does_the_order():
    def density(table, sides=1.0):
        turned = {**table, "left": table["right"], "right": table["left"]}
        names = {"left": "right", "right": "left", "tie": "tie"}
        turned["winner"] = [names[w] for w in table["winner"]]
        turned |= {name: [-sides * x for x in table[name]] for name in ("length", "style")}
        values = []
        for own in (table, turned, {name: cells[::-1] for name, cells in table.items()}):
            votes = {name: own[name] for name in VOTES}
            model = models.bradley_terry(pairs(votes, items=[*"abc"]), vote_covariates=own)
            point = model.initial_point()
            point = {
                n: np.full(np.shape(v), 0.3) + 0.1 * np.arange(np.size(v)).reshape(np.shape(v))
                for n, v in point.items()
            }
            values.append(float(model.compile_logp(**COMPILED)(point)))
        np.testing.assert_allclose(values, values[0], rtol=1e-12)

    density(TABLE)
    assert_rejects_twin(lambda sides: density(TABLE, sides), -1.0)


def test_each_rater_may_have_a_side_and_groups_a_taste_beside_them():
    both = models.bradley_terry(
        pairs(), vote_covariates=TABLE, left_side="rater", groups={"r": "x", "s": "y"}
    )
    assert {"vote_effect", "left_bias_mean", "taste_deviation"} <= {rv.name for rv in both.free_RVs}
    assert np.isfinite(both.compile_logp(**COMPILED)(both.initial_point()))
    anonymous = {name: cells for name, cells in TABLE.items() if name != "rater"}
    alone = models.bradley_terry(pairs(VOTES, rater=None), vote_covariates=anonymous)
    assert np.isfinite(alone.compile_logp(**COMPILED)(alone.initial_point()))
    assert (route_of(alone).method, route_of(both).method) == ("hmc", "nuts")
    assert "vote_effect" not in models.bradley_terry(pairs()).named_vars


def changed(**columns):
    return TABLE | columns


@pytest.mark.parametrize(
    "table",
    [
        VOTES,
        changed(length=[0.0] * 8),
        changed(length=[None, *LENGTH[1:]]),
        changed(length=["long", *LENGTH[1:]]),
        changed(winner=["right", *VOTES["winner"][1:]]),
        changed(rater=["q", *VOTES["rater"][1:]]),
        changed(left=["z", *VOTES["left"][1:]]),
        {name: cells[1:] for name, cells in TABLE.items()},
        {name: cells for name, cells in TABLE.items() if name != "rater"},
        3.0,
    ],
)  # fmt: skip
def test_other_tables_are_refused(table, golden):
    with golden.raises(models.DataError):
        models.bradley_terry(pairs(), vote_covariates=table)


@pytest.mark.slow
def test_long_answers_are_not_better_where_length_is_controlled():
    rng = np.random.default_rng(seed_of("style control"))
    n, quality = 1500, np.array([0.0, 0.0, 1.0])
    left, right = (rng.integers(0, 3, n) + np.array([[0], [1]]) * rng.integers(1, 3, n)) % 3
    long = np.where(np.arange(3) == 0, 1.0, 0.0)  # item 0 writes at length
    gap = long[left] - long[right] + 0.5 * rng.normal(size=n)
    won = rng.random(n) < expit(quality[left] - quality[right] + 1.2 * gap)
    table = {"left": left, "right": right, "winner": np.where(won, "left", "right"), "length": gap}
    votes = models.Comparisons.from_table({k: v for k, v in table.items() if k != "length"}, items=range(3))
    fits = {
        name: inference.sample(
            models.bradley_terry(votes, vote_covariates=own), random_seed=1, progressbar=False
        )
        for name, own in (("controlled", table), ("not", None))
    }
    gaps = {
        name: tree["posterior"]["quality"].isel(item=0) - tree["posterior"]["quality"].isel(item=1)
        for name, tree in fits.items()
    }
    low, high = (float(gaps["controlled"].quantile(q)) for q in (0.001, 0.999))
    assert low < 0 < high and float(gaps["not"].quantile(0.001)) > 0
    effect = fits["controlled"]["posterior"]["vote_effect"].squeeze() / np.sqrt(np.mean(gap**2))
    assert abs(float(effect.mean()) - 1.2) < 4 * float(effect.std())
