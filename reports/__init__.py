"""Reports: layout of the results of `raterzoo.evaluation` and their plots as HTML, CSV and JSON."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
