"""Commands that fit: settings to posterior, posterior to file."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pymc as pm
import xarray as xr

from .. import inference, models
from ..inference.methods import route_of
from ..inference.storage.posterior_files import stored, write_posterior
from ..models.data.connectivity import components_in_words, connected_components
from ..models.data.scores import Scores
from ..reports.study import RankingsOrLabels, Settings
from .tables import check_attributes, read_annotations, read_columns
from .terminal import say, working


def read_scores_table(
    path: Path,
    columns: Sequence[str],
    *,
    layout: str = "long",
    bounds: tuple[float, float] | None = None,
    rater_attributes: Sequence[str] = (),
) -> Scores:
    """Read scores from a table with columns item, score and, optionally, rater and count.

    Layout "counts" has one column per score, with its frequency, beside item. Ids are text. Without a column
    of raters the scores are anonymous. `bounds` are the lowest and highest possible score; `rater_attributes`
    names columns with attributes of the raters.
    """
    if layout == "wide":
        raise ValueError("--layout wide is a layout of labels; scores are long tables, or counts")
    frame, names = read_columns(path, columns)
    check_attributes(path, names, rater_attributes, layout)
    if layout == "counts":
        return Scores.from_counts(frame, bounds=bounds)
    further: dict[str, Any] = {"count": "count"} if "count" in names else {}
    if not {"rater", "worker"} & set(names):  # worker: crowd-kit
        further["rater"] = None
    return Scores.from_table(frame, bounds=bounds, rater_attributes=rater_attributes, **further)


def read_scale(path: Path, columns: Sequence[str], settings: Settings) -> Scores:
    """Read the scores of a fit; raise also if a threshold has all scores on one side."""
    scores = read_scores_table(
        path,
        columns,
        layout=settings.layout,
        bounds=settings.bounds,
        rater_attributes=settings.rater_attributes,
    )
    what, ends = "the bounds of the scores", scores.bounds
    if ends is None and len(scores):
        what, ends = "the scores", (float(scores.score.min()), float(scores.score.max()))
    for threshold in settings.thresholds:
        # no score can exceed the upper bound, but future ones can exceed the highest observed
        at_end = scores.bounds is not None and threshold == scores.bounds[1]
        if ends is not None and (at_end or not ends[0] <= threshold <= ends[1]):
            raise ValueError(
                f"--threshold {threshold:g} lies outside {what}, {ends[0]:g} to {ends[1]:g}: all items would be on one side; "
                "choose one within"
            )
    return settings.nameless(scores)


def draw_scale(scores: Scores, settings: Settings, store: Path | None = None) -> xr.DataTree:
    """Sample a model of scores; with `store` the draws are written while sampling."""
    model = getattr(models, settings.model)(scores, **(settings.priors or {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        return inference.sample(
            model, random_seed=settings.seed, draws=settings.draws, chains=settings.chains, **stored(store)
        )


# --- Comparisons: reading from files, building the model, sampling ---


def read_comparisons(
    path: Path, columns: Sequence[str], rater_attributes: Sequence[str] = ()
) -> models.Comparisons:
    """Read comparisons from a table: left, right, winner and, optionally, rater (or worker) and count.

    Ids are text. Without a column of raters the votes are anonymous. `rater_attributes` names columns with
    attributes of the raters.
    """
    frame, names = read_columns(path, columns)
    return models.Comparisons.from_table(
        frame,
        rater="rater" if {"rater", "worker"} & set(names) else None,  # worker: crowd-kit
        count="count" if "count" in names else None,
        rater_attributes=rater_attributes,
    )


def read_votes(path: Path, columns: Sequence[str], settings: Settings) -> models.Comparisons:
    """Read the comparisons of a fit: all of them, or those of the largest component."""
    if settings.layout != "long":
        raise ValueError(f"--layout {settings.layout} is a layout of labels; comparisons are long tables")
    votes = read_comparisons(path, columns, settings.rater_attributes)
    votes = settings.nameless(votes)
    if not settings.largest_component:
        return votes
    largest = votes.largest_component()
    if dropped := len(votes.items) - len(largest.items):
        say(f"--largest-component leaves out {dropped:,} of the {len(votes.items):,} items")
    return largest


def build_votes(votes: models.Comparisons, settings: Settings) -> pm.Model:
    """Build a model of comparisons; anonymous raters or a single one share one reliability."""
    priors = dict(settings.priors or {})
    if len(votes.raters) < 2:
        found = "of raters who are not told apart" if votes.anonymous else "of one rater"
        if priors.setdefault("reliability", "shared") != "shared":
            named = priors["reliability"].replace(" ", "-")
            raise ValueError(f"--raters {named}: the votes are {found}; say --raters shared")
        if "signed" in priors:
            raise ValueError(f"--signed: the votes are {found}; leave it out")
    component = connected_components(len(votes.items), votes.left, votes.right)
    if component.any():
        warnings.warn(
            f"no chain of comparisons joins the {component.max() + 1:,} components of the items: "
            f"{components_in_words(votes.items, component)}; the prior alone places them relative to each other. "
            "--largest-component keeps the largest",
            models.DataWarning,
            stacklevel=2,
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no chain of comparisons", models.DataWarning)
        return getattr(models, settings.model)(votes, **priors)


def draw_votes(
    model: pm.Model, settings: Settings, *, log_likelihood: bool = True, store: Path | None = None
) -> xr.DataTree:
    """Sample a model of comparisons; with `store` the draws are written while sampling."""
    own_bar = store is not None or route_of(model).method == "nuts"
    with warnings.catch_warnings(), nullcontext() if own_bar else working("Drawing from the posterior"):
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        return inference.sample(
            model,
            random_seed=settings.seed,
            draws=settings.draws,
            chains=settings.chains,
            log_likelihood=log_likelihood,
            **stored(store),
        )


# --- Commands that fit: settings to posterior, posterior to file ---


def build(annotations: RankingsOrLabels, settings: Settings, reliability: float) -> pm.Model:
    """Build the model of the settings with this reliability, if the model has one."""
    further: dict[str, Any] = dict(settings.priors or {})
    if settings.has_reliability:
        further["reliability"] = reliability
    if settings.model == "ordinal":
        further["order"] = annotations.categories  # as they were declared
    return getattr(models, settings.model)(annotations, **further)


def draw(
    annotations: RankingsOrLabels, settings: Settings, store: Path | None = None
) -> dict[float, xr.DataTree]:
    """Sample the posterior at every reliability of the settings; `store` needs a single one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        return inference.sweep(
            lambda reliability: build(annotations, settings, reliability),
            settings.reliabilities,
            random_seed=settings.seed,
            draws=settings.draws,
            chains=settings.chains,
            **stored(store),
        )


