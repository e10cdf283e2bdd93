"""Commands and their options; the work and all slow imports are in the other modules."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from ..models._catalog import catalog
from .equivalence import equivalence
from .options import (
    FORMATS,
    Annotations,
    Anonymize,
    Bounds,
    Categories,
    CategoryOptions,
    CleaningOptions,
    Columns,
    DataOptions,
    DropMissing,
    EvaluationOptions,
    FeatureOptions,
    GroupOptions,
    JudgeOptions,
    Keep,
    KeepOption,
    Kind,
    KindOption,
    LargestComponent,
    Layout,
    LayoutOption,
    Levels,
    PanelledCommand,
    Prob,
    RaterAttributes,
    SamplerOptions,
    Seed,
    SharingOptions,
    SourceOption,
    Subtypes,
    Tags,
    Thresholds,
    VoteOptions,
    alike_in_words,
    bounds_of,
    check_limit,
    check_numbers_output,
    check_output,
    expand_options,
    settings_of,
    tags_of_text,
)
from .planning import plan
from .terminal import exit_on_input_error, print_text

if TYPE_CHECKING:
    from ..reports.settings import Settings


LINE = 80  # characters of a line of the list of models


def _settings(
    table: Path,
    columns: list[str],
    data: DataOptions,
    sampler: SamplerOptions,
    *groups: object,
    **options: Any,
) -> "Settings":
    """Validate the options of a fit of a table; `groups` are dataclasses of further ones."""
    from .tables import kind_of, model_without_raters

    for group in groups:
        options |= vars(group)
    layout, source = data.layout, data.source
    tagged = "labels" if options.get("tags") else None
    kind = data.kind or tagged or kind_of(table, columns, layout=layout, source=source, model=data.model)
    model = data.model or (None if tagged else model_without_raters(table, kind, columns, layout, source))
    more = {"layout": data.layout, "source": data.source, "drop_missing": data.drop_missing}
    settings = settings_of(kind, model, options, **more, **vars(sampler))
    return replace(settings, guessed=data.kind is None and data.model is None, by_default=data.model is None)


def _check_header(
    path: Path,
    settings: "Settings",
    columns: list[str],
    predictions: Path | None = None,
    others: Sequence[Path | None] = (),
) -> None:
    """Raise before any slow import if columns of the tables are missing, or one of the `others` cannot be read."""
    from ..models.data.reading.files import read_names
    from .exports import chosen_question
    from .tables import check_header, check_prediction_header

    if settings.anonymize:
        from .anonymity import refuse_annotations_among

        own = (settings.prior_predictions, settings.features, settings.categories)
        refuse_annotations_among((predictions, *own, *others), path, settings.source)
    if settings.features is not None:
        from .features import check_features

        check_features(settings.features)
    for table in filter(None, others):
        read_names(table)
    check_header(path, settings, columns)
    for table in (predictions, settings.prior_predictions):
        if table is not None:
            question = chosen_question(columns, settings.kind)
            check_prediction_header(table, settings.kind, question=question)


app = typer.Typer(
    help="Bayesian models of annotation: the posterior of the truth when raters disagree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    """Print the version, and end."""
    if wanted:
        print_text(f"raterzoo {__version__}")
        raise typer.Exit


@app.callback()
def whole(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Read what stands before a command."""


data_sets = typer.Typer(
    help="Example tables and public data sets.", no_args_is_help=True, rich_markup_mode=None
)

app.add_typer(data_sets, name="data")


def _check_metrics(names: list[str] | None) -> None:
    """Refuse names of no metric before all that takes seconds to import."""
    if names:
        from ..reports.metric_names import check_metrics

        check_metrics(names)


def _command(parent: typer.Typer = app, name: str | None = None) -> Callable[[Callable[..., None]], object]:
    """Decorate a function to be a command of the command line."""
    return lambda function: parent.command(name, cls=PanelledCommand)(
        exit_on_input_error(expand_options(function))
    )


@_command()
def demo(
    out: Annotated[Path, "Folder of the report.", "-o"] = Path("raterzoo-demo"),
    seed: Seed = 1,
    keep: KeepOption = None,
) -> None:
    """Fit seven published cases.

    Their accuracies are compared with those printed in the paper.
    """
    check_output("--out", out, folder=True)
    from .demo import demonstrate

    demonstrate(out, seed, keep)


