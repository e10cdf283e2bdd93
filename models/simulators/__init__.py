"""Simulators: annotations of various designs, with the true parameters."""

from ..._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
