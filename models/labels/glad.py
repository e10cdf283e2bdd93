"""GLAD model of labels: raters have an ability, items an easiness that is summed out."""

import math
from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from .._arguments import PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_pair, refuse_expression
from .._item_features import prior_of_truth
from .._prior_arguments import log_normal_prior, normal_prior
from ..data.labels import Labels
from .item_effects import most_answers, observe_states
from .observed import coords_of, prevalence_or_uniform, require_identified_raters

__all__ = ["glad"]

# Range of the nodes, in standard deviations of the log easiness. Random answers make an item very hard, the
# more so the more answers there are, and the easier or more alike the items are a priori.
LEAST, MOST, FARTHEST = -7.0, 5.0, -20.0
HARDEST = -6.0  # log easiness where everyone answers at random
MOST_NODES = 100_000
LEAST_LOG = -600.0  # floor of log probabilities: doubles end at -708


@recorded
@documented(prior_logits=PRIOR_LOGITS)
def glad(
    labels: Labels,
    *,
    prevalence_concentration: Any | Literal["uniform"] = 1.0,
    ability: tuple[Number, Number] = (1.0, 1.0),
    easiness: tuple[float, float] = (1.0, 1.0),
    nodes: int | None = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build the GLAD model: raters have an ability and items an easiness, summed out with the true category.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        p            ~ Dirichlet(c), or uniform and fixed (the paper's)
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
    E p(y | T)            confusion             rater, category, answer
    p(T | p, alpha, y)    plausibility          item, category
    y (paper: L)          observed_label        annotation
    Normal(1, 1)          ability=, easiness=   arguments
    ====================  ====================  =================================

    The likelihood identifies only the products alpha beta: the prior of the easiness sets their scale, that
    of the ability their sign. An ability of zero means right half of the time; a rater who guesses among more
    than two categories has a negative one, and is wrong more often the easier the item: prefer `mace` there.
    With few answers, or raters hardly better than chance, there is a second mode, where the categories are exchanged and
    the abilities negative. NUTS does not get from one to the other, and R-hat says so; a prior of mostly positive
    abilities, such as ``ability=(2, 0.7)``, rules it out.

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    prevalence_concentration : float, array_like of shape (category,), or "uniform", default 1
        Dirichlet concentration of the prevalence; "uniform": fixed and equal, as in the paper.
    ability : pair of float or random variable, default (1, 1)
        Mean and standard deviation of the normal prior of the abilities.
    easiness : pair of float, default (1, 1)
        Mean and standard deviation of the normal prior of the log easiness, each at most 10 in size.
    nodes : int, optional
        Quadrature nodes of the log easiness, from 5; the default suffices for the item with most answers.
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table; ``confusion`` is the average over items, ``expected_difficulty`` is given the
        abilities and all answers to the item, and varies less than draws of the difficulty would. The log
        likelihood of ``observed_label`` is pointwise by item.

    Raises
    ------
    ValueError
        If the raters are anonymous, or a prior or `nodes` is out of range.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="glad", items=20, random_seed=1).data
    >>> model = models.glad(labels)
    >>> sorted(variable.name for variable in model.free_RVs), model.named_vars_to_dims["expected_difficulty"]
    (['ability', 'prevalence'], ('item',))

    References
    ----------
    Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Whose vote should count more: optimal integration of
    labels from labelers of unknown expertise, NIPS 22, sections 2 and 3.
    """
    coords = coords_of(require_identified_raters(labels, "glad"))
    n = len(labels.categories)
    refuse_expression(
        "easiness", easiness, "the quadrature nodes of the easiness are placed by these numbers"
    )
    typical, spread = log_normal_prior("easiness", easiness)
    mean, sd = prior_pair("ability", ability, (len(labels.raters),), normal_prior)
    point, weight = easiness_nodes(most_answers(labels), nodes, (typical, spread))
    beta = np.exp(typical + spread * point)
    with annotation_model(coords) as model:
        prevalence = prevalence_or_uniform(labels, prevalence_concentration)
        skill = pm.Normal("ability", mean, sd, dims="rater")
        by_node = _confusion(skill, beta, n)
        average = cast(Any, by_node * weight[:, None]).sum(axis=2)
        pm.Deterministic("confusion", average, dims=("rater", "category", "answer"))
        prior = prior_of_truth(labels, prevalence, None, prior_logits)
        state = observe_states(labels, prior, weight, by_node)
        difficulty = cast(Any, state.sum(axis=1) / beta).sum(axis=1)
        pm.Deterministic("expected_difficulty", difficulty, dims="item")
    return model


def easiness_nodes(
    answers: int, nodes: int | None = None, easiness: tuple[float, float] = (1.0, 1.0)
) -> tuple[np.ndarray, np.ndarray]:
    """Return trapezoid nodes and weights of the log easiness, in standard deviations from its mean.

    ``answers`` is the most answers to an item, ``nodes`` (5 to 100,000) replaces the default number,
    ``easiness`` is mean and standard deviation of the log easiness. Gauss-Hermite nodes would be too far
    apart about an item of many answers. With the default step of 1 / (2 + sqrt(answers) / 4), in the log
    easiness where its standard deviation is above one, the log probability of an item is usually off by less
    than 1e-6, and at most by 1e-4 with up to 40 answers, 2e-4 with 200 and 2e-3 with 1,000, even where half
    of the items are answered at random.

    Shapes: both (node,), equally spaced to 5 from -7, or where the log easiness is -6; weights sum to one.
    """
    mean, sd = easiness
    least = max(min(LEAST, (HARDEST - mean) / sd), FARTHEST)
    if nodes is None:
        nodes = math.ceil((MOST - least) * max(1.0, sd) * (2 + math.sqrt(answers) / 4)) + 1
    whole = isinstance(nodes, int | np.integer) and not isinstance(nodes, bool)
    if not whole or not 5 <= nodes <= MOST_NODES:
        raise ValueError(f"nodes={nodes!r} must be a whole number from 5 to {MOST_NODES:,}, or None")
    point = np.linspace(least, MOST, nodes)
    weight = np.exp(-0.5 * point**2)
    return point, weight / weight.sum()


def _confusion(skill: TensorVariable, beta: np.ndarray, n: int) -> TensorVariable:
    """Return p(label | rater, true category, node of easiness), shape (rater, category, node, label)."""
    # p(right) = 1 / (1 + exp(-alpha beta)); each wrong label has (1 - p) / (n - 1)
    log_odds = (skill[:, None] * beta)[:, None, :, None]
    wrong, right = (-cast(Any, pt.softplus(x)) for x in (log_odds, -log_odds))
    log_p = pt.where(np.eye(n, dtype=bool)[:, None, :], right, wrong - math.log(n - 1))
    return cast(TensorVariable, pt.exp(pt.maximum(log_p, LEAST_LOG)))


SPEC = Spec(
    name="glad",
    data="labels",
    summary=(
        "Raters with an ability and items with a difficulty, which is summed out; other labels are alike"
    ),
    methods=("nuts",),
    reference="Whitehill et al. 2009, NIPS 22, sections 2 and 3",
    marks=("expected_difficulty",),
    shared_errors="items",
    studies={"hard and easy items": ""},
    assumes=(
        "Raters have an ability, items an easiness; a rater is right with log odds of their product, and "
        "wrong labels are equally probable."
    ),
    needs="Named raters; several answers to most items.",
    fails=(
        "More than two categories and raters who guess (see mace); few answers, where a second mode "
        "exchanges the categories."
    ),
)
