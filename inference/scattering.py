"""Sampling of many items on many workers: shards of items, drawn in parallel and written to one store.

Items are independent given the data and the hyperparameters, and each has its own random streams, derived
from the seed and its id. Therefore the draws do not depend on workers or shards, and equal those of `sample`
on all items.
"""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import xarray as xr
from rich.progress import Progress

from .interruptions import cleaned_up
from .shards.item_results import ItemResults
from .shards.item_tasks import sample_shard
from .shards.numbers import check_numbers
from .shards.slices import Annotations
from .shards.whole_items import Builder, WholeItems, check_sent
from .shards.workers import AnyExecutor, is_of_processes, workers_of
from .store_reading import read_draws

__all__ = ["scatter"]


def scatter(
    model_builder: Builder,
    data: Annotations,
    executor: AnyExecutor = None,
    *,
    store: str | Path,
    shard: int | None = None,
    draws: int = 1000,
    tune: int | None = None,
    chains: int = 4,
    random_seed: int | None = None,
    progressbar: bool = True,
    thin: int | Literal["pilot"] = "pilot",
    dtype: Literal["float32", "float64"] = "float32",
    log_likelihood: bool = True,
) -> xr.DataTree:
    """Draw from the posterior of many independent items on many workers.

    Parameters
    ----------
    model_builder : callable
        Builds the model of annotations, such as ``functools.partial(models.plackett_luce, reliability=3)``.
        Its items must be independent: `models.plackett_luce`, `prirn`, `dirichlet` or `normal_scores`, with
        all hyperparameters fixed. A deterministic of an item may depend on that item only.
    data : PartialRankings, Labels or Scores
        Annotations.
    executor : Executor, dask.distributed.Client or int, optional
        Where to work: any object with ``submit``, or a number of processes; by default one process per core.
        A dask worker needs raterzoo installed, and should have one thread.
    store : path
        Zarr store to which draws are written as they arrive. An interrupted call is resumed by repeating it,
        with any executor and shard size.
    shard : int, optional
        Number of items in a shard; by default as many as make some 50 MB of draws.
    draws, tune, chains, random_seed, thin, dtype, log_likelihood
        As for `sample`.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    DataTree
        The tree of `sample`, bit for bit but for the attributes; read from the store lazily.

    Raises
    ------
    ValueError
        If the items of the model are not independent, the builder cannot be pickled, or the store holds
        another run.
    RuntimeError
        If the workers of a shard die in every attempt; the message names the items, as do errors of a worker.
        Also if a script starts processes at import, not below ``if __name__ == "__main__":``.

    Warns
    -----
    ConvergenceWarning
        If the draws of a shard miss the thresholds of `diagnose`.
    ResumeWarning
        If the call resumes a run that was begun with other versions of packages.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from raterzoo import inference, models
    >>> labels = models.Labels.from_counts(pd.DataFrame({"item": ["a", "b"], "yes": [3, 1], "no": [0, 2]}))
    >>> options = {"draws": 200, "random_seed": 1, "progressbar": False}
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     tree = inference.scatter(models.dirichlet, labels, pool, store=f"{folder}/run.zarr", **options)
    ...     same = inference.sample(models.dirichlet(labels), **options)
    ...     print(tree["posterior"].equals(same["posterior"]))
    True
    """
    started, path = perf_counter(), Path(store)
    if is_of_processes(executor):
        check_sent(model_builder)
    check_numbers(draws=draws, tune=tune, chains=chains, random_seed=random_seed, shard=shard)
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is not one of 'float32', 'float64'")
    whole = WholeItems.of(model_builder, data, chains * draws, dtype)
    options = {
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "thin": thin,
        "dtype": whole.dtype,
        "log_likelihood": log_likelihood,
    }
    asked = whole.asked(options, random_seed).agreed(path)
    results = ItemResults(whole, path, asked)
    if not results.finished:
        shards = whole.shards(shard, chains * draws)
        with results:
            work = _Work(whole, model_builder, options | {"random_seed": asked.seed}, shards)
            work.do(results, executor, progressbar)
            results.finish(perf_counter() - started)
    results.warn()
    return read_draws(path)


@dataclass(frozen=True)
class _Work:
    """Shards to draw, with the builder and the options of their models."""

    whole: WholeItems
    build: Builder
    options: dict[str, Any]
    shards: list[tuple[int, int]]

    def do(self, results: ItemResults, executor: AnyExecutor, progressbar: bool) -> None:
        """Draw the shards that the results lack."""
        left = [(first, end) for first, end in self.shards if not results.done[first:end].all()]
        tasks = ((self.whole.shard(*items), self.build, self.options) for items in left)
        with (
            cleaned_up(),
            Progress(disable=not progressbar, transient=True) as progress,
            workers_of(executor) as workers,
        ):
            task = progress.add_task("Items", total=sum(end - first for first, end in left))
            for number, drawn in workers.run(sample_shard, tasks, self.whole.namer(left)):
                first, end = left[number]
                results.add(first, end, drawn)
                progress.advance(task, end - first)
