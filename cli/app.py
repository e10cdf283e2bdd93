"""Commands and their options; the work and all slow imports are in the other modules."""

from pathlib import Path
from typing import Annotated

import typer

from .equivalences import equivalence
from .failing import plainly
from .fit_commands import fit, report
from .options import (
    Annotations,
    Bounds,
    Chains,
    Columns,
    Draws,
    Kind,
    KindOption,
    LargestComponent,
    Layout,
    LayoutOption,
    LeftBias,
    Prob,
    RaterAttributes,
    Raters,
    Seed,
    Signed,
    Thresholds,
    Ties,
)

__all__ = ["app"]

app = typer.Typer(
    help="Bayesian models of annotation: the posterior of the truth when raters disagree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data = typer.Typer(help="Public data sets.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data, name="data")


@app.command()
@plainly
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("raterzoo-demo"),
    seed: Seed = 1,
) -> None:
    """Fit seven published cases.

    Their accuracies are compared with those printed in the paper.
    """
    from .demonstration import demonstrate

    demonstrate(out, seed)


app.command()(plainly(report))


@app.command()
@plainly
def rank(
    votes: Annotated[
        Path, typer.Argument(help="Table: left, right, winner[, rater, count]; ties are votes.")
    ],
    model: Annotated[
        str | None, typer.Option(help="bradley_terry, the default, or thurstone.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV file for the whole leaderboard, such as board.csv.")
    ] = None,
    prob: Prob = 0.9,
    top: Annotated[int, typer.Option(help="Number of items to show.")] = 100,
    column: Columns = None,
    ties: Ties = None,
    left_bias: LeftBias = False,
    signed: Signed = False,
    raters: Raters = None,
    rater_attribute: RaterAttributes = None,
    largest_component: LargestComponent = False,
    draws: Draws = 1000,
    chains: Chains = 4,
    seed: Seed = 1,
) -> None:
    """Rank items by pairwise votes.

    The leaderboard has intervals and ties, followed by the reliability of the raters.
    """
    from .ranking import rank_votes
    from .settings import Settings

    options = {
        "ties": ties,
        "left_bias": left_bias,
        "signed": signed,
        "raters": raters,
        "rater_attribute": rater_attribute,
        "largest_component": largest_component,
    }
    settings = Settings.of(Kind.comparisons, model, options, draws=draws, chains=chains, seed=seed)
    rank_votes(votes, column or [], settings, prob=prob, top=top, out=out)


app.command()(plainly(fit))


@app.command()
@plainly
def evaluate(
    posterior: Annotated[Path, typer.Argument(help="File written by `raterzoo fit`.")],
    predictions: Annotated[
        Path,
        typer.Argument(
            help="Table: item, category, rank or score[, classifier]; for scores item and probability, score or label."
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="top-3-accuracy, set-accuracy@2, overlap@3, average-overlap@3, accuracy, balanced-accuracy, precision, recall, "
            "f1 (f1-weighted, f1-micro), kappa, mcc, log-loss, brier, auc, calibration-error, kendall-tau, footrule, rbo, "
            "ndcg@3; for comparisons concordance. Repeat the option for several."
        ),
    ] = None,
    by: Annotated[
        Path | None,
        typer.Option(help="Groups to score separately. Table: category, group; or item, group."),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Compare classifiers pairwise: difference, probability."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File for all numbers: metrics.csv or metrics.json.")
    ] = None,
    threshold: Thresholds = None,
    column: Columns = None,
    seed: Seed = 1,
) -> None:
    """Score predictions against a posterior, with intervals."""
    from .scoring import Asked, score_file

    asked = Asked(metric or (), by, compare, out, threshold or ())
    score_file(posterior, predictions, asked, column or [], seed)


app.command()(plainly(equivalence))


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
    rater_attribute: RaterAttributes = None,
    bounds: Bounds = None,
) -> None:
    """Check a table: print a summary, or its first error."""
    from .checking import check_table

    known = {"rater_attributes": rater_attribute or [], "bounds": bounds}
    check_table(annotations, kind, column or [], layout, **known)


@data.command("list")
@plainly
def list_data() -> None:
    """List the data sets that can be downloaded."""
    from .fetching import list_datasets

    list_datasets()


@data.command()
@plainly
def fetch(
    name: str, out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path()
) -> None:
    """Download a data set from its public source, check it, and convert it to tables."""
    from .fetching import fetch_dataset

    fetch_dataset(name, out)
