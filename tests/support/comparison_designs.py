"""Designs of comparisons for tests: graphs without a library, votes at given counts."""

import numpy as np
from raterzoo import models

__all__ = ["regular", "simulated", "table_of"]


def regular(items, degree, rng):
    """A circulant graph with its items renamed at random."""
    name = rng.permutation(items)
    near = np.arange(items)
    lags = range(1, degree // 2 + 1)
    return np.concatenate([np.column_stack([name, name[(near + k) % items]]) for k in lags])


def simulated(items=40, alpha=0.5, link="bradley_terry", seed=1, degree=20, raters=None, **options):
    """Votes on a regular graph, and the truth."""
    rng = np.random.default_rng([seed, items])
    return models.simulators.comparisons(
        items=items, raters=raters or items, alpha=alpha, link=link, graph=regular(items, degree, rng),
        random_seed=rng, **options,
    )  # fmt: skip


def table_of(votes):
    """Comparisons from (rater, left, right, winner, count) rows."""
    columns = ("rater", "left", "right", "winner", "count")
    table = {name: list(column) for name, column in zip(columns, zip(*votes, strict=True), strict=True)}
    return models.Comparisons.from_table(table, count="count")
