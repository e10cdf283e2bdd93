"""Graphs of comparisons: the ones that simulations use are the ones to ask for."""

from ...models.simulators.comparison_graph import regular_graph as regular_graph

__all__ = ["regular_graph"]
