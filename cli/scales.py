"""Scores on a scale: reading from files, sampling."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .. import inference, models
from ..models.data.scores import Scores
from .posterior_files import stored
from .reading import check_attributes, read_columns
from .settings import Settings

__all__ = ["draw_scale", "mean_scores", "read_scale", "read_scores_table"]


def read_scores_table(
    path: Path,
    columns: Sequence[str],
    *,
    layout: str = "long",
    bounds: tuple[float, float] | None = None,
    rater_attributes: Sequence[str] = (),
) -> Scores:
    """Read scores from a table with columns item, score and, optionally, rater and count.

    Layout "counts" has one column per score, with its frequency, beside item. Ids are text. Without a column
    of raters the scores are anonymous. `bounds` are the lowest and highest possible score; `rater_attributes`
    names columns with attributes of the raters.
    """
    if layout == "wide":
        raise ValueError("--layout wide is a layout of labels; scores are long tables, or counts")
    frame, names = read_columns(path, columns)
    check_attributes(path, names, rater_attributes, layout)
    if layout == "counts":
        return Scores.from_counts(frame, bounds=bounds)
    further: dict[str, Any] = {"count": "count"} if "count" in names else {}
    if not {"rater", "worker"} & set(names):  # worker: crowd-kit
        further["rater"] = None
    return Scores.from_table(frame, bounds=bounds, rater_attributes=rater_attributes, **further)


def read_scale(path: Path, columns: Sequence[str], settings: Settings) -> Scores:
    """Read the scores of a fit; raise also if a threshold has all scores on one side."""
    scores = read_scores_table(
        path,
        columns,
        layout=settings.layout,
        bounds=settings.bounds,
        rater_attributes=settings.rater_attributes,
    )
    what, ends = "the bounds of the scores", scores.bounds
    if ends is None and len(scores):
        what, ends = "the scores", (float(scores.score.min()), float(scores.score.max()))
    for threshold in settings.thresholds:
        # no score can exceed the upper bound, but future ones can exceed the highest observed
        at_end = scores.bounds is not None and threshold == scores.bounds[1]
        if ends is not None and (at_end or not ends[0] <= threshold <= ends[1]):
            raise ValueError(
                f"--threshold {threshold:g} lies outside {what}, {ends[0]:g} to {ends[1]:g}: all items would be on one side; "
                "choose one within"
            )
    return settings.nameless(scores)


def draw_scale(scores: Scores, settings: Settings, store: Path | None = None) -> xr.DataTree:
    """Sample a model of scores; with `store` the draws are written while sampling."""
    model = getattr(models, settings.model)(scores, **settings.priors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        return inference.sample(
            model,
            random_seed=settings.seed,
            draws=settings.draws,
            chains=settings.chains,
            **stored(store),
        )


def mean_scores(scores: Scores) -> np.ndarray:
    """Return the mean score of every item, shape (item,), NaN for items without scores."""
    n = len(scores.items)
    total = np.bincount(scores.annotation_item, scores.score * scores.count, n)
    given = np.bincount(scores.annotation_item, scores.count, n)
    return np.divide(total, given, out=np.full(n, np.nan), where=given > 0)
