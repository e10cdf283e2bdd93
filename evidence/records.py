"""Records: the verdict and the ranks of each task, with commit and versions of its run, stored in `evidence/records`."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np

from .tasks import Outcome, Task

__all__ = ["FOLDER", "commit", "passed", "read", "read_ranks", "versions_of", "write"]

FOLDER = Path(__file__).parent
PACKAGES = ("pymc", "pytensor", "numba", "numpy", "scipy")


def commit() -> str:
    """Return the hash of the commit that is checked out, followed by ``-dirty`` if the sources differ from it."""
    results = (":!records", ":!figures", ":!README.md")  # relative to this folder
    changed = _git("status", "--porcelain", "--", ":/", *results)
    return _git("rev-parse", "HEAD") + "-dirty" * bool(changed)


def _git(*arguments: str) -> str:
    return run(("git", *arguments), cwd=FOLDER, check=True, capture_output=True, text=True).stdout.strip()


def versions_of(task: Task) -> dict[str, str]:
    """Return the versions of Python and of the packages that a task uses."""
    by_nutpie = task.method == "nuts" and task.kind == "calibration"
    used = (*PACKAGES, "nutpie") if by_nutpie else PACKAGES
    return {"python": platform.python_version()} | {package: version(package) for package in used}


def passed(task: Task, outcome: Outcome) -> bool:
    """Return whether a sampler is within its bound, or a wrong twin is not."""
    return outcome.within is not task.is_wrong


def write(task: Task, outcome: Outcome, seconds: float, made_at: str) -> None:
    """Write the record of a task, and its ranks beside it, atomically.

    Parameters
    ----------
    task : Task
        The task.
    outcome : Outcome
        Its result.
    seconds : float
        CPU seconds.
    made_at : str
        Commit of the sources that ran.
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
        "passed": passed(task, outcome),
        "statistic": round(min(outcome.statistic, 1e9), 3),
        "threshold": round(outcome.threshold, 3),
        "worst": outcome.worst,
        "simulations": outcome.simulations,
        "notes": outcome.notes,
        "cpu_seconds": round(seconds, 1),
        "commit": made_at,
        "versions": versions_of(task),
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
