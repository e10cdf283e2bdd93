"""Connectivity: which items are tied to each other by chains of comparisons.

Votes say how two items compare only along a path of compared pairs. Between two components nothing but a prior does.
"""

from typing import Protocol

import numpy as np

from .errors import DataError, shown

__all__ = [
    "Compared",
    "components_in_words",
    "connected_components",
    "require_connected",
]

NAMED_COMPONENTS, NAMED_ITEMS = 4, 3


class Compared(Protocol):
    """What is looked at: the items of `Comparisons` and the pairs among them."""

    @property
    def items(self) -> np.ndarray:
        """Ids of the items."""
        ...

    @property
    def left(self) -> np.ndarray:
        """One item of each vote."""
        ...

    @property
    def right(self) -> np.ndarray:
        """The other item of each vote."""
        ...


def connected_components(n_items: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Find the components of a graph on items.

    Every item points at a root. While an edge joins two roots, the later root is hooked on the earliest that it is joined
    to, and pointers are doubled until they reach the roots: two rounds at least halve the roots that are still to be joined,
    so that a chain of a million items takes a few dozen passes over it.

    Parameters
    ----------
    n_items : int
        Number of items.
    left, right : ndarray of int, shape (edge,)
        Codes of the joined items.

    Returns
    -------
    ndarray of int64, shape (item,)
        Component of each item: 0 is the largest, of equals the one whose first item comes first.
    """
    root = np.arange(n_items)
    while len(left):
        one, other = root[left], root[right]
        joins = one != other
        left, right = left[joins], right[joins]
        one, other = one[joins], other[joins]
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(further := root[root], root):
            root = further
    _, component = np.unique(root, return_inverse=True)
    by_size = np.argsort(-np.bincount(component), kind="stable")
    return np.argsort(by_size)[component]


def require_connected(pairs: Compared, what: str) -> None:
    """Raise unless chains of comparisons join all items.

    Parameters
    ----------
    pairs : Comparisons
        The votes.
    what : str
        What cannot do without, in the message, such as "quite".

    Raises
    ------
    DataError
        If there is more than one component; it names their sizes and first members.
    """
    component = connected_components(len(pairs.items), pairs.left, pairs.right)
    n_components = int(component.max()) + 1
    if n_components > 1:
        raise DataError(
            f"no chain of comparisons joins the {n_components:,} components of the {len(pairs.items):,} items: "
            + components_in_words(pairs.items, component),
            column="items",
            value=n_components,
            allowed=f"one component: {what} compares items along chains of votes alone",
            remedy="pass pairs.largest_component(), ask for votes across the components, or use a model with priors "
            "(models.bradley_terry, models.thurstone)",
            where="comparisons",
        )


def components_in_words(items: np.ndarray, component: np.ndarray) -> str:
    """Name the largest components by their size and first members.

    Parameters
    ----------
    items : ndarray of str or int64, shape (item,)
        Ids.
    component : ndarray of int64, shape (item,)
        As `connected_components` numbers them.

    Returns
    -------
    str
        One line, short however many there are.
    """
    sizes = np.bincount(component)
    named = []
    for number, size in enumerate(sizes[:NAMED_COMPONENTS].tolist()):
        members = items[np.flatnonzero(component == number)[:NAMED_ITEMS]].tolist()
        more = ", ..." if size > NAMED_ITEMS else ""
        named.append(f"{size:,} ({', '.join(map(shown, members))}{more})")
    if rest := sizes[NAMED_COMPONENTS:].tolist():
        sized = f"{rest[0]:,}" if rest[0] == rest[-1] else f"{rest[-1]:,} to {rest[0]:,}"
        named.append(f"{len(rest):,} more of {sized}")
    return "; ".join(named)
