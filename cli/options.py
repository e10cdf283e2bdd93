"""Options shared by several commands."""

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
    """Kind of annotation."""

    rankings = "rankings"
    labels = "labels"
    comparisons = "comparisons"
    scores = "scores"


class Layout(StrEnum):
    """Layout of a table of labels or scores."""

    long = "long"
    wide = "wide"
    counts = "counts"


Annotations = Annotated[Path, typer.Argument(help="Table: CSV, TSV, Parquet or JSON lines.")]
Anonymize = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Replace rater ids by numbers in a random order that cannot be reproduced. Not with --workers or --scheduler, "
        "which read the table again to continue an interrupted fit.",
    ),
]
KindOption = Annotated[Kind, typer.Option("--kind", help="Kind of annotation.")]
LayoutOption = Annotated[
    Layout,
    typer.Option(
        "--layout",
        help="For labels and scores: long, one row per answer; counts, one column per category or score. For labels also "
        "wide, one column per rater.",
    ),
]
Categories = Annotated[
    str | None,
    typer.Option(
        help="All categories: a text file with one per line, or a,b,c; default those in the table. For ordinal: lowest first."
    ),
]
Bounds = Annotated[
    str | None,
    typer.Option(
        help="For scores: the lowest and the highest possible score, such as 1,10; default none."
    ),
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        help="For scores: threshold above which a score counts as high, such as 0. Several with commas; predictions are for "
        "the first.",
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="For hierarchical_dawid_skene and hierarchical_scores: the column with the group of the rater."
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
        help="A model listed by `raterzoo models`; default plackett_luce for rankings, dawid_skene for labels, bradley_terry "
        "for comparisons, normal_scores for scores.",
    ),
]
Concentration = Annotated[
    float | None, typer.Option(help="Prior concentration of each category; default 1 / K.")
]
Unranked = Annotated[
    str | None, typer.Option(help="Treatment of unranked categories: pooled, single or ignored.")
]
TieWeight = Annotated[
    str | None, typer.Option(help="For prirn: weight of tied categories, split or full.")
]
Ties = Annotated[
    str | None,
    typer.Option(
        help="For comparisons: davidson (bradley_terry), threshold (thurstone), none, or auto: if there are ties."
    ),
]
LeftBias = Annotated[
    bool, typer.Option("--left-bias", help="For comparisons: model an advantage of the left side.")
]
Signed = Annotated[
    bool, typer.Option("--signed", help="For comparisons: allow raters who prefer the worse item.")
]
Raters = Annotated[
    str | None,
    typer.Option(
        help="For comparisons: reliability hierarchical, per-rater or shared; shared if raters are anonymous."
    ),
]
RaterAttributes = Annotated[
    list[str] | None,
    typer.Option(
        "--rater-attribute",
        help="For comparisons, labels and scores: a column with an attribute of the rater, such as kind.",
    ),
]
LargestComponent = Annotated[
    bool,
    typer.Option(
        "--largest-component",
        help="For comparisons: keep only the largest set of items connected by comparisons.",
    ),
]
Prob = Annotated[float, typer.Option(help="Posterior probability of the intervals.")]
Draws = Annotated[int, typer.Option(help="Draws per chain.")]
Chains = Annotated[int, typer.Option(help="Number of chains.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Number of processes that share the items of plackett_luce, prirn, dirichlet, normal_scores and dawid_skene; "
        "needs -o posterior.zarr. The same command, not --resume, continues an interrupted fit."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Address of a dask scheduler, such as tcp://10.0.0.1:8786, instead of processes."
    ),
]
