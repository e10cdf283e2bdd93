"""Hierarchical Dawid-Skene model of labels: confusion matrices from a population, or groups, of raters."""

from typing import Any, cast

import numpy as np
import pymc as pm
from pytensor.tensor.special import softmax
from pytensor.tensor.variable import TensorVariable

from .._arguments import FEATURES, PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array, prior_number
from .._item_features import feature_coords, prior_of_truth, read_features
from ..data.labels import Labels
from ..data.raters import rater_groups
from .observed import HelmertRotation, coords_of, observe_labels, prevalence_prior, require_identified_raters

__all__ = ["hierarchical_dawid_skene"]


@recorded
@documented(features=FEATURES, prior_logits=PRIOR_LOGITS)
def hierarchical_dawid_skene(
    labels: Labels,
    *,
    group: str | None = None,
    prevalence_concentration: Any = 1.0,
    diagonal: Number = 2.0,
    spread: Number = 1.0,
    group_spread: Number = 1.0,
    features: Any = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build hierarchical Dawid-Skene: confusion matrices come from a population, or from groups, of raters.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        p           ~ Dirichlet(alpha)
        zeta_jl     ~ Normal(d [j = l], 1)               population mean of log odds
        Omega_jl    ~ HalfNormal(s)                      population spread
        beta_kjl    ~ Normal(zeta_jl, Omega_jl)          for every rater k
        pi_kj       = softmax(beta_kj)
        T_i         ~ Categorical(p)                     summed out; known for gold items
        y_a         ~ Categorical(pi_k,T_i)

    and with groups g(k) of raters, such as people and language models, about the mean of their group:

        Psi         ~ HalfNormal(s_g)                    spread of the groups
        eta_gjl     ~ Normal(zeta_jl, Psi)               for every group g
        beta_kjl    ~ Normal(eta_g(k)jl, Omega_jl)

    ====================  =====================  ================================
    symbol                variable               dims
    ====================  =====================  ================================
    p (paper: pi)         prevalence             category
    zeta                  population_mean        category, answer
    Omega                 population_spread      category, answer
    (beta - eta)/Omega    rater_deviation        rater, category, answer
    Psi                   group_spread           scalar
    (eta - zeta)/Psi      group_deviation        group_of_raters, category, answer
    eta                   group_mean             group_of_raters, category, answer
    pi                    confusion              rater, category, answer
    p(T | p, pi, y)       plausibility           item, category
    y                     observed_label         annotation
    d, s                  diagonal=, spread=     arguments
    s_g                   group_spread=          argument
    ====================  =====================  ================================

    Raters with few answers borrow strength from the others, of their own group first. The paper's d is 0; a
    positive d identifies the categories. As most raters have few answers and groups are few, deviations are
    standardised (non-centred), and the spread of the groups is one number. The population mean is sampled in
    rotated coordinates, of which one per row is the constant that the likelihood does not identify.

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    group : str, optional
        Attribute of the raters that names their group, such as ``"kind"``; by default one population.
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    diagonal : float or random variable, default 2
        Prior mean d of the log odds of the right label against each other one, in the population of raters.
    spread, group_spread : float or random variable, default 1
        Scales s and s_g of the priors of the spread of the population and of the groups, in log odds.
    {features}
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table, ``group_...`` only with groups; the log likelihood of ``observed_label`` is
        pointwise by item.

    Raises
    ------
    ValueError
        If the raters are anonymous, a prior is not finite and positive, or the attribute does not exist.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior.

    Notes
    -----
    Spreads mix slowly where raters hardly differ: `raterzoo.inference.sample` thins NUTS by two.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="hierarchical_dawid_skene", items=20, random_seed=1).data
    >>> model = models.hierarchical_dawid_skene(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['population_mean', 'population_spread', 'prevalence', 'rater_deviation']

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, section 3.3, doi:10.1162/tacl_a_00040.
    """
    coords = coords_of(require_identified_raters(labels, "hierarchical_dawid_skene"), ("deviation",))
    scale = prior_array("spread", spread, ())
    scale_of_groups = prior_array("group_spread", group_spread, ())
    ahead = prior_number("diagonal", diagonal)
    own = read_features(labels, features)
    dims = ("rater", "category", "answer")
    who = None
    if group is not None:
        groups, who = rater_groups(labels.raters, labels.rater_attributes, group)
        coords["group_of_raters"] = groups
    with annotation_model(coords | feature_coords(own)) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        favoured = ahead * np.eye(len(labels.categories))
        rotated = HelmertRotation(len(labels.categories))
        mean = pm.Normal("population_mean", favoured, 1.0, dims=dims[1:], transform=rotated)
        sd = pm.HalfNormal("population_spread", scale, dims=dims[1:])
        deviation = pm.Normal("rater_deviation", dims=dims)
        centre = mean if who is None else _means_of_groups(mean, scale_of_groups)[who]
        log_odds = centre + sd * deviation
        confusion = pm.Deterministic("confusion", softmax(log_odds, axis=-1), dims=dims)
        prior = prior_of_truth(labels, prevalence, own, prior_logits)
        observe_labels(labels, prior, cast(TensorVariable, confusion))
    return model


def _means_of_groups(mean: TensorVariable, scale: Any) -> TensorVariable:
    """Register spread, deviations and means of the groups; result (group_of_raters, category, answer)."""
    dims = ("group_of_raters", "category", "answer")
    spread = pm.HalfNormal("group_spread", scale)
    deviation = pm.Normal("group_deviation", dims=dims)
    return cast(TensorVariable, pm.Deterministic("group_mean", mean + spread * deviation, dims=dims))


SPEC = Spec(
    name="hierarchical_dawid_skene",
    data="labels",
    summary="Dawid-Skene whose confusion matrices come from a population of raters",
    methods=("nuts",),
    reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.3",
    options=("group", "features"),
    nuts_options={"target_accept": 0.9},  # spreads are small where raters hardly differ
    nuts_thinning=2,
    marks=("population_mean",),
    shared_errors="independent",
    studies={"raters with few answers each": ""},
    assumes="As dawid_skene, and the matrices come from a population of raters, or from groups of them.",
    needs=(
        "As dawid_skene, but raters with few answers borrow from the others. A handful of raters or more."
    ),
    fails="Raters find the same items hard; a few raters are unlike all others.",
)
