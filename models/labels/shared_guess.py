"""Shared-guess model of labels: raters of one group copy a guess of their group, so that their errors are shared."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..._messages import first_reprs, short_repr
from .._catalog import recorded
from .._hierarchy import Number, annotation_model, prior_array, prior_pair
from ..data.errors import BUILDERS, DataWarning
from ..data.labels import Labels, expand_answers
from ..data.prior_arguments import confusion_concentrations, positive_pair
from ..data.raters import rater_groups
from ..distributions.shared_guesses import SharedGuesses, guess_logp
from ..distributions.shared_guesses_kernels import NO_GROUP
from .observed import (
    concentration_of_confusion,
    coords_of,
    prevalence_prior,
    require_identified_raters,
    warn_unidentified,
)

__all__ = ["shared_guess"]


@recorded
def shared_guess(
    labels: Labels,
    groups: str | Mapping[Any, Any] | Sequence[Any] | np.ndarray | None = None,
    independent: str | Collection[Any] = (),
    *,
    prevalence_concentration: Any = 1.0,
    confusion_concentration: Any = None,
    guess_concentration: Any = None,
    shared_concentration: tuple[Number, Number] = (1.0, 1.0),
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

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    p                     prevalence            category
    pi                    own_confusion         rater, category, answer
    Phi                   guess                 group_of_raters, category, answer
    s                     shared                copier: the raters of these groups
    s Phi + (1 - s) pi    confusion             rater, category, answer
    p(T | all but G, T)   plausibility          item, category
    y                     observed_label        annotation
    alpha, beta, phi, ... ..._concentration=    arguments
    ====================  ====================  =================================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters (not anonymous counts).
    groups : str, mapping or sequence, optional
        Group of every rater: the name of a rater attribute, such as ``"kind"``; or ``{rater: group}``; or groups in
        the order of ``labels.raters``. By default the first rater attribute.
    independent : str or collection of str
        Groups whose raters copy nobody, such as ``("person",)``.
    prevalence_concentration : float or array_like, shape (category,), default 1
        Dirichlet concentration of the prevalence.
    confusion_concentration : float or array_like, optional
        Dirichlet concentration of the rows of `own_confusion`: one number, or an array (category, answer) or (rater,
        category, answer). The default favours the diagonal: 4.8 there, and 8 in the whole row.
    guess_concentration : float or array_like, optional
        The same of the rows of `guess`, one number or an array (category, answer) or (group, category, answer).
    shared_concentration : pair of float or random variable, default (1, 1)
        Beta prior (a, b) of the probability that an answer is copied.

    Returns
    -------
    pymc.Model
        Variables of the table; the log likelihood of ``observed_label`` is pointwise by item.

    Raises
    ------
    ValueError
        If the raters are anonymous, no group with two raters or more may share, a name of `independent` is no group, or a
        concentration is not positive.

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
    sharing = sharing_groups(labels, groups, independent)
    n, n_raters = len(labels.categories), len(labels.raters)
    copiers = np.flatnonzero(sharing.group != NO_GROUP)
    coords = coords_of(labels, ("shared",)) | {
        "group_of_raters": sharing.names,
        "copier": labels.raters[copiers],
    }
    beta = concentration_of_confusion(labels, confusion_concentration, (n_raters, n, n))
    given = confusion_concentrations(n) if guess_concentration is None else guess_concentration
    phi = prior_array("guess_concentration", given, (len(sharing.names), n, n))
    copied, own = prior_pair("shared_concentration", shared_concentration, copiers.shape, positive_pair)
    dims = ("category", "answer")
    with annotation_model(coords) as model:
        prevalence = prevalence_prior(labels, prevalence_concentration)
        confusion = pm.Dirichlet("own_confusion", beta, dims=("rater", *dims))
        guess = pm.Dirichlet("guess", phi, dims=("group_of_raters", *dims))
        shared = pm.Beta("shared", copied, own, dims="copier")
        share = pt.zeros(n_raters)[copiers].set(shared)
        # p(answer | true category) of a rater, of whatever origin
        of_group = guess[np.maximum(sharing.group, 0)]
        both = share[:, None, None] * of_group + (1 - share)[:, None, None] * confusion
        pm.Deterministic("confusion", both, dims=("rater", *dims))
        _observe(labels, (prevalence, confusion, guess, cast(TensorVariable, share)), sharing.group)
    return model


def _observe(labels: Labels, law: tuple[TensorVariable, ...], group: np.ndarray) -> None:
    """Register ``observed_label``, pointwise by item, ``plausibility``, and the data that evaluation reads."""
    warn_unidentified(labels)
    item, rater, label = expand_answers(labels)
    start = np.searchsorted(item, np.arange(len(labels.items) + 1)).astype(np.int64)
    who, gold = rater.astype(np.int64), labels.gold.astype(np.int64)
    pm.Data("annotation_item", item, dims="annotation")
    pm.Data("annotation_rater", rater, dims="annotation")
    pm.Data("gold", labels.gold, dims="item")
    layout = (start, who, group, gold)
    SharedGuesses("observed_label", *law, *layout, observed=label, dims="annotation")
    answers = (start, who, label.astype(np.int64), group, gold)
    pm.Deterministic("plausibility", guess_logp(*law, answers)[1], dims=("item", "category"))


class SharingGroups(NamedTuple):
    """Groups whose raters may copy a guess."""

    names: np.ndarray  # (group,)
    group: np.ndarray  # int64 (rater,), code of the group or NO_GROUP


def sharing_groups(
    labels: Labels, groups: str | Mapping[Any, Any] | Sequence[Any] | np.ndarray | None, independent: str | Collection[Any]
) -> SharingGroups:
    """Return the groups of two raters or more that are not independent; raise if there are none, warn of small ones."""
    names, code = _groups_of(labels, groups)
    apart = [independent] if isinstance(independent, str) else list(independent)
    known = names.tolist()
    if strange := [name for name in apart if name not in known]:
        raise ValueError(
            f"independent: {short_repr(strange[0])} is no group of the raters; the groups are {first_reprs(known)}"
        )
    size = np.bincount(code, minlength=len(names))
    single = [name for name, raters in zip(known, size, strict=True) if raters == 1 and name not in apart]
    kept = [g for g, name in enumerate(known) if name not in apart and size[g] > 1]
    if not kept:
        raise ValueError(
            "no group with two raters or more may share a guess: all raters are independent, which is "
            f"models.dawid_skene. The groups are {first_reprs(known)}, and independent={apart!r}"
        )
    if single:
        warnings.warn(
            f"of the group {short_repr(single[0])} there is a single rater, who counts as independent"
            + (f"; so do those of {first_reprs(single[1:])}" if len(single) > 1 else ""),
            DataWarning,
            skip_file_prefixes=BUILDERS,
        )
    if len(known) == 1 and not labels.has_gold:
        warnings.warn(
            f"all raters are of the group {short_repr(known[0])}: what they share and the truth are told apart only by answers "
            "that are not copied. Gold labels of some items, or a few independent raters, would tell more",
            DataWarning,
            skip_file_prefixes=BUILDERS,
        )
    place = np.full(len(names), NO_GROUP, np.int64)
    place[kept] = np.arange(len(kept))
    return SharingGroups(names[kept], place[code])


def _groups_of(labels: Labels, groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return names of groups in order of appearance, and codes (rater,)."""
    if groups is None:
        if not labels.rater_attributes:
            raise ValueError(
                "groups: the raters have no attribute; read its column with from_table(..., "
                "rater_attributes=['kind']), or pass groups={rater: group}"
            )
        groups = next(iter(labels.rater_attributes))
    if isinstance(groups, str):
        return rater_groups(labels.raters, labels.rater_attributes, groups)
    raters = labels.raters.tolist()
    if isinstance(groups, Mapping):
        if absent := [rater for rater in raters if rater not in groups]:
            raise ValueError(f"groups: rater {short_repr(absent[0])} has no group; name one for every rater")
        groups = [groups[rater] for rater in raters]
    if len(groups) != len(raters):
        raise ValueError(f"groups: {len(groups):,} groups for {len(raters):,} raters; pass one for each of labels.raters")
    return rater_groups(labels.raters, {"groups": np.asarray(groups)}, "groups")
