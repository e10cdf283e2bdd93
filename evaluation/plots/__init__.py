"""Figures of the results of `raterzoo.evaluation`, drawn by matplotlib, plotly or bokeh."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:
    from .clouds import certainty_agreement as certainty_agreement
    from .clouds import certainty_by_annotations as certainty_by_annotations
    from .clouds import certainty_scatter as certainty_scatter
    from .curves import reliability_sweep as reliability_sweep
    from .curves import sorted_certainty as sorted_certainty
    from .duels import comparison as comparison
    from .error_curves import error_against_bound as error_against_bound
    from .error_curves import ranking_error as ranking_error
    from .forests import metric_intervals as metric_intervals
    from .forests import subgroups as subgroups
    from .histogram import agreement_histogram as agreement_histogram
    from .histogram import certainty_histogram as certainty_histogram
    from .leanings import sensitivity as sensitivity
    from .panels import risk as risk
    from .power_curves import power_curve as power_curve
    from .prediction_sets import conformal as conformal
    from .raters import confusion_matrices as confusion_matrices
    from .raters import rater_forest as rater_forest
    from .reliabilities import rater_reliability as rater_reliability
    from .scores_certainty import threshold_certainty as threshold_certainty
    from .scores_certainty import threshold_distance as threshold_distance
    from .standings import leaderboard as leaderboard
    from .standings import quality_forest as quality_forest
    from .strips import plausibility_strips as plausibility_strips
    from .triangle import simplex as simplex
    from .votes import win_matrix as win_matrix
    from .worth_forest import rater_worth as rater_worth

__all__ = [
    "agreement_histogram",
    "certainty_agreement",
    "certainty_by_annotations",
    "certainty_histogram",
    "certainty_scatter",
    "comparison",
    "conformal",
    "confusion_matrices",
    "error_against_bound",
    "leaderboard",
    "metric_intervals",
    "plausibility_strips",
    "power_curve",
    "quality_forest",
    "ranking_error",
    "rater_forest",
    "rater_reliability",
    "rater_worth",
    "reliability_sweep",
    "risk",
    "sensitivity",
    "simplex",
    "sorted_certainty",
    "subgroups",
    "threshold_certainty",
    "threshold_distance",
    "win_matrix",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "agreement_histogram": ".histogram",
        "certainty_agreement": ".clouds",
        "certainty_by_annotations": ".clouds",
        "certainty_histogram": ".histogram",
        "certainty_scatter": ".clouds",
        "comparison": ".duels",
        "conformal": ".prediction_sets",
        "confusion_matrices": ".raters",
        "error_against_bound": ".error_curves",
        "leaderboard": ".standings",
        "metric_intervals": ".forests",
        "plausibility_strips": ".strips",
        "power_curve": ".power_curves",
        "quality_forest": ".standings",
        "ranking_error": ".error_curves",
        "rater_forest": ".raters",
        "rater_reliability": ".reliabilities",
        "rater_worth": ".worth_forest",
        "reliability_sweep": ".curves",
        "risk": ".panels",
        "sensitivity": ".leanings",
        "simplex": ".triangle",
        "sorted_certainty": ".curves",
        "subgroups": ".forests",
        "threshold_certainty": ".scores_certainty",
        "threshold_distance": ".scores_certainty",
        "win_matrix": ".votes",
    },
)
