"""GradedVotes: distribution of votes that say by how much one item is better than the other."""

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor
from pymc.distributions.dist_math import check_parameters
from pymc.logprob.abstract import _logprob
from pytensor.tensor.variable import TensorVariable

from ...posterior.links import LOGISTIC, Link
from .compiling import cached_njit
from .vote_counts import VoteCountsRV, possible_counts, vote_parameters

SQRT_HALF = 0.7071067811865476
pt: Any = pytensor.tensor  # whose annotations leave out what its functions return


def _cdf(z: float, logistic: bool) -> float:
    """Return F(z)."""
    return 0.5 + 0.5 * math.tanh(0.5 * z) if logistic else 0.5 * math.erfc(-z * SQRT_HALF)


def _log_cdf(z: Any, link: Link) -> Any:
    """Return log F(z), exact in both tails, with a finite gradient."""
    if link == LOGISTIC:
        return -pt.softplus(-z)
    # each branch sees only arguments at which it is finite
    low, high = pt.minimum(z, -1.0), pt.maximum(z, -1.0)
    tail = pt.log(0.5 * pt.erfcx(-low * SQRT_HALF)) - 0.5 * low**2
    return pt.switch(pt.lt(z, -1.0), tail, pt.log1p(-0.5 * pt.erfc(high * SQRT_HALF)))


def _log_between(low: Any, high: Any, link: Link) -> Any:
    """Return log(F(high) - F(low)) for low < high."""
    if link == LOGISTIC:  # F(h) - F(l) = F(h) F(-l) (1 - e^(l - h))
        return _log_cdf(high, link) + _log_cdf(-low, link) + pt.log(-pt.expm1(low - high))
    turned = pt.gt(low + high, 0.0)  # to the tail in which the difference does not cancel
    low, high = pt.switch(turned, -high, low), pt.switch(turned, -low, high)
    above = _log_cdf(high, link)
    return above + pt.log(-pt.expm1(_log_cdf(low, link) - above))


