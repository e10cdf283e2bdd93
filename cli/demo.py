"""Demo: the seven published differential diagnoses, and the twelve accuracies printed in the paper."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import arviz_stats  # noqa: F401 (first: its search for absent packages walks through all that is imported)
import xarray as xr

from .. import evaluation, inference, models
from ..evaluation.uncertainty.questions import OPEN
from ..models._catalog import annotation_kinds
from ..models.data.published import PUBLISHED_ARGUMENTS
from ..reports import Section, write_report
from ..reports.posterior_files import kept_posterior
from ..reports.sections.certainty import BestGuesses, certainty_section, strips_section
from ..reports.sections.fit import citation_section, convergence_section, versions_of
from ..reports.sections.lookup import truth_items
from ..reports.study import point_estimates
from .terminal import print_table, print_text

MODEL = annotation_kinds["rankings"].default_model
PRINTED_DRAWS = 1000
DRAWS = 50_000
SETTINGS = 'plackett_luce with concentration=1, unranked="single", reliability=3; prirn with reliability=30, tie_weight="full"'
QUESTION = f"It is {OPEN}: accuracy against the truth is another question."


def demonstrate(out: Path, seed: int, keep: str | None = None) -> None:
    """Fit the published cases, compare with the paper, and write report and kept draws to the folder `out`."""
    cases = models.published_ddx_cases()
    rows = compare_with_paper(seed)
    narrow = [{name: cell for name, cell in row.items() if name != "figure"} for row in rows]
    print_table(narrow, "Uncertainty-adjusted top-3 accuracy, figures 5 and 17 of the paper")
    print_text(QUESTION)
    print_text(z_in_words(rows))
    print_text(f"settings of the paper: {SETTINGS}")
    tree = inference.sample(getattr(models, MODEL)(cases, reliability=3), random_seed=seed)
    print_text(inference.diagnose(tree).attrs["verdict"])
    worst = max(abs(float(str(row["difference"]))) for row in rows)
    text = (
        f"The twelve figures printed in Stutz et al. (2025), figures 5 and 17, and ours with the paper's settings: {SETTINGS}. "
        f"{QUESTION} The largest difference is {worst:.3f}. MCSE is our Monte-Carlo error, of {4 * DRAWS:,} draws. "
        f"z = difference / sqrt(MCSE squared + p (1 - p) / {PRINTED_DRAWS} + .01 squared / 12): that error, that of "
        f"{PRINTED_DRAWS} printed draws if they were independent, and the rounding. {z_in_words(rows)}"
    )
    kept = kept_posterior(tree, keep)
    kept.write(tree, out / kept.name)
    best = BestGuesses(tree)
    certainty = certainty_section(best, cases)
    sections = [
        Section("The paper's figures", text, rows=rows, file="published_accuracies", key="paper"),
        Section("Data", cases.report(), key="data"),
        convergence_section(tree),
        *certainty,
        strips_section(best, cases, point_estimates(cases)),
        Section("Posterior", kept.in_words(kept.name)),
        citation_section(MODEL),
    ]
    summary = "Plackett-Luce with ties, reliability 3, the default prior; but the paper's figures with the paper's settings."
    facts = {"kind": "rankings", "versions": versions_of(tree)}
    items = truth_items(tree, cases, certainty[0].rows)
    page = write_report(out, "Seven differential diagnoses", summary, sections, facts=facts, items=items)
    print_text(f"wrote {page}")


def z_in_words(rows: Sequence[Mapping[str, object]]) -> str:
    """Sentence on what z is, and what its largest value means."""
    worst = max(rows, key=lambda row: abs(float(str(row["z"]))))
    return (
        "z is the difference in standard errors: by chance alone it is between -2 and 2 in 95 of 100 figures. The largest here, "
        f"{float(str(worst['z'])):.1f}, is a difference of {float(str(worst['difference'])):+.3f}: the printed figures are of "
        "draws that depend on each other, z takes them as independent, and so is too large."
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
