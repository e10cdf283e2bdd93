"""The container: what it holds, in which order, and what it gives back."""

import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import raterzoo
from raterzoo.models import Comparisons, DataError, PartialRankings

TABLE = {
    "item": ["b", "a", "b", "b", "a", "a"],
    "rater": ["r2", "r1", "r1", "r2", "r2", "r1"],
    "category": ["flu", "cold", "cold", "cold", "flu", "flu"],
    "rank": [2, 1, 1, 1, 4, 1],
}
CATEGORIES = ["flu", "cold", "never"]


def arrays(rankings):
    fields = dataclasses.fields(rankings)
    return {f.name: getattr(rankings, f.name) for f in fields if f.name != "gaps"}


def test_layout_of_a_small_table_by_hand(golden):
    rankings = PartialRankings.from_table(TABLE, categories=CATEGORIES)
    expected = {
        "items": ["b", "a"],
        "raters": ["r2", "r1"],
        "categories": CATEGORIES,
        "annotation_item": [0, 0, 1, 1],
        "annotation_rater": [0, 1, 0, 1],
        "annotation_start": [0, 2, 3, 4, 5],
        "block_start": [0, 1, 2, 3, 4, 6],
        "category_code": [1, 0, 1, 0, 0, 1],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(getattr(rankings, name), values, err_msg=name)
    assert rankings.gaps == 1  # r2 ranks flu 4th and alone
    assert len(rankings) == 4
    golden.says(repr(rankings))


def test_types_are_the_promised_ones_and_arrays_are_read_only():
    rankings = PartialRankings.from_table(TABLE)
    for name in ("annotation_item", "annotation_rater", "category_code"):
        assert getattr(rankings, name).dtype == np.int32
    for name in ("annotation_start", "block_start"):
        assert getattr(rankings, name).dtype == np.int64
    for array in arrays(rankings).values():
        assert not array.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        rankings.items = rankings.raters
    with pytest.raises(TypeError, match="unhashable"):
        hash(rankings)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
@pytest.mark.parametrize("ids", ["text", "integers"])
def test_every_frame_gives_the_same_rankings(frame, ids):
    table = TABLE
    if ids == "integers":
        table = {
            "item": [7, -3, 7, 7, -3, -3],
            "rater": [2, 1, 1, 2, 2, 1],
            "category": [10, 9, 9, 9, 10, 10],
            "rank": TABLE["rank"],
        }
    rankings = PartialRankings.from_table(frame(table))
    assert rankings == PartialRankings.from_table({k: np.array(v) for k, v in table.items()})
    assert rankings.items.dtype.kind == ("U" if ids == "text" else "i")


def test_columns_may_have_other_names_and_frames_other_columns():
    frame = pd.DataFrame(TABLE).rename(columns={"item": "case", "rank": "place"}).assign(note=1.5)
    rankings = PartialRankings.from_table(frame, item="case", rank="place")
    assert rankings == PartialRankings.from_table(TABLE)


@pytest.mark.parametrize("ranks", [["2", "1", "1", "1", " 4 ", "+1"], [2.0, 1, 1, 1, 4, 1]])
def test_ranks_may_be_decimal_text_or_whole_floats(ranks):
    assert PartialRankings.from_table(TABLE | {"rank": ranks}) == PartialRankings.from_table(TABLE)


def test_text_is_kept_exactly():
    table = TABLE | {"item": [" b", "a ", " b", " b", "a ", "a "]}
    assert PartialRankings.from_table(table).items.tolist() == [" b", "a "]


def test_nullable_and_categorical_ids_are_ids():
    frame = pd.DataFrame(TABLE).astype({"item": "category", "rank": "Int64", "rater": "string"})
    assert PartialRankings.from_table(frame) == PartialRankings.from_table(TABLE)


def test_categories_come_from_the_type_of_the_column():
    expected = PartialRankings.from_table(TABLE, categories=CATEGORIES)
    frame = pd.DataFrame(TABLE)
    for ordered in (False, True):
        category = pd.Categorical(frame["category"], CATEGORIES, ordered=ordered)
        assert PartialRankings.from_table(frame.assign(category=category)) == expected
    enum = pl.DataFrame(TABLE).with_columns(pl.col("category").cast(pl.Enum(CATEGORIES)))
    assert PartialRankings.from_table(enum) == expected
    numbers = frame.assign(category=pd.Categorical([2, 1, 1, 1, 2, 2], [3, 2, 1], ordered=True))
    assert PartialRankings.from_table(numbers).categories.tolist() == [3, 2, 1]


def test_encodings_declare_no_categories():
    expected = PartialRankings.from_table(TABLE)
    pl.Series(["another", "frame"], dtype=pl.Categorical)
    coded = pl.DataFrame(TABLE).with_columns(pl.col("category").cast(pl.Categorical))
    assert PartialRankings.from_table(coded) == expected
    dictionary = pa.table(TABLE | {"category": pa.array(TABLE["category"]).dictionary_encode()})
    assert PartialRankings.from_table(dictionary) == expected


def test_declared_categories_win_over_the_type():
    frame = pd.DataFrame(TABLE)
    frame["category"] = pd.Categorical(frame["category"], CATEGORIES)
    rankings = PartialRankings.from_table(frame, categories=("cold", "flu"))
    assert rankings.categories.tolist() == ["cold", "flu"]


def test_ranks_with_gaps_are_renumbered_and_counted():
    table = {"item": [1] * 4, "rater": [1] * 4, "category": [1, 2, 3, 4], "rank": [1, 1, 3, 9]}
    rankings = PartialRankings.from_table(table)
    assert rankings.gaps == 1
    assert rankings.to_table()["rank"].tolist() == [1, 1, 2, 3]
    assert rankings == PartialRankings.from_table(table | {"rank": [1, 1, 2, 3]})


def test_from_blocks_of_lists_and_of_mappings_agree_with_the_table():
    lists = [[[["cold"], ["flu"]], [["cold"]]], [[["flu"]], [["flu", "cold"]]]]
    of_lists = PartialRankings.from_blocks(
        lists, items=["b", "a"], raters=["r2", "r1"], categories=CATEGORIES
    )
    mapping = {
        "b": {"r2": (["cold"], ["flu"]), "r1": [("cold",)]},
        "a": {"r2": [["flu"]], "r1": [np.array(["cold", "flu"])]},
    }
    expected = PartialRankings.from_table(TABLE, categories=CATEGORIES)
    assert of_lists == expected
    assert PartialRankings.from_blocks(mapping, categories=CATEGORIES) == expected


def test_none_is_a_rater_who_did_not_annotate():
    rankings = PartialRankings.from_blocks([[None, [[3], [5]]], [[[5]]]])
    assert rankings.items.tolist() == [0, 1]
    assert rankings.raters.tolist() == [1, 0]
    assert len(rankings) == 2


def test_select_keeps_the_order_asked_for_and_the_closed_set():
    rankings = PartialRankings.from_table(TABLE | {"rater": list("xyzxzy")}, categories=CATEGORIES)
    chosen = rankings.select(items=["a"])
    assert chosen.items.tolist() == ["a"]
    assert chosen.raters.tolist() == ["z", "y"]
    assert chosen.categories.tolist() == CATEGORIES
    both = rankings.select(items=np.array(["a", "b"]))
    assert both.items.tolist() == ["a", "b"]
    assert len(both) == len(rankings)
    assert rankings.select(items=rankings.items) == rankings


@pytest.mark.parametrize(
    "items, words",
    [
        (["c"], ["'c' is not one of the items", "'b'"]),
        ([1], ["1 are integers", "text such as 'b'"]),
        (["a", "a"], ["place 2", "'a' is listed twice"]),
        ("a", ["items='a'", "items=[...]"]),
        ([], ["0 ids"]),
        ([None], ["place 1", "missing"]),
        ({"a", "b"}, ["is a set"]),
    ],
)
def test_select_refuses(items, words):
    with pytest.raises(DataError) as caught:
        PartialRankings.from_table(TABLE).select(items=items)
    for word in words:
        assert word in str(caught.value)


def test_nearest_item_is_named(golden):
    items = ["case 17" if item == "a" else "case 2" for item in TABLE["item"]]
    rankings = PartialRankings.from_table(TABLE | {"item": items})
    with golden.raises(DataError):
        rankings.select(items=["case17"])


def test_equality_sees_every_array_and_the_kind_of_ids():
    rankings = PartialRankings.from_table(TABLE)
    assert rankings == PartialRankings.from_table(TABLE)
    assert rankings != PartialRankings.from_table(TABLE, categories=CATEGORIES)
    assert rankings != PartialRankings.from_table(TABLE | {"rank": [1, 2, 1, 1, 4, 1]})
    assert rankings != PartialRankings.from_table(TABLE | {"item": [2, 1, 2, 2, 1, 1]})
    assert rankings != "rankings"


def test_pickle_between_workers_keeps_rankings_and_errors():
    rankings = PartialRankings.from_table(TABLE)
    assert pickle.loads(pickle.dumps(rankings)) == rankings
    with pytest.raises(DataError) as caught:
        PartialRankings.from_table(TABLE | {"rank": [0] * 6})
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    assert (error.row, error.column, error.value) == (1, "rank", 0)


def test_report_counts_and_names_look_alikes(golden):
    table = TABLE | {"category": ["flu", "Flu ", "cold", "cold", "flu", "flu"]}
    lines = dict(
        line.strip().split("  ", 1) for line in PartialRankings.from_table(table).report().splitlines()[1:]
    )
    lines = {name: text.strip() for name, text in lines.items()}
    assert lines["items"] == lines["raters"] == "2"
    golden.says(lines["annotations"])
    golden.says(lines["categories"])
    golden.says(lines["annotations with ties"])
    assert lines["ranks with gaps"] == "1 annotations, renumbered"
    assert lines["items with one annotation"] == "0"
    assert lines["look-alike categories"] in ("'flu' / 'Flu '", "'Flu ' / 'flu'")


LISTS = [["a", "b"], ["b", ["a", "c"]], ["c"], ["a", "c"]]
OF_LISTS = {"item": [1, 1, 2, 2], "rater": [*"rsrs"]}


@pytest.mark.filterwarnings("ignore:reading 'ranking' as category:raterzoo.models.DataWarning")
@pytest.mark.parametrize("cells", [LISTS, [json.dumps(own) for own in LISTS], [str(own) for own in LISTS]])
def test_lists_in_a_column_are_rankings_best_first(cells):
    rows = {"item": [1, 1, 1, 1, 1, 2, 2, 2], "rater": [*"rrsssrss"], "category": [*"abbaccac"]}
    plain = PartialRankings.from_table(rows | {"rank": [1, 2, 1, 2, 2, 1, 1, 2]})
    assert raterzoo.read(OF_LISTS | {"ranking": cells}) == plain
    assert (
        PartialRankings.from_table(pd.DataFrame(OF_LISTS | {"order": cells}), category="order", rank="order")
        == plain
    )


@pytest.mark.filterwarnings("ignore:reading 'ranking' as category:raterzoo.models.DataWarning")
def test_a_list_that_is_none_is_refused_with_its_row(golden):
    signs = {"item": [1, 1], "rater": [*"rs"], "ranking": ["a > b", "b"]}
    assert raterzoo.read(signs).block_start.tolist() == [0, 1, 2, 3]
    for cell in ("a,b", "[a", [], ["a", ["b", "a"]], None, ["a", ""]):
        with golden.raises(DataError) as refused:
            raterzoo.read(OF_LISTS | {"ranking": [*LISTS[:3], cell]})
        assert refused.value.row == 4
    dropped = OF_LISTS | {"ranking": [*LISTS[:3], None]}
    with pytest.warns(raterzoo.models.DataWarning, match="1 of 7 rows"):
        assert len(raterzoo.read(dropped, missing="drop")) == 3


def test_the_remedies_of_other_tables_of_preferences_can_be_followed(golden):
    ends = {"item": [1], "rater": ["r"], "best": ["a"], "worst": ["d"]}
    votes = {
        "prompt": [1, 2],
        "response_1": [*"xy"],
        "response_2": [*"yx"],
        "chosen": [*"xx"],
        "rejected": [*"yy"],
    }
    for table in (ends, votes):
        with golden.raises(DataError):
            raterzoo.read(table)
        with golden.raises(DataError):
            raterzoo.read(table, "labels")
    written = {"item": [1] * 4, "rater": ["r"] * 4, "category": [*"abcd"], "rank": [1, 2, 2, 3]}
    assert raterzoo.read(written).block_start.tolist() == [0, 1, 3, 4]
    named = raterzoo.read(votes, "comparisons", columns={"left": "chosen", "right": "rejected"})
    assert named == Comparisons.from_pairs([("x", "y")] * 2)
