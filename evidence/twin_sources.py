"""Seeding of bugs: change a line of a function and compile the function and its callers again.

A compiled function contains the functions that it called when it was compiled. Each compiled function that calls a changed
one, directly or through others, is therefore compiled again. All others stay as they are.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from raterzoo import inference

from tests.support.source_twins import changed, compiled_anew, module_name, names_defined_in

__all__ = ["Link", "in_place_of", "rebuilt"]

Link = tuple[Any, ...]
"""Name of a function, and pairs of texts to replace in its source."""

Function = Callable[..., Any]
Pair = tuple[Function, Function]
Place = tuple[str, str]  # module and name


def rebuilt(*links: Link) -> list[Pair]:
    """Compile wrong functions, and around them the compiled functions that call them.

    Parameters
    ----------
    *links : tuple
        Functions of raterzoo, by name, each with the changes of its source.

    Returns
    -------
    list of tuple of callable
        Each recompiled function and its twin.
    """
    assert inference.sample  # imports every sampler
    wrong: dict[str, dict[str, tuple[str, str]]] = {}  # by module and function
    for name, *changes in links:
        path, *change = changed(name, *changes)
        wrong.setdefault(module_name(path), {})[name] = tuple(change)
    anew = _with_callers({(module, name) for module, own in wrong.items() for name in own})
    twins = {module: _twin_of(module, wrong.get(module, {})) for module, _ in anew}
    pairs = [(vars(sys.modules[m])[name], vars(twins[m])[name]) for m, name in sorted(anew)]
    known = {id(function): twin for function, twin in pairs}
    for module, twin in twins.items():  # what is not made anew is shared, classes too
        for name, value in vars(sys.modules[module]).items():
            if not name.startswith("__"):
                vars(twin)[name] = known.get(id(value), value)
    for function, twin in pairs:
        stale = known.keys() & _called_by(getattr(twin, "py_func", twin))
        assert not stale, (
            f"the twin of {function} was made around a function that is wrong: name that one's caller"
        )
    return pairs


def _twin_of(module: str, changes: dict[str, tuple[str, str]]) -> ModuleType:
    return compiled_anew(Path(str(sys.modules[module].__file__)), *changes.values())


def _with_callers(wrong: set[Place]) -> set[Place]:
    """Return functions, and the compiled functions that call them, directly or through others."""
    compiled = {
        (name, own): value.py_func
        for name, module in _ours().items()
        for own, value in vars(module).items()
        if hasattr(value, "py_func") and own in names_defined_in(str(module.__file__))
    }
    found, size = set(wrong), 0
    while len(found) > size:
        size = len(found)
        known = {id(vars(sys.modules[module])[name]) for module, name in found}
        found |= {place for place, function in compiled.items() if known & _called_by(function)}
    return found


def _called_by(function: Function) -> set[int]:
    """Return the ids of the objects that a function names, or the functions inside of it."""
    names = _names_in(function.__code__)
    found = [function.__globals__[name] for name in names & {*function.__globals__}]
    found += [part for module in found if isinstance(module, ModuleType)
              for name, part in vars(module).items() if name in names]  # fmt: skip
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    inner = [_called_by(part.py_func) for part in enclosed if hasattr(part, "py_func")]
    return {*map(id, found), *map(id, enclosed)}.union(*inner)


def _names_in(code: CodeType) -> set[str]:
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def _ours() -> dict[str, ModuleType]:
    """Return the imported modules of raterzoo and of the evidence."""
    return {n: m for n, m in sys.modules.items() if n.startswith(("raterzoo.", f"{__package__}."))}


@contextmanager
def in_place_of(pairs: list[Pair]) -> Iterator[None]:
    """Context manager: replace functions by their twins in all modules of raterzoo and of the evidence.

    Parameters
    ----------
    pairs : list of tuple of callable
        Functions and their twins.
    """
    known = {id(function): twin for function, twin in pairs}
    before = [
        (module, name, value)
        for module in _ours().values()
        for name, value in vars(module).items()
        if id(value) in known
    ]
    try:
        for module, name, value in before:
            setattr(module, name, known[id(value)])
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
