"""Features of items: matching by id, standardisation, refusals and warnings."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from raterzoo import models
from raterzoo.models import DataError, DataWarning

from tests.support.data_parts import item_features

ITEMS = np.array(["a", "b", "c", "d"])
TABLE = {"item": ["d", "c", "b", "a"], "x": [1.0, 2, 3, 6], "y": [True, False, True, True]}


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_every_frame_is_read_in_the_order_of_the_items(frame):
    found = item_features(frame(TABLE), ITEMS)
    assert found.names.tolist() == ["x", "y"] and found.names.dtype == object
    assert found.items.tolist() == ITEMS.tolist() and len(found) == 4
    np.testing.assert_allclose(found.mean, [3, 0.75], rtol=1e-15)
    np.testing.assert_allclose(found.scale, [np.sqrt(3.5), np.sqrt(3) / 4], rtol=1e-15)
    raw = np.array([[6, 1], [3, 1], [2, 0], [1, 1]])
    np.testing.assert_allclose(found.values * found.scale + found.mean, raw, rtol=1e-14)


def test_values_are_standardised_whatever_their_size():
    columns = np.random.default_rng(1).normal(size=(50, 4)) * [1, 1e-200, 1e90, 1e-3] + [0, 0, 0, 1e3]
    array = xr.DataArray(columns, {"item": np.arange(50), "feature": list("pqrs")}, ("item", "feature"))
    found = item_features(array, np.arange(50)[::-1])
    np.testing.assert_allclose(found.values.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(found.values.std(axis=0), 1, rtol=1e-10)
    assert found.names.tolist() == list("pqrs")
    transposed = item_features(array.T, np.arange(50)[::-1])
    np.testing.assert_array_equal(transposed.values, found.values)


def test_dataarray_without_names_of_features_numbers_them():
    array = xr.DataArray(np.arange(8.0).reshape(4, 2) ** 2, {"item": ITEMS}, ("item", "embedding"))
    assert item_features(array, ITEMS).names.tolist() == ["embedding 1", "embedding 2"]


@pytest.mark.parametrize("name", ["task_id", "whatever"])
def test_id_column_is_a_synonym_or_the_only_one_that_is_not_of_numbers(name):
    table = {"x": [1.0, 2, 3, 6], name: list("dcba")}
    np.testing.assert_array_equal(
        item_features(table, ITEMS).values,
        item_features({"item": list("dcba"), "x": [1.0, 2, 3, 6]}, ITEMS).values,
    )


def test_integer_ids_and_numbers_as_text():
    found = item_features({"item": [3, 1, 2], "x": ["1.5", " 2", "-3e0"]}, np.array([1, 2, 3]))
    np.testing.assert_allclose(found.values * found.scale + found.mean, [[2], [-3], [1.5]], rtol=1e-14)


LISTS = [[1.0, 2.0], [2.0, 0.5], [3.0, 1.0], [6.0, -1.0]]


def one_array_a_cell(table):
    return pd.DataFrame(table | {"embedding": [np.array(own, np.float32) for own in LISTS]})


def fixed_width(table):
    return pl.DataFrame(table | {"embedding": np.array(LISTS)})


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table, one_array_a_cell, fixed_width])
@pytest.mark.parametrize("ids", ["item", "whatever"])
def test_a_column_of_embeddings_is_a_feature_for_each_place(frame, ids):
    found = item_features(frame({ids: list("dcba"), "embedding": LISTS}), ITEMS)
    assert found.names.tolist() == ["embedding 1", "embedding 2"]
    raw = found.values * found.scale + found.mean
    np.testing.assert_allclose(raw, LISTS[::-1], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("cell", "place"), [(None, "1"), ([2.0, None], "2")])
def test_missing_parts_of_embeddings_are_named(frame, cell, place, golden):
    table = frame({"item": list("dcba"), "embedding": [*LISTS[:2], cell, LISTS[3]]})
    with golden.raises(DataError):
        item_features(table, ITEMS)


def test_a_column_that_counts_the_rows_is_told(golden):
    table = {"item": np.arange(30)[::-1], "x": np.arange(30.0) ** 2, "Unnamed: 0": np.arange(30) + 1}
    with golden.warns(DataWarning):
        item_features(table, np.arange(30))
    with warnings.catch_warnings(action="error"):
        item_features(table | {"Unnamed: 0": np.arange(30)[::-1]}, np.arange(30))


REFUSED = {
    "lists of two lengths": {"item": list("abcd"), "x": [[1, 2], [1, 3], [2], [1, 1]]},
    "a number among lists": {"item": list("abcd"), "x": [[1, 2], [1, 3], 2, [1, 1]]},
    "a list among numbers": {"item": list("abcd"), "x": [1, 2, [1, 2], 3]},
    "lists of text": {"item": list("abcd"), "x": [["p"]] * 4},
    "empty lists": {"item": list("abcd"), "x": [[]] * 4},
    "lists as text": {"item": list("abcd"), "x": ["[1, 2]"] * 4},
    "names as text and integers": pd.DataFrame({"item": list("abcd"), 1: [1, 2, 3, 4], "1": [2, 1, 3, 4]}),
    "missing id": {"item": ["a", None, "c", "d"], "x": [1, 2, 3, 4]},
    "no table": [1, 2],
    "two columns": pd.DataFrame([["a", 1, 2]], columns=["item", "x", "x"]),
    "missing": {"item": list("abcd"), "x": [1, None, 3, 4]},
    "empty text": {"item": list("abcd"), "x": ["1", "", "3", "4"]},
    "infinite": {"item": list("abcd"), "x": [1, 2, np.inf, 4]},
    "too large": {"item": list("abcd"), "x": [1, 2, -1e101, 4]},
    "text": {"item": list("abcd"), "x": ["1", "red", "3", "4"]},
    "decimal comma": {"item": list("abcd"), "x": ["1", "2,5", "3", "4"]},
    "all constant": {"item": list("abcd"), "x": [2, 2, 2, 2]},
    "absent items": {"item": ["a", "z"], "x": [1, 2]},
    "repeated id": {"item": list("abcdb"), "x": [1, 2, 3, 4, 5]},
    "integer ids": {"item": [1, 2, 3, 4], "x": [1, 2, 3, 4]},
    "no ids": {"p": [1, 2, 3, 4], "q": [1, 2, 3, 4]},
    "two texts": {"p": list("abcd"), "q": list("abcd"), "x": [1, 2, 3, 4]},
    "no features": {"item": list("abcd")},
    "array": np.eye(4),
    "no coordinate": xr.DataArray(np.eye(4), dims=("item", "feature")),
    "other dims": xr.DataArray(np.eye(4)),
    "two names": xr.DataArray(np.eye(4)[:, :2], {"item": ITEMS, "feature": ["p", "p"]}, ("item", "feature")),
    "dates": {"item": list("abcd"), "x": np.array(["2020-01-01"] * 4, "M8[D]")},
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_place_and_the_remedy(case, golden):
    features = REFUSED[case]
    with golden.raises(DataError) as found:
        item_features(features, ITEMS)
    assert found.value.remedy


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_cells_of_frames_are_named(frame, golden):
    with golden.raises(DataError):
        item_features(frame({"item": list("abcd"), "x": [1, None, 3, 4]}), ITEMS)


def test_missing_values_of_items_that_are_not_in_the_data_do_not_matter(golden):
    with golden.warns(DataWarning):
        found = item_features({"item": list("abcde"), "x": [1, 2, 3, 6, None]}, ITEMS)
    assert found.mean.tolist() == [3]


def test_constant_columns_are_set_aside_with_a_warning(golden):
    with golden.warns(DataWarning):
        found = item_features(
            {"item": ITEMS, "k": [0.1] * 4, "x": [1, 2, 3, 6], "r": [1, 1, 1, 1 + 2e-16]}, ITEMS
        )
    assert found.names.tolist() == ["x"]


def test_dependent_columns_are_named(golden):
    x = np.array([1.0, 2, 3, 6, 2])
    table = {"item": np.arange(5), "x": x, "free": [1, 0, 0, 1, 1], "twice": 5 - 2 * x}
    with golden.warns(DataWarning):
        item_features(table, np.arange(5))
    table["twice"] = 5 - 2 * x + [0, 0, 0, 0, 1e-3]
    with warnings.catch_warnings(action="error"):
        item_features(table, np.arange(5))


def test_as_many_features_as_items_warn_once(golden):
    table = {"item": ITEMS} | {f"x{k}": np.eye(4)[k] for k in range(4)}
    with golden.warns(DataWarning) as found:
        item_features(table, ITEMS)
    assert len(found) == 1


def test_new_items_are_standardised_by_the_old():
    old = item_features(TABLE, ITEMS)
    new = old.like({"item": ["n", "a"], "y": [0, 1], "x": [10.0, 6]})
    assert new.items.tolist() == ["n", "a"] and new.names is old.names
    np.testing.assert_allclose(new.values[0], ([10, 0] - old.mean) / old.scale, rtol=1e-15)
    np.testing.assert_array_equal(new.values[1], old.values[0])
    chosen = old.like({"item": ["n", "a"], "y": [None, 1], "x": [10.0, 6]}, np.array(["a"]))
    np.testing.assert_array_equal(chosen.values, old.values[:1])


def test_columns_of_new_items_are_matched_by_name(golden):
    old = item_features(TABLE, ITEMS)
    with golden.raises(DataError):
        old.like({"item": ["n"], "xx": [1], "y": [0]})
    with golden.raises(DataError):
        old.like({"item": ["n"], "x": [1], "y": [None]})
    with pytest.warns(DataWarning, match="left out: 'z'"):
        old.like({"item": ["n"], "x": [1], "y": [0], "z": [3]})


def labels_of(items=24):
    table = {"item": np.repeat(np.arange(items), 2), "rater": ["r", "s"] * items}
    return models.Labels.from_table(table | {"label": np.array(["x", "y", "z"])[table["item"] % 3]})


@pytest.mark.parametrize(
    ("column", "warns"),
    [
        (lambda k: k % 3, True),  # the answer
        (lambda k: (k % 3 == 1) * 2.5, True),  # whether it is y
        (lambda k: k % 3 + 1e-9 * k, False),
        (lambda k: k % 2, False),
    ],
)
def test_a_column_that_repeats_the_answers_is_told(column, warns):
    table = {
        "item": np.arange(24),
        "size": np.random.default_rng(1).normal(size=24),
        "copy": column(np.arange(24)),
    }
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        models.dawid_skene(labels_of(), features=table)
    found = [str(own.message) for own in told]
    assert [("'copy' repeats the most frequent answer to every item" in text) for text in found] == [
        True
    ] * warns


@pytest.mark.parametrize(("noise", "warns"), [(0.0, True), (0.01, False)])
def test_a_column_that_repeats_the_scores_is_told(noise, warns):
    rng, item = np.random.default_rng(2), np.repeat(np.arange(24), 2)
    score = rng.normal(size=48)
    scores = models.Scores.from_table({"item": item, "rater": ["r", "s"] * 24, "score": score})
    mean = score.reshape(24, 2).mean(axis=1)
    table = {
        "item": np.arange(24),
        "size": rng.normal(size=24),
        "copy": 3 - 2 * mean + noise * rng.normal(size=24),
    }
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        models.hierarchical_scores(scores, features=table)
    assert [("'copy' repeats the mean score of every item" in str(own.message)) for own in told] == [
        True
    ] * warns
