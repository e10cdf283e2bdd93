"""One page of all costs: `python -m benchmarks.speed [start] [first_fit] [memory] [NAME ...]` writes docs/speed.md.

The parts that are named are measured anew, the others taken from the last time; figures against peers are collected from
benchmarks/README.md, whose tables name the command that makes them. ``memory`` runs every benchmark, which takes an hour; the
name of one, such as ``scores``, runs that alone.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from raterzoo import models

from benchmarks.start import COMMANDS, best_seconds, fitted

ROOT = Path(__file__).parents[1]
KEPT, PAGE = ROOT / "benchmarks" / "measured.json", ROOT / "docs" / "speed.md"
BENCHMARKS = (
    "dermatology", "labels", "evaluation", "comparisons", "comparison_posteriors", "equivalence", "raters", "item_effects",
    "scores",
)  # fmt: skip
PEERS = re.compile(r"crowd-kit|nutpie|surveyequivalence|0\.1\.3|scipy|scikit-learn|times|loop", re.I)


def measure_start() -> list[list[str]]:
    """Return what, wall seconds and limit of whole processes."""
    rows = []
    for command, limit in COMMANDS:
        what = " ".join([command[0].name, *command[1:]])
        rows.append([f"`{what}`", f"{best_seconds(command):.2f} s", limit.removeprefix("limit ")])
    return rows


def measure_first_fit() -> list[list[str]]:
    """Return CPU seconds of the first fits of every model that has a sampler of its own, and their memory."""
    rows = []
    for entry in models.catalog.values():
        if entry.methods[0] == "nuts":
            continue
        with tempfile.TemporaryDirectory() as caches:
            cold, warm = fitted(entry.name, caches), fitted(entry.name, caches)
        method, importing, building, first, second, peak = warm
        cells = [f"{s:.1f} s" for s in (importing, building, cold[3], first, second)]
        rows.append([entry.name, method, *cells, f"{peak / 1e3:.2f} GB"])
        print(*rows[-1], flush=True)
    return rows


def measure_benchmark(name: str) -> list[str]:
    """Return name, CPU seconds and largest memory of a benchmark."""
    child = subprocess.Popen([sys.executable, f"benchmarks/{name}.py"], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
    failed = ", a limit missed" if status else ""
    return [f"`benchmarks/{name}.py`", f"{cpu:.0f} s{failed}", f"{peak:.1f} GB"]


def against_peers() -> list[str]:
    """Return the rows of benchmarks/README.md that name a peer, below the commands that make them."""
    lines, title, command = [], "", ""
    for block in (ROOT / "benchmarks" / "README.md").read_text().split("\n\n"):
        if block.startswith("## "):
            title = block[3:].strip()
        table = [row for row in block.splitlines() if row.startswith("|")]
        commands = re.findall(r"`[^`]*(?:python|benchmarks)[^`]*`", block)
        if commands and not table:
            command = ", ".join(commands)
        looped = table and "loop" in table[0]
        rows = [row for row in table[2:] if looped or PEERS.search(row.split("|", 3)[3])]
        if rows:
            heading = [] if f"### {title}" in lines else [f"### {title}", ""]
            lines += [*heading, command, "", *table[:2], *rows, ""]
    return lines


def table(header: str, rows: list[list[str]]) -> list[str]:
    """Return a table in Markdown."""
    names = [f"| {header} |", "|" + "---|" * len(header.split("|"))]
    return [*names, *(f"| {' | '.join(row)} |" for row in rows), ""]


def page(measured: dict[str, Any]) -> str:
    """Return the whole page."""
    memory = [measured[name] for name in BENCHMARKS if name in measured]
    first = "model | method | import | building | first fit ever | first of a process | second | memory"
    lines = [
        "# How fast it is",
        "",
        "`python -m benchmarks.speed` writes this page; four cores. [benchmarks/README.md](../benchmarks/README.md) has all",
        "figures and their limits, [scale.md](scale.md) what many items on many machines cost.",
        "",
        "## Start: `python -m benchmarks.speed start`",
        "",
        *table("command | wall | limit", measured.get("start", [])),
        "## The first fit: `python -m benchmarks.speed first_fit`",
        "",
        "CPU seconds of fits to small tables, 4 x 1,000 draws, as by default. The first fit ever compiles the sampler,",
        "which is kept on disk, once for a machine and version; the first of a later process loads it; the second is what",
        "drawing costs.",
        "",
        *table(first, measured.get("first_fit", [])),
        "## Memory of the benchmarks: `python -m benchmarks.speed memory`",
        "",
        *table("benchmark | CPU | peak memory", memory),
        "## Against others",
        "",
        *against_peers(),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    measures: dict[str, Callable[[], Any]] = {
        "start": measure_start,
        "first_fit": measure_first_fit,
        **{name: partial(measure_benchmark, name) for name in BENCHMARKS},
    }
    asked = [part for word in sys.argv[1:] for part in (BENCHMARKS if word == "memory" else [word])]
    if unknown := set(asked) - set(measures):
        sys.exit(f"{', '.join(unknown)}: the parts are memory, {', '.join(measures)}")
    measured = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for part in asked:
        measured[part] = measures[part]()
        print(part, measured[part], flush=True)
        KEPT.write_text(json.dumps(measured, indent=1) + "\n")
    PAGE.write_text(page(measured))
