"""Groups of a posterior tree that follow from the model: constants, observations, ids and deterministics."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.arviz import find_constants, find_observations
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors

from ...posterior.groups import tree_like
from ...posterior.schema import (
    CORRELATION,
    OF_INDEPENDENT,
    OF_ITEMS,
    OTHER,
    RATER_PREFIX,
    SAMPLE,
    SCHEMA_VERSION,
    SEEN_IN_PRIOR,
    SUMMARISED,
    classifier_in_prior,
    truth_by_model,
    versions_of_now,
    with_current_dims,
)
from .model_graph import graph_lock
from .run import Draws

REMEDY = "label a tree with the data its model was built from"


class HasIds(Protocol):
    """Protocol of containers, with the ids behind codes; ``categories`` and ``rater_attributes`` are optional."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items, by code."""
        ...


def label(
    tree: xr.DataTree, data: HasIds, *, truth: Literal["category", "distribution"] | None = None
) -> xr.DataTree:
    """Add the coordinates, and attributes of raters, that `raterzoo.evaluation` reads to the tree of any sampler.

    Trees of `sample` have them already; this is for draws made by `pymc.sample`, nutpie or numpyro.

    Parameters
    ----------
    tree : DataTree
        Draws of a model of `raterzoo.models`, with its ``constant_data``.
    data : PartialRankings, Labels, Comparisons, Scores or another object with ``items``
        Annotations the model was built from; with ``categories``, if the model has categories.
    truth : {"category", "distribution"}, optional
        For the plausibility (item, category) of a model that is not one of `raterzoo.models`. "category": in a draw it
        is the probability of each category to be the one true one, given the parameters, as in Dawid-Skene.
        "distribution": it is the distribution of the labels that raters give, itself unknown, as in a Dirichlet
        model. The models of this package say it themselves.

    Returns
    -------
    DataTree
        The same arrays with coordinates:

        ``item`` and ``category``, along ``candidate`` in the flat layout, along their own dims elsewhere.
        Categories are text; integer ones are written as decimals and marked by the attribute ``kind``. The
        pooled never-ranked categories are labelled OTHER, and ``category_name`` in ``constant_data`` lists
        the closed set of categories.

        The attributes of the raters are the variables ``rater_...`` of ``constant_data``, along ``rater``.

        The log likelihood of labels is by item, without items that have no observation (leave-one-out has
        nothing to leave out there); its attribute ``law`` says so where it is that of independent answers and the posterior
        is not. The attribute ``truth`` of the plausibility is "category" or "distribution".
        Trees of version 0.1 say "plausibility" for the latter. The attribute ``prior_predictions`` of the posterior names the
        classifier whose probabilities are in the prior.

    Raises
    ------
    ValueError
        If the tree has candidates that no ``constant_data`` describe, or other items and categories than `data`; if
        `truth` is not what the model of the tree says.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from raterzoo import inference, models
    >>> pairs = models.Comparisons.from_pairs([("tea", "milk"), ("milk", "cocoa")])
    >>> draws = xr.Dataset({"quality": (("chain", "draw", "item"), np.zeros((2, 5, 3)))})
    >>> tree = inference.label(xr.DataTree.from_dict({"posterior": draws}), pairs)
    >>> tree["posterior"]["item"].values.tolist() == pairs.items.tolist()
    True
    """
    tree = with_current_dims(tree)
    codes = _candidate_codes(tree) if any("candidate" in node.dims for node in tree.subtree) else None
    observed, groups, done = has_observation(tree), dict(tree.children), {}
    if observed is not None and "log_likelihood" in groups and not observed.all():
        if groups["log_likelihood"].sizes.get("item") == observed.sum():  # labelled before
            done["log_likelihood"] = groups.pop("log_likelihood").to_dataset()
    labelled = {name: _labelled(node, data, codes) for name, node in groups.items()}
    if codes is not None:
        names = ("declared", _categories(data).astype(str))
        labelled["constant_data"] = labelled["constant_data"].assign(category_name=names)
    if attributes_of_raters := getattr(data, "rater_attributes", {}):
        _add_rater_attributes(labelled, attributes_of_raters)
    meant = _truth_to_write(tree, truth)
    if meant is not None:
        # not in place: the arrays are those of the given tree
        own = labelled["posterior"]["plausibility"]
        labelled["posterior"]["plausibility"] = own.assign_attrs(truth=meant)
    if SUMMARISED in labelled and "plausibility" in labelled[SUMMARISED]:
        own = labelled[SUMMARISED]["plausibility"]
        if (of_model := truth_by_model(tree, own) or truth) is not None:
            labelled[SUMMARISED]["plausibility"] = own.assign_attrs(truth=of_model)
    if "posterior" in labelled and (seen := classifier_in_prior(tree)) is not None:
        labelled["posterior"] = labelled["posterior"].assign_attrs({SEEN_IN_PRIOR: seen})
    if observed is not None and "log_likelihood" in labelled:
        labelled["log_likelihood"] = labelled["log_likelihood"].isel(item=observed)
    if "log_likelihood" in labelled and CORRELATION in labelled.get("posterior", ()):
        labelled["log_likelihood"] = labelled["log_likelihood"].assign_attrs(law=OF_INDEPENDENT)
    return tree_like(tree, labelled | done)


