"""Commands `report` and `fit`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
)

if TYPE_CHECKING:
    from .settings import Settings

__all__ = ["fit", "report"]

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
    from .settings import Settings

    options = {name: given[name] for name in OF_MODELS if name in given}
    sampler = {name: given[name] for name in ("draws", "chains", "seed", "layout")}
    return Settings.of(given["kind"], given["model"], options, **sampler)


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
    from .reporting import make_report
    from .study import Sources

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
        from .dividing import fit_divided

        return fit_divided(annotations, column or [], settings, output, (workers, scheduler))
    from .fitting import fit_to_file

    fit_to_file(annotations, column or [], settings, output)
