"""Annotation data, models of annotations (builders of a `pymc.Model`) and simulators."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
