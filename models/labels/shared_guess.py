"""Shared-guess model of labels: raters of one group copy a guess of their group, so that their errors are shared."""

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ...posterior.schema import are_classifiers
from .._arguments import FEATURES, PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array, prior_pair
from .._item_features import feature_coords, prior_of_truth, read_features
from .._prior_arguments import confusion_concentrations, positive_pair
from ..data.errors import refused_argument
from ..data.labels import Labels
from ..data.raters import NO_GROUP, Groups, SharingGroups, sharing_groups
from ..data.reading.columns import nearest
from ..distributions.shared_guesses import SharedGuess
from ..distributions.truth import truth_probability
from .observed import (
    concentration_of_confusion,
    coords_of,
    prevalence_prior,
    register_rows,
    require_identified_raters,
)

__all__ = ["shared_guess"]

CERTAIN = 1e6  # pseudo-counts by which the answers of a classifier that was shown are the guess


@recorded
@documented(features=FEATURES, prior_logits=PRIOR_LOGITS)
def shared_guess(
    labels: Labels,
    groups: Groups = None,
    independent: str | Collection[Any] = (),
    *,
    prevalence_concentration: Any = 1.0,
    confusion_concentration: Any = None,
    guess_concentration: Any = None,
    shared_concentration: tuple[Number, Number] | Literal["learned"] = (1.0, 1.0),
    assisted_by: Any = None,
    features: Any = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build the shared-guess model: the raters of a group copy a guess of the group, and so share errors.

    Language models that judge copy each other's errors: nine judges of whose answers .8 are one shared guess count as
    about one. A model of independent raters believes all nine. Here each group has a guess of every item, which its
    raters repeat with some probability, and else answer for themselves.

    Generative law, for item i, group g, rater k and each answer a of rater k to item i:

        p        ~ Dirichlet(alpha)
        pi_kj    ~ Dirichlet(beta_kj)            for every rater k and true category j
        Phi_gj   ~ Dirichlet(phi_gj)             for every group g that may share, and true category j
        s_k      ~ Beta(a, b)                    for every rater k of these groups, else 0
        T_i      ~ Categorical(p)                summed out; known for gold items
        G_ig     ~ Categorical(Phi_g,T_i)        summed out
        y_a      = G_i,g(k) with probability s_k, else ~ Categorical(pi_k,T_i)

    ====================  ====================  ==========================================
    symbol                variable              dims
    ====================  ====================  ==========================================
    p                     prevalence            category
    pi                    own_confusion         rater, category, answer
    Phi                   guess                 group_of_raters, category, answer
    s                     shared                copier: the raters of these groups
    s Phi + (1 - s) pi    confusion             rater, category, answer: copied or not
    p(T | all but G, T)   plausibility          item, category
    y                     observed_label        annotation
    alpha, beta, phi ...  ..._concentration=    arguments
    ====================  ====================  ==========================================

    With ``shared_concentration="learned"`` the raters of a group copy about as often: a = m_g n_g, b = (1 - m_g) n_g, with
    m_g ~ Beta(1, 1), variable ``shared_mean``, and n_g ~ Gamma(2, rate .1), variable ``shared_size``, dims group_of_raters.
    Then the sampler is NUTS.

    With ``assisted_by="net"`` the raters saw the predictions of the classifier net, which is a rater too (see
    `Labels.with_predictions`). Net and all raters who are no classifiers are one group, whose guess h_i is what net predicts of
    item i; other classifiers copy nobody. Of net `guess` is the confusion matrix, and its share is 1, up to 1e-6. So

        h_i ~ Categorical(Phi_T_i)
        y_a = h_i with probability s_k, else ~ Categorical(pi_k,T_i)                 for people k
        y_b ~ Categorical(pi_l,T_i)                                                  for other classifiers l
        p(y_i | T_i = j) = Phi_j(h_i) prod_a (s_k [y_a = h_i] + (1 - s_k) pi_kj(y_a)) prod_b pi_lj(y_b)

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    groups : str, mapping or sequence, optional
        Group of every rater: the name of a rater attribute, such as ``"kind"``; or ``{rater: group}``; or groups in
        the order of ``labels.raters``. By default the first rater attribute. A group of one rater counts as independent.
    independent : str or collection of str
        Groups whose raters copy nobody, such as ``("person",)``.
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    confusion_concentration : float or array_like, optional
        Dirichlet concentration of the rows of `own_confusion`: one number, or an array (category, answer) or (rater,
        category, answer). The default is that of `dawid_skene`.
    guess_concentration : float or array_like, optional
        The same of the rows of `guess`, one number or an array (category, answer) or (group, category, answer). With
        `assisted_by` the default is 2 on the diagonal, 1 / (K - 1) beside it.
    shared_concentration : pair of float or random variable, or "learned", default (1, 1)
        Beta prior (a, b) of the probability that an answer is copied; "learned": by group, from the data.
    assisted_by : str or int, optional
        Classifier whose predictions the people saw, instead of `groups`. It predicts every item that they answered.
    {features}
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_label`` is pointwise by item.

    Raises
    ------
    ValueError
        If the raters are anonymous, a rater has no group, a name of `groups` is no rater or of `independent` no group, no
        group with two raters or more may share, or a concentration is not positive; if `assisted_by` is no rater, lacks a
        prediction of an item that people answered, or comes with `groups`.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label). If a group has a single rater: it counts as independent, as
        copies need an original. If all raters are of one group: truth and guess are then told apart only by the answers
        that are not copied, or by gold labels.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.labels(model="shared_guess", items=20, raters=6, random_seed=1)
    >>> model = models.shared_guess(simulated.data, groups="kind", independent=("person",))
    >>> sorted(variable.name for variable in model.free_RVs)
    ['guess', 'own_confusion', 'prevalence', 'shared']
    >>> model.named_vars_to_dims["shared"]
    ('copier',)

    References
    ----------
    The truth and the own answers are those of Dawid and Skene (1979), Maximum likelihood estimation of observer
    error-rates using the EM algorithm, JRSS C 28(1), section 2, doi:10.2307/2346806. The guess of a group is a mixture
    within each item: copies are answers with the same latent source, the law of dependent annotators in Li, Rubinstein
    and Cohn (2019), Exploiting worker correlation for label aggregation in crowdsourcing, ICML, section 3, given groups.
    """
    require_identified_raters(labels, "shared_guess")
    of_items = read_features(labels, features)
    if assisted_by is None:
        sharing = sharing_groups(labels, groups, independent)
    elif groups is not None or independent or isinstance(shared_concentration, str):
        problem = f"with {assisted_by!r} it is known who copies whom"
        remedy = "leave groups, independent and learned shares out"
        raise refused_argument("assisted_by", problem, value=assisted_by, remedy=remedy)
    else:
        sharing = _assisted(labels, assisted_by)
    n, n_raters = len(labels.categories), len(labels.raters)
    copiers = np.flatnonzero(sharing.group != NO_GROUP)
    coords = coords_of(labels) | {"group_of_raters": sharing.names, "copier": labels.raters[copiers]}
    beta = concentration_of_confusion(labels, confusion_concentration, (n_raters, n, n))
    given = guess_concentration
    if given is None and assisted_by is not None:
        given = np.where(
            np.eye(n, dtype=bool), 2, 1 / (n - 1)
        )  # predictions are seen: one pseudo-error a row for any K
    elif given is None:
        given = confusion_concentrations(n)
    phi = prior_array("guess_concentration", given, (len(sharing.names), n, n))
    learned = isinstance(shared_concentration, str)
    if learned and shared_concentration != "learned":
        raise ValueError(
            f'shared_concentration={shared_concentration!r} must be a pair of numbers, or "learned"'
        )
    dims = ("category", "answer")
    with annotation_model(coords | feature_coords(of_items)) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        own = pm.Dirichlet("own_confusion", beta, dims=("rater", *dims))
        guess = pm.Dirichlet("guess", phi, dims=("group_of_raters", *dims))
        if learned:
            copies = _learned_copies(sharing.group[copiers])
        else:
            copies = prior_pair("shared_concentration", shared_concentration, copiers.shape, positive_pair)
        if assisted_by is not None:
            is_shown = labels.raters[copiers] == assisted_by
            copies = tuple(pt.switch(is_shown, *both) for both in zip((CERTAIN, 1.0), copies, strict=True))
        shared = pm.Beta("shared", *copies, dims="copier")
        share: Any = pt.zeros(n_raters)[copiers].set(shared)
        both = share[:, None, None] * guess[np.maximum(sharing.group, 0)] + (1 - share)[:, None, None] * own
        pm.Deterministic("confusion", both, dims=("rater", *dims))
        prior = prior_of_truth(labels, prevalence, of_items, prior_logits)
        answers = register_rows(labels, featured=prior.type.ndim == 2)
        law = {"guess": guess, "shared": share, "group": sharing.group, "gold": labels.gold}
        observed = SharedGuess("observed_label", prior, own, answers, **law, dims="annotation")
        pm.Deterministic("plausibility", truth_probability(observed), dims=("item", "category"))
    return model


def _assisted(labels: Labels, classifier: Any) -> SharingGroups:
    """Return the classifier and those who saw it as a group; raise if it is no rater, or an item lacks its one prediction."""
    ids = labels.raters.tolist()
    machines = are_classifiers(labels.rater_attributes, len(ids))
    if classifier not in ids:
        known = labels.raters[machines] if machines.any() else labels.raters
        raise refused_argument(
            "assisted_by",
            f"{classifier!r} is no rater",
            value=classifier,
            allowed=nearest(classifier, known.astype(str)),
            remedy="add its predictions by labels.with_predictions",
        )
    shown = np.arange(len(ids)) == ids.index(classifier)
    seers = ~machines & ~shown
    predictions = np.bincount(
        labels.annotation_item[shown[labels.annotation_rater]], minlength=len(labels.items)
    )
    answered = labels.annotation_item[seers[labels.annotation_rater]]
    wrong = answered[predictions[answered] != 1]
    if len(wrong):
        item = labels.items[wrong[0]].item()
        raise refused_argument(
            "assisted_by",
            f"{classifier!r} gave {predictions[wrong[0]]} labels to item {item!r}, which people answered",
            value=item,
            allowed="one prediction of each item that people answered",
            remedy="add the prediction, or leave such items out by labels.select",
        )
    if not len(answered):
        problem = f"nobody but classifiers answered, so nobody saw {classifier!r}"
        remedy = "leave assisted_by out, or name the people in the attributes of the raters"
        raise refused_argument("assisted_by", problem, value=classifier, remedy=remedy)
    return SharingGroups(labels.raters[shown], np.where(shown | seers, 0, NO_GROUP))


def _learned_copies(group: np.ndarray) -> tuple[TensorVariable, TensorVariable]:
    """Register mean and size of the Beta law of each group's shares; return its a and b. Shapes: group, a, b (copier,)."""
    mean: Any = pm.Beta("shared_mean", 1.0, 1.0, dims="group_of_raters")
    size: Any = pm.Gamma("shared_size", 2.0, 0.1, dims="group_of_raters")
    return (mean * size)[group], ((1 - mean) * size)[group]


SPEC = Spec(
    name="shared_guess",
    data="labels",
    summary=(
        "Groups of raters who copy a guess that they share, so that they share errors; a confusion matrix each"
    ),
    methods=("gibbs", "nuts"),
    reference="Dawid and Skene 1979, doi:10.2307/2346806; dependence: Li et al. 2019, ICML, section 3",
    options=("groups", "independent", "features"),
    needs_groups=True,
    nuts_options={"target_accept": 0.9},
    marks=("own_confusion", "shared"),
    shared_errors="groups",
    studies={
        "people beside language models as judges, or other groups whose raters copy each other or share errors": (
            "([how](shared_tastes.md))"
        )
    },
    assumes=(
        "Raters of a group copy, with some probability, a guess of their group; else they answer by their "
        "own matrix. Groups are independent of each other."
    ),
    needs="The group of every rater, and better one group whose members copy nobody, such as people.",
    fails="All raters are of one group and there is no gold: truth and guess can hardly be told apart.",
)
