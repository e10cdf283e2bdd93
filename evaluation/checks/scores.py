"""Checks of models of scores: spread, shape and bounds of the residuals, raters, and errors that raters share.

The residual of a score is what remains after the means of its item and of its rater, fitted to each table by least squares:

    r_a = y_a - m_item(a) - b_rater(a)

Observed scores and replicates are treated alike, so that what the fit takes away is taken away from both.
"""

import numpy as np
import xarray as xr

from .discrepancies import Check, Family, judged
from .replicates import Annotations, SharedParts, annotations_of, ratio, tables_of

MOST_SCORES = 20_000  # that are checked, of items drawn at random
ITERATIONS = 5  # of the fit of two means
MOST_IN_PAIRS = 24  # raters whose residuals are correlated: those with the most scores
FEWEST_COMMON = 20  # items that both raters of a pair scored
SOME = 3  # scores of an item whose spread is compared with that of others


def score_checks(tree: xr.DataTree, by: str | None, replicates: int, rng: np.random.Generator) -> xr.Dataset:
    """Return the checks of the scores of a posterior."""
    constants = tree["constant_data"].to_dataset()
    item = constants["annotation_item"].to_numpy().astype(np.int64)
    own = annotations_of(tree, item, by, MOST_SCORES, rng)
    bounds = constants["score_bounds"].to_numpy() if "score_bounds" in constants else None
    numbers = _Numbers(own, bounds)
    found = [numbers(table[own.place]) for table in tables_of(tree, "observed_score", replicates, rng)]
    return judged(_checks(own, found), _families(own, found), {"annotations": len(own.item)})


