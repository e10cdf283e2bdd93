"""Annotation data: frozen, validated containers, and readers of files."""

from ..._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
