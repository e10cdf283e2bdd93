"""Waiting times: `python -m benchmarks.start commands`, `... first-fit [model ...]`, `... first-label`.

`commands` prints wall seconds of whole processes before the first answer, the best of three with filled compile caches.

`first-fit` fits each model by its first method to a small table in fresh processes: once with empty caches of compiled code, once
with the filled caches, and there a second time, when all is compiled and loaded. CPU seconds of the process and its children.

`first-label` installs raterzoo's wheel and crowd-kit, each in a fresh virtual environment, and times a small table to its labels
there: CPU seconds, with wheels of dependencies from uv's cache.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(sys.executable).parent
IMPORT = "from raterzoo import models, inference, evaluation"
COMMANDS = [
    ([HERE / "python", "-c", IMPORT], "limit .3 s"),
    ([HERE / "raterzoo", "--help"], "limit .5 s"),
    ([HERE / "raterzoo", "demo"], "limit 30 s"),
]
DRAWS = {"draws": 1000, "chains": 4, "random_seed": 1, "progressbar": False}  # as many as by default


def best_seconds(command: list[Any]) -> float:
    """Return the wall seconds of a command, the best of three after one that fills the caches."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for _ in range(4):
            start = time.perf_counter()
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            found.append(time.perf_counter() - start)
    return min(found[1:])


def measure_commands() -> None:
    """Print the wall seconds of the commands."""
    for command, limit in COMMANDS:
        what = " ".join([command[0].name, *command[1:]])
        print(f"{what:64s} wall {best_seconds(command):6.2f} s   {limit}")


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def annotations(name: str) -> Any:
    """A small table for a model, of raters who are of a family where the model asks for it."""
    from raterzoo import models

    simulate, kind = models.simulators, models.catalog[name].data
    if kind == "rankings":
        return simulate.rankings(items=20, block_sizes=(1, 2), random_seed=1).data
    if kind == "comparisons":
        return simulate.comparisons(items=10, raters=4, degree=6, tie=1.0, random_seed=1).data
    if kind == "scores":
        return simulate.scores(items=20, raters=4, random_seed=1).data
    law = {"model": name} if "groups" in models.catalog[name].options else {}
    return simulate.labels(items=50, raters=5, categories=3, random_seed=1, **law).data


def fit(name: str) -> None:
    """Fit one model twice, and print what it took."""
    warnings.simplefilter("ignore")  # so few draws may not have converged
    from raterzoo import inference, models

    marks = [0.0]
    import pymc as pm  # noqa: F401

    marks.append(cpu_seconds())
    model = getattr(models, name)(annotations(name))
    marks.append(cpu_seconds())
    for _ in range(2):
        tree = inference.sample(model, **DRAWS)
        marks.append(cpu_seconds())
    steps = [later - before for before, later in pairwise(marks)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps([tree.attrs["method"], *steps, peak]))


