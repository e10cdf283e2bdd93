"""Workers and drivers that are killed at random times: `python -m benchmarks.kills pool|driver|dask [kills]`.

Draws of rankings are scattered while processes are killed by SIGKILL, each kill at a random time after a shard has come. The
store must be the same to the bit as `inference.sample` of all rankings at once. Prints the kills, and the seconds.
"""

import functools
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import xarray as xr
from raterzoo import inference, models

DRAWS = {"draws": 50, "chains": 2, "random_seed": 5, "progressbar": False}
LONGEST_WAIT = 0.5  # seconds between a shard and the kill
BUILD = functools.partial(models.plackett_luce, reliability=2)


def rankings(items: int) -> models.PartialRankings:
    options = {"raters": 3, "categories": 8, "block_sizes": (1, 2), "random_seed": 1}
    return models.simulators.rankings(items=items, **options).data


def at_once(data: models.PartialRankings) -> xr.DataTree:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)
        return inference.sample(BUILD(data), **DRAWS)


def scattered(data: models.PartialRankings, executor: object, store: Path) -> xr.DataTree:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)
        return inference.scatter(BUILD, data, executor, store=store, shard=1, **DRAWS)


def differences(one: xr.DataTree, other: xr.DataTree) -> list[str]:
    groups = set(one.children) | set(other.children)
    return [
        name
        for name in sorted(groups)
        if name not in one.children
        or name not in other.children
        or not one[name].to_dataset().identical(other[name].to_dataset())
    ]


def shards_of(store: Path) -> int:
    """Return when the journal of a store last changed: a shard has come."""
    try:
        return (store.with_name(store.name + ".journal") / "state.npz").stat().st_mtime_ns
    except FileNotFoundError:
        return 0


@contextmanager
def killing(pids: Callable[[], list[int]], store: Path, most: int) -> Iterator[list[int]]:
    """Kill one of some processes at a random time after each shard that comes, while the block runs."""
    rng, killed, end = random.Random(1), [], threading.Event()

    def run() -> None:
        last = 0
        while not end.wait(0.02) and len(killed) < most:
            if (now := shards_of(store)) == last:
                continue
            end.wait(rng.uniform(0, LONGEST_WAIT))
            last = now
            if not end.is_set() and (there := pids()):
                chosen = rng.choice(there)
                try:
                    os.kill(chosen, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                killed.append(chosen)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield killed
    finally:
        end.set()
        thread.join()


def kill_pool(data: models.PartialRankings, store: Path, kills: int) -> tuple[xr.DataTree, int]:
    from raterzoo.inference.parallel.processes import Processes

    with Processes(2) as workers, killing(lambda: workers.pids, store, kills) as killed:
        tree = scattered(data, workers, store)
    return tree, len(killed)


def kill_dask(data: models.PartialRankings, store: Path, kills: int) -> tuple[xr.DataTree, int]:
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        cluster.adapt(
            minimum=2, maximum=2, interval="1s"
        )  # in place of one that did not start again

        def pids() -> list[int]:
            """Processes that work: a nanny gives up one that is killed while it starts."""
            nannies = [nanny for nanny in cluster.workers.values() if nanny.process]
            return [n.pid for n in nannies if n.pid and n.process.status.name == "running"]

        with killing(pids, store, kills) as killed:
            tree = scattered(data, client, store)
    return tree, len(killed)


def kill_driver(data: models.PartialRankings, store: Path, kills: int) -> tuple[xr.DataTree, int]:
    killed = 0
    while killed < kills:
        command = [sys.executable, __file__, "child", str(len(data.items)), str(store)]
        child = subprocess.Popen(command)
        with killing(lambda child=child: [child.pid] * (child.poll() is None), store, 1) as done:
            status = child.wait()
        killed += len(done)
        if status == 0:
            break
    return scattered(data, 2, store), killed


def main(kind: str, kills: int, items: int) -> None:
    data = rankings(items)
    whole = at_once(data)
    run = {"pool": kill_pool, "dask": kill_dask, "driver": kill_driver}[kind]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        tree, killed = run(data, Path(folder) / "draws.zarr", kills)
        seconds = time.perf_counter() - started
        wrong = differences(whole, tree)
        tree.close()
    print(
        f"{kind}: {killed} kills, {items} shards of one item, {seconds:.0f} s; differing groups: {wrong}"
    )
    assert not wrong


if __name__ == "__main__":
    if sys.argv[1] == "child":
        scattered(rankings(int(sys.argv[2])), 2, Path(sys.argv[3]))
    else:
        wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 100
        main(sys.argv[1], wanted, int(sys.argv[3]) if len(sys.argv) > 3 else 2 * wanted)
