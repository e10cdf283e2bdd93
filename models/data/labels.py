"""Labels: one category for each answer, with repeats and gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..._messages import short_repr
from .container import Container, Recoded, Whose, unchanged
from .errors import DataError
from .label_tables import (
    UNKNOWN,
    AnyLabels,
    CodedAnswers,
    answer_layout,
    item_ids,
    items_of_rows,
    labels_report,
    long_columns,
    long_names,
    read_gold,
    wide_columns,
)
from .raters import read_attributes
from .reading.columns import code_ids
from .reading.matching import chosen_items, code_categories, distinct_ids, match_ids, nearest
from .reading.numbers import read_counts
from .reading.tables import Column, column_names, named_columns

MAX_CELLS = 1_000_000_000  # of counts by item and category


def dense_counts(labels: AnyLabels) -> np.ndarray:
    """Sum the counts of labels over raters, shape (item, category); raises if there are too many cells."""
    shape = len(labels.items), len(labels.categories)
    if shape[0] * shape[1] > MAX_CELLS:
        raise DataError(
            f"{shape[0]:,} items x {shape[1]:,} categories are {shape[0] * shape[1]:,} counts",
            value=shape[0] * shape[1],
            allowed=f"{MAX_CELLS:,} counts",
            remedy="check which column holds the labels, or split the items",
            where="labels",
        )
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (labels.annotation_item, labels.label_code), labels.count)
    return counts


def counted_columns(
    counts: Any, item: str, categories: Sequence[Any] | np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read counts from a DataArray, frame or mapping; returns items, categories, and counts (item, category).

    `item` names the column or dim of the items; `categories` chooses and orders the others. Refuses counts
    that are not integers from 0, repeated items, and fewer than two categories.
    """
    if hasattr(counts, "dims"):
        frame, labels = _array_columns(counts, item)
    else:
        frame, labels = counts, [name for name in column_names(counts) if name != item]
    there = distinct_ids("categories", labels)
    names = there if categories is None else distinct_ids("categories", categories)
    place = match_ids(names, there, "categories")
    if (place < 0).any():
        unknown = names[(place < 0).argmax()].item()
        raise DataError(
            f"{short_repr(unknown)} has no counts",
            value=unknown,
            allowed=nearest(unknown, there),
            remedy="choose among the columns, or labels, that have counts",
            where="argument categories",
        )
    if len(names) < 2:
        raise DataError(
            f"{short_repr(names[0].item())} is the only category: there is nothing to choose from",
            value=names[0].item(),
            allowed="a closed set of two or more categories",
            remedy="give counts of the others as well",
        )
    if item != "item" and "item" in names.tolist():
        raise DataError(
            "a category is called 'item', as is the column of ids",
            column="item",
            value="item",
            remedy="give the category another name",
        )
    keys = [labels[k] for k in place]
    columns = named_columns(frame, {"item": item} | {f"categories {k}": k for k in keys})
    table = np.stack([read_counts(columns[f"categories {k}"]) for k in keys], axis=1)
    ids = item_ids(columns["item"], np.ones(len(table), np.int64), are_patterns=False)
    return ids, names, table


def _array_columns(counts: Any, item: str) -> tuple[dict[str, Any], list[Any]]:
    """Columns of a DataArray of counts, and the labels of its categories, which may be integers."""
    if set(counts.dims) != {item, "category"} or not {item, "category"} <= set(counts.coords):
        raise DataError(
            f"the array has dims {tuple(counts.dims)} with coords {tuple(counts.coords)}",
            value=tuple(counts.dims),
            allowed=f"dims ({item!r}, 'category'), each with its coordinate",
            remedy="name the dims, and assign the ids of items and categories",
        )
    labels = counts["category"].values.tolist()
    cells = counts.transpose(item, "category").values
    return {item: counts[item].values} | {k: cells[:, c] for c, k in enumerate(labels)}, labels


# --- Answers one by one, for models that condition on the rater of each answer ---

MAX_ANSWERS = 200_000_000


def check_answers(labels: AnyLabels) -> None:
    """Raise `DataError` if there is no answer, or more than a model of single answers can hold."""
    total = int(labels.count.sum())
    if not total:
        raise DataError("there is no answer to learn from", remedy="check what was read or selected")
    if total > MAX_ANSWERS:
        raise DataError(
            f"the counts add up to {total:,} answers of single raters",
            column="count",
            value=total,
            allowed=f"{MAX_ANSWERS:,} answers",
            remedy="check the counts; a rater answers an item a few times",
        )


