"""raterzoo: Bayesian models of annotation. The posterior over what is true when people, or language models, disagree."""

from ._exports import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

__version__ = "0.1.0"
