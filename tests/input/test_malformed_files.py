"""Every malformed file gives one typed error that names the file, the place and the remedy."""

import gzip
import json
import os
import pickle
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from raterzoo.models import DataError, DataWarning, PartialRankings, Scores
from raterzoo.models.data import read_table
from raterzoo.models.data.reading import files as readers
from raterzoo.models.data.reading.files import read_file

HEADER = "item,rater,category,rank\n"
ROWS = "1,a,flu,1\n1,a,cold,2\n2,b,flu,1\n"
RECORDS = [
    {"item": 1, "rater": "a", "category": "flu", "rank": 1},
    {"item": 1, "rater": "a", "category": "cold", "rank": 2},
    {"item": 2, "rater": "b", "category": "flu", "rank": 1},
]
EXPECTED = {
    "item": ["1", "1", "2"],
    "rater": ["a", "a", "b"],
    "category": ["flu", "cold", "flu"],
    "rank": [1, 2, 1],
}
JSON = "".join(json.dumps(record) + "\n" for record in RECORDS)


def refused(path, **arguments):
    with pytest.raises(DataError) as caught:
        read_table(path, **arguments)
    message = str(caught.value)
    assert caught.value.remedy
    assert path.name in message
    assert "\n" not in message
    assert len(message) < 600
    return message


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.csv", HEADER + ROWS),
        ("a.CSV", "\ufeff" + HEADER + ROWS),
        ("a.csv", (HEADER + ROWS).replace("\n", "\r\n") + "\r\n\r\n"),
        ("a.csv", (HEADER + ROWS).rstrip("\n")),
        ("a.csv", HEADER + ROWS.replace("flu", '"flu"')),
        ("a.tsv", (HEADER + ROWS).replace(",", "\t")),
        ("a.tsv", HEADER + ROWS),
        *(("a.csv", (HEADER + ROWS).replace(",", mark)) for mark in ";\t|"),
        (
            "a.csv",
            HEADER.replace(",", ";").replace("\n", ";a, b, c\n")
            + ROWS.replace(",", ";").replace("\n", ";\n"),
        ),
        ("a.json", json.dumps(RECORDS, indent=1)),
        ("a.json", json.dumps({"rows": RECORDS})),
        ("a.json", json.dumps({name: [record[name] for record in RECORDS] for name in RECORDS[0]})),
        ("a.json", pd.DataFrame(RECORDS).to_json()),
        ("a.json", JSON),
        ("a.jsonl", JSON),
        ("a.ndjson", "\ufeff" + JSON + "\n\n"),
    ],
)
def test_good_files_give_text_ids(tmp_path, name, content):
    frame = read_table(write(tmp_path, name, content))
    assert PartialRankings.from_table(frame) == PartialRankings.from_table(EXPECTED)


