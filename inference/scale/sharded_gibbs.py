"""Distributed Gibbs sampler of the Dawid-Skene model, in shards of items.

    worker   true categories of its items | prevalence, confusion;  their counts
    driver   prevalence, confusion | sums of the counts

Each item has its own random numbers for each sweep, and the counts are integers: therefore the draws are
bit-identical for any number of workers and shards.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy.special import gammaln, xlogy

from ..._messages import step
from ...models._prior_arguments import positive_array
from ...models.data.container import values_of
from ...models.data.label_shards import LabelShards, identity
from ...models.data.labels import Labels, expand_answers
from ...models.labels.dawid_skene import SPEC as DAWID_SKENE
from ...models.labels.observed import concentration_of_confusion, require_identified_raters
from ...posterior.schema import SAMPLE
from ..labels.gibbs import SAMPLER
from ..labels.kernels.gibbs import FREE_ROWS, ConfusionPrior
from ..labels.kernels.sharded import draw_parameters
from ..labels.recognition import as_table
from ..runs.run import check_options, stream
from ..runs.trees import attributes, label
from ..storage.interruptions import adviser
from ..storage.resumable_calls import (
    ARGUMENTS,
    StoreRecord,
    digest_of,
    how_to_repeat,
    open_or_create_store,
    record_of_call,
)
from ..storage.store import DrawStore, allocated, read_draws, store_attrs
from ..storage.untrusted_files import WRITTEN
from .label_files import SharedLabels, file_work
from .sharded_answers import (
    LabelShard,
    LabelWork,
    Parameters,
    Sweep,
    counts_near_vote,
    draw_categories,
    label_work,
)
from .workers import AnyExecutor

CHUNK = 2_000_000  # numbers per stored chunk
BUFFER = 64_000_000  # numbers buffered before they are written
# memory of a confusion entry, in single-precision numbers: double precision, and a copy for its density
WIDTH = 4
OF_RATERS = ("rater", "category", "answer")


@dataclass
class DrawBatch:
    """Batch of consecutive draws of all chains."""

    prevalence: np.ndarray  # (chain, draw, category)
    table: np.ndarray  # (chain, draw, rater * label, category), p(label | rater, true category)
    plausibility: np.ndarray  # (chain, draw, item, category), p(true category | draw, answers)
    log_p: np.ndarray  # (chain, draw, item), log p(answers of the item | draw)


@dataclass(frozen=True)
class PosteriorLayout:
    """Layout of the posterior tree for given labels, priors and length of the run."""

    labels: Labels | SharedLabels
    prior: ConfusionPrior
    chains: int
    draws: int
    thin: int
    dtype: str  # of the stored draws

    @cached_property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.labels.items)

    @property
    def buffered(self) -> int:
        """Number of draws per chain that are written at a time."""
        size = self.n_items * len(self.labels.categories) + WIDTH * self.prior.confusion.size
        return min(max(BUFFER // (self.chains * size), 1), self.draws)

    @property
    def chunks(self) -> dict[str, int]:
        """Chunk lengths of the stored arrays, by dim."""
        items = max(CHUNK // (self.buffered * len(self.labels.categories)), 1)
        return {"chain": 1, "draw": self.buffered, "item": min(items, self.n_items)}

    @cached_property
    def has_data(self) -> np.ndarray:
        """Mask of items with an answer or a gold label; only these have a log likelihood."""
        if isinstance(self.labels, SharedLabels):
            return self.labels.has_data
        answered = np.bincount(self.labels.annotation_item, minlength=len(self.labels.items)) > 0
        return answered | (self.labels.gold >= 0)

    def allocate(self, draws: int) -> DrawBatch:
        """Allocate a batch for some draws of all chains."""
        n, size = len(self.labels.categories), (self.chains, draws)
        n_items, rows = self.n_items, len(self.prior.confusion)
        parameters = np.zeros((*size, n)), np.zeros((*size, rows, n))
        return DrawBatch(
            *parameters, np.zeros((*size, n_items, n), self.dtype), np.zeros((*size, n_items), self.dtype)
        )

    def allocated(self) -> dict[str, xr.Dataset]:
        """Return all groups at their final shapes, without allocating memory for the draws."""
        groups = self.of(self.allocate(1)) | {"sample_stats": xr.Dataset({"thinning": self.thin})}
        tree = label(xr.DataTree.from_dict(groups | self._known()), self.labels, truth="category")
        labelled = {name: node.to_dataset() for name, node in tree.children.items()}
        if isinstance(self.labels, SharedLabels):  # without answers the tree does not know who has any
            labelled["log_likelihood"] = labelled["log_likelihood"].isel(item=self.has_data)
        return allocated(labelled, {"chain": self.chains, "draw": self.draws})

    def of(self, batch: DrawBatch) -> dict[str, xr.Dataset]:
        """Convert a batch to posterior, log likelihood (of all items) and log prior."""
        n = len(self.labels.categories)
        alpha, beta = self.prior.prevalence, _by_rater(self.prior.confusion, n)
        confusion = _by_rater(batch.table, n)
        posterior = {
            "prevalence": ((*SAMPLE, "category"), batch.prevalence.astype(self.dtype)),
            "confusion": ((*SAMPLE, *OF_RATERS), confusion.astype(self.dtype)),
            "plausibility": ((*SAMPLE, "item", "category"), batch.plausibility),
        }
        log_prior = {
            "prevalence": (SAMPLE, _log_density(batch.prevalence, alpha)),
            "confusion": ((*SAMPLE, *OF_RATERS[:2]), _log_density(confusion, beta)),
        }
        sample = {d: np.arange(n) for d, n in zip(SAMPLE, batch.log_p.shape, strict=False)}
        coords = {"rater": self.labels.raters}
        return {
            "posterior": xr.Dataset(posterior, coords | sample),
            "log_likelihood": xr.Dataset({"observed_label": ((*SAMPLE, "item"), batch.log_p)}),
            "log_prior": xr.Dataset(log_prior, coords),
        }

    def stored(self, batch: DrawBatch) -> dict[str, xr.Dataset]:
        """Convert a batch to the groups as stored: log likelihood only of the items of `has_data`."""
        groups = self.of(batch)
        groups["log_likelihood"] = groups["log_likelihood"].isel(item=self.has_data)
        return groups

    def of_items(self) -> dict[str, xr.Dataset]:
        """Return the constant data of the items, known before any draw."""
        return {"constant_data": self._known()["constant_data"][["gold"]]}

    def _known(self) -> dict[str, xr.Dataset]:
        """Return the groups that hold the data: of files, the gold labels, not the answers."""
        if isinstance(self.labels, SharedLabels):
            return {"constant_data": xr.Dataset({"gold": ("item", self.labels.gold)})}
        item, rater, given = expand_answers(self.labels)
        constant = {
            "annotation_item": ("annotation", item),
            "annotation_rater": ("annotation", rater),
            "gold": ("item", self.labels.gold),
        }
        coords = {"annotation": np.arange(len(item))}
        observed = {"observed_label": ("annotation", given)}
        return {"constant_data": xr.Dataset(constant, coords), "observed_data": xr.Dataset(observed, coords)}


def _by_rater(table: np.ndarray, n: int) -> np.ndarray:
    """Reshape (..., rater * label, category) to (..., rater, category, answer)."""
    return table.reshape(*table.shape[:-2], -1, n, n).swapaxes(-1, -2)


def _log_density(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the log density of the Dirichlet law along the last axis."""
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return xlogy(alpha - 1, np.maximum(p, np.finfo(p.dtype).tiny)).sum(axis=-1) + normaliser


