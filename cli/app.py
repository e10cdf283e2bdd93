"""The commands and their options; the work, and every heavy import, is in the modules beside this one."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .failing import plainly

__all__ = ["app"]

app = typer.Typer(
    help="Bayesian models of annotation: the posterior over what is true when raters disagree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data = typer.Typer(help="Public data sets.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data, name="data")


class Kind(StrEnum):
    """What the raters gave."""

    rankings = "rankings"
    labels = "labels"
    comparisons = "comparisons"
    scores = "scores"


Annotations = Annotated[Path, typer.Argument(help="Table: CSV, TSV, Parquet or JSON lines.")]
KindOption = Annotated[Kind, typer.Option("--kind", help="What the raters gave.")]


class Layout(StrEnum):
    """How a table holds labels."""

    long = "long"
    wide = "wide"
    counts = "counts"


LayoutOption = Annotated[
    Layout,
    typer.Option(
        "--layout",
        help="Of labels: long, a row for each answer; wide, a column for each rater; counts, a column for each category.",
    ),
]
Categories = Annotated[
    Path | None,
    typer.Option(help="Text file of all categories, one a line; those named by default."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Rename: item=case reads column 'case' as 'item'."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A model of `raterzoo models`; plackett_luce for rankings, dawid_skene for labels.",
    ),
]
Concentration = Annotated[
    float | None, typer.Option(help="Prior concentration of a category; 1 / K by default.")
]
Unranked = Annotated[str | None, typer.Option(help="pooled, single or ignored.")]
TieWeight = Annotated[str | None, typer.Option(help="Of prirn: split or full.")]
Draws = Annotated[int, typer.Option(help="Draws of each chain.")]
Chains = Annotated[int, typer.Option(help="Chains.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]


@app.command()
@plainly
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("raterzoo-demo"),
    seed: Seed = 1,
) -> None:
    """Fit the seven published cases, and compare with the figures printed in the paper."""
    from .demonstration import demonstrate

    demonstrate(out, seed)


@app.command()
@plainly
def report(
    annotations: Annotations,
    predictions: Annotated[
        Path | None, typer.Argument(help="Table: item, category, rank or score[, classifier].")
    ] = None,
    kind: KindOption = Kind.rankings,
    layout: LayoutOption = Layout.long,
    model: Model = None,
    reliability: Annotated[
        str | None,
        typer.Option(help="One or more, with commas, the first reported in full; 3 for rankings."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("raterzoo-report"),
    column: Columns = None,
    categories: Categories = None,
    concentration: Concentration = None,
    unranked: Unranked = None,
    tie_weight: TieWeight = None,
    draws: Draws = 1000,
    chains: Chains = 4,
    seed: Seed = 1,
) -> None:
    """Fit, diagnose, evaluate, and write it all up as one HTML page."""
    from .reporting import make_report
    from .settings import Settings

    settings = Settings.of(
        kind,
        model,
        reliability,
        concentration,
        unranked,
        tie_weight,
        draws,
        chains,
        seed,
        categories,
        layout,
    )
    make_report(annotations, predictions, column or [], settings, out)


@app.command()
@plainly
def fit(
    annotations: Annotations,
    output: Annotated[Path, typer.Option("-o", "--output", help="posterior.nc or posterior.zarr")],
    kind: KindOption = Kind.rankings,
    layout: LayoutOption = Layout.long,
    model: Model = None,
    reliability: Annotated[
        str | None, typer.Option(help="Trust in the raters; 3 for rankings.")
    ] = None,
    column: Columns = None,
    categories: Categories = None,
    concentration: Concentration = None,
    unranked: Unranked = None,
    tie_weight: TieWeight = None,
    draws: Draws = 1000,
    chains: Chains = 4,
    seed: Seed = 1,
) -> None:
    """Draw from the posterior and write it to a file."""
    from .fitting import fit_to_file
    from .settings import Settings

    settings = Settings.of(
        kind,
        model,
        reliability,
        concentration,
        unranked,
        tie_weight,
        draws,
        chains,
        seed,
        categories,
        layout,
    )
    fit_to_file(annotations, column or [], settings, output)


@app.command()
@plainly
def evaluate(
    posterior: Annotated[Path, typer.Argument(help="What `raterzoo fit` wrote.")],
    predictions: Annotated[
        Path, typer.Argument(help="Table: item, category, rank or score[, classifier].")
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(help="top-3-accuracy, set-accuracy@2, overlap@3, average-overlap@3"),
    ] = None,
    column: Columns = None,
    seed: Seed = 1,
) -> None:
    """Score predictions against a posterior; every figure with its interval."""
    from .scoring import score_file

    score_file(
        posterior, predictions, metric or ["top-1-accuracy", "top-3-accuracy"], column or [], seed
    )


@app.command()
@plainly
def models() -> None:
    """List the models."""
    from .listing import list_models

    list_models()


@app.command()
@plainly
def check(
    annotations: Annotations,
    kind: KindOption = Kind.rankings,
    layout: LayoutOption = Layout.long,
    column: Columns = None,
) -> None:
    """Read a table, and say what is in it or what is wrong with it."""
    from .reading import read_container
    from .screen import say

    say(read_container(annotations, kind, column or [], None, layout).report())


@data.command("list")
@plainly
def list_data() -> None:
    """List the data sets that can be fetched."""
    from .fetching import list_datasets

    list_datasets()


@data.command()
@plainly
def fetch(
    name: str, out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path()
) -> None:
    """Download a data set from its public source, check it, and convert it."""
    from .fetching import fetch_dataset

    fetch_dataset(name, out)
