"""The second stage: the constants, the allotment, and that it ranks better at equal budget."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models
from raterzoo.inference import EstimateWarning
from raterzoo.inference.comparisons.quite import quite
from raterzoo.inference.design import second_stage, stages
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtr
from scipy.stats import norm

from tests.support.comparison_designs import simulated
from tests.support.monte_carlo import assert_rejects_twin


@pytest.mark.parametrize("link", stages.BEST_PRODUCT)
def test_best_reliability_maximises_the_information(link):
    for d in (0.05, -0.3, 1.0):
        best = minimize_scalar(
            lambda rho, d=d: -float(stages.fisher_information(d, rho, link)), bounds=(0.01, 10 / abs(d)), method="bounded",
            options={"xatol": 1e-9},
        )  # fmt: skip
        assert best.x * abs(d) == pytest.approx(stages.BEST_PRODUCT[link], rel=1e-5)
    printed = {"bradley_terry": 2.399, "thurstone": 1.575}[link]
    assert stages.BEST_PRODUCT[link] == pytest.approx(printed, abs=5e-4)


def test_information_is_the_variance_of_the_score():
    d, rho = 0.2, 5.0
    p = ndtr(rho * d)
    exact = rho**2 * norm.pdf(rho * d) ** 2 * (1 / p + 1 / (1 - p))
    assert stages.fisher_information(d, rho, "thurstone") == pytest.approx(exact, rel=1e-12)
    assert stages.fisher_information(d, rho, "bradley_terry") == pytest.approx(
        25 * expit(1) * expit(-1), rel=1e-12
    )
    assert 0 < stages.fisher_information(1.0, 37.0, "thurstone") < 1e-100  # no cancellation in the tail
    assert quad(lambda x: norm.pdf(x), -1, 1)[0] > 0.68


def estimate(n=12, raters=7, link="bradley_terry"):
    rng = np.random.default_rng(1)
    return xr.Dataset(
        {"quality": ("item", rng.random(n)), "reliability": ("rater", rng.uniform(1, 20, raters))},
        {"item": [f"i{k}" for k in range(n)], "rater": np.arange(raters)},
        {"link": link},
    )


@pytest.mark.parametrize(("pairs", "answers"), [(11, 3), (20, 7), (66, 2), (30, 5), (1, 1)])
def test_allotment_is_balanced_and_of_different_raters(pairs, answers):
    first = estimate()
    plan = second_stage(first, pairs=pairs, answers=answers)
    rater = plan["rater"].to_numpy()
    assert rater.shape == (pairs, answers)
    assert all(len(set(row)) == answers for row in rater.tolist())
    assert np.bincount(rater.ravel()).max() <= -(-pairs * answers // 7)
    named = set(map(frozenset, zip(plan["left"].to_numpy(), plan["right"].to_numpy(), strict=True)))
    assert len(named) == pairs and all(len(pair) == 2 for pair in named)
    assert (np.diff(plan["distance"]) >= 0).all() and (plan["distance"] >= 0).all()
    if pairs >= 11:  # all neighbours, which join everything
        order = first["item"].to_numpy()[np.argsort(first["quality"].to_numpy())]
        assert all(frozenset(two) in named for two in pairwise(order))


def test_unlimited_raters_are_the_most_informative():
    first = estimate(link="thurstone")
    plan = second_stage(first, pairs=20, answers=2, load=20)
    for pair in range(20):
        d = float(plan["distance"][pair])
        best = np.sort(stages.fisher_information(d, first["reliability"].to_numpy(), "thurstone"))[-2:]
        np.testing.assert_allclose(np.sort(plan["information"][pair]), best)


def both_stages(drawn, plan, rng):
    """Ask what the plan asks for, and put all votes together."""
    data, truth = drawn.data, drawn.truth
    left, right = (np.repeat(plan[side].to_numpy(), plan.sizes["answer"]) for side in ("left", "right"))
    rater = plan["rater"].to_numpy().ravel()
    won = rng.random(len(rater)) < expit(
        truth["reliability"][rater] * (truth["quality"][left] - truth["quality"][right])
    )
    table = {
        "rater": np.r_[data.annotation_rater, rater],
        "left": np.r_[data.left, left],
        "right": np.r_[data.right, right],
        "winner": np.r_[np.where(data.outcome == 0, data.left, data.right), np.where(won, left, right)],
    }
    return models.Comparisons.from_table(table, items=data.items)


def misranked(quality, drawn):
    truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, ("item",))
    return bool(evaluation.epsilon_quality(quality, truth, 0.02))


def test_two_stages_rank_better_at_equal_budget():
    """N = 100, alpha = 1, epsilon = .02; the twin's second stage asks about pairs at random."""

    def two_stages(shuffled):
        wrong = []
        for seed in range(4):
            drawn, rng = simulated(items=100, alpha=0.5, seed=seed), np.random.default_rng(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EstimateWarning)
                first = quite(drawn.data)
                known = (
                    first.assign(quality=("item", rng.permutation(first["quality"]))) if shuffled else first
                )
                plan = second_stage(known, pairs=1000, answers=50)
                wrong.append(misranked(quite(both_stages(drawn, plan, rng), start=first)["quality"], drawn))
        return np.mean(wrong)

    def check(share):
        assert share < 0.4  # one stage: .8

    check(two_stages(shuffled=False))
    assert_rejects_twin(check, two_stages(shuffled=True))


@pytest.mark.parametrize(
    "options",
    [
        {"pairs": 0, "answers": 1},
        {"pairs": 67, "answers": 1},
        {"pairs": 5, "answers": 8},
        {"pairs": 66, "answers": 4, "load": 5},
    ],
)
def test_impossible_plans_are_refused(options, golden):
    with golden.raises(ValueError):
        second_stage(estimate(), **options)


def test_an_estimate_without_a_link_is_refused():
    with pytest.raises(ValueError, match="link=None"):
        second_stage(estimate().drop_attrs(), pairs=3, answers=1)
