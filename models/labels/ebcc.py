"""EBCC model of labels: each true category has subtypes of items, on which raters err together."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from .._arguments import PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array
from .._item_features import prior_of_truth
from ..data.labels import Labels
from .item_effects import check_size, observe_state_labels, state_prior
from .observed import concentration_of_confusion, coords_of, prevalence_prior, require_identified_raters

__all__ = ["ebcc"]


@recorded
@documented(prior_logits=PRIOR_LOGITS)
def ebcc(
    labels: Labels,
    *,
    subtypes: int = 3,
    prevalence_concentration: Any = 1.0,
    subtype_concentration: Number = 1.0,
    confusion_concentration: Any = None,
    prior_logits: Any = None,
) -> pm.Model:
    """Build EBCC, enhanced Bayesian classifier combination: subtypes of each category make raters err together.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        p        ~ Dirichlet(alpha)
        w_j      ~ Dirichlet(gamma, ..., gamma)  share of the subtypes of every true category j
        pi_kjm   ~ Dirichlet(beta_kj)            for every rater k, true category j and subtype m
        T_i      ~ Categorical(p)                summed out; known for gold items
        g_i      ~ Categorical(w_T_i)            subtype of the item, summed out
        y_a      ~ Categorical(pi_k,T_i,g_i)

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    p (paper: tau)        prevalence            category
    w (paper: pi)         subtype_weight        category, subtype
    pi (paper: v)         subtype_confusion     rater, category, subtype, answer
    sum_m w_jm pi_kjm     confusion             rater, category, answer
    p(T | p, w, pi, y)    plausibility          item, category
    y                     observed_label        annotation
    alpha, gamma, beta    ..._concentration=    arguments
    ====================  ====================  =================================

    Given the true category the raters are dependent: on an item of a hard subtype many are wrong, and wrong in the
    same way. No groups of raters need to be known. With one subtype the model would be Dawid-Skene.

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    subtypes : int, default 3
        Number M of subtypes of each category, from 2.
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    subtype_concentration : float or random variable, default 1
        Dirichlet concentration gamma of the subtypes, the same for all.
    confusion_concentration : float or array_like, optional
        Dirichlet concentration of each row of each confusion matrix, the same for all subtypes: one number, or an
        array (category, answer) or (rater, category, answer). The default is that of `dawid_skene`.
    {prior_logits}

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_label`` is pointwise by item.

    Raises
    ------
    ValueError
        If the raters are anonymous, `subtypes` is not a whole number from 2, or a concentration is not positive.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior.

    Notes
    -----
    Subtypes of a category are exchangeable (label switching): `raterzoo.inference.sample` sorts them in each draw by
    their weight, the largest first, so that diagnostics refer to identified quantities. Two subtypes of about the
    same weight still exchange places. Prevalence, ``confusion`` and plausibility do not depend on their order.

    The Dirichlet priors of the reference are those of its program: M = 10, gamma = .1 / M, and rows of 4 on the
    diagonal and 1 elsewhere; it approximates the posterior by mean fields. The defaults here are ours: few subtypes
    of any weight, and the rows of `raterzoo.models.dawid_skene`.

    Without gold labels a subtype on which nearly all raters are wrong cannot be told from one of another category on
    which they are right.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="ebcc", items=20, random_seed=1).data
    >>> model = models.ebcc(labels, subtypes=2)
    >>> sorted(variable.name for variable in model.free_RVs)
    ['prevalence', 'subtype_confusion', 'subtype_weight']
    >>> model.named_vars_to_dims["subtype_confusion"]
    ('rater', 'category', 'subtype', 'answer')

    The number of subtypes, by leave-one-out cross-validation over items (here with few draws):

    >>> import warnings, arviz as az
    >>> from raterzoo import inference
    >>> few = {"draws": 100, "thin": 1, "random_seed": 1, "progressbar": False}
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     trees = {m: inference.sample(models.ebcc(labels, subtypes=m), **few) for m in (2, 3)}
    ...     trees[1] = inference.sample(models.dawid_skene(labels), **few)
    ...     found = az.compare({str(m): tree for m, tree in trees.items()})
    >>> sorted(found.index)
    ['1', '2', '3']

    References
    ----------
    Li, Rubinstein and Cohn (2019), Exploiting worker correlation for label aggregation in crowdsourcing, ICML, PMLR
    97, section 4.
    """
    require_identified_raters(labels, "ebcc")
    if isinstance(subtypes, bool) or not isinstance(subtypes, int | np.integer) or subtypes < 2:
        raise ValueError(
            f"subtypes={subtypes!r} must be a whole number from 2; for one subtype use models.dawid_skene"
        )
    if np.ndim(cast(Any, subtype_concentration)):
        raise ValueError("subtype_concentration must be one number: subtypes have no names")
    n, n_raters = len(labels.categories), len(labels.raters)
    states = n * int(subtypes)
    check_size(labels, n_raters, states, "ask for fewer subtypes=")
    gamma = prior_array("subtype_concentration", subtype_concentration, (n, int(subtypes)))
    beta = concentration_of_confusion(labels, confusion_concentration, (n_raters, n, n))
    of_subtypes = pt.as_tensor_variable(beta)[:, :, None, :] * np.ones((subtypes, 1))
    dims = ("rater", "category", "subtype", "answer")
    with annotation_model(coords_of(labels) | {"subtype": np.arange(subtypes)}) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        weight = pm.Dirichlet("subtype_weight", gamma, dims=("category", "subtype"))
        of_subtype = pm.Dirichlet("subtype_confusion", of_subtypes, dims=dims)
        confusion = (cast(Any, weight)[:, :, None] * of_subtype).sum(axis=2)
        pm.Deterministic("confusion", confusion, dims=("rater", "category", "answer"))
        probability = state_prior(prior_of_truth(labels, prevalence, None, prior_logits), weight)
        by_state = cast(TensorVariable, of_subtype).reshape((n_raters, states, n))
        state, distinct_index = observe_state_labels(labels, probability, by_state, int(subtypes))
        by_category = state.reshape((-1, n, subtypes)).sum(axis=2)
        pm.Deterministic("plausibility", by_category[distinct_index], dims=("item", "category"))
    return model


SPEC = Spec(
    name="ebcc",
    data="labels",
    summary=(
        "Categories with subtypes of items, on which raters err together: a confusion matrix each for "
        "every subtype"
    ),
    methods=("gibbs", "nuts"),
    reference="Li, Rubinstein and Cohn 2019, ICML, PMLR 97, section 4",
    options=("subtypes",),
    marks=("subtype_weight",),
    shared_errors="kinds",
    studies={"raters who share errors, in groups that nobody knows": ""},
    assumes=(
        "Each category has a few subtypes of items; raters have a matrix for each subtype, and so err "
        "together on it. No groups need to be known."
    ),
    needs="Named raters; several answers to most items; many items of each category.",
    fails=(
        "Nearly all raters are wrong on a subtype: without gold it looks like a subtype of another category."
    ),
)
