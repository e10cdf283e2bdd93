"""The container of comparisons: codes, merged counts, other formats, components, the pair table, round trips."""

import enum
import os
from itertools import product
from pathlib import Path

import choix
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo.models import Comparisons, DataError
from raterzoo.models.data import comparisons
from scipy.sparse import coo_array, csgraph

from tests.support.comparison_samplers import pair_table

TABLE = {
    "rater": ["s", "r", "s", "s", "r", "t"],
    "left": ["b", "b", "a", "b", "c", "a"],
    "right": ["a", "a", "b", "a", "b", "c"],
    "winner": ["left", "tie", "b", "left", "right", "right"],
}


def test_codes_are_sorted_and_merged(golden):
    pairs = Comparisons.from_table(TABLE)
    assert pairs.items.tolist() == ["b", "a", "c"]
    assert pairs.raters.tolist() == ["r", "s", "t"]
    assert pairs.left.tolist() == [0, 0, 1, 1, 2]
    assert pairs.right.tolist() == [1, 1, 0, 2, 0]
    assert pairs.annotation_rater.tolist() == [0, 1, 1, 2, 0]
    assert pairs.outcome.tolist() == [2, 0, 1, 1, 1]
    assert pairs.count.tolist() == [1, 2, 1, 1, 1]
    assert len(pairs) == 6 and pairs.has_ties and not pairs.anonymous
    golden.says(repr(pairs))
    for name in ("left", "right", "annotation_rater", "outcome"):
        assert getattr(pairs, name).dtype == np.int32
    assert pairs.count.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        pairs.count[0] = 3


def test_pair_table_forgets_who_stood_where():
    table = pair_table(Comparisons.from_table(TABLE))
    assert (table.first.tolist(), table.second.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert table.start.tolist() == [0, 2, 3, 4]
    assert table.rater.tolist() == [0, 1, 0, 2]
    assert table.wins.tolist() == [0, 3, 1, 0]
    assert table.losses.tolist() == [0, 0, 0, 1]
    assert table.ties.tolist() == [1, 0, 0, 0]
    assert (table.n_items, table.n_raters) == (3, 3)
    assert table.first.dtype == table.start.dtype == np.int64 and table.rater.dtype == np.int32


def test_anonymous_votes():
    pairs = Comparisons.from_table(TABLE, rater=None)
    assert pairs.anonymous and pairs.raters.tolist() == []
    assert (pairs.annotation_rater == -1).all() and len(pairs) == 6
    table = pair_table(pairs)
    assert table.n_raters == 1 and table.rater.tolist() == [0, 0, 0]
    assert table.wins.tolist() == [3, 1, 0]
    assert "anonymous" in pairs.report() and "anonymous raters" in repr(pairs)
    again = Comparisons.from_table(pairs.to_table(), rater=None, items=pairs.items, count="count")
    assert again == pairs
    assert pairs != Comparisons.from_table(TABLE)


def test_declared_items_stay_and_silent_raters_go(golden):
    table = TABLE | {"n": [1, 1, 1, 1, 1, 0]}
    pairs = Comparisons.from_table(table, count="n", items=["a", "b", "c", "d"])
    assert pairs.items.tolist() == ["a", "b", "c", "d"]
    assert pairs.raters.tolist() == ["r", "s"]
    assert [c.tolist() for c in pairs.components] == [["a", "b", "c"], ["d"]]
    assert not pairs.connected
    golden.says(pairs.report(), "items without")
    again = Comparisons.from_table(pairs.to_table(), count="count", items=pairs.items)
    assert again == pairs
    undeclared = Comparisons.from_table(pairs.to_table(), count="count")
    assert {*undeclared.items} == {*"abcd"} and len(undeclared) == 5


def test_words_and_ids_of_winners_may_be_mixed():
    table = {"left": [7, 7, 8, 9], "right": [8, 9, 9, 7], "winner": [7, "tie", "right", 9]}
    pairs = Comparisons.from_table(table, rater=None)
    assert pairs.outcome.tolist() == [0, 2, 1, 0]
    text = {name: [str(cell) for cell in cells] for name, cells in table.items()}
    assert Comparisons.from_table(text, rater=None).outcome.tolist() == [0, 2, 1, 0]


def test_attributes_of_raters_follow_their_order():
    table = TABLE | {"kind": ["model", "person", "model", "model", "person", "alien"]}
    pairs = Comparisons.from_table(table, rater_attributes=["kind"])
    assert pairs.rater_attributes["kind"].tolist() == ["person", "model", "alien"]
    again = Comparisons.from_table(
        pairs.to_table(), rater_attributes=["kind"], count="count", items=pairs.items
    )
    assert again == pairs and pairs != Comparisons.from_table(TABLE)
    some = pairs.select(items=["c", "b"])
    assert some.raters.tolist() == ["r"] and some.rater_attributes["kind"].tolist() == ["person"]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()])
