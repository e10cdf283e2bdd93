"""Merging annotations: what is counted, what order must not matter, what is refused."""

import numpy as np
import pytest

from tests.support.ranking_samplers import distinct_annotations

# Two items of three and two candidates; 3 annotations of the first, 1 of the second.
BLOCK = np.array([[0, 1, 2], [0, 1, 2], [1, 0, 1], [0, 1, -1]], np.int8)
CANDIDATE = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2], [3, 4, 0]], np.int32)


def spelled(annotations, item):
    """Return {blocks: multiplicity} of one item."""
    out = {}
    for a in range(*annotations.annotation_start[item : item + 2]):
        blocks = tuple(
            tuple(annotations.member[slice(*annotations.member_start[b : b + 2])].tolist())
            for b in range(*annotations.block_start[a : a + 2])
        )
        out[blocks] = int(annotations.multiplicity[a])
    return out


def test_identical_annotations_are_counted():
    annotations = distinct_annotations(BLOCK, CANDIDATE, 3, 5)
    assert annotations.candidate_start.tolist() == [0, 3, 5]
    assert spelled(annotations, 0) == {((0,), (1,), (2,)): 6, ((1,), (0, 2)): 3}
    assert spelled(annotations, 1) == {((0,), (1,)): 3}
    assert annotations.wins.tolist() == [6, 9, 0, 3, 0]
    assert annotations.leader.tolist() == [0, 0]
    assert annotations.settled.tolist() == [False, False]


def test_reliability_of_each_annotation():
    annotations = distinct_annotations(BLOCK, CANDIDATE, np.array([1, 4, 2.0, 5]), 5)
    assert spelled(annotations, 0) == {((0,), (1,), (2,)): 5, ((1,), (0, 2)): 2}
    assert spelled(annotations, 1) == {((0,), (1,)): 5}


def test_ranking_all_says_the_same_as_leaving_the_last_block_unranked():
    everything = distinct_annotations(np.array([[0, 1, 2]]), np.array([[0, 1, 2]]), 1, 3)
    assert spelled(everything, 0) == {((0,), (1,), (2,)): 1}
    assert everything.wins.tolist() == [1, 1, 0]


def test_settled_is_known_from_places_behind_the_leader():
    block = np.array([[0, 1, 2, 3], [0, 2, 1, 3]])
    place = np.tile(np.arange(4), (2, 1))
    assert distinct_annotations(block, place, 1, 4).settled.tolist() == [True]
    # In front of the leader or tied with it: nothing is settled.
    front = np.array([[0, 1, 2, 2], [0, 1, 2, 2], [1, 0, 2, 2]])
    place = np.tile(np.arange(4), (3, 1))
    assert distinct_annotations(front, place, 1, 4).settled.tolist() == [False]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64])
def test_other_items_order_and_width_do_not_matter(dtype):
    rng = np.random.default_rng(5)
    block = np.sort(rng.integers(0, 3, (40, 11)), axis=1)
    block = np.unique(block - block[:, :1], axis=0)
    wide = np.pad(block, ((0, 0), (0, 9)), constant_values=-1).astype(dtype)
    place = np.tile(np.arange(20), (len(block), 1))
    one = distinct_annotations(block, place[:, :11], 2, 11)
    # a second item of 20 candidates makes the rows wider, and the raters come in another order
    order = rng.permutation(len(block))
    both = distinct_annotations(
        np.concatenate([np.zeros((1, 20), dtype), wide[order]]),
        np.concatenate([11 + np.arange(20)[None], place[order]]),
        2,
        31,
    )
    assert spelled(both, 0) == spelled(one, 0)
    np.testing.assert_array_equal(both.multiplicity[: len(one.multiplicity)], one.multiplicity)
    np.testing.assert_array_equal(both.member[: len(one.member)], one.member)


@pytest.mark.parametrize("reliability", [2.5, 0, -1, np.nan, np.inf, [1, 1, 1, 0.5]])
def test_reliability_must_be_whole(reliability, golden):
    with golden.raises(ValueError):
        distinct_annotations(BLOCK, CANDIDATE, reliability, 5)


@pytest.mark.parametrize(
    "row, column, candidate",
    [(0, 1, 2), (3, 1, 0), (3, 0, 4)],
    ids=["out of order", "of another item", "overlapping"],
)
def test_rows_must_cover_their_item(row, column, candidate, golden):
    wrong = CANDIDATE.copy()
    wrong[row, column] = candidate
    with golden.raises(ValueError):
        distinct_annotations(BLOCK, wrong, 1, 5)


def test_every_candidate_must_be_annotated(golden):
    with golden.raises(ValueError):
        distinct_annotations(BLOCK, CANDIDATE, 1, 6)
    with golden.raises(ValueError):
        distinct_annotations(BLOCK, CANDIDATE + 1, 1, 6)
