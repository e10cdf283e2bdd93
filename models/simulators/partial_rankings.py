"""Simulator of Plackett-Luce partial rankings with given block structures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.rankings import PartialRankings
from .simulated import Simulated


def log_gamma(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw log Gamma(shape, 1), as log Gamma(shape + 1) + log(U) / shape against underflow; -inf for shape 0."""
    with np.errstate(divide="ignore"):
        return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def normalised(log_worth: np.ndarray) -> np.ndarray:
    """Worths (..., category) normalised to sum to one over the last axis."""
    worth = np.exp(log_worth - log_worth.max(axis=-1, keepdims=True))
    return worth / worth.sum(axis=-1, keepdims=True)


def draw_order(log_worth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw full rankings (annotation, category), best first: the order of log worth plus Gumbel noise."""
    return np.argsort(-log_worth - rng.gumbel(size=log_worth.shape), axis=-1)


def ranked_entries(order: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut full rankings into blocks; return annotation, category and rank (from 1) of the ranked entries.

    Shapes: order (annotation, category), best first; sizes (annotation, block), zeros after the last block;
    results (entry,), in order.
    """
    named = sizes.sum(axis=1)
    annotation = np.repeat(np.arange(len(order)), named)
    place = np.arange(named.sum()) - np.repeat(np.cumsum(named) - named, named)
    number = np.broadcast_to(np.arange(1, sizes.shape[1] + 1), sizes.shape)
    return annotation, order[annotation, place], np.repeat(number.ravel(), sizes.ravel())


def rankings(
    *,
    items: int = 100,
    categories: int = 6,
    raters: int = 5,
    block_sizes: Sequence[int] | Sequence[Sequence[int]] = (1, 1),
    concentration: float = 1.0,
    log_worth: np.ndarray | None = None,
    reliability: Sequence[float] | np.ndarray | None = None,
    shown: int | None = None,
    random_seed: int | np.random.Generator,
) -> Simulated[PartialRankings]:
    """Simulate Plackett-Luce partial rankings: every rater ranks every item, by the item's worths.

    Worths are Gamma(concentration, 1); a rater draws an order of all categories and names those of the ranked
    blocks. A rater of reliability r sees the worths at the power r, as in `hierarchical_plackett_luce`.

    Parameters
    ----------
    items, categories, raters : int
        Numbers of items, categories and raters. Ids are numbers from 0.
    block_sizes : sequence of int, or sequence of such sequences
        Sizes of the ranked blocks, best first. With several structures each annotation draws one, uniformly.
    concentration : float
        Shape of the Gamma prior of each worth.
    log_worth : ndarray, shape (item, category), optional
        Log worths instead of draws from the prior; their shape replaces `items` and `categories`.
    reliability : sequence of float, optional
        Reliability of each rater, positive: large for one who ranks as the worths say, near 0 for one who guesses. Their
        number replaces `raters`. By default all are 1.
    shown : int, optional
        Number of categories that a rater is shown of an item, drawn at random. By default all.
    random_seed : int or numpy.random.Generator
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: PartialRankings; ``truth``: ``log_worth`` and ``plausibility``, shape (item, category), and
        ``reliability`` (rater) if it was given.

    Raises
    ------
    ValueError
        If a block is empty, there are fewer categories, or categories shown, than ranks, or a reliability is not a positive
        number.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.rankings(items=5, categories=4, raters=3, random_seed=1)
    >>> simulated.data
    PartialRankings(5 items, 3 raters, 15 annotations, 4 categories)

    References
    ----------
    Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS 21(1),
    doi:10.1080/10618600.2012.638220.
    """
    rng = np.random.default_rng(random_seed)
    if log_worth is None:
        log_worth = log_gamma(np.full((items, categories), float(concentration)), rng)
    items, categories = log_worth.shape
    structures = padded_sizes(block_sizes)
    if structures.sum(axis=1).max() > categories:
        raise ValueError(f"block_sizes={block_sizes!r} rank more than the {categories} categories")
    if shown is not None and not structures.sum(axis=1).max() <= shown <= categories:
        raise ValueError(
            f"shown={shown} must be from the {structures.sum(axis=1).max()} ranked to the {categories} categories"
        )
    truth = {"log_worth": log_worth, "plausibility": normalised(log_worth)}
    if reliability is not None:
        truth["reliability"] = _positive(reliability)
        raters = len(truth["reliability"])
    item, rater = np.divmod(np.arange(items * raters), raters)
    sizes = structures[rng.integers(len(structures), size=len(item))]
    power = truth["reliability"][rater] if "reliability" in truth else None
    sets = None if shown is None else _random_sets(rng, len(item), categories, shown)
    return Simulated(draw_rankings(log_worth, item, rater, sizes, rng, power, sets), truth)


def _random_sets(rng: np.random.Generator, n: int, categories: int, shown: int) -> np.ndarray:
    """Draw masks of random categories shown, bool (annotation, category)."""
    return np.argsort(rng.random((n, categories)), axis=1) < shown


def _positive(reliability: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the reliabilities of the raters (rater,), or raise."""
    values = np.asarray(reliability, float)
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values < np.inf)).all():
        raise ValueError(f"reliability={reliability!r} must be a positive number for each rater")
    return values


def padded_sizes(block_sizes: Sequence[int] | Sequence[Sequence[int]]) -> np.ndarray:
    """Write block structures as rows of one array (structure, block), padded with zeros; refuses empty blocks."""
    one = all(isinstance(size, int) for size in block_sizes)
    structures: list[Any] = [block_sizes] if one else [*block_sizes]
    if not all(len(sizes) and min(sizes) > 0 for sizes in structures):
        raise ValueError(f"block_sizes={block_sizes!r}: every block needs a member")
    padded = np.zeros((len(structures), max(map(len, structures))), np.int64)
    for row, sizes in zip(padded, structures, strict=True):
        row[: len(sizes)] = sizes
    return padded


def draw_rankings(
    log_worth: np.ndarray,
    item: np.ndarray,
    rater: np.ndarray,
    sizes: np.ndarray,
    rng: np.random.Generator,
    power: np.ndarray | None = None,
    shown: np.ndarray | None = None,
) -> PartialRankings:
    """Draw a partial ranking per annotation (item, rater) by log_worth (item, category); block sizes end in zeros.

    `power` (annotation,) is that of the worths, by default 1; `shown`, bool (annotation, category), by default all.
    """
    seen = log_worth[item] if power is None else power[:, None] * log_worth[item]
    order = draw_order(seen if shown is None else np.where(shown, seen, -np.inf), rng)
    annotation, category, rank = ranked_entries(order, sizes)
    table = {"item": item[annotation], "rater": rater[annotation], "category": category, "rank": rank}
    categories = range(log_worth.shape[1])
    if shown is None:
        return PartialRankings.from_table(table, categories=categories)
    sets = [np.flatnonzero(shown[a]) for a in annotation.tolist()]
    return PartialRankings.from_table({**table, "shown": sets}, categories=categories, shown="shown")


# Number of cases with 1, 2, ..., 10 readers.
_READERS = np.array([25, 132, 359, 434, 289, 374, 97, 85, 68, 84])

# Number of annotations by block structure; fifteen rarer structures are left out.
_STRUCTURES = {
    (1,): 5194, (1, 1): 2318, (1, 1, 1): 567, (2,): 542, (1, 2): 485, (2, 1): 236, (3,): 111, (1, 1, 2): 28,
    (1, 3): 24, (2, 2): 21, (1, 2, 1): 18, (4,): 8, (2, 1, 1): 8, (3, 1): 6, (5,): 2, (6,): 1,
}  # fmt: skip


def differential_diagnoses(
    *,
    items: int = 1947,
    categories: int = 419,
    raters: int = 10,
    concentration: float = 2.5,
    random_seed: int | np.random.Generator,
) -> Simulated[PartialRankings]:
    """Simulate differential diagnoses: cases with few plausible conditions, and rankings by readers.

    Plausibility ~ Dirichlet(concentration * popularity) with popularity_k proportional to 1 / (k + 7)^2 (k =
    0, 1, ...); annotations are Plackett-Luce with ties, the same for all readers. Numbers of readers, block
    structures and numbers of named conditions (about 274 in all, 4 per case) are as in the public dermatology
    annotations (google-deepmind/uncertain_ground_truth, CC-BY 4.0).

    Parameters
    ----------
    items, categories : int
        Numbers of cases and conditions; ids are numbers from 0, popular conditions first.
    raters : int
        Largest number of readers of a case, up to 10.
    concentration : float
        Total concentration: the larger, the more conditions are plausible for a case.
    random_seed : int or numpy.random.Generator
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: PartialRankings; ``truth``: ``log_worth`` and ``plausibility`` (item, category), and
        ``popularity`` (category).

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.differential_diagnoses(items=20, random_seed=1)
    >>> len(simulated.data.items), len(simulated.data.categories)
    (20, 419)

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    arXiv:2307.02191.
    """
    rng = np.random.default_rng(random_seed)
    popularity = 1.0 / (np.arange(categories) + 7.0) ** 2
    popularity /= popularity.sum()
    log_worth = log_gamma(np.tile(concentration * popularity, (items, 1)), rng)
    readers = 1 + _draw_index(_READERS[:raters], items, rng)
    item = np.repeat(np.arange(items), readers)
    rater = np.arange(len(item)) - np.repeat(np.cumsum(readers) - readers, readers)
    known = {sizes: n for sizes, n in _STRUCTURES.items() if sum(sizes) <= categories}
    sizes = padded_sizes([*known])[_draw_index(np.array([*known.values()]), len(item), rng)]
    data = draw_rankings(log_worth, item, rater, sizes, rng)
    truth = {"log_worth": log_worth, "plausibility": normalised(log_worth), "popularity": popularity}
    return Simulated(data, truth)


def _draw_index(counts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw indices with probability proportional to counts."""
    return rng.choice(len(counts), size=size, p=counts / counts.sum())
