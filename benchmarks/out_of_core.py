"""Labels in Parquet files, never one table: `python -m benchmarks.out_of_core estimate|line|workers [answers]`.

    estimate   10 answers to each item by 1,000 raters, two categories, a million answers a file: files to estimate by defaults,
               with the plausibilities of all items in Parquet; CPU seconds of all processes and the peak memory
    line       the same of 100,000 to 100 million answers, and the figure docs/out_of_core.svg
    workers    one estimate by threads, processes and workers of dask: CPU seconds, and whether the bits are the same

Files are simulated first, in a temporary folder which is removed. Every estimate is a process of its own, after compilation.
"""

import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

RATERS, EACH, OF_A_FILE = 1000, 10, 1_000_000
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
FIGURE = Path(__file__).parents[1] / "docs" / "out_of_core.svg"


def write_file(folder: Path, number: int, items: int) -> None:
    """Simulate a file of answers of raters who err by their own rates."""
    import pyarrow
    import pyarrow.parquet

    right = np.random.default_rng(0).beta(6, 2, (RATERS, 2))
    rng = np.random.default_rng([1, number])
    truth, item = (rng.random(items) < 0.4).astype(np.int64), np.repeat(np.arange(items), EACH)
    first, step = rng.integers(0, RATERS, items), 1 + rng.integers(0, RATERS // EACH, items)
    rater = ((first[:, None] + step[:, None] * np.arange(EACH)) % RATERS).ravel()
    label = truth[item] ^ (rng.random(len(item)) > right[rater, truth[item]])
    columns = {"item": number * (OF_A_FILE // EACH) + item, "rater": rater, "label": label}
    table = pyarrow.table({name: column.astype(np.int32) for name, column in columns.items()})
    pyarrow.parquet.write_table(table, folder / f"part-{number:05}.parquet")


def write_files(folder: Path, answers: int) -> None:
    """Simulate the files."""
    folder.mkdir()
    for number in range(-(-answers // OF_A_FILE)):
        write_file(folder, number, min(OF_A_FILE, answers - number * OF_A_FILE) // EACH)


def cpu() -> float:
    """CPU seconds of this process and of those that have ended."""
    return sum(
        own.ru_utime + own.ru_stime
        for own in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def estimate(folder: str) -> dict[str, float]:
    """Estimate from the files of a folder: CPU seconds, wall, peak memory in GB, starts and optima."""
    from raterzoo import inference, models

    warnings.simplefilter("ignore", inference.EstimateWarning)
    with tempfile.TemporaryDirectory(dir=folder) as small:
        write_files(Path(small, "few"), 10_000)
        few = models.LabelShards.from_parquet(Path(small, "few"))
        inference.dawid_skene_em(few, random_seed=1, out=Path(small, "out"))  # compiles
        before, start, begun = cpu(), time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        shards = models.LabelShards.from_parquet(Path(folder, "files"))
        found = inference.dawid_skene_em(shards, random_seed=1, out=Path(small, "all"))
        seconds, wall = cpu() - before, time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert len([*Path(small, "all", "plausibility").iterdir()]) == len(shards.files)
        return {
            "cpu": seconds, "wall": wall, "peak": peak / 1e6, "before": begun / 1e6, "iterations": found.attrs["iterations"],
            "starts": int(found["optimum_found"].sum()), "optima": found.sizes["optimum"],
        }  # fmt: skip


def measured(answers: int) -> dict[str, float]:
    """Simulate files, and estimate in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="raterzoo-files-") as folder:
        write_files(Path(folder, "files"), answers)
        size = sum(file.stat().st_size for file in Path(folder, "files").iterdir())
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            return {"disk": size / 1e9, **process.submit(estimate, folder).result()}


def told(answers: int) -> str:
    """Return the measured numbers in words."""
    own = measured(answers)
    return (
        f"{own['cpu']:.2f} CPU s, {own['wall']:.1f} s wall, {own['peak']:.2f} GB at the peak ({own['before']:.2f} before), "
        f"files of {own['disk']:.2f} GB; {own['starts']} starts, {own['optima']} optimum, {own['iterations']} iterations"
    )


def line() -> None:
    """Print a table of sizes, and draw it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    print(
        "| answers | CPU s | ns an answer | wall | peak of the process | iterations |\n|---|---|---|---|---|---|",
        flush=True,
    )
    found = []
    for answers in SIZES:
        own = measured(answers)
        found.append(own["cpu"])
        print(
            f"| {answers:,} | {own['cpu']:.2f} | {1e9 * own['cpu'] / answers:.0f} | {own['wall']:.1f} s | {own['peak']:.2f} GB | "
            f"{own['iterations']} |",
            flush=True,
        )
    slope, _ = np.polyfit(np.log(SIZES[2:]), np.log(found[2:]), 1)
    print(f"from a million answers on the cost grows as answers ** {slope:.2f}")
    figure, axis = plt.subplots(figsize=(5, 3.4), layout="constrained")
    axis.loglog(SIZES, found, "o-", color="C0", label="files to estimate and plausibilities")
    axis.loglog(
        SIZES, found[-1] * np.array(SIZES) / SIZES[-1], "--", color="0.6", label="proportional to answers"
    )
    axis.set(xlabel="answers", ylabel="CPU seconds")
    axis.legend(frameon=False)
    plt.rcParams["svg.hashsalt"] = "raterzoo"
    figure.savefig(FIGURE, metadata={"Date": None})


def on(executor: Any, folder: Path) -> tuple[Any, float]:
    """Estimate by an executor; return the result and CPU seconds of this process."""
    from raterzoo import inference, models

    warnings.simplefilter("ignore", inference.EstimateWarning)
    start = cpu()
    found = inference.dawid_skene_em(
        models.LabelShards.from_parquet(folder), executor=executor, random_seed=1
    )
    return found, cpu() - start


def workers(answers: int) -> None:
    """Compare the bits of an estimate by different workers."""
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory(prefix="raterzoo-files-") as name:
        folder = Path(name, "files")
        write_files(folder, answers)
        with ThreadPoolExecutor(2) as pool:
            first, seconds = on(pool, folder)
        print(f"{answers:,} answers by two threads: {seconds:.1f} CPU s")
        found, seconds = on(2, folder)
        print(f"two processes, the driver: {seconds:.1f} CPU s, same bits: {found.identical(first)}")
        own = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**own) as cluster, Client(cluster) as client:
            found, seconds = on(client, folder)
        print(f"two workers of dask, the driver: {seconds:.1f} CPU s, same bits: {found.identical(first)}")


if __name__ == "__main__":
    print(f"load before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores", flush=True)
    kind, wanted = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SIZES[-1]
    commands: dict[str, Callable[[], object]] = {
        "estimate": lambda: print(f"{wanted:,} answers: {told(wanted)}"),
        "line": line,
        "workers": lambda: workers(min(wanted, 3_000_000)),
    }
    commands[kind]()
