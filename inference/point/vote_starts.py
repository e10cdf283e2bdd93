"""What the estimators of raters that start near the vote share: arguments, starts, coordinates, warnings."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from ...models.data.container import expect
from ...models.data.labels import Labels
from ...models.data.single_answers import check_answers, one_by_one
from ..kernels.answer_patterns import AnswerPatterns, answer_patterns, coded_answers
from ..kernels.vote import jittered_vote, vote_share
from .dawid_skene_em import EstimateWarning

__all__ = [
    "check_search",
    "estimate_coords",
    "patterns_of",
    "positive_numbers",
    "vote_starts",
    "warn_of_estimate",
]

SAME_OBJECTIVE = 1e-6  # relative; starts that end closer than this to the best have found it


def check_search(
    labels: Labels, estimator: str, restarts: int, max_iterations: int, tolerance: float
) -> None:
    """Raise unless the raters are told apart and the search has a length.

    Parameters
    ----------
    labels : Labels
        The annotations.
    estimator : str
        Name, for the message.
    restarts, max_iterations, tolerance
        As the estimator takes them.

    Raises
    ------
    ValueError
        If the raters are anonymous, or a number is out of range.
    """
    expect(labels, Labels)
    check_answers(labels)
    if labels.anonymous:
        raise ValueError(
            f"{estimator} describes each rater, but these labels are counts of anonymous raters; read a table with raters"
        )
    for name, value, least in (("restarts", restarts, 0), ("max_iterations", max_iterations, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number from {least}")
    number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not number or tolerance != tolerance:
        raise ValueError(
            f"tolerance={tolerance!r} must be a number; below zero every iteration is made"
        )


def positive_numbers(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return positive finite numbers of a shape.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : float or array_like
        Broadcast to the shape.
    shape : tuple of int
        The shape.

    Returns
    -------
    ndarray of float
        A fresh array.

    Raises
    ------
    ValueError
        If it does not broadcast, or a number is not positive and finite.
    """
    try:
        array = np.array(np.broadcast_to(np.asarray(value, np.float64), shape))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}={value!r} must be a number, or numbers of shape {shape} or its last dims"
        ) from None
    wrong = ~((array > 0) & (array < np.inf))
    if wrong.any():
        raise ValueError(f"{name} holds {array[wrong][0]:g}; it must be positive and finite")
    return array


def patterns_of(labels: Labels) -> AnswerPatterns:
    """Return the answers, items with equal ones together."""
    item, rater, label = one_by_one(labels)
    return answer_patterns(coded_answers(item, rater, label, labels.gold, len(labels.categories)))


def vote_starts(
    patterns: AnswerPatterns, n_categories: int, restarts: int, random_seed: int | None
) -> Iterator[np.ndarray]:
    """Yield p(true category) of every pattern to start from: the vote, then draws near it.

    Parameters
    ----------
    patterns : AnswerPatterns
        The answers.
    n_categories : int
        Number of categories.
    restarts : int
        How many draws.
    random_seed : int or None
        Seed of the draws.

    Yields
    ------
    ndarray, shape (pattern, category)
        Sums to one.
    """
    yield vote_share(patterns.answers, n_categories)
    rng = np.random.default_rng(random_seed)
    for _ in range(restarts):
        yield jittered_vote(patterns.answers, n_categories, rng)


def estimate_coords(labels: Labels) -> dict[str, Any]:
    """Return the coordinates of an estimate: ids of items and raters, names of categories and labels."""
    whole = np.issubdtype(labels.categories.dtype, np.integer)
    kind, names = {"kind": "integer" if whole else "text"}, labels.categories.astype(str)
    named = {dim: xr.DataArray(names, dims=dim, attrs=kind) for dim in ("category", "label")}
    return {"item": labels.items, "rater": labels.raters} | named


def warn_of_estimate(labels: Labels, objectives: np.ndarray, stopped: int) -> None:
    """Say what makes an estimate less certain than it looks.

    Parameters
    ----------
    labels : Labels
        The annotations.
    objectives : ndarray, shape (start,)
        Where each start ended.
    stopped : int
        How many have not converged.

    Warns
    -----
    EstimateWarning
        If no item has two answers, starts ended lower than others, or have not converged.
    """
    said = []
    if not labels.identified:
        said.append(
            "no item has two answers: the raters are not identified, the estimate repeats the vote and the prior"
        )
    best = objectives.max()
    if lower := int((objectives < best - SAME_OBJECTIVE * (1 + abs(best))).sum()):
        said.append(
            f"{lower} of {len(objectives)} starts ended at a lower optimum; see start_objective"
        )
    if stopped:
        said.append(
            f"{stopped} of {len(objectives)} starts have not converged; raise max_iterations"
        )
    if said:
        warnings.warn("; ".join(said), EstimateWarning, stacklevel=3)
