"""Comparisons: votes of raters on which of two items is better, or a tie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..._messages import first_reprs, short_repr, warn_user, way
from ...posterior.table_text import folded, whole_number
from .coded_rows import ANONYMOUS, NO_RATERS, CodedRows
from .container import Container, range_of, tell_keys
from .errors import DataError, DataWarning, refused_argument
from .no_answers import NoAnswer, suspects
from .raters import read_attributes
from .reading.columns import (
    FLOATS,
    Missing,
    code_ids,
    code_values,
    first_place,
    kinds_of,
    match_ids,
    refused_cell,
)
from .reading.comparison_tables import LEFT, OUTCOMES, RIGHT, TIE, code_items, item_set, outcome_words
from .reading.frames import Column, column_names, is_listed, named_columns
from .reading.long_tables import Keep, annotation_columns
from .reading.numbers import read_counts, split_counts
from .reading.vote_shapes import SIDES, TIES, prompt_columns
from .reading.vote_strengths import levels_in_words, refuse_fractions, strengths_of_levels, strengths_of_marks
from .reading.wide_tables import written_as

ENOUGH = 8  # votes that are all on one side by chance with probability below .01
EVALICA = {"X": "left", "Y": "right", "Draw": "tie"}
_NAMES = "evalica's Winner.X, Winner.Y and Winner.Draw, or 'X', 'Y' and 'Draw'"


def named_outcomes(winners: Sequence[Any] | np.ndarray) -> list[str]:
    """Translate evalica's outcomes X, Y and Draw, enumeration members or text, to the words of `OUTCOMES`."""
    if not is_listed(winners):
        problem, allowed = f"winners are a {type(winners).__name__}", f"a list of {_NAMES}"
        remedy = "pass the three sequences in the order of the votes"
        raise refused_argument("winners", problem, value=winners, allowed=allowed, remedy=remedy)
    words = []
    for row, cell in enumerate(winners, 1):
        name = getattr(cell, "name", None) or str(cell).rpartition(".")[2]
        if name not in EVALICA:
            remedy = "correct it; from_table reads words and ids of items"
            if name == "Ignore":
                remedy = "leave out the votes that are to be ignored"
            problem = f"{short_repr(cell)} is no outcome"
            raise DataError(problem, row=row, column="winners", value=cell, allowed=_NAMES, remedy=remedy)
        words.append(EVALICA[name])
    return words


def _winners_and_losers(pairs: Any) -> tuple[Column, Column]:
    """Split pairs into two columns; raises at an entry that is not a pair."""
    if isinstance(pairs, np.ndarray) and pairs.ndim == 2:
        pairs = pairs.tolist()
    if not is_listed(pairs) or not len(pairs):
        found = "nothing" if is_listed(pairs) else f"a {type(pairs).__name__}"
        raise _refused_pair(f"pairs hold {found}", pairs, "argument pairs")
    for place, pair in enumerate(pairs, 1):
        where = f"argument pairs, place {place:,}"
        if is_listed(pair) and (len(pair) > 2 or any(map(is_listed, pair))):
            raise DataError(
                f"{short_repr(pair)} is a choice among several items",
                column="pairs",
                value=pair,
                allowed=_PAIRS,
                remedy="read choices as rankings of length one: PartialRankings.from_blocks([[[[winner]] for winner, losers in "
                "choices]], shown=[[[winner, *losers] for winner, losers in choices]]), and inference.plackett_luce_mle; pairs "
                "with every loser would count one choice as several votes, and standard errors would be too small",
                where=where,
            )
        if not is_listed(pair) or len(pair) != 2:
            raise _refused_pair(f"{short_repr(pair)} is not one winner and one loser", pair, where)
    winner, loser = zip(*pairs, strict=True)
    return Column("winner", [*winner]), Column("loser", [*loser])


_PAIRS = "a list of (winner, loser), or an array with two columns"


def _refused_pair(problem: str, value: Any, where: str) -> DataError:
    remedy = "write one winner and one loser, and read ties with from_table"
    return DataError(problem, column="pairs", value=value, allowed=_PAIRS, remedy=remedy, where=where)


