"""What holds of every container, however strange its ids: invariants, the round trip, and leaving the names out."""

import numpy as np
from hypothesis import given, settings
from raterzoo.models import DataError, Labels, PartialRankings

from tests.support.container_strategies import comparisons, containers, labels, rankings, scores
from tests.support.fuzz_doors import check_comparisons, check_labels, check_rankings, check_scores

few = settings(derandomize=True, deadline=None, max_examples=60)


@few
@given(rankings())
def test_rankings(drawn):
    check_rankings(drawn)
    check_rankings(drawn.anonymized("all", random_seed=1))


@few
@given(labels())
def test_labels(drawn):
    check_labels(drawn)
    check_labels(drawn.anonymized("all", random_seed=1))


@few
@given(comparisons())
def test_comparisons(drawn):
    check_comparisons(drawn)
    check_comparisons(drawn.anonymized("all", random_seed=1))


@few
@given(scores())
def test_scores(drawn):
    check_scores(drawn)
    check_scores(drawn.anonymized("all", random_seed=1))


def in_numbers(container):
    """Return the annotations as multisets, by whom and of what forgotten."""
    table = container.to_table()
    names = ("item", "rater", "left", "right")
    kept = [np.asarray(cells).tolist() for name, cells in table.items() if name not in names]
    return sorted(map(repr, zip(*kept, strict=True)))


@few
@given(containers)
def test_without_names_the_numbers_are_the_same(drawn):
    nameless = drawn.anonymized("all", random_seed=2)
    assert len(nameless) == len(drawn)
    assert in_numbers(nameless) == in_numbers(drawn)
    assert {*nameless.raters.tolist()} == {f"rater {k + 1}" for k in range(len(drawn.raters))}
    assert nameless.items.tolist() == [f"item {k + 1}" for k in range(len(drawn.items))]
    of_raters = drawn.anonymized(random_seed=2)
    assert of_raters.items.tolist() == drawn.items.tolist()
    assert {*of_raters.raters.tolist()} == {*nameless.raters.tolist()}


TABLE = {
    "item": ["x"] * 40,
    "rater": [f"name {k:02}" for k in range(40)],
    "label": ["yes", "no"] * 20,
    "kind": ["person", "model"] * 20,
}


def test_numbers_of_raters_and_order_of_rows_are_one_random_order():
    labels = Labels.from_table(TABLE, rater_attributes=["kind"])
    for seed in range(20):
        nameless = labels.anonymized(random_seed=seed)
        order = np.random.default_rng(seed).permutation(40)
        assert nameless.raters.tolist() == [f"rater {k + 1}" for k in range(40)]
        assert (nameless.label_code == labels.label_code[order]).all()
        kinds = nameless.rater_attributes["kind"]
        assert (kinds == np.where(nameless.label_code == 1, "person", "model")).all()


def test_order_without_a_seed_is_new_each_time():
    labels = Labels.from_table(TABLE, rater_attributes=["kind"])
    tables = [labels.to_table(anonymize="raters") for _ in range(3)]
    assert len({tuple(t["label"].tolist()) for t in tables}) > 1  # the chance of one alone is 5e-23
    assert not any("name" in str(t) for t in tables)


def test_table_without_names_reads_as_the_container_without():
    labels = Labels.from_table(TABLE, rater_attributes=["kind"])
    table = labels.to_table(anonymize="all", random_seed=3)
    read = Labels.from_table(table, count="count", rater_attributes=["kind"])
    assert read == labels.anonymized("all", random_seed=3)
    counts = Labels.from_counts({"item": ["a", "b"], "rater": [1, 0], "item 2": [0, 3]})
    nameless = counts.to_table(anonymize="all", random_seed=0)
    assert [*nameless] == ["item", "rater", "item 2"]  # categories keep theirs
    assert sorted(nameless["rater"].tolist()) == [0, 1]


def test_gold_stays_with_its_item():
    gold = {"item": ["a", "b", "c"], "rater": ["r"] * 3, "label": ["x", "y", "z"], "gold": ["y", "", "x"]}
    labels = Labels.from_table(gold, gold="gold")
    for seed in range(5):
        table = labels.to_table(anonymize="all", random_seed=seed)
        assert dict(zip(table["label"], table["gold"], strict=True)) == {"x": "y", "y": "", "z": "x"}


def test_whose_names_is_one_of_two_words(golden):
    with golden.raises(DataError):
        Labels.from_table(TABLE).to_table(anonymize="items")
    with golden.raises(DataError):
        Labels.from_table(TABLE).anonymized(whose="items")
    ranked = {"item": [1, 1], "rater": ["me", "me"], "category": ["a", "b"], "rank": [1, 2]}
    table = PartialRankings.from_table(ranked).to_table(anonymize="raters")
    assert table["rater"].tolist() == ["rater 1", "rater 1"]
    assert table["item"].tolist() == [1, 1]
