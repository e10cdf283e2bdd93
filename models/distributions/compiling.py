"""Numba functions that are compiled once, inside what Python calls, and a disk cache that notices changed sources.

By itself numba optimises every function and translates it into machine code, and does both again inside every
caller, every caller of a caller, and so on. Here a function that compiled code calls is only lowered to LLVM's
language, and becomes a part of the function that Python calls, which alone is optimised: half the time.

It also makes results independent of what ran before. Machine code is linked by name, so a caller may run the copy
of a function that another caller brought, optimised otherwise, with other rounding errors. A part has no machine
code that could stand in for another's. Functions that PyTensor and nutpie make of a model are not made of parts:
`SELF_CONTAINED` gives the copies that they link names that nothing else has.

numba's own cache checks only the function's own file, and would keep an old version of imported functions.

All of this overrides private names of numba. Where one is missing, functions are compiled by plain `numba.njit`: slower,
with other rounding errors, and without a disk cache if its index cannot be stamped.
"""

import gc
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import numba as nb
from numba.core import codegen, compiler, dispatcher

JITCodeLibrary: Any = getattr(codegen, "JITCodeLibrary", object)
Compiler: Any = getattr(compiler, "Compiler", object)
OVERRIDDEN = (
    (JITCodeLibrary, "_optimize_final_module _finalize_final_module _finalize_dynamic_globals"),
    (Compiler, "compile_extra"),
    (getattr(dispatcher, "Dispatcher", object), "get_call_template get_overload"),
)
HAS_PARTS = all(hasattr(owner, name) for owner, names in OVERRIDDEN for name in names.split())
"""Whether numba has the private names that parts and self-contained functions override."""

# nothing that Python could call
PARTS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
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


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Context manager: no garbage collection, and Python's handlers of SIGINT and SIGTERM are called at the end.

    Nearly all that numba allocates lives until it has finished: to look for garbage time and again is a tenth of the work.
    LLVM calls Python back and drops what is raised there: the signal would be lost, and the function has no code.
    """
    enabled, waiting, handlers = gc.isenabled(), [], {}
    if threading.current_thread() is threading.main_thread():
        handlers = {n: own for n in (signal.SIGINT, signal.SIGTERM) if callable(own := signal.getsignal(n))}
    for number in handlers:
        signal.signal(number, lambda number, frame: waiting.append(number))
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)


class _Compiler(Compiler):
    """numba's compiler, undisturbed, which leaves a library of its own class if it has one."""

    library_class: Any = None

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any):
        if library is None and self.library_class is not None:
            library = self.library_class(targetctx.codegen(), self.library_class.__name__)
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *rest)

    def compile_extra(self, func: Callable) -> Any:
        with _undisturbed():
            return super().compile_extra(func)


class _PartCompiler(_Compiler):
    """Compiler that leaves a `_Part`."""

    library_class = _Part


class _SelfContainedCompiler(_Compiler):
    """Compiler of functions that run no machine code but their own."""

    library_class = _SelfContained


ENTRY: dict[str, Any] = {"pipeline_class": _Compiler} if HAS_PARTS else {}
SELF_CONTAINED: dict[str, Any] = {"pipeline_class": _SelfContainedCompiler} if HAS_PARTS else {}
"""Options of `numba.njit` for a function of Python or of a sampler: cold and warm caches then give the same bits."""


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
    if not HAS_PARTS:
        return nb.njit(**options)
    return lambda function: _as_part_of_callers(nb.njit(**options)(function), options)


def cached_njit(**options: Any) -> Callable[[Callable], Any]:
    """Return a decorator: `numba.njit` with these options, compiled at the first call and cached on disk."""
    options = NOT_INHERITED | options

    def decorate(function: Callable) -> Any:
        compiled: Any = nb.njit(cache=True, **ENTRY, **options)(function)
        index: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
        # without a stamp, an old version of an imported function would be read from the disk
        if not hasattr(index, "_load_index"):
            return nb.njit(**ENTRY, **options)(function)
        index._source_stamp = source_digest(function.__code__.co_filename)
        load = index._load_index

        def load_index() -> dict:
            try:
                return load()
            # numba unpickles before it compares digests: a class was renamed
            except (AttributeError, ImportError):
                return {}

        index._load_index = load_index
        return _as_part_of_callers(compiled, options) if HAS_PARTS else compiled

    return decorate