@_command()
def report(
    annotations: Annotations,
    predictions: Annotated[
        Path | None,
        typer.Argument(
            help="Table: item, category, rank or score[, classifier]; for comparisons without category; for scores item and "
            "probability, score or label."
        ),
    ] = None,
    *,
    data: DataOptions,
    reliability: Annotated[
        str | None,
        "Trust in the raters: one or more with commas, the first reported in full; default 3 for rankings. 'effective': "
        "the rankings of an item count by their effective number.",
    ] = None,
    groups: Annotated[
        Path | None, "Table: category, group[, value], such as the risk; adds certainty and metrics by group."
    ] = None,
    metric: Annotated[
        list[str] | None, "As for `raterzoo evaluate`; classifiers are compared by the first."
    ] = None,
    out: Annotated[Path, "Folder of report.html, report.json, the tables and the posterior.", "-o"] = Path(
        "raterzoo-report"
    ),
    column: Columns = None,
    categories: CategoryOptions,
    votes: VoteOptions,
    groups_of: GroupOptions,
    featured: FeatureOptions,
    bounds: Bounds = None,
    threshold: Thresholds = None,
    keep: KeepOption = None,
    largest_component: LargestComponent = False,
    as_given: Annotated[
        bool, "Labels: count raters who copy each other, by the checks, as several, not as one."
    ] = False,
    cleaning: CleaningOptions,
    anonymize: Anonymize = False,
    sampler: SamplerOptions,
) -> None:
    """Fit a model, evaluate it, and write an HTML report."""
    check_output("--out", out, folder=True)
    _check_metrics(metric)
    own = {"reliability": reliability, "bounds": bounds, "threshold": threshold}
    own |= {"largest_component": largest_component, "anonymize": anonymize}
    settings = _settings(
        annotations, column or [], data, sampler, categories, votes, groups_of, featured, cleaning, **own
    )
    _check_header(annotations, settings, column or [], predictions, [groups])
    from ..reports.settings import Sources
    from .reporting import make_report

    sources = Sources(predictions, groups, metric or (), as_given)
    make_report(annotations, sources, column or [], settings, out, keep)


@_command()
def rank(
    votes: Annotated[
        Path, typer.Argument(help="Table: left, right, winner[, rater, count]; ties are votes.")
    ],
    *,
    model: Annotated[str | None, "bradley_terry, the default, or thurstone."] = None,
    out: Annotated[Path | None, "CSV file for the whole leaderboard, such as board.csv.", "-o"] = None,
    prob: Prob = 0.9,
    top: Annotated[int, "Number of items to show."] = 100,
    column: Columns = None,
    source: SourceOption = None,
    drop_missing: DropMissing = False,
    own: VoteOptions,
    sharing: SharingOptions,
    largest_component: LargestComponent = False,
    cleaning: CleaningOptions,
    anonymize: Anonymize = False,
    sampler: SamplerOptions,
) -> None:
    """Rank items by pairwise votes.

    The leaderboard has intervals and ties, followed by the reliability of the raters.
    """
    if out is not None:
        check_output("--out", out)
    data = DataOptions(Kind.comparisons, source=source, drop_missing=drop_missing, model=model)
    more = {"largest_component": largest_component, "anonymize": anonymize}
    settings = _settings(votes, column or [], data, sampler, own, sharing, cleaning, **more)
    _check_header(votes, settings, column or [])
    from .rank import rank_votes

    rank_votes(votes, column or [], settings, prob=prob, top=top, out=out)


def _refuse_beside_resume(context: typer.Context) -> None:
    """Raise if any other option is given with ``--resume``: the store has data, model and settings."""
    given = [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name not in ("resume", "strict") and _is_given(context, parameter.name)
    ]
    if given:
        raise ValueError(
            f"--resume continues a fit with its own data, model and settings: leave out {', '.join(given)}"
        )


def _is_given(context: typer.Context, name: str | None) -> bool:
    """Return whether a parameter is on the command line, even with its default value."""
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


