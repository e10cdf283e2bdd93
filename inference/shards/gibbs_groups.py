"""Tree groups of Dawid and Skene's model drawn in shards, and batches of its draws."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.special import gammaln, xlogy

from ...models.data.labels import Labels
from ...models.data.single_answers import one_by_one
from ..draw_store import at_full_size
from ..kernels.confusion import ConfusionPrior
from ..labelling import label

__all__ = ["GibbsGroups", "GibbsPiece"]

CHUNK = 2_000_000  # numbers per stored chunk
BUFFER = 64_000_000  # numbers buffered before they are written
# memory of a confusion entry, in single-precision numbers: double precision, and a copy for its density
WIDTH = 4
SAMPLE = ("chain", "draw")
OF_RATERS = ("rater", "category", "label")


@dataclass
class GibbsPiece:
    """Batch of consecutive draws of all chains."""

    prevalence: np.ndarray  # (chain, draw, category)
    table: np.ndarray  # (chain, draw, rater * label, category), p(label | rater, true category)
    plausibility: np.ndarray  # (chain, draw, item, category), p(true category | draw, answers)
    log_p: np.ndarray  # (chain, draw, item), log p(answers of the item | draw)


@dataclass(frozen=True)
class GibbsGroups:
    """Layout of the posterior tree for given labels, priors and length of the run."""

    labels: Labels
    prior: ConfusionPrior
    chains: int
    draws: int
    thin: int
    dtype: str  # of the stored draws

    @property
    def buffered(self) -> int:
        """Number of draws per chain that are written at a time."""
        of_items = len(self.labels.items) * len(self.labels.categories)
        of_raters = WIDTH * self.prior.confusion.size
        size = self.chains * (of_items + of_raters)
        return min(max(BUFFER // size, 1), self.draws)

    @property
    def chunks(self) -> dict[str, int]:
        """Chunk lengths of the stored arrays, by dim."""
        items = max(CHUNK // (self.buffered * len(self.labels.categories)), 1)
        return {"chain": 1, "draw": self.buffered, "item": min(items, len(self.labels.items))}

    @cached_property
    def heard(self) -> np.ndarray:
        """Mask of items with an answer or a gold label; only these have a log likelihood."""
        answered = np.bincount(self.labels.annotation_item, minlength=len(self.labels.items)) > 0
        return answered | (self.labels.gold >= 0)

    def room(self, draws: int) -> GibbsPiece:
        """Allocate a batch for some draws of all chains."""
        n, size = len(self.labels.categories), (self.chains, draws)
        n_items, rows = len(self.labels.items), len(self.prior.confusion)
        return GibbsPiece(
            np.zeros((*size, n)),
            np.zeros((*size, rows, n)),
            np.zeros((*size, n_items, n), self.dtype),
            np.zeros((*size, n_items), self.dtype),
        )

    def at_full_size(self) -> dict[str, xr.Dataset]:
        """Return all groups at their final shapes, without allocating memory for the draws."""
        groups = self.of(self.room(1)) | {"sample_stats": xr.Dataset({"thinning": self.thin})}
        tree = label(xr.DataTree.from_dict(groups | self._known()), self.labels)
        labelled = {name: node.to_dataset() for name, node in tree.children.items()}
        return at_full_size(labelled, {"chain": self.chains, "draw": self.draws})

    def of(self, piece: GibbsPiece) -> dict[str, xr.Dataset]:
        """Convert a batch to posterior, log likelihood (of all items) and log prior."""
        n = len(self.labels.categories)
        alpha, beta = self.prior.prevalence, _by_rater(self.prior.confusion, n)
        confusion = _by_rater(piece.table, n)
        stored = {"prevalence": piece.prevalence, "confusion": confusion}
        stored = {name: array.astype(self.dtype) for name, array in stored.items()}
        posterior = {
            "prevalence": ((*SAMPLE, "category"), stored["prevalence"]),
            "confusion": ((*SAMPLE, *OF_RATERS), stored["confusion"]),
            "plausibility": ((*SAMPLE, "item", "category"), piece.plausibility),
        }
        log_prior = {
            "prevalence": (SAMPLE, _log_density(piece.prevalence, alpha)),
            "confusion": ((*SAMPLE, *OF_RATERS[:2]), _log_density(confusion, beta)),
        }
        sample = {d: np.arange(n) for d, n in zip(SAMPLE, piece.log_p.shape, strict=False)}
        coords = {"rater": self.labels.raters}
        return {
            "posterior": xr.Dataset(posterior, coords | sample),
            "log_likelihood": xr.Dataset({"observed_label": ((*SAMPLE, "item"), piece.log_p)}),
            "log_prior": xr.Dataset(log_prior, coords),
        }

    def stored(self, piece: GibbsPiece) -> dict[str, xr.Dataset]:
        """Convert a batch to the groups as stored: log likelihood only of the items of `heard`."""
        groups = self.of(piece)
        groups["log_likelihood"] = groups["log_likelihood"].isel(item=self.heard)
        return groups

    def of_items(self) -> dict[str, xr.Dataset]:
        """Return the constant data of the items, known before any draw."""
        return {"constant_data": self._known()["constant_data"][["gold"]]}

    def _known(self) -> dict[str, xr.Dataset]:
        """Return the groups that hold the data."""
        item, rater, given = one_by_one(self.labels)
        constant = {
            "annotation_item": ("annotation", item),
            "annotation_rater": ("annotation", rater),
            "gold": ("item", self.labels.gold),
        }
        coords = {"annotation": np.arange(len(item))}
        observed = {"observed_label": ("annotation", given)}
        return {
            "constant_data": xr.Dataset(constant, coords),
            "observed_data": xr.Dataset(observed, coords),
        }


def _by_rater(table: np.ndarray, n: int) -> np.ndarray:
    """Reshape (..., rater * label, category) to (..., rater, category, label)."""
    return table.reshape(*table.shape[:-2], -1, n, n).swapaxes(-1, -2)


def _log_density(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the log density of the Dirichlet law along the last axis."""
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return xlogy(alpha - 1, np.maximum(p, np.finfo(p.dtype).tiny)).sum(axis=-1) + normaliser
