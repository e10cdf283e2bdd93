"""Cost of ten million answers: `python -m benchmarks.size [answers]`; beside crowd-kit where it is installed.

Binary answers of 1,000 raters, ten for each item, read from a frame in memory and estimated by defaults. Every row is a process
of its own, after compilation; the memory is that of the whole process with its frame.
"""

import resource
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np

RATERS, EACH = 1000, 10
RECORDED = "not installed; 10.6 CPU s where it was"  # of ten million answers
FRAMES = [
    ("pandas", "integers", "sorted"),
    ("pandas", "integers", "shuffled"),
    ("pandas", "text", "shuffled"),
    ("polars", "integers", "shuffled"),
    ("polars", "text", "shuffled"),
    ("pyarrow", "integers", "shuffled"),
    ("pyarrow", "text", "shuffled"),
]


def answers(n: int, kind: str, order: str) -> dict[str, np.ndarray]:
    """Simulate columns item, rater and label of raters who err by their own rates."""
    rng = np.random.default_rng(1)
    items = n // EACH
    truth, right = rng.random(items) < 0.4, rng.beta(6, 2, (RATERS, 2))
    item = np.repeat(np.arange(items), EACH)
    first, step = rng.integers(0, RATERS, items), 1 + rng.integers(0, RATERS // EACH, items)
    rater = ((first[:, None] + step[:, None] * np.arange(EACH)) % RATERS).ravel()
    label = (truth[item] ^ (rng.random(len(item)) > right[rater, truth[item].astype(int)])).astype(np.int64)
    columns = {"item": item, "rater": rater, "label": label}
    if order == "shuffled":
        rows = rng.permutation(len(item))
        columns = {name: column[rows] for name, column in columns.items()}
    if kind == "text":
        columns = {name: np.char.add(name[0], column.astype("U7")) for name, column in columns.items()}
    return columns


def frame_of(library: str, columns: dict[str, np.ndarray]) -> Any:
    """Make a frame of a library, which alone is imported."""
    if library == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if library == "polars":
        import polars

        return polars.DataFrame(columns)
    import pyarrow

    return pyarrow.table(columns)


def cpu(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and its CPU seconds."""
    start = time.process_time()
    return run(), time.process_time() - start


def reading(n: int, library: str, kind: str, order: str) -> str:
    """Time a frame to codes."""
    from raterzoo.models import Labels

    frame = frame_of(library, answers(n, kind, order))
    Labels.from_table(frame[: 10 * EACH])
    _, seconds = cpu(lambda: Labels.from_table(frame))
    return f"{seconds:.2f} CPU s"


def estimate(n: int) -> str:
    """Time a frame to the estimate of Dawid and Skene's model by EM."""
    from raterzoo import inference, models

    columns = answers(n, "integers", "sorted")
    frame = frame_of("pandas", columns)
    warnings.simplefilter("ignore", inference.EstimateWarning)
    inference.dawid_skene_em(models.Labels.from_table(frame[:1000]))  # compiles
    labels, read = cpu(lambda: models.Labels.from_table(frame))
    found, drawn = cpu(lambda: inference.dawid_skene_em(labels, random_seed=1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    said = f"{read + drawn:.2f} CPU s (reading {read:.2f}, EM {drawn:.2f}), {peak:.2f} GB"
    return f"{said}; {int(found['optimum_found'].sum())} starts, {found.sizes['optimum']} optimum"


def peer(n: int) -> str:
    """Time crowd-kit from the same frame."""
    if not find_spec("crowdkit"):
        return RECORDED
    from crowdkit.aggregation import DawidSkene

    frame = frame_of("pandas", answers(n, "integers", "sorted"))
    named = frame.rename(columns={"item": "task", "rater": "worker"})
    _, seconds = cpu(lambda: DawidSkene().fit(named))
    return f"{seconds:.2f} CPU s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def row(what: str, function: Callable[..., str], *arguments: Any, limit: str = "") -> None:
    """Print a row, measured in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        measured = process.submit(function, *arguments).result()
    print(f"| {what} | {measured} | {limit} |", flush=True)


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(f"| {n:,} binary answers of {RATERS:,} raters | measured | limit |\n|---|---|---|")
    for library, kind, order in FRAMES:
        limit = "1.2 CPU s" if kind == "integers" else ""
        row(f"{library} frame to codes, {kind}, {order}", reading, n, library, kind, order, limit=limit)
    row("frame to estimate by defaults", estimate, n, limit="2.5 CPU s, 1.5 GB")
    row("the same by crowd-kit", peer, n)
