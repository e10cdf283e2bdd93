"""How the posterior is drawn: samplers, PyMC steps, convergence, point estimates."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:
    from .diagnostics import ConvergenceWarning as ConvergenceWarning
    from .diagnostics import diagnose as diagnose
    from .labelling import label as label
    from .point.irn import irn as irn
    from .point.plackett_luce_mle import plackett_luce_mle as plackett_luce_mle
    from .sampling import sample as sample
    from .steps.worth_gibbs import WorthGibbs as WorthGibbs
    from .sweeping import sweep as sweep

__all__ = [
    "ConvergenceWarning",
    "WorthGibbs",
    "diagnose",
    "irn",
    "label",
    "plackett_luce_mle",
    "sample",
    "sweep",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "ConvergenceWarning": ".diagnostics",
        "WorthGibbs": ".steps.worth_gibbs",
        "diagnose": ".diagnostics",
        "irn": ".point.irn",
        "label": ".labelling",
        "plackett_luce_mle": ".point.plackett_luce_mle",
        "sample": ".sampling",
        "sweep": ".sweeping",
    },
)
