"""Nodes and weights that stand for the normal effect of an item, so that it can be summed out.

    E f(theta) ~ sum_q w_q f(z_q)                theta standard normal in one or more dimensions

In one dimension the nodes are a uniform grid with weights in proportion to the normal density: the trapezoid rule, whose error
falls exponentially with the step where f is analytic near the real line. Let f be the product of n factors, each a logistic or
softmax probability whose log odds change by at most a for a unit of theta. At distance d from the real line such a factor grows
at most by sec(a d / 2), so that the error is at most, relative to the sum, for every d < pi / a,

    2 exp(d^2 / 2) sec(a d / 2)^n / (exp(2 pi d / h) - 1)

The step h is the largest that keeps this bound below 1e-8. In two and three dimensions the nodes are products of Gauss-Hermite
rules; in more, a scrambled Sobol set.

References
----------
Trefethen and Weideman (2014), The exponentially convergent trapezoidal rule, SIAM Review 56(3), theorem 5.1,
doi:10.1137/130932132.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

__all__ = ["Nodes", "normal_nodes", "trapezoid_step"]

REACH = 7.0  # standard deviations: 3e-12 of a normal are beyond
ERROR = 1e-8
STEEPEST = 4.0  # log odds for a standard deviation of the effect, up to which the bound holds
MOST_NODES = 100_000
MOST_DIMS_OF_PRODUCT, NODES_OF_PRODUCT, NODES_OF_SET = 3, {2: 11, 3: 7}, 512


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


def normal_nodes(dims: int, factors: int, nodes: int | None = None) -> Nodes:
    """Return nodes and weights of independent standard normals.

    Parameters
    ----------
    dims : int
        Dimensions of the effect.
    factors : int
        Largest number of factors whose product is averaged: answers to an item.
    nodes : int, optional
        Nodes of each dimension, from three; of the whole set beyond three dimensions. The default follows from `factors` in one
        dimension; it is 11 of each of two, 7 of each of three, and 512 in all beyond.

    Returns
    -------
    Nodes
        Points, and weights that sum to one.

    Raises
    ------
    ValueError
        If `nodes` is not a whole number from three, or makes more than 100,000 nodes in all.
    """
    if nodes is not None and (
        isinstance(nodes, bool) or not isinstance(nodes, int | np.integer) or nodes < 3
    ):
        raise ValueError(f"nodes={nodes!r} must be a whole number from 3, or None")
    every = 1 if dims > MOST_DIMS_OF_PRODUCT else dims
    if nodes is not None and nodes**every > MOST_NODES:
        raise ValueError(
            f"nodes={nodes} makes {nodes**every:,} nodes of the {dims} dimensions of an item's effect, more than "
            f"{MOST_NODES:,}; ask for fewer nodes="
        )
    if dims == 1:
        return _uniform_grid(factors, nodes)
    if dims > MOST_DIMS_OF_PRODUCT:
        return _sobol_set(dims, NODES_OF_SET if nodes is None else int(nodes))
    return _product_of_gauss(dims, NODES_OF_PRODUCT[dims] if nodes is None else int(nodes))


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
    return float((2 * math.pi * d / np.log1p(np.exp(growth - math.log(error)))).max())


def _uniform_grid(factors: int, nodes: int | None) -> Nodes:
    """Return the trapezoid rule; a node is at zero."""
    if nodes is None:
        nodes = 2 * math.ceil(REACH / trapezoid_step(factors)) + 1
    point = np.linspace(-REACH, REACH, nodes)
    weight = np.exp(-0.5 * point**2)
    return Nodes(point[:, None], weight / weight.sum())


def _product_of_gauss(dims: int, nodes: int) -> Nodes:
    """Return every combination of the nodes of Gauss-Hermite rules."""
    point, weight = np.polynomial.hermite_e.hermegauss(nodes)
    points = np.stack(np.meshgrid(*[point] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    weights = np.stack(np.meshgrid(*[weight] * dims, indexing="ij"), axis=-1).prod(axis=-1).ravel()
    return Nodes(points, weights / weights.sum())


def _sobol_set(dims: int, nodes: int) -> Nodes:
    """Return normal quantiles of a scrambled Sobol set, always the same one."""
    bits = math.ceil(math.log2(nodes))
    uniform = qmc.Sobol(dims, scramble=True, rng=np.random.default_rng(0)).random_base2(bits)
    return Nodes(ndtri(uniform[:nodes]), np.full(nodes, 1 / nodes))
