"""Digests of data and priors, to check that a store was begun with the same ones."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

__all__ = ["digest_of"]


def digest_of(values: Mapping[str, Any]) -> str:
    """Return a digest of named arrays, mappings and other values, which enter by their repr.

    It is equal if and only if the values are, in every process and on every machine. The width of a text
    dtype does not matter.
    """
    digest = blake2b(digest_size=16)
    for name in sorted(values):
        value = values[name]
        digest.update(f"{name}:{type(value).__name__}".encode())
        if isinstance(value, Mapping):
            digest.update(digest_of(value).encode())
        elif not isinstance(value, np.ndarray):
            digest.update(repr(value).encode())
        elif value.dtype.kind == "U":
            digest.update(repr((value.shape, value.ravel().tolist())).encode())
        else:
            digest.update(repr((value.shape, value.dtype.str)).encode())
            digest.update(np.ascontiguousarray(value).data)
    return digest.hexdigest()
