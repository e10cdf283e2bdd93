"""Priors of qualities and reliabilities.

The likelihood depends on reliability times difference of qualities, so that a common factor is not
identified. Reliabilities therefore have mean one, geometric or (signed) arithmetic, and qualities sum to
zero; `inference.in_units` rescales afterwards.
"""

from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from ..._messages import short_repr
from .._hierarchy import Number, prior_number, refuse_expression
from ..data.comparisons import Comparisons
from ..data.errors import DataError
from ..data.reading.columns import code_ids
from ..data.reading.frames import Column, column_names, named_columns

ITEM = "item"


def item_covariates(table: Any, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Read the covariates of the items from a frame, mapping or DataArray; return names and centred values.

    One row per item, in any order, in the column ``item``; rows of other items are ignored. Raises DataError
    if an item is missing or duplicated, a cell is not a finite number, or a covariate is constant.

    Shapes: names (covariate,); values (item, covariate), centred over the items, in the units of the table.
    """
    if hasattr(table, "dims") and hasattr(table, "coords"):
        table = _columns_of_array(table)
    names = [name for name in column_names(table) if name != ITEM]
    if not names:
        raise DataError(
            "covariates= has no column besides 'item'", remedy="give one column of numbers for each covariate"
        )
    columns = named_columns(table, {ITEM: ITEM} | {f"covariates {name}": name for name in names})
    row = _rows_of(columns[ITEM], items)
    values = np.stack([finite_numbers(columns[f"covariates {name}"])[row] for name in names], axis=1)
    constant = np.ptp(values, axis=0) == 0
    if constant.any():
        k = int(constant.argmax())
        raise DataError(
            f"{short_repr(names[k])} is the same for all items",
            column=names[k],
            value=values[0, k],
            remedy="leave it out: only differences between items show in comparisons",
        )
    return np.array(names), values - values.mean(axis=0)


def _columns_of_array(array: Any) -> dict[str, Any]:
    """Return the columns of a DataArray (item, covariate)."""
    if set(array.dims) != {ITEM, "covariate"}:
        raise DataError(
            f"covariates= has dims {tuple(array.dims)}",
            allowed="('item', 'covariate')",
            remedy="rename or transpose its dims",
        )
    array = array.transpose(ITEM, "covariate")
    names = map(str, array.coords["covariate"].values)
    return {ITEM: array.coords[ITEM].values} | dict(zip(names, np.asarray(array.values).T, strict=True))


def _rows_of(column: Column, items: np.ndarray) -> np.ndarray:
    """Return the row of every item."""
    index, code = code_ids(column)
    if len(index) < len(code):
        row = int(np.setdiff1d(np.arange(len(code)), np.unique(code, return_index=True)[1])[0])
        raise DataError(
            f"item {short_repr(index[code[row]].item())} stands twice",
            row=row + 1,
            column=column.name,
            remedy="give each item one row",
        )
    place = {name: row for row, name in enumerate(index.tolist())}
    missing = [name for name in items.tolist() if name not in place]
    if missing:
        raise DataError(
            f"no row for item {short_repr(missing[0])}",
            column=column.name,
            value=missing[0],
            allowed="a row for each of the items that are compared, named as they are",
            remedy="add it",
        )
    return np.array([place[name] for name in items.tolist()])


def finite_numbers(column: Column) -> np.ndarray:
    """Return the cells as finite numbers."""
    if {*map(type, column.values)} <= {int, float}:  # one by one only where a cell may be refused
        found = np.asarray(column.values, np.float64)
        if np.isfinite(found).all():
            return found
    for row, cell in enumerate(column.values):
        number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
        if not number or not np.isfinite(cell):
            raise DataError(
                f"{short_repr(cell)} is not a finite number",
                row=row + 1,
                column=column.name,
                value=cell,
                allowed="finite numbers",
                remedy="correct the cell; code categories by numbers",
            )
    return np.asarray(column.values, np.float64)


# --- Priors of qualities and reliabilities ---

Reliability = Literal["hierarchical", "per rater", "shared"]

USUAL_SPREAD = 0.7  # of reliabilities on the log scale: two thirds of the raters within a factor of two


class Strength(NamedTuple):
    """Quality (item,) and reliability (rater,) of the likelihood; one rater if they are anonymous."""

    quality: TensorVariable
    reliability: TensorVariable


class StrengthPrior(NamedTuple):
    """Validated arguments of a builder."""

    reliability: Reliability
    signed: bool  # whether reliabilities may be negative
    scales: tuple[Any, Any]  # of quality and reliability; None has a prior
    uniform_range: tuple[float, float] | None  # of uniform reliabilities
    covariates: tuple[np.ndarray, np.ndarray] | None  # names, centred values (item, covariate)

    @property
    def coords(self) -> dict[str, np.ndarray]:
        """Names of the covariates, if any."""
        return {} if self.covariates is None else {"covariate": self.covariates[0]}

    def register(self, pairs: Comparisons) -> Strength:
        """Register the qualities and reliabilities in the model of the context."""
        if self.uniform_range is not None:
            quality = pm.Uniform("quality", 0.0, 1.0, dims="item")
            return Strength(quality, pm.Uniform("reliability", *self.uniform_range, dims="rater"))
        return Strength(self._quality(), self._reliability(max(len(pairs.raters), 1)))

    def _quality(self) -> TensorVariable:
        """Register qualities that sum to zero, or a regression on the covariates."""
        scale = self.scales[0]
        if scale is None:
            scale = pm.LogNormal("quality_scale", np.log(2.0), 1.0)
        if self.covariates is None:
            return pm.ZeroSumNormal("quality", sigma=scale, dims="item")
        values = pm.Data("item_covariate", self.covariates[1], dims=("item", "covariate"))
        coefficient = pm.Normal("coefficient", 0.0, 1.0, dims="covariate")
        residual = pm.ZeroSumNormal("residual", sigma=scale, dims="item")
        return _named("quality", pt.dot(values, coefficient) + residual, "item")

    def _reliability(self, n_raters: int) -> TensorVariable:
        """Register reliabilities of mean one, geometric or, if signed, arithmetic."""
        if self.reliability == "shared":
            return pt.ones(n_raters)
        scale = self.scales[1]
        if scale is None and self.reliability == "per rater":
            scale = USUAL_SPREAD
        if scale is None:
            scale = pm.LogNormal("reliability_scale", np.log(0.7), 0.5)
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
    reliability: Reliability,
    signed: bool,
    scales: tuple[Number | None, Number | None],
    reliability_range: tuple[float, float] | None,
    covariates: Any,
) -> StrengthPrior:
    """Validate the arguments of a builder that concern qualities and reliabilities; raises ValueError."""
    quality_scale, reliability_scale = scales
    if reliability not in get_args(Reliability):
        raise ValueError(f"reliability={reliability!r} is not one of {get_args(Reliability)}")
    if reliability == "hierarchical" and pairs.anonymous and reliability_range is None:
        reliability = "shared"
    about_raters = {"signed=True": signed, "reliability_scale=": reliability_scale is not None}
    if reliability_range is not None:
        refuse_expression(
            "reliability_range", reliability_range, "it bounds the support of the reliabilities"
        )
        check_incompatible(
            "reliability_range= is a uniform prior of qualities and reliabilities",
            about_raters
            | {
                "reliability='shared'": reliability == "shared",
                "quality_scale=": quality_scale is not None,
                "covariates=": covariates is not None,
            },
        )
    if reliability == "shared":
        check_incompatible("reliability='shared' says that raters do not differ", about_raters)
    elif len(pairs.raters) < 2:
        found = "anonymous" if pairs.anonymous else "all of one rater"
        raise ValueError(
            f"reliability={reliability!r} estimates differences of raters, but these votes are {found}; use reliability='shared'"
        )
    return StrengthPrior(
        reliability,
        bool(signed),
        (
            prior_number("quality_scale", quality_scale, positive_scale),
            prior_number("reliability_scale", reliability_scale, positive_scale),
        ),
        None if reliability_range is None else _increasing_pair(reliability_range),
        None if covariates is None else item_covariates(covariates, pairs.items),
    )


def check_incompatible(meaning: str, given: dict[str, bool]) -> None:
    """Raise if an argument is given that contradicts one with this `meaning`."""
    if clash := [name for name, there in given.items() if there]:
        raise ValueError(f"{meaning}, and cannot be combined with {clash[0]}; leave one of them out")


def positive_scale(name: str, value: Any) -> float | None:
    """Return a positive finite number, or None if there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise ValueError(f"{name}={value!r} must be a positive finite number, or None for its prior")
    return float(value)


def _increasing_pair(value: Any) -> tuple[float, float]:
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
