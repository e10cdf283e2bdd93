"""Schema and versions of packages of a stored run, compared with those of now."""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._messages import OUR_FILES
from .trees import SCHEMA_VERSION, versions_of_now


def check_schema(path: object, attrs: Mapping[str, Any]) -> None:
    """Raise unless the schema of a file at `path` with these root `attrs` is read here; other programs' have none, and pass."""
    version = attrs.get("schema_version", SCHEMA_VERSION)
    known = isinstance(version, int | np.integer) and 1 <= version <= SCHEMA_VERSION
    if not known:
        raise ValueError(
            f"{path} has schema_version {str(version)[:20]}; this version of raterzoo reads {SCHEMA_VERSION}: "
            "install the newer one that wrote the file"
        )


# --- Warning: the resumed run is not bit-identical to an uninterrupted one ---


class ResumeWarning(UserWarning):
    """A resumed run is not bit-identical to an uninterrupted one.

    Either it was begun with other versions of packages, so that last digits may differ; or a chain of nutpie, which
    is drawn again from its start, made other draws than those in the store.
    """


def other_versions(attrs: Mapping[str, Any]) -> str:
    """Text such as "numba 0.65.0 (now 0.66.0)" on the packages whose version changed since the run; empty if none."""
    begun, now = json.loads(attrs["versions"]), versions_of_now()
    differ = [name for name in begun if begun[name] != now.get(name)]
    return ", ".join(f"{name} {begun[name]} (now {now.get(name, 'none')})" for name in differ)


def tell_versions(path: Path, attrs: Mapping[str, Any]) -> None:
    """Warn with a `ResumeWarning` if the run at `path` was begun with other versions of packages."""
    if differ := other_versions(attrs):
        warnings.warn(
            f"{path} was begun with {differ}: the draws are of the same posterior, but their last digits may be others than "
            "those of an uninterrupted run",
            ResumeWarning,
            skip_file_prefixes=OUR_FILES,
        )
