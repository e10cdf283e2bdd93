"""Nodes and weights that stand for the normal effect of an item, so that it can be summed out.

    E f(theta) ~ sum_q w_q f(z_q)                theta standard normal in one or more dimensions

In one dimension the nodes are a uniform grid with weights in proportion to the normal density: the trapezoid rule, whose error
falls exponentially with the step where f is analytic near the real line. Let f be the product of n factors, each a logistic or
softmax probability whose log odds change by at most a for a unit of theta. At distance d from the real line such a factor grows
at most by sec(a d / 2), so that the error is at most, relative to the sum, for every d < pi / a,

    2 exp(d^2 / 2) sec(a d / 2)^n / (exp(2 pi d / h) - 1)

The step h is the largest that keeps this bound below 1e-8. In two and three dimensions the nodes are products of such grids,
coarser ones, as the bound holds along each dimension; in more, a scrambled Sobol set, whose error no bound keeps small where many
answers say closely where an item lies.

References
----------
Trefethen and Weideman (2014), The exponentially convergent trapezoidal rule, SIAM Review 56(3), theorem 5.1,
doi:10.1137/130932132.
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
STEEPEST = 4.0  # log odds for a standard deviation of the effect, up to which the bound holds
MOST_NODES = 100_000
MOST_DIMS_OF_PRODUCT, NODES_OF_SET = 3, 512
STEEPEST_OF_PRODUCT, ERROR_OF_PRODUCT = 2.0, {2: 0.1, 3: 0.3}
MANY_ANSWERS = 10  # for a set: an item's log probability may be off by .4


class Nodes(NamedTuple):
    """Nodes of a standard normal.

    Attributes
    ----------
    point : ndarray, shape (node, dim)
        Values of the effect, in standard deviations.
    weight : ndarray, shape (node,)
        Probabilities; they sum to one.
    """

    point: np.ndarray
    weight: np.ndarray


def normal_nodes(
    dims: int, factors: int, nodes: int | None = None, error: float | None = None
) -> Nodes:
    """Return nodes and weights of independent standard normals.

    Parameters
    ----------
    dims : int
        Dimensions of the effect.
    factors : int
        Largest number of factors whose product is averaged: answers to an item.
    nodes : int, optional
        Nodes of each dimension, from three; of the whole set beyond three dimensions. The default follows from `factors` and
        `error` in up to three dimensions, and is 512 in all beyond.
    error : float, optional
        Bound on the relative error along each of two or three dimensions, for log odds that change by 2 for a standard
        deviation; by default .1 in two and .3 in three.

    Returns
    -------
    Nodes
        Points, and weights that sum to one.

    Raises
    ------
    ValueError
        If `nodes` is not a whole number from three, or there are more than 100,000 nodes in all.

    Warns
    -----
    DataWarning
        If the default is too few for as many factors: from ten, beyond three dimensions.
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
    """Return the largest step whose bound on the relative error is small enough.

    Parameters
    ----------
    factors : int
        Number n of factors.
    steepness : float, default 4
        Largest change a of log odds for a standard deviation of the effect.
    error : float, default 1e-8
        Bound to keep.

    Returns
    -------
    float
        Step h, in standard deviations.
    """
    d = np.linspace(0, math.pi / steepness, 400)[1:-1]
    growth = math.log(2) + d**2 / 2 - factors * np.log(np.cos(steepness * d / 2))
    return float((2 * math.pi * d / np.logaddexp(0, growth - math.log(error))).max())


def _nodes_within(reach: float, step: float) -> int:
    """Return how many nodes so far apart at most reach so far; one is at zero."""
    return 2 * math.ceil(reach / step) + 1


def _grid_of_product(factors: int, nodes: int | None, error: float) -> tuple[int, float]:
    """Return nodes and reach of each dimension; those asked for are spent on the smallest error that they allow.

    Answers move an item by up to the steepness, beyond which the normal leaves as much as the error.
    """
    errors = [error] if nodes is None else np.geomspace(ERROR, 0.9, 100).tolist()
    grids = []
    for bound in errors:
        reach = STEEPEST_OF_PRODUCT + math.sqrt(-2 * math.log(bound))
        step = trapezoid_step(factors, STEEPEST_OF_PRODUCT, bound)
        grids.append((_nodes_within(reach, step), reach))
    return next((grid for grid in grids if nodes is None or grid[0] <= nodes), grids[-1])


def _warn_of_few_nodes(dims: int, factors: int) -> None:
    warnings.warn(
        f"{NODES_OF_SET} nodes of the {dims} dimensions of an item's effect are few for an item of {factors} answers: its log "
        "probability may be off by .4 for 10 answers, and by 4 for 30; compare with nodes=4096, or use "
        "models.hierarchical_dawid_skene, which has no effects of items",
        DataWarning,
        skip_file_prefixes=BUILDERS,
    )


def _product_of_grids(dims: int, nodes: int, reach: float) -> Nodes:
    """Return every combination of the nodes of trapezoid rules."""
    line = np.linspace(-reach, reach, nodes)
    points = np.stack(np.meshgrid(*[line] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    weights = np.exp(-0.5 * (points**2).sum(axis=1))
    return Nodes(points, weights / weights.sum())


def _sobol_set(dims: int, nodes: int) -> Nodes:
    """Return normal quantiles of a scrambled Sobol set, always the same one."""
    bits = math.ceil(math.log2(nodes))
    uniform = qmc.Sobol(dims, scramble=True, rng=np.random.default_rng(0)).random_base2(bits)
    return Nodes(ndtri(uniform[:nodes]), np.full(nodes, 1 / nodes))