def fitted(name: str, caches: str) -> list[Any]:
    """Fit one model in a fresh process that keeps what it compiles in a folder."""
    flags = f"base_compiledir={caches}/pytensor"
    environment = os.environ | {"NUMBA_CACHE_DIR": f"{caches}/numba", "PYTENSOR_FLAGS": flags}
    command = [sys.executable, __file__, "fit", name]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def measure_first_fits(names: list[str]) -> None:
    """Print a table of the first and second fits of models."""
    from raterzoo import models

    print(
        "| model | method | importing | building | first fit, nothing kept | first fit, caches filled | second fit | peak |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in names or list(models.catalog):
        with tempfile.TemporaryDirectory() as caches:
            cold, warm = fitted(name, caches), fitted(name, caches)
        method, importing, building, first, second, peak = warm
        cells = [importing, building, cold[3], first, second]
        row = " | ".join(f"{seconds:.1f} s" for seconds in cells)
        print(f"| {name} | {method} | {row} | {peak:.0f} MB |", flush=True)


LIMIT = 1.5  # times crowd-kit
SMALL_TABLE = """
import numpy as np, pandas as pd
rng = np.random.default_rng(1)
truth = rng.integers(0, 2, 100)
item, rater = (a.ravel() for a in np.meshgrid(range(100), range(5), indexing="ij"))
label = truth[item] ^ (rng.random(500) < 0.2)
"""
FIRST_LABELS = {
    "raterzoo": """
from raterzoo import inference, models
frame = pd.DataFrame({"item": item, "rater": rater, "label": label})
found = inference.dawid_skene_em(models.Labels.from_table(frame), random_seed=1)
print(found["plausibility"].argmax("category").values[:5])
""",
    "crowd-kit": """
from crowdkit.aggregation import DawidSkene
frame = pd.DataFrame({"task": item, "worker": rater, "label": label})
print(DawidSkene().fit_predict(frame).values[:5])
""",
}


def measure_first_labels() -> None:
    """Print what it takes to install a package, and a small table to its labels, the first time and later."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        source = f"{folder}/source"  # a clone, where building leaves its files
        subprocess.run(["git", "clone", "--quiet", str(Path(__file__).parents[1]), source], check=True)
        subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", folder, source], check=True)
        wheel = str(*Path(folder).glob("*.whl"))
        first_label("crowd-kit", "crowd-kit")  # fills uv's cache and that of the files
        for name in FIRST_LABELS:
            found[name] = first_label(name, wheel if name == "raterzoo" else name)
    (own, own_size), (peer, peer_size) = found["raterzoo"], found["crowd-kit"]
    print("| what | measured | peer or limit | ratio |\n|---|---|---|---|")
    steps = ("installation", "500 answers to labels, first run", "the same, later runs")
    rows = [
        *zip(steps, own, peer, strict=True),
        (f"installation and first run (limit {LIMIT})", *map(sum, (own[:2], peer[:2]))),
    ]
    for what, ours, theirs in rows:
        print(f"| {what} | {ours:.1f} CPU s | crowd-kit {theirs:.1f} CPU s | {ours / theirs:.2f} |")
    print(
        f"| on disk | {own_size / 1e9:.2f} GB | crowd-kit {peer_size / 1e9:.2f} GB | {own_size / peer_size:.2f} |"
    )


def first_label(name: str, what: str) -> tuple[list[float], int]:
    """Install a package in a fresh virtual environment, and run its script twice.

    Returns CPU seconds of the installation, of the first run and of a later one, and bytes on disk.
    """
    with tempfile.TemporaryDirectory() as folder:
        python = f"{folder}/venv/bin/python"
        caches = {"NUMBA_CACHE_DIR": f"{folder}/numba", "PYTENSOR_FLAGS": f"base_compiledir={folder}/own"}
        run = [python, "-P", "-c", SMALL_TABLE + FIRST_LABELS[name]]
        subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, f"{folder}/venv"], check=True)
        taken = []
        for command in (["uv", "pip", "install", "--quiet", "--python", python, what], run, run):
            before = cpu_seconds()
            subprocess.run(command, env=os.environ | caches, check=True, capture_output=True)
            taken.append(cpu_seconds() - before)
        size = sum(file.stat().st_size for file in Path(folder, "venv").rglob("*") if file.is_file())
    return taken, size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.start",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = parser.add_subparsers(dest="part", required=True, metavar="commands|first-fit|first-label")
    parts.add_parser("commands", help="wall seconds of whole processes")
    parts.add_parser("first-label", help="installation, and a small table to its labels, beside crowd-kit")
    own = parts.add_parser("first-fit", help="CPU seconds of the first fits")
    own.add_argument("models", nargs="*", help="all of the catalog by default")
    parts.add_parser("fit").add_argument("model")  # a fresh process of `first-fit`
    asked = parser.parse_args()
    if asked.part == "commands":
        measure_commands()
    elif asked.part == "first-label":
        measure_first_labels()
    elif asked.part == "fit":
        fit(asked.model)
    else:
        measure_first_fits(asked.models)
