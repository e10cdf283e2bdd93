"""Base class of the containers: read-only arrays, equality by content, selection, anonymisation, summary."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self, cast, get_args

import numpy as np

from ..._messages import first_reprs, short_repr, warn_user
from .coded_rows import NO_RATERS, CodedRows
from .errors import DataError, DataWarning, refused_argument
from .look_alikes import groups_in_words, look_alikes
from .no_answers import MISSING_WORDS, suspects
from .reading.columns import chosen_items

MANY = 10  # rows from which a column that differs in each is no column of labels or raters
SHOWN = 10  # words in a line of a summary
AnonymisedIds = Literal["raters", "all"]  # ids to replace: those of the raters, or those of the items as well


class Recoding(NamedTuple):
    """New ids with the mapping to the old codes and back."""

    ids: np.ndarray  # (new,), text or int64
    old: np.ndarray  # (new,), old code of each new one
    new: np.ndarray  # (old,) or (old + 1,), -1 if dropped; last place: rater -1 stays -1


def recoding(ids: np.ndarray, order: np.ndarray) -> Recoding:
    """Recoding to ids whose old codes are `order`, shape (new,), a permutation of all."""
    new = np.full(len(ids) + 1, -1, np.int32)
    new[order] = np.arange(len(ids))
    return Recoding(ids, order, new)


def draw_recoding(kind: str, n: int, rng: np.random.Generator) -> Recoding:
    """Assign the ids "kind 1", "kind 2"... to `n` old codes in a random order."""
    return recoding(np.array([f"{kind} {k}" for k in range(1, n + 1)], np.str_), rng.permutation(n))


def identity_recoding(ids: np.ndarray) -> Recoding:
    """Recoding that keeps ids and codes."""
    return recoding(ids, np.arange(len(ids)))


class Container(ABC):
    """Base of the frozen dataclasses that hold annotations."""

    _kind: ClassVar[str]  # title of the report
    _annotations: ClassVar[str] = "annotations"  # noun that ``repr`` counts
    _columns: ClassVar[tuple[str, ...]]  # fields with one entry for each annotation

    items: np.ndarray
    raters: np.ndarray

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, _read_only(getattr(self, field.name)))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        compared = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in compared)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **values_of(self)), ()  # read-only mappings cannot be pickled

    def __len__(self) -> int:
        return int(self._rows()["count"].sum())

    def __repr__(self) -> str:
        counts = {"items": len(self.items), "raters": len(self.raters), self._annotations: len(self)}
        if categories := len(getattr(self, "categories", ())):
            counts["categories"] = categories
        one = {what: what.removesuffix("s") for what in counts} | {"categories": "category"}
        words = {what: f"{n:,} {what if n != 1 else one[what]}" for what, n in counts.items()}
        if self.anonymous:
            words["raters"] = "anonymous raters"
        return f"{type(self).__name__}({', '.join(words.values())})"

    @property
    def anonymous(self) -> bool:
        """Whether the container holds no rater ids."""
        return len(self.raters) == 0

    def select(self, *, items: Sequence[Any] | np.ndarray) -> Self:
        """Keep the annotations of some items, in the order given, and of comparisons the votes between them.

        Categories and bounds stay; raters without an annotation are dropped.

        Parameters
        ----------
        items : sequence
            Ids of items, each once.

        Returns
        -------
        same container
            The annotations of these items.

        Raises
        ------
        DataError
            If an item is unknown, repeated, or text where the ids are integers, or no comparison is left.

        Examples
        --------
        >>> from raterzoo import models
        >>> cases = models.published_ddx_cases()
        >>> cases.select(items=cases.items[:2])
        PartialRankings(2 items, 6 raters, 9 annotations, 35 categories)
        >>> labels = models.Labels.from_counts({"item": ["a", "b"], "cat": [3, 0], "dog": [1, 2]})
        >>> labels.select(items=["b"]).counts.tolist()
        [[0, 2]]
        """
        code, place = chosen_items(items, self.items)
        return self._recoded(Recoding(self.items[code], code, place), identity_recoding(self.raters))

    def anonymized(self, whose: AnonymisedIds = "raters", *, random_seed: int | None = None) -> Self:
        """Replace the ids of raters, and of items on request, by numbers in a random order.

        Parameters
        ----------
        whose : {"raters", "all"}
            "all" replaces the ids of items as well.
        random_seed : int, optional
            Seed of the random order; who knows it and the original data can recover the ids. Default: none.

        Returns
        -------
        same container
            The same annotations by "rater 1", "rater 2"...; rater attributes stay. Neither the numbers nor the row
            order reveal an id, but rare answers, or rare attributes, may still identify a person.

        Raises
        ------
        DataError
            If `whose` is another word.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": ["a", "a"], "rater": ["Ann", "Bob"], "label": ["cat", "dog"]}
        >>> models.Labels.from_table(table).anonymized("all").items.tolist()
        ['item 1']
        """
        return self._anonymised(whose, random_seed, "whose")

    def without_duplicates(self) -> Self:
        """Count an answer that a rater repeated exactly only once, not as often as it is in the table.

        Returns
        -------
        same container
            Every count of an identified rater is 1. Anonymous answers stay: alike, they are of several raters.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": [1, 1, 1], "rater": ["Ann", "Ann", "Bob"], "label": ["cat", "cat", "dog"]}
        >>> models.Labels.from_table(table).without_duplicates()
        Labels(1 item, 2 raters, 2 answers, 2 categories)
        """
        rows = self._rows()
        if "count" not in rows or self.anonymous:
            return self
        return replace(cast("Any", self), count=np.minimum(rows["count"], 1))

    def contradictions(self) -> int:
        """Count the answers of a rater that contradict an earlier one of the same rater on the same item or pair of items.

        Returns
        -------
        int
            Labels other than the rater's first label of the item, and votes with another winner than the rater's first vote on
            the two items, whichever is on the left; exact repeats of one are counted once, and a tie is another winner. 0 for
            anonymous answers, and for scores and rankings.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": [1, 1, 1, 2], "rater": ["Ann"] * 4, "label": ["cat", "cat", "dog", "dog"]}
        >>> models.Labels.from_table(table).contradictions()
        1
        """
        return 0 if self.anonymous else self._contradictions()

    def with_look_alikes_merged(self, raters: Sequence[Sequence[Any]] | None = None) -> Self:
        """Take ids that differ only in case, spaces, invisible characters, Unicode form or letters of like shape as one id.

        Parameters
        ----------
        raters : sequence of sequences, optional
            Groups of ids that are one rater each, for raters whose names were replaced. Default: the look-alikes.

        Returns
        -------
        same container
            One id of each group of look-alikes: without surplus spaces, else the most frequent. Of a category that a
            ranking then names twice the better rank stays.

        Raises
        ------
        DataError
            If only one category is left.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "ann "], "label": ["ham", "HAM ", "spam"]}
        >>> models.Labels.from_table(table).with_look_alikes_merged()
        Labels(2 items, 2 raters, 3 answers, 2 categories)
        """
        rows = self._rows()
        items = _merging(self.items, rows, "annotation_item", "left", "right")
        merged = _merging(self.raters, rows, "annotation_rater", groups=raters)
        others = self._others(items.old) | self._unanswered_by(items, merged)
        codes: dict[str, np.ndarray] = dict.fromkeys(("annotation_item", "left", "right"), items.new)
        codes["annotation_rater"] = merged.new
        if "categories" in others:
            name = "label_code" if "label_code" in rows else "category_code"
            categories = _merging(others["categories"], rows, name)
            codes[name], others["categories"] = categories.new, categories.ids
            if len(categories.ids) < 2:
                only = short_repr(categories.ids[0].item())
                raise DataError(
                    f"{only} is the only category that is no look-alike: there is nothing to choose from",
                    allowed="two or more categories",
                    remedy="do not merge look-alikes, or declare the other categories",
                )
            if "gold" in others:
                gold = self._others(np.arange(len(self.items)))["gold"]
                others["gold"] = np.full(len(items.ids), -1, np.int32)
                np.maximum.at(others["gold"], items.new[:-1], categories.new[gold].astype(np.int32))
        rows = rows.replaced({name: new[rows[name]] for name, new in codes.items() if name in rows})
        if "left" in rows:
            rows = rows.where(rows["left"] != rows["right"])
        if "rank" in rows:
            best = rows.where(np.lexsort([rows[name] for name in ("rank", *list(rows)[2::-1])]))
            rows = best.where(best.changes(*list(rows)[:3]))
        if attributes := getattr(self, "rater_attributes", {}):
            others["rater_attributes"] = {name: values[merged.old] for name, values in attributes.items()}
        return self._of_rows(rows, items=items.ids, raters=merged.ids, **others)

    def to_table(
        self, *, anonymize: AnonymisedIds | None = None, random_seed: int | None = None
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
        dict of str to ndarray, shape (row,)
            Columns for any frame library, under the default names of `from_table`: those of a row (the rank
            from 1, without gaps; the winner as a word), count unless they are rankings, gold if known of any
            item (else empty), and rater attributes. An item without an annotation has a row of count 0.
            Anonymous data have no column rater, and such labels are the table that `from_counts` reads.
            `from_table` with the same closed sets and ``count="count"`` returns an equal container.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": [1, 1], "rater": ["Ann", "Ann"], "label": ["cat", "cat"]}
        >>> labels = models.Labels.from_table(table, categories=["cat", "dog"])
        >>> {name: cells.tolist() for name, cells in labels.to_table().items()}
        {'item': [1], 'rater': ['Ann'], 'label': ['cat'], 'count': [2]}
        >>> pairs = models.Comparisons.from_pairs([("a", "b"), ("a", "b")])
        >>> {name: cells.tolist() for name, cells in pairs.to_table().items()}
        {'left': ['a'], 'right': ['b'], 'winner': ['left'], 'count': [2]}
        """
        return (self if anonymize is None else self._anonymised(anonymize, random_seed, "anonymize"))._table()

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
        own = (
            "items",
            "raters",
            *(() if getattr(self, "tags", None) else ("categories",)),
        )  # "none" is a set of tags
        names = [name for name in own if hasattr(self, name)]
        lines = self._summary() | suspicious_ids({name: getattr(self, name) for name in names})
        width = max(map(len, lines))
        return "\n".join([self._kind, *(f"  {name:<{width}}  {text}" for name, text in lines.items())])

    @abstractmethod
    def _table(self) -> dict[str, np.ndarray]:
        """Columns of `to_table`, with the ids of the container."""

    @abstractmethod
    def _summary(self) -> dict[str, str]:
        """Lines of `report`, by their headings."""

    def _contradictions(self) -> int:
        """Count the contradictions of identified raters."""
        return 0

    def _rows(self) -> CodedRows:
        """Codes and numbers of every annotation."""
        return CodedRows({name: getattr(self, name) for name in self._columns})

    def _rows_of_all_items(self, **values: Any) -> CodedRows:
        """Rows by item, with a row of count 0 and the given values, else 0, for an item without an annotation."""
        missing = np.setdiff1d(np.arange(len(self.items)), self._rows()["annotation_item"])
        rows = self._rows().extended(len(missing), annotation_item=missing, **values)
        return rows.where(np.argsort(rows["annotation_item"], kind="stable"))

    def _n_repeats(self) -> int:
        """Count the annotations that repeat an (item, rater) pair."""
        rows = self._rows()
        pair = rows["annotation_item"].astype(np.int64) * len(self.raters) + rows["annotation_rater"]
        return len(self) - len(np.unique(pair))

    @classmethod
    def _of_rows(
        cls,
        rows: CodedRows,
        *,
        items: np.ndarray,
        raters: np.ndarray,
        rater_attributes: Mapping[str, np.ndarray] | None = None,
        **others: Any,
    ) -> Self:
        """Build from coded rows, in any order; raters without a row are dropped, `raters` is empty if anonymous."""
        present, merged = rows.merged(len(raters))
        attributes = (rater_attributes or {}) if len(present) else {}
        return cast("Any", cls)(  # a dataclass, which has these fields
            items=items,
            raters=raters[present] if len(present) else NO_RATERS,
            rater_attributes={name: values[present] for name, values in attributes.items()},
            **others,
            **merged,
        )

    def _recoded(self, items: Recoding, raters: Recoding) -> Self:
        """Annotations with other ids, in the order of these, without those of items whose new code is -1."""
        rows = self._rows()
        new = {name: items.new[rows[name]] for name in ("annotation_item", "left", "right") if name in rows}
        inside = np.all([code >= 0 for code in new.values()], axis=0)
        rows = rows.replaced({**new, "annotation_rater": raters.new[rows["annotation_rater"]]}).where(inside)
        others = self._others(items.old) | self._unanswered_by(items, raters)
        if attributes := getattr(self, "rater_attributes", {}):
            others["rater_attributes"] = {name: values[raters.old] for name, values in attributes.items()}
        return self._of_rows(rows, items=items.ids, raters=raters.ids, **others)

    def _others(self, item: np.ndarray) -> dict[str, Any]:
        """Fields that are neither rows, raters nor their attributes, for the items with these codes."""
        return {}

    def _unanswered_by(self, items: Recoding, raters: Recoding) -> dict[str, Any]:
        """Return the field of those who were asked and gave no answer, if there is one, under other ids."""
        return {}

    def _anonymised(self, whose: AnonymisedIds, random_seed: int | None, argument: str) -> Self:
        """Anonymised copy; `argument` names `whose` in the error."""
        if whose not in get_args(AnonymisedIds):
            problem = f"{short_repr(whose)} is not a choice of ids to replace"
            allowed, remedy = "'raters', or 'all' for items as well", "choose one, or leave it out"
            raise refused_argument(argument, problem, value=whose, allowed=allowed, remedy=remedy)
        rng = np.random.default_rng(random_seed)
        raters, items = draw_recoding("rater", len(self.raters), rng), identity_recoding(self.items)
        if whose == "all":
            items = draw_recoding("item", len(self.items), rng)
        return self._recoded(items, raters)


