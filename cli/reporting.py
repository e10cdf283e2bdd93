"""Report of a table of annotations: fit, diagnose, evaluate, write the page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from .. import evaluation, models
from ..evaluation.certainty.thresholds import cut_and_certainty
from ..evaluation.truth.matching import match_items
from ..inference.storage.posterior_files import write_posterior
from ..models.data.scores import Scores
from ..reports import Section, write_report
from ..reports.certainty import agreement_section, certainty_section, strips_section
from ..reports.comparisons import (
    comparison_section,
    concordance_section,
    model_in_words,
    order_pairs,
    vote_check_section,
    vote_sections,
)
from ..reports.equivalence import equivalence_part
from ..reports.fit import citation_section, convergence_section, model_section, versions_of
from ..reports.headlines import headlines
from ..reports.labels import truth_sections
from ..reports.metric_names import check_predictions, metric_named, natural_metrics
from ..reports.metrics import scored
from ..reports.next_annotation import item_questions, pair_questions
from ..reports.predictions import found_metrics, metric_sections, prior_part, sensitivity_sections
from ..reports.risk import risk_parts
from ..reports.scores import cut_sections, location_section, rater_sections
from ..reports.study import Groups, RankingsOrLabels, Settings, Sources, Study
from ..reports.wording import few
from .fitting import build_votes, draw, draw_scale, draw_votes, read_scale, read_votes
from .tables import (
    check_side_metrics,
    mean_sides,
    metrics_of_sides,
    read_annotations,
    read_groups,
    read_orders,
    read_predictions,
    read_sides,
)
from .terminal import say, working

__all__ = ["make_report", "score_parts"]


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


# --- Report of a table of annotations: fit, diagnose, evaluate, write the page ---

MOST_NAMED = 10  # categories listed that occur only in predictions


def make_report(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings, out: Path
) -> None:
    """Write the report of a table of annotations to the folder `out`; `columns` are renamings."""
    makers = {"comparisons": _vote_parts, "scores": _score_parts}
    parts = makers.get(settings.kind, _truth_parts)(annotations, sources, columns, settings)
    sections = [*parts.sections, citation_section(settings.model)]
    with working("Writing"):
        write_posterior(parts.tree, out / "posterior.nc")
        facts = {"kind": settings.kind, "versions": versions_of(parts.tree)}
        box = headlines(sections)
        page = write_report(out, parts.title, parts.summary, sections, box=box, facts=facts)
    for sentence in box:
        say(sentence)
    say(next(part.text for part in sections if part.key == "convergence"))
    say(f"wrote {page}")


class Parts(NamedTuple):
    """Title, summary sentence, posterior and sections of a report, the sections without the citation."""

    title: str
    summary: str
    tree: xr.DataTree
    sections: list[Section]


def _vote_parts(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings
) -> Parts:
    """Fit comparisons and return the report on items and raters."""
    if sources.groups is not None:
        raise ValueError("--groups: groups are of the categories of rankings and labels")
    if sources.metrics and set(sources.metrics) != {"concordance"}:
        raise ValueError(
            f"--metric {sources.metrics[0]}: the only metric of comparisons is concordance"
        )
    votes = read_votes(annotations, columns, settings)
    orders = None
    if sources.predictions is not None:
        orders = read_orders(sources.predictions, [], votes.items)
    model = build_votes(votes, settings)
    tree = draw_votes(model, settings)
    kept = "\n\nOnly the largest component of the table is kept." * settings.largest_component
    counts = {"items": len(votes.items), "raters": len(votes.raters), "annotations": len(votes)}
    boards = vote_sections(tree, votes)
    sections = [
        Section("Data", votes.report() + kept, key="data", facts=counts),
        model_section(settings, tree, model_in_words(tree)),
        convergence_section(tree),
        *boards,
        vote_check_section(model, tree, settings.seed, working),
    ]
    if orders is not None:
        sections.append(concordance_section(tree, orders))
        if pairs := order_pairs(tree, orders):
            sections.append(comparison_section(pairs))
    sections.append(pair_questions(tree, [str(row["item"]) for row in boards[0].rows]))
    raters = "raters who are not told apart" if votes.anonymous else f"{len(votes.raters):,} raters"
    summary = f"{len(votes.items):,} items, {raters}, {len(votes):,} votes."
    return Parts("Who is best, and how sure the votes make us", summary, tree, sections)


def _score_parts(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings
) -> Parts:
    """Fit scores and return the report on items, raters and sides of thresholds."""
    title = "Where the items lie on the scale, and how sure the scores make us"
    return Parts(title, *score_parts(annotations, sources, columns, settings))


def _truth_parts(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings
) -> Parts:
    """Fit rankings or labels and return the report on the true categories."""
    predicted = read_predictions(sources.predictions, []) if sources.predictions else None
    _check_metrics(sources, predicted)
    groups = read_groups(sources.groups) if sources.groups else None
    data, only_predicted = read_annotations(annotations, settings, columns, predicted)
    groups = groups and groups.of(data.categories.tolist())
    if predicted is not None:
        match_items(data.items, predicted["item"].to_numpy())
    study = _study(data, settings, predicted, groups, sources.metrics)
    tree = study.tree
    counts = {
        "items": len(data.items),
        "raters": len(data.raters),
        "annotations": len(data),
        "categories": len(data.categories),
        "only_predicted": only_predicted,
    }
    sections = [
        Section("Data", data.report() + _only_predicted(only_predicted), key="data", facts=counts),
        model_section(settings, tree),
        convergence_section(tree),
        *_evaluated(study),
    ]
    summary = f"{len(data.items):,} items, {len(data.raters):,} raters, {len(data):,} annotations."
    return Parts("What the raters said, and how sure that makes us", summary, tree, sections)


def _evaluated(study: Study) -> list[Section]:
    """Return the evaluation sections: certainty, metrics, comparison, sensitivity, risk, next questions."""
    with working("Evaluating"):
        found = found_metrics(study)
        agreement = agreement_section(study.tree, study.data, study.seed)
        sections = [
            *_certainty_sections(study),
            strips_section(study.tree, study.data, study.points),
        ]
        if agreement:
            sections.insert(1, agreement)
        if study.predicted is not None:
            sections += [*metric_sections(study.predicted, found), *equivalence_part(study)]
        sections += sensitivity_sections(study, found)
        return [*sections, *risk_parts(study), *item_questions(study)]


def _check_metrics(sources: Sources, predicted: xr.DataArray | None) -> None:
    """Raise before anything is fitted if a metric is unknown, or has no suitable predictions."""
    if sources.metrics and predicted is None:
        raise ValueError("--metric: there are no predictions to score; name their table")
    for name in sources.metrics:
        metric = metric_named(name)
        if predicted is not None:
            check_predictions(name, metric, predicted)


def _study(
    data: RankingsOrLabels,
    settings: Settings,
    predicted: xr.DataArray | None,
    groups: Groups | None,
    metrics: Sequence[str],
) -> Study:
    """Fit the model, and choose the metrics if none were given."""
    trees = draw(data, settings)
    study = Study(data, settings, trees, predicted, tuple(metrics), groups)
    if predicted is None or metrics:
        return study
    return replace(study, metrics=natural_metrics(study.tree, predicted))


def _only_predicted(categories: Sequence[str]) -> str:
    """Return a sentence on the categories that only predictions name."""
    if not categories:
        return ""
    return (
        "\n\nThe closed set was not declared (--categories): it is what raters or predictions name. Only predicted: "
        f"{few(categories, MOST_NAMED)}."
    )


def _certainty_sections(study: Study) -> list[Section]:
    """Return the sections on certainty: of true categories, or of plausibilities."""
    if isinstance(study.data, models.Labels) and "prevalence" in study.tree["posterior"]:
        return truth_sections(study.tree, study.data, study.seed, study.group)
    return certainty_section(study.tree, study.data, study.seed)
