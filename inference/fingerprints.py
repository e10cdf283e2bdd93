"""Fingerprints, by which two models are told apart: texts of their graphs, the same in every process.

The variables of a graph are numbered as they are found from the variables of the model. Of each, its constant, or its Op with all
parameters and the numbers of its inputs, goes into a digest. Constants count by what they hold, for PyTensor shares some of them;
random number generators count as such, whatever their state.
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

SCHEME = "graph-2:"
"""What fingerprints begin with: those of another scheme say nothing about these."""


def fingerprint(model: pm.Model) -> str:
    """Return a text that two models share if they have the same variables, computed alike, numbers, data and ids.

    Parameters
    ----------
    model : pymc.Model
        Any model.

    Returns
    -------
    str
        `SCHEME`, and 32 hexadecimal digits.
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
    """Return what a digest is made of; no two lists of parts have the same."""
    return (repr(parts) + "\n").encode()


def _graph(roots: Sequence[Variable]) -> str:
    """Return a digest of how variables are computed."""
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
    """Return what a constant or shared variable holds."""
    if isinstance(node, Constant):
        return f"{node.type}{_text(node.data)}"
    return _text(node.get_value(borrow=True)) if isinstance(node, SharedVariable) else ""


def _op(op: Op) -> str:
    """Return what an Op does: its type and parameters, and what it computes inside."""
    parts = {name: getattr(op, name) for name in getattr(op, "__props__", None) or ()}
    if not parts:
        parts = {"said": _plain(op, str(op)), "info": getattr(op, "info", None)}  # info: of loops
    if isinstance(op, HasInnerGraph):
        parts["inner"] = op.fgraph
    return repr((_name(type(op)), [(name, _text(part)) for name, part in parts.items()]))


def _text(value: Any) -> str:
    """Return a text of a parameter or number that is the same in every process."""
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
    """Return a text of a value, or its type if that tells an address."""
    return _name(type(value)) if " at 0x" in text else text


def _name(thing: Any) -> str:
    """Return the full name of a type or function."""
    return f"{thing.__module__}.{thing.__qualname__}"
