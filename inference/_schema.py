"""Schema version of posterior trees and files."""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["SCHEMA_VERSION", "check_schema"]

SCHEMA_VERSION = 1  # attribute `schema_version`; raised at changes that readers must handle


def check_schema(path: object, attrs: Mapping[str, Any]) -> None:
    """Raise a `ValueError` unless this version of raterzoo reads the schema of a file or store.

    Files without the attribute ``schema_version`` come from other programs and pass. `path` is for the
    message; `attrs` are the attributes of the root.
    """
    version = attrs.get("schema_version", SCHEMA_VERSION)
    known = isinstance(version, int | np.integer) and 1 <= version <= SCHEMA_VERSION
    if not known:
        raise ValueError(
            f"{path} has schema_version {str(version)[:20]}; this version of raterzoo reads {SCHEMA_VERSION}: "
            "install the newer one that wrote the file"
        )
