"""Labels: one category for each answer, with repeats and gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, cast

import numpy as np

from ..._messages import short_repr, warn_user
from ...posterior.schema import CLASSIFIER
from .coded_rows import ANONYMOUS, NO_RATERS, CodedRows
from .container import MANY, Container, Recoding, identity_recoding, range_of, tell_keys
from .errors import DataError, DataWarning, refused_argument
from .no_answers import NoAnswer, categories_of, folded_answer, listed_answers, tell_suspects
from .raters import attributes_with_classifiers, read_attributes
from .reading.columns import Missing, cells_that, code_categories, code_ids
from .reading.frames import Columns
from .reading.label_cells import plain_labels
from .reading.long_tables import Keep, annotation_columns, left_out, read_times, set_apart, times_as_cells
from .reading.numbers import read_counts, split_counts
from .reading.predicted_labels import (
    PredictedLabels,
    joined_ids,
    joined_raters,
    read_predicted_labels,
    refused_predictions,
    unknown_items,
)
from .reading.stated import (
    CERTAIN,
    PROBABILITY,
    categories_of_probabilities,
    label_beside,
    labelled,
    read_probabilities,
    refuse_unlikely,
)
from .reading.tag_sets import read_tags, refuse_second_answers, tag_sets, tags_of, tell_unnamed, with_tag_sets
from .reading.vote_shapes import AND
from .reading.wide_tables import (
    UNKNOWN,
    at_wide_cells,
    counted_columns,
    items_of_rows,
    read_gold,
    wide_columns,
)
from .taxonomies import read_taxonomy, require_nodes

MAX_CELLS = 1_000_000_000  # of counts by item and category
MAX_ANSWERS = 200_000_000
CROWD = 10_000  # raters whose parameters, of two answers each, take gigabytes
EVERYONE = "all raters"  # id of raters taken as one


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Container):
    """Validated labels of items by raters over a closed set of categories.

    A rater may answer an item once, several times or never. Labels and truth share the closed set.

    Made by `from_table`, `from_wide` or `from_counts`. ``len`` is the number of answers; ``==`` compares all
    fields. All arrays are read-only.

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
    order : ndarray of int32, shape (annotation,) or (0,)
        Place of each answer in time, from 1, where it is known, else 0; empty without any.
    times : ndarray of float64 or datetime64, shape (time,)
        Distinct times of the answers, ascending, in UTC: that of an answer is ``times[order - 1]``; empty unless `time=` named
        their column.
    rater_attributes : mapping of str to ndarray, shape (rater,)
        Attributes of the raters, such as their kind.
    unanswered : mapping of str to ndarray, shape (request,)
        What `no_answer=` set apart, and inner nodes of the taxonomy: ids of ``item`` and ``rater``, the ``answer`` as text,
        and ``count``; empty without any.
    taxonomy : mapping of str to ndarray, shape (edge,)
        ``node`` and ``parent`` of each edge of the tree whose leaves are the categories; empty without any.
    probabilities : ndarray of float64, shape (annotation,) or (0,)
        Probability that the rater states for the label given, 1 without one; empty unless `probability=` named their column.

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

    _kind, _annotations = "labels", "answers"
    _columns = ("annotation_item", "annotation_rater", "label_code", "count")

    items: np.ndarray
    raters: np.ndarray
    categories: np.ndarray
    annotation_item: np.ndarray
    annotation_rater: np.ndarray
    label_code: np.ndarray
    count: np.ndarray
    gold: np.ndarray
    rater_attributes: Mapping[str, np.ndarray] = field(default_factory=dict)
    order: np.ndarray = field(default_factory=lambda: np.array([], np.int32))
    unanswered: Mapping[str, np.ndarray] = field(default_factory=dict)
    times: np.ndarray = field(default_factory=lambda: np.array([]))
    taxonomy: Mapping[str, np.ndarray] = field(default_factory=dict)
    probabilities: np.ndarray = field(default_factory=lambda: np.array([]))

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        item: str = "item",
        rater: str = "rater",
        label: str | Sequence[str] | None = "label",
        count: str | None = None,
        gold: str | None = None,
        order: str | None = None,
        rater_attributes: Sequence[str] = (),
        categories: Sequence[Any] | np.ndarray | None = None,
        missing: Missing = "error",
        no_answer: NoAnswer = (),
        keep: Keep = "all",
        time: str | None = None,
        taxonomy: Mapping[Any, Any] | None = None,
        probability: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Self:
        """Read a long table with one row for each answer.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        item, rater, label : str
            Names of the columns; by default also those of the trade, such as "task_id" and "annotator", which a
            warning names. Ids and labels are text, kept exactly, or integers. Several answers of a rater to an
            item are several rows. Several names of labels are columns of categories, with 1 or true where it was given.
        count : str, optional
            Column with the number of times the answer was given, from 0; by default 1 in each row.
        gold : str, optional
            Column with the true category of the item; empty where it is unknown.
        order : str, optional
            Column with a number that rises with the time of the answer, where the times are not to be kept; empty where it is
            unknown.
        rater_attributes : sequence of str
            Columns with attributes of the rater, such as kind = person | model.
        categories : sequence, optional
            Closed set of categories, in the order that breaks ties. None takes the categories of a pandas
            categorical or a polars Enum, or else the sorted labels that occur.
        missing : {"error", "drop"}
            Treatment of rows with an empty cell, except gold, order and time; a warning says how many were dropped.
        no_answer : sequence, optional
            Answers that are no truth, such as "unsure" or -1, in any case: their rows are set apart; a warning says how many.
            `dawid_skene` learns from who gave none, other models do not. Items without another answer stay.
        keep : {"all", "first", "last"}
            Of several answers of a rater to an item, those that count; a warning says how many do not.
        time : str, optional
            Column of the times of the answers, numbers or dates; those without a time zone are in UTC, and empty where unknown.
            Models with ``time=`` let the skill of a rater change with them; checks ask whether it does, and whether raters
            repeat the first answer to an item or give one label late in their queue. `keep` goes by it; by default by a
            column called so, such as "created_at", else by the order of the rows. With `order` it serves `keep` alone.
        taxonomy : mapping, optional
            Parent of each category, such as ``{"melanoma": "melanocytic", "nevus": "melanocytic"}``. The leaves are the
            categories. An answer that is an inner node is true of all leaves below it: `raterzoo.models.taxonomic` learns from
            it, and other models leave it out; a warning says how many. Gold labels are leaves.
        probability : str, optional
            Column of the probabilities that raters state, from 0 to 1. Beside labels it is that of the label given; an empty cell
            is a label without one. With ``label=None``, or where no column of labels is there, it is that of the last of two
            categories, which are by default those of gold, or 0 and 1; the label is then the likelier one, at .5 the last.
            `dawid_skene` learns from them how a rater's probabilities are to be read; other models read the labels.
        tags : sequence of str, optional
            Two to six tags of which an answer, and gold, is a set: a list, a text such as "a|b", or, without a column `label`, 0
            or 1 in a column for each tag. The categories are all sets, "none" first: set k has tag t if bit t of k is 1. "none"
            and an empty list are answers; an empty cell is a missing one. A rater answers an item once.

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
        if tags is not None:
            _refuse_beside_tags(label, categories, no_answer, taxonomy, probability)
            names = read_tags(tags)
            frame, categories = with_tag_sets(frame, cast(str, label), gold, names), tag_sets(names)
        label = label_beside(frame, label, probability)
        label = label if label is None or isinstance(label, str) else AND.join(label)
        roles = {"item": item, "rater": rater, "label": label, "count": count, "gold": gold}
        roles |= {"order": order, "time": time if order is None else None, PROBABILITY: probability}
        empty = ("gold", "order", "time", *([PROBABILITY] if label is not None else []))
        columns = annotation_columns(frame, "labels", roles, rater_attributes, missing, (), keep, time, empty)
        stated = None
        if probability is not None:
            stated = read_probabilities(columns[PROBABILITY], alone=label is None)
        if label is None:
            _refuse_alone(probability, no_answer, taxonomy)
            categories = categories_of_probabilities(columns, categories)
            columns = labelled(columns, cast(np.ndarray, stated), categories)
        answered, out = columns, np.zeros(0, bool)
        if listed_answers(no_answer):
            columns, out = set_apart(columns, "label", no_answer, kept=True)
        edges: dict[str, np.ndarray] = {}
        if taxonomy is not None:
            tree = read_taxonomy(taxonomy)
            edges, categories = tree.columns(), tree.leaves if categories is None else categories
            require_nodes(tree, (left_out(columns, out, "have no answer") if out.any() else columns)["label"])
            coarse = cells_that(columns["label"].values, tree.inner.__contains__)
            _tell_coarse(int(coarse.sum()), len(coarse))
            out = coarse | out if len(out) else coarse
        if out.any():
            answered = left_out(columns, out, "have no answer")
        given = ~out if out.any() else slice(None)
        items, item_code = code_ids(columns["item"])
        raters, rater_code = code_ids(columns["rater"])
        labels, code = code_categories(answered["label"], categories_of(categories, no_answer))
        if tags is not None:
            refuse_second_answers(columns["rater"], item_code, rater_code)
            tell_unnamed(tags, code)
        times = read_counts(columns["count"]) if count is not None else np.ones(len(item_code), np.int64)
        truth = None if gold is None else read_gold(columns["gold"], items, item_code, labels)
        if stated is not None:
            if label is None:
                stated = np.maximum(stated, 1 - stated)
            stated = stated[given]
            refuse_unlikely(answered[PROBABILITY], stated, len(labels))
        if categories is None:
            tell_suspects(labels, code, times[given], true=truth)
            tell_keys(columns.names, len(code), {"label": labels})
        tell_keys(columns.names, len(rater_code), {"rater": raters})
        attributes = read_attributes(columns, raters, rater_code)
        rows = (item_code[given], rater_code[given], code, times[given])
        place, moments = _places(columns, given)
        beside = {"order": place, "times": moments, "probabilities": stated}
        found = cls._of_answers(
            items, raters, labels, *rows, gold=truth, rater_attributes=attributes, **beside
        )
        found = replace(found, taxonomy=edges) if edges else found
        if not out.any():
            return found
        words = {folded_answer(word): str(word) for word in listed_answers(no_answer)}
        cells = columns["label"].values
        none = {"item": items[item_code[out]], "rater": raters[rater_code[out]], "count": times[out]}
        answers = [cells[row] for row in np.flatnonzero(out).tolist()]
        none["answer"] = np.array([words.get(folded_answer(answer), str(answer)) for answer in answers])
        return replace(found, unanswered=none)

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        *,
        raters: Sequence[str] | None = None,
        item: str | None = None,
        count: str | None = None,
        categories: Sequence[Any] | np.ndarray | None = None,
        no_answer: NoAnswer = (),
    ) -> Self:
        """Read a wide table: a column for each rater, a row for each item or pattern of answers.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            The table; an empty cell is a missing answer.
        raters : sequence of str, optional
            Columns of the raters; by default all others than those of the items and of the counts.
        item : str, optional
            Column with the ids of the items; by default a column item where no raters are named, else the items
            are numbered from 0.
        count : str, optional
            Column with the number of items of this pattern, which become items ``"row.1"``, ``"row.2"``...
        categories : sequence, optional
            Closed set of categories; by default the sorted labels that occur.
        no_answer : sequence, optional
            Answers that are no truth, such as "unsure" or -1, in any case: they are left out; a warning says how many.

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
        items, columns, row, repeats = wide_columns(frame, "labels", raters, item, count, no_answer)
        with at_wide_cells(columns["rater"], row):
            own = plain_labels(columns["label"])
            labels, label = code_categories(own, categories_of(categories, no_answer))
        names, rater = code_ids(columns["rater"])
        at, answer = items_of_rows(row, repeats)
        once = np.ones(len(at), np.int64)
        if categories is None:
            tell_suspects(labels, label[answer], once)
            tell_keys({}, len(label), {"label": labels})
        return cls._of_answers(items, names, labels, at, rater[answer], label[answer], once)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        item: str = "item",
        categories: Sequence[Any] | np.ndarray | None = None,
        no_answer: NoAnswer = (),
    ) -> Self:
        """Read the number of times each label was given to each item by anonymous raters.

        Parameters
        ----------
        counts : DataArray, frame or mapping
            A DataArray with dims item and category, or a table of rows of items and columns of categories.
        item : str
            Column, or dim, of the items.
        categories : sequence, optional
            Columns, or labels, of the categories in their order; by default all except `item`.
        no_answer : sequence, optional
            Categories that are no truth, such as "unsure": their counts are left out; a warning says how many.

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
        items, labels, table = counted_columns(counts, item, categories, no_answer)
        at, label = np.nonzero(table)
        if categories is None:
            tell_suspects(labels, label, table[at, label])
        rater = np.full(len(at), ANONYMOUS)
        return cls._of_answers(items, NO_RATERS, labels, at, rater, label, table[at, label])

    def with_predictions(
        self,
        predictions: Any,
        *,
        group: str = CLASSIFIER,
        attribute: str = "kind",
        new_items: Literal["error", "add"] = "error",
    ) -> Self:
        """Add classifiers as raters, whose answers are their predictions, to estimate their accuracy against the truth.

        A metric against the posterior of these labels is about the true categories, given all that people and classifiers said.
        Against the posterior of the labels without predictions it is agreement with what the raters leave open, which
        understates a good classifier. The former rests on the model: classifiers and raters err independently given the
        truth, or share errors in groups (``models.shared_guess(labels, "kind", independent=("person",))``). Fit a model
        with a variable of each rater, such as `dawid_skene`; models in which raters are alike count a classifier as one
        more person.

        Parameters
        ----------
        predictions : DataArray
            As by `evaluation.predictions_from_table`: labels (item, position), best first, "" for none; or scores,
            probabilities or booleans (item, category), -inf for none; perhaps with a dim ``classifier``, whose coordinate
            names the raters. Without one the rater is "predictions". Of each item the best label counts, ties by the order of
            the categories: how probable a classifier says it is does not enter; it does as features of the items, see
            `evaluation.prediction_features`.
        group : str, default "classifier"
            Value of the attribute for these classifiers, also of all other attributes of text.
        attribute : str, default "kind"
            Rater attribute that says who is a classifier. If the raters have none of this name, they are each a "person".
        new_items : {"error", "add"}
            Treatment of predicted items that the labels do not have: an error, or items without an answer of a person. The
            labels of a judge of many items say little on them unless people answered some.

        Returns
        -------
        Labels
            With one more rater for each classifier, and one answer for each of its predictions. A classifier may leave out
            items, as raters do, and need not predict every category. Gold and categories stay.

        Raises
        ------
        DataError
            If the raters are anonymous, or one of them has the name of a classifier, as if its predictions were added
            twice; if a predicted item is unknown or repeated, or a label is none of the categories; if a classifier predicts
            nothing, or no item that a rater answered or that has a gold label.

        Examples
        --------
        >>> from raterzoo import evaluation, models
        >>> table = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "Ann"], "label": ["cat", "dog", "cat"]}
        >>> rows = {"item": [1, 2], "category": ["cat", "dog"], "rank": [1, 1], "classifier": ["net", "net"]}
        >>> predictions = evaluation.predictions_from_table(rows, rank="rank", classifier="classifier")
        >>> joint = models.Labels.from_table(table).with_predictions(predictions)
        >>> joint.raters.tolist(), joint.rater_attributes["kind"].tolist()
        (['Ann', 'Bob', 'net'], ['person', 'person', 'classifier'])

        References
        ----------
        Hui and Walter (1980), Estimating the error rates of diagnostic tests, Biometrics 36(1), 167-171,
        doi:10.2307/2530508: accuracy without a gold standard.
        """
        if self.anonymous:
            raise refused_predictions(
                "these labels have no raters beside whom a classifier could be one",
                allowed="answers of identified raters",
                remedy="read a table with a column of raters",
            )
        found = read_predicted_labels(predictions, self.categories)
        raters = joined_raters(self.raters, found.classifiers, "labels", "answers")
        items, place = self._items_with(found, new_items)
        self._refuse_apart(found, place)
        attributes = attributes_with_classifiers(
            self.rater_attributes, (len(self.raters), len(found.classifiers)), attribute, group
        )
        who, which = np.nonzero(found.label >= 0)
        answers = {"annotation_item": place[which], "annotation_rater": len(self.raters) + who}
        rows = self._rows().extended(
            len(who), **answers, label_code=found.label[who, which], probabilities=CERTAIN, count=1
        )
        unknown = np.full(len(items) - len(self.items), UNKNOWN, np.int32)
        gold, order = np.append(self.gold, unknown), {"items": items, "categories": self.categories}
        of_raters = {"rater_attributes": attributes, "unanswered": self.unanswered, "times": self.times}
        of_raters["taxonomy"] = self.taxonomy
        return self._of_rows(rows, **order, raters=raters, gold=gold, **of_raters)

    @property
    def one_answer_each(self) -> bool:
        """Whether each of ten raters or more gave one answer, and no attribute groups them: none can be judged."""
        return MANY <= len(self.raters) == self.count.sum() and not self.rater_attributes

    @property
    def two_answers_each(self) -> bool:
        """Whether each rater of a crowd, of 10,000 or more, gave two answers at most, and no attribute groups them."""
        n = len(self.raters)
        if n < CROWD or self.rater_attributes or self.count.sum() > 2 * n:
            return False
        return bool(np.bincount(self.annotation_rater, self.count, n).max() <= 2)

    def with_raters_pooled(self) -> Self:
        """Take all raters as one, "all raters": where each gave one answer, the answers tell none apart.

        A model of raters then learns one confusion matrix, the mean of theirs, in place of one for each. Given the true label,
        answers of raters who answer once are independent draws from it, whether their skills differ or not. So are those to one
        item of raters who answer several: the claim of an item then leaves out what their other answers say of them.

        Returns
        -------
        Labels
            The same answers, by one rater without attributes; counts of anonymous raters stay as they are.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": [1, 1, 2], "rater": ["Ann", "Bob", "Cem"], "label": ["cat", "dog", "cat"]}
        >>> models.Labels.from_table(table).with_raters_pooled().raters.tolist()
        ['all raters']
        """
        if self.anonymous:
            return self
        new = np.zeros(len(self.raters) + 1, np.int32)
        new[-1] = ANONYMOUS
        everyone = Recoding(np.array([EVERYONE]), np.zeros(1, np.int64), new)
        return replace(self, rater_attributes={})._recoded(identity_recoding(self.items), everyone)

    def _items_with(self, found: PredictedLabels, new_items: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the items with those that are only predicted last, and the code of each predicted item, or raise."""
        if new_items not in ("error", "add"):
            problem, allowed = f"{short_repr(new_items)} is no choice", "'error' or 'add'"
            raise refused_argument(
                "new_items", problem, value=new_items, allowed=allowed, remedy="choose one"
            )
        code = {item: place for place, item in enumerate(self.items.tolist())}
        new = np.array([item not in code for item in found.items.tolist()])
        whose = ("the items of the labels", "those of the predictions")
        items = joined_ids(self.items, found.items[new], whose)
        if new.any() and new_items == "error":
            remedy = "correct the id, leave the prediction out, or pass new_items='add' to take items that no rater answered"
            raise unknown_items(found.items[new].tolist(), self.items, "labels", remedy)
        code |= {item: len(self.items) + place for place, item in enumerate(found.items[new].tolist())}
        return items, np.array([code[item] for item in found.items.tolist()], np.int64)

    def _refuse_apart(self, found: PredictedLabels, place: np.ndarray) -> None:
        """Raise if a classifier predicts nothing, or no item that a rater answered or that has a gold label."""
        told = np.zeros(max(len(self.items), int(place.max()) + 1), bool)
        told[self.annotation_item] = True
        told[: len(self.items)] |= self.gold >= 0
        for name, label in zip(found.classifiers.tolist(), found.label, strict=True):
            if not (label >= 0).any():
                problem, remedy = "has no prediction", "leave it out"
            elif not told[place[label >= 0]].any():
                problem = "predicts no item that a rater answered or that has a gold label, and nothing tells how good it is"
                remedy = "add its predictions for items of the raters"
            else:
                continue
            raise refused_predictions(f"classifier {short_repr(name)} {problem}", value=name, remedy=remedy)

    @classmethod
    def _of_answers(
        cls,
        items: np.ndarray,
        raters: np.ndarray,
        categories: np.ndarray,
        *columns: np.ndarray,
        gold: np.ndarray | None = None,
        rater_attributes: Mapping[str, np.ndarray] | None = None,
        order: np.ndarray | None = None,
        times: np.ndarray | None = None,
        probabilities: np.ndarray | None = None,
    ) -> Self:
        """Build from the columns item, rater, label and count of coded answers; `raters` empty if anonymous."""
        rows = CodedRows(zip(cls._columns, columns, strict=True))
        return cls._of_rows(
            _with_columns(rows, probabilities=probabilities, order=order),
            items=items,
            raters=raters,
            rater_attributes=rater_attributes,
            categories=categories,
            gold=np.full(len(items), UNKNOWN, np.int32) if gold is None else gold,
            times=times,
        )

    @classmethod
    def _of_rows(cls, rows: CodedRows, *, times: np.ndarray | None = None, **others: Any) -> Self:
        if times is None or not len(times):
            return super()._of_rows(rows, **others)
        used, place = np.unique(rows["order"], return_inverse=True)
        rows = rows.replaced({"order": (place + (used[:1] > 0)).astype(np.int32)})
        return super()._of_rows(rows, times=times[used[used > 0] - 1], **others)

    def without_duplicates(self) -> Self:  # noqa: D102 (that of the base class)
        rows = self._rows()
        if "order" in rows:  # the first of equal answers stays
            rows = rows.where(rows.changes(*[name for name in rows if name not in ("order", "count")]))
        return super(Labels, replace(self, **rows)).without_duplicates()

    def _rows(self) -> CodedRows:
        further = {"probabilities": self.probabilities, "order": self.order}
        return _with_columns(super()._rows(), **{name: own for name, own in further.items() if len(own)})

    def _others(self, item: np.ndarray) -> dict[str, Any]:
        kept = {"categories": self.categories, "times": self.times, "taxonomy": self.taxonomy}
        return kept | {"gold": self.gold[item]}

    def _unanswered_by(self, items: Recoding, raters: Recoding) -> dict[str, Any]:
        if not self.unanswered:
            return {}
        code = {name: code_of(self.unanswered[name], getattr(self, f"{name}s")) for name in ("item", "rater")}
        new = {"item": items.new[code["item"]], "rater": raters.new[code["rater"]]}
        kept = (new["item"] >= 0) & (new["rater"] >= 0)
        ids = {"item": items.ids[new["item"][kept]], "rater": raters.ids[new["rater"][kept]]}
        return {"unanswered": {name: own[kept] for name, own in self.unanswered.items()} | ids}

    def _table(self) -> dict[str, np.ndarray]:
        if self.anonymous:
            counts = {str(k): self.counts[:, c] for c, k in enumerate(self.categories.tolist())}
            return {"item": self.items, **counts}
        rows = self._rows_of_all_items(probabilities=CERTAIN)
        item, rater = rows["annotation_item"], rows["annotation_rater"]
        table = {"item": self.items[item], "rater": self.raters[rater]}
        table |= {"label": self.categories[rows["label_code"]], "count": rows["count"]}
        if self.has_gold:
            table["gold"] = np.array([*self.categories.tolist(), ""], object)[self.gold[item]]
        if "probabilities" in rows:
            table[PROBABILITY] = rows["probabilities"]
        if len(self.times):
            table["time"] = times_as_cells(self.times, rows["order"])
        elif "order" in rows:
            table["order"] = np.where(rows["order"] > 0, rows["order"].astype(object), "")
        attributes = {name: values[rater] for name, values in self.rater_attributes.items()}
        return split_counts(table | attributes)

    @property
    def identified(self) -> bool:
        """Whether some item has two answers, or one and a gold label: else errors may be rare labels."""
        if len(self.annotation_item) > len(self.items):
            return True
        per_item = np.bincount(self.annotation_item, self.count, len(self.items))
        return bool((per_item + (self.gold >= 0) > 1).any())

    @property
    def tags(self) -> list[str]:
        """Tags of labels read with ``tags=``, whose categories are all sets of them; none of other labels."""
        return tags_of(self.categories)

    @property
    def has_gold(self) -> bool:
        """Whether some item has a gold label."""
        return bool((self.gold >= 0).any())

    @property
    def counts(self) -> np.ndarray:
        """Number of times each label was given to each item by any rater, shape (item, category)."""
        shape = len(self.items), len(self.categories)
        if shape[0] * shape[1] > MAX_CELLS:
            raise DataError(
                f"{shape[0]:,} items x {shape[1]:,} categories are {shape[0] * shape[1]:,} counts",
                value=shape[0] * shape[1],
                allowed=f"{MAX_CELLS:,} counts",
                remedy="check which column holds the labels, or split the items",
                where="labels",
            )
        counts = np.zeros(shape, np.int64)
        np.add.at(counts, (self.annotation_item, self.label_code), self.count)
        return counts

    def _contradictions(self) -> int:
        pair = self.annotation_item.astype(np.int64) * len(self.raters) + self.annotation_rater
        label = (
            pair * len(self.categories) + self.label_code
        )  # equal answers at several times are no contradiction
        return len(np.unique(label)) - len(np.unique(pair))

    def _summary(self) -> dict[str, str]:
        n_items, n_raters, n_categories = map(len, (self.items, self.raters, self.categories))
        per_item = np.bincount(self.annotation_item, self.count, n_items).astype(int)
        given = np.bincount(self.label_code, self.count, n_categories).astype(int)
        first = zip(self.categories[:20].tolist(), given, strict=False)
        lines = {
            "items": f"{n_items:,}, {(self.gold >= 0).sum():,} with a known truth",
            "raters": f"{n_raters:,}" if n_raters else "anonymous",
            "answers": f"{len(self):,}, {range_of(per_item)} an item",
            "categories": f"{n_categories:,} declared, {(given > 0).sum():,} given",
            "answers by category": ", ".join(f"{short_repr(k)} {n:,}" for k, n in first),
            **_said_no_answer(self.unanswered, set(map(str, self.taxonomy.get("parent", ())))),
            "items without an answer": f"{(per_item == 0).sum():,}",
            "items with one answer": f"{(per_item == 1).sum():,}",
        }
        if len(self.probabilities):
            stated = self.count[self.probabilities < 1].sum()
            lines["stated probabilities"] = f"{stated:,} of {len(self):,} answers; others are certain"
        if n_raters:
            per_rater = np.bincount(self.annotation_rater, self.count, n_raters).astype(int)
            lines["answers by rater"] = range_of(per_rater)
            other = self.contradictions()
            lines["repeated answers"] = (
                f"{self._n_repeats():,}" + f", {other:,} of them with another label" * (other > 0)
            )
        if not self.identified:
            lines["NOT IDENTIFIED"] = "no item has two answers: only the prior says who errs, and how often"
        return lines


