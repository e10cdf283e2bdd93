"""Pictures of what the rest of `raterzoo.evaluation` computed; nothing is computed here but where the ink goes."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:
    from .curves import reliability_sweep as reliability_sweep
    from .curves import sorted_certainty as sorted_certainty
    from .histogram import certainty_histogram as certainty_histogram
    from .panels import risk as risk
    from .raters import confusion_matrices as confusion_matrices
    from .raters import rater_forest as rater_forest
    from .strips import plausibility_strips as plausibility_strips
    from .triangle import simplex as simplex

__all__ = [
    "certainty_histogram",
    "confusion_matrices",
    "plausibility_strips",
    "rater_forest",
    "reliability_sweep",
    "risk",
    "simplex",
    "sorted_certainty",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "certainty_histogram": ".histogram",
        "confusion_matrices": ".raters",
        "plausibility_strips": ".strips",
        "rater_forest": ".raters",
        "reliability_sweep": ".curves",
        "risk": ".panels",
        "simplex": ".triangle",
        "sorted_certainty": ".curves",
    },
)
