"""Design of annotation studies: comparison graphs, second stages, the most informative next question."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
