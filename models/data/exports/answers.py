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
    """Columns for `from_table`, how they were read, and the record of each row."""

    columns: Mapping[str, list[Any]]
    said: str
    records: Sequence[int]


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

    def add(self, node: Node, question: str, item: str, rater: str | None, meaning: Meaning) -> None:
        """Add the answer of a rater."""
        self.by_question.setdefault(question, []).append(Answer(item, rater, *meaning, node.row))

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
        own = Answer(item, classifier, label, probability, (), node.row)
        self.predicted.setdefault(question, []).append(own)

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
            return LongTable(
                columns, self._said(name if len(asked_of) > 1 else None, 0), [own.row for own in votes]
            )
        asked = self.predicted if kind == PREDICTIONS else self.by_question
        fitting = {name: own for name, own in asked.items() if any(_is(kind, answer) for answer in own)}
        name = self._chosen(kind, question, fitting, place)
        rows = [own for own in fitting[name] if _is(kind, own)]
        if len(rows) > MAX_ROWS:
            raise DataError(f"there are {len(rows):,} answers", remedy="divide the file", where=place)
        other, votes = len(fitting[name]) - len(rows), len(self.votes) + self.n_refused
        said = self._said(name if len(asked) > 1 else None, other, votes)
        return LongTable(*self._rows(kind, name, rows, said))

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
        raise DataError(
            problem,
            value=question,
            allowed=f"one of {first_reprs(fitting)}",
            remedy=f"say which: question={short_repr(next(iter(fitting)))}",
            where=place,
        )

    def _nothing(self, kind: str, place: str) -> DataError:
        """Error about an export without annotations of a kind, which names what it has."""
        asked = [own for answers in self.by_question.values() for own in answers]
        there = [own for own in KINDS[:2] if any(_is(own, answer) for answer in asked)]
        there += ["comparisons"] if self.votes or self.refused else []
        there += ["rankings"] if any(_is("rankings", own) for own in asked) else []
        there += [PREDICTIONS] if self.predicted else []
        return DataError(
            f"there are no {kind} in it{self._said(None, 0)}",
            value=kind,
            allowed=" or ".join(there) or "a file with answers",
            remedy="read these" if there else "export the answers with the tasks",
            where=place,
        )

    def _said(self, question: str | None, other: int, votes: int = 0) -> str:
        """Phrase with the question that is read, unless it is the only one, and what is left out."""
        said = "" if question is None else f", question {short_repr(question)}"
        out = [f"{what} {count:,}" for what, count in self.left_out.items()]
        out += [f"votes between two items {votes:,}"] if votes else []
        out += [f"answers of another kind, such as none or several choices, {other:,}"] if other else []
        return f"{said} (left out: {', '.join(out)})" if out else said


def _is(kind: str, answer: Answer) -> bool:
    """Whether an answer is of a kind of annotation."""
    if kind == "rankings":
        return bool(answer.ranks)
    return (answer.score if kind == "scores" else answer.label) is not None


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
