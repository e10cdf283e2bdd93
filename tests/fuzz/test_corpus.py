"""Over a thousand inputs that are wrong at a place that is known: each is refused by a message that a person can read.

Then inputs that the fuzzer made, and each that it once found to do something else.
"""

import datetime
import decimal
import math
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from polars.exceptions import PanicException
from raterzoo.evaluation import predictions_from_table, survey_equivalence
from raterzoo.evaluation.surveys.subsets import _LogChoose
from raterzoo.models import Labels

from tests.support.fuzz_doors import FILE_DOORS, FRAMES, TABLE_DOORS, bounded, judged
from tests.support.fuzz_mutations import spoil_bytes, spoil_table
from tests.support.fuzz_seeds import FORMATS, TABLES, as_csv, as_json_lines, written

IDS = {
    "rankings": ("item", "rater", "category"), "labels": ("item", "rater", "label"), "wide": ("item",), "counts": ("item",),
    "comparisons": ("rater", "left", "right"), "scores": ("item", "rater"), "levels": ("item",),
    "ranked": ("item", "category", "classifier"), "scored": ("item", "category", "classifier"),
}  # fmt: skip
NUMBERS = {
    "rankings": ("rank",), "labels": ("count",), "patterns": ("count",), "counts": ("no", "yes"), "comparisons": ("count",),
    "scores": ("score", "count"), "levels": ("1", "-4"), "ranked": ("rank",), "scored": ("score",),
}  # fmt: skip
NEITHER = (
    None, math.nan, math.inf, True, np.bool_(False), b"i1", 1j, ["i1"], ("i1",), {"i1": 1}, {1}, object(), print, int, ...,
    datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1), np.datetime64("2020-01-01", "ns"),
    np.datetime64("NaT", "D"), np.timedelta64(3, "s"), np.array([1, 2]), pd.NA, pd.NaT, pd.Timestamp("2020"), pd.Interval(0, 1),
    decimal.Decimal("sNaN"), "", "a\0", "\ud800", "\0", 10**5000,
)  # fmt: skip
NO_ID = (*NEITHER, 2.0, decimal.Decimal(3))
NO_NUMBER = (*NEITHER, "x", "1,5", "0x10", "1_0", "nan", "1" * 400 + "x", "<b>1</b>", "=1+1")


def refused(door, given, *, words=""):
    """Pass something wrong through a door, and return what it says."""
    said = judged(door, given)
    assert said != "valid", f"{ascii(given)[:200]} is taken for valid"
    assert words in said
    return said


@pytest.mark.parametrize("kind", IDS)
def test_cells_that_are_no_ids(kind):
    for column in IDS[kind]:
        for place, cell in enumerate(NO_ID):
            row = place % len(TABLES[kind][column])
            cells = list(TABLES[kind][column])
            cells[row] = cell
            refused(TABLE_DOORS[kind], TABLES[kind] | {column: cells}, words="row ")


@pytest.mark.parametrize("kind", NUMBERS)
def test_cells_that_are_no_numbers(kind):
    for column in NUMBERS[kind]:
        for place, cell in enumerate(NO_NUMBER):
            row = place % len(TABLES[kind][column])
            cells = list(TABLES[kind][column])
            cells[row] = cell
            refused(TABLE_DOORS[kind], TABLES[kind] | {column: cells}, words=repr(column))


@pytest.mark.parametrize("kind", IDS)
def test_columns_that_are_missing_empty_short_or_named_twice(kind):
    table, door = TABLES[kind], TABLE_DOORS[kind]
    needed = {*IDS[kind], *NUMBERS.get(kind, ())} - {"count", "no", "yes", "1", "-4"}
    if kind == "wide":  # without a column of the items rows are items
        needed = {"a"}
    for column in needed:
        if column != "rater" or kind not in ("comparisons", "scores"):  # whose raters may be anonymous
            refused(door, {name: cells for name, cells in table.items() if name != column})
        refused(door, table | {column: table[column][:-1]})
        refused(door, table | {column: 3})
    refused(door, {name: [] for name in table})
    refused(door, {})
    for nothing in (None, 3, "text", b"bytes", object(), [1, 2], np.zeros((2, 2, 2))):
        refused(door, nothing)


