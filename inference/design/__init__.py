"""Design of annotation studies: comparison graphs, second stages, the most informative next question."""

from ..._exports import attach_stub

MOVED = {  # to raterzoo.papers
    "second_stage",
}  # fmt: skip
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, moved=MOVED)
