"""Comparisons: which of two items each rater preferred, or neither.

    P(rater k prefers i to j) = F(rho_k (q_i - q_j))

Votes say how the qualities q of the items differ, and how well each rater tells them apart (rho_k). Most raters compare few
pairs, most pairs are never compared, and an item may do better on the left than on the right.

References
----------
Bradley and Terry (1952), Rank analysis of incomplete block designs, Biometrika 39, doi:10.1093/biomet/39.3-4.324.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .anonymous import Recoded, Whose, unchanged
from .answers import read_attributes
from .columns import code_ids
from .comparison_formats import named_outcomes, paired_votes
from .comparison_summary import comparisons_report
from .comparison_tables import code_items, item_set, long_columns, vote_columns
from .connectivity import connected_components
from .container import Container
from .matching import chosen_items
from .tables import Column
from .vote_outcomes import code_outcomes
from .votes import NOBODY, TIE, CodedVotes, vote_layout
from .whole_numbers import read_counts

__all__ = ["Comparisons"]

NOT_TOLD = np.array([], np.str_)  # the ids of raters who are not told apart


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Container):
    """Validated votes of raters on pairs of items.

    Made by `from_table`, `from_pairs` or `from_sequences`. ``len`` is the number of votes. Two are equal if they hold the same
    votes on the same items in the same order, with the same attributes of raters. All arrays are read-only.

    Attributes
    ----------
    items, raters : ndarray of str or int64
        Ids. Items as declared, or in order of first appearance; raters sorted, none if they are anonymous. Declared items
        without a vote stay; raters without one go.
    left, right : ndarray of int32, shape (annotation,)
        Codes of the two items; ascending by left, then right, then rater, then outcome.
    annotation_rater : ndarray of int32, shape (annotation,)
        Code of the rater; -1 if anonymous.
    outcome : ndarray of int32, shape (annotation,)
        0 = left won, 1 = right won, 2 = tie.
    count : ndarray of int64, shape (annotation,)
        How often the rater gave this vote, from 1.
    rater_attributes : mapping of str to ndarray, shape (rater,)
        What is known of the raters, such as their kind.
    """

    items: np.ndarray
    raters: np.ndarray
    left: np.ndarray
    right: np.ndarray
    annotation_rater: np.ndarray
    outcome: np.ndarray
    count: np.ndarray
    rater_attributes: Mapping[str, np.ndarray] = field(default_factory=dict)

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
    ) -> Self:
        """Read a long table: one row for each vote.

        Parameters
        ----------
        frame : frame or mapping of str to sequence
            pandas, polars or pyarrow table, or column name -> cells (such as `to_table` returns).
        rater, left, right, winner : str
            Names of the columns; by default also crowd-kit's "worker" and "label". Ids are text, kept exactly, or integers. The
            winner is "left", "right", "tie" or the id of one of the row's two items; no item may be called by one of the words.
            ``rater=None`` reads votes whose raters are not told apart.
        count : str, optional
            Column with the number of times the vote was given, from 0; by default each row is one.
        rater_attributes : sequence of str
            Columns that say something of the rater, such as kind = person | model.
        items : sequence, optional
            The closed set, in its order; by default the items of the table in order of first appearance.

        Returns
        -------
        Comparisons
            All of the table.

        Raises
        ------
        DataError
            At the first thing that is wrong; it names row (from 1), column, value and remedy.
        """
        roles = {"rater": rater, "left": left, "right": right, "winner": winner, "count": count}
        roles = {role: name for role, name in roles.items() if name is not None}
        roles |= {f"rater_attributes {name}": name for name in rater_attributes}
        return cls._of_columns(vote_columns(frame, roles), items)

    @classmethod
    def from_pairs(cls, pairs: Any, *, items: Sequence[Any] | np.ndarray | None = None) -> Self:
        """Read pairs of winner and loser, choix's format. Nobody is said to have voted, nor who stood where.

        Parameters
        ----------
        pairs : sequence of (winner, loser), or array of shape (vote, 2)
            Ids, text or integers.
        items : sequence, optional
            The closed set, such as ``range(n_items)``; by default the sorted ids that occur.

        Returns
        -------
        Comparisons
            Without raters. The earlier of two items stands on the left, whoever stood there: fit no left bias to them.

        Raises
        ------
        DataError
            If an entry has not two ids, an id is refused, or an item meets itself.
        """
        found, votes = paired_votes(pairs, items)
        return cls._of_votes(found, NOT_TOLD, votes)

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
            Ids of the raters; by default they are not told apart.
        items : sequence, optional
            The closed set; by default the items that occur, in order of first appearance.

        Returns
        -------
        Comparisons
            All votes.

        Raises
        ------
        DataError
            At the first thing that is wrong; rows are places, from 1.
        """
        table = {"left": left, "right": right, "winner": named_outcomes(winners)}
        if raters is not None:
            table["rater"] = raters
        return cls.from_table(table, rater=None if raters is None else "rater", items=items)

    @classmethod
    def _of_columns(cls, columns: Mapping[str, Column], items: Any) -> Self:
        found, left, right = code_items(columns["left"], columns["right"], item_set(items))
        outcome = code_outcomes(columns["winner"], found, left, right)
        raters, rater = NOT_TOLD, np.full(len(left), NOBODY, np.int32)
        if "rater" in columns:
            raters, rater = code_ids(columns["rater"])
        count = np.ones(len(left), np.int64)
        if "count" in columns:
            count = read_counts(columns["count"])
        said = [columns[role] for role in columns if role.startswith("rater_attributes")]
        attributes = read_attributes({column.name: column for column in said}, raters, rater)
        votes = CodedVotes(left, right, rater, outcome, count)
        return cls._of_votes(found, raters, votes, attributes)

    @classmethod
    def _of_votes(
        cls,
        items: np.ndarray,
        raters: np.ndarray,
        votes: CodedVotes,
        attributes: Mapping[str, np.ndarray] | None = None,
    ) -> Self:
        voted, layout = vote_layout(votes, raters)
        return cls(
            items=items,
            raters=raters[voted],
            rater_attributes={name: own[voted] for name, own in (attributes or {}).items()},
            **layout,
        )

    @property
    def has_ties(self) -> bool:
        """Whether some vote is a tie."""
        return bool((self.outcome == TIE).any())

    @property
    def connected(self) -> bool:
        """Whether chains of comparisons join all items; one without a vote is joined to none."""
        return not self._component.any()

    @property
    def components(self) -> tuple[np.ndarray, ...]:
        """Ids of the items of each component of the graph of compared pairs, largest first."""
        component = self._component
        ends = np.cumsum(np.bincount(component))[:-1]
        return tuple(np.split(self.items[np.argsort(component, kind="stable")], ends))

    def largest_component(self) -> Self:
        """Keep the items of the largest component, in their order; of equals, the one whose first item comes first.

        Returns
        -------
        Comparisons
            Votes on these items, which chains of comparisons join.
        """
        return self.select(items=self.items[self._component == 0])

    def select(self, *, items: Sequence[Any] | np.ndarray) -> Self:
        """Keep some items, in the order given, and the votes between them. Raters without a vote go.

        Parameters
        ----------
        items : sequence
            Ids of items, each once.

        Returns
        -------
        Comparisons
            Votes between these items.

        Raises
        ------
        DataError
            If an item is unknown, repeated or of the wrong kind, or no vote is between two of them.
        """
        code, place = chosen_items(items, self.items)
        return self._recoded(Recoded(self.items[code], code, place), unchanged(self.raters))

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
            Columns rater (unless anonymous), left, right, winner in words, count, and the attributes of the raters; a row of
            count 0 for an item without a vote. With ``items=self.items, count="count"`` `from_table` returns an equal container.
        """
        return long_columns(self._named(anonymize, random_seed))

    def report(self) -> str:
        """Return a few lines on the data, and on what in them deserves a second look."""
        return comparisons_report(self)

    @property
    def _component(self) -> np.ndarray:
        return connected_components(len(self.items), self.left, self.right)

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        left, right = items.new[self.left], items.new[self.right]
        rater = raters.new[self.annotation_rater]
        votes = CodedVotes(left, right, rater, self.outcome, self.count)
        attributes = {name: own[raters.old] for name, own in self.rater_attributes.items()}
        inside = votes.where((left >= 0) & (right >= 0))
        return self._of_votes(items.ids, raters.ids, inside, attributes)

    def __len__(self) -> int:
        return int(self.count.sum())

    def __repr__(self) -> str:
        raters = "anonymous raters" if self.anonymous else f"{len(self.raters):,} raters"
        return f"Comparisons({len(self.items):,} items, {raters}, {len(self):,} votes)"
