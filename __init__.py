"""raterzoo: Bayesian models of annotation. The posterior over what is true when people, or language models, disagree."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