def fit_to_file(annotations: Path, columns: Sequence[str], settings: Settings, output: Path) -> None:
    """Sample, print the convergence verdict, and write the posterior to `output` (``.nc`` or ``.zarr``).

    A ``.zarr`` store is written while sampling, so that an interruption loses nothing.
    """
    if output.suffix not in (".nc", ".zarr"):
        raise ValueError(f"-o {output}: name a .nc or a .zarr file")
    store = output if output.suffix == ".zarr" and _writes_draws(settings.model) else None
    if settings.kind == "comparisons":
        votes = read_votes(annotations, columns, settings)
        tree = draw_votes(build_votes(votes, settings), settings, store=store)
    elif settings.kind == "scores":
        tree = draw_scale(read_scale(annotations, columns, settings), settings, store)
    else:
        data, _ = read_annotations(annotations, settings, columns)
        (tree,) = draw(data, settings, store).values()
    say(inference.diagnose(tree).attrs["verdict"])
    if store is None:
        write_posterior(tree, output)
    say(f"wrote {output}")


def _writes_draws(model: str) -> bool:
    """Return whether draws of a model can be written while sampling; for NUTS only with nutpie."""
    return models.catalog[model].methods[0] != "nuts" or find_spec("nutpie") is not None


def resume_fit(store: Path) -> None:
    """Resume an interrupted fit from its zarr store, and print the convergence verdict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # the verdict is printed
        tree = inference.resume(store)
    say(inference.diagnose(tree).attrs["verdict"])
    say(f"wrote {store}")


# --- Fits in shards of items, on several processes or the workers of dask ---

CONTAINERS = {"rankings": "PartialRankings", "labels": "Labels", "scores": "Scores"}

Helpers = tuple[int | None, str | None]

"""Number of processes or address of a dask scheduler; the other is None."""


def fit_divided(
    annotations: Path, columns: Sequence[str], settings: Settings, output: Path, helpers: Helpers
) -> None:
    """Sample on several processes or machines, and write draws to a ``.zarr`` store as they arrive.

    The same command continues an interrupted fit. The data must then be the same, and anonymised data are
    refused.
    """
    if output.suffix != ".zarr":
        raise ValueError(f"-o {output}: --workers and --scheduler write a .zarr store as draws come")
    if settings.kind == "comparisons":
        raise ValueError("--workers: comparisons join all items, and are drawn by one process")
    if settings.anonymize:
        container = CONTAINERS[settings.kind]
        raise ValueError(
            "--anonymize: every call draws a new random order of the raters, so no call could go on with an interrupted fit of "
            f"--workers or --scheduler. Write an anonymous table once, in Python by models.{container}.from_table(table)"
            ".to_table(anonymize='raters'), and fit that"
        )
    data: Any
    if settings.kind == "scores":
        data = read_scale(annotations, columns, settings)
        if settings.model == "normal_scores" and data.bounds is None:
            raise ValueError(
                "--workers: without bounds the prior of normal_scores depends on all scores; give --bounds, such as 1,10"
            )
    else:
        data, _ = read_annotations(annotations, settings, columns)
    output.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {
        "draws": settings.draws,
        "chains": settings.chains,
        "random_seed": settings.seed,
    }
    with _executor(helpers) as executor:
        if settings.model == "dawid_skene":
            inference.dawid_skene_gibbs(data, executor=executor, store=output, **options)
        else:
            inference.scatter(builder_of(settings), data, executor, store=output, **options)
    say(f"wrote {output}")


def builder_of(settings: Settings) -> partial[pm.Model]:
    """Return the builder of the model, as a callable that can be pickled for other processes."""
    if settings.kind == "scores":
        return partial(getattr(models, settings.model), **(settings.priors or {}))
    return partial(build, settings=settings, reliability=settings.reliabilities[0])


@contextmanager
def _executor(helpers: Helpers) -> Iterator[Any]:
    """Context manager: a number of processes, or a dask client."""
    workers, scheduler = helpers
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
