"""Ways to spoil a file or a table: bytes, lines, encodings, cells and columns."""

import datetime
import decimal
import math
import random

import numpy as np
import pandas as pd

__all__ = ["CELLS", "LABELS", "spoil_bytes", "spoil_table"]

LABELS = (
    "<script>document.title='run'</script>", "</script><img src=x onerror=alert(1)>", "=cmd|' /C calc'!A0", "@SUM(1+1)", "+1",
    "-1", "../../etc/passwd", "a/b\\c", "con", "$\\frac{", "$x^2$", "%s%n{0}{{7*7}}", "\u202egnp.exe", "e\u0301" * 40,
    "\u0627\u0644\u0639", "\u200b", "a\u200bb", "\ufeff", "\x1b[31mred", "\x07", "\u2028", "\x85", "\r", "a\nb", "\ud800",
    "\udfff", "a\0", "\0", "", " ", "\t", "OTHER", "nan", "NA", "None", "null", "item", "left", "tie", "x" * 300,
    "x" * 10_001, "\U0001f9d1\u200d\u2695\ufe0f", "\U0010ffff", "\ufffe", "1", "01", "1.0", "1e5", "1e400", "-0", "0x10",
    "1_000", "\u0661", "1" * 400, "9" * 5000, "inf", "-Infinity", "1,5", "true", "2020-01-01", "'", '"', '""', "`", ";", "|",
)  # fmt: skip

CELLS = (
    *LABELS, None, math.nan, math.inf, -math.inf, 0, -0.0, -1, 1, 2, 1e308, -1e308, 5e-324, 2.0**53, 1.5, 10**30, -(10**400),
    2**63, 2**63 - 1, -(2**63), 2**31, 2**31 - 1, 1_000_000, 1_000_001, True, False, b"i1", 1j, [1], (1, 2), {"a": 1}, {1},
    frozenset(), object(), print, int, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1),
    decimal.Decimal("1.5"), decimal.Decimal("sNaN"), decimal.Decimal("Infinity"), decimal.Decimal("1e1000000"),
    np.float32(1.5), np.float16("nan"), np.int8(-1), np.uint64(2**64 - 1), np.bool_(True), np.str_("i1"), np.bytes_(b"i1"),
    np.datetime64("2020"), np.datetime64("NaT", "D"), np.timedelta64(3, "s"), np.array([1, 2]), np.array(1), pd.NA, pd.NaT,
    pd.Timestamp("2020"), pd.Interval(0, 1), float, ...,
)  # fmt: skip

TOKENS = (
    *(text.encode("utf-8", "surrogatepass") for text in LABELS if len(text) < 500),
    b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80\x04", b"PAR1", b"\r\n",
    b"\n\n", b"\r", b",,", b"\t", b'"', b'""', b'"\n', b"{", b"}", b"[", b"]", b":", b"[[[[", b'{"a":', b"NaN", b"-Infinity",
    b"1e999", b"\\u0000", b"\\ud800", b"\\", b"true", b"null", b'"item":', b"item,", b"\x1a", b"\x00" * 8, b"\xff" * 8,
    b"\x7f\xff\xff\xff", b"9" * 400, b"1" + b"0" * 4400, b"x" * 10_001,
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp500", "utf-7")


def spoil_bytes(content: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Return the bytes of a file after one to six changes; `other` is a file to take pieces of."""
    if rng.random() < 0.03:
        return content.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 4, 16, 64, 1024)))
        match rng.randrange(9):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(data):
                data[at] = rng.choice((0, 1, 9, 10, 13, 34, 44, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                data[at:at] = rng.choice(TOKENS)
            case 3:
                data[at:end] = rng.choice(TOKENS)
            case 4:
                del data[at:end]
            case 5:
                data[at:at] = data[at:end] * rng.choice((1, 2, 30))
            case 6 if rng.random() < 0.3:
                del data[at:]
            case 7 if other:
                start = rng.randrange(len(other))
                data[at:at] = other[start : start + rng.choice((1, 8, 64, 512))]
            case _:
                lines = bytes(data).splitlines(keepends=True)
                rng.shuffle(lines)
                data = bytearray(b"".join(lines))
    return bytes(data)


def spoil_table(table: dict, rng: random.Random) -> dict:
    """Return a table after one to four changes of its cells, columns or rows."""
    spoilt = {name: list(cells) for name, cells in table.items()}
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not spoilt:
            return spoilt
        name = rng.choice(list(spoilt))
        cells = spoilt[name]
        match rng.randrange(14):
            case 0 | 1 | 2 | 3 | 4 if cells:
                cells[rng.randrange(len(cells))] = rng.choice(CELLS)
            case 5:
                spoilt[name] = [rng.choice(CELLS)] * len(cells)
            case 6:
                spoilt[name] = [rng.choice(LABELS) for _ in cells]
            case 7:
                del spoilt[name]
            case 8:
                spoilt = {(rng.choice(LABELS) if n == name else n): c for n, c in spoilt.items()}
            case 9:
                spoilt[rng.choice(LABELS)] = list(cells)
            case 10:
                rows = [rng.randrange(len(cells)) for _ in range(rng.choice((0, 1, 3, 9)))] if cells else []
                spoilt = {n: [c[r] for r in rows if r < len(c)] for n, c in spoilt.items()}
            case 11:
                spoilt[name] = cells[: rng.randrange(len(cells) + 1)]
            case 12 if cells:
                old, new = rng.choice(cells), rng.choice(LABELS)
                spoilt = {n: [new if c is old else c for c in own] for n, own in spoilt.items()}
            case _:
                kind = rng.choice((str, repr, hash, lambda cell: rng.choice((1, 2.5, 10**20)), type))
                try:
                    spoilt[name] = [kind(cell) for cell in cells]
                except TypeError:
                    spoilt[name] = [None] * len(cells)
    return spoilt
