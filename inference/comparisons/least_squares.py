"""Least squares on the graph of compared pairs, all raters alike."""

import numpy as np
import xarray as xr

from ...models.data.comparisons import Comparisons
from ...posterior.links import LOGISTIC
from .other_links import AnyLink, require_any_link
from .pair_graph import PairGraph, connected_table
from .quite import averaged_distances, require_ranges


def least_squares(
    pairs: Comparisons,
    *,
    link: AnyLink = LOGISTIC,
    reliability_range: tuple[float, float] = (1.0, 20.0),
    quality_range: float = 1.0,
    weighted: bool = True,
) -> xr.Dataset:
    """Estimate qualities from the share of the votes of each pair, by least squares, all raters alike.

        d_e = G^-1(share of the votes of pair e for its first item),   G(d) = E[F(rho d)],   rho ~ Uniform(range)
        q   = argmin  sum_e w_e (d_e - q_first + q_second)^2

    with w_e = 1, or the inverse variance of d_e. It is the first iteration of `quite`, and, with equal workers and w_e = 1, the
    estimator that needs a multiple of N / epsilon^2 log(N / delta) votes to rank by epsilon with probability 1 - delta.

    Parameters
    ----------
    pairs, link
        Votes and F, as for `quite`; a tie counts as half a vote for each item.
    reliability_range : tuple of float, default (1, 20)
        Bounds of the reliabilities; the same number twice if it is known.
    quality_range : float, default 1
        Length of the interval of the qualities, which is the largest distance.
    weighted : bool, default True
        Whether pairs are weighted by the inverse variances of their distances.

    Returns
    -------
    Dataset
        ``quality`` (item), centred; ``distance`` and ``distance_variance`` (pair), with the items ``first`` and ``second``.
        Attribute ``weighted`` (0 or 1).

    Raises
    ------
    DataError
        If the graph of comparisons is not connected.
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from raterzoo import models, papers
    >>> drawn = models.simulators.comparisons(items=20, raters=20, degree=10, random_seed=1)
    >>> estimate = papers.least_squares(drawn.data, weighted=False)
    >>> dict(estimate.sizes), estimate.attrs
    ({'item': 20, 'pair': 100}, {'weighted': 0})

    References
    ----------
    Christoforou, Nordio, Tarable and Leonardi (2020), Ranking a set of objects: a graph based least-square approach,
    arXiv:2002.11590 (equal workers). Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, proposition 1 and eq. 24-28.
    """
    require_ranges(reliability_range, quality_range, known=True)
    law = require_any_link(link, max(1.0, reliability_range[1] * quality_range))
    table = connected_table(pairs, "least_squares")
    distance, precision = averaged_distances(table, law, reliability_range, quality_range)
    graph = PairGraph(table.first, table.second, table.n_items)
    quality = graph.fit(distance, precision if weighted else np.ones_like(precision))
    ends = {name: ("pair", pairs.items[getattr(table, name)]) for name in ("first", "second")}
    found = {"distance": ("pair", distance), "distance_variance": ("pair", 1 / precision)}
    return xr.Dataset(
        {"quality": ("item", quality), **found}, {"item": pairs.items, **ends}, {"weighted": int(weighted)}
    )
