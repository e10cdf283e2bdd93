"""Report of a table of annotations: read, fit, and write the page."""

from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from ..evaluation.truth.matching import match_items
from ..reports.composition import Report, comparison_report, score_report, truth_report
from ..reports.metric_names import check_predictions, metric_named
from ..reports.study import Settings, Sources, Study
from .fitting import build_votes, draw, draw_scale, draw_votes, read_scale, read_votes
from .tables import (
    check_side_metrics,
    read_annotations,
    read_groups,
    read_orders,
    read_predictions,
    read_sides,
)
from .terminal import say, working


def make_report(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings, out: Path
) -> None:
    """Write the report of a table of annotations to the folder `out`; `columns` are renamings."""
    makers = {"comparisons": _of_votes, "scores": _of_scores}
    report = makers.get(settings.kind, _of_truth)(annotations, sources, columns, settings)
    with working("Writing"):
        page = report.write(out)
    for sentence in report.headlines:
        say(sentence)
    say(next(part.text for part in report.sections if part.key == "convergence"))
    say(f"wrote {page}")


def _of_votes(annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings) -> Report:
    """Fit comparisons and return the report on items and raters."""
    if sources.groups is not None:
        raise ValueError("--groups: groups are of the categories of rankings and labels")
    if sources.metrics and set(sources.metrics) != {"concordance"}:
        raise ValueError(f"--metric {sources.metrics[0]}: the only metric of comparisons is concordance")
    votes = read_votes(annotations, columns, settings)
    orders = None
    if sources.predictions is not None:
        orders = read_orders(sources.predictions, [], votes.items)
    model = build_votes(votes, settings)
    tree = draw_votes(model, settings)
    return comparison_report(tree, votes, settings, orders, model, working)


def _of_scores(annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings) -> Report:
    """Fit scores and return the report on items, raters and sides of thresholds."""
    predicted = _predicted_sides(sources, settings)
    scores = read_scale(annotations, columns, settings)
    if predicted is not None:
        match_items(scores.items, predicted["item"].to_numpy())
    tree = draw_scale(scores, settings)
    with working("Evaluating"):
        return score_report(tree, scores, settings, predicted, sources.metrics)


def _predicted_sides(sources: Sources, settings: Settings) -> xr.DataArray | None:
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


def _of_truth(annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings) -> Report:
    """Fit rankings or labels and return the report on the true categories."""
    predicted = read_predictions(sources.predictions, []) if sources.predictions else None
    _check_metrics(sources, predicted)
    groups = read_groups(sources.groups) if sources.groups else None
    data, only_predicted = read_annotations(annotations, settings, columns, predicted)
    groups = groups and groups.of(data.categories.tolist())
    if predicted is not None:
        match_items(data.items, predicted["item"].to_numpy())
    trees = draw(data, settings)
    study = Study(data, settings, trees, predicted, tuple(sources.metrics), groups)
    with working("Evaluating"):
        return truth_report(study, only_predicted)


def _check_metrics(sources: Sources, predicted: xr.DataArray | None) -> None:
    """Raise before anything is fitted if a metric is unknown, or has no suitable predictions."""
    if sources.metrics and predicted is None:
        raise ValueError("--metric: there are no predictions to score; name their table")
    for name in sources.metrics:
        metric = metric_named(name)
        if predicted is not None:
            check_predictions(name, metric, predicted)
