"""Which pairs to compare, and who compares them: the design of section 6 of the QUITE paper.

Pairs are the edges of a random regular graph, so that every item meets as many others; every pair goes to as many raters, and
every rater gets as many pairs.

References
----------
Nordio, Tarable and Leonardi, Ranking a set of objects using heterogeneous workers: QUITE an easy problem, section 6.
"""

from typing import Any

import numpy as np

__all__ = ["allot_raters", "compared_pairs", "regular_graph"]


def regular_graph(
    items: int, degree: int, *, random_seed: int | np.random.Generator | None = None
) -> np.ndarray:
    """Draw a connected graph in which every item has `degree` neighbours.

    Parameters
    ----------
    items : int
        Number of items, from 2.
    degree : int
        Neighbours of each, from 2; from ``items - 1`` all pairs are compared. ``items * degree`` must be even.
    random_seed : int or numpy.random.Generator, optional
        Source of randomness.

    Returns
    -------
    ndarray of int64, shape (pair, 2)
        Codes of the items of each pair, ascending.

    Raises
    ------
    ValueError
        If a number is out of range, or no such graph exists.
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
    import networkx  # here alone, and heavy

    rng = np.random.default_rng(random_seed)
    # from degree 3 nearly every graph is connected, of degree 2 one in about sqrt(items)
    while True:
        graph = networkx.random_regular_graph(degree, items, seed=int(rng.integers(2**32)))
        if networkx.is_connected(graph):
            return compared_pairs(graph, items)


def compared_pairs(graph: Any, items: int) -> np.ndarray:
    """Read the edges of a graph on items.

    Parameters
    ----------
    graph : networkx.Graph or array of int, shape (pair, 2)
        Its nodes are the codes 0 ... items - 1.
    items : int
        Number of items.

    Returns
    -------
    ndarray of int64, shape (pair, 2)
        The smaller code first; ascending.

    Raises
    ------
    ValueError
        If a node is no code, or a pair stands twice or pairs an item with itself.
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
    """Allot raters to pairs at random: as many to each pair, all different, and as many pairs to each up to one.

    Pair by pair, those go first who have the fewest pairs so far, so that the numbers of pairs never differ by more than one.

    Parameters
    ----------
    n_pairs, raters : int
        How many there are.
    per_pair : int
        Raters of each pair, at most `raters`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of int64, shape (pair, rater of the pair)
        Codes of the raters, ascending within a pair.
    """
    if per_pair == raters:
        return np.tile(np.arange(raters), (n_pairs, 1))
    allotted = np.empty((n_pairs, per_pair), np.int64)
    load = np.zeros(raters)
    # in any order: neighbours share an item, and should not share out the raters
    for pair in rng.permutation(n_pairs):
        chosen = np.argpartition(load + rng.random(raters), per_pair)[:per_pair]
        load[chosen] += 1
        allotted[pair] = np.sort(chosen)
    return allotted
