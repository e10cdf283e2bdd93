"""Cost of ten million answers: `python -m benchmarks.size [answers] [--only TEXT] [--figure]`, with peers that are installed.

Binary answers of 1,000 raters, ten for each item, read from a frame in memory and estimated by defaults; then rankings, votes,
scores, spammers, metrics and the installation. Every row is a process of its own, after compilation; the memory is that of the
whole process with its frame. `--only` prints rows by their name. Fewer answers make all rows smaller that have a size.
`--figure` measures EM from 100,000 to `answers` answers, and Gibbs to a tenth of them, and draws docs/linear_cost.svg.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.size_rows import EACH, RATERS, Row, answers, cpu, further_rows, peak

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)  # of the figure
DOCS = Path(__file__).parents[1] / "docs"
FIGURE, SCALE_PAGE = DOCS / "linear_cost.svg", DOCS / "scale.md"
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


def reading(n: int, library: str, kind: str, order: str) -> str:
    """Time a frame to codes."""
    from raterzoo.models import Labels

    frame = frame_of(library, answers(n, kind, order))
    Labels.from_table(frame[: 10 * EACH])
    _, seconds = cpu(lambda: Labels.from_table(frame))
    return f"{seconds:.2f} CPU s"


def em(n: int) -> tuple[float, float, Any]:
    """Return CPU seconds from a frame to codes and from codes to the estimate of Dawid and Skene's model, and the estimate."""
    from raterzoo import inference, models

    columns = answers(n, "integers", "sorted")
    frame = frame_of("pandas", columns)
    warnings.simplefilter("ignore", inference.EstimateWarning)
    inference.dawid_skene_em(models.Labels.from_table(frame[:1000]))  # compiles
    labels, read = cpu(lambda: models.Labels.from_table(frame))
    found, drawn = cpu(lambda: inference.dawid_skene_em(labels, random_seed=1))
    return read, drawn, found


def estimate(n: int) -> str:
    """Time a frame to the estimate of Dawid and Skene's model by EM."""
    read, drawn, found = em(n)
    said = f"{read + drawn:.2f} CPU s (reading {read:.2f}, EM {drawn:.2f}), {peak():.2f} GB"
    return f"{said}; {int(found['optimum_found'].sum())} starts, {found.sizes['optimum']} optimum"


def seconds_of_estimate(n: int) -> float:
    """Return the CPU seconds of a frame to the estimate."""
    read, drawn, _ = em(n)
    return read + drawn


def peer(n: int) -> str:
    """Time crowd-kit from the same frame."""
    if not find_spec("crowdkit"):
        return RECORDED
    from crowdkit.aggregation import DawidSkene

    frame = frame_of("pandas", answers(n, "integers", "sorted"))
    named = frame.rename(columns={"item": "task", "rater": "worker"})
    _, seconds = cpu(lambda: DawidSkene().fit(named))
    return f"{seconds:.2f} CPU s, {peak():.2f} GB"


def gibbs(n: int) -> tuple[float, Any, Any]:
    """Return CPU seconds from a frame to the certainty of every item by Gibbs, 4 x 500 draws; the posterior, the certainties."""
    from raterzoo import evaluation, inference, models

    frame = frame_of("pandas", answers(n, "integers", "sorted"))
    warnings.simplefilter(
        "ignore", inference.CostWarning
    )  # that not all draws are kept, and how long it takes
    quiet: dict[str, Any] = {"draws": 500, "random_seed": 1, "progressbar": False, "cores": 2}
    few = models.dawid_skene(models.Labels.from_table(frame[:1000]))
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        for keep in ("thinned", "all"):
            inference.sample(few, keep=keep, **quiet | {"draws": 20})  # compiles
    labels, read = cpu(lambda: models.Labels.from_table(frame))
    tree, drawn = cpu(lambda: inference.sample(models.dawid_skene(labels), **quiet))
    found, told = cpu(lambda: evaluation.truth_certainty(tree))
    return read + drawn + told, tree, found


