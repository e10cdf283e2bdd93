"""Versions of the packages that draws depend on, recorded with a run and compared at resume."""

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
    """Installed versions of Python and of the packages that draws depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def other_versions(attrs: Mapping[str, Any]) -> str:
    """Text such as "numba 0.65.0 (now 0.66.0)" on the packages whose version changed since the run; empty if none."""
    begun, now = json.loads(attrs["versions"]), versions_of_now()
    differ = [name for name in begun if begun[name] != now.get(name)]
    return ", ".join(f"{name} {begun[name]} (now {now.get(name, 'none')})" for name in differ)


def tell_versions(path: Path, attrs: Mapping[str, Any], *, stacklevel: int) -> None:
    """Warn with a `ResumeWarning` if the run at `path` was begun with other versions of packages."""
    if differ := other_versions(attrs):
        warnings.warn(
            f"{path} was begun with {differ}: the draws are of the same posterior, but their last digits may be others than "
            "those of an uninterrupted run",
            ResumeWarning,
            stacklevel=stacklevel,
        )
