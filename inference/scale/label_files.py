"""Labels in files: read, validated and coded by workers, a shard a file; the driver holds what the files have in common.

    read_file    worker   a file to the answers of its items, with raters numbered within the file
                 driver   raters of all files in order of first appearance; refuses an item that is in two files
    code_file    worker   raters numbered as in all files: the shard, as `write_label_shards` writes it

Each step leaves files that a repeated call finds, and is done again where they are missing.
"""

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from ..._messages import short_repr
from ...models.data.errors import DataError
from ...models.data.label_shards import LabelShards, closed_set, labels_in
from ...models.data.labels import expand_answers
from ...models.distributions.marginal_labels_kernels import Answers
from ..labels.kernels.em import answer_patterns, coded_answers
from ..storage.interruptions import cleaned_up
from .sharded_answers import LabelShard, LabelWork, save_array
from .workers import AnyExecutor, Workers, workers_of

ITEMS_OF_A_PART = 2_000_000  # ids that are compared at a time
OWN = ("own_start", "own_code", "own_gold")  # arrays of a file before its raters are numbered as in all


# --- Tasks of a worker on one file ---


class FileFound(NamedTuple):
    """Raters, counts and categories of a file, which a worker returns to the driver."""

    raters: np.ndarray  # ids, in order of first appearance item by item
    n_items: int
    n_answers: int
    has_gold: bool
    identified: bool  # whether raters can be told from rare labels; see `Labels.identified`
    lowest: Any  # ids of items
    highest: Any


def read_file(shards: LabelShards, shard: LabelShard, categories: np.ndarray) -> FileFound:
    """Read and validate a file, and write its answers with raters numbered within it."""
    if not shard.file("found").exists():
        labels = shards.labels(shard.number, categories)
        none = np.zeros(0, np.int32)
        codes = expand_answers(labels) if len(labels.count) else (none, none, none)
        for name, array in zip(OWN, coded_answers(*codes, labels.gold, len(categories)), strict=True):
            save_array(shard.file(name), array)
        ids = labels.items
        if (ids[1:] < ids[:-1]).any():
            ids = np.sort(ids)
            save_array(shard.file("sorted_items"), ids)
        save_array(shard.file("items"), labels.items)
        save_array(shard.file("raters"), labels.raters)
        found = {"n_items": len(ids), "n_answers": len(labels), "identified": labels.identified}
        found |= {"has_gold": labels.has_gold, "lowest": ids[0].item(), "highest": ids[-1].item()}
        save_array(shard.file("found"), np.array(json.dumps(found)))
    return FileFound(np.load(shard.file("raters")), **json.loads(str(np.load(shard.file("found")))))


def code_file(shard: LabelShard, rows: np.ndarray) -> None:
    """Write the shard of a file; `rows`, (rater * label,) of the file, are the rows of the table of all raters."""
    if shard.file("coded").exists():
        return
    start, own, gold = (np.load(shard.file(name)) for name in OWN)
    item = np.repeat(np.arange(len(gold)), np.diff(start))
    key = (item << 32) | rows[own]
    if (key[1:] < key[:-1]).any():
        key.sort()
    shard.write(answer_patterns(Answers(start, (key & 0xFFFFFFFF).astype(np.int32), gold)))
    save_array(shard.file("coded"), np.array(True))
    for name in OWN:
        shard.file(name).unlink(missing_ok=True)


def sorted_items(shard: LabelShard) -> np.ndarray:
    """Memory-map the ids of the items of a file, ascending, (item,)."""
    file = shard.file("sorted_items")
    return np.load(file if file.exists() else shard.file("items"), mmap_mode="r")


def repeated_item(shards: Sequence[LabelShard], low: Any, end: Any) -> Any:
    """Return the first id from `low` up to `end` (None: to the last) that several files have, or None."""
    own = []
    for shard in shards:
        ids = sorted_items(shard)
        own.append(ids[np.searchsorted(ids, low) : None if end is None else np.searchsorted(ids, end)])
    ids = np.sort(np.concatenate(own))
    repeated = np.flatnonzero(ids[1:] == ids[:-1])
    return ids[repeated[0]].item() if len(repeated) else None


# --- The driver ---


@dataclass(frozen=True)
class SharedLabels:
    """Raters, categories and sizes of all files, and access to their items.

    Items and gold labels are read where they are asked for; the answers stay in the shards.
    """

    raters: np.ndarray
    categories: np.ndarray
    names: tuple[str, ...]  # of the files
    shards: tuple[LabelShard, ...]
    edges: np.ndarray  # (shard + 1,); the items of shard s are edges[s]:edges[s + 1]
    n_answers: int
    has_gold: bool
    identified: bool

    def __len__(self) -> int:
        return self.n_answers

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.edges[-1])

    @property
    def rater_attributes(self) -> dict[str, np.ndarray]:
        """Attributes of the raters: files have none."""
        return {}

    @property
    def items(self) -> np.ndarray:
        """Ids of the items, (item,)."""
        return np.concatenate([np.load(shard.file("items")) for shard in self.shards])

    @property
    def gold(self) -> np.ndarray:
        """Code of the true category, (item,) int32, -1 where it is not known."""
        opened = (shard.open() for shard in self.shards)
        return np.concatenate([own.answers.gold_category[own.pattern].astype(np.int32) for own in opened])

    @property
    def has_data(self) -> np.ndarray:
        """Mask of items with an answer or a gold label, (item,)."""
        opened = (shard.open() for shard in self.shards)
        answered = [(np.diff(own.answers.start) > 0)[own.pattern] for own in opened]
        return np.concatenate(answered) | (self.gold >= 0)

    def sample(self, rng: np.random.Generator, share: float) -> Answers:
        """Draw a share of the items, all if it is 1, and return their answers."""
        lengths, codes, known = [], [], []
        for shard in self.shards:
            (start, code, gold), _, pattern = shard.open()
            if share < 1:
                pattern = pattern[rng.random(len(pattern)) < share]
            length = np.diff(start)[pattern]
            first = np.cumsum(length) - length
            place = np.repeat(start[pattern] - first, length) + np.arange(length.sum())
            lengths.append(length)
            codes.append(code[place])
            known.append(gold[pattern])
        start = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return Answers(start, np.concatenate(codes), np.concatenate(known))


