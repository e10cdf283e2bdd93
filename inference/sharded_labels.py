"""Distributed Gibbs sampler of the Dawid-Skene model, in shards of items.

    worker   true categories of its items | prevalence, confusion;  their counts
    driver   prevalence, confusion | sums of the counts

Each item has its own random numbers for each sweep, and the counts are integers: therefore the draws are
bit-identical for any number of workers and shards.
"""

from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import xarray as xr
from rich.progress import Progress

from ..models.data.labels import Labels
from ..models.data.prior_numbers import positive_array
from ..models.labels.observed import concentration_of_confusion, known_raters
from .completion import attributes
from .draw_store import DrawStore
from .kernels.confusion import ROWS, ConfusionPrior
from .shards.digests import digest_of
from .shards.gibbs_groups import GibbsGroups
from .shards.label_work import label_work
from .shards.numbers import check_numbers
from .shards.shared_chains import SharedChains
from .shards.slices import pack
from .shards.stores import ASKED, Asked, begun_or_new
from .shards.workers import AnyExecutor
from .steps.label_reading import as_table
from .store_reading import WRITTEN, read_draws, store_attrs

__all__ = ["dawid_skene_gibbs"]


def dawid_skene_gibbs(
    labels: Labels,
    *,
    store: str | Path,
    executor: AnyExecutor = None,
    prevalence_concentration: Any = 1.0,
    confusion_concentration: Any = None,
    draws: int = 1000,
    tune: int = 200,
    chains: int = 4,
    thin: int = 1,
    random_seed: int | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    shards: int | None = None,
    folder: str | Path | None = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Draw from the posterior of `models.dawid_skene` for data sets too large for one process.

    Workers draw the true categories of shards of items, given prevalence and confusion; the driver draws
    prevalence and confusion from the sums of their counts.

    Parameters
    ----------
    labels : Labels
        Annotations of identified raters.
    store : path
        Zarr store to which the draws are written as they are made. An interrupted run is resumed by repeating
        the call.
    executor : Executor, dask.distributed.Client or int, optional
        Where to draw the true categories: any object with ``submit``, or a number of processes; by default
        one process per core. The draws do not depend on it.
    prevalence_concentration, confusion_concentration
        As for `models.dawid_skene`.
    draws, chains : int, default 1000 and 4
        Kept draws of each chain, and number of chains.
    tune : int, default 200
        Sweeps before the first kept draw.
    thin : int, default 1
        Sweeps per kept draw.
    random_seed : int, optional
        Seed; drawn at random and recorded if left out.
    dtype : {"float32", "float64"}, default "float32"
        Storage; the arithmetic is in double precision.
    shards : int, optional
        Number of shards; by default one per million answers. The draws do not depend on it.
    folder : path, optional
        Folder for the shards during the run, which workers on other machines must share; by default one for
        temporary files.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    DataTree
        As returned by `sample`; read from the store lazily. Convergence is not checked: see `diagnose`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the store holds another run.

    Warns
    -----
    ResumeWarning
        If the call resumes a run that was begun with other versions of packages.

    Examples
    --------
    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from raterzoo import inference, models
    >>> labels = models.simulators.labels(items=20, raters=3, random_seed=1).data
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     tree = inference.dawid_skene_gibbs(
    ...         labels, store=f"{folder}/run.zarr", executor=pool, draws=10, tune=10, progressbar=False
    ...     )
    ...     print(dict(tree["posterior"]["confusion"].sizes))
    {'chain': 4, 'draw': 10, 'rater': 3, 'category': 3, 'label': 3}

    References
    ----------
    Dawid and Skene (1979), doi:10.2307/2346806.
    """
    started = perf_counter()
    check_numbers(draws=draws, tune=tune, chains=chains, thin=thin, random_seed=random_seed)
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is not one of 'float32', 'float64'")
    prior = _prior(
        known_raters(labels, "dawid_skene_gibbs"), prevalence_concentration, confusion_concentration
    )
    groups = GibbsGroups(labels, prior, chains, draws, thin, dtype)
    asked = _asked(groups, tune, random_seed).agreed(Path(store))
    reason = "given the true categories, prevalence and confusion are conjugate"
    attrs = attributes("dawid_skene", "gibbs", reason, asked.seed) | {ASKED: asked.text}
    with begun_or_new(Path(store), attrs, groups.at_full_size, groups.chunks) as kept:
        if kept is not None:
            with label_work(labels, executor, shards, folder) as work:
                _draw(SharedChains(work, groups, asked.seed), kept, tune, progressbar)
            begun = {k: v for k, v in store_attrs(Path(store)).items() if k != WRITTEN}
            kept.finish(begun | {"seconds": perf_counter() - started})
    return read_draws(store)


def _prior(labels: Labels, alpha: Any, beta: Any) -> ConfusionPrior:
    """Concentrations of the Dirichlet priors in the layout of the kernels."""
    n = len(labels.categories)
    prevalence = positive_array("prevalence_concentration", alpha, (n,))
    confusion = concentration_of_confusion(labels, beta, (len(labels.raters), n, n))
    return ConfusionPrior(np.array(prevalence, np.float64), as_table(confusion), ROWS)


def _asked(groups: GibbsGroups, tune: int, seed: int | None) -> Asked:
    """Arguments that determine the draws, with digests of the data and the prior."""
    numbers = {name: getattr(groups, name) for name in ("draws", "chains", "thin", "dtype")}
    digests = {
        "labels": digest_of(pack(groups.labels).values),
        "prior": digest_of(groups.prior._asdict()),
    }
    return Asked({"call": "dawid_skene_gibbs"} | numbers | {"tune": tune} | digests, seed)


def _draw(chains: SharedChains, store: DrawStore, tune: int, progressbar: bool) -> None:
    """Draw and write the draws that the store lacks."""
    groups, drawn = chains.groups, 0
    if store.is_marked:
        note, state = store.kept()
        drawn = note["drawn"]
        chains.restore(state, note["number"])
    else:
        store.write({}, groups.of_items())
        chains.start()
    with Progress(disable=not progressbar, transient=True) as progress:
        total = tune + groups.draws * groups.thin
        task = progress.add_task("Gibbs sweeps", total=total, completed=chains.number)
        for _ in range(tune - chains.number):
            chains.sweep()
            progress.advance(task)
        while drawn < groups.draws:
            piece = groups.room(min(groups.buffered, groups.draws - drawn))
            for draw in range(piece.prevalence.shape[1]):
                for _ in range(groups.thin - 1):
                    chains.sweep()
                chains.sweep(piece, draw)
                progress.advance(task, groups.thin)
            new = slice(drawn, drawn + piece.prevalence.shape[1])
            drawn = new.stop
            store.write({"draw": new}, groups.stored(piece))
            store.mark({"drawn": drawn, "number": chains.number}, chains.state, drawn)
