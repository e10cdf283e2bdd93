"""Cultural consensus with several truths: raters of populations that nobody named, each with its own truth of every item."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array, prior_pair
from .._prior_arguments import positive_pair
from ..data.errors import refused_argument
from ..data.labels import Labels
from .item_effects import check_size, observe_state_labels
from .observed import coords_of, require_identified_raters

__all__ = ["cultural_consensus"]

MOST_CELLS = 1000  # joint truths of an item
FEWEST_RATERS = 2


@recorded
def cultural_consensus(
    labels: Labels,
    *,
    populations: int = 2,
    ability_concentration: tuple[Number, Number] = (4.0, 2.0),
    overlap_concentration: tuple[Number, Number] = (4.0, 1.0),
    share_concentration: Number = 5.0,
) -> pm.Model:
    """Build the model of cultural consensus: populations of raters, whom nobody named, each have a truth of every item.

    Two schools of annotators may disagree on what is toxic, and each is right by its own standard. A model of one truth calls
    the smaller school careless, and is sure of the larger one's truth. Here raters belong to populations, which are learnt, as is
    how often the truths of an item differ.

    Generative law, for item i, rater k and each answer a of rater k to item i, with G populations and K categories:

        p                  ~ Dirichlet(alpha)        over the K^G joint truths of an item
        w                  ~ Dirichlet(gamma, ..., gamma)
        m_k                ~ Categorical(w)          population of rater k
        q_k                ~ Beta(a, b)
        T_i1, ..., T_iG    ~ Categorical(p)          summed out; T_i1 is known for gold items
        y_a                = T_i,m(k) with probability q_k, else one of the other categories, each equally probable

    ========================  ========================  =================================
    symbol                    variable                  dims
    ========================  ========================  =================================
    p                         joint_prevalence          truths
    w                         population_share          population
    m                         membership                rater
    q                         ability                   rater
    p(T_1)                    prevalence                category
    p(y | T_1)                confusion                 rater, category, answer
    p(T_g | p, m, q, y)       population_plausibility   item, population, category
    p(T_1 | p, m, q, y)       plausibility              item, category
    p(T_g not all equal)      contested                 item
    y                         observed_label            annotation
    ========================  ========================  =================================

    The truth that all evaluation reads is that of the first population, and so is ``confusion``: raters of another population are
    wrong by it where the truths differ. ``ability`` is by a rater's own truth.

    Parameters
    ----------
    labels : Labels
        Labels of two identified raters or more (not anonymous counts). Gold labels are truths of the first population.
    populations : int, default 2
        Number G of populations, from 2; the joint truths may be 1,000.
    ability_concentration : pair of float or random variable, default (4, 2)
        Beta prior (a, b) of the abilities, as counts of right and of wrong answers.
    overlap_concentration : pair of float, default (4, 1)
        Dirichlet concentration of all joint truths that are one truth, and of all that differ; alpha shares each equally. So
        the share of items on which all agree is Beta(4, 1) a priori.
    share_concentration : float or random variable, default 5
        Dirichlet concentration gamma of the shares of the populations.

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_label`` is pointwise by item.

    Raises
    ------
    ValueError
        If the raters are anonymous or one, `populations` is no whole number from 2, the joint truths are more than 1,000, or a
        concentration is not positive.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior.

    Notes
    -----
    Without gold labels the populations are exchangeable. `raterzoo.inference.sample` numbers them by one partition of the raters,
    found before the first draw: the population with most raters is first, and of equal ones that of the rater who comes first.
    Populations of each draw are numbered so that the raters in the same population as in this partition are most. With gold
    labels the first population is that of the gold truth, whatever its size.

    A population may be empty: its truths then repeat the prior given those of others. Two populations with the same truths, or
    one of a single rater, are hardly told from one: see how often the truths differ, the mean of ``contested``.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.labels(model="cultural_consensus", items=20, categories=2, random_seed=1)
    >>> model = models.cultural_consensus(simulated.data)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['ability', 'joint_prevalence', 'membership', 'population_share']
    >>> model.coords["truths"]
    ('0 0', '0 1', '1 0', '1 1')

    References
    ----------
    Anders and Batchelder (2012), Cultural consensus theory for multiple consensus truths, Journal of Mathematical Psychology
    56(6), doi:10.1016/j.jmp.2013.01.004, for several truths; Romney, Weller and Batchelder (1986), Culture as consensus,
    American Anthropologist 88(2), doi:10.1525/aa.1986.88.2.02a00020. The joint law of the truths is ours.
    """
    require_identified_raters(labels, "cultural_consensus")
    n, n_raters = len(labels.categories), len(labels.raters)
    truth = joint_truths(n, _checked(populations, n))
    if n_raters < FEWEST_RATERS:
        raise ValueError(
            f"cultural_consensus tells populations of raters apart: it needs two raters, and found {n_raters}; use "
            "models.one_coin"
        )
    right, wrong = prior_pair("ability_concentration", ability_concentration, (n_raters,), positive_pair)
    alpha = concentration_of_truths(truth, positive_pair("overlap_concentration", overlap_concentration))
    gamma = prior_array("share_concentration", share_concentration, ())
    check_size(labels, n_raters, len(truth), "ask for fewer populations=")
    names = labels.categories.astype(str)
    own = {"truths": [" ".join(names[row]) for row in truth], "population": np.arange(1, populations + 1)}
    with annotation_model(coords_of(labels) | own) as model:
        joint: Any = pm.Dirichlet("joint_prevalence", alpha, dims="truths")
        share = pm.Dirichlet("population_share", gamma * np.ones(populations), dims="population")
        membership = pm.Categorical("membership", share, dims="rater")
        ability: Any = pm.Beta("ability", right, wrong, dims="rater")
        by_truths = confusion_by_truths(membership, ability, truth, n)
        first = joint.reshape((n, -1))
        prevalence: Any = pm.Deterministic("prevalence", first.sum(axis=1), dims="category")
        given = first / prevalence[:, None]
        average = (by_truths.reshape((n_raters, n, -1, n)) * given[:, :, None]).sum(axis=2)
        pm.Deterministic("confusion", average, dims=("rater", "category", "answer"))
        state, distinct = observe_state_labels(labels, joint, by_truths, len(truth) // n)
        each: Any = pt.stack([pt.dot(state, np.eye(n)[truth[:, g]]) for g in range(populations)], axis=1)
        each = each[distinct]
        pm.Deterministic("population_plausibility", each, dims=("item", "population", "category"))
        pm.Deterministic("plausibility", each[:, 0], dims=("item", "category"))
        contested: Any = pt.dot(state, differ(truth).astype(float))
        pm.Deterministic("contested", contested[distinct], dims="item")
    return model


def _checked(populations: object, n: int) -> int:
    """Return the number of populations; raise unless it is whole, from 2, and their joint truths are few enough."""
    if isinstance(populations, bool) or not isinstance(populations, int | np.integer) or populations < 2:
        problem = f"{populations!r} is no number of populations"
        remedy = "use models.one_coin for one truth"
        raise refused_argument(
            "populations", problem, value=populations, allowed="a whole number from 2", remedy=remedy
        )
    if n**populations > MOST_CELLS:
        problem = f"{populations} truths of {n} categories are {n**populations:,} joint truths of an item"
        remedy = "ask for fewer populations, or merge categories in the table"
        raise refused_argument(
            "populations", problem, value=populations, allowed=f"at most {MOST_CELLS:,}", remedy=remedy
        )
    return int(populations)


def joint_truths(n: int, populations: int) -> np.ndarray:
    """Return the truth of each population, int64 (truths, population); joint truths with the same first one are adjacent."""
    return np.indices((n,) * populations).reshape(populations, -1).T.astype(np.int64)


def differ(truth: np.ndarray) -> np.ndarray:
    """Return which joint truths (truths, population) are not one truth, bool (truths,)."""
    return (truth != truth[:, :1]).any(axis=1)


def concentration_of_truths(truth: np.ndarray, overlap: tuple[Any, Any]) -> np.ndarray:
    """Return the Dirichlet concentration (truths,): the first number shared by those that are one truth, the second by others."""
    contested = differ(truth)
    same, other = (float(np.asarray(x)) for x in overlap)
    return np.where(contested, other / contested.sum(), same / (~contested).sum())


def confusion_by_truths(membership: Any, ability: Any, truth: np.ndarray, n: int) -> TensorVariable:
    """Return p(answer | rater, joint truth), (rater, truths, answer), given membership and ability (rater,)."""
    says: Any = pt.as_tensor_variable(np.eye(n, dtype=bool)[truth.T])[membership]
    wrong = (1 - ability) / (n - 1)
    return cast(TensorVariable, pt.where(says, ability[:, None, None], wrong[:, None, None]))


SPEC = Spec(
    name="cultural_consensus",
    data="labels",
    summary="Populations of raters that nobody named, each with a truth of every item; one ability a rater",
    methods=("gibbs",),
    reference="Anders and Batchelder 2012, doi:10.1016/j.jmp.2013.01.004",
    options=("populations",),
    marks=("membership", "joint_prevalence"),
    shared_errors="kinds",
    studies={"two schools of raters, each right by its own standard, when nobody knows who is of which": ""},
    assumes=(
        "Raters are of a few populations; each has its own truth of an item, often the same. A rater has one probability of "
        "the own truth; wrong labels are equally probable."
    ),
    needs="Named raters, several of each population; several answers of each population to most items.",
    fails="A population of one rater, or truths that hardly differ, look like careless raters.",
)
