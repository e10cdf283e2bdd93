"""Item-response model of labels: abilities of models on items of unknown difficulty, whose key is uncertain."""

import math
from collections.abc import Collection
from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.special import softmax
from pytensor.tensor.variable import TensorVariable

from ..._messages import short_repr
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array, prior_pair
from .._prior_arguments import normal_prior, positive_pair
from ..data.errors import refused_argument
from ..data.keys import with_key
from ..data.labels import Labels
from ..data.reading.columns import nearest
from .item_effects import most_answers, observe_states
from .observed import coords_of, prevalence_or_uniform, require_identified_raters

__all__ = ["item_response"]

FARTHEST, COARSEST = 8.0, 0.5  # range and largest step of the difficulties, in log odds
STEP, FINEST = 2.4, 0.02  # step times the root of the answers to an item, and its least
SD_OF_LOG, NODES_OF_LOG, FARTHEST_LOG = 0.4, 9, 2.5  # discrimination: log sd, nodes, range in sd
LEAST_LOG = -600.0  # floor of log probabilities: doubles end at -708


@recorded
def item_response(
    labels: Labels,
    *,
    key: Any = None,
    key_makers: Collection[Any] = (),
    discrimination: bool = False,
    ability: tuple[Number, Number] = (0.0, 2.0),
    difficulty_scale: Number = 2.0,
    key_reliability: tuple[Number, Number] = (19.0, 1.0),
    prevalence_concentration: Any | Literal["uniform"] = "uniform",
) -> pm.Model:
    """Build the item-response model: abilities of models on items of unknown difficulty, whose key may be wrong.

    A leaderboard of correctness: models answer items with a published key, or one that human raters make. A key counts as an
    answer that is right with a probability, not as the truth.

    Generative law, for item i with K categories, model m and key-maker k:

        theta_m  ~ Normal(0, 2)
        s        ~ HalfNormal(2)
        d_i      ~ Normal(0, s)                  summed out over nodes
        a_i      = 1, or log a_i ~ Normal(0, .4) summed out over nodes
        T_i      ~ Categorical(p)                summed out; known for gold items
        y_im     = T_i with probability 1 / (1 + exp(-a_i (theta_m - d_i))), else any other category alike
        kappa_k  ~ Beta(19, 1)
        y_ik     = T_i with probability kappa_k, else any other category alike

    ====================  =======================  =================================
    symbol                variable                 dims
    ====================  =======================  =================================
    theta                 ability                  model
    s                     difficulty_spread        none
    E(d | ...)            expected_difficulty      item
    E(a | ...)            expected_discrimination  item
    kappa                 key_reliability          key_maker
    p                     prevalence               category
    E p(y | T)            confusion                rater, category, answer
    p(T | ..., y)         plausibility             item, category
    y                     observed_label           annotation
    ====================  =======================  =================================

    The scale is log odds: a model of ability 0 is right on an item of average difficulty half of the time. Models that
    share a popular wrong answer look like a wrong key, as wrong answers are equally probable here.

    Parameters
    ----------
    labels : Labels
        Answers of identified models, and perhaps of raters who make the key.
    key : mapping, Series or category, optional
        Published answer of each item: {item: category}, or one category for all items. Items without one have no key. It
        becomes the answers of one more rater, "key" (with integer ids: the next one). A matrix of right and wrong is labels of
        two categories with ``key="right"``: where the key is wrong, right and wrong change places. With more than two
        options that says too much, as a model that misses a wrong key need not be right.
    key_makers : collection of str or int
        Raters whose answers are a key, right with a probability of their own; all others are models.
    discrimination : bool, default False
        Whether items differ in how sharply they separate models, a_i.
    ability : pair of float or random variable, default (0, 2)
        Mean and standard deviation of the normal prior of the abilities.
    difficulty_scale : float or random variable, default 2
        Scale of the half-normal prior of the spread of the difficulties, in log odds.
    key_reliability : pair of float or random variable, default (19, 1)
        Beta prior of the probability that a key-maker's answer is right, as counts of right and wrong answers.
    prevalence_concentration : float, array_like of shape (category,), or "uniform", default "uniform"
        Dirichlet concentration of the prevalence; "uniform": fixed and equal, as of the options of a question.

    Returns
    -------
    pymc.Model
        Variables of the table; ``confusion`` is the average over items, and ``expected_difficulty`` is given parameters and
        answers: it varies less than draws of the difficulty would. The log likelihood of ``observed_label`` is pointwise by item.
        The difficulties lie on a grid of at most .5 between -8 and 8, the finer the more answers an item has.

    Raises
    ------
    ValueError
        If the raters are anonymous, there are fewer than two models, a key-maker is no rater, an item or
        category of the key is none of the labels, or a prior is out of range.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior repeats the prior.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.labels(model="item_response", items=20, raters=5, answers=5, random_seed=1)
    >>> model = models.item_response(simulated.data, key=dict(enumerate(simulated.truth["key"])))
    >>> sorted(variable.name for variable in model.free_RVs), model.named_vars_to_dims["ability"]
    (['ability', 'difficulty_spread', 'key_reliability'], ('model',))

    References
    ----------
    Rasch (1960), Probabilistic models for some intelligence and attainment tests. Birnbaum (1968), in Lord and Novick,
    Statistical theories of mental test scores, chapter 17 (discrimination). Batchelder and Romney (1988), Test theory without an
    answer key, Psychometrika 53, doi:10.1007/BF02294195 (the key is learnt). Rodriguez et al. (2021), Evaluation examples
    are not equally informative, ACL, doi:10.18653/v1/2021.acl-long.346 (leaderboards).
    """
    require_identified_raters(labels, "item_response")
    n = len(labels.categories)
    if key is not None:
        labels = with_key(labels, key)
        key_makers = (*key_makers, labels.raters[-1].item())
    makes_key = _key_makers(labels, key_makers)
    if (~makes_key).sum() < 2:
        found = ", ".join(short_repr(name) for name in labels.raters[~makes_key].tolist()) or "none"
        raise ValueError(
            f"item_response compares models: it needs two, besides key-makers, and found {found}"
        )
    shape = (int((~makes_key).sum()),), (int(makes_key.sum()),)
    mean, sd = prior_pair("ability", ability, shape[0], normal_prior)
    scale = prior_array("difficulty_scale", difficulty_scale, ())
    right, wrong = prior_pair("key_reliability", key_reliability, shape[1], positive_pair)
    difficulty, sharpness, log_weight = item_nodes(most_answers(labels), discrimination=discrimination)
    coords = coords_of(labels) | {"model": labels.raters[~makes_key], "key_maker": labels.raters[makes_key]}
    with annotation_model(coords) as model:
        prevalence = prevalence_or_uniform(labels, prevalence_concentration)
        theta = pm.Normal("ability", mean, sd, dims="model")
        spread = pm.HalfNormal("difficulty_spread", scale)
        pm.Data("node_difficulty", difficulty)
        pm.Data("node_discrimination", sharpness)
        pm.Data("node_log_weight", log_weight)
        weight = node_weight(difficulty, log_weight, spread)
        rows = [node_confusion(sharpness * (theta[:, None] - difficulty), n)]
        if makes_key.any():
            kappa = pm.Beta("key_reliability", right, wrong, dims="key_maker")
            odds = cast(Any, cast(Any, pt.log(kappa)) - cast(Any, pt.log1p(-kappa)))
            rows.append(node_confusion(odds[:, None] + np.zeros(len(difficulty)), n))
        by_node = cast(Any, pt.concatenate(rows))[np.argsort(np.argsort(makes_key, kind="stable"))]
        average = (by_node * weight[:, None]).sum(axis=2)
        pm.Deterministic("confusion", average, dims=("rater", "category", "answer"))
        node = observe_states(labels, prevalence, weight, by_node).sum(axis=1)
        pm.Deterministic("expected_difficulty", pt.dot(node, difficulty), dims="item")
        if discrimination:
            pm.Deterministic("expected_discrimination", pt.dot(node, sharpness), dims="item")
    return model


