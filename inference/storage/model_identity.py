"""Fingerprints of models: digests of their graphs, equal in every process and different for different models.

The variables of a graph are numbered in the order of traversal from the variables of the model. The digest
covers, for each: its constant value, or its Op with all parameters and the numbers of its inputs. Constants
are compared by value, because PyTensor shares some of them; random number generators by type alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from hashlib import blake2b
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np
import pymc as pm
import xarray as xr
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import AbstractFunctionGraph
from pytensor.graph.op import HasInnerGraph, Op
from pytensor.graph.traversal import ancestors

from ...models._catalog import RECIPES, catalog
from ...models.data.container import Container
from ...models.data.reading.frames import column_names, named_columns
from ..runs.run import Draws

SCHEME = "graph-3:"  # prefix of fingerprints; those of different schemes cannot be compared
LIBRARIES = {"numpy", "pymc", "pytensor", "raterzoo", "scipy"}


def fingerprint(model: pm.Model) -> str:
    """Digest, `SCHEME` and 32 hex digits, that models share if variables, computations, constants, data and ids are equal."""
    digest = blake2b(digest_size=16)
    variables = [*model.basic_RVs, *model.deterministics, *model.potentials]
    for variable in variables:
        dims = tuple(model.named_vars_to_dims.get(str(variable.name), ()))
        digest.update(_line("variable", variable.name, dims))
    observed = [model.rvs_to_values[rv] for rv in model.observed_RVs]
    digest.update(_line("graph", _graph([*variables, *observed])))
    for name, ids in model.coords.items():
        digest.update(_line("ids", name, None if ids is None else np.asarray(ids).tolist()))
    return SCHEME + digest.hexdigest()


def _line(*parts: Any) -> bytes:
    """Unambiguous byte encoding of a list of parts, as input of a digest."""
    return (repr(parts) + "\n").encode()


def _graph(roots: Sequence[Variable]) -> str:
    """Digest of the computation of variables."""
    digest, numbers = blake2b(digest_size=16), {}
    found = {node: _value(node) for node in ancestors(roots)}
    keys = {node: text if isinstance(node, Constant) else node for node, text in found.items()}
    for key in keys.values():
        numbers.setdefault(key, len(numbers))
    for node, text in found.items():
        owner, how = node.owner, ()
        if owner is not None:
            how = (_op(owner.op), node.index, [numbers[keys[part]] for part in owner.inputs])
        digest.update(_line(numbers[keys[node]], str(node.type), text, how))
    digest.update(_line("roots", [numbers[keys[root]] for root in roots]))
    return digest.hexdigest()


def _value(node: Variable) -> str:
    """Text of the value of a constant or shared variable."""
    if isinstance(node, Constant):
        return f"{node.type}{_text(node.data)}"
    return _text(node.get_value(borrow=True)) if isinstance(node, SharedVariable) else ""


def _op(op: Op) -> str:
    """Text of an Op: its type, its parameters, and its inner graph."""
    parts = {name: getattr(op, name) for name in getattr(op, "__props__", None) or ()}
    if not parts:
        parts = {"said": _plain(op, str(op)), "info": getattr(op, "info", None)}  # info: of loops
    if isinstance(op, HasInnerGraph):
        parts["inner"] = op.fgraph
    return repr((_name(type(op)), [(name, _text(part)) for name, part in parts.items()]))


def _text(value: Any) -> str:
    """Text of a parameter or constant that is the same in every process."""
    if isinstance(value, np.random.Generator):
        return "generator"
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        content = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
        return f"{array.dtype}{array.shape}{blake2b(content, digest_size=16).hexdigest()}"
    if isinstance(value, Op):
        return _op(value)
    if isinstance(value, AbstractFunctionGraph):
        return _graph([*value.inputs, *value.outputs])
    if isinstance(value, list | tuple):
        return repr([_text(part) for part in value])
    if isinstance(value, dict):
        return repr(sorted((_text(name), _text(part)) for name, part in value.items()))
    if isinstance(value, set | frozenset):
        return repr(sorted(map(_text, value)))
    if hasattr(value, "__qualname__"):  # a type or function
        return _name(value)
    return _plain(value, repr(value))


def _plain(value: Any, text: str) -> str:
    """Text of a value, or its type if the text contains a memory address."""
    return _name(type(value)) if " at 0x" in text else text


def _name(thing: Any) -> str:
    """Return the name of a type or function.

    In libraries the package stands for the module, so that definitions may move inside of it. Lambdas, local functions and the
    user's own code keep the full name of the module, which may be all that tells two of them apart.
    """
    module, name = str(getattr(thing, "__module__", None)), thing.__qualname__
    package = module.partition(".")[0]
    return f"{package if package in LIBRARIES and '<' not in name else module}:{name}"


# --- Validation of the integer codes of containers read from untrusted files: compiled loops do not check bounds ---

IDS = {  # column of codes -> its ids
    "annotation_item": "items",
    "annotation_rater": "raters",
    "label_code": "categories",
    "category_code": "categories",
    "shown_code": "categories",
    "gold": "categories",
    "left": "items",
    "right": "items",
}
STARTS = {"block_start": "category_code", "annotation_start": "block_start", "shown_start": "shown_code"}
BY_ANNOTATION = (
    "annotation_item",
    "annotation_rater",
    "label_code",
    "left",
    "right",
    "outcome",
    "strength",
    "count",
    "score",
)


def refuse_unsound(data: Container) -> None:
    """Raise unless codes are integers in range, columns of one length, and block starts rise from 0 to their end."""
    columns = {n: x for n, x in vars(data).items() if isinstance(x, np.ndarray)}
    for name, ids in IDS.items():
        if name in columns:  # the rater of anonymous annotations and an unknown gold label are -1
            lacks = name == "gold" or (name == "annotation_rater" and data.anonymous)
            _check_codes(name, columns[name], -1 if lacks else 0, len(columns[ids]))
    if "outcome" in columns:
        _check_codes("outcome", columns["outcome"], 0, 3)
    if len({len(columns[name]) for name in BY_ANNOTATION if name in columns}) != 1:
        raise ValueError("its columns have different lengths")
    if "gold" in columns and len(columns["gold"]) != len(columns["items"]):
        raise ValueError("gold must have one code for each item")
    for name, into in STARTS.items():
        if name in columns and not (name == "shown_start" and len(columns[name]) == len(columns[into]) == 0):
            _check_starts(name, columns[name], len(columns[into]) - (into in STARTS))


def _check_codes(name: str, codes: np.ndarray, least: int, end: int) -> None:
    """Raise unless codes are one-dimensional integers from `least` to ``end - 1``."""
    fine = codes.dtype.kind in "iu" and codes.ndim == 1
    if not fine or ((codes < least) | (codes >= end)).any():
        raise ValueError(f"{name} has codes outside {least}..{end - 1}, or that are not integers")


def _check_starts(name: str, starts: np.ndarray, end: int) -> None:
    """Raise unless starts are one-dimensional integers that rise from 0 to `end`."""
    fine = starts.dtype.kind in "iu" and starts.ndim == 1 and len(starts) > 0
    if not fine or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError(f"{name} must rise from 0 to {end}")


# --- Recipes of models, builder and arguments, serialised as JSON and arrays without pickle ---

CONTAINERS = ("Comparisons", "Labels", "PartialRankings", "Scores")
LONG = 100  # entries of a list that is written as an array
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
    return {"plan": asdict(plan), "recipe": recipe, "fingerprint": own, "attributes": dict(attrs)}, arrays


def _written_recipe(model: pm.Model, own: str) -> Written | None:
    """Serialise how a model was built; None unless rebuilding gives the same fingerprint."""
    recipe = RECIPES.get(model)
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
    return getattr(import_module("...models", __package__), name)


def _write(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Serialise an argument as JSON; its arrays are added to `arrays`."""
    if isinstance(value, Container):
        own = {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]
        parts = {name: _write(part, arrays) for name, part in own.items()}
        return {"container": type(value).__name__, "fields": parts}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": _kept(value, arrays)}
    if isinstance(value, xr.DataArray):
        coords = [
            [name, list(own.dims), _write(_plain_array(own), arrays)] for name, own in value.coords.items()
        ]
        return {"data_array": _write(_plain_array(value), arrays), "dims": list(value.dims), "coords": coords}
    if nw.dependencies.is_into_dataframe(value):
        cells = named_columns(value, {name: name for name in column_names(value)})
        return _write({name: list(own.values) for name, own in cells.items()}, arrays)
    if isinstance(value, Mapping):
        return {"mapping": [[_write(k, arrays), _write(v, arrays)] for k, v in value.items()]}
    if isinstance(value, list) and len(value) > LONG and len(types := {*map(type, value)}) == 1:
        if (
            types <= {str, int, float}
            and (array := np.array(value)).dtype.kind in "iuUf"
            and array.tolist() == value
        ):
            return {"long_list": _kept(array, arrays)}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_write(part, arrays) for part in value]}
    if isinstance(value, np.generic):
        return _write(value.item(), arrays)
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise _NotWritable(type(value))


