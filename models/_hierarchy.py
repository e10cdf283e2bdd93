"""Models as parts of an outer model: priors that are random variables, and what PyMC's nested models share."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from .._messages import short_repr
from ._prior_arguments import finite_number, positive_array

Number = float | TensorVariable
# for an expression that is evaluated once: no C, whose first use on a machine compiles a second of PyTensor's own
UNCOMPILED = Mode(linker="py", optimizer="fast_compile")


def rows_times(value: Any, matrix: Any) -> Any:
    """Return rows (..., n) times a small matrix (n, m), as a sum of products: that of BLAS takes eight seconds to compile."""
    return (pt.as_tensor_variable(value)[..., None, :] * matrix.T).sum(-1)


class PartOfModel(pm.Model):
    """Model inside an outer model: an unnamed one adds nothing to the names of its variables."""

    @property
    def prefix(self) -> str:
        """Return the prefix of the variables: that of the outer model."""
        return "" if self.parent is None else self.parent.prefix

    def add_named_variable(self, var: Any, dims: Any = None) -> None:
        """Register a variable; ValueError, with the remedy, if the outer model has one of this name."""
        if self.named_vars.tree_contains(var.name):
            raise ValueError(
                f"the outer model has a variable {var.name!r} already; rename that one, or build this model in "
                f'`with pm.Model(name="second"):` inside the outer one: its own is then "second::{var.name}"'
            )
        super().add_named_variable(var, dims)


def annotation_model(coords: Mapping[str, Any]) -> pm.Model:
    """Return the model that a builder fills; part of the model of the context, if there is one.

    Raises ValueError if the outer model has other values of a coordinate.
    """
    outer = pm.Model.get_context(error_if_none=False)
    if outer is None:
        return pm.Model(coords=coords)
    for name, own in coords.items():
        theirs = outer.coords.get(name, own)
        if theirs is None or not np.array_equal(tuple(own), tuple(theirs)):
            raise ValueError(
                f"the outer model has {_listed(theirs)} as coordinate {name!r}, and these annotations {_listed(own)}; "
                "nested models of PyMC share their coordinates. Give the outer model those of the annotations, in "
                "their order, or fit models of other annotations apart"
            )
    return PartOfModel(coords=coords)


def _listed(values: Any) -> str:
    """Return the number of values and the first of them, as text."""
    if values is None:
        return "a length without values"
    first = ", ".join(short_repr(v) for v in np.asarray(values)[:3].tolist())
    return f"{len(values):,} values ({first}{', ...' if len(values) > 3 else ''})"


# --- Prior arguments: numbers are validated, random variables by their shape ---


def is_expression(value: Any) -> bool:
    """Whether a value is a PyTensor variable, or a list, tuple or array that holds one."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, list | tuple):
        return any(map(is_expression, value))
    return isinstance(value, Variable)


def refuse_expression(name: str, value: Any, why: str) -> None:
    """Raise ValueError, with the reason, if an argument that must be numbers is a random variable."""
    if is_expression(value):
        raise ValueError(f"{name} cannot be a random variable or an expression of some: {why}")


def prior_array(
    name: str, value: Any, shape: tuple[int, ...], numbers: Callable[..., Any] = positive_array
) -> Any:
    """Return numbers, validated and broadcast by `numbers`, or an expression broadcast to `shape`."""
    if not is_expression(value):
        return numbers(name, value, shape)
    variable = _expression(name, value, shape, lambda v: numbers(name, v, shape))
    return variable if variable.type.shape == shape else pt.alloc(variable, *shape)


def prior_number(name: str, value: Any, number: Callable[..., Any] = finite_number) -> Any:
    """Return a number validated by `number`, or a scalar expression."""
    if not is_expression(value):
        return number(name, value)
    return _expression(name, value, (), lambda v: number(name, v.item()))


def prior_pair(
    name: str, value: Any, shape: tuple[int, ...], numbers: Callable[..., tuple[Any, Any]]
) -> tuple[Any, Any]:
    """Return two parameters of a law: numbers validated by `numbers`, or expressions that broadcast to `shape`."""
    if not is_expression(value):
        return numbers(name, value)
    if isinstance(value, TensorVariable) and value.type.shape == (2,):
        value = [value[0], value[1]]
    if isinstance(value, Variable) or len(value) != 2:
        raise ValueError(
            f"{name}={value!r} must be a pair, such as (a, 1.0): each a number or a random variable"
        )
    given = numbers(name, [1.0 if is_expression(part) else part for part in value])

    def checked(place: int) -> Callable[[np.ndarray], None]:
        def check(found: np.ndarray) -> None:
            for number in found.ravel().tolist():
                numbers(name, [number if k == place else 1.0 for k in range(2)])

        return check

    first, second = (
        _expression(name, part, shape, checked(k)) if is_expression(part) else given[k]
        for k, part in enumerate(value)
    )
    return first, second


def random_ancestors(variables: list[Any]) -> Iterator[Variable]:
    """Yield the random variables that these, or expressions of these, depend on."""
    for node in ancestors(variables):
        if node.owner is not None and isinstance(node.owner.op, RandomVariable | SymbolicRandomVariable):
            yield node


def _expression(
    name: str, value: Any, shape: tuple[int, ...], check: Callable[[np.ndarray], Any]
) -> TensorVariable:
    """Return an expression of real numbers that broadcasts to `shape`; `check` validates one that is not random."""
    try:
        variable = pt.as_tensor_variable(value.tolist() if isinstance(value, np.ndarray) else value)
    except (TypeError, ValueError, NotImplementedError):
        raise ValueError(f"{name}={value!r} is no array of numbers and random variables") from None
    if np.dtype(variable.type.dtype).kind not in "iuf":
        raise ValueError(f"{name} is a random variable of type {variable.type.dtype}, not of real numbers")
    found = variable.type.shape
    if None in found:  # dims of a model are lengths that may change
        found = tuple(np.asarray(variable.shape.eval(mode=UNCOMPILED)).tolist())
    padded = (1,) * (len(shape) - len(found)) + found
    if len(found) > len(shape) or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        allowed = f"shape {shape} or its last dims, or one number" if shape else "one number"
        raise ValueError(f"{name} is a random variable of shape {found}; it must be of {allowed}")
    if next(random_ancestors([variable]), None) is None:  # pm.Data
        check(np.asarray(variable.eval(mode=UNCOMPILED)))
    return variable if np.dtype(variable.type.dtype).kind == "f" else variable.astype("float64")
