"""Simulator of a toy data set with a known answer: one-dimensional inputs from three overlapping classes."""

from collections.abc import Sequence

import numpy as np

from ..data.rankings import PartialRankings
from .race import log_gamma, normalised, race_order
from .simulated import Simulated

__all__ = ["three_class_toy"]


def three_class_toy(
    *,
    items: int = 300,
    raters: int = 5,
    centers: Sequence[float] = (-1.0, 0.0, 1.0),
    spread: float = 0.5,
    sharpness: float = 20.0,
    expected_length: float = 1.5,
    tie_threshold: float = 0.05,
    random_seed: int | np.random.Generator,
) -> Simulated[PartialRankings]:
    """Simulate one-dimensional inputs from overlapping classes, and partial rankings of the classes.

    Inputs are x ~ Normal(center of a random class, spread). Each rater perceives the posterior p(class | x)
    as Dirichlet(sharpness * posterior), orders the classes by Plackett-Luce over the perceived probabilities,
    names Poisson(expected_length) of them, at least one, and ties neighbours that differ by at most
    `tie_threshold`.

    Parameters
    ----------
    items, raters : int
        Numbers of inputs and raters; every rater sees every input.
    centers : sequence of float
        Centers of the classes, in units of x; three in the paper, two or more here.
    spread : float
        Standard deviation of x within a class.
    sharpness : float
        Concentration of the perceived about the true posterior.
    expected_length : float
        Mean number of classes named, before it is clipped between one and all.
    tie_threshold : float
        Difference of perceived probability up to which neighbours are tied.
    random_seed : int or numpy.random.Generator
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: PartialRankings; ``truth``: ``input`` (item), ``true_category`` (item) and the exact
        posterior ``plausibility`` (item, category).

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.three_class_toy(items=20, random_seed=1)
    >>> simulated.data
    PartialRankings(20 items, 5 raters, 100 annotations, 3 categories)
    >>> simulated.truth["plausibility"].shape
    (20, 3)

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, figure 2.
    """
    rng = np.random.default_rng(random_seed)
    middle = np.asarray(centers, float)
    true_category = rng.integers(len(middle), size=items)
    x = rng.normal(middle[true_category], spread)
    plausibility = normalised(-0.5 * ((x[:, None] - middle) / spread) ** 2)

    item, rater = np.divmod(np.arange(items * raters), raters)
    log_perceived = log_gamma(sharpness * plausibility[item], rng)
    order = race_order(log_perceived, rng)
    perceived = np.take_along_axis(normalised(log_perceived), order, axis=1)
    starts = np.abs(np.diff(perceived, axis=1, prepend=np.inf)) > tie_threshold
    rank = np.cumsum(starts, axis=1)
    length = np.clip(rng.poisson(expected_length, len(item)), 1, len(middle))
    annotation, place = np.nonzero(np.arange(len(middle)) < length[:, None])
    table = {
        "item": item[annotation],
        "rater": rater[annotation],
        "category": order[annotation, place],
        "rank": rank[annotation, place],
    }
    data = PartialRankings.from_table(table, categories=range(len(middle)))
    return Simulated(
        data, {"input": x, "true_category": true_category, "plausibility": plausibility}
    )
