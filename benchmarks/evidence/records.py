"""What is kept of every task: a small file of its verdict, its ranks, and the key that says what it is evidence of."""

import ast
import json
import os
import platform
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec, resolve_name
from inspect import getsource
from pathlib import Path
from typing import Any

import numpy as np
from raterzoo import models

from . import calibration, chains, designs, exact_draws, joint_law, nuts, stationarity, studies
from .chains import chains_of
from .tasks import Outcome, Task

__all__ = ["FOLDER", "key_of", "read", "read_ranks", "write"]

FOLDER = Path(__file__).parents[2] / "evidence"
PACKAGES = ("raterzoo", "pymc", "pytensor", "nutpie", "numba", "numpy", "scipy")
OURS = (calibration, chains, designs, exact_draws, joint_law, nuts, stationarity, studies)
DOORS = "raterzoo.models.data"  # behind which the simulated annotations are put in
EXACTLY = {
    "labels": "raterzoo.inference.count_routes",
    "scores": "raterzoo.inference.score_routes",
    "rankings": "raterzoo.inference.ranking_routes",
}


def key_of(task: Task) -> str:
    """Return a digest of what the task depends on: its settings, and the sources of model, sampler and evidence.

    Parameters
    ----------
    task : Task
        The task.

    Returns
    -------
    str
        Sixteen hexadecimal digits.
    """
    entry = models.catalog[task.study]
    roots = [getattr(models, task.study).__module__]
    if task.method == "exact":
        roots.append(EXACTLY[entry.data])
    elif task.method != "nuts":
        roots += chains_of(task.study).sources
    settings = f"{task.name} {task.simulations} {version('raterzoo')}"
    if task.bug:
        functions = [f for f in (task.bug.told, task.bug.spoil) if f]
        settings = f"{task.name} {task.bug.name} {task.bug.links} {[*map(getsource, functions)]}"
    digest = blake2b(settings.encode(), digest_size=8)
    for path in sorted(sources_behind(*roots)) + sorted(str(m.__file__) for m in OURS):
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


@cache
def sources_behind(*modules: str) -> frozenset[str]:
    """Return the source files of modules of the package, and of all that they import from it but the containers of data.

    Parameters
    ----------
    *modules : str
        Full names.

    Returns
    -------
    frozenset of str
        Paths.
    """
    found: dict[str, str] = {}
    left = list(modules)
    while left:
        name = left.pop()
        spec = None if name in found else _spec_of(name)
        if spec is None or not str(spec.origin).endswith(".py") or name.startswith(DOORS):
            continue
        found[name] = spec.origin
        package = name if spec.submodule_search_locations else name.rpartition(".")[0]
        left += _imported(Path(spec.origin), package)
    return frozenset(found.values())


def _spec_of(name: str) -> Any:
    try:
        return find_spec(name)
    except ModuleNotFoundError:  # the name of a function in a module
        return None


def _imported(path: Path, package: str) -> Iterator[str]:
    """Yield what a file imports from its own package, by full names that may be of modules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def write(task: Task, outcome: Outcome, seconds: float) -> None:
    """Write the record of a task, and the ranks beside it; a record is there whole or not at all.

    Parameters
    ----------
    task : Task
        The task.
    outcome : Outcome
        What it found.
    seconds : float
        Of CPU.
    """
    folder = FOLDER / "records"
    folder.mkdir(parents=True, exist_ok=True)
    if outcome.ranks is not None and task.twin is None:
        quantities = np.array(outcome.quantities)
        np.savez_compressed(folder / f"{task.name}.npz", ranks=outcome.ranks, quantities=quantities)
    record = {
        "model": task.study,
        "method": task.method,
        "kind": task.kind,
        "bug": task.bug.bug if task.bug else None,
        "passed": outcome.within is not bool(task.bug),
        "statistic": round(min(outcome.statistic, 1e9), 3),
        "threshold": round(outcome.threshold, 3),
        "worst": outcome.worst,
        "simulations": outcome.simulations,
        "notes": outcome.notes,
        "cpu_seconds": round(seconds, 1),
        "quick": task.quick,
        "key": key_of(task),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
    }
    path = folder / f"{task.name}.json"
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(record, indent=1) + "\n")
    os.replace(beside, path)


def read(task: Task) -> dict[str, Any] | None:
    """Return the record of a task, or None if there is none yet."""
    path = FOLDER / "records" / f"{task.name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def read_ranks(task: Task) -> tuple[np.ndarray, list[str]]:
    """Return the ranks of a calibration, and the names of its quantities."""
    with np.load(FOLDER / "records" / f"{task.name}.npz", allow_pickle=False) as stored:
        return stored["ranks"], stored["quantities"].tolist()
