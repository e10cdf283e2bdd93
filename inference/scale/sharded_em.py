"""EM of prevalence and confusion over labels in shards: workers expect, the driver maximises.

Runs over labels in files are kept as they go, and workers write the plausibilities:

out/call.json       arguments of the call; another call is refused
out/shards          labels as they were read, while the call lasts
out/run-0.npz       state of each run of EM: the counts of its last iteration that was kept, or its result
out/plausibility    a Parquet file for each file of labels
out/estimate.npz    the result, after which shards and runs are removed
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import xarray as xr

from ...models.data.label_shards import LabelShards
from ..labels.em_search import EmRun, Ended
from ..labels.kernels.em import Counts, pattern_plausibility
from ..storage.interruptions import Advice, adviser
from ..storage.journal import read_journal, write_journal
from ..storage.store import StoreLock
from .confusion_em import Confusion, ConfusionEm, Objective
from .label_files import FileWork, file_work
from .sharded_answers import (
    LabelShard,
    LabelWork,
    Parameters,
    Sweep,
    counts_near_vote,
    expected_counts,
    plausibility,
    total,
    vote_counts,
)
from .workers import AnyExecutor


class InShards(ConfusionEm):
    """EM of prevalence and confusion over labels in shards."""

    def __init__(self, work: LabelWork, objective: Objective) -> None:
        super().__init__(None, objective)
        self._work, self._starts = work, 0

    def counts_of_vote(self) -> Counts:
        """Return the expected counts under the vote shares, summed over the shards."""
        return total(self._work.map(vote_counts, self._work.shape))

    def from_vote(self) -> EmRun[Any]:
        """Run EM from the vote shares."""
        return self.run(self.counts_of_vote)

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> EmRun[Any]:
        """Run EM from the next random start of a seed; the starts do not depend on the division into shards."""
        seed, self._starts = int(rng.bit_generator.seed_seq.generate_state(1)[0]), self._starts + 1  # type: ignore[attr-defined]
        near = partial(
            self._work.map, counts_near_vote, self._work.shape, Sweep(seed, self._starts, 0), False
        )
        return self.run(lambda: total(near()), ended)

    def e_step(self, parameters: Any) -> tuple[Any, float]:
        """Return expected counts and log likelihood, summed over the shards."""
        log_p = []

        def counts() -> Iterator[Counts]:
            for part, log_likelihood in self._work.map(expected_counts, tuple(parameters)):
                log_p.append(log_likelihood)
                yield part

        return total(counts()), sum(log_p)

    def plausibility(self, parameters: Any) -> "ShardedPlausibility":
        """Return p(true category | estimate, answers), computed by workers where it is asked for."""
        return ShardedPlausibility(self._work, tuple(parameters))


def largest_difference(shard: LabelShard, one: Parameters, other: Parameters) -> float:
    """Return the largest difference of the plausibilities of two pairs of prevalence and table."""
    patterns = shard.open()
    first, second = (pattern_plausibility(patterns, *parameters)[0] for parameters in (one, other))
    return float(np.abs(first - second).max(initial=0.0))


@dataclass(frozen=True)
class ShardedPlausibility:
    """Plausibilities of an estimate, computed by workers from its parameters."""

    work: LabelWork
    parameters: Parameters
    is_returned: bool = True  # to the caller; else workers write it

    def apart(self, other: "ShardedPlausibility") -> float:
        """Return the largest difference to another one."""
        return max(self.work.map(largest_difference, self.parameters, other.parameters))

    def collected(self) -> np.ndarray | None:
        """Return p(true category | estimate, answers), shape (item, category), unless workers write it."""
        if not self.is_returned:
            return None
        return np.concatenate([part for part, _ in self.work.map(plausibility, self.parameters)])


# --- Labels in files ---


KEPT_EVERY = 5  # iterations
MOST_NUMBERS = 100_000_000  # plausibilities of an estimate that a Dataset holds


class InFiles(InShards):
    """EM over labels in files that workers read and process."""

    def __init__(self, work: FileWork, out: "EmFolder | None", objective: Objective) -> None:
        super().__init__(work, objective)
        self._kept, self._number = None if out is None else KeptRuns(out.path), 0

    def plausibility(self, parameters: Any) -> ShardedPlausibility:
        """Return p(true category | estimate, answers), which workers write if there is a folder."""
        return replace(super().plausibility(parameters), is_returned=self._kept is None)

    def run(self, start: Callable[[], Counts], ended: Ended | None = None) -> EmRun[Any]:
        """Run EM, or go on with it, or return what a call before has found."""
        number, kept = self._number, self._kept
        self._number += 1
        if kept is None:
            return super().run(start, ended)
        found = kept.read(number)
        if isinstance(found, EmRun):
            return self.identified(found)
        expected, trace = found or (start(), [])

        def keep(expected: Counts, trace: list[float]) -> None:
            if len(trace) % KEPT_EVERY == 0:
                kept.write_state(number, expected, trace)

        result = self.iterated(expected, ended, trace, keep)
        kept.write_result(number, result)
        return self.identified(result)


def write_plausibilities(work: FileWork, parameters: Parameters, folder: Path) -> None:
    """Have the plausibilities written, a file for each file of labels, which are not written again."""
    labels, names = work.labels, work.labels.names
    if len({*names}) < len(names):
        names = tuple(f"{number}-{name}" for number, name in enumerate(names))
    tasks = (
        (shard, tuple(parameters), labels.categories, str(folder / name))
        for shard, name in zip(work.shards, names, strict=True)
    )
    for _ in work.workers.run(write_plausibility, tasks, work.named):
        pass


def write_plausibility(shard: LabelShard, parameters: Parameters, categories: np.ndarray, path: str) -> None:
    """Write p(true category | answers) of the items of a file, and the most plausible label, to Parquet."""
    if os.path.exists(path):
        return
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    own, _ = plausibility(shard, parameters)
    best = arrow.DictionaryArray.from_arrays(own.argmax(axis=1).astype(np.int32), categories.tolist())
    columns = {"item": np.load(shard.file("items")), "label": best.dictionary_decode()}
    columns |= {f"plausibility_{name}": own[:, k] for k, name in enumerate(categories.tolist())}
    partial = f"{path}.{uuid4().hex}"
    parquet.write_table(arrow.table(columns), partial, use_dictionary=["label"])
    os.replace(partial, path)


class KeptRuns:
    """Runs of EM in files, one for each start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, number: int) -> EmRun[Confusion] | tuple[Counts, list[float]] | None:
        """Return the result of a run; or, if it was stopped, its counts and trace; or None if it did not begin."""
        if not (file := self._file(number)).exists():
            return None
        note, arrays = read_journal(file)
        if "converged" not in note:
            return (arrays["categories"], arrays["counts"]), arrays["trace"].tolist()
        parameters = Confusion(arrays["prevalence"], arrays["table"])
        return EmRun(parameters, arrays["trace"], note["log_likelihood"], note["converged"])

    def write_state(self, number: int, counts: Counts, trace: list[float]) -> None:
        """Keep the expected counts after an iteration, from which the next one follows."""
        arrays = {"categories": counts[0], "counts": counts[1], "trace": np.array(trace)}
        write_journal(self._file(number), {}, arrays)

    def write_result(self, number: int, run: EmRun[Confusion]) -> None:
        """Keep the result of a run."""
        arrays = {**run.parameters._asdict(), "trace": run.trace}
        note = {"log_likelihood": float(run.log_likelihood), "converged": run.converged}
        write_journal(self._file(number), note, arrays)

    def _file(self, number: int) -> Path:
        return self._folder / f"run-{number}.npz"