def _log_levels(x: Any, seen: Any, cut_points: TensorVariable, n_levels: int, link: Link) -> TensorVariable:
    """Return log p of every level (annotation, level), the strongest for the left item first.

    Who won follows the advantage `x`, and strength given who won `seen`.
    """
    cuts = [cut_points[n] for n in range((n_levels - 1) // 2)]
    middle = [] if n_levels % 2 else [0.0]
    bounds = [*cuts[::-1], *middle, *(-cut for cut in cuts)]  # falling: of x + noise between the levels
    n, odd = n_levels // 2, n_levels % 2
    tie = cuts[0] if odd else 0.0
    won, lost = (_log_cdf(way * x - tie, link) - _log_cdf(way * seen - tie, link) for way in (1, -1))
    at = [seen] * n + [x] * odd + [seen] * n
    inner = [
        _log_between(low - y, high - y, link)
        for y, (high, low) in zip(at[1:-1], pairwise(bounds), strict=True)
    ]
    levels = [_log_cdf(seen - bounds[0], link), *inner, _log_cdf(bounds[-1] - seen, link)]
    sides = [won] * n + [0.0] * odd + [lost] * n
    return pt.stack([level + side for level, side in zip(levels, sides, strict=True)], axis=1)


@cache
def _compiled_draw(link: Link, n_levels: int) -> Callable:
    """Compile the draw of the levels, vote by vote: the winner by noise added to x, then the strength given the winner."""
    n, odd, logistic = n_levels // 2, n_levels % 2, link == LOGISTIC
    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": False}
    cdf = cached_njit(**options)(_cdf)

    @cached_njit(**options)
    def draw(rng, strengths, codes, total, counts):
        quality, reliability, left_bias, of_levels = strengths
        left, right, rater = codes
        weight, tie, cuts = of_levels[0], of_levels[1] * odd, of_levels[1 + odd :]
        counts[:] = 0
        for a in range(len(total)):
            k = rater[a]
            x = reliability[k] * (quality[left[a]] - quality[right[a]]) + left_bias[k]
            for _ in range(total[a]):
                u = rng.random()
                noise = np.log(u / (1.0 - u)) if logistic else rng.standard_normal()
                if abs(x + noise) < tie:
                    counts[a, n] += 1
                    continue
                lead = weight * (x if x + noise > 0 else -x)
                reached, strength = rng.random() * cdf(lead - tie, logistic), 0
                for cut in cuts:
                    strength += reached < cdf(lead - cut, logistic)
                counts[a, n - 1 - strength if x + noise > 0 else n + odd + strength] += 1

    return draw


class GradedVotesRV(VoteCountsRV):
    """Random variable of counts of graded votes, the strongest level for the left item first; of weight, then cut points."""

    name = "graded_votes"
    of_law = "c"
    _print_name = ("GradedVotes", "\\operatorname{GradedVotes}")

    @property
    def draw(self) -> Callable:
        """Compiled draws of the levels."""
        return _compiled_draw(self.link, self.n_outcomes)


@cast(Any, _logprob).register(GradedVotesRV)
def _log_probability(op, values, *inputs, **kwargs) -> TensorVariable:
    """Return the log probability of each annotation, with the multinomial coefficient."""
    *_, quality, reliability, left_bias, of_levels, left, right, rater, total = inputs
    weight, cut_points = of_levels[0], of_levels[1:]
    counts, orders = possible_counts(values[0], total)
    x = reliability[rater] * (quality[left] - quality[right]) + left_bias[rater]
    log_p = (counts * _log_levels(x, weight * x, cut_points, op.n_outcomes, op.link)).sum(axis=1) + orders
    steps = pt.concatenate([cut_points[:1], pt.diff(cut_points)])
    rising = pt.all(steps > 0)
    return cast(
        TensorVariable, check_parameters(log_p, rising, msg="0 < cut_points[0] < cut_points[1] < ...")
    )


class GradedVotes(pm.Discrete):
    """Counts of raters' votes on pairs of items, on a scale from much better to much worse.

    A latent preference falls between cut points that are symmetric about zero [1]_ [2]_:

        x_a  = rho_k (q_left - q_right) + b_k                       rater k of annotation a
        p(left by strength s or more)  = F(x_a - t_s)               t_0 < t_1 < ...
        p(right by strength s or more) = F(-x_a - t_s)              the rest, if t_0 > 0, are ties
        n_a  ~ Multinomial(total_a, p)

    with F(x) = 1 / (1 + e^-x) ("bradley_terry") or Phi(x) ("thurstone"). With a weight w below 1 strength says less of quality
    than who won does; at 0 it says nothing:

        p(left by strength s or more)  = F(x_a - t_0) F(w x_a - t_s) / F(w x_a - t_0)      right: -x_a

    An even number of levels has no tie, t_0 = 0, and its first cut point is t_1. Two levels are `PairedVotes` without ties, and
    three under "thurstone" those with ties.

    ====================  ==========================================================  ====================
    symbol                argument                                                    dims
    ====================  ==========================================================  ====================
    q                     quality                                                     item
    rho                   reliability; negative if the rater prefers the worse item   rater, or scalar
    left, right, k        codes: item on the left, item on the right, rater           annotation
    b                     left_bias: advantage of the left side                       rater, or scalar
    w                     weight of strength, 1 or less                               scalar
    t                     cut_points, positive and rising                             cut point
    total                 total: number of votes                                      annotation
    n                     value: counts, strongest for the left item first            annotation, level
    ====================  ==========================================================  ====================

    The log probability is pointwise by annotation, with the multinomial coefficient. Replicates draw the counts of every
    annotation, given its total.

    Parameters
    ----------
    quality : tensor, shape (item,)
        Quality of each item; only differences count.
    reliability : tensor, default 1
        Factor of the differences, shape (rater,), or one number for all.
    codes : tuple of array_like
        Codes (left, right, rater), each (annotation,); without the third all votes are of one rater.
    total : array_like, shape (annotation,), optional
        Number of votes of each annotation, 1 by default.
    left_bias : tensor, default 0
        Advantage of the left side, for all raters or (rater,).
    weight : tensor, default 1
        Weight of the advantage in strength given who won.
    cut_points : tensor, shape (cut point,)
        Positive and rising: two of five levels or, without ties, of six.
    ties : bool, default True
        Whether the middle level is a tie; 2 len(cut_points) + 1 levels, otherwise 2 len(cut_points) + 2.
    link : {"bradley_terry", "thurstone"}
        The law of the noise.

    Raises
    ------
    ValueError
        If there is no cut point, arrays differ in length, or the link is none of these.

    Examples
    --------
    >>> import numpy as np, pymc as pm
    >>> from raterzoo.models.distributions import GradedVotes
    >>> left, right = [0, 1, 0], [1, 2, 2]
    >>> votes = [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]  # A>>B, A>B, tie, B>A, B>>A
    >>> law = GradedVotes.dist(np.array([1.0, 0.2, -1.2]), codes=(left, right), cut_points=[0.3, 1.5])
    >>> pm.logp(law, np.array(votes)).eval().round(2)
    array([-1.24, -2.35, -0.4 ])

    References
    ----------
    .. [1] Agresti (1992), Analysis of ordinal paired comparison data, Applied Statistics 41, section 2 (cumulative link,
       symmetric cut points), doi:10.2307/2347562.
    .. [2] Tutz (1986), Bradley-Terry-Luce models with an ordered response, Journal of Mathematical Psychology 30,
       doi:10.1016/0022-2496(86)90034-9.
    """

    rv_type = GradedVotesRV
    rv_op = GradedVotesRV.rv_op

    @classmethod
    def dist(
        cls,
        quality: Any,
        reliability: Any = 1.0,
        codes: Any = (),
        total: Any = None,
        *,
        left_bias: Any = 0.0,
        weight: Any = 1.0,
        cut_points: Any,
        ties: bool = True,
        link: Link = LOGISTIC,
        **kwargs: Any,
    ) -> TensorVariable:
        """Return the distribution as a tensor variable outside a model."""
        cut_points = pt.as_tensor_variable(cut_points)
        if cut_points.type.ndim != 1 or cut_points.type.shape == (0,):
            raise ValueError(
                "cut_points must be a vector of one or more; without any, PairedVotes is the law of the votes"
            )
        if cut_points.type.shape[0] is None:
            raise ValueError("cut_points must have a known length, such as that of pt.specify_shape")
        quality, reliability, side, *answers = vote_parameters(
            quality, reliability, [left_bias], codes, total, link
        )
        n_levels = 2 * cut_points.type.shape[0] + (1 if ties else 2)
        of_levels = pt.concatenate([pt.as_tensor_variable(weight)[None], cut_points])
        parameters = [quality, reliability, side, of_levels, *answers]
        return super().dist(parameters, link=link, n_outcomes=n_levels, **kwargs)
