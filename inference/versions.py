"""Versions that a run was begun with, and whether they are those of now."""

import json
import platform
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .resume_warning import ResumeWarning

__all__ = ["other_versions", "tell_versions", "versions_of_now"]

PACKAGES = ("raterzoo", "pymc", "pytensor", "arviz", "numba", "numpy", "xarray")


def versions_of_now() -> dict[str, str]:
    """Return the versions of Python and of all packages that draws depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def other_versions(attrs: Mapping[str, Any]) -> str:
    """Return what a run was begun with that is of another version now, as text; none of it is no text.

    Parameters
    ----------
    attrs : mapping
        Attributes of a tree.

    Returns
    -------
    str
        Such as "numba 0.65.0 (now 0.66.0)".
    """
    begun, now = json.loads(attrs["versions"]), versions_of_now()
    differ = [name for name in begun if begun[name] != now.get(name)]
    return ", ".join(f"{name} {begun[name]} (now {now.get(name, 'none')})" for name in differ)


def tell_versions(path: Path, attrs: Mapping[str, Any], *, stacklevel: int) -> None:
    """Warn if a run was begun with other versions.

    Parameters
    ----------
    path : Path
        Its store.
    attrs : mapping
        Its attributes.
    stacklevel : int
        As of `warnings.warn`.
    """
    if differ := other_versions(attrs):
        warnings.warn(
            f"{path} was begun with {differ}: the draws are of the same posterior, but their last digits may be others than "
            "those of an uninterrupted run",
            ResumeWarning,
            stacklevel=stacklevel,
        )
