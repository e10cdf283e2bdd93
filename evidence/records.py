"""Records: the verdict, the ranks and the key of each task, stored in `evidence/records`."""

import json
import os
import platform
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from raterzoo import models
from raterzoo.inference.labels.dirichlet import begin_counted_labels
from raterzoo.inference.labels.recognition import read_counted_labels
from raterzoo.inference.rankings.gibbs import begin_independent
from raterzoo.inference.rankings.recognition import gamma_parameters
from raterzoo.inference.scores.normal import begin_scores
from raterzoo.inference.scores.recognition import read_item_scores

from . import (
    calibration,
    chains,
    designs,
    exact_draws,
    joint_law,
    nuts,
    power,
    prior_scores,
    stationarity,
    studies,
)
from .digests import EVIDENCE, Definition, Form, Sources
from .exact_draws import EXACT, ITEMS
from .rater_chains import sampler_of
from .studies import FEW_DATA, STUDIES, model_of
from .tasks import Outcome, Task

__all__ = ["FOLDER", "contents_of", "key_of", "read", "read_ranks", "roots_of", "write"]

FOLDER = Path(__file__).parent
PACKAGES = ("raterzoo", "pymc", "pytensor", "nutpie", "numba", "numpy", "scipy")
OURS = (
    calibration,
    chains,
    designs,
    exact_draws,
    joint_law,
    nuts,
    power,
    prior_scores,
    stationarity,
    studies,
)
EXACTLY = {  # functions that draw exactly, by kind of annotation
    "labels": (read_counted_labels, begin_counted_labels),
    "scores": (read_item_scores, begin_scores),
    "rankings": (gamma_parameters, begin_independent),
}


def key_of(task: Task) -> str:
    """Return a digest of a task's settings, of all code that it depends on, and of the versions of its packages.

    The code is that of the model's builder, of the sampler and of the evidence, as far as it is reached; `digests` says which
    changes count. Of the containers it is their contents for the designs of the study that count, not their code.

    Parameters
    ----------
    task : Task
        The task.

    Returns
    -------
    str
        Sixteen hexadecimal digits.
    """
    used = [package for package in PACKAGES if package != "nutpie" or task.method == "nuts"]
    parts = [task.name, task.simulations, *map(version, used), contents_of(task.study)]
    if task.bug:
        parts += [task.bug.name, task.bug.links]
        parts += [_digests_of(f) for f in (task.bug.told, task.bug.spoil) if f]
    roots = [_sources().of(root) for root in roots_of(task.study, task.method)]
    parts += [_sources().digests(roots), _digests_of_evidence(), _digests_of_study(task.study)]
    if task.method == "nuts":
        entry = models.catalog[model_of(task.study)]  # the digests leave the catalog out
        parts += [sorted(entry.nuts_options.items()), entry.nuts_thinning]
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


@cache
def contents_of(study: str) -> str:
    """Return a digest of what the containers of a study hold: all public fields and properties, whatever code computed them."""
    held = [own[study].data() for own in (STUDIES, FEW_DATA) if study in own]
    held += [EXACT[study].data(ITEMS)] if study in EXACT else []
    return blake2b(repr([_fields_of(data) for data in held]).encode(), digest_size=8).hexdigest()


def _fields_of(data: Any) -> list[tuple[str, Any]]:
    fields = ((name, getattr(data, name)) for name in dir(data) if not name.startswith("_"))
    return [(name, _plain(value)) for name, value in fields if not callable(value)]


def _plain(value: Any) -> Any:
    """Return an array, or a mapping of arrays, as something whose representation is complete."""
    if isinstance(value, Mapping):
        return [(key, _plain(own)) for key, own in value.items()]
    return (value.dtype.str, value.tolist()) if isinstance(value, np.ndarray) else value


def roots_of(study: str, method: str) -> list[Any]:
    """Return the functions and classes from which all code of a model and its sampler is reached."""
    builder = getattr(models, model_of(study))
    if method == "nuts":
        return [builder]
    if method == "exact":
        return [builder, *EXACTLY[models.catalog[study].data]]
    return [builder, sampler_of(study)]


def _digests_of(function: Callable[..., Any]) -> list[str]:
    """Return digests of a function of the evidence, or of a lambda's text, and of what it reaches in the evidence."""
    if function.__name__ != "<lambda>":
        return _sources().digests([_sources().of(function)], EVIDENCE)
    return _digests_of_form(_sources().of_lambda(function))


def _digests_of_form(form: Form) -> list[str]:
    sources = _sources()
    named = [sources.digest(own, within=EVIDENCE) for own in form.references]
    return [form.text, *named, *sources.digests(form.references, EVIDENCE)]


def _digests_of_study(study: str) -> list[list[str]]:
    """Return digests of the members of the lists of studies that are this one."""
    found = []
    for name, own in (("STUDIES", STUDIES), ("FEW_DATA", FEW_DATA)):
        if study in own:
            place = [*own].index(study)
            found.append(_digests_of_form(_sources().of_member(Definition(studies.__name__, name), place)))
    return found


@cache
def _digests_of_evidence() -> list[str]:
    """Return digests of all definitions of the modules that every task depends on."""
    roots = [own for module in OURS for own in _sources().all_of(module.__name__)]
    return _sources().digests(roots, EVIDENCE)


@cache
def _sources() -> Sources:
    return Sources()


def write(task: Task, outcome: Outcome, seconds: float) -> None:
    """Write the record of a task, and its ranks beside it, atomically.

    Parameters
    ----------
    task : Task
        The task.
    outcome : Outcome
        Its result.
    seconds : float
        CPU seconds.
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
        "passed": outcome.within is not task.is_wrong,
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
