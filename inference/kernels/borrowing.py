"""Arrays passed through compiled code without reference counting.

Numba updates an atomic counter for every array that a function takes out of a tuple or passes on: two thirds
of the time of a sweep, whose loops have a dozen elements. A borrowed array owns nothing and counts nothing;
the caller of the outermost compiled function must keep the arrays alive.
"""

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["borrow"]


@intrinsic
def _borrow(typing_context, value):
    """Return an array, or a tuple of arrays, without reference count: valid while the caller holds it."""

    def code(context, builder, signature, arguments):
        return _without_owner(context, builder, value, arguments[0])

    return value(value), code


borrow: Any = _borrow


def _without_owner(context, builder, kind, value):
    """Clear the reference counter of every array in a compiled value."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    for i, member in enumerate(kind):
        item = builder.extract_value(value, i)
        value = builder.insert_value(value, _without_owner(context, builder, member, item), i)
    return value
