"""raterzoo: Bayesian models of annotation. The posterior over what is true when people, or language models, disagree."""

# not relative: pytest imports this file also under the name of its folder, such as raterzoo-main
from raterzoo._exports import attach_stub  # pyright: ignore[reportMissingImports]

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

__version__ = "0.2.0"