@_command()
def fit(
    context: typer.Context,
    annotations: Annotated[Path | None, typer.Argument(help=f"Table: {FORMATS}.")] = None,
    output: Annotated[
        Path | None,
        "posterior.nc, written at the end, or posterior.zarr, written while sampling: an interrupted fit keeps its "
        "draws, and --resume continues it.",
        "-o",
    ] = None,
    resume: Annotated[
        Path | None,
        "posterior.zarr of an interrupted fit: draw the rest, with the same draws as without the interruption. Data, "
        "model and settings are read from it; give no other option.",
    ] = None,
    *,
    data: DataOptions,
    reliability: Annotated[str | None, "Trust in the raters, or 'effective'; default 3 for rankings."] = None,
    column: Columns = None,
    categories: CategoryOptions,
    votes: VoteOptions,
    groups_of: GroupOptions,
    featured: FeatureOptions,
    bounds: Bounds = None,
    largest_component: LargestComponent = False,
    cleaning: CleaningOptions,
    anonymize: Anonymize = False,
    sampler: SamplerOptions,
    workers: Annotated[
        int | None,
        "Number of processes that share the items of plackett_luce, prirn, dirichlet, normal_scores and dawid_skene; "
        "needs -o posterior.zarr. The same command, not --resume, continues an interrupted fit.",
    ] = None,
    scheduler: Annotated[
        str | None, "Address of a dask scheduler, such as tcp://10.0.0.1:8786, instead of processes."
    ] = None,
    keep: KeepOption = None,
    predictive: Annotated[
        bool,
        "Add annotations simulated by the model at 200 draws to the .nc file, in the group posterior_predictive.",
    ] = False,
    predictions: Annotated[
        Path | None,
        "For labels and rankings: table of predictions, whose classifiers become raters: item, category[, rank or "
        "score, classifier]. Metrics against a posterior of labels that has seen them are accuracy against the truth.",
    ] = None,
    strict: Annotated[
        bool,
        "Exit code 1 if the sampler has not converged. Without it the verdict is only printed; the posterior is written "
        "either way.",
    ] = False,
) -> None:
    """Sample the posterior of a model, and write it to a file."""
    if resume is not None:
        _refuse_beside_resume(context)
        from .fitting import resume_fit

        return _exit_unless(resume_fit(resume) or not strict)
    if annotations is None:
        raise ValueError("name a table of annotations, and -o posterior.nc or posterior.zarr")
    if output is None:
        raise ValueError("name the file of the posterior: -o posterior.nc or -o posterior.zarr")
    check_output("-o", output)
    own = {"reliability": reliability, "bounds": bounds}
    own |= {"largest_component": largest_component, "anonymize": anonymize}
    settings = _settings(
        annotations, column or [], data, sampler, categories, votes, groups_of, featured, cleaning, **own
    )
    if len(settings.reliabilities) > 1:
        raise ValueError("--reliability: fit takes one; `raterzoo report` takes several")
    divided = workers is not None or scheduler is not None
    if output.suffix == ".zarr" and keep not in (None, Keep.all) and not divided:
        raise ValueError(
            f"--keep {keep}: a .zarr store has all draws, written while sampling; name a .nc file, or draw by --workers"
        )
    if predictive:
        _check_predictive(settings, output, keep)
    if predictions is not None:
        _check_joint(settings, "--predictions")
    _check_header(annotations, settings, column or [], predictions)
    tables = annotations, predictions
    if divided:
        if strict:
            raise ValueError("--strict: with --workers and --scheduler no verdict is given; leave it out")
        from .fitting import fit_divided

        own = {"workers": workers, "scheduler": scheduler, "keep": keep}
        return fit_divided(tables, column or [], settings, output, **own)
    from .fitting import fit_to_file

    _exit_unless(
        fit_to_file(tables, column or [], settings, output, keep, predictive=predictive) or not strict
    )


def _exit_unless(fine: bool) -> None:
    """End with exit code 1 where numbers are not to be relied on."""
    if not fine:
        raise typer.Exit(1)


