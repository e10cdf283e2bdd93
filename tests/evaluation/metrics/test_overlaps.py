"""Partial average overlap against its definition: the average over the places of a tied block."""

from itertools import pairwise

import numpy as np
import pytest
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError
from raterzoo.papers import partial_average_overlap


def place_weights(ranking, n):
    """Return the weight of each label in each place: tied labels share theirs; the rest is one block."""
    rest = [y for y in range(n) if not any(y in block for block in ranking)]
    blocks = [*ranking, *([rest] if rest else [])]
    edges = np.cumsum([0, *map(len, blocks)])
    weight = np.zeros((n, n))
    for block, (first, last) in zip(blocks, pairwise(edges), strict=True):
        weight[first:last, block] = 1 / len(block)
    return weight


def by_definition(a, b, depth, n):
    first, second = (place_weights(ranking, n)[:depth].cumsum(axis=0) for ranking in (a, b))
    return np.mean((first * second).sum(axis=1) / np.arange(1, depth + 1))


def random_ranking(rng, n, m):
    labels = rng.permutation(n)[:m]
    cuts = np.flatnonzero(rng.random(m - 1) < 0.5) + 1
    return [block.tolist() for block in np.split(labels, cuts)]


@pytest.mark.parametrize("seed", range(20))
def test_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    a, b = (random_ranking(rng, n, int(rng.integers(1, n + 1))) for _ in range(2))
    for depth in range(1, n + 1):
        shared, own = by_definition(a, b, depth, n), [by_definition(x, x, depth, n) for x in (a, b)]
        found = partial_average_overlap(a, b, depth, categories=n, normalize=False)
        assert found == pytest.approx(shared, rel=1e-12)
        normalized = partial_average_overlap(a, b, depth, categories=n)
        assert normalized == pytest.approx(shared / np.sqrt(own[0] * own[1]), rel=1e-12)
        assert partial_average_overlap(b, a, depth, categories=n) == pytest.approx(normalized)


def test_known_values():
    a, b = [["x"], ["y"], ["z"]], [["y"], ["x"], ["w"]]
    assert partial_average_overlap(a, a, 3) == 1
    assert partial_average_overlap(a, b, 3) == pytest.approx((0 + 1 + 2 / 3) / 3)
    assert partial_average_overlap([["x", "y"]], [["x"], ["y"]], 1, normalize=False) == 0.5
    assert partial_average_overlap([["x", "y"]], [["y", "x"]], 1) == pytest.approx(1)
    assert partial_average_overlap(a, [["v"]], 2) == 0
    assert partial_average_overlap([], a, 2) == 0


def test_unranked_labels_weigh_less_the_more_there_are():
    a, b = [["x"]], [["y"]]
    found = [partial_average_overlap(a, b, 2, categories=n) for n in (3, 10, 10_000)]
    assert found[0] > found[1] > found[2] > partial_average_overlap(a, b, 2) == 0


@pytest.mark.parametrize(
    "arguments", [([["x"], ["x"]], [["y"]], 1), ([["x", "x"]], [["y"]], 1), ([["x"]], [["y"]], 0)]
)
def test_refused(arguments, golden):
    with golden.raises(EvaluationError):
        partial_average_overlap(*arguments)


def test_fewer_categories_than_labels(golden):
    with golden.raises(EvaluationError):
        partial_average_overlap([["x"]], [["y"]], 1, categories=1)


def test_average_overlap_is_the_untied_case():
    score = evaluation.average_overlap(3).score
    truth, predicted = np.array([[[0, 1, 2], [3, 4, -1]]]), np.array([[1, 0, 4], [3, -2, -2]])
    expected = [
        partial_average_overlap([[0], [1], [2]], [[1], [0], [4]], 3, normalize=False),
        partial_average_overlap([[3], [4]], [[3]], 3, normalize=False),
    ]
    np.testing.assert_allclose(score(truth, predicted), [expected], rtol=1e-6)
