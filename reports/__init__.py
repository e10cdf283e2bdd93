"""Reports: layout of the results of `raterzoo.evaluation` and their plots as HTML, CSV and JSON."""

from .._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