def test_good_parquet_gives_text_ids(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame(RECORDS).to_parquet(path)
    assert PartialRankings.from_table(read_table(path)) == PartialRankings.from_table(EXPECTED)


def test_quoted_cells_hold_anything(tmp_path):
    label = 'flu, "the ordinary"\nkind'
    path = tmp_path / "a.csv"
    pd.DataFrame(EXPECTED).replace("flu", label).to_csv(path, index=False)
    assert label in PartialRankings.from_table(read_table(path)).categories.tolist()


def test_ids_keep_their_zeros_and_words_for_nothing(tmp_path):
    content = HEADER + "007,NA,null,1\n007,NA,nan,1\n"
    with pytest.warns(DataWarning, match="no_answer="):
        rankings = PartialRankings.from_table(read_table(write(tmp_path, "a.csv", content)))
    assert rankings.items.tolist() == ["007"]
    assert rankings.raters.tolist() == ["NA"]
    assert rankings.categories.tolist() == ["nan", "null"]


@pytest.mark.parametrize("first", ["c0", "item"])
def test_absurd_numbers_of_columns_are_refused_at_the_header(tmp_path, first, golden):
    names = ",".join([first, *(f"c{place}" for place in range(1, 100_000))])
    path = tmp_path / "wide.csv"
    path.write_text(f"{names}\n{'x,' * 99_999}x\n")
    with golden.raises(DataError):
        read_table(path)


@pytest.mark.slow
def test_absurd_numbers_of_columns_are_refused_in_parquet(tmp_path):
    frame = pd.DataFrame([["x"] * 10_001], columns=[f"c{place}" for place in range(10_001)])
    frame.to_parquet(tmp_path / "wide.parquet")
    with pytest.raises(DataError, match="10,001 columns"):
        read_table(tmp_path / "wide.parquet")


def test_columns_are_renamed(tmp_path, golden):
    path = write(tmp_path, "a.csv", HEADER.replace("item", "case") + ROWS)
    frame = read_table(str(path), rename={"case": "item"})
    assert list(frame.columns) == ["item", "rater", "category", "rank"]
    swapped = read_table(path, rename={"rater": "category", "category": "rater"})
    assert list(swapped.columns) == ["case", "category", "rater", "rank"]
    golden.says(refused(path, rename={"item": "case"}))
    golden.says(refused(path, rename={"case": "rank"}))


@pytest.mark.parametrize(
    "name,content",
    [
        ("a.csv", ""),
        ("a.csv", "\ufeff"),
        ("a.csv", HEADER),
        ("a.csv", HEADER + "\n\n"),
        ("a.csv", "\n" + HEADER + ROWS),
        ("a.csv", HEADER + ROWS + "3,b,flu\n"),
        ("a.csv", HEADER + "1,a,flu,mild,1\n" + ROWS),
        ("a.csv", HEADER + "1,a,flu,1\n\n2,b,flu,1\n"),
        ("a.csv", HEADER + ROWS + '3,b,"flu,1\n'),
        ("a.csv", HEADER + ROWS + '3,b,"flu"x,1\n'),
        ("a.csv", HEADER + "1,a,flu,1\r2,b,flu,1\r"),
        ("a.csv", HEADER + ROWS + "3,b," + "x" * 2_000_000 + ",1\n"),
        ("a.csv", b"\0" * 100),
        ("a.csv", HEADER.encode() + b"1,a,\0,1\n"),
        ("a.csv", HEADER.encode() + b"1,a,caf\xe9,1\n"),
        ("a.csv", (HEADER + ROWS).encode("utf-16")),
        ("a.csv", b"PAR1" + b"x" * 50),
        ("a.csv", b"PK\x03\x04" + b"x" * 50),
        pytest.param("a.csv", gzip.compress(HEADER.encode(), mtime=0), id="gzip"),
        pytest.param("a.csv", pickle.dumps(EXPECTED), id="pickle named csv"),
        ("a.jsonl", ""),
        ("a.jsonl", JSON[:-5]),
        ("a.jsonl", JSON.replace("\n", "\n\n", 1)),
        ("a.jsonl", json.dumps(RECORDS, indent=1)),
        ("a.jsonl", json.dumps(RECORDS)),
        ("a.jsonl", JSON + "3\n"),
        ("a.jsonl", JSON + '"text"\n'),
        ("a.jsonl", JSON + "null\n"),
        ("a.jsonl", JSON.replace('"rank": 2', '"rank": 2, "rank": 3')),
        ("a.jsonl", "[" * 100_000 + "\n"),
        ("a.jsonl", '{"a":' * 100_000 + "\n"),
        ("a.jsonl", b'{"item": "\xff"}\n'),
        ("a.parquet", b""),
        ("a.parquet", HEADER + ROWS),
        ("a.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"),
        ("a.json", "{}"),
        ("a.json", "3"),
        ("a.json", "[1]"),
        ("a.json", "[" * 100_000),
        ("a.json", json.dumps(RECORDS)[:-5]),
        ("a.json", '[{"a": 1, "a": 2}]'),
        ("a.json", "".join(f'{{"{k}": 1}}\n' for k in range(9_000))),
        ("a.xlsx", b"PK\x03\x04"),
        ("a.xlsx", HEADER + ROWS),
        pytest.param("a.pkl", pickle.dumps(EXPECTED), id="pickle"),
        ("a", HEADER + ROWS),
    ],
)  # fmt: skip
def test_malformed_file(tmp_path, name, content, golden):
    golden.says(refused(write(tmp_path, name, content)))


AWKWARD = {
    "long": ["x" * 200_000, "y\n" * 100_000, ""],
    "nested": [{"a": [1]}, [2], None],
    "number": [float("nan"), float("inf"), "9" * 20_000],
}


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl"])
def test_a_column_that_nobody_asked_for_stops_nothing(tmp_path, suffix):
    records = [
        record | dict(zip(AWKWARD, cells, strict=True))
        for record, *cells in zip(RECORDS, *AWKWARD.values(), strict=True)
    ]
    records[1]["new"] = "a key that the others lack"
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        blank = pd.DataFrame(records).assign(**{"": 1})
        pd.concat([blank, blank[[""]]], axis=1).to_csv(path, index=False)
    else:
        lines = [json.dumps(record) for record in records]
        path.write_text("\n".join(lines) if suffix == "jsonl" else f"[{','.join(lines)}]")
    assert PartialRankings.from_table(read_file(path).columns) == PartialRankings.from_table(EXPECTED)
    for name, column in {**AWKWARD, "extra": 3}.items():
        assert PartialRankings.from_table(EXPECTED | {name: column}) == PartialRankings.from_table(EXPECTED)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", HEADER + ROWS + "3,b," + "x" * 10_001 + ",1\n"),
        ("a.csv", HEADER + ROWS + '3,b,"' + "x\n" * 200_000 + '",1\n'),
        ("a.jsonl", JSON + '{"item": 1, "rater": 2, "category": 3}\n'),
        ("a.jsonl", JSON.replace('"rank": 2', '"rank": NaN')),
        ("a.jsonl", JSON.replace('"rank": 2', '"rank": -Infinity')),
        ("a.jsonl", JSON.replace('"rank": 2', '"rank": [2]')),
        ("a.jsonl", JSON.replace('"cold"', '{"a": {}}')),
        ("a.jsonl", JSON.replace("cold", "x" * 10_001)),
        ("a.jsonl", JSON.replace("cold", "\\ud800")),
        ("a.jsonl", JSON.replace('"rank": 2', '"rank": ' + "9" * 20_000)),
    ],
)
def test_cells_are_refused_where_they_are_read(tmp_path, name, content, golden):
    with golden.raises(DataError) as caught:
        PartialRankings.from_table(read_file(write(tmp_path, name, content)).columns)
    assert len(str(caught.value)) < 600


