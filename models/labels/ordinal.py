"""Ordinal model of labels: each rater cuts the item's location on a scale at their own thresholds."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform

from ...posterior.ordered import ordered_categories
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_array
from ..data.labels import Labels
from ..data.reading.columns import distinct_ids, match_ids
from .item_effects import Nodes, check_size, most_answers, normal_nodes, observe_state_labels
from .observed import coords_of, require_labels

__all__ = ["ordinal"]

OF_AN_ANSWER = 1.0  # variance of a threshold, or of a log scale, known by one answer
SCALE, SCALE_SD, INCREMENT_SD = 0.55, 0.5, 0.75  # at .55 answers vary as much as items do


class PartlyCentred(Transform):
    """Transform of values x_k of raters about the mean m of their population, with standard deviation t, in posterior units.

        x_k = u_k z_k + (u_k / t)^2 m,    u_k = (1 / t^2 + n_k / V)^(-1/2)

    n_k / V is about the information in n_k answers. So z is x for raters of many answers, and (x - m) / t for those of few:
    samplers meet neither the funnel of a small t nor the ridge of m and all x. The distribution of x is unchanged.

    Reference: Papaspiliopoulos, Roberts and Sköld (2007), A general framework for the parametrization of
    hierarchical models, Statistical Science 22(1), doi:10.1214/088342307000000014.
    """

    name = "informed"  # no underscore: PyMC finds the variable by the name before it
    ndim_supp = 0

    def __init__(self, answers: np.ndarray) -> None:
        self._information = answers / OF_AN_ANSWER

    def _unit_and_start(self, inputs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return u and (u / t)^2 m (rater,), given mean and standard deviation, the last inputs of the random variable."""
        *_, mean, sd = inputs
        share = 1 / (1 + self._information * sd**2)
        return sd * pt.sqrt(share), share * mean

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the coordinates z (rater,)."""
        unit, start = self._unit_and_start(inputs)
        return (value - start) / unit

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the values x (rater,)."""
        unit, start = self._unit_and_start(inputs)
        return start + unit * value

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log of the unit of each value."""
        return pt.zeros_like(value) + cast(Any, pt.log(self._unit_and_start(inputs)[0]))


@recorded
def ordinal(
    labels: Labels,
    *,
    order: Sequence[Any] | np.ndarray | None = None,
    spread: Number = 0.5,
    nodes: int | None = None,
) -> pm.Model:
    """Build the ordinal model: each rater cuts the item's location on a latent scale at their own thresholds.

    Generative law, for item i, rater k and each answer a of rater k to item i, with labels 1 < ... < L:

        theta_i     ~ Normal(0, 1)                               summed out over nodes
        c_l         = m + e_1 + ... + e_{l-1} - mean             population thresholds, l = 1 ... L - 1
        m           ~ Normal(0, 1),  log e_l ~ Normal(log of the equal spacing, .75)
        b_k         ~ Normal(0, tau),  tau ~ HalfNormal(t)       shift of all thresholds of rater k
        log s_k     ~ Normal(log s, sigma),  sigma ~ HalfNormal(t)
        log s       ~ Normal(log .55, .5)
        p(y_a <= l) = logistic((c_l + b_k - theta_i) / s_k)

    ====================  =====================  =================================
    symbol                variable               dims
    ====================  =====================  =================================
    m                     centre                 scalar
    log e                 log_increment          increment
    c                     threshold              cut
    log s, s              log_scale, scale       scalar
    tau                   shift_spread           scalar
    sigma                 scale_spread           scalar
    m + b                 rater_centre           rater
    log s_k               rater_log_scale        rater
    b / tau               shift_deviation        rater
    log(s_k / s) / sigma  scale_deviation        rater
    b                     rater_shift            rater
    s_k                   rater_scale            rater
    p(typical label)      prevalence             category
    p(... | ..., y)       plausibility           item, category
    E[theta | ..., y]     expected_location      item
    y                     observed_label         annotation
    t                     spread=                argument
    ====================  =====================  =================================

    The truth about an item, and a gold label, is the answer of a typical rater, one with the population's
    thresholds and scale. The plausibility is its probability given parameters and answers, with the item's
    location summed out; its attribute ``truth`` is "category". An item between two labels stays uncertain
    however many raters answer; ``expected_location`` tells where it lies.

    Parameters
    ----------
    labels : Labels
        Labels. Anonymous raters share thresholds and scale.
    order : sequence, optional
        All categories from lowest to highest; required for text, but for words of common scales, such as low, medium, high.
        Integers are in numeric order by default.
    spread : float or random variable, default .5
        Scale t of the priors of shift_spread (items have standard deviation 1) and scale_spread.
    nodes : int, optional
        Quadrature nodes of the location. The default, about 110 for items of five answers and 230 for thirty,
        keeps the relative error of an item's likelihood below 1e-8 for scales from .25.

    Returns
    -------
    pymc.Model
        Variables of the table, those of raters unless they are anonymous; the log likelihood of
        ``observed_label`` is pointwise by item with its location summed out.

    Raises
    ------
    ValueError
        If text has no `order`, `order` does not hold each category once, `spread` or `nodes` is out of range,
        or the table of probabilities would not fit into memory.

    Warns
    -----
    DataWarning
        If no item has two answers (or one and a gold label): the posterior of the raters repeats their prior.

    Examples
    --------
    >>> from raterzoo import models
    >>> labels = models.simulators.labels(model="ordinal", items=20, random_seed=1).data
    >>> model = models.ordinal(labels)
    >>> model.named_vars_to_dims["threshold"], model.coords["cut"]
    (('cut',), ('0|1', '1|2'))

    References
    ----------
    Samejima (1969), Estimation of latent ability using a response pattern of graded scores, Psychometrika
    monograph 17 (the graded response model); Johnson (1996), On Bayesian analysis of multirater ordinal data,
    JASA 91(433), doi:10.1080/01621459.1996.10476661 (raters with thresholds of their own).
    """
    require_labels(labels)
    place, n = _places(labels.categories, order), len(labels.categories)
    t = prior_array("spread", spread, ())
    grid = normal_nodes(1, 2 * most_answers(labels), nodes)  # a label between two has two factors
    n_blocks = n if (labels.gold >= 0).any() else 1
    check_size(labels, max(len(labels.raters), 1), n_blocks * len(grid.weight))
    names = _threshold_names(labels.categories[np.argsort(place)])
    with annotation_model(coords_of(labels, ("scale", "shift")) | names) as model:
        pm.Data("node_location", grid.point[:, 0])
        pm.Data("label_place", place, dims="category")
        threshold, scale, of_raters = _population(n)
        typical = cast(Any, pt.exp(_log_label_probability(threshold[None], scale[None], grid)[0][:, place].T))
        own = threshold[None], scale[None]
        if len(labels.raters):
            answers = np.bincount(labels.annotation_rater, labels.count, len(labels.raters))
            own = _raters(threshold, scale, t, (*of_raters, answers))
        log_confusion = _log_label_probability(*own, grid)[:, :, place]
        shared = None if len(labels.raters) else np.zeros(len(labels.annotation_rater), np.int64)
        _observe(labels, typical, log_confusion, grid, shared)
    return model


def _places(categories: np.ndarray, order: Any) -> np.ndarray:
    """Return the place of each category on the scale, from 0 for the lowest."""
    names = categories.tolist()
    if order is None:
        order = ordered_categories(categories)
    if order is None:
        if not np.issubdtype(categories.dtype, np.integer):
            raise ValueError(
                f"the labels are text, whose order is not known; give it from lowest to highest, such as order={names!r}"
            )
        return np.argsort(np.argsort(categories))
    asked = distinct_ids("order", order)
    place = match_ids(categories, asked, "order")
    if len(asked) != len(names) or (place < 0).any():
        raise ValueError(
            f"order={asked.tolist()!r} must hold each of the {len(names)} categories once: {names!r}"
        )
    return place


def _threshold_names(ordered: np.ndarray) -> dict[str, list[str]]:
    """Return the coordinates of thresholds (dim cut) and of the gaps between them (dim increment)."""
    names = [f"{low}|{high}" for low, high in pairwise(ordered.tolist())]
    between = ordered[1:-1].tolist()
    return {"cut": names, "increment": [str(label) for label in between]}


def _population(n: int) -> tuple[Any, Any, tuple[Any, Any]]:
    """Register and return thresholds and scale of the population, and its centre and log scale.

    A priori all labels are about equally frequent.
    """
    quantile = NormalDist(0, math.hypot(1, SCALE * math.pi / math.sqrt(3))).inv_cdf
    spacing = np.diff([quantile(place / n) for place in range(1, n)])
    centre = cast(Any, pm.Normal("centre", 0, 1))
    steps: Any = pt.zeros(1)
    if n > 2:
        log_increment = pm.Normal("log_increment", np.log(spacing), INCREMENT_SD, dims="increment")
        steps = pt.concatenate([steps, pt.cumsum(pt.exp(log_increment))])
    threshold = pm.Deterministic("threshold", centre + steps - steps.mean(), dims="cut")
    log_scale = pm.Normal("log_scale", math.log(SCALE), SCALE_SD)
    return threshold, pm.Deterministic("scale", pt.exp(log_scale)), (centre, log_scale)


def _raters(threshold: Any, scale: Any, t: Any, typical: tuple[Any, Any, np.ndarray]) -> tuple[Any, Any]:
    """Register shifts and scales of the raters; return thresholds (rater, cut) and scales (rater,).

    `typical` holds centre and log scale of the population, and the number of answers of each rater (rater,).
    """
    centre, log_scale, answers = typical
    shift_spread = pm.HalfNormal("shift_spread", t)
    scale_spread = pm.HalfNormal("scale_spread", t)
    informed = PartlyCentred(answers)
    at = cast(Any, pm.Normal("rater_centre", centre, shift_spread, dims="rater", transform=informed))
    wider = cast(Any, pm.Normal("rater_log_scale", log_scale, scale_spread, dims="rater", transform=informed))
    shift = at - centre
    pm.Deterministic("shift_deviation", shift / shift_spread, dims="rater")
    pm.Deterministic("scale_deviation", (wider - log_scale) / scale_spread, dims="rater")
    pm.Deterministic("rater_shift", shift, dims="rater")
    own = pm.Deterministic("rater_scale", pt.exp(wider), dims="rater")
    return threshold + shift[:, None], own


def _log_label_probability(threshold: Any, scale: Any, grid: Nodes) -> Any:
    """Return the log probability of each label, from lowest to highest, at each node.

    Shapes: threshold (rater, cut); scale (rater,); result (rater, node, label).
    """
    u = (threshold[:, None] - grid.point) / scale[:, None, None]
    # log logistic(u) and log logistic(-u): probabilities of raters of tiny scale underflow
    below, above = -cast(Any, pt.softplus(-u)), -cast(Any, pt.softplus(u))
    # logistic(b) - logistic(a) = logistic(b) logistic(-a) (1 - exp(a - b)): no cancellation
    between = below[..., 1:] + above[..., :-1] + cast(Any, pt.log1mexp(u[..., :-1] - u[..., 1:]))
    return pt.concatenate([below[..., :1], between, above[..., -1:]], axis=-1)


def _observe(labels: Labels, typical: Any, log_confusion: Any, grid: Nodes, rater: np.ndarray | None) -> None:
    """Register the answers, the prevalence, and the plausibility and expected location of each item.

    Without gold labels the typical rater's label needs no states of its own: it follows from the location.
    """
    n, nodes = len(labels.categories), len(grid.weight)
    joint = typical * grid.weight
    pm.Deterministic("prevalence", joint.sum(axis=1), dims="category")
    if (labels.gold >= 0).any():
        by_state = cast(Any, pt.exp(pt.tile(log_confusion, (1, n, 1))))
        state, distinct_index = observe_state_labels(
            labels, joint.reshape((n * nodes,)), by_state, nodes, rater
        )
        state = state.reshape((-1, n, nodes))
        plausibility, location = state.sum(axis=2), state.sum(axis=1)
    else:
        weight, confusion = pt.as_tensor(grid.weight), cast(Any, pt.exp(log_confusion))
        location, distinct_index = observe_state_labels(labels, weight, confusion, nodes, rater)
        plausibility = location @ typical.T
    pm.Deterministic("plausibility", plausibility[distinct_index], dims=("item", "category"))
    pm.Deterministic("expected_location", (location @ grid.point[:, 0])[distinct_index], dims="item")


SPEC = Spec(
    name="ordinal",
    data="labels",
    summary="Ordered labels, cut from the item's place on a scale by thresholds and scale of each rater",
    methods=("gibbs", "nuts"),
    reference="Samejima 1969 (graded response); raters: Johnson 1996, doi:10.1080/01621459.1996.10476661",
    needs_order=True,
    nuts_options={"target_accept": 0.9},  # spreads are small where raters hardly differ
    marks=("threshold",),
    shared_errors="items",
    studies={"categories in order, such as low, middle, high": ""},
    assumes=(
        "Categories have an order. Each item has a place on a scale, which each rater cuts at thresholds "
        "of their own, with more or less noise."
    ),
    needs="An order of the categories; several answers to most items.",
    fails="Categories without an order, or raters who confuse the ends rather than neighbours.",
)
