"""Comparison design: pairs on a random regular graph, with balanced allocation of raters.

Every item is in as many pairs, every pair has as many raters, and every rater as many pairs (up to one).

References
----------
Nordio, Tarable and Leonardi, Ranking a set of objects using heterogeneous workers: QUITE an easy problem,
section 6.
"""

from typing import Any

import numpy as np

__all__ = ["allot_raters", "compared_pairs", "regular_graph"]


def regular_graph(
    items: int, degree: int, *, random_seed: int | np.random.Generator | None = None
) -> np.ndarray:
    """Draw a connected graph in which every item has `degree` neighbours; all pairs from degree items - 1.

    ``items * degree`` must be even. Raises ValueError if no such graph exists.

    Shapes: result (pair, 2), item codes, ascending.
    """
    for name, value, least in (("items", items, 2), ("degree", degree, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number from {least}")
    if degree >= items - 1:
        return np.column_stack(np.triu_indices(items, 1))
    if degree < 2:
        raise ValueError(f"degree={degree}: a graph on {items} items is connected from degree=2")
    if items * degree % 2:
        raise ValueError(
            f"degree={degree}: the degrees of {items} items add up to an odd number, and every pair adds two; "
            f"take degree={degree + 1}, or an even number of items"
        )
    import networkx  # slow to import, and used only here

    rng = np.random.default_rng(random_seed)
    # from degree 3 nearly every graph is connected, of degree 2 one in about sqrt(items)
    while True:
        graph = networkx.random_regular_graph(degree, items, seed=int(rng.integers(2**32)))
        if networkx.is_connected(graph):
            return compared_pairs(graph, items)


def compared_pairs(graph: Any, items: int) -> np.ndarray:
    """Return the edges of a graph on item codes (networkx.Graph or array), the smaller code first, ascending.

    Raises ValueError for unknown codes, duplicate pairs and pairs of an item with itself.

    Shapes: graph, if an array, and result (pair, 2).
    """
    edges: Any = np.asarray(list(graph.edges) if hasattr(graph, "edges") else graph)
    if edges.ndim != 2 or edges.shape[1] != 2 or not len(edges) or edges.dtype.kind not in "iu":
        raise ValueError(
            f"graph: found {edges.dtype} of shape {edges.shape}; pass a networkx.Graph with whole "
            "numbers for nodes, or an array of shape (pair, 2) of item codes"
        )
    pairs = np.sort(edges.astype(np.int64), axis=1)
    if pairs.min() < 0 or pairs.max() >= items:
        node = int(pairs.max() if pairs.max() >= items else pairs.min())
        raise ValueError(f"graph: {node} is not one of the codes 0 to {items - 1} of items={items}")
    if (pairs[:, 0] == pairs[:, 1]).any():
        node = int(pairs[pairs[:, 0] == pairs[:, 1]][0, 0])
        raise ValueError(f"graph: item {node} is paired with itself; leave the pair out")
    different = np.unique(pairs, axis=0)
    if len(different) < len(pairs):
        raise ValueError(
            f"graph: {len(pairs) - len(different)} of {len(pairs)} pairs stand twice; list each once"
        )
    return different


def allot_raters(n_pairs: int, raters: int, per_pair: int, rng: np.random.Generator) -> np.ndarray:
    """Allot `per_pair` different raters to each pair at random, with loads that differ by at most one pair.

    Pair by pair, the raters with the fewest pairs so far go first.

    Shapes: result (pair, rater of the pair), ascending within a pair.
    """
    if per_pair == raters:
        return np.tile(np.arange(raters), (n_pairs, 1))
    allotted = np.empty((n_pairs, per_pair), np.int64)
    load = np.zeros(raters)
    # random order: neighbouring pairs share an item, and their raters should not depend on each other
    for pair in rng.permutation(n_pairs):
        chosen = np.argpartition(load + rng.random(raters), per_pair)[:per_pair]
        load[chosen] += 1
        allotted[pair] = np.sort(chosen)
    return allotted
