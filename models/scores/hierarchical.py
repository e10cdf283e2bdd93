"""Hierarchical model of scores: raters with a bias and a scale, items with a location, from populations."""

from collections.abc import Collection
from typing import Any, Literal, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform
from pytensor.tensor.variable import TensorVariable

from .._arguments import FEATURES_OF_SCORES, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, rows_times
from .._item_features import feature_coords, register_features
from ..data.features import ItemFeatures, item_features, warn_of_numbers
from ..data.raters import (
    BIASES,
    NO_GROUP,
    Groups,
    SharingGroups,
    rater_groups,
    refuse_reserved_attributes,
    sharing_groups,
)
from ..data.scores import Scores
from .observed import (
    observed_scores,
    register_bounds,
    require_identified_raters,
    score_scale,
    typical_location_and_spread,
)

__all__ = ["hierarchical_scores"]


class Standardised(Transform):
    """Transform of a normal random variable: minus its mean, divided by its standard deviation.

        x ~ Normal(m, s^2),    z = (x - m) / s

    In x gradient samplers meet a funnel where the spread s of a population is sampled too and may be near
    zero; z is standard normal whatever m and s. The distribution of x is unchanged.

    Reference: Papaspiliopoulos, Roberts and Sköld (2007), A general framework for the parametrization of
    hierarchical models, Statistical Science 22(1), doi:10.1214/088342307000000014.
    """

    name = "standardised"
    ndim_supp = 0

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable in standard units."""
        _, _, mean, sd = inputs
        return (value - mean) / sd

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable."""
        _, _, mean, sd = inputs
        return mean + sd * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the standard deviation, for each value."""
        return pt.zeros_like(value) + cast(Any, pt.log(inputs[-1]))


class EffectDirections(Transform):
    """Transform of the effects of features: effects along the principal axes, in posterior units.

        w = V diag(u) z,    u_k = (1 / s^2 + l_k / v)^(-1/2),    X'X = V diag(l) V'

    l_k / v is the information about the effect along axis k if locations are known up to the variance v, that of typical scores.
    So z has a standard deviation of about one, whatever the scale s and however columns correlate. The distribution of w is
    unchanged.

    Reference: Papaspiliopoulos, Roberts and Sköld (2007), A general framework for the parametrization of
    hierarchical models, Statistical Science 22(1), doi:10.1214/088342307000000014.
    """

    name = "directions"
    ndim_supp = 0

    def __init__(self, features: np.ndarray, variance: float) -> None:
        information, self._axes = np.linalg.eigh(features.T @ features)
        self._information = np.maximum(information, 0.0) / variance

    def _unit(self, inputs: tuple[Any, ...]) -> Any:
        """Return u (axis,), given the inputs of the random variable: the scale is the last."""
        return (1 / inputs[-1] ** 2 + self._information) ** -0.5

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the coordinates z (axis,)."""
        return rows_times(value, self._axes) / self._unit(inputs)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the effects w (feature,)."""
        return rows_times(self._unit(inputs) * value, self._axes.T)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the unit of each axis; rotations have the determinant one."""
        return pt.zeros_like(value) + cast(Any, pt.log(self._unit(inputs)))


