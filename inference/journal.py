"""Files of a journal: a note and arrays each, there as a whole or not at all, and without pickle."""

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

__all__ = ["keep", "kept"]

DAMAGE = (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error)


def keep(path: Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file, or replace it.

    Parameters
    ----------
    path : Path
        With suffix ``.npz``.
    note : mapping
        What JSON can hold.
    arrays : mapping of str to ndarray
        Numbers or text; none is named "note".
    """
    texts = {"note": np.array(json.dumps(dict(note), default=_plain))}
    unnamed = path.with_suffix(".partial")
    with unnamed.open("wb") as file:
        np.savez(file, allow_pickle=False, **texts, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unnamed, path)


def _plain(number: Any) -> Any:
    """Return a number of NumPy as one of Python."""
    if isinstance(number, np.generic):
        return number.item()
    raise TypeError(f"a {type(number).__name__} cannot be kept")


def kept(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file.

    Parameters
    ----------
    path : Path
        As it was kept.

    Returns
    -------
    note : dict
        The note.
    arrays : dict of str to ndarray
        The arrays.

    Raises
    ------
    ValueError
        If the file is missing or damaged.
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            note = json.loads(str(file["note"]))
            return note, {name: file[name] for name in file.files if name != "note"}
    except DAMAGE as problem:
        raise ValueError(
            f"{path} is missing or damaged ({type(problem).__name__}): what was drawn can be read, but not gone on with; "
            "start anew with another store"
        ) from problem
