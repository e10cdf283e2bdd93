"""Partial rankings with ties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ..._messages import short_repr
from .coded_rows import CodedRows
from .container import MANY, Container, range_of, tell_keys
from .errors import DataError
from .no_answers import NoAnswer, categories_of, tell_suspects
from .reading.columns import Missing, code_categories, code_ids, distinct_ids
from .reading.frames import Column, column_names, nested_columns
from .reading.long_tables import Keep, annotation_columns, time_column
from .reading.numbers import read_ranks
from .reading.predicted_labels import (
    joined_ids,
    joined_raters,
    read_predicted_rankings,
    refused_predictions,
    unknown_items,
)
from .reading.ranked_lists import ranking_roles, rows_of_lists
from .reading.shown_sets import shown_rows

_ENTRY = ("annotation_item", "annotation_rater", "category_code", "rank")
UNRANKED = np.iinfo(np.int64).max  # rank of a category that a rater was shown and did not rank


def refuse_repeats(entries: CodedRows, columns: Mapping[str, Column], timed: str | None) -> None:
    """Raise at the first row that repeats a category of an annotation; `columns`, and that of times, are for the message."""
    names = _ENTRY[:3]
    # stable sort: equal entries keep the order of their rows
    order = np.lexsort([entries[name] for name in reversed(names)])
    repeats = np.flatnonzero(~entries.where(order).changes(*names))
    if not len(repeats):
        return
    repeat = repeats[order[repeats].argmin()]
    first, row = int(order[repeat - 1]), int(order[repeat])
    value, rater, item = (columns[role].values[row] for role in ("category", "rater", "item"))
    raise DataError(
        f"{short_repr(value)} is ranked twice by rater {short_repr(rater)} of item {short_repr(item)}, "
        f"first in row {columns['category'].row(first):,}",
        row=columns["category"].row(row),
        column=columns["category"].name,
        value=value,
        allowed="each category once in an annotation",
        remedy="keep one of the rows"
        if timed is None
        else f"keep='last' takes the last ranking of a rater, by column {short_repr(timed)}",
    )


@dataclass(frozen=True, eq=False, repr=False)
class PartialRankings(Container):
    """Validated partial rankings, with ties, of items by raters over a closed set of categories.

    One annotation is one rater's partial ranking of one item: blocks b_1 > b_2 > ... of tied categories,
    non-empty and disjoint. The categories that the rater was shown, by default all of the closed set, and did not
    name share a last, unranked block.

    Made by `from_table` or `from_blocks`. ``len`` is the number of annotations; ``==`` compares all fields
    but `gaps`. All arrays are read-only.

    Attributes
    ----------
    items, raters, categories : ndarray of str or int64
        Ids. Items and raters in order of first appearance, item by item; categories as declared, or sorted.
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
    shown_start : ndarray of int64, shape (annotation + 1,) or (0,)
        Categories that the rater of annotation ``a`` was shown are those of ``shown_start[a]:shown_start[a + 1]``; empty if all
        raters were shown all categories.
    shown_code : ndarray of int32, shape (shown entry,)
        Categories shown, ranked or not, ascending within an annotation.

    Examples
    --------
    >>> from raterzoo import models
    >>> nested = {"case": {"Ann": [["acne"], ["eczema", "tinea"]], "Bob": [["eczema"]]}}
    >>> rankings = models.PartialRankings.from_blocks(nested)
    >>> rankings
    PartialRankings(1 item, 2 raters, 2 annotations, 3 categories)
    >>> rankings.categories[rankings.category_code].tolist()
    ['acne', 'eczema', 'tinea', 'eczema']

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Medical Image Analysis, section 2.3, arXiv:2307.02191.
    """

    _kind = "partial rankings"

    items: np.ndarray
    raters: np.ndarray
    categories: np.ndarray
    annotation_item: np.ndarray
    annotation_rater: np.ndarray
    annotation_start: np.ndarray
    block_start: np.ndarray
    category_code: np.ndarray
    gaps: int = field(default=0, compare=False)
    shown_start: np.ndarray = field(default_factory=lambda: np.array([], np.int64))
    shown_code: np.ndarray = field(default_factory=lambda: np.array([], np.int32))

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        item: str = "item",
        rater: str = "rater",
        category: str = "category",
        rank: str = "rank",
        shown: str | None = None,
        categories: Sequence[Any] | np.ndarray | None = None,
        missing: Missing = "error",
        no_answer: NoAnswer = (),
        keep: Keep = "all",
        time: str | None = None,
    ) -> Self:
        """Read a long table with one row for each category that a rater ranked for an item.

        Raters who chose or ranked among some of the categories, such as the best of four answers, need `shown`: without it
        a category that a rater did not name is below all that the rater named, though the rater never saw it.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, category, rank : str
            Names of the columns; by default also those of the trade, such as "annotator", which a warning names.
            Ids and labels are text, kept exactly, or integers. Rank 1 is best, equal ranks are a tie, a category
            without a row is unranked; only the order of the ranks counts. One column as both, by default one called so, such as
            "ranking", has lists of categories, the best first, in which a list is a tie: ``["a", ["b", "c"]]``.
        shown : str, optional
            Column that says what each rater was shown. True or false: whether the category of the row was, which has an empty
            rank if it was not ranked. A list, or its text such as ``["a", "b"]``: all that the rater was shown. The column of
            the ranks: every row was shown. By default all raters were shown all categories.
        categories : sequence, optional
            Closed set of categories, in the order that breaks ties. None takes the categories of a pandas
            categorical or a polars Enum, or else the sorted categories that occur.
        missing : {"error", "drop"}
            Treatment of rows with an empty cell; a warning says how many were dropped.
        no_answer : sequence, optional
            Categories that are no truth, such as "unsure", in any case: their rows are left out; a warning says how many.
        keep : {"all", "first", "last"}
            Of several rankings of an item by a rater, the one that counts; a warning says how many rows do not.
        time : str, optional
            Column of the time of a ranking, the same in all its rows, by which `keep` goes; by default one called so, such as
            "created_at".

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
        >>> table = {"item": ["case", "case", "case"], "rater": ["Ann", "Ann", "Bob"]}
        >>> table |= {"category": ["acne", "tinea", "acne"], "rank": [1, 2, 1]}
        >>> models.PartialRankings.from_table(table, categories=["acne", "eczema", "tinea"])
        PartialRankings(1 item, 2 raters, 2 annotations, 3 categories)

        Choices of the best of those shown:

        >>> choices = {"item": ["wine", "wine"], "rater": [1, 2], "category": ["A", "B"], "rank": [1, 1]}
        >>> choices |= {"shown": [["A", "B"], ["B", "C"]]}
        >>> models.PartialRankings.from_table(choices, shown="shown").shown_code.tolist()
        [0, 1, 1, 2]
        """
        roles = {"item": item, "rater": rater, "category": category, "rank": rank}
        with rows_of_lists(frame, ranking_roles(column_names(frame), roles)) as (table, own):
            roles = own if shown in (None, rank) else {**own, "shown": shown}
            may_be_empty = () if shown is None else ("rank",)
            columns = annotation_columns(
                table, "rankings", roles, (), missing, no_answer, keep, time, may_be_empty
            )
            timed = time_column(column_names(table), columns.names) if keep == "all" else None
            declared, ranked = categories_of(categories, no_answer), None
            if shown is not None:
                of_dtype = columns["category"].declared if declared is None else declared
                columns, ranked = shown_rows(columns, of_dtype, no_answer)
            found = cls._of_columns(columns, declared, ranked, timed)
        if categories is None:
            ranked = np.ones(len(found.category_code), np.int64)
            tell_suspects(found.categories, found.category_code, ranked, kind="ranked categories")
        return found

    @classmethod
    def from_blocks(
        cls,
        nested: Sequence[Any] | Mapping[Any, Any],
        *,
        items: Sequence[Any] | np.ndarray | None = None,
        raters: Sequence[Any] | np.ndarray | None = None,
        categories: Sequence[Any] | np.ndarray | None = None,
        shown: Sequence[Any] | Mapping[Any, Any] | None = None,
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
            Closed set of categories, in the order that breaks ties; by default those that occur, sorted.
        shown : sequence or mapping, optional
            ``[item][rater][category]`` or ``{item: {rater: [category]}}``, of the same items and raters: all that each rater was
            shown, as in `from_table`. By default all categories.

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

        Choices as (winner, losers), those of one set of items, numbered as raters:

        >>> choices = [("A", ["B", "C"]), ("B", ["A"])]
        >>> won, seen = [[[winner]] for winner, _ in choices], [[winner, *losers] for winner, losers in choices]
        >>> models.PartialRankings.from_blocks([won], shown=[seen])
        PartialRankings(1 item, 2 raters, 2 annotations, 3 categories)
        """
        items = None if items is None else distinct_ids("items", items)
        raters = None if raters is None else distinct_ids("raters", raters)
        columns, ranked = nested_columns(nested, items, raters, shown), None
        try:
            if shown is not None:
                columns, ranked = shown_rows(columns, categories)
            return cls._of_columns(columns, categories, ranked)
        except DataError as error:
            if error.row is None:
                raise
            item, rater = (columns[role].values[error.row - 1] for role in ("item", "rater"))
            raise error.moved(f"item {short_repr(item)}, rater {short_repr(rater)}") from None

    def with_predictions(self, predictions: Any) -> Self:
        """Add classifiers as raters, whose rankings are their predicted lists, to estimate their accuracy given all of them.

        Fit `hierarchical_plackett_luce`, which learns how reliable each classifier is: other models of rankings would count it as
        one more rater. A metric against the posterior of the rankings alone is agreement with what the raters leave open;
        against that of these rankings it has seen the predictions. It rests on the model: classifiers and raters err
        independently given the worths.

        Parameters
        ----------
        predictions : DataArray
            As by `evaluation.predictions_from_table`: labels (item, position), best first, "" for none; or scores or booleans
            (item, category), of which equal scores, and the members of a set, are tied, and -inf is not listed; perhaps
            with a dim ``classifier``, whose coordinate names the raters. Without one the rater is "predictions".

        Returns
        -------
        PartialRankings
            With one more rater for each classifier. A classifier may leave out items, as raters do.

        Raises
        ------
        DataError
            If a rater has the name of a classifier; if a predicted item is unknown or repeated, a label is none of the
            categories or twice in a list, or a classifier predicts nothing.

        Examples
        --------
        >>> from raterzoo import evaluation, models
        >>> rankings = models.PartialRankings.from_blocks({"case": {"Ann": [["acne"], ["eczema"]], "Bob": [["eczema"]]}})
        >>> rows = {"item": ["case", "case"], "category": ["acne", "eczema"], "rank": [1, 2], "classifier": ["net", "net"]}
        >>> predictions = evaluation.predictions_from_table(rows, rank="rank", classifier="classifier")
        >>> rankings.with_predictions(predictions).raters.tolist()
        ['Ann', 'Bob', 'net']

        References
        ----------
        Hui and Walter (1980), Estimating the error rates of diagnostic tests, Biometrics 36(1), 167-171,
        doi:10.2307/2530508: accuracy without a gold standard.
        """
        found = read_predicted_rankings(predictions, self.categories)
        raters = joined_raters(self.raters, found.classifiers, "rankings", "rankings")
        for code, name in enumerate(found.classifiers.tolist()):
            if not (found.classifier == code).any():
                problem = f"classifier {short_repr(name)} has no prediction"
                raise refused_predictions(problem, value=name, remedy="leave it out")
        joined_ids(self.items, found.items, ("the items of the rankings", "those of the predictions"))
        place = {item: code for code, item in enumerate(self.items.tolist())}
        if unknown := [item for item in found.items.tolist() if item not in place]:
            remedy = "correct the id, or leave the prediction out"
            raise unknown_items(unknown, self.items, "rankings", remedy)
        item = np.array([place[own] for own in found.items.tolist()], np.int64)[found.item]
        codes = (item, len(self.raters) + found.classifier, found.category, found.rank)
        joint = self._rows().extended(len(item), **dict(zip(_ENTRY, codes, strict=True)))
        if self.has_shown_sets:  # classifiers see all categories
            joint = _with_all_shown(joint, len(self.raters), len(self.categories))
        return self._of_rows(joint, items=self.items, raters=raters, **self._others(np.arange(0)))

    @property
    def has_shown_sets(self) -> bool:
        """Whether some rater was shown some of the categories only."""
        return len(self.shown_start) > 0

    @classmethod
    def _of_columns(
        cls,
        columns: Mapping[str, Column],
        categories: Any,
        ranked: np.ndarray | None = None,
        timed: str | None = None,
    ) -> Self:
        """Build from validated columns item, rater, category and rank; `ranked` (row,) are the rows with a rank of sets shown.

        `timed` is the column of times by which `keep` could choose.
        """
        items, item = code_ids(columns["item"])
        raters, rater = code_ids(columns["rater"])
        labels, category = code_categories(columns["category"], categories)
        rank = read_ranks(columns["rank"])
        if ranked is not None:
            shown = np.full(len(ranked), UNRANKED)
            shown[ranked] = rank
            rank = shown
        codes = (item, rater, category, rank)
        entries = CodedRows(zip(_ENTRY, codes, strict=True))
        refuse_repeats(entries, columns, timed)
        if categories is None and len(np.unique(item * np.int64(len(raters)) + rater)) >= MANY:
            tell_keys({"category": columns["category"].name}, len(category), {"category": labels})
        return cls._of_rows(entries, items=items, raters=raters, categories=labels, shown=ranked is not None)

    @classmethod
    def _of_rows(
        cls, rows: CodedRows, *, items: np.ndarray, raters: np.ndarray, shown: bool = False, **others: Any
    ) -> Self:
        """Group entries, in any order, into blocks and annotations; raters are numbered by first appearance item by item.

        `shown` says that the entries, some of which are not ranked, are all that the raters were shown.
        """
        by_item = rows.where(np.argsort(rows["annotation_item"], kind="stable"))
        present, entries = by_item.renumbered(np.arange(len(by_item["rank"])), len(raters))
        if shown:
            others |= _shown_sets(entries, len(others["categories"]))
            entries = entries.where(entries["rank"] < UNRANKED)
        keys = [entries[name] for name in ("annotation_item", "annotation_rater", "rank", "category_code")]
        entries = entries.where(np.lexsort(keys[::-1]))
        # entries are sorted by annotation, rank, category: starts are where annotation or rank changes
        opens_annotation = entries.changes("annotation_item", "annotation_rater")
        opens_block = entries.changes("annotation_item", "annotation_rater", "rank")
        first = np.flatnonzero(opens_annotation)
        block_start = np.append(np.flatnonzero(opens_block), len(opens_block))
        annotation_start = np.searchsorted(block_start, np.append(first, len(opens_block)))
        last_rank = entries["rank"][np.append(first[1:], len(opens_block)) - 1]
        return cls(
            items=items,
            raters=raters[present],
            annotation_item=entries["annotation_item"][first],
            annotation_rater=entries["annotation_rater"][first],
            annotation_start=annotation_start,
            block_start=block_start,
            category_code=entries["category_code"],
            gaps=int((last_rank != np.diff(annotation_start)).sum()),
            **others,
        )

    def _rows(self) -> CodedRows:
        """Codes and rank of every entry, in table order; then of the entries that were shown and not ranked."""
        ranked = self._ranked_rows()
        if not self.has_shown_sets:
            return ranked
        annotation = np.repeat(np.arange(len(self)), np.diff(self.shown_start))
        item, rater = self.annotation_item[annotation], self.annotation_rater[annotation]
        rank = np.full(len(annotation), UNRANKED)
        shown = CodedRows(zip(_ENTRY, (item, rater, self.shown_code, rank), strict=True))
        key, own = (_cells(rows, len(self.raters), len(self.categories)) for rows in (ranked, shown))
        left = shown.where(~np.isin(own, key))
        return CodedRows({name: np.append(ranked[name], left[name]) for name in _ENTRY})

    def _ranked_rows(self) -> CodedRows:
        """Codes and rank of every ranked entry, in table order."""
        n_blocks, size = np.diff(self.annotation_start), np.diff(self.block_start)
        rank = np.arange(1, len(self.block_start)) - np.repeat(self.annotation_start[:-1], n_blocks)
        annotation = np.repeat(np.repeat(np.arange(len(self)), n_blocks), size)
        item, rater = self.annotation_item[annotation], self.annotation_rater[annotation]
        return CodedRows(zip(_ENTRY, (item, rater, self.category_code, np.repeat(rank, size)), strict=True))

    def _others(self, item: np.ndarray) -> dict[str, Any]:
        return {"categories": self.categories, "shown": self.has_shown_sets}

    def _table(self) -> dict[str, np.ndarray]:
        rows = self._rows()
        table = {
            "item": self.items[rows["annotation_item"]],
            "rater": self.raters[rows["annotation_rater"]],
            "category": self.categories[rows["category_code"]],
            "rank": rows["rank"],
        }
        if not self.has_shown_sets:
            return table
        order = np.lexsort([rows[name] for name in ("category_code", "rank", *_ENTRY[1::-1])])
        rank = table["rank"]
        table["rank"] = np.where(rank < UNRANKED, rank.astype(object), "")
        return {name: cells[order] for name, cells in table.items()} | {"shown": np.ones(len(rank), bool)}

    def _summary(self) -> dict[str, str]:
        per_item = np.bincount(self.annotation_item)
        block = np.diff(self.block_start)
        named = np.diff(self.block_start[self.annotation_start])
        tied = np.maximum.reduceat(block, self.annotation_start[:-1]) > 1
        ranked = len(np.unique(self.category_code))
        return {
            "items": f"{len(self.items):,}",
            "raters": f"{len(self.raters):,}",
            "annotations": f"{len(named):,}, {range_of(per_item)} an item",
            "categories": f"{len(self.categories):,} declared, {ranked:,} ranked",
            "categories named": f"{range_of(named)} an annotation",
            **(
                {"categories shown": f"{range_of(np.diff(self.shown_start))} an annotation"}
                if self.has_shown_sets
                else {}
            ),
            "annotations with ties": f"{tied.sum():,}, largest block {block.max():,}",
            "ranks with gaps": f"{self.gaps:,} annotations, renumbered",
            "items with one annotation": f"{(per_item == 1).sum():,}",
        }

    def __len__(self) -> int:
        return len(self.annotation_item)


