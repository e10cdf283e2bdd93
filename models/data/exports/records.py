"""Records of an export: JSON with the place of every value, so that an error says where it looked and for what."""

import json
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from os import SEEK_CUR
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import crc32
from zlib import error as ZlibError

from ...._messages import first_reprs, quoted_error, short_repr
from ..errors import DataError
from ..reading.files import MAX_BYTES, refuse_unreadable

JSON_LINES = (".jsonl", ".ndjson")
ARCHIVE = ".eval"  # a zip archive of JSON files
SUFFIXES = (".json", *JSON_LINES, ARCHIVE)
ZSTANDARD = 93  # compression method of a zip archive
ENCRYPTED = 1  # flag of a member
LOCAL_HEADER = struct.Struct("<4s22x2H")  # before each member: signature, lengths of name and extra field
LOCAL_SIGNATURE = b"PK\x03\x04"
_DAMAGED = (BadZipFile, ZlibError, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)


class _Repeated(dict[str, Any]):
    """Object in which keys are written twice: they are refused where they are read, not where they are unused."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        times = Counter(name for name, _ in pairs)
        self.twice = {name for name, own in times.items() if own > 1}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Parse an object; remembers keys that are written twice."""
    record = dict(pairs)
    return record if len(record) == len(pairs) else _Repeated(pairs)


@dataclass(frozen=True)
class Node:
    """Value in an export, and its place; integers are their decimal text, as ids are."""

    value: Any
    place: str
    row: int = 0  # of its record, from 1; 0 outside the records

    def get(self, *names: str) -> "Node | None":
        """Value of the first of some keys that is there and not null; None if none is, or this is no object."""
        if not isinstance(self.value, dict):
            return None
        for name in names:
            if name in getattr(self.value, "twice", ()):
                raise self.refused(f"the key {name!r} is written twice in one object", "drop one of them")
            if (found := self.value.get(name)) is not None:
                return Node(found, f"{self.place}, {name}", self.row)
        return None

    def need(self, *names: str) -> "Node":
        """Value of the first of some keys that is there; raises if none is."""
        if (found := self.get(*names)) is not None:
            return found
        wanted = " and no ".join(map(repr, names))
        keys = first_reprs(self.value) if isinstance(self.value, dict) else ""
        there = f"an object with the keys {keys}" if isinstance(self.value, dict) else self.kind
        raise self.refused(f"there is no {wanted} in it, which is {there}", "export the file again, whole")

    def entries(self) -> Iterator[tuple[str, "Node"]]:
        """Keys and values of an object; raises if it is none."""
        for name in self.expect(dict, "an object"):
            if (found := self.get(name)) is not None:
                yield name, Node(found.value, f"{self.place} {short_repr(name)}", self.row)

    def members(self, what: str) -> Iterator["Node"]:
        """Members of an array, each called `what` and its number in errors; raises if it is none."""
        for number, value in enumerate(self.expect(list, "an array"), start=1):
            yield Node(value, f"{self.place}, {what} {number:,}", self.row)

    def text(self) -> str:
        """Text, or the decimal text of an integer; raises if it is something else."""
        return self.expect(str, "text or a whole number")

    def expect(self, kind: type, allowed: str) -> Any:
        """Value, if it is of a type; raises otherwise."""
        if isinstance(self.value, kind):
            return self.value
        problem = f"{short_repr(self.value)} is {self.kind}"
        raise self.refused(problem, "export the file again, whole", allowed=allowed)

    @property
    def kind(self) -> str:
        """Kind of JSON value, in words."""
        names = {dict: "an object", list: "an array", str: "text", bool: "true or false", float: "a number"}
        return next((word for kind, word in names.items() if isinstance(self.value, kind)), "null")

    def refused(self, problem: str, remedy: str, *, allowed: str = "") -> DataError:
        """Error about this value."""
        return DataError(
            problem, row=self.row or None, value=self.value, allowed=allowed, remedy=remedy, where=self.place
        )


@dataclass(frozen=True)
class Document:
    """Parsed file: one JSON value, the objects of JSON lines, or the files of an archive by their names."""

    path: Path
    whole: Any  # of JSON lines the list of them
    in_lines: bool = False

    @property
    def first(self) -> Any:
        """First record, or the value itself unless it is an array."""
        return (self.whole[0] if self.whole else None) if isinstance(self.whole, list) else self.whole

    @property
    def node(self) -> Node:
        """Value of the whole file."""
        return Node(self.whole, self.path.name)

    def records(self, node: Node | None = None, what: str = "record") -> Iterator[Node]:
        """Members of an array of the file, by default of the whole, as records with numbers from 1."""
        what = "line" if self.in_lines else what
        for row, value in enumerate((node or self.node).expect(list, "an array of records"), start=1):
            yield Node(value, f"{self.path.name}, {what} {row:,}", row)


