"""Analysis of votes on pairs: who wins, who cannot be told apart, which judges say nothing, and what to ask next."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pandas as pd
import xarray as xr

from ...models import Comparisons
from ...posterior.errors import EvaluationError
from ..sections.comparisons import (
    PREFERS,
    ids_by_rank,
    leaderboard_rows,
    no_order_in_words,
    rater_rows,
    side_test_of,
    sides_by_rater,
    weight_of_strength,
)
from ..sections.model_fit import checked
from ..sections.next_annotation import pair_rows_to_ask
from ..sections.predictive_fit import with_replicates
from ..settings import Settings
from .analysis import Analysis, Quantity, Soundness

PROB = 0.9
LISTED = 20
RANDOM = (
    0.5  # reliability below which, in 95 % of the draws, a judge votes nearly at random; the mean judge has 1
)


@dataclass(frozen=True)
class VoteFacts:
    """Numbers of the answers about votes."""

    items: int
    votes: int
    raters: int
    no_order: str  # why no item can be called first, "" if one can
    winner: str
    sure: float  # probability that it is the best
    tied: tuple[str, ...]  # others that share its rank
    tiers: int
    weight: Quantity | None  # of the strength of votes, from 0 to 1
    told_apart: bool  # whether judges have reliabilities
    random: tuple[str, ...]
    backwards: tuple[str, ...]
    one_sided: tuple[
        str, ...
    ]  # judges who prefer a side, where the model has no advantage of the side for each
    sound: Soundness
    ask: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class VoteAnalysis(Analysis):
    """Analysis of votes: ``items`` is the leaderboard, ``raters`` the judges with a flag, ``next`` pairs to compare."""

    kind: ClassVar[str] = "comparisons"
    settings: Settings
    orders: xr.DataArray | None = None  # proposed rankings (classifier, item)

    @property
    def votes(self) -> Comparisons:
        """The annotations."""
        assert isinstance(self.data, Comparisons)
        return self.data

    @cached_property
    def board(self) -> list[dict[str, Any]]:
        """Rows of the leaderboard."""
        return leaderboard_rows(self.tree, self.votes, PROB)

    @cached_property
    def items(self) -> pd.DataFrame:
        """Leaderboard: rank, its interval, quality with its interval, probability of being the best, and votes."""
        return table_of(self.board)

    @cached_property
    def raters(self) -> pd.DataFrame:
        """Judges: votes, reliability with its interval, and a flag: votes at random, votes backwards, prefers a side."""
        rows = rater_rows(self.tree, self.votes, PROB, side_test_of(self.tree, self.votes))
        sided = not sides_by_rater(self.tree)
        return table_of([row | {"flag": _flag(row, sided=sided)} for row in rows])

    @cached_property
    def replicated(self) -> xr.DataTree | None:
        """The tree with simulated annotations; None without the model."""
        return with_replicates(self.tree, self.model, self.settings.seed)

    @cached_property
    def checked(self) -> xr.Dataset | EvaluationError:
        """Checks of the model, or why there are none."""
        return checked(self.replicated, self.settings.seed)

    @cached_property
    def pairs(self) -> tuple[list[dict[str, Any]], str | None]:
        """Rows of the pairs to compare, and the rater that is assumed."""
        return pair_rows_to_ask(self.tree, ids_by_rank(self.tree, self.board))

    @cached_property
    def next(self) -> pd.DataFrame:
        """Pairs to compare, the most informative first."""
        return table_of(self.pairs[0])

    @cached_property
    def facts(self) -> VoteFacts:
        """Numbers of the answers."""
        first, flags = self.board[0], self.raters
        flagged = {
            what: _flagged(flags, what) for what in ("votes at random", "votes backwards", "prefers a side")
        }
        ranks = [row["rank"] for row in self.board]
        pairs = self.next.head(LISTED)
        weight = weight_of_strength(self.tree, PROB)
        return VoteFacts(
            items=len(self.votes.items),
            votes=len(self.votes),
            raters=len(self.votes.raters),
            no_order=no_order_in_words(self.board),
            winner=first["item"],
            sure=float(first["P(best)"]),
            tied=tuple(row["item"] for row in self.board[1:] if row["rank"] == 1),
            tiers=len(set(ranks)),
            weight=weight and Quantity(*weight),
            told_apart=len(flags) > 0,
            random=flagged["votes at random"],
            backwards=flagged["votes backwards"],
            one_sided=flagged["prefers a side"],
            sound=self.sound,
            ask=tuple(f"{a} with {b}" for a, b in zip(pairs["left"], pairs["right"], strict=True))
            if len(pairs)
            else (),
        )


def table_of(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return a frame of rows with the same keys."""
    return pd.DataFrame(list(rows))


def _flag(row: dict[str, Any], *, sided: bool) -> str:
    """Return what is wrong with a judge, "" for most."""
    if sided and row.get(PREFERS):
        return "prefers a side"
    if row["to"] < 0:
        return "votes backwards"
    return "votes at random" if row["to"] < RANDOM else ""


def _flagged(raters: pd.DataFrame, what: str) -> tuple[str, ...]:
    """Return the judges with a flag."""
    return tuple(raters["rater"][raters["flag"] == what]) if len(raters) else ()