def test_any_frame(make):
    assert Comparisons.from_table(make(TABLE)) == Comparisons.from_table(TABLE)


def test_crowdkit_names():
    table = {
        "worker": TABLE["rater"],
        "left": TABLE["left"],
        "right": TABLE["right"],
        "label": ["b", "tie", "b", "b", "b", "c"],
    }
    assert Comparisons.from_table(pd.DataFrame(table)) == Comparisons.from_table(TABLE)


@pytest.mark.parametrize("make", [list, np.array])
def test_choix_pairs(make):
    rng = np.random.default_rng(3)
    wins = choix.generate_pairwise(rng.standard_normal(6), 200)
    pairs = Comparisons.from_pairs(make(wins), items=range(6))
    assert pairs.anonymous and len(pairs) == 200 and not pairs.has_ties
    table = pair_table(pairs)
    won, lost = (np.zeros((6, 6)) for _ in range(2))
    np.add.at(won, tuple(np.transpose(wins)), 1)
    np.add.at(lost, (table.first, table.second), table.wins)
    np.add.at(lost, (table.second, table.first), table.losses)
    np.testing.assert_array_equal(won, lost)
    assert (pairs.left < pairs.right).all()
    assert Comparisons.from_pairs(make(wins)).items.tolist() == [*range(6)]


class Winner(enum.Enum):
    X = 1
    Y = 2
    Draw = 0


