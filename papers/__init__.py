"""What one paper or one model alone needs: its estimators, bounds, measures of error and the design of its study."""

from .._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
