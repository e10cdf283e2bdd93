"""The version of what a tree or a file of posteriors holds, and where."""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["SCHEMA_VERSION", "check_schema"]

SCHEMA_VERSION = 1  # attribute `schema_version` of every tree and file; raised when readers have to know of a change


def check_schema(path: object, attrs: Mapping[str, Any]) -> None:
    """Raise unless this version reads what a file says it is; files that say nothing come from other programs.

    Parameters
    ----------
    path : object
        The file, for the message.
    attrs : mapping
        Attributes of its root.

    Raises
    ------
    ValueError
        If its schema is newer, or no schema at all.
    """
    version = attrs.get("schema_version", SCHEMA_VERSION)
    known = isinstance(version, int | np.integer) and 1 <= version <= SCHEMA_VERSION
    if not known:
        raise ValueError(
            f"{path} has schema_version {str(version)[:20]}; this version of raterzoo reads {SCHEMA_VERSION}: "
            "install the newer one that wrote the file"
        )