BROKEN = {
    "empty": b"",
    "NUL": b"\0" * 64,
    "UTF-16": "item,rater\n1,2\n".encode("utf-16"),
    "UTF-32": "item,rater\n1,2\n".encode("utf-32"),
    "EBCDIC": "item,rater\n1,2\n".encode("cp500"),
    "latin-1": b"item,rater\ncaf\xe9,2\n",
    "half a surrogate": b"item,rater\n\xed\xa0\x80,2\n",
    "beyond Unicode": b"item,rater\n\xf4\x90\x80\x80,2\n",
    "overlong": b"item,rater\n\xc0\xaf,2\n",
    "BOM alone": b"\xef\xbb\xbf",
    "pickle": b"\x80\x04cos\nsystem\n(S'exit 1'\ntR.",
    "ZIP": b"PK\x03\x04" + b"\0" * 64,
    "gzip": b"\x1f\x8b" + b"\0" * 64,
    "Parquet without end": b"PAR1" + b"\xff" * 64,
    "HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 64,
    "HTML": b"<html><script>alert(1)</script></html>\n",
    "XML bomb": b'<!DOCTYPE z [<!ENTITY a "aaaa">]><z>&a;</z>\n',
    "a quote": b'"',
    "quotes": b'"""""""\n' * 9,
    "blank lines": b"\n\n\n\n",
    "one long line": b"x" * 1_000_001,
    "many columns": b",".join(b"%d" % n for n in range(100_000)) + b"\n1\n",
    "a long cell": b"item,rater\n" + b"x" * 10_001 + b",1\n",
    "deep lists": b"[" * 5_000 + b"\n",
    "deep objects": b'{"a":' * 5_000 + b"\n",
    "a list": b"[1, 2]\n",
    "a number": b"1\n",
    "numbers without end": b'{"item": ' + b"9" * 5_000 + b"}\n",
    "a key twice": b'{"item": 1, "item": 2}\n',
    "half a pair in a key": b'{"\\ud800": 1, "rater": 2}\n',
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("what", BROKEN)
def test_files_that_are_broken(tmp_path, suffix, what):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(BROKEN[what])
    for kind in ("rankings", "scores", "groups"):
        refused(FILE_DOORS[kind], path)


@pytest.mark.parametrize("kind", FILE_DOORS)
def test_files_that_are_cut(tmp_path, kind):
    whole = written(kind, ".parquet")
    path = tmp_path / "t.parquet"
    for cut in range(1, len(whole), len(whole) // 12):
        path.write_bytes(whole[:-cut])
        refused(FILE_DOORS[kind], path, words="no Parquet file")


@pytest.mark.parametrize("kind", [*TABLE_DOORS])
def test_tables_that_a_fuzzer_spoils(kind):
    rng = random.Random(kind)
    outcomes = set()
    for _ in range(60):
        frame = FRAMES[rng.choice([*FRAMES])]
        table = spoil_table(TABLES[kind], rng)
        try:
            given = frame(table)
        except (Exception, PanicException):  # the frame library refuses it
            continue
        outcomes.add(judged(TABLE_DOORS[kind], given))
    assert len(outcomes) > 10


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_that_a_fuzzer_spoils(tmp_path, suffix):
    rng = random.Random(suffix)
    path = tmp_path / f"t{suffix}"
    outcomes = set()
    for kind in [*FILE_DOORS] * 6:
        path.write_bytes(spoil_bytes(written(kind, suffix), rng, written("labels", suffix)))
        outcomes.add(judged(FILE_DOORS[kind], path))
    assert len(outcomes) > 10


def of_file(tmp_path, kind, suffix, content):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    return judged(FILE_DOORS[kind], path)


def test_messages_are_short_and_steer_no_terminal(tmp_path, golden):
    for name in ("\x1b[31mred", "\u202egnp", "\x1a", "x" * 9_000):
        table = dict(zip((name, "group"), TABLES["groups"].values(), strict=False))
        assert "columns are" in of_file(tmp_path, "groups", ".csv", as_csv(table))
        golden.says(of_file(tmp_path, "sides", ".csv", as_csv(table)), "columns that")
    assert "'\\x1b" in refused(TABLE_DOORS["ranked"], {"\x1b": [1]})
    table = {str(n): [1] for n in range(3_000)}
    for kind in ("groups", "sides"):
        assert of_file(tmp_path, kind, ".csv", as_csv(table)).endswith("..., ...") is False
    assert "..." in refused(TABLE_DOORS["scored"], table)


def test_half_a_surrogate_pair_that_json_spells(tmp_path):
    table = TABLES["scores"] | {"rater": ["\ud800", *TABLES["scores"]["rater"][1:]]}
    assert "column 'rater'" in of_file(tmp_path, "scores", ".jsonl", as_json_lines(table))
    table = {"\udfff": [1, 2], "item": [1, 2]}
    assert "half a surrogate" in of_file(tmp_path, "scores", ".jsonl", as_json_lines(table))


def test_text_in_parquet_that_is_no_text(tmp_path):
    whole = written("wide", ".parquet")
    at = whole.index(b"yes")
    assert "Parquet" in of_file(tmp_path, "wide", ".parquet", whole[:at] + b"\xff" + whole[at + 1 :])


def test_numbers_of_predictions_beyond_floats_and_ids_beyond_integers():
    table = TABLES["scored"] | {"score": [10**400, 1, 2, 3, 4, 5]}
    refused(TABLE_DOORS["scored"], table, words="row 1, column 'score'")
    table = TABLES["scored"] | {"item": [2**63, 1, 2, 3, 4, 5]}
    refused(TABLE_DOORS["scored"], table, words="row 1, column 'item'")
    wide = pl.DataFrame(
        {"item": [1, 2], "category": ["a", "b"], "score": [2**70, 1]}, schema_overrides={"score": pl.Int128}
    )
    found = predictions_from_table(wide, score="score")
    assert found.sel(item=1, category="a") == 2.0**70


def test_times_are_no_ids_of_predictions(golden):
    for times in (np.array(["2020", "2021"], "M8[ns]"), pd.to_datetime(["2020", "2021"])):
        table = {"item": times, "category": ["a", "b"], "score": [0.5, 0.5]}
        with golden.raises(ValueError):
            predictions_from_table(table, score="score")


def test_ids_of_predictions_do_not_end_at_a_NUL(golden):
    table = {"item": ["a", "a\0"], "category": ["x", "x"], "score": [0.5, 0.5]}
    with golden.raises(ValueError):
        predictions_from_table(table, score="score")


def test_whole_cells_beside_cells_of_any_kind():
    table = {"a": [1.0, b"x", None], "b": [1.0, 2.0, None]}
    refused(TABLE_DOORS["wide"], table, words="column 'a'")


def test_patterns_that_stand_for_many_items():
    table = {"count": [100_000, 100_000], "a": ["y", "n"], "b": ["y", ""]}
    labels = Labels.from_wide(table, raters=["a", "b"], count="count")
    assert len(labels) == 300_000
    assert labels.counts.sum(axis=0).tolist() == [100_000, 200_000]


def test_sums_of_counts_that_no_cell_may_hold_are_several_rows():
    most = 2**31 - 1
    for kind in ("labels", "comparisons", "scores"):
        double = {name: [cells[0], cells[0], cells[1]] for name, cells in TABLES[kind].items()}
        assert judged(TABLE_DOORS[kind], double | {"count": [most, most, 1]}) == "valid"
    table = {"item": [1, 1, 1], "rater": [2, 2, 2], "label": ["a", "a", "b"], "n": [most, 2, 1]}
    read = Labels.from_table(table, count="n").to_table()
    assert read["label"].tolist() == ["a", "a", "b"]
    assert read["count"].tolist() == [most, 2, 1]


def test_sizes_are_checked_before_anything_is_allocated(golden):
    """A hundred thousand items, each with a category of its own, fill 80 GB as a table of items and categories."""
    many = np.arange(100_000)
    labels = Labels.from_table({"item": many, "rater": many % 2, "label": many})
    assert "100,000 declared" in labels.report()
    for given, door in (
        (labels, lambda labels: labels.counts),
        ({"item": many, "category": many, "score": many}, lambda t: predictions_from_table(t, score="score")),
    ):
        golden.says(refused(door, given))
    for argument in ("categories", "raters"):
        huge = {argument: range(10**9)}
        read = Labels.from_wide if argument == "raters" else Labels.from_table
        golden.says(refused(lambda own, read=read: read(TABLES["labels"], **own), huge))


def test_cells_that_cannot_be_compared_with_text():
    for cell in (np.array([1, 2]), pd.NA, [""]):
        judged(TABLE_DOORS["wide"], TABLES["wide"] | {"a": ["yes", cell, "no", "no"]})
        judged(TABLE_DOORS["labels"], TABLES["labels"] | {"gold": [cell, *TABLES["labels"]["gold"][1:]]})
    table = TABLES["wide"] | {"a": ["yes", np.array([1, 2]), "no", "no"]}
    refused(TABLE_DOORS["wide"], table, words="row 2, column 'a'")


def test_counts_of_surveys_that_no_table_can_hold():
    most = 2**31 - 1
    counts = xr.DataArray(
        [[most, 5], [7, most]], {"item": ["i", "j"], "category": ["no", "yes"]}, ("item", "category")
    )
    predictions = counts.copy(data=[[1.0, 0.0], [0.0, 1.0]])
    with bounded():
        found = survey_equivalence(
            counts,
            predictions,
            combiner="plurality",
            scorer="agreement",
            max_raters=3,
            bootstrap=5,
            random_seed=1,
        )
    assert np.isfinite(found["power_curve"]).all()
    n, y = np.array([most, 2_000_000]), np.array([3, 2])
    exact = [math.log(math.comb(int(a), int(b))) for a, b in zip(n, y, strict=True)]
    np.testing.assert_allclose(_LogChoose(most)(n, y), exact, rtol=1e-9)
    np.testing.assert_allclose(
        _LogChoose(9)(np.array([9, 5]), np.array([4, 5])), [math.log(126), 0], atol=1e-12
    )


def test_tables_without_columns(tmp_path):
    for kind in ("ranked", "scored", "sides", "groups", "rankings"):
        assert "no columns" in of_file(tmp_path, kind, ".jsonl", b"{}\n{}\n")


def test_every_frame_of_a_legal_table_is_read():
    for kind in ("rankings", "labels", "comparisons", "scores"):
        for frame in FRAMES.values():
            if frame is not FRAMES["text"] and frame is not FRAMES["categorical"]:
                assert judged(TABLE_DOORS[kind], frame(TABLES[kind])) == "valid"
    for kind, door in FILE_DOORS.items():
        assert kind in TABLES and callable(door)


@pytest.mark.parametrize("kind", FILE_DOORS)
def test_every_format_of_a_legal_table_is_read(tmp_path, kind):
    for suffix in FORMATS:
        assert of_file(tmp_path, kind, suffix, written(kind, suffix)) == "valid"


def test_dictionaries_of_arrow_are_text():
    table = pa.table(
        {
            name: pa.array(cells).dictionary_encode()
            for name, cells in TABLES["rankings"].items()
            if name != "rank"
        }
    )
    table = table.append_column("rank", pa.array(TABLES["rankings"]["rank"]))
    assert judged(TABLE_DOORS["rankings"], table) == "valid"
