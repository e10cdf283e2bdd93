"""Rows of the pages: what a paper prints, and the call that makes ours."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd


class Row(NamedTuple):
    """One figure, table or number of a paper."""

    where: str  # in the paper, such as "figure 7"
    what: str
    printed: str  # "picture" if the paper prints no number
    call: str  # in Python; names as on the page
    ours: Callable[[], str]
    long: bool = False  # taken from the record, unless long ones are asked for
    note: str = ""


class Paper(NamedTuple):
    """One page: reference with its version, names that calls use, rows, and where the paper is wrong or silent."""

    title: str
    reference: str
    names: str
    rows: list[Row]
    points: list[str]
    pictures: dict[str, tuple[str, Callable[[], object]]]  # name of a file: alternative text, figure


class NoData(Exception):
    """Error: the folder that RATERZOO_DATA names has no such table."""


def table(name: str) -> pd.DataFrame:
    """Read a table of the data, as `raterzoo data fetch` writes them."""
    path = Path(os.environ.get("RATERZOO_DATA", "")) / f"{name}.csv"
    if not path.exists():
        raise NoData(name)
    return pd.read_csv(path)
