"""Private parts of how a run is planned for tests, imported here alone."""

from raterzoo.inference.methods import begin_run, route_of
from raterzoo.inference.nuts.drawing import draw_with_nuts
from raterzoo.inference.runs.model_graph import NotConjugate
from raterzoo.inference.runs.run import ChainPlan, Draws, Run, streams_of_items

__all__ = [
    "ChainPlan",
    "Draws",
    "NotConjugate",
    "Run",
    "begin_run",
    "draw_with_nuts",
    "route_of",
    "streams_of_items",
]
