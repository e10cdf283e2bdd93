from ..evaluation.certainty.thresholds import threshold_probability as threshold_probability
from ..evaluation.certainty.thresholds import thresholded as thresholded
from ..evaluation.comparisons.bounds import bayesian_cramer_rao_bound as bayesian_cramer_rao_bound
from ..evaluation.comparisons.quality_errors import epsilon_quality as epsilon_quality
from ..evaluation.comparisons.quality_errors import error_rate as error_rate
from ..evaluation.comparisons.quality_errors import mean_squared_error as mean_squared_error
from ..evaluation.comparisons.quality_errors import quality_concordance as quality_concordance
from ..evaluation.metrics.accuracy import partial_average_overlap as partial_average_overlap
from ..evaluation.raters.agreement import annotator_agreement as annotator_agreement
from ..evaluation.raters.agreement import certainty_and_agreement as certainty_and_agreement
from ..evaluation.surveys.equivalence import equivalence_summary as equivalence_summary
from ..evaluation.surveys.isotonic import calibrated as calibrated
from ..evaluation.surveys.item_states.equivalence import posterior_power_curve as posterior_power_curve
from ..evaluation.surveys.item_states.equivalence import (
    posterior_survey_equivalence as posterior_survey_equivalence,
)
from ..evaluation.surveys.item_states.equivalence import survey_summary as survey_summary
from ..evaluation.surveys.rater_groups import rater_equivalence as rater_equivalence
from ..inference.comparisons.alternating_gradient import alternating_gradient as alternating_gradient
from ..inference.comparisons.joint_mle import joint_mle as joint_mle
from ..inference.comparisons.least_squares import least_squares as least_squares
from ..inference.design.stages import second_stage as second_stage
from ..inference.labels.glad_em import glad_em as glad_em
from ..inference.labels.mace_em import mace_em as mace_em
from ..inference.labels.shared_guess_em import shared_guess_em as shared_guess_em
from ..inference.labels.votes import label_combiner as label_combiner
from ..inference.scores.empirical_bayes import normal_scores_posterior as normal_scores_posterior
from ..inference.scores.empirical_bayes import normal_scores_prior as normal_scores_prior
