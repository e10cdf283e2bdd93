"""Numba functions that are compiled once, inside what Python calls, and a disk cache that notices changed sources.

By itself numba optimises every function and translates it into machine code, and does both again inside every
caller, every caller of a caller, and so on. Here a function that compiled code calls is only lowered to LLVM's
language, and becomes a part of the function that Python calls, which alone is optimised: half the time.

It also makes results independent of what ran before. Machine code is linked by name, so a caller may run the copy
of a function that another caller brought, optimised otherwise, with other rounding errors. A part has no machine
code that could stand in for another's.

numba's own cache checks only the function's own file, and would keep an old version of imported functions.
"""

import gc
import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numba as nb
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

PARTS: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}  # nothing that Python could call
# else a part has the arithmetic of whichever function calls it first in a process, and results depend on what ran before
NOT_INHERITED: dict[str, Any] = {"fastmath": False, "error_model": "numpy", "forceinline": False}
IMPORT = re.compile(r"^from (\.*)([\w.]+) import", re.MULTILINE)


@cache
def source_digest(path: str) -> int:
    """Return a 60-bit digest of a source file and of all package files it imports, directly or indirectly.

    PyTensor takes it into its cache keys.
    """
    found, new = set(), {Path(path)}
    while new:
        found |= new
        new = {there for source in new for there in _imported(source)} - found
    digest = sha256()
    for source in sorted(found):
        digest.update(source.read_bytes())
    return int(digest.hexdigest()[:15], 16)


@cache
def _imported(source: Path) -> frozenset[Path]:
    """Return the files of this package, or of a script's folder, that a source file imports."""
    found = set()
    for dots, name in IMPORT.findall(source.read_text(encoding="utf-8")):
        there = source.parents[max(len(dots) - 1, 0)].joinpath(*name.split("."))
        found.add(there / "__init__.py" if there.is_dir() else there.with_suffix(".py"))
    return frozenset(path for path in found if path.is_file())


class _NoMachineCode:
    """Code generator of a part: nothing of it is placed in memory."""

    def __init__(self, codegen: Any):
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: Any) -> None:
        """Leave the environment unset, which numba would write to memory: what Python calls has one of its own."""


class _Part(JITCodeLibrary):
    """A function in LLVM's language, to be linked into its callers: neither optimised nor translated into machine code."""

    # numba calls these four when a function has been lowered

    @property
    def codegen(self) -> Any:
        return _NoMachineCode(self._codegen)

    def _optimize_final_module(self) -> None:
        """Leave this to the function of which it becomes a part."""

    def _finalize_final_module(self) -> None:
        """Let callers link it, as numba does, but do not hand it to the machine."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Address for Python, null as for a function that a library does not have: nobody calls it, see `_as_part_of_callers`."""
        return 0


class _EntryCompiler(Compiler):
    """numba's compiler, without garbage collection meanwhile: nearly all that it allocates lives until it has finished.

    To look for garbage in it time and again is a tenth of the work.
    """

    def compile_extra(self, func: Callable) -> Any:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if enabled:
                gc.enable()


class _PartCompiler(Compiler):
    """numba's compiler, which leaves a `_Part`."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any):
        if library is None:
            library = _Part(targetctx.codegen(), "part")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *rest)


def _as_part_of_callers(compiled: Any, options: dict[str, Any]) -> Any:
    """Let compiled callers of a numba function see a `_Part` of it; Python calls the function itself."""

    @cache  # numba holds its lock of the process whenever it asks for a part
    def part() -> Any:
        return nb.njit(pipeline_class=_PartCompiler, **PARTS, **options)(compiled.py_func)

    compiled.get_call_template = lambda args, kws: part().get_call_template(args, kws)
    compiled.get_overload = lambda signature: part().get_overload(signature)
    return compiled


def inner_njit(**options: Any) -> Callable[[Callable], Any]:
    """Return a decorator: `numba.njit` with these options, of a function that compiled code calls."""
    options = NOT_INHERITED | options
    return lambda function: _as_part_of_callers(nb.njit(**options)(function), options)


def cached_njit(**options: Any) -> Callable[[Callable], Any]:
    """Return a decorator: `numba.njit` with these options, compiled at the first call and cached on disk."""
    options = NOT_INHERITED | options

    def decorate(function: Callable) -> Any:
        compiled = nb.njit(cache=True, pipeline_class=_EntryCompiler, **options)(function)
        index = cast(Any, compiled)._cache._cache_file
        index._source_stamp = source_digest(function.__code__.co_filename)
        load = index._load_index

        def load_index() -> dict:
            try:
                return load()
            except (
                AttributeError,
                ImportError,
            ):  # numba unpickles before it compares digests: a class was renamed
                return {}

        index._load_index = load_index
        return _as_part_of_callers(compiled, options)

    return decorate
