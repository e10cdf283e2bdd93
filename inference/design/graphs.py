"""Graphs of comparisons, as the simulators use them."""

from ...models.simulators.comparison_graph import regular_graph as regular_graph

__all__ = ["regular_graph"]
