"""Pictures of what the rest of `raterzoo.evaluation` computed; nothing is computed here but where the ink goes."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:
    from .curves import reliability_sweep as reliability_sweep
    from .curves import sorted_certainty as sorted_certainty
    from .error_curves import error_against_bound as error_against_bound
    from .error_curves import ranking_error as ranking_error
    from .histogram import certainty_histogram as certainty_histogram
    from .panels import risk as risk
    from .raters import confusion_matrices as confusion_matrices
    from .raters import rater_forest as rater_forest
    from .reliabilities import rater_reliability as rater_reliability
    from .standings import leaderboard as leaderboard
    from .standings import quality_forest as quality_forest
    from .strips import plausibility_strips as plausibility_strips
    from .triangle import simplex as simplex
    from .votes import win_matrix as win_matrix

__all__ = [
    "certainty_histogram",
    "confusion_matrices",
    "error_against_bound",
    "leaderboard",
    "plausibility_strips",
    "quality_forest",
    "ranking_error",
    "rater_forest",
    "rater_reliability",
    "reliability_sweep",
    "risk",
    "simplex",
    "sorted_certainty",
    "win_matrix",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "certainty_histogram": ".histogram",
        "confusion_matrices": ".raters",
        "error_against_bound": ".error_curves",
        "leaderboard": ".standings",
        "plausibility_strips": ".strips",
        "quality_forest": ".standings",
        "ranking_error": ".error_curves",
        "rater_forest": ".raters",
        "rater_reliability": ".reliabilities",
        "reliability_sweep": ".curves",
        "risk": ".panels",
        "simplex": ".triangle",
        "sorted_certainty": ".curves",
        "win_matrix": ".votes",
    },
)
