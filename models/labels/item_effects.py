"""Likelihood of models with item effects: the effect is summed out over quadrature nodes.

    T_i      ~ Categorical(p)                          summed out; known for gold items
    theta_i  ~ sum_q w_q delta(z_q)                    summed out: the nodes of a normal
    y_a      ~ Categorical(pi[rater_a, T_i, theta_i])

A pair of category and node is a state; given the states the answers are as in Dawid-Skene, and the same pass
serves both. The likelihood is pointwise by item, and so comparable with Dawid-Skene by leave-one-out.
"""

import math
from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.special import softmax
from pytensor.tensor.variable import TensorVariable
from scipy.special import ndtri

from ..._messages import warn_user
from .._hierarchy import prior_number
from ..data.errors import DataWarning
from ..data.labels import Labels
from ..distributions.marginal_labels import log_prior
from ..distributions.truth import state_probability
from .observed import register_answers

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


def normal_nodes(dims: int, factors: int, nodes: int | None = None, error: float | None = None) -> Nodes:
    """Return quadrature nodes and weights of `dims` independent standard normals.

        E f(theta) ~ sum_q w_q f(z_q)

    One dimension: the trapezoid rule, with error below 1e-8 (`trapezoid_step`). Two and three: products of coarser
    rules. More: a scrambled Sobol set, whose error is not bounded where many answers locate an item.

    ``factors`` is the number of factors of the integrand: the most answers to an item. ``nodes`` (from 3)
    counts each dimension, or the whole set beyond three; by default it follows from `factors` and `error`,
    and is 512 beyond three. ``error`` bounds the relative error along each of two or three dimensions
    (default .1 and .3), for log odds that change by 2 per standard deviation. Raises ValueError for more than
    100,000 nodes in all; warns (DataWarning) if the default 512 meet ten factors or more.
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
    warn_user(
        f"{NODES_OF_SET} nodes of the {dims} dimensions of an item's effect are few for an item of {factors} answers: its log "
        "probability may be off by .4 for 10 answers, and by 4 for 30; compare with nodes=4096, or use "
        "models.hierarchical_dawid_skene, which has no effects of items",
        DataWarning,
    )


def _product_of_grids(dims: int, nodes: int, reach: float) -> Nodes:
    """Return all combinations of the nodes of trapezoid rules."""
    line = np.linspace(-reach, reach, nodes)
    points = np.stack(np.meshgrid(*[line] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    weights = np.exp(-0.5 * (points**2).sum(axis=1))
    return Nodes(points, weights / weights.sum())


def _sobol_set(dims: int, nodes: int) -> Nodes:
    """Return normal quantiles of a scrambled Sobol set with a fixed seed."""
    from scipy.stats import qmc  # takes long to import, and few models need it

    bits = math.ceil(math.log2(nodes))
    uniform = qmc.Sobol(dims, scramble=True, rng=np.random.default_rng(0)).random_base2(bits)
    return Nodes(ndtri(uniform[:nodes]), np.full(nodes, 1 / nodes))


MOST_CELLS = 50_000_000  # numbers in a table, of which memory holds several copies
FEWEST_NODES = 5  # that are of use


def observe_states(
    labels: Labels,
    prevalence: TensorVariable,
    weight: np.ndarray | TensorVariable,
    confusion: TensorVariable,
    rater: np.ndarray | None = None,
    *,
    effect: TensorVariable | None = None,
) -> TensorVariable:
    """Register ``observed_label`` (pointwise by item), ``plausibility``; return p(category, node | answers).

    An answer given n times is n annotations. ``rater`` selects the confusion matrix of each annotation, by
    default that of its rater. With ``effect``, registers ``expected_effect`` (item, contrast), given
    parameters and answers. Warns (DataWarning) if no item has two answers, or one and a gold label.

    Shapes: prevalence (category,), or a prior of each item (item, category); weight (node,); confusion (rater, category, node,
    label); rater (annotation of the container,); effect (category, node, contrast); result (item, category, node).
    """
    n, nodes = len(labels.categories), cast(int, pt.as_tensor_variable(weight).type.shape[0])
    check_size(labels, confusion.type.shape[0] or 1, n * nodes)
    probability = state_prior(prevalence, weight)
    by_state = confusion.reshape((confusion.shape[0], n * nodes, n))
    state, distinct_index = observe_state_labels(labels, probability, by_state, nodes, rater)
    state = state.reshape((-1, n, nodes))
    pm.Deterministic("plausibility", state.sum(axis=2)[distinct_index], dims=("item", "category"))
    if effect is not None:
        expected = cast(Any, pt.tensordot(state, effect, axes=[[1, 2], [0, 1]]))
        pm.Deterministic("expected_effect", expected[distinct_index], dims=("item", "contrast"))
    return state[distinct_index]


def state_prior(prior: TensorVariable, weight: Any) -> TensorVariable:
    """Return the prior of the states (state,), or (item, state) by a prior of each item's true category.

    Shapes: prior (category,) or (item, category); weight (node,), or (category, node) of the nodes of each category.
    """
    weight = pt.as_tensor_variable(weight)
    states = cast(int, prior.type.shape[-1]) * cast(int, weight.type.shape[-1])
    if prior.type.ndim == 1:
        return cast(Any, prior[:, None] * weight).reshape((states,))
    log_p = cast(Any, log_prior(prior))[:, :, None] + pt.log(weight)
    return cast(TensorVariable, softmax(log_p.reshape((-1, states)), axis=1))


def observe_state_labels(
    labels: Labels,
    probability: TensorVariable,
    confusion: TensorVariable,
    nodes: int,
    rater: np.ndarray | None = None,
) -> tuple[Any, np.ndarray]:
    """Register ``observed_label``; return p(state | parameters, answers) of distinct items, and the index of each item.

    Arguments and warning as of `register_answers`. Items with the same answers are one distinct item.

    Shapes: probability (state,) or (item, state); confusion (rater, state, label); rater (annotation of the container,);
    results (distinct item, state) and (item,).
    """
    return state_probability(register_answers(labels, probability, confusion, rater, nodes))


def favoured_contrasts(n_categories: int, diagonal: Any) -> Any:
    """Return prior mean log odds of each label but the last against the last, favouring the right label.

    Shapes: result (category, contrast); `diagonal` where both agree, -`diagonal` in the last row, else 0.
    """
    right = np.eye(n_categories)
    return prior_number("diagonal", diagonal) * (right[:, :-1] - right[:, -1:])


def most_answers(labels: Labels) -> int:
    """Return the largest number of answers to an item."""
    return int(np.bincount(labels.annotation_item, labels.count, len(labels.items)).max())


def check_size(labels: Labels, raters: int, states: int, remedy: str | None = None) -> None:
    """Raise ValueError if a table of label or state probabilities has more than 50 million numbers; `remedy` ends its text."""
    n, items = len(labels.categories), len(labels.items)
    tables = {f"{raters:,} raters x {n:,} labels": raters * n, f"{items:,} items": items}
    for rows, size in tables.items():
        if size * states > MOST_CELLS:
            possible = size * n * FEWEST_NODES <= MOST_CELLS
            fewer = "ask for fewer nodes=" if possible else "use models.hierarchical_dawid_skene"
            raise ValueError(
                f"{rows} x {states:,} states of an item are {size * states:,} probabilities, more than {MOST_CELLS:,}; "
                f"{remedy or fewer}"
            )
