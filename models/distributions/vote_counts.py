"""Counts of raters' votes on pairs of items: what laws with few outcomes and laws with levels of strength share."""

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytensor.tensor
from pytensor.graph.basic import Constant, Variable
from pytensor.link.numba.dispatch.basic import numba_njit
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.variable import shared_rng
from pytensor.tensor.variable import TensorVariable

from ...posterior.links import Link, require_link
from .compiling import source_digest
from .paired_comparisons_kernels import PairCodes

pt: Any = pytensor.tensor  # whose annotations leave out what its functions return


class VoteCountsRV(RandomVariable):
    """Random variable of counts of votes, a column for each outcome.

    Parameters are quality (item,), reliability and left_bias (rater,), one vector of the law, and the codes left, right, rater
    and the total, each (annotation,).
    """

    dtype = "int64"
    of_law: str  # dim of the vector of the law
    __props__ = ("name", "signature", "dtype", "inplace", "link", "n_outcomes")

    def __init__(self, link: Link, n_outcomes: int, **kwargs: Any) -> None:
        self.link: Link = link
        self.n_outcomes = n_outcomes
        kwargs["signature"] = f"(i),(r),(r),({self.of_law}),(a),(a),(a),(a)->(a,{n_outcomes})"
        super().__init__(**kwargs)

    @classmethod
    def rv_op(cls, *parameters, link, n_outcomes, size=None, rng=None) -> TensorVariable:
        """Return the random variable for a link and a number of outcomes."""
        rng = shared_rng(seed=None) if rng is None else rng
        return cast(Any, cls(link, n_outcomes)(*parameters, size=size, rng=rng, return_next_rng=True))[1]

    @property
    def draw(self) -> Callable:
        """Compiled ``draw(rng, strengths, codes, total, counts)``, which overwrites the counts (annotation, outcome)."""
        raise NotImplementedError

    def rng_fn(self, rng, *parameters):
        """Draw all votes, one replicate after the other; the last parameter is the batch shape."""
        *strengths, left, right, rater, total, size = parameters
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in strengths)) if size is None else tuple(size)
        strengths = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in strengths]
        left, right, rater, total = (
            np.ascontiguousarray(x.reshape(-1, x.shape[-1])[0]) for x in (left, right, rater, total)
        )
        counts = np.empty((*batch, len(total), self.n_outcomes), np.int64)
        for index in np.ndindex(batch):
            own = tuple(np.ascontiguousarray(x[index], np.float64) for x in strengths)
            self.draw(rng, own, PairCodes(left, right, rater), total, counts[index])
        return counts


@numba_core_rv_funcify.register(VoteCountsRV)
def _numba_votes(op, node):
    draw, n_outcomes = op.draw, op.n_outcomes

    @numba_njit
    def random_fn(rng, quality, reliability, left_bias, own, left, right, rater, total):
        counts = np.empty((len(total), n_outcomes), np.int64)
        draw(rng, (quality, reliability, left_bias, own), PairCodes(left, right, rater), total, counts)
        return counts

    return random_fn, source_digest(inspect.getfile(type(op)))


def possible_counts(counts: Any, total: Any) -> tuple[Any, Any]:
    """Return the counts, 0 where they are impossible, and log of the multinomial coefficients, there -inf.

    Both depend on the counts alone and fold into constants.
    """
    possible = (counts >= 0).all(axis=1) & pt.eq(counts.sum(axis=1), total)
    counts = pt.switch(possible[:, None], counts, 0)
    orders = pt.gammaln(total + 1) - pt.gammaln(counts + 1).sum(axis=1)
    return counts, pt.switch(possible, orders, -np.inf)


def vote_parameters(
    quality: Any, reliability: Any, of_raters: list[Any], codes: Any, total: Any, link: Link
) -> list[TensorVariable]:
    """Return quality, reliability, parameters of the raters, left, right, rater and total as tensors, or raise ValueError."""
    require_link(link)
    if len(codes) not in (2, 3):
        raise ValueError(f"codes are {len(codes)} arrays; pass (left, right) or (left, right, rater)")
    quality, reliability = map(pt.as_tensor_variable, (quality, reliability))
    who = codes[2] if len(codes) == 3 else np.zeros(np.shape(codes[0]), np.int64)
    if reliability.type.ndim == 0:  # all raters alike, but for side and ties
        n_raters = 1 if isinstance(who, Variable) else int(np.max(who, initial=0)) + 1
        reliability = pt.full((n_raters,), reliability)
    own = [pt.broadcast_to(x, reliability.shape) for x in of_raters]
    total = np.ones(np.shape(codes[0]), np.int64) if total is None else total
    answers = [pt.as_tensor_variable(x) for x in (*codes[:2], who, total)]
    _check_answers(answers, (quality.type.shape[-1], reliability.type.shape[-1]))
    return [quality, reliability, *own, *answers]


def _check_answers(answers: list[TensorVariable], lengths: tuple[int | None, int | None]) -> None:
    """Raise if constant codes are out of range or of unequal length, before compiled code reads them."""
    n_items, n_raters = lengths
    ends = {"left": n_items, "right": n_items, "rater": n_raters, "total": None}
    n_totals = answers[-1].type.shape[0]
    for (name, end), variable in zip(ends.items(), answers, strict=True):
        if not isinstance(variable, Constant):
            continue
        codes = variable.data
        if n_totals is not None and len(codes) != n_totals:
            raise ValueError(
                f"{name} has {len(codes)} entries and total {n_totals}; each needs one for every annotation"
            )
        wrong = (codes < 0) | (codes >= (np.inf if end is None else end))
        if wrong.any():
            place = int(wrong.argmax())
            allowed = "from 0" if end is None else f"from 0 to below {end}"
            raise ValueError(f"{name}[{place}] is {codes[place]}; it must be {allowed}")
