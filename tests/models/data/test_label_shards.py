"""Labels in Parquet files: found by folder or list, compared by their footers, read one at a time."""

import importlib

import numpy as np
import pandas as pd
import pytest
from raterzoo.models import DataError, Labels, LabelShards
from raterzoo.models.data import label_shards

FIRST = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "Ann"], "label": ["cat", "dog", "cat"]}
SECOND = {"item": [3, 4, 4], "rater": ["Eve", "Bob", "Ann"], "label": ["cat", "cat", "cat"]}


def write(folder, **tables):
    for name, table in tables.items():
        pd.DataFrame(table).to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def test_files_of_a_folder_in_the_order_of_their_names(tmp_path, golden):
    write(tmp_path, b=SECOND, a=FIRST, _metadata=FIRST)
    (tmp_path / "_SUCCESS").touch()
    shards = LabelShards.from_parquet(tmp_path)
    assert [path.name for path in shards.files] == ["a.parquet", "b.parquet"]
    assert shards.rows == (3, 3)
    golden.says(repr(shards))
    assert LabelShards.from_parquet([tmp_path / "b.parquet"]).files == shards.files[1:]


def test_a_file_is_read_as_its_table(tmp_path):
    shards = LabelShards.from_parquet(write(tmp_path, a=FIRST, b=SECOND), categories=["dog", "cat"])
    assert shards.labels(0) == Labels.from_table(FIRST, categories=["dog", "cat"])
    assert shards.labels(1) == Labels.from_table(SECOND, categories=["dog", "cat"])


def test_columns_by_other_names_and_categories_of_all_files(tmp_path):
    names = {"item": "task", "rater": "worker", "label": "response"}
    tables = [{names[role]: cells for role, cells in own.items()} for own in (FIRST, SECOND)]
    shards = LabelShards.from_parquet(write(tmp_path, a=tables[0], b=tables[1]), **names)
    assert sorted(label_shards.labels_in(shards, 0)) == ["cat", "dog"] and label_shards.labels_in(
        shards, 1
    ) == ["cat"]
    closed = label_shards.closed_set(
        shards, [label_shards.labels_in(shards, 0), label_shards.labels_in(shards, 1)]
    )
    assert closed.tolist() == ["cat", "dog"]
    assert len(shards.labels(1, closed)) == 3


WRONG = [
    {"b": {**SECOND, "item": list("xyz")}},
    {"b": {**SECOND, "rater": [1.0, np.nan, 2.0]}},
    {"b": {"item": [1], "rater": ["Ann"]}},
    {"b": {name: cells[:0] for name, cells in SECOND.items()}},
    {"a": {"item": [1], "rater": ["Ann"]}},
]  # fmt: skip


@pytest.mark.parametrize("tables", WRONG)
def test_wrong_files_are_named(tmp_path, tables, golden):
    write(tmp_path, **({"a": FIRST} | tables))
    with golden.raises(DataError):
        LabelShards.from_parquet(tmp_path)


def test_an_empty_file_is_named(tmp_path, golden):
    write(tmp_path, a=FIRST)
    (tmp_path / "b.parquet").touch()
    with golden.raises(DataError):
        LabelShards.from_parquet(tmp_path)


def test_no_file(tmp_path, golden):
    with golden.raises(DataError):
        LabelShards.from_parquet(tmp_path)
    (tmp_path / "inside").mkdir()
    write(tmp_path / "inside", a=FIRST)
    with golden.raises(DataError):
        LabelShards.from_parquet(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        LabelShards.from_parquet(tmp_path / "lost.parquet")
    with golden.raises(DataError):
        LabelShards.from_parquet([])
    own = tmp_path / "inside" / "a.parquet"
    with pytest.raises(DataError, match="named twice"):
        LabelShards.from_parquet([own, own])


def test_missing_is_a_word(tmp_path, golden):
    with golden.raises(DataError):
        LabelShards.from_parquet(write(tmp_path, a=FIRST), missing="maybe")


def test_one_category_is_refused(tmp_path, golden):
    shards = LabelShards.from_parquet(write(tmp_path, a=SECOND))
    with golden.raises(DataError):
        label_shards.closed_set(shards, [label_shards.labels_in(shards, 0)])


def test_without_pyarrow_the_remedy_is_said(tmp_path, monkeypatch, golden):
    write(tmp_path, a=FIRST)
    plain = importlib.import_module

    def without(name, *more):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return plain(name, *more)

    monkeypatch.setattr("raterzoo.models.data.reading.files.import_module", without)
    with golden.raises(DataError):
        LabelShards.from_parquet(tmp_path)


def test_identity_changes_with_the_files(tmp_path):
    shards = LabelShards.from_parquet(write(tmp_path, a=FIRST))
    before = label_shards.identity(shards)
    write(tmp_path, a={name: cells * 2 for name, cells in FIRST.items()})
    assert label_shards.identity(shards) != before
