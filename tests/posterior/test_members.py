"""The largest members of OTHER against all of them, drawn by brute force."""

from itertools import combinations

import numpy as np
import pytest
from raterzoo.posterior import top_labels

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

N = 20_000


def brute_force(size, concentration, top, mass, rng):
    """Return the largest of all members; `size` is ascending."""
    columns = []
    for members, n in zip(*np.unique(size, return_counts=True), strict=True):
        share = np.sort(rng.dirichlet(np.full(members, concentration), n))[:, ::-1]
        columns.append(np.pad(share, ((0, 0), (0, top)))[:, :top].T)
    return np.concatenate(columns, axis=1) * mass


def assert_same_law(found, expected, floor):
    """Compare what exceeds the floor: how often, its mean and the mean of its square."""
    z = []
    for x, y in zip(found, expected, strict=True):
        for moment in (lambda v: v > floor, lambda v: v * (v > floor), lambda v: v**2 * (v > floor)):
            a, b = moment(x), moment(y)
            error = np.sqrt((a.var() + b.var()) / N)
            z.append((a.mean() - b.mean()) / error if error else a.mean() - b.mean())
    assert np.abs(z).max() < bonferroni_threshold(len(z))


@pytest.mark.parametrize("floor", [0.0, 0.15])
@pytest.mark.parametrize(("members", "concentration"), [(3, 0.3), (400, 0.0025), (8, 2.0), (50, 1.0)])
def test_largest_members_have_the_law_of_the_sorted_dirichlet(members, concentration, floor):
    rng = np.random.default_rng(seed_of(f"largest {members} {concentration} {floor}"))
    size = np.sort(np.resize([members, members - 1], N))
    mass = rng.uniform(0.2, 1, N)
    floors = np.full(N, floor)
    found = top_labels.largest_members(mass, floors, size, concentration, 3, rng)
    expected = brute_force(size, concentration, 3, mass, rng)
    assert (found[:-1] >= found[1:]).all()
    assert_same_law(found, expected, floor)
    wrong = top_labels.largest_members(mass, floors, size, 1.5 * concentration, 3, rng)
    if (expected > floor).any():
        assert_rejects_twin(assert_same_law, wrong, expected, floor)


def test_one_member_takes_all():
    mass = np.array([0.25, 0.5])
    found = top_labels.largest_members(mass, np.zeros(2), np.ones(2, int), 0.1, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(found, [mass, [0, 0]])


def test_members_are_drawn_without_replacement():
    rng = np.random.default_rng(seed_of("without replacement"))
    size = np.full(60_000, 5)
    triple = np.array(list(top_labels.distinct_members(3, size, rng)))
    assert (triple >= 0).all() and (triple < 5).all()
    pairs = [(triple[a] != triple[b]).all() for a, b in combinations(range(3), 2)]
    assert all(pairs)
    _, count = np.unique(triple, axis=1, return_counts=True)
    assert len(count) == 60
    z = (count - 1000) / np.sqrt(1000 * (1 - 1 / 60))
    assert np.abs(z).max() < bonferroni_threshold(60)


def test_members_are_the_categories_that_are_not_named():
    for named in combinations(range(6), 3):
        rest = [c for c in range(6) if c not in named]
        found = top_labels.category_of_member(np.arange(3), np.array([*named, 9])[:, None].repeat(3, axis=1))
        assert found.tolist() == rest


def test_insertion_keeps_order_and_puts_equals_last():
    best, codes = np.zeros((3, 1)), np.full((3, 1), -1)
    for code, value in enumerate([1.0, 3.0, 1.0, 0.0, 3.0, 2.0]):
        top_labels.insert(best, np.array([value]), codes, code)
    assert best.ravel().tolist() == [3, 3, 2]
    assert codes.ravel().tolist() == [1, 4, 5]
