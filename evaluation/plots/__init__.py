"""Figures of the results of `raterzoo.evaluation`, drawn by matplotlib."""

from ..._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
