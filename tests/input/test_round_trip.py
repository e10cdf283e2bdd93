"""Properties of the door for any legal table: round trip, row order, frame library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raterzoo.models import PartialRankings

everywhere = settings(derandomize=True, deadline=None, max_examples=150)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
text_ids = texts.filter(lambda text: text.strip() != "" and text != "OTHER")
integer_ids = st.integers(-(2**63), 2**63 - 1)


@st.composite
def tables(draw):
    """Draw rows (item, rater, category, rank), no category twice in an annotation, in any order."""
    ids = st.one_of(
        *(
            st.lists(kind, min_size=size, max_size=4, unique=True)
            for kind in (text_ids, integer_ids)
            for size in (2,)
        )
    )
    items, raters, categories = draw(ids), draw(ids), draw(ids)
    cells = [(i, r, c) for i in items for r in raters for c in categories]
    kept = draw(st.lists(st.sampled_from(cells), min_size=1, unique=True))
    ranks = draw(st.lists(st.integers(1, 5) | st.just(1000), min_size=len(kept), max_size=len(kept)))
    columns = [list(column) for column in zip(*kept, strict=True)]
    table = dict(zip(("item", "rater", "category"), columns, strict=True)) | {"rank": ranks}
    return table, categories


def rows(rankings):
    table = rankings.to_table()
    return {*zip(*(column.tolist() for column in table.values()), strict=True)}


@everywhere
@given(tables())
def test_round_trip_through_the_table(drawn):
    table, categories = drawn
    rankings = PartialRankings.from_table(table, categories=categories)
    again = PartialRankings.from_table(rankings.to_table(), categories=rankings.categories)
    assert again == rankings
    assert again.gaps == 0


@everywhere
@given(tables(), st.randoms(use_true_random=False))
def test_row_order_matters_for_the_order_of_items_alone(drawn, random):
    table, categories = drawn
    rankings = PartialRankings.from_table(table, categories=categories)
    order = list(range(len(table["rank"])))
    random.shuffle(order)
    shuffled = PartialRankings.from_table(
        {name: [cells[row] for row in order] for name, cells in table.items()}, categories=categories
    )
    assert rows(shuffled) == rows(rankings)
    assert shuffled.gaps == rankings.gaps
    assert {*shuffled.items.tolist()} == {*rankings.items.tolist()}


@pytest.mark.slow
@everywhere
@given(tables())
def test_frames_of_every_library_agree(drawn):
    table, categories = drawn
    expected = PartialRankings.from_table(table, categories=categories)
    for frame in (pd.DataFrame(table), pl.DataFrame(table), pa.table(table)):
        assert PartialRankings.from_table(frame, categories=categories) == expected


@everywhere
@given(tables())
def test_nothing_is_dropped_and_order_within_annotations_is_kept(drawn):
    table, categories = drawn
    rankings = PartialRankings.from_table(table, categories=categories)
    read = rankings.to_table()
    assert len(read["rank"]) == len(table["rank"])
    names = ("item", "rater", "category")
    before = dict(zip(zip(*(table[n] for n in names), strict=True), table["rank"], strict=True))
    after = dict(
        zip(zip(*(read[n].tolist() for n in names), strict=True), read["rank"].tolist(), strict=True)
    )
    assert before.keys() == after.keys()
    for a in before:
        for b in before:
            if a[:2] == b[:2]:
                assert np.sign(before[a] - before[b]) == np.sign(after[a] - after[b])


@everywhere
@given(tables(), st.data())
def test_select_is_the_table_of_these_items(drawn, data):
    table, categories = drawn
    rankings = PartialRankings.from_table(table, categories=categories)
    items = data.draw(st.lists(st.sampled_from(rankings.items.tolist()), min_size=1, unique=True))
    chosen = rankings.select(items=items)
    assert chosen.items.tolist() == items
    assert rows(chosen) == {row for row in rows(rankings) if row[0] in items}
    assert PartialRankings.from_table(chosen.to_table(), categories=categories) == chosen


@everywhere
@given(tables())
def test_blocks_give_the_same_rankings(drawn):
    table, categories = drawn
    rankings = PartialRankings.from_table(table, categories=categories)
    nested = {}
    for item, rater, category, rank in zip(
        *(cells.tolist() for cells in rankings.to_table().values()), strict=True
    ):
        blocks = nested.setdefault(item, {}).setdefault(rater, [])
        if rank > len(blocks):
            blocks.append([])
        blocks[-1].append(category)
    assert PartialRankings.from_blocks(nested, categories=categories) == rankings
