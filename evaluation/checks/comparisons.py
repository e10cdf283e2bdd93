"""Checks of models of comparisons: sides, ties, order of the items, and tastes that raters share or have alone.

Votes are counted +1 for the left item, -1 for the right one and 0 for a tie. To each table qualities d and an advantage b of
the left side are fitted by least squares, and the residual of n votes of rater k on the items l and r is

    r_a = s_a - n_a (d_l - d_r + b),   s_a their sum

The sum of the residuals for an item, by rater or by group, is large where the rater or the group likes the item more than the
others do. Observed votes and replicates are treated alike, so that what the linear fit misses is missed in both.
"""

from itertools import chain
from typing import Any

import numpy as np
import xarray as xr
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import splu

from ..._messages import escaped
from .discrepancies import Check, Family, judged, standard_scores
from .replicates import Annotations, SharedParts, annotations_of, ratio, tables_of
from .scores import shared_checks, stacked

MOST_VOTES = 200_000  # annotations that are checked
MOST_IN_CYCLES = 200  # items whose triads are counted: those compared most often
MOST_IN_PAIRS = 24  # raters whose residuals are compared: those with the most votes
ITERATIONS = 3  # of the fit of qualities and side
RIDGE = 1e-3  # of the mean degree: components that no vote joins have the same mean
TIE = 2
AGREE = "raters agree more on an item than its quality explains: they share a taste"
DISAGREE = "raters agree less on an item than its quality explains, as where others share a taste"


def comparison_checks(
    tree: xr.DataTree, by: str | None, replicates: int, rng: np.random.Generator
) -> xr.Dataset:
    """Return the checks of the votes of a posterior."""
    constants = tree["constant_data"].to_dataset()
    left, right = (constants[f"annotation_{side}"].to_numpy().astype(np.int64) for side in ("left", "right"))
    own = annotations_of(tree, np.arange(len(left)), by, MOST_VOTES, rng)
    tables = tables_of(tree, "observed_winner", replicates, rng)
    left, right = left[own.place], right[own.place]
    found = []
    covariates = None
    if "vote_covariate_value" in constants:
        covariates = constants["vote_covariate_value"].transpose("annotation", ...)[own.place]
    first = next(tables)[own.place]
    observed = by_winner(first)
    swapped = (left > right) & winner_first(observed, len(own.raters))
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    if covariates is not None:
        covariates = covariates * np.where(swapped, -1, 1)[:, None]
    graded = first.shape[1] > TIE + 1
    numbers = _Numbers(own, left, right, observed.sum(axis=1), covariates)
    for table in chain([first], (table[own.place] for table in tables)):
        of_sides = [by_winner(table), *[strength_sums(table)] * graded]
        found.append(
            numbers(*(np.where(swapped[:, None], x[:, [1, 0, *range(2, x.shape[1])]], x) for x in of_sides))
        )
    names = [] if covariates is None else covariates["vote_covariate"].to_numpy().astype(str).tolist()
    checks, families = _checks(own, found, names), _families(own, found, names)
    return judged(checks, families, {"annotations": len(own.item)})


