"""Small annotation designs; each simulation replaces the annotations themselves."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from raterzoo import models

__all__ = [
    "CATEGORIES",
    "comparisons",
    "features",
    "few_labels",
    "few_scores",
    "graded_comparisons",
    "grouped_labels",
    "labels",
    "many_comparisons",
    "many_labels",
    "many_scores",
    "predictions",
    "rankings",
    "scores",
    "shown_rankings",
    "tag_labels",
    "timed_labels",
]

CATEGORIES = 4  # ranked categories


@cache
def labels(categories: int = 2, items: int = 20) -> models.Labels:
    """Four raters, of whom three answer each item."""
    options = {"raters": 4, "answers": 3, "categories": categories, "random_seed": 1}
    return models.simulators.labels(items=items, **options).data


@cache
def timed_labels(categories: int = 2, items: int = 12) -> models.Labels:
    """Three raters, who answer each item at a time of its own."""
    table = {"item": np.repeat(np.arange(items), 3), "rater": np.tile(np.arange(3), items)}
    table |= {
        "label": np.arange(3 * items) % categories,
        "time": np.random.default_rng(1).permutation(3 * items),
    }
    return models.Labels.from_table(table, time="time")


@cache
def tree_labels(items: int = 20) -> models.Labels:
    """Labels of four categories, of which two are siblings."""
    data = labels(4, items)
    edges = {"node": np.array([0, 1, 2, 3, 10]), "parent": np.array([10, 10, 12, 12, 12])}
    return replace(data, taxonomy=edges)


@cache
def tag_labels(items: int = 20) -> models.Labels:
    """Labels whose four categories are the sets of two tags."""
    return replace(labels(4, items), categories=np.array(["none", "a", "b", "a|b"]))


@cache
def features(items: int = 20) -> xr.DataArray:
    """Two correlated features of items 0, 1, ..."""
    raw = np.random.default_rng(1).normal(size=(items, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    return xr.DataArray(raw, {"item": np.arange(items)}, dims=("item", "feature"))


def predictions(data: Any, seed: int = 1) -> xr.DataArray:
    """Probabilities of the categories of all items but the last, which has no prediction."""
    items, categories = data.items[: max(1, len(data.items) - 1)], data.categories
    p = np.random.default_rng(seed).dirichlet(np.full(len(categories), 0.6), len(items))
    return xr.DataArray(p, {"item": items, "category": categories}, ("item", "category"))


def few_labels(items: int) -> models.Labels:
    """One label of three categories for each item, by anonymous raters."""
    names = {
        "item": np.arange(items),
        "x": np.ones(items, int),
        "y": np.zeros(items, int),
        "z": np.zeros(items, int),
    }
    return models.Labels.from_counts(names)


@cache
def grouped_labels(categories: int = 2, items: int = 20) -> models.Labels:
    """Two people and two judges of each of two families, of whom four answer each item."""
    options = {"model": "shared_guess", "raters": 6, "answers": 4, "categories": categories, "random_seed": 1}
    return models.simulators.labels(items=items, **options).data


@cache
def many_labels(items: int) -> models.Labels:
    """From one to five labels of three categories for every item, by anonymous raters."""
    total = 1 + np.arange(items) % 5
    counts = {"item": np.arange(items), "x": total, "y": 0 * total, "z": 0 * total}
    return models.Labels.from_counts(counts)


@cache
def rankings(items: int = 2) -> models.PartialRankings:
    """Three raters, who rank one or two blocks of four categories."""
    options = {"categories": CATEGORIES, "raters": 3, "block_sizes": (1, 2), "concentration": 0.5}
    data = models.simulators.rankings(items=items, random_seed=1, **options).data
    return models.PartialRankings.from_table(data.to_table(), categories=data.categories)


@cache
def shown_rankings(items: int = 2, seed: int = 1) -> models.PartialRankings:
    """Four raters, each shown three of four categories at random, who rank one or two of them."""
    options = {
        "categories": CATEGORIES,
        "raters": 4,
        "block_sizes": [(1,), (1, 1)],
        "concentration": 0.5,
        "shown": 3,
    }
    return models.simulators.rankings(items=items, random_seed=seed, **options).data


@cache
def comparisons() -> models.Comparisons:
    """Votes of three raters on four items, some pairs in both orders, some more than once."""
    rows = [
        (r, i, j, "left")
        for r in range(3)
        for i, j in ((0, 1), (1, 0), (1, 2), (2, 3), (3, 0), (0, 2))
        for _ in range(1 + (r + i) % 2)
    ]
    names = ("rater", "left", "right", "winner")
    return models.Comparisons.from_table(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )


@cache
def graded_comparisons() -> models.Comparisons:
    """Six votes of each of three raters on every pair of four items, on a scale of four levels."""
    rows = [
        (r, i, j, sign)
        for r in range(3)
        for i in range(4)
        for j in range(i)
        for sign in ("A>B", "A>>B")
        for _ in range(3)
    ]
    names = ("rater", "left", "right", "winner")
    return models.Comparisons.from_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@cache
def many_comparisons() -> models.Comparisons:
    """Ten votes of each of three raters on every pair of four items."""
    rows = [(r, i, j, "left") for r in range(3) for i in range(4) for j in range(i) for _ in range(10)]
    names = ("rater", "left", "right", "winner")
    return models.Comparisons.from_table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@cache
def scores() -> models.Scores:
    """Seven items, each scored by three of five raters of two kinds."""
    rng = np.random.default_rng(1)
    return _scores_of(np.concatenate([rng.choice(5, 3, replace=False) for _ in range(7)]))


@cache
def few_scores() -> models.Scores:
    """Four items, each scored by three of twelve raters of two kinds, who score once."""
    return _scores_of(np.arange(12))


def _scores_of(rater: np.ndarray) -> models.Scores:
    """Three scores of every item by raters of two kinds."""
    item, kind = np.repeat(np.arange(len(rater) // 3), 3), np.array(["x", "y"])[rater % 2]
    table = {"item": item, "rater": rater, "score": np.zeros(len(rater)), "kind": kind}
    return models.Scores.from_table(table, rater_attributes=["kind"])


@cache
def many_scores(items: int) -> models.Scores:
    """From one to four scores of every item."""
    each = 1 + np.arange(items) % 4
    item = np.repeat(np.arange(items), each)
    rater = np.concatenate([np.arange(n) for n in each])
    return models.Scores.from_table({"item": item, "rater": rater, "score": np.zeros(len(item))})