def _check_joint(settings: "Settings", argument: str) -> None:
    """Raise ValueError where classifiers cannot be raters of the model; `argument` names their table."""
    if settings.kind not in ("labels", "rankings"):
        raise ValueError(
            f"{argument}: classifiers are raters of labels or rankings, not of {settings.kind}; leave it out, and score them by "
            "raterzoo evaluate"
        )
    if catalog[settings.model].raters_alike:
        raise ValueError(f"{argument}: {alike_in_words(settings.model)}")


def _check_predictive(settings: "Settings", output: Path, keep: Keep | None) -> None:
    """Raise ValueError where `fit --predictive` could not simulate annotations, or not write them."""
    if output.suffix == ".zarr":
        raise ValueError(
            "--predictive: a .zarr store holds no simulated annotations; name a .nc file, or draw them in Python by "
            "inference.predict(tree, model)"
        )
    if keep == Keep.summary:
        raise ValueError(
            "--keep summary: leaves out the draws, and --predictive adds some; leave one of them out"
        )
    if settings.kind == "rankings":
        raise ValueError(
            "--predictive: rankings are simulated in Python only, from models.plackett_luce(rankings, candidates='all'); "
            "raterzoo report checks the fit of rankings without it"
        )


@_command()
def evaluate(
    posterior: Annotated[Path, typer.Argument(help="File written by `raterzoo fit`.")],
    predictions: Annotated[
        Path,
        typer.Argument(
            help="Table: item, category, rank or score[, classifier]; for scores item and probability, score or label."
        ),
    ],
    *,
    own: EvaluationOptions,
) -> None:
    """Score predictions against a posterior, with intervals.

    Against a posterior of the raters alone a metric is agreement with what they leave open, which understates a good classifier.
    """
    _check_metrics(own.metric)
    if own.out is not None:
        check_output("--out", own.out)
    from ..inference.storage.untrusted_files import check_posterior_path

    check_posterior_path(posterior)
    from .tables import check_prediction_header, has_categories

    if posterior.suffix in (".nc", ".zarr") and has_categories(posterior):
        check_prediction_header(predictions, "labels", own.column or [])
    from .evaluating import score_file

    score_file(posterior, predictions, own)


_command()(equivalence)
_command()(plan)


@_command()
def judge(
    answers: Annotated[
        Path, typer.Argument(help=f"Table of labels by people and judges, item, rater, label: {FORMATS}.")
    ],
    predictions: Annotated[
        Path, typer.Argument(help="Table: item, category[, rank or score, classifier], of all items.")
    ],
    *,
    asked: JudgeOptions,
    model: Annotated[
        str | None,
        "correlated_votes, the default, shared_guess, or another model of labels that tells raters apart.",
    ] = None,
    layout: LayoutOption = Layout.long,
    source: SourceOption = None,
    drop_missing: DropMissing = False,
    categories: Categories = None,
    subtypes: Subtypes = None,
    groups_of: GroupOptions,
    cleaning: CleaningOptions,
    sampler: SamplerOptions,
) -> None:
    """Say how good classifiers and judges are.

    One page: who is worth what, who shares errors with whom, how often each classifier is right, and what the judges add to
    people. Exit code 1 if the numbers are not to be relied on, or by --fail-below.
    """
    check_numbers_output(asked.out)
    check_limit(asked.fail_below)
    from ..reports.settings import UNKNOWN_KIND, people_of

    people, column = people_of(asked.people_column, "--people-column"), asked.column or []
    data = DataOptions(Kind.labels, layout, source, drop_missing, model)
    # without a column the attribute is made when the classifiers are added
    kind = (people or UNKNOWN_KIND)[0]
    own = {"categories": categories, "subtypes": subtypes, "rater_attribute": [kind]}
    own |= {"anonymize": asked.anonymize}
    settings = _settings(answers, column, data, sampler, groups_of, cleaning, **own)
    if people is None:
        read = tuple(
            name for name in settings.rater_attributes if name != kind or name in vars(groups_of).values()
        )
        settings = replace(settings, rater_attributes=read)
    _check_joint(settings, "PREDICTIONS")
    if catalog[settings.model].needs_order:
        raise ValueError(
            f"--model {settings.model}: it has no confusion matrices, by which people, judges and classifiers are compared; say "
            "--model dawid_skene"
        )
    _check_header(answers, settings, column, predictions, [asked.sample, asked.compare_to])
    from .judging import judge_files

    judge_files((answers, predictions), column, settings, asked, people)