def posterior(n: int) -> str:
    """Time a frame to the certainty of every item by the Gibbs posterior of Dawid and Skene's model, 4 x 500 draws."""
    from raterzoo import inference

    seconds, tree, found = gibbs(n)
    sure = float(found["certainty"].mean())
    verdict = inference.diagnose(tree).attrs["verdict"].partition(" over")[0]
    return f"{seconds / 60:.1f} CPU minutes, {peak():.2f} GB; mean certainty {sure:.3f}; {verdict}"


def seconds_of_posterior(n: int) -> float:
    """Return the CPU seconds of a frame to the certainty of every item."""
    return gibbs(n)[0]


def dermatology() -> str:
    """Time `raterzoo report` of the dermatology set with predictions of four classifiers, by defaults."""
    import pandas as pd

    folder = os.environ.get("RATERZOO_DATA")
    if not folder:
        return "RATERZOO_DATA is not set"
    frame = pd.read_csv(Path(folder) / "dermatology_ddx_long.csv")
    table = pd.DataFrame(
        {
            "item": frame["case"],
            "rater": frame["reader"],
            "category": frame["condition"],
            "rank": frame["block"] + 1,
        }
    )
    rng, cases = np.random.default_rng(1), table["item"].unique()
    guesses = pd.DataFrame(
        [
            (name, case, category, place)
            for name in "ABCD"
            for case in cases
            for place, category in enumerate(rng.choice(419, 3, replace=False), 1)
        ],
        columns=["classifier", "item", "category", "rank"],
    )
    with TemporaryDirectory() as own:
        paths = [f"{own}/{name}.csv" for name in ("annotations", "predictions", "categories")]
        table.to_csv(paths[0], index=False)
        guesses.to_csv(paths[1], index=False)
        Path(f"{own}/categories.txt").write_text("\n".join(map(str, range(419))))
        asked = ["--kind", "rankings", "--categories", f"{own}/categories.txt"]
        few = [f"{own}/few.csv", f"{own}/guesses.csv"]
        table[table["item"].isin(cases[:20])].to_csv(few[0], index=False)
        guesses[guesses["item"].isin(cases[:20])].to_csv(few[1], index=False)
        raterzoo = [str(Path(sys.executable).with_name("raterzoo")), "report"]
        # bytecode is kept, as by default, so that the second run compiles no source
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        how: dict[str, Any] = {"check": True, "capture_output": True, "env": kept}
        subprocess.run([*raterzoo, *few, *asked, "--out", f"{own}/few"], **how)  # compiles
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*raterzoo, *paths[:2], *asked, "--out", f"{own}/out"], **how)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = sum(file.stat().st_size for file in Path(own, "out").rglob("*")) / 1e6
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{seconds:.0f} CPU s, {after.ru_maxrss / 1e6:.2f} GB, {size:.0f} MB on disk"


def ranked_items(n: int, keep: str) -> str:
    """Time ranked items from their table to the numbers of a report, by two threads; a million are multiplied from `n`."""
    from concurrent.futures import ThreadPoolExecutor
    from functools import partial

    from raterzoo import inference, models

    options: dict[str, Any] = {"raters": 5, "categories": 500, "block_sizes": (1,) * 5, "random_seed": 1}
    data = models.simulators.rankings(items=n, **options).data
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    asked: dict[str, Any] = {"keep": keep, "random_seed": 1, "progressbar": False}
    build = partial(models.plackett_luce, reliability=1)
    with TemporaryDirectory() as own, ThreadPoolExecutor(2) as threads:
        few = data.select(items=data.items[:16])
        inference.scatter(build, few, threads, store=f"{own}/few.zarr", **asked)  # compiles
        _, seconds = cpu(lambda: inference.scatter(build, data, threads, store=f"{own}/run.zarr", **asked))
        size = sum(file.stat().st_size for file in Path(own, "run.zarr").rglob("*") if file.is_file())
    hours, gigabytes = seconds * 1e6 / n / 3600, size / n * 1e6 / 1e9
    return (
        f"{n:,} items: {1e3 * seconds / n:.1f} CPU ms and {size / n / 1e3:.1f} kB an item; a million: {hours:.1f} core-hours, "
        f"{gigabytes:.1f} GB on disk"
    )


def in_files(n: int) -> str:
    """Time Parquet files to the estimate and Parquet files of plausibilities."""
    from benchmarks.out_of_core import told

    return told(n)


