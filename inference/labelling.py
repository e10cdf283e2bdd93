"""Labels on a tree: the ids of items, categories and raters in place of the codes that a model computes with."""

from typing import Protocol

import numpy as np
import xarray as xr

__all__ = ["OTHER", "Named", "label"]

OTHER = "OTHER"
REMEDY = "label a tree with the data its model was built from"


class Named(Protocol):
    """Whatever knows the ids behind the codes; every container of `raterzoo.models` does.

    It may also have ``categories``, the labels by code (comparisons have none), and ``rater_attributes``.
    """

    @property
    def items(self) -> np.ndarray:
        """Ids of the items, by code."""
        ...


def label(tree: xr.DataTree, data: Named) -> xr.DataTree:
    """Add the coordinates that evaluation reads to a tree of any sampler.

    Parameters
    ----------
    tree : DataTree
        Draws of a model of `raterzoo.models`, by PyMC, nutpie or numpyro, with its ``constant_data``.
    data : PartialRankings, Labels, Comparisons or any object with ``items``, and ``categories`` if it is of categories
        The annotations the model was built from.

    Returns
    -------
    DataTree
        The same arrays with coordinates ``item`` and ``category``: along ``candidate`` in the flat layout, along their own dims
        elsewhere. Categories are text; integer ones as their decimals, marked by the attribute ``kind``. The pooled
        never-ranked categories are labelled OTHER, and ``category_name`` in ``constant_data`` lists the closed set. Attributes of
        the raters are coordinates along ``rater``. The log likelihood of labels is by item, without items of which nothing was
        observed: leave-one-out has nothing to leave out there. The attribute ``truth`` of the plausibility of labels says whether
        it is the probability of the one true category, as in Dawid-Skene, or the truth itself.

    Raises
    ------
    ValueError
        If the tree has candidates but no ``constant_data`` that describe them, or other items and categories than `data`.
    """
    codes = None
    if any("candidate" in node.dims for node in tree.subtree):
        codes = _candidate_codes(tree)
    heard, groups = _heard(tree), dict(tree.children)
    done = {}
    if heard is not None and "log_likelihood" in groups and not heard.all():
        if groups["log_likelihood"].sizes.get("item") == heard.sum():  # labelled before
            done["log_likelihood"] = groups.pop("log_likelihood").to_dataset()
    labelled = {name: _labelled(node, data, codes) for name, node in groups.items()}
    if codes is not None:
        names = ("declared", _categories(data).astype(str))
        labelled["constant_data"] = labelled["constant_data"].assign(category_name=names)
    if truth := _truth_of(tree):
        labelled["posterior"]["plausibility"].attrs["truth"] = truth
    if heard is not None and "log_likelihood" in labelled:
        labelled["log_likelihood"] = labelled["log_likelihood"].isel(item=heard)
    result = xr.DataTree.from_dict(labelled | done)
    result.attrs = dict(tree.attrs)
    return result


def _candidate_codes(tree: xr.DataTree) -> tuple[np.ndarray, np.ndarray]:
    """Return item and category codes of the candidates."""
    if "constant_data" not in tree.children or "candidate_item" not in tree["constant_data"]:
        raise ValueError(
            "the tree has a dim 'candidate' but its constant_data hold no 'candidate_item' and 'candidate_category', which say "
            "whose they are; sample a model of raterzoo.models, and keep the constant_data group"
        )
    constant = tree["constant_data"]
    return constant["candidate_item"].to_numpy(), constant["candidate_category"].to_numpy()


def _labelled(
    node: xr.DataTree, data: Named, codes: tuple[np.ndarray, np.ndarray] | None
) -> xr.Dataset:
    """Label one group."""
    group = node.to_dataset()
    if node.name == "log_likelihood" and "observed_label" in group:
        group = _by_item(group)
    coords = {}
    if "item" in group.dims:
        coords["item"] = _fitting("item", data.items, group)
    if {"candidate", "category", "label"} & set(group.dims):
        coords |= _category_coords(group, data, codes)
    if "rater" in group.dims:
        for name, values in getattr(data, "rater_attributes", {}).items():
            coords[name] = ("rater", _fitting("rater", values, group, name))
    return group.assign_coords(coords)


def _category_coords(
    group: xr.Dataset, data: Named, codes: tuple[np.ndarray, np.ndarray] | None
) -> dict[str, tuple]:
    """Return the coordinates along candidates, categories and labels."""
    categories = _categories(data)
    kind = {"kind": "integer" if np.issubdtype(categories.dtype, np.integer) else "text"}
    names = categories.astype(str)
    coords = {}
    if codes is not None and "candidate" in group.dims:
        item, category = codes
        with_other = np.append(names, OTHER)  # the code of OTHER, -1, is the last place
        coords["category"] = ("candidate", _same("category", with_other[category], group), kind)
        if "item" not in group.dims:
            coords["item"] = ("candidate", _same("item", data.items[item], group))
    for dim in ("category", "label"):
        if dim in group.dims:
            coords[dim] = (dim, _fitting(dim, names, group), kind)
    return coords


def _categories(data: Named) -> np.ndarray:
    """Return the labels of the categories, or raise if the data have none."""
    categories = getattr(data, "categories", None)
    if categories is None:
        raise ValueError(f"the tree has categories, but a {type(data).__name__} has none; {REMEDY}")
    return categories


def _truth_of(tree: xr.DataTree) -> str:
    """Say whether the plausibilities of labels are probabilities of one true "category", or themselves the truth."""
    if "observed_data" not in tree.children or "observed_label" not in tree["observed_data"]:
        return ""
    if "posterior" not in tree.children or "plausibility" not in tree["posterior"]:
        return ""
    return "category" if tree["observed_data"]["observed_label"].ndim == 1 else "plausibility"


def _by_item(group: xr.Dataset) -> xr.Dataset:
    """Name the dim of a law that is pointwise by item while its value has another dim, which PyMC leaves nameless or gives it."""
    last = str(group["observed_label"].dims[-1])
    return (
        group if last == "item" else group.drop_vars(last, errors="ignore").rename({last: "item"})
    )


def _heard(tree: xr.DataTree) -> np.ndarray | None:
    """Tell of which items a model of labels knows anything: an answer, or the truth. None if it is another model."""
    if "observed_data" not in tree.children or "observed_label" not in tree["observed_data"]:
        return None
    observed = tree["observed_data"]["observed_label"]
    if observed.ndim == 2:
        return observed.to_numpy().sum(axis=1) > 0
    constant = tree["constant_data"] if "constant_data" in tree.children else {}
    if not {"gold", "annotation_item"} <= set(constant):
        return None
    heard = constant["gold"].to_numpy() >= 0
    heard[constant["annotation_item"].to_numpy()] = True
    return heard


def _fitting(dim: str, names: np.ndarray, group: xr.Dataset, coord: str = "") -> np.ndarray:
    """Return `names`, or raise if the tree has another number of them, or others."""
    if len(names) != group.sizes[dim]:
        raise ValueError(
            f"the tree has {group.sizes[dim]} along {dim!r} and the data {len(names)}; {REMEDY}"
        )
    return _same(coord or dim, names, group)


def _same(coord: str, names: np.ndarray, group: xr.Dataset) -> np.ndarray:
    """Return `names`, or raise if the tree bears others already; places counted from 0 are no names."""
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