def test_excel(tmp_path, golden):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [
        [None],
        ["item", "rater", None, "category", "rank"],
        *([r["item"], r["rater"], 1, r["category"], 1.0 * r["rank"]] for r in RECORDS),
    ]:
        book.active.append(row)
    path = tmp_path / "a.xlsx"
    book.save(path)
    assert PartialRankings.from_table(read_table(path)) == PartialRankings.from_table(EXPECTED)
    book.create_sheet("notes")
    book.save(path)
    with golden.warns(DataWarning):
        read_table(path)


@pytest.mark.parametrize("cut", range(1, 6000, 500))
def test_truncated_excel(tmp_path, cut):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append([*EXPECTED])
    path = tmp_path / "a.xlsx"
    book.save(path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert "no Excel workbook" in refused(path)


def test_excel_without_openpyxl_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "install raterzoo[excel]" in refused(write(tmp_path, "a.xlsx", b"PK\x03\x04"))


def test_what_is_no_file(tmp_path, golden):
    assert "does not exist" in refused(tmp_path / "none.csv")
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    golden.says(refused(folder))
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    golden.says(refused(pipe))


def test_file_that_cannot_be_opened(tmp_path, monkeypatch):
    path = write(tmp_path, "a.csv", HEADER + ROWS)

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(readers.READERS, ".csv", denied)
    assert "Permission denied" in refused(path)


def test_size_is_checked_before_reading(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # a hole: takes no space
    assert "1,073,741,825 bytes" in refused(path)


@pytest.mark.parametrize("cut", range(1, 400, 7))
def test_truncated_parquet(tmp_path, cut):
    path = tmp_path / "a.parquet"
    pd.DataFrame(RECORDS).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert "no Parquet file" in refused(path)


def test_parquet_that_holds_more_than_it_seems(tmp_path, golden):
    path = tmp_path / "rows.parquet"
    many = pa.repeat(pa.scalar(1, pa.int8()), 60_000_000)
    pq.write_table(pa.table(dict.fromkeys(EXPECTED, many)), path)
    assert path.stat().st_size < 5_000_000
    assert "240,000,000 cells" in refused(path)
    path = tmp_path / "text.parquet"
    text = pa.DictionaryArray.from_arrays(pa.repeat(0, 100_000).cast(pa.int32()), ["x" * 1_000_000])
    pq.write_table(pa.table({"item": text, "rank": pa.repeat(1, 100_000)}), path, store_schema=False)
    assert path.stat().st_size < 1_000_000
    with golden.raises(DataError):
        Scores.from_table(read_table(path), score="rank")


def test_parquet_with_columns_of_one_name(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], ["item", "item"]), path)
    refused(path)


def test_parquet_without_pyarrow_names_what_is_missing(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pd.DataFrame(RECORDS).to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "install pyarrow" in refused(path)


def test_empty_cells_reach_the_door(tmp_path, golden):
    path = write(tmp_path, "a.csv", HEADER + "1,a,flu,1\n1,,cold,2\n")
    with golden.raises(DataError):
        PartialRankings.from_table(read_table(path))
    path = write(tmp_path, "a.jsonl", JSON.replace('"rank": 2', '"rank": null'))
    with pytest.raises(DataError, match="missing cell") as error:  # None or NaN, by the version of pandas
        PartialRankings.from_table(read_table(path))
    assert (error.value.row, error.value.column) == (2, "rank")
