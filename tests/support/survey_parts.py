"""Private parts of survey equivalence for tests, imported here alone."""

from raterzoo.evaluation.surveys.combiners import AnonymousBayesian
from raterzoo.evaluation.surveys.equivalence import survey_power_curve
from raterzoo.evaluation.surveys.isotonic import calibrated
from raterzoo.evaluation.surveys.item_states.checks import classifier_scores, observed_curve
from raterzoo.evaluation.surveys.item_states.equivalence import (
    posterior_power_curve,
    posterior_survey_equivalence,
)
from raterzoo.evaluation.surveys.subsets import Patterns, subsets_of

__all__ = [
    "AnonymousBayesian",
    "Patterns",
    "calibrated",
    "classifier_scores",
    "observed_curve",
    "posterior_power_curve",
    "posterior_survey_equivalence",
    "subsets_of",
    "survey_power_curve",
]
