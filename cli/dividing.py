"""Fits in shards of items, on several processes or the workers of dask."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pymc as pm

from .. import inference, models
from .fitting import build
from .reading import read_annotations
from .scales import read_scale
from .screen import say
from .settings import Settings

__all__ = ["Helpers", "fit_divided"]

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
        raise ValueError(
            f"-o {output}: --workers and --scheduler write a .zarr store as draws come"
        )
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
        data = read_annotations(annotations, settings, columns)
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
        return partial(getattr(models, settings.model), **settings.priors)
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
        raise ValueError(
            f"--scheduler {scheduler}: no scheduler answers there ({problem})"
        ) from problem
    with client:
        yield client