@recorded
@documented(features=FEATURES_OF_SCORES)
def hierarchical_scores(
    scores: Scores,
    *,
    group: str | None = None,
    mean: Number | None = None,
    spread: Number | None = None,
    groups: Groups = None,
    independent: str | Collection[Any] = (),
    features: Any = None,
    slopes: Literal["rater"] | None = None,
) -> pm.Model:
    """Build the hierarchical model of scores: rater biases and scales, and item locations, from populations.

    Generative law, for item i, rater k and each score a of rater k of item i:

        m         ~ Normal(m0, (4 s0)^2)                         location of the population of items
        tau       ~ HalfNormal(2 s0)                             spread of the items
        mu_i      ~ Normal(m, tau^2)
        omega     ~ HalfNormal(s0)                               spread of the biases
        b_k       ~ Normal(0, omega^2)
        nu        ~ Gamma(2, 1/4)                                shape: the larger, the more alike the scales
        v         ~ InverseGamma(2, s0^2 / 2)                    usual variance
        sigma2_k  ~ InverseGamma(nu, (nu + 1) v)                 with mode v
        y_a       ~ Normal(mu_i + b_k, sigma2_k)

    and with groups g(k) of raters, such as people and language models, each with its own bias and usual
    variance:

        beta      ~ ZeroSumNormal(s0)                            bias of every group
        b_k       ~ Normal(beta_g(k), omega^2)
        v_g       ~ InverseGamma(2, s0^2 / 2)
        sigma2_k  ~ InverseGamma(nu, (nu + 1) v_g(k))

    and with groups g(k) whose raters share a bias on each item (``groups=``), which independent raters lack:

        phi_g     ~ HalfNormal(s0)                               spread of the shared biases
        delta_gi  ~ Normal(0, phi_g^2)
        y_a       ~ Normal(mu_i + b_k + delta_g(k),i, sigma2_k)

    and with features x of the items, standardised, a regression of the locations:

        s         ~ HalfNormal(s0)                               scale of the effects
        w_f       ~ Normal(0, s^2)                               effect of feature f
        mu_i      ~ Normal(m + x_i w, tau^2)

    and where each rater stretches the scale in their own way (``slopes="rater"``), about the middle m0:

        psi       ~ HalfNormal(1/2)                              spread of the slopes
        s_k       ~ Normal(1, psi^2)                             above 1: uses more of the scale than usual
        y_a       ~ Normal(m0 + s_k (mu_i - m0) + b_k, sigma2_k)

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    mu                    location              item
    b                     rater_bias            rater
    sigma2                rater_variance        rater
    sigma                 rater_scale           rater
    m                     location_mean         scalar
    tau                   location_spread       scalar
    omega                 bias_spread           scalar
    beta                  group_bias            group_of_raters
    v                     usual_variance        scalar, or group_of_raters
    nu                    variance_shape        scalar
    delta                 shared_bias           group_of_raters, item
    phi                   shared_bias_spread    group_of_raters
    w                     feature_effect        feature
    s                     feature_scale         scalar
    s_k                   rater_slope           rater
    psi                   slope_spread          scalar
    y                     observed_score        annotation
    m0, s0                mean=, spread=        arguments
    ====================  ====================  =================================

    The likelihood does not identify a shift of all locations against all biases. The biases are centred in
    their population, not among the observed raters: a location is the score of the item by the population
    (groups of equal weight), and its uncertainty has a common part, of variance about omega^2 / K for K
    raters, that more items do not reduce.

    The posterior is proper for any scores, even if all are equal: the priors keep each variance from falling
    far below v, and v far below s0^2. With a Gamma prior of v, or the rate nu v, they could fall to zero.

    Parameters
    ----------
    scores : Scores
        Scores of identified raters (not anonymous).
    group : str, optional
        Attribute of the raters that names their group, such as ``"kind"``; by default one population.
    mean : float or random variable, optional
        Prior centre m0 of the scores; by default the middle of the bounds or, without them, the mean score.
    spread : float or random variable, optional
        Usual spread s0 of the scores of an item, the unit of all priors; by default a sixth of the distance
        between the bounds or, without bounds, the root of half the variance of all scores.
    groups : str, mapping or sequence, optional
        Group of every rater, of whom those of one group share a bias on each item, such as twenty calls of one language
        model: the name of a rater attribute, such as ``"kind"``; or ``{rater: group}``; or groups in the order of
        ``scores.raters``. Sampled by NUTS. By default no raters share one. Not together with `group`.
    independent : str or collection of str
        Groups whose raters share no bias, such as ``("person",)``.
    {features}
    slopes : {"rater"}, optional
        Whether raters differ in how much of the scale they use, by a slope each; by default all slopes are one.

    Returns
    -------
    pymc.Model
        Variables of the table, those of groups and features only with these; the log likelihood of ``observed_score`` is
        pointwise by annotation, and a score that a rater gave n times is n annotations.

    Raises
    ------
    ValueError
        If the raters are anonymous, a prior is out of range, equal scores without bounds leave no default, or a rater has
        no group.
    DataError
        If there are no scores, the attribute does not exist, or an item has no features.

    Warns
    -----
    DataWarning
        If no item has two scores: the posterior of the spread of an item's scores repeats the prior. If a group that
        shares a bias has a single rater without repeated scores: it counts as independent. If all raters are of one.

    Notes
    -----
    Without bounds the priors are wide on the scale of the mean and variance of all scores. Prefer the Gibbs
    sampler, which draws each spread with its variables integrated out. NUTS samples locations and biases in
    units of their populations (`Standardised`), as their spreads may be near zero, and effects of features in
    units of their posterior (`EffectDirections`).

    Examples
    --------
    >>> from raterzoo import models
    >>> scores = models.simulators.scores(items=5, raters=3, random_seed=1).data
    >>> model = models.hierarchical_scores(scores)
    >>> model.named_vars_to_dims["location"], model.named_vars_to_dims["rater_bias"]
    (('item',), ('rater',))

    References
    ----------
    Papaspiliopoulos, Roberts and Zanella (2020), Scalable inference for crossed random effects models,
    Biometrika 107(1), doi:10.1093/biomet/asz058 (the sampler). Gelman (2006), Prior distributions for
    variance parameters in hierarchical models, Bayesian Analysis 1, doi:10.1214/06-BA117A (spreads).
    """
    if slopes not in (None, "rater"):
        raise ValueError(f"slopes={slopes!r} is not one of None, 'rater'")
    middle, unit = score_scale(require_identified_raters(scores, "hierarchical_scores"), mean, spread)
    of_items = None if features is None else _read_features(scores, features)
    refuse_reserved_attributes(scores.rater_attributes, ("bias", "scale", "variance", "slope"))
    coords, item, rater, score = observed_scores(scores)
    of_rater = None
    if group is not None:
        names, of_rater = rater_groups(scores.raters, scores.rater_attributes, group)
        coords["group_of_raters"] = names
        if len(names) < 2:
            raise ValueError(f"group={group!r}: all raters are {names[0].item()!r}; leave it out")
    sharing = _sharing(scores, group, groups, independent)
    if sharing is not None:
        coords["group_of_raters"] = sharing.names
    coords |= feature_coords(of_items)
    with annotation_model(coords) as model:
        code = pm.Data("annotation_item", item, dims="annotation")
        who = pm.Data("annotation_rater", rater, dims="annotation")
        register_bounds(scores)
        location = _locations(middle, unit, of_items, typical_location_and_spread(scores)[1] ** 2 or 1.0)
        bias, variance = _raters(unit, of_rater)
        scale = pm.Deterministic("rater_scale", pt.sqrt(variance), dims="rater")
        seen: Any = location[code]
        if slopes is not None:
            seen = middle + _slopes()[who] * (seen - middle)
        expected = seen + bias[who]
        if sharing is not None:
            expected += _shared_bias(unit, sharing, item, rater)
        pm.Normal(
            "observed_score", expected, cast(TensorVariable, scale)[who], observed=score, dims="annotation"
        )
    return model


