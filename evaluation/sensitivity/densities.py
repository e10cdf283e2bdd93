"""Log likelihood and log prior by item, for importance weights of each item.

If items share no parameter, the posterior is a product over them, and each item has importance weights of its
own. Its log likelihood is a sum over its annotations, its log prior a sum over its worths.

Symbols: w_k ``worth``; p_k = w_k / s ``plausibility``; s the total worth of an item's m candidates; alpha_k
the shape of the Gamma prior of w_k, A their sum. The likelihood does not depend on s, which is Gamma(A) and
independent of p, and

    log p(w) = log p(p) + (A - m) log s - s + constant.

Only log p(p), the density of the plausibilities, is a prior that can conflict with the data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Plausibility
from ...posterior.schema import reliability_is

SMALLEST_WORTH = 1e-30
MOST_CHECKED = 64  # largest number of draws at which a prior is compared with the Gamma law
TOLERANCE = 1e-3  # of a log density kept in float32, relative to its size or one
SAMPLES, CELLS = 256, 256  # processed at a time, to stay in the CPU cache and to need no copy of all draws
WITHOUT_DENSITIES = "inference.sample(..., log_likelihood=True) stores log_likelihood and log_prior"


@dataclass(frozen=True)
class ItemDensities:
    """Log densities of each item of a tree whose items share no parameters, summed when first asked for and kept."""

    tree: xr.DataTree
    view: Plausibility

    @classmethod
    def of(cls, tree: xr.DataTree) -> "ItemDensities":
        """Read a tree, or raise if its items share parameters."""
        view = Plausibility.of(tree)
        check_independent(tree, view)
        return cls(tree, view)

    @cached_property
    def prior(self) -> tuple[np.ndarray, bool]:
        """Log prior of each item, see `prior_of_items`."""
        return prior_of_items(self.tree, self.view)

    @cached_property
    def _likelihood(self) -> np.ndarray:
        """Log likelihood of each item (item, sample) at power one."""
        return likelihood_of_items(self.tree, self.view, 1.0)

    def likelihood_at(self, power: np.ndarray | float) -> Callable[[slice], np.ndarray]:
        """Return a function of items to their log likelihood (item, sample) at a power () or (annotation,)."""
        if np.ndim(power):
            return likelihood_of_items(self.tree, self.view, power).__getitem__
        at_one = self._likelihood
        return lambda items: at_one[items] * power


def check_independent(tree: xr.DataTree, view: Plausibility) -> None:
    """Raise unless `tree` is a tree in which every parameter belongs to one item."""
    if not isinstance(tree, xr.DataTree):
        raise EvaluationError(f"a {type(tree).__name__} has no densities: pass the tree of inference.sample")
    for name, variable in tree["posterior"].data_vars.items():
        if not {"item", "candidate"} & set(variable.dims):
            raise EvaluationError(
                f"{name} {variable.dims} is shared by the items, so that items are not independent and have "
                "no importance weights of their own; fit again with another prior, or take arviz.psense_summary"
            )
    if view.is_of_category:
        raise EvaluationError(
            "plausibility is the probability of one true category, computed from parameters that items share; fit again with "
            "another prior, or take arviz.psense_summary"
        )


def reliability_of(tree: xr.DataTree) -> np.ndarray | None:
    """Power of the likelihood () or (annotation,); None if the tree does not contain it."""
    constant = _constants(tree)
    return constant["reliability"].to_numpy() if "reliability" in constant else None


def likelihood_of_items(tree: xr.DataTree, view: Plausibility, power: np.ndarray | float) -> np.ndarray:
    """Log likelihood of each item's annotations (item, sample), each times its power; 0 without annotations.

    The tree has ``log_likelihood`` by annotation or by item, at power one; power () or (annotation,). Raises
    if the group is missing, or an annotation has no item.
    """
    total = np.zeros((len(view.items), view.n_samples))
    power = np.asarray(power, float)
    for array in _densities(tree, "log_likelihood"):
        values, owner = _cells(tree, array, view)
        if power.ndim and len(power) != len(owner):
            raise EvaluationError(
                f"reliability has {len(power)} values and {array.name} of log_likelihood {len(owner)}: powers by "
                "annotation need a log likelihood by annotation"
            )
        total += _sums(values * power if power.ndim else values, owner, len(total))
    return _finite(total if power.ndim else total * power, view, "log_likelihood")


def prior_of_items(tree: xr.DataTree, view: Plausibility) -> tuple[np.ndarray, bool]:
    """Log prior of each item's parameters (item, sample), up to a constant by item.

    The total of Gamma worths is left out. The flag tells whether it is the density of the plausibilities
    (True) or of the parameters as stored. Raises if the tree has no ``log_prior`` by candidate or item.
    """
    total = np.zeros((len(view.items), view.n_samples))
    of_plausibility = True
    for array in _densities(tree, "log_prior"):
        density, owner = _cells(tree, array, view)
        total += _sums(density, owner, len(total))
        if array.name == "worth" and "worth" in tree["posterior"]:
            worth, _ = _cells(tree, tree["posterior"].to_dataset()["worth"], view)
            law = _total_law(worth, density, owner, len(total))
            of_plausibility &= law is not None
            if law is not None:
                for own, worths, excess in zip(total, *law, strict=True):
                    own -= excess * np.log(worths) - worths
        else:
            of_plausibility &= array.name == "plausibility"
    return _finite(total, view, "log_prior"), of_plausibility


def _total_law(
    worth: np.ndarray, density: np.ndarray, owner: np.ndarray, n_items: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Total worth s (item, sample) and A - m (item, 1) of its log density (A - m) log s - s; None unless the prior is Gamma.

    The tree does not contain the shapes. For a Gamma(alpha, 1) prior, log density + w is linear in log w with
    slope alpha - 1, which follows from the smallest and the largest draw of a worth.
    """
    if worth.shape != density.shape:
        return None
    slopes = [
        _slope(worth[:, first : first + CELLS], density[:, first : first + CELLS])
        for first in range(0, len(owner), CELLS)
    ]
    slope = np.concatenate([np.empty(0), *(own for own in slopes if own is not None)])
    if len(slope) < len(owner):
        return None
    return _sums(worth, owner, n_items), _sums(slope[None], owner, n_items)