def _truth_to_write(tree: xr.DataTree, truth: str | None) -> str | None:
    """Return the attribute of the plausibility, if there is one and its meaning is known, or raise ValueError."""
    if "posterior" not in tree.children or "plausibility" not in tree["posterior"]:
        if truth is not None:
            raise ValueError(
                f"truth={truth!r} is of a plausibility, and the posterior of the tree has none; leave it out"
            )
        return None
    if truth not in (None, "category", "distribution"):
        raise ValueError(f"truth={truth!r} is not 'category' or 'distribution'")
    known = truth_by_model(tree, tree["posterior"].to_dataset()["plausibility"])
    if truth is not None and known not in (None, truth):
        raise ValueError(f"truth={truth!r}, but by the model of the tree it is {known!r}; leave truth out")
    return truth or known


def _candidate_codes(tree: xr.DataTree) -> tuple[np.ndarray, np.ndarray]:
    """Item and category codes of the candidates. Shapes: (candidate,) each."""
    if "constant_data" not in tree.children or "candidate_item" not in tree["constant_data"]:
        raise ValueError(
            "the tree has a dim 'candidate' but its constant_data hold no 'candidate_item' and 'candidate_category', which say "
            "whose they are; sample a model of raterzoo.models, and keep the constant_data group"
        )
    constant = tree["constant_data"]
    return constant["candidate_item"].to_numpy(), constant["candidate_category"].to_numpy()


def _labelled(node: xr.DataTree, data: HasIds, codes: tuple[np.ndarray, np.ndarray] | None) -> xr.Dataset:
    """Add coordinates to one group."""
    group = node.to_dataset()
    if node.name == "log_likelihood" and "observed_label" in group:
        group = _by_item(group)
    coords = {}
    if "item" in group.dims:
        coords["item"] = _checked_length("item", data.items, group)
    if {"candidate", "category", "answer"} & set(group.dims):
        coords |= _category_coords(group, data, codes)
    return group.assign_coords(coords)


def _add_rater_attributes(groups: dict[str, xr.Dataset], given: Mapping[str, np.ndarray]) -> None:
    """Add the attributes of the raters to ``constant_data``, if a group has raters; raise if they are of other raters."""
    group = next((own for own in groups.values() if "rater" in own.dims), None)
    if group is None:
        return
    known = groups.get("constant_data", xr.Dataset())
    found = {}
    for name, values in given.items():
        there = group.drop_vars(name, errors="ignore")
        if RATER_PREFIX + name in known:
            there = there.assign_coords({name: known[RATER_PREFIX + name]})
        found[RATER_PREFIX + name] = ("rater", _checked_length("rater", values, there, name))
    ids = {"rater": group["rater"]} if "rater" in group.coords else {}
    groups["constant_data"] = known.assign(found).assign_coords(ids)


def _category_coords(
    group: xr.Dataset, data: HasIds, codes: tuple[np.ndarray, np.ndarray] | None
) -> dict[str, tuple]:
    """Coordinates along the dims candidate, category and answer; OTHER makes text of integer categories."""
    categories = _categories(data)
    kind = {"kind": "integer" if np.issubdtype(categories.dtype, np.integer) else "text"}
    coords = {}
    if codes is not None and "candidate" in group.dims:
        item, category = codes
        names = np.append(categories.astype(str), OTHER) if (category < 0).any() else categories
        coords["category"] = ("candidate", _checked_names("category", names[category], group), kind)
        if "item" not in group.dims:
            coords["item"] = ("candidate", _checked_names("item", data.items[item], group))
    for dim in ("category", "answer"):
        if dim in group.dims:
            coords[dim] = (dim, _checked_length(dim, categories, group), kind)
    return coords


def _categories(data: HasIds) -> np.ndarray:
    """Labels of the categories; raise if the data have none."""
    categories = getattr(data, "categories", None)
    if categories is None:
        raise ValueError(f"the tree has categories, but a {type(data).__name__} has none; {REMEDY}")
    return categories


