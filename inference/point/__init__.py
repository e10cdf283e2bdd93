"""Point estimates of what the raters of an item mean together."""

from .irn import irn as irn
from .plackett_luce_mle import plackett_luce_mle as plackett_luce_mle

__all__ = ["irn", "plackett_luce_mle"]
