"""Command `equivalence`: survey equivalence of classifiers, from files."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .._messages import step
from ..inference.storage.permissions import private_files
from ..models._catalog import annotation_kinds
from ..posterior.table_text import decimal_number
from ..reports.wording import ADDITIVE, OF_POSTERIOR
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
    number_option,
    whole_option,
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
MODEL = annotation_kinds["labels"].power_curve_model
LEAST_CALIBRATED = 10  # items
HEADING = "Survey equivalence of classifiers"
TITLES = ("scores", "k raters; P(a classifier is better)", "the better classifier first")
NOT_CONVERGED = 1  # exit code


class Extras(NamedTuple):
    """Optional steps and outputs of the command."""

    calibrate: bool
    posterior: tuple[int, int] | None  # draws and chains
    plot: Path | None
    out: Path | None
    private: bool  # files are readable by the user alone


def equivalence(
    labels: Annotated[Path, typer.Argument(help=f"Table of labels: {FORMATS}.")],
    predictions: Annotated[
        Path, typer.Argument(help="Table: item, category, score (a probability) or rank[, classifier].")
    ],
    *,
    layout: LayoutOption = Layout.long,
    source: SourceOption = None,
    drop_missing: DropMissing = False,
    column: Columns = None,
    categories: Categories = None,
    cleaning: CleaningOptions,
    anonymize: Anonymize = False,
    combiner: Annotated[
        str | None, typer.Option(help=f"{', '.join(COMBINERS)}; default abc, for hard predictions plurality.")
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(SCORERS)}; default cross-entropy, for hard predictions agreement."),
    ] = None,
    clip: Annotated[float, number_option(help="Lower bound of probabilities in the score.")] = 0.02,
    items: Annotated[
        str, typer.Option(help="Items of the curve: available at each k, or common to all k.")
    ] = "available",
    estimand: Annotated[
        str,
        typer.Option(
            help="For f1, auc ...: pooled, of all answers jointly; or mean, over random samples of raters."
        ),
    ] = "pooled",
    learn: Annotated[
        str | None,
        typer.Option(
            help="For abc: leave-one-out, in-sample (default for f1, auc ...), or a number of folds."
        ),
    ] = None,
    base: Annotated[float, number_option(help="Base of the logarithm.")] = 2,
    positive: Annotated[
        str | None, typer.Option(help="Positive category of precision, recall, f1 and auc.")
    ] = None,
    max_raters: Annotated[int | None, whole_option(help="Largest number of raters on the curve.")] = None,
    bootstrap: Annotated[int, whole_option(help="Resamples of the items; 0 for none.")] = 500,
    clusters: ClustersFile = None,
    prob: Annotated[float, number_option(help="Probability of the intervals.")] = 0.9,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Score also with cross-fitted isotonic calibration.")
    ] = False,
    posterior: Annotated[
        bool, typer.Option("--posterior", help="Fit item_states, for a curve beyond the observed raters.")
    ] = False,
    draws: Draws = 1000,
    chains: Chains = 4,
    plot: Annotated[Path | None, typer.Option(help="Picture: curve.svg or curve.png.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="All numbers: worth.csv, worth.json, or a folder for an HTML page.")
    ] = None,
    seed: Seed = 1,
) -> None:
    """Estimate how many raters each classifier is worth."""
    from .anonymity import refuse_annotations_among
    from .exports import chosen_question
    from .options import settings_of
    from .tables import check_header, check_prediction_header, read_clusters

    rules = {
        "clip": clip, "items": items, "estimand": estimand, "base": base, "positive": positive,
        "max_raters": max_raters, "bootstrap": bootstrap, "probability": prob, "random_seed": seed,
    }  # fmt: skip
    _check_files(plot, out)
    for option, value, allowed in (
        ("combiner", combiner, COMBINERS),
        ("scorer", scorer, SCORERS),
        ("items", items, ("available", "common")),
        ("estimand", estimand, ("pooled", "mean")),
    ):
        if value is not None and value not in allowed:
            raise ValueError(f"--{option} {value}: expected one of {', '.join(allowed)}")
    settings = settings_of(
        "labels", MODEL, {"categories": categories, "anonymize": anonymize, **vars(cleaning)},
        draws=draws, chains=chains, seed=seed, layout=layout, source=source, drop_missing=drop_missing,
    )  # fmt: skip
    if anonymize:
        refuse_annotations_among([predictions, categories], labels, source)
    check_header(labels, "labels", column or [], layout, source=source, anonymize=anonymize)
    check_prediction_header(predictions, "labels", question=chosen_question(column or [], "labels"))
    from ..reports.sections.equivalence import default_rules

    data, law, hard = _read(labels, predictions, column or [], settings)
    rules |= default_rules(hard and not calibrate, combiner, scorer, learn)
    rules["clusters"] = read_clusters(clusters, data.items)
    _check_asked(rules, posterior, data)
    extras = Extras(calibrate, (draws, chains) if posterior else None, plot, out, anonymize)
    _compute_and_report(data, law, rules, extras)


def _check_files(plot: Path | None, out: Path | None) -> None:
    """Raise before anything is computed if an output path has an unknown suffix or cannot be written."""
    if plot is not None and plot.suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"--plot {plot}: name a .svg or a .png file")
    if plot is not None:
        check_output("--plot", plot)
    check_numbers_output(out)


def _check_asked(rules: dict[str, Any], posterior: bool, data: "Labels") -> None:
    """Raise before anything is fitted if options contradict each other or the labels."""
    from ..reports.wording import first_names

    combiner, scorer = rules["combiner"], rules["scorer"].replace("_", "-")
    if rules["positive"] is not None and scorer not in ONE_LABEL:
        raise ValueError(
            f"--positive {rules['positive']}: scorer {scorer} is about all labels; leave it out, or take --scorer "
            f"{', '.join(ONE_LABEL)}"
        )
    if posterior and (combiner not in OF_POSTERIOR or scorer not in ADDITIVE):
        raise ValueError(
            f"--posterior with combiner {combiner} and scorer {scorer}: the curve of a posterior of item states is of "
            f"{' or '.join(OF_POSTERIOR)}, and {', '.join(ADDITIVE)}; take these, or leave --posterior out"
        )
    if posterior and rules["clusters"] is not None:
        raise ValueError(
            "--clusters with --posterior: the posterior takes items for independent; leave one of them out"
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
    from ..posterior.matching import with_complement
    from ..reports.sections.equivalence import probabilities_of
    from ..reports.study import labels_of
    from ..reports.wording import first_names
    from .exports import chosen_question
    from .tables import read_annotations, read_predictions

    question = chosen_question(columns, "labels")
    predicted = read_predictions(predictions, [], missing=settings.missing, question=question)
    data: Any = read_annotations(labels, settings, columns).data
    known = data.categories.tolist()
    if only_predicted := [name for name in labels_of(predicted) if name not in known]:
        raise ValueError(
            f"{predictions}: {first_names(only_predicted)}: not used by any rater; the raters used {first_names(known)}; "
            "correct the spelling, or declare the closed set by --categories"
        )
    predicted = with_complement(predicted, data.categories)
    return data, probabilities_of(predicted, data), "category" not in predicted.dims


def _compute_and_report(data: "Labels", law: "xr.DataArray", rules: dict[str, Any], extras: Extras) -> None:
    """Compute the equivalences; print, plot and write them."""
    import xarray as xr

    from ..reports.analyses.equivalence import EquivalenceAnalysis
    from ..reports.sections.equivalence import (
        equivalences,
        picture_of,
        posterior_equivalence,
        posterior_sections,
        scored_by,
    )
    from .terminal import print_answers, print_table, print_text

    drawn, figures, converged = [], [], True
    pictured = extras.plot is not None or (extras.out is not None and not extras.out.suffix)
    with step("Computing"):
        if extras.calibrate:
            law = _calibrated(law, data, rules["random_seed"])
        found = equivalences(data, law, rules | ({"max_raters": None} if extras.posterior else {}))
        figures += [picture_of(found)] if pictured else []
        if extras.posterior:
            summed, converged, verdict = posterior_equivalence(data, law, rules, extras.posterior)
            figures += [picture_of(summed)] if pictured else []
            drawn = posterior_sections(
                summed, (converged, verdict), *figures[1:], probability=rules["probability"]
            )
    analysis = EquivalenceAnalysis(
        data, xr.DataTree(), None, found, figures, drawn, converged if extras.posterior else None
    )
    print_answers(analysis.answers)
    how = f"{rules['combiner']}, {scored_by(found)}"
    for section, title in zip(analysis.sections, TITLES, strict=False):
        print_text("")
        rows = [{name: row[name] for name in row if name != "worth"} for row in section.table]
        whole = [name for name in rows[0] if name.endswith(("interval", "more", "than"))]
        print_table(rows, f"{title} ({how})", whole=whole)
    for section in drawn[:1]:
        print_text("\n" + section.text.replace(". ", ".\n"))
    with private_files(extras.private, extras.out):
        _write(analysis, extras)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)


def _calibrated(law: "xr.DataArray", data: "Labels", seed: int) -> "xr.DataArray":
    """Return predictions with and without calibration, cross-fitted on folds of the items."""
    from ..evaluation import calibrated

    heard = int((data.counts.sum(axis=1) > 0).sum())
    if heard < LEAST_CALIBRATED:
        raise ValueError(
            f"--calibrate: {heard} items have labels; it learns from some of them to calibrate the others, and needs "
            f"{LEAST_CALIBRATED} at least"
        )
    return calibrated(law, data, random_seed=seed).assign_attrs(law.attrs)


def _write(analysis: "EquivalenceAnalysis", extras: Extras) -> None:
    """Write the picture and the numbers: a page with tables, one JSON file, or one CSV file per table."""
    from ..reports import write_report
    from ..reports.sections.fit import citation_section
    from .section_files import write_numbers
    from .terminal import print_text

    data, sections, out = analysis.data, analysis.sections, extras.out
    if extras.plot is not None:
        extras.plot.parent.mkdir(parents=True, exist_ok=True)
        analysis.figures[-1].savefig(extras.plot, bbox_inches="tight")
        print_text(f"wrote {extras.plot}")
    if out is None:
        return
    if not out.suffix:
        raters = "anonymous raters" if data.anonymous else f"{len(data.raters):,} raters"
        summary = f"{len(data.items):,} items, {raters}, {int(data.counts.sum()):,} labels."
        given = {"box": analysis.answers, "facts": {"kind": "labels"}}
        page = write_report(out, HEADING, summary, [*sections, citation_section(MODEL)], **given)
        print_text(f"wrote {page}")
        return
    write_numbers(out, sections, "equivalence")
