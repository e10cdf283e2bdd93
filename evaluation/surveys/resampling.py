"""Scores of raters and classifiers on the items, and on bootstrap resamples of the items.

In each resample the curve and the classifiers use the same items, so that their errors are correlated as they
should be; independent resamples would make the interval of the equivalence far too wide.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 5 (bootstrap over items).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ..argument_checks import check_probability, check_whole
from ..truth.item_arrays import coded_items
from .scores import RowScores, WholeFunction, cells_of
from .survey import Survey

BLOCK = 4_000_000  # weights converted to double precision at a time
FEW = 5  # label samples used in the bootstrap of a function of all items


@dataclass(frozen=True)
class SurveyScores:
    """Scores of k raters and of classifiers on the same items."""

    curve: np.ndarray  # (k,), of k raters
    classifier: np.ndarray  # (classifier, k), on the items with labels for k raters
    curve_error: np.ndarray  # (k,), Monte-Carlo standard error, 0 where exact
    classifier_error: np.ndarray  # (classifier, k), likewise
    curve_draws: np.ndarray  # (k, resample)
    classifier_draws: np.ndarray  # (classifier, k, resample)


class Resampling(NamedTuple):
    """Number of bootstrap resamples of the items, their seed, and clusters of items that are drawn together."""

    resamples: int
    seed: int
    cluster: np.ndarray | None = None  # (item,), codes; None: each item is its own

    @classmethod
    def of(
        cls, resamples: int, seed: int, clusters: xr.DataArray | None, items: tuple[np.ndarray, np.ndarray]
    ) -> "Resampling":
        """Read the cluster of each item; `items` are all, and those that are scored."""
        if clusters is None:
            return cls(resamples, seed)
        ids, kept = items
        return cls(resamples, seed, coded_items(ids, clusters, "clusters")[1][np.isin(ids, kept)])

    def weights(self, of_item: np.ndarray) -> np.ndarray:
        """Return bootstrap counts (resample, cell) of cells, given the cell (item,) of each item."""
        rng = np.random.default_rng([self.seed, 4])
        n_cells = int(of_item.max()) + 1
        cluster = (
            np.arange(len(of_item))
            if self.cluster is None
            else np.unique(self.cluster, return_inverse=True)[1]
        )
        n = int(cluster.max()) + 1
        weights = np.empty((self.resamples, n_cells), np.int32)
        for row in weights:
            times = np.bincount(rng.integers(0, n, n), minlength=n)
            row[:] = np.bincount(of_item, times[cluster], minlength=n_cells)
        return weights


def survey_scores(
    survey: Survey, probability: np.ndarray, how: Resampling, *, relearn: bool = False
) -> SurveyScores:
    """Score raters and classifiers on the items and on all resamples.

    Shapes: probability (classifier, item, category). Surveys of as many items draw the same items with the
    same `how`. `relearn`: the combiner learns from the resampled items instead of the original ones.
    """
    every_item = np.arange(len(survey.labels.items))
    if survey.rules.sampled:
        if relearn:
            raise EvaluationError(
                "relearn=True: labels are sampled here, and relearning would sample them anew in every resample; "
                'pass estimand="pooled"'
            )
        return _sampled(survey, probability, how.weights(every_item))
    raters = [survey.scored(survey.predicted_by(k)) for k in range(survey.largest + 1)]
    masks, of_k = np.unique(survey.eligible, axis=0, return_inverse=True)
    classifiers = [survey.classifier(law).masked(mask) for law in probability for mask in masks]
    cells = cells_of(survey.patterns.of_item, raters, classifiers)

    def scores(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = cells.scores(weights)
        of_masks = found[len(raters) :].reshape(len(probability), len(masks), len(weights))
        return found[: len(raters)], of_masks[:, of_k.ravel()]

    point = scores(np.bincount(cells.of_item)[None].astype(float))
    drawn = [scores(block) for block in _blocks(how.weights(cells.of_item))]
    empty = [part[..., :0] for part in point]
    curves, classified = (np.concatenate(parts, axis=-1) for parts in zip(empty, *drawn, strict=True))
    if relearn and survey.combiner.learns:
        weights = how.weights(every_item)
        curves = np.array([[_relearned(survey, k, row) for row in weights] for k in range(len(raters))])
    curve, classifier = (part[..., 0] for part in point)
    return SurveyScores(
        curve, classifier, np.zeros_like(curve), np.zeros_like(classifier), curves, classified
    )


def check_resampling(bootstrap: int, probability: float, random_seed: int) -> None:
    """Raise unless number of resamples, probability of an interval and seed are valid."""
    check_whole("bootstrap", bootstrap, 0)
    check_whole("random_seed", random_seed, 0)
    if bootstrap == 1:
        raise EvaluationError("bootstrap=1: one resample has no interval; expected 0, or at least 2")
    check_probability("probability", probability)


def _sampled(survey: Survey, probability: np.ndarray, weights: np.ndarray) -> SurveyScores:
    """Score raters and classifiers by Monte-Carlo samples of labels."""
    ks = range(survey.largest + 1)
    curve = [_averaged(survey.scored_samples(k), weights, survey) for k in ks]
    point, error, drawn = (np.array(part) for part in zip(*curve, strict=True))
    masks, of_k = np.unique(survey.eligible, axis=0, return_inverse=True)
    found = [np.empty((0, len(curve), *tail)) for tail in ((), (), (len(weights),))]
    for law in probability:
        own = [
            _averaged((one.masked(mask) for one in survey.classifier_samples(law)), weights, survey)
            for mask in masks
        ]
        parts = (np.array(part)[of_k.ravel()] for part in zip(*own, strict=True))
        found = [np.concatenate([f, p[None]]) for f, p in zip(found, parts, strict=True)]
    return SurveyScores(point, found[0], error, found[1], drawn, found[2])


def _relearned(survey: Survey, k: int, weights: np.ndarray) -> float:
    """Return the score of k raters learned from items of weights (item,); to predict an item all its copies are left out."""
    patterns = survey.patterns

    def counted(own: np.ndarray) -> np.ndarray:
        return np.bincount(patterns.of_item, own, len(patterns))

    learned = counted(weights)
    if not (survey.rules.combiner == "abc" and survey.rules.learn == "leave-one-out"):
        return float(survey.scored(survey.predicted_by(k, learned)).mean(learned[None])[0])
    score, total = 0.0, 0.0
    for copies in np.unique(weights[weights > 0]).tolist():
        scored = survey.scored(survey.predicted_by(k, learned, copies))
        own = counted(np.where(weights == copies, weights, 0))
        count = float(own @ scored.eligible)
        if count:
            score += count * float(scored.mean(own[None])[0])
            total += count
    return score / total if total else float("nan")


def _averaged(
    samples: Iterable[RowScores], weights: np.ndarray, survey: Survey
) -> tuple[float, float, np.ndarray]:
    """Return the mean score of samples, its Monte-Carlo error, and its resamples (resample,)."""
    points, draws = [], []
    few = FEW if isinstance(survey.score, WholeFunction) else survey.rules.samples
    for number, scored in enumerate(samples):
        points.append(scored.mean(np.ones((1, len(survey.labels.items))))[0])
        if number < few:
            draws.append(np.concatenate([np.empty(0), *map(scored.mean, _blocks(weights))]))
    mean = float(np.mean(points))
    off = mean - float(np.mean(points[:few]))
    return mean, float(np.std(points, ddof=1) / np.sqrt(len(points))), np.mean(draws, axis=0) + off


def _blocks(weights: np.ndarray) -> Iterator[np.ndarray]:
    """Yield blocks of rows of the weights in double precision."""
    step = max(1, BLOCK // weights.shape[1])
    for start in range(0, len(weights), step):
        yield weights[start : start + step].astype(float)
