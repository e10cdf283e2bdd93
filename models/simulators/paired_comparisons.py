"""Simulator of paired comparisons by unequal raters on a random regular graph."""

from typing import Any, Literal

import numpy as np

from ..data.comparisons import Comparisons
from ..data.votes import LEFT, RIGHT, TIE, CodedVotes, vote_layout
from .comparison_graph import allot_raters, compared_pairs, regular_graph
from .simulated import Simulated

__all__ = ["Link", "comparisons"]

Link = Literal["bradley_terry", "thurstone"]


def comparisons(
    *,
    items: int = 40,
    raters: int = 40,
    degree: int = 20,
    alpha: float = 0.5,
    link: Link = "bradley_terry",
    tie: float | None = None,
    left_bias: float = 0.0,
    signed: float = 0.0,
    quality_range: tuple[float, float] = (0.0, 1.0),
    reliability_range: tuple[float, float] = (1.0, 20.0),
    graph: Any = None,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Comparisons]:
    """Simulate paired comparisons by unequal raters on a random regular graph.

    Generative law, for a vote of rater k on the items left and right:

        q_i ~ Uniform(0, 1),   rho_k ~ Uniform(1, 20),   x = rho_k (q_left - q_right) + b

        bradley_terry    P(left) : P(right) : P(tie) = e^(x/2) : e^(-x/2) : nu    (Davidson)
        thurstone        left if x + e > t, right if x + e < -t, else a tie, with e ~ Normal(0, 1)

    where nu or t is 0 without ties.

    The sides of the two items are drawn anew for each vote.

    Parameters
    ----------
    items, raters : int
        Numbers of items and raters.
    degree : int
        Number of items compared with each item; from ``items - 1`` all pairs. ``items * degree`` must be
        even.
    alpha : float
        Share of the raters who judge each pair, once each: ``round(alpha * raters)``, at least one.
    link : {"bradley_terry", "thurstone"}
        Law of a vote, by the name of the model.
    tie : float, optional
        nu of Davidson under "bradley_terry", threshold t under "thurstone"; by default there are no ties.
    left_bias : float
        Advantage b of the left side.
    signed : float
        Probability that a rater prefers the worse item, with negative reliability.
    quality_range, reliability_range : tuple of float
        Bounds of the uniform distributions of quality and of absolute reliability.
    graph : networkx.Graph or array of int, shape (pair, 2), optional
        Pairs of codes 0 ... items - 1 to compare, instead of a random regular graph; `degree` is then unused.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Comparisons with integer ids; ``truth``: ``quality`` (item), ``reliability`` (rater), in the
        order of ``data.items`` and ``data.raters``, and the numbers ``tie`` (0 without ties) and
        ``left_bias``.

    Raises
    ------
    ValueError
        If the link is unknown, or a number is out of range.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.comparisons(items=6, raters=4, degree=2, random_seed=1)
    >>> simulated.data
    Comparisons(6 items, 4 raters, 12 votes)
    >>> simulated.truth["quality"].shape
    (6,)

    References
    ----------
    Nordio, Tarable and Leonardi, Ranking a set of objects using heterogeneous workers: QUITE an easy problem,
    section 6. Davidson (1970), On extending the Bradley-Terry model to accommodate ties, JASA 65,
    doi:10.1080/01621459.1970.10481082.
    """
    if link not in Link.__args__:
        raise ValueError(f"link={link!r} is not one of {', '.join(Link.__args__)}")
    _refuse_numbers(raters, alpha, tie or 0.0, left_bias, signed)
    _refuse_range("quality_range", quality_range, -np.inf)
    _refuse_range("reliability_range", reliability_range, 0.0)
    rng = np.random.default_rng(random_seed)
    if graph is None:
        pairs = regular_graph(items, degree, random_seed=rng)
    else:
        pairs = compared_pairs(graph, items)
    rater = allot_raters(len(pairs), raters, max(1, round(alpha * raters)), rng)
    quality = rng.uniform(*quality_range, items)
    reliability = rng.uniform(*reliability_range, raters) * np.where(
        rng.random(raters) < signed, -1, 1
    )
    pairs = np.repeat(pairs, rater.shape[1], axis=0)
    rater = rater.ravel()
    side = rng.integers(2, size=len(rater))
    left, right = pairs[np.arange(len(rater)), side], pairs[np.arange(len(rater)), 1 - side]
    advantage = reliability[rater] * (quality[left] - quality[right]) + left_bias
    outcome = _outcomes(rng, link, advantage, tie or 0.0)
    once = np.ones(len(rater), np.int64)
    ids = np.arange(raters)
    voted, layout = vote_layout(CodedVotes(left, right, rater, outcome, once), ids)
    truth = {"quality": quality, "reliability": reliability[voted]}
    truth |= {"tie": np.array(tie or 0.0), "left_bias": np.array(left_bias)}
    data = Comparisons(items=np.arange(items), raters=ids[voted], rater_attributes={}, **layout)
    return Simulated(data, truth)


def _outcomes(rng: np.random.Generator, link: Link, x: np.ndarray, tie: float) -> np.ndarray:
    """Draw the outcome of each vote by noise on the log odds, so that no small probability underflows."""
    if link == "thurstone":
        seen = x + rng.standard_normal(len(x))
        return np.select([seen > tie, seen < -tie], [LEFT, RIGHT], TIE)
    speaks = [x / 2, -x / 2] + ([np.full(len(x), np.log(tie))] if tie else [])
    return np.argmax([logit + rng.gumbel(size=len(x)) for logit in speaks], axis=0)


def _refuse_numbers(raters: int, alpha: float, tie: float, left_bias: float, signed: float) -> None:
    """Raise unless the numbers are within their ranges."""
    if isinstance(raters, bool) or not isinstance(raters, int | np.integer) or raters < 1:
        raise ValueError(f"raters={raters!r} must be a whole number from 1")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha={alpha!r} must be a share of the raters above 0, up to 1")
    if not 0 <= tie < np.inf:
        raise ValueError(f"tie={tie!r} must be a finite number from 0, or None")
    if not -np.inf < left_bias < np.inf:
        raise ValueError(f"left_bias={left_bias!r} must be finite")
    if not 0 <= signed <= 1:
        raise ValueError(f"signed={signed!r} must be a share from 0 to 1")


def _refuse_range(name: str, bounds: tuple[float, float], least: float) -> None:
    """Raise unless bounds are finite, ascending and above `least`."""
    low, high = bounds
    if not least < low <= high < np.inf:
        floor = f" above {least:g}" if np.isfinite(least) else ""
        raise ValueError(f"{name}={bounds!r} must be two finite numbers{floor}, the smaller first")
