"""Scores: which number each rater gave each item, on a bounded scale or not.

Most raters never see most items, a rater may score an item several times, and where raters are not told apart it is enough to
know how often each score was given (Stutz et al. 2025, appendix A: ratings of toxicity and of aesthetics).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .anonymous import Recoded, Whose, unchanged
from .answers import UNKNOWN, read_attributes
from .columns import code_ids
from .container import Container
from .matching import chosen_items
from .score_numbers import Bounds, read_bounds, read_scores
from .score_summary import scores_report
from .score_tables import GivenScores, counted_scores, long_scores, score_columns, score_layout
from .whole_numbers import read_counts

__all__ = ["Scores"]

NOT_TOLD = np.array([], np.str_)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Container):
    """Validated scores of items by raters.

    Made by `from_table` or `from_counts`. ``len`` is the number of scores given. Two are equal if they hold the same scores of
    the same items in the same order, with the same bounds and attributes of raters. All arrays are read-only.

    Attributes
    ----------
    items, raters : ndarray of str or int64
        Ids. Items in order of first appearance; raters too, reading item by item, none if they are anonymous. Items that nobody
        scored stay; raters who scored nothing go.
    annotation_item, annotation_rater : ndarray of int32, shape (annotation,)
        Codes; ascending by item, then rater, then score. The rater of anonymous scores is -1.
    score : ndarray of float64, shape (annotation,)
        Finite numbers, at most 1e100 in size.
    count : ndarray of int64, shape (annotation,)
        How often the rater gave the item this score, from 1.
    bounds : tuple of float, or None
        Lowest and highest score that could be given.
    rater_attributes : mapping of str to ndarray, shape (rater,)
        What is known of the raters, such as their kind.
    """

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
    ) -> Self:
        """Read a long table: one row for each score.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, score : str
            Names of the columns; by default also crowd-kit's "task" and "worker". Ids are text, kept exactly, or integers; scores
            are numbers or their decimal text. Several scores by a rater of an item are several rows. ``rater=None`` reads scores
            whose raters are not told apart.
        count : str, optional
            Column with the number of times the score was given, from 0; by default each row is one.
        bounds : (low, high), optional
            Lowest and highest score that could be given; by default there are none.
        rater_attributes : sequence of str
            Columns that say something of the rater, such as kind = person | model.

        Returns
        -------
        Scores
            All of the table.

        Raises
        ------
        DataError
            At the first thing that is wrong; it names row (from 1), column, value and remedy.
        """
        ends = read_bounds(bounds)
        roles = {"item": item, "score": score} | ({} if count is None else {"count": count})
        roles |= {f"rater_attributes {name}": name for name in rater_attributes}
        columns = score_columns(frame, rater, roles)
        items, at = code_ids(columns["item"])
        raters, by = NOT_TOLD, np.full(len(at), UNKNOWN, np.int32)
        if "rater" in columns:
            raters, by = code_ids(columns["rater"])
        values = read_scores(columns["score"], ends)
        times = read_counts(columns["count"]) if "count" in columns else np.ones(len(at), np.int64)
        said = {name: columns[f"rater_attributes {name}"] for name in rater_attributes}
        attributes = read_attributes(said, raters, by)
        return cls._of_scores(
            items, raters, GivenScores(at, by, values, times), bounds=ends, attributes=attributes
        )

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        item: str = "item",
        bounds: Sequence[float] | np.ndarray | None = None,
    ) -> Self:
        """Read how often each score was given to each item, by raters who are not told apart.

        Parameters
        ----------
        counts : DataArray, frame or mapping
            A DataArray with a dim of the items and one of the scores, or a table: one row for each item, one column for each
            score that could be given. The columns' names, or the coordinate, are numbers or their decimal text.
        item : str
            Column, or dim, of the items.
        bounds : (low, high), optional
            Lowest and highest score that could be given; by default there are none.

        Returns
        -------
        Scores
            Without raters: models of raters refuse it.

        Raises
        ------
        DataError
            At the first thing that is wrong; it names row, column, value and remedy.
        """
        ends = read_bounds(bounds)
        items, given = counted_scores(counts, item, ends)
        return cls._of_scores(items, NOT_TOLD, given, bounds=ends)

    @classmethod
    def _of_scores(
        cls,
        items: np.ndarray,
        raters: np.ndarray,
        given: GivenScores,
        *,
        bounds: Bounds | None,
        attributes: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        present, layout = score_layout(given, len(raters))
        said = attributes if attributes and len(present) else {}
        return cls(
            items=items,
            raters=raters[present] if len(present) else NOT_TOLD,
            bounds=bounds,
            rater_attributes={name: own[present] for name, own in said.items()},
            **layout,
        )

    @property
    def identified(self) -> bool:
        """Whether some item has two scores: else nothing tells how far scores of an item spread."""
        per_item = np.bincount(self.annotation_item, self.count, len(self.items))
        return bool((per_item > 1).any())

    def select(self, *, items: Sequence[Any] | np.ndarray) -> Self:
        """Keep some items, in the order given. Bounds stay, raters without a score go.

        Parameters
        ----------
        items : sequence
            Ids of items, each once.

        Returns
        -------
        Scores
            Scores of these items.

        Raises
        ------
        DataError
            If an item is unknown, repeated, or of the wrong kind.
        """
        code, place = chosen_items(items, self.items)
        return self._recoded(Recoded(self.items[code], code, place), unchanged(self.raters))

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        item, rater = items.new[self.annotation_item], raters.new[self.annotation_rater]
        given = GivenScores(item, rater, self.score, self.count).where(item >= 0)
        attributes = {name: own[raters.old] for name, own in self.rater_attributes.items()}
        return self._of_scores(
            items.ids, raters.ids, given, bounds=self.bounds, attributes=attributes
        )

    def to_table(
        self, *, anonymize: Whose | None = None, random_seed: int | None = None
    ) -> dict[str, np.ndarray]:
        """Write the long table that `from_table` reads.

        Parameters
        ----------
        anonymize, random_seed
            Whose names are left out, if anybody's: as `anonymized` takes them.

        Returns
        -------
        dict of str to ndarray
            Columns item, rater (unless anonymous), score, count and the attributes of the raters; a row of count 0 for an item
            without a score. With ``count="count"`` and the same bounds `from_table` returns an equal container.
        """
        return long_scores(self._named(anonymize, random_seed))

    def report(self) -> str:
        """Return a few lines on the data, and on what in them deserves a second look."""
        return scores_report(self)

    def __len__(self) -> int:
        return int(self.count.sum())

    def __repr__(self) -> str:
        raters = "anonymous raters" if self.anonymous else f"{len(self.raters):,} raters"
        scale = f" from {self.bounds[0]:.12g} to {self.bounds[1]:.12g}" if self.bounds else ""
        return f"Scores({len(self.items):,} items, {raters}, {len(self):,} scores{scale})"
