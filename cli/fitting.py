"""Commands that fit: settings to posterior, posterior to file."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pymc as pm
import xarray as xr

from .. import inference, models
from .._messages import quotes_hidden
from ..evaluation.certainty.scale_ends import scale_ends
from ..inference.rater_priors import read_rater_prior
from ..inference.storage.interruptions import adviser
from ..inference.storage.permissions import private_files, private_stores
from ..inference.storage.posterior_files import left_by_fit, left_by_writing, stored
from ..models._catalog import annotation_kinds
from ..models.data.comparisons import components_in_words, connected_components
from ..models.data.errors import DataError
from ..models.data.reading.predicted_labels import refused_predictions
from ..posterior.matching import with_complement
from ..posterior.ordered import ordered_categories
from ..reports.analyses.drawing import draw as draw_until_converged
from ..reports.posterior_files import kept_posterior
from ..reports.sections.fit import strength_in_words
from ..reports.sections.scores import misfit_in_words
from ..reports.study import Settings
from .anonymity import may_show
from .exports import chosen_question
from .features import features_named, features_of
from .prior_predictions import PRIOR, prior_tables, read_prior_predictions
from .tables import classifiers_of, read_annotations, read_predictions, read_votes
from .terminal import on_command_line, print_note, print_text

DRAWS = 1000  # of each chain by default


def build(
    data: Any, settings: Settings, reliability: float, tables: Mapping[str, Any] | None = None
) -> pm.Model:
    """Build the model of the settings with this reliability, if the model has one; `tables` are arguments that were read."""
    arguments: dict[str, Any] = {**(settings.priors or {}), **(tables or {})}
    if settings.has_reliability:
        arguments["reliability"] = reliability
    if models.catalog[settings.model].needs_order:
        declared = settings.categories is not None
        order = data.categories if declared else ordered_categories(data.categories)
        if order is None:
            raise ValueError(
                f"--model {settings.model}: say the order of the categories, from lowest to highest: --categories "
                "low,middle,high, or a text file with one a line"
            )
        arguments["order"] = order
    if settings.kind == "comparisons":
        _prepare_votes(data, arguments)
    if settings.kind == "labels" and "raters" in arguments:
        arguments["raters"] = _known_raters(arguments["raters"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no chain of comparisons", models.DataWarning)
        with _options_named(), _cells_hidden(settings, data) as shown:
            if settings.features is not None:
                arguments["features"] = features_of(settings.features, data.items)
                shown.update(arguments["features"])  # names of columns, which are written with the posterior
            with features_named(settings.features):
                return getattr(models, settings.model)(data, **arguments)


def _known_raters(path: str) -> xr.Dataset:
    """Read a prior of raters with ids as text, as those of all annotations on the command line are."""
    try:
        prior = read_rater_prior(path)
    except ValueError as problem:
        raise ValueError(f"--raters {problem}") from problem
    return prior.assign_coords({name: own.to_numpy().astype(str) for name, own in prior.coords.items()})


@contextmanager
def _cells_hidden(settings: Settings, data: Any) -> Iterator[set[str]]:
    """Context manager: with ``--anonymize`` messages about features quote items and the yielded texts, no other cells."""
    shown: set[str] = {*map(str, data.items.tolist())}
    if settings.features is None or not settings.anonymize:
        yield shown
        return
    of_roles = may_show((), "long")
    with quotes_hidden(lambda text: text in shown or of_roles(text)):
        yield shown


@contextmanager
def _options_named() -> Iterator[None]:
    """Context manager: an error about an argument that was read from a table names its option."""
    try:
        yield
    except DataError as error:
        options = {"vote_covariates": "--vote-covariate", PRIOR: "--prior-predictions", "raters": "--raters"}
        for argument, option in options.items():
            error.where = error.where.replace(f"argument {argument}", option)
        error.remedy = on_command_line(error.remedy)
        raise


def _prepare_votes(votes: models.Comparisons, arguments: dict[str, Any]) -> None:
    """Let anonymous raters, or a single one, share one reliability; warn of items that are not connected."""
    if len(votes.raters) < 2:
        found = "of raters who are not told apart" if votes.anonymous else "of one rater"
        if arguments.setdefault("reliability", "shared") != "shared":
            named = arguments["reliability"].replace(" ", "-")
            raise ValueError(f"--raters {named}: the votes are {found}; say --raters shared")
        if "signed" in arguments:
            raise ValueError(f"--signed: the votes are {found}; leave it out")
        if arguments.get("left_side") == "rater":
            raise ValueError(f"--left-side rater: the votes are {found}; say --left-side shared")
    component = connected_components(len(votes.items), votes.left, votes.right)
    if component.any():
        warnings.warn(
            f"no chain of comparisons joins the {component.max() + 1:,} components of the items: "
            f"{components_in_words(votes.items, component)}; the prior alone places them relative to each other. "
            "--largest-component keeps the largest",
            models.DataWarning,
            stacklevel=3,
        )


def draw(
    build_at: Callable[[float], pm.Model],
    settings: Settings,
    *,
    log_likelihood: bool = True,
    store: Path | None = None,
    predictive: bool = False,
    keep: str | None = None,
) -> dict[float, xr.DataTree]:
    """Sample the posterior of a model at every reliability; go on until draws agree unless their number is asked for.

    With `store` the draws are written while sampling; the reliability must then be a single one. `keep` is what is kept of
    the draws.
    """
    sampler: Any = draw_until_converged if settings.draws == DRAWS and store is None else inference.sample
    trees = {}
    for reliability in settings.reliabilities:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
            trees[reliability] = sampler(
                build_at(reliability),
                random_seed=settings.seed,
                draws=settings.draws,
                chains=settings.chains,
                log_likelihood=log_likelihood,
                predictive=predictive,
                keep=None if keep is None else str(keep),
                **stored(store),
            )
    if settings.guessed:
        print_note(f"the table was read as {settings.kind}, by its columns; --kind takes another")
    return trees


def _read(
    tables: tuple[Path, Path | None], columns: Sequence[str], settings: Settings
) -> tuple[Any, dict[str, Any]]:
    """Read the annotations and, as further raters, the predictions if there are any; return also tables for the builder."""
    annotations, predictions = tables
    if settings.kind == "comparisons":
        return read_votes(annotations, settings, columns)
    if predictions is None:
        prior = read_prior_predictions(settings)
        data = read_annotations(annotations, settings, columns, prior).data
        return data, prior_tables(data, prior, settings)
    question = chosen_question(columns, settings.kind)
    predicted = read_predictions(predictions, [], missing=settings.missing, question=question)
    alone, _, also_raters = read_annotations(annotations, settings, columns, predicted)
    if settings.kind == "labels":
        predicted = with_complement(predicted, alone.categories)
    joint = with_classifiers(alone, predicted, predictions, also_raters)
    expected = len(alone.items) * (len(joint.raters) - len(alone.raters))
    if lacking := expected - (len(joint) - len(alone)):
        print_note(
            f"{predictions}: missing predictions: {lacking:,}; raterzoo evaluate scores classifiers with one for every item"
        )
    if settings.features is not None:
        print_note(
            "--features with --predictions: the errors of classifiers that have seen these features, or others like them, follow "
            "them, and pass for the truth: such classifiers look nearly perfect. Leave --features out unless they have not"
        )
    return joint, {}


def with_classifiers[Data: (models.Labels, models.PartialRankings)](
    data: Data, predicted: xr.DataArray, path: Path, also_raters: Sequence[str] = ()
) -> Data:
    """Return annotations with the classifiers of a file as further raters; `also_raters` as in `predictions_named`."""
    with predictions_named(path, predicted, also_raters):
        return data.with_predictions(predicted)


@contextmanager
def predictions_named(path: Path, predicted: xr.DataArray, also_raters: Sequence[str] = ()) -> Iterator[None]:
    """Context manager: an error about predictions as answers names their file, and options.

    `also_raters` are classifiers known to have the name of a rater, whose names were replaced; such predictions are refused.
    """
    try:
        if twice := [name for name in also_raters if name in classifiers_of(predicted)]:
            raise refused_predictions(
                f"{twice[0]!r} is a rater of these annotations already, and a classifier counts once",
                remedy="leave out its predictions, or its answers, or give another classifier another name",
            )
        yield
    except DataError as error:
        error.remedy = on_command_line(error.remedy)
        error.where = path.name
        raise


def fit_to_file(
    tables: tuple[Path, Path | None],
    columns: Sequence[str],
    settings: Settings,
    output: Path,
    keep: str | None = None,
    *,
    predictive: bool = False,
) -> bool:
    """Sample, print the convergence verdict, and write the posterior to `output` (``.nc`` or ``.zarr``).

    Returns whether the sampler has converged.

    `tables` are the annotations and perhaps predictions, whose classifiers become raters. A ``.zarr`` store is
    written while sampling, so that an interruption loses nothing. `keep` is the part that
    is drawn into memory, and written to a ``.nc`` file, `predictive` whether annotations are simulated too.
    """
    if output.suffix not in (".nc", ".zarr"):
        raise ValueError(f"-o {output}: name a .nc or a .zarr file")
    store = output if output.suffix == ".zarr" else None
    ours = None if output.exists() else store  # or else it is refused
    with adviser(lambda: left_by_fit(ours)):
        data, further = _read(tables, columns, settings)
        with private_stores(settings.anonymize):
            builder = partial(build, data, settings, tables=further)
            (tree,) = draw(builder, settings, store=store, predictive=predictive, keep=keep).values()
        verdict = inference.diagnose(tree).attrs
        print_text(verdict["verdict"])
        if said := strength_in_words(tree):
            print_text(said)
        drawn = "posterior" in tree.children and "location" in tree["posterior"]
        if settings.kind == "scores" and drawn and (misfit := misfit_in_words(scale_ends(tree))):
            print_text(misfit)
        if output.suffix == ".nc":
            _write(tree, output, keep, private=settings.anonymize)
        else:
            print_text(f"wrote {output}")
    return bool(verdict["converged"])


def _write(tree: xr.DataTree, output: Path, keep: str | None, *, private: bool) -> None:
    """Write the part of a posterior that is kept to a ``.nc`` file."""
    kept = kept_posterior(tree, keep)
    if kept.is_large or keep is not None:
        print_text(kept.in_words(output))
    with adviser(lambda: left_by_writing(output)), private_files(private, output):
        kept.write(tree, output)
        print_text(f"wrote {output}")


def resume_fit(store: Path) -> bool:
    """Resume an interrupted fit from its zarr store, and print the convergence verdict; return whether it has converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        with adviser(lambda: left_by_fit(store)):
            tree = inference.resume(store)
            verdict = inference.diagnose(tree).attrs
            print_text(verdict["verdict"])
            print_text(f"wrote {store}")
    return bool(verdict["converged"])


