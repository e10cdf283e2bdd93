"""Posterior inference: samplers, PyMC steps, convergence diagnostics, point estimates, study design."""

from .._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
