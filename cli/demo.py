"""Demo: the seven published differential diagnoses, and the twelve accuracies printed in the paper."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import arviz_stats  # noqa: F401 (first: its search for absent packages walks through all that is imported)
import xarray as xr

from .. import evaluation, inference, models
from ..evaluation.uncertainty.questions import OPEN
from ..models._catalog import annotation_kinds
from ..models.data.published import PUBLISHED_ARGUMENTS
from ..reports import Section, make
from ..reports.analyses.analysis import answers_of
from .terminal import print_answers, print_table, print_text

MODEL = annotation_kinds["rankings"].default_model
PRINTED_DRAWS = 1000
DRAWS = 50_000
SETTINGS = 'plackett_luce with concentration=1, unranked="single", reliability=3; prirn with reliability=30, tie_weight="full"'
QUESTION = f"It is {OPEN}: accuracy against the truth is another question."


def demonstrate(out: Path, seed: int, keep: str | None = None) -> None:
    """Fit the published cases, compare with the paper, and write report and kept draws to the folder `out`."""
    cases = models.published_ddx_cases()
    rows = compare_with_paper(seed)
    model = getattr(models, MODEL)(cases, reliability=3)
    tree = inference.sample(model, random_seed=seed)
    report = make(tree, annotations=cases, model=model, seed=seed, title="Seven differential diagnoses")
    certainty, *others, cite = report.sections
    text = (
        f"The twelve figures printed in Stutz et al. (2025), figures 5 and 17, and ours with the paper's settings: {SETTINGS}. "
        f"{QUESTION} MCSE is our Monte-Carlo error, of {4 * DRAWS:,} draws. {z_in_words(rows)}"
    )
    paper = Section("The paper's figures", text, rows=rows, file="published_accuracies", key="paper")
    sure = sorted(certainty.rows, key=lambda row: -row["certainty top 1"])
    about = answers_of("demo", {"sure": sure, "rows": rows, "worst": max(rows, key=_difference)})
    report = replace(
        report,
        summary="What seven patients may have, by rankings of six dermatologists; reliability 3.",
        sections=[certainty, *others, paper, cite],
        answers=[*about, *report.answers[1:]],
    )
    page = report.write(out, keep=keep)
    print_answers(report.answers)
    narrow = [{name: cell for name, cell in row.items() if name != "figure"} for row in rows]
    print_text("")
    print_table(narrow, "Uncertainty-adjusted top-3 accuracy, figures 5 and 17 of the paper")
    print_text(f"{QUESTION}\nsettings of the paper: {SETTINGS}\n{z_in_words(rows)}")
    print_text(inference.diagnose(tree).attrs["verdict"])
    print_text(f"wrote {page}")


def _difference(row: Mapping[str, object]) -> float:
    """Return how far a figure is from that of the paper."""
    return abs(float(str(row["difference"])))


def z_in_words(rows: Sequence[Mapping[str, object]]) -> str:
    """Sentence on what z is, and what its largest value means."""
    worst = max(rows, key=lambda row: abs(float(str(row["z"]))))
    return (
        "z is the difference in standard errors of independent draws. The printed figures are of dependent ones, so that z is "
        f"too large: its largest, {float(str(worst['z'])):.1f}, is a difference of {float(str(worst['difference'])):+.3f}."
    )


def compare_with_paper(seed: int) -> list[dict[str, object]]:
    """Compute the printed accuracies; return a row per value: source, printed, ours, difference, z."""
    cases = models.published_ddx_cases()
    predictions = evaluation.predictions_from_table(
        models.published_ddx_predictions(), rank="rank", classifier="classifier"
    )
    judged = cases.select(items=predictions["item"].to_numpy())
    drawn = {}
    for name, arguments in PUBLISHED_ARGUMENTS.items():
        model = getattr(models, name)(judged, **arguments)
        tree = inference.sample(model, draws=DRAWS, random_seed=seed, log_likelihood=False)
        drawn[name] = evaluation.uncertainty_adjusted(
            evaluation.top_k_accuracy(3), tree, predictions, reduce=None, random_seed=seed
        )
    printed = models.published_ddx_accuracies()
    keys = ("figure", "item", "classifier", "model", "accuracy")
    return [_row(drawn, *values) for values in zip(*(printed[key] for key in keys), strict=True)]


def _row(
    drawn: dict[str, xr.DataArray], figure: str, item: str, classifier: str, model: str, printed: float
) -> dict[str, object]:
    """Compare one printed value with the posterior."""
    hits = drawn[str(model)].sel(item=item, classifier=classifier)
    ours = float(hits.mean())
    spread = hits.transpose("chain", "draw").to_numpy().astype(float)
    # means of batches longer than the autocorrelation
    batches = spread.reshape(spread.shape[0], 50, -1).mean(axis=2)
    mcse = math.sqrt(batches.var() / batches.size)
    variance = mcse**2 + ours * (1 - ours) / PRINTED_DRAWS + 0.01**2 / 12
    row: dict[str, object] = {
        "figure": str(figure),
        "item": str(item),
        "classifier": str(classifier),
        "model": str(model),
    }
    difference = ours - float(printed)
    row |= {"printed": float(printed), "ours": ours, "MCSE": mcse, "difference": difference}
    return row | {"z": difference / math.sqrt(variance)}
