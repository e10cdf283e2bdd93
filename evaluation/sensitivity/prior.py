"""Prior sensitivity by power scaling, item by item."""

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Block, Plausibility
from ...posterior.schema import reliability_is
from ...posterior.top_labels import OtherAs, TopLabels, treatment_of_other
from .densities import ItemDensities, reliability_of
from .reweighting import pareto_smoothed, relative_tail_ess

Distance = Literal["mean", "cjs"]
SCALED = (0.8, 1.25)  # powers at which means are reported
NEARBY = (0.99, 1.01)  # powers of the finite difference of CJS, as in ArviZ
COMPONENTS = ["prior", "likelihood"]
CONFLICT = "potential prior-data conflict"
WEAK = "potential strong prior / weak likelihood"
FINE = "✓"
ITEMS = 128  # scaled at once: their densities and weights are in double precision


def prior_sensitivity(
    tree: xr.DataTree,
    quantity: xr.DataArray | None = None,
    *,
    distance: Distance | None = None,
    threshold: float = 0.05,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return how strongly a quantity of each item depends on its prior and on its likelihood.

    Power scaling: for item i with prior p and likelihood L, the posteriors proportional to

        p ** alpha  L          (component "prior")
        p  L ** alpha          (component "likelihood")

    are reached from the draws by the importance weights p ** (alpha - 1) or L ** (alpha - 1). L is the
    likelihood of the model, at its reliability. Each item has its own weights: a log weight of all items
    together is a sum over items, in which that of a single item drowns.

    The slope of the mean of a quantity q at alpha = 1 needs no weights:

        d E[q] / d log2 alpha = ln 2 Cov(q, log component)

    Power scaling depends on the parameters whose density the prior is: here the plausibilities, wherever the
    tree allows it. A flat Dirichlet(1) does not change; Dirichlet(c) becomes Dirichlet(1 + alpha (c - 1)),
    for c < 1 and alpha > 1 sparser, and improper from alpha = 1 / (1 - c) on: Pareto k then exceeds .7.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``log_likelihood`` at power one and ``log_prior``; items share no parameters.
    quantity : DataArray (chain, draw, item), optional
        Quantity of interest, such as ``uncertainty_adjusted(..., reduce=None)``. By default the indicator
        that a draw has the item's most frequent top-1 label; its mean is the annotation certainty.
    distance : {"mean", "cjs"}, optional
        Measure of change, per doubling of alpha. "mean": absolute change of the mean, in the unit of
        `quantity`. "cjs": ArviZ's cumulative Jensen-Shannon distance. By default "mean" for quantities that
        are only 0 or 1, whose CJS distance is the relative change of the rarer value; "cjs" for others.
    threshold : float
        Sensitivity from which on the diagnosis reports it; in the unit of `distance`.
    other : {"split", "exclude", "label"}, optional
        Treatment of OTHER in the default quantity; default as stored in the tree.
    random_seed : int or numpy.random.Generator, optional
        Seed of the members of OTHER in the default quantity, if it is split.

    Returns
    -------
    Dataset
        ``prior`` and ``likelihood`` (item): sensitivities. ``diagnosis`` (item), in ArviZ's words.
        ``gradient`` (component, item): signed slope of the mean by log2 alpha, with its Monte-Carlo error
        ``gradient_mcse``. ``total_gradient`` and ``total_gradient_mcse`` (component): the same of the mean
        over items, which are independent. ``mean`` (component, alpha, item) at alpha .8, 1 and 1.25.
        ``pareto_k`` (component, item), the larger of both alphas: above .7 the means are unreliable.
        Attributes: quantity, distance, threshold, ``prior_of`` (parameters of the prior density).

    Raises
    ------
    EvaluationError
        If a density is missing, items share parameters, or `quantity` does not match the posterior.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> labels = models.simulators.labels(items=5, raters=8, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> found = evaluation.prior_sensitivity(tree, random_seed=1)
    >>> found["mean"].dims, found.attrs["distance"]
    (('component', 'alpha', 'item'), 'mean')

    References
    ----------
    Kallioinen et al. (2024), Detecting and diagnosing prior and likelihood sensitivity with power-scaling,
    Statistics and Computing 34, 57, doi:10.1007/s11222-023-10366-5.
    """
    return sensitivity_of(
        tree, quantity, distance=distance, threshold=threshold, other=other, random_seed=random_seed
    )


def sensitivity_of(
    tree: xr.DataTree,
    quantity: xr.DataArray | None = None,
    *,
    distance: Distance | None = None,
    threshold: float = 0.05,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
    weighted: Sequence[str] = COMPONENTS,
    densities: ItemDensities | None = None,
) -> xr.Dataset:
    """Return the result of `prior_sensitivity`, with means at other powers and Pareto k of the `weighted` components alone.

    The weights take most of the time, and slopes of the mean need none. Of the other components means and Pareto k are NaN.
    `densities` are those of the tree, where more than one result needs them.
    """
    if distance is not None and distance not in get_args(Distance):
        raise EvaluationError(f"distance={distance!r}: expected one of {get_args(Distance)} or None")
    if not threshold > 0:
        raise EvaluationError(f"threshold={threshold!r}: expected a positive number")
    densities = densities or ItemDensities.of(tree)
    view = densities.view
    prior, of_plausibility = densities.prior
    power = reliability_of(tree)
    tempered = reliability_is(tree.attrs) == "exponent"  # the power is inside the law
    likelihood = densities.likelihood_at(1.0 if power is None or tempered else power)
    name, values = _quantity(view, quantity, other, random_seed)
    if distance is None:
        distance = "mean" if np.isin(values, (0, 1)).all() else "cjs"
    # a log prior with a tail of equal values was cut off when it was stored; a likelihood is bounded
    parts = [
        _component(view, density, values, distance, tied if component in weighted else None)
        for component, density, tied in zip(
            COMPONENTS, (prior.__getitem__, likelihood), (np.inf, -np.inf), strict=True
        )
    ]
    found = xr.concat(parts, xr.DataArray(COMPONENTS, dims="component", name="component"))
    sensitivity = found["sensitivity"]
    result = found.drop_vars("sensitivity").assign(
        prior=sensitivity.sel(component="prior", drop=True),
        likelihood=sensitivity.sel(component="likelihood", drop=True),
        total_gradient=found["gradient"].mean("item"),
        total_gradient_mcse=np.sqrt((found["gradient_mcse"] ** 2).sum("item")) / len(view.items),
    )
    result["diagnosis"] = _diagnosis(result["prior"], result["likelihood"], threshold)
    return result.assign_attrs(
        quantity=name,
        distance=distance,
        threshold=threshold,
        prior_of="plausibility" if of_plausibility else "the parameters as stored in log_prior",
    )


def _component(
    view: Plausibility,
    density: Callable[[slice], np.ndarray],
    values: np.ndarray,
    distance: Distance,
    tied: float | None,
) -> xr.Dataset:
    """Return the effect on values (item, sample) of power scaling log densities, (item, sample) of some items.

    `tied` as in `pareto_smoothed`; None leaves out means at other powers and Pareto k.
    """
    blocks = (slice(first, first + ITEMS) for first in range(0, len(values), ITEMS))
    found = [_effects(view, density(own), values[own].astype(float), distance, tied) for own in blocks]
    effects = {name: np.concatenate([own[name] for own in found], axis=-1) for name in found[0]}
    dims = {"mean": ("alpha", "item")}
    return xr.Dataset(
        {name: (dims.get(name, ("item",)), effect) for name, effect in effects.items()},
        {"item": view.items, "alpha": [SCALED[0], 1.0, SCALED[1]]},
    )


def _effects(
    view: Plausibility, density: np.ndarray, values: np.ndarray, distance: Distance, tied: float | None
) -> dict[str, np.ndarray]:
    """Return the arrays (item,) of `_component` and means (alpha, item), of log densities and values (item, sample)."""
    none = np.full(len(values), np.nan)
    means, k = [none, none], none
    needs_weights = tied is not None or distance == "cjs"
    relative_ess = relative_tail_ess(density) if needs_weights else none
    if tied is not None:
        scaled = [pareto_smoothed((alpha - 1) * density, relative_ess, tied=tied) for alpha in SCALED]
        means = [np.einsum("is,is->i", weights, values) for weights, _ in scaled]
        k = np.maximum(scaled[0][1], scaled[1][1])
    value, log_density = (array - array.mean(axis=1, keepdims=True) for array in (values, density))
    influence = np.log(2) * value * log_density
    gradient = influence.mean(axis=1)
    change = np.abs(gradient) if distance == "mean" else _cjs_sensitivity(density, values, relative_ess)
    return {
        "sensitivity": change,
        "gradient": gradient,
        "gradient_mcse": _mcse(view.unstack(influence)),
        "mean": np.array([means[0], values.mean(axis=1), means[1]]),
        "pareto_k": k,
    }


def _cjs_sensitivity(density: np.ndarray, values: np.ndarray, relative_ess: np.ndarray) -> np.ndarray:
    """Return ArviZ's CJS sensitivity (item,); 0 where a quantity is constant."""
    lower, upper = (pareto_smoothed((alpha - 1) * density, relative_ess)[0] for alpha in NEARBY)
    change = np.zeros(len(values))
    moving = np.ptp(values, axis=1) > 0
    if moving.any():
        change[moving] = array_stats.power_scale_sense(
            values[moving, None], lower[moving, None], upper[moving, None], *NEARBY
        )
    return change


def _mcse(influence: np.ndarray) -> np.ndarray:
    """Return the Monte-Carlo error (item,) of the mean of draws ([chain, ]draw, item); 0 if constant."""
    draws = influence.reshape(-1, *influence.shape[-2:]) if influence.ndim > 2 else influence[None]
    error = np.zeros(draws.shape[-1])
    moving = np.ptp(draws, axis=(0, 1)) > 0
    if moving.any():
        error[moving] = array_stats.mcse(draws[..., moving], chain_axis=0, draw_axis=1, method="mean")
    return error


def _quantity(
    view: Plausibility,
    quantity: xr.DataArray | None,
    other: OtherAs | None,
    random_seed: int | np.random.Generator | None,
) -> tuple[str, np.ndarray]:
    """Return the name and the values (item, sample) of the quantity of interest, in their own precision."""
    if quantity is None:
        labels = TopLabels(view, treatment_of_other(view, other))

        def leads(block: Block, rng: np.random.Generator) -> np.ndarray:
            codes = labels.draw(block, 1, rng)[0]
            most = np.array([np.bincount(row + 1).argmax() - 1 for row in codes])
            return codes == most[:, None]

        return "annotation_certainty", np.concatenate(view.map_blocks(leads, random_seed))
    _check_quantity(view, quantity)
    if "item" in quantity.coords:
        order = {str(item): i for i, item in enumerate(quantity["item"].to_numpy())}
        quantity = quantity.isel(item=[order[str(item)] for item in view.items])
    values = quantity.transpose(*view.sample_dims, "item").to_numpy().reshape(view.n_samples, -1)
    values = values.T
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        raise EvaluationError(f"quantity of item {view.items[np.argmax(bad)]!s} is not finite in every draw")
    return str(quantity.name or "quantity"), values


def _check_quantity(view: Plausibility, quantity: xr.DataArray) -> None:
    """Raise unless a quantity has the draws and items of the posterior."""
    needed = (*view.sample_dims, "item")
    if not isinstance(quantity, xr.DataArray) or set(quantity.dims) != set(needed):
        found = getattr(quantity, "dims", type(quantity).__name__)
        raise EvaluationError(
            f"quantity has dims {found}: expected a DataArray of {needed}; pass reduce=None to uncertainty_adjusted, "
            "and pick one classifier by .sel(classifier=)"
        )
    expected = {d: view.array.sizes[d] for d in view.sample_dims}
    if any(quantity.sizes[d] != n for d, n in expected.items()):
        raise EvaluationError(f"quantity has draws {dict(quantity.sizes)}, the posterior {expected}")
    if "item" not in quantity.coords and quantity.sizes["item"] != len(view.items):
        raise EvaluationError(
            f"quantity has {quantity.sizes['item']} items without names, the posterior {len(view.items)}: give it the "
            "coordinate item, or as many items"
        )
    if "item" in quantity.coords:
        given = [str(item) for item in quantity["item"].to_numpy()]
        wanted = [str(item) for item in view.items]
        unlike = set(given) ^ set(wanted) or {i for i in given if given.count(i) > 1}
        if unlike:
            raise EvaluationError(
                f"quantity has {len(given)} items, the posterior {len(wanted)}: {min(unlike)!r} must be in both exactly once"
            )


def _diagnosis(prior: xr.DataArray, likelihood: xr.DataArray, threshold: float) -> xr.DataArray:
    """Return ArviZ's diagnosis (item,) of two sensitivities."""
    weak = np.where((prior > threshold) & (likelihood < threshold), WEAK, FINE)
    words = np.where((prior >= threshold) & (likelihood >= threshold), CONFLICT, weak)
    return xr.DataArray(words, dict(prior.coords), ("item",))