def _by_item(group: xr.Dataset) -> xr.Dataset:
    """Rename to ``item`` the last dim of a log likelihood by item, which PyMC names otherwise or not at all."""
    last = {str(own.dims[-1]) for own in group.data_vars.values()} - {"item"}
    return group.drop_vars(last, errors="ignore").rename(dict.fromkeys(last, "item"))


def has_observation(tree: xr.DataTree) -> np.ndarray | None:
    """Mask of items with an answer or a gold label, shape (item,); None for any other than a label model."""
    labels = tree["observed_data"].get("observed_label") if "observed_data" in tree.children else None
    if labels is None:
        return None
    if labels.ndim == 2:
        return labels.to_numpy().sum(axis=1) > 0
    constant = tree["constant_data"] if "constant_data" in tree.children else {}
    if not {"gold", "annotation_item"} <= set(constant):
        return None
    observed = constant["gold"].to_numpy() >= 0
    for name in {"annotation_item", "request_item"} & set(constant):
        observed[constant[name].to_numpy()] = True
    return observed


def _checked_length(dim: str, names: np.ndarray, group: xr.Dataset, coord: str = "") -> np.ndarray:
    """Return `names`; raise unless the tree has as many along `dim`, and no others."""
    if len(names) != group.sizes[dim]:
        raise ValueError(f"the tree has {group.sizes[dim]} along {dim!r} and the data {len(names)}; {REMEDY}")
    return _checked_names(coord or dim, names, group)


def _checked_names(coord: str, names: np.ndarray, group: xr.Dataset) -> np.ndarray:
    """Return `names`; raise if the tree has other names already (the default numbers from 0 do not count)."""
    if coord not in group.coords or np.array_equal(group[coord].to_numpy(), names):
        return names
    there, ours = group[coord].to_numpy().astype(str), names.astype(str)
    differ = np.flatnonzero(there != ours)
    if len(differ) and there.tolist() != [str(place) for place in range(len(there))]:
        place = int(differ[0])
        raise ValueError(
            f"the tree names {coord} {str(there[place])!r} where the data have {str(ours[place])!r}; {REMEDY}"
        )
    return names


# --- Groups that follow from the model: constants, observations, ids and deterministics ---


@dataclass(frozen=True)
class CodeNames:
    """Ids behind the codes of a model's items and categories, and attributes of its raters."""

    items: np.ndarray  # (item,)
    categories: np.ndarray | None  # (category,); None if the model has none, as for comparisons
    rater_attributes: dict[str, np.ndarray]  # (rater,)

    @classmethod
    def of(cls, model: pm.Model) -> "CodeNames | None":
        """Ids and rater attributes from the coordinates of a model; None if the model lacks those ids."""
        items, categories = (model.coords.get(name) for name in ("item", "category"))
        of_categories = {"candidate", "category", "answer"} & set(model.coords)
        plain = not model.named_vars or any("::" not in name for name in model.named_vars)
        if items is None or (of_categories and categories is None) or not plain:
            return None
        attributes = {
            name.removeprefix(RATER_PREFIX): np.asarray(values)
            for name, values in model.coords.items()
            if name.startswith(RATER_PREFIX)
        }
        known = None if categories is None else np.asarray(categories)
        return cls(np.asarray(items), known, attributes)


def constant_groups(model: pm.Model) -> dict[str, xr.Dataset]:
    """Non-empty groups ``constant_data`` and ``observed_data`` of a model."""
    with graph_lock:
        groups = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    values = {name: np.asarray(x) for found in groups.values() for name, x in found.items()}
    known = as_dataset(model, values)
    return {group: known[list(found)] for group, found in groups.items() if found}


def groups_by_item(
    model: pm.Model,
    arrays: dict[str, np.ndarray],
    plan: Draws,
    log_p: np.ndarray,
    log_prior: Callable[[], dict[str, np.ndarray]],
) -> dict[str, xr.Dataset]:
    """Convert draws of the variables that a model has, with log densities if the plan asks for them; codes stay integers.

    Shapes: log_p (chain, draw, item), of the one observed variable; `log_prior` returns those of the others by name.
    """
    kept = {name: x for name, x in arrays.items() if name in model.named_vars}
    own = {n: x if x.dtype.kind == "i" else x.astype(plan.dtype, copy=False) for n, x in kept.items()}
    groups = {"posterior": as_dataset(model, own, SAMPLE)}
    if plan.densities:
        name = model.observed_RVs[0].name
        groups["log_likelihood"] = xr.Dataset({name: ((*SAMPLE, "item"), log_p)})
        groups["log_prior"] = as_dataset(model, log_prior(), SAMPLE).drop_vars(SAMPLE)
    return groups


