"""The groups of a tree of Dawid and Skene's model that is drawn in shards, and its pieces."""

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

CHUNK = 2_000_000  # numbers in one stored piece
BUFFER = 64_000_000  # numbers that wait to be written
WIDTH = 4  # of a number of the raters: in double precision, and copied for its density
SAMPLE = ("chain", "draw")
OF_RATERS = ("rater", "category", "label")


@dataclass
class GibbsPiece:
    """Some draws of all chains.

    Attributes
    ----------
    prevalence : ndarray, shape (chain, draw, category)
        Prevalence.
    table : ndarray, shape (chain, draw, rater * label, category)
        p(label | rater, true category).
    plausibility : ndarray, shape (chain, draw, item, category)
        p(true category | draw, answers).
    log_p : ndarray, shape (chain, draw, item)
        log p(answers of the item | draw).
    """

    prevalence: np.ndarray
    table: np.ndarray
    plausibility: np.ndarray
    log_p: np.ndarray


@dataclass(frozen=True)
class GibbsGroups:
    """The groups, and what they are of.

    Attributes
    ----------
    labels : Labels
        The annotations.
    prior : ConfusionPrior
        Priors.
    chains, draws, thin : int
        How long the run is.
    dtype : str
        Storage.
    """

    labels: Labels
    prior: ConfusionPrior
    chains: int
    draws: int
    thin: int
    dtype: str

    @property
    def buffered(self) -> int:
        """Draws of each chain that are written at a time."""
        of_items = len(self.labels.items) * len(self.labels.categories)
        of_raters = WIDTH * self.prior.confusion.size
        size = self.chains * (of_items + of_raters)
        return min(max(BUFFER // size, 1), self.draws)

    @property
    def chunks(self) -> dict[str, int]:
        """Lengths of a stored piece."""
        items = max(CHUNK // (self.buffered * len(self.labels.categories)), 1)
        return {"chain": 1, "draw": self.buffered, "item": min(items, len(self.labels.items))}

    @cached_property
    def heard(self) -> np.ndarray:
        """Which items have an answer or a known truth: the others have no log likelihood."""
        answered = np.bincount(self.labels.annotation_item, minlength=len(self.labels.items)) > 0
        return answered | (self.labels.gold >= 0)

    def room(self, draws: int) -> GibbsPiece:
        """Return room for some draws of all chains."""
        n, size = len(self.labels.categories), (self.chains, draws)
        n_items, rows = len(self.labels.items), len(self.prior.confusion)
        return GibbsPiece(
            np.zeros((*size, n)),
            np.zeros((*size, rows, n)),
            np.zeros((*size, n_items, n), self.dtype),
            np.zeros((*size, n_items), self.dtype),
        )

    def at_full_size(self) -> dict[str, xr.Dataset]:
        """Return all groups, without memory for the draws."""
        groups = self.of(self.room(1)) | {"sample_stats": xr.Dataset({"thinning": self.thin})}
        tree = label(xr.DataTree.from_dict(groups | self._known()), self.labels)
        labelled = {name: node.to_dataset() for name, node in tree.children.items()}
        return at_full_size(labelled, {"chain": self.chains, "draw": self.draws})

    def of(self, piece: GibbsPiece) -> dict[str, xr.Dataset]:
        """Return the groups of some draws, the log likelihood of all items."""
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
        """Return the groups of some draws as they are stored."""
        groups = self.of(piece)
        groups["log_likelihood"] = groups["log_likelihood"].isel(item=self.heard)
        return groups

    def of_items(self) -> dict[str, xr.Dataset]:
        """Return what is known of the items before anything is drawn."""
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
    """Return (..., rater * label, category) as (..., rater, category, label)."""
    return table.reshape(*table.shape[:-2], -1, n, n).swapaxes(-1, -2)


def _log_density(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the log density of the Dirichlet law along the last axis."""
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return xlogy(alpha - 1, np.maximum(p, np.finfo(p.dtype).tiny)).sum(axis=-1) + normaliser
