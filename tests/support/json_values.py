"""Copies of JSON values with one member left out or changed."""

from copy import deepcopy

__all__ = ["changed", "without"]


def without(value, *path):
    """Copy a JSON value without the member at a path."""
    copy, inner = _inner_of_copy(value, path)
    del inner[path[-1]]
    return copy


def changed(value, new, *path):
    """Copy a JSON value with another member at a path."""
    copy, inner = _inner_of_copy(value, path)
    inner[path[-1]] = new
    return copy


def _inner_of_copy(value, path):
    """Return a copy, and what holds the member at the path in it."""
    copy = inner = deepcopy(value)
    for name in path[:-1]:
        inner = inner[name]
    return copy, inner
