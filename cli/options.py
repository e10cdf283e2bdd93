"""The options that several commands have."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Annotations",
    "Anonymize",
    "Bounds",
    "Categories",
    "Chains",
    "Columns",
    "Concentration",
    "Draws",
    "Group",
    "Kind",
    "KindOption",
    "LargestComponent",
    "Layout",
    "LayoutOption",
    "LeftBias",
    "Model",
    "Prob",
    "RaterAttributes",
    "Raters",
    "Scheduler",
    "Seed",
    "Signed",
    "Thresholds",
    "TieWeight",
    "Ties",
    "Unranked",
    "Workers",
]


class Kind(StrEnum):
    """What the raters gave."""

    rankings = "rankings"
    labels = "labels"
    comparisons = "comparisons"
    scores = "scores"


class Layout(StrEnum):
    """How a table holds labels or scores."""

    long = "long"
    wide = "wide"
    counts = "counts"


Annotations = Annotated[Path, typer.Argument(help="Table: CSV, TSV, Parquet or JSON lines.")]
Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Number the raters in a random order that nobody can draw again, and name them nowhere; not with --workers or "
        "--scheduler, which read the same table again when they go on.",
    ),
]
KindOption = Annotated[Kind, typer.Option("--kind", help="What the raters gave.")]
LayoutOption = Annotated[
    Layout,
    typer.Option(
        "--layout",
        help="Of labels and scores: long, a row for each answer; counts, a column for each category or score; of labels also "
        "wide, a column for each rater.",
    ),
]
Categories = Annotated[
    str | None,
    typer.Option(
        help="All categories: a text file, one a line, or a,b,c; those named by default. Of ordinal from lowest to highest."
    ),
]
Bounds = Annotated[
    str | None,
    typer.Option(
        help="Of scores: the lowest and the highest that could be given, such as 1,10; none by default."
    ),
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        help="Of scores: where to cut them in two, such as 0; several with commas, predictions are of the first.",
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="Of hierarchical_dawid_skene and hierarchical_scores: the column that says of which group a rater is."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Rename: item=case reads column 'case' as 'item'."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A model of `raterzoo models`; plackett_luce for rankings, dawid_skene for labels, bradley_terry for comparisons, "
        "normal_scores for scores.",
    ),
]
Concentration = Annotated[
    float | None, typer.Option(help="Prior concentration of a category; 1 / K by default.")
]
Unranked = Annotated[str | None, typer.Option(help="pooled, single or ignored.")]
TieWeight = Annotated[str | None, typer.Option(help="Of prirn: split or full.")]
Ties = Annotated[
    str | None,
    typer.Option(
        help="Of comparisons: davidson (bradley_terry), threshold (thurstone), none, or auto: where somebody tied."
    ),
]
LeftBias = Annotated[
    bool, typer.Option("--left-bias", help="Of comparisons: the left side may have an advantage.")
]
Signed = Annotated[
    bool, typer.Option("--signed", help="Of comparisons: a rater may prefer what is worse.")
]
Raters = Annotated[
    str | None,
    typer.Option(
        help="Of comparisons: hierarchical, per-rater or shared; shared where raters are not told apart."
    ),
]
RaterAttributes = Annotated[
    list[str] | None,
    typer.Option(
        "--rater-attribute",
        help="Of comparisons, labels and scores: a column that says something of the rater, such as kind.",
    ),
]
LargestComponent = Annotated[
    bool,
    typer.Option(
        "--largest-component",
        help="Of comparisons: keep the largest set of items that chains of comparisons join.",
    ),
]
Prob = Annotated[float, typer.Option(help="Posterior probability of the intervals.")]
Draws = Annotated[int, typer.Option(help="Draws of each chain.")]
Chains = Annotated[int, typer.Option(help="Chains.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Processes that share the items of plackett_luce, prirn, dirichlet, normal_scores and dawid_skene; needs -o "
        "posterior.zarr. The same command, not --resume, goes on with what was interrupted."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Address of a scheduler of dask, such as tcp://10.0.0.1:8786, in place of processes."
    ),
]