def _slope(worth: np.ndarray, density: np.ndarray) -> np.ndarray | None:
    """Slope (cell,) of log density + worth along log worth, (sample, cell) each; None unless they are on a line."""
    draws = np.where(worth > SMALLEST_WORTH, worth, np.nan)  # smaller worths lose digits in float32
    if (np.isfinite(draws).sum(axis=0) < 2).any():
        return None
    cell = np.arange(draws.shape[1])
    low, high = np.nanargmin(draws, axis=0), np.nanargmax(draws, axis=0)
    checked = np.linspace(0, len(draws) - 1, min(MOST_CHECKED, len(draws))).astype(int)
    rows = np.vstack([low, high, np.tile(checked[:, None], len(cell))])
    w = draws[rows, cell].astype(float)
    line = density[rows, cell] + w
    if (w[0] == w[1]).any():
        return None
    slope = (line[1] - line[0]) / np.log(w[1] / w[0])
    gap = line - line[0] - slope * np.log(w / w[0])
    if (np.abs(gap) > TOLERANCE * np.maximum(np.abs(line), 1)).any():
        return None
    return slope


def owner_of_places(tree: xr.DataTree, array: xr.DataArray, view: Plausibility) -> np.ndarray:
    """Position of the item of each candidate, annotation or item of an array, or raise."""
    if "candidate" in array.dims:
        return np.repeat(np.arange(len(view.items)), np.diff(view.start))
    if "annotation" in array.dims:
        constant = _constants(tree)
        if "annotation_item" not in constant:
            raise EvaluationError(
                f"{array.name} is by annotation but constant_data has no annotation_item, the item of each annotation; "
                "keep constant_data"
            )
        code = constant["annotation_item"].to_numpy()
        ids = constant["item"].to_numpy() if "item" in constant.coords else view.items
    elif "item" in array.dims:
        ids = array["item"].to_numpy() if "item" in array.coords else view.items
        code = np.arange(array.sizes["item"])
    else:
        raise EvaluationError(
            f"{array.name} has dims {array.dims}: expected one of candidate, annotation, item"
        )
    place = {str(item): i for i, item in enumerate(view.items)}
    position = np.array([place.get(str(item), -1) for item in ids])
    if code.max(initial=0) >= len(position) or (position[code] < 0).any():
        raise EvaluationError(
            f"{array.name} is of {len(ids)} items, not those of plausibility ({len(view.items)}); inference.label(tree, data) "
            "names the items of every group"
        )
    return position[code]


def _constants(tree: xr.DataTree) -> xr.Dataset:
    """Return the group constant_data, or an empty dataset."""
    return tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()


def _densities(tree: xr.DataTree, group: str) -> list[xr.DataArray]:
    """Return the arrays of a group of log densities, or raise if there are none."""
    if group not in tree.children or not tree[group].data_vars:
        if reliability_is(tree.attrs) == "narrowness":
            raise EvaluationError(f"{tree.attrs['model']} has no likelihood, hence no {group}: draw it anew")
        raise EvaluationError(f"the tree has no {group}; {WITHOUT_DENSITIES}")
    return list(tree[group].to_dataset().data_vars.values())


def _cells(tree: xr.DataTree, array: xr.DataArray, view: Plausibility) -> tuple[np.ndarray, np.ndarray]:
    """Values (sample, cell) of an array, and the item of each cell (cell,)."""
    owner = owner_of_places(tree, array, view)
    dim = next(d for d in ("candidate", "annotation", "item") if d in array.dims)
    sizes = tuple(array.sizes.get(d) for d in view.sample_dims)
    if sizes != tuple(view.array.sizes[d] for d in view.sample_dims):
        raise EvaluationError(
            f"{array.name} {dict(array.sizes)} has other draws than plausibility {dict(view.array.sizes)}"
        )
    values = array.transpose(*view.sample_dims, dim, ...).to_numpy().reshape(view.n_samples, -1)
    return values, np.repeat(owner, values.shape[1] // max(len(owner), 1))


def _sums(values: np.ndarray, owner: np.ndarray, n_items: int) -> np.ndarray:
    """Sum values (sample, cell) over the cells of each item; result (item, sample)."""
    total = np.zeros((n_items, len(values)))
    order = np.argsort(owner, kind="stable")
    present, first = np.unique(owner[order], return_index=True)
    if len(present):
        in_order, all_present = (order[1:] > order[:-1]).all(), len(present) == n_items
        for sample in range(0, len(values), SAMPLES):
            part = slice(sample, sample + SAMPLES)
            ordered = values[part] if in_order else values[part, order]
            sums = np.add.reduceat(ordered, first, axis=1, dtype=float).T
            total[slice(None) if all_present else present, part] = sums
    return total


def _finite(total: np.ndarray, view: Plausibility, group: str) -> np.ndarray:
    """Return the totals (item, sample), or raise if one is not finite."""
    bad = ~np.isfinite(total).all(axis=1)
    if bad.any():
        raise EvaluationError(
            f"{group} of item {view.items[np.argmax(bad)]!s} is not finite in every draw; sample again"
        )
    return total
