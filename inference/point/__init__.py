"""Point estimates: of the truth behind annotations, of raters, and of empirical priors."""

from .irn import irn as irn
from .plackett_luce_mle import plackett_luce_mle as plackett_luce_mle

__all__ = ["irn", "plackett_luce_mle"]
