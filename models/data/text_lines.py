"""Lines of a text file, decoded one by one, so that an error names its line."""

from collections.abc import Iterator
from pathlib import Path

from .errors import DataError

__all__ = ["MAX_LINE", "text_lines"]

MAX_LINE = 1_000_000

_SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\x1f\x8b": "compressed with gzip",
    b"\xff\xfe": "in UTF-16",
    b"\xfe\xff": "in UTF-16",
    b"\x80\x04": "a pickle, which is never read",
    b"\x80\x05": "a pickle, which is never read",
}


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their line ends, without a byte order mark.

    Raises if the file is empty or binary, or a line is not UTF-8 or has over a million bytes.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            yield _decode(line, f"{path.name}, line {number:,}", first=number == 1)
    if number == 0:
        raise DataError("the file is empty", where=path.name, remedy="check what wrote it")


def _decode(line: bytes, place: str, *, first: bool) -> str:
    """Decode one line; on the first, recognise binary formats and strip the byte order mark."""
    if len(line) > MAX_LINE:
        raise DataError(
            "the line is too long",
            allowed=f"{MAX_LINE:,} bytes",
            remedy="check the line ends and the quotes",
            where=place,
        )
    known = [
        what for signature, what in _SIGNATURES.items() if first and line.startswith(signature)
    ]
    if known or b"\0" in line:
        raise DataError(
            f"this is no text: it is {known[0] if known else 'binary'}",
            allowed="CSV, TSV or JSON lines in UTF-8",
            remedy="export it as text, or correct the suffix of the file",
            where=place,
        )
    try:
        return line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte {line[error.start]:#04x} at place {error.start + 1} is not UTF-8",
            value=line[error.start : error.end],
            remedy="save the file as UTF-8",
            where=place,
        ) from None
