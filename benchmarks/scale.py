"""Many items and many labels on 1, 2 and 4 workers: `python -m benchmarks.scale items|labels|sweeps [how many]`.

Prints wall and CPU seconds, bytes, and the peak memory of the driver and of each worker. Efficiency by wall time is that of an
idle machine only; the CPU seconds of all processes together say what dividing the work costs on any.
"""

import functools
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from raterzoo import inference, models
from raterzoo.inference.scale.workers import initialise_worker

WORKERS = (1, 2, 4)
BUILD = functools.partial(models.plackett_luce, reliability=1)
DRAWS = {"draws": 100, "chains": 4, "tune": 100, "thin": 1, "random_seed": 1, "progressbar": False}


def usage() -> tuple[float, float]:
    """CPU seconds of this process, and its peak memory in GB."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime, own.ru_maxrss / 1e6


@contextmanager
def pool_of(count: int) -> Iterator[ProcessPoolExecutor]:
    """Context manager: processes as `executor=count` makes them."""
    with tempfile.TemporaryDirectory() as folder:
        with ProcessPoolExecutor(count, get_context("spawn"), initialise_worker, (folder,)) as pool:
            yield pool


def usages(pool: ProcessPoolExecutor) -> list[tuple[float, float]]:
    """CPU seconds of each process, and its peak memory in GB (Linux)."""
    return [usage_of(Path("/proc", str(pid))) for pid in pool._processes]


def usage_of(process: Path) -> tuple[float, float]:
    ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
    (peak,) = (row for row in (process / "status").read_text().splitlines() if row.startswith("VmHWM"))
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1e6


def bytes_in(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def measured(workers: ProcessPoolExecutor, run: Any) -> tuple[Any, float, float, float, float, float]:
    """Result, wall, CPU of the driver, CPU of the workers, peak of the driver, largest peak of a worker."""
    before, own = sum(cpu for cpu, _ in usages(workers)), usage()[0]
    start = time.perf_counter()
    result = run()
    wall = time.perf_counter() - start
    after = usages(workers)
    cpu, peak = sum(c for c, _ in after) - before, max(p for _, p in after)
    return result, wall, usage()[0] - own, cpu, usage()[1], peak


def told(kind: str, count: int, found: tuple) -> None:
    _, wall, driver, cpu, own, peak = found
    print(
        f"{kind}, {count} workers: wall {wall:.1f} s, CPU of workers {cpu:.1f} s, of the driver {driver:.1f} s; "
        f"peak of the driver {own:.2f} GB, of a worker {peak:.2f} GB",
        flush=True,
    )


def items(count: int) -> None:
    options = {"raters": 3, "categories": 20, "block_sizes": (1, 1, 2), "random_seed": 1}
    data = models.simulators.rankings(items=count, **options).data
    few = data.select(items=data.items[:64])
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    for workers in WORKERS:
        with pool_of(workers) as pool, tempfile.TemporaryDirectory() as folder:
            store = Path(folder)
            small = functools.partial(inference.scatter, BUILD, few, pool, shard=64 // workers // 2)
            small(store=store / "few.zarr", **DRAWS)  # starts the workers
            run = functools.partial(inference.scatter, BUILD, data, pool, store=store / "all.zarr")
            told(f"{count:,} items", workers, measured(pool, lambda run=run: run(**DRAWS)))
            print(f"    {bytes_in(store / 'all.zarr') / 1e9:.2f} GB in the store", flush=True)


def simulated(answers: int, raters: int, categories: int = 5, each: int = 5) -> models.Labels:
    rng = np.random.default_rng(1)
    n_items = answers // each
    truth, item = rng.integers(0, categories, n_items), np.repeat(np.arange(n_items), each)
    guess = rng.integers(0, categories, answers)
    label = np.where(rng.random(answers) < 0.6, truth[item], guess)
    table = {"item": item, "rater": rng.integers(0, raters, answers), "label": label}
    return models.Labels.from_table(table)


def labels(count: int) -> None:
    """EM: what shards find against what one process finds."""
    data = simulated(count, max(count // 1000, 10))
    print(f"{count:,} labels are {usage()[1]:.2f} GB at their peak, table included", flush=True)
    warnings.simplefilter("ignore", inference.EstimateWarning)
    options = {"restarts": 0, "max_iterations": 30}
    tables = {}
    for workers in WORKERS[::-1]:
        with pool_of(workers) as pool:
            run = functools.partial(inference.dawid_skene_em, data, executor=pool, **options)
            few = data.select(items=data.items[:1000])
            inference.dawid_skene_em(few, executor=pool, shards=workers * 2, restarts=0)
            found = measured(pool, run)
            told(f"EM of {count:,} labels, {found[0].attrs['iterations']} iterations", workers, found)
            tables[workers] = found[0][["prevalence", "confusion", "plausibility"]]
            del found
    assert all(tables[w].identical(tables[1]) for w in WORKERS), "the estimate depends on the workers"
    start, cpu = time.perf_counter(), usage()[0]
    whole = inference.dawid_skene_em(data, **options)
    wall, cpu = time.perf_counter() - start, usage()[0] - cpu
    print(f"one process, four threads: wall {wall:.1f} s, CPU {cpu:.1f} s, peak {usage()[1]:.2f} GB")
    for name, values in tables[1].data_vars.items():
        apart = float(np.abs(values.to_numpy() - whole[name].to_numpy()).max())
        print(f"    {name} differs by {apart:.1e}")
        assert apart < 1e-10


def sweeps(count: int) -> None:
    """Gibbs: one chain, few sweeps."""
    data = simulated(count, max(count // 1000, 10))
    options = {"draws": 10, "tune": 10, "chains": 1, "random_seed": 1, "progressbar": False}
    sums = set()
    for workers in WORKERS:
        with pool_of(workers) as pool, tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "all.zarr"
            run = functools.partial(inference.dawid_skene_gibbs, data, executor=pool, store=store, **options)
            few = data.select(items=data.items[:1000])
            inference.dawid_skene_gibbs(
                few, executor=pool, shards=workers * 2, store=store.with_name("few.zarr"), **options
            )
            found = measured(pool, run)
            told(f"Gibbs of {count:,} labels, 20 sweeps", workers, found)
            posterior = found[0]["posterior"]
            sums.add(posterior["plausibility"].isel(draw=-1).to_numpy().tobytes())
            print(f"    {bytes_in(store) / 1e9:.2f} GB in the store", flush=True)
    assert len(sums) == 1, "the draws depend on the workers"


if __name__ == "__main__":
    print(f"load before: {os.getloadavg()[0]:.1f}", flush=True)
    default = {"items": 100_000, "labels": 20_000_000, "sweeps": 20_000_000}
    kind = sys.argv[1]
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else default[kind]
    {"items": items, "labels": labels, "sweeps": sweeps}[kind](wanted)