class _Numbers:
    """Callable that computes the numbers of one table of scores, by name."""

    def __init__(self, own: Annotations, bounds: np.ndarray | None) -> None:
        self._own, self._bounds = own, bounds
        self._n = np.bincount(own.item, minlength=own.size[1])
        self._told = len(own.raters) > 1
        self._of_rater = np.bincount(own.rater, minlength=own.size[2])
        self._shared = SharedParts(own, own.rater, own.item, np.ones(len(own.item)))
        self._pairs = _PairCorrelations(own)

    def __call__(self, score: np.ndarray) -> dict[str, np.ndarray]:
        own, n = self._own, self._n
        about_item, residual, bias = self._residuals(score)
        several = n[own.item] > 1
        squares = np.bincount(own.item, about_item**2, len(n))
        variance = squares[n >= SOME] / (n[n >= SOME] - 1)
        spread = np.sqrt(ratio(squares.sum(), (n - 1)[n > 1].sum()))
        z = (
            residual[several] / max(residual[several].std(), np.finfo(float).tiny)
            if several.any()
            else residual
        )
        found = {
            "spread": spread,
            "unequal": ratio(variance.std(), variance.mean()) if len(variance) > 1 else np.nan,
            "skewness": (z**3).mean() if several.any() else np.nan,
            "kurtosis": (z**4).mean() if several.any() else np.nan,
        }
        if self._bounds is not None:
            found |= {"low": (score <= self._bounds[0]).mean(), "high": (score >= self._bounds[1]).mean()}
        if self._told:
            number = self._of_rater
            own_spread = np.sqrt(ratio(np.bincount(own.rater, residual**2, len(number)), number))
            unit = np.where(own_spread > 0, own_spread, 1)[own.rater]
            within, between = self._shared(residual / unit)
            found |= {"bias": bias, "rater_spread": own_spread, "within": within, "between": between}
            found["eigenvalue"] = self._pairs.largest_eigenvalue(residual / unit)
        return {name: np.asarray(value, float) for name, value in found.items()}

    def _residuals(self, score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what remains after the item, after item and rater, and the means of the raters."""
        own = self._own
        bias = np.zeros(own.size[2])
        first = about = np.zeros(0)
        for iteration in range(ITERATIONS if self._told else 1):
            rest = score - bias[own.rater]
            about = rest - (np.bincount(own.item, rest, len(self._n)) / np.maximum(self._n, 1))[own.item]
            first = about if not iteration else first
            if self._told:
                step = np.bincount(own.rater, about, len(bias)) / np.maximum(self._of_rater, 1)
                bias = bias + step - step.mean()
                about = about - step[own.rater]
        return first, about, bias


class _PairCorrelations:
    """Correlations of the residuals of pairs of raters, those with the most scores, where they share enough items."""

    def __init__(self, own: Annotations) -> None:
        chosen = np.argsort(-np.bincount(own.rater, minlength=own.size[2]), kind="stable")[:MOST_IN_PAIRS]
        place = np.full(own.size[2], -1)
        place[chosen] = np.arange(len(chosen))
        self._kept = np.flatnonzero(place[own.rater] >= 0)
        self._shape = own.size[1], len(chosen)
        self._cell = own.item[self._kept] * len(chosen) + place[own.rater[self._kept]]
        common = self._table(np.ones(len(own.rater)))
        self._common = (common > 0).astype(float).T @ (common > 0)

    def _table(self, values: np.ndarray) -> np.ndarray:
        """Return sums by item and chosen rater."""
        size = self._shape[0] * self._shape[1]
        return np.bincount(self._cell, values[self._kept], size).reshape(self._shape)

    def largest_eigenvalue(self, residual: np.ndarray) -> float:
        """Return the largest eigenvalue of the matrix of correlations; those of few common items count as 0."""
        table = self._table(residual)
        enough = self._common >= FEWEST_COMMON
        return float(
            np.linalg.eigvalsh(np.where(enough, table.T @ table / np.maximum(self._common, 1), 0))[-1]
        )


SPREAD = "spread of the scores of an item"
SHAPES = {
    "spread": (
        SPREAD,
        "scores of an item differ less than the model expects",
        "scores of an item differ more than the model expects",
    ),
    "unequal": (
        "inequality of the items in spread",
        "items differ less in the spread of their scores than the model expects",
        "items differ more in the spread of their scores than the model expects: some are harder to score",
    ),
    "skewness": (
        "skewness of the residuals",
        "far scores are more often low than the model expects",
        "far scores are more often high than the model expects",
    ),
    "kurtosis": (
        "kurtosis of the residuals",
        "fewer scores are far from their item than the model expects",
        "more scores are far from their item than the model expects",
    ),
    "low": (
        "share of scores at the lower bound",
        "fewer scores are at the lower bound than the model puts there or beyond",
        "more scores are at the lower bound than the model puts there or beyond",
    ),
    "high": (
        "share of scores at the upper bound",
        "fewer scores are at the upper bound than the model puts there or beyond",
        "more scores are at the upper bound than the model puts there or beyond",
    ),
}
EIGENVALUE = "largest eigenvalue of the correlations of the raters"
SHARE = "raters agree more than independent errors do: they share errors"
DIFFER = "raters agree less than independent errors do, as where others share errors"


def stacked(found: list[dict[str, np.ndarray]], name: str) -> np.ndarray:
    """Return one of the numbers of all tables, the observed one first."""
    return np.array([own[name] for own in found])


def _checks(own: Annotations, found: list[dict[str, np.ndarray]]) -> list[Check]:
    """Return the checks of single numbers."""
    checks = []
    for name, texts in SHAPES.items():
        if name in found[0]:
            values = stacked(found, name)
            checks.append(Check(texts[0], float(values[0]), values[1:], *texts[1:]))
    if "eigenvalue" in found[0]:
        values = stacked(found, "eigenvalue")
        text = "some raters agree more than independent errors do: they share errors"
        checks.append(Check(EIGENVALUE, float(values[0]), values[1:], text, text, "upper", is_main=True))
    if "within" in found[0] and len(own.groups) > 1:
        checks += shared_checks(own, stacked(found, "within"), stacked(found, "between"), (DIFFER, SHARE))
    return checks


def shared_checks(
    own: Annotations,
    within: np.ndarray,
    between: np.ndarray,
    texts: tuple[str, str],
    what: str = "residual correlation",
) -> list[Check]:
    """Return the checks of what raters share within each group, (table, group), and between groups, (table,)."""
    named = [(f"{what} within {name}", name, within[:, g]) for g, name in enumerate(own.groups)]
    named.append((f"{what} between groups", "raters of different groups", between))
    return [
        Check(check, float(v[0]), v[1:], f"{who}: {texts[0]}", f"{who}: {texts[1]}", is_main=True)
        for check, who, v in named
    ]


def _families(own: Annotations, found: list[dict[str, np.ndarray]]) -> list[Family]:
    """Return the checks of means and spread of the raters."""
    if len(own.raters) < 2:
        return []
    texts = {
        "bias": ("mean of each rater", "raters score higher or lower than the model says"),
        "rater_spread": ("spread of each rater", "raters scatter more or less than the model says"),
    }
    families = []
    for name, (title, text) in texts.items():
        values = stacked(found, name)
        dim = "rater" if name == "bias" else "rater_of_spread"
        families.append(Family(title, dim, own.raters, values[0], values[1:], text))
    return families