def by_winner(counts: np.ndarray) -> np.ndarray:
    """Add up the levels of graded votes (annotation, level), the strongest for the left item first, to left, right and tie."""
    n = counts.shape[1]
    if n <= TIE + 1:
        return counts
    sides = [counts[:, : n // 2].sum(axis=1), counts[:, -(n // 2) :].sum(axis=1)]
    return np.stack(sides + [counts[:, n // 2]] * (n % 2), axis=1)


def strength_sums(counts: np.ndarray) -> np.ndarray:
    """Add up the strengths 0, 1, ... of votes for the left and the right item (annotation, side); counts (annotation, level)."""
    strength = np.arange(counts.shape[1] // 2)
    return np.stack(
        [counts[:, : len(strength)] @ strength[::-1], counts[:, -len(strength) :] @ strength], axis=1
    )


def winner_first(counts: np.ndarray, raters: int) -> bool:
    """Whether all decided votes (annotation, outcome), not of one rater alone, are on one side, which then says nothing.

    Such a table does not say where the items stood; they are put on the side of their place among the items, as if it had.
    """
    left, right = counts[:, :TIE].sum(axis=0)
    return raters != 1 and min(left, right) == 0


class _Numbers:
    """Callable that computes the numbers of one table of votes, by name; the number of votes of an annotation is fixed."""

    def __init__(
        self,
        own: Annotations,
        left: np.ndarray,
        right: np.ndarray,
        votes: np.ndarray,
        covariates: xr.DataArray | None = None,
    ) -> None:
        items, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
        self._own, self._votes, self._items = own, votes.astype(float), len(items)
        self._left, self._right = codes[: len(left)], codes[len(left) :]
        self._told = len(own.raters) > 1
        low, high = np.minimum(self._left, self._right), np.maximum(self._left, self._right)
        self._sign = np.where(self._left == low, 1.0, -1.0)
        pairs, self._pair = np.unique(low * self._items + high, return_inverse=True)
        self._low, self._high = pairs // self._items, pairs % self._items
        self._of_pair = np.bincount(self._pair, self._votes)
        self._of_opinion = np.unique(own.rater * len(pairs) + self._pair, return_inverse=True)[1]
        self._covariate = np.zeros((len(own.rater), 0)) if covariates is None else covariates.to_numpy()
        self._bent = np.stack([_bent(z) for z in self._covariate.T], axis=1) if self._covariate.size else None
        self._solve = self._factorised()
        ends, twice = np.r_[self._left, self._right], np.tile(own.rater, 2)
        self._shared = SharedParts(own, twice, ends, np.tile(self._votes, 2))
        self._of_liking = np.unique(twice * self._items + ends, return_inverse=True)[1]
        self._votes_of_liking = np.bincount(self._of_liking, np.tile(self._votes, 2))
        key = np.unique(twice * self._items + ends)
        busiest = np.argsort(-np.bincount(own.rater, self._votes, own.size[2]), kind="stable")[:MOST_IN_PAIRS]
        row = np.full(own.size[2], -1)
        row[busiest] = np.arange(len(busiest))
        self._row, self._column = row[key // self._items], key % self._items
        often = np.argsort(-np.bincount(np.r_[self._left, self._right], minlength=self._items), kind="stable")
        self._place = np.full(self._items, -1)
        self._place[often[:MOST_IN_CYCLES]] = np.arange(min(self._items, MOST_IN_CYCLES))

    def _factorised(self) -> Any:
        """Return the solver of the normal equations of the qualities."""
        n = self._items
        ends = np.r_[self._low, self._high], np.r_[self._high, self._low]
        weight = coo_array((np.tile(self._of_pair, 2), ends), shape=(n, n)).tocsc()
        degree = np.asarray(weight.sum(axis=1)).ravel()
        return splu((diags_array(degree + RIDGE * degree.mean()) - weight).tocsc())

    def __call__(self, counts: np.ndarray, strength: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Return the numbers of votes (annotation, outcome), and of the sums of their strengths (annotation, side), if any."""
        own, votes = self._own, self._votes
        margin = (counts[:, 0] - counts[:, 1]).astype(float)
        decided = counts[:, :TIE].sum(axis=1).astype(float)
        quality, residual = self._fit(margin)
        of_pair = np.bincount(self._pair, residual * self._sign)
        size = own.size[2]
        found = {
            "left": ratio(counts[:, 0].sum(), decided.sum()),
            "pairs": ratio((of_pair**2 / self._of_pair).sum(), len(of_pair)),
            "cycles": self._cycles(np.bincount(self._pair, margin * self._sign)),
        }
        ties = counts.shape[1] > TIE
        if ties:
            found["ties"] = ratio(counts[:, TIE].sum(), votes.sum())
        ahead = quality[self._left] - quality[self._right]
        if strength is not None:
            found["strength"] = _rise(strength, counts[:, :TIE], ahead)
        if own.raters:
            found["repeats"] = self._agreement_of_repeats(counts)
        if self._bent is not None:
            found["bend"] = residual @ self._bent
        if self._told:
            given = np.bincount(own.rater, votes, size)
            expected = np.sign(ahead)
            liked = np.r_[residual, -residual]  # of the left item, and of the right one
            within, between = self._shared(liked)
            own_liking = np.bincount(self._of_liking, liked)
            found |= {
                "agreement": ratio(np.bincount(own.rater, margin * expected, size), given),
                "sides": ratio(np.bincount(own.rater, residual, size), given),
                "taste": (own_liking**2 / self._votes_of_liking).mean(),
                "eigenvalue": self._largest_eigenvalue(own_liking / np.sqrt(self._votes_of_liking)),
                "within": within,
                "between": between,
            }
            for k, z in enumerate(self._covariate.T):
                square = np.bincount(own.rater, self._votes * z**2, size)
                found[f"effect {k}"] = np.bincount(own.rater, residual * z, size) / np.where(
                    square > 0, square, 1
                )
            if strength is not None:
                decided = np.bincount(own.rater, decided, size)
                found["strengths"] = ratio(np.bincount(own.rater, strength.sum(axis=1), size), decided)
            if ties:
                found["tie_shares"] = ratio(np.bincount(own.rater, counts[:, TIE], size), given)
        return {name: np.asarray(value, float) for name, value in found.items()}

    def _agreement_of_repeats(self, counts: np.ndarray) -> np.ndarray:
        """Return the share of pairs of votes of a rater on the same items that agree; NaN if there are none."""
        won = np.where(self._sign > 0, counts[:, 0], counts[:, 1])
        lost = np.where(self._sign > 0, counts[:, 1], counts[:, 0])
        outcomes = [won, lost, *counts[:, TIE:].T]
        of_opinion = np.stack([np.bincount(self._of_opinion, own) for own in outcomes])
        given = of_opinion.sum(axis=0)
        return ratio((of_opinion * (of_opinion - 1)).sum(), (given * (given - 1)).sum())

    def _largest_eigenvalue(self, liking: np.ndarray) -> float:
        """Return the largest eigenvalue of the mean products over items of the likings (rater and item,) of two raters."""
        kept = self._row >= 0
        table = np.zeros((int(self._row.max()) + 1, self._items))
        table[self._row[kept], self._column[kept]] = liking[kept]
        return float(np.linalg.eigvalsh(table @ table.T / self._items)[-1])

    def _fit(self, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the qualities and the residuals of the annotations."""
        bias, quality, explained = 0.0, np.zeros(self._items), margin
        for _ in range(ITERATIONS):
            rest = margin - self._votes * bias
            won = np.bincount(self._left, rest, self._items) - np.bincount(self._right, rest, self._items)
            quality = self._solve.solve(won)
            explained = self._votes * (quality[self._left] - quality[self._right])
            bias = float((margin - explained).sum() / self._votes.sum())
        return quality, margin - explained - self._votes * bias

    def _cycles(self, margin: np.ndarray) -> np.ndarray:
        """Return the share of cycles among the triads of items with a winner of each pair, by their majorities (pair,)."""
        low, high = self._place[self._low], self._place[self._high]
        kept = (low >= 0) & (high >= 0) & (margin != 0)
        ahead = margin[kept] > 0
        n = min(self._items, MOST_IN_CYCLES)
        beats = np.zeros((n, n), np.float32)
        beats[np.where(ahead, low[kept], high[kept]), np.where(ahead, high[kept], low[kept])] = 1
        met = beats + beats.T
        triads = ((met @ met) * met).sum() / 6
        return ratio(((beats @ beats) * beats.T).sum() / 3, triads)


def _rise(strength: np.ndarray, won: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Return the rise of strength for a standard deviation of the winner's lead in quality.

    Shapes: sums of strengths and numbers of votes (annotation, side), lead of the left item (annotation,).
    """
    lead = np.stack([ahead, -ahead], axis=1)
    lead = lead - (won * lead).sum() / won.sum()
    return ratio((strength * lead).sum(), np.sqrt((won * lead**2).sum() * won.sum()))


def _bent(covariate: np.ndarray) -> np.ndarray:
    """Return weights of votes whose sum with the residuals is of a bend: of small differences against large ones (annotation,).

    They have the sign of the difference, and are orthogonal to it, so that a linear effect does not count.
    """
    size = np.abs(covariate)
    differs = size > 0
    small = differs & (size <= np.median(size[differs]))
    weight = np.sign(covariate) * small
    square = (covariate**2).sum()
    return weight - covariate * (weight @ covariate) / square


LEFT_WINS = "share of left wins among the decided votes"
LEFT_WINS_OF_RATERS = "left wins of each rater, beyond the qualities"
REPEATS = "agreement of votes that a rater repeated on the same items"
TASTES = "largest eigenvalue of the residuals of the raters by item"
STRENGTH = "rise of strength with the lead of the winner in quality"
STRENGTHS = "strength of the votes of each rater"
BENT = "bend of the effect of a covariate of votes"
MAIN = {"left", "eigenvalue", "repeats", "strength"}  # of the single numbers; the checks of groups are, too
SINGLE = {
    "left": (
        LEFT_WINS,
        "the left side wins less often than the model expects",
        "the left side wins more often than the model expects",
    ),
    "repeats": (
        REPEATS,
        "a rater who votes on the same two items again contradicts the first vote more often than the model expects",
        "a rater who votes on the same two items again repeats the first vote, and several such votes count for less than as "
        "many of other raters",
    ),
    "ties": (
        "share of ties",
        "ties are rarer than the model expects",
        "ties are more frequent than the model expects",
    ),
    "pairs": (
        "mean squared residual of a pair of items",
        "pairs follow the order of the qualities more closely than the model expects",
        "pairs are decided otherwise than the qualities of their items say: one number by item is not enough",
    ),
    "cycles": (
        "share of cycles among triads of items",
        "fewer triads of items are cycles than the model expects",
        "more triads of items are cycles (a beats b, b beats c, c beats a) than the model expects",
    ),
    "strength": (
        STRENGTH,
        "strong votes are less often on items that are far apart than the model expects: strength says little of quality, and "
        "the qualities take it as if it did",
        "strong votes are more often on items that are far apart than the model expects",
    ),
    "eigenvalue": (
        TASTES,
        "raters share less of what they like than the model expects",
        "some raters share a taste: they like items more or less than the others do",
    ),
    "taste": (
        "mean squared residual of an item by rater",
        "raters differ less in what they like than the model expects",
        "raters have tastes of their own: they like items more or less than the others do",
    ),
}
FAMILIES = {
    "agreement": (
        "agreement of each rater with the order of the items",
        "rater",
        "some raters vote with the order of the items more or less often than the model says",
    ),
    "sides": (LEFT_WINS_OF_RATERS, "rater_of_side", "raters prefer a side more than the model says"),
    "strengths": (
        STRENGTHS,
        "rater_of_strength",
        "some raters call an item much better more or less readily than the model, whose cut points all share, says",
    ),
    "tie_shares": (
        "share of ties of each rater",
        "rater_of_tie",
        "raters tie more or less readily than the model says",
    ),
}


def _checks(own: Annotations, found: list[dict[str, np.ndarray]], covariates: list[str]) -> list[Check]:
    """Return the checks of single numbers, and of the agreement of raters on an item."""
    checks = []
    for name, texts in SINGLE.items():
        if name in found[0]:
            values = stacked(found, name)
            checks.append(Check(texts[0], float(values[0]), values[1:], *texts[1:], is_main=name in MAIN))
    if "bend" in found[0]:
        checks.append(_bend(stacked(found, "bend"), covariates))
    if "within" in found[0] and len(own.groups) > 1:
        texts = (DISAGREE, AGREE)
        checks += shared_checks(own, stacked(found, "within"), stacked(found, "between"), texts)
    return checks


def _bend(bends: np.ndarray, covariates: list[str]) -> Check:
    """Return the check of the largest bend of the effect of a covariate; bends (table, covariate)."""
    scores = np.abs(standard_scores(bends[0], bends[1:]))
    name = covariates[int(scores[0].argmax())]
    largest = scores.max(axis=1)
    text = (
        f"votes do not depend linearly on {name!r}: the effect of small differences is another, for their size, than that of "
        "large ones; take a logarithm of it, or its sign, as the covariate"
    )
    return Check(BENT, float(largest[0]), largest[1:], high=text, side="upper", is_main=True)


def _families(own: Annotations, found: list[dict[str, np.ndarray]], covariates: list[str]) -> list[Family]:
    """Return the checks of each rater."""
    families = []
    for k, name in enumerate(covariates):
        if f"effect {k}" in found[0]:
            values = stacked(found, f"effect {k}")
            text = (
                f"the effect of {name!r} on votes differs between raters, and the model has the same for all"
            )
            title, dim = f"effect of {escaped(name)} on the votes of each rater", f"rater_of_covariate_{k}"
            families.append(Family(title, dim, own.raters, values[0], values[1:], text, is_main=True))
    for name, (title, dim, text) in FAMILIES.items():
        if name in found[0]:
            values = stacked(found, name)
            families.append(Family(title, dim, own.raters, values[0], values[1:], text))
    return families