class WinnerOfOldenDays:
    """What a compiled enumeration looks like: its text, no name."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return f"Winner.{self.text}"


@pytest.mark.parametrize("make", [lambda name: Winner[name], WinnerOfOldenDays, str])
def test_evalica_sequences(make):
    winners = [make(name) for name in ("X", "Draw", "Y", "X", "Y", "Y")]
    read = Comparisons.from_sequences(TABLE["left"], TABLE["right"], winners, raters=TABLE["rater"])
    assert read == Comparisons.from_table(TABLE)
    read = Comparisons.from_sequences(pd.Series(TABLE["left"]), TABLE["right"], winners)
    assert read == Comparisons.from_table(TABLE, rater=None)


def test_selection():
    pairs = Comparisons.from_table(TABLE)
    some = pairs.select(items=["a", "b"])
    assert some.items.tolist() == ["a", "b"] and len(some) == 4
    assert some.raters.tolist() == ["r", "s"]
    kept = {k: v[:4] for k, v in TABLE.items()}
    assert some == Comparisons.from_table(kept, items=["a", "b"])
    assert pairs.select(items=pairs.items) == pairs
    for items in (["a"], ["z"], ["a", "a"], [], "a", [1]):
        with pytest.raises(DataError):
            pairs.select(items=items)


def chain(order):
    return {"left": order[:-1], "right": order[1:], "winner": ["tie"] * (len(order) - 1)}


def test_components_are_named(golden):
    parts = [chain([*"abcd"]), chain([*"xyz"]), chain([*"mn"])]
    table = {k: [cell for part in parts[::-1] for cell in part[k]] for k in parts[0]}
    pairs = Comparisons.from_table(table, rater=None)
    assert [c.tolist() for c in pairs.components] == [[*"abcd"], [*"xyz"], [*"mn"]]
    with golden.raises(DataError):
        comparisons.require_connected(pairs, "quite")
    largest = pairs.largest_component()
    assert largest.items.tolist() == [*"abcd"] and largest.connected and len(largest) == 3
    comparisons.require_connected(largest, "quite")
    assert largest.largest_component() == largest
    assert "NOT CONNECTED" in pairs.report() and "NOT CONNECTED" not in largest.report()


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 40), st.data())
def test_components_agree_with_scipy(n, data):
    code = st.integers(0, n - 1)
    edges = np.array(data.draw(st.lists(st.tuples(code, code), max_size=60)), int).reshape(-1, 2)
    ours = comparisons.connected_components(n, *edges.T)
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    theirs = csgraph.connected_components(graph, directed=False)[1]
    assert len({*zip(ours, theirs, strict=True)}) == len({*ours}) == len({*theirs})
    sizes = np.bincount(ours)
    assert (np.diff(sizes) <= 0).all()
    first = np.array([np.flatnonzero(ours == c)[0] for c in range(len(sizes))])
    assert (np.diff(first)[np.diff(sizes) == 0] > 0).all()


@pytest.mark.parametrize("order", ["forward", "backward", "shuffled"])
def test_a_million_items_in_one_chain(order):
    code = np.arange(1_000_000)
    if order == "backward":
        code = code[::-1]
    elif order == "shuffled":
        code = np.random.default_rng(1).permutation(code)
    assert not comparisons.connected_components(len(code), code[:-1], code[1:]).any()
    assert comparisons.connected_components(len(code), code[:-2], code[1:-1]).sum() == 1


def test_a_million_items_with_one_vote_each(golden):
    n = 500_000
    left, right = np.arange(0, 2 * n, 2), np.arange(1, 2 * n, 2)
    pairs = Comparisons.from_table({"rater": np.arange(n), "left": left, "right": right, "winner": left})
    assert (len(pairs.items), len(pairs)) == (2 * n, n)
    with golden.raises(DataError) as caught:
        comparisons.require_connected(pairs, "quite")
    assert len(str(caught.value)) < 600
    report = pairs.report()
    assert len(report) < 2500 and "500,000 components" in report
    assert pairs.largest_component().items.tolist() == [0, 1]
    assert (pair_table(pairs).wins == 1).all()


def test_report_says_what_deserves_a_second_look(golden):
    table = TABLE | {"left": ["b", "b", "a", "b", "C", "a"]}
    report = Comparisons.from_table(table).report()
    lines = dict(line.strip().split("  ", 1) for line in report.splitlines()[1:])
    lines = {k: v.strip() for k, v in lines.items()}
    assert lines["items"] == "4"
    golden.says(lines["votes"])
    golden.says(lines["pairs compared"])
    golden.says(lines["unanimous pairs"])
    assert lines["repeated votes"] == "2"
    golden.says(lines["ties"])
    golden.says(lines["left won"])
    assert lines["items that always won"] == "1: 'c'"
    assert lines["items that always lost"] == "1: 'C'"
    assert lines["raters with one vote"] == "1"
    assert lines["look-alike items"] == "'C' / 'c'"


def test_all_ties_have_no_left_share():
    assert "left won" not in Comparisons.from_table(chain([*"abc"]), rater=None).report()


def test_pair_table_of_every_kind_of_vote():
    """Each combination of sides, rater and outcome lands in the one cell it belongs to."""
    for (left, right), rater, outcome in product([(0, 1), (1, 0)], (0, 1), (0, 1, 2)):
        word = ("left", "right", "tie")[outcome]
        table = {"left": [0, left], "right": [1, right], "rater": [0, rater], "winner": ["tie", word]}
        found = pair_table(Comparisons.from_table(table))
        expected = np.zeros((3, 1 + rater))
        expected[2, 0] += 1
        expected[outcome if outcome == 2 else outcome ^ (left > right), rater] += 1
        np.testing.assert_array_equal([found.wins, found.losses, found.ties], expected)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 30))
    ids = ["a", "b", " b", "Ä", "1"] if draw(st.booleans()) else [-2, 0, 1, 3]
    sides = st.lists(st.sampled_from(ids), min_size=2, max_size=2, unique=True)
    rows = draw(st.lists(sides, min_size=n, max_size=n))
    left, right = map(list, zip(*rows, strict=True))
    winner = [
        draw(st.sampled_from(["left", "right", "tie", one, other]))
        for one, other in zip(left, right, strict=True)
    ]
    count = [1, *draw(st.lists(st.integers(0, 3), min_size=n - 1, max_size=n - 1))]
    rater = draw(st.lists(st.sampled_from(["p", "q", "r"]), min_size=n, max_size=n))
    return {"rater": rater, "left": left, "right": right, "winner": winner, "count": count}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*are read as names of items")
@settings(deadline=None, derandomize=True, max_examples=200)
@given(tables(), st.randoms(use_true_random=False))
def test_round_trip_and_the_order_of_rows(table, random):
    pairs = Comparisons.from_table(table, count="count")
    assert len(pairs) == sum(table["count"])
    again = Comparisons.from_table(pairs.to_table(), count="count", items=pairs.items)
    assert again == pairs
    order = [*range(len(table["left"]))]
    random.shuffle(order)
    shuffled = {name: [cells[row] for row in order] for name, cells in table.items()}
    assert Comparisons.from_table(shuffled, count="count", items=pairs.items) == pairs
    for frame in (pl.DataFrame(table, strict=False), pd.DataFrame(table)):
        if isinstance(frame, pd.DataFrame) or isinstance(table["left"][0], str):
            assert Comparisons.from_table(frame, count="count") == pairs


@settings(deadline=None, derandomize=True, max_examples=100)
@given(tables())
def test_pair_table_counts_every_vote(table):
    pairs = Comparisons.from_table(table, count="count")
    found = pair_table(pairs)
    assert (found.first < found.second).all()
    key = found.first * found.n_items + found.second
    assert (np.diff(key) > 0).all() and (np.diff(found.start) > 0).all()
    pair = np.repeat(np.arange(len(key)), np.diff(found.start))
    assert (np.diff(pair * found.n_raters + found.rater) > 0).all()
    cells = {}
    for rater, left, right, winner, count in zip(*table.values(), strict=True):
        if not count:
            continue
        i, j = (pairs.items.tolist().index(item) for item in (left, right))
        best = {"left": i, "right": j, left: i, right: j}.get(winner)
        cell = cells.setdefault((min(i, j), max(i, j), rater), [0, 0, 0])
        cell[2 if best is None else int(best == max(i, j))] += count
    columns = zip(
        found.first[pair], found.second[pair], pairs.raters[found.rater], found.wins, found.losses, found.ties, strict=True
    )  # fmt: skip
    assert {(i, j, r): [w, lost, t] for i, j, r, w, lost, t in columns} == cells


folder = os.environ.get("RATERZOO_DATA")


@pytest.mark.skipif(not folder, reason="RATERZOO_DATA names no folder of data")
def test_real_votes(golden):
    frame = pd.read_csv(Path(folder) / "llmfao_crowd_comparisons.csv")
    pairs = Comparisons.from_table(frame)  # its raters are in the column "worker"
    golden.says(repr(pairs))
    assert pairs.connected and len(pairs.components) == 1
    table = pair_table(pairs)
    assert table.wins.sum() + table.losses.sum() + table.ties.sum() == 8931
    assert round(table.ties.sum() / 8931, 3) == 0.389
    golden.says(pairs.report(), "the votes")
    judge = pd.read_csv(Path(folder) / "llmfao_gpt4_comparisons.csv")
    anonymous = Comparisons.from_table(judge)  # there is no column of raters
    assert len(anonymous) == len(judge) and anonymous == Comparisons.from_table(judge, rater=None)
