"""Command `equivalence`: survey equivalence of classifiers, from files."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._messages import step
from ..inference.storage.permissions import private_files
from ..models._catalog import annotation_kinds
from ..posterior.table_text import decimal_number
from ..reports.wording import ADDITIVE
from .options import (
    FORMATS,
    Anonymize,
    Categories,
    Chains,
    CleaningOptions,
    ClustersFile,
    Columns,
    Draws,
    DropMissing,
    Layout,
    LayoutOption,
    Seed,
    SourceOption,
    check_numbers_output,
    check_output,
    options_named,
)

if TYPE_CHECKING:
    import xarray as xr

    from ..models import Labels
    from ..reports.analyses.equivalence import EquivalenceAnalysis
    from ..reports.settings import Settings


COMBINERS = ("abc", "plurality", "frequency", "mean")
ONE_LABEL = ("precision", "recall", "f1", "auc")  # scorers of one category against the rest
CORRELATIONS = ("pearson", "spearman")
SCORERS = (*ADDITIVE, *ONE_LABEL, "mcc", "dmi", "soft-dmi", *CORRELATIONS)
CHOICES: dict[str, tuple[str, ...]] = {
    "combiner": COMBINERS,
    "scorer": SCORERS,
    "items": ("available", "common"),
    "estimand": ("pooled", "mean"),
}
# arguments of `evaluation.survey_equivalence` that are options
RULES = (
    "combiner",
    "scorer",
    "learn",
    "clip",
    "items",
    "estimand",
    "base",
    "positive",
    "max_raters",
    "bootstrap",
)
MODEL = annotation_kinds["labels"].power_curve_model
TITLES = ("scores", "k raters; P(a classifier is better)", "the better classifier first")
NOT_CONVERGED = 1  # exit code


@dataclass
class EquivalenceOptions:
    """Options."""

    column: Columns = None
    anonymize: Anonymize = False
    combiner: Annotated[
        str | None, f"{', '.join(COMBINERS)}; default abc, for hard predictions plurality."
    ] = None
    scorer: Annotated[
        str | None, f"{', '.join(SCORERS)}; default cross-entropy, for hard predictions agreement."
    ] = None
    clip: Annotated[float, "Lower bound of probabilities in the score."] = 0.02
    items: Annotated[str, "Items of the curve: available at each k, or common to all k."] = "available"
    estimand: Annotated[
        str, "For f1, auc ...: pooled, of all answers jointly; or mean, over random samples of raters."
    ] = "pooled"
    learn: Annotated[
        str | None, "For abc: leave-one-out, in-sample (default for f1, auc ...), or a number of folds."
    ] = None
    base: Annotated[float, "Base of the logarithm."] = 2
    positive: Annotated[str | None, "Positive category of precision, recall, f1 and auc."] = None
    max_raters: Annotated[int | None, "Largest number of raters on the curve."] = None
    bootstrap: Annotated[int, "Resamples of the items; 0 for none."] = 500
    clusters: ClustersFile = None
    prob: Annotated[float, "Probability of the intervals."] = 0.9
    calibrate: Annotated[bool, "Score also with cross-fitted isotonic calibration."] = False
    posterior: Annotated[bool, "Fit item_states, for a curve beyond the observed raters."] = False
    draws: Draws = 1000
    chains: Chains = 4
    plot: Annotated[Path | None, "Picture: curve.svg or curve.png."] = None
    out: Annotated[Path | None, "All numbers: worth.csv, worth.json, or a folder for an HTML page.", "-o"] = (
        None
    )
    seed: Seed = 1


def equivalence(
    labels: Annotated[Path, typer.Argument(help=f"Table of labels: {FORMATS}.")],
    predictions: Annotated[
        Path, typer.Argument(help="Table: item, category, score (a probability) or rank[, classifier].")
    ],
    *,
    layout: LayoutOption = Layout.long,
    source: SourceOption = None,
    drop_missing: DropMissing = False,
    categories: Categories = None,
    cleaning: CleaningOptions,
    asked: EquivalenceOptions,
) -> None:
    """Estimate how many raters each classifier is worth."""
    from .anonymity import refuse_annotations_among
    from .exports import chosen_question
    from .options import settings_of
    from .tables import check_header, check_prediction_header, read_clusters

    _check_files(asked.plot, asked.out)
    for option, allowed in CHOICES.items():
        if (value := getattr(asked, option)) is not None and value not in allowed:
            raise ValueError(f"--{option} {value}: expected one of {', '.join(allowed)}")
    column, anonymize = asked.column or [], asked.anonymize
    settings = settings_of(
        "labels", MODEL, {"categories": categories, "anonymize": anonymize, **vars(cleaning)},
        draws=asked.draws, chains=asked.chains, seed=asked.seed, layout=layout, source=source,
        drop_missing=drop_missing,
    )  # fmt: skip
    if anonymize:
        refuse_annotations_among([predictions, categories], labels, source)
    check_header(labels, settings, column)
    check_prediction_header(predictions, "labels", question=chosen_question(column, "labels"))
    from ..reports.analyses.equivalence import rules_of

    data, law, hard = _read(labels, predictions, column, settings)
    rules = {name: getattr(asked, name) for name in RULES}
    rules |= {"probability": asked.prob, "random_seed": asked.seed}
    rules["clusters"] = read_clusters(asked.clusters, data.items)
    with options_named():
        rules = rules_of(hard and not asked.calibrate, rules, posterior=asked.posterior)
        _check_asked(rules, data)
        _compute_and_report(data, law, rules, asked)


def _check_files(plot: Path | None, out: Path | None) -> None:
    """Raise before anything is computed if an output path has an unknown suffix or cannot be written."""
    if plot is not None and plot.suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"--plot {plot}: name a .svg or a .png file")
    if plot is not None:
        check_output("--plot", plot)
    check_numbers_output(out)


def _check_asked(rules: dict[str, Any], data: "Labels") -> None:
    """Raise before anything is fitted if options contradict each other or the labels."""
    from ..reports.wording import first_names

    combiner, scorer = rules["combiner"], rules["scorer"].replace("_", "-")
    if rules["positive"] is not None and scorer not in ONE_LABEL:
        raise ValueError(
            f"--positive {rules['positive']}: scorer {scorer} is about all labels; leave it out, or take --scorer "
            f"{', '.join(ONE_LABEL)}"
        )
    least = rules["max_raters"]
    if least is not None and least < 1:
        raise ValueError(f"--max-raters {least}: expected a whole number from 1")
    named = data.categories.tolist()
    numbers = scorer in CORRELATIONS or (combiner == "mean" and scorer == "auc")
    texts = [name for name in named if not _is_number(name)]
    if numbers and len(named) > 2 and texts:
        raise ValueError(
            f"--combiner {combiner} --scorer {scorer}: labels must be numbers, and {first_names(texts)} is none; write "
            "numbers into both tables, or take another scorer"
        )


def _is_number(name: str) -> bool:
    number = decimal_number(name)
    return number is not None and isfinite(number)


def _read(
    labels: Path, predictions: Path, columns: list[str], settings: "Settings"
) -> "tuple[Labels, xr.DataArray, bool]":
    """Return labels, predictions (classifier, item, category), and whether these are hard."""
    from ..reports.analyses.equivalence import law_of
    from .exports import chosen_question
    from .tables import read_annotations, read_predictions

    question = chosen_question(columns, "labels")
    predicted = read_predictions(predictions, [], missing=settings.missing, question=question)
    data: Any = read_annotations(labels, settings, columns).data
    return data, *law_of(predicted, data, str(predictions), "--categories")


def _compute_and_report(
    data: "Labels", law: "xr.DataArray", rules: dict[str, Any], asked: EquivalenceOptions
) -> None:
    """Compute the equivalences; print, plot and write them."""
    from ..reports.analyses.equivalence import compared
    from ..reports.composition import report_of
    from ..reports.sections.equivalence import scored_by
    from .terminal import print_answers, print_table, print_text

    draw = _sampler(asked) if asked.posterior else None
    pictured = asked.plot is not None or (asked.out is not None and not asked.out.suffix)
    with step("Computing"):
        analysis = compared(
            data, law, rules, calibrate=asked.calibrate, draw=draw, pictured=pictured, compose=report_of
        )
    print_answers(analysis.answers)
    how = f"{rules['combiner']}, {scored_by(analysis.found)}"
    for section, title in zip(analysis.sections, TITLES, strict=False):
        print_text("")
        rows = [{name: row[name] for name in row if name != "worth"} for row in section.table]
        whole = [name for name in rows[0] if name.endswith(("interval", "more", "than"))]
        print_table(rows, f"{title} ({how})", whole=whole)
    for section in analysis.sections_beyond[:1]:
        print_text("\n" + section.text.replace(". ", ".\n"))
    with private_files(asked.anonymize, asked.out):
        _write(analysis, asked.plot, asked.out)
    if analysis.extrapolated is False:
        raise typer.Exit(NOT_CONVERGED)


def _sampler(asked: EquivalenceOptions) -> "Callable[[Any], xr.DataTree]":
    """Return a sampler of models that says nothing: whether the draws have converged is printed."""
    import warnings

    from ..inference import ConvergenceWarning, sample

    def draw(model: Any) -> "xr.DataTree":
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            options: Any = {"draws": asked.draws, "chains": asked.chains, "random_seed": asked.seed}
            return sample(model, progressbar=False, **options)

    return draw


def _write(analysis: "EquivalenceAnalysis", plot: Path | None, out: Path | None) -> None:
    """Write the picture and the numbers: a page with tables, one JSON file, or one CSV file per table."""
    from .section_files import write_numbers
    from .terminal import print_text

    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        analysis.figures[-1].savefig(plot, bbox_inches="tight")
        print_text(f"wrote {plot}")
    if out is not None and not out.suffix:
        print_text(f"wrote {analysis.write(out)}")
    elif out is not None:
        write_numbers(out, analysis.sections, "equivalence")
