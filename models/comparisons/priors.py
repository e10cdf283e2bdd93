"""Priors of qualities and reliabilities.

The likelihood depends on reliability times difference of qualities, so that a common factor is not
identified. Reliabilities therefore have mean one, geometric or (signed) arithmetic, and qualities sum to
zero; `inference.in_units` rescales afterwards.
"""

from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..data.comparisons import Comparisons
from .covariates import item_covariates

__all__ = ["Reliability", "Strength", "StrengthPrior", "strength_prior"]

Reliability = Literal["hierarchical", "per rater", "shared"]
KINDS = ("hierarchical", "per rater", "shared")
USUAL_SPREAD = (
    0.7  # of reliabilities on the log scale: two thirds of the raters within a factor of two
)


class Strength(NamedTuple):
    """Quality (item,) and reliability (rater,) of the likelihood; one rater if they are anonymous."""

    quality: TensorVariable
    reliability: TensorVariable


class StrengthPrior(NamedTuple):
    """Validated arguments of a builder."""

    reliability: Reliability
    signed: bool  # whether reliabilities may be negative
    scales: tuple[float | None, float | None]  # of quality and reliability; None has a prior
    box: tuple[float, float] | None  # range of uniform reliabilities
    covariates: tuple[np.ndarray, np.ndarray] | None  # names, centred values (item, covariate)

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """Names of the covariates, if any."""
        return {} if self.covariates is None else {"covariate": self.covariates[0]}

    def register(self, pairs: Comparisons) -> Strength:
        """Register the qualities and reliabilities in the model of the context."""
        if self.box is not None:
            low, high = self.box
            quality = pm.Uniform("quality", 0.0, 1.0, dims="item")
            return Strength(quality, pm.Uniform("reliability", low, high, dims="rater"))
        return Strength(self._quality(), self._reliability(max(len(pairs.raters), 1)))

    def _quality(self) -> TensorVariable:
        """Register qualities that sum to zero, or a regression on the covariates."""
        mean_of_log, spread_of_log = np.log(2.0), 1.0
        scale = self.scales[0] or pm.LogNormal("quality_scale", mean_of_log, spread_of_log)
        if self.covariates is None:
            return pm.ZeroSumNormal("quality", sigma=scale, dims="item")
        values = pm.Data("item_covariate", self.covariates[1], dims=("item", "covariate"))
        coefficient = pm.Normal("coefficient", 0.0, 1.0, dims="covariate")
        residual = pm.ZeroSumNormal("residual", sigma=scale, dims="item")
        quality = pt.dot(values, coefficient) + residual
        return _named("quality", quality, "item")

    def _reliability(self, n_raters: int) -> TensorVariable:
        """Register reliabilities of mean one, geometric or, if signed, arithmetic."""
        if self.reliability == "shared":
            return pt.ones(n_raters)
        scale = self.scales[1]
        if scale is None and self.reliability == "per rater":
            scale = USUAL_SPREAD
        scale = scale or pm.LogNormal("reliability_scale", np.log(0.7), 0.5)
        if self.signed:
            deviation = pm.ZeroSumNormal("reliability_deviation", sigma=scale, dims="rater")
            return _named("reliability", 1.0 + deviation, "rater")
        log_reliability = pm.ZeroSumNormal("log_reliability", sigma=scale, dims="rater")
        return _named("reliability", pt.exp(log_reliability), "rater")


def _named(name: str, value: Any, dim: str) -> TensorVariable:
    """Register a deterministic variable with one dim."""
    return cast(TensorVariable, pm.Deterministic(name, value, dims=dim))


def strength_prior(
    pairs: Comparisons,
    *,
    reliability: Reliability,
    signed: bool,
    covariates: Any,
    quality_scale: float | None,
    reliability_scale: float | None,
    reliability_range: tuple[float, float] | None,
) -> StrengthPrior:
    """Validate the arguments of a builder that concern qualities and reliabilities; raises ValueError."""
    if reliability not in KINDS:
        raise ValueError(f"reliability={reliability!r} is not one of {KINDS}")
    about_raters = {"signed=True": signed, "reliability_scale=": reliability_scale is not None}
    if reliability_range is not None:
        _refuse_beside(
            "reliability_range= is a uniform prior of qualities and reliabilities",
            about_raters
            | {
                "reliability='shared'": reliability == "shared",
                "quality_scale=": quality_scale is not None,
                "covariates=": covariates is not None,
            },
        )
    if reliability == "shared":
        _refuse_beside("reliability='shared' says that raters do not differ", about_raters)
    elif len(pairs.raters) < 2:
        found = "anonymous" if pairs.anonymous else "all of one rater"
        raise ValueError(
            f"reliability={reliability!r} estimates differences of raters, but these votes are {found}; use reliability='shared'"
        )
    return StrengthPrior(
        reliability,
        bool(signed),
        (_scale("quality_scale", quality_scale), _scale("reliability_scale", reliability_scale)),
        None if reliability_range is None else _box(reliability_range),
        None if covariates is None else item_covariates(covariates, pairs.items),
    )


def _refuse_beside(what: str, given: dict[str, bool]) -> None:
    """Raise if an argument is given that contradicts another one."""
    if clash := [name for name, there in given.items() if there]:
        raise ValueError(f"{what}, and cannot be combined with {clash[0]}; leave one of them out")


def _scale(name: str, value: Any) -> float | None:
    """Return a positive finite number, or None if there is none."""
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not 0 < value < np.inf
    ):
        raise ValueError(
            f"{name}={value!r} must be a positive finite number, or None for its prior"
        )
    return float(value)


def _box(value: Any) -> tuple[float, float]:
    """Return two increasing numbers from zero."""
    try:
        low, high = map(float, value)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 <= low < high < np.inf:
        raise ValueError(
            f"reliability_range={value!r} must be a pair of numbers (low, high) with 0 <= low < high, such as (1, 20)"
        )
    return low, high
