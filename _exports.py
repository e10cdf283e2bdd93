"""Lazy exports: a package names its public objects, and imports a module on first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules

__all__ = ["lazy_exports"]


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose objects load on first use.

    `homes` maps a public name to the relative module that defines it; ``"name": ".name"`` exports the module
    itself. ``__getattr__`` stores what it loaded, so it runs once for each name.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        module = import_module(home, package)
        loaded = module if home == f".{name}" else getattr(module, name)
        setattr(modules[package], name, loaded)
        return loaded

    def names() -> list[str]:
        return sorted({*vars(modules[package]), *homes})

    return load, names
