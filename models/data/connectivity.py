"""Connectivity of the graph of compared pairs; between its components only a prior informs contrasts."""

import numpy as np

from ..._messages import short_repr

NAMED_COMPONENTS, NAMED_ITEMS = 4, 3


def connected_components(n_items: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Find the connected components of a graph on items by union-find in array passes.

    Each round hooks the later of two joined roots on the earliest root it is joined to, then doubles the
    pointers until they reach the roots. Two rounds at least halve the roots still to be joined: a chain of a
    million items takes a few dozen passes.

    Shapes: left, right (edge,); returns (item,) int64, component 0 the largest, ties broken by first item.
    """
    root = np.arange(n_items)
    while len(left):
        one, other = root[left], root[right]
        joins = one != other
        left, right = left[joins], right[joins]
        one, other = one[joins], other[joins]
        # hook the later root of an edge on the earlier one
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        # pointer doubling: root(root(i)) until all point at roots
        while not np.array_equal(further := root[root], root):
            root = further
    _, component = np.unique(root, return_inverse=True)
    by_size = np.argsort(-np.bincount(component), kind="stable")
    return np.argsort(by_size)[component]


def components_in_words(items: np.ndarray, component: np.ndarray) -> str:
    """Sizes and first members of the largest components (item,) of `connected_components`, on one line of bounded length."""
    sizes = np.bincount(component)
    named = []
    for number, size in enumerate(sizes[:NAMED_COMPONENTS].tolist()):
        members = items[np.flatnonzero(component == number)[:NAMED_ITEMS]].tolist()
        more = ", ..." if size > NAMED_ITEMS else ""
        named.append(f"{size:,} ({', '.join(map(short_repr, members))}{more})")
    if rest := sizes[NAMED_COMPONENTS:].tolist():
        sized = f"{rest[0]:,}" if rest[0] == rest[-1] else f"{rest[-1]:,} to {rest[0]:,}"
        named.append(f"{len(rest):,} more of {sized}")
    return "; ".join(named)
