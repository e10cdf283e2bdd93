"""Validation of the integer codes of containers read from untrusted files: compiled loops do not check bounds."""

import numpy as np

from ..models.data.container import Container

__all__ = ["refuse_unsound"]

IDS = {  # column of codes -> its ids
    "annotation_item": "items",
    "annotation_rater": "raters",
    "label_code": "categories",
    "category_code": "categories",
    "gold": "categories",
    "left": "items",
    "right": "items",
}
OUTCOMES = 3
STARTS = {"block_start": "category_code", "annotation_start": "block_start"}
BY_ANNOTATION = ("annotation_item", "annotation_rater", "label_code", "left", "right", "outcome", "count", "score")  # fmt: skip


def refuse_unsound(data: Container) -> None:
    """Raise a `ValueError` unless the codes of a container are in range and its columns consistent.

    Refused: codes that are not integers or out of range, columns of different lengths, block starts that do
    not rise from 0 to the number of elements.
    """
    columns = {n: x for n, x in vars(data).items() if isinstance(x, np.ndarray)}
    for name, ids in IDS.items():
        if name in columns:
            _check_codes(name, columns[name], -1 if _may_lack(data, name) else 0, len(columns[ids]))
    if "outcome" in columns:
        _check_codes("outcome", columns["outcome"], 0, OUTCOMES)
    if len({len(columns[name]) for name in BY_ANNOTATION if name in columns}) != 1:
        raise ValueError("its columns have different lengths")
    if "gold" in columns and len(columns["gold"]) != len(columns["items"]):
        raise ValueError("gold must have one code for each item")
    for name, into in STARTS.items():
        if name in columns:
            _check_starts(name, columns[name], len(columns[into]) - (into in STARTS))


def _may_lack(data: Container, name: str) -> bool:
    """Whether a code may be -1: the rater of anonymous annotations, or an unknown gold label."""
    return name == "gold" or (name == "annotation_rater" and data.anonymous)


def _check_codes(name: str, codes: np.ndarray, least: int, end: int) -> None:
    """Raise unless codes are one-dimensional integers from `least` to ``end - 1``."""
    fine = codes.dtype.kind in "iu" and codes.ndim == 1
    if not fine or ((codes < least) | (codes >= end)).any():
        raise ValueError(f"{name} has codes outside {least}..{end - 1}, or that are not integers")


def _check_starts(name: str, starts: np.ndarray, end: int) -> None:
    """Raise unless starts are one-dimensional integers that rise from 0 to `end`."""
    fine = starts.dtype.kind in "iu" and starts.ndim == 1 and len(starts) > 0
    if not fine or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError(f"{name} must rise from 0 to {end}")