# --- Chains ---


class SharedChains:
    """Chains whose true categories workers draw; `state`: stream, and counts "items" and "labels" of `number` sweeps."""

    def __init__(self, work: LabelWork, groups: PosteriorLayout, seed: int) -> None:
        self.groups: PosteriorLayout = groups
        self._work, self._seed = work, seed
        chains, (rows, n) = range(groups.chains), work.shape
        seeds = (np.random.SeedSequence(seed, spawn_key=(chain,)) for chain in chains)
        self.state: dict[str, np.ndarray] = {
            "stream": np.stack([stream(own) for own in seeds]),
            "items": np.zeros((len(chains), n), np.int64),
            "labels": np.zeros((len(chains), rows, n), np.int64),
        }
        self.number: int = 0

    def restore(self, state: Mapping[str, np.ndarray], number: int) -> None:
        """Continue from the state after `number` sweeps."""
        self.state, self.number = dict(state), number

    def start(self) -> None:
        """Draw initial true categories near the vote shares."""
        shape = self._work.shape
        tasks = ((shard, shape, Sweep(self._seed, c, self.number), True) for c, shard in self._units())
        for chain, _, counts in self._run(counts_near_vote, tasks):
            self._add(chain, counts)

    def sweep(self, batch: DrawBatch | None = None, draw: int = 0) -> None:
        """Run one sweep of every chain; store it as draw number `draw` of the batch, if one is given."""
        self.number += 1
        parameters: list[Parameters] = []
        for c, own in enumerate(zip(self.state["items"], self.state["labels"], strict=True)):
            parameters.append((np.empty(own[0].shape), np.empty(own[1].shape)))
            draw_parameters(self.state["stream"][c], self.groups.prior, *own, parameters[c])
            if batch is not None:
                batch.prevalence[c, draw], batch.table[c, draw] = parameters[c]
        dtype = None if batch is None else self.groups.dtype
        sweeps = [Sweep(self._seed, c, self.number) for c in range(self.groups.chains)]
        tasks = ((shard, parameters[c], sweeps[c], dtype) for c, shard in self._units())
        for chain, own, (counts, stored) in self._run(draw_categories, tasks):
            self._add(chain, counts)
            if batch is not None:
                batch.plausibility[chain, draw, own], batch.log_p[chain, draw, own] = stored

    def _run(self, function: Callable, tasks: Iterable[tuple]) -> Iterator[tuple[int, slice, Any]]:
        """Reset the counts, run the tasks, and yield chain, items and result of each as it completes."""
        for name in ("items", "labels"):
            self.state[name][:] = 0
        for number, result in self._work.workers.run(function, tasks, self._work.named):
            chain, shard = divmod(number, len(self._work.shards))
            yield chain, slice(*self._work.edges[shard : shard + 2].tolist()), result

    def _add(self, chain: int, counts: Parameters) -> None:
        """Add the counts of one shard; they are integers, so that the sum does not depend on the order."""
        for name, own in zip(("items", "labels"), counts, strict=True):
            self.state[name][chain] += own.astype(np.int64)

    def _units(self) -> Iterator[tuple[int, LabelShard]]:
        """Yield every (chain, shard)."""
        return ((c, shard) for c in range(self.groups.chains) for shard in self._work.shards)


