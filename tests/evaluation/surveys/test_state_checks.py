"""The exact curve of the data that a mixture is checked against: all choices of raters, unlike numbers of labels, its cost."""

import json
import os
from functools import cache
from itertools import permutations, product
from math import comb, prod
from pathlib import Path

import numpy as np
import pytest
from raterzoo.evaluation.surveys.item_states import curves
from raterzoo.evaluation.surveys.item_states.checks import checked_ks

from tests.support.monte_carlo import seed_of
from tests.support.survey_parts import observed_curve

DATA = os.environ.get("RATERZOO_DATA")
BITS = curves.Score("cross_entropy")


@cache
def running():
    table = np.genfromtxt(Path(str(DATA)) / "running_example.csv", delimiter=",", names=True)
    yes = sum(table[f"e_{rater}"] for rater in range(1, 11)).astype(int)
    return np.stack([10 - yes, yes], axis=1), table


@pytest.mark.skipif(DATA is None, reason="RATERZOO_DATA is not set")
def test_observed_curve_is_the_exact_one():
    counts, _ = running()
    stored = json.loads((Path(str(DATA)).parent / "expected/survey_equivalence.json").read_text())
    stored = stored["running_example"]
    # the other k are means over sampled raters; the stored combiner rounds, and plurality draws ties
    for name, score, combiner, enumerated, error in (
        ("abc_plus_cross_entropy", BITS, "abc", [0, 1, 2, 3, 7, 8, 9], 2e-8),
        ("plurality_plus_agreement", curves.Score("agreement"), "plurality", [1, 3, 7, 9], 1e-12),
    ):
        found = observed_curve(counts, enumerated, score, combiner)
        expected = np.array(stored[name]["power_curve_actual"])[enumerated]
        np.testing.assert_allclose(found, expected, atol=error)


def by_raters(labels, k, n):
    """The in-sample curve of labels (item, rater) over all ordered draws of k raters and one more."""
    joint = {}
    for item in labels:
        for raters in permutations(range(len(item)), k + 1):
            y = tuple(np.bincount(item[list(raters[:k])], minlength=n))
            joint.setdefault(y, np.zeros(n))[item[raters[k]]] += 1
    total = sum(own.sum() for own in joint.values())
    return sum((own[own > 0] * np.log2(own[own > 0] / own.sum())).sum() for own in joint.values()) / total  # fmt: skip


@pytest.mark.parametrize("n", [2, 3])
def test_observed_curve_is_that_of_all_choices_of_raters(n):
    labels = np.random.default_rng(n).integers(n, size=(6, 5))
    counts = np.stack([np.bincount(row, minlength=n) for row in labels])
    found = observed_curve(counts, list(range(5)), BITS, "abc")
    expected = [by_raters(labels, k, n) for k in range(5)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def one_k_at_a_time(counts, k, score, combiner):
    """The in-sample curve from the counts left after each count vector, item by item."""
    counts = counts[counts.sum(axis=1) > k]
    if not len(counts):
        return np.nan
    table = {}
    for item in counts:
        for y in product(*(range(min(m, k) + 1) for m in item)):
            if sum(y) == k:
                ways = prod(comb(m, own) for m, own in zip(item.tolist(), y, strict=True))
                share = ways / comb(int(item.sum()), k) * (item - y) / (item.sum() - k)
                table[y] = table.get(y, 0) + share / len(counts)
    total = 0.0
    for y, row in table.items():
        q = row / row.sum()
        told = q if combiner == "abc" else curves.best_labels(np.array(y))
        total += row.sum() * float(score.expected(told, q))
    return total


@pytest.mark.parametrize("name", [*curves.SCORERS, "plurality"])
@pytest.mark.parametrize(("n", "most"), [(1, 4), (2, 12), (3, 8), (5, 6), (40, 2)])
def test_observed_curve_of_items_with_unlike_numbers_of_labels(n, most, name):
    rng = np.random.default_rng(seed_of(f"unlike {n}"))
    law = rng.dirichlet(np.full(n, 0.4), 12)
    counts = rng.multinomial(rng.integers(0, most + 1, 12), law)
    counts[0] = rng.multinomial(most, law[0])
    how = (curves.Score("agreement"), "plurality") if name == "plurality" else (curves.Score(name), "abc")
    ks = [1, *range(3, most + 2), 0]
    expected = [one_k_at_a_time(counts, k, *how) for k in ks]
    found = observed_curve(counts, ks, *how)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert np.isnan(found[-2])


def test_observed_curve_of_hundreds_of_labels_stays_within_the_range_of_numbers():
    counts = np.array([[900, 600], [1500, 0], [3, 1497]])
    low, high = observed_curve(counts, [0, 199], BITS, "abc")
    share = counts.sum(axis=0) / counts.sum()
    np.testing.assert_allclose(low, share @ np.log2(share), rtol=1e-12)
    entropy = -(counts[[0, 2]] / 1500 * np.log2(counts[[0, 2]] / 1500)).sum() / 3
    np.testing.assert_allclose(-high, entropy, rtol=2e-3)  # all other labels tell the item


def test_check_rests_on_most_items():
    """Items that were asked about longer are not any items: the curve is checked as far as nine in ten go."""
    for longer, last in ((50, 9), (850, 9), (950, 29)):
        counts = np.tile([5, 5], (1000, 1))
        counts[:longer] = 15
        assert checked_ks(counts, 500) == list(range(last + 1))
    assert checked_ks(counts[:0], 500) == []
