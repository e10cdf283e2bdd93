"""Items that nobody annotated: the posterior of their truth given their features.

Labels, with x_i the standardised features of item i (`raterzoo.models.data.features`), in every draw:

    p(T_i = c) = softmax(log prevalence + x_i W)_c,    W = ``feature_effect`` (feature, category)

Scores:

    location_i ~ Normal(``location_mean`` + x_i beta, ``location_spread``^2),    beta = ``feature_effect`` (feature)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ...models.data.features import ItemFeatures
from ...posterior.groups import tree_like
from ...posterior.prior_of_items import EFFECT, given_features
from ...posterior.schema import SAMPLE

CONSTANTS = ("features", "feature_mean", "feature_sd")
BLOCK_SIZE = 5_000_000  # numbers of the draws of a block of items


@dataclass(frozen=True)
class NewItems:
    """Posterior of a model with features, and the features of new items in its units."""

    tree: xr.DataTree
    features: ItemFeatures

    @classmethod
    def of(cls, tree: xr.DataTree, features: Any) -> "NewItems":
        """Read the features of new items; raise ValueError if the model of the tree has none, DataError if they do not fit."""
        return cls(tree, fitted_features(tree).like(features))

    @property
    def size(self) -> int:
        """Numbers in the draws of the truth of all new items."""
        effect = self.tree["posterior"][EFFECT]
        per_draw = effect.sizes.get("category", 1) * len(self.features)
        return per_draw * int(np.prod([effect.sizes[dim] for dim in SAMPLE]))

    def predicted(self, seed: int) -> xr.DataTree:
        """Return a tree of the new items: their truth, all that is not of items, and their features; `seed` for scores."""
        posterior = self.tree["posterior"].to_dataset()
        of_labels = "category" in posterior[EFFECT].dims
        name = "plausibility" if of_labels else "location"
        truth = self._plausibility(posterior) if of_labels else self._location(posterior, seed)
        groups = {
            "posterior": without_items(posterior).assign({name: truth}),
            "constant_data": self._constants(),
        }
        return tree_like(self.tree, groups, predicted_from="features")

    def _plausibility(self, posterior: xr.Dataset) -> xr.DataArray:
        """Return p(true category) given the features (chain, draw, item, category)."""
        prevalence = posterior["prevalence"].transpose(*SAMPLE, "category").to_numpy()
        effect = posterior[EFFECT].transpose(*SAMPLE, "feature", "category").to_numpy()

        def of_rows(values: np.ndarray) -> np.ndarray:
            return given_features(prevalence, values, effect)

        precision = posterior["plausibility" if "plausibility" in posterior else EFFECT].dtype
        draws = self._by_rows(of_rows, effect.shape[:2], effect.shape[-1:], precision)
        coords = {**self._coords(posterior), "category": posterior["category"]}
        attrs = {"truth": "category", "given": "features"}
        return xr.DataArray(draws, coords, (*SAMPLE, "item", "category"), attrs=attrs)

    def _location(self, posterior: xr.Dataset, seed: int) -> xr.DataArray:
        """Return locations given the features, drawn from the population of items (chain, draw, item)."""
        mean, spread = (
            posterior[name].transpose(*SAMPLE).to_numpy()[..., None]
            for name in ("location_mean", "location_spread")
        )
        effect = posterior[EFFECT].transpose(*SAMPLE, "feature").to_numpy()[..., None]
        rng = np.random.default_rng(seed)

        def of_rows(values: np.ndarray) -> np.ndarray:
            centre = mean + (values @ effect)[..., 0]
            return centre + spread * rng.standard_normal(centre.shape)

        draws = self._by_rows(of_rows, effect.shape[:2], (), effect.dtype)
        return xr.DataArray(draws, self._coords(posterior), (*SAMPLE, "item"), attrs={"given": "features"})

    def _by_rows(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        drawn: tuple[int, ...],
        own: tuple[int, ...],
        dtype: Any,
    ) -> np.ndarray:
        """Apply a function of the features of some items, (some, feature), to blocks of items; (*drawn, item, *own)."""
        found = np.empty((*drawn, len(self.features), *own), dtype)
        step = max(1, BLOCK_SIZE // int(np.prod([*drawn, *own])))
        for first in range(0, len(self.features), step):
            rows = slice(first, first + step)
            found[:, :, rows] = function(self.features.values[rows])
        return found

    def _coords(self, posterior: xr.Dataset) -> dict[str, Any]:
        """Coordinates of the draws and of the new items."""
        return {dim: posterior[dim] for dim in SAMPLE if dim in posterior.coords} | {
            "item": self.features.items
        }

    def _constants(self) -> xr.Dataset:
        """Return constant data of the new items, and those that are of no item."""
        own = without_items(self.tree["constant_data"].to_dataset())
        values = xr.DataArray(
            self.features.values,
            {"item": self.features.items, "feature": own["feature"]},
            ("item", "feature"),
        )
        return own.assign(features=values)


def without_items(group: xr.Dataset) -> xr.Dataset:
    """Return the variables and coordinates of a group that are neither of items nor of annotations."""
    return group.drop_dims([dim for dim in ("item", "annotation") if dim in group.dims])


def fitted_features(tree: xr.DataTree) -> ItemFeatures:
    """Return the standardised features of the items of a tree; raise ValueError if its model has none."""
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    constant = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    missing = [EFFECT] * (EFFECT not in posterior) + [name for name in CONSTANTS if name not in constant]
    if missing:
        raise ValueError(
            f"the tree has no {missing[0]!r}: its model has no features of the items; fit one that has, such as "
            "models.dawid_skene(labels, features=features), and keep its constant_data"
        )
    needed = ["prevalence"] if "category" in posterior[EFFECT].dims else ["location_mean", "location_spread"]
    if absent := [name for name in needed if name not in posterior]:
        raise ValueError(
            f"the posterior has no {absent[0]!r}, which predicts the truth of new items; keep it"
        )
    values = constant["features"].transpose("item", "feature")
    names = np.array([*map(str, values["feature"].to_numpy())], object)
    items = values["item"].to_numpy() if "item" in values.coords else posterior["item"].to_numpy()
    mean, sd = (constant[name].to_numpy() for name in CONSTANTS[1:])
    return ItemFeatures(values.to_numpy(), names, mean, sd, items)


def with_new_items(tree: xr.DataTree, features: Any) -> xr.DataTree:
    """Return a tree of labels with the plausibility of its items and, given their features, of further ones."""
    fitted = fitted_features(tree)
    posterior = tree["posterior"].to_dataset()
    if "plausibility" not in posterior or "category" not in posterior[EFFECT].dims:
        raise ValueError("features= belongs to a posterior of labels with a plausibility; leave it out")
    own = posterior["plausibility"]
    further = fitted.like(features, but=own["item"].to_numpy())
    new = NewItems(tree, further).predicted(0)["posterior"]["plausibility"]
    both = xr.concat(
        [own, new.transpose(*own.dims)], "item", coords="minimal", compat="override", join="override"
    )
    groups = {"posterior": without_items(posterior).assign(plausibility=both.assign_attrs(own.attrs))}
    groups |= {name: node.to_dataset() for name, node in tree.children.items() if name == "observed_data"}
    return tree_like(tree, groups)
