"""Arrays that compiled code passes around without counting references.

Numba counts an atomic reference for every array that a function takes out of a tuple or hands on:
two thirds of the time of a sweep, whose loops are a dozen elements long. A borrowed array owns
nothing and counts nothing; whoever calls the outermost compiled function keeps the arrays alive.
"""

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["borrow"]


@intrinsic
def _borrow(typing_context, value):
    """Return an array, or a tuple of arrays, that is valid as long as the caller holds it."""

    def code(context, builder, signature, arguments):
        return _without_owner(context, builder, value, arguments[0])

    return value(value), code


borrow: Any = _borrow


def _without_owner(context, builder, kind, value):
    """Drop the reference counter of every array in a compiled value."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    for i, member in enumerate(kind):
        item = builder.extract_value(value, i)
        value = builder.insert_value(value, _without_owner(context, builder, member, item), i)
    return value
