"""Labels in Parquet files: found by folder or list, compared by their footers, read one at a time."""

import importlib

import numpy as np
import pandas as pd
import pytest
from raterzoo.models import DataError, Labels, LabelShards
from raterzoo.models.data.label_shards import closed_set, identity, labels_in

FIRST = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "Ann"], "label": ["cat", "dog", "cat"]}
SECOND = {"item": [3, 4, 4], "rater": ["Eve", "Bob", "Ann"], "label": ["cat", "cat", "cat"]}


def write(folder, **tables):
    for name, table in tables.items():
        pd.DataFrame(table).to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def test_files_of_a_folder_in_the_order_of_their_names(tmp_path):
    write(tmp_path, b=SECOND, a=FIRST, _metadata=FIRST)
    (tmp_path / "_SUCCESS").touch()
    shards = LabelShards.from_parquet(tmp_path)
    assert [path.name for path in shards.files] == ["a.parquet", "b.parquet"]
    assert shards.rows == (3, 3) and repr(shards) == "LabelShards(2 files, 6 rows)"
    assert LabelShards.from_parquet([tmp_path / "b.parquet"]).files == shards.files[1:]


def test_a_file_is_read_as_its_table(tmp_path):
    shards = LabelShards.from_parquet(write(tmp_path, a=FIRST, b=SECOND), categories=["dog", "cat"])
    assert shards.labels(0) == Labels.from_table(FIRST, categories=["dog", "cat"])
    assert shards.labels(1) == Labels.from_table(SECOND, categories=["dog", "cat"])


def test_columns_by_other_names_and_categories_of_all_files(tmp_path):
    names = {"item": "task", "rater": "worker", "label": "response"}
    tables = [{names[role]: cells for role, cells in own.items()} for own in (FIRST, SECOND)]
    shards = LabelShards.from_parquet(write(tmp_path, a=tables[0], b=tables[1]), **names)
    assert sorted(labels_in(shards, 0)) == ["cat", "dog"] and labels_in(shards, 1) == ["cat"]
    closed = closed_set(shards, [labels_in(shards, 0), labels_in(shards, 1)])
    assert closed.tolist() == ["cat", "dog"]
    assert len(shards.labels(1, closed)) == 3


WRONG = [
    ({"b": {**SECOND, "item": list("xyz")}}, r"b.parquet, column 'item': the column is text, but integers in a.parquet"),
    ({"b": {**SECOND, "rater": [1.0, np.nan, 2.0]}}, "b.parquet, column 'rater': the column is of type double"),
    ({"b": {"item": [1], "rater": ["Ann"]}}, "b.parquet: there is no column 'label', which a.parquet has"),
    ({"b": {name: cells[:0] for name, cells in SECOND.items()}}, "b.parquet: the file has no rows"),
    ({"a": {"item": [1], "rater": ["Ann"]}}, "a.parquet: .*label"),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "message"), WRONG)
def test_wrong_files_are_named(tmp_path, tables, message):
    write(tmp_path, **({"a": FIRST} | tables))
    with pytest.raises(DataError, match=message):
        LabelShards.from_parquet(tmp_path)


def test_an_empty_file_is_named(tmp_path):
    write(tmp_path, a=FIRST)
    (tmp_path / "b.parquet").touch()
    with pytest.raises(DataError, match=r"b.parquet: this is no Parquet file"):
        LabelShards.from_parquet(tmp_path)


def test_no_file(tmp_path):
    with pytest.raises(
        DataError, match=r"no file \*.parquet in the folder; remedy: give the folder of the files"
    ):
        LabelShards.from_parquet(tmp_path)
    (tmp_path / "inside").mkdir()
    write(tmp_path / "inside", a=FIRST)
    with pytest.raises(DataError, match="but in folders inside; remedy: list the files in their order"):
        LabelShards.from_parquet(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        LabelShards.from_parquet(tmp_path / "lost.parquet")
    with pytest.raises(DataError, match="no file is named"):
        LabelShards.from_parquet([])
    own = tmp_path / "inside" / "a.parquet"
    with pytest.raises(DataError, match="named twice"):
        LabelShards.from_parquet([own, own])


def test_missing_is_a_word(tmp_path):
    with pytest.raises(DataError, match="missing='maybe' is no treatment"):
        LabelShards.from_parquet(write(tmp_path, a=FIRST), missing="maybe")


def test_one_category_is_refused(tmp_path):
    shards = LabelShards.from_parquet(write(tmp_path, a=SECOND))
    with pytest.raises(DataError, match="column 'label': 'cat' is the only category"):
        closed_set(shards, [labels_in(shards, 0)])


def test_without_pyarrow_the_remedy_is_said(tmp_path, monkeypatch):
    write(tmp_path, a=FIRST)
    plain = importlib.import_module

    def without(name, *more):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return plain(name, *more)

    monkeypatch.setattr("raterzoo.models.data.reading.files.import_module", without)
    with pytest.raises(DataError, match=r"a.parquet: reading Parquet needs pyarrow; remedy: install pyarrow"):
        LabelShards.from_parquet(tmp_path)


def test_identity_changes_with_the_files(tmp_path):
    shards = LabelShards.from_parquet(write(tmp_path, a=FIRST))
    before = identity(shards)
    write(tmp_path, a={name: cells * 2 for name, cells in FIRST.items()})
    assert identity(shards) != before
