"""Four hundred malformed inputs from outside: frames of four libraries, Parquet, netCDF and zarr files, and files of settings.

Each is refused: a frame by one error of ours, a file by exit code 2 and one message.
"""

import io
import json
import shutil

import dask.dataframe as dd
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from raterzoo.models import Labels

from tests.support.command_line import run, write
from tests.support.fuzz_doors import TABLE_DOORS, judged, legible
from tests.support.fuzz_posteriors import write_posterior_to
from tests.support.fuzz_seeds import TABLES

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "dask": lambda table: dd.from_pandas(pd.DataFrame(table), npartitions=1).compute(scheduler="synchronous"),
}
IDS = {
    "rankings": ("item", "rater", "category"), "labels": ("item", "rater", "label"),
    "comparisons": ("rater", "left", "right"), "scores": ("item", "rater"),
}  # fmt: skip
NUMBERS = {"rankings": "rank", "labels": "count", "comparisons": "count", "scores": "score"}
ANONYMOUS = {("comparisons", "rater"), ("scores", "rater")}  # which need no column
NO_ID = (None, "", "a\0", "x" * 10_001)
NO_NUMBER = ("x", "0_9", "١", "1e400", "nan", "1,5", "", " ", "--1", "0x1", "1e", "<b>")


def malformed(kind):
    """Yield tables with one mistake, with its name."""
    table = TABLES[kind]
    for role in IDS[kind]:
        for cell in NO_ID:
            yield f"{role} {cell!r:.9}", table | {role: [table[role][0], cell, *table[role][2:]]}
        if (kind, role) not in ANONYMOUS:
            yield f"no {role}", {name: cells for name, cells in table.items() if name != role}
    for cell in NO_NUMBER:
        texts = [str(number) for number in table[NUMBERS[kind]]]
        yield f"number {cell!r}", table | {NUMBERS[kind]: [*texts[:-1], cell]}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_are_refused(library):
    for kind in IDS:
        for name, table in malformed(kind):
            said = judged(TABLE_DOORS[kind], FRAMES[library](table))
            assert said != "valid" and "remedy" in said, (kind, name)


def test_frames_that_are_not_computed_are_refused(golden):
    lazy = (dd.from_pandas(pd.DataFrame(TABLES["labels"]), npartitions=2), pl.LazyFrame(TABLES["labels"]))
    for frame in lazy:
        said = judged(Labels.from_table, frame)
        golden.says(said, "not a table")


def says(*arguments):
    """Run a command that must refuse what it is given, and return its one message."""
    result = run(*arguments)
    lines = result.stderr.strip().splitlines()
    message = "\n".join(line for line in lines if "has no checksums" not in line)  # of posteriors by xarray
    assert result.exit_code == 2, (arguments, result.output, result.exception)
    assert message.startswith("raterzoo: ") and "Traceback" not in result.output
    assert message.count("\n") == 0 and legible(message) and 20 < len(message) < 2_000, message
    return message


CUTS = (0, 0.01, 0.1, 0.5, 0.99)
NETCDF = (
    *(k / 15 for k in range(15)),
    b"CDF\x01",
    b"\x80\x04N.",
    b"x" * 99,
    b"PK\x03\x04",
)  # parts of a file, or contents
CHANGES = (
    {"shape": [-1, 1, 1, 1]}, {"shape": [2**40, 1, 1, 1]}, {"data_type": "object"}, {"data_type": "pickle"},
    {"codecs": [{"name": "numcodecs.pickle"}]}, {"codecs": []}, {"codecs": 3}, {"zarr_format": 9}, {"node_type": "x"},
    {"chunk_grid": None}, {"dimension_names": ["a"]}, {"shape": "x"}, {"fill_value": {"x": []}},
)  # fmt: skip
CONTENTS = (b"", b"{}", b"[]", b"null", b"{", b"\xff", b"[" * 9_999)


@pytest.mark.slow
def test_parquet_files_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    for kind in IDS:
        for name, table in malformed(kind):
            pq.write_table(pa.table(table), path)
            message = says("check", path, "--kind", kind)
            assert "t.parquet" in message or "column" in message, (kind, name)
        file = io.BytesIO()
        pq.write_table(pa.table(TABLES[kind]), file)
        whole = file.getvalue()
        for cut in CUTS:
            path.write_bytes(whole[: int(cut * len(whole))])
            says("check", path, "--kind", kind)


def test_netcdf_files_are_refused(tmp_path):
    whole = write_posterior_to(tmp_path / "whole.nc").read_bytes()
    path, predictions = tmp_path / "p.nc", write(tmp_path / "p.csv", TABLES["ranked"])
    for own in NETCDF:
        content = own if isinstance(own, bytes) else whole[: int(own * len(whole))]
        path.write_bytes(content)
        assert "p.nc" in says("evaluate", path, predictions)


def test_zarr_stores_are_refused(tmp_path):
    whole = write_posterior_to(tmp_path / "whole.zarr")
    root, predictions = tmp_path / "p.zarr", write(tmp_path / "p.csv", TABLES["ranked"])
    array = json.loads((whole / "posterior" / "plausibility" / "zarr.json").read_text())
    contents = (*(json.dumps(array | change).encode() for change in CHANGES), *CONTENTS)
    for content in contents:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(whole, root)
        (root / "posterior" / "plausibility" / "zarr.json").write_bytes(content)
        says("evaluate", root, predictions)
    shutil.rmtree(root)
    root.mkdir()
    says("evaluate", root, predictions)


SETTINGS = {
    "empty": b"", "NUL": b"a\0b\n", "UTF-16": "yes\nno\n".encode("utf-16"), "latin-1": b"caf\xe9\nno\n", "one": b"yes\n",
    "twice": b"yes\nyes\n", "another": b"maybe\nno\n", "reserved": b"OTHER\nyes\nno\n", "long": b"x" * 10_001 + b"\nyes\nno\n",
    "pickle": b"\x80\x04N.", "gzip": b"\x1f\x8b" + b"\0" * 9, "a long line": b"x" * 1_000_001,
}  # fmt: skip


@pytest.mark.parametrize("what", SETTINGS)
def test_files_of_settings_are_refused(tmp_path, what):
    table, path = write(tmp_path / "t.csv", TABLES["labels"]), tmp_path / "s.csv"
    path.write_bytes(SETTINGS[what])
    says("check", table, "--kind", "labels", "--categories", path)
    posterior = write_posterior_to(tmp_path / "p.nc")
    says("evaluate", posterior, write(tmp_path / "p.csv", TABLES["ranked"]), "--by", path)


def test_there_are_four_hundred():
    tables = sum(len([*malformed(kind)]) for kind in IDS)
    files = len(IDS) * len(CUTS) + len(NETCDF) + len(CHANGES) + len(CONTENTS) + 2 * len(SETTINGS)
    print(f"{len(FRAMES) * tables:,} frames and {tables + files:,} files are refused")
    assert len(FRAMES) * tables + tables + files >= 400
