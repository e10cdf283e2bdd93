"""Leave-one-out agreement against exact fractions, one rater at a time."""

from collections import defaultdict
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from raterzoo import evaluation


def container(items):
    """Lay out [item][rater][block][category] as the containers do."""
    block_start, codes, annotation_item, annotation_start = [0], [], [], [0]
    for i, raters in enumerate(items):
        for blocks in raters:
            annotation_item.append(i)
            for block in blocks:
                codes += sorted(block)
                block_start.append(len(codes))
            annotation_start.append(len(block_start) - 1)
    return SimpleNamespace(
        items=np.arange(len(items)),
        categories=np.arange(9),
        annotation_item=np.array(annotation_item, np.int32),
        annotation_start=np.array(annotation_start),
        block_start=np.array(block_start),
        category_code=np.array(codes, np.int32),
    )


def slow_agreement(raters, tie_weight):
    if len(raters) == 1:
        return np.nan
    agree = 0
    for left_out, ranking in enumerate(raters):
        score = defaultdict(Fraction)
        for blocks in [*raters[:left_out], *raters[left_out + 1 :]]:
            for place, block in enumerate(blocks, 1):
                for label in block:
                    share = len(block) if tie_weight == "split" else 1
                    score[label] += Fraction(1, place * share)
        leaders = {label for label, value in score.items() if value == max(score.values())}
        agree += bool(leaders & {label for block in ranking for label in block})
    return agree / len(raters)


def random_items(rng, n_items):
    items = []
    for _ in range(n_items):
        raters = []
        for _ in range(rng.integers(1, 6)):
            labels = rng.permutation(9)[: rng.integers(1, 7)]
            cuts = np.flatnonzero(rng.random(len(labels) - 1) < 0.6) + 1
            raters.append([block.tolist() for block in np.split(labels, cuts)])
        items.append(raters)
    return items


@pytest.mark.parametrize("tie_weight", ["split", "full"])
def test_agreement_is_that_of_exact_fractions(tie_weight):
    items = random_items(np.random.default_rng(31), 200)
    found = evaluation.annotator_agreement(container(items), tie_weight)
    expected = [slow_agreement(raters, tie_weight) for raters in items]
    np.testing.assert_array_equal(found, expected)
    assert found.dims == ("item",)


def test_one_rater_has_nobody_to_agree_with():
    found = evaluation.annotator_agreement(container([[[[0]]], [[[1]], [[1, 2]]]]))
    np.testing.assert_array_equal(found, [np.nan, 1])


def test_denominators_beyond_64_bits_are_exact():
    long = [[[place] for place in range(60)]] * 3
    rankings = container([[*long, [list(range(59))]]])
    rankings.categories = np.arange(60)
    assert evaluation.annotator_agreement(rankings).item() == 1


def test_tie_weight_is_checked():
    with pytest.raises(evaluation.EvaluationError, match="tie_weight='none'"):
        evaluation.annotator_agreement(container([[[[0]]]]), "none")
