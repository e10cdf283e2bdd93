"""Evaluation of posteriors: certainty, uncertainty-adjusted metrics, risk, rater quality and agreement."""

from .._exports import attach_stub

MOVED = {  # to raterzoo.papers
    "annotator_agreement", "bayesian_cramer_rao_bound", "calibrated", "certainty_and_agreement", "epsilon_quality",
    "equivalence_summary", "error_rate", "mean_squared_error", "partial_average_overlap", "posterior_power_curve",
    "posterior_survey_equivalence", "quality_concordance", "rater_equivalence", "survey_summary", "threshold_probability",
    "thresholded",
}  # fmt: skip
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, moved=MOVED)
