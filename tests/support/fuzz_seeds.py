"""Tables that are legal, of every kind and layout: what the fuzzer spoils, and the tests of its findings too."""

import csv
import io
import json
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["FORMATS", "TABLES", "as_csv", "as_json_lines", "as_parquet", "as_tsv", "written"]

ITEMS = ["i1", "i1", "i1", "i2", "i2", "i3", "i3", "i4"]
RATERS = ["a", "a", "b", "b", "c", "a", "c", "b"]

TABLES = {
    "rankings": {
        "item": ITEMS,
        "rater": RATERS,
        "category": ["flu", "cold", "flu", "acne", "flu", "cold", "acne", "flu"],
        "rank": [1, 2, 1, 1, 1, 1, 1, 1],
    },
    "labels": {
        "item": ITEMS,
        "rater": RATERS,
        "label": ["yes", "no", "yes", "yes", "no", "no", "no", "yes"],
        "count": [1, 1, 2, 1, 1, 1, 3, 0],
        "gold": ["yes", "yes", "yes", "", "", "no", "no", ""],
    },
    "wide": {
        "item": ["i1", "i2", "i3", "i4"],
        "a": ["yes", "no", "", "yes"],
        "b": ["yes", "yes", "no", ""],
        "c": ["no", "yes", "no", "no"],
    },
    "patterns": {"count": [2, 1, 3], "a": ["y", "n", "n"], "b": ["y", "y", ""]},
    "counts": {"item": ["i1", "i2", "i3"], "no": [0, 2, 3], "yes": [5, 1, 0]},
    "comparisons": {
        "rater": RATERS,
        "left": ["x", "x", "y", "z", "w", "x", "z", "w"],
        "right": ["y", "z", "z", "w", "x", "w", "y", "y"],
        "winner": ["left", "right", "tie", "left", "x", "w", "right", "tie"],
        "count": [1, 2, 1, 1, 1, 0, 1, 4],
    },
    "scores": {
        "item": ITEMS,
        "rater": RATERS,
        "score": [1.5, 2.0, -3.25, 0.0, 4.0, 1e3, 2.5, 7.0],
        "count": [1, 1, 2, 1, 1, 1, 3, 1],
    },
    "levels": {"item": ["i1", "i2", "i3"], "1": [0, 2, 3], "2.5": [5, 1, 0], "-4": [0, 1, 1]},
    "ranked": {
        "item": ["i1", "i1", "i2", "i3", "i4"],
        "category": ["flu", "cold", "flu", "acne", "flu"],
        "rank": [1, 2, 1, 1, 1],
        "classifier": ["m", "m", "m", "m", "m"],
    },
    "scored": {
        "item": ["i1", "i1", "i2", "i2", "i3", "i3"],
        "category": ["yes", "no", "yes", "no", "yes", "no"],
        "score": [0.25, 0.75, 0.5, 0.5, 1.0, 0.0],
        "classifier": ["m"] * 6,
    },
    "orders": {"item": ["i1", "i2", "i3"], "score": [0.5, -1.25, 3], "classifier": ["m"] * 3},
    "sides": {"item": ["i1", "i2", "i3"], "probability": [0.25, 1.0, 0.0]},
    "groups": {"category": ["flu", "cold", "acne"], "group": ["high", "low", "low"], "value": [2, 1, 1]},
    "item_groups": {"item": ["i1", "i2", "i3"], "group": ["north", "south", "north"]},
}  # fmt: skip


def as_csv(table, delimiter=","):
    """Return a table as the bytes of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=False))
    return text.getvalue().encode("utf-8", "surrogatepass")


def as_tsv(table):
    """Return a table as the bytes of a TSV file."""
    return as_csv(table, "\t")


def as_json_lines(table):
    """Return a table as the bytes of a file of JSON lines."""
    rows = zip(*table.values(), strict=False)
    lines = (json.dumps(dict(zip(table, row, strict=True)), default=str) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def as_parquet(table):
    """Return a table as the bytes of a Parquet file; columns that Arrow cannot type become text."""
    columns = {}
    for name, cells in table.items():
        try:
            columns[str(name)] = pa.array(list(cells))
        except (pa.ArrowException, OverflowError, TypeError, UnicodeError):
            columns[str(name)] = pa.array([ascii(cell) for cell in cells])
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


FORMATS = {".csv": as_csv, ".tsv": as_tsv, ".jsonl": as_json_lines, ".parquet": as_parquet}


@cache
def written(kind, suffix):
    """Return a legal table of a kind as the bytes of a file."""
    return FORMATS[suffix](TABLES[kind])
