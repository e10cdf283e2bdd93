"""Compilation of PyMC models by PyTensor such that cold and warm caches give the same draws."""

import numba as nb
from raterzoo.inference.runs.compiled_models import SelfContainedLinker


def test_a_graph_that_is_compiled_can_be_called():
    @nb.njit
    def square(x):
        return x * x

    assert SelfContainedLinker().jit_compile((square, None))(3.0) == 9.0
