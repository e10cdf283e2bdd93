"""Design of annotation studies: comparison graphs, second stages, the most informative next question."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:
    from .expected_information import next_to_ask as next_to_ask
    from .graphs import regular_graph as regular_graph
    from .stages import second_stage as second_stage

__all__ = ["next_to_ask", "regular_graph", "second_stage"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "next_to_ask": ".expected_information",
        "regular_graph": ".graphs",
        "second_stage": ".stages",
    },
)