def read_document(path: Path) -> Document:
    """Parse a file of JSON, JSON lines or a zip archive of JSON; raises `DataError` with file and line."""
    refuse_unreadable(path)
    suffix = path.suffix.lower()
    try:
        if suffix == ARCHIVE:
            return Document(path, _archived(path))
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.object[error.start]:#04x} at place {error.start + 1:,} is not UTF-8"
        raise DataError(problem, remedy="save the file as UTF-8", where=path.name) from None
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror or error})"
        raise DataError(problem, remedy="check its permissions", where=path.name) from None
    if suffix in JSON_LINES:
        return Document(path, _lines(text, path), in_lines=True)
    try:
        return Document(path, parsed(text, path.name))
    except DataError:
        if text.lstrip()[:1] == "{" and "\n" in text.strip():  # JSON lines under another suffix
            return Document(path, _lines(text, path), in_lines=True)
        raise


def first_record(path: Path, keys: Collection[str]) -> Document | None:
    """Parse a file as far as is needed to recognise its tool: of JSON lines only the first.

    JSON in which none of the keys occurs is not parsed: None.
    """
    refuse_unreadable(path)
    if path.suffix.lower() in JSON_LINES:
        with path.open("rb") as file:
            line = file.readline(MAX_BYTES)
        return Document(path, [parsed(line.removeprefix(b"\xef\xbb\xbf"), path.name)], in_lines=True)
    if path.suffix.lower() != ARCHIVE:
        text = path.read_bytes()
        if not any(f'{key}"'.encode() in text for key in keys):
            return None
    return read_document(path)


def parsed(text: str | bytes, place: str) -> Any:
    """Parse JSON with integers as text; raises `DataError` with the place."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=str)
    except json.JSONDecodeError as error:
        found = f"{error.msg} in line {error.lineno:,}, place {error.colno:,}"
    except UnicodeDecodeError:
        found = "not UTF-8"
    except RecursionError:
        found = "too deep"
    remedy = "export the file again, whole"
    raise DataError(f"this is no JSON that can be read ({found})", remedy=remedy, where=place) from None


def _lines(text: str, path: Path) -> list[Any]:
    """Parse one JSON value from each line that is not blank; a number of line counts these."""
    lines = [line for line in text.split("\n") if line.strip()]
    return [parsed(line, f"{path.name}, line {row:,}") for row, line in enumerate(lines, start=1)]


def _archived(path: Path) -> dict[str, Any]:
    """Parse the files of samples and of the header in a zip archive, by name in their order there."""
    found: dict[str, Any] = {}
    try:
        with ZipFile(path) as archive:
            members = [own for own in archive.infolist() if _is_read(own.filename)]
            size = sum(own.file_size for own in members)
            if size > MAX_BYTES:
                problem, allowed = f"its samples have {size:,} bytes", f"{MAX_BYTES:,} bytes"
                raise DataError(problem, allowed=allowed, remedy="divide the log", where=path.name)
            for own in members:
                if own.filename in found:
                    problem = f"{short_repr(own.filename)} is in the archive twice"
                    raise DataError(problem, remedy="write the log again", where=path.name)
                content = _zstandard(path, own) if own.compress_type == ZSTANDARD else archive.read(own)
                found[own.filename] = parsed(content, f"{path.name}, file {short_repr(own.filename)}")
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(
            f"this is no archive of a log that can be read{quoted_error(error)}",
            remedy="convert it: inspect log convert --to json",
            where=path.name,
        ) from None
    return found


def _zstandard(path: Path, member: ZipInfo) -> bytes:
    """Content of a member of an archive that is compressed by Zstandard, which `zipfile` reads from Python 3.14."""
    try:
        arrow = import_module("pyarrow")  # an extra: nothing else here needs it
    except ImportError:
        remedy = "install pyarrow, or convert the log: inspect log convert --to json"
        raise DataError("reading this log needs pyarrow", remedy=remedy, where=path.name) from None
    with path.open("rb") as file:
        file.seek(member.header_offset)
        header = file.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size or member.flag_bits & ENCRYPTED:
            raise BadZipFile(f"{short_repr(member.filename)} is cut or encrypted")
        signature, *_, name, extra = LOCAL_HEADER.unpack(header)
        file.seek(name + extra, SEEK_CUR)
        packed = file.read(member.compress_size)
    if signature != LOCAL_SIGNATURE:
        raise BadZipFile(f"{short_repr(member.filename)} is not where the archive says")
    content = arrow.decompress(packed, member.file_size, codec="zstd", asbytes=True) if packed else b""
    if crc32(content) != member.CRC:
        raise BadZipFile(f"{short_repr(member.filename)} has another checksum")
    return content


def _is_read(name: str) -> bool:
    """Whether a file of an archive is the header, or a sample; others are left alone."""
    return name in ("header.json", "_journal/start.json") or (
        name.startswith("samples/") and name.endswith(".json")
    )