# --- Sets of categories that raters were shown ---


def _cells(rows: CodedRows, n_raters: int, n_categories: int) -> np.ndarray:
    """Return one integer for (item, rater, category) of every row, in their order."""
    return (
        rows["annotation_item"].astype(np.int64) * n_raters + rows["annotation_rater"]
    ) * n_categories + rows["category_code"]


def _shown_sets(rows: CodedRows, n_categories: int) -> dict[str, np.ndarray]:
    """Start and codes of the sets of all entries, by annotation; none if every rater was shown all categories."""
    rows = rows.where(np.lexsort([rows[name] for name in _ENTRY[2::-1]]))
    start = np.append(np.flatnonzero(rows.changes(*_ENTRY[:2])), len(rows["rank"])).astype(np.int64)
    if (np.diff(start) == n_categories).all():
        return {}
    return {"shown_start": start, "shown_code": rows["category_code"].astype(np.int32)}


def _with_all_shown(rows: CodedRows, first: int, n_categories: int) -> CodedRows:
    """Append an entry for each category that a rater of code `first` or more did not rank, for the items of that rater."""
    own = rows.where(rows["annotation_rater"] >= first)
    n_raters = int(rows["annotation_rater"].max()) + 1
    pair = np.unique(own["annotation_item"].astype(np.int64) * n_raters + own["annotation_rater"])
    cell = (pair[:, None] * n_categories + np.arange(n_categories)).ravel()
    left = cell[~np.isin(cell, _cells(own, n_raters, n_categories))]
    pair, category = np.divmod(left, n_categories)
    item, rater = np.divmod(pair, n_raters)
    codes = dict(zip(_ENTRY, (item, rater, category, UNRANKED), strict=True))
    return rows.extended(len(left), **codes)


