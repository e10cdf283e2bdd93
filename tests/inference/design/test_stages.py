"""The second stage: the constants, the allotment, and that it ranks better at equal budget."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from raterzoo import models, papers
from raterzoo.inference import EstimateWarning
from raterzoo.inference.comparisons.quite import quite
from raterzoo.inference.design import stages
from raterzoo.papers import second_stage
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


def codes_of(plan, first):
    place = {item: code for code, item in enumerate(first["item"].to_numpy().tolist())}
    return np.array([[place[item] for item in plan[side].to_numpy().tolist()] for side in ("left", "right")])


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_no_item_has_more_pairs_than_the_degree(degree):
    first = estimate(n=40)
    plan = second_stage(first, degree=degree, answers=2)
    asked = np.bincount(codes_of(plan, first).ravel(), minlength=40)
    assert asked.max() == degree and asked.sum() >= 0.95 * 40 * degree
    some = second_stage(first, degree=degree, pairs=10, answers=2)
    assert some.sizes["pair"] == 10 and np.bincount(codes_of(some, first).ravel()).max() <= degree


@pytest.mark.parametrize("named", [True, False])
def test_excluded_pairs_are_not_asked_again(named):
    first = estimate()
    plan = second_stage(first, pairs=30, answers=1)
    asked = list(zip(plan["left"].to_numpy().tolist(), plan["right"].to_numpy().tolist(), strict=True))
    votes = models.Comparisons.from_table(
        {"left": [a for a, _ in asked], "right": [b for _, b in asked], "winner": [a for a, _ in asked]},
        rater=None,
    )
    others = second_stage(first, pairs=36, answers=1, exclude=asked if named else votes)
    again = {frozenset(pair) for pair in zip(others["left"].values, others["right"].values, strict=True)}
    assert not again & set(map(frozenset, asked)) and len(again) == 66 - 30


def test_printed_rule_gives_the_shortest_pairs_to_the_best_group():
    """Section 5.2: as many groups of pairs as of raters, of `answers` raters each; two of seven are left over at most."""
    first = estimate()
    plan = second_stage(first, pairs=9, answers=2, rule="printed")
    best = np.argsort(-first["reliability"].to_numpy())
    expected = np.repeat(best[:6].reshape(3, 2), 3, axis=0)
    np.testing.assert_array_equal(np.sort(plan["rater"], axis=1), np.sort(expected, axis=1))
    assert (np.diff(plan["distance"]) >= 0).all()
    rho, d = first["reliability"].to_numpy()[plan["rater"]], plan["distance"].to_numpy()[:, None]
    np.testing.assert_allclose(plan["information"], rho**2 * expit(rho * d) * expit(-rho * d))


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
    return bool(papers.epsilon_quality(quality, truth, 0.02))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["information", "printed"])
def test_two_stages_rank_better_at_equal_budget(rule):
    """N = 100, alpha = 1/2, degree 10 in both stages, epsilon = .02; the twin's second stage asks about pairs at random."""

    def two_stages(shuffled):
        wrong = []
        for seed in range(8):
            drawn, rng = simulated(items=100, degree=10, seed=seed), np.random.default_rng(seed)
            with warnings.catch_warnings(action="ignore", category=EstimateWarning):
                first = quite(drawn.data)
                known = (
                    first.assign(quality=("item", rng.permutation(first["quality"]))) if shuffled else first
                )
                plan = second_stage(known, degree=10, answers=50, exclude=drawn.data, rule=rule)
                wrong.append(misranked(quite(both_stages(drawn, plan, rng), start=first)["quality"], drawn))
        return np.mean(wrong)

    def check(share):
        assert share < 0.7  # of sixty data sets .33; one stage of degree 20: all

    check(two_stages(shuffled=False))
    assert_rejects_twin(check, two_stages(shuffled=True))


@pytest.mark.parametrize(
    "options",
    [
        {"pairs": 0, "answers": 1},
        {"pairs": 67, "answers": 1},
        {"pairs": 5, "answers": 8},
        {"pairs": 66, "answers": 4, "load": 5},
        {"answers": 1},
        {"degree": 12, "answers": 1},
        {"degree": 1, "pairs": 7, "answers": 1},
        {"pairs": 5, "answers": 1, "rule": "best"},
        {"pairs": 5, "answers": 1, "rule": "printed", "load": 2},
        {"pairs": 5, "answers": 1, "exclude": [("i0", "tea")]},
    ],
)
def test_impossible_plans_are_refused(options, golden):
    with golden.raises(ValueError):
        second_stage(estimate(), **options)


def test_an_estimate_without_a_link_is_refused():
    with pytest.raises(ValueError, match="link=None"):
        second_stage(estimate().drop_attrs(), pairs=3, answers=1)
