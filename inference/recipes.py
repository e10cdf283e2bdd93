"""Recipes of models, builder and arguments, serialised as JSON and arrays without pickle."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib import import_module
from typing import Any

import numpy as np
import pymc as pm

from ..models._catalog import catalog
from ..models.data.container import Container
from ..models.data.recipes import recipe_of
from .fingerprints import fingerprint
from .plan import Draws
from .sound_codes import refuse_unsound

__all__ = ["build_again", "note_of_run"]

CONTAINERS = ("Comparisons", "Labels", "PartialRankings", "Scores")
Written = tuple[dict[str, Any], dict[str, np.ndarray]]


class _NotWritable(Exception):
    """Argument that cannot be serialised as JSON and arrays of numbers or text."""


def note_of_run(model: pm.Model, plan: Draws, attrs: Mapping[str, Any]) -> Written:
    """Serialise a run, so that another process can resume it: a JSON-serialisable note, and arrays.

    `attrs` are the attributes of the final tree without the duration. The recipe is None for a model that no
    builder of `raterzoo.models` made, or that was changed since: such a model must be passed to resume.
    """
    own = fingerprint(model)
    recipe, arrays = _written_recipe(model, own) or (None, {})
    note = {"plan": asdict(plan), "recipe": recipe, "fingerprint": own, "attributes": dict(attrs)}
    return note, arrays


def _written_recipe(model: pm.Model, own: str) -> Written | None:
    """Serialise how a model was built; None unless rebuilding gives the same fingerprint."""
    recipe = recipe_of(model)
    if recipe is None:
        return None
    arrays: dict[str, np.ndarray] = {}
    try:
        arguments = {name: _write(value, arrays) for name, value in recipe.arguments.items()}
    except _NotWritable:
        return None
    written = ({"builder": recipe.builder, "arguments": arguments}, arrays)
    return written if fingerprint(build_again(*written)) == own else None


def build_again(note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> pm.Model:
    """Rebuild a model from the recipe and the arrays of `note_of_run`."""
    if note["builder"] not in catalog:
        raise ValueError(f"{note['builder']!r} is no model of raterzoo.models")
    arguments = {name: _read(value, arrays) for name, value in note["arguments"].items()}
    return _public(note["builder"])(**arguments)


def _public(name: str) -> Any:
    """Object that `raterzoo.models` exports under a name."""
    return getattr(import_module("..models", __package__), name)


def _write(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Serialise an argument as JSON; its arrays are added to `arrays`."""
    if isinstance(value, Container):
        own = {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]
        parts = {name: _write(part, arrays) for name, part in own.items()}
        return {"container": type(value).__name__, "fields": parts}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        name = f"recipe_{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, Mapping):
        return {"mapping": [[_write(k, arrays), _write(v, arrays)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_write(part, arrays) for part in value]}
    if isinstance(value, np.generic):
        return _write(value.item(), arrays)
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise _NotWritable(type(value))


def _read(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Restore an argument that `_write` serialised."""
    if not isinstance(value, dict):
        return value
    ((kind, content), *further) = value.items()
    if kind == "container":
        if content not in CONTAINERS:
            raise ValueError(f"{content!r} is no container of raterzoo.models")
        parts = {name: _read(part, arrays) for name, part in further[0][1].items()}
        data = _public(content)(**parts)
        refuse_unsound(data)
        return data
    if kind == "array":
        return arrays[content]
    if kind == "mapping":
        return {_read(k, arrays): _read(v, arrays) for k, v in content}
    parts = [_read(part, arrays) for part in content]
    return parts if kind == "list" else tuple(parts)
