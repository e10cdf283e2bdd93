"""Cost of crash-safe stores, and exact resume of killed runs: `python -m benchmarks.storage --help`.

`cost` compares a run with a store with one in memory, on the data of dermatology.py: CPU and wall seconds of both, after
compilation; both must draw the same bits.

`read` compares reading all of a posterior with checksums and the same posterior without, as zarr and as netCDF: the least CPU
seconds of pairs in turn, files in the page cache, where nothing hides the cost of checksums.

`pool`, `driver` and `dask` scatter draws of rankings while processes are killed by SIGKILL, each a random time after a shard is
written. The store must equal `inference.sample` of all rankings at once to the bit. Prints the kills, and the seconds.
"""

import argparse
import functools
import gc
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
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import xarray as xr
from raterzoo import inference, models

ROOT = Path(__file__).parents[1]
DRAWS = {"draws": 50, "chains": 2, "random_seed": 5, "progressbar": False}
LONGEST_WAIT = 0.5  # seconds between a shard and the kill
BUILD = functools.partial(models.plackett_luce, reliability=2)


def cost(draws: int) -> None:
    """Compare a run with a store with the same run in memory."""
    from benchmarks.dermatology import QUIET, measured, read

    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    model = models.plackett_luce(read(), reliability=3)
    inference.sample(model, draws=2, tune=1, thin=1, **QUIET)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "run.zarr"
        sample = functools.partial(inference.sample, model, draws=draws, **QUIET)
        stored = measured(f"{draws} draws of 4 chains, to a store", lambda: sample(store=store))
        memory = measured(f"{draws} draws of 4 chains, in memory", sample)
        for group in ("posterior", "log_likelihood", "log_prior"):
            for name, array in memory[group].data_vars.items():
                same = np.array_equal(array, stored[group][name], equal_nan=True)
                assert same, f"{group}/{name} differs"
        size = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        print(f"the store has {size / 2**20:,.0f} MiB")


def read(pairs: int) -> None:
    """Compare reading a posterior with checksums and without."""
    from raterzoo.inference.storage.posterior_files import has_checksums, read_posterior, write_posterior

    def seconds(path: Path) -> float:
        gc.collect()
        started = time.process_time()
        tree = read_posterior(path).load()
        used = time.process_time() - started
        tree.close()
        return used

    warnings.simplefilter("ignore")  # so few draws have not converged
    labels = models.simulators.labels(items=2_000, raters=50, categories=6, random_seed=1).data
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "own.zarr"
        inference.sample(
            models.dawid_skene(labels), store=own, draws=500, thin=1, random_seed=1, progressbar=False
        )
        netcdf, bare, bare_netcdf = (
            own.with_suffix(".nc"),
            Path(folder) / "bare.zarr",
            Path(folder) / "bare.nc",
        )
        write_posterior(read_posterior(own), netcdf)
        draws = read_posterior(own).load().map_over_datasets(lambda group: group.drop_encoding())
        draws.to_zarr(bare, consolidated=False)
        draws.to_netcdf(bare_netcdf, engine="h5netcdf")
        for whole, other in ((own, bare), (netcdf, bare_netcdf)):
            assert has_checksums(read_posterior(whole)) and not has_checksums(read_posterior(other))
            size = sum(f.stat().st_size for f in [whole, *whole.rglob("*")] if f.is_file()) / 2**20
            times = np.array([[seconds(path) for path in (whole, other)] for _ in range(pairs + 1)])[1:]
            checked, bare_seconds = times.min(axis=0)  # what else runs only adds
            print(
                f"{whole.suffix}, {size:,.0f} MiB: {checked:.2f} CPU s with checksums, {bare_seconds:.2f} without, "
                f"{checked / bare_seconds - 1:+.0%}; medians {np.median(times[:, 0]):.2f} and {np.median(times[:, 1]):.2f}"
            )


def rankings(items: int) -> models.PartialRankings:
    options = {"raters": 3, "categories": 8, "block_sizes": (1, 2), "random_seed": 1}
    return models.simulators.rankings(items=items, **options).data


def at_once(data: models.PartialRankings) -> xr.DataTree:
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        return inference.sample(BUILD(data), **DRAWS)


def scattered(data: models.PartialRankings, executor: object, store: Path) -> xr.DataTree:
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
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
    killed = 0
    while True:  # a killed process ends the call, which is made again
        with killing(lambda: [p.pid for p in active_children() if p.pid], store, kills - killed) as done:
            try:
                return scattered(data, 2, store), killed + len(done)
            except RuntimeError:
                killed += len(done)


def kill_dask(data: models.PartialRankings, store: Path, kills: int) -> tuple[xr.DataTree, int]:
    import dask
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    dask.config.set({"distributed.scheduler.allowed-failures": kills})  # of workers with one task
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        cluster.adapt(minimum=2, maximum=2, interval="1s")  # in place of one that did not start again

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
        own = ("child", str(len(data.items)), str(store))
        child = subprocess.Popen([sys.executable, "-m", "benchmarks.storage", *own], cwd=ROOT)
        with killing(lambda child=child: [child.pid] * (child.poll() is None), store, 1) as done:
            status = child.wait()
        killed += len(done)
        if status == 0:
            break
    return scattered(data, 2, store), killed


def kill(kind: str, kills: int, items: int) -> None:
    """Scatter draws while processes are killed, and compare the store with one run."""
    data = rankings(items)
    whole = at_once(data)
    run = {"pool": kill_pool, "dask": kill_dask, "driver": kill_driver}[kind]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        tree, killed = run(data, Path(folder) / "draws.zarr", kills)
        seconds = time.perf_counter() - started
        wrong = differences(whole, tree)
        tree.close()
    print(f"{kind}: {killed} kills, {items} shards of one item, {seconds:.0f} s; differing groups: {wrong}")
    assert not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.storage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="cost|read|pool|driver|dask")
    own = commands.add_parser("cost", help="seconds of a run with a store and in memory")
    own.add_argument("--draws", type=int, default=1000)
    own = commands.add_parser("read", help="CPU seconds of reading with checksums and without")
    own.add_argument("pairs", type=int, nargs="?", default=12)
    for name, killed in (("pool", "workers"), ("driver", "the driver"), ("dask", "dask workers")):
        own = commands.add_parser(name, help=f"kill {killed} at random times")
        own.add_argument("kills", type=int, nargs="?", default=100)
        own.add_argument("items", type=int, nargs="?", help="shards of one item; twice the kills")
    own = commands.add_parser("child")  # the driver that `driver` kills
    own.add_argument("items", type=int)
    own.add_argument("store", type=Path)
    asked = parser.parse_args()
    if asked.command == "cost":
        cost(asked.draws)
    elif asked.command == "read":
        read(asked.pairs)
    elif asked.command == "child":
        scattered(rankings(asked.items), 2, asked.store)
    else:
        kill(asked.command, asked.kills, asked.items or 2 * asked.kills)
