"""Quadrature nodes and weights of a standard normal item effect, to sum the effect out.

    E f(theta) ~ sum_q w_q f(z_q)                theta standard normal in one or more dimensions

One dimension: the trapezoid rule, with error below 1e-8 (`trapezoid_step`). Two and three: products of
coarser trapezoid rules. More: a scrambled Sobol set, whose error is not bounded where many answers locate an
item.
"""

import math
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from ..data.errors import BUILDERS, DataWarning

__all__ = ["Nodes", "normal_nodes", "trapezoid_step"]

REACH = 7.0  # standard deviations: 3e-12 of a normal are beyond
ERROR = 1e-8
STEEPEST = 4.0  # largest slope for which the bound holds, in log odds per standard deviation
MOST_NODES = 100_000
MOST_DIMS_OF_PRODUCT, NODES_OF_SET = 3, 512
STEEPEST_OF_PRODUCT, ERROR_OF_PRODUCT = 2.0, {2: 0.1, 3: 0.3}
MANY_ANSWERS = 10  # with a Sobol set the error of an item's log probability may reach .4


class Nodes(NamedTuple):
    """Quadrature nodes of a standard normal."""

    point: np.ndarray  # (node, dim): effect in standard deviations
    weight: np.ndarray  # (node,): sums to one


def normal_nodes(
    dims: int, factors: int, nodes: int | None = None, error: float | None = None
) -> Nodes:
    """Return quadrature nodes and weights of `dims` independent standard normals.

    ``factors`` is the number of factors of the integrand: the most answers to an item. ``nodes`` (from 3)
    counts each dimension, or the whole set beyond three dimensions; by default it follows from `factors` and
    `error`, and is 512 beyond three. ``error`` bounds the relative error along each of two or three
    dimensions (default .1 and .3), for log odds that change by 2 per standard deviation. Raises ValueError
    for more than 100,000 nodes in all; warns (DataWarning) if the default set beyond three dimensions meets
    ten factors or more.
    """
    if nodes is not None and (
        isinstance(nodes, bool) or not isinstance(nodes, int | np.integer) or nodes < 3
    ):
        raise ValueError(f"nodes={nodes!r} must be a whole number from 3, or None")
    if dims > MOST_DIMS_OF_PRODUCT:
        if nodes is None and factors >= MANY_ANSWERS:
            _warn_of_few_nodes(dims, factors)
        every, reach = NODES_OF_SET, 0.0
    elif dims == 1:
        every, reach = _nodes_within(REACH, trapezoid_step(factors)), REACH
    else:
        every, reach = _grid_of_product(factors, nodes, error or ERROR_OF_PRODUCT[dims])
    every = every if nodes is None else int(nodes)
    total = every**dims if dims <= MOST_DIMS_OF_PRODUCT else every
    if total > MOST_NODES:
        default = f", the default for {factors} answers to an item," if nodes is None else ""
        raise ValueError(
            f"nodes={every}{default} makes {total:,} nodes of the {dims} dimensions of an item's effect, more than "
            f"{MOST_NODES:,}; ask for fewer nodes="
        )
    return _sobol_set(dims, every) if reach == 0 else _product_of_grids(dims, every, reach)


def trapezoid_step(factors: int, steepness: float = STEEPEST, error: float = ERROR) -> float:
    """Return the largest trapezoid step h, in standard deviations, with a relative error bound of `error`.

    The integrand is a product of n `factors`, logistic or softmax probabilities whose log odds change by at
    most a = `steepness` per standard deviation. At distance d from the real line such a factor grows at most
    by sec(a d / 2), so that the relative error is at most, for every d < pi / a,

        2 exp(d^2 / 2) sec(a d / 2)^n / (exp(2 pi d / h) - 1)

    Reference: Trefethen and Weideman (2014), The exponentially convergent trapezoidal rule, SIAM Review
    56(3), theorem 5.1, doi:10.1137/130932132.
    """
    d = np.linspace(0, math.pi / steepness, 400)[1:-1]
    # log of 2 exp(d^2 / 2) sec(a d / 2)^n, and its bound solved for h at each d
    growth = math.log(2) + d**2 / 2 - factors * np.log(np.cos(steepness * d / 2))
    return float((2 * math.pi * d / np.logaddexp(0, growth - math.log(error))).max())


def _nodes_within(reach: float, step: float) -> int:
    """Return the number of nodes `step` apart within `reach` of zero, zero included."""
    return 2 * math.ceil(reach / step) + 1


def _grid_of_product(factors: int, nodes: int | None, error: float) -> tuple[int, float]:
    """Return number of nodes and reach of each dimension; given `nodes`, with the smallest error they allow.

    Answers shift an item by up to the steepness; the normal mass beyond it is as large as the error.
    """
    errors = [error] if nodes is None else np.geomspace(ERROR, 0.9, 100).tolist()
    grids = []
    for bound in errors:
        reach = STEEPEST_OF_PRODUCT + math.sqrt(-2 * math.log(bound))
        step = trapezoid_step(factors, STEEPEST_OF_PRODUCT, bound)
        grids.append((_nodes_within(reach, step), reach))
    return next((grid for grid in grids if nodes is None or grid[0] <= nodes), grids[-1])


def _warn_of_few_nodes(dims: int, factors: int) -> None:
    """Warn that the default set has too few nodes for this many answers."""
    warnings.warn(
        f"{NODES_OF_SET} nodes of the {dims} dimensions of an item's effect are few for an item of {factors} answers: its log "
        "probability may be off by .4 for 10 answers, and by 4 for 30; compare with nodes=4096, or use "
        "models.hierarchical_dawid_skene, which has no effects of items",
        DataWarning,
        skip_file_prefixes=BUILDERS,
    )


def _product_of_grids(dims: int, nodes: int, reach: float) -> Nodes:
    """Return all combinations of the nodes of trapezoid rules."""
    line = np.linspace(-reach, reach, nodes)
    points = np.stack(np.meshgrid(*[line] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    weights = np.exp(-0.5 * (points**2).sum(axis=1))
    return Nodes(points, weights / weights.sum())


def _sobol_set(dims: int, nodes: int) -> Nodes:
    """Return normal quantiles of a scrambled Sobol set with a fixed seed."""
    bits = math.ceil(math.log2(nodes))
    uniform = qmc.Sobol(dims, scramble=True, rng=np.random.default_rng(0)).random_base2(bits)
    return Nodes(ndtri(uniform[:nodes]), np.full(nodes, 1 / nodes))
