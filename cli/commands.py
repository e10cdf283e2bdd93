"""Commands and their options; the work and all slow imports are in the other modules."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .equivalence import equivalence
from .options import (
    Annotations,
    Anonymize,
    Bounds,
    Categories,
    Chains,
    Columns,
    Concentration,
    Draws,
    Group,
    Kind,
    KindOption,
    LargestComponent,
    Layout,
    LayoutOption,
    LeftBias,
    Model,
    Prob,
    RaterAttributes,
    Raters,
    Scheduler,
    Seed,
    Signed,
    Thresholds,
    Ties,
    TieWeight,
    Unranked,
    Workers,
    bounds_of,
)
from .terminal import plainly, say, show

if TYPE_CHECKING:
    from ..reports.study import Settings


OF_MODELS = (
    "reliability",
    "concentration",
    "unranked",
    "tie_weight",
    "categories",
    "ties",
    "left_bias",
    "signed",
    "raters",
    "rater_attribute",
    "largest_component",
    "group",
    "bounds",
    "threshold",
    "anonymize",
)


def _settings(given: Mapping[str, Any]) -> "Settings":
    """Return the settings, from all arguments of a command."""
    from .options import settings_of

    options = {name: given[name] for name in OF_MODELS if name in given}
    sampler = {name: given[name] for name in ("draws", "chains", "seed", "layout")}
    return settings_of(given["kind"], given["model"], options, **sampler)


def report(
    annotations: Annotations,
    predictions: Annotated[
        Path | None,
        typer.Argument(
            help="Table: item, category, rank or score[, classifier]; for comparisons without category; for scores item and "
            "probability, score or label."
        ),
    ] = None,
    kind: KindOption = Kind.rankings,
    layout: LayoutOption = Layout.long,
    model: Model = None,
    reliability: Annotated[
        str | None,
        typer.Option(
            help="Trust in the raters: one or more with commas, the first reported in full; default 3 for rankings."
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            help="Table: category, group[, value], such as the risk; adds certainty and metrics by group."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="As for `raterzoo evaluate`; classifiers are compared by the first."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of report.html, report.json, the tables and the posterior.")
    ] = Path("raterzoo-report"),
    column: Columns = None,
    categories: Categories = None,
    concentration: Concentration = None,
    unranked: Unranked = None,
    tie_weight: TieWeight = None,
    ties: Ties = None,
    left_bias: LeftBias = False,
    signed: Signed = False,
    raters: Raters = None,
    rater_attribute: RaterAttributes = None,
    group: Group = None,
    bounds: Bounds = None,
    threshold: Thresholds = None,
    largest_component: LargestComponent = False,
    anonymize: Anonymize = False,
    draws: Draws = 1000,
    chains: Chains = 4,
    seed: Seed = 1,
) -> None:
    """Fit a model, evaluate it, and write an HTML report."""
    settings = _settings(locals())
    from ..reports.study import Sources
    from .reporting import make_report

    sources = Sources(predictions, groups, metric or ())
    make_report(annotations, sources, column or [], settings, out)


def _refuse_beside_resume(context: typer.Context) -> None:
    """Raise if any other option is given with ``--resume``: the store has data, model and settings."""
    given = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name != "resume" and _is_given(context, parameter.name)
    ]
    if given:
        raise ValueError(
            f"--resume continues a fit with its own data, model and settings: leave out {', '.join(given)}"
        )


def _is_given(context: typer.Context, name: str | None) -> bool:
    """Return whether a parameter is on the command line, even with its default value."""
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def fit(
    context: typer.Context,
    annotations: Annotated[
        Path | None, typer.Argument(help="Table: CSV, TSV, Parquet or JSON lines.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="posterior.nc, written at the end, or posterior.zarr, written while sampling: an interrupted fit keeps its "
            "draws, and --resume continues it.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            help="posterior.zarr of an interrupted fit: draw the rest, with the same draws as without the interruption. Data, "
            "model and settings are read from it; give no other option.",
        ),
    ] = None,
    kind: KindOption = Kind.rankings,
    layout: LayoutOption = Layout.long,
    model: Model = None,
    reliability: Annotated[
        str | None, typer.Option(help="Trust in the raters; default 3 for rankings.")
    ] = None,
    column: Columns = None,
    categories: Categories = None,
    concentration: Concentration = None,
    unranked: Unranked = None,
    tie_weight: TieWeight = None,
    ties: Ties = None,
    left_bias: LeftBias = False,
    signed: Signed = False,
    raters: Raters = None,
    rater_attribute: RaterAttributes = None,
    group: Group = None,
    bounds: Bounds = None,
    largest_component: LargestComponent = False,
    anonymize: Anonymize = False,
    draws: Draws = 1000,
    chains: Chains = 4,
    seed: Seed = 1,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Sample the posterior of a model, and write it to a file."""
    given = locals()
    if resume is not None:
        _refuse_beside_resume(context)
        from .fitting import resume_fit

        return resume_fit(resume)
    if annotations is None or output is None:
        raise ValueError("name a table of annotations, and -o posterior.nc or posterior.zarr")
    settings = _settings(given)
    if len(settings.reliabilities) > 1:
        raise ValueError("--reliability: fit takes one; `raterzoo report` takes several")
    if workers is not None or scheduler is not None:
        from .fitting import fit_divided

        return fit_divided(annotations, column or [], settings, output, (workers, scheduler))
    from .fitting import fit_to_file

    fit_to_file(annotations, column or [], settings, output)


