"""Report of a table of annotations: read, fit, and write the page."""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import arviz_stats  # noqa: F401 (first, see demo.py)
import xarray as xr

from .._messages import step
from ..inference.storage.permissions import private_files
from ..models import DataWarning, Labels, PartialRankings, catalog
from ..models.data.errors import DataError
from ..posterior.matching import match_items, with_complement
from ..reports.analyses.copies import refitted
from ..reports.analyses.labels import LabelAnalysis
from ..reports.composition import Report, analysis_of
from ..reports.metric_names import metric_named
from ..reports.posterior_files import kept_posterior
from ..reports.sections.metrics import check_predictions
from ..reports.settings import Settings, Sources
from ..reports.study import Joint
from .exports import chosen_question
from .fitting import build, draw, with_classifiers
from .options import alike_in_words
from .prior_predictions import prior_tables, read_prior_predictions
from .tables import (
    check_side_metrics,
    read_annotations,
    read_groups,
    read_orders,
    read_predictions,
    read_sides,
    read_votes,
)
from .terminal import print_text


def make_report(
    annotations: Path,
    sources: Sources,
    columns: Sequence[str],
    settings: Settings,
    out: Path,
    keep: str | None = None,
) -> None:
    """Write the report of a table of annotations to the folder `out`; `columns` are renamings.

    `keep` is the part of the posterior that is written.
    """
    leave_unloaded("jax")
    makers = {"comparisons": _of_votes, "scores": _of_scores}
    report = makers.get(settings.kind, _of_truth)(
        annotations, sources, columns, settings, drawn_for_report(keep)
    )
    kept = kept_posterior(report.tree, keep)
    if kept.is_large:
        print_text(kept.in_words(out / kept.name))
    with step("Writing"), private_files(settings.anonymize, out):
        page = report.write(out, keep=keep)
    for sentence in report.headlines:
        print_text(sentence)
    print_text(next(part.text for part in report.sections if part.key == "convergence"))
    print_text(f"wrote {page}")


def leave_unloaded(name: str) -> None:
    """Remove a package that is named among the loaded ones, to be loaded when first used, and was not used yet.

    ArviZ names JAX in this way. Matplotlib would load it, two seconds and .2 GB, to ask whether an array is one of JAX's.
    """
    if type(sys.modules.get(name, sys)) is not ModuleType:
        del sys.modules[name]


def drawn_for_report(keep: str | None) -> str | None:
    """Return what is kept of the draws while a report is made: its sections need some, also if none are written."""
    return "thinned" if keep == "summary" else keep


def _of_votes(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings, keep: str | None
) -> Report:
    """Fit comparisons and return the report on items and raters."""
    if sources.groups is not None:
        raise ValueError("--groups: comparisons have no categories to group; leave it out")
    if sources.metrics and set(sources.metrics) != {"concordance"}:
        raise ValueError(f"--metric {sources.metrics[0]}: the only metric of comparisons is concordance")
    votes, tables = read_votes(annotations, settings, columns)
    orders = None
    if sources.predictions is not None:
        orders = read_orders(sources.predictions, [], votes.items, missing=settings.missing)
    model = build(votes, settings, 1.0, tables)
    return analysis_of(votes, draw(lambda _: model, settings, keep=keep), model, settings, orders).page


def _of_scores(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings, keep: str | None
) -> Report:
    """Fit scores and return the report on items, raters and sides of thresholds."""
    predicted = _predicted_sides(sources, settings)
    scores = read_annotations(annotations, settings, columns).data
    if predicted is not None:
        match_items(scores.items, predicted["item"].to_numpy())
    model = build(scores, settings, 1.0)
    trees = draw(lambda _: model, settings, keep=keep)
    with step("Evaluating"):
        return analysis_of(scores, trees, model, settings, predicted, metrics=sources.metrics).page


def _predicted_sides(sources: Sources, settings: Settings) -> xr.DataArray | None:
    """Read the predictions; raise on inconsistent arguments before anything is fitted."""
    if sources.groups is not None:
        raise ValueError("--groups: scores have no categories to group; leave it out")
    if sources.predictions is None:
        if sources.metrics:
            raise ValueError("--metric: there are no predictions to score; name their table")
        return None
    if not settings.thresholds:
        raise ValueError(
            f"{sources.predictions}: predictions of scores refer to a threshold; say which: --threshold 0"
        )
    predicted = read_sides(sources.predictions, [], settings.thresholds[0], missing=settings.missing)
    check_side_metrics(sources.metrics, predicted)
    return predicted


def _of_truth(
    annotations: Path, sources: Sources, columns: Sequence[str], settings: Settings, keep: str | None
) -> Report:
    """Fit rankings or labels and return the report on the true categories."""
    predicted = None
    if sources.predictions:
        question = chosen_question(columns, settings.kind)
        predicted = read_predictions(sources.predictions, [], missing=settings.missing, question=question)
    _check_metrics(sources, predicted)
    groups = read_groups(sources.groups) if sources.groups else None
    prior = read_prior_predictions(settings)
    data, only_predicted, also_raters = read_annotations(annotations, settings, columns, predicted, prior)
    predicted = predicted if predicted is None else with_complement(predicted, data.categories)
    groups = groups and groups.of(data.categories.tolist())
    if predicted is not None:
        match_items(data.items, predicted["item"].to_numpy())
    tables = prior_tables(data, prior, settings)
    built = {own: build(data, settings, own, tables) for own in settings.reliabilities}
    trees = draw(built.__getitem__, settings, keep=keep)
    settings = replace(settings, guessed=False)  # it was said
    first, known = settings.reliabilities[0], {"metrics": sources.metrics, "groups": groups}
    if predicted is not None:
        known["joint"] = joint_of(data, predicted, sources, settings, also_raters, keep)
    with step("Evaluating"):
        analysis = analysis_of(
            data, trees, built[first], settings, predicted, only_predicted=only_predicted, **known
        )
        has_history = "raters" in (settings.priors or {})  # which the model of a group has not
        if isinstance(analysis, LabelAnalysis) and not (sources.as_given or has_history):
            analysis = refitted(analysis, lambda own: draw(lambda _: own, settings, keep=keep)[first])
        return analysis.page


def joint_of[Data: (Labels, PartialRankings)](
    data: Data,
    predicted: xr.DataArray,
    sources: Sources,
    settings: Settings,
    also_raters: Sequence[str] = (),
    keep: str | None = None,
) -> Joint:
    """Fit the model to labels or rankings and, as those of further raters, the predictions; or say why it cannot be."""
    if catalog[settings.model].raters_alike:
        return Joint(None, why_not=alike_in_words(settings.model))
    assert sources.predictions is not None
    try:
        seen = with_classifiers(data, predicted, sources.predictions, also_raters)
    except DataError as error:
        return Joint(None, why_not=str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the same as of the labels alone
        # errors of classifiers that have seen the features follow them, and would pass for the truth
        model = build(seen, replace(settings, features=None), settings.reliabilities[0])
        with step("Posterior of raters and classifiers"):
            tree = next(iter(draw(lambda _: model, settings, log_likelihood=False, keep=keep).values()))
    return Joint(tree, model)


def _check_metrics(sources: Sources, predicted: xr.DataArray | None) -> None:
    """Raise before anything is fitted if a metric is unknown, or has no suitable predictions."""
    if sources.metrics and predicted is None:
        raise ValueError("--metric: there are no predictions to score; name their table")
    for name in sources.metrics:
        metric = metric_named(name)
        if predicted is not None:
            check_predictions(name, metric, predicted)
