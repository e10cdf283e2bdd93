"""raterzoo: Bayesian models of annotation, with the posterior of the truth when raters disagree."""

from typing import TYPE_CHECKING

from ._exports import lazy_exports

if TYPE_CHECKING:
    from . import evaluation as evaluation
    from . import inference as inference
    from . import models as models
    from . import reports as reports

__all__ = ["__version__", "evaluation", "inference", "models", "reports"]

__version__ = "0.1.0"

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "evaluation": ".evaluation",
        "inference": ".inference",
        "models": ".models",
        "reports": ".reports",
    },
)