def one_by_one(labels: AnyLabels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of item, rater and label of every single answer, each of shape (answer,) int32."""
    check_answers(labels)
    codes = (labels.annotation_item, labels.annotation_rater, labels.label_code)
    item, rater, label = (np.repeat(code, labels.count) for code in codes)
    return item, rater, label


# --- Labels: one category for each answer, with repeats and gaps ---


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Container):
    """Validated labels of items by raters over a closed set of categories.

    A rater may answer an item once, several times or never. Labels and truth share the closed set of
    categories.

    Made by `from_table`, `from_wide` or `from_counts`. ``len`` is the number of answers. Two are equal if
    they hold the same answers to the same items in the same order over the same categories, with the same
    gold labels and rater attributes. All arrays are read-only.

    Attributes
    ----------
    items, raters, categories : ndarray of str or int64
        Ids. Items in order of first appearance; raters too, reading item by item, none if they are anonymous;
        categories as declared, or sorted. Categories never given and items never answered stay; raters
        without an answer are dropped.
    annotation_item, annotation_rater, label_code : ndarray of int32, shape (annotation,)
        Codes; ascending by item, then rater, then label. The rater of anonymous counts is -1.
    count : ndarray of int64, shape (annotation,)
        Number of times that the rater gave the item this label, from 1.
    gold : ndarray of int32, shape (item,)
        Code of the true category where it is known, else -1.
    rater_attributes : mapping of str to ndarray, shape (rater,)
        Attributes of the raters, such as their kind.

    Examples
    --------
    >>> from raterzoo import models
    >>> table = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "Ann"], "label": ["cat", "dog", "cat"]}
    >>> labels = models.Labels.from_table(table)
    >>> labels
    Labels(2 items, 2 raters, 3 answers, 2 categories)
    >>> labels.counts.tolist()
    [[1, 1], [1, 0]]

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28, doi:10.2307/2346806.
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
        """Read a long table with one row for each answer.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, label : str
            Names of the columns; by default also crowd-kit's "task" and "worker". Ids and labels are text,
            kept exactly, or integers. Several answers of a rater to an item are several rows.
        count : str, optional
            Column with the number of times the answer was given, from 0; by default 1 in each row.
        gold : str, optional
            Column with the true category of the item; empty where it is unknown.
        rater_attributes : sequence of str
            Columns with attributes of the rater, such as kind = person | model.
        categories : sequence, optional
            Closed set of categories, in the order that breaks ties. None takes the categories of a pandas
            categorical or a polars Enum, or else the sorted labels that occur.

        Returns
        -------
        Labels
            All answers of the table.

        Raises
        ------
        DataError
            At the first error in the table; it names row (from 1), column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "Ann"], "label": ["cat", "dog", "cat"]}
        >>> labels = models.Labels.from_table({**table, "truth": ["cat", "", "dog"]}, gold="truth")
        >>> labels.categories[labels.gold].tolist()
        ['cat', 'dog']
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
        """Read a wide table: a column for each rater, a row for each item or pattern of answers.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            The table; an empty cell is a missing answer.
        raters : sequence of str
            Columns of the raters.
        item : str, optional
            Column with the ids of the items; by default they are numbered from 0.
        count : str, optional
            Column with the number of items that have this pattern; they become separate items ``"row.1"``,
            ``"row.2"``...
        categories : sequence, optional
            Closed set of categories; by default the sorted labels that occur.

        Returns
        -------
        Labels
            All answers of the table.

        Raises
        ------
        DataError
            At the first error in the table; it names row, column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"Ann": ["cat", "dog"], "Bob": ["cat", ""], "n": [3, 2]}
        >>> models.Labels.from_wide(table, raters=["Ann", "Bob"], count="n")
        Labels(5 items, 2 raters, 8 answers, 2 categories)
        """
        items, columns, row, repeats = wide_columns(frame, raters, item, count)
        try:
            labels, label = code_categories(columns["label"], categories)
        except DataError as error:
            if error.row is None:
                raise
            at, said_by = row[error.row - 1], columns["rater"].values[error.row - 1]
            raise error.moved(f"row {at + 1:,}, column {short_repr(said_by)}") from None
        names, rater = code_ids(columns["rater"])
        at, answer = items_of_rows(row, repeats)
        answers = CodedAnswers(at, rater[answer], label[answer], np.ones(len(at), np.int64))
        return cls._of_answers(items, names, labels, answers)

    @classmethod
    def from_counts(
        cls, counts: Any, *, item: str = "item", categories: Sequence[Any] | np.ndarray | None = None
    ) -> Self:
        """Read the number of times each label was given to each item by anonymous raters.

        Parameters
        ----------
        counts : DataArray, frame or mapping
            A DataArray with dims item and category, or a table with one row for each item and one column for
            each category.
        item : str
            Column, or dim, of the items.
        categories : sequence, optional
            Columns, or labels, of the categories in their order; by default all except `item`.

        Returns
        -------
        Labels
            Without raters: models of individual raters refuse it.

        Raises
        ------
        DataError
            At the first error in the counts; it names row, column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> models.Labels.from_counts({"item": ["a", "b"], "cat": [3, 0], "dog": [1, 2]})
        Labels(2 items, anonymous raters, 6 answers, 2 categories)
        """
        items, labels, table = counted_columns(counts, item, categories)
        at, label = np.nonzero(table)
        answers = CodedAnswers(at, np.full(len(at), UNKNOWN), label, table[at, label])
        return cls._of_answers(items, np.array([], np.str_), labels, answers)

    @classmethod
    def _of_columns(cls, columns: Mapping[str, Column], categories: Any) -> Self:
        """Build from validated columns by role."""
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
        """Build from coded answers; `raters` empty if anonymous."""
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
        """Keep some items, in the order given; all categories stay, raters without an answer are dropped.

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

        Examples
        --------
        >>> from raterzoo import models
        >>> labels = models.Labels.from_counts({"item": ["a", "b"], "cat": [3, 0], "dog": [1, 2]})
        >>> labels.select(items=["b"]).counts.tolist()
        [[0, 2]]
        """
        code, place = chosen_items(items, self.items)
        return self._recoded(Recoded(self.items[code], code, place), unchanged(self.raters))

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        """Answers with other ids, without items whose new code is -1."""
        item, rater = items.new[self.annotation_item], raters.new[self.annotation_rater]
        answers = CodedAnswers(item, rater, self.label_code, self.count).where(item >= 0)
        attributes = {name: own[raters.old] for name, own in self.rater_attributes.items()}
        return self._of_answers(
            items.ids, raters.ids, self.categories, answers, gold=self.gold[items.old], attributes=attributes
        )

    def to_table(
        self, *, anonymize: Whose | None = None, random_seed: int | None = None
    ) -> dict[str, np.ndarray]:
        """Convert to the long table that `from_table` reads, or to the counts that `from_counts` reads.

        Parameters
        ----------
        anonymize : {"raters", "all"}, optional
            Ids to replace by numbers, as in `anonymized`; by default none.
        random_seed : int, optional
            Seed of the random order of these numbers.

        Returns
        -------
        dict of str to ndarray
            Columns item, rater, label and count, with a row of count 0 for an item without answers; gold if
            it is known of any item, empty where unknown; and the rater attributes. Anonymous labels: item,
            and a column of counts for each category.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": [1, 1], "rater": ["Ann", "Ann"], "label": ["cat", "cat"]}
        >>> labels = models.Labels.from_table(table, categories=["cat", "dog"])
        >>> {name: cells.tolist() for name, cells in labels.to_table().items()}
        {'item': [1], 'rater': ['Ann'], 'label': ['cat'], 'count': [2]}
        """
        return long_columns(self._named(anonymize, random_seed))

    @property
    def identified(self) -> bool:
        """Whether some item has two answers, or one answer and a gold label.

        Otherwise the data cannot distinguish errors from rare categories.
        """
        per_item = np.bincount(self.annotation_item, self.count, len(self.items))
        return bool((per_item + (self.gold >= 0) > 1).any())

    @property
    def counts(self) -> np.ndarray:
        """Number of times each label was given to each item by any rater, shape (item, category)."""
        return dense_counts(self)

    def report(self) -> str:
        """Summarise the data as text: counts, and warnings such as a lack of identification.

        Returns
        -------
        str
            A few lines.

        Examples
        --------
        >>> from raterzoo import models
        >>> labels = models.Labels.from_counts({"item": ["a", "b"], "cat": [3, 0], "dog": [1, 2]})
        >>> print(labels.report())  # doctest: +ELLIPSIS
        labels
          items                    2, 0 with a known truth
        ...
        """
        return labels_report(self)

    def __len__(self) -> int:
        return int(self.count.sum())

    def __repr__(self) -> str:
        raters = "anonymous raters" if self.anonymous else f"{len(self.raters):,} raters"
        return (
            f"Labels({len(self.items):,} items, {raters}, {len(self):,} answers, "
            f"{len(self.categories):,} categories)"
        )
