"""Evaluation of posteriors: certainty, uncertainty-adjusted metrics, risk, rater quality and agreement."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:
    from . import plots as plots
    from .accuracies import set_accuracy as set_accuracy
    from .accuracies import top_k_accuracy as top_k_accuracy
    from .agreement import annotator_agreement as annotator_agreement
    from .agreement import certainty_and_agreement as certainty_and_agreement
    from .bounds import bayesian_cramer_rao_bound as bayesian_cramer_rao_bound
    from .certainty import annotation_certainty as annotation_certainty
    from .certainty import plausible_labels as plausible_labels
    from .classification import balanced_accuracy as balanced_accuracy
    from .classification import cohen_kappa as cohen_kappa
    from .classification import f1 as f1
    from .classification import matthews_correlation as matthews_correlation
    from .classification import precision as precision
    from .classification import recall as recall
    from .comparison import compare as compare
    from .concordance import label_agreement as label_agreement
    from .concordance import ratings_of as ratings_of
    from .conformal import conformal_sets as conformal_sets
    from .curve_summaries import survey_summary as survey_summary
    from .equivalence import equivalence_summary as equivalence_summary
    from .equivalence import survey_equivalence as survey_equivalence
    from .equivalence import survey_power_curve as survey_power_curve
    from .equivalence_posterior import posterior_power_curve as posterior_power_curve
    from .equivalence_posterior import posterior_survey_equivalence as posterior_survey_equivalence
    from .errors import EvaluationError as EvaluationError
    from .expected_votes import win_probability as win_probability
    from .intervals import metric_draws as metric_draws
    from .intervals import metric_intervals as metric_intervals
    from .judges import rater_worth as rater_worth
    from .metric import Metric as Metric
    from .overlaps import average_overlap as average_overlap
    from .overlaps import overlap as overlap
    from .overlaps import partial_average_overlap as partial_average_overlap
    from .predictions import predictions_from_table as predictions_from_table
    from .probability_scores import brier_score as brier_score
    from .probability_scores import calibration_error as calibration_error
    from .probability_scores import cross_entropy as cross_entropy
    from .probability_scores import roc_auc as roc_auc
    from .quality_errors import epsilon_quality as epsilon_quality
    from .quality_errors import error_rate as error_rate
    from .quality_errors import mean_squared_error as mean_squared_error
    from .quality_errors import quality_concordance as quality_concordance
    from .rank_distances import kendall_tau as kendall_tau
    from .rank_distances import ndcg as ndcg
    from .rank_distances import rank_biased_overlap as rank_biased_overlap
    from .rank_distances import spearman_footrule as spearman_footrule
    from .ranks import preference_probability as preference_probability
    from .ranks import rank_distribution as rank_distribution
    from .ranks import rank_intervals as rank_intervals
    from .ranks import tied_groups as tied_groups
    from .raters import confusion_intervals as confusion_intervals
    from .raters import rater_quality as rater_quality
    from .reliability import reliability_sweep as reliability_sweep
    from .reweighting import ReweightingWarning as ReweightingWarning
    from .reweighting import reweight as reweight
    from .risk import coarsen as coarsen
    from .risk import expected_value as expected_value
    from .sensitivity import prior_sensitivity as prior_sensitivity
    from .surveys.groups import rater_equivalence as rater_equivalence
    from .surveys.isotonic import calibrated as calibrated
    from .thresholds import threshold_certainty as threshold_certainty
    from .thresholds import threshold_probability as threshold_probability
    from .thresholds import thresholded as thresholded
    from .true_category import truth_certainty as truth_certainty
    from .uncertainty import uncertainty_adjusted as uncertainty_adjusted
    from .unseen_raters import new_raters as new_raters

__all__ = [
    "EvaluationError",
    "Metric",
    "ReweightingWarning",
    "annotation_certainty",
    "annotator_agreement",
    "average_overlap",
    "balanced_accuracy",
    "bayesian_cramer_rao_bound",
    "brier_score",
    "calibrated",
    "calibration_error",
    "certainty_and_agreement",
    "coarsen",
    "cohen_kappa",
    "compare",
    "conformal_sets",
    "confusion_intervals",
    "cross_entropy",
    "epsilon_quality",
    "equivalence_summary",
    "error_rate",
    "expected_value",
    "f1",
    "kendall_tau",
    "label_agreement",
    "matthews_correlation",
    "mean_squared_error",
    "metric_draws",
    "metric_intervals",
    "ndcg",
    "new_raters",
    "overlap",
    "partial_average_overlap",
    "plausible_labels",
    "plots",
    "posterior_power_curve",
    "posterior_survey_equivalence",
    "precision",
    "predictions_from_table",
    "preference_probability",
    "prior_sensitivity",
    "quality_concordance",
    "rank_biased_overlap",
    "rank_distribution",
    "rank_intervals",
    "rater_equivalence",
    "rater_quality",
    "rater_worth",
    "ratings_of",
    "recall",
    "reliability_sweep",
    "reweight",
    "roc_auc",
    "set_accuracy",
    "spearman_footrule",
    "survey_equivalence",
    "survey_power_curve",
    "survey_summary",
    "threshold_certainty",
    "threshold_probability",
    "thresholded",
    "tied_groups",
    "top_k_accuracy",
    "truth_certainty",
    "uncertainty_adjusted",
    "win_probability",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "EvaluationError": ".errors",
        "Metric": ".metric",
        "ReweightingWarning": ".reweighting",
        "annotation_certainty": ".certainty",
        "annotator_agreement": ".agreement",
        "average_overlap": ".overlaps",
        "balanced_accuracy": ".classification",
        "bayesian_cramer_rao_bound": ".bounds",
        "brier_score": ".probability_scores",
        "calibrated": ".surveys.isotonic",
        "calibration_error": ".probability_scores",
        "certainty_and_agreement": ".agreement",
        "coarsen": ".risk",
        "cohen_kappa": ".classification",
        "compare": ".comparison",
        "conformal_sets": ".conformal",
        "confusion_intervals": ".raters",
        "cross_entropy": ".probability_scores",
        "epsilon_quality": ".quality_errors",
        "equivalence_summary": ".equivalence",
        "error_rate": ".quality_errors",
        "expected_value": ".risk",
        "f1": ".classification",
        "kendall_tau": ".rank_distances",
        "label_agreement": ".concordance",
        "matthews_correlation": ".classification",
        "mean_squared_error": ".quality_errors",
        "metric_draws": ".intervals",
        "metric_intervals": ".intervals",
        "ndcg": ".rank_distances",
        "new_raters": ".unseen_raters",
        "overlap": ".overlaps",
        "partial_average_overlap": ".overlaps",
        "plausible_labels": ".certainty",
        "plots": ".plots",
        "posterior_power_curve": ".equivalence_posterior",
        "posterior_survey_equivalence": ".equivalence_posterior",
        "precision": ".classification",
        "predictions_from_table": ".predictions",
        "preference_probability": ".ranks",
        "prior_sensitivity": ".sensitivity",
        "quality_concordance": ".quality_errors",
        "rank_biased_overlap": ".rank_distances",
        "rank_distribution": ".ranks",
        "rank_intervals": ".ranks",
        "rater_equivalence": ".surveys.groups",
        "rater_quality": ".raters",
        "rater_worth": ".judges",
        "ratings_of": ".concordance",
        "recall": ".classification",
        "reliability_sweep": ".reliability",
        "reweight": ".reweighting",
        "roc_auc": ".probability_scores",
        "set_accuracy": ".accuracies",
        "spearman_footrule": ".rank_distances",
        "survey_equivalence": ".equivalence",
        "survey_power_curve": ".equivalence",
        "survey_summary": ".curve_summaries",
        "threshold_certainty": ".thresholds",
        "threshold_probability": ".thresholds",
        "thresholded": ".thresholds",
        "tied_groups": ".ranks",
        "top_k_accuracy": ".accuracies",
        "truth_certainty": ".true_category",
        "uncertainty_adjusted": ".uncertainty",
        "win_probability": ".expected_votes",
    },
)
