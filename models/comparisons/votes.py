"""Covariates of votes, such as lengths or styles of the two answers: what decides a vote besides the qualities."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..._messages import short_repr
from ..data.comparisons import ENOUGH, Comparisons, code_outcomes
from ..data.errors import DataError
from ..data.reading.columns import code_ids, match_ids
from ..data.reading.comparison_tables import code_items
from ..data.reading.frames import column_names, named_columns
from ..data.reading.long_tables import annotation_columns
from .priors import finite_numbers

WHERE = "argument vote_covariates"
MOST_OTHERS = 0.02  # share of votes with another sign that are mistakes, such as a wrong cell
ROLES = ("left", "right", "winner", "rater")
ANYONE = 0  # code of the rater of anonymous votes


class VoteCovariates(NamedTuple):
    """Votes one by one, and their covariates in units of their root mean squares."""

    names: np.ndarray  # (covariate,)
    values: np.ndarray  # float64 (vote, covariate)
    scale: np.ndarray  # (covariate,), root mean square of each column of the table
    left: np.ndarray  # int64 (vote,)
    right: np.ndarray  # int64 (vote,)
    rater: np.ndarray  # int64 (vote,), 0 if anonymous
    outcome: np.ndarray  # int64 (vote,)

    @property
    def coords(self) -> dict[str, Any]:
        """Coordinates of the votes, which are the annotations of the model, and names of the covariates."""
        return {"annotation": np.arange(len(self.values)), "vote_covariate": self.names}

    def counts(self, ties: bool) -> np.ndarray:
        """Return one answer for each vote, int64 (vote, outcome)."""
        return np.eye(3 if ties else 2, dtype=np.int64)[self.outcome]

    def register(self) -> TensorVariable:
        """Register the covariates and ``vote_effect``; return their sum for each vote."""
        values = pm.Data("vote_covariate_value", self.values, dims=("annotation", "vote_covariate"))
        pm.Data("vote_covariate_scale", self.scale, dims="vote_covariate")
        effect = pm.Normal("vote_effect", 0.0, 1.0, dims="vote_covariate")
        return cast(TensorVariable, pt.dot(values, effect))


def vote_covariates(table: Any, pairs: Comparisons) -> VoteCovariates | None:
    """Read the covariates of the votes from the table of the votes; None without one.

    The table has the columns of `Comparisons.from_table`, one row for each vote of `pairs`, and a column of numbers for each
    covariate, left minus right. Refuses votes that are others than those of `pairs`, what is no finite number, and a covariate
    that is zero in all votes.
    """
    if table is None:
        return None
    try:
        names = [name for name in column_names(table) if name not in ROLES]
        rater = None if pairs.anonymous else "rater"
        roles = {"rater": rater, "left": "left", "right": "right", "winner": "winner"}
        columns = annotation_columns(table, "comparisons", roles, (), "error")
        _, left, right = code_items(columns["left"], columns["right"], pairs.items)
        sides = (columns["left"].name, columns["right"].name)
        outcome = code_outcomes(columns["winner"], pairs.items, left, right, sides)
        who = np.full(len(left), ANYONE)
        if not pairs.anonymous:
            if "rater" not in columns:
                raise DataError("there is no column rater", remedy="add it: the votes are by named raters")
            ids, code = code_ids(columns["rater"])
            who = match_ids(ids, pairs.raters, "raters", row=1, column="rater")[code]
        _refuse_other_votes(pairs, np.stack([left, right, who, outcome]).astype(np.int64))
        found = {f"covariate {name}": name for name in names}
        numbers = named_columns(table, found) if found else {}
        values = [finite_numbers(numbers[role]) for role in found]
    except DataError as error:
        raise error.moved(f"{WHERE}, {error.where}" if error.where else WHERE) from None
    return _scaled(names, values, (left, right, who, outcome))


def _scaled(names: list[str], columns: list[np.ndarray], codes: Sequence[np.ndarray]) -> VoteCovariates:
    """Return covariates in units of their root mean squares, or raise; zero remains zero: no difference between the sides."""
    if not names:
        problem = "there is no column besides left, right, winner and rater"
        raise DataError(problem, remedy="give one column of numbers for each covariate", where=WHERE)
    values = np.stack(columns, axis=1)
    scale = np.sqrt((values**2).mean(axis=0))
    if (alike := scale == 0).any():
        name = names[int(alike.argmax())]
        problem = f"{short_repr(name)} is zero in all votes"
        raise DataError(
            problem, column=name, value=0.0, remedy="leave it out: no vote tells its effect", where=WHERE
        )
    for name, own in zip(names, values.T, strict=True):
        differ = own[own != 0]
        most = np.median(np.sign(differ))
        others = int((np.sign(differ) != most).sum())
        if len(differ) >= ENOUGH and others <= MOST_OTHERS * len(differ):
            side, votes = "above" if most > 0 else "below", f"all {len(differ):,}"
            votes = f"{len(differ) - others:,} of {len(differ):,}" if others else votes
            raise DataError(
                f"{short_repr(name)} is {side} zero in {votes} votes, as an advantage of the left side would be",
                column=name,
                value=float(differ[np.sign(differ) == most][0]),
                allowed="the value of the left answer minus that of the right one",
                remedy="subtract them; leave out what both answers share, such as the time of the vote",
                where=WHERE,
            )
    own = [np.asarray(code, np.int64) for code in codes]
    return VoteCovariates(np.array(names), values / scale, scale, *own)


def _refuse_other_votes(pairs: Comparisons, key: np.ndarray) -> None:
    """Raise unless the votes, key (left, right, rater and outcome, vote), are those of the comparisons, in any order."""
    ours = np.stack([pairs.left, pairs.right, np.maximum(pairs.annotation_rater, ANYONE), pairs.outcome])
    both = np.concatenate([ours, key], axis=1) + 1  # no rater or item of the comparisons has code -1
    shape = tuple(int(x) + 1 for x in both.max(axis=1))
    _, vote = np.unique(np.ravel_multi_index(tuple(both), shape), return_inverse=True)
    ours, theirs = vote[: len(pairs.count)], vote[len(pairs.count) :]
    counted = np.bincount(ours, pairs.count, vote.max() + 1).astype(np.int64)
    order = np.argsort(theirs, kind="stable")
    first = np.searchsorted(theirs[order], theirs[order])
    again = np.empty(len(theirs), np.int64)  # rows before this one with the same vote
    again[order] = np.arange(len(theirs)) - first
    remedy = "pass the table that the comparisons were read from, one row for each vote"
    if (surplus := again >= counted[theirs]).any():
        problem = "this vote is not, or not so often, among the comparisons"
        raise DataError(problem, row=int(surplus.argmax()) + 1, remedy=remedy)
    if left := int(counted.sum()) - len(theirs):
        raise DataError(f"{left:,} votes of the comparisons have no row", value=left, remedy=remedy)