def raters_in_order[C: Container](container: C, ids: Sequence[Any]) -> C:
    """Annotations with raters coded in the order of `ids`, which has them all, instead of that of the table."""
    place = {rater: number for number, rater in enumerate(ids)}
    order = np.argsort([place[rater] for rater in container.raters.tolist()]).astype(np.intp)
    raters = recoding(container.raters[order], order)
    return container._recoded(identity_recoding(container.items), raters)


def _merging(
    ids: np.ndarray, rows: CodedRows, *columns: str, groups: Sequence[Sequence[Any]] | None = None
) -> Recoding:
    """Recoding of each group, by default of look-alikes, to one: without surplus spaces, else most frequent in the columns."""
    given = np.zeros(len(ids))
    for name in columns:
        if name in rows and len(ids):
            given += np.bincount(rows[name], rows.get("count"), len(ids))
    place, target = {text: code for code, text in enumerate(ids.tolist())}, np.arange(len(ids))
    for group in look_alikes(ids) if groups is None else groups:
        best = max(group, key=lambda text: (text == " ".join(text.split()), given[place[text]]))
        target[[place[text] for text in group]] = place[best]
    old = np.flatnonzero(target == np.arange(len(ids)))
    return Recoding(ids[old], old, np.append(np.searchsorted(old, target), -1))