def _read_features(scores: Scores, features: Any) -> ItemFeatures:
    """Return the standardised features of the items; warns of those that repeat the mean scores."""
    found = item_features(features, scores.items)
    count, total = (
        np.bincount(scores.annotation_item, weight, len(scores.items))
        for weight in (scores.count, scores.count * scores.score)
    )
    warn_of_numbers(found, np.where(count > 0, total / np.maximum(count, 1), np.nan))
    return found


def _sharing(
    scores: Scores, group: str | None, groups: Groups, independent: str | Collection[Any]
) -> SharingGroups | None:
    """Return the groups whose raters share biases on items, None if none are named; raises ValueError."""
    if groups is None:
        if len(independent) > 0:
            raise ValueError(
                "independent= is about groups of raters who share a bias; name them with groups="
            )
        return None
    if group is not None:
        raise ValueError(
            "group= is about groups with a bias on all items, and groups= about those with one on each; leave one of them out"
        )
    pair = np.stack([scores.annotation_item, scores.annotation_rater])
    repeated = scores.count.max() > 1 or np.unique(pair, axis=1).shape[1] < pair.shape[1]
    return sharing_groups(scores, groups, independent, BIASES._replace(fewest=1) if repeated else BIASES)


def _shared_bias(unit: Any, sharing: SharingGroups, item: np.ndarray, rater: np.ndarray) -> Any:
    """Register the biases that groups share on items; return that of each score, 0 of independent raters.

    Shapes: item, rater and result (score,).
    """
    dims = ("group_of_raters", "item")
    pm.Data("sharing_group", sharing.group, dims="rater")
    spread: Any = pm.HalfNormal("shared_bias_spread", unit, dims=dims[0])
    shared: Any = pm.Normal("shared_bias", 0.0, spread[:, None], dims=dims, transform=Standardised())
    group = sharing.group[rater]
    return pt.where(group != NO_GROUP, shared[np.maximum(group, 0), item], 0.0)


