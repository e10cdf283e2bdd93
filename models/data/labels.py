"""Labels: which category each rater gave each item, once, several times or never.

Most raters never see most items, and a rater may answer an item several times; the closed set of categories is shared by the
labels that raters give and the truth behind them (Dawid and Skene 1979, doi:10.2307/2346806).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .anonymous import Recoded, Whose, unchanged
from .answers import UNKNOWN, CodedAnswers, answer_layout, read_attributes, read_gold
from .columns import code_ids
from .container import Container
from .errors import DataError, shown
from .label_counts import counted_columns, dense_counts
from .label_summary import labels_report
from .label_tables import items_of_rows, long_columns, long_names, wide_columns
from .matching import chosen_items, code_categories
from .tables import Column, named_columns
from .whole_numbers import read_counts

__all__ = ["Labels"]


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Container):
    """Validated labels of items by raters over a closed set of categories.

    Made by `from_table`, `from_wide` or `from_counts`. ``len`` is the number of answers. Two are equal if they hold the same
    answers to the same items in the same order over the same categories, with the same gold labels and attributes of raters. All
    arrays are read-only.

    Attributes
    ----------
    items, raters, categories : ndarray of str or int64
        Ids. Items in order of first appearance; raters too, reading item by item, none if they are anonymous; categories as
        declared, or sorted. Categories that nobody gave and items that nobody answered stay; raters who answered nothing go.
    annotation_item, annotation_rater, label_code : ndarray of int32, shape (annotation,)
        Codes; ascending by item, then rater, then label. The rater of anonymous counts is -1.
    count : ndarray of int64, shape (annotation,)
        How often the rater gave the item this label, from 1.
    gold : ndarray of int32, shape (item,)
        Code of the true category where it is known, else -1.
    rater_attributes : mapping of str to ndarray, shape (rater,)
        What is known of the raters, such as their kind.
    """

    items: np.ndarray
    raters: np.ndarray
    categories: np.ndarray
    annotation_item: np.ndarray
    annotation_rater: np.ndarray
    label_code: np.ndarray
    count: np.ndarray
    gold: np.ndarray
    rater_attributes: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        item: str = "item",
        rater: str = "rater",
        label: str = "label",
        count: str | None = None,
        gold: str | None = None,
        rater_attributes: Sequence[str] = (),
        categories: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Read a long table: one row for each answer.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, label : str
            Names of the columns; by default also crowd-kit's "task" and "worker". Ids and labels are text, kept exactly, or
            integers. Several answers of a rater are several rows.
        count : str, optional
            Column with the number of times the answer was given, from 0; by default each row is one.
        gold : str, optional
            Column with the true category of the item; empty where it is not known.
        rater_attributes : sequence of str
            Columns that say something of the rater, such as kind = person | model.
        categories : sequence, optional
            The closed set, in the order that breaks ties. None takes the categories of a pandas categorical or a polars Enum, or
            else the sorted labels that occur.

        Returns
        -------
        Labels
            All of the table.

        Raises
        ------
        DataError
            At the first thing that is wrong; it names row (from 1), column, value and remedy.
        """
        roles = {"item": item, "rater": rater, "label": label}
        roles |= {k: v for k, v in {"count": count, "gold": gold}.items() if v is not None}
        roles |= {f"rater_attributes {name}": name for name in rater_attributes}
        columns = named_columns(frame, long_names(frame, roles))
        return cls._of_columns(columns, categories)

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        *,
        raters: Sequence[str],
        item: str | None = None,
        count: str | None = None,
        categories: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Read a wide table: one row for each item, or for each pattern of answers, one column for each rater.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            The table; an empty cell is an answer that was not given.
        raters : sequence of str
            Columns of the raters.
        item : str, optional
            Column with the ids of the items; by default they are numbered from 0.
        count : str, optional
            Column that says how many items of this pattern the row stands for: items of their own, ``"row.1"``, ``"row.2"``...
        categories : sequence, optional
            The closed set; by default the sorted labels that occur.

        Returns
        -------
        Labels
            All of the table.

        Raises
        ------
        DataError
            At the first thing that is wrong; it names row, column, value and remedy.
        """
        items, columns, row, repeats = wide_columns(frame, raters, item, count)
        try:
            labels, label = code_categories(columns["label"], categories)
        except DataError as error:
            if error.row is None:
                raise
            at, said_by = row[error.row - 1], columns["rater"].values[error.row - 1]
            raise error.moved(f"row {at + 1:,}, column {shown(said_by)}") from None
        names, rater = code_ids(columns["rater"])
        at, answer = items_of_rows(row, repeats)
        answers = CodedAnswers(at, rater[answer], label[answer], np.ones(len(at), np.int64))
        return cls._of_answers(items, names, labels, answers)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        item: str = "item",
        categories: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Read how often each label was given to each item, by raters who are not told apart.

        Parameters
        ----------
        counts : DataArray, frame or mapping
            A DataArray with dims item and category, or a table: one row for each item, one column for each category.
        item : str
            Column, or dim, of the items.
        categories : sequence, optional
            Columns, or labels, of the categories and their order; by default all others than `item`.

        Returns
        -------
        Labels
            Without raters: models of raters refuse it.

        Raises
        ------
        DataError
            At the first thing that is wrong; it names row, column, value and remedy.
        """
        items, labels, table = counted_columns(counts, item, categories)
        at, label = np.nonzero(table)
        answers = CodedAnswers(at, np.full(len(at), UNKNOWN), label, table[at, label])
        return cls._of_answers(items, np.array([], np.str_), labels, answers)

    @classmethod
    def _of_columns(cls, columns: Mapping[str, Column], categories: Any) -> Self:
        items, item = code_ids(columns["item"])
        raters, rater = code_ids(columns["rater"])
        labels, label = code_categories(columns["label"], categories)
        ones = np.ones(len(label), np.int64)
        count = read_counts(columns["count"]) if "count" in columns else ones
        gold = read_gold(columns["gold"], items, item, labels) if "gold" in columns else None
        said = [columns[role] for role in columns if role.startswith("rater_attributes")]
        attributes = read_attributes({column.name: column for column in said}, raters, rater)
        answers = CodedAnswers(item, rater, label, count)
        return cls._of_answers(items, raters, labels, answers, gold=gold, attributes=attributes)

    @classmethod
    def _of_answers(
        cls,
        items: np.ndarray,
        raters: np.ndarray,
        categories: np.ndarray,
        answers: CodedAnswers,
        *,
        gold: np.ndarray | None = None,
        attributes: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        present, layout = answer_layout(answers, len(raters))
        return cls(
            items=items,
            raters=raters[present],
            categories=categories,
            gold=np.full(len(items), UNKNOWN, np.int32) if gold is None else gold,
            rater_attributes={k: v[present] for k, v in (attributes or {}).items()},
            **layout,
        )

    def select(self, *, items: Sequence[Any] | np.ndarray) -> Self:
        """Keep some items, in the order given. Categories stay, raters without an answer go.

        Parameters
        ----------
        items : sequence
            Ids of items, each once.

        Returns
        -------
        Labels
            Answers to these items.

        Raises
        ------
        DataError
            If an item is unknown, repeated, or of the wrong kind.
        """
        code, place = chosen_items(items, self.items)
        return self._recoded(Recoded(self.items[code], code, place), unchanged(self.raters))

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        item, rater = items.new[self.annotation_item], raters.new[self.annotation_rater]
        answers = CodedAnswers(item, rater, self.label_code, self.count).where(item >= 0)
        attributes = {name: own[raters.old] for name, own in self.rater_attributes.items()}
        return self._of_answers(
            items.ids,
            raters.ids,
            self.categories,
            answers,
            gold=self.gold[items.old],
            attributes=attributes,
        )

    def to_table(
        self, *, anonymize: Whose | None = None, random_seed: int | None = None
    ) -> dict[str, np.ndarray]:
        """Write the long table that `from_table` reads, or the counts that `from_counts` reads.

        Parameters
        ----------
        anonymize, random_seed
            Whose names are left out, if anybody's: as `anonymized` takes them.

        Returns
        -------
        dict of str to ndarray
            Columns item, rater, label and count; a row of count 0 for an item without answers; gold, empty where it is not known,
            if any is; the attributes of the raters. Anonymous labels: item, and a column of counts for each category.
        """
        return long_columns(self._named(anonymize, random_seed))

    @property
    def identified(self) -> bool:
        """Whether some item has two answers, or one and a known truth: else nothing tells errors from rare categories."""
        per_item = np.bincount(self.annotation_item, self.count, len(self.items))
        return bool((per_item + (self.gold >= 0) > 1).any())

    @property
    def counts(self) -> np.ndarray:
        """How often each label was given to each item, whoever gave it; shape (item, category)."""
        return dense_counts(self)

    def report(self) -> str:
        """Return a few lines on the data, and on what in them deserves a second look."""
        return labels_report(self)

    def __len__(self) -> int:
        return int(self.count.sum())

    def __repr__(self) -> str:
        raters = "anonymous raters" if self.anonymous else f"{len(self.raters):,} raters"
        return (
            f"Labels({len(self.items):,} items, {raters}, {len(self):,} answers, "
            f"{len(self.categories):,} categories)"
        )
