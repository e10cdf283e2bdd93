"""Raters who prefer a side: the test, its level, and tables that do not say where the items stood."""

from itertools import combinations

import numpy as np
import pytest
from raterzoo import evaluation
from raterzoo.models import Comparisons
from scipy.stats import binomtest

from tests.support.monte_carlo import assert_rejects_twin


def votes_of(rows):
    columns = zip(*rows, strict=True)
    return Comparisons.from_table(dict(zip(("rater", "left", "right", "winner"), columns, strict=True)))


def crowd(rng, lefts=0, raters=10, items=10, slope=1.5, order="once"):
    """Return votes on all pairs, of raters of whom the first `lefts` always say left.

    The sides are drawn "once" for each pair, or anew for "each" vote, or the better item is always on the "left".
    """
    quality = rng.permutation(np.linspace(-1, 1, items))
    rows = []
    for pair in combinations(range(items), 2):
        i, j = rng.permutation(pair)
        for k in range(raters):
            if order == "each":
                i, j = rng.permutation(pair)
            if order == "left":
                i, j = sorted(pair, key=lambda item: -quality[item])
            left = k < lefts or rng.random() < 1 / (1 + np.exp(-slope * (quality[i] - quality[j])))
            rows.append((f"r{k}", f"i{i}", f"i{j}", "left" if left else "right"))
    return votes_of(rows)


def test_votes_on_distinct_pairs_give_scipys_test():
    found = evaluation.side_test(crowd(np.random.default_rng(1)))
    assert (found["decided"] == 45).all() and found.attrs["decided"] == 450
    exact = [binomtest(int(left), 45).pvalue for left in found["left"]]
    np.testing.assert_allclose(found["p_value"], exact, rtol=1e-12)
    order = np.argsort(exact)
    holm = np.minimum(1, np.maximum.accumulate(np.sort(exact) * np.arange(10, 0, -1)))
    np.testing.assert_allclose(found["adjusted"].to_numpy()[order], holm, rtol=1e-12)


def test_those_who_always_say_left_are_found_and_nobody_else():
    for seed in range(5):
        for order in ("once", "each"):
            found = evaluation.side_test(crowd(np.random.default_rng(seed), lefts=6, order=order), prob=0.99)
            assert found.attrs["sides"] == "random" and found.attrs["p_value"] < 1e-6
            assert found["rater"][found["one_sided"]].values.tolist() == [f"r{k}" for k in range(6)]


def one_pair(rng, orders=2):
    """Return 40 votes of a rater on each of three pairs, of whose items they prefer one."""
    rows = []
    for better, worse in (("a", "b"), ("b", "c"), ("a", "c")):
        for _ in range(40 if orders == 2 else 1):
            swap = rng.random() < 0.5
            left, right = (worse, better) if swap else (better, worse)
            rows += [("r", left, right, better)] * (1 if orders == 2 else 40)
    return votes_of(rows)


def test_a_rater_of_one_opinion_is_not_one_of_one_side():
    """Forty votes in one order are one opinion; the twin, which counts them all, takes the opinion for a side."""
    for seed in range(20):
        for orders in (1, 2):
            votes = one_pair(np.random.default_rng(seed), orders)
            found = evaluation.side_test(votes, prob=0.999)
            assert not found["one_sided"].any()
            if orders == 1:
                left, decided = int(found["left"][0]), int(found["decided"][0])
                assert binomtest(left, decided).pvalue < 0.01 or left in (40, 80)


@pytest.mark.parametrize("order", ["once", "each"])
def test_the_level_is_kept(order):
    """Of 150 crowds in which nobody prefers a side at most the stated share has a rater called so; a weak side is noticed."""

    def named(bias=0):
        rng = np.random.default_rng(3)
        crowds = [crowd(rng, bias, raters=5, items=6, slope=4, order=order) for _ in range(150)]
        found = list(map(evaluation.side_test, crowds))
        named = [bool(own["one_sided"].any()) for own in found]
        return np.mean(named), np.mean([own.attrs["sides"] != "random" for own in found])

    def check(share):
        assert share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)

    share, fixed = named()
    check(share)
    check(fixed)
    assert_rejects_twin(check, named(bias=1)[0])


def test_repeated_votes_of_a_rater_on_a_pair_are_one_trial_of_all_raters_together():
    """Sides drawn once for each rater and pair, and six equal votes; the twin counts all votes as independent."""
    rng = np.random.default_rng(4)

    def table(bias=0.0):
        rows = []
        for k in range(6):
            for pair in combinations("abcd", 2):
                left, right = rng.permutation(pair)
                prefers_left = rng.random() < bias or rng.random() < (0.8 if left < right else 0.2)
                rows += [(f"r{k}", left, right, "left" if prefers_left else "right")] * 6
        return votes_of(rows)

    def check(p_values):
        assert np.mean(np.less(p_values, 0.05)) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)

    found = [evaluation.side_test(table()).attrs for _ in range(100)]
    check([own["p_value"] for own in found])
    assert_rejects_twin(check, [binomtest(own["left"], own["decided"]).pvalue for own in found])
    assert evaluation.side_test(table(bias=0.9)).attrs["p_value"] < 1e-3


def test_a_few_votes_for_the_left_are_chance_and_no_table_of_winners():
    for votes, sides in ((2, "random"), (7, "random"), (8, "winner")):
        rows = [(f"r{k % 2}", f"a{k}", f"b{k}", "left") for k in range(votes)]
        assert evaluation.side_test(votes_of(rows)).attrs["sides"] == sides
    one_opinion = [(f"r{k}", "a", "b", "left") for k in range(20)]
    assert evaluation.side_test(votes_of(one_opinion)).attrs["sides"] == "random"


def test_sides_that_were_not_assigned_at_random_are_said():
    fixed = evaluation.side_test(crowd(np.random.default_rng(1), order="left", slope=3))
    assert fixed.attrs["sides"] == "fixed" and fixed.attrs["p_value"] < 1e-3 and not fixed["one_sided"].any()
    baseline = votes_of(
        [(f"r{k}", "base", f"i{i}", "left" if k else "right") for k in range(3) for i in range(20)]
    )
    assert evaluation.side_test(baseline).attrs["sides"] == "fixed"
    winners = Comparisons.from_pairs(list(combinations("abcde", 2)))
    found = evaluation.side_test(winners)
    assert found.attrs["sides"] == "winner" and found.sizes["rater"] == 0


def test_ties_and_empty_raters_do_not_count(golden):
    rows = [
        ("ann", "a", "b", "tie"),
        ("bob", "a", "b", "left"),
        ("bob", "b", "a", "right"),
        ("bob", "a", "b", "tie"),
    ]
    found = evaluation.side_test(votes_of(rows))
    assert found["decided"].values.tolist() == [0, 2] and found["p_value"].values.tolist() == [1, 1]
    with golden.raises(evaluation.EvaluationError):
        evaluation.side_test({})