def _key_makers(labels: Labels, names: Collection[Any]) -> np.ndarray:
    """Return which raters make the key, bool (rater,); raise at a name that is no rater."""
    if isinstance(names, str):
        problem = f"{short_repr(names)} is text, not a collection"
        raise refused_argument("key_makers", problem, value=names, remedy=f"pass ({short_repr(names)},)")
    for name in names:
        if name not in labels.raters.tolist():
            problem = f"{short_repr(name)} is no rater"
            allowed, remedy = nearest(name, labels.raters), "correct the name"
            raise refused_argument("key_makers", problem, value=name, allowed=allowed, remedy=remedy)
    return np.isin(labels.raters, np.array([*names], labels.raters.dtype))


def item_nodes(answers: int, *, discrimination: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return difficulty, discrimination and log prior weight, less the difficulties' own, of the nodes of an item, (node,) each.

    All combinations of both, discriminations adjacent. n answers locate a difficulty to 2 / sqrt(n) at best; the trapezoid rule
    with 1.2 times that as its step is then off by 2e-6.
    """
    step = min(COARSEST, max(STEP / math.sqrt(max(answers, 1)), FINEST)) / (1.5 if discrimination else 1.0)
    half = math.ceil(FARTHEST / step)
    grid = np.linspace(-FARTHEST, FARTHEST, 2 * half + 1)
    z = np.linspace(-FARTHEST_LOG, FARTHEST_LOG, NODES_OF_LOG) if discrimination else np.zeros(1)
    difficulty, log_sd = (own.ravel() for own in np.meshgrid(grid, z, indexing="ij"))
    return difficulty, np.exp(SD_OF_LOG * log_sd), -0.5 * log_sd**2


def node_weight(difficulty: np.ndarray, log_weight: np.ndarray, spread: Any) -> Any:
    """Return the prior probability of each node of an item (node,): difficulties ~ Normal(0, spread) on their grid."""
    away = -0.5 * (difficulty / spread) ** 2
    return softmax(pt.maximum(cast(Any, away) - cast(Any, pt.max)(away), LEAST_LOG) + log_weight)


def node_confusion(log_odds: Any, n: int) -> TensorVariable:
    """Return p(label | rater, true category, node), of these shapes, by the log odds of the right label (rater, node)."""
    log_odds = log_odds[:, None, :, None]
    wrong, right = (-cast(Any, pt.softplus(x)) for x in (log_odds, -log_odds))
    log_p = pt.where(np.eye(n, dtype=bool)[:, None, :], right, wrong - math.log(n - 1))
    return cast(TensorVariable, pt.exp(pt.maximum(log_p, LEAST_LOG)))


SPEC = Spec(
    name="item_response",
    data="labels",
    summary="Models on items of unknown difficulty, whose published key may be wrong: leaderboards",
    methods=("gibbs", "nuts"),
    reference="Rasch 1960; Batchelder and Romney 1988, doi:10.1007/BF02294195",
    marks=("difficulty_spread", "expected_difficulty"),
    shared_errors="items",
    studies={"a leaderboard of models on items whose key has errors": ""},
    assumes=(
        "Models have an ability, items a difficulty; a model is right with log odds of their difference, and wrong "
        "answers are equally probable. The key is one more answer, right with a probability."
    ),
    needs="Named models, five or more; a key, or many models.",
    fails="Models share a popular wrong answer: a right key then looks wrong.",
)
