"""Posterior draws of scores, and the probability that a score is at most a threshold.

    P(y_i <= t) = Phi((t - mu_i) / sigma_i)                 models with a location and a scale for each item
    P(y_i <= t) = mean_k Phi((t - mu_i - b_k) / s_k)        models with a bias and a scale for each rater

The second law is that of a rater picked at random from the observed ones; with many items and raters it is
interpolated from a table, with an error below 1e-6. The normal law is not truncated at the bounds of the
scores and has no mass at the threshold itself: with whole-number scores, a threshold half-way between two of
them treats both alike.
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
    """Posterior draws of the parameters of a model of scores."""

    location: xr.DataArray  # (..., item), sample dims first
    rows: np.ndarray  # (sample, item), the values of location
    bias: np.ndarray | None  # (sample, rater); None in models without raters
    # (sample, item), or (sample, rater) where there is a bias: standard deviations
    scale: np.ndarray

    @classmethod
    def of(cls, tree: xr.DataTree) -> "ScoreDraws":
        """Read the draws of a posterior; raise without locations and scales of labelled items."""
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
        """Return P(score <= threshold) (sample, item) of a slice of draws; raise if a draw is invalid."""
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
        """Apply a function to slices of draws on several threads; return the results in order."""
        samples, items = self.rows.shape
        step = max(1, BLOCK_SIZE // items)
        blocks = [slice(first, first + step) for first in range(0, samples, step)]
        return list(in_threads(function, blocks))


def _check(name: str, fine: np.ndarray, location: xr.DataArray) -> None:
    """Raise unless `fine` (sample, item) is all true, naming the first bad item."""
    if not fine.all():
        item = location["item"].to_numpy().tolist()[int((~fine).any(axis=0).argmax())]
        allowed = "finite" if name == "location" else "finite and positive"
        raise EvaluationError(f"{name} of item {item!r} is not {allowed} in a draw: sample again")
