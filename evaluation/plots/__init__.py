"""Figures of the results of `raterzoo.evaluation`, drawn by matplotlib, plotly or bokeh."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
