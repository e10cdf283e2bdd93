"""Taxonomies of categories: trees whose leaves may be true, and whose inner nodes raters may answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._messages import short_repr
from .errors import DataError, refused_argument
from .reading.columns import Column, cells_that, first_place, nearest


@dataclass(frozen=True)
class Taxonomy:
    """Parent of each node but the roots.

    Parameters
    ----------
    parent : mapping of id to id
        Parent of each node, without a cycle (`read_taxonomy` checks it).
    """

    parent: Mapping[Any, Any]

    @property
    def inner(self) -> set[Any]:
        """Nodes that are the parent of another."""
        return set(self.parent.values())

    @property
    def leaves(self) -> list[Any]:
        """Nodes without a child, sorted: what may be true."""
        return sorted(self.parent.keys() - self.inner)

    def ancestors(self, node: Any) -> Iterator[Any]:
        """Yield parent, grandparent, ... of a node."""
        while (node := self.parent.get(node)) is not None:
            yield node

    def columns(self) -> dict[str, np.ndarray]:
        """Return the edges as a table: ``node`` and ``parent`` (edge,)."""
        return {"node": np.array(list(self.parent)), "parent": np.array(list(self.parent.values()))}

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> "Taxonomy":
        """Return the taxonomy of `columns`; of none, one without edges."""
        if not columns:
            return cls({})
        return cls(dict(zip(*(columns[name].tolist() for name in ("node", "parent")), strict=True)))


def read_taxonomy(taxonomy: Any) -> Taxonomy:
    """Read the argument `taxonomy`: parent of each node; one of None, "" or without a parent is a root.

    Raises DataError (with the argument, the node and the remedy) if it is no mapping, ids are of several types, a node is among
    its own ancestors, or fewer than two leaves remain.
    """
    remedy = "pass taxonomy={category: parent, ...}"
    if not isinstance(taxonomy, Mapping):
        problem = f"taxonomy={short_repr(taxonomy)} is a {type(taxonomy).__name__}"
        allowed = "a mapping of each node to its parent"
        raise refused_argument("taxonomy", problem, value=taxonomy, allowed=allowed, remedy=remedy)
    parent = {node: above for node, above in taxonomy.items() if above is not None and above != ""}
    for node in (*parent, *parent.values()):
        if type(node) is not type(next(iter(parent))) or not isinstance(node, str | int):
            problem = f"{short_repr(node)} in taxonomy= is a {type(node).__name__}"
            allowed = "text throughout, or whole numbers throughout"
            raise refused_argument("taxonomy", problem, value=node, allowed=allowed, remedy=remedy)
    found = Taxonomy(parent)
    for node in parent:
        path = [node]
        for above in found.ancestors(node):
            if above in path:
                cycle = " in ".join(map(short_repr, [*path[path.index(above) :], above]))
                problem, allowed = f"taxonomy= has a cycle: {cycle}", "a tree"
                remedy = "correct the parent of one of these"
                raise refused_argument("taxonomy", problem, value=node, allowed=allowed, remedy=remedy)
            path.append(above)
    if len(found.leaves) < 2:
        problem, allowed = "taxonomy= has fewer than two leaves", "two or more, of which one is true"
        raise refused_argument("taxonomy", problem, value=len(parent), allowed=allowed, remedy=remedy)
    return found


def require_nodes(tree: Taxonomy, column: Column) -> None:
    """Raise DataError at the first answer that is no node of the taxonomy."""
    nodes = tree.parent.keys() | tree.inner
    if (cells_that(column.values, nodes.__contains__)).all():
        return
    place = first_place(column, lambda cell: cell not in nodes)
    value = column.values[place]
    raise DataError(
        f"{short_repr(value)} is no node of the taxonomy",
        row=column.row(place),
        column=column.name,
        value=value,
        allowed=nearest(value, np.array(sorted(nodes))),
        remedy="correct the cell, or add it to taxonomy=",
    )
