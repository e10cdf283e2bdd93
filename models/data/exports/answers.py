"""Answers of an export: collected by question, and written as the long table of one kind of annotation."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...._messages import first_reprs, short_repr
from ..errors import DataError
from ..reading.frames import MAX_ROWS
from ..reading.numbers import number_of
from .records import Document, Node

PREDICTIONS = "predictions"
KINDS = ("labels", "scores", "comparisons", "rankings", PREDICTIONS)
EARLIER = "earlier copies and versions of an answer"
FAILED = "failures of a grader"
ONLY = "answer"  # question without a name of its own


class Answer(NamedTuple):
    """Answer to one question about one item, or the prediction of it."""

    item: str
    rater: str | None  # of a prediction the classifier
    label: str | None
    score: Any
    ranks: Sequence[tuple[str, str]]  # (category, rank)
    row: int  # of its record


class Vote(NamedTuple):
    """Preference for one of two items."""

    left: str
    right: str
    winner: str | None
    rater: str | None
    prompt: str | None
    question: str
    row: int


class LongTable(NamedTuple):
    """Columns for `from_table`, how they were read, the record of each row, and what was left out."""

    columns: Mapping[str, list[Any]]
    said: str
    records: Sequence[int]
    left_out: str  # empty if nothing was


class Meaning(NamedTuple):
    """Value of an answer as a label, a score and a ranking: None or empty if it is none."""

    label: str | None = None
    score: Any = None
    ranks: Sequence[tuple[str, str]] = ()


def meaning_of(node: Node | None) -> Meaning:
    """Return the meaning of a raw value: that of its member for an array of one; none for null, NaN and longer arrays.

    Text is a label, and a score where it is a number, as integers are text; a ranking is an array of objects
    with value and rank.
    """
    for _ in range(2):  # an array of one, perhaps in another
        if node is not None and isinstance(node.value, list) and len(node.value) == 1:
            (inner,) = node.value
            node = node if _is_place(inner) else Node(inner, node.place, node.row)
    value = None if node is None else node.value
    if isinstance(value, bool):
        return Meaning("true" if value else "false")
    if isinstance(value, str):
        return Meaning(value, value if number_of(value) is not None else None)
    if isinstance(value, float):
        return Meaning(str(int(value)) if value.is_integer() else None, value if value == value else None)
    if node is None or not isinstance(value, list) or not value:
        return Meaning()
    if not all(map(_is_place, value)):
        return Meaning()
    pairs = [(own.need("value").text(), own.get("rank")) for own in node.members("place")]
    return Meaning(ranks=[(category, rank.text()) for category, rank in pairs if rank])


def _is_place(value: Any) -> bool:
    """Whether a value is a place in a ranking."""
    return isinstance(value, dict) and {"value", "rank"} <= value.keys()


@dataclass
class Answers:
    """Collector of what a reader finds."""

    by_question: dict[str, list[Answer]] = field(default_factory=dict)
    predicted: dict[str, list[Answer]] = field(default_factory=dict)
    votes: list[Vote] = field(default_factory=list)
    sides: tuple[str, str] | None = None  # fields that name what is on the left and on the right of a vote
    refused: DataError | None = None  # of the first vote that could not be read
    n_refused: int = 0  # votes
    gold: dict[tuple[str, str], str] = field(default_factory=dict)  # of a question and an item
    left_out: Counter[str] = field(default_factory=Counter)  # what was not read, in the plural
    scale_of_rater: bool = (
        False  # whether each rater of a question, such as a scorer, has labels or scores of its own
    )
    one_each: bool = False  # whether a rater answers a question about an item once, so that a later record replaces an earlier
    _place: dict[tuple[str, ...], int] = field(
        default_factory=dict
    )  # of the answers that a later record may replace

    def add(self, node: Node, question: str, item: str, rater: str | None, meaning: Meaning) -> None:
        """Add the answer of a rater."""
        self._append(self.by_question, question, Answer(item, rater, *meaning, node.row))

    def _append(self, answers: dict[str, list[Answer]], question: str, own: Answer) -> None:
        """Append an answer, or replace that of an earlier record if there is one of each rater."""
        listed = answers.setdefault(question, [])
        key = (str(id(answers)), question, own.item, str(own.rater))
        place = self._place.setdefault(key, len(listed)) if self.one_each else len(listed)
        if place < len(listed) and listed[place].row != own.row:
            self.left_out[EARLIER] += 1
            listed[place] = own
        else:
            listed.append(own)

    def predict(
        self,
        node: Node,
        question: str,
        item: str,
        classifier: str | None,
        label: str | None,
        probability: float | None = None,
    ) -> None:
        """Add a category that a classifier predicts, perhaps with its probability."""
        self._append(self.predicted, question, Answer(item, classifier, label, probability, (), node.row))

    def vote(
        self,
        node: Node,
        left: str,
        right: str,
        winner: str | None,
        rater: str | None,
        question: str = ONLY,
        prompt: str | None = None,
    ) -> None:
        """Add a preference, perhaps with the prompt that both items answered."""
        self.votes.append(Vote(left, right, winner, rater, prompt, question, node.row))

    @contextmanager
    def votes_refused(self) -> Iterator[None]:
        """Context manager: an error about a vote is raised where votes are asked for."""
        try:
            yield
        except DataError as error:
            self.refused = self.refused or error
            self.n_refused += 1

    def set_gold(self, node: Node, question: str, item: str, label: str) -> None:
        """Set the true label of an item; raises if another was set before."""
        if self.gold.setdefault((question, item), label) != label:
            problem = f"{short_repr(label)} is the truth of the item, but an earlier record says otherwise"
            raise node.refused(problem, "keep one of them")

    def table(self, kind: str, question: str | None, place: str) -> LongTable:
        """Long table of one kind of annotation; raises if there is none, or several questions to choose from."""
        if kind == "comparisons":
            if self.refused is not None:
                raise self.refused
            asked_of = dict.fromkeys(own.question for own in self.votes)
            name = self._chosen(kind, question, asked_of, place)
            votes = [own for own in self.votes if own.question == name]
            cells = {name: [getattr(own, name) for own in votes] for name in Vote._fields[:-2]}
            columns = _without_empty(_without_empty(cells, "rater"), "prompt")
            out = self._left_out(0)
            return LongTable(
                columns, _said(name if len(asked_of) > 1 else None, out), [own.row for own in votes], out
            )
        asked = (
            self.predicted
            if kind == PREDICTIONS
            else {q: self._on_scale(own) for q, own in self.by_question.items()}
        )
        fitting = {name: own for name, own in asked.items() if any(_is(kind, answer) for answer in own)}
        raters = {own.rater: name for name, answers in fitting.items() for own in answers if _is(kind, own)}
        if question is not None and question not in fitting and question in raters:  # one scorer of several
            only = [own for own in fitting[raters[question]] if own.rater == question]
            fitting, asked = {question: only}, {**asked, question: only}
        name = self._chosen(kind, question, fitting, place)
        rows = [own for own in fitting[name] if _is(kind, own)]
        if len(rows) > MAX_ROWS:
            raise DataError(f"there are {len(rows):,} answers", remedy="divide the file", where=place)
        out = self._left_out(len(fitting[name]) - len(rows), len(self.votes) + self.n_refused)
        answering = {own.rater for own in rows}
        silent = dict.fromkeys(own.rater for own in fitting[name] if own.rater not in answering)
        if self.scale_of_rater:
            _check_scales(kind, rows, place)
        if self.scale_of_rater and silent:
            out += f"; {first_reprs(silent)} gave no {kind}"
        return LongTable(*self._rows(kind, name, rows, _said(name if len(asked) > 1 else None, out)), out)

    def _on_scale(self, answers: Sequence[Answer]) -> Sequence[Answer]:
        """Answers without the labels of numbers on a scale that has fractions: 1.0 beside 0.5 is a score."""
        scale = {
            own.rater if self.scale_of_rater else ONLY
            for own in answers
            if own.label is None and own.score is not None
        }
        return [
            own._replace(label=None)
            if own.score is not None and (own.rater if self.scale_of_rater else ONLY) in scale
            else own
            for own in answers
        ]

    def _rows(
        self, kind: str, question: str, rows: Sequence[Answer], said: str
    ) -> tuple[dict[str, list[Any]], str, list[int]]:
        """Columns of the answers to one question, and the record of each row."""
        records = [own.row for own in rows]
        columns: dict[str, list[Any]] = {"item": [own.item for own in rows]}
        raters = [own.rater for own in rows]
        if kind == PREDICTIONS:
            columns |= {"category": [own.label for own in rows], "classifier": raters}
            known = all(own.score is not None for own in rows)
            columns |= {"score": [own.score for own in rows]} if known else {"rank": [1] * len(rows)}
            return _without_empty(columns, "classifier"), said, records
        columns["rater"] = raters
        if kind == "rankings":
            repeats = [len(own.ranks) for own in rows]
            columns = {name: _repeated(cells, repeats) for name, cells in columns.items()}
            columns |= {"category": [c for own in rows for c, _ in own.ranks]}
            columns |= {"rank": [rank for own in rows for _, rank in own.ranks]}
            return columns, said, _repeated(records, repeats)
        if kind == "scores":
            return _without_empty(columns | {"score": [own.score for own in rows]}, "rater"), said, records
        columns["label"] = [own.label for own in rows]
        gold = [self.gold.get((question, item)) for item in columns["item"]]
        return _without_empty(columns | {"gold": gold}, "gold"), said, records

    def _chosen(self, kind: str, question: str | None, fitting: Mapping[str, Any], place: str) -> str:
        """Question to read: that asked for, or the only one."""
        if not fitting:
            raise self._nothing(kind, place)
        if question is None and len(fitting) == 1:
            return next(iter(fitting))
        if question is not None and question in fitting:
            return question
        problem = f"there are {len(fitting):,} questions with {kind}"
        if question is not None:
            problem = f"there is no question {short_repr(question)} with {kind}"
        or_rater = ""
        if self.scale_of_rater and kind in KINDS[:2]:
            raters = dict.fromkeys(
                own.rater for answers in fitting.values() for own in answers if _is(kind, own)
            )
            or_rater = f", or one rater of {first_reprs(raters)}"
        raise DataError(
            problem,
            value=question,
            allowed=f"one of {first_reprs(fitting)}{or_rater}",
            remedy=f"say which: question={short_repr(next(iter(fitting)))}",
            where=place,
        )

    def _nothing(self, kind: str, place: str) -> DataError:
        """Error about an export without annotations of a kind, which names what it has."""
        asked = [own for answers in self.by_question.values() for own in self._on_scale(answers)]
        there = [own for own in KINDS[:2] if any(_is(own, answer) for answer in asked)]
        there += ["comparisons"] if self.votes or self.refused else []
        there += ["rankings"] if any(_is("rankings", own) for own in asked) else []
        there += [PREDICTIONS] if self.predicted else []
        return DataError(
            f"there are no {kind} in it{_said(None, self._left_out(0))}",
            value=kind,
            allowed=" or ".join(there) or "a file with answers",
            remedy="read these" if there else "export the answers with the tasks",
            where=place,
        )

    def _left_out(self, other: int, votes: int = 0) -> str:
        """Phrase with what is left out; empty if nothing is."""
        out = [f"{what} {count:,}" for what, count in self.left_out.items() if count]
        out += [f"votes between two items {votes:,}"] if votes else []
        out += [f"answers of another kind, such as none or several choices, {other:,}"] if other else []
        return ", ".join(out)


def _said(question: str | None, left_out: str) -> str:
    """Phrase with the question that is read, unless it is the only one, and what is left out."""
    said = "" if question is None else f", question {short_repr(question)}"
    return f"{said} (left out: {left_out})" if left_out else said


def _is(kind: str, answer: Answer) -> bool:
    """Whether an answer is of a kind of annotation."""
    if kind == "rankings":
        return bool(answer.ranks)
    return (answer.score if kind == "scores" else answer.label) is not None


GRADES = frozenset("CPIN")  # of Inspect: correct, partial, incorrect, no answer


def _check_scales(kind: str, answers: Sequence[Answer], place: str) -> None:
    """Raise if raters answer on different scales, such as 1 to 5 and C or I: one table would make them one question."""
    if kind not in KINDS[:2]:
        return
    given: dict[str, dict[str, None]] = {}  # answers of each rater as text, in their order
    for own in answers:
        given.setdefault(str(own.rater), {})[str(own.score if kind == "scores" else own.label)] = None
    scales: list[tuple[set[str], str]] = []  # marks of the raters on a scale, and the first of them
    for rater, texts in given.items():
        marks = _marks(set(texts))
        same = [scale for scale in scales if scale[0] & marks]
        first = same[0][1] if same else rater
        scales = [scale for scale in scales if scale not in same]
        scales.append((marks.union(*(own for own, _ in same)), first))
    if len(scales) > 1:
        named = [f"{short_repr(rater)} ({first_reprs(given[rater], 3)})" for _, rater in scales[:3]]
        raise DataError(
            f"the {kind} are on {len(scales):,} scales, those of {' and '.join(named)}",
            value=[rater for _, rater in scales],
            allowed="raters on one scale",
            remedy=f"choose one rater: question={short_repr(scales[0][1])}",
            where=place,
        )


def _marks(texts: set[str]) -> set[str]:
    """Return what answers on one scale share: the range of numbers, the grades of Inspect, or a word."""
    numbers = [number_of(text) for text in texts]
    if None not in numbers:
        unit = all(0 <= (number or 0) <= 1 for number in numbers)
        return {"from 0 to 1" if unit else "beyond 0 to 1"}
    return {"grade"} if texts <= GRADES else {f"word {text}" for text in texts}


def _without_empty(columns: dict[str, list[Any]], name: str) -> dict[str, list[Any]]:
    """Leave out a column in which no cell is filled in."""
    if all(cell is None for cell in columns[name]):
        del columns[name]
    return columns


def _repeated(cells: Sequence[Any], repeats: Sequence[int]) -> list[Any]:
    """Repeat each cell."""
    return [cell for cell, times in zip(cells, repeats, strict=True) for _ in range(times)]


class Tool(NamedTuple):
    """Tool whose exports are read: its declaration ends the file of its reader."""

    name: str  # in calls
    title: str  # in words
    keys: tuple[str, ...]  # one of them is in every export
    recognises: Callable[[Document], bool]
    read: Callable[[Document, Answers], None]
    kind: str | None = None  # the only one that it exports
