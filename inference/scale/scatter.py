"""Sampling of many items on many workers: shards of items, drawn in parallel and written to one store.

Items are independent given the data and the hyperparameters, and each has its own random streams, derived
from the seed and its id. Therefore the draws do not depend on workers or shards, and equal those of `sample`.
"""

import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, takewhile
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import pymc as pm
import xarray as xr

from ..._messages import step, warn_user
from ...models.data.container import values_of
from ..diagnostics import ConvergenceWarning
from ..kept_draws import ALL, LARGE_STORE, Keep, Kept, Numbered, check_keep, item_blocks, kept_by_size
from ..methods import Route, route_of
from ..runs.model_graph import graph_lock
from ..runs.run import Draws, check_options
from ..scores.precision import Storage
from ..storage.interruptions import adviser, cleaned_up
from ..storage.journal import raise_journal_error
from ..storage.resumable_calls import ARGUMENTS, StoreRecord, digest_of, how_to_repeat, record_of_call
from ..storage.store import DrawStore, read_draws, store_attrs
from ..storage.untrusted_files import WRITTEN
from .item_shards import (
    GROWING_DIMS,
    ItemDraws,
    ItemGroups,
    ItemPrior,
    ItemShard,
    groups_of,
    item_prior,
    reason_not_divisible,
    sample_shard,
    storage_of,
)
from .item_slices import Annotations, items_between
from .workers import AnyExecutor, is_of_processes, workers_of

SHARD_BYTES = 48 * 2**20  # of the draws of one shard
BLOCKS_OF_A_SHARD = 4  # of items that are summarised together
COPIES = 3  # stored numbers per draw and cell: worth, plausibility, densities

Builder = Callable[[Any], pm.Model]


