"""Simulators: annotations of various designs, with the true parameters."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:
    from .ambiguous_labels import ambiguous_items as ambiguous_items
    from .dermatology import differential_diagnoses as differential_diagnoses
    from .paired_comparisons import comparisons as comparisons
    from .plackett_luce_rankings import rankings as rankings
    from .rater_labels import labels as labels
    from .rater_scores import scores as scores
    from .rating_scales import aesthetic_scores as aesthetic_scores
    from .rating_scales import toxicity_scores as toxicity_scores
    from .simulated import Simulated as Simulated
    from .three_classes import three_class_toy as three_class_toy
    from .urns import urn_items as urn_items

__all__ = [
    "Simulated",
    "aesthetic_scores",
    "ambiguous_items",
    "comparisons",
    "differential_diagnoses",
    "labels",
    "rankings",
    "scores",
    "three_class_toy",
    "toxicity_scores",
    "urn_items",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Simulated": ".simulated",
        "aesthetic_scores": ".rating_scales",
        "ambiguous_items": ".ambiguous_labels",
        "comparisons": ".paired_comparisons",
        "differential_diagnoses": ".dermatology",
        "labels": ".rater_labels",
        "rankings": ".plackett_luce_rankings",
        "scores": ".rater_scores",
        "three_class_toy": ".three_classes",
        "toxicity_scores": ".rating_scales",
        "urn_items": ".urns",
    },
)