def _on_several_prompts(frame: Any, columns: Mapping[str, Column], rows: CodedRows) -> bool:
    """Whether a rater voted on the same two items on several prompts; warns of votes that are repeated on one prompt."""
    left = columns["left"]
    names = prompt_columns(column_names(frame), [left.name, *(columns[role].name for role in columns)])
    prompts = [named_columns(frame, {name: name})[name].values for name in names]
    prompts = [cells for cells in prompts if len(cells) >= len(rows["left"])]
    if not prompts:
        return False
    kept = np.arange(len(prompts[0])) if left.kept is None else left.kept
    codes = [code_values([str(cell) for cell in cells])[0][kept] for cells in prompts]
    low, high = np.minimum(rows["left"], rows["right"]), np.maximum(rows["left"], rows["right"])
    won = np.where(rows["outcome"] == TIE, TIE, rows["outcome"] ^ (rows["left"] > rows["right"]))
    pair = [rows["annotation_rater"], low, high]
    opinions, on_prompts, votes = (
        np.unique(np.stack(own), axis=1).shape[1] for own in (pair, [*pair, *codes], [*pair, won, *codes])
    )
    if on_prompts == opinions:
        return False
    if same := len(low) - votes:
        warn_user(
            f"{same:,} of the {len(low):,} votes repeat another of the same rater with the same {' and '.join(names)}, and are "
            "counted again; leave these rows out if that is not meant",
            DataWarning,
        )
    return True


NOT_READ = -1
MOST_LEVELS = 9  # numbers in a column of winners that may be a scale
_WORDS = ", ".join(map(short_repr, OUTCOMES))


def code_outcomes(
    column: Column, items: np.ndarray, left: np.ndarray, right: np.ndarray, sides: Sequence[str]
) -> np.ndarray:
    """Code outcomes, words or the id of one of the row's two items, as places in `OUTCOMES` (row,); refuse other cells.

    Shapes: left, right (row,); items (item,), none of them one of the words; `sides` are the names of the columns of items.
    """
    if any(issubclass(kind, FLOATS) for kind in kinds_of(column)):  # refuses missing cells
        refuse_fractions(column)
    code_of = outcome_words(column.values, items, sides)
    words = (code_of.get(cell, NOT_READ) if isinstance(cell, str) else NOT_READ for cell in column.values)
    word = np.fromiter(words, np.int32, len(left))
    if (word >= 0).all():
        return word
    if items.dtype.kind != "U":
        column = _ids_for_words(column, items, word)
    used, code = code_ids(column)
    used = written_as(used, items)
    winner = np.full(len(code), NOT_READ)
    if used.dtype.kind == items.dtype.kind or {*map(str, used.tolist())} & {*map(str, items.tolist())}:
        row = column.row(int((word < 0).argmax()))
        winner = match_ids(used, items, "items", row=row, column=column.name)[code]
    outcome = np.select([word >= 0, winner == left, winner == right], [word, LEFT, RIGHT], NOT_READ)
    if (unread := outcome == NOT_READ).any():
        row = int(unread.argmax())
        refuse_fractions(
            replace(column, values=column.values[row : row + 1], kept=np.array([column.row(row) - 1]))
        )
        pair = " or ".join(short_repr(items[side[row]].item()) for side in (left, right))
        problem = "names neither an outcome nor one of the two items"
        allowed = f"{_WORDS}, or the item that won: {pair}"
        raise refused_cell(
            column, row, problem, allowed=allowed, remedy=_remedy_of_winner(column, row, items)
        )
    _tell_sides(column, items, outcome)
    return outcome.astype(np.int32)


