"""Codes of containers that are put together from a file of strangers: each is of something, for compiled loops believe them."""

import numpy as np

from ..models.data.container import Container

__all__ = ["refuse_unsound"]

IDS = {  # whose code each is
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
    """Raise `ValueError` at a code that is of nothing.

    Parameters
    ----------
    data : Container
        Whatever its arrays are.

    Raises
    ------
    ValueError
        If codes are no whole numbers, or out of range, columns have different lengths, or blocks overlap.
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
        raise ValueError("gold is not one code for each item")
    for name, into in STARTS.items():
        if name in columns:
            _check_starts(name, columns[name], len(columns[into]) - (into in STARTS))


def _may_lack(data: Container, name: str) -> bool:
    """Tell whether a code may be -1: of a rater who is not told apart, of a truth that is not known."""
    return name == "gold" or (name == "annotation_rater" and data.anonymous)


def _check_codes(name: str, codes: np.ndarray, least: int, end: int) -> None:
    fine = codes.dtype.kind in "iu" and codes.ndim == 1
    if not fine or ((codes < least) | (codes >= end)).any():
        raise ValueError(f"{name} holds what is no code of {end} ids")


def _check_starts(name: str, starts: np.ndarray, end: int) -> None:
    fine = starts.dtype.kind in "iu" and starts.ndim == 1 and len(starts) > 0
    if not fine or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError(f"{name} does not divide {end}")
