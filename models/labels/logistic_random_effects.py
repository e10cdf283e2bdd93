"""Logistic random-effects model of labels: raters from a population, item effects shared by all."""

from typing import Any, cast

import numpy as np
import pymc as pm
from pytensor.tensor.special import softmax

from .._arguments import PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array
from .._item_features import prior_of_truth
from ..data.labels import Labels
from .item_effects import check_size, favoured_contrasts, most_answers, normal_nodes, observe_states
from .observed import coords_of, prevalence_prior, require_identified_raters

__all__ = ["logistic_random_effects"]


@recorded
@documented(prior_logits=PRIOR_LOGITS)
def logistic_random_effects(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    diagonal: Number = 2.0,
    spread: Number = 1.0,
    effect_spread: Number = 1.0,
    nodes: int | None = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build the logistic random-effects model: raters from a population, item effects shared by all raters.

    Generative law, for item i, rater k and each answer a of rater k to item i, with K labels of which the
    last has log odds 0:

        p           ~ Dirichlet(alpha)
        zeta_j      ~ Normal(d ([j = l] - [j = K]), 1)   for every category j and label l < K
        Omega_j     ~ HalfNormal(s)                      spread of the raters, in the same dimensions
        Chi_j       ~ HalfNormal(s')                     spread of the items
        beta_kj     ~ Normal(zeta_j, Omega_j)            for every rater k
        T_i         ~ Categorical(p)                     summed out; known for gold items
        theta_i     ~ Normal(0, Chi_T_i)                 summed out over nodes
        y_a         ~ Categorical(softmax(beta_k,T_i - theta_i, 0))

    ====================  =====================  =================================
    symbol                variable               dims
    ====================  =====================  =================================
    p (paper: pi)         prevalence             category
    zeta                  population_mean        category, contrast
    Omega                 population_spread      category, contrast
    (beta - zeta)/Omega   rater_deviation        rater, category, contrast
    Chi (paper: X)        effect_spread          category, contrast
    E[softmax(...)]       confusion              rater, category, answer
    E[theta | ...]        expected_effect        item, contrast
    p(T | ..., y)         plausibility           item, category
    y                     observed_label         annotation
    d, s                  diagonal=, spread=     arguments
    s'                    effect_spread=         argument
    ====================  =====================  =================================

    The contrasts are all labels except the last. The paper's d is 0; a positive d identifies the categories.
    The deviations of the raters are standardised (non-centred), as most raters have few answers.

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    diagonal : float or random variable, default 2
        Prior mean d of the log odds of the right label against each other one, in the population of raters.
    spread, effect_spread : float or random variable, default 1
        Scales s and s' of the priors of the spread of the raters and of the items, in log odds.
    nodes : int, optional
        Quadrature nodes in each dimension of the effect, which has one dimension fewer than there are labels;
        with more than three dimensions, their total number. By default the relative error of an item's
        likelihood is below 1e-8 with two labels. With more labels the default depends on the largest number
        of answers to an item, and the log likelihoods of items were off by at most

        labels, answers  3, 5    3, 30   3, 100  4, 5    4, 30   5, 5    5, 30
        nodes            11      21      35      7       15      512     512
        spread 1         1e-5    2e-4    1e-3    2e-3    2e-3    1e-2    2e-1
        spread 2         2e-2    3e-2    7e-2    6e-2    2e-1    2e-2    3e-1
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table; ``confusion`` is the average over items, and the log likelihood of
        ``observed_label`` is pointwise by item with its effect summed out.

    Raises
    ------
    ValueError
        If the raters are anonymous, a prior or `nodes` is out of range, or the probabilities exceed memory.

    Warns
    -----
    DataWarning
        If no item has two answers, or an item has ten and the default is 512 nodes.

    Notes
    -----
    Prevalence and population are correlated in the posterior: `raterzoo.inference.sample` thins NUTS by two.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="logistic_random_effects", items=20, random_seed=1).data
    >>> model = models.logistic_random_effects(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['effect_spread', 'population_mean', 'population_spread', 'prevalence', 'rater_deviation']

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, 3.5 and fig. 5, doi:10.1162/tacl_a_00040.
    """
    coords = coords_of(require_identified_raters(labels, "logistic_random_effects"), ("deviation",))
    n = len(labels.categories)
    mean = favoured_contrasts(n, diagonal)
    scales = (prior_array("spread", spread, ()), prior_array("effect_spread", effect_spread, ()))
    points, weight = normal_nodes(n - 1, most_answers(labels), nodes)
    check_size(labels, len(labels.raters), n * len(weight))
    dims = ("category", "contrast")
    with annotation_model(coords | {"contrast": labels.categories[:-1]}) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        zeta = pm.Normal("population_mean", mean, 1.0, dims=dims)
        omega = pm.HalfNormal("population_spread", scales[0], dims=dims)
        chi = pm.HalfNormal("effect_spread", scales[1], dims=dims)
        deviation = pm.Normal("rater_deviation", dims=("rater", *dims))
        effect = cast(Any, chi)[:, None] * points
        log_odds = (zeta + omega * deviation)[:, :, None] - effect
        probability = cast(Any, softmax(log_odds @ np.eye(n - 1, n), axis=-1))
        average = (weight[:, None] * probability).sum(axis=2)
        pm.Deterministic("confusion", average, dims=("rater", "category", "answer"))
        prior = prior_of_truth(labels, prevalence, None, prior_logits)
        observe_states(labels, prior, weight, probability, effect=effect)
    return model


SPEC = Spec(
    name="logistic_random_effects",
    data="labels",
    summary="Raters with log odds from a population, and items that are harder or easier for all of them",
    methods=("nuts",),
    reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.5",
    nuts_options={"target_accept": 0.95},  # effects and prevalence lie along a curved ridge
    nuts_thinning=2,
    marks=("effect_spread", "population_mean"),
    shared_errors="items",
    studies={"hard and easy items": ""},
    assumes=(
        "Raters from a population with log odds of their own, and items that are harder or easier for all "
        "of them."
    ),
    needs="Named raters; several answers to most items; few categories.",
    fails="The cost, and five categories or more with many answers, as for item_difficulty.",
)