def _remedy_of_winner(column: Column, row: int, items: np.ndarray) -> str:
    """Remedy for a cell that names no winner: a scale of numbers, a word for a side, or to leave such votes out."""
    cell = column.values[row]
    if any(folded(cell) in pair for pair in SIDES):
        return "correct the cell; where a side is meant that is also the name of an item, write left or right"
    numbers = {number: own for own in {*column.values} if (number := whole_number(str(own))) is not None}
    is_scale = 1 < len(numbers) <= MOST_LEVELS and {*map(str, numbers)}.isdisjoint(map(str, items.tolist()))
    if whole_number(str(cell)) is not None and is_scale:
        none = suspects(np.array(sorted(numbers)))
        scale = [numbers[number] for number in sorted(numbers) if number not in none]
        levels = way(f"--levels {','.join(map(str, scale))}", f"levels={scale}")
        said = f"declare what the numbers mean, that of the left item first: {levels}"
        return said + "".join(
            f", and {way(f'--no-answer {own}', f'no_answer=[{own}]')} if it is no vote" for own in none
        )
    if cell in items.tolist():  # that is not among the two
        return "correct the cell"
    name = short_repr(cell)
    return f"correct the cell, or leave such votes out: {way(f'--no-answer {name}', f'no_answer=[{name}]')}"


def _tell_sides(column: Column, items: np.ndarray, outcome: np.ndarray) -> None:
    """Warn if winners are read as names of items that could as well be sides, such as A and B, and would be others."""
    names = [folded(name) for name in items.tolist()]
    pair = next(
        (pair for pair in SIDES if {*pair} == {*names}), None
    )  # of more items, a word for a side is refused
    cells = [folded(cell) for cell in column.values] if pair else []
    if pair is None or len(names) > 2 or not {*cells} <= {*pair, *TIES, *OUTCOMES}:
        return
    side = np.array([pair.index(cell) if cell in pair else NOT_READ for cell in cells])
    if other := int(((side >= 0) & (side != outcome)).sum()):
        warn_user(
            f"column {short_repr(column.name)}: {first_reprs(items.tolist())} are read as names of items, and in {other:,} of "
            f"{len(cells):,} votes that item is on the other side; write left and right if sides are meant",
            DataWarning,
        )


