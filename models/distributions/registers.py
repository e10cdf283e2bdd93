"""Stack arrays without aliases, which the compiler can keep in registers.

``carray(stack_space(3), 3)`` in a compiled function is an array of three doubles.
"""

from typing import Any

import numba as nb
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["carray", "stack_space"]

carray: Any = nb.carray  # pyright: ignore[reportPrivateImportUsage]


def _stack_space(typing_context: Any, size: Any) -> tuple[Any, Any]:
    """Return a pointer to a constant number of doubles on the stack of the calling function."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the allocation."""
        double = context.get_value_type(types.float64)
        return cgutils.alloca_once(builder, double, size=size.literal_value)

    return types.CPointer(types.float64)(size), generate


stack_space: Any = intrinsic(prefer_literal=True)(_stack_space)