# --- Distinct ranked (item, category) pairs, concatenated over items ---


class RankedPairs(NamedTuple):
    """Distinct ranked categories of items, ascending at ``start[i]:start[i + 1]`` of item ``i``, and the pair of every entry."""

    start: np.ndarray  # (item + 1,) int64
    item: np.ndarray  # (pair,) int32
    category: np.ndarray  # (pair,) int32
    entry: np.ndarray  # (entry,) int64, pair of each entry
    entry_annotation: np.ndarray  # (entry,) int64
    entry_block: np.ndarray  # (entry,) int64, number of the block in its annotation, 0 = best


def ranked_pairs(rankings: PartialRankings) -> RankedPairs:
    """List the (item, category) pairs ranked by some rater, ordered by item, then category code."""
    n_blocks = np.diff(rankings.annotation_start)
    block_annotation = np.repeat(np.arange(len(n_blocks)), n_blocks)
    block_number = np.arange(len(block_annotation)) - rankings.annotation_start[block_annotation]
    block_size = np.diff(rankings.block_start)
    entry_annotation = np.repeat(block_annotation, block_size)
    entry_item = rankings.annotation_item[entry_annotation].astype(np.int64)
    key = entry_item * len(rankings.categories) + rankings.category_code
    named, entry = np.unique(key, return_inverse=True)
    item, category = np.divmod(named, len(rankings.categories))
    return RankedPairs(
        start=np.searchsorted(item, np.arange(len(rankings.items) + 1)),
        item=item.astype(np.int32),
        category=category.astype(np.int32),
        entry=entry,
        entry_annotation=entry_annotation,
        entry_block=np.repeat(block_number, block_size),
    )


def inverse_rank_scores(rankings: PartialRankings, tie_weight: Literal["split", "full"]) -> np.ndarray:
    """Inverse rank normalisation (IRN) of every ranked pair, shape (pair,), in the order of `ranked_pairs`.

    Support by the raters of the item, as shares that sum to one. `tie_weight` "split" shares the weight of a
    block among its tied categories (eq. 3); "full" gives each the whole weight.
    """
    if tie_weight not in ("split", "full"):
        raise ValueError(f"tie_weight={tie_weight!r} is not one of 'split', 'full'")
    pairs = ranked_pairs(rankings)
    weight = 1.0 / (pairs.entry_block + 1)  # 1 / i
    if tie_weight == "split":
        size = np.diff(rankings.block_start)
        weight /= np.repeat(size, size)  # / |b_i|, eq. 3
    score = np.bincount(pairs.entry, weight, minlength=len(pairs.item))
    return score / np.bincount(pairs.item, score)[pairs.item]