def _kept(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    """Add an array to `arrays`; return its name there."""
    name = f"recipe_{len(arrays)}"
    arrays[name] = array
    return name


def _plain_array(array: xr.DataArray) -> np.ndarray:
    """Values of a DataArray, where they are objects as text or numbers, if they are nothing else."""
    values = array.to_numpy()
    if values.dtype.kind != "O":
        return values
    plain = np.array(values.tolist())
    if plain.dtype.kind not in "biufU" or plain.tolist() != values.tolist():
        raise _NotWritable(type(values))
    return plain


def _read(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Restore an argument that `_write` serialised."""
    if not isinstance(value, dict):
        return value
    ((kind, content), *further) = value.items()
    if kind == "container":
        if content not in CONTAINERS:
            raise ValueError(f"{content!r} is no container of raterzoo.models")
        data = _public(content)(**{name: _read(part, arrays) for name, part in further[0][1].items()})
        refuse_unsound(data)
        return data
    if kind == "array":
        return arrays[content]
    if kind == "long_list":
        return arrays[content].tolist()
    if kind == "data_array":
        own = dict(further)
        coords = {name: (tuple(dims), _read(part, arrays)) for name, dims, part in own["coords"]}
        return xr.DataArray(_read(content, arrays), coords, tuple(own["dims"]))
    if kind == "mapping":
        return {_read(k, arrays): _read(v, arrays) for k, v in content}
    parts = [_read(part, arrays) for part in content]
    return parts if kind == "list" else tuple(parts)