def apart[Result](function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


def row(what: str, function: Callable[..., str], *arguments: Any, limit: str = "") -> None:
    """Print a row, measured in a process of its own."""
    measured = apart(function, *arguments)
    print(f"| {what} | {measured} | {limit} |", flush=True)


def rows(n: int) -> list[Row]:
    """Return what is measured of `n` answers: what it is, function, arguments, limit."""
    own = [
        (
            f"{library} frame to codes, {kind}, {order}",
            reading,
            (n, library, kind, order),
            "1.2 CPU s" if kind == "integers" else "",
        )
        for library, kind, order in FRAMES
    ]
    return [
        *own,
        ("frame to estimate by defaults", estimate, (n,), "2.5 CPU s, 1.5 GB"),
        ("the same by crowd-kit", peer, (n,), ""),
        ("the same to the certainty of every item, Gibbs, 4 x 500", posterior, (n,), "15 CPU minutes, 4 GB"),
        (
            "ranked items, 4 x 1,000 draws, keep='summary'",
            ranked_items,
            (max(50, min(2_000, n // 500)), "summary"),
            "4 core-hours, 20 GB",
        ),
        ("dermatology: files to report with predictions", dermatology, (), "50 CPU s, 1.5 GB, 120 MB"),
        *further_rows(n),
        (
            f"{10 * n:,} answers in Parquet files to plausibilities in Parquet",
            in_files,
            (10 * n,),
            "40 CPU s, 8 GB",
        ),
    ]


def recorded() -> dict[int, float]:
    """Return the CPU seconds of files to plausibilities by number of answers, as docs/scale.md records them."""
    found = re.findall(
        r"^\| ([\d,]+) \| ([\d.]+) \| \d+ \| [\d.]+ s \|", SCALE_PAGE.read_text(), re.MULTILINE
    )
    return {int(answers.replace(",", "")): float(seconds) for answers, seconds in found}


def lines(largest: int) -> dict[str, dict[int, float]]:
    """Measure CPU seconds by number of answers, and add what is recorded of files."""
    sizes = [size for size in SIZES if size <= largest]
    found: dict[str, dict[int, float]] = {}
    for name, function, most in (
        ("frame to estimate, EM", seconds_of_estimate, largest),
        ("frame to certainties, Gibbs", seconds_of_posterior, largest // 10),
    ):
        found[name] = {}
        for size in [size for size in sizes if size <= most]:
            found[name][size] = apart(function, size)
            print(f"| {name} | {size:,} | {found[name][size]:.2f} |", flush=True)
    return found | {"files to plausibilities, EM, as recorded": recorded()}


def draw(found: dict[str, dict[int, float]]) -> None:
    """Draw CPU seconds against answers beside lines proportional to answers, and print the growth from a million answers on."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "raterzoo"
    figure, axis = plt.subplots(figsize=(5, 3.6), layout="constrained")
    for color, (name, seconds) in enumerate(found.items()):
        sizes, values = np.array([*seconds]), np.array([*seconds.values()])
        axis.loglog(sizes, values, "o-", color=f"C{color}", label=name)
        axis.loglog(sizes, values[-1] * sizes / sizes[-1], ":", color=f"C{color}")
        if (large := sizes >= 1_000_000).sum() > 1:
            slope = np.polyfit(np.log(sizes[large]), np.log(values[large]), 1)[0]
            print(f"{name}: from a million answers on as answers ** {slope:.2f}")
    axis.set(xlabel="answers", ylabel="CPU seconds")
    axis.legend(frameon=False, fontsize="small")
    figure.savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("answers", type=int, nargs="?", default=10_000_000)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    parser.add_argument("--figure", action="store_true", help="measure sizes and draw docs/linear_cost.svg")
    asked = parser.parse_args()
    if asked.figure:
        print("| what | answers | CPU s |\n|---|---|---|")
        draw(lines(asked.answers))
        raise SystemExit
    print(f"| {asked.answers:,} binary answers of {RATERS:,} raters | measured | limit |\n|---|---|---|")
    for what, function, arguments, limit in rows(asked.answers):
        if asked.only in what:
            row(what, function, *arguments, limit=limit)