@_command()
def results(
    posterior: Annotated[Path, typer.Argument(help="File written by `raterzoo fit`.")],
    output: Annotated[
        Path,
        "results.jsonl, one line for each item: id, label and certainty; of scores id, score and its interval; of "
        "comparisons a leaderboard. results.csv, a table for R or a spreadsheet, with the probability of each category.",
        "-o",
    ],
    export: Annotated[
        Path | None,
        "JSON export of Label Studio: write predictions of its tasks instead, as /api/projects/ID/import/predictions "
        "takes them.",
    ] = None,
    question: Annotated[
        str | None, "With --export: the control of the predictions, if there are several."
    ] = None,
) -> None:
    """Write the result of each item by its id, for other tools."""
    check_output("-o", output)
    from .exports import write_results_of

    write_results_of(posterior, output, export, question)


@_command()
def models(
    name: Annotated[str | None, typer.Argument(help="A model, to say all that is known of it.")] = None,
) -> None:
    """List the models, a line each, or describe one."""
    if name is None:
        for kind in dict.fromkeys(own.data for own in catalog.values()):
            print_text(f"{kind}:")
            of_kind = [own for own in catalog.values() if own.data == kind]
            width = max(len(own.name) for own in of_kind)
            for own in of_kind:
                clause = re.split(r"[,:;(]", own.summary)[0]
                print_text(f"  {own.name:<{width}}  {shorten(clause, LINE - width - 4, placeholder=' ...')}")
        print_text("`raterzoo models NAME` says more of one.")
        return
    if name not in catalog:
        raise ValueError(f"{name}: there is no such model; `raterzoo models` lists them")
    own = catalog[name]
    print_text(f"{own.name} ({own.data}): {own.summary}.")
    print_text(f"Drawn by {', '.join(own.methods)}. {own.reference}")


@_command()
def check(
    annotations: Annotations,
    kind: KindOption = None,
    layout: LayoutOption = Layout.long,
    source: SourceOption = None,
    column: Columns = None,
    rater_attribute: RaterAttributes = None,
    categories: Categories = None,
    tags: Tags = None,
    bounds: Bounds = None,
    levels: Levels = None,
    drop_missing: DropMissing = False,
    *,
    cleaning: CleaningOptions,
    anonymize: Anonymize = False,
) -> None:
    """Check a table: print a summary, or its first error."""
    from ..reports.settings import Settings
    from .anonymity import refuse_annotations_among
    from .tables import check_table, kind_of

    found = (
        kind
        or ("labels" if tags else None)
        or kind_of(annotations, column or [], layout=layout, source=source, model=None)
    )
    if anonymize:
        refuse_annotations_among([categories], annotations, source)
    read = {"layout": layout, "source": source, "missing": "drop" if drop_missing else "error"}
    read |= {"rater_attributes": rater_attribute or (), "bounds": bounds_of(bounds), "anonymize": anonymize}
    read |= {"categories": categories, "tags": tags_of_text(tags), "levels": levels}
    settings = Settings(found, "", (1.0,), 0, 0, 0, **vars(cleaning), **read)
    print_text(check_table(annotations, settings, column or []))


@_command(data_sets, "list")
def list_data() -> None:
    """List the data sets."""
    from .data_sets import list_datasets

    list_datasets()


@_command(data_sets)
def copy(
    name: Annotated[str, typer.Argument(help="examples: tables to try; skill: what an agent should read.")],
    folder: Annotated[Path | None, typer.Argument(help="Folder to copy to; by default NAME.")] = None,
) -> None:
    """Copy example tables, or the skill for agents; no other file is overwritten."""
    from .data_sets import copy_folder

    folder = folder or Path(name)
    check_output("FOLDER", folder, folder=True)
    copy_folder(name, folder)


@_command(data_sets)
def fetch(name: str, out: Annotated[Path, "Folder to write to.", "-o"] = Path()) -> None:
    """Download a data set from its public source, check it, and convert it to tables."""
    from .data_sets import fetch_dataset

    fetch_dataset(name, out)
