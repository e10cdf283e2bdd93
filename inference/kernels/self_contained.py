"""Compiled functions that run no machine code but their own, so that a first fit, which compiles, draws what later ones draw.

numba links machine code by name. A function brings copies of those it calls, but runs the copies that are in memory
already, if any: in the process that compiles all of them these are other ones, optimised alone, with other rounding
errors, than in a process that reads the caller from the disk cache. Here the copies get names that nothing else has.
"""

from typing import Any
from uuid import uuid4

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _SelfContained(JITCodeLibrary):
    """Code of a function and of all functions it calls, which no other code can see or stand in for."""

    def _optimize_final_module(self) -> None:
        """Make the functions linked into this one its own before all are optimised together."""
        own = uuid4().hex
        for function in list(self._final_module.functions):
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                # the name as well: the loader of machine code finds even internal functions by name
                function.name = f"{function.name}.{own}"
                function.linkage = "internal"
        super()._optimize_final_module()


class SelfContainedCompiler(Compiler):
    """numba's compiler, as ``pipeline_class=`` of a function that Python or a sampler calls."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any):
        if library is None:
            library = _SelfContained(targetctx.codegen(), "self-contained")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *rest)
