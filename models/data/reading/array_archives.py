"""Arrays of .npz files that nobody vouches for: no pickles, and no more bytes than are there."""

import math
import re
import zlib
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from ...._messages import short_repr

DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, BadZipFile, zlib.error)
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([<>|][biufU]\d{1,9})', 'fortran_order': (?:True|False), 'shape': \(((?:\d{1,18},? ?)*)\), \} *\n"
)
ENCRYPTED = 1  # bit of the flags of a member


class MalformedMember(ValueError):
    """Member of an archive that is no array of numbers or text as NumPy writes it."""


def read_member(archive: ZipFile, member: ZipInfo) -> np.ndarray:
    """Read a member as an array of numbers or text, after checking that its header matches its size."""
    name = short_repr(member.filename)
    if member.flag_bits & ENCRYPTED or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise MalformedMember(f"{name} is encrypted, or compressed otherwise than by NumPy")
    with archive.open(member) as file:
        start = file.read(len(MAGIC) + 2)
        length = int.from_bytes(start[len(MAGIC) :], "little")
        header = HEADER.fullmatch(file.read(length))
        if not start.startswith(MAGIC) or header is None:
            raise MalformedMember(f"{name} is no array of numbers or text")
        shape = [int(n) for n in header[2].split(b",") if n.strip()]
        count, width = math.prod(shape), np.dtype(header[1].decode()).itemsize
        there = member.file_size - len(start) - length
        if count * width != there or count > there:
            raise MalformedMember(
                f"{name} declares {short_repr(count)} numbers, and {there:,} bytes are there"
            )
    with archive.open(member) as file:
        found = np.lib.format.read_array(file, allow_pickle=False)
    if found.dtype.kind == "U" and not _is_text(found):
        raise MalformedMember(f"{name} has a text with a code that is no character")
    return found


def _is_text(array: np.ndarray) -> bool:
    """Whether the codes of an array of text are all characters; Python ends in a SystemError at others."""
    codes = np.ravel(array).astype(array.dtype.newbyteorder("="), copy=False).view(np.uint32)
    return not ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any()
