"""Checks of models of scores: spread, shape and bounds of the residuals, raters, and errors that raters share.

The residual of a score is what remains after the means of its item and of its rater, fitted to each table by least squares:

    r_a = y_a - m_item(a) - b_rater(a)

What any raters share is looked for in what remains after the use that each makes of the scale, too, which is the slope s_k of
its residuals on the means of its items; what groups share that are known, in r_a:

    e_a = r_a - s_rater(a) (m_item(a) - mean of the rater's items)

Observed scores and replicates are treated alike, so that what the fit takes away is taken away from both.
"""

import numpy as np
import xarray as xr

from ..._messages import escaped
from .discrepancies import Check, Family, judged, standard_scores
from .populations import allotted, curved
from .replicates import Annotations, SharedParts, annotations_of, ratio, tables_of

MOST_SCORES = 20_000  # that are checked, of items drawn at random
ITERATIONS = 5  # of the fit of two means
MOST_IN_PAIRS = 24  # raters whose residuals are correlated: those with the most scores
FEWEST_COMMON = 5  # items that both raters of a pair scored
SOME = 3  # scores of an item whose spread is compared with that of others


def score_checks(tree: xr.DataTree, by: str | None, replicates: int, rng: np.random.Generator) -> xr.Dataset:
    """Return the checks of the scores of a posterior."""
    constants = tree["constant_data"].to_dataset()
    item = constants["annotation_item"].to_numpy().astype(np.int64)
    own = annotations_of(tree, item, by, MOST_SCORES, rng)
    bounds = constants["score_bounds"].to_numpy() if "score_bounds" in constants else None
    numbers = _Numbers(own, bounds)
    found = [numbers(table[own.place]) for table in tables_of(tree, "observed_score", replicates, rng)]
    items = item[own.place]
    of_populations = [
        *allotted(tree, own, items, rng, len(found) - 1),
        *curved(tree, np.unique(items), rng, len(found) - 1),
    ]
    checks = [*_checks(own, found), *of_populations]
    return judged(checks, _families(own, found), {"annotations": len(own.item)})