class EmFolder:
    """Folder of a call of EM over files, with which the same call goes on."""

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)
        self._estimate = self.path / "estimate.npz"
        self._call = self.path / "call.json"

    def seed_of_call(self, arguments: Mapping[str, Any], random_seed: int | None) -> int:
        """Return the seed of the call, which is recorded; raise if the folder is of another one."""
        if self._call.exists():
            try:
                begun = dict(json.loads(self._call.read_text(encoding="utf-8")))
            except ValueError as problem:
                raise ValueError(f"{self._call} is damaged ({problem}); name another folder") from None
            ours = {
                **arguments,
                "random_seed": begun.get("random_seed", 0) if random_seed is None else random_seed,
            }
            for name, value in json.loads(json.dumps(ours)).items():
                if begun.get(name) != value:
                    raise ValueError(
                        f"{self.path} was begun with {name}={_brief(begun.get(name))}, not {_brief(value)}; ask for the same to "
                        "go on with it, or name another folder"
                    )
            return int(begun["random_seed"])
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise ValueError(
                f"{self.path} is no folder that this call has begun; name another folder, or an empty one"
            )
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if random_seed is None else random_seed
        self.path.mkdir(parents=True, exist_ok=True)
        partial = self._call.with_suffix(".partial")
        partial.write_text(json.dumps({**arguments, "random_seed": seed}, indent=1), encoding="utf-8")
        os.replace(partial, self._call)
        return seed

    def finished(self) -> xr.Dataset | None:
        """Return the result of a call that has come to its end, else None."""
        if not self._estimate.exists():
            return None
        note, arrays = read_journal(self._estimate)
        data, coords = (
            {name: (tuple(dims), arrays[name]) for name, dims in note[kind].items()}
            for kind in ("data", "coords")
        )
        return xr.Dataset(data, coords, note["attrs"])

    def finish(self, result: xr.Dataset) -> None:
        """Write the result, and remove what only a call that goes on needs."""
        data, coords = (
            {str(name): list(map(str, own.dims)) for name, own in variables.items()}
            for variables in (result.data_vars, result.coords)
        )
        arrays = {str(name): values.to_numpy() for name, values in result.variables.items()}
        write_journal(self._estimate, {"data": data, "coords": coords, "attrs": dict(result.attrs)}, arrays)
        shutil.rmtree(self.path / "shards", ignore_errors=True)
        for left in self.path.glob("run-*.npz"):
            left.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Context manager: no other process writes to the folder; a stop says how to go on."""
        advice = Advice(
            f"{self.path} keeps what was done",
            "the same call goes on with it",
            "the same command goes on with it",
        )
        lock = StoreLock(self.path / "lock", self.path)
        lock.acquire()
        try:
            with adviser(lambda: advice):
                yield
        finally:
            lock.release()
            if self._estimate.exists():
                (self.path / "lock").unlink(missing_ok=True)


def _brief(value: Any) -> str:
    """Return a value in few letters."""
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


@contextmanager
def opened_files(
    shards: LabelShards, executor: AnyExecutor, folder: str | Path | None, out: EmFolder | None
) -> Iterator[FileWork]:
    """Context manager: labels in files and their workers, in `out` if it is given."""
    with out.locked() if out else nullcontext():
        with file_work(shards, executor, folder, out.path / "shards" if out else None) as work:
            labels = work.labels
            if out:
                (out.path / "plausibility").mkdir(exist_ok=True)
            elif labels.n_items * len(labels.categories) > MOST_NUMBERS:
                raise ValueError(
                    f"the plausibilities of {labels.n_items:,} items are too many for one Dataset: pass out=, a folder to which "
                    "workers write them"
                )
            yield work
