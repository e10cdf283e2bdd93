"""Fingerprints of models: digests of their graphs, equal in every process and different for different models.

The variables of a graph are numbered in the order of traversal from the variables of the model. The digest
covers, for each: its constant value, or its Op with all parameters and the numbers of its inputs. Constants
are compared by value, because PyTensor shares some of them. Random number generators are compared by type
alone, whatever their state.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pymc as pm
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import AbstractFunctionGraph
from pytensor.graph.op import HasInnerGraph, Op
from pytensor.graph.traversal import ancestors

__all__ = ["SCHEME", "fingerprint"]

SCHEME = "graph-3:"
"""Prefix of fingerprints; fingerprints of different schemes cannot be compared."""

LIBRARIES = {"numpy", "pymc", "pytensor", "raterzoo", "scipy"}


def fingerprint(model: pm.Model) -> str:
    """Digest that two models share if they have the same variables, computed alike, constants, data and ids.

    Returns `SCHEME` followed by 32 hexadecimal digits.
    """
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