@dataclass(frozen=True)
class ScatteredModel:
    """Data and model of all items, and how to draw them."""

    data: Annotations
    model: pm.Model  # of all items; not sampled, it provides the constants
    route: Route
    prior: ItemPrior
    dtype: Storage  # needed for the draws of all items
    kept: Kept = ALL
    blocks: Numbered | None = None  # of items that are summarised together, if not all draws are kept

    @classmethod
    def of(cls, build: Builder, data: Annotations, plan: Draws, keep: Keep | None) -> "ScatteredModel":
        """Build the model of all items; raise if they are not independent."""
        draws, dtype = plan.chains * plan.draws, plan.dtype
        if not isinstance(data, Annotations):
            remedy = "scatter PartialRankings, Labels or Scores"
            raise ValueError(f"a {type(data).__name__} has no shards of items; {remedy}")
        with graph_lock:
            model = build(data)
            if not isinstance(model, pm.Model):
                raise ValueError(
                    f"model_builder made a {type(model).__name__}, not a pymc.Model; pass a function of raterzoo.models"
                )
            route = route_of(model)
            if why := reason_not_divisible(route):
                raise ValueError(why)
            prior = item_prior(model, route)
            kept = kept_by_size(keep, model, plan, LARGE_STORE)
            blocks = None if kept == ALL else item_blocks(model, draws, prior.starts)
            return cls(data, model, route, prior, storage_of(model, route, draws, dtype), kept, blocks)

    def arguments(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all that the draws depend on, except the seed, to be recorded in the store."""
        digests = {
            "data": digest_of(values_of(self.data)),
            "prior": self.prior.digest(0, len(self.data.items)),
        }
        return {"call": "scatter", "model": self.route.name, **options, **digests}

    def shards(self, size: int | None, draws: int) -> list[tuple[int, int]]:
        """Divide the items into shards (first, end) with annotations, of `size` items or about 50 MB of all draws."""
        n_items, aligned = len(self.data.items), size is None
        if size is None:
            cells = self.prior.starts["candidate"][-1] if "candidate" in self.prior.starts else n_items
            if cells == n_items:
                cells *= len(self.model.coords.get("category") or (0,))
            each = draws * cells / n_items * np.dtype(self.dtype).itemsize * COPIES
            size = max(int(SHARD_BYTES / each), 1)
        edges = np.append(np.arange(0, n_items, size), n_items)
        if aligned and self.blocks is not None:
            edges = np.array([first for _, first, _ in self.blocks[::BLOCKS_OF_A_SHARD]] + [n_items])
        before = np.searchsorted(self.data.annotation_item, edges)  # annotations of earlier items
        # a shard without annotations is merged with the next
        starts = np.append(before[:-1] < before[1:], True)
        starts[0] = True
        edges = edges[starts | (edges == n_items)]
        if len(edges) > 2 and before[-2] == before[-1]:
            edges = np.delete(edges, -2)
        return list(pairwise(edges.tolist()))

    def shard(self, first: int, end: int) -> ItemShard:
        """Return the task of items first ... end - 1."""
        data = items_between(self.data, first, end)
        return ItemShard(
            data, self.route.name, self.prior.digest(first, end), self.kept, self._blocks(first, end)
        )

    def _blocks(self, first: int, end: int) -> Numbered | None:
        """Return the blocks of a shard; those of all items if its edges are theirs, else one of its own."""
        if self.blocks is None:
            return None
        near = bisect_left(self.blocks, first, key=lambda block: block[1])
        own = [
            (k, a - first, b - first)
            for k, a, b in takewhile(lambda block: block[2] <= end, islice(self.blocks, near, None))
        ]
        if own and (own[0][1], own[-1][2]) == (0, end - first):
            return own
        return [(len(self.blocks) + first, 0, end - first)]

    def name_of(self, first: int, end: int) -> str:
        """Return the name of a shard by its first and last item, for errors."""
        lowest, highest = self.data.items[[first, end - 1]].tolist()
        return f"{end - first} items from {lowest!r} to {highest!r}"


def check_picklable(build: Builder) -> None:
    """Raise unless a builder can be pickled by reference and imported in another process."""
    inner = build
    while isinstance(inner, partial):
        inner = inner.func
    home, name = getattr(inner, "__module__", ""), getattr(inner, "__qualname__", repr(inner))
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if "<" in name or (home == "__main__" and script is None):
        raise ValueError(
            f"model_builder {name} of {home} cannot be sent to other processes: pass a function of a module, such as "
            "functools.partial(models.plackett_luce, reliability=3), or an executor of threads or of dask"
        )


class ShardWriter:
    """Context manager that writes shards into a new or interrupted store; `done` (item,) is the mask of items in it."""

    def __init__(self, whole: ScatteredModel, path: Path, record: StoreRecord) -> None:
        self._whole, self._path, self._record = whole, path, record
        self._store: DrawStore | None = None
        self._groups: ItemGroups | None = None
        self._warned: dict[str, Any] = {"warned": 0, "first": ""}  # number of shards, and first message
        self.done: np.ndarray = np.zeros(len(whole.data.items), bool)

    @property
    def finished(self) -> bool:
        """Whether the store was finished before."""
        return self._path.exists() and WRITTEN not in store_attrs(self._path)

    def __enter__(self) -> "ShardWriter":
        if self._path.exists():
            self._store = DrawStore.open(self._path)
            if self._store.is_marked:
                self._warned, arrays = self._store.read_journal()
                self.done = arrays["done"]
                if len(self.done) != len(self._whole.data.items):
                    raise_journal_error(self._store.journal, "it is of another number of items")
        return self

    def __exit__(self, *raised: object) -> None:
        if self._store is not None:
            self._store.__exit__(*raised)

    def add(self, first: int, end: int, drawn: ItemDraws) -> None:
        """Write the draws of items first ... end - 1 and mark them as done."""
        store, groups = self._open(drawn)
        for name, group in drawn.groups.items():
            store.write(groups.region(name, first, end), {name: group})
        self.done[first:end] = True
        if drawn.warned:
            self._warned["warned"] += 1
            self._warned["first"] = self._warned["first"] or drawn.warned
        store.mark(self._warned, {"done": self.done}, 0)

    def _open(self, drawn: ItemDraws) -> tuple[DrawStore, ItemGroups]:
        """Return store and groups, laid out when the first draws arrive."""
        if self._groups is None:
            drawn_posterior = drawn.groups.get("posterior", xr.Dataset())
            for name, variable in drawn_posterior.data_vars.items():
                if not set(variable.dims) & set(GROWING_DIMS):  # it would differ from shard to shard
                    raise ValueError(
                        f"{name!r} is a variable of all items together; leave it out of the model that is scattered, and compute "
                        "it from the tree"
                    )
            self._groups = groups_of(self._whole.model, drawn.groups, self._whole.prior.starts)
        if self._store is None:
            attrs = drawn.attrs | {ARGUMENTS: self._record.text}
            self._store = DrawStore.create(self._path, self._groups.full, attrs, self._groups.chunks)
        if not self._store.is_marked:
            known = {n: g for n, g in self._groups.full.items() if n not in drawn.groups}
            self._store.write({}, known)
        return self._store, self._groups

    def finish(self, seconds: float) -> None:
        """Finish the store; all items must be in it."""
        assert self._store is not None
        attrs = {k: v for k, v in store_attrs(self._path).items() if k != WRITTEN}
        self._store.finish(attrs | {"seconds": seconds, "shards_warned": self._warned["warned"]})

    def warn(self) -> None:
        """Warn of shards that did not converge."""
        if self._warned["warned"]:
            warn_user(
                f"{self._warned['warned']} shards failed a convergence check; the first: {self._warned['first']}",
                ConvergenceWarning,
            )


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
    keep: Keep | None = None,
) -> xr.DataTree:
    """Draw from the posterior of many independent items on many workers.

    Parameters
    ----------
    model_builder : callable
        Builds the model of annotations, such as ``functools.partial(models.plackett_luce, reliability=3)``. Its
        items must be independent: `models.plackett_luce`, `prirn`, `dirichlet` or `normal_scores`, with all
        hyperparameters fixed. A deterministic of an item may depend on that item only.
    data : PartialRankings, Labels or Scores
        Annotations.
    executor : Executor, dask.distributed.Client or int, optional
        Where to work: any object with ``submit``, or a number of processes; by default one process per core. A
        dask worker needs raterzoo, and should have one thread. Threads of one process build their models one at a
        time, as PyTensor compiles safely in one thread only, and draw in parallel.
    store : path
        Zarr store to which draws are written as they arrive. An interrupted call is resumed by repeating it,
        with any executor and shard size.
    shard : int, optional
        Number of items in a shard; by default as many as make some 50 MB of draws.
    draws, tune, chains, random_seed, thin, dtype, log_likelihood
        As for `sample`.
    progressbar : bool, default True
        Whether to show progress.
    keep : {"all", "thinned", "summary"}, optional
        What the store keeps of the draws, as in `sample`; the default is "all" up to 20 GB of draws, and "thinned" above,
        which a `CostWarning` says.

    Returns
    -------
    DataTree
        The tree of `sample`, bit for bit but for the attributes; read from the store lazily.

    Raises
    ------
    ValueError
        If items are not independent, the builder cannot be pickled, or the store holds another run or is damaged.
    RuntimeError
        If a process dies: too little memory, or a script that starts processes at import, not below
        ``if __name__ == "__main__":``. The same call goes on. Workers of dask that die are replaced.

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
        check_picklable(model_builder)
    numbers = {"draws": draws, "tune": tune, "chains": chains, "random_seed": random_seed, "shard": shard}
    check_options(dtype, **numbers, thin=None if thin == "pilot" else thin)
    check_keep(keep)
    plan = Draws(draws, tune, chains, 1, random_seed or 0, False, thin, dtype, log_likelihood)
    whole = ScatteredModel.of(model_builder, data, plan, keep)
    options = {"draws": draws, "tune": tune, "chains": chains, "thin": thin}
    options |= {"dtype": whole.dtype, "log_likelihood": log_likelihood}
    known = options if whole.kept == ALL else options | {"keep": whole.kept.keep}
    record = record_of_call(path, whole.arguments(known), random_seed)
    results = ShardWriter(whole, path, record)
    if not results.finished:
        with adviser(lambda: how_to_repeat(path)), results, cleaned_up(), workers_of(executor) as workers:
            left = [(a, b) for a, b in whole.shards(shard, chains * draws) if not results.done[a:b].all()]
            seeded = options | {"random_seed": record.seed}
            tasks = ((whole.shard(*items), model_builder, seeded) for items in left)
            with step("Drawing item by item", sum(b - a for a, b in left), shown=progressbar) as bar:
                for number, drawn in workers.run(sample_shard, tasks, lambda n: whole.name_of(*left[n])):
                    results.add(*left[number], drawn)
                    bar.advance(left[number][1] - left[number][0])
            results.finish(perf_counter() - started)
    results.warn()
    return read_draws(path)
