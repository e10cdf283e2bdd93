"""Command `judge`: how good classifiers and judges are, by one posterior of people, judges and predictions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import arviz_stats  # noqa: F401 (first, see demo.py)
import typer

from .._messages import step
from ..inference.storage.permissions import private_files
from ..reports.analyses.judge import JudgeAnalysis, judged, panel_of, with_sample
from ..reports.composition import report_of
from ..reports.page import Section
from ..reports.sections import judging
from ..reports.sections.judging import Panel
from ..reports.settings import Settings
from .exports import chosen_question
from .fitting import draw, predictions_named
from .options import JudgeOptions, options_named
from .section_files import write_numbers
from .tables import read_annotations, read_predictions, read_sample
from .terminal import print_answers, print_table, print_text

NOT_RELIED_ON = 1  # exit code


def judge_files(
    tables: tuple[Path, Path],
    columns: Sequence[str],
    settings: Settings,
    asked: JudgeOptions,
    people: tuple[str, str] | None,
) -> None:
    """Fit people, judges and classifiers; print and write what they are worth.

    `tables` are the answers and the predictions, `columns` renamings of the former; `people` are a column of the answers and its
    value for people. Exits with 1 where a number is not
    to be relied on, a judge changed since the earlier run, or a lower end is below the limit.
    """
    (reliability,) = settings.reliabilities
    with options_named():
        with step("Reading"):
            panel = _read(tables, columns, settings, asked.sample, people)
            old = (
                None
                if asked.compare_to is None
                else read_annotations(asked.compare_to, settings, columns).data
            )
        analysis = judged(
            panel,
            settings,
            lambda model: draw(lambda _: model, settings, log_likelihood=False)[reliability],
            sensitivity=asked.sensitivity,
            old=old,
            compose=report_of,
        )
    with step("Evaluating"):
        sections, doubts = list(analysis.sections.values()), analysis.doubts
        if asked.fail_below is not None:
            doubts += judging.below_in_words(analysis.scores["truth"], asked.fail_below)
    print_answers(analysis.answers)
    print_text("")
    _show(analysis.summary, sections)
    if doubts or asked.fail_below is not None:
        kept = f"Every lower end of an accuracy against the truth reaches the limit {asked.fail_below}."
        print_text("\n" + "\n".join(doubts or [kept]))
    if asked.out is not None:
        with private_files(settings.anonymize, asked.out):
            _write(asked.out, analysis, doubts)
    if doubts:
        raise typer.Exit(NOT_RELIED_ON)


def _read(
    tables: tuple[Path, Path],
    columns: Sequence[str],
    settings: Settings,
    sample: Path | None,
    people: tuple[str, str] | None,
) -> Panel:
    """Read the tables; people and judges are told apart by a column, or else all are people."""
    answers, predictions = tables
    predicted = read_predictions(
        predictions, [], missing=settings.missing, question=chosen_question(columns, "labels")
    )
    labels, _, also_raters = read_annotations(answers, settings, columns, predicted)
    with predictions_named(predictions, predicted, also_raters):
        panel = panel_of(labels, predicted, people, settings.priors, hidden=settings.anonymize)
    return panel if sample is None else with_sample(panel, read_sample(sample, panel.labels.items))


def _show(summary: str, sections: Sequence[Section]) -> None:
    """Print the sections."""
    print_text(summary)
    for section in sections:
        print_text(f"\n{section.title}")
        if section.table:
            print_table(section.table, folds=next(iter(section.table[0])), narrowest=8)
        print_text(section.text)


def _write(out: Path, analysis: JudgeAnalysis, doubts: Sequence[str]) -> None:
    """Write the numbers, or a page with them if `out` is a folder; `doubts` are sentences on what is not to be relied on."""
    report = analysis.page
    facts = {**report.facts, "doubts": list(doubts)}
    if out.suffix:
        about = {name: facts[name] for name in ("doubts", "facts")}
        sections = [Section("About", report.summary, key="study", facts=about), *report.sections]
        write_numbers(out, sections, "judge")
        return
    print_text(f"wrote {replace(report, facts=facts).write(out)}")
