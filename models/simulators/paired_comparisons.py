"""Simulator of paired comparisons by unequal raters on a random regular graph."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from ...posterior.links import LOGISTIC, PROBIT, Link, require_link
from ..data.coded_rows import CodedRows
from ..data.comparisons import Comparisons, connected_components
from ..data.reading.comparison_tables import LEFT, RIGHT, TIE
from .simulated import KINDS, LARGEST, Simulated, check_numbers, check_whole, families


def regular_graph(
    items: int, degree: int, *, random_seed: int | np.random.Generator | None = None
) -> np.ndarray:
    """Draw a random connected graph in which every item is compared with equally many others.

    Parameters
    ----------
    items, degree : int
        Number of items (2 or more), and neighbours of each; ``items * degree`` must be even. From degree
        ``items - 1`` on, all pairs are returned.
    random_seed : int or numpy.random.Generator, optional
        Seed of the graph.

    Returns
    -------
    ndarray of int, shape (pair, 2)
        Item codes of each pair, the smaller one first, in ascending order.

    Raises
    ------
    ValueError
        If no connected graph has these degrees.

    Examples
    --------
    >>> from raterzoo import inference
    >>> pairs = inference.design.regular_graph(10, 4, random_seed=1)
    >>> pairs.shape
    (20, 2)
    """
    check_whole(2, items=items)
    check_whole(degree=degree)
    if degree >= items - 1:
        return np.column_stack(np.triu_indices(items, 1))
    if degree < 2:
        raise ValueError(f"degree={degree}: a graph on {items} items is connected from degree=2")
    if items * degree % 2:
        raise ValueError(
            f"degree={degree}: the degrees of {items} items add up to an odd number, and every pair adds two; "
            f"take degree={degree + 1}, or an even number of items"
        )
    rng = np.random.default_rng(random_seed)
    # from degree 3 nearly every graph is connected, of degree 2 one in about sqrt(items)
    while True:
        pairs = compared_pairs(_random_regular_edges(items, degree, int(rng.integers(2**32))), items)
        if not connected_components(items, pairs[:, 0], pairs[:, 1]).any():
            return pairs


def _random_regular_edges(items: int, degree: int, seed: int) -> list[tuple[int, int]]:
    """Pair free ends of edges at random (Steger and Wormald 1999); the regular graph is that of networkx for this seed."""
    shuffle = random.Random(seed).shuffle
    while True:
        edges: set[tuple[int, int]] = set()
        ends = [*range(items)] * degree
        while ends:
            shuffle(ends)
            left = Counter[int]()  # free ends of each item, in the order of the failed pairs
            for a, b in zip(ends[::2], ends[1::2], strict=True):
                pair = (a, b) if a < b else (b, a)
                if a != b and pair not in edges:
                    edges.add(pair)
                else:
                    left.update(pair)
            if left and not _can_be_paired(left, edges):
                break  # begin again
            ends = [*left.elements()]
        else:
            return list(edges)


def _can_be_paired(left: Iterable[int], edges: set[tuple[int, int]]) -> bool:
    """Whether a new edge between two items is found; `lower` outlasts a pair, as in networkx, whose draws these are."""
    for lower in left:
        for other in left:
            if other == lower:
                break
            lower, higher = sorted((lower, other))
            if (lower, higher) not in edges:
                return True
    return False


def compared_pairs(graph: Any, items: int) -> np.ndarray:
    """Edges (pair, 2) of a graph on item codes, smaller first, ascending; raise for unknown codes, loops and repeated pairs."""
    edges: Any = np.asarray(list(graph.edges) if hasattr(graph, "edges") else graph)
    if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges) or edges.dtype.kind not in "iu":
        raise ValueError(
            f"graph: found {edges.dtype} of shape {edges.shape}; pass a networkx.Graph with whole "
            "numbers for nodes, or an array of shape (pair, 2) of item codes"
        )
    pairs = np.sort(edges.astype(np.int64), axis=1)
    if pairs.min() < 0 or pairs.max() >= items:
        node = int(pairs.max() if pairs.max() >= items else pairs.min())
        raise ValueError(f"graph: {node} is not one of the codes 0 to {items - 1} of items={items}")
    if (pairs[:, 0] == pairs[:, 1]).any():
        node = int(pairs[pairs[:, 0] == pairs[:, 1]][0, 0])
        raise ValueError(f"graph: item {node} is paired with itself; leave the pair out")
    different = np.unique(pairs, axis=0)
    if len(different) < len(pairs):
        repeats = len(pairs) - len(different)
        raise ValueError(f"graph: {repeats} of {len(pairs)} pairs stand twice; list each once")
    return different


def allot_raters(n_pairs: int, raters: int, per_pair: int, rng: np.random.Generator) -> np.ndarray:
    """Allot `per_pair` raters, the least loaded first, to each pair at random; return (pair, rater of the pair), ascending."""
    if per_pair == raters:
        return np.tile(np.arange(raters), (n_pairs, 1))
    allotted = np.empty((n_pairs, per_pair), np.int64)
    load = np.zeros(raters)
    # random order: neighbouring pairs share an item, and their raters should not depend on each other
    for pair in rng.permutation(n_pairs):
        chosen = np.argpartition(load + rng.random(raters), per_pair)[:per_pair]
        load[chosen] += 1
        allotted[pair] = np.sort(chosen)
    return allotted


def comparisons(
    *,
    items: int = 40,
    raters: int = 40,
    degree: int = 20,
    alpha: float = 0.5,
    link: Link = LOGISTIC,
    tie: float | None = None,
    left_bias: float = 0.0,
    signed: float = 0.0,
    quality_range: tuple[float, float] = (0.0, 1.0),
    reliability_range: tuple[float, float] = (1.0, 20.0),
    taste: float = 0.0,
    graph: Any = None,
    cut_points: Sequence[float] = (),
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Comparisons]:
    """Simulate paired comparisons by unequal raters on a random regular graph.

    Generative law, for a vote of rater k on the items left and right:

        q_i ~ Uniform(0, 1),   rho_k ~ Uniform(1, 20),   x = rho_k (q_left - q_right) + b

        bradley_terry    P(left) : P(right) : P(tie) = e^(x/2) : e^(-x/2) : nu    (Davidson)
        thurstone        left if x + e > t, right if x + e < -t, else a tie, with e ~ Normal(0, 1)

    where nu or t is 0 without ties. With cut points t_1 < t_2 ... votes say by how much: t_s < abs(x + e) < t_(s+1) is
    strength s, with e ~ Logistic or Normal(0, 1), and a tie is abs(x + e) < t_0 under both links. The sides of the two
    items are drawn anew for each vote. With ``taste`` > 0 the raters have a ``kind``: a third are a "person", the others a
    "judge a" or "judge b", who see q_i + delta_i of their kind, delta_i ~ Normal(0, taste).

    Parameters
    ----------
    items, raters : int
        Numbers of items and raters.
    degree : int
        Number of items compared with each item, as in `regular_graph`; ``items * degree`` must be even.
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
    taste : float
        Standard deviation of what judges of one kind share on an item, beside its quality.
    graph : networkx.Graph or array of int, shape (pair, 2), optional
        Pairs of codes 0 ... items - 1 to compare, instead of a random regular graph; `degree` is then unused.
    cut_points : sequence of float
        Cut points above which votes are of strength 1, 2 and so on, rising, above the tie; by default votes say no strength.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Comparisons with integer ids; ``truth``: ``quality`` (item), ``reliability`` (rater), in the
        order of ``data``, the numbers ``tie`` (0 without ties) and ``left_bias``, ``cut_point`` with cut points, and,
        with taste, ``taste`` (group_of_raters, item) of "judge a" and "judge b".

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

    References
    ----------
    Nordio, Tarable and Leonardi, Ranking a set of objects using heterogeneous workers: QUITE an easy problem,
    section 6. Davidson (1970), On extending the Bradley-Terry model to accommodate ties, JASA 65,
    doi:10.1080/01621459.1970.10481082.
    """
    require_link(link)
    _refuse_numbers(raters, alpha, tie or 0.0, left_bias, signed)
    check_numbers(0, LARGEST, taste=taste)
    _refuse_range("quality_range", quality_range, -np.inf)
    _refuse_range("reliability_range", reliability_range, 0.0)
    rng = np.random.default_rng(random_seed)
    pairs = regular_graph(items, degree, random_seed=rng) if graph is None else compared_pairs(graph, items)
    rater = allot_raters(len(pairs), raters, max(1, round(alpha * raters)), rng)
    quality = rng.uniform(*quality_range, items)
    reliability = rng.uniform(*reliability_range, raters) * np.where(rng.random(raters) < signed, -1, 1)
    pairs = np.repeat(pairs, rater.shape[1], axis=0)
    rater = rater.ravel()
    side = rng.integers(2, size=len(rater))
    left, right = pairs[np.arange(len(rater)), side], pairs[np.arange(len(rater)), 1 - side]
    family = families(raters) if taste else np.full(raters, -1)
    of_judges = rng.normal(0.0, taste, (family.max() + 1, items))
    seen = np.concatenate([quality + of_judges, quality[None]])  # by family, people last
    difference = seen[family[rater], left] - seen[family[rater], right]
    advantage = reliability[rater] * difference + left_bias
    cuts = _risen(cut_points, tie or 0.0)
    if len(cuts):
        outcome, strength = _graded(rng, link, advantage, tie or 0.0, cuts)
    else:
        outcome, strength = _outcomes(rng, link, advantage, tie or 0.0), np.zeros(len(rater), np.int64)
    votes = {
        "left": left,
        "right": right,
        "annotation_rater": rater,
        "outcome": outcome,
        "strength": strength,
    }
    voted, merged = CodedRows(votes, count=np.ones(len(rater), np.int64)).merged(raters)
    truth = {"quality": quality, "reliability": reliability[voted]}
    truth |= {"tie": np.array(tie or 0.0), "left_bias": np.array(left_bias)}
    truth |= {"cut_point": cuts} if len(cuts) else {}
    attributes = {}
    if taste:
        truth["taste"], attributes["kind"] = of_judges, KINDS[family[voted]]
    own = {"raters": voted, "rater_attributes": attributes, "strengths": len(cuts) + 1}
    data = Comparisons(items=np.arange(items), **own, **cast(Any, merged))
    return Simulated(data, truth)


def _outcomes(rng: np.random.Generator, link: Link, x: np.ndarray, tie: float) -> np.ndarray:
    """Draw the outcome of each vote by noise on the log odds, so that no small probability underflows."""
    if link == PROBIT:
        seen = x + rng.standard_normal(len(x))
        return np.select([seen > tie, seen < -tie], [LEFT, RIGHT], TIE)
    speaks = [x / 2, -x / 2] + ([np.full(len(x), np.log(tie))] if tie else [])
    return np.argmax([logit + rng.gumbel(size=len(x)) for logit in speaks], axis=0)


def _risen(cut_points: Sequence[float], tie: float) -> np.ndarray:
    """Return cut points (cut point,), or raise unless they rise from above the tie."""
    cuts = np.array(cut_points, float)
    if cuts.ndim != 1 or not np.isfinite(cuts).all() or (np.diff(cuts, prepend=tie) <= 0).any():
        raise ValueError(f"cut_points={cut_points!r} must be finite numbers that rise, above tie={tie!r}")
    return cuts


def _graded(
    rng: np.random.Generator, link: Link, x: np.ndarray, tie: float, cuts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draw outcome and strength of each vote by noise on the advantage x (vote,)."""
    seen = x + (rng.standard_normal(len(x)) if link == PROBIT else rng.logistic(size=len(x)))
    outcome = np.select([seen > tie, seen < -tie], [LEFT, RIGHT], TIE)
    return outcome, np.searchsorted(cuts, np.abs(seen))


def _refuse_numbers(raters: int, alpha: float, tie: float, left_bias: float, signed: float) -> None:
    """Raise unless the numbers are within their ranges."""
    check_whole(raters=raters)
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
