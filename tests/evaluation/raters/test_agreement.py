"""Leave-one-out agreement against exact fractions, one rater at a time, and beside the certainty."""

from collections import Counter, defaultdict
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models, papers
from raterzoo.evaluation.raters.agreement import certainty_and_agreement
from scipy.stats import rankdata

from tests.support.evaluation_trees import tree_of
from tests.support.monte_carlo import assert_rejects_twin


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
    found = papers.annotator_agreement(container(items), tie_weight)
    expected = [slow_agreement(raters, tie_weight) for raters in items]
    np.testing.assert_array_equal(found, expected)
    assert found.dims == ("item",)


def test_one_rater_has_nobody_to_agree_with():
    found = papers.annotator_agreement(container([[[[0]]], [[[1]], [[1, 2]]]]))
    np.testing.assert_array_equal(found, [np.nan, 1])


def test_denominators_beyond_64_bits_are_exact():
    long = [[[place] for place in range(60)]] * 3
    rankings = container([[*long, [list(range(59))]]])
    rankings.categories = np.arange(60)
    assert papers.annotator_agreement(rankings).item() == 1


def test_tie_weight_is_checked():
    with pytest.raises(evaluation.EvaluationError, match="tie_weight='none'"):
        papers.annotator_agreement(container([[[[0]]]]), "none")


# labels, [item][rater] -> the rater's answers
ANSWERS = [
    [["x"], ["x"], ["y"]],
    [["x"]],
    [],
    [["x"], ["y"]],
    [["x", "x", "y"], ["y"], ["y"]],
    [["x", "y"], ["y"], ["y"], ["z"]],
    [["x"], ["x"], ["x"], ["y"], ["y"]],
]
BY_HAND = [2 / 3, np.nan, np.nan, 0, 2 / 3, 3 / 4, 3 / 5]


def labels_of(answers):
    rows = [
        (i, f"r{k}", label)
        for i, raters in enumerate(answers)
        for k, own in enumerate(raters)
        for label in own
    ]
    rows += [(i, "r0", "x") for i, raters in enumerate(answers) if not raters]
    given = [1] * sum(len(own) for raters in answers for own in raters)
    columns = dict(zip(("item", "rater", "label"), zip(*rows, strict=True), strict=True))
    return models.Labels.from_table(
        {k: list(v) for k, v in columns.items()} | {"count": given + [0] * (len(rows) - len(given))},
        count="count",
        categories=["x", "y", "z"],
    )


def modes(counts):
    return {label for label, n in counts.items() if n == max(counts.values())}


def slow_label_agreement(raters):
    """Leave out each rater with all answers; agree if an own most frequent label leads the others'."""
    if len(raters) < 2:
        return np.nan
    agree = 0
    for left_out, own in enumerate(raters):
        others = Counter(label for k, given in enumerate(raters) if k != left_out for label in given)
        agree += bool(modes(Counter(own)) & modes(others))
    return agree / len(raters)


def by_id(found, n):
    return found.sel(item=np.arange(n)).to_numpy()


def test_label_agreement_by_hand():
    found = papers.annotator_agreement(labels_of(ANSWERS))
    np.testing.assert_array_equal(by_id(found, len(ANSWERS)), BY_HAND)


def test_label_agreement_is_that_of_counting():
    rng = np.random.default_rng(5)
    items = [
        [rng.choice(["x", "y", "z"], rng.integers(1, 4)).tolist() for _ in range(rng.integers(0, 7))]
        for _ in range(300)
    ]
    found = papers.annotator_agreement(labels_of(items))
    expected = [slow_label_agreement(raters) for raters in items]
    np.testing.assert_array_equal(by_id(found, len(items)), expected)


def test_anonymous_counts_are_raters_with_one_answer_each():
    counts = np.random.default_rng(6).integers(0, 5, (200, 3))
    counts[:2] = [[0, 0, 0], [0, 1, 0]]
    table = xr.DataArray(counts, {"item": np.arange(200), "category": ["x", "y", "z"]}, ("item", "category"))
    found = papers.annotator_agreement(models.Labels.from_counts(table))
    expected = [
        slow_label_agreement([[label] for label in np.repeat(["x", "y", "z"], row).tolist()])
        for row in counts
    ]
    np.testing.assert_array_equal(by_id(found, 200), expected)
    assert np.isnan(found[:2]).all()


def test_agreement_is_of_rankings_or_labels(golden):
    with golden.raises(evaluation.EvaluationError):
        papers.annotator_agreement({"item": [1]})


def certain(certainties, items):
    """Draws of which that share has the first label on top."""
    first = np.arange(100) < np.rint(100 * np.array(certainties))[:, None]
    draws = np.where(first[..., None], [0.7, 0.2, 0.1], [0.2, 0.7, 0.1]).transpose(1, 0, 2)[None]
    plausibility = xr.DataArray(
        draws,
        {"item": items, "category": ["x", "y", "z"]},
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    return tree_of(plausibility.to_dataset(name="plausibility"))


def test_certainty_and_agreement_by_hand():
    labels = labels_of(ANSWERS)
    order = np.random.default_rng(7).permutation(len(ANSWERS))
    certainty = np.array([0.8, 0.6, 0.9, 0.7, 0.85, 0.95, 0.65])
    found = certainty_and_agreement(certain(certainty[order], order), labels)
    np.testing.assert_array_equal(found["item"], order)
    np.testing.assert_allclose(found["certainty"], certainty[order])
    np.testing.assert_array_equal(found["agreement"], np.array(BY_HAND)[order])
    np.testing.assert_array_equal(found["raters"], np.array([3, 1, 0, 2, 3, 4, 5])[order])
    many = [0, 4, 5, 6]
    pairs = certainty[many], np.array(BY_HAND)[many]

    def check(values):
        for name, expected in zip(("pearson", "spearman"), values, strict=True):
            assert float(found[name]) == pytest.approx(expected, abs=1e-12)

    check([np.corrcoef(pairs)[0, 1], np.corrcoef([rankdata(v) for v in pairs])[0, 1]])
    two = [0, 3, 4, 5, 6]  # the twin lets in items of two raters
    pairs = certainty[two], np.array(BY_HAND)[two]
    assert_rejects_twin(check, [np.corrcoef(pairs)[0, 1], np.corrcoef([rankdata(v) for v in pairs])[0, 1]])
    assert found.attrs == {"at_least": 3, "items": 4}


def test_what_does_not_vary_has_no_correlation():
    tree = certain([0.5] * 7, np.arange(7))
    for options in ({}, {"at_least": 9}):
        found = certainty_and_agreement(tree, labels_of(ANSWERS), **options)
        assert np.isnan(found["pearson"]) and np.isnan(found["spearman"])


@pytest.mark.parametrize(
    ("items", "options"), [(7, {"at_least": 1}), (7, {"tie_weight": "none"}), (8, {}), (6, {})]
)
def test_certainty_and_agreement_are_of_the_same_items(items, options, golden):
    tree = certain([0.5] * items, np.arange(items))
    with golden.raises(evaluation.EvaluationError):
        certainty_and_agreement(tree, labels_of(ANSWERS), **options)