# --- Fits in shards of items, on several processes or the workers of dask ---


def fit_divided(
    tables: tuple[Path, Path | None],
    columns: Sequence[str],
    settings: Settings,
    output: Path,
    *,
    workers: int | None,
    scheduler: str | None,
    keep: str | None = None,
) -> None:
    """Sample on several processes or machines, and write draws to a ``.zarr`` store as they arrive.

    The same command continues an interrupted fit. The data must then be the same, and anonymised data are
    refused. `keep` is what the store keeps of the draws of each item.
    """
    if output.suffix != ".zarr":
        raise ValueError(f"-o {output}: --workers and --scheduler write a .zarr store as draws come")
    if settings.kind == "comparisons":
        raise ValueError("--workers: comparisons join all items, and are drawn by one process")
    entry = models.catalog[settings.model]
    divided = annotation_kinds[settings.kind].divided_model
    if divided and not (entry.independent_items or entry.distributed_sampler):
        alike = models.catalog[divided].raters_alike
        belief = "takes raters as alike" if alike else "believes that raters err independently"
        raise ValueError(
            f"--workers: {settings.model} is drawn by one process; --model {divided} is divided, but {belief}"
        )
    if settings.prior_predictions is not None:
        raise ValueError(
            "--prior-predictions: their strength joins all items, which one process draws; leave --workers and --scheduler out"
        )
    if settings.features is not None:
        raise ValueError(
            "--features: their coefficients join all items, which one process draws; leave --workers and --scheduler out"
        )
    if settings.anonymize:
        container = annotation_kinds[settings.kind].container
        raise ValueError(
            "--anonymize: every call draws a new random order of the raters, so no call could go on with an interrupted fit of "
            f"--workers or --scheduler. Write an anonymous table once, in Python by models.{container}.from_table(table)"
            ".to_table(anonymize='raters'), and fit that"
        )
    data, _ = _read(tables, columns, settings)
    if settings.kind == "scores" and data.bounds is None:
        raise ValueError(
            f"--workers: without bounds the prior of {settings.model} depends on all scores; give --bounds, such as 1,10"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {
        "draws": settings.draws,
        "chains": settings.chains,
        "random_seed": settings.seed,
    }
    with _executor(workers, scheduler) as executor:
        if own := entry.distributed_sampler:
            if keep not in (None, "all"):
                raise ValueError(
                    f"--keep {keep}: the store of {settings.model} on several workers has all draws; leave --workers out, and "
                    "one process keeps what is asked for"
                )
            getattr(inference, own)(data, executor=executor, store=output, **options)
        else:
            builder = partial(build, settings=settings, reliability=settings.reliabilities[0])
            kept: Any = None if keep is None else str(keep)
            inference.scatter(builder, data, executor, store=output, keep=kept, **options)
    print_text(f"wrote {output}")


@contextmanager
def _executor(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Context manager: a number of processes, or a dask client."""
    if workers is not None and scheduler is not None:
        raise ValueError("--workers and --scheduler: give one of them")
    if scheduler is None:
        if workers is not None and workers < 1:
            raise ValueError(f"--workers {workers}: expected a whole number from 1")
        yield workers
        return
    if find_spec("distributed") is None:
        raise ValueError("--scheduler needs dask: install raterzoo[distributed]")
    from distributed import Client

    try:
        client = Client(scheduler, timeout="10s")
    except (OSError, ValueError) as problem:
        raise ValueError(f"--scheduler {scheduler}: no scheduler answers there ({problem})") from problem
    with client:
        yield client
