"""GLAD: each rater has an ability, each item is more or less easy, and the item's easiness and true category are summed out.

Generative law, for item i, rater k and each answer a of rater k to item i:

    p            ~ Dirichlet(c), or the same for every category (the paper's)
    alpha_k      ~ Normal(1, 1)              for every rater k
    log beta_i   ~ Normal(1, 1)              summed out
    T_i          ~ Categorical(p)            summed out; known for gold items
    y_a          = T_i with probability 1 / (1 + exp(-alpha_k beta_i)), else any other category alike

====================  ====================  =================================
symbol                variable              dims
====================  ====================  =================================
p                     prevalence            category
alpha_k               ability               rater
E(1 / beta | ...)     expected_difficulty   item
                      confusion             rater, category, label
p(T | p, alpha, y)    plausibility          item, category
y (paper: L)          observed_label        annotation
Normal(1, 1)          ability=, easiness=   arguments
====================  ====================  =================================

Only the products alpha beta are seen: the prior of the easiness sets their scale, and that of the ability their sign. An ability
of zero is right half of the time, whatever the number of categories; a rater who guesses among more than two has a negative one,
and would be wrong more often the easier the item is: `mace` describes guessing better.

References
----------
Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Whose vote should count more: optimal integration of labels from labelers of
unknown expertise, NIPS 22, sections 2 and 3.
"""

import math
from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..data.labels import Labels
from ..data.prior_numbers import log_normal_prior, normal_prior
from ..data.recipes import recorded
from .fixed_prevalence import prevalence_or_uniform
from .item_effects import most_answers, observe_states
from .observed import coords_of, known_raters

__all__ = ["easiness_nodes", "glad"]

# Standard deviations of the log easiness: answers at random say that an item is very hard, the more the answers and the easier
# or the more alike the items are by the prior.
LEAST, MOST, FARTHEST = -7.0, 5.0, -20.0
HARDEST = -6.0  # log easiness where everyone answers at random
MOST_NODES = 100_000
LEAST_LOG = -600.0  # a smaller probability is not told from it: doubles end at -708


@recorded
def glad(
    labels: Labels,
    *,
    prevalence_concentration: Any | Literal["uniform"] = 1.0,
    ability: tuple[float, float] = (1.0, 1.0),
    easiness: tuple[float, float] = (1.0, 1.0),
    nodes: int | None = None,
) -> pm.Model:
    """Build the model of abilities and difficulties.

    Parameters
    ----------
    labels : Labels
        The annotations, of raters who are told apart.
    prevalence_concentration : float or array_like or "uniform", default 1
        Dirichlet concentration of the prevalence, one number or one for each category; "uniform" fixes it: every category is as
        probable as any other, as in the paper.
    ability : pair of float, default (1, 1)
        Mean and standard deviation of the normal prior of the abilities.
    easiness : pair of float, default (1, 1)
        Mean and standard deviation of the normal law of the log easiness of items, each at most 10 in size.
    nodes : int, optional
        Number of values that stand for the law of the log easiness; by default enough for the item with the most answers, see
        `easiness_nodes`.

    Returns
    -------
    pymc.Model
        Variables ``prevalence``, ``ability``, ``plausibility`` and ``observed_label``, pointwise by item; ``confusion``, the
        average over items; and ``expected_difficulty``, the expectation of 1 / beta of each item given the abilities and all its
        answers: it is no draw of the difficulty, and varies less.

    Raises
    ------
    ValueError
        If the raters are anonymous, or a prior or `nodes` is out of range.
    """
    coords = coords_of(known_raters(labels, "glad"))
    n = len(labels.categories)
    typical, spread = log_normal_prior("easiness", easiness)
    mean, sd = normal_prior("ability", ability)
    point, weight = easiness_nodes(most_answers(labels), nodes, (typical, spread))
    beta = np.exp(typical + spread * point)
    with pm.Model(coords=coords) as model:
        prevalence = prevalence_or_uniform(labels, prevalence_concentration)
        skill = pm.Normal("ability", mean, sd, dims="rater")
        by_node = _confusion(skill, beta, n)
        average = cast(Any, by_node * weight[:, None]).sum(axis=2)
        pm.Deterministic("confusion", average, dims=("rater", "category", "label"))
        state = observe_states(labels, prevalence, weight, by_node)
        difficulty = cast(Any, state.sum(axis=1) / beta).sum(axis=1)
        pm.Deterministic("expected_difficulty", difficulty, dims="item")
    return model


def easiness_nodes(
    answers: int, nodes: int | None = None, easiness: tuple[float, float] = (1.0, 1.0)
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and weights that stand for a standard normal in products of as many probabilities as there are answers.

    The rule is the trapezoid, whose error falls exponentially with its step; the nodes of a Gauss-Hermite rule are too far apart
    about an item of many answers. With the default step of 1 / (2 + sqrt(answers) / 4), in the log easiness where its standard
    deviation is above one, the log probability of an item is usually off by less than 1e-6, and at most by 1e-4 with up to 40
    answers, 2e-4 with 200 and 2e-3 with 1,000, even where half of the items are answered at random.

    Parameters
    ----------
    answers : int
        Largest number of answers to an item.
    nodes : int, optional
        Number of nodes from 5 to 100,000, in place of the default.
    easiness : pair of float, default (1, 1)
        Mean and standard deviation of the log easiness, of which the nodes are standard deviations from the mean.

    Returns
    -------
    point, weight : ndarray, shape (node,)
        Equally spaced, to 5, from -7 or from where the log easiness is -6, and weights that sum to one.

    Raises
    ------
    ValueError
        If `nodes` is not a whole number within these limits.
    """
    mean, sd = easiness
    least = max(min(LEAST, (HARDEST - mean) / sd), FARTHEST)
    if nodes is None:
        nodes = math.ceil((MOST - least) * max(1.0, sd) * (2 + math.sqrt(answers) / 4)) + 1
    whole = isinstance(nodes, int | np.integer) and not isinstance(nodes, bool)
    if not whole or not 5 <= nodes <= MOST_NODES:
        raise ValueError(
            f"nodes={nodes!r} must be a whole number from 5 to {MOST_NODES:,}, or None"
        )
    point = np.linspace(least, MOST, nodes)
    weight = np.exp(-0.5 * point**2)
    return point, weight / weight.sum()


def _confusion(skill: TensorVariable, beta: np.ndarray, n: int) -> TensorVariable:
    """Return p(label | rater, true category, node of easiness), shape (rater, category, node, label)."""
    log_odds = (skill[:, None] * beta)[:, None, :, None]
    wrong, right = (-cast(Any, pt.softplus(x)) for x in (log_odds, -log_odds))
    log_p = pt.where(np.eye(n, dtype=bool)[:, None, :], right, wrong - math.log(n - 1))
    return cast(TensorVariable, pt.exp(pt.maximum(log_p, LEAST_LOG)))
