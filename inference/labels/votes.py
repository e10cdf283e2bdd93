"""Majority vote; argument checks, answer patterns and coordinates of estimates that start near it."""

from typing import Any, Literal, Protocol

import numpy as np
import xarray as xr

from ...models.data.container import require_container
from ...models.data.labels import Labels, expand_answers, require_answers
from ...models.data.prior_arguments import HasCategories, positive_array
from ..runs.run import check_whole
from .kernels.em import AnswerPatterns, answer_patterns, coded_answers


def majority_vote(labels: Labels) -> xr.Dataset:
    """Compute the share of each label among an item's answers, and the most frequent label.

    Parameters
    ----------
    labels : Labels
        Labels. Gold labels are not counted as votes.

    Returns
    -------
    Dataset
        ``plausibility`` (item, category), the share of each label, NaN for an item without answers; ``label``
        (item), the most frequent label, ties by the order of the categories, "" for an item without answers;
        ``tied`` (item), whether another label is as frequent.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> table = {"item": ["x", "x", "x", "y"], "rater": ["a", "b", "c", "a"], "label": ["p", "p", "q", "q"]}
    >>> vote = inference.majority_vote(models.Labels.from_table(table))
    >>> vote["plausibility"].to_numpy().round(2).tolist(), vote["label"].to_numpy().tolist()
    ([[0.67, 0.33], [0.0, 1.0]], ['p', 'q'])
    """
    require_container(labels, Labels)
    counts = labels.counts
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    names = labels.categories.astype(str)
    winner = np.where(total[:, 0] > 0, names[counts.argmax(axis=1)], "")
    tied = ((counts == counts.max(axis=1, keepdims=True)).sum(axis=1) > 1) & (total[:, 0] > 0)
    return xr.Dataset(
        {"plausibility": (("item", "category"), share), "label": ("item", winner), "tied": ("item", tied)},
        {"item": labels.items, "category": labels.categories},
    )


# --- Shared parts of EM estimators ---


def check_search(
    labels: Labels, estimator: str, restarts: int | Literal["auto"], max_iterations: int, tolerance: float
) -> None:
    """Raise unless raters are identified and arguments in range; `estimator` is named in the message."""
    require_container(labels, Labels)
    require_answers(labels)
    if labels.anonymous:
        raise ValueError(
            f"{estimator} describes each rater, but these labels are counts of anonymous raters; read a table with raters"
        )
    check_iterations(restarts, max_iterations, tolerance)


def check_iterations(restarts: int | Literal["auto"], max_iterations: int, tolerance: float) -> None:
    """Raise unless the arguments of a search are in range."""
    if isinstance(restarts, str):
        if restarts != "auto":
            raise ValueError(f"restarts={restarts!r} must be 'auto' or a whole number from 0")
    else:
        check_whole("restarts", restarts, 0)
    check_whole("max_iterations", max_iterations)
    number = isinstance(tolerance, int | float | np.integer | np.floating)
    if not number or isinstance(tolerance, bool) or tolerance != tolerance:
        raise ValueError(f"tolerance={tolerance!r} must be a number; below zero every iteration is made")


def prevalence_concentrations(
    concentration: Any | Literal["uniform"], n_categories: int
) -> np.ndarray | None:
    """Return the Dirichlet concentrations (category,) of the prevalence; None if it is fixed as uniform."""
    if isinstance(concentration, str) and concentration == "uniform":
        return None
    return positive_array("prevalence_concentration", concentration, (n_categories,))


def seeded_generator(random_seed: int | None) -> np.random.Generator:
    """Return the random generator of a seed; raise unless it is a whole number from 0, or None."""
    whole = isinstance(random_seed, int | np.integer) and not isinstance(random_seed, bool)
    if random_seed is not None and (not whole or random_seed < 0):
        raise ValueError(f"random_seed={random_seed!r} must be a whole number from 0, or None")
    return np.random.default_rng(random_seed)


def patterns_of(labels: Labels) -> AnswerPatterns:
    """Return the distinct answer patterns of the items, with their multiplicities."""
    item, rater, label = expand_answers(labels)
    return answer_patterns(coded_answers(item, rater, label, labels.gold, len(labels.categories)))


class LabelIds(HasCategories, Protocol):
    """Ids of labels: those of a `Labels`, or of shards that no process holds together."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items."""
        ...


def estimate_coords(labels: LabelIds, items: bool = True) -> dict[str, Any]:
    """Return the coordinates of an estimate: ids of items, unless it has none, and raters, categories and answers."""
    coords = {"item": labels.items} if items else {}
    return coords | {"rater": labels.raters} | dict.fromkeys(("category", "answer"), labels.categories)