@dataclass(frozen=True)
class FileWork(LabelWork):
    """Shards of files, and their workers."""

    labels: SharedLabels

    def named(self, number: int) -> str:
        """Name the shard of a task by its file; task numbers run on over repeated passes."""
        return f"the labels of {self.labels.names[number % len(self.shards)]}"


@contextmanager
def file_work(
    shards: LabelShards, executor: AnyExecutor, folder: str | Path | None, kept: Path | None
) -> Iterator[FileWork]:
    """Context manager: files as shards, and workers, all of which see the folder of the shards.

    The shards are in `kept`, where they stay, or in a temporary folder in `folder`, which is removed at the end and at
    SIGTERM. Without an executor the workers are threads of this process, one for each core.
    """
    if kept is not None:
        kept.mkdir(exist_ok=True)
    place = TemporaryDirectory(prefix="raterzoo-labels-", dir=folder) if kept is None else nullcontext(kept)
    pool = ThreadPoolExecutor(os.cpu_count() or 1) if executor is None else nullcontext(executor)
    with cleaned_up(), place as own, pool as used, workers_of(used) as workers:
        yield _coded(shards, workers, Path(own))


def _coded(shards: LabelShards, workers: Workers, folder: Path) -> FileWork:
    """Have all files read and coded."""
    names = tuple(path.name for path in shards.files)

    def named(number: int) -> str:
        return f"the labels of {names[number]}"

    numbers = range(len(names))
    declared = shards.categories is not None
    tasks = ((shards, number) for number in numbers if not declared)
    categories = closed_set(shards, [*workers.ordered(labels_in, tasks, named)])
    written = [LabelShard(str(folder), number, 0) for number in numbers]
    tasks = ((shards, shard, categories) for shard in written)
    found = [*workers.ordered(read_file, tasks, named)]
    _refuse_split_items(workers, written, found, names)
    raters, places = united([own.raters for own in found])
    edges = np.concatenate([[0], np.cumsum([own.n_items for own in found])])
    written = [shard._replace(first=first) for shard, first in zip(written, edges.tolist(), strict=False)]
    label = np.arange(len(categories))
    rows = ((place[:, None] * len(categories) + label).ravel() for place in places)
    for _ in workers.run(code_file, zip(written, rows, strict=True), named):
        pass
    shared = SharedLabels(
        raters,
        categories,
        names,
        tuple(written),
        edges,
        sum(own.n_answers for own in found),
        any(own.has_gold for own in found),
        any(own.identified for own in found),
    )
    if not shared.n_answers:
        raise DataError("there is no answer to learn from", remedy="check what wrote the files")
    return FileWork(shared, written, edges, workers)


def united(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Unite ids in order of first appearance, (id,); return also the place of the ids of each part, (own id,) int64."""
    ids, places = parts[0], []
    order = np.argsort(ids)
    for own in parts:
        at = np.searchsorted(ids, own, sorter=order)
        place = order[np.minimum(at, len(ids) - 1)] if len(ids) else np.zeros(len(own), np.int64)
        new = np.ones(len(own), bool) if not len(ids) else ids[place] != own
        if new.any():
            place[new] = len(ids) + np.arange(new.sum())
            ids = np.concatenate([ids, own[new]])
            order = np.argsort(ids)
        places.append(place)
    return ids, places


def _refuse_split_items(
    workers: Workers, shards: Sequence[LabelShard], found: Sequence[FileFound], names: Sequence[str]
) -> None:
    """Raise if an item is in two files: compare ids of files whose ranges overlap, in parts of the ids."""
    close = _overlapping([(own.lowest, own.highest) for own in found])
    if not close:
        return
    alike = [shards[number] for number in close]
    total = sum(found[number].n_items for number in close)
    parts = -(-total // ITEMS_OF_A_PART)
    some = [
        sorted_items(shard)[:: max(1, found[n].n_items // (8 * parts))]
        for n, shard in zip(close, alike, strict=True)
    ]
    sample = np.sort(np.concatenate(some))
    edges = [sample[len(sample) * part // parts].item() for part in range(parts)] + [None]
    tasks = ((alike, low, end) for low, end in pairwise(edges))
    for _, item in workers.run(repeated_item, tasks, lambda number: f"part {number} of the ids of items"):
        if item is None:
            continue
        ids = [(names[shard.number], sorted_items(shard)) for shard in alike]
        where = [name for name, own in ids if item in own[np.searchsorted(own, item) :][:1]]
        raise DataError(
            f"item {short_repr(item)} has rows in {where[0]} and in {where[1]}",
            value=item,
            allowed="all rows of an item in one file",
            remedy="sort the table by its items before it is divided into files",
        )


def _overlapping(ranges: Sequence[tuple[Any, Any]]) -> list[int]:
    """Return the numbers of the ranges that have a value in common with another one."""
    order = sorted(range(len(ranges)), key=lambda number: ranges[number][0])
    close: set[int] = set()
    last = order[0]  # range that reaches furthest so far
    for number in order[1:]:
        if ranges[number][0] <= ranges[last][1]:
            close |= {last, number}
        if ranges[number][1] > ranges[last][1]:
            last = number
    return sorted(close)