class _Numbers:
    """Callable that computes the numbers of one table of scores, by name."""

    def __init__(self, own: Annotations, bounds: np.ndarray | None) -> None:
        self._own, self._bounds = own, bounds
        self._n = np.bincount(own.item, minlength=own.size[1])
        self._told = len(own.raters) > 1
        self._of_rater = np.bincount(own.rater, minlength=own.size[2])
        self._shared = SharedParts(own, own.rater, own.item, np.ones(len(own.item)))
        self._pairs = _PairCorrelations(own)
        self._cell = np.unique(own.item * own.size[2] + own.rater, return_inverse=True)[1]
        self._times = np.bincount(self._cell)  # that a rater scored an item (cell,)

    def __call__(self, score: np.ndarray) -> dict[str, np.ndarray]:
        own, n = self._own, self._n
        about_item, residual, bias, centre = self._residuals(score)
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
        if own.raters:
            found["repeats"] = self._spread_of_repeats(score)
        if self._told:
            slope, about_slope = self._slopes(residual, centre)
            own_spread = self._spread_of_raters(residual)
            unit = np.where(own_spread > 0, own_spread, 1)[own.rater]
            within, between = self._shared(residual / unit)
            found |= {"bias": bias, "slope": slope, "rater_spread": own_spread}
            found |= {"within": within, "between": between}
            found["eigenvalue"] = self._pairs.largest_eigenvalue(about_slope)
        return {name: np.asarray(value, float) for name, value in found.items()}

    def _spread_of_repeats(self, score: np.ndarray) -> float:
        """Return the standard deviation of scores that a rater gave an item more than once; NaN if there are none."""
        mean = np.bincount(self._cell, score) / self._times
        squares = ((score - mean[self._cell]) ** 2).sum()
        return float(np.sqrt(ratio(squares, (self._times - 1).sum())))

    def _spread_of_raters(self, residual: np.ndarray) -> np.ndarray:
        """Return the root mean square of the residuals of each rater (rater,)."""
        return np.sqrt(ratio(np.bincount(self._own.rater, residual**2), self._of_rater))

    def _slopes(self, residual: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the slope of the residuals of each rater on the means of its items (rater,), and what remains after it."""
        rater, number = self._own.rater, np.maximum(self._of_rater, 1)
        height = centre[self._own.item]
        height = height - (np.bincount(rater, height) / number)[rater]
        square = np.bincount(rater, height**2)
        slope = np.bincount(rater, height * residual) / np.where(square > 0, square, 1)
        return slope, residual - slope[rater] * height

    def _residuals(self, score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return what remains after the item, after item and rater, and the means of the raters and of the items."""
        own = self._own
        bias = np.zeros(own.size[2])
        first = about = mean = np.zeros(0)
        for iteration in range(ITERATIONS if self._told else 1):
            rest = score - bias[own.rater]
            mean = np.bincount(own.item, rest, len(self._n)) / np.maximum(self._n, 1)
            about = rest - mean[own.item]
            first = about if not iteration else first
            if self._told:
                step = np.bincount(own.rater, about, len(bias)) / np.maximum(self._of_rater, 1)
                bias = bias + step - step.mean()
                about = about - step[own.rater]
        return first, about, bias, mean


class _PairCorrelations:
    """Correlations of the residuals of pairs of raters, those with the most scores, where they share enough items.

    The correlation of two raters with n items in common is multiplied by the root of n / N, with N the largest such n, so that
    all have the same standard error.
    """

    def __init__(self, own: Annotations) -> None:
        chosen = np.argsort(-np.bincount(own.rater, minlength=own.size[2]), kind="stable")[:MOST_IN_PAIRS]
        place = np.full(own.size[2], -1)
        place[chosen] = np.arange(len(chosen))
        self._kept = np.flatnonzero(place[own.rater] >= 0)
        self._shape = own.size[1], len(chosen)
        self._cell = own.item[self._kept] * len(chosen) + place[own.rater[self._kept]]
        times = self._table(np.ones(len(own.rater)))
        self._root = np.sqrt(np.maximum(times, 1))  # of the scores that a rater gave an item
        common = (times > 0).astype(float).T @ (times > 0)
        self._cells = np.diagonal(common).copy()
        np.fill_diagonal(common, 0)
        self._weight = np.where(common >= FEWEST_COMMON, 1 / np.sqrt(np.maximum(common, 1)), 0)
        self._weight /= np.sqrt(max(common.max(initial=0), 1))

    def _table(self, values: np.ndarray) -> np.ndarray:
        """Return sums by item and chosen rater."""
        size = self._shape[0] * self._shape[1]
        return np.bincount(self._cell, values[self._kept], size).reshape(self._shape)

    def largest_eigenvalue(self, residual: np.ndarray) -> float:
        """Return the largest eigenvalue of the matrix of correlations; those of few common items count as 0."""
        table = self._table(residual) / self._root
        size = np.sqrt(ratio((table**2).sum(axis=0), self._cells))
        table /= np.where(size > 0, size, 1)
        return float(np.linalg.eigvalsh(table.T @ table * self._weight)[-1]) + 1


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
REPEATS = "spread of scores that a rater gave an item more than once"
SLOPES = "use of the scale by each rater"
FOUND_SLOPES = 3.0  # standard scores from which the extreme raters are named


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
    if "repeats" in found[0]:
        values = stacked(found, "repeats")
        low = "scores that a rater gave an item more than once repeat each other, and count for less than as many of other raters"
        high = "scores that a rater gave an item more than once differ more than the model expects"
        checks.append(Check(REPEATS, float(values[0]), values[1:], low, high, is_main=True))
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
    """Return the checks of means, slopes and spread of the raters."""
    if len(own.raters) < 2:
        return []
    texts = {
        "bias": ("mean of each rater", "rater", "raters score higher or lower than the model says"),
        "slope": (SLOPES, "rater_of_slope", _slopes_in_words(own, stacked(found, "slope"))),
        "rater_spread": (
            "spread of each rater",
            "rater_of_spread",
            "raters scatter more or less than the model says",
        ),
    }
    families = []
    for name, (title, dim, text) in texts.items():
        values = stacked(found, name)
        is_main = name == "slope"
        families.append(Family(title, dim, own.raters, values[0], values[1:], text, is_main=is_main))
    return families


def _slopes_in_words(own: Annotations, slopes: np.ndarray) -> str:
    """Return what slopes that differ (table, rater) mean, and whose are far from those of the replicates."""
    far = standard_scores(slopes[0], slopes[1:])[0]
    named = [
        f"{which} {escaped(own.raters[k])}"
        for which, k in (("least", int(far.argmin())), ("most", int(far.argmax())))
        if abs(far[k]) >= FOUND_SLOPES
    ]
    who = f" ({', '.join(named)})" * bool(named)
    return (
        f"raters use the scale differently{who}: the scores of some rise less with the item than those of others, down to not at "
        "all where scores are arbitrary, and the model adds them up alike"
    )
