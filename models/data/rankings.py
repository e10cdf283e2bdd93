"""Partial rankings with ties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..._messages import short_repr
from .container import Container, Recoded, Whose, unchanged
from .errors import DataError
from .ranking_summary import rankings_report
from .reading.columns import code_ids
from .reading.matching import chosen_items, code_categories, distinct_ids
from .reading.numbers import read_ranks
from .reading.tables import Column, named_columns, nested_columns


@dataclass(frozen=True, eq=False)
class Entries:
    """Ranked categories, one entry for each row of the table."""

    item: np.ndarray  # (entry,) int32
    rater: np.ndarray  # (entry,) int32
    category: np.ndarray  # (entry,) int32
    rank: np.ndarray  # (entry,) int64, from 1

    @property
    def annotation(self) -> np.ndarray:
        """Number of the (item, rater) pair of each entry, shape (entry,); ascending by item, then rater."""
        return self.item.astype(np.int64) * (int(self.rater.max()) + 1) + self.rater

    def where(self, kept: np.ndarray) -> Self:
        """Subset of the entries; `kept` is a mask or an array of row numbers."""
        return type(self)(self.item[kept], self.rater[kept], self.category[kept], self.rank[kept])


def refuse_repeats(entries: Entries, columns: Mapping[str, Column]) -> None:
    """Raise at the first row that repeats a category of an annotation; `columns` are for the message."""
    annotation = entries.annotation
    # stable sort: equal entries keep the order of their rows
    order = np.lexsort((entries.category, annotation))
    same = annotation[order[1:]] == annotation[order[:-1]]
    same &= entries.category[order[1:]] == entries.category[order[:-1]]
    if not same.any():
        return
    repeat = np.flatnonzero(same)
    repeat = repeat[order[repeat + 1].argmin()]
    first, row = order[repeat], order[repeat + 1]
    value, rater, item = (columns[role].values[row] for role in ("category", "rater", "item"))
    raise DataError(
        f"{short_repr(value)} is ranked twice by rater {short_repr(rater)} of item {short_repr(item)}, "
        f"first in row {first + 1:,}",
        row=int(row) + 1,
        column=columns["category"].name,
        value=value,
        allowed="each category once in an annotation",
        remedy="keep one of the rows",
    )


def block_layout(entries: Entries, raters: np.ndarray) -> dict[str, Any]:
    """Group entries into blocks, and blocks into annotations.

    Returns the arguments of `PartialRankings` except items and categories. No category may occur twice in an
    annotation. `raters` are the ids behind the rater codes; those who occur come back in order of first
    appearance item by item. `gaps` counts the annotations whose ranks skip a number.
    """
    raters, entries = _number_raters(entries, raters)
    annotation = entries.annotation
    order = np.lexsort((entries.category, entries.rank, annotation))
    entries, annotation = entries.where(order), annotation[order]
    opens_annotation = np.r_[True, annotation[1:] != annotation[:-1]]
    opens_block = opens_annotation | np.r_[True, entries.rank[1:] != entries.rank[:-1]]
    # entries are sorted by annotation, rank, category: starts are where annotation or rank changes
    first = np.flatnonzero(opens_annotation)
    block_start = np.r_[np.flatnonzero(opens_block), len(order)]
    annotation_start = np.searchsorted(block_start, np.r_[first, len(order)])
    last = np.r_[first[1:], len(order)] - 1
    return {
        "raters": raters,
        "annotation_item": entries.item[first],
        "annotation_rater": entries.rater[first],
        "annotation_start": annotation_start,
        "block_start": block_start,
        "category_code": entries.category,
        "gaps": int((entries.rank[last] != np.diff(annotation_start)).sum()),
    }


def _number_raters(entries: Entries, raters: np.ndarray) -> tuple[np.ndarray, Entries]:
    """Renumber raters by first appearance item by item, an order that sorting the table keeps.

    Returns the ids of the raters present, shape (rater,), and the entries with new rater codes.
    """
    by_item = np.argsort(entries.item, kind="stable")
    present, first = np.unique(entries.rater[by_item], return_index=True)
    present = present[np.argsort(first)]
    number = np.empty(len(raters), np.int32)
    number[present] = np.arange(len(present))
    renumbered = Entries(entries.item, number[entries.rater], entries.category, entries.rank)
    return raters[present], renumbered


# --- Partial rankings with ties ---


@dataclass(frozen=True, eq=False, repr=False)
class PartialRankings(Container):
    """Validated partial rankings, with ties, of items by raters over a closed set of categories.

    One annotation is one rater's partial ranking of one item: blocks b_1 > b_2 > ... of tied categories,
    non-empty and disjoint. The categories of the closed set that it does not name share a last, unranked
    block.

    Made by `from_table` or `from_blocks`. ``len`` is the number of annotations. Two are equal if they hold
    the same annotations of the same items in the same order over the same categories. All arrays are
    read-only.

    Attributes
    ----------
    items, raters, categories : ndarray of str or int64
        Ids. Items in order of first appearance; raters too, reading item by item; categories as declared, or
        sorted.
    annotation_item, annotation_rater : ndarray of int32, shape (annotation,)
        Codes; ascending by item, then by rater.
    annotation_start : ndarray of int64, shape (annotation + 1,)
        Blocks of annotation ``a`` are ``annotation_start[a]:annotation_start[a + 1]``, best first.
    block_start : ndarray of int64, shape (block + 1,)
        Entries of block ``b`` are ``block_start[b]:block_start[b + 1]``.
    category_code : ndarray of int32, shape (entry,)
        Ranked categories, ascending within a block.
    gaps : int
        Number of annotations whose ranks skipped a number and were renumbered on reading.

    Examples
    --------
    >>> from raterzoo import models
    >>> nested = {"case": {"Ann": [["acne"], ["eczema", "tinea"]], "Bob": [["eczema"]]}}
    >>> rankings = models.PartialRankings.from_blocks(nested)
    >>> rankings
    PartialRankings(1 items, 2 raters, 2 annotations, 3 categories)
    >>> rankings.categories[rankings.category_code].tolist()
    ['acne', 'eczema', 'tinea', 'eczema']

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Medical Image Analysis, section 2.3, arXiv:2307.02191.
    """

    items: np.ndarray
    raters: np.ndarray
    categories: np.ndarray
    annotation_item: np.ndarray
    annotation_rater: np.ndarray
    annotation_start: np.ndarray
    block_start: np.ndarray
    category_code: np.ndarray
    gaps: int = field(default=0, compare=False)

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        item: str = "item",
        rater: str = "rater",
        category: str = "category",
        rank: str = "rank",
        categories: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Read a long table with one row for each category that a rater ranked for an item.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, category, rank : str
            Names of the columns. Ids and labels are text, kept exactly, or integers. Rank 1 is best, equal
            ranks are a tie, a category without a row is unranked. Ranks may skip numbers: only their order
            counts.
        categories : sequence, optional
            Closed set of categories, in the order that breaks ties. None takes the categories of a pandas
            categorical or a polars Enum, or else the sorted categories that occur.

        Returns
        -------
        PartialRankings
            All annotations of the table.

        Raises
        ------
        DataError
            At the first error in the table; it names row (from 1), column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {
        ...     "item": ["case", "case", "case"],
        ...     "rater": ["Ann", "Ann", "Bob"],
        ...     "category": ["acne", "tinea", "acne"],
        ...     "rank": [1, 2, 1],
        ... }
        >>> models.PartialRankings.from_table(table, categories=["acne", "eczema", "tinea"])
        PartialRankings(1 items, 2 raters, 2 annotations, 3 categories)
        """
        roles = {"item": item, "rater": rater, "category": category, "rank": rank}
        columns = named_columns(frame, roles)
        return cls._of_columns(columns, categories)

    @classmethod
    def from_blocks(
        cls,
        nested: Sequence[Any] | Mapping[Any, Any],
        *,
        items: Sequence[Any] | np.ndarray | None = None,
        raters: Sequence[Any] | np.ndarray | None = None,
        categories: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Read nested lists or mappings of blocks.

        Parameters
        ----------
        nested : sequence or mapping
            ``[item][rater][block][category]`` or ``{item: {rater: [block][category]}}``, best block first;
            None in place of an annotation that a rater of the list did not give.
        items, raters : sequence, optional
            Ids of the list places; by default 0, 1, 2, ...
        categories : sequence, optional
            Closed set of categories, in the order that breaks ties; by default the sorted categories that
            occur.

        Returns
        -------
        PartialRankings
            All annotations.

        Raises
        ------
        DataError
            At the first error in the data; it names item, rater and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> nested = [[[["acne"], ["eczema", "tinea"]], [["eczema"]]], [[["tinea"]], None]]
        >>> models.PartialRankings.from_blocks(nested, raters=["Ann", "Bob"])
        PartialRankings(2 items, 2 raters, 3 annotations, 3 categories)
        """
        items = None if items is None else distinct_ids("items", items)
        raters = None if raters is None else distinct_ids("raters", raters)
        columns = nested_columns(nested, items, raters)
        try:
            return cls._of_columns(columns, categories)
        except DataError as error:
            if error.row is None:
                raise
            item, rater = (columns[role].values[error.row - 1] for role in ("item", "rater"))
            raise error.moved(f"item {short_repr(item)}, rater {short_repr(rater)}") from None

    @classmethod
    def _of_columns(cls, columns: Mapping[str, Column], categories: Any) -> Self:
        """Build from validated columns item, rater, category and rank."""
        items, item = code_ids(columns["item"])
        raters, rater = code_ids(columns["rater"])
        labels, category = code_categories(columns["category"], categories)
        entries = Entries(item, rater, category, read_ranks(columns["rank"]))
        refuse_repeats(entries, columns)
        return cls(items=items, categories=labels, **block_layout(entries, raters))

    def select(self, *, items: Sequence[Any] | np.ndarray) -> Self:
        """Keep some items, in the order given; all categories stay, raters without an annotation are dropped.

        Parameters
        ----------
        items : sequence
            Ids of items, each once.

        Returns
        -------
        PartialRankings
            Annotations of these items.

        Raises
        ------
        DataError
            If an item is unknown, repeated, or text where the ids are integers.

        Examples
        --------
        >>> from raterzoo import models
        >>> cases = models.published_ddx_cases()
        >>> cases.select(items=cases.items[:2])
        PartialRankings(2 items, 6 raters, 9 annotations, 35 categories)
        """
        code, place = chosen_items(items, self.items)
        return self._recoded(Recoded(self.items[code], code, place), unchanged(self.raters))

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        """Annotations with other ids, without items whose new code is -1."""
        own = self._entries()
        entries = Entries(items.new[own.item], raters.new[own.rater], own.category, own.rank)
        layout = block_layout(entries.where(entries.item >= 0), raters.ids)
        return type(self)(items=items.ids, categories=self.categories, **layout)

    def to_table(
        self, *, anonymize: Whose | None = None, random_seed: int | None = None
    ) -> dict[str, np.ndarray]:
        """Convert to the long table that `from_table` reads.

        Parameters
        ----------
        anonymize : {"raters", "all"}, optional
            Ids to replace by numbers, as in `anonymized`; by default none.
        random_seed : int, optional
            Seed of the random order of these numbers.

        Returns
        -------
        dict of str to ndarray, shape (entry,)
            Columns item, rater, category and rank (from 1, without gaps), which any frame library accepts.
            With ``categories=self.categories`` `from_table` returns an equal container.

        Examples
        --------
        >>> from raterzoo import models
        >>> rankings = models.PartialRankings.from_blocks({"case": {"Ann": [["acne"], ["tinea"]]}})
        >>> table = rankings.to_table()
        >>> table["category"].tolist(), table["rank"].tolist()
        (['acne', 'tinea'], [1, 2])
        """
        named = self._named(anonymize, random_seed)
        entries = named._entries()
        return {
            "item": named.items[entries.item],
            "rater": named.raters[entries.rater],
            "category": named.categories[entries.category],
            "rank": entries.rank,
        }

    def report(self) -> str:
        """Summarise the data as text: counts, and warnings such as look-alike ids.

        Returns
        -------
        str
            A few lines.

        Examples
        --------
        >>> from raterzoo import models
        >>> print(models.published_ddx_cases().report())  # doctest: +ELLIPSIS
        partial rankings
          items                      7
        ...
        """
        return rankings_report(self)

    def _entries(self) -> Entries:
        """Codes and rank of every entry, in table order."""
        blocks = np.diff(self.annotation_start)
        rank = np.arange(1, len(self.block_start)) - np.repeat(self.annotation_start[:-1], blocks)
        size = np.diff(self.block_start)
        annotation = np.repeat(np.repeat(np.arange(len(self)), blocks), size)
        return Entries(
            self.annotation_item[annotation],
            self.annotation_rater[annotation],
            self.category_code,
            np.repeat(rank, size),
        )

    def __len__(self) -> int:
        return len(self.annotation_item)

    def __repr__(self) -> str:
        return (
            f"PartialRankings({len(self.items):,} items, {len(self.raters):,} raters, "
            f"{len(self):,} annotations, {len(self.categories):,} categories)"
        )
