"""The scores that items would get, draw by draw: the probability that one is at most a threshold.

    P(y_i <= t) = Phi((t - mu_i) / sigma_i)                        items with a location and a scale
    P(y_i <= t) = mean_k Phi((t - mu_i - b_k) / s_k)               items with a location, raters with a bias and a scale

The second is of a rater picked at random from those who are there; of many items and raters it is read from a table, right to
1e-6. The normal law is not cut at the bounds of the scores, where they have some, and has no mass at the threshold itself: of
scores in whole numbers, a threshold half-way between two of them treats both alike.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import ndtr

from .errors import EvaluationError
from .layouts import REMEDY
from .mean_normal import mean_normal_below
from .threads import in_threads

__all__ = ["ScoreDraws"]

BLOCK_SIZE = 2_000_000  # probabilities in one block of work
OF_SCORES = "Models of scores, such as normal_scores, have them"


@dataclass(frozen=True)
class ScoreDraws:
    """Posterior draws of what a model of scores says of its items.

    Attributes
    ----------
    location : DataArray, dims (..., item)
        Draws of the locations; sample dims first.
    rows : ndarray, shape (sample, item)
        The same.
    bias : ndarray, shape (sample, rater), or None
        Draws of what raters add; None if the model has no raters.
    scale : ndarray, shape (sample, item) or (sample, rater)
        Draws of the standard deviations: of the items, or where there are biases of the raters.
    """

    location: xr.DataArray
    rows: np.ndarray
    bias: np.ndarray | None
    scale: np.ndarray

    @classmethod
    def of(cls, tree: xr.DataTree) -> "ScoreDraws":
        """Read a tree.

        Raises
        ------
        EvaluationError
            If it has no locations and scales of labelled items.
        """
        if not isinstance(tree, xr.DataTree):
            raise EvaluationError(f"expected a DataTree, found {type(tree).__name__}")
        posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
        found = ", ".join(map(str, posterior.data_vars)) or "nothing"
        if "location" not in posterior or "item" not in posterior["location"].dims:
            raise EvaluationError(
                f"the posterior has no location of items; it holds {found}. {OF_SCORES}"
            )
        location = posterior["location"].transpose(
            "chain", "draw", ..., "item", missing_dims="ignore"
        )
        if "item" not in location.coords:
            raise EvaluationError(f"the items of location have no labels; {REMEDY}")
        sample, rows = location.dims[:-1], location.to_numpy().reshape(-1, location.sizes["item"])
        if "scale" in posterior and "item" in posterior["scale"].dims:
            scale = posterior["scale"].transpose(*sample, "item").to_numpy()
            return cls(location, rows, None, scale.reshape(-1, scale.shape[-1]))
        if {"rater_bias", "rater_scale"} <= set(posterior.data_vars):
            bias, spread = (
                posterior[name].transpose(*sample, "rater").to_numpy().astype(float)
                for name in ("rater_bias", "rater_scale")
            )
            n = bias.shape[-1]
            return cls(location, rows, bias.reshape(-1, n), spread.reshape(-1, n))
        raise EvaluationError(
            f"the posterior has neither a scale of items nor rater_bias and rater_scale; it holds {found}. {OF_SCORES}"
        )

    def at_most(self, threshold: float, samples: slice) -> np.ndarray:
        """Return P(score <= threshold) in some draws, shape (sample, item).

        Raises
        ------
        EvaluationError
            If a draw is not finite, or a scale not positive.
        """
        location, scale = self.rows[samples].astype(float), self.scale[samples]
        _check("location", np.isfinite(location), self.location)
        if self.bias is None:
            _check("scale", (scale > 0) & (scale < np.inf), self.location)
            np.subtract(threshold, location, out=location)
            location /= scale
            return ndtr(location, out=location)
        bias = self.bias[samples]
        if not (np.isfinite(bias).all() and (scale > 0).all() and np.isfinite(scale).all()):
            raise EvaluationError(
                "a draw of rater_bias is not finite, or of rater_scale not positive: sample again"
            )
        return mean_normal_below(threshold, location, bias, scale)

    def map_blocks[Result](self, function: Callable[[slice], Result]) -> list[Result]:
        """Apply a function to blocks of draws, on several threads."""
        samples, items = self.rows.shape
        step = max(1, BLOCK_SIZE // items)
        blocks = [slice(first, first + step) for first in range(0, samples, step)]
        return list(in_threads(function, blocks))


def _check(name: str, fine: np.ndarray, location: xr.DataArray) -> None:
    """Raise unless all draws (sample, item) are fine."""
    if not fine.all():
        item = location["item"].to_numpy().tolist()[int((~fine).any(axis=0).argmax())]
        allowed = "finite" if name == "location" else "finite and positive"
        raise EvaluationError(f"{name} of item {item!r} is not {allowed} in a draw: sample again")
