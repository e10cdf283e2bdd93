"""Report on scores: fit, diagnose, split at thresholds, evaluate."""

from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from .. import evaluation
from ..evaluation.matching import match_items
from ..evaluation.thresholds import cut_and_certainty
from ..models.data.scores import Scores
from ..reports import Section
from .cut import cut_sections
from .fitted import convergence_section, model_section
from .located import location_section, rater_sections
from .predicted import metric_sections, prior_part
from .scales import draw_scale, read_scale
from .scoring import scored
from .screen import working
from .settings import Settings
from .sides import check_side_metrics, mean_sides, metrics_of_sides, read_sides
from .study import Sources

__all__ = ["score_parts"]


def score_parts(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings
) -> tuple[str, xr.DataTree, list[Section]]:
    """Fit scores; return a summary sentence, the posterior and the report sections in reading order.

    `sources` may hold predictions of the side of the first threshold.
    """
    predicted = _predicted(sources, settings)
    scores = read_scale(annotations, columns, settings)
    if predicted is not None:
        match_items(scores.items, predicted["item"].to_numpy())
    tree = draw_scale(scores, settings)
    raters = (
        "raters who are not told apart" if scores.anonymous else f"{len(scores.raters):,} raters"
    )
    counts = {"items": len(scores.items), "raters": len(scores.raters), "annotations": len(scores)}
    facts = {**counts, "bounds": scores.bounds}
    sections = [
        Section("Data", scores.report(), key="data", facts=facts),
        model_section(settings, tree),
        convergence_section(tree),
    ]
    with working("Evaluating"):
        sections += [location_section(tree, scores), *rater_sections(tree, scores)]
        sections += _of_thresholds(tree, scores, predicted, sources.metrics, settings)
    return f"{len(scores.items):,} items, {raters}, {len(scores):,} scores.", tree, sections


def _predicted(sources: Sources, settings: Settings) -> xr.DataArray | None:
    """Read the predictions; raise on inconsistent arguments before anything is fitted."""
    if sources.groups is not None:
        raise ValueError("--groups: groups are of the categories of rankings and labels")
    if sources.predictions is None:
        if sources.metrics:
            raise ValueError("--metric: there are no predictions to score; name their table")
        return None
    if not settings.thresholds:
        raise ValueError(
            f"{sources.predictions}: predictions of scores refer to a threshold; say which: --threshold 0"
        )
    predicted = read_sides(sources.predictions, [], settings.thresholds[0])
    check_side_metrics(sources.metrics, predicted)
    return predicted


def _of_thresholds(
    tree: xr.DataTree,
    scores: Scores,
    predicted: xr.DataArray | None,
    metrics: Sequence[str],
    settings: Settings,
) -> list[Section]:
    """Return the sections on the sides of the thresholds and on the predictions; none without a threshold."""
    if not settings.thresholds:
        return []
    first, *others = settings.thresholds
    cut, sure = cut_and_certainty(tree, first)
    further = [evaluation.threshold_certainty(tree, other) for other in others]
    sections = cut_sections(tree, cut, [sure, *further], settings.seed)
    sensitivity = _sensitivity(cut, settings.seed)
    if predicted is None:
        return [*sections, *sensitivity]
    points = None
    if predicted.sizes.get("classifier", 1) > 1:
        points = {"mean score": mean_sides(scores, first)}
    names = metrics or metrics_of_sides(cut, predicted)
    found = scored(cut, predicted, names, settings.seed, points=points)
    return [*sections, *metric_sections(predicted, found), *sensitivity]


def _sensitivity(cut: xr.DataTree, seed: int) -> list[Section]:
    """Return the section on prior sensitivity of the side of each item."""
    text = "Would another prior change on which side the items are?"
    if "log_prior" in cut.children:
        return [Section("Sensitivity", text, key="sensitivity"), prior_part(cut, seed)]
    text += (
        " The items of this model share what it learns of the raters, so that no prior can be scaled item by item: fit again "
        "with another prior, and compare."
    )
    return [Section("Sensitivity", text, key="sensitivity")]
