"""Scores: one number for each answer, on a bounded scale or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .container import Container, Recoded, Whose, unchanged
from .label_tables import UNKNOWN
from .raters import read_attributes
from .reading.columns import code_ids
from .reading.matching import chosen_items
from .reading.numbers import Bounds, read_bounds, read_counts, read_scores
from .score_tables import GivenScores, counted_scores, long_scores, score_columns, score_layout, scores_report

NOT_TOLD = np.array([], np.str_)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Container):
    """Validated scores of items by raters.

    A rater may score an item once, several times or never. For anonymous raters the number of times that each
    score was given is sufficient, as for ratings of toxicity and of aesthetics (Stutz et al. 2025, appendix
    A).

    Made by `from_table` or `from_counts`. ``len`` is the number of scores given. Two are equal if they hold
    the same scores of the same items in the same order, with the same bounds and rater attributes. All arrays
    are read-only.

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
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Medical Image Analysis, appendix A, arXiv:2307.02191.
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
        """Read a long table with one row for each score.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, score : str
            Names of the columns; by default also crowd-kit's "task" and "worker". Ids are text, kept exactly,
            or integers; scores are numbers or their decimal text. Several scores of an item by a rater are
            several rows. ``rater=None`` reads scores of anonymous raters.
        count : str, optional
            Column with the number of times the score was given, from 0; by default 1 in each row.
        bounds : (low, high), optional
            Lowest and highest score that could be given; by default there are none.
        rater_attributes : sequence of str
            Columns with attributes of the rater, such as kind = person | model.

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
        cls, counts: Any, *, item: str = "item", bounds: Sequence[float] | np.ndarray | None = None
    ) -> Self:
        """Read the number of times each score was given to each item by anonymous raters.

        Parameters
        ----------
        counts : DataArray, frame or mapping
            A DataArray with a dim of the items and one of the scores, or a table with one row for each item
            and one column for each score that could be given. Column names, or the coordinate, are numbers or
            their decimal text.
        item : str
            Column, or dim, of the items.
        bounds : (low, high), optional
            Lowest and highest score that could be given; by default there are none.

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
        """Build from coded scores; `raters` empty if anonymous."""
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
        """Whether some item has two scores.

        Otherwise the data do not inform the spread of the scores of an item.
        """
        per_item = np.bincount(self.annotation_item, self.count, len(self.items))
        return bool((per_item > 1).any())

    def select(self, *, items: Sequence[Any] | np.ndarray) -> Self:
        """Keep some items, in the order given; bounds stay, raters without a score are dropped.

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

        Examples
        --------
        >>> from raterzoo import models
        >>> scores = models.Scores.from_counts({"item": ["a", "b"], "1": [2, 0], "2": [1, 3]})
        >>> scores.select(items=["b"])
        Scores(1 items, anonymous raters, 3 scores)
        """
        code, place = chosen_items(items, self.items)
        return self._recoded(Recoded(self.items[code], code, place), unchanged(self.raters))

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        """Scores with other ids, without items whose new code is -1."""
        item, rater = items.new[self.annotation_item], raters.new[self.annotation_rater]
        given = GivenScores(item, rater, self.score, self.count).where(item >= 0)
        attributes = {name: own[raters.old] for name, own in self.rater_attributes.items()}
        return self._of_scores(items.ids, raters.ids, given, bounds=self.bounds, attributes=attributes)

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
        dict of str to ndarray
            Columns item, rater (unless anonymous), score, count and the rater attributes, with a row of count
            0 for an item without a score. With ``count="count"`` and the same bounds `from_table` returns an
            equal container.

        Examples
        --------
        >>> from raterzoo import models
        >>> scores = models.Scores.from_counts({"item": ["a", "b"], "1": [2, 0], "2": [1, 3]})
        >>> {name: cells.tolist() for name, cells in scores.to_table().items()}
        {'item': ['a', 'a', 'b'], 'score': [1.0, 2.0, 2.0], 'count': [2, 1, 3]}
        """
        return long_scores(self._named(anonymize, random_seed))

    def report(self) -> str:
        """Summarise the data as text: counts, and warnings such as constant scores.

        Returns
        -------
        str
            A few lines.

        Examples
        --------
        >>> from raterzoo import models
        >>> scores = models.Scores.from_counts({"item": ["a", "b"], "1": [2, 0], "2": [1, 3]})
        >>> print(scores.report())  # doctest: +ELLIPSIS
        scores
          items                  2
        ...
        """
        return scores_report(self)

    def __len__(self) -> int:
        return int(self.count.sum())

    def __repr__(self) -> str:
        raters = "anonymous raters" if self.anonymous else f"{len(self.raters):,} raters"
        scale = f" from {self.bounds[0]:.12g} to {self.bounds[1]:.12g}" if self.bounds else ""
        return f"Scores({len(self.items):,} items, {raters}, {len(self):,} scores{scale})"
