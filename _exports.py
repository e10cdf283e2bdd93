"""Lazy exports of a package, whose functions answer a seed under the wrong name with the right one."""

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import FunctionType
from typing import Any

import lazy_loader

SEEDS = {"seed", "random_seed"}
# names of `raterzoo.papers` that stay where they were, too, if only for who knows them
KEPT = {"alternating_gradient", "annotator_agreement", "partial_average_overlap", "second_stage"}


def attach_stub(
    package: str, file: str, moved: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from its stub; names that moved to `raterzoo.papers` warn."""
    try:
        load, names, public = lazy_loader.attach_stub(package, file)
    except ValueError:  # the stub takes names from packages beside its own
        parent = package.rpartition(".")[0]
        load, names, public = lazy_loader.attach(parent, submod_attrs=_names_beside(file))

    def load_checked(name: str) -> Any:
        if name in moved:
            import warnings
            from importlib import import_module

            if name not in KEPT:
                warnings.warn(
                    f"{package}.{name} has moved: say raterzoo.papers.{name}", FutureWarning, stacklevel=2
                )
            return getattr(import_module("raterzoo.papers"), name)
        try:
            found = load(name)
        except AttributeError as error:
            from difflib import get_close_matches
            from importlib.util import find_spec

            if name in public or name.startswith("_"):
                raise
            # pytest imports the root's file also as a module that is no package
            is_package = hasattr(sys.modules[package], "__path__")
            packages = [own for own in public if is_package and find_spec(f"{package}.{own}")]
            near = [f"{package}.{own}.{name}" for own in packages if name in dir(load(own))]
            near += map(repr, get_close_matches(name, public, 1))
            if not near:
                raise
            raise AttributeError(f"{error}; did you mean {near[0]}?", name=name) from None
        if isinstance(found, FunctionType):
            found = vars(sys.modules[package])[name] = _with_seed_check(found)
        return found

    return load_checked, names, public


def _names_beside(file: str) -> dict[str, list[str]]:
    """Return the names that a stub takes from packages beside its own, by module."""
    import ast

    found: dict[str, list[str]] = {}
    for node in ast.parse(Path(f"{file}i").read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level == 2 and node.module:
            found.setdefault(node.module, []).extend(alias.name for alias in node.names)
    return found


def _with_seed_check(function: FunctionType) -> Callable[..., Any]:
    """Refuse `seed` where a function takes `random_seed`, or the reverse; return other functions as they are."""
    from functools import wraps
    from inspect import Parameter, signature

    parameters = signature(function).parameters
    taken = SEEDS & {*parameters}
    # functions that pass options on refuse them themselves
    if not taken or any(own.kind is Parameter.VAR_KEYWORD for own in parameters.values()):
        return function
    (right,), (wrong,) = taken, SEEDS - taken

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        if wrong in options:
            raise TypeError(f"{function.__name__} has no option {wrong!r}; did you mean {right!r}?")
        return function(*args, **options)

    # pickled by reference to its module
    setattr(sys.modules[function.__module__], function.__name__, checked)
    return checked
