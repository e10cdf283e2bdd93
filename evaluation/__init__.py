"""Evaluation of posteriors: certainty, uncertainty-adjusted metrics, risk, rater quality and agreement."""

from .._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