# --- Command `check`: summary of a table, or its first error ---


def check_table(
    path: Path,
    kind: str,
    columns: Sequence[str],
    layout: str,
    *,
    rater_attributes: Sequence[str] = (),
    bounds: str | None = None,
) -> None:
    """Read a table and print a summary."""
    from .fitting import read_comparisons, read_scores_table
    from .tables import read_container

    if bounds is not None and kind != "scores":
        raise ValueError(f"--bounds is an option of scores, not of {kind}")
    if kind == "comparisons":
        if layout != "long":
            raise ValueError(f"--layout {layout} is a layout of labels; comparisons are long tables")
        say(read_comparisons(path, columns, rater_attributes).report())
        return
    known: dict[str, Any] = {"layout": layout, "rater_attributes": rater_attributes}
    if kind == "scores":
        say(read_scores_table(path, columns, bounds=bounds_of(bounds), **known).report())
        return
    if rater_attributes and kind == "rankings":
        raise ValueError("--rater-attribute is an option of labels, scores and comparisons")
    say(read_container(path, kind, columns, **known).report())


# --- Catalog of the models, printed ---


def list_models() -> None:
    """Print every model with its data, samplers and reference."""
    from ..models import catalog

    show(
        [
            {
                "model": e.name,
                "data": e.data,
                "drawn by": ", ".join(e.methods),
                "what it is": e.summary,
                "reference": e.reference,
            }
            for e in catalog.values()
        ]
    )


# --- Commands and their options; the work and all slow imports are in the other modules ---

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
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("raterzoo-demo"), seed: Seed = 1
) -> None:
    """Fit seven published cases.

    Their accuracies are compared with those printed in the paper.
    """
    from .demo import demonstrate

    demonstrate(out, seed)


app.command()(plainly(report))


@app.command()
@plainly
def rank(
    votes: Annotated[
        Path, typer.Argument(help="Table: left, right, winner[, rater, count]; ties are votes.")
    ],
    model: Annotated[str | None, typer.Option(help="bradley_terry, the default, or thurstone.")] = None,
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
    from .options import settings_of
    from .rank import rank_votes

    options = {
        "ties": ties,
        "left_bias": left_bias,
        "signed": signed,
        "raters": raters,
        "rater_attribute": rater_attribute,
        "largest_component": largest_component,
    }
    settings = settings_of(Kind.comparisons, model, options, draws=draws, chains=chains, seed=seed)
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
        Path | None, typer.Option(help="Groups to score separately. Table: category, group; or item, group.")
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare classifiers pairwise: difference, probability.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File for all numbers: metrics.csv or metrics.json.")
    ] = None,
    threshold: Thresholds = None,
    column: Columns = None,
    seed: Seed = 1,
) -> None:
    """Score predictions against a posterior, with intervals."""
    from .evaluating import Asked, score_file

    asked = Asked(metric or (), by, compare, out, threshold or ())
    score_file(posterior, predictions, asked, column or [], seed)


app.command()(plainly(equivalence))


@app.command()
@plainly
def models() -> None:
    """List the models."""
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
    known = {"rater_attributes": rater_attribute or [], "bounds": bounds}
    check_table(annotations, kind, column or [], layout, **known)


@data.command("list")
@plainly
def list_data() -> None:
    """List the data sets that can be downloaded."""
    from .data_sets import list_datasets

    list_datasets()


@data.command()
@plainly
def fetch(name: str, out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path()) -> None:
    """Download a data set from its public source, check it, and convert it to tables."""
    from .data_sets import fetch_dataset

    fetch_dataset(name, out)
