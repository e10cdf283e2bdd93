"""Registry of the laws in JAX, which PyTensor fills when it first rewrites a graph for JAX: to import JAX takes a second."""

from collections.abc import Callable
from importlib import import_module
from threading import RLock
from typing import Any, cast

from pytensor.compile.mode import optdb
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import GraphRewriter

Conversion = Callable[..., Callable]  # of an Op and its node, to a function of JAX
_waiting: dict[type[Op], Callable[[], Conversion]] = {}
_registering = RLock()  # other threads wait until all laws are registered


def register_in_jax(op: type[Op], conversion: str) -> None:
    """Name the function of `jax_laws` that converts an Op to JAX; the module is imported when a graph is compiled for JAX."""
    _waiting[op] = lambda: getattr(import_module(".jax_laws", __package__), conversion)


class _Registration(GraphRewriter):
    """Rewrite of graphs for JAX that leaves the graph as it is, and registers the laws with PyTensor."""

    def apply(self, fgraph: FunctionGraph) -> None:
        with _registering:
            while _waiting:
                from pytensor.link.jax.dispatch.basic import jax_funcify

                op, load = next(iter(_waiting.items()))
                cast(Any, jax_funcify).register(op)(load())
                del _waiting[op]  # not before: an import may be interrupted


# all that PyTensor, PyMC and nutpie compile for JAX is first rewritten by the rewrites with this tag
cast(Any, optdb).register("raterzoo_in_jax", _Registration(), "jax", position=0)
