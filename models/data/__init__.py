"""Annotation data: frozen, validated containers, and readers of files."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:
    from .comparisons import Comparisons as Comparisons
    from .embedded import published_ddx_accuracies as published_ddx_accuracies
    from .embedded import published_ddx_cases as published_ddx_cases
    from .embedded import published_ddx_predictions as published_ddx_predictions
    from .errors import DataError as DataError
    from .errors import DataWarning as DataWarning
    from .labels import Labels as Labels
    from .rankings import PartialRankings as PartialRankings
    from .readers import read_table as read_table
    from .scores import Scores as Scores

__all__ = [
    "Comparisons",
    "DataError",
    "DataWarning",
    "Labels",
    "PartialRankings",
    "Scores",
    "published_ddx_accuracies",
    "published_ddx_cases",
    "published_ddx_predictions",
    "read_table",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Comparisons": ".comparisons",
        "DataError": ".errors",
        "DataWarning": ".errors",
        "Labels": ".labels",
        "PartialRankings": ".rankings",
        "Scores": ".scores",
        "published_ddx_accuracies": ".embedded",
        "published_ddx_cases": ".embedded",
        "published_ddx_predictions": ".embedded",
        "read_table": ".readers",
    },
)
