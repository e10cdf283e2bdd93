"""Dawid-Skene model of labels: one confusion matrix per rater, true categories summed out."""

from typing import Any, Literal

import pymc as pm

from .._arguments import FEATURES, LABEL_MODEL, PRIOR_LOGITS, RATERS, TIME, documented
from .._catalog import Spec, recorded
from .._hierarchy import annotation_model
from .._item_features import feature_coords, prior_of_truth, read_features
from ..data.errors import refused_argument
from ..data.labels import Labels
from .known_raters import confusion_of_raters, coords_of_history
from .observed import coords_of, observe_labels, prevalence_prior, require_identified_raters
from .population import POPULATION, coords_of_population
from .responses import prior_given_responses, reads_responses, requests_of, words_of
from .skill_in_time import (
    INITIAL_CONFUSION,
    changing_confusion,
    coords_in_time,
    parts_of_rows,
    windows_in_time,
)
from .stated_probabilities import (
    PRIOR,
    coords_of_statements,
    observe_statements,
    read_statements,
    refuse_beside,
)

__all__ = ["dawid_skene"]


@recorded
@documented(features=FEATURES, prior_logits=PRIOR_LOGITS, raters=RATERS, time=TIME, returns=LABEL_MODEL)
def dawid_skene(
    labels: Labels,
    *,
    prevalence_concentration: Any = 1.0,
    confusion_concentration: Any = None,
    raters: Any = None,
    features: Any = None,
    prior_logits: Any = None,
    no_answer: Literal["informative", "ignored"] = "informative",
    time: int | None = None,
    probability: Literal["informative", "ignored"] = "informative",
    statement_prior: tuple[float, float, float, float] = PRIOR,
    statement_unit: Any = None,
) -> pm.Model:
    """Build the Dawid-Skene model: one confusion matrix per rater, with true categories summed out.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        p        ~ Dirichlet(alpha)
        pi_kj    ~ Dirichlet(beta_kj)            for every rater k and true category j
        T_i      ~ Categorical(p)                summed out; known for gold items
        y_a      ~ Categorical(pi_k,T_i)

    and where labels were read with `no_answer`, for each time r that rater k was asked about item i, with response 0 a label:

        rho_kj   ~ Dirichlet(sum_l beta_kjl f_k / f_k0),    f_k: shares of the responses of rater k
        o_r      ~ Categorical(rho_k,T_i)

    which is a confusion matrix of more answers than categories, with rows (rho_kj0 pi_kj, rho_kj1, ...).

    Where labels of two categories were read with `probability`, a rater gives a label outright, which is what 0 and 1 are too, or
    states a probability, with log odds z_a of the second category:

        s_a      ~ Categorical(omega_k,T_i)      one label, the other, or a probability; omega_kj ~ Dirichlet
        v_kj     ~ InverseGamma(a, b u_k^2),     mu_kj ~ Normal(+-m u_k, v_kj / c)
        z_a      ~ Normal(mu_k,T_i, v_k,T_i)     then y_a is the side of 0 on which z_a lies

    and pi_kj is p(y_a | T_i = j). The unit u_k is the root mean square of the log odds of rater k.

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    p                     prevalence            category
    pi                    confusion             rater, category, answer
    p(T | p, pi, y)       plausibility          item, category
    y                     observed_label        annotation
    rho                   response_rate         rater, category, response
    o                     observed_response     request
    omega                 answer_share          rater, category, kind_of_answer
    mu, v                 statement_mean,       judge, category
                          statement_variance
    z                     observed_statement    annotation
    alpha, beta           ..._concentration=    arguments
    ====================  ====================  =================================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    confusion_concentration : float or array_like or "population", optional
        Dirichlet concentration of each row of each confusion matrix: one number, or an array (category,
        label) or (rater, category, answer); with "population" it is learnt from all raters, as in
        `correlated_votes`, with names (rater,) from the raters of each population. The default favours the
        diagonal: 4.8 there, and 8 in the whole row; for classifiers (`Labels.with_predictions`), whose
        predictions are many, 2 there and 1 beside it; with `raters` it is "population". A flat prior does not
        identify the categories: its posterior has a mode for every permutation of them.
    {raters}
    {features}
    {prior_logits}
    no_answer : {{"informative", "ignored"}}
        Of labels read with ``no_answer=``: whether who gave no answer tells about the truth. Where raters are unsure of hard
        items alone, whatever their truth, both give much the same.

    {time} The matrix of the first window is ``initial_confusion``.
    probability : {{"informative", "ignored"}}
        Of labels read with ``probability=``: whether the stated probabilities tell more than the labels do. They need no
        calibration, and may be those of over- or underconfident judges. Options that this law does not have are `raters`,
        `time`, informative ``no_answer`` and learnt populations.
    statement_prior : four floats, default (.5, 1, 2, .5)
        Numbers m, c, a and b of the prior of the log odds: raters are right on average, by m units, a prior of c statements.
    statement_unit : float or array_like, shape (judge,), optional
        Unit u of each rater who states probabilities, in log odds.

    {returns}

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="dawid_skene", items=20, random_seed=1).data
    >>> model = models.dawid_skene(labels)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['confusion', 'prevalence']
    >>> model.named_vars_to_dims["confusion"]
    ('rater', 'category', 'answer')

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm, JRSS
    C 28(1), section 2, equations 2.1 to 2.5, doi:10.2307/2346806. Paun et al. (2018), Comparing Bayesian
    models of annotation, TACL 6, section 3, doi:10.1162/tacl_a_00040.
    """
    coords = coords_of(require_identified_raters(labels, "dawid_skene"))
    own, windows = read_features(labels, features), windows_in_time(labels, time)
    asked = requests_of(labels, words_of(labels)) if reads_responses(labels, no_answer) else None
    said = read_statements(labels, probability, statement_unit)
    if said is not None:
        population = isinstance(confusion_concentration, str)
        others = {"raters": raters is not None, "time": windows is not None, "no_answer": asked is not None}
        refuse_beside(others | {"confusion_concentration": population})
    if asked is not None and raters is not None:
        raise refused_argument(
            "raters",
            "a history does not know who gives no answer",
            remedy='build the model with no_answer="ignored"',
        )
    if raters is not None and confusion_concentration is None:
        confusion_concentration = POPULATION
    coords |= {} if asked is None else asked.coords
    coords |= feature_coords(own) | coords_of_population(labels, confusion_concentration)
    coords |= coords_of_history(raters) | coords_in_time(windows) | coords_of_statements(labels, said)
    name, matrix = ("confusion" if windows is None else INITIAL_CONFUSION), None
    with annotation_model(coords) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        if said is not None:
            prior = prior_of_truth(labels, prevalence, own, prior_logits)
            observe_statements(labels, said, prior, confusion_concentration, statement_prior)
            return model
        confusion, beta = confusion_of_raters(labels, confusion_concentration, raters, name)
        if windows is not None:
            parts = parts_of_rows(confusion, len(labels.categories))
            confusion, matrix = changing_confusion(labels, windows, *parts)
        prior = prior_of_truth(labels, prevalence, own, prior_logits)
        if asked is not None:
            prior = prior_given_responses(labels, asked, prior, beta)
        observe_labels(labels, prior, confusion, matrix)
    return model


SPEC = Spec(
    name="dawid_skene",
    data="labels",
    summary="Raters with a confusion matrix each, the true category summed out",
    methods=("gibbs", "nuts"),
    reference="Dawid and Skene 1979, doi:10.2307/2346806",
    options=("features", "raters"),
    distributed_sampler="dawid_skene_gibbs",
    shared_errors="independent",
    studies={
        "the model of the literature, to compare with it": "",
        "judges that state probabilities, two categories": "with `probability` ([how](recipes/probabilities.md))",
        "raters who get better in time, or tire": "with `time` ([how](recipes/skill_in_time.md))",
        "one answer an item, or none, and an embedding or other numbers of each": "with `features` ([how](recipes/features.md))",
    },
    assumes=(
        "Each rater has a confusion matrix, and errs independently of the others given the true category. "
        "All items of a category are equally hard."
    ),
    needs=(
        "Named raters; several answers to most items; of each rater enough answers in every category, "
        "since the matrix has a row for each."
    ),
    fails=(
        "Raters find the same items hard, as people do: it is too certain. Raters with few answers keep "
        "their prior."
    ),
)
