"""Scores: one number for each answer, on a bounded scale or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .coded_rows import ANONYMOUS, NO_RATERS, CodedRows
from .container import Container, range_of, tell_keys
from .no_answers import NoAnswer, tell_suspect_scores
from .raters import read_attributes
from .reading.columns import Missing, code_ids
from .reading.long_tables import Keep, annotation_columns
from .reading.numbers import Bounds, read_bounds, read_counts, read_scores, split_counts
from .reading.wide_tables import at_wide_cells, counted_scores, wide_columns

MANY_LEVELS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Container):
    """Validated scores of items by raters.

    A rater may score an item once, several times or never; of anonymous raters the counts are sufficient.

    Made by `from_table`, `from_wide` or `from_counts`. ``len`` is the number of scores given; ``==`` compares all fields.
    All arrays are read-only.

    Attributes
    ----------
    items, raters : ndarray of str or int64
        Ids. Items in order of first appearance; raters too, reading item by item, none if they are anonymous.
        Items without a score stay; raters without a score are dropped.
    annotation_item, annotation_rater : ndarray of int32, shape (annotation,)
        Codes; ascending by item, then rater, then score. The rater of anonymous scores is -1.
    score : ndarray of float64, shape (annotation,)
        Finite numbers, at most 1e100 in absolute value.
    count : ndarray of int64, shape (annotation,)
        Number of times that the rater gave the item this score, from 1.
    bounds : tuple of float, or None
        Lowest and highest score that could be given.
    rater_attributes : mapping of str to ndarray, shape (rater,)
        Attributes of the raters, such as their kind.

    Examples
    --------
    >>> from raterzoo import models
    >>> table = {"item": ["a", "a", "b"], "rater": ["Ann", "Bob", "Ann"], "score": [4, 5, 1]}
    >>> scores = models.Scores.from_table(table, bounds=(1, 5))
    >>> scores
    Scores(2 items, 2 raters, 3 scores from 1 to 5)
    >>> scores.identified
    True

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, appendix
    A, arXiv:2307.02191.
    """

    _kind, _annotations = "scores", "scores"
    _columns = ("annotation_item", "annotation_rater", "score", "count")

    items: np.ndarray
    raters: np.ndarray
    annotation_item: np.ndarray
    annotation_rater: np.ndarray
    score: np.ndarray
    count: np.ndarray
    bounds: Bounds | None = None
    rater_attributes: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        item: str = "item",
        rater: str | None = "rater",
        score: str = "score",
        count: str | None = None,
        bounds: Sequence[float] | np.ndarray | None = None,
        rater_attributes: Sequence[str] = (),
        missing: Missing = "error",
        no_answer: NoAnswer = (),
        keep: Keep = "all",
        time: str | None = None,
    ) -> Self:
        """Read a long table with one row for each score.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, score : str
            Names of the columns; by default also those of the trade, such as "task_id", "annotator" and
            "rating", which a warning names. Ids are text, kept exactly, or integers; scores are numbers or their
            decimal text. Several scores of an item by a rater are several rows. Raters are anonymous without a
            column of raters, and with ``rater=None``.
        count : str, optional
            Column with the number of times the score was given, from 0; by default 1 in each row.
        bounds : (low, high), optional
            Lowest and highest score that could be given; by default there are none.
        rater_attributes : sequence of str
            Columns with attributes of the rater, such as kind = person | model.
        missing : {"error", "drop"}
            Treatment of rows with an empty cell; a warning says how many were dropped.
        no_answer : sequence, optional
            Answers that are no truth, such as "n/a" or -1, in any case: their rows are left out; a warning says how many.
        keep : {"all", "first", "last"}
            Of several answers of a rater to an item, those that count; a warning says how many do not.
        time : str, optional
            Column of times by which answers are first and last; by default one called so, such as "created_at", else their order.

        Returns
        -------
        Scores
            All scores of the table.

        Raises
        ------
        DataError
            At the first error in the table; it names row (from 1), column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": ["a", "a", "b"], "score": [0.5, "1.5", 2], "n": [1, 2, 1]}
        >>> models.Scores.from_table(table, rater=None, count="n")
        Scores(2 items, anonymous raters, 4 scores)
        """
        ends = read_bounds(bounds)
        roles = {"item": item, "rater": rater, "score": score, "count": count}
        columns = annotation_columns(frame, "scores", roles, rater_attributes, missing, no_answer, keep, time)
        items, item_code = code_ids(columns["item"])
        raters, rater_code = NO_RATERS, np.full(len(item_code), ANONYMOUS, np.int32)
        if "rater" in columns:
            raters, rater_code = code_ids(columns["rater"])
            tell_keys(columns.names, len(rater_code), {"rater": raters})
        values = read_scores(columns["score"], ends)
        times = read_counts(columns["count"]) if count is not None else np.ones(len(values), np.int64)
        if ends is None:
            tell_suspect_scores(values, times)
        attributes = read_attributes(columns, raters, rater_code)
        rows = CodedRows(zip(cls._columns, (item_code, rater_code, values, times), strict=True))
        return cls._of_rows(rows, items=items, raters=raters, rater_attributes=attributes, bounds=ends)

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        *,
        raters: Sequence[str] | None = None,
        item: str | None = None,
        bounds: Sequence[float] | np.ndarray | None = None,
        no_answer: NoAnswer = (),
    ) -> Self:
        """Read a wide table: a column for each rater, a row for each item.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            The table; an empty cell is a missing score.
        raters : sequence of str, optional
            Columns of the raters; by default all others than that of the items.
        item : str, optional
            Column with the ids of the items; by default a column item where no raters are named, else the items
            are numbered from 0.
        bounds : (low, high), optional
            Lowest and highest score that could be given; by default there are none.
        no_answer : sequence, optional
            Answers that are no truth, such as "n/a" or -1, in any case: they are left out; a warning says how many.

        Returns
        -------
        Scores
            All scores of the table.

        Raises
        ------
        DataError
            At the first error in the table; it names row, column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": ["a", "b"], "Ann": [4, 1], "Bob": [5, None]}
        >>> models.Scores.from_wide(table, raters=["Ann", "Bob"], item="item")
        Scores(2 items, 2 raters, 3 scores)
        """
        ends = read_bounds(bounds)
        items, columns, row, _ = wide_columns(frame, "scores", raters, item, None, no_answer)
        with at_wide_cells(columns["rater"], row):
            values = read_scores(columns["label"], ends)
        if ends is None:
            tell_suspect_scores(values, np.ones(len(row), np.int64))
        names, rater = code_ids(columns["rater"])
        rows = CodedRows(zip(cls._columns, (row, rater, values, np.ones(len(row), np.int64)), strict=True))
        return cls._of_rows(rows, items=items, raters=names, bounds=ends)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        item: str = "item",
        bounds: Sequence[float] | np.ndarray | None = None,
        no_answer: NoAnswer = (),
    ) -> Self:
        """Read the number of times each score was given to each item by anonymous raters.

        Parameters
        ----------
        counts : DataArray, frame or mapping
            A DataArray with a dim of the items and one of the scores, or a table of rows of items and columns
            of scores that could be given. Column names, or the coordinate, are numbers or their decimal text.
        item : str
            Column, or dim, of the items.
        bounds : (low, high), optional
            Lowest and highest score that could be given; by default there are none.
        no_answer : sequence, optional
            Scores that are no truth, such as -1: their counts are left out; a warning says how many.

        Returns
        -------
        Scores
            Without raters: models of individual raters refuse it.

        Raises
        ------
        DataError
            At the first error in the counts; it names row, column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> models.Scores.from_counts({"item": ["a", "b"], "1": [2, 0], "2": [1, 3]}, bounds=(1, 2))
        Scores(2 items, anonymous raters, 6 scores from 1 to 2)
        """
        ends = read_bounds(bounds)
        items, *columns = counted_scores(counts, item, ends, no_answer)
        if ends is None:
            tell_suspect_scores(*columns[2:])
        rows = CodedRows(zip(cls._columns, columns, strict=True))
        return cls._of_rows(rows, items=items, raters=NO_RATERS, bounds=ends)

    @property
    def identified(self) -> bool:
        """Whether some item has two scores: else the data do not inform the spread of an item's scores."""
        per_item = np.bincount(self.annotation_item, self.count, len(self.items))
        return bool((per_item > 1).any())

    def _others(self, item: np.ndarray) -> dict[str, Any]:
        return {"bounds": self.bounds}

    def _table(self) -> dict[str, np.ndarray]:
        rows = self._rows_of_all_items(score=self.bounds[0] if self.bounds else 0.0)
        rater, counted = rows["annotation_rater"], {"score": rows["score"], "count": rows["count"]}
        item = {"item": self.items[rows["annotation_item"]]}
        if self.anonymous:
            return split_counts(item | counted)
        attributes = {name: values[rater] for name, values in self.rater_attributes.items()}
        return split_counts(item | {"rater": self.raters[rater]} | counted | attributes)

    def _summary(self) -> dict[str, str]:
        n_items, n_raters = len(self.items), len(self.raters)
        per_item = np.bincount(self.annotation_item, self.count, n_items).astype(int)
        several = per_item > 1
        constant = several & self._is_constant(self.annotation_item, n_items)
        lines = {
            "items": f"{n_items:,}",
            "raters": f"{n_raters:,}" if n_raters else "anonymous",
            "scores": f"{len(self):,}, {range_of(per_item)} an item",
            **self._summary_of_values(),
            "items without a score": f"{(per_item == 0).sum():,}",
            "items with one score": f"{(per_item == 1).sum():,}",
            "items scored alike": f"{constant.sum():,} of {several.sum():,} with two scores or more",
        }
        if n_raters:
            per_rater = np.bincount(self.annotation_rater, self.count, n_raters).astype(int)
            repeated = per_rater > 1
            constant = repeated & self._is_constant(self.annotation_rater, n_raters)
            lines["scores by rater"] = range_of(per_rater)
            lines["raters of one value"] = f"{constant.sum():,} of {repeated.sum():,} with two scores or more"
            lines["repeated scores"] = f"{self._n_repeats():,}"
        if not several.any():
            lines["NOT IDENTIFIED"] = (
                "no item has two scores: only the prior says how far scores of an item spread"
            )
        return lines

    def _is_constant(self, group: np.ndarray, n: int) -> np.ndarray:
        """Mask of the groups (items or raters) whose scores are all equal, shape (group,)."""
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(low, group, self.score)
        np.maximum.at(high, group, self.score)
        return low == high

    def _summary_of_values(self) -> dict[str, str]:
        """Lines of the report on the distribution of the scores."""
        lines = {"bounds": "not declared"}
        if self.bounds:
            low, high = self.bounds
            at_low, at_high = (int(self.count[self.score == end].sum()) for end in self.bounds)
            ends = f"{at_low:,} scores at the lower and {at_high:,} at the upper"
            lines["bounds"] = f"{low:.12g} to {high:.12g}, {ends}"
        level, place = np.unique(self.score, return_inverse=True)
        if not len(level):
            return lines
        mean = np.average(self.score, weights=self.count)
        spread = np.sqrt(np.average((self.score - mean) ** 2, weights=self.count))
        lines["values"] = f"{level[0]:g} to {level[-1]:g}, mean {mean:.4g}, standard deviation {spread:.4g}"
        lines["distinct values"] = f"{len(level):,}"
        if len(level) <= MANY_LEVELS:
            given = zip(level.tolist(), np.bincount(place, self.count).astype(int).tolist(), strict=True)
            lines["scores by value"] = ", ".join(f"{value:g}: {n:,}" for value, n in given)
        if len(level) == 1 and len(self) > 1:
            lines["CONSTANT"] = f"every score is {level[0]:g}: items cannot be distinguished"
        return lines

    def __repr__(self) -> str:
        scale = f" from {self.bounds[0]:.12g} to {self.bounds[1]:.12g}" if self.bounds else ""
        return f"{super().__repr__()[:-1]}{scale})"