def _said_no_answer(unanswered: Mapping[str, np.ndarray], inner: set[str]) -> dict[str, str]:
    """Return the lines of `report` on those who answered an inner node, and on those who gave no answer."""
    lines: dict[str, list[str]] = {"inner nodes": [], "no answer": []}
    if unanswered:
        words, code = np.unique(unanswered["answer"], return_inverse=True)
        given = np.bincount(code, unanswered["count"]).astype(int)
        for word, n in zip(words.tolist(), given, strict=True):
            lines["inner nodes" if word in inner else "no answer"].append(f"{short_repr(word)} {n:,}")
    return {name: ", ".join(said) for name, said in lines.items() if said}


def _tell_coarse(n: int, total: int) -> None:
    """Warn of answers that are inner nodes."""
    if n:
        said = f"{n:,} of {total:,} answers are inner nodes of the taxonomy: only models.taxonomic learns from them"
        warn_user(said, DataWarning)


def code_of(ids: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the place of ids among known ones, -1 for others."""
    place = {own: code for code, own in enumerate(known.tolist())}
    return np.array([place.get(own, -1) for own in ids.tolist()], np.int64)


def _places(columns: Columns, given: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the place of the answers in time, and its times; None without a column of them."""
    for role in ("order", "time"):
        if role in columns:
            place, times = read_times(columns[role])
            return place[given], times if role == "time" else None
    return None, None


def _with_columns(rows: CodedRows, **further: np.ndarray | None) -> CodedRows:
    """Return rows with further columns before their counts: answers at several times, say, are several rows."""
    own = {name: column for name, column in further.items() if column is not None}
    count = {"count": rows.pop("count")}
    return CodedRows(rows | own | count)


def _refuse_alone(probability: str | None, no_answer: NoAnswer, taxonomy: Any) -> None:
    """Raise where there is no column of labels, and no probabilities instead of it, or options that read labels."""
    if probability is None:
        problem, remedy = (
            "labels need a column of labels",
            "name it, or a column of probabilities: probability=...",
        )
        raise refused_argument("label", problem, allowed="the name of a column", remedy=remedy)
    for name, value in {"no_answer": listed_answers(no_answer), "taxonomy": taxonomy}.items():
        if value:
            problem, remedy = (
                f"{name} is about labels, and the probabilities stand alone",
                "name the labels, or leave it out",
            )
            raise refused_argument(name, problem, value=value, remedy=remedy)


def _refuse_beside_tags(
    label: Any, categories: Any, no_answer: NoAnswer, taxonomy: Any, probability: Any
) -> None:
    """Raise where an option that reads single labels stands beside tags."""
    options = {"categories": categories, "no_answer": listed_answers(no_answer) or None}
    for name, value in (options | {"taxonomy": taxonomy, "probability": probability}).items():
        if value is not None:
            problem = f"{name} is about single labels, and tags= reads sets"
            raise refused_argument(name, problem, value=value, remedy="leave one of them out")
    if not isinstance(label, str):
        problem, allowed = f"label={short_repr(label)} names no column of sets", "one column"
        remedy = "name the column of the sets; columns of 0 and 1 are named by tags="
        raise refused_argument("label", problem, value=label, allowed=allowed, remedy=remedy)


def require_answers(labels: Labels) -> None:
    """Raise `DataError` if there is no answer, or more than a model of single answers can hold."""
    total = int(labels.count.sum())
    if not total:
        raise DataError("there is no answer to learn from", remedy="check what was read or selected")
    if total > MAX_ANSWERS:
        problem = f"the counts add up to {total:,} answers of single raters"
        allowed, remedy = f"{MAX_ANSWERS:,} answers", "check the counts; a rater answers an item a few times"
        raise DataError(problem, column="count", value=total, allowed=allowed, remedy=remedy)


def expand_answers(labels: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of item, rater and label of every single answer, each of shape (answer,) int32."""
    require_answers(labels)
    codes = (labels.annotation_item, labels.annotation_rater, labels.label_code)
    if (labels.count == 1).all():
        item, rater, label = (code.copy() for code in codes)
        return item, rater, label
    item, rater, label = (np.repeat(code, labels.count) for code in codes)
    return item, rater, label