def as_dataset(
    model: pm.Model, arrays: dict[str, np.ndarray], sample_dims: tuple[str, ...] = ()
) -> xr.Dataset:
    """Build a Dataset of named variables with the model's dims and coordinates; `sample_dims` lead every array.

    An array of fewer dims, such as a log density, has the first of the variable's.
    """
    variables = {}
    for name, values in arrays.items():
        own = range(np.ndim(values) - len(sample_dims))
        dims = model.named_vars_to_dims.get(name) or [f"{name}_dim_{k}" for k in own]
        variables[name] = ((*sample_dims, *dims[: len(own)]), values)
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {d: np.asarray(c) for d, c in model.coords.items() if d in used and c is not None}
    lengths = {d: n for dims, v in variables.values() for d, n in zip(dims, v.shape, strict=True)}
    coords |= {d: np.arange(lengths[d]) for d in sample_dims}
    return xr.Dataset(variables, coords)


def row_dim(model: pm.Model) -> str:
    """Return the first dim of the observed variable."""
    name = str(model.observed_RVs[0].name)
    return str((model.named_vars_to_dims.get(name) or (f"{name}_dim_0",))[0])


class Deterministics:
    """Callable that computes the deterministics a sampler left out; compiled once, at the first call."""

    def __init__(self, model: pm.Model) -> None:
        self._model, self._function = model, cast(Any, None)

    def __call__(self, posterior: xr.Dataset) -> xr.Dataset:
        """Add the missing deterministics to draws (chain, draw, ...) of all free variables."""
        missing = [rv for rv in self._model.deterministics if rv.name not in posterior]
        return self._added(posterior, missing, self._model.free_RVs) if missing else posterior

    def of_shared(self, posterior: xr.Dataset) -> xr.Dataset:
        """Add the missing deterministics of what items share that follow from these draws (chain, draw, ...)."""
        model, known = self._model, [rv for rv in self._model.free_RVs if rv.name in posterior]
        missing = [
            rv
            for rv in model.deterministics
            if rv.name not in posterior
            and not {*OF_ITEMS} & {*(model.named_vars_to_dims.get(str(rv.name)) or ())}
            and {*ancestors([rv], blockers=model.free_RVs)} & {*model.free_RVs} <= {*known}
        ]
        return self._added(posterior, missing, known) if missing and known else posterior

    def _added(
        self,
        posterior: xr.Dataset,
        missing: Sequence[Variable[Any, Any]],
        inputs: Sequence[Variable[Any, Any]],
    ) -> xr.Dataset:
        """Add deterministics that are functions of the draws (chain, draw, ...) of the inputs."""
        model = self._model
        if self._function is None:
            with graph_lock:
                self._function = model.compile_fn(missing, inputs=inputs, on_unused_input="ignore")
        free = [str(rv.name) for rv in inputs]
        drawn = [posterior[name].transpose(*SAMPLE, ...).to_numpy() for name in free]
        size = drawn[0].shape[:2]
        points = (dict(zip(free, (d[at] for d in drawn), strict=True)) for at in np.ndindex(size))
        values = zip(*(self._function(point) for point in points), strict=True)
        arrays = {
            str(rv.name): np.stack(value).reshape(*size, *np.shape(value[0]))
            for rv, value in zip(missing, values, strict=True)
        }
        return posterior.assign(as_dataset(model, arrays, SAMPLE).data_vars)


class Completion:
    """Callable that assembles labelled trees from the groups of a sampler, for all draws or block by block."""

    def __init__(self, model: pm.Model) -> None:
        self._constants, self._names = constant_groups(model), CodeNames.of(model)
        self._deterministics = Deterministics(model)

    def __call__(self, groups: dict[str, xr.Dataset], *, computed: bool = False) -> xr.DataTree:
        """Return groups as a labelled tree without attributes; `computed`: the posterior has all deterministics it can have."""
        if not computed:
            groups = groups | {"posterior": self._deterministics(groups["posterior"])}
        tree = xr.DataTree.from_dict(groups | self._constants)
        return label(tree, self._names) if self._names else tree


def attributes(model: str, method: str, reason: str, seed: int) -> dict[str, str | int]:
    """Attributes of the tree of a run, without its duration; text and whole numbers only, as netCDF requires."""
    return {
        "model": model,
        "method": method,
        "method_reason": reason,
        "seed": seed,
        "versions": json.dumps(versions_of_now()),
        "schema_version": SCHEMA_VERSION,
    }