# --- The call ---


def dawid_skene_gibbs(
    labels: Labels | LabelShards,
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
    labels : Labels or LabelShards
        Annotations of identified raters, or files of them, which workers read.
    store : path
        Zarr store to which draws are written as they are made; repeating the call resumes an interrupted run.
    executor : Executor, dask.distributed.Client or int, optional
        Where to draw the true categories: any object with ``submit``, or a number of processes; by default
        one process per core, for files threads of this process. The draws do not depend on it.
    prevalence_concentration, confusion_concentration
        As for `models.dawid_skene`.
    draws, tune, chains, thin, random_seed, dtype, progressbar
        As for `sample`: `tune` and `thin` count sweeps.
    shards : int, optional
        Number of shards; by default one per million answers. The draws do not depend on it. Of files each is a shard.
    folder : path, optional
        Folder for the shards during the run, seen by all workers; by default one for temporary files.

    Returns
    -------
    DataTree
        As returned by `sample`; read from the store lazily. Convergence is not checked: see `diagnose`. Of labels in files
        it has the bits that one table gives, but not the answers: no ``observed_data``, and of ``constant_data`` the gold labels.

    Raises
    ------
    ValueError
        If an argument is out of range, or the store holds another run or is damaged; if files are damaged, as a `DataError`
        that names file, row and column, or an item has rows in two.

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
    {'chain': 4, 'draw': 10, 'rater': 3, 'category': 3, 'answer': 3}

    References
    ----------
    Dawid and Skene (1979), doi:10.2307/2346806.
    """
    started = perf_counter()
    check_options(dtype, draws=draws, tune=tune, chains=chains, thin=thin, random_seed=random_seed)
    numbers = {"draws": draws, "chains": chains, "thin": thin, "dtype": dtype}
    priors, path, bar = (prevalence_concentration, confusion_concentration), Path(store), progressbar
    if not isinstance(labels, LabelShards):
        require_identified_raters(labels, "dawid_skene_gibbs")
        groups = PosteriorLayout(labels, _prior(labels, *priors), **numbers)
        digests = {"labels": digest_of(values_of(labels)), "prior": digest_of(groups.prior._asdict())}
        record = record_of_call(path, _run_arguments(numbers, tune, digests), random_seed)
        _fill(path, record, groups, label_work(labels, executor, shards, folder), tune, bar, started)
        return read_draws(store)
    if shards is not None:
        raise ValueError("of labels in files each file is a shard: leave shards out")
    given = {"prevalence": priors[0], "confusion": priors[1]}
    prior = {name: None if own is None else np.asarray(own) for name, own in given.items()}
    digests = {"labels": digest_of(identity(labels)), "prior": digest_of(prior)}
    record = record_of_call(path, _run_arguments(numbers, tune, digests), random_seed)
    if not path.exists() or WRITTEN in store_attrs(path):
        with file_work(labels, executor, folder, None) as work:
            groups = PosteriorLayout(work.labels, _prior(work.labels, *priors), **numbers)
            _fill(path, record, groups, nullcontext(work), tune, bar, started)
    return read_draws(store)


def _fill(
    path: Path,
    record: StoreRecord,
    groups: PosteriorLayout,
    opened: AbstractContextManager[LabelWork],
    tune: int,
    progressbar: bool,
    started: float,
) -> None:
    """Draw into a store, which is made if it is missing, until it is finished."""
    attrs = attributes(DAWID_SKENE.name, SAMPLER.method, SAMPLER.reason, record.seed)
    attrs |= {ARGUMENTS: record.text}
    with open_or_create_store(path, attrs, groups.allocated, groups.chunks) as kept:
        if kept is None:
            return
        with adviser(lambda: how_to_repeat(kept.path)), opened as work:
            _draw(SharedChains(work, groups, record.seed), kept, tune, progressbar)
        begun = {k: v for k, v in store_attrs(path).items() if k != WRITTEN}
        kept.finish(begun | {"seconds": perf_counter() - started})


def _prior(labels: Labels | SharedLabels, alpha: Any, beta: Any) -> ConfusionPrior:
    """Concentrations of the Dirichlet priors in the layout of the kernels."""
    n = len(labels.categories)
    prevalence = positive_array("prevalence_concentration", alpha, (n,))
    confusion = concentration_of_confusion(labels, beta, (len(labels.raters), n, n))
    return ConfusionPrior(np.array(prevalence, np.float64), as_table(confusion), FREE_ROWS)


def _run_arguments(numbers: dict[str, Any], tune: int, digests: dict[str, str]) -> dict[str, Any]:
    """Arguments that determine the draws, with digests of the data and the prior."""
    return {"call": "dawid_skene_gibbs"} | numbers | {"tune": tune} | digests


def _draw(chains: SharedChains, store: DrawStore, tune: int, progressbar: bool) -> None:
    """Draw and write the draws that the store lacks."""
    groups, drawn = chains.groups, 0
    if store.is_marked:
        note, state = store.read_journal()
        drawn = note["drawn"]
        chains.restore(state, note["number"])
    else:
        store.write({}, groups.of_items())
        chains.start()
    total = tune + groups.draws * groups.thin
    with step("Gibbs sweeps", total, completed=chains.number, shown=progressbar) as bar:
        for _ in range(tune - chains.number):
            chains.sweep()
            bar.advance()
        while drawn < groups.draws:
            batch = groups.allocate(min(groups.buffered, groups.draws - drawn))
            for draw in range(batch.prevalence.shape[1]):
                for _ in range(groups.thin - 1):
                    chains.sweep()
                chains.sweep(batch, draw)
                bar.advance(groups.thin)
            new = slice(drawn, drawn + batch.prevalence.shape[1])
            drawn = new.stop
            store.write({"draw": new}, groups.stored(batch))
            store.mark({"drawn": drawn, "number": chains.number}, chains.state, drawn)
