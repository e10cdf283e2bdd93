"""Raters known from earlier studies: a mixture of what is known of each, and of what is believed without a history."""

from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..._messages import short_repr, warn_user
from ...posterior.matching import ids_of
from ..data.errors import DataError, DataWarning, refused_argument
from ..data.labels import Labels
from ..distributions.dirichlet_mixture import DirichletMixture
from .population import concentration_of_raters

# attribute and variables of the Dataset of `inference.rater_prior`
PRIOR_KIND, COUNTS, POPULATION_COUNTS = "rater_prior", "pseudo_count", "population"
WEIGHT, COMPONENT = "history_weight", "history"  # variable of a model, and its dim
KNOWN = "history_known"  # data of a model: whether a rater is known
COMPONENTS = ("rater", "rater, a tenth", "population", "none")
COMPONENT_PRIOR = np.array([0.5, 0.5, 0.5, 1.5])  # a history counts as much as none
TENTH = 0.1


def coords_of_history(raters: Any) -> dict[str, np.ndarray]:
    """Return the coordinate of the components, where there is a history."""
    return {} if raters is None else {COMPONENT: np.array(COMPONENTS)}


def confusion_of_raters(
    labels: Labels, concentration: Any, raters: Any, name: str = "confusion"
) -> tuple[TensorVariable, Any]:
    """Register matrices (rater, category, answer) under a name; return them, and their concentrations without a history.

    w       ~ Dirichlet(1/2, 1/2, 1/2, 3/2)
    pi_k    ~ sum_c w_c prod_j Dirichlet(b_ckj),    b_1 = h_k,  b_2 = .1 h_k + .9 g,  b_3 = g,  b_4 = beta_k

    with h_k the pseudo-counts of a known rater, g those of the population, which replace h_k for others, and beta_k the
    concentrations without a history.
    """
    n, dims = len(labels.categories), ("rater", "category", "answer")
    beta = concentration_of_raters(labels, concentration, (len(labels.raters), n, n))
    if raters is None:
        return cast(TensorVariable, pm.Dirichlet(name, beta, dims=dims)), beta
    own, population, known = known_counts(labels, raters)
    parts = [own, TENTH * own + (1 - TENTH) * population, np.broadcast_to(population, own.shape)]
    if isinstance(beta, np.ndarray | float):
        whole: Any = np.stack([*parts, np.broadcast_to(beta, own.shape)], axis=1)
    else:
        whole = pt.stack([*map(pt.as_tensor_variable, parts), pt.broadcast_to(beta, own.shape)], axis=1)
    weight = pm.Dirichlet(WEIGHT, COMPONENT_PRIOR, dims=COMPONENT)
    pm.Data(KNOWN, known.astype(np.int32), dims="rater")
    confusion = DirichletMixture(name, weight, whole, dims=dims)
    return cast(TensorVariable, confusion), beta


def known_counts(labels: Labels, raters: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pseudo-counts of every rater, those of the population if it is unknown, these, and which raters are known.

    Shapes: (rater, category, answer), (category, answer), bool (rater,). Warns if no rater is known, or the population of a
    category favours another label.
    """
    require_prior(raters)
    place = _places(labels.categories, raters["category"].to_numpy(), "category")
    if (place < 0).any():
        raise _refused(
            "it lacks a category of the labels",
            value=labels.categories[place < 0][0].item(),
            allowed=short_repr(raters["category"].to_numpy().tolist()),
            remedy="give a prior that was made from labels with all categories of these",
        )
    population = raters[POPULATION_COUNTS].transpose("category", "answer").to_numpy()[np.ix_(place, place)]
    if (population.argmax(axis=1) != np.arange(len(place))).any():
        wrong = labels.categories[population.argmax(axis=1) != np.arange(len(place))][0].item()
        _warn(
            f"most raters of the earlier study gave another label to {short_repr(wrong)}: are the names of the "
            "categories the same?"
        )
    own = np.tile(population, (len(labels.raters), 1, 1))
    known = np.zeros(len(own), bool)
    if COUNTS in raters:
        at = _places(labels.raters, raters["rater"].to_numpy(), "rater")
        known = at >= 0
        counts = raters[COUNTS].transpose("rater", "category", "answer").to_numpy()
        own[known] = counts[np.ix_(at[known], place, place)]
        if not known.any():
            _warn(
                "none of the raters is in the prior: all are taken for members of its population, or for raters of none"
            )
    return own, population, known


def require_prior(raters: Any) -> None:
    """Raise unless the argument is a prior as of `inference.rater_prior`."""
    made = "make it by inference.rater_prior(tree), or read it by xarray.load_dataset"
    if POPULATION_COUNTS not in getattr(raters, "data_vars", ()):
        raise _refused("it is no prior of raters", value=type(raters).__name__, remedy=made)
    dims = {POPULATION_COUNTS: {"category", "answer"}, COUNTS: {"rater", "category", "answer"}}
    for name, own in dims.items():
        if name not in raters:
            continue
        counts = raters[name]
        if {*counts.dims} != own or not own <= {*raters.coords}:
            raise _refused(
                f"{name!r} has dims {counts.dims}", allowed=f"{sorted(own)}, with coordinates", remedy=made
            )
        values = counts.to_numpy()
        if not (np.isfinite(values) & (values > 0)).all():
            bad = values[~(np.isfinite(values) & (values > 0))][0].item()
            raise _refused(f"{name!r} holds a number", value=bad, allowed="positive and finite", remedy=made)
        for dim in own - {"answer"}:
            if not raters.indexes[dim].is_unique:
                twice = ids_of(raters[dim].to_numpy())[raters.indexes[dim].duplicated()][0].item()
                raise _refused(
                    f"a {dim} occurs twice",
                    value=twice,
                    remedy=f"keep one entry of each {dim}, by Dataset.drop_duplicates",
                )
    if not np.array_equal(raters["category"], raters["answer"]):
        raise _refused("its answers are not its categories, in their order", remedy=made)


def _places(ids: np.ndarray, known: np.ndarray, what: str) -> np.ndarray:
    """Return the place of each id among known ones, -1 for unknown; raise where one is text and the other integers."""
    known = ids_of(known)
    kinds = [own.dtype.kind in "iu" for own in (ids, known)]
    if kinds[0] != kinds[1]:
        names = ["integers" if kind else "text" for kind in kinds]
        raise _refused(
            f"its {what} ids are {names[1]}, and those of the labels {names[0]}",
            value=known[0].item(),
            allowed=f"such as {short_repr(ids[0].item())}",
            remedy=f"convert those of one: prior.assign_coords({what}=...)",
        )
    place = {own: k for k, own in enumerate(known.tolist())}
    return np.array([place.get(own, -1) for own in ids.tolist()], np.int64)


def _refused(problem: str, *, value: object = None, allowed: str = "", remedy: str) -> DataError:
    """Return the error about the argument."""
    found = "" if value is None else f": {short_repr(value)}"
    return refused_argument("raters", problem + found, value=value, allowed=allowed, remedy=remedy)


def _warn(problem: str) -> None:
    """Warn about the argument."""
    warn_user(f"raters: {problem}", DataWarning)
