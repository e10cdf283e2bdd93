"""A self-contained function brings all its code under names of its own; numba's would share it with whatever is in memory."""

import numba as nb
import numpy as np
import pytest
from numba.core.compiler import Compiler
from raterzoo.inference.kernels.self_contained import SelfContainedCompiler
from raterzoo.inference.runs.compiled_models import SelfContainedLinker


@nb.njit(fastmath=True)
def inner(x, power):
    total = 0.0
    for value in x:
        total += value**power
    return total


def shared_functions(compiler):
    """Compile a caller of `inner`; return the names of its functions that other machine code could stand in for."""

    @nb.njit(pipeline_class=compiler)
    def caller(x):
        return inner(x, 2) + inner(x[1:], 3) + inner(x[2:], 5)

    x = np.arange(5.0)
    assert caller(x) == (x**2).sum() + (x[1:] ** 3).sum() + (x[2:] ** 5).sum()
    (made,) = caller.overloads.values()
    functions = made.library.get_defined_functions()
    return [f.name for f in functions if f.linkage.name == "linkonce_odr"]


def test_no_function_is_shared():
    assert shared_functions(SelfContainedCompiler) == []
    with pytest.raises(AssertionError):
        assert shared_functions(Compiler) == []


def test_a_graph_that_is_compiled_can_be_called():
    @nb.njit
    def square(x):
        return x * x

    assert SelfContainedLinker().jit_compile((square, None))(3.0) == 9.0