def _locations(middle: Any, unit: Any, features: ItemFeatures | None, variance: float) -> TensorVariable:
    """Register the population of items, and a regression on their features; return the locations.

    `variance` is that of typical scores of an item, and chooses the coordinates of NUTS only.
    """
    centre: Any = pm.Normal("location_mean", middle, 4.0 * unit)
    spread = pm.HalfNormal("location_spread", 2.0 * unit)
    if features is not None:
        scale = pm.HalfNormal("feature_scale", unit)
        directions = EffectDirections(features.values, variance)
        effect = pm.Normal("feature_effect", 0.0, scale, dims="feature", transform=directions)
        centre += pt.dot(register_features(features), effect)
    return pm.Normal("location", centre, spread, dims="item", transform=Standardised())


def _slopes() -> Any:
    """Register the slopes of the raters; return them (rater,)."""
    spread = pm.HalfNormal("slope_spread", 0.5)
    return pm.Normal("rater_slope", 1.0, spread, dims="rater", transform=Standardised())


def _raters(unit: Any, of_rater: np.ndarray | None) -> tuple[TensorVariable, TensorVariable]:
    """Register the population or groups of raters; return biases and variances, both (rater,)."""
    spread = pm.HalfNormal("bias_spread", unit)
    shape = pm.Gamma("variance_shape", 2.0, 0.25)
    law = (np.float64(2.0), 0.5 * unit**2)
    if of_rater is None:
        mean, usual = 0.0, pm.InverseGamma("usual_variance", *law)
    else:
        of_group = pm.ZeroSumNormal("group_bias", sigma=unit, dims="group_of_raters")
        usual_of_group = pm.InverseGamma("usual_variance", *law, dims="group_of_raters")
        mean, usual = of_group[of_rater], usual_of_group[of_rater]
    bias = pm.Normal("rater_bias", mean, spread, dims="rater", transform=Standardised())
    variance = pm.InverseGamma("rater_variance", shape, (shape + 1.0) * usual, dims="rater")
    return bias, variance


SPEC = Spec(
    name="hierarchical_scores",
    data="scores",
    summary="Scores by raters with a bias and a scale of their own, from populations or groups of raters",
    methods=("gibbs", "nuts"),
    reference="Papaspiliopoulos et al. 2020, doi:10.1093/biomet/asz058",
    options=("group", "groups", "independent", "features"),
    studies={
        "named raters, who may be strict or lax, precise or not": "",
        "people beside language models as judges": "with `groups` ([how](shared_tastes.md))",
        "few scores an item, and an embedding or other numbers of each": "with `features` ([how](recipes/features.md))",
    },
    assumes=(
        "Scores scatter normally about the item's location plus the rater's bias, by the rater's scale; "
        "locations, biases and scales come from populations."
    ),
    needs="Named raters, each with several scores; items scored by different raters.",
    fails=(
        "Scores heap at the ends of the scale or have few levels (ordinal); raters share a bias and it is "
        "not said (groups=)."
    ),
)