def _ids_for_words(column: Column, items: np.ndarray, word: np.ndarray) -> Column:
    """Replace each word by an arbitrary id, so that a column of integers with the same rows remains."""
    stand_in = items[0].item()
    cells = [v if s < 0 else stand_in for v, s in zip(column.values, word.tolist(), strict=True)]
    numbers = Column(column.name, cells)
    if any(issubclass(kind, str) for kind in kinds_of(numbers)):
        place = first_place(numbers, lambda value: isinstance(value, str))
        problem = f"is text, but the items are integers such as {stand_in}"
        allowed = f"{_WORDS}, or the id of the item that won"
        remedy = "write ids as text in all columns, or as integers in all"
        if whole_number(numbers.values[place]) is None:
            remedy = _remedy_of_winner(numbers, place, items)
        raise refused_cell(numbers, place, problem, allowed=allowed, remedy=remedy)
    return numbers


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Container):
    """Validated votes of raters on pairs of items.

    The models of comparisons hold that rater k prefers item i to item j with probability

        P(rater k prefers i to j) = F(rho_k (q_i - q_j))

    so votes inform the differences of the qualities q, and the discrimination rho_k of each rater.

    Made by `from_table`, `from_pairs` or `from_sequences`. ``len`` is the number of votes; ``==`` compares
    all fields. All arrays are read-only.

    Attributes
    ----------
    items, raters : ndarray of str or int64
        Ids. Items as declared (also without votes), or by first appearance; raters with votes, sorted.
    left, right : ndarray of int32, shape (annotation,)
        Codes of the two items; ascending by left, then right, then rater, then outcome.
    annotation_rater : ndarray of int32, shape (annotation,)
        Code of the rater; -1 if anonymous.
    outcome : ndarray of int32, shape (annotation,)
        0 = left won, 1 = right won, 2 = tie.
    count : ndarray of int64, shape (annotation,)
        Number of times that the rater gave this vote, from 1.
    rater_attributes : mapping of str to ndarray, shape (rater,)
        Attributes of the raters, such as their kind.
    several_prompts : bool
        Whether raters voted on the same two items on several prompts, as a column of the table says: then no vote is a duplicate
        or a contradiction of another.
    strength : ndarray of int32, shape (annotation,)
        0 = better, 1 = much better, and so on; 0 for a tie, and where votes say no strength.
    strengths : int
        Number of strengths of the scale; 1 if votes say only who won.

    Examples
    --------
    >>> from raterzoo import models
    >>> pairs = models.Comparisons.from_pairs([("a", "b"), ("b", "c"), ("d", "e")])
    >>> pairs
    Comparisons(5 items, anonymous raters, 3 votes)
    >>> pairs.connected, len(pairs.components)
    (False, 2)

    References
    ----------
    Bradley and Terry (1952), Rank analysis of incomplete block designs, Biometrika 39,
    doi:10.1093/biomet/39.3-4.324.
    """

    _kind, _annotations = "comparisons", "votes"
    _columns = ("left", "right", "annotation_rater", "outcome", "strength", "count")

    items: np.ndarray
    raters: np.ndarray
    left: np.ndarray
    right: np.ndarray
    annotation_rater: np.ndarray
    outcome: np.ndarray
    count: np.ndarray
    rater_attributes: Mapping[str, np.ndarray] = field(default_factory=dict)
    several_prompts: bool = field(default=False, compare=False)
    strength: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    strengths: int = 1

    def __post_init__(self) -> None:
        if not len(self.strength):  # votes without, as containers stored by earlier versions are
            object.__setattr__(self, "strength", np.zeros(len(self.outcome), np.int32))
        super().__post_init__()

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        rater: str | None = "rater",
        left: str = "left",
        right: str = "right",
        winner: str = "winner",
        count: str | None = None,
        rater_attributes: Sequence[str] = (),
        items: Sequence[Any] | np.ndarray | None = None,
        missing: Missing = "error",
        no_answer: NoAnswer = (),
        keep: Keep = "all",
        time: str | None = None,
        levels: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Read a long table with one row for each vote.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        rater, left, right, winner : str
            Names of the columns; by default also those of the trade, such as "model_a", "model_b" and "judge",
            which a warning names. Ids are text, kept exactly, or integers. The winner is "left", "right", "tie"
            (no ids of items), another word for these such as "model_a", "a" or "tie (bothbad)" that is no id
            here, the name of the column of the item that won, or the id of one of the row's two items. Columns "winner" and
            "loser" alone are votes, too; so are marks such as "winner_model_a" and "winner_tie". Raters are anonymous without a
            column of raters, and with ``rater=None``. Strength of preference is read from marks such as "A>>B", "A>B", "A=B".
        count : str, optional
            Column with the number of times the vote was given, from 0; by default 1 in each row.
        rater_attributes : sequence of str
            Columns with attributes of the rater, such as kind = person | model.
        items : sequence, optional
            Closed set of items, in its order; by default the items of the table in order of first appearance.
        missing : {"error", "drop"}
            Treatment of rows with an empty cell; a warning says how many were dropped.
        no_answer : sequence, optional
            Answers that are no truth, such as "skip" or "flag", in any case: their rows are left out; a warning says how many.
        keep : {"all", "first", "last"}
            Of several answers of a rater on two items, those that count; a warning says how many do not.
        time : str, optional
            Column of times by which answers are first and last; by default one called so, such as "created_at", else their order.
        levels : sequence, optional
            Scale of preference of the column of winners: all levels, the strongest for the left item first, such as
            ``range(2, -3, -1)``, or ``range(1, 6)`` where 1 is much better on the left. The middle one of an odd number is a tie.

        Returns
        -------
        Comparisons
            All votes of the table.

        Raises
        ------
        DataError
            At the first error in the table; it names row (from 1), column, value and remedy.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"left": ["a", "a"], "right": ["b", "b"], "winner": ["left", "b"]}
        >>> pairs = models.Comparisons.from_table(table, rater=None)
        >>> pairs.outcome.tolist()
        [0, 1]
        >>> table |= {"winner": ["A>>B", "B>A"], "left": ["x", "x"], "right": ["y", "y"]}
        >>> pairs = models.Comparisons.from_table(table, rater=None)
        >>> pairs.outcome.tolist(), pairs.strength.tolist()
        ([0, 1], [1, 0])
        """
        roles = {"rater": rater, "left": left, "right": right, "winner": winner, "count": count}
        columns = annotation_columns(
            frame, "comparisons", roles, rater_attributes, missing, no_answer, keep, time
        )
        found, first, second = code_items(columns["left"], columns["right"], item_set(items))
        sides = (columns["left"].name, columns["right"].name)
        if levels is None:
            outcome = code_outcomes(columns["winner"], found, first, second, sides)
            graded = strengths_of_marks(columns["winner"], outcome, found)
        else:
            refuse_fractions(columns["winner"], [*levels])
            words = outcome_words([own for own in levels if isinstance(own, str)], found, sides)
            graded = strengths_of_levels(columns["winner"], levels, found, words)
        outcome = graded.outcome
        raters, code = NO_RATERS, np.full(len(outcome), ANONYMOUS, np.int32)
        if "rater" in columns:
            raters, code = code_ids(columns["rater"])
            tell_keys(columns.names, len(code), {"rater": raters})
        times = read_counts(columns["count"]) if count is not None else np.ones(len(outcome), np.int64)
        attributes = read_attributes(columns, raters, code)
        rows = CodedRows(zip(cls._columns, (first, second, code, *graded[:2], times), strict=True))
        several = "rater" in columns and _on_several_prompts(frame, columns, rows)
        return cls._of_rows(
            rows,
            items=found,
            raters=raters,
            rater_attributes=attributes,
            several_prompts=several,
            strengths=graded.strengths,
        )

    @classmethod
    def from_pairs(cls, pairs: Any, *, items: Sequence[Any] | np.ndarray | None = None) -> Self:
        """Read (winner, loser) pairs, choix's format, which states neither raters nor sides.

        Parameters
        ----------
        pairs : sequence of (winner, loser), or array of shape (vote, 2)
            Ids, text or integers.
        items : sequence, optional
            Closed set of items, such as ``range(n_items)``; by default the sorted ids that occur.

        Returns
        -------
        Comparisons
            Without raters. The earlier item of a pair is put on the left: fit no left bias to such data.

        Raises
        ------
        DataError
            If an entry is not a pair of ids, an id is refused, or an item is paired with itself.

        Examples
        --------
        >>> from raterzoo import models
        >>> models.Comparisons.from_pairs([(0, 1), (2, 0)], items=range(4))
        Comparisons(4 items, anonymous raters, 2 votes)
        """
        declared = item_set(items)
        found, winner, loser = code_items(*_winners_and_losers(pairs), declared)
        if declared is None:
            order = np.argsort(found)
            found, place = found[order], np.argsort(order)
            winner, loser = place[winner], place[loser]
        rater, once = np.full(len(winner), ANONYMOUS), np.ones(len(winner), np.int64)
        outcome = np.where(winner < loser, LEFT, RIGHT)
        plain = np.zeros(len(winner), np.int32)
        columns = (np.minimum(winner, loser), np.maximum(winner, loser), rater, outcome, plain, once)
        rows = CodedRows(zip(cls._columns, columns, strict=True))
        return cls._of_rows(rows, items=found, raters=NO_RATERS)

    @classmethod
    def from_sequences(
        cls,
        left: Sequence[Any] | np.ndarray,
        right: Sequence[Any] | np.ndarray,
        winners: Sequence[Any] | np.ndarray,
        *,
        raters: Sequence[Any] | np.ndarray | None = None,
        items: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Read parallel sequences of left items, right items and winners, evalica's format.

        Parameters
        ----------
        left, right : sequence
            Ids of the items that evalica calls x and y.
        winners : sequence
            Members of evalica's Winner, or their names: X = left, Y = right, Draw.
        raters : sequence, optional
            Ids of the raters; by default they are anonymous.
        items : sequence, optional
            Closed set of items; by default the items that occur, in order of first appearance.

        Returns
        -------
        Comparisons
            All votes.

        Raises
        ------
        DataError
            At the first error in the sequences; rows are their places, from 1.

        Examples
        --------
        >>> from raterzoo import models
        >>> models.Comparisons.from_sequences(["a", "b"], ["b", "c"], ["X", "Draw"]).has_ties
        True
        """
        table = {"left": left, "right": right, "winner": named_outcomes(winners)}
        table |= {} if raters is None else {"rater": raters}
        return cls.from_table(table, rater=None if raters is None else "rater", items=items)

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
        """Build from coded votes, in any order; the raters are sorted by their ids."""
        if not rows["count"].any():
            raise DataError(
                "there is no vote left to learn from",
                allowed="one vote or more between two of the items",
                remedy="keep items that were compared, with counts above 0",
            )
        by_id = np.argsort(raters)
        place = np.append(np.argsort(by_id), ANONYMOUS)  # index -1 = last place: stays anonymous
        return super()._of_rows(
            rows.replaced({"annotation_rater": place[rows["annotation_rater"]]}),
            items=items,
            raters=raters[by_id],
            rater_attributes={name: values[by_id] for name, values in (rater_attributes or {}).items()},
            **others,
        )

    @property
    def has_ties(self) -> bool:
        """Whether some vote is a tie."""
        return bool((self.outcome == TIE).any())

    @property
    def connected(self) -> bool:
        """Whether paths of compared pairs join all items; an item without a vote is isolated."""
        return not self._component.any()

    @property
    def components(self) -> tuple[np.ndarray, ...]:
        """Ids of the items of each connected component of the graph of compared pairs, largest first."""
        component = self._component
        ends = np.cumsum(np.bincount(component))[:-1]
        return tuple(np.split(self.items[np.argsort(component, kind="stable")], ends))

    def largest_component(self) -> Self:
        """Keep the items of the largest connected component, in their order.

        Returns
        -------
        Comparisons
            Votes on these items. Of components of equal size it is the one whose first item comes first.

        Examples
        --------
        >>> from raterzoo import models
        >>> pairs = models.Comparisons.from_pairs([("a", "b"), ("b", "c"), ("d", "e")])
        >>> pairs.largest_component().items.tolist()
        ['a', 'b', 'c']
        """
        return self.select(items=self.items[self._component == 0])

    @property
    def _component(self) -> np.ndarray:
        """Connected component of each item, shape (item,)."""
        return connected_components(len(self.items), self.left, self.right)

    def _table(self) -> dict[str, np.ndarray]:
        voted = np.zeros(len(self.items), bool)
        voted[self.left] = voted[self.right] = True
        alone = np.flatnonzero(~voted)
        rows = self._rows().extended(len(alone), left=alone, right=alone == 0, outcome=TIE)
        rater, attributes = rows["annotation_rater"], self.rater_attributes
        table = {} if self.anonymous else {"rater": self.raters[rater]}
        table |= {"left": self.items[rows["left"]], "right": self.items[rows["right"]]}
        table |= {"winner": self._words(rows), "count": rows["count"]}
        return split_counts(table | {name: values[rater] for name, values in attributes.items()})

    @property
    def levels(self) -> tuple[str, ...]:
        """Words for the levels of the scale of votes, the strongest for the left item first, as `from_table` reads them."""
        return tuple(levels_in_words(self.strengths)) if self.strengths > 1 else ("left", "tie", "right")

    def _words(self, rows: CodedRows) -> np.ndarray:
        """Words for the votes of rows (row,)."""
        if self.strengths == 1:
            return np.array(OUTCOMES)[rows["outcome"]]
        side = np.array([-1, 1, 0])[rows["outcome"]]
        place = self.strengths + side * (1 + rows["strength"])
        return np.array(self.levels)[place]

    def _summary(self) -> dict[str, str]:
        n_items, n_raters, n_votes = len(self.items), len(self.raters), len(self)
        given = np.bincount(self.outcome, self.count, len(OUTCOMES)).astype(int)
        won, lost, _ = by_item = self._votes_of_items()
        votes = by_item.sum(axis=0)
        lines = {
            "items": f"{n_items:,}",
            "raters": f"{n_raters:,}" if n_raters else "anonymous",
            "votes": f"{n_votes:,}, {range_of(votes)} an item",
            **self._summary_of_pairs(),
            "ties": f"{given[TIE]:,}, {100 * given[TIE] / n_votes:.1f} % of the votes",
        }
        if self.strengths > 1:
            strong = int(self.count[self.strength > 0].sum())
            lines["strength"] = (
                f"{self.strengths} degrees; {strong:,} votes, {100 * strong / n_votes:.1f} %, are above the lowest"
            )
        if decided := given[LEFT] + given[RIGHT]:
            lines["left won"] = f"{given[LEFT]:,}, {100 * given[LEFT] / decided:.1f} % of the decided votes"
        lines["items that always won"] = self._count_and_names((won == votes) & (votes > 0))
        lines["items that always lost"] = self._count_and_names((lost == votes) & (votes > 0))
        lines["items without a vote"] = self._count_and_names(votes == 0)
        if n_raters:
            per_rater = np.bincount(self.annotation_rater, self.count, n_raters).astype(int)
            lines["votes by rater"] = range_of(per_rater)
            lines["raters with one vote"] = f"{(per_rater == 1).sum():,}"
        component = self._component
        if component.any():
            lines["NOT CONNECTED"] = (
                f"{component.max() + 1:,} components, compared only through the prior: "
                + components_in_words(self.items, component)
            )
        return lines

    def _votes_of_items(self) -> np.ndarray:
        """Wins, losses and ties of each item, shape (outcome, item)."""
        n_items = len(self.items)
        on_left, on_right = (
            np.bincount(self.outcome * n_items + side, self.count, len(OUTCOMES) * n_items)
            for side in (self.left.astype(np.int64), self.right.astype(np.int64))
        )
        won_on_right = on_right.reshape(-1, n_items)[[RIGHT, LEFT, TIE]]
        return (on_left.reshape(-1, n_items) + won_on_right).astype(int)

    def _summary_of_pairs(self) -> dict[str, str]:
        """Lines of the report on the pairs compared, and on those with unanimous votes."""
        n_items = len(self.items)
        possible = n_items * (n_items - 1) // 2
        pair, found = self._unordered()
        compared, pair = np.unique(pair, return_inverse=True)
        n_pairs = len(compared)
        given = np.bincount(found * n_pairs + pair, self.count, len(OUTCOMES) * n_pairs)
        given = given.reshape(-1, n_pairs).astype(int)
        votes = given.sum(axis=0)
        several = votes > 1
        alike = several & (given.max(axis=0) == votes)
        lines = {
            "pairs compared": f"{n_pairs:,} of {possible:,} ({100 * n_pairs / possible:.1f} %), {range_of(votes)} votes a pair",
            "unanimous pairs": f"{alike.sum():,} of {several.sum():,} with two votes or more",
        }
        if not self.anonymous:
            answered = np.unique(pair * len(self.raters) + self.annotation_rater)
            other = self.contradictions()
            lines["repeated votes"] = (
                f"{votes.sum() - len(answered):,}" + f", {other:,} of them with another winner" * (other > 0)
            )
        return lines

    @property
    def graded(self) -> bool:
        """Whether votes that name a winner are of several strengths."""
        own = self.strength[self.outcome != TIE] if self.strengths > 1 else self.strength[:0]
        return len(own) > 0 and bool(own.min() < own.max())

    def without_duplicates(self) -> Self:
        """Count a vote that a rater repeated exactly only once; votes on several prompts stay.

        Returns
        -------
        Comparisons
            Every count of an identified rater is 1, unless the votes are on several prompts.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"rater": ["Ann", "Ann"], "left": ["a", "a"], "right": ["b", "b"], "winner": ["a", "a"]}
        >>> len(models.Comparisons.from_table(table).without_duplicates())
        1
        >>> len(models.Comparisons.from_table(table | {"question_id": [1, 2]}).without_duplicates())
        2
        """
        return self if self.several_prompts else super().without_duplicates()

    def _others(self, item: np.ndarray) -> dict[str, Any]:
        return {"several_prompts": self.several_prompts, "strengths": self.strengths}

    def _contradictions(self) -> int:
        if self.several_prompts:
            return 0
        pair, winner = self._unordered()
        pair = pair * len(self.raters) + self.annotation_rater
        return len(np.unique(pair * len(OUTCOMES) + winner)) - len(np.unique(pair))

    def _unordered(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the pairs of items, and outcomes (annotation,): 0 if the first item of the pair won, 1, or 2 for a tie."""
        first, second = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        outcome = np.where(self.outcome == TIE, TIE, self.outcome ^ (self.left > self.right))
        return first.astype(np.int64) * len(self.items) + second, outcome

    def _count_and_names(self, which: np.ndarray) -> str:
        """Count the items in a mask, and name the first five."""
        n = int(which.sum())
        named = ", ".join(map(short_repr, self.items[np.flatnonzero(which)[:5]].tolist()))
        return f"{n:,}" + (f": {named}" if n else "") + (", ..." if n > 5 else "")


def require_connected(pairs: Comparisons, what: str) -> None:
    """Raise unless all items are in one component; `what` names the method that needs it, such as "quite"."""
    component = connected_components(len(pairs.items), pairs.left, pairs.right)
    n_components = int(component.max()) + 1
    if n_components > 1:
        raise DataError(
            f"no chain of comparisons joins the {n_components:,} components of the {len(pairs.items):,} items: "
            + components_in_words(pairs.items, component),
            column="items",
            value=n_components,
            allowed=f"one component: {what} compares items along chains of votes alone",
            remedy="pass pairs.largest_component(), ask for votes across the components, or use a model with priors "
            "(models.bradley_terry, models.thurstone)",
            where="comparisons",
        )


# --- Connectivity of the graph of compared pairs; between its components only a prior informs contrasts ---

NAMED_COMPONENTS, NAMED_ITEMS = 4, 3


def connected_components(n_items: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Find the connected components of a graph on items by union-find in array passes.

    Each round hooks the later of two joined roots on the earliest root it is joined to, then doubles the
    pointers until they reach the roots. Two rounds at least halve the roots still to be joined: a chain of a
    million items takes a few dozen passes.

    Shapes: left, right (edge,); returns (item,) int64, component 0 the largest, ties broken by first item.
    """
    root = np.arange(n_items)
    while len(left):
        one, other = root[left], root[right]
        joins = one != other
        left, right = left[joins], right[joins]
        one, other = one[joins], other[joins]
        # hook the later root of an edge on the earlier one
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        # pointer doubling: root(root(i)) until all point at roots
        while not np.array_equal(further := root[root], root):
            root = further
    _, component = np.unique(root, return_inverse=True)
    by_size = np.argsort(-np.bincount(component), kind="stable")
    return np.argsort(by_size)[component]


def components_in_words(items: np.ndarray, component: np.ndarray) -> str:
    """Sizes and first members of the largest components (item,) of `connected_components`, on one line of bounded length."""
    sizes = np.bincount(component)
    named = []
    for number, size in enumerate(sizes[:NAMED_COMPONENTS].tolist()):
        members = items[np.flatnonzero(component == number)[:NAMED_ITEMS]].tolist()
        more = ", ..." if size > NAMED_ITEMS else ""
        named.append(f"{size:,} ({', '.join(map(short_repr, members))}{more})")
    if rest := sizes[NAMED_COMPONENTS:].tolist():
        sized = f"{rest[0]:,}" if rest[0] == rest[-1] else f"{rest[-1]:,} to {rest[0]:,}"
        named.append(f"{len(rest):,} more of {sized}")
    return "; ".join(named)
