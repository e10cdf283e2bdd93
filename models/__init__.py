"""Annotation data, models of annotations (builders of a `pymc.Model`) and simulators.

Inside ``with pymc.Model():`` prior arguments may be random variables, or expressions and lists of some, wherever numbers are
allowed; the exceptions say why they are. ``docs/change_a_model.md`` has examples.
"""

from .._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