def require_container(data: object, kind: type[Container]) -> None:
    """Raise `DataError` unless data are of a class of container."""
    if not isinstance(data, kind):
        name = kind.__name__
        raise DataError(
            f"a {type(data).__name__} is not {name}",
            allowed=f"raterzoo.models.{name}",
            remedy=f"read it by {name}.from_table",
        )


def values_of(data: Container) -> dict[str, Any]:
    """Return the fields of a container by name, mappings as dicts."""
    values = {field.name: getattr(data, field.name) for field in fields(data)}  # type: ignore[arg-type]
    return {name: dict(own) if isinstance(own, Mapping) else own for name, own in values.items()}


def _read_only(value: Any) -> Any:
    """Read-only view of an array, or of the arrays of a mapping; other values unchanged."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        value = MappingProxyType({name: _read_only(member) for name, member in value.items()})
    return value


def _equal(one: Any, other: Any) -> bool:
    """Compare two fields; text is never equal to integers."""
    if isinstance(one, np.ndarray):
        return one.dtype.kind == other.dtype.kind and np.array_equal(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    return one == other


# --- Parts of the text of `report`: ranges of counts, and ids to check ---


def range_of(counts: np.ndarray) -> str:
    """Minimum, maximum and median of counts in words; one number if all are equal."""
    low, high = counts.min(), counts.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,} (median {np.median(counts):g})"


def suspicious_ids(indexes: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Return look-alikes, and words that often mean a missing cell, by heading; `indexes` maps kinds such as "items" to ids."""
    lines = {}
    for what, index in indexes.items():
        if alike := look_alikes(index):
            lines[f"look-alike {what}"] = groups_in_words(alike)
        texts = index.tolist() if index.dtype.kind == "U" else []
        empty = [text for text in texts if text.strip().casefold() in MISSING_WORDS]
        if what == "categories":
            empty = suspects(index)
        if empty:
            lines[f"{what} that may be missing"] = first_reprs(empty, SHOWN)
    return lines


def tell_keys(names: Mapping[str, str], n_rows: int, ids: Mapping[str, np.ndarray]) -> None:
    """Warn of a column of labels, categories or raters that differs in each row, as a key does."""
    for role, index in ids.items():
        if len(index) == n_rows >= MANY:
            what = "rater" if role == "rater" else "category"
            asked = (
                f"is column {short_repr(names[role])} that of the {what}"
                if role in names
                else "is it an answer"
            )
            warn_user(
                f"each of the {len(index):,} answers has a {what} of its own: {asked}, or a key of the rows?",
                DataWarning,
            )
